//! What makes a run generator-limited: a late pacer, no CPU left, limits of its own. Nothing else.

use super::words::{percent, time};
use super::{Evidence, Finding};

/// Pacer lateness below this is what an operating system does to every program that sleeps.
const PACER_NS: f64 = 1e6;

/// Pacer lateness matters when it is this share of the response time that is reported.
const OF_RESPONSE: f64 = 0.1;

/// Operations that have to lie beyond a percentile of it.
const BEYOND: f64 = 10.0;

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
