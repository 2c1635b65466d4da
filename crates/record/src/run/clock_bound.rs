//! Delays from one host to another: what two clocks allow to say of them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Figure;
use crate::Histogram;

/// What can be said of delays, which need the clocks of two sides.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ClockBound {
    /// Delays are wrong by at most this; 0 when both sides read the same clock.
    pub error_ns: Figure<u64>,
    /// Values whose timestamp was ahead of the client's clock: their delay counts as 0.
    pub ahead: u64,
    /// Whose clocks these are, where that is known: who sends, who receives.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub between: Vec<String>,
    /// Percentiles of delays that one clock began and the other one ended, with what the clocks leave open.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub one_way: Vec<OneWay>,
}

/// A percentile of a delay from one host to another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OneWay {
    /// The histogram.
    pub of: String,
    /// Which: 0.99; 1 is the largest.
    pub quantile: f64,
    /// It; or that the clocks do not tell it.
    pub ns: Figure<u64>,
    /// It is no less.
    pub low_ns: u64,
    /// It is no more.
    pub high_ns: u64,
}

/// How far a delay from one host to another can be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    /// One clock took it, or nobody knows more.
    Whole,
    /// It may be so much more or less.
    Within(u64),
    /// It may be more than itself wrong, by so much: nothing is known of it.
    Nothing(u64),
}

/// Times that one side's clock began and the other side's ended.
const ONE_WAY: [&str; 4] = ["delay", "server-delay", "publish-delay", "transport"];

/// Percentiles that are told in a file.
const QUANTILES: [f64; 5] = [0.5, 0.9, 0.99, 0.999, 1.0];

impl ClockBound {
    /// How far a figure of this histogram can be trusted.
    pub fn trust(&self, of: &str, figure_ns: f64) -> Trust {
        match self.error_ns {
            Figure::Known(error) if error > 0 && ONE_WAY.contains(&of) => {
                match error as f64 > figure_ns {
                    true => Trust::Nothing(error),
                    false => Trust::Within(error),
                }
            }
            _ => Trust::Whole,
        }
    }

    /// Why a delay is not known, for people; `show` writes a time.
    pub fn refusal(&self, error_ns: u64, show: impl Fn(u64) -> String) -> String {
        let whose = match self.between.as_slice() {
            [sends, receives] => format!("the clocks of {sends} and {receives}"),
            _ => "the clocks of both sides".to_owned(),
        };
        format!(
            "not known: {whose} agree to ±{}, more than the delay",
            show(error_ns)
        )
    }

    /// Writes down what the clocks leave open of each percentile.
    pub fn tell(&mut self, times: &BTreeMap<String, Histogram>, show: impl Fn(u64) -> String) {
        self.one_way.clear();
        for of in ONE_WAY {
            for quantile in QUANTILES {
                let Some(ns) = times.get(of).and_then(|it| it.quantile(quantile)) else {
                    continue;
                };
                let (figure, error) = match self.trust(of, ns as f64) {
                    Trust::Whole => continue,
                    Trust::Within(error) => (Figure::Known(ns), error),
                    Trust::Nothing(error) => (Figure::missing(self.refusal(error, &show)), error),
                };
                self.one_way.push(OneWay {
                    of: of.to_owned(),
                    quantile,
                    ns: figure,
                    low_ns: ns.saturating_sub(error),
                    high_ns: ns.saturating_add(error),
                });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn a_percentile_has_the_bound_of_the_clocks_and_is_refused_when_that_is_more() {
        let mut times = BTreeMap::new();
        let mut delay = Histogram::of(1_000, 90);
        delay.merge(&Histogram::of(100_000, 10));
        times.insert("delay".into(), delay.clone());
        // One clock took these.
        times.insert("arrival".into(), delay);
        let mut clock = ClockBound {
            error_ns: Figure::Known(50_000),
            between: vec!["a".into(), "b".into()],
            ..ClockBound::default()
        };
        clock.tell(&times, |ns| format!("{} µs", ns / 1000));
        assert_eq!(clock.one_way.len(), 5);
        let half = &clock.one_way[0];
        let why = "not known: the clocks of a and b agree to ±50 µs, more than the delay";
        assert_eq!((half.quantile, &half.ns), (0.5, &Figure::missing(why)));
        let p99 = &clock.one_way[2];
        let ns = *p99.ns.known().unwrap_or(&0);
        assert!(ns.abs_diff(100_000) < 1_000, "{p99:?}");
        assert_eq!((p99.low_ns, p99.high_ns), (ns - 50_000, ns + 50_000));
        // The same clock leaves nothing open.
        clock.error_ns = Figure::Known(0);
        clock.tell(&times, |_| String::new());
        assert_eq!(clock.one_way, []);
    }
}
