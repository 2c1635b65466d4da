//! What is kept of the values of an interval instead of the values.

use super::sample::{Quality, Sample};

/// The good values of an interval, and how many others there were.
#[derive(Debug, Clone, Copy, Default)]
pub struct Values {
    /// All, good ones, and bad ones.
    pub all: u64,
    pub good: u64,
    pub bad: u64,
    /// Mean and sum of squared distances from it (Welford), which stay exact where sums of squares would not.
    pub mean: f64,
    pub squares: f64,
    pub least: Extreme,
    pub largest: Extreme,
    pub first: Option<Sample>,
    pub last: Option<Sample>,
    pub first_good: Option<Sample>,
    pub last_good: Option<Sample>,
}

/// The least or the largest of the good values.
#[derive(Debug, Clone, Copy, Default)]
pub struct Extreme {
    /// It, the earliest of several.
    pub sample: Option<Sample>,
    /// Whether there are several.
    pub many: bool,
    /// The same of uncertain values.
    pub uncertain: Option<f64>,
}

impl Extreme {
    fn good(&mut self, sample: Sample, is_beyond: impl Fn(f64, f64) -> bool) {
        match self.sample {
            Some(own) if own.number() == sample.number() => self.many = true,
            // Nothing is beyond NaN: the first would hide all others.
            Some(own) if !own.number().is_nan() && !is_beyond(sample.number(), own.number()) => {}
            _ => (self.sample, self.many) = (Some(sample), false),
        }
    }

    fn uncertain(&mut self, number: f64, is_beyond: impl Fn(f64, f64) -> bool) {
        if self.uncertain.is_none_or(|own| is_beyond(number, own)) {
            self.uncertain = Some(number);
        }
    }
}

impl Values {
    /// One more.
    pub fn count(&mut self, sample: Sample) {
        let (less, more) = (|a: f64, b: f64| a < b, |a: f64, b: f64| a > b);
        self.all += 1;
        self.first.get_or_insert(sample);
        self.last = Some(sample);
        match sample.quality() {
            Quality::Bad => self.bad += 1,
            Quality::Uncertain => {
                self.least.uncertain(sample.number(), less);
                self.largest.uncertain(sample.number(), more);
            }
            Quality::Good => {
                self.good += 1;
                self.first_good.get_or_insert(sample);
                self.last_good = Some(sample);
                let distance = sample.number() - self.mean;
                self.mean += distance / self.good as f64;
                self.squares += distance * (sample.number() - self.mean);
                self.least.good(sample, less);
                self.largest.good(sample, more);
            }
        }
    }

    /// How many of them are uncertain.
    pub fn uncertain(&self) -> u64 {
        self.all - self.good - self.bad
    }

    /// The variance, of a sample or of all there are.
    pub fn variance(&self, sample: bool) -> f64 {
        let n = match sample {
            true => self.good.saturating_sub(1),
            false => self.good,
        };
        // Part 13, 5.4.3.37: a single value has none.
        match n {
            0 => 0.0,
            n => self.squares / n as f64,
        }
    }
}

/// Time for which a value stood, in ticks, and its integral.
#[derive(Debug, Clone, Copy, Default)]
pub struct Times {
    pub good: i64,
    pub bad: i64,
    pub integral: f64,
    /// Whether some of it was not good.
    pub marred: bool,
}

impl Times {
    /// A value stood for so long.
    pub fn stood(&mut self, number: f64, ticks: i64) {
        if ticks > 0 {
            self.good += ticks;
            self.integral += number * ticks as f64;
        }
    }

    /// There was none for so long.
    pub fn missed(&mut self, ticks: i64) {
        if ticks > 0 {
            self.bad += ticks;
            self.marred = true;
        }
    }
}
