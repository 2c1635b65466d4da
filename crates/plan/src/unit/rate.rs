//! How often: an exact fraction, so that a thousand requests per second over three sessions are a
//! thousand after an hour as well.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::decimal::Decimal;
use super::duration::unit_nanos;
use super::{UnitError, three_digits};

/// `count` in `per_ns` nanoseconds, both above zero and without a common divisor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "Fraction")]
pub struct Rate {
    count: u64,
    per_ns: u64,
}

/// As it comes out of a file.
#[derive(Deserialize)]
struct Fraction {
    count: u64,
    per_ns: u64,
}

const WANT: &str = "a number above zero, a slash and a unit of time: 100/s, 5k/s, 1/m, 0.5/s; \
                    at most 1000000000/s";

impl Rate {
    /// So many per so many nanoseconds; none if it would be zero or above a thousand million per second.
    pub fn new(count: u64, per_ns: u64) -> Option<Self> {
        Self::reduced(count.into(), per_ns.into())
    }

    /// So many a second.
    pub fn per_second(count: u32) -> Option<Self> {
        Self::new(count.into(), 1_000_000_000)
    }

    /// How many.
    pub const fn count(self) -> u64 {
        self.count
    }

    /// In how many nanoseconds.
    pub const fn per_ns(self) -> u64 {
        self.per_ns
    }

    /// How many a second.
    pub fn as_f64(self) -> f64 {
        self.count as f64 * 1e9 / self.per_ns as f64
    }

    /// One part of `n` equal ones: what each of n sessions offers so that all of them offer this.
    /// None for n = 0, or if the part cannot be expressed.
    #[must_use]
    pub fn divided(self, n: u32) -> Option<Self> {
        Self::reduced(self.count.into(), u128::from(self.per_ns) * u128::from(n))
    }

    fn reduced(count: u128, per_ns: u128) -> Option<Self> {
        // More than one in a nanosecond cannot be scheduled.
        if count == 0 || count > per_ns {
            return None;
        }
        let common = greatest_common_divisor(count, per_ns);
        Some(Self {
            count: u64::try_from(count / common).ok()?,
            per_ns: u64::try_from(per_ns / common).ok()?,
        })
    }
}

fn greatest_common_divisor(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

impl TryFrom<Fraction> for Rate {
    type Error = UnitError;

    fn try_from(Fraction { count, per_ns }: Fraction) -> Result<Self, UnitError> {
        Self::new(count, per_ns).ok_or_else(|| UnitError {
            what: "rate",
            text: format!("{count} per {per_ns} ns"),
            want: WANT,
        })
    }
}

impl FromStr for Rate {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        parse(text).ok_or_else(|| UnitError {
            what: "rate",
            text: text.to_owned(),
            want: WANT,
        })
    }
}

fn parse(text: &str) -> Option<Rate> {
    let (number, rest) = Decimal::split(text)?;
    let (prefix, unit) = rest.split_once('/')?;
    let factor = match prefix {
        "" => 1,
        "k" => 1_000,
        "M" => 1_000_000,
        _ => return None,
    };
    let (count, below) = number.times(factor)?;
    let per_ns = below.checked_mul(unit_nanos(unit)?.into())?;
    Rate::reduced(count, per_ns)
}

/// Decimals beyond these are not worth their place.
const PLACES: u32 = 12;

/// As it can be typed again: `100/s`, `5k/s`, `0.5/s`, `1/m`. Exact for every rate that was typed; a
/// part of one that no decimal expresses is rounded to twelve places.
impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (count, per_ns) = (u128::from(self.count), u128::from(self.per_ns));
        let [second, minute, hour] = [
            (1_000_000_000, "s"),
            (60_000_000_000, "m"),
            (3_600_000_000_000, "h"),
        ];
        // The shortest first: 99.99/s rather than 359964/h, and 1/m rather than what a second has of it.
        let few = (0..=3).map(|places| (places, second));
        let whole = [(0, minute), (0, hour)];
        let many =
            [second, minute, hour].map(|unit| (0..=PLACES).map(move |places| (places, unit)));
        for (places, (unit, name)) in few.chain(whole).chain(many.into_iter().flatten()) {
            let above = count.checked_mul(unit * 10u128.pow(places));
            let Some(above) = above.filter(|above| above.is_multiple_of(per_ns)) else {
                continue;
            };
            return match (places, above / per_ns) {
                (0, n) if n.is_multiple_of(1_000_000) => write!(f, "{}M/{name}", n / 1_000_000),
                (0, n) if n.is_multiple_of(1_000) => write!(f, "{}k/{name}", n / 1_000),
                (0, n) => write!(f, "{n}/{name}"),
                (places, n) => {
                    let one = 10u128.pow(places);
                    let width = places as usize;
                    write!(f, "{}.{:0width$}/{name}", n / one, n % one)
                }
            };
        }
        write!(f, "{:.12}/s", self.as_f64())
    }
}

impl Rate {
    /// A rate for people, given per second: three digits.
    pub fn show(per_second: f64) -> String {
        let (value, unit) = match per_second.abs() {
            v if v >= 999.5e6 => (per_second / 1e9, "G/s"),
            v if v >= 999.5e3 => (per_second / 1e6, "M/s"),
            v if v >= 9_999.5 => (per_second / 1e3, "k/s"),
            v if v >= 0.1 || v == 0.0 => (per_second, "/s"),
            v if v >= 0.1 / 60.0 => (per_second * 60.0, "/m"),
            _ => (per_second * 3600.0, "/h"),
        };
        format!("{}{unit}", three_digits(value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rate(text: &str) -> Rate {
        text.parse().unwrap()
    }

    #[test]
    fn a_rate_is_a_number_per_unit_of_time() {
        assert_eq!(rate("100/s"), Rate::new(100, 1_000_000_000).unwrap());
        assert_eq!(rate("5k/s"), rate("5000/s"));
        assert_eq!(rate("1.5k/s"), rate("1500/s"));
        assert_eq!(rate("60/m"), rate("1/s"));
        assert_eq!(rate("0.1/s"), rate("6/m"));
        assert_eq!(rate("1/ms"), rate("1k/s"));
        for wrong in [
            "", "100", "/s", "-1/s", "0/s", "100/d", "1 /s", "5K/s", "2/ns", "100s",
        ] {
            let error = wrong.parse::<Rate>().unwrap_err().to_string();
            assert!(error.contains("is no rate (want"), "{error}");
        }
    }

    #[test]
    fn a_third_of_a_rate_three_times_is_the_rate() {
        let third = rate("1000/s").divided(3).unwrap();
        assert_eq!((third.count(), third.per_ns()), (1, 3_000_000));
        assert_eq!(rate("1/s").divided(0), None);
    }

    #[test]
    fn a_rate_is_shown_as_it_can_be_typed() {
        for text in [
            "100/s",
            "5k/s",
            "2M/s",
            "1500/s",
            "1/m",
            "90/m",
            "1/h",
            "333.333/s",
            "0.0001/s",
            "99.99/s",
        ] {
            let shown = rate(text).to_string();
            assert_eq!(shown.parse(), Ok(rate(text)), "{shown}");
        }
        assert_eq!(rate("1000/s").divided(3).unwrap().to_string(), "20k/m");
        assert_eq!(
            rate("1/s").divided(7).unwrap().to_string(),
            "0.142857142857/s"
        );
    }

    #[test]
    fn a_measured_rate_has_three_digits() {
        for (per_second, text) in [
            (906_412.0, "906k/s"),
            (9_876.5, "9876/s"),
            (1.0, "1/s"),
            (0.0, "0/s"),
            (1.0 / 60.0, "1/m"),
            (1.0 / 7200.0, "0.50/h"),
            (2.5e9, "2.50G/s"),
        ] {
            assert_eq!(Rate::show(per_second), text);
        }
    }

    proptest! {
        #[test]
        fn every_typed_rate_is_shown_as_it_can_be_typed(
            digits in 1u32.., places in 0usize..6, unit in prop::sample::select(vec!["s", "m", "h"]),
        ) {
            let text = format!("{digits:0>7}");
            let (whole, part) = text.split_at(text.len() - places);
            let dot = if places > 0 { "." } else { "" };
            // What is more than one in a nanosecond is refused, and that is another test.
            if let Ok(rate) = format!("{whole}{dot}{part}/{unit}").parse::<Rate>() {
                prop_assert_eq!(rate.to_string().parse(), Ok(rate));
            }
        }
    }

    #[test]
    fn a_rate_in_a_file_is_exact_and_checked() {
        let third = rate("1000/s").divided(3).unwrap();
        let text = serde_json::to_string(&third).unwrap();
        assert_eq!(text, r#"{"count":1,"per_ns":3000000}"#);
        assert_eq!(serde_json::from_str::<Rate>(&text).unwrap(), third);
        assert!(serde_json::from_str::<Rate>(r#"{"count":0,"per_ns":1}"#).is_err());
    }
}
