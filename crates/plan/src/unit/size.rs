//! Sizes in bytes.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::decimal::Decimal;
use super::{UnitError, three_digits};

/// A number of bytes.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Bytes(pub u64);

impl FromStr for Bytes {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        Decimal::split(text)
            .and_then(|(number, unit)| number.rounded(unit_bytes(unit)?))
            .map(Self)
            .ok_or_else(|| UnitError {
                what: "size",
                text: text.to_owned(),
                want: "a number and a unit: 512B, 64KiB, 10MiB, 1GiB, 100kB",
            })
    }
}

fn unit_bytes(unit: &str) -> Option<u64> {
    Some(match unit {
        "B" => 1,
        "kB" => 1_000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        _ => return None,
    })
}

impl Bytes {
    /// A measured number of bytes for people: three digits and the binary unit that fits.
    pub fn show(bytes: f64) -> String {
        let (value, unit) = match bytes.abs() {
            b if b < 1024.0 => (bytes, "B"),
            b if b < 1_048_576.0 => (bytes / 1024.0, "KiB"),
            b if b < 1_073_741_824.0 => (bytes / 1_048_576.0, "MiB"),
            _ => (bytes / 1_073_741_824.0, "GiB"),
        };
        format!("{} {unit}", three_digits(value))
    }

    /// As it can be typed again, exactly.
    pub fn typed(self) -> String {
        for (shift, name) in [(30, "GiB"), (20, "MiB"), (10, "KiB")] {
            if self.0 >> shift != 0 && self.0.is_multiple_of(1 << shift) {
                return format!("{}{name}", self.0 >> shift);
            }
        }
        format!("{}B", self.0)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&Self::show(self.0 as f64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_has_a_number_and_a_unit() {
        assert_eq!("64KiB".parse(), Ok(Bytes(65_536)));
        assert_eq!("1.5MiB".parse(), Ok(Bytes(1_572_864)));
        assert_eq!("10kB".parse(), Ok(Bytes(10_000)));
        for wrong in ["", "64", "KiB", "64kib", "-1B", "64K", "99999999999GiB"] {
            let error = wrong.parse::<Bytes>().unwrap_err().to_string();
            assert!(error.contains("is no size (want"), "{error}");
        }
    }

    #[test]
    fn a_size_is_shown_with_the_unit_that_fits() {
        assert_eq!(Bytes(65_536).to_string(), "64 KiB");
        assert_eq!(Bytes(120).to_string(), "120 B");
        assert_eq!(Bytes(1_234_567).to_string(), "1.18 MiB");
    }
}
