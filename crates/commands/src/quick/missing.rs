//! What a phase lacks of what was asked: the verdict is INCOMPLETE then.

use std::sync::Arc;

use judge::{EndedBy, Missing};
use load::engine::{Control, Outcome, Target};
use plan::unit::duration::nanos;
use plan::{Phase, Seat};
use record::Tally;
use record::run::Subscriptions;

use super::result::status_name;
use crate::time_limit;

/// Who ended the phase before its time, if somebody did. A condition of `--abort-on` was asked for.
pub fn ended_by(phase: &Phase, outcome: &Outcome, control: &Control) -> Option<EndedBy> {
    let by = match outcome.stopped {
        true if control.is_stopped() => time_limit::by(),
        true if control.is_aborted() => return None,
        true => EndedBy::Hand,
        false => return None,
    };
    // What came while the last answers were awaited cut nothing off; a pause makes a phase longer than planned.
    let whole = planned_ns(phase).is_some_and(|end| outcome.ended_ns >= end);
    (!whole || !outcome.by_hand.is_empty()).then_some(by)
}

fn planned_ns(phase: &Phase) -> Option<u64> {
    let until = phase.measured_until()?.saturating_add(phase.cooldown);
    Some(nanos(until))
}

/// All that is missing but servers, which are not known here.
pub fn of(
    phase: &Phase,
    looked: &[Arc<Target>],
    outcome: &Outcome,
    tally: &Tally,
    by: Option<EndedBy>,
    heard: Option<&Subscriptions>,
) -> Vec<Missing> {
    let mut missing = Vec::new();
    missing.extend(by.map(|by| Missing::Time {
        by,
        after_ns: outcome.ended_ns,
        planned_ns: planned_ns(phase),
    }));
    missing.extend(sessions(looked, outcome));
    missing.extend(requests(phase, outcome, tally));
    if let Some(heard) = heard {
        let refused = outcome.refused.iter();
        let refused = refused.map(|(status, n)| (status_name(*status), *n));
        let refused: Vec<(String, u64)> = refused.collect();
        missing.extend(judge::subscriptions::missing(heard, &refused));
    }
    missing
}

/// Sessions that are not there, and those that were lost for good.
fn sessions(looked: &[Arc<Target>], outcome: &Outcome) -> Vec<Missing> {
    let mut missing = Vec::new();
    let opened = outcome.opened as u64;
    // Sessions that come and go with each request are counted as requests are.
    let kept = opened > 0 || !outcome.failed.is_empty();
    let wanted = outcome.wanted as u64;
    if kept && opened < wanted {
        let first = outcome.failed.first();
        missing.push(Missing::Sessions {
            wanted,
            opened,
            why: first.map(|it| format!("{}: {}", named(looked, it.seat), it.error)),
        });
    }
    let mut gone = outcome.losses.iter().filter(|(_, loss)| !loss.back);
    if let Some((seat, loss)) = gone.next() {
        missing.push(Missing::Lost {
            opened,
            lost: 1 + gone.count() as u64,
            why: Some(format!(
                "{} after {:.1} s: {}",
                named(looked, *seat),
                loss.at_ns as f64 / 1e9,
                loss.reason
            )),
        });
    }
    missing
}

/// Requests that were not sent, unless it was time to end: a duration beside a number is a limit that was asked for
/// as well.
fn requests(phase: &Phase, outcome: &Outcome, tally: &Tally) -> Option<Missing> {
    let wanted = outcome.requests?;
    let sent = sent(phase, tally);
    let in_time = planned_ns(phase).is_none_or(|end| outcome.ended_ns < end);
    (sent < wanted && in_time && !outcome.stopped).then_some(Missing::Requests { wanted, sent })
}

/// Requests that were sent of those that were asked for by number.
pub fn sent(phase: &Phase, tally: &Tally) -> u64 {
    let measured = tally.window(nanos(phase.warmup.given()), u64::MAX);
    measured.sum.counters.sent
}

/// A session; where each is a client of its own, with the name of its certificate.
pub fn named(looked: &[Arc<Target>], seat: Seat) -> String {
    let each = looked
        .get(seat.target as usize)
        .and_then(|target| target.access.each.as_ref());
    let client = each.and_then(|each| each.clients().get(seat.index as usize));
    match client {
        Some(client) => format!("session {} ({})", seat.index, client.wanted.name),
        None => format!("session {}", seat.index),
    }
}
