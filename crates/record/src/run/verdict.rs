//! Whether a run can be believed, and why.

use serde::{Deserialize, Serialize};

/// The first word about a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING-KEBAB-CASE")]
pub enum Kind {
    /// The load was offered as planned and the figures stand.
    #[default]
    Valid,
    /// The load was offered truly and the server did not keep up: a finding.
    ServerSaturated,
    /// The run drifted; no single figure describes it.
    Unsteady,
    /// The generator was the limit; the figures speak of it, not of the server.
    GeneratorLimited,
    /// Something that was asked did not happen: a target, a session, an item, a phase, time.
    Incomplete,
    /// Something broke.
    Failed,
}

impl Kind {
    /// As it is printed: `SERVER-SATURATED`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Valid => "VALID",
            Self::ServerSaturated => "SERVER-SATURATED",
            Self::Unsteady => "UNSTEADY",
            Self::GeneratorLimited => "GENERATOR-LIMITED",
            Self::Incomplete => "INCOMPLETE",
            Self::Failed => "FAILED",
        }
    }
}

impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

/// A verdict with its evidence and what to change. All of it is sentences for people; the figures
/// behind them are elsewhere in the file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// The verdict.
    pub kind: Kind,
    /// What it rests on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<String>,
    /// What to change.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub advice: Vec<String>,
    /// What does not change it but should be known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// A threshold, and what became of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Expectation {
    /// The condition: `p99<5ms`.
    pub expected: String,
    /// What was found, in nanoseconds, per second or as a count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<f64>,
    /// Whether it was met. What could not be measured was not met.
    pub met: bool,
    /// Why there is nothing to compare with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}
