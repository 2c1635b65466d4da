//! What has happened in a phase that is running, as far as its workers have reported: what a progress line, a live
//! metric, a screen and a condition that ends the phase are made of.

use std::collections::{BTreeMap, VecDeque};

use crate::Closed;
use crate::notification_ledger::{Events, Stretch};

/// What subscriptions brought.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Notified {
    /// Values and events.
    pub values: u64,
    /// Messages that brought them.
    pub messages: u64,
    /// Values that are missing, or messages where values cannot be counted.
    pub lost: u64,
    /// Whether they are events.
    pub events: bool,
}

impl From<&Stretch> for Notified {
    fn from(so_far: &Stretch) -> Self {
        Self {
            values: so_far.values.received,
            messages: so_far.messages.notifications,
            lost: so_far.places.lost().max(so_far.messages.lost()),
            events: so_far.events != Events::default(),
        }
    }
}

impl Notified {
    /// Adds what others brought.
    pub fn add(&mut self, other: Self) {
        self.values += other.values;
        self.messages += other.messages;
        self.lost += other.lost;
        self.events |= other.events;
    }

    /// What was brought since then.
    fn since(self, then: Self) -> Self {
        Self {
            values: self.values.saturating_sub(then.values),
            messages: self.messages.saturating_sub(then.messages),
            lost: self.lost.saturating_sub(then.lost),
            events: self.events,
        }
    }
}

/// What has happened since a phase began.
#[derive(Debug, Clone, Default)]
pub struct Underway {
    all: Closed,
    /// The end of the last interval that was reported.
    news_ns: u64,
    /// By worker and ledger: the level that was reported last.
    in_flight: BTreeMap<(usize, usize), i64>,
    /// By worker: what its subscriptions brought.
    notified: BTreeMap<usize, Notified>,
    /// What nobody has taken yet, and what those who took it know.
    news: Closed,
    taken_ns: u64,
    taken: Notified,
}

/// What happened since somebody asked last.
#[derive(Debug, Clone)]
pub struct News {
    /// Intervals, merged.
    pub closed: Closed,
    /// The time that they cover. They come late and in groups: a rate is over this time.
    pub covered_ns: u64,
    /// What subscriptions brought.
    pub notified: Notified,
}

impl News {
    /// So many a second; none where no time is covered.
    pub fn per_second(&self, count: u64) -> Option<f64> {
        (self.covered_ns > 0).then(|| count as f64 * 1e9 / self.covered_ns as f64)
    }
}

impl Underway {
    /// An interval that a worker closed in one of its ledgers.
    pub fn add(&mut self, worker: usize, ledger: usize, closed: &Closed) {
        self.all.merge(closed);
        self.news.merge(closed);
        self.in_flight.insert((worker, ledger), closed.in_flight);
        let end = closed.start_ns.saturating_add(closed.width_ns);
        // What is drained behind the end of a phase has no end.
        if end < u64::MAX {
            self.news_ns = self.news_ns.max(end);
        }
    }

    /// What the subscriptions of a worker brought since the measurement began.
    pub fn hear(&mut self, worker: usize, so_far: &Stretch) {
        self.notified.insert(worker, so_far.into());
    }

    /// All intervals, merged.
    pub const fn all(&self) -> &Closed {
        &self.all
    }

    /// The end of the last interval that was reported.
    pub const fn news_ns(&self) -> u64 {
        self.news_ns
    }

    /// Requests without an answer, of these workers and ledgers.
    pub fn in_flight_of(&self, of: impl Fn(usize, usize) -> bool) -> i64 {
        let levels = self.in_flight.iter();
        levels
            .filter(|&(&(worker, ledger), _)| of(worker, ledger))
            .map(|(_, level)| level)
            .sum()
    }

    /// Requests without an answer.
    pub fn in_flight(&self) -> i64 {
        self.in_flight_of(|_, _| true)
    }

    /// Whether subscriptions were reported of.
    pub fn is_notified(&self) -> bool {
        !self.notified.is_empty()
    }

    /// What subscriptions brought.
    pub fn notified(&self) -> Notified {
        let mut all = Notified::default();
        self.notified.values().for_each(|it| all.add(*it));
        all
    }

    /// What happened since this was asked last.
    pub fn take(&mut self) -> News {
        let notified = self.notified();
        let news = News {
            closed: std::mem::take(&mut self.news),
            covered_ns: self.news_ns.saturating_sub(self.taken_ns),
            notified: notified.since(self.taken),
        };
        (self.taken_ns, self.taken) = (self.news_ns, notified);
        news
    }
}

/// Intervals of the last seconds, of whoever is looked at together.
#[derive(Debug, Clone, Default)]
pub struct Recent {
    /// In order of their time.
    intervals: VecDeque<Closed>,
    /// How far behind somebody looks, if that is further than "now".
    longest_ns: u64,
}

/// As long as "now" is.
pub const NOW_NS: u64 = 1_000_000_000;

impl Recent {
    /// So that as much as this can be looked back.
    pub fn of(longest_ns: u64) -> Self {
        Self {
            longest_ns,
            ..Self::default()
        }
    }

    /// An interval that is over.
    pub fn add(&mut self, closed: &Closed) {
        let place = self
            .intervals
            .binary_search_by_key(&closed.start_ns, |it| it.start_ns);
        match place {
            Ok(place) => {
                if let Some(same) = self.intervals.get_mut(place) {
                    same.merge(closed);
                }
            }
            Err(place) => self.intervals.insert(place, closed.clone()),
        }
        let newest = self.intervals.back().map_or(0, |it| it.start_ns);
        while let Some(oldest) = self.intervals.front()
            && oldest.start_ns + self.longest_ns.max(NOW_NS) + 2 * NOW_NS < newest
        {
            self.intervals.pop_front();
        }
    }

    /// The last second before this time, and how much of it there was.
    pub fn now(&self, until_ns: u64) -> (Closed, u64) {
        self.last(NOW_NS, until_ns)
    }

    /// The last so long before this time, and how much of it there was.
    pub fn last(&self, length_ns: u64, until_ns: u64) -> (Closed, u64) {
        let from = until_ns.saturating_sub(length_ns);
        let mut sum = Closed::default();
        for closed in &self.intervals {
            if closed.start_ns >= from && closed.start_ns < until_ns {
                sum.merge(closed);
            }
        }
        (sum, until_ns - from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TICK_NS: u64 = 100_000_000;

    fn tick(n: u64, completed: u64, in_flight: i64) -> Closed {
        let mut closed = Closed {
            start_ns: n * TICK_NS,
            width_ns: TICK_NS,
            in_flight,
            ..Closed::default()
        };
        closed.counters.completed = completed;
        closed
    }

    fn brought(values: u64, missing: u64) -> Stretch {
        let mut stretch = Stretch::default();
        stretch.values.received = values;
        stretch.messages.notifications = values / 10;
        stretch.places.missing = missing;
        stretch
    }

    #[test]
    fn all_goes_on_counting_and_news_is_what_nobody_took() {
        let mut underway = Underway::default();
        underway.add(0, 0, &tick(0, 10, 3));
        underway.add(1, 0, &tick(0, 20, 4));
        let news = underway.take();
        assert_eq!(news.closed.counters.completed, 30);
        assert_eq!(news.per_second(30), Some(300.0));
        // Nothing new: no time is covered.
        assert_eq!(underway.take().per_second(0), None);
        underway.add(0, 0, &tick(2, 5, 1));
        let news = underway.take();
        assert_eq!(news.closed.counters.completed, 5);
        assert_eq!(news.covered_ns, 2 * TICK_NS);
        assert_eq!(underway.all().counters.completed, 35);
    }

    #[test]
    fn a_level_is_the_last_one_of_each_ledger() {
        let mut underway = Underway::default();
        underway.add(0, 0, &tick(0, 1, 3));
        underway.add(0, 1, &tick(0, 1, 4));
        underway.add(0, 0, &tick(1, 1, 2));
        assert_eq!(underway.in_flight(), 6);
        assert_eq!(underway.in_flight_of(|_, ledger| ledger == 1), 4);
    }

    #[test]
    fn what_subscriptions_brought_is_reported_as_a_sum_and_taken_as_a_difference() {
        let mut underway = Underway::default();
        assert!(!underway.is_notified());
        underway.hear(0, &brought(100, 1));
        underway.hear(1, &brought(50, 0));
        assert_eq!(underway.take().notified.values, 150);
        underway.hear(0, &brought(130, 2));
        let news = underway.take();
        assert_eq!((news.notified.values, news.notified.messages), (30, 3));
        let all = underway.notified();
        assert_eq!((all.values, all.lost), (180, 2));
    }

    #[test]
    fn the_end_of_what_has_none_is_no_news() {
        let mut underway = Underway::default();
        underway.add(0, 0, &tick(0, 1, 0));
        let mut drained = tick(1, 1, 0);
        drained.width_ns = u64::MAX;
        underway.add(0, 0, &drained);
        assert_eq!(underway.news_ns(), TICK_NS);
    }

    #[test]
    fn now_is_a_second_and_older_intervals_are_forgotten() {
        let mut recent = Recent::default();
        for n in 0..100 {
            recent.add(&tick(n, 1, 0));
            recent.add(&tick(n, 1, 0));
        }
        assert_eq!(recent.now(10_000_000_000).0.counters.completed, 20);
        assert_eq!(recent.now(500_000_000).1, 500_000_000);
        assert!(recent.intervals.len() <= 32);
    }

    #[test]
    fn as_much_as_somebody_looks_back_is_kept() {
        let mut recent = Recent::of(5 * NOW_NS);
        for n in 0..100 {
            recent.add(&tick(n, 1, 0));
        }
        let (last, covered_ns) = recent.last(5 * NOW_NS, 10 * NOW_NS);
        assert_eq!((last.counters.completed, covered_ns), (50, 5 * NOW_NS));
        assert_eq!(recent.last(5 * NOW_NS, 2 * NOW_NS).1, 2 * NOW_NS);
        assert!(recent.intervals.len() <= 72);
    }
}
