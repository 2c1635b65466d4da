//! What makes a run generator-limited: a late pacer, no CPU left, limits of its own. Nothing else.

use record::run::StallKind;

use super::evidence::Standstill;
use super::words::{percent, time};
use super::{Evidence, Finding};

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

pub(super) fn findings(evidence: &Evidence) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut add = |evidence: String, advice| findings.push(Finding { evidence, advice });

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
                add(
                    format!(
                        "the pacer itself was late: {name} {}, which is {} of the response time",
                        time(pacer),
                        percent((pacer / response).min(1.0))
                    ),
                    "give the generator a core of its own (--pin), try --spin, more --threads, or a lower rate",
                );
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
            add(
                format!(
                    "{} of the planned operations were left out because the generator was late",
                    percent(skipped / evidence.planned as f64)
                ),
                "give the generator a core of its own (--pin), more --threads, or a lower rate",
            );
        }
    }
    if let Some(stood) = evidence.standstill().filter(|it| matters(evidence, it)) {
        add(
            said(evidence, &stood),
            match stood.kind {
                StallKind::HeldUp => {
                    "stop what else runs on this machine, give the generator a core of its own (--pin), and do not \
                     stop it while it measures"
                }
                StallKind::Suspended => "keep the machine from being suspended while it measures",
            },
        );
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
            add(
                format!(
                    "what had come waited for the generator: {name} {}, which is {} of the {what}",
                    time(lag),
                    percent((lag / whole).min(1.0))
                ),
                "give the generator a core of its own (--pin), more --threads, or less load",
            );
            break;
        }
    }
    if let Some(busy) = evidence.busiest()
        && busy >= BUSY
    {
        add(
            format!("a core of the generator was busy for {}", percent(busy)),
            "use more --threads, larger batches, or fewer sessions",
        );
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
        add(
            format!(
                "a core of the generator waited {} of its time for a CPU that others had",
                percent(starved)
            ),
            "stop what else runs on this machine, or keep it off the generator's core (--pin)",
        );
    }
    for limit in &evidence.limits {
        add(
            format!(
                "{} {} were wanted, this machine allows {}",
                limit.wanted, limit.what, limit.allowed
            ),
            "raise the limit (ulimit -n, net.ipv4.ip_local_port_range), or use more machines",
        );
    }
    // Stolen time explains lateness; it is no fault by itself.
    if !findings.is_empty()
        && let Some(stolen) = evidence.stolen_share
        && stolen >= 0.02
    {
        findings.push(Finding {
            evidence: format!(
                "the hypervisor took {} of this machine's time",
                percent(stolen)
            ),
            advice: "use a machine whose CPUs are not shared",
        });
    }
    findings
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

/// How long it was, and when.
fn said(evidence: &Evidence, stood: &Standstill) -> String {
    let at = time(stood.at_ns as f64);
    let (total, longest) = (time(stood.total_ns as f64), time(stood.longest_ns as f64));
    let often = match stood.times {
        1 => format!("for {total} at {at}"),
        n => format!("for {total} in all, {n} times, the longest {longest} at {at}"),
    };
    match stood.kind {
        StallKind::Suspended => format!("this machine was suspended {often}"),
        StallKind::HeldUp => {
            let share = stood.total_ns as f64 / evidence.window_ns.max(1) as f64;
            let share = percent(share.min(1.0));
            format!("the generator itself did not run {often}: {share} of the time")
        }
    }
}

/// What is known of it where it does not decide.
pub(super) fn note(evidence: &Evidence) -> Option<String> {
    let stood = evidence.standstill()?;
    (!matters(evidence, &stood)).then(|| said(evidence, &stood))
}
