//! The checks that an administrator may switch off, by name.

use std::fmt;
use std::ops::BitOr;
use std::str::FromStr;

/// A set of checks. Structure, chain, signature, trust and revocation itself are
/// not among them: Part 4, 6.1.3 does not let anybody switch those off. It does
/// not let the application URI be switched off either; a laboratory has to be
/// able to talk to the devices that get it wrong, so here it can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Checks(u8);

impl Checks {
    /// No check.
    pub const NONE: Self = Self(0);
    /// Key length and hash fit the security policy.
    pub const POLICY: Self = Self(1);
    /// The validity periods include now.
    pub const TIME: Self = Self(1 << 1);
    /// The host is the one that was connected to.
    pub const HOST: Self = Self(1 << 2);
    /// The application URI is that of the ApplicationDescription.
    pub const URI: Self = Self(1 << 3);
    /// KeyUsage and ExtendedKeyUsage allow what is done.
    pub const USAGE: Self = Self(1 << 4);
    /// A current revocation list of every authority is there.
    pub const REVOCATION: Self = Self(1 << 5);
    /// Every check: the default.
    pub const ALL: Self = Self(0b11_1111);

    const NAMES: [(Self, &'static str); 6] = [
        (Self::POLICY, "policy"),
        (Self::TIME, "time"),
        (Self::HOST, "host"),
        (Self::URI, "uri"),
        (Self::USAGE, "usage"),
        (Self::REVOCATION, "revocation"),
    ];

    /// These checks but for `off`.
    pub fn without(self, off: Self) -> Self {
        Self(self.0 & !off.0)
    }

    /// Whether all checks of `other` are in here.
    pub fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

impl Default for Checks {
    fn default() -> Self {
        Self::ALL
    }
}

impl BitOr for Checks {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl fmt::Display for Checks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = Self::NAMES.iter().filter(|row| self.contains(row.0));
        let names: Vec<_> = names.map(|row| row.1).collect();
        f.write_str(&names.join(","))
    }
}

/// A name that is none of the checks.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("bad check: {0:?} (want policy, time, host, uri, usage or revocation)")]
pub struct UnknownCheck(String);

impl FromStr for Checks {
    type Err = UnknownCheck;

    /// Reads names with commas between them, such as `time,host`.
    fn from_str(text: &str) -> Result<Self, UnknownCheck> {
        let names = text.split(',').map(str::trim).filter(|s| !s.is_empty());
        names.into_iter().try_fold(Self::NONE, |set, name| {
            let row = Self::NAMES.iter().find(|row| row.1 == name);
            let row = row.ok_or_else(|| UnknownCheck(name.to_owned()))?;
            Ok(set | row.0)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_are_read_and_written_by_name() {
        let off: Checks = "time, host".parse().unwrap();
        assert_eq!(off, Checks::TIME | Checks::HOST);
        assert_eq!(
            Checks::ALL.without(off).to_string(),
            "policy,uri,usage,revocation"
        );
        assert_eq!(Checks::ALL.to_string().parse(), Ok(Checks::ALL));
    }

    #[test]
    fn what_may_not_be_switched_off_has_no_name() {
        for name in ["trust", "signature", "chain", "revoked"] {
            assert!(name.parse::<Checks>().is_err(), "{name}");
        }
    }
}
