//! Reasons as sentences.

use record::run::{ByHand, OperatorAction, StallKind};

use super::evidence::Standstill;
use super::reason::Reason;
use super::words::{chance, percent, time};
use crate::steady::{Drift, Outage};

/// More changes by hand than these are only counted.
const TOLD: usize = 6;

impl Reason {
    pub(crate) fn text(&self) -> String {
        match self {
            Self::NothingCompleted { unanswered: 0 } => "no operation was completed".to_owned(),
            Self::NothingCompleted { unanswered: n } => {
                format!("none of {n} operations was answered")
            }
            Self::AllFailed { count, common } => {
                let common = common.as_ref();
                let common = common.map(|(name, n)| format!(": {name} {n} times"));
                format!(
                    "all {count} operations failed{}",
                    common.unwrap_or_default()
                )
            }
            Self::SessionsGone(1) => "the session was lost".to_owned(),
            Self::SessionsGone(n) => format!("all {n} sessions were lost"),
            Self::NoSubscription => "no subscription was created".to_owned(),
            Self::NoItem { status: None } => "no monitored item was created".to_owned(),
            Self::NoItem { status: Some(it) } => format!("no monitored item was created: {it}"),
            Self::NothingCame { events: true } => "no event came".to_owned(),
            Self::NothingCame { events: false } => "no value came".to_owned(),
            Self::SubscriptionsEnded(1) => "the subscription ended".to_owned(),
            Self::SubscriptionsEnded(n) => format!("all {n} subscriptions ended"),
            Self::PacerLate {
                quantile,
                pacer_ns,
                response_ns,
            } => format!(
                "the pacer itself was late: {quantile} {}, which is {} of the response time",
                time(*pacer_ns),
                percent((pacer_ns / response_ns).min(1.0))
            ),
            Self::LeftOut { share } => format!(
                "{} of the planned operations were left out because the generator was late",
                percent(*share)
            ),
            Self::StoodStill { stood, window_ns } => stood_still(stood, *window_ns),
            Self::ReceiveDelay {
                quantile,
                lag_ns,
                whole_ns,
                of,
            } => format!(
                "what had come waited for the generator: {quantile} {}, which is {} of the {of}",
                time(*lag_ns),
                percent((lag_ns / whole_ns).min(1.0))
            ),
            Self::GeneratorBusy { share } => {
                format!("a core of the generator was busy for {}", percent(*share))
            }
            Self::GeneratorStarved { share } => format!(
                "a core of the generator waited {} of its time for a CPU that others had",
                percent(*share)
            ),
            Self::OwnLimit(limit) => format!(
                "{} {} were wanted, this machine allows {}",
                limit.wanted, limit.what, limit.allowed
            ),
            Self::AgentLimited { agent, share, why } => format!(
                "agent {agent}, with {} of the offered load, was the limit itself: {why}",
                percent(*share)
            ),
            Self::Stolen { share } => format!(
                "the hypervisor took {} of this machine's time",
                percent(*share)
            ),
            Self::OverflowedMeanwhile { values } => {
                let what = if *values == 1 { "value" } else { "values" };
                format!(
                    "{values} {what} overflowed in the server while the generator itself did not run"
                )
            }
            Self::Silence {
                from_ns,
                length_ns,
                to_ns,
            } => {
                let until = to_ns.map_or_else(|| "the end".to_owned(), |to| time(to as f64));
                format!(
                    "nothing came from {} to {until} ({}), not even a keep-alive",
                    time(*from_ns as f64),
                    time(*length_ns as f64)
                )
            }
            Self::Outage(outage) => outage_text(outage),
            Self::Drift { drift, bin_ns } => drift_text(drift, *bin_ns),
            Self::Little { in_flight, law } => format!(
                "in flight were {in_flight:.1} operations, but rate times service time makes {law:.1} \
                 (Little's law): what came in is not what went out"
            ),
            Self::ByHand(changes) => by_hand(changes),
            Self::Behind { share, operations } => format!(
                "{} of what was due was done in time, {operations:.0} operations were not",
                percent(*share)
            ),
            Self::SlotsTaken { share, longest_ns } => held_up(
                *share,
                "waited because all slots were in flight",
                *longest_ns,
            ),
            Self::SocketFull { share, longest_ns } => held_up(
                *share,
                "waited because the server did not read",
                *longest_ns,
            ),
            Self::Unanswered { share } => format!(
                "{} of the operations were not answered in time",
                percent(*share)
            ),
            Self::ServerBusy { cores, allowed } => {
                format!("the server kept {cores:.2} of its {allowed:.0} cores busy")
            }
            Self::ThreadBusy { share } => format!(
                "a thread of the server was busy for {} of the time",
                percent(share.min(1.0))
            ),
            Self::Late { share } => format!(
                "{} of the values came more than one publishing late",
                percent(*share)
            ),
            Self::ShortOfChanges { share } => format!(
                "{} of the values that the change rate promises did not come",
                percent(*share)
            ),
            Self::SlowPublishing {
                found_ns,
                wanted_ns,
            } => format!(
                "the slowest subscription published each {} instead of each {}",
                time(*found_ns),
                time(*wanted_ns)
            ),
            Self::Queueing { p99_ns } => format!(
                "values waited in the server for {} beyond sampling and publishing (p99)",
                time(*p99_ns as f64)
            ),
            Self::Sent { share } => format!("{} of what was planned was sent", percent(*share)),
            Self::PacerOnTime { p99_ns } => format!("pacer lateness p99 {}", time(*p99_ns as f64)),
            Self::GeneratorIdle { busy } => {
                format!("busiest core of the generator {}", percent(*busy))
            }
        }
    }
}

fn held_up(share: f64, why: &str, longest_ns: u64) -> String {
    format!(
        "{} of the operations {why}, up to {}",
        percent(share),
        time(longest_ns as f64)
    )
}

/// How long it was, and when.
pub(super) fn stood_still(stood: &Standstill, window_ns: u64) -> String {
    let at = time(stood.at_ns as f64);
    let (total, longest) = (time(stood.total_ns as f64), time(stood.longest_ns as f64));
    let often = match stood.times {
        1 => format!("for {total} at {at}"),
        n => format!("for {total} in all, {n} times, the longest {longest} at {at}"),
    };
    match stood.kind {
        StallKind::Suspended => format!("this machine was suspended {often}"),
        StallKind::HeldUp => {
            let share = stood.total_ns as f64 / window_ns.max(1) as f64;
            let share = percent(share.min(1.0));
            format!("the generator itself did not run {often}: {share} of the time")
        }
    }
}

fn outage_text(outage: &Outage) -> String {
    let (from, to) = (time(outage.from_ns as f64), time(outage.to_ns as f64));
    let length = time(outage.to_ns.saturating_sub(outage.from_ns) as f64);
    let until = if outage.lasts { "the end" } else { &*to };
    let failed = outage.failed;
    match (outage.is_silent, failed) {
        (true, 0) => format!("no operation succeeded from {from} to {until} ({length})"),
        (true, _) => {
            format!("no operation succeeded from {from} to {until} ({length}), and {failed} failed")
        }
        (false, _) => {
            format!("{failed} operations failed between {from} and {to}: a failure is no warm-up")
        }
    }
}

fn drift_text(drift: &Drift, bin_ns: u64) -> String {
    let show = |value: f64| match drift.of {
        "response" => time(value),
        "cpu" => format!("{value:.2} cores"),
        "rate" => format!("{:.0}/s", value * 1e9 / bin_ns.max(1) as f64),
        _ => format!("{value:.0} operations"),
    };
    let what = match drift.of {
        "response" => "median response time",
        "backlog" => "backlog",
        "cpu" => "CPU of the server",
        other => other,
    };
    format!(
        "{what} went from {} to {} at {} (by chance: p = {})",
        show(drift.before),
        show(drift.after),
        time(drift.at_ns as f64),
        chance(drift.p)
    )
}

fn by_hand(changes: &[ByHand]) -> String {
    let mut told: Vec<String> = changes.iter().take(TOLD).map(changed).collect();
    match changes.len().saturating_sub(TOLD) {
        0 => {}
        1 => told.push("and once more".to_owned()),
        more => told.push(format!("and {more} times more")),
    }
    format!("the offered load was changed by hand: {}", told.join(", "))
}

fn changed(change: &ByHand) -> String {
    let at = time(change.at_ns as f64);
    match change.did {
        OperatorAction::Paused => format!("paused at {at}"),
        OperatorAction::Resumed => format!("resumed at {at}"),
        _ => format!("{} % of the plan from {at}", change.offered_percent),
    }
}
