//! Durations as typed: a number and a unit.

use std::time::Duration;

/// `250us`, `100ms`, `90s`, `5m`, `2h`; the unit is not optional.
pub fn parse(text: &str) -> Result<Duration, String> {
    let wrong =
        || format!("{text:?} is no duration (want a number and a unit: 250us, 100ms, 90s, 5m)");
    let at = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .ok_or_else(wrong)?;
    let (number, unit) = text.split_at(at);
    let number: f64 = number.parse().map_err(|_| wrong())?;
    let unit = match unit {
        "ns" => 1e-9,
        "us" | "µs" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return Err(wrong()),
    };
    Duration::try_from_secs_f64(number * unit).map_err(|_| wrong())
}

/// A duration for people: three digits and the unit that fits.
pub fn show(duration: Duration) -> String {
    let nanos = duration.as_nanos() as f64;
    let (value, unit) = match nanos {
        n if n < 1e3 => (n, "ns"),
        n if n < 1e6 => (n / 1e3, "µs"),
        n if n < 1e9 => (n / 1e6, "ms"),
        n if n < 120e9 => (n / 1e9, "s"),
        n if n < 7200e9 => (n / 60e9, "min"),
        n => (n / 3600e9, "h"),
    };
    let digits = match value {
        v if v >= 100.0 || v.fract() == 0.0 => 0,
        v if v >= 10.0 => 1,
        _ => 2,
    };
    format!("{value:.digits$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_has_a_number_and_a_unit() {
        assert_eq!(parse("250us"), Ok(Duration::from_micros(250)));
        assert_eq!(parse("1.5s"), Ok(Duration::from_millis(1500)));
        assert_eq!(parse("5m"), Ok(Duration::from_secs(300)));
        for wrong in [
            "",
            "5",
            "s",
            "-1s",
            "1 s",
            "1.2.3s",
            "1d",
            "99999999999999999999999s",
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_duration_is_shown_with_three_digits() {
        for (nanos, text) in [
            (0, "0 ns"),
            (1_234, "1.23 µs"),
            (45_678, "45.7 µs"),
            (123_456_789, "123 ms"),
            (3_600_000_000_000, "60 min"),
        ] {
            assert_eq!(show(Duration::from_nanos(nanos)), text);
        }
    }
}
