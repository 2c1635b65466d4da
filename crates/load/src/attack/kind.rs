//! What attackers can do.

use std::fmt;
use std::str::FromStr;

/// A kind of attack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Certificates that no server should accept.
    Certificates,
    /// Connections and channels that nothing follows.
    HalfOpen,
    /// Messages that are begun and not ended.
    Unfinished,
    /// Messages that are sent twice.
    Replayed,
    /// What looks like chunks.
    Malformed,
    /// Users that there are not.
    Passwords,
    /// New security tokens, again and again.
    Renewals,
    /// Everything is browsed.
    Browse,
    /// Histories of a year are read.
    History,
    /// Ten thousand items come and go.
    Items,
}

impl Kind {
    /// All of them, in the order in which they are tried.
    pub const ALL: [Self; 10] = [
        Self::Certificates,
        Self::HalfOpen,
        Self::Unfinished,
        Self::Replayed,
        Self::Malformed,
        Self::Passwords,
        Self::Renewals,
        Self::Browse,
        Self::History,
        Self::Items,
    ];

    /// As it is typed.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Certificates => "certificates",
            Self::HalfOpen => "half-open",
            Self::Unfinished => "unfinished",
            Self::Replayed => "replayed",
            Self::Malformed => "malformed",
            Self::Passwords => "passwords",
            Self::Renewals => "renewals",
            Self::Browse => "browse",
            Self::History => "history",
            Self::Items => "items",
        }
    }

    /// What attackers do.
    pub const fn what(self) -> &'static str {
        match self {
            Self::Certificates => {
                "sessions with a self-made, an expired, a misused certificate and a chain of ten"
            }
            Self::HalfOpen => "a hello and no channel; a channel and no session",
            Self::Unfinished => "half a chunk; a message of 200 KB without its last chunk",
            Self::Replayed => "a message sent twice",
            Self::Malformed => "chunks with wrong lengths and wrong bytes",
            Self::Passwords => "sessions of a user that does not exist",
            Self::Renewals => "new security tokens of open channels",
            Self::Browse => "a browse of everything, a thousand nodes in a request",
            Self::History => "a year of up to 50 histories in a request",
            Self::Items => "10,000 monitored items made and deleted",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Kind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = Self::ALL.into_iter().find(|it| it.name() == text);
        known.ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            format!("want {names}")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_is_typed_by_its_name_and_others_are_told_which_there_are() {
        for kind in Kind::ALL {
            assert_eq!(kind.name().parse(), Ok(kind));
        }
        let told = "floods".parse::<Kind>().err().unwrap_or_default();
        assert!(told.contains("half-open"), "{told}");
    }
}
