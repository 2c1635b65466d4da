//! The terms of subscriptions, and how people write them.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::text::words;
use crate::unit::{Rate, duration};

/// How often items sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sampling {
    /// As often as the subscription publishes: -1 on the wire.
    #[default]
    Publishing,
    /// As fast as the server can, or on each change: 0 on the wire.
    Fastest,
    /// This often.
    Every(Duration),
}

/// Changes that are too small to be told (Part 4, 7.22.2).
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Deadband {
    /// Of the value itself.
    Absolute(f64),
    /// Of its EURange.
    Percent(f64),
}

/// What counts as a change (Part 4, 7.22.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Trigger {
    /// Another status.
    Status,
    /// Another status or value.
    #[default]
    Value,
    /// Another status, value or source timestamp.
    Timestamp,
}

/// Whether items sample and report (Part 4, 7.24).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// They do both.
    #[default]
    Reporting,
    /// They sample and queue, and tell nothing.
    Sampling,
    /// They do neither.
    Disabled,
}

/// When subscriptions are created within a publishing interval. Delivery delay is mostly phase: an
/// offset that is the same each time biases every repetition alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Offsets {
    /// At any moment of it, from the seed.
    #[default]
    Random,
    /// All at once.
    Aligned,
    /// One after the other, evenly.
    Staggered,
}

/// How a session comes back whose connection broke. What fails is followed by the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reconnect {
    /// It does not.
    #[default]
    Never,
    /// The same session is activated over a new channel (Part 4, 5.7.3).
    Resume,
    /// A new session takes the subscriptions over (Part 4, 5.14.7).
    Transfer,
    /// A new session makes new subscriptions.
    Recreate,
}

/// What is done to items and subscriptions while they report, and how often in each session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Churn {
    /// What.
    pub what: Churned,
    /// Requests of each session.
    pub rate: Rate,
}

/// A request that changes what is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Churned {
    /// ModifyMonitoredItems: a subscription's items sample half as often, then as before.
    Modify,
    /// SetMonitoringMode: a subscription's items only sample, then report again.
    Mode,
    /// ModifySubscription: it publishes half as often, then as before.
    Publishing,
    /// ConditionRefresh: a subscription is told the states of all conditions (Part 9, 5.5.7).
    Refresh,
    /// TransferSubscriptions: the next session of the same thread takes it over (Part 4, 5.14.7).
    Transfer,
    /// The same, and has the last values told once more.
    TransferInitial,
}

impl Churned {
    /// Whether subscriptions go from session to session.
    pub fn is_transfer(self) -> bool {
        matches!(self, Self::Transfer | Self::TransferInitial)
    }
}

impl Sampling {
    /// In milliseconds, as it stands in a request.
    pub fn on_the_wire(self) -> f64 {
        match self {
            Self::Publishing => -1.0,
            Self::Fastest => 0.0,
            Self::Every(interval) => interval.as_secs_f64() * 1e3,
        }
    }

    /// How often that is, with this publishing interval; none: as the server pleases.
    pub fn interval(self, publishing: Duration) -> Option<Duration> {
        match self {
            Self::Publishing => Some(publishing),
            Self::Fastest => None,
            Self::Every(interval) => Some(interval),
        }
    }
}

impl FromStr for Sampling {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Ok(match text {
            "publishing" => Self::Publishing,
            "fastest" => Self::Fastest,
            text => match duration::parse(text) {
                Ok(Duration::ZERO) => Self::Fastest,
                Ok(interval) => Self::Every(interval),
                Err(_) => {
                    return Err(format!(
                        "{text:?} is no sampling interval (want publishing, fastest, or a duration: 250us, 100ms, 1s)"
                    ));
                }
            },
        })
    }
}

impl fmt::Display for Sampling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Publishing => f.write_str("publishing"),
            Self::Fastest => f.write_str("fastest"),
            Self::Every(interval) => write!(f, "{}", duration::typed(*interval)),
        }
    }
}

impl FromStr for Deadband {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (number, percent) = match text.strip_suffix('%') {
            Some(number) => (number, true),
            None => (text, false),
        };
        match (number.trim().parse::<f64>(), percent) {
            (Ok(value), false) if value.is_finite() && value >= 0.0 => Ok(Self::Absolute(value)),
            (Ok(value), true) if (0.0..=100.0).contains(&value) => Ok(Self::Percent(value)),
            _ => Err(format!(
                "{text:?} is no deadband (want 0.5 for changes of the value, or 2% of its EURange)"
            )),
        }
    }
}

impl fmt::Display for Deadband {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Absolute(value) => write!(f, "{value}"),
            Self::Percent(value) => write!(f, "{value}%"),
        }
    }
}

impl FromStr for Churn {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let read = || {
            let (what, rate) = text.split_once(':')?;
            Some(Self {
                what: what.parse().ok()?,
                rate: rate.parse().ok()?,
            })
        };
        read().ok_or_else(|| {
            format!(
                "{text:?} is no change (want modify, mode, publishing, refresh, transfer or transfer-initial with its rate: \
                 modify:10/s)"
            )
        })
    }
}

impl fmt::Display for Churn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.what, self.rate)
    }
}

words! {
    Trigger "is no trigger" "status, value or timestamp" {
        Status "status" Value "value" Timestamp "timestamp"
    }
    Mode "is no monitoring mode" "reporting, sampling or disabled" {
        Reporting "reporting" Sampling "sampling" Disabled "disabled"
    }
    Offsets "is no way to place subscriptions in time" "random, aligned or staggered" {
        Random "random" Aligned "aligned" Staggered "staggered"
    }
    Reconnect "is no way to come back" "resume, transfer, recreate or never" {
        Never "never" Resume "resume" Transfer "transfer" Recreate "recreate"
    }
    Churned "is no change" "modify, mode, publishing, refresh, transfer or transfer-initial" {
        Modify "modify" Mode "mode" Publishing "publishing" Refresh "refresh"
        Transfer "transfer" TransferInitial "transfer-initial"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_as_they_are_shown() {
        fn same<T: FromStr<Err = String> + fmt::Display>(texts: &[&str]) {
            for text in texts {
                assert_eq!(text.parse::<T>().ok().unwrap().to_string(), *text);
            }
            let error = "nothing of the kind".parse::<T>().err().unwrap();
            assert!(error.contains("(want "), "{error}");
        }
        same::<Sampling>(&["publishing", "fastest", "100ms"]);
        same::<Deadband>(&["0.5", "2%"]);
        same::<Churn>(&["modify:10/s", "mode:1/s", "publishing:1/m"]);
        same::<Churn>(&["transfer:2/s", "transfer-initial:2/s"]);
        same::<Trigger>(&["status", "value", "timestamp"]);
        same::<Mode>(&["reporting", "sampling", "disabled"]);
        same::<Offsets>(&["random", "aligned", "staggered"]);
        same::<Reconnect>(&["resume", "transfer", "recreate", "never"]);
        assert!("-1".parse::<Deadband>().is_err() && "101%".parse::<Deadband>().is_err());
    }
}
