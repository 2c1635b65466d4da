//! The statistics of comparisons, held against tables and against what is known because it was made so.

#![allow(clippy::unwrap_used)]

use judge::compare::{
    Direction, Estimate, LEAST_MARGIN, Method, Metric, Outcome, Row, Rules, Sides, bca,
    cliffs_delta, compare_estimates, compare_pairs, compare_phases, compare_runs, compare_shares,
    doubts, mann_whitney, pairs_needed, permutation, runs_needed, welch,
};
use plan::{Measure, Random, Stat};
use record::run::{Fingerprint, Kind, Phase, WarmUp};
use record::{Ledger, Run, Times};

/// Normally distributed numbers, by Box and Muller.
struct Normal(Random);

impl Normal {
    fn next(&mut self) -> f64 {
        let (u, v) = (self.0.above_zero(), self.0.above_zero());
        (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
    }

    /// Runs whose figure scatters by so much around a level.
    fn runs(&mut self, n: usize, level: f64, spread: f64) -> Vec<f64> {
        (0..n)
            .map(|_| level * (spread * self.next()).exp())
            .collect()
    }
}

fn normal(seed: u64) -> Normal {
    Normal(Random::new(seed))
}

fn is_different(outcome: Outcome) -> bool {
    matches!(outcome, Outcome::Better | Outcome::Worse)
}

#[test]
fn an_exact_permutation_counts_all_splits_of_the_runs() {
    let apart = permutation(&[1.0, 2.0, 3.0, 4.0, 5.0], &[6.0, 7.0, 8.0, 9.0, 10.0]);
    assert!(apart.exact);
    // 2 of 252.
    assert!((apart.value - 2.0 / 252.0).abs() < 1e-12);
    assert_eq!(apart.least, 2.0 / 252.0);
    // Three and three cannot reach 0.05.
    assert_eq!(permutation(&[1.0, 2.0, 3.0], &[7.0, 8.0, 9.0]).value, 0.1);
    assert_eq!(permutation(&[2.0; 4], &[2.0; 4]).value, 1.0);
    // Two of six splits of 1, 2, 3, 10 are as far apart as {1, 2} and {3, 10}.
    assert!((permutation(&[1.0, 2.0], &[3.0, 10.0]).value - 2.0 / 6.0).abs() < 1e-12);
}

#[test]
fn many_runs_are_permuted_by_drawing_and_agree_with_the_exact_count() {
    let mut random = normal(7);
    let (base, new) = (random.runs(10, 1.0, 0.05), random.runs(10, 1.04, 0.05));
    let exact = permutation(&base, &new);
    // The same twice over is a larger sample of which nothing is known but that it is more certain.
    let twice = |side: &[f64]| [side, side].concat();
    let drawn = permutation(&twice(&base), &twice(&new));
    assert!(exact.exact && !drawn.exact);
    assert!(drawn.value < exact.value, "{drawn:?} {exact:?}");
    assert!(drawn.value >= drawn.least);
}

#[test]
fn mann_whitney_has_the_probabilities_of_its_table() {
    // U = 2 at 5 and 5: 0.032 two-sided (Mann and Whitney 1947, table I, doubled).
    let p = mann_whitney(&[1.0, 2.0, 3.0, 4.0, 7.0], &[5.0, 6.0, 8.0, 9.0, 10.0]);
    assert!((p.value - 0.0317).abs() < 0.0001, "{p:?}");
    // U = 0 at 4 and 3: 2 of 35.
    let p = mann_whitney(&[1.0, 2.0, 3.0, 4.0], &[5.0, 6.0, 7.0]);
    assert!((p.value - 2.0 / 35.0).abs() < 1e-12, "{p:?}");
    // Ties only say nothing.
    assert_eq!(mann_whitney(&[1.0; 5], &[1.0; 5]).value, 1.0);
    // The approximation for many: z of 400 pairs, all of one kind, is beyond doubt.
    let low: Vec<f64> = (0..20).map(f64::from).collect();
    let high: Vec<f64> = (20..40).map(f64::from).collect();
    let p = mann_whitney(&low, &high);
    assert!(!p.exact && p.value < 1e-6, "{p:?}");
}

#[test]
fn cliffs_delta_counts_pairs() {
    assert_eq!(cliffs_delta(&[1.0, 2.0], &[3.0, 4.0]), 1.0);
    assert_eq!(cliffs_delta(&[3.0, 4.0], &[1.0, 2.0]), -1.0);
    // 1<2, 1<3, 2=2, 2<3.
    assert_eq!(cliffs_delta(&[1.0, 2.0], &[2.0, 3.0]), 0.75);
}

#[test]
fn welchs_interval_is_that_of_the_textbook() {
    let (low, high) = welch(&[1.0, 2.0, 3.0, 4.0, 5.0], &[2.0, 4.0, 6.0, 8.0, 10.0]).unwrap();
    // 3 ± t(5.88; 0.975) · √2.5
    assert!((low + 0.888).abs() < 0.005, "{low}");
    assert!((high - 6.888).abs() < 0.005, "{high}");
    // Equal variances and sizes: eight degrees of freedom, 2.306.
    let (low, high) = welch(&[-1.0, -0.5, 0.0, 0.5, 1.0], &[-1.0, -0.5, 0.0, 0.5, 1.0]).unwrap();
    let half = 2.306 * (2.0 * 0.625 / 5.0_f64).sqrt();
    assert!((high - half).abs() < 0.0005 && (low + half).abs() < 0.0005);
}

/// How many of 1000 intervals hold the true difference.
fn covered(n: usize, interval: impl Fn(&[f64], &[f64]) -> Option<(f64, f64)>) -> usize {
    let mut random = normal(11);
    let mut draw = |shift: f64| -> Vec<f64> { (0..n).map(|_| shift + random.next()).collect() };
    (0..1000)
        .filter(|_| {
            let (base, new) = (draw(0.0), draw(0.7));
            interval(&base, &new).is_some_and(|(low, high)| low <= 0.7 && 0.7 <= high)
        })
        .count()
}

#[test]
fn intervals_hold_the_truth_in_95_of_100_cases() {
    let welch = covered(5, welch);
    assert!((930..=975).contains(&welch), "{welch} of 1000");
    // The bootstrap is known to be a little short with few runs.
    let bootstrap = covered(10, bca);
    assert!((900..=970).contains(&bootstrap), "{bootstrap} of 1000");
}

#[test]
fn of_200_pairs_of_the_same_at_most_16_are_called_different() {
    // Whatever the runs' own variation, and without any margin to hide behind.
    for spread in [0.005, 0.02, 0.1] {
        let mut random = normal(3);
        let different = (0..200)
            .filter(|_| {
                let (base, new) = (random.runs(5, 1e5, spread), random.runs(5, 1e5, spread));
                is_different(compare_runs(&base, &new, Direction::Lower, 0.0).outcome)
            })
            .count();
        assert!(different <= 16, "{different} at {spread}");
    }
}

#[test]
fn five_percent_more_is_called_worse_nine_times_of_ten() {
    let mut random = normal(5);
    // Runs that vary by one percent.
    let worse = (0..200)
        .filter(|_| {
            let (base, new) = (random.runs(5, 3e4, 0.01), random.runs(5, 3.15e4, 0.01));
            compare_runs(&base, &new, Direction::Lower, LEAST_MARGIN).outcome == Outcome::Worse
        })
        .count();
    assert!(worse >= 180, "{worse} of 200");
}

/// Pairs of runs: minutes differ by so much, the two of a pair by less.
fn pairs(random: &mut Normal, ratio: f64, minutes: f64, apart: f64) -> (Vec<f64>, Vec<f64>) {
    let base = random.runs(5, 3e4, minutes);
    let disturbed = |run: &f64| run * (apart * random.next()).exp();
    let new = base.iter().map(disturbed).map(|run| run * ratio).collect();
    (base, new)
}

#[test]
fn pairs_are_told_apart_where_minutes_differ_by_more_than_what_is_looked_for() {
    for minutes in [0.01, 0.1] {
        let mut random = normal(19);
        let mut called = |ratio: f64, margin: f64, it: fn(Outcome) -> bool| {
            (0..200)
                .filter(|_| {
                    let (base, new) = pairs(&mut random, ratio, minutes, 0.01);
                    it(compare_pairs(&base, &new, Direction::Lower, margin).outcome)
                })
                .count()
        };
        let different = called(1.0, 0.0, is_different);
        assert!(different <= 16, "{different} of 200 at {minutes}");
        let worse = called(1.05, LEAST_MARGIN, |it| it == Outcome::Worse);
        assert!(worse >= 180, "{worse} of 200 at {minutes}");
    }
}

#[test]
fn a_pair_more_or_less_is_compared_as_the_textbook_has_it() {
    let base = [1.0_f64, 2.0, 3.0, 4.0].map(f64::exp);
    let new = [1.1_f64, 2.3, 3.2, 4.4].map(f64::exp);
    let it = compare_pairs(&base, &new, Direction::Lower, 0.0);
    // 0.1, 0.3, 0.2 and 0.4: 0.25 ± t(3; 0.975) · 0.0645, and t = 3.873.
    let (low, high) = it.interval.unwrap();
    assert!((low.ln() - (0.25 - 3.182 * 0.06455)).abs() < 1e-3, "{low}");
    assert!(
        (high.ln() - (0.25 + 3.182 * 0.06455)).abs() < 1e-3,
        "{high}"
    );
    assert!((it.p.unwrap().value - 0.0305).abs() < 1e-3, "{it:?}");
    assert_eq!((it.delta, it.mann_whitney), (Some(1.0), None));
    assert_eq!((it.method, it.outcome), (Method::Pairs, Outcome::Worse));
    // t · 0.1291 / √n < 0.25 from n = 4, and a margin of 0.2 takes more.
    assert_eq!(pairs_needed(&base, &new, 0.0), Some(4));
    assert_eq!(pairs_needed(&base, &new, 0.2_f64.exp_m1()), Some(29));
    // Runs that are the same to the last digit.
    let same = compare_pairs(&base, &base, Direction::Lower, 0.02);
    assert_eq!((same.outcome, same.p.unwrap().value), (Outcome::Same, 1.0));
    // Counts with zeros have no ratios.
    let none = compare_pairs(&[0.0, 1.0], &[0.0, 2.0], Direction::Lower, 0.02);
    assert_eq!((none.ratio, none.method), (None, Method::None));
}

#[test]
fn outcomes_follow_interval_margin_and_direction() {
    let at = |level: f64| [0.999, 1.0, 1.001, 1.0005, 0.9995].map(|x| x * level);
    let outcome = |level, better| compare_runs(&at(1.0), &at(level), better, 0.02).outcome;
    assert_eq!(outcome(1.05, Direction::Lower), Outcome::Worse);
    assert_eq!(outcome(1.05, Direction::Higher), Outcome::Better);
    assert_eq!(outcome(0.95, Direction::Lower), Outcome::Better);
    assert_eq!(outcome(1.01, Direction::Lower), Outcome::Same);
    // Right at the margin no number of such runs would do.
    assert!(matches!(
        outcome(1.02, Direction::Lower),
        Outcome::CannotTell { .. }
    ));
    let worse = compare_runs(&at(1.0), &at(1.05), Direction::Lower, 0.02);
    assert!((worse.regression().unwrap() - 0.05).abs() < 1e-9);
    assert!(worse.fails(0.04) && !worse.fails(0.06));
    assert_eq!(worse.delta, Some(1.0));
}

#[test]
fn three_runs_on_each_side_cannot_tell_however_far_they_are_apart() {
    let base = [1.00, 1.001, 0.999];
    let new = [2.00, 2.001, 1.999];
    let comparison = compare_runs(&base, &new, Direction::Lower, 0.02);
    assert_eq!(comparison.p.unwrap().least, 0.1);
    // Four can: 2 of 70.
    assert_eq!(comparison.outcome, Outcome::CannotTell { runs: Some(4) });
}

#[test]
fn the_runs_that_are_said_to_be_needed_do_tell() {
    // Five runs whose logarithms have a deviation of exactly 0.04.
    let exactly = |level: f64| -> Vec<f64> {
        let steps = [-2.0, -1.0, 0.0, 1.0, 2.0_f64];
        steps
            .map(|step| level * (0.04 * step / 2.5_f64.sqrt()).exp())
            .to_vec()
    };
    let needed = runs_needed(&exactly(1.0), &exactly(1.06), 1.06, 0.02, 1).unwrap();
    // t · 0.04 · √(2/n) < ln 1.06 − ln 1.02.
    assert_eq!(needed, 10);
    let mut random = normal(13);
    let told = (0..100)
        .filter(|_| {
            let n = needed as usize * 2;
            let (base, new) = (random.runs(n, 1.0, 0.04), random.runs(n, 1.06, 0.04));
            is_different(compare_runs(&base, &new, Direction::Lower, 0.02).outcome)
        })
        .count();
    assert!(told >= 75, "{told}");
    assert_eq!(runs_needed(&[1.0], &[2.0], 2.0, 0.02, 1), None);
}

#[test]
fn counts_with_zeros_are_compared_without_a_ratio() {
    let none = compare_runs(&[0.0; 5], &[0.0; 5], Direction::Lower, 0.02);
    assert_eq!((none.outcome, none.ratio), (Outcome::Same, None));
    let lost = compare_runs(
        &[0.0; 5],
        &[3.0, 5.0, 2.0, 9.0, 1.0],
        Direction::Lower,
        0.02,
    );
    assert_eq!(lost.outcome, Outcome::Worse);
    assert!(lost.fails(0.5));
}

/// Sixty seconds in intervals of 100 ms, as an autoregressive process: `memory` is how much of an interval is left
/// in the next one.
fn wandering(random: &mut Normal, level: f64, memory: f64, wander: f64) -> Vec<f64> {
    let mut state = random.next() * wander;
    let innovation = (1.0 - memory * memory).sqrt() * wander;
    (0..600)
        .map(|_| {
            state = memory * state + innovation * random.next();
            level * (state + 0.05 * random.next()).exp()
        })
        .collect()
}

/// A phase with these mean times in its intervals, ten requests in each.
fn phase(times: &[f64]) -> Phase {
    let mut ledger = Ledger::with_end(times.len() as u64 * 100_000_000);
    for (interval, time) in times.iter().enumerate() {
        for k in 0..10 {
            let sent = interval as u64 * 100_000_000 + k * 5_000_000;
            let times = Times {
                planned: sent,
                sent,
                completed: sent + *time as u64,
            };
            ledger.done(times, 0, 1, 1);
        }
    }
    let started = "2026-03-01T09:30:00Z".parse().unwrap();
    Phase::new(
        "p",
        started,
        &ledger.finish(),
        WarmUp::default(),
        0,
        &|it| it.to_string(),
    )
}

/// A phase of a second at a level.
fn short(seed: u64, level: f64, spread: f64) -> Phase {
    phase(&normal(seed).runs(10, level, spread))
}

const MEAN: Metric = Metric::Figure(Measure::Response, Stat::Mean);
const MEDIAN: Metric = Metric::Figure(Measure::Response, Stat::P50);

/// The rows of one point, but for success and completeness.
fn figures(
    base: &[&Phase],
    new: &[&Phase],
    same: &[&Phase],
    metrics: &[Metric],
    rules: &Rules,
) -> Vec<Row> {
    let sides = Sides {
        base: base.to_vec(),
        new: new.to_vec(),
        same: same.to_vec(),
        metrics: metrics.to_vec(),
    };
    let mut compared = compare_phases(&[sides], rules);
    let rows = compared.remove(0).rows.into_iter();
    rows.filter(|row| !judge::compare::FAILURES.contains(&row.metric))
        .collect()
}

#[test]
fn single_runs_of_the_same_are_rarely_called_different_although_their_times_wander() {
    // Independent intervals, then half a second and two seconds of memory.
    for memory in [0.0, 0.8, 0.95] {
        let mut random = normal(17);
        let mut estimate =
            || Estimate::of_course(&wandering(&mut random, 2e5, memory, 0.1)).unwrap();
        let different = (0..200)
            .filter(|_| {
                let it = compare_estimates(estimate(), estimate(), Direction::Lower, 0.0);
                is_different(it.outcome)
            })
            .count();
        assert!(different <= 16, "{different} of 200 at {memory}");
    }
}

#[test]
fn single_runs_that_differ_are_told_apart_and_say_what_they_do_not_know() {
    let mut random = normal(1);
    let base = phase(&wandering(&mut random, 2e5, 0.5, 0.05));
    let new = phase(&wandering(&mut random, 2.4e5, 0.5, 0.05));
    let unasked = figures(&[&base], &[&new], &[], &[MEAN, MEDIAN], &Rules::default());
    for row in &unasked {
        let it = &row.comparison;
        assert_eq!(it.outcome, Outcome::CannotTell { runs: None }, "{it:?}");
        assert!(it.interval.is_some());
    }
    let asked = Rules {
        single_run: true,
        ..Rules::default()
    };
    let rows = figures(&[&base], &[&new], &[], &[MEAN, MEDIAN], &asked);
    assert_eq!(rows.len(), 2);
    for row in &rows {
        let it = &row.comparison;
        assert_eq!(it.method, Method::Within);
        assert_eq!(it.outcome, Outcome::Worse, "{it:?}");
        let (low, high) = it.interval.unwrap();
        assert!(low < 1.2 && 1.2 < high, "{it:?}");
        assert_eq!((it.delta, it.mann_whitney), (None, None));
    }
    let estimate = |value| Estimate {
        value,
        error: 0.01,
        degrees: 1e9,
    };
    // Without doubt about the variance it is the normal interval: 1.96 · √2 · 0.01.
    let it = compare_estimates(estimate(1.0), estimate(1.0), Direction::Lower, 0.02);
    assert!(
        (it.interval.unwrap().1.ln() - 0.02772).abs() < 1e-4,
        "{it:?}"
    );
}

#[test]
fn holms_correction_makes_each_of_several_metrics_harder() {
    let runs = |level: f64, seed: u64| -> Vec<Phase> {
        (0..5).map(|k| short(seed + k, level, 0.01)).collect()
    };
    let (base, new) = (runs(2e5, 1), runs(2.4e5, 50));
    let (base, new): (Vec<&Phase>, Vec<&Phase>) = (base.iter().collect(), new.iter().collect());
    let p90 = Metric::Figure(Measure::Response, Stat::P90);
    let rows = figures(&base, &new, &[], &[MEAN, MEDIAN, p90], &Rules::default());
    let adjusted: Vec<f64> = rows
        .iter()
        .filter_map(|row| row.comparison.adjusted)
        .collect();
    // All three are as clear as five and five runs can be: three times 2 of 252.
    assert_eq!(adjusted.len(), 3);
    assert!(
        adjusted.iter().all(|p| (p - 6.0 / 252.0).abs() < 1e-9),
        "{adjusted:?}"
    );
    assert!(
        rows.iter()
            .all(|row| row.comparison.outcome == Outcome::Worse)
    );
}

#[test]
fn runs_that_went_at_the_same_time_are_compared_in_pairs_whatever_their_order() {
    let at = |minute: u32, second: u32, level: f64| {
        let started = format!("2026-03-01T09:{minute:02}:{second:02}.5Z");
        Phase {
            started: started.parse().unwrap(),
            ..short(u64::from(minute), level, 0.001)
        }
    };
    let levels = [2e5, 2.4e5, 1.9e5, 2.2e5, 2.6e5];
    let side = |second: u32, ratio: f64| -> Vec<Phase> {
        let each = levels.iter().zip(0..);
        each.map(|(level, minute)| at(minute, second, level * ratio))
            .collect()
    };
    let compared = |base: &[Phase], new: &[Phase]| {
        let (base, mut new): (Vec<_>, Vec<_>) = (base.iter().collect(), new.iter().collect());
        new.rotate_left(2);
        let rows = figures(&base, &new, &[], &[MEAN], &Rules::default());
        rows.first().unwrap().comparison.clone()
    };
    let paired = compared(&side(0, 1.0), &side(0, 1.05));
    assert_eq!(
        (paired.method, paired.outcome),
        (Method::Pairs, Outcome::Worse),
        "{paired:?}"
    );
    // A second is all that they last: one that begins when the other ends is of another time.
    let apart = compared(&side(0, 1.0), &side(1, 1.05));
    assert_eq!(apart.method, Method::Welch);
    assert!(!is_different(apart.outcome), "{apart:?}");
    // One of them has none at its side.
    let mut one_off = side(0, 1.05);
    one_off[3] = at(30, 0, 2.2e5);
    assert_eq!(compared(&side(0, 1.0), &one_off).method, Method::Welch);
    // Two that went at the same time as one are no pair of it.
    let mut twice = side(0, 1.05);
    twice[3] = at(2, 0, 2.2e5);
    assert_eq!(compared(&side(0, 1.0), &twice).method, Method::Welch);
}

#[test]
fn what_the_same_thing_varied_by_widens_the_margin() {
    let levels = |levels: &[f64], seed: u64| -> Vec<Phase> {
        let each = levels.iter().zip(seed..);
        each.map(|(level, seed)| short(seed, *level, 0.001))
            .collect()
    };
    let base = levels(&[2e5; 5], 1);
    let new = levels(&[2.1e5; 5], 20);
    let same = levels(&[1.7e5, 2e5, 2.3e5, 1.9e5, 2.2e5], 40);
    fn all(phases: &[Phase]) -> Vec<&Phase> {
        phases.iter().collect()
    }
    let outcome = |same: &[&Phase]| {
        let rows = figures(&all(&base), &all(&new), same, &[MEAN], &Rules::default());
        rows.first().unwrap().comparison.outcome
    };
    assert_eq!(outcome(&[]), Outcome::Worse);
    assert_eq!(outcome(&all(&same)), Outcome::Same);
}

#[test]
fn metrics_are_named_as_in_thresholds() {
    for name in [
        "cpu-per-request",
        "success",
        "complete",
        "rate",
        "response.p99",
        "service.p99.9",
        "delay.p50",
        "errors",
    ] {
        assert_eq!(name.parse::<Metric>().unwrap().to_string(), name);
    }
    assert_eq!("p99".parse::<Metric>().unwrap().to_string(), "response.p99");
    let error = "p200x".parse::<Metric>().unwrap_err().to_string();
    assert!(
        error.starts_with("\"p200x\" is no metric (want cpu-per-request, rate,"),
        "{error}"
    );
}

#[test]
fn all_points_of_a_comparison_are_one_family() {
    let runs = |level: f64, seed: u64| -> Vec<Phase> {
        (0..5).map(|k| short(seed + k, level, 0.01)).collect()
    };
    let (base, new) = (runs(2e5, 1), runs(2.4e5, 50));
    let sides = Sides {
        base: base.iter().collect(),
        new: new.iter().collect(),
        same: Vec::new(),
        metrics: vec![MEAN],
    };
    let worse = |points: usize| {
        let compared = compare_phases(&vec![sides.clone(); points], &Rules::default());
        let rows: Vec<&Row> = compared.iter().flat_map(|it| &it.rows).collect();
        // Success and completeness are the same everywhere, and no further chance.
        let means: Vec<_> = rows.iter().filter(|row| row.metric == MEAN).collect();
        assert!(means.iter().all(|row| row.comparison.family == points));
        let worse = means
            .iter()
            .filter(|row| row.comparison.outcome == Outcome::Worse);
        worse.count()
    };
    // 2 of 252 in each: six times that is below 0.05, and seven times beyond.
    assert_eq!((worse(1), worse(6), worse(7)), (1, 6, 0));
}

#[test]
fn a_side_that_fails_more_is_worse_and_its_times_are_not_comparable() {
    let mut failing: Vec<Phase> = (0..5).map(|k| short(k, 1e5, 0.01)).collect();
    let base: Vec<Phase> = (10..15).map(|k| short(k, 2e5, 0.01)).collect();
    for phase in &mut failing {
        phase.total.errors = phase.total.completed / 2;
    }
    fn all(side: &[Phase]) -> Vec<&Phase> {
        side.iter().collect()
    }
    let compared = |base: &[Phase], new: &[Phase]| {
        let sides = Sides {
            base: all(base),
            new: all(new),
            same: Vec::new(),
            metrics: vec![MEAN],
        };
        let found = compare_phases(&[sides], &Rules::default()).remove(0);
        let outcome = |metric| {
            let row = found.rows.iter().find(|row| row.metric == metric);
            row.unwrap().comparison.outcome
        };
        let worse: Vec<bool> = found.failures.iter().map(|it| it.worse).collect();
        (outcome(Metric::Success), outcome(MEAN), worse)
    };
    // Failing is fast. Of one run each it holds as well.
    for n in [1, 5] {
        let found = compared(&base[..n], &failing[..n]);
        assert_eq!(
            found,
            (Outcome::Worse, Outcome::NotComparable, vec![true]),
            "{n}"
        );
    }
    let found = compared(&failing, &base);
    assert_eq!(found, (Outcome::Better, Outcome::NotComparable, vec![]));
    let found = compared(&failing[..1], &base[..1]);
    let told = (
        Outcome::CannotTell { runs: None },
        Outcome::NotComparable,
        vec![],
    );
    assert_eq!(found, told);

    // A run that broke, whichever side.
    let mut broken = base.clone();
    broken[2].verdict.kind = Kind::Incomplete;
    let quick: Vec<Phase> = (20..25).map(|k| short(k, 1e5, 0.01)).collect();
    let found = compared(&quick, &broken);
    assert_eq!(found, (Outcome::Same, Outcome::NotComparable, vec![false]));
    broken[2].verdict.kind = Kind::Failed;
    assert_eq!(compared(&quick, &broken).2, [true]);
    assert_eq!(compared(&broken, &quick).2, [false]);
}

#[test]
fn shares_have_the_probabilities_of_fishers_test() {
    let p = |x: (u64, u64), y: (u64, u64)| {
        let it = compare_shares(&[x], &[y], 0.001, &Rules::default());
        (it.p.unwrap().value, it.outcome)
    };
    // All of 5 against none of 5: 2 of 252.
    let (value, outcome) = p((5, 5), (0, 5));
    assert!((value - 2.0 / 252.0).abs() < 1e-9, "{value}");
    assert_eq!(outcome, Outcome::Worse);
    assert_eq!(p((180, 180), (180, 180)), (1.0, Outcome::Same));
    // One of 180 is chance.
    let (value, outcome) = p((180, 180), (179, 180));
    assert_eq!((value, outcome), (1.0, Outcome::CannotTell { runs: None }));
    // Where there are too many to count: z = 10.1 of 1,000,000 with 1 and 1.145 %.
    let (value, _) = p((990_000, 1_000_000), (988_550, 1_000_000));
    assert!(value < 1e-20 && value > 0.0, "{value}");
    // Runs that all fail now and then are compared as runs.
    let often = [(98, 100), (60, 100), (99, 100), (97, 100), (98, 100)];
    let other = [(97, 100), (98, 100), (55, 100), (99, 100), (96, 100)];
    let it = compare_shares(&often, &other, 0.001, &Rules::default());
    assert_eq!(it.method, Method::Welch);
    assert!(!is_different(it.outcome), "{it:?}");
}

#[test]
fn runs_in_blocks_are_named_and_runs_in_turn_are_not() {
    let runs = |minutes: &[u64]| -> Vec<Run> {
        let run = |minute: &u64| {
            let started = format!("2026-03-01T09:{minute:02}:00Z").parse().unwrap();
            Run::new("read", started, Fingerprint::default())
        };
        minutes.iter().map(run).collect()
    };
    let said = |base: &[u64], new: &[u64]| {
        let (base, new) = (runs(base), runs(new));
        let (base, new): (Vec<_>, Vec<_>) = (base.iter().collect(), new.iter().collect());
        let all = doubts(&base, &new);
        let found = all.into_iter().find(|it| it.contains("before all runs"));
        found.map_or_else(String::new, |it| it.split(':').next().unwrap().to_owned())
    };
    let block = "all runs of base were measured before all runs of new";
    assert_eq!(said(&[1, 2, 3], &[4, 5, 6]), block);
    assert_eq!(said(&[1], &[2, 3]), block);
    let other = "all runs of new were measured before all runs of base";
    assert_eq!(said(&[14, 15], &[3, 4]), other);
    // In turn, one run of new among those of base, at the same time, and one each.
    assert_eq!(said(&[1, 3, 5], &[2, 4, 6]), "");
    assert_eq!(said(&[1, 2, 4], &[3, 5, 6]), "");
    assert_eq!(said(&[1, 2], &[1, 2]), "");
    assert_eq!(said(&[1], &[2]), "");
}
