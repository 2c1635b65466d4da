//! What the kernel counted of a process: cycles, instructions, misses, switches.

use serde::{Deserialize, Serialize};

use super::Figure;

/// A count over the window.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct EventCount {
    /// Scaled to all of the time, where it was counted for a part of it.
    pub count: u64,
    /// The share of its time for which it was counted. Less than 1: the processor has fewer counters than there was to
    /// count, and they took turns.
    pub counted_share: f64,
}

/// What the kernel counted of a process or of some of its threads by `perf_event_open`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CounterUsage {
    /// Cycles of the processor's clock.
    pub cycles: Figure<EventCount>,
    /// Instructions that were carried out.
    pub instructions: Figure<EventCount>,
    /// Requests to the last level of the caches, on most processors.
    pub cache_references: Figure<EventCount>,
    /// Those of them that went on to memory.
    pub cache_misses: Figure<EventCount>,
    /// Branches that went another way than was foretold.
    pub branch_misses: Figure<EventCount>,
    /// Switches of both kinds.
    pub context_switches: Figure<EventCount>,
    /// How often threads went on on another core.
    pub migrations: Figure<EventCount>,
    /// Page faults of both kinds.
    pub page_faults: Figure<EventCount>,
    /// Nanoseconds on a core.
    pub task_clock_ns: Figure<EventCount>,
    /// Instructions in a cycle.
    pub instructions_per_cycle: Figure<f64>,
    /// Whether what happened in the kernel is in none of what the processor counts, because that was not allowed.
    #[serde(default, skip_serializing_if = "is_false")]
    pub user_only: bool,
    /// Instructions for each operation that ended; of generator and server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions_per_operation: Option<Figure<f64>>,
    /// The threads that there were when counting began, by name, the busiest first. What threads did that these began later is
    /// counted with them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub threads: Vec<ThreadCounters>,
}

/// The threads of one name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ThreadCounters {
    /// Their name, cut to 15 bytes by the kernel.
    pub name: String,
    /// How many have it.
    pub count: u64,
    /// What was counted of them.
    #[serde(flatten)]
    pub counters: CounterUsage,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants a reference")]
const fn is_false(it: &bool) -> bool {
    !*it
}

impl CounterUsage {
    /// What was counted, by its name in a table.
    pub const fn all(&self) -> [(&'static str, &Figure<EventCount>); 9] {
        [
            ("cycles", &self.cycles),
            ("instructions", &self.instructions),
            ("cache references", &self.cache_references),
            ("cache misses", &self.cache_misses),
            ("branch misses", &self.branch_misses),
            ("context switches", &self.context_switches),
            ("migrations", &self.migrations),
            ("page faults", &self.page_faults),
            ("time on a core", &self.task_clock_ns),
        ]
    }

    /// The smallest share of its time for which something was counted that was counted at all.
    pub fn least_share(&self) -> f64 {
        let known = self.all().into_iter().filter_map(|(_, it)| it.known());
        known.map(|it| it.counted_share).fold(1.0, f64::min)
    }

    /// The same for each of so many operations.
    pub fn for_operations(&mut self, operations: u64) {
        self.instructions_per_operation = Some(match (&self.instructions, operations) {
            (Figure::Missing { not_available }, _) => Figure::missing(not_available.clone()),
            (Figure::Known(_), 0) => Figure::missing("no operation ended in the window"),
            (Figure::Known(it), n) => Figure::Known(it.count as f64 / n as f64),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_are_shared_out_over_operations_and_a_missing_count_stays_missing() {
        let mut usage = CounterUsage {
            instructions: Figure::Known(EventCount {
                count: 5000,
                counted_share: 0.5,
            }),
            ..CounterUsage::default()
        };
        usage.for_operations(100);
        assert_eq!(usage.instructions_per_operation, Some(Figure::Known(50.0)));
        assert!((usage.least_share() - 0.5).abs() < 1e-12);
        usage.for_operations(0);
        assert!(
            usage
                .instructions_per_operation
                .as_ref()
                .is_some_and(|it| it.known().is_none())
        );
        usage.instructions = Figure::missing("no PMU");
        usage.for_operations(100);
        assert_eq!(
            usage.instructions_per_operation,
            Some(Figure::missing("no PMU"))
        );
    }
}
