//! The search for a capacity against pretended servers whose capacity is known.

#![allow(clippy::unwrap_used, clippy::panic, clippy::expect_used)]

use judge::capacity::{Answer, Bounds, Capacity, End, Next, Search};
use plan::Random;

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
            let (holds, fails) = (found.holds.unwrap(), found.fails.unwrap());
            assert!(holds <= capacity && capacity < fails, "{holds} {fails}");
            assert!(fails <= holds * 1.02 + 1e-9, "{holds} {fails}");
            assert!(search.trials() < 40, "{}", search.trials());
        }
    }
}

#[test]
fn whole_numbers_are_found_exactly() {
    for capacity in 1..200 {
        let bounds = Bounds {
            whole: true,
            least: 1.0,
            precision: 0.0,
            ..Bounds::from(3.0)
        };
        let (found, _) = search(bounds, at_most(f64::from(capacity)));
        assert_eq!(found.holds, Some(f64::from(capacity)));
        assert_eq!(found.fails, Some(f64::from(capacity + 1)));
    }
}

#[test]
fn trying_the_edges_again_makes_up_for_wrong_answers() {
    // One answer in twenty is wrong, and a search takes a dozen of them.
    let right = |confirm: u32| {
        let right = |&seed: &u64| {
            let bounds = Bounds {
                seed,
                confirm,
                ..Bounds::from(100.0)
            };
            let (found, _) = search(bounds, noisy(2_000.0, 20, seed));
            let near = |holds: f64| (holds / 2_000.0 - 1.0).abs() <= 0.03;
            found.holds.is_some_and(near)
        };
        (0..1_000).filter(right).count()
    };
    let (once, thrice) = (right(1), right(3));
    assert!(once < 700, "{once}");
    assert!(thrice > 900, "{thrice}");
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
fn what_does_not_settle_is_tried_again_and_then_counts_as_missed() {
    let (found, search) = search(Bounds::from(100.0), |load| match load > 700.0 {
        true => Answer::Unsteady,
        false => Answer::Met,
    });
    assert_eq!(found.end, End::Knee);
    assert!(found.holds.unwrap() <= 700.0);
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
