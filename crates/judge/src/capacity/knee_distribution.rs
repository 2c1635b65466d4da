//! Where the knee of a capacity may be, as all trials together tell it.
//!
//! A trial is a question with a noisy answer: right at the knee half of the trials meet the objective,
//! and well below it a host that stops for a moment makes one miss it all the same. So the chance of
//! meeting it is taken to fall from nearly one to nearly zero over the logarithm of the load, and how
//! steeply it falls and how often answers are wrong is not known beforehand either: the trials tell. What
//! they say together is Bayes' rule over the knee, the steepness and the wrong answers, as
//! psychophysics finds the threshold of a sense.

use super::Point;

/// From a chance of 27 % to one of 73 % the load grows by twice this share; and what was thought of that
/// before any trial.
const STEEPNESS: [(f64, f64); 4] = [(0.002, 0.4), (0.006, 0.3), (0.02, 0.2), (0.06, 0.1)];

/// How often a load is missed that holds, and met that does not; and what was thought of that before.
const WRONG: [(f64, f64, f64); 3] = [(0.02, 0.01, 0.6), (0.1, 0.02, 0.3), (0.3, 0.04, 0.1)];

/// The knee may lie beyond what was tried, by this factor at most.
const BEYOND: f64 = 4.0;

/// Cells between two loads that were tried, and beyond all of them.
const BETWEEN: usize = 8;
const OUTSIDE: usize = 24;

/// What is thought of the knee: chances over cells of its logarithm.
pub(super) struct KneeDistribution {
    /// Edges of the cells, one more than there are chances.
    edges: Vec<f64>,
    /// Of each cell; they add up to one.
    chances: Vec<f64>,
}

impl KneeDistribution {
    /// What trials of at least one load say. Loads of which nothing was decided say nothing.
    pub(super) fn of(points: &[Point]) -> Option<Self> {
        let told: Vec<(f64, f64, f64)> = points
            .iter()
            .filter(|point| point.decided() > 0)
            .map(|it| (libm::log(it.load), it.met.into(), it.misses().into()))
            .collect();
        let edges = edges(&told)?;
        let cells: Vec<(f64, f64)> = edges
            .windows(2)
            .filter_map(|pair| match pair {
                [from, to] => Some(((from + to) / 2.0, to - from)),
                _ => None,
            })
            .collect();
        let mut logs = Vec::with_capacity(cells.len() * STEEPNESS.len() * WRONG.len());
        for &(knee, width) in &cells {
            for (steepness, thought) in STEEPNESS {
                let falls = |load: f64| 1.0 / (1.0 + libm::exp((load - knee) / steepness));
                let below: Vec<f64> = told.iter().map(|&(load, ..)| falls(load)).collect();
                for (misses, meets, so_often) in WRONG {
                    let mut log = libm::log(width * thought * so_often);
                    for (&below, &(_, met, missed)) in below.iter().zip(&told) {
                        let meet = meets + (1.0 - meets - misses) * below;
                        log += met * libm::log(meet) + missed * libm::log(1.0 - meet);
                    }
                    logs.push(log);
                }
            }
        }
        let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let mut chances: Vec<f64> = logs
            .chunks(STEEPNESS.len() * WRONG.len())
            .map(|cell| cell.iter().map(|log| libm::exp(log - most)).sum())
            .collect();
        let all: f64 = chances.iter().sum();
        chances.iter_mut().for_each(|chance| *chance /= all);
        Some(Self { edges, chances })
    }

    /// The load below which the knee is with this chance.
    pub(super) fn quantile(&self, chance: f64) -> f64 {
        let mut before = 0.0;
        for (pair, here) in self.edges.windows(2).zip(&self.chances) {
            if let [from, to] = pair
                && before + here >= chance
            {
                let part = (chance - before) / here.max(f64::MIN_POSITIVE);
                return libm::exp(from + (to - from) * part);
            }
            before += here;
        }
        self.edges.last().map_or(f64::NAN, |last| libm::exp(*last))
    }
}

/// Fine where trials lie close together, coarse elsewhere.
fn edges(told: &[(f64, f64, f64)]) -> Option<Vec<f64>> {
    let beyond = libm::log(BEYOND);
    let (first, last) = (told.first()?.0, told.last()?.0);
    let mut stops: Vec<(f64, usize)> = vec![(first - beyond, OUTSIDE)];
    stops.extend(told.iter().map(|&(load, ..)| (load, BETWEEN)));
    if let Some(stop) = stops.last_mut() {
        stop.1 = OUTSIDE;
    }
    let mut edges = Vec::new();
    let ends = stops.iter().skip(1).map(|stop| stop.0);
    for (&(from, cells), to) in stops.iter().zip(ends.chain([last + beyond])) {
        let width = (to - from) / cells as f64;
        edges.extend((0..cells).map(|cell| from + width * cell as f64));
    }
    edges.push(last + beyond);
    Some(edges)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(load: f64, met: u32, missed: u32) -> Point {
        Point {
            met,
            missed,
            ..Point::new(load)
        }
    }

    #[test]
    fn between_a_load_that_held_and_one_that_did_not_nothing_is_known() {
        let distribution = KneeDistribution::of(&[point(100.0, 4, 0), point(200.0, 0, 4)]).unwrap();
        let half = distribution.quantile(0.5);
        assert!((half / (100.0 * 2f64.sqrt()) - 1.0).abs() < 0.03, "{half}");
        assert!(distribution.quantile(0.05) > 100.0);
        assert!(distribution.quantile(0.95) < 200.0);
    }

    #[test]
    fn a_single_miss_below_loads_that_held_again_and_again_is_not_believed() {
        let distribution =
            KneeDistribution::of(&[point(100.0, 0, 1), point(200.0, 5, 0), point(202.0, 0, 5)])
                .unwrap();
        let (low, half) = (distribution.quantile(0.05), distribution.quantile(0.5));
        assert!(low > 180.0, "{low}");
        assert!((198.0..204.0).contains(&half), "{half}");
    }

    #[test]
    fn answers_that_change_slowly_with_the_load_leave_more_open() {
        let sharp = KneeDistribution::of(&[point(196.0, 6, 0), point(204.0, 0, 6)]).unwrap();
        let dull = KneeDistribution::of(&[point(196.0, 4, 2), point(204.0, 2, 4)]).unwrap();
        let width = |it: &KneeDistribution| it.quantile(0.975) / it.quantile(0.025);
        assert!(width(&dull) > 1.5 * width(&sharp));
    }

    #[test]
    fn without_trials_there_is_no_belief() {
        assert!(KneeDistribution::of(&[]).is_none());
        assert!(KneeDistribution::of(&[Point::new(5.0)]).is_none());
    }
}
