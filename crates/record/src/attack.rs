//! What clients that misbehave do to those that do not: the sheet of `uaperf attack`.

use serde::{Deserialize, Serialize};

use crate::run::{Figure, Fingerprint, Status};
use crate::{Histogram, Timestamp};

/// What a sheet calls itself in its file.
pub const FORMAT: &str = "uaperf-attack";
/// The only version so far.
pub const VERSION: u32 = 1;

/// All that was found out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sheet {
    /// Always [`FORMAT`]: what kind of file this is.
    pub format: String,
    /// Of the format.
    pub version: u32,
    /// When it began.
    pub started: Timestamp,
    /// The server as typed.
    pub url: String,
    /// What the server calls itself.
    pub product: String,
    /// Policy and mode of the good clients.
    pub security: String,
    /// The server's process, where it is known.
    pub process: Figure<u32>,
    /// What it was measured on.
    pub machine: Fingerprint,
    /// What was asked for.
    pub asked: AttackSettings,
    /// Ctrl-C came before the end.
    pub interrupted: bool,
    /// Why nothing more was tried, where the server was gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gone: Option<String>,
    /// Why nothing more was tried, where it was the generator that failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
    /// Each kind of attack, in the order in which they were made.
    pub kinds: Vec<Attacked>,
}

/// What was asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AttackSettings {
    /// How long it is calm, attacked, and calm again.
    pub step_ns: u64,
    /// Attacks a second.
    pub rate_per_s: f64,
    /// Attacks of each kind at most.
    pub count: u64,
    /// Attackers at a time.
    pub clients: u32,
    /// Connections that attackers leave open at most.
    pub open: u64,
    /// Reads of the good client in a second.
    pub good_rate_per_s: f64,
    /// What it reads and subscribes to.
    pub nodes: String,
    /// So many times as long is slowed.
    pub slow: f64,
    /// So many bytes more than before are left behind.
    pub left_bytes: u64,
}

/// A kind of attack, and what came of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Attacked {
    /// Its name.
    pub kind: String,
    /// What attackers do.
    pub what: String,
    /// Why it was not tried, if so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_tried: Option<String>,
    /// What was measured, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<Stages>,
    /// What it comes to.
    pub verdict: Verdict,
    /// What that rests on, and what else should be known: sentences.
    pub evidence: Vec<String>,
}

/// What was measured of a kind.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Stages {
    /// Before.
    pub calm: Stage,
    /// Meanwhile.
    pub attacked: Stage,
    /// Afterwards; nothing in it where it did not come to that.
    pub after: Stage,
    /// What the attackers did and were told.
    pub attackers: Attackers,
    /// How many times as long answers took, by percentile.
    pub ratios: Vec<Ratios>,
    /// Resident memory of the server.
    pub memory: Held,
    /// Its open files and sockets.
    pub descriptors: Held,
    /// Sessions that it counts itself.
    pub sessions: Held,
    /// Values of the subscription that did not come, over all three stages.
    pub lost_values: Figure<u64>,
    /// Why the attackers were the limit, if they were.
    pub limits: Vec<String>,
    /// Why there was no session to be had at the end, where the server answered all the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turned_away: Option<String>,
    /// What became of the server, where it did not survive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub died: Option<String>,
}

/// A stage: what the good clients had.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Stage {
    /// From, since the good clients began.
    pub from_ns: u64,
    /// To.
    pub to_ns: u64,
    /// Reads that fell due.
    pub planned: u64,
    /// Reads that ended, well or badly.
    pub completed: u64,
    /// Of them, badly: a Bad status, or no answer in time.
    pub errors: u64,
    /// Reads that succeeded, a second.
    pub rate_per_s: f64,
    /// Reads by the status that they ended with, but for good ones.
    pub statuses: Vec<Status>,
    /// Good clients that lost their connection.
    pub lost_sessions: u64,
    /// From when a Read was due to its answer.
    pub response: Histogram,
    /// The median of each interval: a fifth of a second, a tenth in short stages.
    pub p50_ns: Vec<u64>,
    /// The 99th percentile of each interval.
    pub p99_ns: Vec<u64>,
    /// Other good clients that came, had a session and went.
    pub newcomers: Newcomers,
    /// Cores that the server kept busy.
    pub server_cores: Figure<f64>,
    /// Why the good client itself was the limit, if it was.
    pub limits: Vec<String>,
}

/// Good clients that come while it goes on.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Newcomers {
    /// How many wanted a session.
    pub came: u64,
    /// How many did not get one.
    pub refused: u64,
    /// What the first of these was told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub told: Option<String>,
    /// How long it took the others: the median.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub median_ns: Option<u64>,
}

/// What attackers did.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Attackers {
    /// Attacks that fell due by the end of the attack.
    pub planned: u64,
    /// Attacks that were made.
    pub made: u64,
    /// Of them, those that fell due while all attackers were busy, with the server or for want of CPU in the midst of an attack.
    pub held_up: u64,
    /// The most that an attack came too late though an attacker was free.
    pub latest_ns: u64,
    /// Cores that attackers kept busy.
    pub cores: Figure<f64>,
    /// What the server made of them.
    pub answers: Vec<Answer>,
}

impl Attackers {
    /// How many were not let in or thrown out.
    pub fn refused(&self) -> u64 {
        let refused = self.answers.iter().filter(|it| it.refused);
        refused.map(|it| it.count).sum()
    }
}

/// What the server made of attacks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// Which of the kind, where there are several.
    pub variant: String,
    /// A status code by its name, or what else became of it.
    pub told: String,
    /// Whether it was refused.
    pub refused: bool,
    /// How often.
    pub count: u64,
}

/// How many times as long answers took as in the calm before.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ratios {
    /// The percentile, as a fraction.
    pub quantile: f64,
    /// While attacked.
    pub attacked: Figure<Ratio>,
    /// Afterwards.
    pub after: Figure<Ratio>,
}

/// How many times as long something takes, with its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Ratio {
    /// As measured.
    pub ratio: f64,
    /// From.
    pub low: f64,
    /// To.
    pub high: f64,
}

/// What a server holds: before, at most while attacked, and at the end.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Held {
    /// At the end of the calm before.
    pub before: Figure<u64>,
    /// The most while it was attacked and afterwards.
    pub most: Figure<u64>,
    /// At the end of the calm afterwards.
    pub after: Figure<u64>,
}

impl Held {
    /// What was added and is still there.
    pub fn left(&self) -> Option<u64> {
        let (before, after) = (self.before.known()?, self.after.known()?);
        Some(after.saturating_sub(*before))
    }
}

/// What an attack does to the good clients of a server.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "kebab-case")]
pub enum Verdict {
    /// It says nothing here.
    NotTried,
    /// Ctrl-C came before enough was measured.
    Interrupted,
    /// The generator was the limit: it cannot be told.
    GeneratorLimited,
    /// Answers took long, and there are too few Reads to say how long for certain.
    TooFewReads,
    /// No harm was seen.
    Unharmed,
    /// Memory was taken that did not come back.
    LeftBehind {
        /// So much.
        bytes: u64,
    },
    /// Good clients waited longer.
    Slowed {
        /// So many times as long.
        times: f64,
    },
    /// Good clients got fewer answers.
    Starved {
        /// As a fraction of the Reads a second of the calm before.
        share: f64,
    },
    /// Good clients were refused, or lost their sessions.
    RefusedGoodClients,
    /// The server did not survive.
    Died,
}

impl Verdict {
    /// Whether it cannot be told if there was harm.
    pub const fn is_open(self) -> bool {
        matches!(self, Self::GeneratorLimited | Self::TooFewReads)
    }

    /// Whether good clients or the server came to harm.
    pub const fn is_harm(self) -> bool {
        matches!(
            self,
            Self::LeftBehind { .. }
                | Self::Slowed { .. }
                | Self::Starved { .. }
                | Self::RefusedGoodClients
                | Self::Died
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_what_came_and_did_not_go() {
        let held = |before: u64, after: u64| Held {
            before: Figure::Known(before),
            most: Figure::Known(after.max(before)),
            after: Figure::Known(after),
        };
        assert_eq!(held(10, 25).left(), Some(15));
        // Less than before is nothing left.
        assert_eq!(held(25, 10).left(), Some(0));
        assert_eq!(Held::default().left(), None);
    }
}
