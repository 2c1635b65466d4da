//! Where a figure changed, over occasions on which it was measured.
//!
//! Occasions differ from each other by what the machine and the day bring, so their scatter is what a change is held
//! against, not the intervals inside of each. The series is cut where the levels of both sides differ most for that scatter;
//! a cut counts when chance would make one so clear in a series without any in less than one of a hundred, and when the
//! levels differ by more than the margin. Both parts are looked at likewise, and each cut once more between its neighbours.

use std::cell::RefCell;
use std::collections::BTreeMap;

use plan::Random;
use record::average::mean;

/// How rarely chance alone may do it.
pub const ALPHA: f64 = 0.01;
/// A level has so many occasions at least: fewer are a day that went badly.
pub const LEAST: usize = 3;
/// Series without a change that a cut is held against.
const SERIES: usize = 1_999;
/// The latest occasions that are looked at.
pub const MOST: usize = 500;

/// A change of level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Change {
    /// The first occasion of the new level.
    pub at: usize,
    /// The level before: the geometric mean since the change before, or since the first occasion.
    pub before: f64,
    /// The level behind it, until the next change.
    pub after: f64,
    /// How often chance alone would do that.
    pub p: f64,
}

impl Change {
    /// The new level in parts of the old one.
    pub fn ratio(&self) -> f64 {
        self.after / self.before
    }
}

/// Finds changes in series, and knows from one to the next how clear chance makes them.
#[derive(Debug, Default)]
pub struct Changes(Chance);

impl Changes {
    /// The changes of a series of means, one for each occasion, in their order. Differences of less than the margin (0.02 is
    /// two percent) are none. Series with a mean that is not above zero have none: levels are compared by their ratio.
    pub fn of(&self, means: &[f64], margin: f64) -> Vec<Change> {
        let chance = &self.0;
        let skipped = means.len().saturating_sub(MOST);
        let logs: Vec<f64> = means.iter().skip(skipped).map(|it| it.ln()).collect();
        if logs.iter().any(|it| !it.is_finite()) {
            return Vec::new();
        }
        let mut cuts = Vec::new();
        let mut left = vec![(0, logs.len())];
        while let Some((from, to)) = left.pop() {
            let part = logs.get(from..to).unwrap_or_default();
            if let Some(cut) = sharpest(part)
                && chance.of(part.len(), cut.clear) < ALPHA
            {
                let at = from + cut.at;
                cuts.push(at);
                left.extend([(from, at), (at, to)]);
            }
        }
        cuts.sort_unstable();
        // A cut may have been a step towards a clearer one.
        loop {
            let found = levels(&logs, &cuts, chance);
            let counts = |it: &Change| it.p < ALPHA && it.ratio().ln().abs() > margin.ln_1p();
            match found
                .iter()
                .enumerate()
                .filter(|(_, it)| !counts(it))
                .max_by(|a, b| a.1.p.total_cmp(&b.1.p))
            {
                Some((least, _)) => drop(cuts.remove(least)),
                None => {
                    return found
                        .into_iter()
                        .map(|it| Change {
                            at: it.at + skipped,
                            ..it
                        })
                        .collect();
                }
            }
        }
    }
}

/// The change at each cut, held against what lies between its neighbours.
fn levels(logs: &[f64], cuts: &[usize], chance: &Chance) -> Vec<Change> {
    let sums = Sums::of(logs);
    let whole = mean(logs).unwrap_or(0.0);
    let bound = |n: Option<usize>, none| n.and_then(|n| cuts.get(n)).copied().unwrap_or(none);
    let each = cuts.iter().enumerate().map(|(n, &at)| {
        let from = bound(n.checked_sub(1), 0);
        let to = bound(Some(n + 1), logs.len());
        let level = |from, to| (whole + sums.stretch(from, to).1).exp();
        Change {
            at,
            before: level(from, at),
            after: level(at, to),
            p: chance.of(to - from, sums.clearness(from, at, to)),
        }
    });
    each.collect()
}

/// A place to cut a series.
struct Cut {
    at: usize,
    clear: f64,
}

/// The clearest cut of any stretch of a series: a level that was there for a while stands out only in a stretch that does not
/// contain both its ends. None where there are too few occasions.
fn sharpest(part: &[f64]) -> Option<Cut> {
    let sums = Sums::of(part);
    let mut found: Option<Cut> = None;
    let mut length = part.len() as f64;
    // Stretches of each length overlap by half, and lengths shrink by the root of two.
    while length.round() as usize >= 2 * LEAST {
        let long = length.round() as usize;
        let room = part.len() - long;
        let steps = (2 * room).div_ceil(long);
        for step in 0..=steps {
            let from = room * step / steps.max(1);
            for at in from + LEAST..=from + long - LEAST {
                let clear = sums.clearness(from, at, from + long);
                if found.as_ref().is_none_or(|it| clear > it.clear) {
                    found = Some(Cut { at, clear });
                }
            }
        }
        length /= std::f64::consts::SQRT_2;
    }
    found
}

/// Sums of a series and of its squares up to each place, so that any stretch of it costs the same.
struct Sums(Vec<(f64, f64)>);

impl Sums {
    fn of(part: &[f64]) -> Self {
        let level = mean(part).unwrap_or(0.0);
        let mut sums = vec![(0.0, 0.0)];
        let (mut sum, mut squares) = (0.0, 0.0);
        for value in part {
            let value = value - level;
            sum += value;
            squares += value * value;
            sums.push((sum, squares));
        }
        Self(sums)
    }

    /// Count, mean, and what is left around it.
    fn stretch(&self, from: usize, to: usize) -> (f64, f64, f64) {
        let at = |n: usize| self.0.get(n).copied().unwrap_or_default();
        let ((sum, squares), (sum_to, squares_to)) = (at(from), at(to));
        let (n, sum) = ((to - from) as f64, sum_to - sum);
        let around = squares_to - squares - sum * sum / n;
        (n, sum / n, around.max(0.0))
    }

    /// How clearly two neighbours differ: Student's t without its sign, as the normal value that is as rare (Wallace 1959).
    fn clearness(&self, from: usize, at: usize, to: usize) -> f64 {
        let (n, a, around_a) = self.stretch(from, at);
        let (m, b, around_b) = self.stretch(at, to);
        let freedom = n + m - 2.0;
        let error = ((around_a + around_b) / freedom * (1.0 / n + 1.0 / m)).sqrt();
        match (b - a).abs() {
            // Values that never vary, as the size of a message.
            apart if error <= 1e-9 => match apart > 1e-6 {
                true => f64::MAX,
                false => 0.0,
            },
            apart => {
                let t = apart / error;
                let wide = (8.0 * freedom + 1.0) / (8.0 * freedom + 3.0);
                wide * (freedom * (t * t / freedom).ln_1p()).sqrt()
            }
        }
    }
}

/// How clear the sharpest cut is in series without a change, by their length.
#[derive(Debug, Default)]
struct Chance(RefCell<BTreeMap<usize, Vec<f64>>>);

impl Chance {
    /// How often it is at least so clear.
    fn of(&self, length: usize, clear: f64) -> f64 {
        let mut known = self.0.borrow_mut();
        // Lengths that lie close together hardly differ.
        let length = match length {
            0..=40 => length,
            more => more / 20 * 20,
        };
        let sorted = known.entry(length).or_insert_with(|| drawn(length));
        let below = sorted.partition_point(|it| *it < clear);
        (sorted.len() - below + 1) as f64 / (sorted.len() + 1) as f64
    }
}

/// The clearness of the sharpest cut in many series of normal values, sorted.
fn drawn(length: usize) -> Vec<f64> {
    let mut random = Random::stream(1, &[length as u64]);
    let series = (0..SERIES).map(|_| {
        let series: Vec<f64> = (0..length).map(|_| normal(&mut random)).collect();
        sharpest(&series).map_or(0.0, |it| it.clear)
    });
    let mut all: Vec<f64> = series.collect();
    all.sort_by(f64::total_cmp);
    all
}

/// A normal value (Box and Muller).
fn normal(random: &mut Random) -> f64 {
    let radius = (-2.0 * random.above_zero().ln()).sqrt();
    radius * (std::f64::consts::TAU * random.above_zero()).cos()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changes(means: &[f64], margin: f64) -> Vec<Change> {
        Changes::default().of(means, margin)
    }

    /// Levels with a scatter of so many parts.
    fn series(levels: &[(usize, f64)], scatter: f64, seed: u64) -> Vec<f64> {
        let mut random = Random::new(seed);
        let each = levels.iter().flat_map(|&(n, level)| vec![level; n]);
        each.map(|level| level * (scatter * normal(&mut random)).exp())
            .collect()
    }

    #[test]
    fn a_change_is_found_where_it_is() {
        let found = changes(&series(&[(12, 100.0), (8, 110.0)], 0.02, 1), 0.02);
        let [one] = found.as_slice() else {
            panic!("{found:?}");
        };
        assert_eq!(one.at, 12);
        assert!((one.ratio() - 1.1).abs() < 0.02 && one.p < 0.001, "{one:?}");
    }

    #[test]
    fn there_and_back_are_two_changes_with_their_levels() {
        let means = series(&[(10, 5e5), (6, 7e5), (10, 5e5)], 0.03, 2);
        let found = changes(&means, 0.02);
        let at: Vec<usize> = found.iter().map(|it| it.at).collect();
        assert_eq!(at, [10, 16]);
        assert!(
            found[0].ratio() > 1.3 && found[1].ratio() < 0.77,
            "{found:?}"
        );
        assert!((found[0].after - found[1].before).abs() < 1e-6);
    }

    #[test]
    fn a_bad_day_and_a_change_within_the_margin_are_none() {
        let mut means = series(&[(20, 100.0)], 0.01, 3);
        means[9] = 300.0;
        assert_eq!(changes(&means, 0.02), []);
        let small = series(&[(20, 100.0), (20, 101.5)], 0.002, 4);
        assert_eq!(changes(&small, 0.02), []);
        assert_eq!(changes(&small, 0.005).len(), 1);
    }

    #[test]
    fn chance_alone_rarely_makes_one() {
        let changes = Changes::default();
        let alarm = |seed: &u64| {
            let means = series(&[(24, 100.0)], 0.05, 100 + seed);
            !changes.of(&means, 0.0).is_empty()
        };
        let alarms = (0..300).filter(alarm).count();
        // One of a hundred, with what three hundred tries leave open.
        assert!(alarms <= 9, "{alarms} of 300");
    }

    #[test]
    fn values_that_never_vary_change_when_they_do() {
        let means = [[64.0; 4], [80.0; 4]].concat();
        let found = changes(&means, 0.02);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].at, 4);
        assert!((found[0].ratio() - 1.25).abs() < 1e-9);
        assert_eq!(changes(&[64.0; 8], 0.0), []);
    }

    #[test]
    fn too_few_occasions_and_values_without_a_ratio_have_none() {
        assert_eq!(changes(&[1.0, 1.0, 9.0, 9.0, 9.0], 0.02), []);
        assert_eq!(changes(&[0.0, 1.0, 1.0, 1.0, 9.0, 9.0, 9.0], 0.02), []);
        assert_eq!(changes(&[], 0.02), []);
    }

    #[test]
    fn a_cut_is_as_clear_as_students_t_is_rare() {
        // t = 3.6742 with 4 degrees of freedom: p = 0.0213, which is that of the normal value 2.303.
        let sums = Sums::of(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        let found = sums.clearness(0, 3, 6);
        assert!((found - 2.303).abs() < 0.02, "{found}");
    }

    #[test]
    fn of_very_many_occasions_the_latest_are_looked_at() {
        let means = series(&[(300, 50.0), (MOST - 20, 100.0), (20, 130.0)], 0.02, 5);
        let found = changes(&means, 0.02);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].at, 300 + MOST - 20);
    }
}
