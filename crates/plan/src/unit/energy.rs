//! Energy as people read it.

use super::three_digits;

/// A measured energy in joules: three digits and the unit that fits.
pub fn show(joules: f64) -> String {
    let (value, unit) = match joules.abs() {
        it if it == 0.0 || it >= 0.9995 => (joules, "J"),
        it if it >= 0.9995e-3 => (joules * 1e3, "mJ"),
        _ => (joules * 1e6, "µJ"),
    };
    format!("{} {unit}", three_digits(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unit_fits_the_figure() {
        assert_eq!(show(0.000_412), "412 µJ");
        assert_eq!(show(0.000_999_9), "1.00 mJ");
        assert_eq!(show(-0.0123), "-12.3 mJ");
        assert_eq!(show(12.34), "12.3 J");
        assert_eq!(show(0.0), "0 J");
    }
}
