//! Boundaries of windows that are known before a phase begins, kept where bins do not end.

use serde::{Deserialize, Serialize};

use super::Bin;

/// A boundary, with what lies on both sides of it in the bin that holds it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Edge {
    pub at: u64,
    /// From the begin of its bin, or from the boundary before it in the same bin.
    pub before: Bin,
    /// To the end of its bin, or to the next boundary in the same bin.
    pub after: Bin,
}

/// Boundaries, rising.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Edges(Vec<Edge>);

impl Edges {
    pub fn new(cuts: &[u64]) -> Self {
        let edge = |&at: &u64| Edge {
            at,
            before: Bin::default(),
            after: Bin::default(),
        };
        Self(cuts.iter().map(edge).collect())
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn has(&self, at: u64) -> bool {
        self.0.iter().any(|edge| edge.at == at)
    }

    /// The same boundaries, with nothing on either side.
    pub fn blank(&self) -> Self {
        Self::new(&self.0.iter().map(|edge| edge.at).collect::<Vec<_>>())
    }

    pub fn is_like(&self, other: &Self) -> bool {
        self.0.len() == other.0.len() && self.0.iter().zip(&other.0).all(|(a, b)| a.at == b.at)
    }

    /// Adds what began at a time and crosses no boundary.
    pub fn add(&mut self, start: u64, width: u64, bin: &Bin) {
        let ats: Vec<u64> = self.0.iter().map(|edge| edge.at).collect();
        for (n, edge) in self.0.iter_mut().enumerate() {
            if edge.at / width != start / width {
                continue;
            }
            let previous = n.checked_sub(1).and_then(|n| ats.get(n));
            let next = ats.get(n + 1);
            if start < edge.at && previous.is_none_or(|&it| start >= it) {
                edge.before.merge(bin);
            }
            if start >= edge.at && next.is_none_or(|&it| start < it) {
                edge.after.merge(bin);
            }
        }
    }

    /// Each two bins become one: what lay in the other one of the two comes to the side that faces it.
    pub fn fold(&mut self, bins: &[Bin], width: u64) {
        let old = self.0.clone();
        let whole = |bin: u64| usize::try_from(bin).ok().and_then(|bin| bins.get(bin));
        for (n, edge) in self.0.iter_mut().enumerate() {
            let own = edge.at / width;
            if own % 2 == 1 {
                let previous = n.checked_sub(1).and_then(|n| old.get(n));
                match previous.map(|it| (it.at / width, it)) {
                    Some((bin, _)) if bin == own => {}
                    Some((bin, it)) if bin + 1 == own => edge.before.merge(&it.after),
                    _ => whole(own - 1)
                        .into_iter()
                        .for_each(|bin| edge.before.merge(bin)),
                }
            } else {
                match old.get(n + 1).map(|it| (it.at / width, it)) {
                    Some((bin, _)) if bin == own => {}
                    Some((bin, it)) if bin == own + 1 => edge.after.merge(&it.before),
                    _ => whole(own + 1)
                        .into_iter()
                        .for_each(|bin| edge.after.merge(bin)),
                }
            }
        }
    }

    /// Adds the sides of boundaries that are like these, in bins of the same width.
    pub fn merge(&mut self, other: &Self) {
        for (ours, theirs) in self.0.iter_mut().zip(&other.0) {
            ours.before.merge(&theirs.before);
            ours.after.merge(&theirs.after);
        }
    }

    /// Adds what lies between two times of a bin, both of them boundaries or outside of it. `whole`
    /// is all of the bin.
    pub fn part(
        &self,
        (begin, end): (u64, u64),
        (from, to): (u64, u64),
        whole: &Bin,
        sum: &mut Bin,
    ) {
        if from <= begin && to >= end {
            sum.merge(whole);
            return;
        }
        let mut inside = self.0.iter().filter(|it| it.at >= begin && it.at < end);
        let mut at = begin;
        let mut last = None;
        for edge in &mut inside {
            if at >= from && edge.at <= to {
                sum.merge(&edge.before);
            }
            (at, last) = (edge.at, Some(edge));
        }
        if let Some(edge) = last
            && at >= from
            && end <= to
        {
            sum.merge(&edge.after);
        }
    }
}
