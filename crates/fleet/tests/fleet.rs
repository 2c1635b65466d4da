//! Fleets in virtual time: a network with delays, clocks that are off, agents that die, and a load that is a function
//! of the session alone.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod world;

use fleet::{Event, FromAgent, Stage};
use record::Tally;
use world::{Fault, Outcome, Shape, World, alone};

const MS: u64 = 1_000_000;
const S: u64 = 1_000 * MS;

fn fleet_of(agents: usize) -> Outcome {
    World::new(Shape::default(), agents).play()
}

fn sum(outcome: &Outcome) -> Tally {
    let mut sum = Tally::default();
    for (_, tally) in &outcome.results {
        sum.merge(tally);
    }
    sum
}

#[test]
fn n_agents_give_bit_for_bit_the_results_of_one() {
    let one = alone(&Shape::default());
    assert!(one.whole().sum.counters.completed > 1000);
    for agents in [1, 2, 3, 7, 30, 40] {
        let outcome = fleet_of(agents);
        assert_eq!(sum(&outcome), one, "{agents} agents");
        assert!(outcome.lost.is_empty());
    }
}

#[test]
fn clocks_that_are_off_by_30_ms_and_200_ppm_lie_in_their_bands_and_all_begin_within_them() {
    for seed in 0..100 {
        let mut shape = Shape {
            seed,
            ..Shape::default()
        };
        shape.agents = vec![(30 * MS as i64, 200e-6), (-30 * MS as i64, -200e-6)];
        let outcome = World::new(shape, 2).play();
        for (agent, begin) in outcome.begins.iter().enumerate() {
            let begin = begin.unwrap();
            assert!(begin.band.holds(begin.ahead), "run {seed}, agent {agent}");
            let off = begin.at_ns.abs_diff(outcome.start_ns.unwrap()) as f64;
            assert!(
                off <= begin.band.error() + 1000.0,
                "run {seed}, agent {agent}: {off}"
            );
            // The ways take up to 3 ms; the band is not wider than they were.
            assert!(begin.band.error() < 4.0 * MS as f64, "{:?}", begin.band);
        }
    }
}

#[test]
fn an_agent_lost_at_any_stage_leaves_the_others_results_and_its_own_name() {
    let at = |fault| {
        let mut world = World::new(Shape::default(), 3);
        world.fault = Some((1, fault));
        world.play()
    };
    let whole = alone(&Shape::default());
    for stage in [
        Stage::Greeting,
        Stage::Waiting,
        Stage::Preparing,
        Stage::Ready,
        Stage::Running,
        Stage::Booking,
    ] {
        for fault in [Fault::Closes(stage), Fault::FallsSilent(stage)] {
            let outcome = at(fault.clone());
            let [(agent, lost, why)] = outcome.lost.as_slice() else {
                panic!("{fault:?}: {:?}", outcome.lost);
            };
            // All begin when the last one is ready: who says nothing more then is missed later.
            let missed = match fault {
                Fault::FallsSilent(Stage::Ready) => Stage::Running,
                _ => stage,
            };
            assert_eq!((*agent, *lost), (1, missed), "{fault:?}");
            let said = match fault {
                Fault::Closes(_) => "its pipe ended",
                Fault::FallsSilent(Stage::Greeting) => "it did not say who it is for 30 s",
                _ => "it said nothing for 10 s",
            };
            assert_eq!(why, said);
            let agents: Vec<usize> = outcome.results.iter().map(|(agent, _)| *agent).collect();
            // Who is lost before sessions are dealt out leaves them to the others.
            let completed = sum(&outcome).whole().sum.counters.completed;
            if stage <= Stage::Waiting {
                assert_eq!(sum(&outcome), whole);
            } else {
                assert!(
                    completed < whole.whole().sum.counters.completed,
                    "{fault:?}"
                );
            }
            assert_eq!(agents, [0, 2], "{fault:?}");
            assert!(outcome.over);
        }
    }
}

#[test]
fn a_controller_that_dies_or_falls_silent_stops_the_load_of_all_agents() {
    for silent in [false, true] {
        let mut world = World::new(Shape::default(), 3);
        world.controller_dies = Some((4 * S, silent));
        let outcome = world.play();
        for stopped in &outcome.stopped {
            let (at, why) = stopped.as_ref().expect("an agent that goes on");
            match silent {
                false => assert_eq!(why, "the pipe ended"),
                true => assert_eq!(why, "the controller said nothing for 10 s"),
            }
            assert!(*at < 4 * S + 10 * S + 100 * MS, "{at}");
        }
        assert!(outcome.results.is_empty());
    }
}

#[test]
fn a_stop_brings_the_results_of_what_was_done_until_then() {
    let mut world = World::new(Shape::default(), 3);
    world.stop_at = Some(4 * S);
    let outcome = world.play();
    let whole = alone(&Shape::default()).whole().sum.counters.completed;
    let done = sum(&outcome).whole().sum.counters.completed;
    assert!(done > 0 && done < whole, "{done} of {whole}");
    assert_eq!(outcome.results.len(), 3);
    assert!(outcome.lost.is_empty());
}

#[test]
fn an_agent_of_another_version_gets_no_share() {
    let mut world = World::new(Shape::default(), 2);
    world.versions[1] = "0.0.9".to_owned();
    let outcome = world.play();
    assert_eq!(outcome.mismatched, [(1, "0.0.9".to_owned())]);
    assert_eq!(sum(&outcome), alone(&Shape::default()));
}

#[test]
fn an_agent_that_says_what_it_should_not_is_lost_and_what_it_says_later_is_nothing() {
    let mut world = World::new(Shape::default(), 2);
    world.fault = Some((0, Fault::Says(FromAgent::Ready { rest_ns: 0 })));
    let outcome = world.play();
    let [(0, Stage::Waiting, why)] = outcome.lost.as_slice() else {
        panic!("{:?}", outcome.lost);
    };
    assert_eq!(why, "it said that it is ready before it had its share");
    assert_eq!(sum(&outcome), alone(&Shape::default()));
}

#[test]
fn an_agent_that_cannot_do_its_share_says_why() {
    let mut world = World::new(Shape::default(), 2);
    world.fault = Some((1, Fault::Fails("the server is not there")));
    let outcome = world.play();
    assert_eq!(outcome.failed, [(1, "the server is not there".to_owned())]);
    assert_eq!(outcome.results.len(), 1);
    assert!(matches!(outcome.last, Some(Event::Over)));
}

#[test]
fn a_thousand_agents_have_one_controller_and_their_results_add_up() {
    let shape = Shape {
        sessions: 1500,
        long: S,
        ..Shape::default()
    };
    let one = alone(&shape);
    let outcome = World::new(shape, 1000).play();
    assert_eq!(outcome.results.len(), 1000);
    assert_eq!(sum(&outcome), one);
    // Beside the results, what a second of an agent costs the controller is a question, an answer and a message.
    let each = outcome.control_bytes / 1000;
    assert!(each < 4000, "{each} bytes for each agent");
    println!(
        "1000 agents: {} messages, {} bytes of control and {} of results",
        outcome.messages, outcome.control_bytes, outcome.book_bytes
    );
}
