//! What a verdict rests on.

use std::collections::BTreeMap;

use record::average::mean;
use record::run::{Stall, StallKind};
use record::{Histogram, Measure, Tally, Window};

use crate::Settling;

/// What a verdict rests on: figures only, from wherever they were measured. What is not known is
/// left out, and does not count against anybody.
#[derive(Debug, Clone, Default)]
pub struct Evidence {
    /// What was asked for.
    pub load: Load,
    /// Where the measured window begins.
    pub from_ns: u64,
    /// Length of the measured window.
    pub window_ns: u64,
    /// Length of a bin of the settling's course.
    pub bin_ns: u64,
    /// Operations that fell due in the window.
    pub planned: u64,
    /// Operations that were sent in it.
    pub sent: u64,
    /// Operations that ended in it, or were drained after it.
    pub completed: u64,
    /// Of these, inside the window.
    pub completed_in_time: u64,
    /// Operations that ended with a Bad status, timeouts among them.
    pub errors: u64,
    /// Operations given up after the client's own timeout.
    pub timeouts: u64,
    /// Operations left out to catch up.
    pub skipped: u64,
    /// Operations that were due and never sent.
    pub unsent: u64,
    /// Operations without an answer in the end.
    pub unfinished: u64,
    /// The status that most errors had, by name, and how many.
    pub common_error: Option<(String, u64)>,
    /// Completed − planned.
    pub response: Histogram,
    /// Completed − sent.
    pub service: Histogram,
    /// Lateness that is the generator's.
    pub pacer: Histogram,
    /// Lateness for want of a free slot.
    pub slot: Histogram,
    /// Lateness for a full socket.
    pub socket: Histogram,
    /// From the kernel to the generator.
    pub lag: Histogram,
    /// How old values were that subscriptions brought.
    pub delay: Histogram,
    /// When the generator itself did not run.
    pub stalls: Vec<Stall>,
    /// Mean service time in the first tenth of the phase, before much of a backlog could grow.
    pub early_service_ns: Option<f64>,
    /// Mean number of operations in flight.
    pub mean_in_flight: Option<f64>,
    /// The generator's cores.
    pub cores: Vec<CoreUse>,
    /// Share of this machine's time that the hypervisor took.
    pub stolen_share: Option<f64>,
    /// Limits of the generator's own host that were run into.
    pub limits: Vec<OwnLimit>,
    /// Sessions.
    pub sessions: Sessions,
    /// What the server spent, where that is known.
    pub server: Option<ServerUse>,
    /// Warm-up and drift.
    pub settling: Settling,
    /// Whether somebody ended it before its time.
    pub interrupted: bool,
    /// What else should be known: clock unknown, degraded, limits ignored. Sentences.
    pub remarks: Vec<String>,
}

/// What was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Load {
    /// The next request follows an answer; the server decides the rate.
    #[default]
    Closed,
    /// Requests are due at planned times.
    Open,
}

impl Load {
    /// Whether requests are due at planned times.
    pub fn is_open(self) -> bool {
        self == Self::Open
    }
}

/// A thread of the generator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CoreUse {
    /// How long it ran.
    pub ran_ns: u64,
    /// Of it, how long it had nothing to do, asleep or spinning.
    pub idle_ns: u64,
    /// Of it, how long it had something to do and no CPU.
    pub starved_ns: Option<u64>,
}

/// How long a loop of the generator did not run, all in all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Standstill {
    /// What kept it.
    pub kind: StallKind,
    /// How often.
    pub times: usize,
    /// Added up.
    pub total_ns: u64,
    /// The longest.
    pub longest_ns: u64,
    /// When that was, since the phase began.
    pub at_ns: u64,
}

impl Default for Standstill {
    fn default() -> Self {
        Self {
            kind: StallKind::HeldUp,
            times: 0,
            total_ns: 0,
            longest_ns: 0,
            at_ns: 0,
        }
    }
}

/// A limit of the generator's own host that was run into.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnLimit {
    /// Of what: `file descriptors`, `local ports`.
    pub what: String,
    /// How many were wanted.
    pub wanted: u64,
    /// How many there are.
    pub allowed: u64,
}

/// Sessions of the generator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sessions {
    /// Asked for.
    pub wanted: u64,
    /// Opened.
    pub opened: u64,
    /// Lost on the way.
    pub lost: u64,
}

/// What the server spent.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ServerUse {
    /// Cores that it kept busy.
    pub cores_busy: f64,
    /// Cores that it may use.
    pub cores_allowed: f64,
    /// Share of a core that its busiest thread had, where that is known.
    pub busiest_thread: Option<f64>,
}

impl Evidence {
    /// What a tally says of a window. Cores, limits, sessions, server, settling and remarks are for
    /// the caller to add.
    pub fn of(
        tally: &Tally,
        window: &Window,
        load: Load,
        status_name: &dyn Fn(u32) -> String,
    ) -> Self {
        let counters = &window.sum.counters;
        let bin_ns = tally.width_ns();
        let first = usize::try_from(window.from_ns / bin_ns).unwrap_or(usize::MAX);
        let last = usize::try_from(window.to_ns.div_ceil(bin_ns)).unwrap_or(usize::MAX);
        let in_flight = tally.in_flight();
        let inside = in_flight
            .get(first..last.min(in_flight.len()))
            .unwrap_or_default();
        let mut early = Histogram::default();
        for bin in tally.bins().iter().take(tally.bins().len().div_ceil(10)) {
            early.merge(bin.histogram(Measure::Service));
        }
        Self {
            load,
            early_service_ns: early.mean(),
            from_ns: window.from_ns,
            window_ns: window.to_ns.saturating_sub(window.from_ns),
            bin_ns,
            planned: counters.planned(),
            sent: counters.sent,
            completed: counters.completed,
            completed_in_time: window.completed_in_time,
            errors: window.sum.statuses.bad(),
            timeouts: counters.timeouts,
            skipped: counters.skipped,
            unsent: counters.unsent,
            unfinished: counters.unfinished,
            common_error: window
                .sum
                .statuses
                .iter()
                .filter(|(code, _)| code & 0x8000_0000 != 0)
                .max_by_key(|&(_, n)| n)
                .map(|(code, n)| (status_name(code), n)),
            response: window.histogram(Measure::Response).clone(),
            service: window.histogram(Measure::Service).clone(),
            pacer: window.histogram(Measure::Pacer).clone(),
            slot: window.histogram(Measure::Slot).clone(),
            socket: window.histogram(Measure::Socket).clone(),
            lag: window.histogram(Measure::Lag).clone(),
            delay: window.histogram(Measure::Delay).clone(),
            mean_in_flight: mean(inside),
            ..Self::default()
        }
    }

    /// The share of its time that the busiest core had something to do.
    pub fn busiest(&self) -> Option<f64> {
        self.cores
            .iter()
            .filter(|core| core.ran_ns > 0)
            .map(|core| 1.0 - core.idle_ns.min(core.ran_ns) as f64 / core.ran_ns as f64)
            .reduce(f64::max)
    }

    /// How long the generator itself did not run, in the loop that this happened to most.
    pub(super) fn standstill(&self) -> Option<Standstill> {
        let inside = self.stalls.iter().filter_map(|stall| {
            let ns = stall.within(self.from_ns, u64::MAX);
            (ns > 0).then_some((stall, ns))
        });
        let mut of: BTreeMap<(StallKind, Option<usize>), Standstill> = BTreeMap::new();
        for (stall, ns) in inside {
            let sum = of.entry((stall.kind, stall.of)).or_insert(Standstill {
                kind: stall.kind,
                ..Standstill::default()
            });
            sum.times += 1;
            sum.total_ns += ns;
            if ns > sum.longest_ns {
                (sum.longest_ns, sum.at_ns) = (ns, stall.at_ns);
            }
        }
        of.into_values().max_by_key(|it| (it.kind, it.total_ns))
    }

    pub(super) fn most_common_error(&self) -> String {
        self.common_error
            .as_ref()
            .map_or_else(String::new, |(name, n)| format!(": {name} {n} times"))
    }
}
