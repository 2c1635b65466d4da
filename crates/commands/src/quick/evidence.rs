//! What the verdict on a phase rests on.

use std::time::Instant;

use judge::{Allowed, CoreUse, Evidence, Load, PhaseCourse, ServerUse, Sessions, Settling};
use load::engine::Outcome;
use plan::unit::duration::nanos;
use plan::{Arrival, Measure, Op, Pace, Phase, Threshold, Unit, Value, Warmup};
use record::Tally;
use record::average::mean;
use record::notification_ledger::Account;

use super::usage::ObservedUsage;

/// What a phase did before and after it had settled.
///
/// The server's CPU has a say only where it was asked for: of one that was found by its port, it is
/// not known what else it does.
pub fn settling(
    phase: &Phase,
    tally: &Tally,
    seen: Option<&ObservedUsage>,
    began: Instant,
) -> Settling {
    let open = phase.arrival.is_open();
    let varies = match &phase.arrival {
        Arrival::Open(pace) => !matches!(pace, Pace::Constant { .. } | Pace::Poisson { .. }),
        // A storm comes and is gone.
        Arrival::Closed { .. } => phase.is_storm(),
    };
    let mut course = PhaseCourse::of(tally, open, varies);
    if let Some(seen) = seen.filter(|seen| seen.named) {
        course.cpu = in_bins(
            &seen.cores("server", began),
            course.bin_ns,
            course.completed.len(),
        );
    }
    match phase.warmup {
        Warmup::Auto => Settling::within(&course, allowed(phase)),
        Warmup::Given { warmup } => Settling::after_given(&course, nanos(warmup)),
    }
}

/// What may be left out without having been asked for: nothing that the objective does not forgive.
fn allowed(phase: &Phase) -> Allowed {
    let most = |it: &Threshold| match (it.measure, it.op, it.value) {
        (Measure::Response | Measure::Service, Op::Less | Op::AtMost, Value::Duration(most))
            if it.stat.unit(it.measure) == Unit::Nanos =>
        {
            Some(nanos(most))
        }
        _ => None,
    };
    Allowed {
        warm_up_ns: phase.max_warmup.map(nanos),
        // Of several the longest: half of the requests may well take longer than their median.
        gap_ns: phase.expect.iter().filter_map(most).max(),
    }
}

/// Samples into bins: each bin has the sample that covers its end.
fn in_bins(samples: &[(u64, f64)], bin_ns: u64, bins: usize) -> Vec<Option<f64>> {
    if samples.is_empty() {
        return Vec::new();
    }
    let mut samples = samples.iter().peekable();
    (1..=bins as u64)
        .map(|n| {
            while samples.next_if(|(at, _)| *at < n * bin_ns).is_some() && samples.peek().is_some()
            {
            }
            samples.peek().map(|(_, cores)| *cores)
        })
        .collect()
}

/// What the outcome says.
pub fn evidence(
    phase: &Phase,
    outcome: &Outcome,
    tally: &Tally,
    window: &record::Window,
    settling: Settling,
    seen: Option<&ObservedUsage>,
    began: Instant,
) -> Evidence {
    let load = match phase.arrival {
        // The server sets the pace of its reports, and nobody waits for them.
        _ if !phase.has_requests() => Load::Open,
        Arrival::Open(_) => Load::Open,
        Arrival::Closed { .. } => Load::Closed,
    };
    let server = seen.and_then(|seen| {
        let inside = window.from_ns..=window.to_ns;
        let cores = seen.cores("server", began).into_iter();
        let cores = cores.filter(|(at, _)| inside.contains(at));
        Some(ServerUse {
            cores_busy: mean(cores.map(|(_, cores)| cores))?,
            cores_allowed: seen.allowed()?,
            busiest_thread: seen.busiest_thread(began, window.from_ns, window.to_ns),
        })
    });
    let heard = outcome.account.as_ref();
    // Subscriptions may be there to be silent.
    let brought = |account: &Account| {
        account
            .whole()
            .values
            .received
            .max(account.rows.len() as u64)
    };
    let heard = heard.map_or(0, brought);
    let lost = outcome.losses.iter().filter(|(_, loss)| !loss.back).count();
    let told = Evidence::of(tally, window, load, &super::result::status_name);
    Evidence {
        // What subscriptions brought was done as well.
        completed: told.completed + heard,
        cores: outcome
            .cores
            .iter()
            .map(|core| CoreUse {
                ran_ns: core.ran_ns,
                idle_ns: core.idle_ns,
                starved_ns: core.starved_ns,
            })
            .collect(),
        stalls: outcome.stalls.clone(),
        stolen_share: seen.and_then(ObservedUsage::stolen),
        sessions: Sessions {
            wanted: (outcome.opened + outcome.failed.len()) as u64,
            opened: outcome.opened as u64,
            lost: lost as u64,
        },
        server,
        settling,
        ..told
    }
}
