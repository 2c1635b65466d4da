//! The values of one interval, folded into what they amount to (Part 13, 5.4).

use wire::template::walk::BuiltInType;
use wire::types::{DataValue, DateTime, StatusCode};

use super::configuration::Configuration;
use super::function::Aggregate;
use super::sample::{Quality, Sample, bits_of, long_bits_of};
use super::sums::{Extreme, Times, Values};
use super::{MILLISECOND, SECOND};
use crate::space::encode;
use crate::space::signal::encode_bits;

/// InfoType DataValue (Part 4, 7.39.1) and the bits of aggregates in it (Part 13, 5.3.3).
const INFO: u32 = 0x0400;
const CALCULATED: u32 = 0x01;
const INTERPOLATED: u32 = 0x02;
const PARTIAL: u32 = 0x04;
const MULTIPLE: u32 = 0x10;

/// What is known of where data begins and ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Known {
    /// The time of the first value; none if there is no value.
    pub first: Option<i64>,
    /// The time of the last value; values that are being watched have none.
    pub last: Option<i64>,
}

/// What an interval amounts to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outcome {
    /// A Boolean or a number by its payload; none if there is none.
    pub value: Option<(BuiltInType, u64)>,
    /// How good it is, and what it was made of.
    pub status: u32,
    /// In ticks.
    pub time: i64,
}

impl Outcome {
    /// As a history tells it.
    pub fn value(&self) -> DataValue {
        let value = self.value.and_then(|(kind, bits)| {
            let mut encoded = Vec::with_capacity(9);
            encode_bits(kind, bits, &mut encoded);
            encode::decoded(&encoded)
        });
        DataValue {
            value,
            status: (self.status != 0).then_some(StatusCode::from(self.status)),
            source_timestamp: Some(DateTime::from(self.time)),
            server_timestamp: Some(DateTime::from(self.time)),
            ..Default::default()
        }
    }
}

/// Values up to a moment, as bounds see them.
#[derive(Debug, Clone, Copy, Default)]
struct Bound {
    /// The last value: simple bounds (Part 13, 3.1.9).
    last: Option<Sample>,
    /// The last one that is not bad: interpolated bounds (3.1.8).
    usable: Option<Sample>,
    /// Others came after that one.
    skipped: bool,
}

/// An interval that takes its values in order of time.
#[derive(Debug, Clone, Copy)]
pub struct Fold {
    aggregate: Aggregate,
    configuration: Configuration,
    low: i64,
    high: i64,
    /// It is shorter than it should be.
    cut: bool,
    /// The time that its result has.
    stamp: i64,
    /// Times are summed up to here.
    at: i64,
    bound: Bound,
    /// What was there at its beginning.
    start: Bound,
    values: Values,
    /// By simple and by interpolated bounds.
    simple: Times,
    interpolated: Times,
}

impl Fold {
    /// Of an interval from `low` on and before `high`.
    pub fn new(aggregate: Aggregate, configuration: Configuration, low: i64, high: i64) -> Self {
        Self {
            aggregate,
            configuration,
            low,
            high,
            cut: false,
            stamp: low,
            at: low,
            bound: Bound::default(),
            start: Bound::default(),
            values: Values::default(),
            simple: Times::default(),
            interpolated: Times::default(),
        }
    }

    /// It is shorter than it should be.
    pub fn cut(mut self, cut: bool) -> Self {
        self.cut = cut;
        self
    }

    /// Its result has another time than that of its beginning.
    pub fn stamped(mut self, stamp: i64) -> Self {
        self.stamp = stamp;
        self
    }

    /// Whether it begins there, and no value of it was taken yet.
    pub fn is_first(&self, start: i64) -> bool {
        self.low == start && self.values.all == 0
    }

    /// Where it begins.
    pub fn low(&self) -> i64 {
        self.low
    }

    /// Where it ends.
    pub fn high(&self) -> i64 {
        self.high
    }

    /// The next one, from its end on.
    pub fn next(&self, high: i64) -> Self {
        let mut next = Self::new(self.aggregate, self.configuration, self.high, high);
        (next.bound, next.start) = (self.bound, self.bound);
        next
    }

    /// A value from before it, in order of time.
    pub fn before(&mut self, sample: Sample) {
        self.see(sample);
        self.start = self.bound;
    }

    fn see(&mut self, sample: Sample) {
        self.bound.last = Some(sample);
        match self.is_bad(&sample) {
            true => self.bound.skipped = true,
            false => (self.bound.usable, self.bound.skipped) = (Some(sample), false),
        }
    }

    fn is_bad(&self, sample: &Sample) -> bool {
        !sample.is_usable(self.configuration.treat_uncertain_as_bad)
    }

    /// A value in it, in order of time.
    pub fn take(&mut self, sample: Sample) {
        self.pass(sample.time, None);
        // What says that there is no data is none.
        if !sample.is_gap() {
            self.values.count(sample);
        }
        self.see(sample);
        if sample.time == self.low {
            self.start = self.bound;
        }
    }

    /// Values stood as they are until then; those of simple bounds end with the data.
    fn pass(&mut self, until: i64, end: Option<i64>) {
        let ticks = until - self.at;
        let known = end.map_or(until, |end| until.min(end)) - self.at;
        match self.bound.last.filter(|last| !self.is_bad(last)) {
            Some(last) => self.simple.stood(last.number(), known),
            None => self.simple.missed(known),
        }
        match self.bound.usable {
            Some(usable) => {
                self.interpolated.stood(usable.number(), ticks);
                let good = usable.quality() == Quality::Good && !self.bound.skipped;
                self.interpolated.marred |= ticks > 0 && (!good || known < ticks);
            }
            None => self.interpolated.missed(ticks),
        }
        self.at = self.at.max(until);
    }

    /// What it amounts to.
    pub fn finish(mut self, known: Known) -> Outcome {
        let last = known.last.unwrap_or(i64::MAX);
        let beyond = self.low > last;
        let nothing = match known.first {
            None => true,
            // Part 13, 5.4.3: before the start of data and after its end there is none.
            Some(first) => self.high <= first || beyond && !self.aggregate.extrapolates(),
        };
        if nothing {
            return self.told(None, StatusCode::BadNoData.bits());
        }
        // Part 13, 5.4.2.4: the last value lasts for one unit of time.
        self.pass(self.high, Some(last.saturating_add(1)));
        // Part 13, 5.3.3.2.
        let early = known.first.is_some_and(|first| self.low < first);
        let partial = match self.cut || early || self.high > last {
            true => PARTIAL,
            false => 0,
        };
        self.amount(partial, beyond)
    }

    fn told(&self, value: Option<(BuiltInType, u64)>, status: u32) -> Outcome {
        Outcome {
            value,
            status,
            time: self.stamp,
        }
    }

    fn double(&self, value: f64, status: u32) -> Outcome {
        self.told(Some((BuiltInType::Double, value.to_bits())), status)
    }

    fn amount(&self, partial: u32, beyond: bool) -> Outcome {
        use Aggregate as A;
        let no_data = self.told(None, StatusCode::BadNoData.bits());
        let calculated = |code: StatusCode| code.bits() | INFO | CALCULATED | partial;
        let values = &self.values;
        // Part 13, 5.4.3.37: values that are not good are left out, and that shows.
        let left_out = match values.good == values.all {
            true => StatusCode::Good,
            false => StatusCode::UncertainDataSubNormal,
        };
        match self.aggregate {
            A::Interpolative => self.interpolative(beyond),
            A::Average | A::Count if values.all == 0 => no_data,
            A::Average if values.good == 0 => no_data,
            A::Average => {
                // Part 13, 5.4.3.5: the Partial bit is not set.
                let status = self.by_count() | INFO | CALCULATED;
                self.unless_bad((BuiltInType::Double, values.mean.to_bits()), status)
            }
            A::Count => {
                let count = i32::try_from(values.good).unwrap_or(i32::MAX);
                let status = self.by_count() | INFO | CALCULATED | partial;
                self.unless_bad((BuiltInType::Int32, u64::from(count as u32)), status)
            }
            A::TimeAverage | A::Total => {
                let times = &self.interpolated;
                if times.good == 0 {
                    return no_data;
                }
                let code = match times.marred {
                    true => StatusCode::UncertainDataSubNormal,
                    false => StatusCode::Good,
                };
                let value = match self.aggregate {
                    A::Total => times.integral / SECOND,
                    _ => times.integral / times.good as f64,
                };
                self.double(value, calculated(code))
            }
            A::TimeAverage2 | A::Total2 => {
                let times = &self.simple;
                let status = self.by_time() | INFO | CALCULATED | partial;
                if times.good == 0 {
                    return no_data;
                }
                let value = match self.aggregate {
                    A::Total2 => times.integral / SECOND,
                    _ => times.integral / times.good as f64,
                };
                self.unless_bad((BuiltInType::Double, value.to_bits()), status)
            }
            A::DurationGood => {
                let value = self.simple.good as f64 / MILLISECOND;
                self.double(value, calculated(StatusCode::Good))
            }
            A::DurationBad => {
                let value = self.simple.bad as f64 / MILLISECOND;
                self.double(value, calculated(StatusCode::Good))
            }
            A::PercentGood | A::PercentBad => {
                let Times { good, bad, .. } = self.simple;
                let part = match self.aggregate {
                    A::PercentGood => good,
                    _ => bad,
                };
                let value = 100.0 * part as f64 / (good + bad).max(1) as f64;
                self.double(value, calculated(StatusCode::Good))
            }
            A::Minimum | A::MinimumActualTime => self.extreme(&values.least, partial, |a, b| a < b),
            A::Maximum | A::MaximumActualTime => {
                self.extreme(&values.largest, partial, |a, b| a > b)
            }
            A::Range => match (values.least.sample, values.largest.sample) {
                (Some(least), Some(largest)) => {
                    let outside = values.least.is_passed(|a, b| a < b)
                        || values.largest.is_passed(|a, b| a > b);
                    let code = match outside || self.bad_values() > 0 {
                        true => StatusCode::UncertainDataSubNormal,
                        false => StatusCode::Good,
                    };
                    self.difference(&largest, &least, calculated(code))
                }
                _ => no_data,
            },
            A::Delta => match (values.first_good, values.last_good) {
                (Some(first), Some(last)) => {
                    let ends = (values.first, values.last) == (Some(first), Some(last));
                    let code = match ends {
                        true => StatusCode::Good,
                        false => StatusCode::UncertainDataSubNormal,
                    };
                    self.difference(&last, &first, calculated(code))
                }
                _ => no_data,
            },
            A::Start => self.raw(values.first, partial),
            A::End => self.raw(values.last, partial),
            _ if values.good == 0 => no_data,
            A::StandardDeviationSample => {
                self.double(values.variance(true).sqrt(), calculated(left_out))
            }
            A::StandardDeviationPopulation => {
                self.double(values.variance(false).sqrt(), calculated(left_out))
            }
            A::VarianceSample => self.double(values.variance(true), calculated(left_out)),
            A::VariancePopulation => self.double(values.variance(false), calculated(left_out)),
        }
    }

    /// Values that count as bad.
    fn bad_values(&self) -> u64 {
        match self.configuration.treat_uncertain_as_bad {
            true => self.values.bad + self.values.uncertain(),
            false => self.values.bad,
        }
    }

    /// The status by the number of values (Part 13, 5.4.3.2).
    fn by_count(&self) -> u32 {
        let Values { good, bad, all, .. } = self.values;
        self.by_share(good as f64, bad as f64, all as f64)
    }

    /// The status by time.
    fn by_time(&self) -> u32 {
        let Times { good, bad, .. } = self.simple;
        self.by_share(good as f64, bad as f64, (good + bad) as f64)
    }

    /// Part 13, 4.2.1.2: where both would do, it is the good ones that decide.
    fn by_share(&self, good: f64, bad: f64, all: f64) -> u32 {
        let all = all.max(1.0);
        let code = if good * 100.0 >= f64::from(self.configuration.percent_data_good) * all {
            StatusCode::Good
        } else if bad * 100.0 >= f64::from(self.configuration.percent_data_bad) * all {
            StatusCode::Bad
        } else {
            StatusCode::UncertainDataSubNormal
        };
        code.bits()
    }

    fn unless_bad(&self, value: (BuiltInType, u64), status: u32) -> Outcome {
        self.told((status >> 30 < 2).then_some(value), status)
    }

    /// Part 13, 5.4.3.4.
    fn interpolative(&self, beyond: bool) -> Outcome {
        let Some(sample) = self.start.usable else {
            return self.told(None, StatusCode::BadNoData.bits());
        };
        let value = Some((sample.kind, sample.bits));
        if sample.time == self.low {
            return self.told(value, sample.status);
        }
        let good = sample.quality() == Quality::Good && !self.start.skipped && !beyond;
        let code = match good {
            true => StatusCode::Good,
            false => StatusCode::UncertainDataSubNormal,
        };
        self.told(value, code.bits() | INFO | INTERPOLATED)
    }

    /// Part 13, 5.4.3.10 to 5.4.3.13.
    fn extreme(
        &self,
        extreme: &Extreme,
        partial: u32,
        is_beyond: impl Fn(f64, f64) -> bool,
    ) -> Outcome {
        let Some(sample) = extreme.sample else {
            return self.told(None, StatusCode::BadNoData.bits());
        };
        let actual = matches!(
            self.aggregate,
            Aggregate::MinimumActualTime | Aggregate::MaximumActualTime
        );
        let marred = self.bad_values() > 0 || extreme.is_passed(is_beyond);
        let code = match marred {
            true => StatusCode::UncertainDataSubNormal,
            false => StatusCode::Good,
        };
        let raw = !marred && (actual || sample.time == self.low);
        let bit = |is: bool, bit: u32| if is { bit } else { 0 };
        let bits = bit(!raw, CALCULATED) | bit(extreme.many, MULTIPLE) | partial;
        let mut told = self.told(
            Some((sample.kind, sample.bits)),
            code.bits() | bit(bits != 0, INFO) | bits,
        );
        if actual {
            told.time = sample.time;
        }
        told
    }

    /// Part 13, 5.4.3.25 and 5.4.3.26: as it is.
    fn raw(&self, sample: Option<Sample>, partial: u32) -> Outcome {
        let Some(sample) = sample else {
            return self.told(None, StatusCode::BadNoData.bits());
        };
        let info = if partial == 0 { 0 } else { INFO | partial };
        let mut told = self.told(
            (sample.quality() != Quality::Bad).then_some((sample.kind, sample.bits)),
            sample.status | info,
        );
        told.time = sample.time;
        told
    }

    /// A difference has the type of what it is made of; what does not fit that has no value.
    fn difference(&self, more: &Sample, less: &Sample, status: u32) -> Outcome {
        let bits = match (more.long(), less.long()) {
            (Some(high), Some(low)) => long_bits_of(less.kind, high - low),
            _ => bits_of(less.kind, more.number() - less.number()),
        };
        match bits {
            Some(bits) => self.told(Some((less.kind, bits)), status),
            None => self.told(None, StatusCode::BadTypeMismatch.bits()),
        }
    }
}

impl Extreme {
    /// Whether an uncertain value lies beyond the good one.
    fn is_passed(&self, is_beyond: impl Fn(f64, f64) -> bool) -> bool {
        match (self.uncertain, self.sample) {
            (Some(uncertain), Some(sample)) => is_beyond(uncertain, sample.number()),
            _ => false,
        }
    }
}
