//! What each protection of a server costs, and what the server refuses: the sheet of `uaperf security`.

use serde::{Deserialize, Serialize};

use crate::run::{Figure, Fingerprint};
use crate::{Timestamp, average};

/// What a sheet calls itself in its file.
pub const FORMAT: &str = "uaperf-security";
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
    /// The server's process, where it is known.
    pub process: Figure<u32>,
    /// What it was measured on.
    pub machine: Fingerprint,
    /// How often all was measured, in turn.
    pub rounds: u32,
    /// The node whose value was read.
    pub node: String,
    /// Ctrl-C came before the end.
    pub interrupted: bool,
    /// The server's certificate, of its best endpoint.
    pub certificate: Figure<Certificate>,
    /// Policies and modes, the weakest first.
    pub ways: Vec<Way>,
    /// What has to be refused, and whether it was.
    pub refusals: Vec<Refusal>,
    /// What anonymous users may do.
    pub rights: Figure<Rights>,
    /// What should be mended, and how.
    pub warnings: Vec<Warning>,
}

/// What the server shows of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Certificate {
    /// Its subject.
    pub subject: String,
    /// Kind and length of its key.
    pub key: String,
    /// Days until it expires.
    pub days_left: i64,
    /// The host that was connected to, if the certificate does not name it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unnamed_host: Option<String>,
    /// What else a strict client may hold against it.
    pub problems: Vec<String>,
}

/// A policy and mode that the server offers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Way {
    /// Policy and mode.
    pub security: String,
    /// Whether the standard has withdrawn the policy.
    pub deprecated: bool,
    /// The kinds of users that it takes.
    pub users: Vec<User>,
    /// Why nothing was measured, if so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
    /// Steps of connecting, of all connections.
    pub steps: Vec<SecurityStep>,
    /// From the first byte to an active session.
    pub connect: Figure<Spread>,
    /// CPU of the server for a connection that is opened and closed.
    pub server_connect_cpu_ns: Figure<f64>,
    /// The same of this program.
    pub client_connect_cpu_ns: Figure<f64>,
    /// Connections that several clients made and left at the same time; older sheets have none.
    #[serde(default)]
    pub handshakes: Figure<Handshakes>,
    /// Renewing the security token of a channel.
    pub renewal: Figure<Spread>,
    /// Reads of so many values.
    pub sizes: Vec<Size>,
    /// CPU of the server for a Read, and for each byte of request and response.
    pub server_cost: Figure<Cost>,
    /// The same of this program.
    pub client_cost: Figure<Cost>,
}

/// Connections from the first byte to an active session, made and left by several clients at the same time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Handshakes {
    /// How many clients.
    pub at_once: u32,
    /// Connections that were made.
    pub made: u64,
    /// Those that were not.
    pub failed: u64,
    /// Why the first of them was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Made in a second, by round.
    pub per_second: Range,
    /// CPU of the server for each.
    pub server_cpu_ns: Figure<f64>,
    /// CPU of this program for each.
    pub client_cpu_ns: Figure<f64>,
}

/// A figure of several rounds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Range {
    /// The median of the rounds.
    pub median: f64,
    /// The round with the smallest.
    pub low: f64,
    /// The round with the largest.
    pub high: f64,
}

impl Range {
    /// Of these rounds; none of none.
    pub fn of(rounds: &[f64]) -> Option<Self> {
        let each = || rounds.iter().copied();
        Some(Self {
            median: average::median(rounds)?,
            low: each().reduce(f64::min)?,
            high: each().reduce(f64::max)?,
        })
    }
}

/// A kind of user.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct User {
    /// Anonymous, user name, certificate, issued token.
    pub kind: String,
    /// Whether its secret travels as it is, for everybody on the way to read.
    pub in_the_clear: bool,
    /// ActivateSession with it, or why it was not tried.
    pub activation: Figure<Spread>,
}

/// A step of connecting.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SecurityStep {
    /// Its name.
    pub step: String,
    /// How long it took.
    pub took: Spread,
}

/// Times in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// How many there are.
    pub count: u64,
    /// The one in the middle.
    pub median_ns: u64,
    /// 90 % are at most this.
    pub p90_ns: u64,
    /// The quickest.
    pub min_ns: u64,
    /// The slowest.
    pub max_ns: u64,
}

impl Spread {
    /// Of these times; none of none.
    pub fn of(times: &mut [u64]) -> Option<Self> {
        times.sort_unstable();
        let at = |share: f64| {
            let place = (share * times.len() as f64).ceil() as usize;
            times.get(place.saturating_sub(1)).copied()
        };
        Some(Self {
            count: times.len() as u64,
            median_ns: average::median_ns(times.iter().copied())?,
            p90_ns: at(0.9)?,
            min_ns: at(0.0)?,
            max_ns: at(1.0)?,
        })
    }
}

/// Reads of so many values, one after the other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Size {
    /// Values in each.
    pub values: u32,
    /// How many there were.
    pub requests: u64,
    /// Of a request on the wire, with everything that protects it.
    pub request_bytes: u64,
    /// Of a response.
    pub response_bytes: u64,
    /// From request to response.
    pub round_trip: Spread,
    /// The median of each round as a multiple of what it was in the same round without protection.
    pub ratio: Figure<Range>,
    /// CPU of the server for each.
    pub server_cpu_ns: Figure<f64>,
    /// CPU of this program for each.
    pub client_cpu_ns: Figure<f64>,
}

/// What messages cost.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// A request and its response without their bytes.
    pub request_ns: f64,
    /// Each byte of them.
    pub byte_ns: f64,
}

/// Something that a server has to refuse.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Refusal {
    /// What it was shown.
    pub what: String,
    /// What came of it.
    pub outcome: Outcome,
    /// The status code, or why it was not tried.
    pub told: String,
}

/// What came of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// As it should be.
    Refused,
    /// As it should not be.
    Accepted,
    /// It says nothing here.
    NotTried,
}

impl Outcome {
    /// For a reader.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::Accepted => "ACCEPTED",
            Self::NotTried => "not tried",
        }
    }
}

/// What anonymous users may do, as far as it was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rights {
    /// Over which policy and mode.
    pub security: String,
    /// Nodes that were looked at.
    pub nodes: u64,
    /// Whether there are more.
    pub more: bool,
    /// Variables among them.
    pub variables: u64,
    /// Variables whose values they may write.
    pub writable: u64,
    /// Methods among the nodes that they may call.
    pub callable: u64,
    /// The first of those variables.
    pub first: Option<String>,
}

/// Something that should be mended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    /// What is wrong.
    pub what: String,
    /// How it is mended.
    pub cure: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_has_the_median_and_its_other_values_were_seen() {
        let spread = Spread::of(&mut [30, 10, 20, 50, 40, 60, 70, 80, 90, 100]);
        let expected = Spread {
            count: 10,
            median_ns: 55,
            p90_ns: 90,
            min_ns: 10,
            max_ns: 100,
        };
        assert_eq!(spread, Some(expected));
        assert_eq!(Spread::of(&mut []), None);
    }
}
