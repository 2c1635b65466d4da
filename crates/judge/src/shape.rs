//! Whether two curves have the same shape, where their heights say nothing: hardware and software differ.

use record::average::mean;

/// Fewer points have no shape.
const FEWEST: usize = 3;

/// So much larger than the first value, or smaller: the curve has bent.
const KNEE: f64 = 2.0;

/// Two curves over the places that both have.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shape {
    /// How many places that are.
    pub places: usize,
    /// The first of them and the last.
    pub ends: (f64, f64),
    /// How many times as large each is at the last as at the first: the one that was given first, and the other.
    pub growth: (f64, f64),
    /// Spearman's rank correlation: 1 if both order the places alike, -1 if one is the other upside down.
    pub ranks: Option<f64>,
    /// The first place where each has left its first value by a factor of two.
    pub knees: (Option<f64>, Option<f64>),
}

impl Shape {
    /// Of two curves of positive values; none with fewer than three places in common.
    pub fn of(one: &[(f64, f64)], other: &[(f64, f64)]) -> Option<Self> {
        let beside = |&(x, y): &(f64, f64)| {
            let near = |it: &&(f64, f64)| (it.0 - x).abs() <= x.abs() * 1e-6;
            let z = other.iter().find(near)?.1;
            (y > 0.0 && z > 0.0 && y.is_finite() && z.is_finite()).then_some((x, y, z))
        };
        let mut all: Vec<(f64, f64, f64)> = one.iter().filter_map(beside).collect();
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        all.dedup_by_key(|it| it.0);
        let (first, last) = (all.first()?, all.last()?);
        if all.len() < FEWEST {
            return None;
        }
        let own: Vec<f64> = all.iter().map(|it| it.1).collect();
        let theirs: Vec<f64> = all.iter().map(|it| it.2).collect();
        let places: Vec<f64> = all.iter().map(|it| it.0).collect();
        Some(Self {
            places: all.len(),
            ends: (first.0, last.0),
            growth: (last.1 / first.1, last.2 / first.2),
            ranks: correlation(&ranks(&own), &ranks(&theirs)),
            knees: (knee(&places, &own), knee(&places, &theirs)),
        })
    }
}

fn knee(places: &[f64], values: &[f64]) -> Option<f64> {
    let first = values.first()?;
    let bent = |it: &f64| it / first >= KNEE || first / it >= KNEE;
    let at = values.iter().position(bent)?;
    places.get(at).copied()
}

/// The rank of each value; equal ones share the mean of theirs.
fn ranks(values: &[f64]) -> Vec<f64> {
    let rank = |value: &f64| {
        let below = values.iter().filter(|it| *it < value).count();
        let equal = values.iter().filter(|it| *it == value).count();
        below as f64 + (equal as f64 + 1.0) / 2.0
    };
    values.iter().map(rank).collect()
}

/// Pearson's; none where one of them does not vary.
fn correlation(a: &[f64], b: &[f64]) -> Option<f64> {
    let (mean_a, mean_b) = (mean(a)?, mean(b)?);
    let sum = |of: &dyn Fn(f64, f64) -> f64| -> f64 {
        a.iter()
            .zip(b)
            .map(|(a, b)| of(a - mean_a, b - mean_b))
            .sum()
    };
    let spread = (sum(&|a, _| a * a) * sum(&|_, b| b * b)).sqrt();
    (spread > 0.0).then(|| sum(&|a, b| a * b) / spread)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_curve_that_is_ten_times_as_high_has_the_same_shape() {
        let one = [(1.0, 2.0), (10.0, 3.0), (100.0, 9.0)];
        let other = one.map(|(x, y)| (x, 10.0 * y));
        let shape = Shape::of(&one, &other).unwrap();
        assert_eq!(shape.places, 3);
        assert_eq!(shape.ends, (1.0, 100.0));
        assert_eq!(shape.growth, (4.5, 4.5));
        assert!((shape.ranks.unwrap() - 1.0).abs() < 1e-12);
        assert_eq!(shape.knees, (Some(100.0), Some(100.0)));
    }

    /// Ranks 1, 2.5, 2.5, 4, 5 and 1, 2, 3.5, 5, 3.5: 7.25 of 9.5.
    #[test]
    fn equal_values_share_their_ranks() {
        let of = |values: [f64; 5]| -> Vec<(f64, f64)> {
            values
                .iter()
                .enumerate()
                .map(|(x, y)| (x as f64, *y))
                .collect()
        };
        let shape = Shape::of(
            &of([1.0, 2.0, 2.0, 4.0, 5.0]),
            &of([5.0, 6.0, 7.0, 8.0, 7.0]),
        );
        assert!((shape.unwrap().ranks.unwrap() - 7.25 / 9.5).abs() < 1e-12);
    }

    #[test]
    fn only_places_that_both_have_count_and_two_are_no_shape() {
        let one = [(1.0, 1.0), (2.0, 2.0), (3.0, 3.0), (4.0, 8.0)];
        let flat = [(2.0, 5.0), (3.0, 5.0), (4.0, 5.0), (9.0, 50.0)];
        let shape = Shape::of(&one, &flat).unwrap();
        assert_eq!((shape.places, shape.ends), (3, (2.0, 4.0)));
        assert_eq!(shape.growth, (4.0, 1.0));
        assert_eq!(shape.ranks, None);
        assert_eq!(shape.knees, (Some(4.0), None));
        assert_eq!(Shape::of(&one, &flat[1..]), None);
        assert_eq!(Shape::of(&one, &[]), None);
    }
}
