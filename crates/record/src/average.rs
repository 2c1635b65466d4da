//! Averages of a sample, each defined once: what is shown in two places is the same figure in both.

use std::borrow::Borrow;

/// The arithmetic mean; none of no values.
pub fn mean(values: impl IntoIterator<Item = impl Borrow<f64>>) -> Option<f64> {
    let (mut sum, mut count) = (0.0, 0);
    for value in values {
        sum += value.borrow();
        count += 1;
    }
    mean_of_sum(sum, count)
}

/// The mean of values of which only the sum and the number are kept; none of no values.
pub fn mean_of_sum(sum: f64, count: u64) -> Option<f64> {
    (count > 0).then(|| sum / count as f64)
}

/// The median: of an even number of values the mean of the two in the middle; none of no values.
pub fn median(values: impl IntoIterator<Item = impl Borrow<f64>>) -> Option<f64> {
    let mut sorted: Vec<f64> = values.into_iter().map(|it| *it.borrow()).collect();
    sorted.sort_by(f64::total_cmp);
    let (lower, upper) = middle(&sorted)?;
    Some(lower.midpoint(upper))
}

/// The median of whole nanoseconds, rounded down to a whole one.
pub fn median_ns(values: impl IntoIterator<Item = u64>) -> Option<u64> {
    let mut sorted: Vec<u64> = values.into_iter().collect();
    sorted.sort_unstable();
    let (lower, upper) = middle(&sorted)?;
    Some(lower.midpoint(upper))
}

/// The two in the middle; of an odd number twice the same one.
fn middle<T: Copy>(sorted: &[T]) -> Option<(T, T)> {
    let lower = sorted.get(sorted.len().checked_sub(1)? / 2)?;
    Some((*lower, *sorted.get(sorted.len() / 2)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_is_the_sum_over_the_number() {
        assert_eq!(mean([1.0, 2.0, 6.0]), Some(3.0));
        assert_eq!(mean(&[4.0][..]), Some(4.0));
        assert_eq!(mean([0.0; 0]), None);
        assert_eq!(mean_of_sum(9.0, 2), Some(4.5));
        assert_eq!(mean_of_sum(0.0, 0), None);
    }

    #[test]
    fn the_median_lies_in_the_middle_whatever_the_order() {
        assert_eq!(median([9.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median([5.0]), Some(5.0));
        assert_eq!(median([0.0; 0]), None);
    }

    #[test]
    fn the_median_of_an_even_number_is_the_mean_of_the_two_in_the_middle() {
        assert_eq!(median([4.0, 1.0, 9.0, 2.0]), Some(3.0));
        assert_eq!(median_ns([9, 1]), Some(5));
        assert_eq!(median_ns([1, 2]), Some(1));
        assert_eq!(median_ns([u64::MAX, u64::MAX - 2]), Some(u64::MAX - 1));
        assert_eq!(median_ns([]), None);
    }
}
