//! Strings, times and numbers as JSON (Part 6, 5.4.2).

use std::fmt::Write as _;

/// Appends a string with its quotes.
pub fn write_text(out: &mut String, text: &str) {
    out.push('"');
    write_inside(out, text);
    out.push('"');
}

/// Appends what stands between the quotes of a string.
pub fn write_inside(out: &mut String, text: &str) {
    let is_plain = |byte: u8| byte >= 0x20 && byte != b'"' && byte != b'\\';
    if text.bytes().all(is_plain) {
        return out.push_str(text);
    }
    for it in text.chars() {
        match it {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\0'..='\u{1f}' => {
                // Writing into a String does not fail.
                let _ = write!(out, "\\u{:04x}", u32::from(it));
            }
            other => out.push(other),
        }
    }
}

/// The days from 0001-01-01 to 1601-01-01.
const DAYS_BEFORE: i64 = 584_388;
const TICKS_PER_SECOND: i64 = 10_000_000;
/// 9999-12-31T23:59:59Z: a time from there on has no other form (Part 6, 5.4.2.6).
const LAST: i64 = 2_650_467_743_990_000_000;

/// Appends a time in 100 ns since 1601, with its quotes.
pub fn write_time(out: &mut String, ticks: i64) {
    if ticks <= 0 {
        return out.push_str("\"0001-01-01T00:00:00Z\"");
    }
    if ticks >= LAST {
        return out.push_str("\"9999-12-31T23:59:59Z\"");
    }
    let (seconds, fraction) = (ticks / TICKS_PER_SECOND, ticks % TICKS_PER_SECOND);
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = date(days + DAYS_BEFORE);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    let _ = write!(
        out,
        "\"{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{fraction:07}Z\""
    );
}

/// Year, month and day, so many days after 0001-01-01.
fn date(days: i64) -> (i64, i64, i64) {
    // Years that begin in March end with the day that leap years have more. 306 days are from then to 0001-01-01.
    let days = days + 306;
    let era = days / 146_097;
    let of_era = days % 146_097;
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let year = era * 400 + year_of_era;
    match month < 10 {
        true => (year, month + 3, day),
        false => (year + 1, month - 9, day),
    }
}

/// The shortest form that is the same number again.
pub fn write_float(out: &mut String, value: f64, shortest: impl std::fmt::Debug) {
    match value {
        it if it.is_nan() => out.push_str("\"NaN\""),
        f64::INFINITY => out.push_str("\"Infinity\""),
        f64::NEG_INFINITY => out.push_str("\"-Infinity\""),
        _ => {
            let _ = write!(out, "{shortest:?}");
        }
    }
}
