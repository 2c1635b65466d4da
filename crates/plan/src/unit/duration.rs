//! Durations as typed: a number and a unit.

use std::time::Duration;

use super::decimal::Decimal;
use super::{UnitError, three_digits};

/// `250us`, `100ms`, `1.5s`, `90s`, `5m`, `2h`; the unit is not optional. At most 584 years, so that
/// its nanoseconds fit in 64 bits.
pub fn parse(text: &str) -> Result<Duration, UnitError> {
    let nanos = Decimal::split(text).and_then(|(number, unit)| number.rounded(unit_nanos(unit)?));
    nanos.map(Duration::from_nanos).ok_or_else(|| UnitError {
        what: "duration",
        text: text.to_owned(),
        want: "a number and a unit: 250us, 100ms, 90s, 5m",
    })
}

/// Nanoseconds of a unit of time.
pub(super) fn unit_nanos(unit: &str) -> Option<u64> {
    Some(match unit {
        "ns" => 1,
        // The micro sign and the Greek letter look alike.
        "us" | "µs" | "μs" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" | "min" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        _ => return None,
    })
}

/// Whole nanoseconds, as files and schedules have them; what was typed always fits.
pub fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// A duration for people: three digits and the unit that fits.
pub fn show(duration: Duration) -> String {
    show_nanos(duration.as_nanos() as f64)
}

/// Whole nanoseconds for people, as files have them.
pub fn show_ns(nanos: u64) -> String {
    show_nanos(nanos as f64)
}

/// Nanoseconds for people, fractions and negative ones too.
pub fn show_nanos(nanos: f64) -> String {
    let (value, unit) = match nanos.abs() {
        n if n < 1e3 => (nanos, "ns"),
        n if n < 1e6 => (nanos / 1e3, "µs"),
        n if n < 1e9 => (nanos / 1e6, "ms"),
        n if n < 120e9 => (nanos / 1e9, "s"),
        n if n < 7200e9 => (nanos / 60e9, "min"),
        _ => (nanos / 3600e9, "h"),
    };
    format!("{} {unit}", three_digits(value))
}

/// How long something has been going on, in nanoseconds: whole seconds, and `2:00` or `1:02:03` from two minutes on.
pub fn clock(nanos: u64) -> String {
    let seconds = nanos.saturating_add(500_000_000) / 1_000_000_000;
    match seconds {
        s if s < 120 => format!("{s} s"),
        s if s < 3600 => format!("{}:{:02}", s / 60, s % 60),
        s => format!("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60),
    }
}

/// A duration as it can be typed again, exactly: the largest unit that leaves a whole number.
pub fn typed(duration: Duration) -> String {
    let nanos = duration.as_nanos();
    for (unit, name) in [
        (3_600_000_000_000, "h"),
        (60_000_000_000, "m"),
        (1_000_000_000, "s"),
        (1_000_000, "ms"),
        (1_000, "us"),
    ] {
        if nanos >= unit && nanos.is_multiple_of(unit) {
            return format!("{}{name}", nanos / unit);
        }
    }
    format!("{nanos}ns")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_duration_has_a_number_and_a_unit() {
        assert_eq!(parse("250us"), Ok(Duration::from_micros(250)));
        assert_eq!(parse("1.5s"), Ok(Duration::from_millis(1500)));
        assert_eq!(parse("0.1s"), Ok(Duration::from_millis(100)));
        assert_eq!(parse("5m"), Ok(Duration::from_secs(300)));
        for wrong in [
            "",
            "5",
            "s",
            "-1s",
            "1 s",
            "1.2.3s",
            "1.s",
            ".5s",
            "1d",
            "99999999999999999999999s",
            "600000000000s",
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_wrong_duration_is_told_what_is_allowed() {
        assert_eq!(
            parse("5").unwrap_err().to_string(),
            "\"5\" is no duration (want a number and a unit: 250us, 100ms, 90s, 5m)"
        );
    }

    #[test]
    fn a_duration_is_shown_with_three_digits() {
        for (nanos, text) in [
            (0, "0 ns"),
            (1_234, "1.23 µs"),
            (45_678, "45.7 µs"),
            (9_998_300, "10.0 ms"),
            (99_980, "100 µs"),
            (123_456_789, "123 ms"),
            (3_600_000_000_000, "60 min"),
        ] {
            assert_eq!(show(Duration::from_nanos(nanos)), text);
        }
    }

    #[test]
    fn a_clock_has_minutes_from_two_of_them_on() {
        for (seconds, text) in [
            (0.4, "0 s"),
            (6.5, "7 s"),
            (119.0, "119 s"),
            (119.6, "2:00"),
            (3599.0, "59:59"),
            (3723.0, "1:02:03"),
        ] {
            assert_eq!(clock((seconds * 1e9) as u64), text);
        }
    }

    proptest! {
        #[test]
        fn what_is_written_to_be_typed_again_is_the_same(nanos: u64, places in 0u32..15) {
            // Round ones too.
            let unit = 10u64.pow(places);
            let duration = Duration::from_nanos(nanos / unit * unit);
            prop_assert_eq!(parse(&typed(duration)), Ok(duration));
        }
    }
}
