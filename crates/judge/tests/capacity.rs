//! The search for a capacity against pretended servers whose capacity is known.

#![allow(clippy::unwrap_used, clippy::panic, clippy::expect_used)]

use crate::bench::{Bench, Dice, MS, S};
use judge::capacity::{Answer, Bounds, Capacity, End, Judgement, Next, Search, Why};
use plan::{Random, Threshold};
use record::run::{Kind, Phase, WarmUp};

/// Carries a search out against something that answers for a load.
fn search(bounds: Bounds, mut server: impl FnMut(f64) -> Answer) -> (Capacity, Search) {
    let mut search = Search::new(bounds);
    loop {
        match search.next() {
            Next::Try(load) => {
                let answer = server(load);
                search.tell(load, answer);
            }
            Next::Found(found) => return (found, search),
        }
    }
}

fn at_most(capacity: f64) -> impl FnMut(f64) -> Answer {
    move |load| match load <= capacity {
        true => Answer::Met,
        false => Answer::Missed,
    }
}

/// Answers by a capacity, but wrongly once in so many trials.
fn noisy(capacity: f64, wrong_one_in: u64, seed: u64) -> impl FnMut(f64) -> Answer {
    let mut random = Random::new(seed);
    move |load| {
        let wrong = random.next_u64().is_multiple_of(wrong_one_in);
        match (load <= capacity) != wrong {
            true => Answer::Met,
            false => Answer::Missed,
        }
    }
}

#[test]
fn a_capacity_is_found_within_two_percent_from_any_start() {
    for capacity in [0.7, 13.0, 1_999.0, 250_000.0] {
        for start in [1.0, 100.0, 3_000.0] {
            let bounds = Bounds {
                least: 0.01,
                ..Bounds::from(start)
            };
            let (found, search) = search(bounds, at_most(capacity));
            assert_eq!(found.end, End::Knee);
            let (low, high) = (found.low.unwrap(), found.high.unwrap());
            assert!(low <= capacity && capacity <= high, "{found:?}");
            assert!(high <= low * 1.02, "{found:?}");
            let (holds, fails) = (found.holds.unwrap(), found.fails.unwrap());
            assert!(holds <= capacity && capacity < fails, "{found:?}");
            assert!(search.trials() < 45, "{}", search.trials());
        }
    }
}

#[test]
fn whole_numbers_are_found_exactly() {
    for capacity in 1..100 {
        let bounds = Bounds {
            whole: true,
            least: 1.0,
            precision: 0.0,
            ..Bounds::from(3.0)
        };
        let (found, _) = search(bounds, at_most(f64::from(capacity)));
        assert_eq!(found.knee, Some(f64::from(capacity)), "{found:?}");
        assert_eq!(found.holds, Some(f64::from(capacity)));
        assert_eq!(found.fails, Some(f64::from(capacity + 1)));
    }
}

/// How many of so many searches come within 3 % of a capacity of 2,000, and how many trials they take.
fn right(
    searches: u64,
    mut server: impl FnMut(u64) -> Box<dyn FnMut(f64) -> Answer>,
) -> (u64, u64) {
    let (mut right, mut trials) = (0, 0);
    for seed in 1..=searches {
        let bounds = Bounds {
            seed,
            ..Bounds::from(100.0)
        };
        let (found, search) = search(bounds, server(seed));
        let near = |knee: f64| (knee / 2_000.0 - 1.0).abs() <= 0.03;
        right += u64::from(found.knee.is_some_and(near));
        trials += u64::from(search.trials());
    }
    (right, trials / searches)
}

#[test]
fn answers_that_are_wrong_now_and_then_mislead_no_search() {
    for wrong_one_in in [1_000_000, 20, 10] {
        let (right, trials) = right(60, |seed| Box::new(noisy(2_000.0, wrong_one_in, seed)));
        println!("{right} of 60 in {trials} trials each");
        assert!(right >= 59, "{right}");
        assert!(trials < 50, "{trials}");
    }
}

#[test]
fn a_host_that_makes_every_fourth_trial_miss_takes_more_trials_and_leads_to_the_same_knee() {
    let (right, _) = right(60, |seed| {
        let mut random = Random::new(seed);
        Box::new(move |load| {
            let stopped = random.next_u64().is_multiple_of(4);
            match load <= 2_000.0 && !stopped {
                true => Answer::Met,
                false => Answer::Missed,
            }
        })
    });
    assert!(right >= 58, "{right}");
}

#[test]
fn a_knee_that_is_no_edge_is_found_where_half_of_the_trials_meet_the_objective() {
    // Three in four at 1,960 and one in four at 2,040.
    let (right, _) = right(60, |seed| {
        let mut random = Random::new(seed);
        Box::new(move |load| {
            let chance = 1.0 / (1.0 + ((load / 2_000.0).ln() / 0.018).exp());
            match random.above_zero() <= chance {
                true => Answer::Met,
                false => Answer::Missed,
            }
        })
    });
    assert!(right >= 57, "{right}");
}

#[test]
fn a_load_that_is_never_reached_and_one_that_is_too_much_from_the_start_are_told_apart() {
    let bounds = Bounds {
        most: Some(1_000.0),
        ..Bounds::from(100.0)
    };
    let (found, _) = search(bounds.clone(), at_most(1e9));
    assert_eq!((found.end, found.holds), (End::Most, Some(1_000.0)));
    let (found, _) = search(
        Bounds {
            least: 10.0,
            ..bounds
        },
        at_most(1.0),
    );
    assert_eq!((found.end, found.holds), (End::Least, None));
    assert_eq!(found.fails, Some(10.0));
}

#[test]
fn the_generator_is_named_when_it_is_the_limit_but_not_for_one_bad_moment() {
    let (found, _) = search(Bounds::from(100.0), |load| match load > 3_000.0 {
        true => Answer::Generator,
        false => Answer::Met,
    });
    assert_eq!((found.end, found.holds), (End::Generator, Some(1_600.0)));

    let mut first = true;
    let (found, _) = search(Bounds::from(100.0), |load| {
        if load > 500.0 && std::mem::take(&mut first) {
            return Answer::Generator;
        }
        at_most(2_000.0)(load)
    });
    assert_eq!(found.end, End::Knee);
}

#[test]
fn a_generator_that_is_late_now_and_then_on_a_busy_host_is_not_the_limit() {
    let (right, _) = right(50, |seed| {
        let mut random = Random::new(seed);
        let mut server = at_most(2_000.0);
        Box::new(move |load| match random.next_u64().is_multiple_of(8) {
            true => Answer::Generator,
            false => server(load),
        })
    });
    assert!(right >= 48, "{right}");
}

#[test]
fn what_does_not_settle_is_tried_again_and_then_counts_as_missed() {
    let (found, search) = search(Bounds::from(100.0), |load| match load > 700.0 {
        true => Answer::Unsteady,
        false => Answer::Met,
    });
    assert_eq!(found.end, End::Knee);
    assert!(found.holds.unwrap() <= 700.0);
    assert!((found.knee.unwrap() / 700.0 - 1.0).abs() < 0.02);
    let unsteady = search.points().iter().find(|p| p.load > 700.0).unwrap();
    assert!(unsteady.unsteady >= 3);
}

#[test]
fn a_search_that_never_agrees_with_itself_ends() {
    let bounds = Bounds {
        trials: 30,
        ..Bounds::from(100.0)
    };
    let mut random = Random::new(7);
    let (found, search) = search(bounds, |_| match random.next_u64() & 1 {
        0 => Answer::Met,
        _ => Answer::Missed,
    });
    assert!(search.trials() <= 30);
    assert!(matches!(found.end, End::Unclear | End::Knee | End::Least));
}

#[test]
fn a_search_that_was_cut_off_goes_on_where_it_was() {
    let bounds = Bounds::from(100.0);
    let mut whole = Search::new(bounds.clone());
    let mut server = noisy(2_000.0, 10, 3);
    let mut told = Vec::new();
    while let Next::Try(load) = whole.next() {
        let answer = server(load);
        told.push((load, answer));
        whole.tell(load, answer);
    }
    let mut again = Search::new(bounds);
    for (load, answer) in told {
        assert_eq!(again.next(), Next::Try(load));
        again.tell(load, answer);
    }
    assert_eq!(again.next(), whole.next());
    assert_eq!(again.points(), whole.points());
}

/// A trial of a pretended server that takes a millisecond for each request, one after the other.
fn trial(bench: &Bench) -> Phase {
    let evidence = bench.evidence();
    let warm_up = WarmUp {
        cut_ns: evidence.settling.cut_ns,
        ..WarmUp::default()
    };
    let name = |code: u32| format!("{code:08X}");
    let started = "2026-03-01T09:30:00Z".parse().unwrap();
    let mut phase = Phase::new("trial", started, &bench.run(), warm_up, 0, &name);
    phase.verdict = evidence.verdict();
    phase
}

fn asked(rate: f64, seed: u64) -> Bench {
    Bench {
        length: 2 * S,
        rate: Some(rate),
        workers: 1,
        work: Box::new(|_, _| MS),
        ..Bench::new(seed)
    }
}

fn judged(bench: &Bench, objective: &str) -> Judgement {
    let objective: Threshold = objective.parse().unwrap();
    Judgement::of(&trial(bench), &[objective], true)
}

#[test]
fn a_queue_that_grows_is_missed_before_the_objective_is() {
    let above = judged(&asked(1_010.0, 1), "p99<1s");
    assert_eq!(above.answer, Answer::Missed);
    let Some(Why::Behind(share)) = above.why else {
        panic!("{above:?}")
    };
    assert!((share - 0.01).abs() < 0.003, "{share}");
    let below = judged(&asked(995.0, 1), "p99<1s");
    assert_eq!(below.answer, Answer::Met);
}

#[test]
fn a_stall_is_no_growth() {
    for at in [300, 1_000, 1_700] {
        let stalled = Bench {
            stall: Some((at * MS, (at + 100) * MS)),
            ..asked(950.0, 1)
        };
        let patient = judged(&stalled, "p99<1s");
        assert_eq!(patient.answer, Answer::Met, "{at} {patient:?}");
        let strict = judged(&stalled, "p99<20ms");
        assert_eq!(strict.why, Some(Why::Objective("p99<20ms".to_owned())));
    }
}

#[test]
fn a_late_generator_has_shown_what_a_server_bears_but_not_what_it_does_not() {
    let late = Bench {
        pacer: Box::new(|_, dice| 3 * MS + dice.exponential(1e6) as u64),
        ..asked(500.0, 1)
    };
    assert_eq!(trial(&late).verdict.kind, Kind::GeneratorLimited);
    let met = judged(&late, "p99<50ms");
    assert_eq!((met.answer, met.why), (Answer::Met, Some(Why::Late)));
    assert_eq!(judged(&late, "p99<3ms").answer, Answer::Generator);
}

/// Nothing is cut off a trial that stops, so one that does misses the objective. Chance alone lets four of
/// four trials stop at one load, and the search believes them: so it was for 2 of the first 120 seeds.
#[test]
fn the_capacity_of_a_server_is_found_on_a_host_that_stops_now_and_then() {
    let mut misled = Vec::new();
    for seed in 1..=10 {
        let bounds = Bounds {
            seed,
            ..Bounds::from(100.0)
        };
        let mut dice = Dice::new(seed);
        let (found, search) = search(bounds, |load| {
            // One trial in three has a stop of up to 200 ms, which takes seconds to make up for.
            let from = 200 * MS + dice.next() % (1_500 * MS);
            let stop = (dice.share() < 0.3).then(|| (from, from + dice.next() % (200 * MS)));
            let bench = Bench {
                stall: stop,
                ..asked(load, dice.next())
            };
            judged(&bench, "p99<20ms").answer
        });
        let knee = found.knee.unwrap();
        if (knee / 1_000.0 - 1.0).abs() > 0.03 {
            misled.push((seed, found));
        }
        assert!(search.trials() <= 60, "{seed}: {}", search.trials());
    }
    assert!(misled.len() <= 1, "{misled:?}");
}
