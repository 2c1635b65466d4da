//! Figures that change while something runs, as data: what several writers render, each in the form of its readers.
//!
//! A [`Family`] is a name with samples that differ by their labels. [`prometheus`] writes them as the text that
//! scrapers read, [`otlp`] and [`influx`] as what is pushed to receivers.

pub mod influx;
pub mod otlp;
pub mod prometheus;

use record::Histogram;

/// What a family is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A total that only grows; its name ends with `_total`.
    Counter,
    /// What is there at the moment.
    Gauge,
    /// How many were up to each bound.
    Histogram,
}

/// What is in one unit, by the name's end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// `_seconds`.
    Seconds,
    /// `_bytes`.
    Bytes,
    /// A number of something.
    Number,
}

/// A figure of a name, of everything that has it.
#[derive(Debug, Clone, PartialEq)]
pub struct Family {
    /// As Prometheus has it, with the unit, and `_total` if it is a counter.
    pub name: &'static str,
    /// What it is, in a sentence.
    pub about: &'static str,
    /// What it is, for programs.
    pub kind: Kind,
    /// One for each set of labels.
    pub samples: Vec<Sample>,
}

/// A figure of something.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// Names and texts; texts may hold anything.
    pub labels: Vec<(&'static str, String)>,
    /// What it is.
    pub value: Value,
}

/// What a figure is.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A total, or what is there.
    Number(f64),
    /// Times.
    Times(Buckets),
}

/// Times by how long they were.
#[derive(Debug, Clone, PartialEq)]
pub struct Buckets {
    /// How many were up to each of [`BOUNDS`], those of the bounds before it too.
    pub up_to: Vec<u64>,
    /// How many there were.
    pub count: u64,
    /// Their sum.
    pub sum_ns: u64,
}

/// Bounds of the buckets: 1, 2 and 5 of each power of ten from 10 µs to 10 s.
pub const BOUNDS: [u64; 19] = [
    10_000,
    20_000,
    50_000,
    100_000,
    200_000,
    500_000,
    1_000_000,
    2_000_000,
    5_000_000,
    10_000_000,
    20_000_000,
    50_000_000,
    100_000_000,
    200_000_000,
    500_000_000,
    1_000_000_000,
    2_000_000_000,
    5_000_000_000,
    10_000_000_000,
];

impl Buckets {
    /// What a histogram of nanoseconds says of each bound.
    pub fn of(times: &Histogram) -> Self {
        let count = times.count();
        let below = |bound: &u64| {
            let below = times.share_up_to(*bound).unwrap_or(0.0) * count as f64;
            below.round() as u64
        };
        Self {
            up_to: BOUNDS.iter().map(below).collect(),
            count,
            sum_ns: u64::try_from(times.sum()).unwrap_or(u64::MAX),
        }
    }

    /// The bounds in seconds, each with how many were up to it.
    fn bounded(&self) -> impl Iterator<Item = (f64, u64)> {
        let bounds = BOUNDS.iter().map(|bound| *bound as f64 / 1e9);
        bounds.zip(self.up_to.iter().copied())
    }

    fn sum(&self) -> f64 {
        self.sum_ns as f64 / 1e9
    }
}

impl Family {
    /// A total.
    pub fn counter(name: &'static str, about: &'static str) -> Self {
        Self::new(name, about, Kind::Counter)
    }

    /// What is there at the moment.
    pub fn gauge(name: &'static str, about: &'static str) -> Self {
        Self::new(name, about, Kind::Gauge)
    }

    /// Times.
    pub fn histogram(name: &'static str, about: &'static str) -> Self {
        Self::new(name, about, Kind::Histogram)
    }

    fn new(name: &'static str, about: &'static str, kind: Kind) -> Self {
        Self {
            name,
            about,
            kind,
            samples: Vec::new(),
        }
    }

    /// With a sample more.
    pub fn with(mut self, labels: Vec<(&'static str, String)>, number: f64) -> Self {
        self.add(labels, number);
        self
    }

    /// One sample more.
    pub fn add(&mut self, labels: Vec<(&'static str, String)>, number: f64) {
        let value = Value::Number(number);
        self.samples.push(Sample { labels, value });
    }

    /// One sample more, of times.
    pub fn add_times(&mut self, labels: Vec<(&'static str, String)>, times: &Histogram) {
        let value = Value::Times(Buckets::of(times));
        self.samples.push(Sample { labels, value });
    }

    /// Its name without what only Prometheus wants of a counter.
    pub fn base(&self) -> &'static str {
        match self.kind {
            Kind::Counter => self.name.strip_suffix("_total").unwrap_or(self.name),
            Kind::Gauge | Kind::Histogram => self.name,
        }
    }

    /// In what it is measured.
    pub fn unit(&self) -> Unit {
        match self.base() {
            name if name.ends_with("_seconds") => Unit::Seconds,
            name if name.ends_with("_bytes") => Unit::Bytes,
            _ => Unit::Number,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_hold_what_was_up_to_their_bound() {
        let mut times = Histogram::of(90_000, 3);
        times.merge(&Histogram::of(30_000_000_000, 2));
        let buckets = Buckets::of(&times);
        let at = |bound: u64| {
            let n = BOUNDS.iter().position(|it| *it == bound)?;
            buckets.up_to.get(n).copied()
        };
        assert_eq!((at(50_000), at(100_000)), (Some(0), Some(3)));
        // The two that were longer than all bounds are in the count alone.
        assert_eq!((at(10_000_000_000), buckets.count), (Some(3), 5));
    }

    #[test]
    fn a_name_says_the_unit() {
        let of = |name| Family::counter(name, "").unit();
        assert_eq!(of("a_seconds_total"), Unit::Seconds);
        assert_eq!(of("a_bytes_total"), Unit::Bytes);
        assert_eq!(of("a_total"), Unit::Number);
    }
}
