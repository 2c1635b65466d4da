//! The least value of a smooth function in a box: BFGS (Nocedal and Wright 2006, chapter 6) with its steps projected
//! onto the bounds (Bertsekas 1982).

use super::cholesky::dot;

/// So many steps at most.
const STEPS: usize = 200;

/// A slope this small is flat.
const FLAT: f64 = 1e-6;

/// A function's value and its slope at a point. None where it has none.
pub type At<'a> = &'a dyn Fn(&[f64]) -> Option<(f64, Vec<f64>)>;

/// From a start in the box downhill: where it ends, and the value there. None where the function has no value at the
/// start.
pub fn minimum(of: At<'_>, start: &[f64], bounds: &[(f64, f64)]) -> Option<(Vec<f64>, f64)> {
    let n = start.len();
    let mut x = within(start, bounds);
    let (mut value, mut slope) = of(&x)?;
    let mut inverse = identity(n);
    for _ in 0..STEPS {
        let free: Vec<bool> = (0..n)
            .map(|it| may_move(x[it], slope[it], bounds[it]))
            .collect();
        let steepest = (0..n)
            .filter(|&it| free[it])
            .map(|it| slope[it].abs())
            .fold(0.0, f64::max);
        if steepest < FLAT {
            break;
        }
        let mut direction = downhill(&inverse, &slope, &free);
        if dot(&direction, &slope) >= 0.0 {
            inverse = identity(n);
            direction = downhill(&inverse, &slope, &free);
        }
        let Some((next, found, turned)) = search(of, (&x, value, &slope), &direction, bounds)
        else {
            // With the curvature as it is learnt there is no way down: once more by the slope alone.
            if inverse == identity(n) {
                break;
            }
            inverse = identity(n);
            continue;
        };
        let step: Vec<f64> = std::iter::zip(&next, &x).map(|(a, b)| a - b).collect();
        let bend: Vec<f64> = std::iter::zip(&turned, &slope)
            .map(|(a, b)| a - b)
            .collect();
        learn(&mut inverse, &step, &bend);
        let gained = value - found;
        (x, value, slope) = (next, found, turned);
        if gained <= 1e-12 * value.abs().max(1.0) {
            break;
        }
    }
    Some((x, value))
}

fn identity(n: usize) -> Vec<Vec<f64>> {
    let row = |i| (0..n).map(|j| f64::from(u8::from(i == j))).collect();
    (0..n).map(row).collect()
}

fn within(x: &[f64], bounds: &[(f64, f64)]) -> Vec<f64> {
    std::iter::zip(x, bounds)
        .map(|(x, &(low, high))| x.clamp(low, high))
        .collect()
}

/// Whether the way down does not lead out of the box.
fn may_move(x: f64, slope: f64, (low, high): (f64, f64)) -> bool {
    !(x <= low && slope > 0.0 || x >= high && slope < 0.0)
}

fn downhill(inverse: &[Vec<f64>], slope: &[f64], free: &[bool]) -> Vec<f64> {
    let kept: Vec<f64> = std::iter::zip(slope, free)
        .map(|(slope, free)| if *free { *slope } else { 0.0 })
        .collect();
    std::iter::zip(inverse, free)
        .map(|(row, free)| if *free { -dot(row, &kept) } else { 0.0 })
        .collect()
}

/// Where a step ends: the point, its value and its slope.
type Found = (Vec<f64>, f64, Vec<f64>);

/// The longest of shorter and shorter steps that goes down by a fair share of what the slope promises (Armijo).
fn search(
    of: At<'_>,
    (x, value, slope): (&[f64], f64, &[f64]),
    direction: &[f64],
    bounds: &[(f64, f64)],
) -> Option<Found> {
    // Nothing moves by more than this in one step: likelihoods are flat far away, and the way back is long.
    let longest = direction.iter().fold(0.0, |a: f64, b| a.max(b.abs()));
    let mut length = if longest > 2.0 { 2.0 / longest } else { 1.0 };
    for _ in 0..40 {
        let moved: Vec<f64> = std::iter::zip(x, direction)
            .map(|(x, d)| x + length * d)
            .collect();
        let next = within(&moved, bounds);
        let promised: f64 = std::iter::zip(std::iter::zip(&next, x), slope)
            .map(|((next, x), slope)| (next - x) * slope)
            .sum();
        if let Some((found, turned)) = of(&next)
            && found <= value + 1e-4 * promised
            && promised < 0.0
        {
            return Some((next, found, turned));
        }
        length *= 0.5;
    }
    None
}

/// The update of BFGS: what a step and the change of the slope tell of curvature.
fn learn(inverse: &mut [Vec<f64>], step: &[f64], bend: &[f64]) {
    let along = dot(step, bend);
    if along <= 1e-12 * dot(step, step).sqrt() * dot(bend, bend).sqrt() {
        return;
    }
    let turned: Vec<f64> = inverse.iter().map(|row| dot(row, bend)).collect();
    let factor = (1.0 + dot(bend, &turned) / along) / along;
    for (i, row) in inverse.iter_mut().enumerate() {
        for (j, it) in row.iter_mut().enumerate() {
            *it += factor * step[i] * step[j] - (turned[i] * step[j] + step[i] * turned[j]) / along;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The valley of Rosenbrock: its lowest point is (1, 1).
    #[allow(clippy::unnecessary_wraps)]
    fn valley(x: &[f64]) -> Option<(f64, Vec<f64>)> {
        let (a, b) = (1.0 - x[0], x[1] - x[0] * x[0]);
        let slope = vec![-2.0 * a - 400.0 * x[0] * b, 200.0 * b];
        Some((a * a + 100.0 * b * b, slope))
    }

    #[test]
    fn the_bottom_of_a_bent_valley_is_found() {
        let (x, value) = minimum(&valley, &[-1.2, 1.0], &[(-5.0, 5.0), (-5.0, 5.0)]).unwrap();
        assert!(
            (x[0] - 1.0).abs() < 1e-5 && (x[1] - 1.0).abs() < 1e-5,
            "{x:?}"
        );
        assert!(value < 1e-10, "{value}");
    }

    #[test]
    fn a_bound_is_the_end_where_the_valley_goes_on_behind_it() {
        let (x, _) = minimum(&valley, &[-1.2, 1.0], &[(-5.0, 0.5), (-5.0, 5.0)]).unwrap();
        assert!(
            (x[0] - 0.5).abs() < 1e-9 && (x[1] - 0.25).abs() < 1e-5,
            "{x:?}"
        );
    }

    #[test]
    fn where_the_function_has_no_value_nothing_is_found() {
        assert_eq!(minimum(&|_| None, &[0.0], &[(-1.0, 1.0)]), None);
    }
}
