//! Conditions as people write them, and what came of them as it is shown.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use super::{Measure, Op, Outcome, Stat, Threshold, Unit, Value};
use crate::unit::{BitRate, Bytes, Percent, Rate, UnitError, duration, energy};

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
         stddev, rate, values, errors, timeouts, loss, cpu or rss)"
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
        // "deviation" is what it was called first.
        "stddev" | "deviation" => Stat::Deviation,
        "rate" => Stat::Rate,
        "values" => Stat::Values,
        "errors" => Stat::Errors,
        "timeouts" => Stat::Timeouts,
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
        (Unit::Count, Stat::Timeouts) if text.ends_with('%') => (Stat::TimeoutShare, share()?),
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
        // No measure of a threshold is one of these.
        (Unit::Joules | Unit::BitsPerSecond, _) => {
            return Err(UnitError {
                what: "threshold",
                text: text.to_owned(),
                want: "a time, a rate, a size or a share",
            });
        }
    })
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
            (Some(figure), Unit::BitsPerSecond) => f.write_str(&BitRate::show(figure)),
            (Some(figure), Unit::Joules) => f.write_str(&energy::show(figure)),
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
        self.write(f, "")
    }
}

impl Threshold {
    /// Writes it, with something between the figure and the comparison.
    pub(super) fn write(&self, f: &mut fmt::Formatter<'_>, between: &str) -> fmt::Result {
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
        write!(f, "{between}{}{}", self.op, self.value)
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
            Self::Deviation => "stddev",
            Self::Rate => "rate",
            Self::Values => "values",
            Self::Errors | Self::ErrorShare => "errors",
            Self::Timeouts | Self::TimeoutShare => "timeouts",
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
            "timeouts=0",
            "timeouts<0.1%",
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
