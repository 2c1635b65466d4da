//! Which loads to measure: those that tell most about costs, for as many runs as there is time for.

use plan::Random;

use crate::cost::{Point, separable, weighted};
use crate::fitted::Model;
use crate::matrix::Matrix;
use crate::term::{Term, Wake};
use crate::workload::Workload;

/// Microseconds that are assumed for planning where there is no model: idle in a second, a message, a value. Only
/// their ratios matter, and they only say how much each load counts.
const ASSUMED: [f64; 3] = [1e4, 60.0, 2.0];

/// So small is what is assumed to be known of a combination before anything is measured.
const RIDGE: f64 = 1e-6;

/// Chooses loads out of candidates so that costs are known best (D-optimal for relative errors), in a random order
/// that is the same for a seed. Candidates that a model expects above `limit_percent` of a core are left out.
pub fn choose(
    candidates: &[Workload],
    runs: usize,
    model: Option<(&Model, f64)>,
    seed: u64,
) -> Vec<usize> {
    let expected = |of: &Workload| match model {
        Some((model, _)) => model.predict(of, 0.95).cpu_percent * crate::PERCENT,
        None => {
            let [base, message, value] = ASSUMED;
            base + message * (of.messages_per_s() + of.reads_per_s + of.writes_per_s)
                + value * of.values_per_s()
        }
    };
    let mut kept = Vec::new();
    let mut points = Vec::new();
    for (at, workload) in candidates.iter().enumerate() {
        let us_per_s = expected(workload);
        if model.is_none_or(|(_, limit)| us_per_s <= limit * crate::PERCENT) {
            kept.push(at);
            points.push(Point {
                workload: workload.clone(),
                us_per_s,
            });
        }
    }
    let wake = model.map_or(Wake::Linear, |(model, _)| model.wake);
    let (terms, _) = separable(&Term::ALL, wake, &points);
    let mut chosen = greedy(&terms, wake, &points, runs);
    // Whatever drifts while a campaign runs must not look like a cost.
    let mut random = Random::new(seed);
    let mut order: Vec<(u64, usize)> = chosen
        .drain(..)
        .map(|it| (random.next_u64(), kept[it]))
        .collect();
    order.sort_unstable();
    order.into_iter().map(|(_, it)| it).collect()
}

/// One point after the other, each time the one that is least known from those before it.
fn greedy(terms: &[Term], wake: Wake, points: &[Point], runs: usize) -> Vec<usize> {
    let (rows, _): (Matrix, _) = weighted(terms, wake, points).scaled();
    let n = terms.len();
    let row = |point: usize| -> Vec<f64> { (0..n).map(|it| rows.column(it)[point]).collect() };
    let mut known: Vec<Vec<f64>> = (0..n)
        .map(|i| {
            (0..n)
                .map(|j| if i == j { 1.0 / RIDGE } else { 0.0 })
                .collect()
        })
        .collect();
    let mut chosen: Vec<usize> = Vec::new();
    while chosen.len() < runs.min(points.len()) {
        let best = (0..points.len())
            .filter(|it| !chosen.contains(it))
            .map(|it| (crate::matrix::quadratic(&known, &row(it)), it))
            .max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
        let Some((leverage, next)) = best else { break };
        // Sherman and Morrison: the inverse after one more row.
        let x = row(next);
        let mx: Vec<f64> = known
            .iter()
            .map(|it| std::iter::zip(it, &x).map(|(m, x)| m * x).sum())
            .collect();
        for (i, line) in known.iter_mut().enumerate() {
            for (j, it) in line.iter_mut().enumerate() {
                *it -= mx[i] * mx[j] / (1.0 + leverage);
            }
        }
        chosen.push(next);
    }
    chosen
}
