//! Sources of events, in groups that raise theirs in turn.

use plan::mixed;
use wire::types::NodeId;

use super::condition::Condition;
use super::{Beat, EventKind};
use crate::terms::Template;

/// Sources that are alike: event `m` of the group is raised by source `(m − 1) mod count`.
#[derive(Debug)]
pub struct Group {
    /// The type of the events.
    pub kind: EventKind,
    /// When they are due.
    pub beat: Beat,
    /// The lowest severity and the highest.
    pub severity: (u16, u16),
    /// What events say, with the number of the event; of conditions their state if there is none.
    pub message: Option<Template>,
    /// HighHigh, High, Low and LowLow; those that a limit alarm has.
    pub limits: [Option<f64>; 4],
    /// The objects above the sources, which tell of their events, too.
    pub areas: Vec<NodeId>,
    /// Who raises them.
    pub sources: Vec<Source>,
}

/// An object that raises events.
#[derive(Debug)]
pub struct Source {
    /// Its number on the server, for event ids.
    pub number: u32,
    /// Its node.
    pub id: NodeId,
    /// Its name.
    pub name: String,
    /// The condition whose states its events tell, if they do.
    pub condition: Option<Condition>,
}

/// Names of limits, the highest first.
pub const LIMITS: [&str; 4] = ["HighHigh", "High", "Low", "LowLow"];

impl Group {
    fn len(&self) -> u64 {
        self.sources.len().max(1) as u64
    }

    /// Who raises event `m` of the group, and the how many-th of its own it is.
    pub fn turn(&self, m: u64) -> (usize, u64) {
        let before = m.saturating_sub(1);
        ((before % self.len()) as usize, before / self.len() + 1)
    }

    /// The number in the group of a source's own event `n`.
    pub fn number(&self, source: usize, n: u64) -> u64 {
        n.saturating_sub(1)
            .saturating_mul(self.len())
            .saturating_add(source as u64 + 1)
    }

    /// How many events a source has raised after so many nanoseconds.
    pub fn raised(&self, source: usize, nanos: u64) -> u64 {
        let all = self.beat.count(nanos);
        all.saturating_add(self.len() - 1 - source as u64) / self.len()
    }

    /// How severe event `m` is: the same in every run.
    pub fn severity(&self, m: u64) -> u16 {
        let (low, high) = self.severity;
        let span = u64::from(high.saturating_sub(low)) + 1;
        low.saturating_add((mixed(m) % span) as u16)
    }

    /// Which limit the `k`-th activation of an alarm goes beyond.
    pub fn level(&self, k: u64) -> Option<usize> {
        let there = (0..4).filter(|at| self.limits.get(*at).is_some_and(Option::is_some));
        let there: Vec<usize> = there.collect();
        let at = k.checked_rem(there.len() as u64)?;
        there.get(at as usize).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_take_turns_and_each_counts_its_own() {
        let source = |number| Source {
            number,
            id: NodeId::null(),
            name: String::new(),
            condition: None,
        };
        let group = Group {
            kind: EventKind::BaseEventType,
            beat: Beat::Even("10/s".parse().unwrap()),
            severity: (100, 200),
            message: None,
            limits: [None, Some(1.0), None, Some(0.0)],
            areas: Vec::new(),
            sources: (0..3).map(source).collect(),
        };
        let turns: Vec<_> = (1..=4).map(|m| group.turn(m)).collect();
        assert_eq!(turns, [(0, 1), (1, 1), (2, 1), (0, 2)]);
        for m in 1..50 {
            let (source, n) = group.turn(m);
            assert_eq!(group.number(source, n), m);
            assert_eq!(group.raised(source, group.beat.at(m)), n);
            assert_eq!(group.raised(source, group.beat.at(m) - 1), n - 1);
            assert!((100..=200).contains(&group.severity(m)));
        }
        let levels: Vec<_> = (0..3).map(|k| group.level(k)).collect();
        assert_eq!(levels, [Some(1), Some(3), Some(1)]);
    }
}
