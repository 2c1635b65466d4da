//! Times of day: RFC 3339 in UTC, with nanoseconds.

use std::fmt;
use std::str::FromStr;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// A time of day, to the nanosecond, in UTC: `2026-03-01T09:30:00.000000000Z`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Timestamp(OffsetDateTime);

/// What was read is not a time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("bad time: {0} (want RFC 3339, as 2026-03-01T09:30:00.000000000Z)")]
pub struct BadTimestamp(String);

impl Timestamp {
    /// From nanoseconds since 1970; none beyond the year 9999.
    pub fn from_unix_ns(nanoseconds: i128) -> Option<Self> {
        OffsetDateTime::from_unix_timestamp_nanos(nanoseconds)
            .ok()
            .map(Self)
    }

    /// Nanoseconds since 1970.
    pub fn unix_ns(self) -> i128 {
        self.0.unix_timestamp_nanos()
    }

    /// As in the name of a file: `20260301T093000Z`.
    pub fn compact(self) -> String {
        let t = self.0;
        format!(
            "{:04}{:02}{:02}T{:02}{:02}{:02}Z",
            t.year(),
            u8::from(t.month()),
            t.day(),
            t.hour(),
            t.minute(),
            t.second()
        )
    }
}

impl From<SystemTime> for Timestamp {
    fn from(time: SystemTime) -> Self {
        let since = match time.duration_since(UNIX_EPOCH) {
            Ok(after) => after.as_nanos() as i128,
            Err(before) => -(before.duration().as_nanos() as i128),
        };
        // A clock beyond the year 9999 is broken; 1970 says so.
        Self::from_unix_ns(since).unwrap_or(Self(OffsetDateTime::UNIX_EPOCH))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let t = self.0;
        write!(
            f,
            "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:09}Z",
            t.year(),
            u8::from(t.month()),
            t.day(),
            t.hour(),
            t.minute(),
            t.second(),
            t.nanosecond()
        )
    }
}

impl FromStr for Timestamp {
    type Err = BadTimestamp;

    fn from_str(text: &str) -> Result<Self, BadTimestamp> {
        OffsetDateTime::parse(text, &Rfc3339)
            .map(|time| Self(time.to_offset(time::UtcOffset::UTC)))
            .map_err(|_| BadTimestamp(text.to_owned()))
    }
}

impl TryFrom<String> for Timestamp {
    type Error = BadTimestamp;

    fn try_from(text: String) -> Result<Self, BadTimestamp> {
        text.parse()
    }
}

impl From<Timestamp> for String {
    fn from(time: Timestamp) -> Self {
        time.to_string()
    }
}

/// Nanoseconds from one time to a later one, both in ticks of 100 ns; 0 if it is not later.
#[inline]
pub(crate) fn nanos_between(earlier: i64, later: i64) -> u64 {
    u64::try_from(later.saturating_sub(earlier)).map_or(0, |ticks| ticks.saturating_mul(100))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_keeps_its_nanoseconds_and_is_told_in_utc() {
        let time: Timestamp = "2026-03-01T10:30:00.000000007+01:00".parse().unwrap();
        assert_eq!(time.to_string(), "2026-03-01T09:30:00.000000007Z");
        assert_eq!(time.compact(), "20260301T093000Z");
        assert_eq!(Timestamp::from_unix_ns(time.unix_ns()), Some(time));
        // date -u -d 2026-03-01T09:30:00Z +%s
        assert_eq!(time.unix_ns(), 1_772_357_400_000_000_007);
    }

    #[test]
    fn what_is_no_time_is_shown_as_it_came() {
        let error = "yesterday".parse::<Timestamp>().unwrap_err();
        assert!(error.to_string().contains("yesterday"));
    }
}
