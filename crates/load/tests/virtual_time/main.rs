//! A whole run in virtual time: what lanes write down about servers whose conduct is known.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod bench;
mod by_hand;
mod rest;
mod subscriber;

use std::time::Duration;

use bench::{Fate, MS, S, US, World};
use plan::unit::Rate;
use plan::{Arrival, CatchUp, Pace, Warmup, Work};
use record::ledger::BAD_TIMEOUT;
use record::{Measure, Tally};
use wire::types::StatusCode;

fn rate(per_second: u32) -> Rate {
    Rate::per_second(per_second).unwrap()
}

fn constant(per_second: u32) -> Arrival {
    Arrival::Open(Pace::Constant {
        rate: rate(per_second),
    })
}

fn closed(in_flight: u32, think: Duration) -> Arrival {
    Arrival::Closed { in_flight, think }
}

const SECOND: Duration = Duration::from_secs(1);

fn quantile(tally: &Tally, measure: Measure, q: f64) -> u64 {
    tally.whole().histogram(measure).quantile(q).unwrap()
}

fn sum(tally: &Tally, measure: Measure) -> u128 {
    tally.whole().histogram(measure).sum()
}

/// Of a histogram with three digits.
fn is_about(measured: u64, exact: f64) -> bool {
    (measured as f64 - exact).abs() <= exact * 0.002 + 2.0 * US as f64
}

/// Any number from numbers.
fn mixed(numbers: [u64; 3]) -> u64 {
    numbers.into_iter().fold(0x9e37_79b9_7f4a_7c15, |x, n| {
        let x = (x ^ n).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x ^ (x >> 29)
    })
}

/// Two servers with five sessions each that answer, refuse, abort and say nothing, and stand still in
/// between.
fn eventful(arrival: Arrival) -> World {
    let mut world = World::new(arrival, SECOND).conduct(|seat, n| {
        let x = mixed([u64::from(seat.target), u64::from(seat.index), n]);
        match x % 97 {
            0 => Fate::Swallow,
            1 => Fate::Fault(x % MS, StatusCode::BadTooManyOperations),
            2 => Fate::Abort(x % MS, StatusCode::BadResponseTooLarge),
            _ => Fate::Answer(50 * US + x % (4 * MS)),
        }
    });
    world.targets = 2;
    world.phase.sessions = 5;
    world.phase.slots = 6;
    world.phase.timeout = Duration::from_millis(70);
    world.stall = Some((300 * MS, 420 * MS));
    world
}

fn arrivals() -> [Arrival; 6] {
    let burst = Pace::Burst {
        requests: 20,
        period: Duration::from_millis(37),
    };
    let ramp = Pace::Ramp {
        from: rate(50),
        to: rate(900),
    };
    [
        constant(700),
        Arrival::Open(Pace::Poisson { rate: rate(700) }),
        Arrival::Open(burst),
        Arrival::Open(ramp),
        closed(5, Duration::ZERO),
        closed(3, Duration::from_micros(1300)),
    ]
}

/// What one core writes down, once it is seen that others write the same.
fn alike_for_any_number_of_cores(world: &World, what: &str) -> Vec<Tally> {
    let one = world.run(1);
    for cores in [2, 3, 7, 10] {
        assert!(world.run(cores) == one, "{what}, {cores} cores");
    }
    one
}

#[test]
fn any_number_of_cores_writes_down_what_one_does_bit_for_bit() {
    for arrival in arrivals() {
        let world = eventful(arrival.clone());
        let one = alike_for_any_number_of_cores(&world, &arrival.to_string());
        let counters = one[0].whole().sum.counters;
        assert!(counters.timeouts > 0, "{arrival}");
        assert_eq!(counters.sent, counters.completed, "{arrival}");
    }
}

#[test]
fn so_it_does_when_a_number_of_requests_ends_the_phase_and_nothing_counts_as_drained() {
    for arrival in arrivals() {
        for duration in [None, Some(Duration::from_secs(100))] {
            let mut world = eventful(arrival.clone());
            if matches!(arrival, Arrival::Open(Pace::Ramp { .. })) && duration.is_none() {
                continue;
            }
            // Not divisible by the sessions: some have one more to send than others.
            world.phase.requests = Some(777);
            world.phase.duration = duration;
            let what = format!("777 requests, {arrival}, {duration:?}");
            let one = alike_for_any_number_of_cores(&world, &what);
            let mut sum = one[0].clone();
            sum.merge(&one[1]);
            let whole = sum.whole();
            assert_eq!(whole.sum.counters.completed, 777, "{what}");
            assert_eq!(whole.completed_in_time, 777, "{what}");
            // The phase ends with the last answer, or when its timeout is noticed.
            let end = sum.end_ns.unwrap();
            assert!(end < 20 * S, "{what}: {end}");
        }
    }
}

#[test]
fn so_it_does_when_sessions_are_lost_and_when_it_is_stopped_or_held_up() {
    for arrival in arrivals() {
        let mut lost = eventful(arrival.clone());
        lost.lost = Some((600 * MS, None));
        let mut back = eventful(arrival.clone());
        back.lost = Some((600 * MS, Some(700 * MS)));
        back.phase.reconnect = true;
        let mut stopped = eventful(arrival.clone());
        stopped.stopped = Some(555 * MS);
        let mut held_up = eventful(arrival.clone());
        held_up.starved = Some((450 * MS, 510 * MS));
        let mut narrow = eventful(arrival.clone());
        narrow.socket = 400;
        for (what, world) in [
            ("lost", lost),
            ("back", back),
            ("stopped", stopped),
            ("held up", held_up),
            ("narrow", narrow),
        ] {
            alike_for_any_number_of_cores(&world, &format!("{what}, {arrival}"));
        }
    }
}

#[test]
fn a_session_that_is_lost_while_others_go_on_leaves_its_plan_unsent_to_their_end() {
    for cores in [1, 2] {
        let mut world = World::new(constant(100), Duration::from_secs(4));
        world.targets = 2;
        world.lost = Some((S, None));
        world.lost_target = Some(1);
        let both = world.run(cores);
        let [kept, lost] = [0, 1].map(|n| both[n].whole().sum.counters);
        assert_eq!((kept.completed, kept.unsent), (400, 0));
        assert_eq!(lost.planned(), 400, "{cores} cores");
        assert!(lost.unsent >= 299, "{}", lost.unsent);
        assert_eq!(both[0].end_ns, both[1].end_ns);
    }
}

#[test]
fn behind_a_stall_all_that_fell_due_in_it_shows_in_response_and_service() {
    let mut world = World::new(constant(1000), Duration::from_secs(10));
    world.stall = Some((4 * S, 5 * S));
    let tally = world.tally();
    let whole = tally.whole();
    assert_eq!(whole.sum.counters.completed, 10_000);
    // Sent in time, every one of them; the slowest share x took longer than s − d·x.
    assert_eq!(sum(&tally, Measure::Lateness), 0);
    for q in [0.99, 0.95, 0.92] {
        let exact = 1e9 - 10e9 * (1.0 - q);
        for measure in [Measure::Response, Measure::Service] {
            let got = quantile(&tally, measure, q);
            assert!((got as f64 - exact).abs() < 3e6, "{q}: {got} {exact}");
        }
    }
    assert!(is_about(quantile(&tally, Measure::Response, 0.5), 200e3));
}

#[test]
fn with_one_slot_the_stall_is_in_response_alone_and_the_slot_is_blamed() {
    let mut world = World::new(constant(1000), Duration::from_secs(10));
    world.phase.slots = 1;
    world.stall = Some((4 * S, 5 * S));
    let tally = world.tally();
    assert_eq!(tally.whole().sum.counters.completed, 10_000);
    // 5,000 are answered a second behind the stall while 1,000 fall due.
    for q in [0.99, 0.95, 0.90] {
        let exact = 1e9 - 0.8 * 10e9 * (1.0 - q);
        let got = quantile(&tally, Measure::Response, q);
        assert!((got as f64 - exact).abs() < 3e6, "{q}: {got} {exact}");
        assert!(is_about(quantile(&tally, Measure::Service, q), 200e3));
    }
    assert_eq!(sum(&tally, Measure::Pacer), 0);
    assert_eq!(sum(&tally, Measure::Socket), 0);
    assert_eq!(sum(&tally, Measure::Slot), sum(&tally, Measure::Lateness));
    assert!(sum(&tally, Measure::Slot) > 0);
}

#[test]
fn a_server_that_does_not_read_makes_the_socket_late_and_never_the_pacer() {
    let mut world = World::new(constant(1000), Duration::from_secs(4));
    let Work::Read(read) = &mut world.phase.work else {
        unreachable!()
    };
    // About 18 KB each: the socket and the backlog take a dozen.
    read.batch = 1000;
    world.socket = 100_000;
    world.stall = Some((S, 2 * S));
    let tally = world.tally();
    assert_eq!(tally.whole().sum.counters.completed, 4000);
    assert_eq!(sum(&tally, Measure::Pacer), 0);
    assert_eq!(sum(&tally, Measure::Slot), 0);
    let late = tally.whole();
    let late = late.histogram(Measure::Socket);
    assert!(late.max().unwrap() > 900 * MS, "{:?}", late.max());
    let exact = 1e9 - 4e9 * 0.05;
    let got = quantile(&tally, Measure::Response, 0.95);
    assert!((got as f64 - exact).abs() < 3e6, "{got} {exact}");
}

#[test]
fn a_generator_that_wakes_late_blames_nobody_else() {
    let mut world = World::new(constant(1000), Duration::from_secs(10));
    world.starved = Some((4 * S, 5 * S));
    let tally = world.tally();
    assert_eq!(tally.whole().sum.counters.completed, 10_000);
    assert_eq!(sum(&tally, Measure::Slot), 0);
    assert_eq!(sum(&tally, Measure::Socket), 0);
    for q in [0.99, 0.95, 0.92] {
        let exact = 1e9 - 10e9 * (1.0 - q);
        let pacer = quantile(&tally, Measure::Pacer, q);
        let response = quantile(&tally, Measure::Response, q);
        assert!((pacer as f64 - exact).abs() < 3e6, "{q}: {pacer}");
        assert!((response as f64 - exact).abs() < 3e6, "{q}: {response}");
        assert!(is_about(quantile(&tally, Measure::Service, q), 200e3));
    }
}

#[test]
fn a_generator_that_was_held_up_knows_it_and_takes_what_came_for_an_answer() {
    let closed = Arrival::Closed {
        in_flight: 1,
        think: Duration::ZERO,
    };
    for arrival in [constant(1000), closed] {
        let mut world = World::new(arrival, Duration::from_secs(2));
        // The timeout is over when it wakes, and the answer had been there for long.
        world.phase.timeout = Duration::from_millis(100);
        world.starved = Some((S, S + 300 * MS));
        let (tally, stalls) = world.with_stalls();
        let whole = tally.whole();
        assert_eq!(whole.sum.counters.timeouts, 0, "{}", world.phase.arrival);
        let [stall] = stalls[..] else {
            panic!("{stalls:?}")
        };
        assert_eq!(stall.of, Some(0));
        // Up to a tick of it was sleep that was meant.
        assert!((270 * MS..=300 * MS).contains(&stall.ns), "{stall:?}");
        assert!(stall.until().abs_diff(S + 300 * MS) < 5 * MS, "{stall:?}");
        world.starved = None;
        // A server that stands still is no generator that does.
        world.stall = Some((S, S + 300 * MS));
        let (tally, stalls) = world.with_stalls();
        assert!(stalls.is_empty(), "{stalls:?}");
        assert!(tally.whole().sum.counters.timeouts > 0);
    }
}

#[test]
fn what_fell_due_while_the_generator_was_held_up_is_sent_at_once_or_left_out() {
    let run = |catch_up| {
        let mut world = World::new(constant(1000), Duration::from_secs(2));
        world.phase.catch_up = catch_up;
        world.starved = Some((500 * MS, 800 * MS));
        world.tally().whole().sum.counters
    };
    let burst = run(CatchUp::Burst);
    assert_eq!(
        (burst.sent, burst.skipped, burst.planned()),
        (2000, 0, 2000)
    );
    // Due at 500, 501, … 800 ms and found at 800: all but the last are left out.
    let skip = run(CatchUp::Skip);
    assert_eq!((skip.sent, skip.skipped, skip.planned()), (1700, 300, 2000));
}

#[test]
fn timeouts_aborts_and_faults_stay_in_the_population() {
    let mut world =
        World::new(constant(100), Duration::from_secs(10)).conduct(|_, n| match n % 10 {
            0 => Fate::Swallow,
            1 => Fate::Abort(MS, StatusCode::BadResponseTooLarge),
            2 => Fate::Fault(2 * MS, StatusCode::BadServiceUnsupported),
            _ => Fate::Answer(3 * MS),
        });
    world.phase.timeout = Duration::from_millis(400);
    let whole = world.tally().whole();
    let statuses = &whole.sum.statuses;
    assert_eq!(whole.sum.counters.completed, 1000);
    assert_eq!(whole.sum.counters.timeouts, 100);
    assert_eq!(statuses.of(BAD_TIMEOUT), 100);
    assert_eq!(statuses.of(StatusCode::BadResponseTooLarge.bits()), 100);
    assert_eq!(statuses.of(StatusCode::BadServiceUnsupported.bits()), 100);
    assert_eq!((statuses.of(0), statuses.bad()), (700, 300));
    assert_eq!(whole.sum.counters.values, 700);
    for measure in [Measure::Response, Measure::Service] {
        let histogram = whole.histogram(measure);
        assert_eq!(histogram.count(), 1000);
        assert_eq!(histogram.max(), Some(400 * MS));
        assert!(is_about(histogram.quantile(0.901).unwrap(), 400e6));
        assert!(is_about(histogram.quantile(0.899).unwrap(), 3e6));
    }
}

#[test]
fn a_lost_connection_loses_no_request_from_the_results() {
    // Answers take a little less than 50 ms: sent at 960, 970, 980 and 990 ms by the one session,
    // at 955 to 995 by the other, so many are on their way when it happens.
    let mut world = World::new(constant(100), Duration::from_secs(4));
    world.conduct = std::sync::Arc::new(|_, _| Fate::Answer(50 * MS - 1));
    world.phase.sessions = 2;
    world.lost = Some((S, None));
    let whole = world.tally().whole();
    let counters = whole.sum.counters;
    let lost = whole
        .sum
        .statuses
        .of(StatusCode::BadConnectionClosed.bits());
    assert_eq!(lost, 4 + 5);
    assert_eq!(counters.sent, counters.completed);
    assert_eq!(counters.planned(), counters.completed + counters.unsent);
    assert_eq!(counters.unfinished, 0);
}

#[test]
fn what_fell_due_while_the_connection_was_away_is_sent_late_through_no_fault_of_the_pacer() {
    let mut world = World::new(constant(100), Duration::from_secs(4));
    world.lost = Some((S, Some(2 * S)));
    world.phase.reconnect = true;
    let tally = world.tally();
    let whole = tally.whole();
    assert_eq!(whole.sum.counters.completed, 400);
    assert_eq!(whole.sum.counters.planned(), 400);
    assert_eq!(sum(&tally, Measure::Pacer), 0);
    assert_eq!(sum(&tally, Measure::Slot), 0);
    let late = whole.histogram(Measure::Socket).max().unwrap();
    assert!(late >= 990 * MS, "{late}");
    // Those of one second out of four: the slowest share x waited longer than 1 s − 4 s · x.
    let got = quantile(&tally, Measure::Response, 0.9);
    assert!((got as f64 - 600e6).abs() < 11e6, "{got}");
}

#[test]
fn a_closed_loop_keeps_its_requests_in_flight_through_a_lost_connection() {
    let mut world = World::new(closed(4, Duration::from_millis(10)), Duration::from_secs(4));
    world.lost = Some((S, Some(2 * S)));
    world.phase.reconnect = true;
    let whole = world.tally().whole();
    // Three seconds of four requests, each 10.2 ms; none of the four got lost on the way.
    let wanted = 4.0 * 3.0 / 10.2e-3;
    let completed = whole.sum.counters.completed as f64;
    assert!((completed - wanted).abs() < 16.0, "{completed} {wanted}");
}

#[test]
fn a_closed_loop_follows_answers_after_its_pause() {
    let mut world = World::new(closed(1, Duration::from_millis(3)), Duration::from_secs(4));
    world.conduct = std::sync::Arc::new(|_, _| Fate::Answer(MS));
    let tally = world.tally();
    let counters = tally.whole().sum.counters;
    assert_eq!(counters.completed, 1000);
    assert_eq!(sum(&tally, Measure::Lateness), 0);
    // Planned when the slot was free and the pause over: the pause is in neither figure.
    for measure in [Measure::Response, Measure::Service] {
        assert!(is_about(quantile(&tally, measure, 1.0), 1e6));
    }
}

#[test]
fn a_number_of_requests_is_kept_exactly_and_without_the_warm_up() {
    for arrival in [closed(7, Duration::ZERO), constant(1000)] {
        let mut world = World::new(arrival, SECOND);
        world.phase.duration = None;
        world.phase.sessions = 3;
        world.phase.requests = Some(1000);
        let counters = world.tally().whole().sum.counters;
        assert_eq!((counters.completed, counters.planned()), (1000, 1000));
        world.phase.warmup = Warmup::Given {
            warmup: Duration::from_millis(100),
        };
        let tally = world.tally();
        let after = tally.window(100 * MS, u64::MAX).sum.counters;
        assert_eq!(after.sent, 1000);
        assert!(tally.whole().sum.counters.sent > 1000);
    }
}

#[test]
fn what_is_on_its_way_at_the_end_is_awaited() {
    let mut world = World::new(constant(1000), SECOND);
    world.conduct = std::sync::Arc::new(|_, _| Fate::Answer(150 * MS));
    let drained = world.tally();
    assert_eq!(drained.whole().sum.counters.completed, 1000);
    assert_eq!(drained.whole().completed_in_time, 850);
    assert_eq!(drained.drained.counters.completed, 150);
}

#[test]
fn a_session_that_is_closed_with_requests_on_their_way_counts_them_as_unfinished() {
    let world = World::new(constant(1000), SECOND);
    let cut = world.given_up(100 * MS, 150 * MS).whole();
    let counters = cut.sum.counters;
    assert!((100..=101).contains(&counters.sent), "{}", counters.sent);
    assert_eq!(
        (counters.completed, counters.unfinished),
        (0, counters.sent)
    );
    assert_eq!(counters.planned(), counters.sent + counters.unsent);
    // They are in the population with the time that they were waited for.
    let service = cut.histogram(Measure::Service);
    assert_eq!(service.count(), counters.sent);
    assert_eq!(service.max(), Some(50 * MS));
}

#[test]
fn a_run_that_is_stopped_plans_nothing_behind_its_end() {
    let mut world = World::new(constant(1000), Duration::from_secs(10));
    world.phase.slots = 1;
    // The server hangs when somebody loses patience.
    world.stall = Some((S, 9 * S));
    world.stopped = Some(2 * S);
    let whole = world.tally().whole();
    let counters = whole.sum.counters;
    assert_eq!(counters.planned(), 2000);
    assert_eq!(counters.sent, counters.completed);
    // Those that fell due in the hang and were not sent waited till the end at least.
    assert!(
        (990..=1000).contains(&counters.unsent),
        "{}",
        counters.unsent
    );
    assert_eq!(whole.histogram(Measure::Response).count(), 2000);
}

#[test]
fn a_request_that_the_server_takes_none_of_fails_and_is_not_forgotten() {
    let mut world = World::new(constant(100), SECOND);
    let Work::Read(read) = &mut world.phase.work else {
        unreachable!()
    };
    read.batch = 5000;
    world.largest = 16 * 1024;
    let whole = world.tally().whole();
    assert_eq!(whole.sum.counters.completed, 100);
    let status = StatusCode::BadRequestTooLarge.bits();
    assert_eq!(whole.sum.statuses.of(status), 100);
}

#[test]
fn a_million_requests_take_no_more_memory_than_a_few() {
    // The same times again and again, in bursts so that the test is quick.
    let run = |requests| {
        let burst = Pace::Burst {
            requests,
            period: Duration::from_millis(20),
        };
        let mut world = World::new(Arrival::Open(burst), Duration::from_secs(20))
            .conduct(|_, n| Fate::Answer(50 * US + n % 50 * 7 * US));
        world.phase.sessions = 4;
        let tally = world.tally();
        let completed = tally.whole().sum.counters.completed;
        assert_eq!(completed, u64::from(requests) * 4 * 1000);
        tally.heap_bytes()
    };
    let few = run(25);
    let many = run(250);
    assert!(many < few * 2, "{few} {many}");
}

/// The most memory that this process ever had, in bytes.
#[cfg(target_os = "linux")]
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.unwrap().trim().split(' ').next().unwrap();
    kilobytes.parse::<u64>().unwrap() * 1024
}

/// Takes minutes: `cargo test --release -p load --test virtual_time -- --ignored --nocapture`.
#[cfg(target_os = "linux")]
#[test]
#[ignore = "takes minutes"]
fn a_hundred_million_requests_take_no_more_memory_than_a_million() {
    let mut world = World::new(constant(25_000), Duration::from_secs(10))
        .conduct(|_, n| Fate::Answer(50 * US + n % 50 * 7 * US));
    world.phase.sessions = 4;
    world.tally();
    let few = peak();
    world.phase.duration = Some(Duration::from_secs(1000));
    let tally = world.tally();
    let many = peak();
    assert_eq!(tally.whole().sum.counters.completed, 100_000_000);
    println!("peak of 10^6 requests {few} bytes, of 10^8 {many} bytes");
    // A hundred times as long a phase has more bins, 600 at most; not a byte for each request.
    assert!(many < few + 30_000_000, "{few} {many}");
}

/// Three sessions that send together and are answered after 100, 200 and 300 µs; the slowest of the
/// third cycle after 5 ms.
fn together(cycles: u64) -> World {
    let mut world = World::new(closed(1, Duration::ZERO), SECOND).conduct(|seat, n| {
        let slow = seat.index == 1 && n == 2;
        Fate::Answer(if slow {
            5 * MS
        } else {
            (u64::from(seat.index) + 1) * 100 * US
        })
    });
    world.phase.sessions = 3;
    world.phase.together = true;
    world.phase.duration = None;
    world.phase.requests = Some(3 * cycles);
    world
}

#[test]
fn a_cycle_lasts_until_the_slowest_of_its_sessions_was_answered() {
    let world = together(5);
    let cycles = world.cycles();
    assert_eq!(cycles.len(), 5);
    for (n, took) in cycles.iter().enumerate() {
        let exact = if n == 2 { 5 * MS } else { 300 * US };
        assert!(
            (exact..exact + 20 * US).contains(took),
            "cycle {n}: {took} ns"
        );
    }
    let tally = world.tally();
    assert_eq!(tally.whole().sum.counters.completed, 15);
    // Nobody begins the fourth cycle before the third is over: one response is slow, not three.
    assert_eq!(quantile(&tally, Measure::Response, 0.93) / MS, 0);
    assert_eq!(quantile(&tally, Measure::Response, 1.0) / MS, 5);
}

#[test]
fn a_session_that_is_lost_holds_up_no_cycle() {
    let mut world = together(2000);
    world.phase.requests = None;
    world.phase.duration = Some(SECOND);
    world.lost = Some((500 * MS, None));
    world.lost_target = Some(1);
    let undisturbed = world.cycles().len();
    world.lost_target = None;
    let cycles = world.cycles().len();
    assert!(undisturbed > 1000, "{undisturbed}");
    assert!(
        (1..undisturbed).contains(&cycles),
        "{cycles}: all connections were lost half way"
    );
}

#[test]
fn a_request_that_times_out_ends_its_cycle_and_the_next_one_begins() {
    let mut world = together(4).conduct(|seat, n| match (seat.index, n) {
        (2, 1) => Fate::Swallow,
        _ => Fate::Answer(100 * US),
    });
    world.phase.timeout = Duration::from_millis(70);
    let cycles = world.cycles();
    assert_eq!(cycles.len(), 4);
    assert!((70 * MS..90 * MS).contains(&cycles[1]), "{cycles:?}");
    assert!(cycles[2] < MS, "{cycles:?}");
}
