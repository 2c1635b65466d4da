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

/// What a sentence of evidence is about.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum EvidenceTopic {
    /// No operation was answered at all.
    NothingCompleted,
    /// Every operation failed.
    AllFailed,
    /// Every session was lost.
    SessionsLost,
    /// No subscription was created.
    NoSubscription,
    /// No item was created.
    NoItem,
    /// No value and no event came.
    NothingCame,
    /// Every subscription ended.
    SubscriptionsEnded,
    /// The phase ended before its time.
    EndedEarly,
    /// A server was not loaded.
    Target,
    /// Sessions were not opened.
    FewerSessions,
    /// Sessions were lost for good.
    LostSessions,
    /// Requests were not sent.
    FewerRequests,
    /// Subscriptions were not created.
    FewerSubscriptions,
    /// Items were not created.
    FewerItems,
    /// A phase was not carried out.
    Phase,
    /// An agent of a fleet was lost, or was the limit.
    Agent,
    /// How late the generator sent.
    Pacer,
    /// Operations were left out as the generator was late.
    LeftOut,
    /// The generator did not run.
    StoodStill,
    /// What had come waited for the generator.
    ReceiveDelay,
    /// The generator's busiest core.
    GeneratorCpu,
    /// The generator waited for a CPU.
    GeneratorStarved,
    /// A limit of the generator's host.
    OwnLimit,
    /// Time that the hypervisor took.
    Stolen,
    /// Values overflowed while the generator did not run.
    OverflowedMeanwhile,
    /// Subscriptions heard nothing though something was owed.
    Silence,
    /// No operation succeeded for a while.
    Outage,
    /// Figures changed while it ran.
    Drift,
    /// Rate and service time do not make what was in flight.
    Little,
    /// A person changed the load.
    ByHand,
    /// Operations were not done in time.
    Behind,
    /// Operations waited for a slot.
    SlotsTaken,
    /// Operations waited for a server that did not read.
    SocketFull,
    /// Operations were not answered in time.
    Unanswered,
    /// CPU of the server.
    ServerCpu,
    /// Values came late.
    LateValues,
    /// Fewer values came than change.
    ShortOfChanges,
    /// A subscription published too slowly.
    SlowPublishing,
    /// Values waited in the server.
    Queueing,
    /// How much of the plan was sent.
    Sent,
    /// Something that this version does not know, or a file without it.
    #[default]
    #[serde(other)]
    Other,
}

/// A verdict with its evidence and what to change. Sentences are for people, `about` is for programs; the
/// figures behind them are elsewhere in the file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// The verdict.
    pub kind: Kind,
    /// What it rests on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<String>,
    /// What each sentence of the evidence is about.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub about: Vec<EvidenceTopic>,
    /// What to change.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub advice: Vec<String>,
    /// What does not change it but should be known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl Verdict {
    /// Adds a sentence of evidence that is not there yet, and what would help.
    pub fn add(&mut self, about: EvidenceTopic, text: String, advice: &str) {
        if !self.evidence.contains(&text) {
            self.about.resize(self.evidence.len(), EvidenceTopic::Other);
            self.evidence.push(text);
            self.about.push(about);
        }
        if !advice.is_empty() {
            self.advise(advice);
        }
    }

    /// Adds what would help, once.
    pub fn advise(&mut self, advice: &str) {
        if !self.advice.iter().any(|it| it == advice) {
            self.advice.push(advice.to_owned());
        }
    }

    /// Its evidence, and what each sentence is about.
    pub fn reasons(&self) -> impl Iterator<Item = (EvidenceTopic, &str)> {
        let about = self.about.iter().copied();
        let about = about.chain(std::iter::repeat(EvidenceTopic::Other));
        std::iter::zip(about, self.evidence.iter().map(String::as_str))
    }

    /// Takes the evidence out.
    pub fn take_evidence(&mut self) -> Vec<String> {
        self.about.clear();
        std::mem::take(&mut self.evidence)
    }
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
