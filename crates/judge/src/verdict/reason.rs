//! Reasons for a verdict: what was found, as figures. The sentences are in `text`.

use record::run::{ByHand, EvidenceTopic, Kind, StallKind};

use super::evidence::{OwnLimit, Standstill};
use super::status;
use crate::steady::{Drift, Outage};

/// Something that was found, and speaks for a verdict.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Reason {
    // Failed.
    NothingCompleted {
        unanswered: u64,
    },
    AllFailed {
        count: u64,
        /// The status that most had, by name, and how many.
        common: Option<(String, u64)>,
    },
    SessionsGone(u64),
    NoSubscription,
    NoItem {
        status: Option<String>,
    },
    NothingCame {
        events: bool,
    },
    SubscriptionsEnded(u64),

    // The generator was the limit.
    PacerLate {
        quantile: &'static str,
        pacer_ns: f64,
        response_ns: f64,
    },
    LeftOut {
        share: f64,
    },
    StoodStill {
        stood: Standstill,
        window_ns: u64,
    },
    ReceiveDelay {
        quantile: &'static str,
        lag_ns: f64,
        whole_ns: f64,
        of: &'static str,
    },
    GeneratorBusy {
        share: f64,
    },
    GeneratorStarved {
        share: f64,
    },
    OwnLimit(OwnLimit),
    AgentLimited {
        /// Its name.
        agent: String,
        /// Its share of the offered load.
        share: f64,
        /// What its own verdict says.
        why: String,
    },
    Stolen {
        share: f64,
    },
    OverflowedMeanwhile {
        values: u64,
    },

    // It was not steady.
    Silence {
        from_ns: u64,
        length_ns: u64,
        /// When it ended; none if it lasts.
        to_ns: Option<u64>,
    },
    Outage(Outage),
    Drift {
        drift: Drift,
        bin_ns: u64,
    },
    Little {
        in_flight: f64,
        law: f64,
    },
    ByHand(Vec<ByHand>),

    // The server did not keep up.
    Behind {
        share: f64,
        operations: f64,
    },
    SlotsTaken {
        share: f64,
        longest_ns: u64,
    },
    SocketFull {
        share: f64,
        longest_ns: u64,
    },
    Unanswered {
        share: f64,
    },
    ServerBusy {
        cores: f64,
        allowed: f64,
    },
    ThreadBusy {
        share: f64,
    },
    Late {
        share: f64,
    },
    ShortOfChanges {
        share: f64,
    },
    SlowPublishing {
        found_ns: f64,
        wanted_ns: f64,
    },
    Queueing {
        p99_ns: u64,
    },

    // All is well.
    Sent {
        share: f64,
    },
    PacerOnTime {
        p99_ns: u64,
    },
    GeneratorIdle {
        busy: f64,
    },
}

/// What a reason speaks for, what explains most first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ReasonKind {
    Failed,
    Generator,
    /// Nothing came of subscriptions: it looks like an outage, or like too much load.
    Silence,
    /// A server that was away is not one that was asked for too much, and looks like it.
    Outage,
    Saturated,
    Drift,
    /// Whatever the verdict is, the load is not the one that was planned.
    ByHand,
    Sound,
}

impl ReasonKind {
    pub(super) fn kind(self) -> Kind {
        match self {
            Self::Failed => Kind::Failed,
            Self::Generator => Kind::GeneratorLimited,
            Self::Silence | Self::Outage | Self::Drift | Self::ByHand => Kind::Unsteady,
            Self::Saturated => Kind::ServerSaturated,
            Self::Sound => Kind::Valid,
        }
    }
}

const OWN_CORE: &str =
    "give the generator a core of its own (--pin), more --threads, or a lower rate";
const LOWER_RATE: &str = "a lower --rate finds what the server can do for long";
const ITS_LIMIT: &str =
    "this is its limit with this load; larger batches usually cost less for each value";

impl Reason {
    pub(crate) fn ground(&self) -> ReasonKind {
        match self {
            Self::NothingCompleted { .. }
            | Self::AllFailed { .. }
            | Self::SessionsGone(_)
            | Self::NoSubscription
            | Self::NoItem { .. }
            | Self::NothingCame { .. }
            | Self::SubscriptionsEnded(_) => ReasonKind::Failed,
            Self::PacerLate { .. }
            | Self::LeftOut { .. }
            | Self::StoodStill { .. }
            | Self::ReceiveDelay { .. }
            | Self::GeneratorBusy { .. }
            | Self::GeneratorStarved { .. }
            | Self::OwnLimit(_)
            | Self::AgentLimited { .. }
            | Self::Stolen { .. }
            | Self::OverflowedMeanwhile { .. } => ReasonKind::Generator,
            Self::Silence { .. } => ReasonKind::Silence,
            Self::Outage(_) => ReasonKind::Outage,
            Self::Drift { .. } | Self::Little { .. } => ReasonKind::Drift,
            Self::ByHand(_) => ReasonKind::ByHand,
            Self::Behind { .. }
            | Self::SlotsTaken { .. }
            | Self::SocketFull { .. }
            | Self::Unanswered { .. }
            | Self::ServerBusy { .. }
            | Self::ThreadBusy { .. }
            | Self::Late { .. }
            | Self::ShortOfChanges { .. }
            | Self::SlowPublishing { .. }
            | Self::Queueing { .. } => ReasonKind::Saturated,
            Self::Sent { .. } | Self::PacerOnTime { .. } | Self::GeneratorIdle { .. } => {
                ReasonKind::Sound
            }
        }
    }

    /// What it is about, for programs.
    pub(crate) fn about(&self) -> EvidenceTopic {
        match self {
            Self::NothingCompleted { .. } => EvidenceTopic::NothingCompleted,
            Self::AllFailed { .. } => EvidenceTopic::AllFailed,
            Self::SessionsGone(_) => EvidenceTopic::SessionsLost,
            Self::NoSubscription => EvidenceTopic::NoSubscription,
            Self::NoItem { .. } => EvidenceTopic::NoItem,
            Self::NothingCame { .. } => EvidenceTopic::NothingCame,
            Self::SubscriptionsEnded(_) => EvidenceTopic::SubscriptionsEnded,
            Self::PacerLate { .. } | Self::PacerOnTime { .. } => EvidenceTopic::Pacer,
            Self::LeftOut { .. } => EvidenceTopic::LeftOut,
            Self::StoodStill { .. } => EvidenceTopic::StoodStill,
            Self::ReceiveDelay { .. } => EvidenceTopic::ReceiveDelay,
            Self::GeneratorBusy { .. } | Self::GeneratorIdle { .. } => EvidenceTopic::GeneratorCpu,
            Self::GeneratorStarved { .. } => EvidenceTopic::GeneratorStarved,
            Self::OwnLimit(_) => EvidenceTopic::OwnLimit,
            Self::AgentLimited { .. } => EvidenceTopic::Agent,
            Self::Stolen { .. } => EvidenceTopic::Stolen,
            Self::OverflowedMeanwhile { .. } => EvidenceTopic::OverflowedMeanwhile,
            Self::Silence { .. } => EvidenceTopic::Silence,
            Self::Outage(_) => EvidenceTopic::Outage,
            Self::Drift { .. } => EvidenceTopic::Drift,
            Self::Little { .. } => EvidenceTopic::Little,
            Self::ByHand(_) => EvidenceTopic::ByHand,
            Self::Behind { .. } => EvidenceTopic::Behind,
            Self::SlotsTaken { .. } => EvidenceTopic::SlotsTaken,
            Self::SocketFull { .. } => EvidenceTopic::SocketFull,
            Self::Unanswered { .. } => EvidenceTopic::Unanswered,
            Self::ServerBusy { .. } | Self::ThreadBusy { .. } => EvidenceTopic::ServerCpu,
            Self::Late { .. } => EvidenceTopic::LateValues,
            Self::ShortOfChanges { .. } => EvidenceTopic::ShortOfChanges,
            Self::SlowPublishing { .. } => EvidenceTopic::SlowPublishing,
            Self::Queueing { .. } => EvidenceTopic::Queueing,
            Self::Sent { .. } => EvidenceTopic::Sent,
        }
    }

    /// What would help; nothing where another line says it.
    pub(crate) fn advice(&self) -> &'static str {
        match self {
            Self::NothingCompleted { .. } => {
                "see with `uaperf probe` whether the server answers at all, or allow more time with --timeout"
            }
            Self::AllFailed { common, .. } => {
                status::advice(common.as_ref().map_or("", |(name, _)| name))
            }
            Self::SessionsGone(_) => {
                "see in the server's log why it closed them; --reconnect goes on all the same"
            }
            Self::PacerLate { .. } => {
                "give the generator a core of its own (--pin), try --spin, more --threads, or a lower rate"
            }
            Self::LeftOut { .. } => OWN_CORE,
            Self::StoodStill { stood, .. } => match stood.kind {
                StallKind::HeldUp => {
                    "stop what else runs on this machine, give the generator a core of its own (--pin), and do not \
                     stop it while it measures"
                }
                StallKind::Suspended => "keep the machine from being suspended while it measures",
            },
            Self::ReceiveDelay { .. } => {
                "give the generator a core of its own (--pin), more --threads, or less load"
            }
            Self::GeneratorBusy { .. } => "use more --threads, larger batches, or fewer sessions",
            Self::GeneratorStarved { .. } => {
                "stop what else runs on this machine, or keep it off the generator's core (--pin)"
            }
            Self::OwnLimit(_) => {
                "raise the limit (ulimit -n, net.ipv4.ip_local_port_range), or use more machines"
            }
            Self::AgentLimited { .. } => {
                "give that host less to do, or put more hosts beside it (--fleet)"
            }
            Self::Stolen { .. } => "use a machine whose CPUs are not shared",
            Self::Silence { .. } => {
                "find out in the server's log what it did then; without anything to tell it owes a keep-alive"
            }
            Self::Outage(_) => {
                "find out in the server's log what it did then; a start that fails is left out with --warmup only"
            }
            Self::Drift { drift, .. } => match drift.of {
                "backlog" => {
                    "the rate is above what the server can do for long: lower it, or run longer to see"
                }
                _ => {
                    "find out what changed at that time, run longer, or leave out more with --warmup or --max-warmup"
                }
            },
            Self::Little { .. } => "run longer, so that what is under way at both ends weighs less",
            Self::ByHand(_) => "run it again and leave it alone, for figures that can be compared",
            Self::Behind { .. } | Self::SlotsTaken { .. } | Self::SocketFull { .. } => LOWER_RATE,
            Self::Unanswered { .. } => {
                "less load, or a longer --timeout if such answers are still of use"
            }
            Self::ServerBusy { .. } | Self::ThreadBusy { .. } => ITS_LIMIT,
            // What subscriptions ask for is said once for all of them.
            _ => "",
        }
    }
}
