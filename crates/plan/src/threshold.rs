//! Conditions on results: `[what.]stat op value`, one grammar everywhere.

mod text;
mod within;

use std::time::Duration;

use crate::unit::{Bytes, Percent, Rate};

pub use text::{ThresholdError, figure};
pub use within::Within;

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
    /// Joules.
    Joules,
    /// Bits in a second.
    BitsPerSecond,
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
    /// Requests that ran into their timeout.
    Timeouts,
    /// The share of these.
    TimeoutShare,
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
            Self::Errors | Self::Timeouts | Self::Loss => Unit::Count,
            Self::ErrorShare | Self::TimeoutShare | Self::LossShare => Unit::Share,
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
