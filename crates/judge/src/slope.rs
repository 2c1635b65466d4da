//! How much of something each of many leaves behind: a slope with its error.

use record::average::mean;

/// By how much a figure rises with each of what is counted, with 95 % confidence.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Slope {
    /// The rise.
    pub each: f64,
    /// Half of the interval's width.
    pub error: f64,
}

/// Looks that follow each other are alike: the figure of one is that of the one before, and a bit. So the
/// line goes through the means of so many stretches of them, not through the looks.
const STRETCHES: usize = 10;

/// Fewer stretches give no error worth the name.
const FEWEST: usize = 4;

/// Two-sided 95 % quantiles of Student's t distribution for 2 to 8 degrees of freedom.
const T: [f64; STRETCHES - 3] = [4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306];

impl Slope {
    /// The line through looks at (count, figure), in the order in which they were made. None if there are too
    /// few of them, or nothing was counted between them.
    pub fn of(looks: &[(f64, f64)]) -> Option<Self> {
        let stretches = STRETCHES.min(looks.len());
        if stretches < FEWEST {
            return None;
        }
        let means: Vec<(f64, f64)> = (0..stretches)
            .filter_map(|n| {
                let part =
                    looks.get(n * looks.len() / stretches..(n + 1) * looks.len() / stretches)?;
                Some((
                    mean(part.iter().map(|look| look.0))?,
                    mean(part.iter().map(|look| look.1))?,
                ))
            })
            .collect();
        let n = means.len() as f64;
        let x = mean(means.iter().map(|it| it.0))?;
        let y = mean(means.iter().map(|it| it.1))?;
        let spread: f64 = means.iter().map(|it| (it.0 - x).powi(2)).sum();
        if spread <= 0.0 {
            return None;
        }
        let each = means.iter().map(|it| (it.0 - x) * (it.1 - y)).sum::<f64>() / spread;
        let off: f64 = means
            .iter()
            .map(|it| (it.1 - y - each * (it.0 - x)).powi(2))
            .sum();
        let t = T.get(means.len() - FEWEST)?;
        Some(Self {
            each,
            error: t * (off / (n - 2.0) / spread).sqrt(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_found_without_error() {
        let looks: Vec<_> = (0..100)
            .map(|n| (f64::from(n), 7.0 + 3.0 * f64::from(n)))
            .collect();
        let slope = Slope::of(&looks).unwrap();
        assert!((slope.each - 3.0).abs() < 1e-9);
        assert!(slope.error < 1e-9);
    }

    #[test]
    fn what_does_not_rise_has_a_slope_within_its_error() {
        // A sawtooth, as memory has that is given back now and then.
        let looks: Vec<_> = (0..200)
            .map(|n| (f64::from(n), f64::from(n * 37 % 50)))
            .collect();
        let slope = Slope::of(&looks).unwrap();
        assert!(slope.each.abs() <= slope.error, "{slope:?}");
    }

    #[test]
    fn too_little_gives_nothing() {
        assert_eq!(Slope::of(&[(0.0, 1.0), (1.0, 2.0), (2.0, 3.0)]), None);
        assert_eq!(Slope::of(&[(1.0, 1.0); 20]), None);
    }
}
