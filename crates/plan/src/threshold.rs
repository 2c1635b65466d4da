//! Conditions on results: `[what.]stat op value`, one grammar everywhere.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use thiserror::Error;

use crate::unit::{Bytes, Percent, Rate, UnitError, duration};

/// A condition such as `p99<5ms`, `errors=0`, `service.max<=1s`, `rate>=9900/s`, `cpu<80%`.
#[derive(Debug, Clone, PartialEq)]
pub struct Threshold {
    /// Of what.
    pub measure: Measure,
    /// Which figure of it.
    pub stat: Stat,
    /// How they compare.
    pub op: Op,
    /// With what.
    pub value: Value,
}

macro_rules! named {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum $name {
            $($(#[$variant_doc])* $variant,)*
        }

        impl $name {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// As typed.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }
        }
    };
}

named! {
    /// What is measured.
    Measure {
        /// Completed − planned.
        Response = "response",
        /// Completed − sent.
        Service = "service",
        /// Sent − planned.
        Lateness = "lateness",
        /// The part of the lateness for which the generator woke up too late.
        Pacer = "pacer",
        /// The part of the lateness for which all slots were taken.
        Slot = "slot",
        /// The part of the lateness for which the socket was full.
        Socket = "socket",
        /// Read by the generator − received by its kernel.
        Lag = "lag",
        /// From a value's change to its arrival.
        Delay = "delay",
        /// The part of the delay that sampling and publishing at intervals bring about.
        Phase = "phase",
        /// The part of the delay that a value waited longer in the server.
        Queueing = "queueing",
        /// The part of the delay from the server's response to its arrival.
        Transport = "transport",
        /// From a value's server timestamp to its arrival.
        ServerDelay = "server-delay",
        /// From a message's publish time to its arrival.
        PublishDelay = "publish-delay",
        /// From the instant that a counter's value tells to its arrival.
        CounterDelay = "counter-delay",
        /// Between the arrivals of two messages of a subscription.
        Arrival = "arrival",
        /// From the first request of a cycle to its last answer; of subscriptions, between the publish
        /// times of two messages.
        Cycle = "cycle",
        /// How far a subscription's cycle is from a multiple of its publishing interval.
        Jitter = "jitter",
        /// CPU of the server, of one core.
        Cpu = "cpu",
        /// Memory of the server.
        Rss = "rss",
        /// CPU of the generator, of one core, without spinning.
        GeneratorCpu = "generator-cpu",
        /// Memory of the generator.
        GeneratorRss = "generator-rss",
    }
}

impl Measure {
    /// In which unit its values are.
    pub const fn unit(self) -> Unit {
        match self {
            Self::Cpu | Self::GeneratorCpu => Unit::Share,
            Self::Rss | Self::GeneratorRss => Unit::Bytes,
            _ => Unit::Nanos,
        }
    }

    /// The figure that is meant when only the measure is named.
    const fn usual(self) -> Option<Stat> {
        match self {
            Self::Cpu | Self::GeneratorCpu => Some(Stat::Mean),
            Self::Rss | Self::GeneratorRss => Some(Stat::Max),
            _ => None,
        }
    }
}

/// The unit in which [`Figures`] gives a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Nanoseconds.
    Nanos,
    /// Per second.
    PerSecond,
    /// A number of things.
    Count,
    /// A fraction: 0.01 is one percent.
    Share,
    /// Bytes.
    Bytes,
}

/// A figure of a measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Stat {
    /// `p99.9`: so many thousandths of a percent, 99,900.
    Percentile(u32),
    /// The smallest.
    Min,
    /// The mean.
    Mean,
    /// The largest.
    Max,
    /// The standard deviation.
    Deviation,
    /// Completed requests per second.
    Rate,
    /// Values per second.
    Values,
    /// Requests that failed or ran into their timeout.
    Errors,
    /// The share of these.
    ErrorShare,
    /// What was sent and never came.
    Loss,
    /// The share of these.
    LossShare,
}

impl Stat {
    /// `p50`.
    pub const P50: Self = Self::Percentile(50_000);
    /// `p90`.
    pub const P90: Self = Self::Percentile(90_000);
    /// `p99`.
    pub const P99: Self = Self::Percentile(99_000);
    /// `p99.9`.
    pub const P99_9: Self = Self::Percentile(99_900);

    /// The percentile as a fraction: 0.999 for p99.9.
    pub fn quantile(self) -> Option<f64> {
        match self {
            Self::Percentile(thousandths) => Some(f64::from(thousandths) / 100_000.0),
            _ => None,
        }
    }

    /// In which unit this figure of a measure is.
    pub const fn unit(self, measure: Measure) -> Unit {
        match self {
            Self::Rate | Self::Values => Unit::PerSecond,
            Self::Errors | Self::Loss => Unit::Count,
            Self::ErrorShare | Self::LossShare => Unit::Share,
            _ => measure.unit(),
        }
    }
}

/// How a figure and a value compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    /// `<`
    Less,
    /// `<=`
    AtMost,
    /// `>`
    More,
    /// `>=`
    AtLeast,
    /// `=`
    Equal,
}

/// What a figure is compared with.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value {
    /// `5ms`
    Duration(Duration),
    /// `9900/s`
    Rate(Rate),
    /// `0`
    Count(u64),
    /// `1%`
    Percent(Percent),
    /// `64MiB`
    Bytes(Bytes),
}

impl Value {
    /// In the unit in which figures come.
    pub fn as_f64(self) -> f64 {
        match self {
            Self::Duration(duration) => duration.as_nanos() as f64,
            Self::Rate(rate) => rate.as_f64(),
            Self::Count(count) => count as f64,
            Self::Percent(percent) => percent.fraction(),
            Self::Bytes(Bytes(bytes)) => bytes as f64,
        }
    }
}

/// The figures of a result.
pub trait Figures {
    /// A figure in the unit of [`Stat::unit`]; none if it was not measured.
    fn figure(&self, measure: Measure, stat: Stat) -> Option<f64>;
}

/// What came of a condition.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The condition.
    pub threshold: Threshold,
    /// What was measured; none: it was not, and the condition is not met.
    pub figure: Option<f64>,
}

/// Why a text is no condition.
#[derive(Debug, Clone, Error, PartialEq, Eq)]
pub enum ThresholdError {
    /// No comparison in it.
    #[error(
        "{0:?} is no condition (want [what.]stat, one of < <= > >= =, and a value: p99<5ms, errors=0)"
    )]
    Text(String),
    /// Unknown measure.
    #[error("{text:?}: {what:?} is nothing that is measured (want {})", names())]
    Measure {
        /// The whole.
        text: String,
        /// What stands before the dot.
        what: String,
    },
    /// Unknown figure.
    #[error(
        "{text:?}: {stat:?} is no figure (want p50, p90, p99, p99.9 or another percentile, min, mean, max, \
         deviation, rate, values, errors, loss, cpu or rss)"
    )]
    Stat {
        /// The whole.
        text: String,
        /// What stands before the comparison.
        stat: String,
    },
    /// The value is of the wrong kind.
    #[error("{text:?}: {error}")]
    Value {
        /// The whole.
        text: String,
        /// What is wrong with the value.
        error: UnitError,
    },
}

fn names() -> String {
    let names: Vec<&str> = Measure::ALL.iter().map(|measure| measure.name()).collect();
    names.join(", ")
}

impl FromStr for Threshold {
    type Err = ThresholdError;

    fn from_str(text: &str) -> Result<Self, ThresholdError> {
        let compact: String = text.chars().filter(|c| !c.is_whitespace()).collect();
        let split = || {
            let at = compact.find(['<', '>', '='])?;
            let (left, rest) = compact.split_at(at);
            let ops = [
                ("<=", Op::AtMost),
                (">=", Op::AtLeast),
                ("<", Op::Less),
                (">", Op::More),
                ("=", Op::Equal),
            ];
            let (op, value) = ops
                .iter()
                .find_map(|(sign, op)| Some((*op, rest.strip_prefix(sign)?)))?;
            (!left.is_empty()).then_some((left, op, value))
        };
        let (left, op, value) = split().ok_or_else(|| ThresholdError::Text(text.to_owned()))?;
        let (measure, stat) = subject(text, left)?;
        let (stat, value) =
            compared(measure, stat, value).map_err(|error| ThresholdError::Value {
                text: text.to_owned(),
                error,
            })?;
        Ok(Self {
            measure,
            stat,
            op,
            value,
        })
    }
}

/// A figure by its name, as on the left of a condition: `p99`, `service.mean`, `cpu`.
pub fn figure(text: &str) -> Result<(Measure, Stat), ThresholdError> {
    subject(text, text)
}

/// `[what.]stat`, or a measure that has a usual figure.
fn subject(text: &str, left: &str) -> Result<(Measure, Stat), ThresholdError> {
    let measure = |name: &str| {
        Measure::ALL
            .iter()
            .copied()
            .find(|measure| measure.name() == name)
    };
    if let Some(stat) = stat(left) {
        return Ok((Measure::Response, stat));
    }
    if let Some(alone) = measure(left) {
        return match alone.usual() {
            Some(stat) => Ok((alone, stat)),
            None => Err(ThresholdError::Stat {
                text: text.to_owned(),
                stat: left.to_owned(),
            }),
        };
    }
    let unknown = |figure: &str| ThresholdError::Stat {
        text: text.to_owned(),
        stat: figure.to_owned(),
    };
    let (what, figure) = left.split_once('.').ok_or_else(|| unknown(left))?;
    let what = measure(what).ok_or_else(|| ThresholdError::Measure {
        text: text.to_owned(),
        what: what.to_owned(),
    })?;
    Ok((what, stat(figure).ok_or_else(|| unknown(figure))?))
}

fn stat(name: &str) -> Option<Stat> {
    Some(match name {
        "min" => Stat::Min,
        "mean" => Stat::Mean,
        "max" => Stat::Max,
        "deviation" => Stat::Deviation,
        "rate" => Stat::Rate,
        "values" => Stat::Values,
        "errors" => Stat::Errors,
        "loss" => Stat::Loss,
        name => {
            let (whole, part) = match name.strip_prefix('p')?.split_once('.') {
                Some((_, "")) => return None,
                Some(parts) => parts,
                None => (name.strip_prefix('p')?, ""),
            };
            let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
            if whole.is_empty() || part.len() > 3 || !digits(whole) || !digits(part) {
                return None;
            }
            let thousandths: u32 = format!("{whole}{part:0<3}").parse().ok()?;
            if thousandths >= 100_000 {
                return None;
            }
            Stat::Percentile(thousandths)
        }
    })
}

/// The value in the unit that the figure has. Counts may be compared as a share too.
fn compared(measure: Measure, stat: Stat, text: &str) -> Result<(Stat, Value), UnitError> {
    let share = || text.parse().map(Value::Percent);
    Ok(match (stat.unit(measure), stat) {
        (Unit::Count, Stat::Errors) if text.ends_with('%') => (Stat::ErrorShare, share()?),
        (Unit::Count, Stat::Loss) if text.ends_with('%') => (Stat::LossShare, share()?),
        (Unit::Count, stat) => match text.parse() {
            Ok(count) if !text.starts_with('+') => (stat, Value::Count(count)),
            _ => {
                return Err(UnitError {
                    what: "count or percentage",
                    text: text.to_owned(),
                    want: "0, 10 or 1%",
                });
            }
        },
        (Unit::Nanos, stat) => (stat, Value::Duration(duration::parse(text)?)),
        (Unit::PerSecond, stat) => (stat, Value::Rate(text.parse()?)),
        (Unit::Share, stat) => (stat, share()?),
        (Unit::Bytes, stat) => (stat, Value::Bytes(text.parse()?)),
    })
}

impl Threshold {
    /// Compares with what was measured.
    pub fn check(&self, figures: &(impl Figures + ?Sized)) -> Outcome {
        Outcome {
            threshold: self.clone(),
            figure: figures.figure(self.measure, self.stat),
        }
    }

    /// Whether a figure meets the condition. Not-a-number meets none.
    pub fn is_met_by(&self, figure: f64) -> bool {
        let value = self.value.as_f64();
        match self.op {
            Op::Less => figure < value,
            Op::AtMost => figure <= value,
            Op::More => figure > value,
            Op::AtLeast => figure >= value,
            Op::Equal => figure == value,
        }
    }
}

impl Outcome {
    /// Whether the condition holds. What was not measured does not.
    pub fn is_met(&self) -> bool {
        self.figure
            .is_some_and(|figure| self.threshold.is_met_by(figure))
    }
}

/// `p99<5ms: 3.2 ms`.
impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Threshold { measure, stat, .. } = self.threshold;
        write!(f, "{}: ", self.threshold)?;
        match (self.figure, stat.unit(measure)) {
            (None, _) => f.write_str("not measured"),
            (Some(figure), Unit::Nanos) => f.write_str(&duration::show_nanos(figure)),
            (Some(figure), Unit::PerSecond) => f.write_str(&Rate::show(figure)),
            (Some(figure), Unit::Count) => write!(f, "{figure}"),
            (Some(figure), Unit::Bytes) => f.write_str(&Bytes::show(figure)),
            (Some(figure), Unit::Share) => {
                // Four digits are enough beside a threshold.
                let percent = (figure * 1e6).round() / 1e6;
                write!(f, "{}", Percent::from_fraction(percent))
            }
        }
    }
}

impl fmt::Display for Threshold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.measure != Measure::Response {
            f.write_str(self.measure.name())?;
        }
        if self.measure.usual() != Some(self.stat) {
            let dot = if self.measure == Measure::Response {
                ""
            } else {
                "."
            };
            write!(f, "{dot}{}", self.stat)?;
        }
        write!(f, "{}{}", self.op, self.value)
    }
}

impl fmt::Display for Stat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Percentile(thousandths) => {
                let (whole, part) = (thousandths / 1000, thousandths % 1000);
                return match part {
                    0 => write!(f, "p{whole}"),
                    part => write!(f, "p{whole}.{}", format!("{part:03}").trim_end_matches('0')),
                };
            }
            Self::Min => "min",
            Self::Mean => "mean",
            Self::Max => "max",
            Self::Deviation => "deviation",
            Self::Rate => "rate",
            Self::Values => "values",
            Self::Errors | Self::ErrorShare => "errors",
            Self::Loss | Self::LossShare => "loss",
        })
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Less => "<",
            Self::AtMost => "<=",
            Self::More => ">",
            Self::AtLeast => ">=",
            Self::Equal => "=",
        })
    }
}

/// As typed.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Duration(duration) => f.write_str(&duration::typed(*duration)),
            Self::Rate(rate) => rate.fmt(f),
            Self::Count(count) => count.fmt(f),
            Self::Percent(percent) => percent.fmt(f),
            Self::Bytes(bytes) => f.write_str(&bytes.typed()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_shown_as_typed() {
        for text in [
            "p99<5ms",
            "errors=0",
            "errors<1%",
            "delay.p99<100ms",
            "loss=0",
            "rate>=9900/s",
            "p99.9<=1s",
            "p50>10us",
            "service.max<2s",
            "lateness.p99<50us",
            "cpu<80%",
            "cpu.max<95%",
            "rss<100MiB",
            "values>=1M/s",
            "p99.999<1s",
            "rate>=333.333/s",
        ] {
            assert_eq!(text.parse::<Threshold>().unwrap().to_string(), text);
        }
        assert_eq!("response.p99 < 5ms".parse::<Threshold>(), "p99<5ms".parse());
    }

    struct Result;

    impl Figures for Result {
        fn figure(&self, measure: Measure, stat: Stat) -> Option<f64> {
            match (measure, stat) {
                (Measure::Response, Stat::P99) => Some(3.2e6),
                (_, Stat::Errors) => Some(2.0),
                (_, Stat::ErrorShare) => Some(0.0002),
                (_, Stat::Rate) => Some(9_950.0),
                (Measure::Cpu, Stat::Mean) => Some(0.83),
                _ => None,
            }
        }
    }

    #[test]
    fn a_condition_is_held_against_what_was_measured() {
        for (text, met, shown) in [
            ("p99<5ms", true, "p99<5ms: 3.20 ms"),
            ("p99<3200us", false, "p99<3200us: 3.20 ms"),
            ("p99<=3200us", true, "p99<=3200us: 3.20 ms"),
            ("errors=0", false, "errors=0: 2"),
            ("errors<1%", true, "errors<1%: 0.02%"),
            ("rate>=9900/s", true, "rate>=9900/s: 9950/s"),
            ("rate>10k/s", false, "rate>10k/s: 9950/s"),
            ("cpu<80%", false, "cpu<80%: 83%"),
            ("lag.max<1s", false, "lag.max<1s: not measured"),
        ] {
            let outcome = text.parse::<Threshold>().unwrap().check(&Result);
            assert_eq!(outcome.is_met(), met, "{text}");
            assert_eq!(outcome.to_string(), shown);
        }
    }

    #[test]
    fn a_wrong_condition_is_told_what_is_allowed() {
        for wrong in [
            "",
            "p99",
            "<5ms",
            "p99<5",
            "p99<",
            "p99!5ms",
            "p100<5ms",
            "p<5ms",
            "p99.<5ms",
            "p9x<1s",
            "errors=x",
            "errors=-1",
            "rate>=5",
            "rate>=5ms",
            "cpu<5ms",
            "rss<5",
            "sevrice.p99<5ms",
            "service<5ms",
            "service.p99999<5ms",
            "service.cpu<5%",
            "p99<<5ms",
            "p99==5ms",
        ] {
            let error = wrong.parse::<Threshold>().unwrap_err().to_string();
            assert!(
                error.contains("want") && error.contains(wrong),
                "{wrong}: {error}"
            );
            assert!(!error.contains('\n'));
        }
    }
}
