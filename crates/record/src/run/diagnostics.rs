//! What servers counted themselves while a phase ran, beside what we counted.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{CountComparison, Figure, Internals};

/// What is compared with our own counts: ServerDiagnostics (Part 5, 6.3.3), read before the first request and after the last
/// answer. Counts have the names of their fields in Part 5, and are what was added in between.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Diagnostics {
    /// What each target counted, or why it tells nothing.
    pub targets: Vec<Figure<Counted>>,
    /// Where all targets tell: their counts beside ours, added up.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<CountComparison>,
}

/// What a server counted.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Counted {
    /// ServerDiagnosticsSummary: all clients of the server.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub summary: BTreeMap<String, u64>,
    /// Our entries in SessionDiagnosticsArray.
    pub sessions: Figure<OfSessions>,
    /// Our entries in SubscriptionDiagnosticsArray, where there were subscriptions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subscriptions: Option<Figure<OfSubscriptions>>,
    /// Read requests that fetch the diagnostics themselves, and are among the counts.
    pub own_reads: u64,
    /// What a plant of ours did meanwhile, from one look to the other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub internals: Option<Internals>,
}

/// What was counted for our sessions.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OfSessions {
    /// Those that were there at the end.
    pub found: u64,
    /// Those that were there at the beginning and not at the end: their counts went with them.
    pub lost: u64,
    /// Requests by the name of their counter: `readCount`. Only what is not 0.
    pub requests: BTreeMap<String, u64>,
    /// Those that failed as a whole.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub errors: BTreeMap<String, u64>,
}

/// What was counted for our subscriptions since they were made.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OfSubscriptions {
    /// Those that were there at the end, before we deleted them.
    pub found: u64,
    /// By the name of the counter: `dataChangeNotificationsCount`. Of numbers that come next, as
    /// `nextSequenceNumber`, how many there were.
    pub counts: BTreeMap<String, u64>,
}

impl Diagnostics {
    /// What all targets told, if all of them did.
    pub fn all(&self) -> Option<Vec<&Counted>> {
        let all: Option<Vec<_>> = self.targets.iter().map(Figure::known).collect();
        all.filter(|all| !all.is_empty())
    }

    /// The first reason why a target tells nothing.
    pub fn silence(&self) -> Option<&str> {
        self.targets.iter().find_map(|target| match target {
            Figure::Missing { not_available } => Some(not_available.as_str()),
            Figure::Known(_) => None,
        })
    }
}
