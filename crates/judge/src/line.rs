//! What each of many costs: a straight line through points of a sweep, and whether it is one.

use record::average::mean;

use crate::compare::t_quantile;

/// A straight line through points, with 95 % confidence.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Line {
    /// By how much it rises with each.
    pub each: f64,
    /// Half of the interval's width.
    pub error: f64,
    /// What there is without any.
    pub base: f64,
    /// How far the middle of the points lies from the line, as a share of the whole rise, where a curve fits them
    /// better than chance would have it. A straight line has none.
    pub bend: Option<f64>,
}

impl Line {
    /// Fewer points give no error worth the name.
    pub const FEWEST: usize = 4;

    /// Through these points; none if they are too few, or lie above each other.
    pub fn through(points: &[(f64, f64)]) -> Option<Self> {
        let n = points.len() as f64;
        if points.len() < Self::FEWEST {
            return None;
        }
        let x = mean(points.iter().map(|it| it.0))?;
        let y = mean(points.iter().map(|it| it.1))?;
        let spread: f64 = points.iter().map(|it| (it.0 - x).powi(2)).sum();
        if spread <= 0.0 {
            return None;
        }
        let each = points.iter().map(|it| (it.0 - x) * (it.1 - y)).sum::<f64>() / spread;
        let base = y - each * x;
        let off: f64 = points
            .iter()
            .map(|it| (it.1 - base - each * it.0).powi(2))
            .sum();
        let error = t_quantile(n - 2.0)? * (off / (n - 2.0) / spread).sqrt();
        Some(Self {
            each,
            error,
            base,
            bend: bend(points, (x, spread), (base, each), off),
        })
    }

    /// Whether it rises for certain.
    pub fn rises(&self) -> bool {
        self.each > self.error
    }
}

/// A parabola's part that no line has, if it explains more than chance would.
fn bend(
    points: &[(f64, f64)],
    (x, spread): (f64, f64),
    (base, each): (f64, f64),
    off: f64,
) -> Option<f64> {
    let n = points.len() as f64;
    if points.len() <= Line::FEWEST {
        return None;
    }
    // The square of x without what a line has of it.
    let square = |it: &(f64, f64)| (it.0 - x).powi(2);
    let level = points.iter().map(square).sum::<f64>() / n;
    let lean = points.iter().map(|it| square(it) * (it.0 - x)).sum::<f64>() / spread;
    let alone = |it: &(f64, f64)| square(it) - level - lean * (it.0 - x);
    let norm: f64 = points.iter().map(|it| alone(it).powi(2)).sum();
    if norm <= 0.0 {
        return None;
    }
    let left = |it: &(f64, f64)| it.1 - base - each * it.0;
    let curve = points.iter().map(|it| alone(it) * left(it)).sum::<f64>() / norm;
    let rest = (off - curve.powi(2) * norm).max(0.0) / (n - 3.0);
    let limit = t_quantile(n - 3.0)? * (rest / norm).sqrt();
    let ends = points.iter().fold((f64::MAX, f64::MIN), |(low, high), it| {
        (low.min(it.0), high.max(it.0))
    });
    let range = ends.1 - ends.0;
    let share = (curve * range.powi(2) / 4.0 / (each * range)).abs();
    (curve.abs() > limit).then_some(share)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn points(y: impl Fn(f64) -> f64) -> Vec<(f64, f64)> {
        let mut random = plan::Random::new(3);
        (0..10)
            .map(|n| {
                let x = f64::from(n % 5) * 100.0;
                (x, y(x) + 0.1 * (random.above_zero() - 0.5))
            })
            .collect()
    }

    #[test]
    fn a_line_has_its_slope_and_no_bend() {
        let line = Line::through(&points(|x| 7.0 + 0.02 * x)).unwrap();
        assert!((line.each - 0.02).abs() <= line.error, "{line:?}");
        assert!(line.error < 0.0005 && line.rises(), "{line:?}");
        assert!((line.base - 7.0).abs() < 0.1);
        assert_eq!(line.bend, None);
    }

    #[test]
    fn a_curve_is_told_with_how_far_it_is_from_a_line() {
        let line = Line::through(&points(|x| 0.0001 * x * x)).unwrap();
        // At 200 a parabola through 0 and 400 lies a quarter of the rise below its chord.
        assert!((line.bend.unwrap() - 0.25).abs() < 0.02, "{line:?}");
    }

    #[test]
    fn noise_does_not_rise_and_too_few_points_say_nothing() {
        assert!(!Line::through(&points(|_| 1.0)).unwrap().rises());
        assert_eq!(Line::through(&[(0.0, 0.0), (1.0, 1.0), (2.0, 2.0)]), None);
        assert_eq!(Line::through(&[(1.0, 2.0); 6]), None);
    }
}
