//! A phase in the course of time, in the figures that tell whether it has settled.

use record::average::{mean, median};
use record::{Measure, Tally};

/// Operations that an interval needs for its figures to mean something.
const OPERATIONS: f64 = 20.0;

/// Fewer intervals say nothing.
const MIN_ROWS: usize = 20;

/// So many deviations from the median is unlike the rest.
const UNLIKE: f64 = 5.0;

/// A phase in the course of time.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PhaseCourse {
    /// Length of a bin.
    pub bin_ns: u64,
    /// Whether the plan itself changes the load (ramp, steps, burst), so that nothing can settle.
    pub varies: bool,
    /// Operations completed in each bin.
    pub completed: Vec<f64>,
    /// Of these, how many failed; may be empty.
    pub failed: Vec<u64>,
    /// When nothing succeeded for longer than the load itself explains, from and to.
    pub gaps: Vec<(u64, u64)>,
    /// The longest time without a success that the load explains: operations may be rare, or slow.
    pub natural_gap_ns: u64,
    /// How long the phase was.
    pub length_ns: u64,
    /// Median response time of each bin; none without operations.
    pub response: Vec<Option<f64>>,
    /// Operations that were due and not yet completed, on average, in each bin; empty in a closed loop.
    pub backlog: Vec<f64>,
    /// Cores that the server kept busy in each bin, where that is known; may be empty.
    pub cpu: Vec<Option<f64>>,
}

/// One figure, in intervals that hold enough operations, without the excursions that passed.
pub(super) struct Row {
    pub of: &'static str,
    pub values: Vec<f64>,
    pub width_ns: u64,
    pub median: f64,
    /// First and behind the last, of each.
    pub excursions: Vec<(usize, usize)>,
    /// A level; otherwise a backlog, which must not grow.
    pub settles: bool,
}

impl Row {
    pub fn time(&self, index: usize) -> u64 {
        index as u64 * self.width_ns
    }

    pub fn index(&self, time: u64) -> usize {
        usize::try_from(time.div_ceil(self.width_ns)).unwrap_or(usize::MAX)
    }
}

impl PhaseCourse {
    /// What a tally says, up to the phase's end. `open` says whether operations were due at planned
    /// times; `varies` whether the plan changes the load.
    pub fn of(tally: &Tally, open: bool, varies: bool) -> Self {
        let bin_ns = tally.width_ns();
        // A last bin that is cut short has other counts.
        let whole = usize::try_from(tally.phase_end() / bin_ns).unwrap_or(usize::MAX);
        let bins = || tally.bins().iter().take(whole);
        let waiting = |bin: &record::ledger::Bin| {
            // Little: how many wait is how many come times how long each waits.
            let late = bin.histogram(Measure::Lateness).sum() as f64;
            late / bin_ns as f64
        };
        let natural_gap_ns = natural_gap(tally, open);
        Self {
            bin_ns,
            varies,
            failed: bins().map(|bin| bin.statuses.bad()).collect(),
            gaps: tally.gaps(natural_gap_ns),
            natural_gap_ns,
            length_ns: tally.phase_end(),
            completed: bins().map(|bin| bin.counters.completed as f64).collect(),
            response: bins()
                .map(|bin| bin.histogram(Measure::Response).quantile(0.5))
                .map(|median| median.map(|ns| ns as f64))
                .collect(),
            backlog: match open {
                true => tally
                    .in_flight()
                    .iter()
                    .zip(bins())
                    .map(|(in_flight, bin)| in_flight + waiting(bin))
                    .collect(),
                false => Vec::new(),
            },
            cpu: Vec::new(),
        }
    }

    pub(super) fn rows(&self) -> Vec<Row> {
        let bins = self.completed.len();
        let total: f64 = self.completed.iter().sum();
        if total <= 0.0 || bins < MIN_ROWS {
            return Vec::new();
        }
        let each = total / bins as f64;
        let together = (OPERATIONS / each).ceil().max(1.0) as usize;
        if bins / together < MIN_ROWS {
            return Vec::new();
        }
        let width_ns = self.bin_ns * together as u64;
        let mut rows = Vec::new();
        let mut add = |of, values: Vec<Option<f64>>, settles: bool| {
            if values.len() < bins {
                return;
            }
            let mut values: Vec<Option<f64>> = values[..bins]
                .chunks_exact(together)
                .map(|some| mean(some.iter().flatten()))
                .collect();
            let known: Vec<f64> = values.iter().copied().flatten().collect();
            if known.len() * 2 < values.len() {
                return;
            }
            let middle = median(&known).unwrap_or(0.0);
            let mut excursions = Vec::new();
            let median = if settles {
                excursions = set_aside(&mut values, middle, spread(&known, middle));
                middle
            } else {
                // What a growth of the backlog is held against.
                (total * 0.01).max(10.0)
            };
            rows.push(Row {
                of,
                values: values.into_iter().map(|v| v.unwrap_or(middle)).collect(),
                width_ns,
                median,
                excursions,
                settles,
            });
        };
        add(
            "rate",
            self.completed.iter().copied().map(Some).collect(),
            true,
        );
        add("response", self.response.clone(), true);
        add("cpu", self.cpu.clone(), true);
        add(
            "backlog",
            self.backlog.iter().copied().map(Some).collect(),
            false,
        );
        rows
    }
}

/// No host promises to run a process within less.
const WAKES: u64 = 50_000_000;

/// Without a success for longer than so many times the mean spacing of operations: of independent ones
/// chance does that once in half a billion.
const SPACINGS: f64 = 20.0;

/// Without a success for longer than so many times what a quick operation takes.
const SERVICES: u64 = 4;

/// The longest time without a success that the load explains.
fn natural_gap(tally: &Tally, open: bool) -> u64 {
    let whole = tally.whole().sum;
    let good = whole.counters.completed - whole.statuses.bad();
    let operations = if open { whole.counters.planned() } else { good };
    let spacing = tally.phase_end() as f64 / operations.max(1) as f64;
    // A quarter is as quick: also where the rest was given up after a timeout.
    let service = whole.histogram(Measure::Service).quantile(0.25);
    let service = service.unwrap_or(0).saturating_mul(SERVICES);
    WAKES.max((SPACINGS * spacing) as u64).max(service)
}

/// Takes out what was unlike the rest for a while, with like values before and after it: not a
/// warm-up, which has nothing before it, and not a step, which has nothing after it. A quarter of
/// the phase is the longest while.
fn set_aside(values: &mut [Option<f64>], middle: f64, spread: f64) -> Vec<(usize, usize)> {
    let unlike = |value: &Option<f64>| value.is_none_or(|v| (v - middle).abs() > UNLIKE * spread);
    let flags: Vec<bool> = values.iter().map(unlike).collect();
    let mut found = Vec::new();
    let mut at = 0;
    while at < flags.len() {
        if !flags[at] {
            at += 1;
            continue;
        }
        // Single like values inside do not end it.
        let mut end = at + 1;
        let mut like = 0;
        for (offset, &flag) in flags[at..].iter().enumerate() {
            if flag {
                end = at + offset + 1;
                like = 0;
            } else {
                like += 1;
                if like == 3 {
                    break;
                }
            }
        }
        let inside = at >= 3 && end + 3 <= flags.len();
        if inside && (end - at) * 4 <= flags.len() {
            found.push((at, end));
        }
        at = end;
    }
    // All of them together must not be most of the phase.
    if found.iter().map(|(from, to)| to - from).sum::<usize>() * 2 > flags.len() {
        return Vec::new();
    }
    for &(from, to) in &found {
        // Like what was before and after it, so that nothing looks smoother than it is.
        let before = values[..from].iter().rev().copied().flatten().next();
        let after = values[to..].iter().copied().flatten().next();
        for (n, value) in values[from..to].iter_mut().enumerate() {
            *value = if n % 2 == 0 { before } else { after };
        }
    }
    found
}

/// The deviation that the middle half of the values suggests, at least a hundredth of the level.
fn spread(values: &[f64], middle: f64) -> f64 {
    let off = median(values.iter().map(|v| (v - middle).abs()));
    // 1.4826: for a normal distribution it is then the standard deviation.
    (1.4826 * off.unwrap_or(0.0)).max(middle.abs() * 0.01)
}
