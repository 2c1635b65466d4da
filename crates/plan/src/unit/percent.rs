//! Parts of a hundred.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::UnitError;
use super::decimal::Decimal;

/// A share, written in percent: `1%` is 0.01. It may be more than a hundred (the CPU of two cores).
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Percent {
    fraction: f64,
}

impl Percent {
    /// From a fraction: 0.01 is one percent.
    pub const fn from_fraction(fraction: f64) -> Self {
        Self { fraction }
    }

    /// 0.01 for one percent.
    pub const fn fraction(self) -> f64 {
        self.fraction
    }
}

impl FromStr for Percent {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        match Decimal::split(text) {
            Some((number, "%")) => Ok(Self::from_fraction(number.as_f64() / 100.0)),
            _ => Err(UnitError {
                what: "percentage",
                text: text.to_owned(),
                want: "a number and a percent sign: 1%, 0.5%",
            }),
        }
    }
}

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Twelve places of what was typed, without the noise of the division by a hundred.
        let percent = (self.fraction * 1e14).round() / 1e12;
        write!(f, "{percent}%")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentage_has_its_sign_and_is_shown_as_typed() {
        for text in ["0%", "1%", "0.5%", "0.07%", "99.99%", "250%"] {
            assert_eq!(text.parse::<Percent>().unwrap().to_string(), text);
        }
        for wrong in ["", "1", "%", "-1%", "1 %"] {
            assert!(wrong.parse::<Percent>().is_err(), "{wrong}");
        }
    }
}
