//! What a trial says of its load.

use plan::{Threshold, Unit};
use record::average::median;
use record::run::{Kind, Phase};
use serde::{Deserialize, Serialize};

use crate::threshold::Measured;
use crate::verdict::words::percent;

/// What a trial said of its load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// The objective was met.
    Met,
    /// It was missed.
    Missed,
    /// The run did not settle, and proves neither.
    Unsteady,
    /// The generator could not offer the load.
    Generator,
}

/// An answer, and what it rests on.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    /// The answer.
    pub answer: Answer,
    /// Why it is no other, where that is not plain.
    pub why: Option<Why>,
}

/// What an answer rests on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// This part of the objective was missed: `p99<10ms`.
    Objective(String),
    /// The server does less than it is asked for, by this share: its response times grow.
    Behind(f64),
    /// The server did not keep up with the load.
    Saturated,
    /// No operation succeeded.
    Failed,
    /// Met, although the generator was late.
    Late,
    /// A person changed the load.
    ByHand,
    /// Not all sessions were there to the end.
    Sessions,
    /// Not all items or subscriptions were there; what the server said.
    Refused(String),
    /// A condition ended the trial.
    Aborted,
}

impl Why {
    /// Whether it is something that the server did.
    pub const fn is_of_server(&self) -> bool {
        matches!(self, Self::Behind(_) | Self::Sessions | Self::Refused(_))
    }
}

impl std::fmt::Display for Why {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Objective(threshold) => f.write_str(threshold),
            Self::Behind(share) => write!(f, "falls behind by {}", percent(*share)),
            Self::Saturated => f.write_str("not kept up with"),
            Self::Failed => f.write_str("nothing was done"),
            Self::Late => f.write_str("though late"),
            Self::ByHand => f.write_str("changed by hand"),
            Self::Sessions => f.write_str("refused or lost sessions"),
            Self::Refused(what) => write!(f, "refused {what}"),
            Self::Aborted => f.write_str("ended by --abort-on"),
        }
    }
}

/// A response time that grows by this share of the time that passes belongs to a server that does
/// as much less than it is asked for. With patience enough any objective is missed then.
const BEHIND: f64 = 0.005;

/// Of all pairs of moments, so many more have to rise than fall before that is believed.
const RISING: f64 = 0.5;

/// Fewer moments tell no growth.
const MOMENTS: usize = 8;

/// More are put together, since all pairs are looked at.
const MOST_MOMENTS: usize = 60;

/// Of what was planned, so much may be missing from a load that counts as offered.
const LEFT_OUT: f64 = 0.01;

/// Behind a stop, so much of what was due was done in time.
const NEARLY_ALL: f64 = 0.9;

impl Judgement {
    /// What a phase says of an objective. `paced` says that something else than its answers tells how
    /// much a server has to do: a server that does not keep up has missed any objective then, since
    /// who waits in a queue that grows waits longer and longer.
    pub fn of(phase: &Phase, objective: &[Threshold], paced: bool) -> Self {
        let missed = objective.iter().find_map(|threshold| {
            let outcome = threshold.check(&Measured(phase));
            (!outcome.is_met()).then(|| Why::Objective(threshold.to_string()))
        });
        let growth = paced.then(|| growth(phase)).flatten();
        let behind = growth.filter(|&share| share >= BEHIND);
        let met = missed.is_none();
        let touched = phase.by_hand.iter().any(|it| it.did.changes_load());
        let (answer, why) = match phase.verdict.kind {
            Kind::Failed => (Answer::Missed, Some(Why::Failed)),
            Kind::Unsteady if touched => (Answer::Unsteady, Some(Why::ByHand)),
            // Being late ourselves made it only harder.
            Kind::GeneratorLimited if met && paced && behind.is_none() && offered(phase) => {
                (Answer::Met, Some(Why::Late))
            }
            Kind::GeneratorLimited => (Answer::Generator, None),
            _ if met && let Some(share) = behind => (Answer::Missed, Some(Why::Behind(share))),
            Kind::ServerSaturated if paced && met && !(growth.is_some() && stopped(phase)) => {
                (Answer::Missed, Some(Why::Saturated))
            }
            Kind::Unsteady if met && !lasting(phase, objective) => (Answer::Unsteady, None),
            _ if met => (Answer::Met, None),
            _ => (Answer::Missed, missed),
        };
        Self { answer, why }
    }

    /// Whatever its figures say: a load that was not there as a whole has missed the objective.
    #[must_use]
    pub fn unless(self, lacking: Option<Why>) -> Self {
        match (self.answer, lacking) {
            (Answer::Met | Answer::Unsteady, Some(why)) => Self {
                answer: Answer::Missed,
                why: Some(why),
            },
            _ => self,
        }
    }
}

/// All that was planned was asked for and answered, though perhaps not in time.
fn offered(phase: &Phase) -> bool {
    let total = &phase.total;
    let left_out = total.skipped + total.unsent + total.unfinished;
    left_out as f64 <= LEFT_OUT * total.planned as f64
}

/// What was not done in time would have been, but for a stop shortly before the end: little was left, and
/// all of it was answered after all.
fn stopped(phase: &Phase) -> bool {
    let total = &phase.total;
    let done = total.completed.saturating_sub(total.drained);
    let nearly_all = done as f64 >= NEARLY_ALL * total.planned as f64;
    phase.subscriptions.is_none() && total.timeouts == 0 && offered(phase) && nearly_all
}

/// Medians of the times that matter, interval by interval, in the measured window.
fn course(phase: &Phase) -> Vec<f64> {
    let series = &phase.series;
    let of = match (&phase.subscriptions, &series.delay) {
        (Some(_), Some(delay)) => delay,
        _ => &series.response,
    };
    let width = series.interval_ns.max(1);
    let first = phase.from_ns.div_ceil(width) as usize;
    let last = (phase.to_ns / width) as usize;
    let inside = of.p50_ns.iter().take(last).skip(first);
    inside.flatten().map(|&ns| ns as f64).collect()
}

/// By which share a server does less than it is asked for: a queue that takes in more than it gives
/// out makes each request wait longer than the one before by just that. Nothing of response times that
/// do not grow steadily; none where there are too few to tell. Slopes of all pairs of moments (Theil and Sen) tell, so that a stall is not taken for growth.
fn growth(phase: &Phase) -> Option<f64> {
    let all = course(phase);
    let together = all.len().div_ceil(MOST_MOMENTS).max(1);
    let moments: Vec<f64> = all.chunks_exact(together).filter_map(median).collect();
    if moments.len() < MOMENTS {
        return None;
    }
    let width = phase.series.interval_ns as f64 * together as f64;
    let mut slopes = Vec::new();
    for (at, before) in moments.iter().enumerate() {
        let later = moments.iter().enumerate().skip(at + 1);
        slopes.extend(later.map(|(then, after)| (after - before) / ((then - at) as f64 * width)));
    }
    let rising = slopes.iter().filter(|&&it| it > 0.0).count() as f64;
    let falling = slopes.iter().filter(|&&it| it < 0.0).count() as f64;
    let steadily = rising - falling >= RISING * slopes.len() as f64;
    Some(if steadily {
        median(&slopes)?.max(0.0)
    } else {
        0.0
    })
}

/// Whether a phase that did not settle would meet its objective all the same if it went on as it did
/// for as long again.
fn lasting(phase: &Phase, objective: &[Threshold]) -> bool {
    let moments = course(phase);
    let third = moments.len() / 3;
    let levels = median(&moments[..third]).zip(median(&moments[moments.len() - third..]));
    let Some((before, after)) = levels else {
        return false;
    };
    let factor = (after / before.max(1.0)).max(1.0);
    objective.iter().all(|threshold| {
        let found = threshold.check(&Measured(phase)).figure;
        let time = threshold.stat.unit(threshold.measure) == Unit::Nanos;
        found.is_some_and(|found| !time || threshold.is_met_by(found * factor))
    })
}
