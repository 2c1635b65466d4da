//! Conditions that are looked at again and again, of all that happened or of what happened lately.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use super::{Op, Stat, Threshold, ThresholdError, Value};
use crate::unit::{UnitError, duration};

/// A condition that ends a phase: `errors>1%` of all so far, `p99[10s]>1s` of the last ten seconds.
#[derive(Debug, Clone, PartialEq)]
pub struct Within {
    /// The condition.
    pub threshold: Threshold,
    /// Of the last so long; none: of all so far.
    pub window: Option<Duration>,
}

impl Within {
    /// The shortest and the longest window.
    pub const WINDOWS: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(600)];

    /// More than so many errors.
    pub fn more_errors_than(count: u64) -> Self {
        let threshold = Threshold {
            measure: super::Measure::Response,
            stat: Stat::Errors,
            op: Op::More,
            value: Value::Count(count),
        };
        Self {
            threshold,
            window: None,
        }
    }
}

impl FromStr for Within {
    type Err = ThresholdError;

    fn from_str(text: &str) -> Result<Self, ThresholdError> {
        let split = || {
            let (figure, rest) = text.split_once('[')?;
            let (window, compared) = rest.split_once(']')?;
            Some((window.trim(), format!("{figure}{compared}")))
        };
        let Some((window, rest)) = split() else {
            let threshold = text.parse()?;
            return Ok(Self {
                threshold,
                window: None,
            });
        };
        let threshold = rest.parse()?;
        let [shortest, longest] = Self::WINDOWS;
        let length =
            duration::parse(window).and_then(|it| match (shortest..=longest).contains(&it) {
                true => Ok(it),
                false => Err(UnitError {
                    what: "window",
                    text: window.to_owned(),
                    want: "1s to 10m",
                }),
            });
        let length = length.map_err(|error| ThresholdError::Value {
            text: text.to_owned(),
            error,
        })?;
        Ok(Self {
            threshold,
            window: Some(length),
        })
    }
}

impl fmt::Display for Within {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let window = self.window.map(|it| format!("[{}]", duration::typed(it)));
        self.threshold.write(f, &window.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_stands_behind_the_figure_and_is_shown_as_typed() {
        for text in [
            "p99[10s]>1s",
            "errors[1s]>1%",
            "delay.p90[10m]>100ms",
            "errors>1%",
        ] {
            assert_eq!(text.parse::<Within>().unwrap().to_string(), text);
        }
        let spaced: Within = "p99 [ 10s ] > 1s".parse().unwrap();
        assert_eq!(spaced.window, Some(Duration::from_secs(10)));
        assert_eq!(Within::more_errors_than(7), "errors>7".parse().unwrap());
    }

    #[test]
    fn a_wrong_window_is_told_what_is_allowed() {
        for wrong in [
            "p99[]>1s",
            "p99[10]>1s",
            "p99[10ms]>1s",
            "p99[1h]>1s",
            "p99[10s>1s",
            "p99]10s[>1s",
            "p99>1s[10s]x",
            "[10s]p99>",
        ] {
            let error = wrong.parse::<Within>().unwrap_err().to_string();
            assert!(error.contains("want"), "{wrong}: {error}");
        }
        // A condition on a result is of all of it.
        assert!("p99[10s]<1s".parse::<Threshold>().is_err());
    }
}
