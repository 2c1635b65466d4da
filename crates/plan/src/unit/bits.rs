//! How much a line carries: bits in a second.

use std::fmt;
use std::str::FromStr;

use super::decimal::Decimal;
use super::{UnitError, three_digits};

/// Bits in a second, at least one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct BitRate(u64);

impl BitRate {
    /// So many bits in a second; none for zero.
    pub const fn new(bits: u64) -> Option<Self> {
        match bits {
            0 => None,
            bits => Some(Self(bits)),
        }
    }

    /// How many bits in a second.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// A measured rate for people: three digits and the unit that fits.
    pub fn show(bits_per_s: f64) -> String {
        let fits = |(bits, _): &(u64, &str)| bits_per_s >= *bits as f64;
        let (bits, name) = UNITS.into_iter().find(fits).unwrap_or((1, "bit/s"));
        format!("{} {name}", three_digits(bits_per_s / bits as f64))
    }

    /// As it can be typed again, exactly.
    pub fn typed(self) -> String {
        for (bits, name) in UNITS {
            if self.0.is_multiple_of(bits) {
                return format!("{}{name}", self.0 / bits);
            }
        }
        format!("{}bit/s", self.0)
    }
}

/// The largest first; lines are sold in powers of ten.
const UNITS: [(u64, &str); 4] = [
    (1_000_000_000, "Gbit/s"),
    (1_000_000, "Mbit/s"),
    (1_000, "kbit/s"),
    (1, "bit/s"),
];

impl FromStr for BitRate {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let bits = Decimal::split(text).and_then(|(number, unit)| {
            let (bits, _) = UNITS.iter().find(|(_, name)| *name == unit)?;
            number.rounded(*bits)
        });
        bits.and_then(Self::new).ok_or_else(|| UnitError {
            what: "rate of a line",
            text: text.to_owned(),
            want: "a number above zero and a unit: 500kbit/s, 2Mbit/s, 1Gbit/s",
        })
    }
}

impl fmt::Display for BitRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (bits, name) = UNITS
            .into_iter()
            .find(|(bits, _)| self.0 >= *bits)
            .unwrap_or((1, "bit/s"));
        write!(f, "{} {name}", three_digits(self.0 as f64 / bits as f64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_of_a_line_has_a_number_and_a_unit() {
        let bits = |text: &str| text.parse::<BitRate>().map(BitRate::get);
        assert_eq!(bits("2Mbit/s"), Ok(2_000_000));
        assert_eq!(bits("187.5kbit/s"), Ok(187_500));
        assert_eq!(bits("1Gbit/s"), Ok(1_000_000_000));
        for wrong in [
            "",
            "2",
            "2M",
            "0bit/s",
            "-1bit/s",
            "2 Mbit/s",
            "2Mbps",
            "99999999999Gbit/s",
        ] {
            let error = bits(wrong).unwrap_err().to_string();
            assert!(error.contains("is no rate of a line (want"), "{error}");
        }
    }

    #[test]
    fn it_is_typed_again_as_it_was() {
        for text in ["2Mbit/s", "187500bit/s", "56kbit/s", "10Gbit/s"] {
            assert_eq!(text.parse::<BitRate>().unwrap().typed(), text);
        }
        assert_eq!(BitRate(187_500).to_string(), "188 kbit/s");
    }
}
