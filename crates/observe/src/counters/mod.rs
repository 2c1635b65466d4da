//! What the kernel counts of a process by `perf_event_open`: cycles, instructions, misses, switches, migrations.
//!
//! A processor has a few counters only. Where more is to be counted they take turns (multiplexing), and each count has the time
//! for which it was wanted ([`Count::enabled_ns`]) and the time for which a counter had it ([`Count::running_ns`]).

use std::collections::BTreeMap;
use std::sync::Arc;

use record::run::{CounterUsage, EventCount as Recorded, Figure as RecordedFigure, ThreadCounters};

use crate::figure::{Figure, NotAvailable};

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Event {
    /// Cycles of the processor's clock.
    Cycles,
    /// Instructions that were carried out.
    Instructions,
    /// Requests to the last level of the caches, on most processors.
    CacheReferences,
    /// Those of them that went on to memory.
    CacheMisses,
    /// Branches that went another way than was foretold.
    BranchMisses,
    /// Another thread had the core next.
    ContextSwitches,
    /// A thread went on on another core.
    Migrations,
    /// Page faults of both kinds.
    PageFaults,
    /// Nanoseconds on a core.
    TaskClock,
}

impl Event {
    /// All of them, in the order in which they are shown.
    pub const ALL: [Self; 9] = [
        Self::Cycles,
        Self::Instructions,
        Self::CacheReferences,
        Self::CacheMisses,
        Self::BranchMisses,
        Self::ContextSwitches,
        Self::Migrations,
        Self::PageFaults,
        Self::TaskClock,
    ];

    /// As it stands in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cycles => "cycles",
            Self::Instructions => "instructions",
            Self::CacheReferences => "cache_references",
            Self::CacheMisses => "cache_misses",
            Self::BranchMisses => "branch_misses",
            Self::ContextSwitches => "context_switches",
            Self::Migrations => "migrations",
            Self::PageFaults => "page_faults",
            Self::TaskClock => "task_clock_ns",
        }
    }

    /// Whether the processor counts it, and not the kernel.
    pub const fn is_hardware(self) -> bool {
        matches!(
            self,
            Self::Cycles
                | Self::Instructions
                | Self::CacheReferences
                | Self::CacheMisses
                | Self::BranchMisses
        )
    }

    /// Whether it happens in the kernel, and cannot be counted without it.
    pub const fn is_of_the_kernel(self) -> bool {
        matches!(self, Self::ContextSwitches | Self::Migrations)
    }

    const fn place(self) -> usize {
        self as usize
    }
}

/// A count up to a moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Count {
    /// As it was counted, without scaling.
    pub raw: u64,
    /// For so long it was to be counted: time in which its threads ran.
    pub enabled_ns: u64,
    /// For so long a counter had it.
    pub running_ns: u64,
}

impl Count {
    /// What was counted since an earlier moment.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Self {
        Self {
            raw: self.raw.saturating_sub(earlier.raw),
            enabled_ns: self.enabled_ns.saturating_sub(earlier.enabled_ns),
            running_ns: self.running_ns.saturating_sub(earlier.running_ns),
        }
    }

    /// Both together.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self {
            raw: self.raw.saturating_add(other.raw),
            enabled_ns: self.enabled_ns.saturating_add(other.enabled_ns),
            running_ns: self.running_ns.saturating_add(other.running_ns),
        }
    }

    /// The share of the time for which it was counted: less than 1 where counters took turns.
    pub fn share(self) -> f64 {
        match self.enabled_ns {
            0 => 1.0,
            enabled => (self.running_ns as f64 / enabled as f64).min(1.0),
        }
    }

    /// What it would have been for all of the time, if what was not counted was like what was.
    pub fn scaled(self) -> Figure<u64> {
        match (self.running_ns, self.enabled_ns) {
            (0, 1..) => Err(NotAvailable::because(
                "no counter of the processor was free for it",
            )),
            (running, enabled) if running >= enabled => Ok(self.raw),
            (running, enabled) => {
                let whole = u128::from(self.raw) * u128::from(enabled) / u128::from(running.max(1));
                Ok(u64::try_from(whole).unwrap_or(u64::MAX))
            }
        }
    }
}

/// A count for each event.
type Counts = [Option<Count>; Event::ALL.len()];

/// What was counted of a process up to a moment.
#[derive(Debug, Clone)]
pub struct Counted {
    refused: Arc<Refused>,
    /// By the threads that there were at first. What threads did that these began is counted with them.
    threads: BTreeMap<u32, (Arc<str>, Counts)>,
    user_only: bool,
}

/// Why an event is not counted.
type Refused = [Option<NotAvailable>; Event::ALL.len()];

impl Counted {
    /// An event of all threads.
    pub fn count(&self, event: Event) -> Figure<Count> {
        self.sum(event, self.threads.values().map(|it| &it.1))
    }

    fn sum<'a>(&self, event: Event, all: impl Iterator<Item = &'a Counts>) -> Figure<Count> {
        if let Some(Some(why)) = self.refused.get(event.place()) {
            return Err(why.clone());
        }
        let mut counts = all.filter_map(|it| *it.get(event.place())?).peekable();
        match counts.peek() {
            Some(_) => Ok(counts.fold(Count::default(), Count::plus)),
            None => Err(NotAvailable::because("no thread of it could be counted")),
        }
    }

    /// What was counted since an earlier moment.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let mut less = self.clone();
        for (id, (_, counts)) in &mut less.threads {
            // A thread that was not there before has counted nothing then.
            let before = earlier.threads.get(id).map(|it| it.1);
            for (now, then) in counts.iter_mut().zip(before.unwrap_or_default()) {
                *now = now.map(|it| it.since(then.unwrap_or_default()));
            }
        }
        less
    }

    /// As it stands in a result.
    pub fn usage(&self) -> CounterUsage {
        let mut usage = self.of(self.threads.values().map(|it| &it.1));
        let mut named: BTreeMap<&str, Vec<&Counts>> = BTreeMap::new();
        for (name, counts) in self.threads.values() {
            named.entry(name).or_default().push(counts);
        }
        // More is not kept: pools give each of their threads its own name.
        usage.threads = named
            .into_iter()
            .map(|(name, all)| ThreadCounters {
                name: name.to_owned(),
                count: all.len() as u64,
                counters: self.of(all.into_iter()),
            })
            .collect();
        let busy = |it: &ThreadCounters| it.counters.task_clock_ns.known().map(|it| it.count);
        usage.threads.sort_by_key(|it| std::cmp::Reverse(busy(it)));
        usage.threads.truncate(MOST);
        usage
    }

    fn of<'a>(&self, all: impl Iterator<Item = &'a Counts> + Clone) -> CounterUsage {
        let known = |event: Event| -> Figure<Recorded> {
            let count = self.sum(event, all.clone())?;
            Ok(Recorded {
                count: count.scaled()?,
                counted_share: count.share(),
            })
        };
        let [cycles, instructions] = [Event::Cycles, Event::Instructions].map(known);
        let each = |of: &Figure<Recorded>, by: &Figure<Recorded>| -> Figure<f64> {
            let (of, by) = (of.clone()?, by.clone()?);
            match by.count {
                0 => Err(NotAvailable::because("it did not run")),
                by => Ok(of.count as f64 / by as f64),
            }
        };
        CounterUsage {
            instructions_per_cycle: each(&instructions, &cycles).into(),
            cycles: cycles.into(),
            instructions: instructions.into(),
            cache_references: known(Event::CacheReferences).into(),
            cache_misses: known(Event::CacheMisses).into(),
            branch_misses: known(Event::BranchMisses).into(),
            context_switches: known(Event::ContextSwitches).into(),
            migrations: known(Event::Migrations).into(),
            page_faults: known(Event::PageFaults).into(),
            task_clock_ns: known(Event::TaskClock).into(),
            user_only: self.user_only,
            ..CounterUsage::default()
        }
    }
}

/// More names of threads are not kept in a result.
const MOST: usize = 64;

/// For results: nothing was counted, for this reason.
pub fn not_counted(why: &NotAvailable) -> CounterUsage {
    let no = || RecordedFigure::missing(why.reason());
    CounterUsage {
        cycles: no(),
        instructions: no(),
        cache_references: no(),
        cache_misses: no(),
        branch_misses: no(),
        context_switches: no(),
        migrations: no(),
        page_faults: no(),
        task_clock_ns: no(),
        instructions_per_cycle: RecordedFigure::missing(why.reason()),
        ..CounterUsage::default()
    }
}

// Where counters can be asked for: the crate behind them knows these processors only.
#[cfg(all(
    target_os = "linux",
    any(
        target_arch = "x86_64",
        target_arch = "aarch64",
        target_arch = "riscv64"
    )
))]
mod open;
#[cfg(not(all(
    target_os = "linux",
    any(
        target_arch = "x86_64",
        target_arch = "aarch64",
        target_arch = "riscv64"
    )
)))]
#[path = "none.rs"]
mod open;

pub use open::Counters;

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn count(raw: u64, enabled_ns: u64, running_ns: u64) -> Count {
        Count {
            raw,
            enabled_ns,
            running_ns,
        }
    }

    #[test]
    fn what_was_counted_for_a_part_of_the_time_is_scaled_to_all_of_it() {
        // As perf-stat(1) does it: raw * enabled / running.
        assert_eq!(count(1000, 80, 80).scaled(), Ok(1000));
        assert_eq!(count(1000, 80, 20).scaled(), Ok(4000));
        assert_eq!(count(7, 3, 2).scaled(), Ok(10));
        assert!((count(1000, 80, 20).share() - 0.25).abs() < 1e-12);
        // Larger than what fits while it is multiplied.
        let large = count(1 << 60, 1 << 40, 1 << 39);
        assert_eq!(large.scaled(), Ok(1 << 61));
        // A thread that slept had nothing to be counted, and no counter is no zero.
        assert_eq!(count(0, 0, 0).scaled(), Ok(0));
        assert!((count(0, 0, 0).share() - 1.0).abs() < 1e-12);
        let none = count(0, 90, 0).scaled().unwrap_err();
        assert!(none.reason().contains("no counter"), "{none}");
    }

    fn counted(threads: &[(u32, &str, Count)]) -> Counted {
        let mut refused = Refused::default();
        refused[Event::CacheMisses.place()] = Some(NotAvailable::because("not here"));
        let thread = |&(id, name, count): &(u32, &str, Count)| {
            let mut counts = Counts::default();
            counts[Event::Instructions.place()] = Some(count);
            counts[Event::Cycles.place()] = Some(Count {
                raw: count.raw / 2,
                ..count
            });
            (id, (Arc::from(name), counts))
        };
        Counted {
            refused: Arc::new(refused),
            threads: threads.iter().map(thread).collect(),
            user_only: true,
        }
    }

    #[test]
    fn threads_of_a_name_are_added_up_and_what_was_before_is_taken_off() {
        let then = counted(&[
            (1, "loop", count(100, 10, 10)),
            (2, "pool", count(50, 10, 5)),
        ]);
        let now = counted(&[
            (1, "loop", count(500, 30, 20)),
            (2, "pool", count(150, 20, 10)),
            (3, "pool", count(100, 10, 10)),
        ]);
        let usage = now.since(&then).usage();
        // 400 + 100 + 100 in 25 of 40 ns.
        let instructions = usage.instructions.known().unwrap();
        assert_eq!(instructions.count, 600 * 40 / 25);
        assert!((instructions.counted_share - 0.625).abs() < 1e-12);
        let per_cycle = usage.instructions_per_cycle.known().unwrap();
        assert!((per_cycle - 2.0).abs() < 1e-9, "{per_cycle}");
        assert!(usage.cache_misses.known().is_none() && usage.user_only);
        let pool = usage.threads.iter().find(|it| it.name == "pool").unwrap();
        assert_eq!(pool.count, 2);
        // 100 in 5 of 10 ns, and 100 in 10 of 10 ns.
        assert_eq!(pool.counters.instructions.known().unwrap().count, 266);
    }
}
