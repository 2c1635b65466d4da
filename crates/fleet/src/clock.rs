//! What another host's clock shows beside ours: a band, never a number.
//!
//! A question and its answer carry four stamps. The question was on its way for some time, so the other clock is
//! ahead by at most `received − asked`; the answer was, so it is ahead by at least `sent − answered`. Nothing is
//! assumed of the way: it may be as lopsided as it likes. Between questions clocks drift apart, by no more than
//! [`MOST_DRIFT`]; what several exchanges tell of the drift narrows that.

use serde::{Deserialize, Serialize};

/// Both clocks of a process at one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamp {
    /// The monotonic clock, in nanoseconds.
    pub mono_ns: u64,
    /// The wall clock, in nanoseconds since 1970.
    pub utc_ns: i64,
}

/// A question and its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exchange {
    /// When it was asked, here.
    pub asked: Stamp,
    /// When the question came, there.
    pub received: Stamp,
    /// When the answer was sent, there.
    pub sent: Stamp,
    /// When the answer came, here.
    pub answered: Stamp,
}

/// Something lies between two values, both of them possible.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Band {
    /// The least.
    pub low: f64,
    /// The most.
    pub high: f64,
}

impl Band {
    /// In the middle.
    pub fn middle(&self) -> f64 {
        self.low.midpoint(self.high)
    }

    /// So far from the middle at most.
    pub fn error(&self) -> f64 {
        (self.high - self.low) / 2.0
    }

    /// Whether a value may be it.
    pub fn holds(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }

    /// What both allow; none if they contradict each other.
    fn and(self, other: Self) -> Option<Self> {
        let both = Self {
            low: self.low.max(other.low),
            high: self.high.min(other.high),
        };
        (both.low <= both.high).then_some(both)
    }
}

/// By so much two clocks drift apart at most: what an operating system slews (500 ppm on each side), and what cheap
/// quartz is off.
pub const MOST_DRIFT: Band = Band {
    low: -1.2e-3,
    high: 1.2e-3,
};

/// So many exchanges are kept: the best of the way so far.
const KEPT: usize = 48;

/// How much one clock is ahead, at one time of ours.
#[derive(Debug, Clone, Copy)]
struct Look {
    at: f64,
    ahead: Band,
}

/// What exchanges tell of another host's clocks.
#[derive(Debug, Clone, Default)]
pub struct Bands {
    /// Ours, when the first was asked: later times are told from here, which keeps them exact.
    zero: Option<Stamp>,
    /// How much its clocks were ahead then, roughly.
    base: (i128, i128),
    mono: Vec<Look>,
    utc: Vec<Look>,
    round_trip_ns: Option<u64>,
    exchanges: u64,
}

impl Bands {
    /// Another exchange.
    pub fn add(&mut self, it: &Exchange) {
        let zero = *self.zero.get_or_insert(it.asked);
        if self.exchanges == 0 {
            self.base = (
                i128::from(it.received.mono_ns) - i128::from(it.asked.mono_ns),
                i128::from(it.received.utc_ns) - i128::from(it.asked.utc_ns),
            );
        }
        self.exchanges += 1;
        let mono = |stamp: Stamp| i128::from(stamp.mono_ns);
        let utc = |stamp: Stamp| i128::from(stamp.utc_ns);
        let asked = mono(it.asked) - mono(zero);
        let answered = mono(it.answered) - mono(zero);
        let there = mono(it.sent) - mono(it.received);
        let trip = u64::try_from((answered - asked - there).max(0)).unwrap_or(u64::MAX);
        self.round_trip_ns = Some(self.round_trip_ns.map_or(trip, |least| least.min(trip)));
        // Each bound belongs to a moment of its own; the band of both is that of the time between, drift and all.
        let during = (answered - asked).max(0) as f64 * MOST_DRIFT.high;
        let look = |of: &dyn Fn(Stamp) -> i128, base: i128| Look {
            at: asked.midpoint(answered) as f64,
            ahead: Band {
                low: (of(it.sent) - of(it.answered) - base) as f64 - during,
                high: (of(it.received) - of(it.asked) - base) as f64 + during,
            },
        };
        let (mono_look, utc_look) = (look(&mono, self.base.0), look(&utc, self.base.1));
        keep(&mut self.mono, mono_look);
        keep(&mut self.utc, utc_look);
    }

    /// How many there were.
    pub fn exchanges(&self) -> u64 {
        self.exchanges
    }

    /// The shortest way there and back.
    pub fn round_trip_ns(&self) -> Option<u64> {
        self.round_trip_ns
    }

    /// By how much its monotonic clock is ahead of ours when ours shows this, in nanoseconds.
    pub fn mono(&self, at_ns: u64) -> Option<Band> {
        let at = self.since(at_ns)?;
        Some(shifted(ahead(&self.mono, at)?, self.base.0))
    }

    /// By how much its wall clock is ahead of ours when our monotonic clock shows this, in nanoseconds. None, too,
    /// if one of the two was set meanwhile.
    pub fn utc(&self, at_ns: u64) -> Option<Band> {
        let at = self.since(at_ns)?;
        Some(shifted(ahead(&self.utc, at)?, self.base.1))
    }

    /// By how much its clock is faster than ours: a share.
    pub fn drift(&self) -> Option<Band> {
        (self.mono.len() > 1).then(|| drift(&self.mono)).flatten()
    }

    /// What its monotonic clock shows when ours shows this, and how far that may be off.
    pub fn there(&self, at_ns: u64) -> Option<(u64, u64)> {
        let at = self.since(at_ns)?;
        let band = ahead(&self.mono, at)?;
        let shows = i128::from(at_ns) + self.base.0 + band.middle().round() as i128;
        Some((u64::try_from(shows).ok()?, band.error().ceil() as u64))
    }

    fn since(&self, at_ns: u64) -> Option<f64> {
        let zero = self.zero?;
        Some((i128::from(at_ns) - i128::from(zero.mono_ns)) as f64)
    }
}

fn shifted(band: Band, base: i128) -> Band {
    Band {
        low: band.low + base as f64,
        high: band.high + base as f64,
    }
}

/// One more; of too many the one is left out that tells less than the one beside it. The first and the last tell of
/// the drift, and stay.
fn keep(looks: &mut Vec<Look>, look: Look) {
    looks.push(look);
    if looks.len() <= KEPT {
        return;
    }
    let inner = 1..looks.len() - 1;
    // Neighbours in pairs: the closest pair has the least to tell together.
    let closest = inner
        .clone()
        .take(inner.len().saturating_sub(1))
        .min_by(|&a, &b| {
            (looks[a + 1].at - looks[a].at).total_cmp(&(looks[b + 1].at - looks[b].at))
        });
    if let Some(n) = closest {
        let wider = usize::from(looks[n + 1].ahead.error() > looks[n].ahead.error());
        looks.remove(n + wider);
    }
}

/// What all looks together allow as drift, if they do not contradict each other.
fn drift(looks: &[Look]) -> Option<Band> {
    let mut band = MOST_DRIFT;
    for (n, first) in looks.iter().enumerate() {
        for second in looks.iter().skip(n + 1) {
            let between = second.at - first.at;
            if between <= 0.0 {
                continue;
            }
            band = band.and(Band {
                low: (second.ahead.low - first.ahead.high) / between,
                high: (second.ahead.high - first.ahead.low) / between,
            })?;
        }
    }
    Some(band)
}

/// What all looks together allow at a time.
fn ahead(looks: &[Look], at: f64) -> Option<Band> {
    let drift = drift(looks)?;
    let mut all = looks.iter().map(|look| {
        let since = at - look.at;
        let (a, b) = (drift.low * since, drift.high * since);
        Band {
            low: look.ahead.low + a.min(b),
            high: look.ahead.high + a.max(b),
        }
    });
    let first = all.next()?;
    all.try_fold(first, Band::and)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use proptest::prelude::*;

    const MS: u64 = 1_000_000;
    const S: u64 = 1_000 * MS;

    /// A clock that is ahead by so much and runs so much faster.
    struct Clock {
        ahead_ns: i64,
        drift: f64,
    }

    impl Clock {
        fn shows(&self, at: u64) -> Stamp {
            let fast = at as i64 + (at as f64 * self.drift) as i64 + self.ahead_ns;
            Stamp {
                mono_ns: fast as u64,
                utc_ns: fast + 1_800_000_000 * S as i64,
            }
        }

        fn ahead(&self, at: u64) -> f64 {
            self.shows(at).mono_ns as f64 - at as f64
        }
    }

    fn ours(at: u64) -> Stamp {
        Stamp {
            mono_ns: at,
            utc_ns: (at + 1_800_000_000 * S) as i64,
        }
    }

    fn exchange(clock: &Clock, at: u64, there: u64, back: u64) -> Exchange {
        let working = 20_000;
        Exchange {
            asked: ours(at),
            received: clock.shows(at + there),
            sent: clock.shows(at + there + working),
            answered: ours(at + there + working + back),
        }
    }

    proptest! {
        // 30 ms and 200 ppm are what a plant's clock may be off; ways are as lopsided as chance has them.
        #[test]
        fn the_truth_lies_in_the_band_before_during_and_after(
            ahead_ns in -40_000_000..40_000_000i64,
            drift in -300e-6..300e-6f64,
            ways in prop::collection::vec((1_000..5_000_000u64, 1_000..5_000_000u64), 1..120),
        ) {
            let clock = Clock { ahead_ns, drift };
            let mut bands = Bands::default();
            let mut at = 100 * S;
            for (there, back) in ways {
                bands.add(&exchange(&clock, at, there, back));
                at += S;
                for when in [100 * S, at, at + 10 * S] {
                    let band = bands.mono(when).unwrap();
                    prop_assert!(band.holds(clock.ahead(when)), "{band:?} {}", clock.ahead(when));
                    let utc = bands.utc(when).unwrap();
                    prop_assert!(utc.holds(clock.ahead(when)), "{utc:?}");
                }
                if let Some(told) = bands.drift() {
                    prop_assert!(told.holds(drift), "{told:?}");
                }
            }
        }
    }

    #[test]
    fn many_exchanges_tell_offset_and_drift_better_than_one() {
        let clock = Clock {
            ahead_ns: 30 * MS as i64,
            drift: 200e-6,
        };
        let mut bands = Bands::default();
        bands.add(&exchange(&clock, 10 * S, 2 * MS, MS));
        let one = bands.mono(20 * S).unwrap();
        for n in 1..100 {
            bands.add(&exchange(
                &clock,
                10 * S + n * S,
                MS / 5 + n % 7 * MS,
                MS / 5,
            ));
        }
        let many = bands.mono(20 * S).unwrap();
        assert!(
            one.error() > 1e6 && many.error() < 0.5e6,
            "{one:?} {many:?}"
        );
        let drift = bands.drift().unwrap();
        assert!(drift.error() < 10e-6 && drift.holds(200e-6), "{drift:?}");
        // What the other side worked was told by its own clock, which is too fast.
        let trip = bands.round_trip_ns().unwrap();
        assert!(trip.abs_diff(2 * MS / 5) < 10, "{trip}");
        assert_eq!(bands.mono.len(), KEPT);
    }

    #[test]
    fn a_wall_clock_that_was_set_meanwhile_is_not_known() {
        let mut clock = Clock {
            ahead_ns: 0,
            drift: 0.0,
        };
        let mut bands = Bands::default();
        bands.add(&exchange(&clock, 10 * S, MS, MS));
        assert!(bands.utc(10 * S).is_some());
        clock.ahead_ns = 5 * S as i64;
        bands.add(&exchange(&clock, 11 * S, MS, MS));
        assert_eq!(bands.utc(11 * S), None);
    }
}
