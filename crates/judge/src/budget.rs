//! Error budgets: how much of what a threshold allows was used up, and when.
//!
//! `p99<5ms` allows that 1 % of the requests take 5 ms or longer, `errors<1%` that 1 % fail. That is the budget. The burn rate is
//! the share that was missed over the share that is allowed: at 1 all of the budget is used up by the end, at 10 by a tenth
//! of the time.

use plan::{Measure, Op, Stat, Threshold, Value};
use record::Tally;
use record::ledger::Bin;
use record::run::{Budget, Phase};

const SECOND: u64 = 1_000_000_000;

/// The budgets of thresholds that allow a share, each over what its threshold is judged by: times over the measured window with
/// what came behind its end, errors over the whole phase.
pub fn budgets(thresholds: &[Threshold], phase: &Phase, tally: &Tally) -> Vec<Budget> {
    let width = tally.width_ns();
    let window = tally.window(phase.from_ns, phase.to_ns);
    let whole = phase.whole();
    let of = |threshold: &Threshold| {
        let allowed = allowed(threshold)?;
        let is_of_errors = threshold.stat == Stat::ErrorShare;
        let inside = |row: usize| {
            let start = row as u64 * width;
            is_of_errors || start + width > phase.from_ns && start < phase.to_ns
        };
        let (bad, all) = match is_of_errors {
            true => (whole.errors, whole.completed),
            false => missed(threshold, &window.sum),
        };
        let mut budget = Budget {
            expected: threshold.to_string(),
            allowed,
            ..Budget::default()
        };
        budget.spent = budget.burn_rate(bad, all)?;
        let mut measured = Vec::new();
        for (row, bin) in tally.bins().iter().enumerate() {
            let (bad, all) = match inside(row) {
                true => missed(threshold, bin),
                false => (0, 0),
            };
            measured.extend(inside(row).then_some((bad, all)));
            budget.bad.push(bad);
            budget.of.push(all);
        }
        budget.fastest = fastest(&budget, &measured, width);
        Some(budget)
    };
    thresholds.iter().filter_map(of).collect()
}

/// The share that may be missed, of a threshold that allows one.
fn allowed(threshold: &Threshold) -> Option<f64> {
    if !matches!(threshold.op, Op::Less | Op::AtMost) {
        return None;
    }
    let share = match (threshold.stat, threshold.value) {
        (Stat::Percentile(_), Value::Duration(_)) => 1.0 - threshold.stat.quantile()?,
        (Stat::ErrorShare, Value::Percent(percent)) if is_of_requests(threshold.measure) => {
            percent.fraction()
        }
        _ => return None,
    };
    (share > 0.0).then_some(share)
}

fn is_of_requests(measure: Measure) -> bool {
    matches!(measure, Measure::Response | Measure::Service)
}

/// How many of an interval were missed, and of how many.
fn missed(threshold: &Threshold, bin: &Bin) -> (u64, u64) {
    if threshold.stat == Stat::ErrorShare {
        return (bin.statuses.bad(), bin.counters.completed);
    }
    let name = threshold.measure.name();
    let mut known = record::Measure::ALL.into_iter();
    let Some(measure) = known.find(|it| it.name() == name) else {
        return (0, 0);
    };
    let times = bin.histogram(measure);
    let within = times
        .share_up_to(threshold.value.as_f64() as u64)
        .unwrap_or(1.0);
    let all = times.count();
    (((1.0 - within) * all as f64).round() as u64, all)
}

/// The highest burn rate over a second, or over an interval where that is longer, or over all where that is shorter.
fn fastest(budget: &Budget, measured: &[(u64, u64)], width: u64) -> f64 {
    let rows = (SECOND / width.max(1)).max(1) as usize;
    let seconds = measured.windows(rows.min(measured.len()).max(1));
    let rates = seconds.filter_map(|second| {
        let bad = second.iter().map(|it| it.0).sum();
        budget.burn_rate(bad, second.iter().map(|it| it.1).sum())
    });
    rates.fold(0.0, f64::max)
}
