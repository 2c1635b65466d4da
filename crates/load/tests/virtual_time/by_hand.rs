//! What a person at the keys does to a phase while it runs.

use std::time::Duration;

use load::engine::Level;
use record::Measure;

use crate::bench::{Fate, MS, S, US, World};
use crate::{SECOND, alike_for_any_number_of_cores, closed, constant, quantile};

fn offered(percent: u32) -> Level {
    Level {
        paused: false,
        percent,
    }
}

const PAUSED: Level = Level {
    paused: true,
    percent: 100,
};

#[test]
fn what_a_person_adds_to_a_plan_is_offered_evenly_from_that_moment_on() {
    let mut world = World::new(constant(200), SECOND * 4).conduct(|_, _| Fate::Answer(MS));
    world.phase.sessions = 3;
    world.by_hand = vec![(S, offered(150)), (3 * S, offered(50))];
    let one = alike_for_any_number_of_cores(&world, "150 % and 50 %");
    let sent = |from: u64, to: u64| one[0].window(from, to).sum.counters.sent;
    assert_eq!(one[0].whole().sum.counters.planned(), 3 * (200 + 600 + 100));
    assert_eq!(sent(0, S), 600);
    assert_eq!(sent(S, 3 * S), 1800);
    assert_eq!(sent(3 * S, 4 * S), 300);
    // Each when it is due: not in heaps of what was added.
    assert!(quantile(&one[0], Measure::Lateness, 1.0) < 10 * US);
}

#[test]
fn a_pause_is_no_backlog_and_no_lateness() {
    for arrival in [constant(500), closed(2, Duration::ZERO)] {
        let mut world =
            World::new(arrival.clone(), SECOND * 4).conduct(|_, _| Fate::Answer(4 * MS));
        world.by_hand = vec![(S, PAUSED), (3 * S, Level::PLANNED)];
        let tally = world.tally();
        let counters = tally.window(S + 100 * MS, 3 * S).sum.counters;
        assert_eq!(counters.sent, 0, "{arrival}");
        let all = tally.whole().sum.counters;
        // It ends later by as long as it was paused, so that all of the plan is carried out.
        assert_eq!(tally.end_ns, Some(6 * S), "{arrival}");
        assert!((1990..=2010).contains(&all.sent), "{arrival}: {}", all.sent);
        assert_eq!(all.sent, all.completed, "{arrival}");
        assert_eq!(all.unsent, 0, "{arrival}");
        // What was planned just before the pause and was seen after it is sent late by a tick at most.
        assert!(
            quantile(&tally, Measure::Lateness, 1.0) < 20 * MS,
            "{arrival}"
        );
    }
}

#[test]
fn in_a_closed_loop_more_are_in_flight_and_then_fewer() {
    let mut world =
        World::new(closed(2, Duration::ZERO), SECOND * 3).conduct(|_, _| Fate::Answer(10 * MS));
    world.phase.sessions = 5;
    world.by_hand = vec![(S, offered(130)), (2 * S, offered(10))];
    let tally = world.tally();
    // Each request takes 10 ms: so many in flight are a hundred times as many a second.
    for (from, in_flight) in [(0, 10), (S, 13), (2 * S, 1)] {
        let window = tally.window(from + 100 * MS, from + S);
        let per_second = window.sum.counters.completed as f64 / 0.9;
        let wanted = f64::from(in_flight) * 100.0;
        assert!(
            (per_second - wanted).abs() < 0.03 * wanted,
            "{in_flight} in flight: {per_second}/s"
        );
    }
}

#[test]
fn a_phase_ends_later_by_as_long_as_a_person_paused_it_and_all_of_its_plan_is_sent() {
    let mut world = World::new(constant(100), SECOND).conduct(|_, _| Fate::Answer(MS));
    world.phase.sessions = 3;
    world.by_hand = vec![
        (500 * MS, PAUSED),
        (1700 * MS, Level::PLANNED),
        (2000 * MS, PAUSED),
        (2100 * MS, Level::PLANNED),
    ];
    let one = alike_for_any_number_of_cores(&world, "two pauses");
    // An open loop is over with the last answer, if nothing more falls due before its end.
    let end = one[0].end_ns.unwrap();
    assert!((2290 * MS..=2300 * MS).contains(&end), "{end}");
    let counters = one[0].whole().sum.counters;
    assert_eq!(
        (counters.sent, counters.completed, counters.unsent),
        (300, 300, 0)
    );
    assert_eq!(one[0].window(600 * MS, 1700 * MS).sum.counters.sent, 0);
}

#[test]
fn a_phase_that_is_ended_in_a_pause_has_its_end_there() {
    let mut world = World::new(constant(100), SECOND).conduct(|_, _| Fate::Answer(MS));
    world.by_hand = vec![(500 * MS, PAUSED)];
    world.stopped = Some(3 * S);
    let tally = world.tally();
    // What ends it is noticed within a tick.
    let end = tally.end_ns.unwrap();
    assert!((3 * S..3 * S + 20 * MS).contains(&end), "{end}");
    let counters = tally.whole().sum.counters;
    assert!((50..=51).contains(&counters.sent), "{}", counters.sent);
    assert_eq!(counters.unsent, 0);
}
