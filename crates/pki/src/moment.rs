//! A point in time as certificates know it: whole seconds.

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use time::{Date, Month, OffsetDateTime, PrimitiveDateTime, Time};

/// Seconds since 1970 in UTC; what validity periods are written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment(i64);

const DAY: i64 = 86_400;

impl Moment {
    /// From seconds since 1970, before it when negative.
    pub const fn from_unix(seconds: i64) -> Self {
        Self(seconds)
    }

    /// Seconds since 1970.
    pub fn unix(self) -> i64 {
        self.0
    }

    /// This many days later, or earlier when negative.
    pub fn plus_days(self, days: i64) -> Self {
        Self(self.0.saturating_add(days.saturating_mul(DAY)))
    }

    /// This much later.
    pub fn plus(self, duration: Duration) -> Self {
        let seconds = i64::try_from(duration.as_secs()).unwrap_or(i64::MAX);
        Self(self.0.saturating_add(seconds))
    }

    /// Whole days from `earlier` to here, rounded down.
    pub fn days_since(self, earlier: Self) -> i64 {
        self.0.saturating_sub(earlier.0).div_euclid(DAY)
    }

    /// From the digits of year, month, day, hour, minute and second, as ASN.1 has them: `20260301120000`.
    pub fn from_digits(digits: &str) -> Option<Self> {
        let plain = digits.len() == 14 && digits.bytes().all(|it| it.is_ascii_digit());
        plain.then_some(())?;
        let number = |from: usize, to: usize| digits.get(from..to)?.parse::<u16>().ok();
        let small = |from: usize| u8::try_from(number(from, from + 2)?).ok();
        let month = Month::try_from(small(4)?).ok()?;
        let date = Date::from_calendar_date(number(0, 4)?.into(), month, small(6)?).ok()?;
        let time = Time::from_hms(small(8)?, small(10)?, small(12)?).ok()?;
        let at = PrimitiveDateTime::new(date, time).assume_utc();
        Some(Self(at.unix_timestamp()))
    }

    pub(crate) fn to_date_time(self) -> Option<OffsetDateTime> {
        OffsetDateTime::from_unix_timestamp(self.0).ok()
    }
}

impl From<SystemTime> for Moment {
    fn from(time: SystemTime) -> Self {
        let origin = Self(0);
        match time.duration_since(UNIX_EPOCH) {
            Ok(after) => origin.plus(after),
            Err(before) => {
                let seconds = before.duration().as_secs();
                Self(i64::try_from(seconds).map_or(i64::MIN, |seconds| -seconds))
            }
        }
    }
}

impl fmt::Display for Moment {
    /// As RFC 3339, such as `2026-03-01T12:00:00Z`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(time) = self.to_date_time() else {
            return write!(f, "{} s since 1970", self.0);
        };
        write!(
            f,
            "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z",
            time.year(),
            u8::from(time.month()),
            time.day(),
            time.hour(),
            time.minute(),
            time.second()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_written_as_rfc_3339() {
        assert_eq!(
            Moment::from_unix(1_709_210_096).to_string(),
            "2024-02-29T12:34:56Z"
        );
        assert_eq!(
            Moment::from_unix(i64::MAX).to_string(),
            "9223372036854775807 s since 1970"
        );
    }

    #[test]
    fn days_are_rounded_towards_the_past() {
        let now = Moment::from_unix(1_000_000);
        assert_eq!(now.plus_days(3).days_since(now), 3);
        assert_eq!(Moment::from_unix(999_999).days_since(now), -1);
        assert_eq!(Moment::from_unix(i64::MAX).plus_days(1).unix(), i64::MAX);
    }

    #[test]
    fn times_before_1970_are_negative() {
        let before = UNIX_EPOCH - Duration::from_secs(10);
        assert_eq!(Moment::from(before).unix(), -10);
    }
}
