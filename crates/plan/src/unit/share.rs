//! Shares for people, in percent.

/// A share of a whole, with one digit behind the point: `99.2 %`, `50 %`. What is not all is not rounded up to all, and
/// what is more than nothing not down to nothing.
pub fn show(share: f64) -> String {
    // Without the noise of the multiplication by a hundred.
    let percent = (share * 1e12).round() / 1e10;
    match percent {
        p if p > 0.0 && p < 0.1 => "less than 0.1 %".to_owned(),
        p if p < 100.0 && p > 99.9 => "more than 99.9 %".to_owned(),
        p if p == p.round() => format!("{p:.0} %"),
        p => format!("{p:.1} %"),
    }
}

/// Busy cores in percent of one, with three digits: no share of a whole, for several cores make more than a hundred, and
/// small figures differ from each other.
pub fn show_cores(cores: f64) -> String {
    match cores * 100.0 {
        percent if percent >= 99.95 => format!("{percent:.0} %"),
        percent if percent >= 9.995 => format!("{percent:.1} %"),
        percent => format!("{percent:.2} %"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_not_rounded_to_all_or_to_nothing() {
        for (share, text) in [
            (0.0, "0 %"),
            (1e-9, "less than 0.1 %"),
            (0.000_99, "less than 0.1 %"),
            (0.001, "0.1 %"),
            (0.07, "7 %"),
            (0.29, "29 %"),
            (0.992, "99.2 %"),
            (0.999, "99.9 %"),
            (0.999_5, "more than 99.9 %"),
            (1.0, "100 %"),
            (2.5, "250 %"),
        ] {
            assert_eq!(show(share), text);
        }
    }

    #[test]
    fn cores_have_three_digits() {
        for (cores, text) in [
            (0.0, "0.00 %"),
            (0.001_234, "0.12 %"),
            (0.012_34, "1.23 %"),
            (0.123_4, "12.3 %"),
            (0.999_6, "100 %"),
            (12.34, "1234 %"),
        ] {
            assert_eq!(show_cores(cores), text);
        }
    }
}
