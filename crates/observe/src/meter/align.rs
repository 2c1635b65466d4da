//! A meter's clock against ours, by a step of load that stands out in what it wrote down.

use record::average::{mean, median};

use super::Meter;
use crate::figure::{Figure, NotAvailable};

/// A load that was made between two times without one, in seconds on our clock.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LoadStep {
    /// Nothing was done from here on.
    pub idle_from_s: f64,
    /// The load began.
    pub from_s: f64,
    /// The load ended.
    pub to_s: f64,
    /// Nothing was done up to here.
    pub idle_to_s: f64,
}

/// Where the step lies.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Aligned {
    /// What has to be added to the meter's time to have ours.
    pub offset_s: f64,
    /// So much more or less.
    pub error_s: f64,
    /// The share of how the meter's power varies around the step that the step makes: its squared correlation.
    pub explained: f64,
}

/// A step that makes less of how the power varies is none to go by.
const LEAST: f64 = 0.5;
/// Of chi squared with one degree of freedom: an offset whose rest is larger by this is out of the 95 % interval.
const CHI: f64 = 3.84;

impl Meter {
    /// The same on a clock that is ahead by so much.
    #[must_use]
    pub fn moved(mut self, by_s: f64) -> Self {
        for reading in &mut self.readings {
            reading.0 += by_s;
        }
        self
    }

    /// The offset with which the readings fit a step best: the maximum of the correlation between the power and a
    /// rectangle that is 1 while there is load. Between two offsets by which a reading gets over an edge of the step all fit
    /// alike, so that each such interval is tried once.
    pub fn align(&self, step: &LoadStep) -> Figure<Aligned> {
        let sums = Sums::of(&self.readings);
        let (first, last) = (sums.first(), sums.last());
        // All of the step has to lie in what was read, and a part of the time before and after it.
        let margin = (step.from_s - step.idle_from_s).min(step.idle_to_s - step.to_s) / 2.0;
        let (least, most) = (step.to_s + margin - last, step.from_s - margin - first);
        if least >= most {
            return Err(NotAvailable::because(format!(
                "the meter's readings last {:.1} s, and the step of load with what lies around it {:.1} s",
                last - first,
                step.to_s - step.from_s + 2.0 * margin
            )));
        }
        let mut edges = vec![least, most];
        for at in &sums.times {
            let crossings = [step.from_s - at, step.to_s - at].into_iter();
            edges.extend(crossings.filter(|it| (least..most).contains(it)));
        }
        edges.sort_by(f64::total_cmp);
        let pairs = edges.windows(2).filter_map(|pair| match *pair {
            [from, to] if to - from > 1e-9 => {
                Some((from, to, sums.explained(step, f64::midpoint(from, to))?))
            }
            _ => None,
        });
        let all: Vec<(f64, f64, f64)> = pairs.collect();
        let best = all.iter().map(|it| it.2).fold(0.0, f64::max);
        if best < LEAST {
            return Err(NotAvailable::because(format!(
                "the step of load does not stand out in the meter's readings (it makes {:.0} % of how they vary; want {:.0} %)",
                best * 100.0,
                LEAST * 100.0
            )));
        }
        let within = sums.between(step.idle_from_s, step.idle_to_s, (least + most) / 2.0);
        let free = (within as f64 - 3.0).max(1.0);
        let rest = (1.0 - best) * (1.0 + CHI / free) + 1e-9;
        let fits = all.iter().filter(|it| 1.0 - it.2 <= rest);
        let (from, to) = fits.fold((f64::INFINITY, f64::NEG_INFINITY), |(from, to), it| {
            (from.min(it.0), to.max(it.1))
        });
        let error_s = (to - from) / 2.0 + sums.gap() / 2.0;
        if error_s > margin {
            return Err(NotAvailable::because(format!(
                "the meter's readings fit the step of load in more than one place, {:.1} s apart",
                to - from
            )));
        }
        Ok(Aligned {
            offset_s: f64::midpoint(from, to),
            error_s,
            explained: best,
        })
    }
}

/// Sums up to each reading, so that those of any time are two look-ups.
struct Sums {
    times: Vec<f64>,
    /// Of power, and of its square; from its mean, so that nothing is lost in large numbers.
    up_to: Vec<(f64, f64)>,
}

impl Sums {
    fn of(readings: &[(f64, f64)]) -> Self {
        let mean = mean(readings.iter().map(|it| it.1)).unwrap_or(0.0);
        let mut sum = (0.0, 0.0);
        let mut up_to = vec![sum];
        up_to.extend(readings.iter().map(|(_, watts)| {
            let off = watts - mean;
            sum = (sum.0 + off, sum.1 + off * off);
            sum
        }));
        Self {
            times: readings.iter().map(|it| it.0).collect(),
            up_to,
        }
    }

    fn first(&self) -> f64 {
        self.times.first().copied().unwrap_or(0.0)
    }

    fn last(&self) -> f64 {
        self.times.last().copied().unwrap_or(0.0)
    }

    /// The median of the times between two readings.
    fn gap(&self) -> f64 {
        let gaps = self.times.windows(2).filter_map(|pair| match *pair {
            [a, b] => Some(b - a),
            _ => None,
        });
        median(gaps).unwrap_or(0.0)
    }

    /// How many readings lie before a moment of our clock.
    fn before(&self, at_s: f64, offset_s: f64) -> usize {
        self.times.partition_point(|it| it + offset_s < at_s)
    }

    fn between(&self, from_s: f64, to_s: f64, offset_s: f64) -> usize {
        self.before(to_s, offset_s) - self.before(from_s, offset_s)
    }

    /// The squared correlation of the power and the step, if there was more power in it.
    fn explained(&self, step: &LoadStep, offset_s: f64) -> Option<f64> {
        let at = |at_s: f64| self.before(at_s, offset_s);
        let [a, b, c, d] = [step.idle_from_s, step.from_s, step.to_s, step.idle_to_s].map(at);
        let sum = |from: usize, to: usize| {
            let (from, to) = (self.up_to.get(from)?, self.up_to.get(to)?);
            Some((to.0 - from.0, to.1 - from.1))
        };
        let ((all, squares), (load, _)) = (sum(a, d)?, sum(b, c)?);
        let (whole, loaded) = ((d - a) as f64, (c - b) as f64);
        let idle = whole - loaded;
        // Readings on both sides of it, too.
        if c - b < 2 || a == b || c == d {
            return None;
        }
        let differ = load / loaded - (all - load) / idle;
        let varies = squares - all * all / whole;
        (differ > 0.0 && varies > 0.0).then(|| loaded * idle / whole * differ * differ / varies)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    const STEP: LoadStep = LoadStep {
        idle_from_s: 1000.0,
        from_s: 1005.2,
        to_s: 1008.3,
        idle_to_s: 1013.0,
    };

    /// A meter on a clock that has to be put forward by `offset_s`, with noise of up to half a watt, and with another load
    /// after the step.
    fn meter(every_s: f64, offset_s: f64, step_w: f64) -> Meter {
        let mut seed = 7_u64;
        let mut noise = || {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) as f64 / f64::from(1_u32 << 31) - 0.5
        };
        let watts = |at: f64| match at {
            it if (STEP.from_s..STEP.to_s).contains(&it) => 4.0 + step_w,
            it if (1013.0..1033.0).contains(&it) => 5.5,
            _ => 4.0,
        };
        let count = (60.0 / every_s) as i32;
        let readings = (0..count).map(|n| {
            let at = 990.0 + f64::from(n) * every_s;
            (at - offset_s, watts(at) + noise())
        });
        Meter {
            readings: readings.collect(),
        }
    }

    #[test]
    fn the_offset_of_a_meter_is_found_within_its_error() {
        for (every_s, offset_s) in [(0.05, 987.654), (0.1, -3.21), (0.02, 0.0), (1.0, 123.4)] {
            let found = meter(every_s, offset_s, 6.0).align(&STEP).unwrap();
            assert!(
                (found.offset_s - offset_s).abs() <= found.error_s,
                "{offset_s}: {found:?}"
            );
            assert!(found.error_s <= 1.1 * every_s, "{every_s}: {found:?}");
            assert!(found.explained > 0.9, "{found:?}");
        }
    }

    #[test]
    fn a_small_step_is_found_less_exactly_and_none_is_no_offset() {
        let small = meter(0.1, 50.0, 0.8).align(&STEP).unwrap();
        assert!((small.offset_s - 50.0).abs() <= small.error_s, "{small:?}");
        assert!(small.error_s < 1.0, "{small:?}");
        let why = meter(0.1, 50.0, 0.0).align(&STEP).unwrap_err();
        assert!(
            why.reason().contains("does not stand out")
                || why.reason().contains("more than one place"),
            "{why}"
        );
    }

    #[test]
    fn readings_that_are_too_few_or_too_late_are_named() {
        let mut short = meter(0.1, 50.0, 6.0);
        short.readings.truncate(40);
        let why = short.align(&STEP).unwrap_err();
        assert!(why.reason().contains("last 3.9 s"), "{why}");
    }

    #[test]
    fn two_steps_that_are_alike_are_no_offset() {
        let mut twice = meter(0.1, 50.0, 6.0);
        // The same once more, with the same time without load around it.
        let again: Vec<(f64, f64)> = twice.readings.clone();
        for (at, watts) in &mut twice.readings {
            let before = again.iter().find(|it| (it.0 - (*at - 20.0)).abs() < 1e-6);
            *watts = match before {
                Some(before) if *at + 50.0 > 1017.0 => before.1,
                _ => *watts,
            };
        }
        for (at, watts) in &mut twice.readings {
            if (1013.0..1017.0).contains(&(*at + 50.0)) {
                *watts = 4.0;
            }
        }
        let why = twice.align(&STEP).unwrap_err();
        assert!(why.reason().contains("more than one place"), "{why}");
    }

    #[test]
    fn moved_readings_lie_on_our_clock() {
        let meter = meter(0.1, 50.0, 6.0).moved(50.0);
        let taken = meter.between(1005.3, 1008.2).unwrap();
        assert!((taken.watts - 10.0).abs() < 0.2, "{taken:?}");
    }
}
