//! What makes a run generator-limited: a late pacer, no CPU left, limits of its own. Nothing else.

use record::run::StallKind;

use super::Evidence;
use super::evidence::Standstill;
use super::reason::Reason;
use super::text::stood_still;

/// Pacer lateness below this is what an operating system does to every program that sleeps.
const PACER_NS: f64 = 1e6;

/// Pacer lateness matters when it is this share of the response time that is reported.
const OF_RESPONSE: f64 = 0.1;

/// Operations that have to lie beyond a percentile of it.
const BEYOND: f64 = 10.0;

/// A generator that did not run for so long in all may have made a figure of its own.
const STOOD_NS: u64 = 100_000_000;

/// It has, where this share of the window went by meanwhile.
const STOOD: f64 = 0.01;

/// It has, too, where the longest time is this share of the largest response.
const OF_LARGEST: f64 = 0.5;

/// Answers that wait in the kernel for less than this wait as they do with every program.
const LAG_NS: f64 = 10e6;

/// So much of a response time is to be the server's.
const LAG: f64 = 0.5;

/// A core that is busy for this share of its time has none left.
const BUSY: f64 = 0.95;

/// A core that had to wait for a CPU for this share of its time was not alone.
const STARVED: f64 = 0.25;

/// Left out or never sent, of what was planned.
const LEFT_OUT: f64 = 0.01;

pub(super) fn reasons(evidence: &Evidence) -> Vec<Reason> {
    let mut reasons = Vec::new();

    // In a closed loop nothing is planned but by answers: there is no pacer to be late.
    if evidence.load.is_open() {
        for (q, name) in [(0.99, "p99"), (0.9, "p90"), (0.5, "median")] {
            // A percentile that a handful of operations makes is chance.
            if evidence.pacer.count() as f64 * (1.0 - q) < BEYOND {
                continue;
            }
            let (Some(pacer), Some(response)) = (
                evidence.pacer.quantile(q).map(|ns| ns as f64),
                evidence.response.quantile(q).map(|ns| ns as f64),
            ) else {
                continue;
            };
            if pacer > PACER_NS && pacer > OF_RESPONSE * response {
                reasons.push(Reason::PacerLate {
                    quantile: name,
                    pacer_ns: pacer,
                    response_ns: response,
                });
                break;
            }
        }
        // Who made them late is seen in what was sent.
        let (pacer, others) = (
            evidence.pacer.sum(),
            evidence.slot.sum() + evidence.socket.sum(),
        );
        let skipped = evidence.skipped as f64;
        if skipped > LEFT_OUT * evidence.planned as f64 && pacer > others {
            reasons.push(Reason::LeftOut {
                share: skipped / evidence.planned as f64,
            });
        }
    }
    if let Some(stood) = evidence.standstill().filter(|it| matters(evidence, it)) {
        reasons.push(Reason::StoodStill {
            stood,
            window_ns: evidence.window_ns,
        });
    }
    // In an open loop what was found late makes the next requests late, which is told above.
    for (q, name) in [(0.99, "p99"), (0.9, "p90"), (0.5, "median")] {
        if evidence.load.is_open() && evidence.delay.is_empty()
            || evidence.lag.count() as f64 * (1.0 - q) < BEYOND
        {
            continue;
        }
        let (whole, what) = match evidence.delay.is_empty() {
            true => (&evidence.service, "service time"),
            false => (&evidence.delay, "delay"),
        };
        let quantile = |it: &record::Histogram| it.quantile(q).map(|ns| ns as f64);
        let (Some(lag), Some(whole)) = (quantile(&evidence.lag), quantile(whole)) else {
            continue;
        };
        if lag > LAG_NS && lag > LAG * whole {
            reasons.push(Reason::ReceiveDelay {
                quantile: name,
                lag_ns: lag,
                whole_ns: whole,
                of: what,
            });
            break;
        }
    }
    if let Some(busy) = evidence.busiest()
        && busy >= BUSY
    {
        reasons.push(Reason::GeneratorBusy { share: busy });
    }
    let starved = evidence
        .cores
        .iter()
        .filter(|core| core.ran_ns > 0)
        .filter_map(|core| Some(core.starved_ns? as f64 / core.ran_ns as f64))
        .reduce(f64::max);
    if let Some(starved) = starved
        && starved >= STARVED
    {
        reasons.push(Reason::GeneratorStarved { share: starved });
    }
    reasons.extend(evidence.limits.iter().cloned().map(Reason::OwnLimit));
    // Stolen time explains lateness; it is no fault by itself.
    if !reasons.is_empty()
        && let Some(stolen) = evidence.stolen_share
        && stolen >= 0.02
    {
        reasons.push(Reason::Stolen { share: stolen });
    }
    reasons
}

/// Whether a figure of the run is likely to be the generator's own.
fn matters(evidence: &Evidence, stood: &Standstill) -> bool {
    if stood.kind == StallKind::Suspended {
        return true;
    }
    let largest = [&evidence.response, &evidence.delay];
    let largest = largest.into_iter().filter_map(|it| it.max()).max();
    let share = stood.total_ns as f64 / evidence.window_ns.max(1) as f64;
    let of_largest = largest.is_some_and(|ns| stood.longest_ns as f64 >= OF_LARGEST * ns as f64);
    stood.total_ns >= STOOD_NS && (share >= STOOD || of_largest)
}

/// What is known of it where it does not decide.
pub(super) fn note(evidence: &Evidence) -> Option<String> {
    let stood = evidence.standstill()?;
    (!matters(evidence, &stood)).then(|| stood_still(&stood, evidence.window_ns))
}
