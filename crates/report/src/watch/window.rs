//! What happened lately, and since the measurement began.

use std::collections::VecDeque;

use record::Closed;

/// As long as "now" is.
pub const NOW_NS: u64 = 1_000_000_000;

/// Intervals of somebody: a target, a core, or all together.
#[derive(Debug, Clone, Default)]
pub struct Window {
    /// Of the last second, and a little more, in order of their time.
    recent: VecDeque<Closed>,
    /// Since the measurement began.
    all: Closed,
}

impl Window {
    /// An interval that is over; it counts for all the time if it was measured.
    pub fn add(&mut self, closed: &Closed, measured: bool) {
        if measured {
            self.all.merge(closed);
        }
        let place = self
            .recent
            .binary_search_by_key(&closed.start_ns, |it| it.start_ns);
        match place {
            Ok(place) => {
                if let Some(same) = self.recent.get_mut(place) {
                    same.merge(closed);
                }
            }
            Err(place) => self.recent.insert(place, closed.clone()),
        }
        let newest = self.recent.back().map_or(0, |it| it.start_ns);
        while let Some(oldest) = self.recent.front()
            && oldest.start_ns + 2 * NOW_NS < newest
        {
            self.recent.pop_front();
        }
    }

    /// The last second before this time, and how much of it there was.
    pub fn now(&self, until_ns: u64) -> (Closed, u64) {
        let from = until_ns.saturating_sub(NOW_NS);
        let mut sum = Closed::default();
        for closed in &self.recent {
            if closed.start_ns >= from && closed.start_ns < until_ns {
                sum.merge(closed);
            }
        }
        (sum, until_ns - from)
    }

    /// Since the measurement began.
    pub const fn all(&self) -> &Closed {
        &self.all
    }
}
