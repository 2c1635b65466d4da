//! Aggregates that are asked for (Part 13): which one, over which intervals.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::error::PlanError;
use crate::text::{self, nanos};

/// An aggregate of the standard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Aggregate {
    name: &'static str,
    id: u32,
}

/// Names as they are typed, and the ids of their nodes (Part 13, 4.2.2.2). Without their hyphens they are the standard's.
const ALL: &[(&str, u32)] = &[
    ("interpolative", 2341),
    ("average", 2342),
    ("time-average", 2343),
    ("time-average2", 11285),
    ("total", 2344),
    ("total2", 11304),
    ("minimum", 2346),
    ("minimum2", 11286),
    ("maximum", 2347),
    ("maximum2", 11287),
    ("minimum-actual-time", 2348),
    ("minimum-actual-time2", 11305),
    ("maximum-actual-time", 2349),
    ("maximum-actual-time2", 11306),
    ("range", 2350),
    ("range2", 11288),
    ("annotation-count", 2351),
    ("count", 2352),
    ("duration-in-state-zero", 11307),
    ("duration-in-state-non-zero", 11308),
    ("number-of-transitions", 2355),
    ("start", 2357),
    ("end", 2358),
    ("delta", 2359),
    ("start-bound", 11505),
    ("end-bound", 11506),
    ("delta-bounds", 11507),
    ("duration-good", 2360),
    ("duration-bad", 2361),
    ("percent-good", 2362),
    ("percent-bad", 2363),
    ("worst-quality", 2364),
    ("worst-quality2", 11292),
    ("standard-deviation-sample", 11426),
    ("standard-deviation-population", 11427),
    ("variance-sample", 11428),
    ("variance-population", 11429),
];

impl Aggregate {
    /// Its node in namespace 0.
    pub fn id(self) -> u32 {
        self.id
    }
}

impl FromStr for Aggregate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let plain = |name: &str| name.replace('-', "").to_lowercase();
        let wanted = plain(text);
        let found = ALL.iter().find(|(name, _)| plain(name) == wanted);
        match found {
            Some(&(name, id)) => Ok(Self { name, id }),
            None => Err(format!(
                "{text:?} is no aggregate (want one of Part 13, such as average, time-average, minimum, maximum, range, count, \
                 start, end, total, interpolative, standard-deviation-sample)"
            )),
        }
    }
}

impl fmt::Display for Aggregate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// What a server is to make of values before it tells them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Aggregating {
    /// Which aggregate.
    #[serde(with = "text")]
    pub function: Aggregate,
    /// Of intervals so long.
    #[serde(rename = "interval_ns", with = "nanos")]
    pub interval: Duration,
}

impl Aggregating {
    /// The intervals of which it is when nothing is said.
    pub const INTERVAL: Duration = Duration::from_secs(1);

    /// Whether it makes sense.
    pub fn check(&self) -> Result<(), PlanError> {
        match self.interval.is_zero() {
            true => Err(PlanError::new("processing-interval", "0s", "above zero")),
            false => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aggregates_are_read_as_typed_and_as_the_standard_writes_them() {
        for (text, id) in [
            ("average", 2342),
            ("TimeAverage2", 11285),
            ("time-average2", 11285),
            ("StandardDeviationSample", 11426),
        ] {
            let aggregate: Aggregate = text.parse().unwrap();
            assert_eq!(aggregate.id(), id);
            assert_eq!(aggregate.to_string().parse(), Ok(aggregate));
        }
        let error = "mean".parse::<Aggregate>().unwrap_err();
        assert!(
            error.contains("\"mean\"") && error.contains("average"),
            "{error}"
        );
    }

    #[test]
    fn no_two_names_are_the_same() {
        for (n, (name, id)) in ALL.iter().enumerate() {
            let others = ALL.iter().skip(n + 1);
            assert!(others.clone().all(|(other, _)| other != name), "{name}");
            assert!(others.clone().all(|(_, other)| other != id), "{id}");
        }
    }
}
