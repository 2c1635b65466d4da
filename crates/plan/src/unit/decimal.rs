//! Decimal numbers without rounding: `0.1` is one tenth.

/// `digits / 10^places`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decimal {
    digits: u64,
    places: u32,
}

/// More places than these are beyond every unit here.
const MAX_PLACES: usize = 12;

impl Decimal {
    /// Splits a text into a decimal number without sign or exponent, and what follows it.
    pub fn split(text: &str) -> Option<(Self, &str)> {
        let end = text
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(text.len());
        let (number, rest) = text.split_at(end);
        let (whole, part) = match number.split_once('.') {
            Some((_, "")) => return None,
            Some(parts) => parts,
            None => (number, ""),
        };
        if whole.is_empty() || part.len() > MAX_PLACES {
            return None;
        }
        let digits = [whole, part].concat().parse().ok()?;
        let places = u32::try_from(part.len()).ok()?;
        Some((Self { digits, places }, rest))
    }

    /// The number times `factor`, as a fraction.
    pub fn times(self, factor: u64) -> Option<(u128, u128)> {
        let above = u128::from(self.digits).checked_mul(factor.into())?;
        Some((above, 10u128.pow(self.places)))
    }

    /// The number times `factor`, rounded to the nearest integer.
    pub fn rounded(self, factor: u64) -> Option<u64> {
        let (above, below) = self.times(factor)?;
        u64::try_from((above + below / 2) / below).ok()
    }

    /// The number as floating point.
    pub fn as_f64(self) -> f64 {
        self.digits as f64 / 10f64.powi(self.places.cast_signed())
    }
}
