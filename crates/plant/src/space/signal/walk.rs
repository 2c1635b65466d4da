//! A random walk that can be asked for any step without taking those before it.
//!
//! The walk over a lap of 2^20 steps begins and ends at zero. What lies between is filled in by
//! halves: the middle of a bridge of length L is the mean of its ends and a random part of
//! variance L/4, which depends on nothing but the seed and the place. So twenty halvings give any
//! step, neighbours differ by about one, and two servers with the same seed walk the same way.

use plan::mixed;

/// Steps until the walk is back at zero and another lap begins.
const LAP: u64 = 1 << 20;

/// Where the walk is after `n` steps of standard deviation one.
pub fn at(seed: u64, n: u64) -> f64 {
    let lap = mixed(seed ^ mixed(n / LAP));
    let n = n % LAP;
    let (mut from, mut to) = ((0, 0.0), (LAP, 0.0));
    if n == 0 {
        return 0.0;
    }
    loop {
        let length: u64 = to.0 - from.0;
        let place = from.0 + length / 2;
        let spread = (length as f64 / 4.0).sqrt();
        let middle = (from.1 + to.1) / 2.0 + spread * unit(lap ^ mixed(place));
        match n.cmp(&place) {
            std::cmp::Ordering::Equal => return middle,
            std::cmp::Ordering::Less => to = (place, middle),
            std::cmp::Ordering::Greater => from = (place, middle),
        }
    }
}

/// Evenly distributed with mean zero and variance one.
fn unit(x: u64) -> f64 {
    let evenly = (mixed(x) >> 11) as f64 / (1u64 << 53) as f64;
    (evenly - 0.5) * 12f64.sqrt()
}

/// A value turned back at its bounds, as if they were mirrors.
pub fn folded(low: f64, high: f64, value: f64) -> f64 {
    let width = high - low;
    if width <= 0.0 {
        return low;
    }
    let there = ((value - low) / width).rem_euclid(2.0);
    low + width * if there > 1.0 { 2.0 - there } else { there }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_steps_have_the_deviation_of_one() {
        let steps = (1..50_000).map(|n| at(3, n) - at(3, n - 1));
        let variance = steps.map(|step| step * step).sum::<f64>() / 50_000.0;
        assert!((variance - 1.0).abs() < 0.05, "{variance}");
    }

    #[test]
    fn it_goes_far_and_comes_back_at_the_end_of_a_lap() {
        let far = (0..LAP).step_by(97).map(|n| at(5, n).abs());
        let far = far.fold(0.0, f64::max);
        assert!((200.0..5000.0).contains(&far), "{far}");
        assert_eq!(at(5, LAP), 0.0);
        assert!((at(5, LAP - 1)).abs() < 4.0);
        assert_ne!(at(5, 10), at(5, LAP + 10));
        assert_ne!(at(5, 10), at(6, 10));
    }

    #[test]
    fn what_would_leave_the_bounds_is_mirrored_at_them() {
        assert_eq!(folded(0.0, 8.0, 10.0), 6.0);
        assert_eq!(folded(0.0, 8.0, -2.0), 2.0);
        assert_eq!(folded(0.0, 8.0, 21.0), 5.0);
        assert_eq!(folded(5.0, 5.0, 27.0), 5.0);
    }
}
