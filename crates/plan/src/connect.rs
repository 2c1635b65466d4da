//! Connecting as a workload: how sessions come and go.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::error::PlanError;
use crate::text::{self, nanos};

/// Channels and sessions that are opened and closed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Connect {
    /// How they come and go.
    #[serde(with = "text")]
    pub kind: ConnectKind,
    /// Reads of the server's state once a session is there: it is usable when they are answered.
    pub reads: u32,
    /// A storm holds its sessions for so long once the last one is there; churn stays so long before it
    /// closes.
    #[serde(rename = "hold_ns", with = "nanos")]
    pub hold: Duration,
    /// Clients that connect at the same time, at most.
    pub at_once: u32,
    /// Addresses of 127.0.0.0/8 from which clients connect, in turn; zero: whichever the system takes.
    pub source_addresses: u32,
}

/// How sessions come and go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ConnectKind {
    /// Each session is opened once, and all of them are held; they are closed together.
    Storm,
    /// Each client opens a session, stays a moment, closes it, and comes again.
    #[default]
    Churn,
    /// Each client drops its socket and brings its session back over a new channel (Part 4, 5.7.3).
    Reconnect,
    /// Each client renews the security token of its channel (Part 4, 5.6.2).
    Renewal,
}

/// The steps to a session.
const OPENING: [&str; 13] = [
    "name lookup",
    "TCP connect",
    "proxy tunnel",
    "TLS handshake",
    "WebSocket upgrade",
    "hello",
    "certificate check",
    "OCSP answer",
    "revocation list",
    "certificate manager",
    "open channel",
    "create session",
    "activate session",
];

impl Connect {
    /// Clients that connect at the same time when nothing is said.
    pub const AT_ONCE: u32 = 64;
    /// As many as there are ports to connect from.
    pub const MOST_AT_ONCE: u32 = 65_536;
    /// The addresses of 127.0.0.0/8 but its first and its last one.
    pub const MOST_SOURCES: u32 = (1 << 24) - 2;

    /// Sessions that come and go like this, with one read each.
    pub const fn new(kind: ConnectKind) -> Self {
        Self {
            kind,
            reads: 1,
            hold: Duration::ZERO,
            at_once: Self::AT_ONCE,
            source_addresses: 0,
        }
    }

    /// What one round is made of, in order.
    pub const fn steps(&self) -> &'static [&'static str] {
        const WHOLE: [&str; 16] = [
            OPENING[0],
            OPENING[1],
            OPENING[2],
            OPENING[3],
            OPENING[4],
            OPENING[5],
            OPENING[6],
            OPENING[7],
            OPENING[8],
            OPENING[9],
            OPENING[10],
            OPENING[11],
            OPENING[12],
            "read",
            "close session",
            "close channel",
        ];
        const BACK: [&str; 13] = [
            OPENING[0],
            OPENING[1],
            OPENING[2],
            OPENING[3],
            OPENING[4],
            OPENING[5],
            OPENING[6],
            OPENING[7],
            OPENING[8],
            OPENING[9],
            OPENING[10],
            OPENING[12],
            "read",
        ];
        match self.kind {
            ConnectKind::Storm | ConnectKind::Churn => &WHOLE,
            ConnectKind::Reconnect => &BACK,
            ConnectKind::Renewal => &["renew channel", "read"],
        }
    }

    /// Whether it makes sense; what does not is named.
    pub fn check(&self) -> Result<(), PlanError> {
        if !(1..=Self::MOST_AT_ONCE).contains(&self.at_once) {
            return Err(PlanError::new("at-once", self.at_once, "1 to 65536"));
        }
        if self.source_addresses > Self::MOST_SOURCES {
            let want = "no more than the 16777214 addresses of 127.0.0.0/8";
            return Err(PlanError::new(
                "source-addresses",
                self.source_addresses,
                want,
            ));
        }
        let holds = matches!(self.kind, ConnectKind::Storm | ConnectKind::Churn);
        if !holds && !self.hold.is_zero() {
            return Err(PlanError::new("hold", self.kind, "--kind storm or churn"));
        }
        Ok(())
    }
}

impl ConnectKind {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Storm, Self::Churn, Self::Reconnect, Self::Renewal];

    /// As people type it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Storm => "storm",
            Self::Churn => "churn",
            Self::Reconnect => "reconnect",
            Self::Renewal => "renewal",
        }
    }

    /// Whether clients have their sessions before the first round.
    pub const fn begins_open(self) -> bool {
        matches!(self, Self::Reconnect | Self::Renewal)
    }
}

impl fmt::Display for ConnectKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for ConnectKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|it| it.name() == text);
        found.ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            format!("{text:?} is no way to connect (want {names})")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_read_as_they_are_shown() {
        for kind in ConnectKind::ALL {
            assert_eq!(kind.to_string().parse(), Ok(kind));
        }
        let wrong = "flood".parse::<ConnectKind>().unwrap_err();
        assert!(
            wrong.contains("want storm, churn, reconnect, renewal"),
            "{wrong}"
        );
    }

    #[test]
    fn what_makes_no_sense_is_named() {
        let wrong = |connect: Connect| connect.check().unwrap_err().to_string();
        let storm = Connect::new(ConnectKind::Storm);
        assert_eq!(storm.check(), Ok(()));
        let nobody = Connect {
            at_once: 0,
            ..storm.clone()
        };
        assert!(wrong(nobody).contains("at-once"));
        let everywhere = Connect {
            source_addresses: 1 << 24,
            ..storm.clone()
        };
        assert!(wrong(everywhere).contains("127.0.0.0/8"));
        let held = Connect {
            kind: ConnectKind::Renewal,
            hold: Duration::from_secs(1),
            ..storm
        };
        assert!(wrong(held).contains("storm or churn"));
    }
}
