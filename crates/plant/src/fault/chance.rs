//! Which events a fault hits: exactly its share of them, decided from counts, time and a seed.

use std::time::Duration;

use plan::Random;
use wire::time::Instant;

/// Which of the events in a fault's window it hits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pick {
    /// Every one.
    All,
    /// The n-th, the 2n-th and so on.
    Every(u64),
    /// `hits` of each `of` events one after another, at places that the seed decides.
    Share {
        /// How many are hit.
        hits: u64,
        /// Of how many.
        of: u64,
    },
}

impl Pick {
    /// A share as a fraction between 0 and 1, exact to a millionth.
    pub fn share(fraction: f64) -> Option<Self> {
        const MILLION: u64 = 1_000_000;
        let hits = (fraction * MILLION as f64).round();
        if !(1.0..=MILLION as f64).contains(&hits) {
            return None;
        }
        let hits = hits as u64;
        let common = greatest_common_divisor(hits, MILLION);
        Some(match (hits / common, MILLION / common) {
            (1, 1) => Self::All,
            (hits, of) => Self::Share { hits, of },
        })
    }
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    match b {
        0 => a,
        b => greatest_common_divisor(b, a % b),
    }
}

/// When a fault hits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    /// Which events.
    pub pick: Pick,
    /// At most the first of them in each period; for what happens to the server as a whole, how
    /// often.
    pub period: Option<Duration>,
    /// How long it waits before its first event counts.
    pub after: Duration,
    /// How long it lasts from then on; until it is cleared if not given.
    pub lasts: Option<Duration>,
    /// Hits at most.
    pub times: Option<u64>,
    /// Decides where in its share it hits.
    pub seed: u64,
}

impl Default for Rule {
    fn default() -> Self {
        Self {
            pick: Pick::All,
            period: None,
            after: Duration::ZERO,
            lasts: None,
            times: None,
            seed: 1,
        }
    }
}

/// A rule at work: told of each event, it says whether it is hit.
#[derive(Debug, Clone)]
pub struct Chance {
    rule: Rule,
    since: Instant,
    random: Random,
    /// Events of the window so far.
    seen: u64,
    /// Those that were hit.
    hits: u64,
    /// Of the block that is under way: events to come and hits among them.
    left: (u64, u64),
    /// When the period under way ends.
    next_period: Instant,
}

impl Chance {
    /// A rule that begins to count now.
    pub fn new(rule: Rule, now: Instant) -> Self {
        let since = now + rule.after;
        Self {
            rule,
            since,
            random: Random::new(rule.seed),
            seen: 0,
            hits: 0,
            left: (0, 0),
            next_period: since + rule.period.unwrap_or_default(),
        }
    }

    /// Events in its window so far.
    pub fn seen(&self) -> u64 {
        self.seen
    }

    /// How many of them it hit.
    pub fn hits(&self) -> u64 {
        self.hits
    }

    /// Whether it will not hit again.
    pub fn is_over(&self, now: Instant) -> bool {
        let ended = |lasts| now >= self.since + lasts;
        let spent = self.rule.times.is_some_and(|times| self.hits >= times);
        spent || self.rule.lasts.is_some_and(ended)
    }

    /// An event: is it hit?
    pub fn event(&mut self, now: Instant) -> bool {
        if now < self.since || self.is_over(now) {
            return false;
        }
        self.seen += 1;
        let hit = self.picks() && self.in_time(now);
        self.hits += u64::from(hit);
        hit
    }

    fn picks(&mut self) -> bool {
        match self.rule.pick {
            Pick::All => true,
            Pick::Every(n) => self.seen.is_multiple_of(n.max(1)),
            Pick::Share { hits, of } => {
                if self.left.0 == 0 {
                    self.left = (of, hits);
                }
                // Selection sampling (Knuth, The Art of Computer Programming 2, 3.4.2): each set of
                // places in the block is as likely as any other, and the count is exact.
                let (events, wanted) = self.left;
                let draw = (u128::from(self.random.next_u64()) * u128::from(events)) >> 64;
                let hit = draw < u128::from(wanted);
                self.left = (events - 1, wanted - u64::from(hit));
                hit
            }
        }
    }

    /// Whether a period ended since the last hit.
    fn in_time(&mut self, now: Instant) -> bool {
        let Some(period) = self.rule.period else {
            return true;
        };
        if now < self.next_period {
            return false;
        }
        self.skip_to(now, period);
        true
    }

    /// Periods that nothing happened in are over.
    fn skip_to(&mut self, now: Instant, period: Duration) {
        let period_ns = u64::try_from(period.as_nanos()).unwrap_or(u64::MAX).max(1);
        let late = now.since(self.next_period).as_nanos();
        let whole = u64::try_from(late).unwrap_or(u64::MAX) / period_ns + 1;
        let step = Duration::from_nanos(whole.saturating_mul(period_ns));
        self.next_period = self.next_period + step;
    }

    /// For what happens by the clock alone: when it is due next.
    pub fn due(&self, now: Instant) -> Option<Instant> {
        match (self.is_over(now), self.rule.period) {
            (true, _) => None,
            (_, Some(_)) => Some(self.next_period),
            // Once, when its time has come.
            (_, None) => (self.hits == 0).then_some(self.since),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(millis: u64) -> Instant {
        Instant::from_nanos(millis * 1_000_000)
    }

    fn hits(rule: Rule, events: u64) -> Vec<u64> {
        let mut chance = Chance::new(rule, at(0));
        (1..=events).filter(|n| chance.event(at(*n))).collect()
    }

    #[test]
    fn every_third_is_every_third() {
        let rule = Rule {
            pick: Pick::Every(3),
            ..Rule::default()
        };
        assert_eq!(hits(rule, 10), [3, 6, 9]);
    }

    #[test]
    fn one_percent_is_one_of_each_hundred() {
        let pick = Pick::share(0.01).unwrap();
        assert_eq!(pick, Pick::Share { hits: 1, of: 100 });
        let hits = hits(
            Rule {
                pick,
                ..Rule::default()
            },
            10_000,
        );
        assert_eq!(hits.len(), 100);
        let mut places: Vec<u64> = hits.iter().map(|n| (n - 1) % 100).collect();
        assert!(
            hits.iter()
                .enumerate()
                .all(|(block, n)| (n - 1) / 100 == block as u64)
        );
        places.sort_unstable();
        places.dedup();
        // Not always the same place.
        assert!(places.len() > 30, "{places:?}");
    }

    #[test]
    fn shares_that_cannot_be_are_none() {
        for share in [0.0, -1.0, 1.01, f64::NAN, 1e-7] {
            assert_eq!(Pick::share(share), None);
        }
        assert_eq!(Pick::share(1.0), Some(Pick::All));
        assert_eq!(Pick::share(0.125), Some(Pick::Share { hits: 1, of: 8 }));
    }

    #[test]
    fn only_events_of_the_window_count() {
        let rule = Rule {
            pick: Pick::Every(2),
            after: Duration::from_millis(10),
            lasts: Some(Duration::from_millis(10)),
            ..Rule::default()
        };
        assert_eq!(hits(rule, 100), [11, 13, 15, 17, 19]);
        let rule = Rule {
            times: Some(2),
            ..rule
        };
        assert_eq!(hits(rule, 100), [11, 13]);
    }

    #[test]
    fn a_period_hits_the_first_event_after_each() {
        let rule = Rule {
            period: Some(Duration::from_millis(10)),
            ..Rule::default()
        };
        let mut chance = Chance::new(rule, at(0));
        let events = [1, 9, 10, 11, 19, 25, 28, 31, 32, 77, 78, 79, 80];
        let hits: Vec<u64> = events
            .into_iter()
            .filter(|n| chance.event(at(*n)))
            .collect();
        assert_eq!(hits, [10, 25, 31, 77, 80]);
    }

    #[test]
    fn what_goes_by_the_clock_says_when() {
        let once = Rule {
            after: Duration::from_millis(5),
            ..Rule::default()
        };
        let mut chance = Chance::new(once, at(0));
        assert_eq!(chance.due(at(0)), Some(at(5)));
        assert!(chance.event(at(5)));
        assert_eq!(chance.due(at(5)), None);
        let often = Rule {
            period: Some(Duration::from_millis(20)),
            times: Some(2),
            ..once
        };
        let mut chance = Chance::new(often, at(0));
        assert_eq!(chance.due(at(0)), Some(at(25)));
        assert!(chance.event(at(25)));
        assert_eq!(chance.due(at(25)), Some(at(45)));
        assert!(chance.event(at(46)));
        assert_eq!(chance.due(at(46)), None);
    }

    proptest! {
        #[test]
        fn a_share_is_exact_after_each_whole_block(
            // Hundredths of a percent.
            share in 1u64..10_000,
            seed: u64,
            blocks in 1u64..4,
        ) {
            let pick = Pick::share(share as f64 / 1e4).unwrap();
            let Pick::Share { hits: wanted, of } = pick else { panic!() };
            prop_assert_eq!(wanted * 10_000, share * of);
            let rule = Rule { pick, seed, ..Rule::default() };
            prop_assert_eq!(hits(rule, of * blocks).len() as u64, wanted * blocks);
        }
    }
}
