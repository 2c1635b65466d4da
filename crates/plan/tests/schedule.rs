//! Schedules, held to what mathematics says of them.

#![allow(clippy::unwrap_used)]

use std::time::Duration;

use plan::unit::Rate;
use plan::{Arrival, Pace, Phase, Read, Schedule, Seat, Shape, Warmup, Work};
use proptest::prelude::*;

const SECOND: u64 = 1_000_000_000;

fn pace(text: &str) -> Pace {
    match text.split_once(' ') {
        Some((shape, rate)) => shape.parse::<Shape>().unwrap().at(rate.parse().ok()),
        None => text.parse::<Shape>().unwrap().at(None),
    }
    .unwrap()
}

fn seat(index: u32) -> Seat {
    Seat { target: 0, index }
}

fn times(text: &str, index: u32, sessions: u32, millis: u64) -> Vec<u64> {
    let duration = Duration::from_millis(millis);
    Schedule::new(&pace(text), seat(index), sessions, 1, duration).collect()
}

#[test]
fn constant_arrivals_are_a_period_apart_without_an_error_that_adds_up() {
    assert_eq!(
        times("constant 3/s", 0, 1, 2000),
        [
            0,
            333_333_333,
            666_666_666,
            SECOND,
            1_333_333_333,
            1_666_666_666
        ]
    );
    // The last of a day, at a rate that no number of nanoseconds divides.
    let day = Duration::from_secs(86_400);
    let last = Schedule::new(&pace("constant 7/s"), seat(0), 1, 1, day).last();
    assert_eq!(last, Some((86_400 * 7 - 1) * SECOND / 7));
}

#[test]
fn constant_arrivals_of_all_sessions_are_evenly_spaced_too() {
    let mut all: Vec<u64> = (0..4)
        .flat_map(|i| times("constant 250/s", i, 4, 1000))
        .collect();
    all.sort_unstable();
    let millis: Vec<u64> = (0..1000).map(|i| i * 1_000_000).collect();
    assert_eq!(all, millis);
}

#[test]
fn a_ramp_has_the_rate_of_each_moment() {
    // N(t) = 10 t + 9 t² over ten seconds, from 10/s to 190/s: the k-th is due when N(t) = k.
    let ramp = times("ramp:10/s..190/s", 0, 1, 10_000);
    assert_eq!(ramp.len(), 1000);
    for (k, &t) in ramp.iter().enumerate() {
        let t = t as f64 / 1e9;
        assert!(
            (10.0 * t + 9.0 * t * t - k as f64).abs() < 1e-6,
            "{k} at {t}"
        );
    }
    // Downwards it is the same in a mirror; it ends when the rate has fallen to its last value.
    let fall = times("ramp:190/s..10/s", 0, 1, 10_000);
    assert_eq!(fall.len(), 1000);
    for (k, &t) in fall.iter().enumerate() {
        let t = t as f64 / 1e9;
        assert!(
            (190.0 * t - 9.0 * t * t - k as f64).abs() < 1e-6,
            "{k} at {t}"
        );
    }
    // A ramp that does not rise is constant.
    assert_eq!(
        times("ramp:8/s..8/s", 0, 1, 5000),
        times("constant 8/s", 0, 1, 5000)
    );
}

#[test]
fn ramps_of_several_sessions_are_staggered() {
    let mut all: Vec<u64> = (0..3)
        .flat_map(|i| times("ramp:10/s..20/s", i, 3, 6000))
        .collect();
    all.sort_unstable();
    let one = times("ramp:30/s..60/s", 0, 1, 6000);
    assert_eq!(all.len(), one.len());
    assert!(all.iter().zip(&one).all(|(a, b)| a.abs_diff(*b) <= 1));
}

#[test]
fn steps_are_constant_rates_one_after_the_other() {
    assert_eq!(
        times("steps:2/s@1s,4/s@1s", 0, 1, 60_000),
        [0, 500, 1000, 1250, 1500, 1750].map(|t: u64| t * 1_000_000)
    );
    // A phase that is shorter cuts them off.
    assert_eq!(times("steps:2/s@1s,4/s@1s", 0, 1, 1200).len(), 3);
}

#[test]
fn bursts_of_all_sessions_come_together() {
    let one = times("burst:3/100ms", 0, 2, 250);
    assert_eq!(
        one,
        [0, 0, 0, 100, 100, 100, 200, 200, 200].map(|t: u64| t * 1_000_000)
    );
    assert_eq!(times("burst:3/100ms", 1, 2, 250), one);
}

/// How far a sample is from the standard exponential distribution: A² of Anderson and Darling (1954)
/// with all parameters known. Large samples exceed 2.492 in 5 and 3.857 in 1 of 100 cases.
fn anderson_darling(mut sample: Vec<f64>) -> f64 {
    sample.sort_by(f64::total_cmp);
    let n = sample.len();
    let sum: f64 = (0..n)
        .map(|i| {
            let below = (-(-sample[i]).exp_m1()).ln();
            let above = -sample[n - 1 - i];
            (2 * i + 1) as f64 * (below + above)
        })
        .sum();
    -(n as f64) - sum / n as f64
}

/// Gaps in units of their mean.
fn gaps(times: impl Iterator<Item = u64>, rate: f64) -> Vec<f64> {
    let mut last = 0;
    times
        .map(|t| {
            // Half a nanosecond for the rounding, so that no gap is zero.
            let gap = (t - last) as f64 + 0.5;
            last = t;
            gap * rate / 1e9
        })
        .collect()
}

fn poisson(seed: u64, index: u32) -> Schedule {
    let day = Duration::from_secs(86_400);
    Schedule::new(&pace("poisson 1k/s"), seat(index), 64, seed, day)
}

#[test]
fn gaps_of_poisson_arrivals_pass_the_anderson_darling_test() {
    let tests: Vec<f64> = (0..400)
        .map(|i| anderson_darling(gaps(poisson(i / 20, (i % 20) as u32).take(2000), 1000.0)))
        .collect();
    let beyond = |limit: f64| tests.iter().filter(|&&a| a > limit).count();
    // As many as chance lets fail, within three and a half standard deviations: 20 ± 15 and 4 ± 7.
    assert!(
        (5..=35).contains(&beyond(2.492)),
        "{} of 400",
        beyond(2.492)
    );
    assert!(beyond(3.857) <= 11, "{} of 400", beyond(3.857));
    // A long one finds small deviations.
    let long = anderson_darling(gaps(poisson(7, 3).take(1_000_000), 1000.0));
    assert!(long < 3.857, "{long}");
}

#[test]
fn poisson_arrivals_of_all_sessions_together_are_poisson_too() {
    let mut all: Vec<u64> = (0..16)
        .flat_map(|i| poisson(5, i).take_while(|&t| t < SECOND))
        .collect();
    all.sort_unstable();
    let a = anderson_darling(gaps(all.into_iter(), 16_000.0));
    assert!(a < 3.857, "{a}");
}

#[test]
fn the_anderson_darling_test_finds_what_is_not_exponential() {
    let constant = Schedule::new(
        &pace("constant 1k/s"),
        seat(1),
        2,
        1,
        Duration::from_secs(10),
    );
    assert!(anderson_darling(gaps(constant, 1000.0)) > 100.0);
    // Of a rate that is five percent too high.
    assert!(anderson_darling(gaps(poisson(1, 1).take(20_000), 950.0)) > 3.857);
    // Gaps that end at four times their mean.
    let mut last = 0;
    let cut = poisson(1, 1).take(20_000).filter(move |&t| {
        let near = t - last < 4_000_000;
        last = t;
        near
    });
    assert!(anderson_darling(gaps(cut, 1000.0)) > 3.857);
}

#[test]
fn a_poisson_gap_knows_nothing_of_the_one_before_it() {
    let gaps = gaps(poisson(2, 0).take(200_000), 1000.0);
    let n = gaps.len() as f64;
    let together: f64 = gaps
        .windows(2)
        .map(|two| (two[0] - 1.0) * (two[1] - 1.0))
        .sum();
    // The correlation of independent gaps has the standard deviation 1/√n.
    assert!((together / n).abs() < 4.0 / n.sqrt(), "{}", together / n);
    let other: f64 = gaps
        .iter()
        .zip(self::gaps(poisson(2, 1).take(200_000), 1000.0))
        .map(|(a, b)| (a - 1.0) * (b - 1.0))
        .sum();
    assert!((other / n).abs() < 4.0 / n.sqrt(), "{}", other / n);
}

#[test]
fn poisson_times_are_the_same_on_every_machine() {
    // Computed once by other code, with another logarithm. A change would change old plans.
    let first: Vec<u64> = poisson(1, 0).take(5).collect();
    assert_eq!(first, FIRST);
    assert_ne!(first, poisson(1, 1).take(5).collect::<Vec<_>>());
    assert_ne!(first, poisson(2, 0).take(5).collect::<Vec<_>>());
    let other_target = Seat {
        target: 1,
        index: 0,
    };
    let day = Duration::from_secs(86_400);
    let other = Schedule::new(&pace("poisson 1k/s"), other_target, 64, 1, day);
    assert_ne!(first, other.take(5).collect::<Vec<_>>());
}

const FIRST: [u64; 5] = [558_423, 2_585_564, 3_887_765, 4_085_760, 4_164_214];

fn phase(arrival: &str) -> Phase {
    let node: plan::NodeSpec = "i=2258".parse().unwrap();
    Phase {
        arrival: Arrival::Open(pace(arrival)),
        warmup: Warmup::Given {
            warmup: Duration::from_secs(1),
        },
        cooldown: Duration::from_secs(1),
        duration: Some(Duration::from_secs(2)),
        ..Phase::new(Work::Read(Read::new(node.into())))
    }
}

#[test]
fn warm_up_and_cool_down_have_the_rates_at_either_end_of_the_phase() {
    let counts = |arrival: &str| {
        let mut counts = [0; 5];
        for t in Schedule::of_phase(&phase(arrival), seat(0)).unwrap() {
            counts[(t / SECOND) as usize] += 1;
        }
        counts
    };
    assert_eq!(counts("constant 10/s"), [10, 10, 10, 10, 0]);
    assert_eq!(counts("ramp:10/s..50/s"), [10, 20, 40, 50, 0]);
    assert_eq!(counts("steps:10/s@1s,50/s@1s"), [10, 10, 50, 50, 0]);
    // Steps that would go on longer than the phase.
    assert_eq!(counts("steps:10/s@1s,50/s@1s,99/s@5s"), [10, 10, 50, 50, 0]);
    assert_eq!(counts("burst:5/500ms"), [10, 10, 10, 10, 0]);
}

#[test]
fn a_phase_that_ends_by_its_requests_has_a_schedule_without_an_end() {
    let phase = Phase {
        duration: None,
        requests: Some(5),
        ..phase("constant 1/h")
    };
    let hours = Schedule::of_phase(&phase, seat(0))
        .unwrap()
        .take(1000)
        .last();
    assert_eq!(hours, Some(999 * 3600 * SECOND));
    let closed = Phase {
        arrival: Arrival::one_in_flight(),
        ..phase
    };
    assert!(Schedule::of_phase(&closed, seat(0)).is_none());
}

fn any_pace() -> impl Strategy<Value = Pace> {
    let rate = || {
        (1u64..50_000, 1u64..1000)
            .prop_map(|(count, seconds)| Rate::new(count, seconds * SECOND).unwrap())
    };
    prop_oneof![
        rate().prop_map(|rate| Pace::Constant { rate }),
        rate().prop_map(|rate| Pace::Poisson { rate }),
        (rate(), rate()).prop_map(|(from, to)| Pace::Ramp { from, to }),
        prop::collection::vec((rate(), 1u64..5000), 1..5).prop_map(|steps| {
            let step = |(rate, millis)| plan::RateStep {
                rate,
                duration: Duration::from_millis(millis),
            };
            Pace::Steps {
                steps: steps.into_iter().map(step).collect(),
            }
        }),
        (1u32..50, 1u64..1000).prop_map(|(requests, millis)| Pace::Burst {
            requests,
            period: Duration::from_millis(millis),
        }),
    ]
}

proptest! {
    #[test]
    fn times_never_fall_and_stay_within_the_phase(
        pace in any_pace(),
        sessions in 1u32..20,
        seed: u64,
        millis in 0u64..10_000,
    ) {
        let duration = Duration::from_millis(millis);
        for index in [0, sessions - 1] {
            let times: Vec<u64> = Schedule::new(&pace, seat(index), sessions, seed, duration).collect();
            prop_assert!(times.is_sorted());
            prop_assert!(times.last().is_none_or(|&last| last < millis * 1_000_000));
            let again: Vec<u64> = Schedule::new(&pace, seat(index), sessions, seed, duration).collect();
            prop_assert_eq!(times, again);
        }
    }

    #[test]
    fn all_sessions_together_have_as_many_as_their_rates_say(
        pace in any_pace(),
        sessions in 1u32..20,
        millis in 1u64..10_000,
    ) {
        let duration = Duration::from_millis(millis);
        let count: usize = (0..sessions)
            .map(|index| Schedule::new(&pace, seat(index), sessions, 1, duration).count())
            .sum();
        let count = count as f64;
        let n = f64::from(sessions);
        let seconds = duration.as_secs_f64();
        let (expected, slack) = match &pace {
            // Evenly spaced, the first at zero.
            Pace::Constant { rate } => (rate.as_f64() * n * seconds, 1.0),
            Pace::Ramp { .. } => (pace.mean_rate() * n * seconds, 1.5),
            Pace::Steps { steps } => {
                let mut left = seconds;
                let mut sum = 0.0;
                for step in steps {
                    let lasting = step.duration.as_secs_f64().min(left);
                    sum += step.rate.as_f64() * n * lasting;
                    left -= lasting;
                }
                (sum, steps.len() as f64)
            }
            Pace::Burst { requests, period } => {
                let bursts = millis.div_ceil(u64::try_from(period.as_millis()).unwrap());
                (f64::from(*requests) * n * bursts as f64, 0.0)
            }
            Pace::Poisson { rate } => {
                let mean = rate.as_f64() * n * seconds;
                (mean, 6.0 * mean.sqrt() + 20.0)
            }
        };
        prop_assert!((count - expected).abs() <= slack + 1e-6, "{count} instead of {expected}");
    }
}
