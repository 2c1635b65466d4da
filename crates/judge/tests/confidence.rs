//! How well percentiles are known, and where warm-ups end, held against processes of which it is
//! known.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::bench::{Dice, MS, S};
use judge::{Allowed, PhaseCourse, Settling, effective_samples, quantile_interval};
use record::{Histogram, Lateness, Ledger, Measure, Tally, Times};

/// A normal variate, from twelve even ones.
fn normal(dice: &mut Dice) -> f64 {
    (0..12).map(|_| dice.share()).sum::<f64>() - 6.0
}

/// An operation each millisecond; what each takes follows the one before it with a correlation.
fn correlated(seed: u64, operations: u64, correlation: f64) -> Tally {
    let mut dice = Dice::new(seed);
    let mut ledger = Ledger::with_end(operations * MS);
    let fresh = (1.0 - correlation * correlation).sqrt();
    let mut level = normal(&mut dice);
    for at in 0..operations {
        level = level * correlation + normal(&mut dice) * fresh;
        let planned = at * MS;
        ledger.late(planned, Lateness::default(), 1);
        let times = Times {
            planned,
            sent: planned,
            completed: planned + (500e3 + level * 50e3).max(1.0) as u64,
        };
        ledger.done(times, 0, 1, 1);
    }
    ledger.finish()
}

#[test]
fn correlated_operations_are_worth_as_few_as_theory_says() {
    for correlation in [0.0, 0.5, 0.9, 0.98] {
        // For a first-order process: n (1 − ρ) / (1 + ρ).
        let expected = 60_000.0 * (1.0 - correlation) / (1.0 + correlation);
        let mut found = Vec::new();
        for seed in 0..20 {
            let tally = correlated(seed, 60_000, correlation);
            found.push(effective_samples(&tally, Measure::Response, 0, u64::MAX).unwrap());
        }
        found.sort_by(f64::total_cmp);
        // 30 batches know a variance to a quarter; the median of 20 to much less.
        let median = found[10];
        assert!(
            median > expected * 0.7 && median < expected * 1.4,
            "{correlation}: {median}, not {expected}"
        );
    }
}

#[test]
fn too_few_bins_say_nothing_of_correlation() {
    let tally = correlated(1, 900, 0.0);
    assert_eq!(
        effective_samples(&tally, Measure::Response, 0, u64::MAX),
        None
    );
}

#[test]
fn an_interval_holds_the_true_percentile_as_often_as_it_says() {
    // Even values from 0 to 1,000,000: percentile q is q million.
    for (q, n) in [(0.5, 100), (0.95, 200), (0.99, 1000)] {
        let mut held = 0;
        for seed in 0..400 {
            let mut dice = Dice::new(seed);
            let mut histogram = Histogram::default();
            for _ in 0..n {
                histogram.merge(&Histogram::of((dice.share() * 1e6) as u64, 1));
            }
            let (low, high) = quantile_interval(&histogram, q, f64::from(n)).unwrap();
            if low as f64 <= q * 1e6 && q * 1e6 <= high as f64 {
                held += 1;
            }
        }
        // 95 % and a little more, as ranks are whole; three deviations of a binomial of 400 are 13.
        assert!((367..=397).contains(&held), "p{}: {held} of 400", q * 100.0);
    }
}

#[test]
fn below_the_least_number_there_is_no_interval() {
    let histogram = Histogram::of(1000, 100_000);
    for (q, needed) in [(0.95, 72.0), (0.99, 368.0), (0.999, 3688.0)] {
        assert_eq!(quantile_interval(&histogram, q, needed - 1.0), None);
        assert!(quantile_interval(&histogram, q, needed).is_some());
    }
}

/// 100 ms bins of a rate and a response time.
fn course(bins: usize, level: impl Fn(usize, &mut Dice) -> (f64, f64), seed: u64) -> PhaseCourse {
    let mut dice = Dice::new(seed);
    let mut course = PhaseCourse {
        bin_ns: 100 * MS,
        ..PhaseCourse::default()
    };
    for at in 0..bins {
        let (rate, response) = level(at, &mut dice);
        course.completed.push(rate);
        course.response.push(Some(response));
    }
    course
}

#[test]
fn a_warm_up_is_found_where_it_ends() {
    let mut cuts = Vec::new();
    for seed in 0..100 {
        let course = course(
            200,
            |at, dice| {
                // Falls by half each 500 ms: as small as the noise after 4.5 s, nothing after 7.
                let slow = 10.0 * 0.5f64.powf(at as f64 / 5.0);
                let noise = 1.0 + 0.02 * normal(dice);
                (500.0 / (1.0 + slow) * noise, 1e6 * (1.0 + slow) * noise)
            },
            seed,
        );
        // Longer than a start-up may be, unless somebody says so.
        let given = Allowed {
            warm_up_ns: Some(10 * S),
            ..Allowed::default()
        };
        let settling = Settling::within(&course, given);
        assert!(Settling::of(&course).cut_ns <= 4 * S);
        assert!(settling.longest.is_some());
        assert_eq!(settling.drifts, [], "{seed}");
        cuts.push(settling.cut_ns);
    }
    cuts.sort_unstable();
    assert!(cuts[0] >= 3 * S, "{}", cuts[0]);
    assert!((4 * S..=7 * S).contains(&cuts[50]), "{}", cuts[50]);
}

#[test]
fn noise_has_hardly_a_warm_up_and_no_drift() {
    let mut cut = Vec::new();
    let mut drifts = 0;
    for seed in 0..500 {
        // Correlated noise: each bin is half like the one before.
        let mut last = 0.0;
        let mut dice = Dice::new(seed);
        let mut levels = Vec::new();
        for _ in 0..100 {
            last = 0.5 * last + normal(&mut dice);
            levels.push(last);
        }
        let course = course(100, |at, _| (500.0, 1e6 * (1.0 + 0.1 * levels[at])), seed);
        let settling = Settling::of(&course);
        drifts += settling.drifts.len();
        cut.push(settling.cut_ns);
    }
    // One in a thousand is what is promised; three of 500 would be a broken promise.
    assert!(drifts <= 2, "{drifts}");
    cut.sort_unstable();
    assert!(cut[250] <= 2 * S, "half of them cut more than {}", cut[250]);
}

#[test]
fn the_figure_that_settles_last_decides() {
    let mut course = course(200, |_, _| (500.0, 1e6), 1);
    let mut dice = Dice::new(2);
    course.cpu = (0..200)
        .map(|at| Some(if at < 30 { 0.9 } else { 0.5 } + 0.01 * normal(&mut dice)))
        .collect();
    let settling = Settling::of(&course);
    assert_eq!(settling.longest, Some("cpu"));
    assert_eq!(settling.cut_ns, 3 * S);
}

#[test]
fn an_excursion_that_passes_is_neither_warm_up_nor_drift() {
    let course = course(
        100,
        |at, dice| match at {
            60..75 => (0.0, 1.5e9),
            75..80 => (1500.0, 5e8),
            _ => (500.0, 1e6 * (1.0 + 0.02 * normal(dice))),
        },
        1,
    );
    let settling = Settling::of(&course);
    assert!(settling.cut_ns <= 2 * S, "{}", settling.cut_ns);
    assert_eq!(settling.drifts, []);
    let rate = settling.excursions.iter().find(|it| it.of == "rate");
    let rate = rate.unwrap();
    assert_eq!((rate.from_ns, rate.to_ns), (6 * S, 8 * S));
}

#[test]
fn a_backlog_that_grows_is_a_drift() {
    let mut course = course(100, |_, dice| (500.0, 1e6 + 1e4 * normal(dice)), 1);
    let mut dice = Dice::new(3);
    course.backlog = (0..100)
        .map(|at| 20.0 + 30.0 * f64::from(at) + 20.0 * normal(&mut dice))
        .collect();
    let drifts = Settling::of(&course).drifts;
    assert_eq!(drifts.len(), 1);
    assert_eq!(drifts[0].of, "backlog");
    // A backlog that comes and goes is none.
    course.backlog = (0..100).map(|at| f64::from(at % 10) * 100.0).collect();
    assert_eq!(Settling::of(&course).drifts, []);
}

#[test]
fn a_load_that_the_plan_changes_is_not_called_unsteady() {
    let mut course = course(100, |at, _| (at as f64 * 10.0, 1e6 * at as f64), 1);
    course.varies = true;
    let settling = Settling::of(&course);
    assert_eq!(settling.drifts, []);
    assert!(settling.not_judged.unwrap().contains("plan"));
}

#[test]
fn a_given_warm_up_is_taken_as_given() {
    let course = course(
        100,
        |at, _| if at < 30 { (1.0, 9e6) } else { (500.0, 1e6) },
        1,
    );
    let settling = Settling::after_given(&course, 3 * S);
    assert_eq!((settling.cut_ns, settling.longest), (3 * S, None));
    assert_eq!(settling.drifts, []);
}
