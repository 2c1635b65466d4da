//! When requests are due: as answers come, or as a plan says.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::text::{nanos, words};
use crate::unit::{Rate, UnitError, duration};

/// When the requests of one session are due.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "loop", rename_all = "snake_case")]
pub enum Arrival {
    /// Closed loop: the next request follows an answer. What the server does decides the load.
    Closed {
        /// Requests unanswered at a time, in each session.
        in_flight: u32,
        /// Pause between an answer and the request that takes its place.
        #[serde(rename = "think_ns", with = "nanos")]
        think: Duration,
    },
    /// Open loop: requests are due at planned times, whatever the server does.
    Open(Pace),
}

/// The planned times of one session in an open loop.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "arrival", rename_all = "snake_case")]
pub enum Pace {
    /// Evenly spaced; sessions are staggered, so that all of them together are evenly spaced as well.
    Constant {
        /// Of each session.
        rate: Rate,
    },
    /// Independent of each other: gaps are exponentially distributed.
    Poisson {
        /// The mean, of each session.
        rate: Rate,
    },
    /// From one rate to another, linearly over the phase.
    Ramp {
        /// At the beginning.
        from: Rate,
        /// At the end.
        to: Rate,
    },
    /// One constant rate after the other.
    Steps {
        /// Never empty.
        steps: Vec<RateStep>,
    },
    /// Several at once, again and again; all sessions together.
    Burst {
        /// How many, in each session.
        requests: u32,
        /// How often.
        #[serde(rename = "period_ns", with = "nanos")]
        period: Duration,
    },
}

/// A rate for a while.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RateStep {
    /// Of each session.
    pub rate: Rate,
    /// How long.
    #[serde(rename = "duration_ns", with = "nanos")]
    pub duration: Duration,
}

/// What becomes of requests that fell due during a stall of the generator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CatchUp {
    /// All of them are sent at once; their response times begin when they were due.
    #[default]
    Burst,
    /// They are left out, and counted as skipped.
    Skip,
}

/// `--arrival` as typed, without the rate that `--rate` gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shape {
    /// `constant`.
    Constant,
    /// `poisson`.
    Poisson,
    /// `ramp:10/s..1k/s`, `steps:100/s@10s,200/s@10s`, `burst:50/100ms`: it brings its own rates.
    Own(Pace),
}

/// Why arrivals make no sense.
#[derive(Debug, Clone, Error, PartialEq, Eq)]
pub enum ArrivalError {
    /// Not an arrival.
    #[error(
        "{0:?} is no arrival (want constant, poisson, ramp:10/s..1k/s, steps:100/s@10s,200/s@10s or \
         burst:50/100ms)"
    )]
    Text(String),
    /// A rate or a duration in it is none.
    #[error("{text:?}: {error}")]
    Unit {
        /// The whole.
        text: String,
        /// What is wrong within.
        error: UnitError,
    },
    /// A burst of nothing, or without a period.
    #[error("{0:?}: bad burst (want 1 or more requests, a slash and a period: burst:50/100ms)")]
    Burst(String),
    /// A step that takes no time.
    #[error("{0:?}: bad step (want a rate and a duration above zero: 100/s@10s)")]
    Step(String),
    /// A rate is missing.
    #[error("arrival {0} needs a rate")]
    NoRate(Shape),
    /// A rate too many.
    #[error("arrival {0} brings its own rates and takes no other")]
    Rate(Shape),
}

impl Shape {
    /// The arrivals with the rate of each session, if they need one.
    pub fn at(self, rate: Option<Rate>) -> Result<Pace, ArrivalError> {
        match (self, rate) {
            (Self::Constant, Some(rate)) => Ok(Pace::Constant { rate }),
            (Self::Poisson, Some(rate)) => Ok(Pace::Poisson { rate }),
            (Self::Own(pace), None) => Ok(pace),
            (shape @ Self::Own(_), Some(_)) => Err(ArrivalError::Rate(shape)),
            (shape, None) => Err(ArrivalError::NoRate(shape)),
        }
    }
}

impl FromStr for Shape {
    type Err = ArrivalError;

    fn from_str(text: &str) -> Result<Self, ArrivalError> {
        let unit = |error| ArrivalError::Unit {
            text: text.to_owned(),
            error,
        };
        let wrong = || ArrivalError::Text(text.to_owned());
        let (kind, rest) = match text.split_once(':') {
            Some((kind, rest)) => (kind, Some(rest)),
            None => (text, None),
        };
        Ok(match (kind, rest) {
            ("constant", None) => Self::Constant,
            ("poisson", None) => Self::Poisson,
            ("ramp", Some(rest)) => {
                let (from, to) = rest.split_once("..").ok_or_else(wrong)?;
                Self::Own(Pace::Ramp {
                    from: from.parse().map_err(unit)?,
                    to: to.parse().map_err(unit)?,
                })
            }
            ("steps", Some(rest)) => {
                let step = |step: &str| {
                    let bad = || ArrivalError::Step(step.to_owned());
                    let (rate, lasting) = step.split_once('@').ok_or_else(bad)?;
                    let duration = duration::parse(lasting).map_err(unit)?;
                    if duration.is_zero() {
                        return Err(bad());
                    }
                    let rate = rate.parse().map_err(unit)?;
                    Ok(RateStep { rate, duration })
                };
                let steps = rest.split(',').map(step).collect::<Result<_, _>>()?;
                Self::Own(Pace::Steps { steps })
            }
            ("burst", Some(rest)) => {
                let bad = || ArrivalError::Burst(text.to_owned());
                let (requests, period) = rest.split_once('/').ok_or_else(bad)?;
                let requests = requests.parse().map_err(|_| bad())?;
                // As in a rate, the one may be left out: 50/s.
                let period = match period.starts_with(|c: char| c.is_ascii_digit()) {
                    true => duration::parse(period),
                    false => duration::parse(&format!("1{period}")),
                };
                let period = period.map_err(unit)?;
                if requests == 0 || period.is_zero() {
                    return Err(bad());
                }
                Self::Own(Pace::Burst { requests, period })
            }
            _ => return Err(wrong()),
        })
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Constant => f.write_str("constant"),
            Self::Poisson => f.write_str("poisson"),
            Self::Own(Pace::Ramp { from, to }) => write!(f, "ramp:{from}..{to}"),
            Self::Own(Pace::Steps { steps }) => {
                f.write_str("steps:")?;
                for (i, step) in steps.iter().enumerate() {
                    let comma = if i == 0 { "" } else { "," };
                    write!(f, "{comma}{}@{}", step.rate, duration::typed(step.duration))?;
                }
                Ok(())
            }
            Self::Own(Pace::Burst { requests, period }) => {
                write!(f, "burst:{requests}/{}", duration::typed(*period))
            }
            Self::Own(Pace::Constant { rate } | Pace::Poisson { rate }) => rate.fmt(f),
        }
    }
}

impl Pace {
    /// Its name, as typed.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Constant { .. } => "constant",
            Self::Poisson { .. } => "poisson",
            Self::Ramp { .. } => "ramp",
            Self::Steps { .. } => "steps",
            Self::Burst { .. } => "burst",
        }
    }

    /// How long it goes on by itself; none: as long as the phase.
    pub fn length(&self) -> Option<Duration> {
        match self {
            Self::Steps { steps } => {
                let total = steps.iter().fold(Duration::ZERO, |sum, step| {
                    sum.saturating_add(step.duration)
                });
                Some(total)
            }
            _ => None,
        }
    }

    /// The mean rate of one session over a phase of this length, per second.
    pub fn mean_rate(&self) -> f64 {
        match self {
            Self::Constant { rate } | Self::Poisson { rate } => rate.as_f64(),
            Self::Ramp { from, to } => f64::midpoint(from.as_f64(), to.as_f64()),
            Self::Steps { steps } => {
                let (requests, seconds) =
                    steps.iter().fold((0.0, 0.0), |(requests, seconds), step| {
                        let lasting = step.duration.as_secs_f64();
                        (requests + step.rate.as_f64() * lasting, seconds + lasting)
                    });
                requests / seconds
            }
            Self::Burst { requests, period } => f64::from(*requests) / period.as_secs_f64(),
        }
    }
}

impl Arrival {
    /// One request in flight and no pause: what a quick command does when nothing is said.
    pub const fn one_in_flight() -> Self {
        Self::Closed {
            in_flight: 1,
            think: Duration::ZERO,
        }
    }

    /// Whether requests are due at planned times.
    pub const fn is_open(&self) -> bool {
        matches!(self, Self::Open(_))
    }
}

/// For people: `constant 100/s`, `64 in flight, think 10 ms`.
impl fmt::Display for Arrival {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed { in_flight, think } => {
                write!(f, "{in_flight} in flight")?;
                match think.is_zero() {
                    true => Ok(()),
                    false => write!(f, ", think {}", duration::show(*think)),
                }
            }
            Self::Open(pace @ (Pace::Constant { rate } | Pace::Poisson { rate })) => {
                write!(f, "{} {}", pace.name(), Rate::show(rate.as_f64()))
            }
            Self::Open(pace) => Shape::Own(pace.clone()).fmt(f),
        }
    }
}

words! {
    CatchUp "is no way to catch up" "skip or burst" { Burst "burst" Skip "skip" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrivals_are_typed_as_they_are_shown() {
        for text in [
            "constant",
            "poisson",
            "ramp:10/s..1k/s",
            "steps:100/s@10s,200/s@1m",
            "burst:50/100ms",
        ] {
            assert_eq!(text.parse::<Shape>().unwrap().to_string(), text);
        }
        assert_eq!("burst:50/s".parse::<Shape>(), "burst:50/1s".parse());
    }

    #[test]
    fn a_rate_is_needed_or_brought_along_but_not_both() {
        let rate = "100/s".parse().ok();
        let at = |text: &str, rate| text.parse::<Shape>().unwrap().at(rate);
        assert!(matches!(at("poisson", rate), Ok(Pace::Poisson { .. })));
        assert!(matches!(at("burst:5/s", None), Ok(Pace::Burst { .. })));
        let error = at("constant", None).unwrap_err().to_string();
        assert_eq!(error, "arrival constant needs a rate");
        let error = at("ramp:1/s..2/s", rate).unwrap_err().to_string();
        assert!(error.contains("brings its own rates"), "{error}");
    }

    #[test]
    fn wrong_arrivals_are_told_what_is_allowed() {
        for wrong in [
            "",
            "linear",
            "constant:5",
            "ramp",
            "ramp:5",
            "ramp:1..2",
            "ramp:1/s..x",
            "steps:",
            "steps:1/s",
            "steps:1/s@0s",
            "steps:1/s@5",
            "steps:x@5s",
            "burst:5",
            "burst:0/s",
            "burst:5/0s",
            "burst:x/s",
            "burst:5/x",
        ] {
            let error = wrong.parse::<Shape>().unwrap_err().to_string();
            assert!(error.contains("want"), "{wrong}: {error}");
        }
    }

    #[test]
    fn the_mean_rate_weighs_steps_by_their_length() {
        let pace = "steps:100/s@10s,400/s@20s"
            .parse::<Shape>()
            .unwrap()
            .at(None)
            .unwrap();
        assert_eq!(pace.mean_rate(), 300.0);
        assert_eq!(pace.length(), Some(Duration::from_secs(30)));
        let pace = "burst:50/100ms".parse::<Shape>().unwrap().at(None).unwrap();
        assert_eq!(pace.mean_rate(), 500.0);
    }

    #[test]
    fn arrivals_go_into_files_and_come_back() {
        let arrival = Arrival::Open(Pace::Ramp {
            from: "1/s".parse().unwrap(),
            to: "2/s".parse().unwrap(),
        });
        let text = serde_json::to_string(&arrival).unwrap();
        assert!(
            text.starts_with(r#"{"loop":"open","arrival":"ramp","from":{"#),
            "{text}"
        );
        assert_eq!(serde_json::from_str::<Arrival>(&text).unwrap(), arrival);
        let text = serde_json::to_string(&Arrival::one_in_flight()).unwrap();
        assert_eq!(text, r#"{"loop":"closed","in_flight":1,"think_ns":0}"#);
    }
}
