//! What theory says of a line, held against the model in virtual time.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::time::Duration;

use link::{Direction, Loss, Outcome, Path, Queue, Spec};
use plan::Random;
use plan::unit::{BitRate, Bytes, Percent};

const MS: u64 = 1_000_000;

fn direction(text: &str) -> Direction {
    text.parse::<Spec>().unwrap().up
}

fn arrival(outcome: Outcome) -> u64 {
    match outcome {
        Outcome::Sent { arrives, .. } => arrives,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_packet_takes_its_bits_over_the_rate_and_the_delay() {
    let mut path = Path::new(direction("2Mbit/s,delay=20ms"), 1, 0);
    // 1500 bytes at 2 Mbit/s are 6 ms.
    assert_eq!(arrival(path.push(0, 1500, ())), 26 * MS);
    // The next one waits for it; after a pause nothing does.
    assert_eq!(arrival(path.push(MS, 1500, ())), 32 * MS);
    assert_eq!(arrival(path.push(100 * MS, 250, ())), 121 * MS);
}

#[test]
fn a_million_packets_take_a_million_times_as_long_as_one() {
    // 8/7 ns each: no whole number of nanoseconds.
    let mut path = Path::new(direction("7Gbit/s"), 1, 0);
    let mut last = 0;
    for _ in 0..1_000_000 {
        last = arrival(path.push(0, 1, ()));
        path.poll(last).unwrap();
    }
    assert_eq!(last, 8_000_000_u64.div_ceil(7));
}

#[test]
fn waiting_times_are_those_of_a_queue_with_one_server_and_equal_services() {
    // 1250 bytes at 10 Mbit/s: 1 ms. M/D/1: the mean wait is load / (2 (1 - load)) services.
    for load in [0.3, 0.5, 0.7] {
        let mut path = Path::new(direction("10Mbit/s"), 1, 0);
        let mut random = Random::new(42);
        let (mut now, mut waited, packets) = (0.0, 0.0, 1_500_000);
        for _ in 0..packets {
            now += random.exponential() * MS as f64 / load;
            while path.poll(now as u64).is_some() {}
            match path.push(now as u64, 1250, ()) {
                Outcome::Sent { waits, .. } => waited += waits as f64,
                other => panic!("{other:?}"),
            }
        }
        let mean = waited / f64::from(packets) / MS as f64;
        let law = load / (2.0 * (1.0 - load));
        assert!(
            (mean / law - 1.0).abs() < 0.01,
            "load {load}: {mean}, law {law}"
        );
    }
}

/// The share lost, and the mean length of runs of lost packets.
fn losses(loss: Loss, packets: u32) -> (f64, f64) {
    let direction = Direction {
        loss,
        ..Direction::default()
    };
    let mut path = Path::new(direction, 7, 0);
    let (mut lost, mut runs, mut before) = (0, 0, false);
    for _ in 0..packets {
        let is = matches!(path.push(0, 100, ()), Outcome::Lost { .. });
        lost += u32::from(is);
        runs += u32::from(is && !before);
        before = is;
        path.poll(0);
    }
    (
        f64::from(lost) / f64::from(packets),
        f64::from(lost) / f64::from(runs),
    )
}

#[test]
fn losses_have_their_share_and_bursts_their_length() {
    let share = Percent::from_fraction(0.02);
    let memoryless = Loss {
        share,
        ..Loss::default()
    };
    let (lost, run) = losses(memoryless, 1_000_000);
    assert!((lost / 0.02 - 1.0).abs() < 0.03, "{lost}");
    assert!((run * 0.98 - 1.0).abs() < 0.02, "{run}");
    let bursts = Loss {
        burst: 5.0,
        ..memoryless
    };
    let (lost, run) = losses(bursts, 1_000_000);
    assert!((lost / 0.02 - 1.0).abs() < 0.05, "{lost}");
    assert!((run / 5.0 - 1.0).abs() < 0.05, "{run}");
    // Half of the packets survive the bad state: the same share, in shorter runs.
    let half = Loss {
        bad: Percent::from_fraction(0.5),
        ..bursts
    };
    let (lost, run) = losses(half, 1_000_000);
    assert!((lost / 0.02 - 1.0).abs() < 0.06, "{lost}");
    assert!(run > 1.3 && run < 2.5, "{run}");
}

#[test]
fn jitter_has_the_mean_of_its_distribution_and_keeps_the_order() {
    for (text, mean) in [
        ("jitter=10ms", 5.0),
        ("jitter=10ms:exponential", 10.0),
        ("jitter=10ms:pareto", 10.0),
    ] {
        let mut path = Path::new(direction(text), 3, 0);
        let (mut sum, packets) = (0.0, 200_000_u64);
        for n in 0..packets {
            // So far apart that none holds up another, as a rule.
            let now = n * 10_000 * MS;
            sum += (arrival(path.push(now, 100, ())) - now) as f64 / MS as f64;
            while path.poll(now).is_some() {}
        }
        let found = sum / packets as f64;
        assert!((found / mean - 1.0).abs() < 0.03, "{text}: {found}");
        let mut path = Path::new(direction(text), 3, 0);
        let arrivals: Vec<_> = (0..1000)
            .map(|n| arrival(path.push(n * MS / 10, 100, ())))
            .collect();
        assert!(arrivals.is_sorted(), "{text}");
    }
}

#[test]
fn a_queue_takes_its_bytes_or_its_time_and_not_more() {
    let mut bytes = Path::new(direction("8Mbit/s,queue=10kB"), 1, 0);
    let sent = |path: &mut Path<()>, now| {
        let taken = (0..100).filter(|_| matches!(path.push(now, 1000, ()), Outcome::Sent { .. }));
        taken.count()
    };
    assert_eq!(sent(&mut bytes, 0), 10);
    assert_eq!(bytes.queued(0), 10_000);
    // 1 ms a packet: three are gone after 3 ms.
    assert_eq!(bytes.queued(3 * MS), 7_000);
    assert_eq!(sent(&mut bytes, 3 * MS), 3);
    let mut time = Path::new(direction("8Mbit/s,queue=5ms"), 1, 0);
    assert_eq!(sent(&mut time, 0), 6);
    // A packet that is larger than the queue passes a line that is free.
    let mut small = Path::new(direction("8Mbit/s,queue=100B"), 1, 0);
    assert_eq!(sent(&mut small, 0), 1);
    assert_eq!(direction("queue=10kB").queue, Queue::Bytes(Bytes(10_000)));
}

#[test]
fn room_is_there_when_it_is_said_to_be() {
    for text in ["8Mbit/s,queue=10kB", "8Mbit/s,queue=5ms"] {
        let mut path = Path::new(direction(text), 1, 0);
        while !path.is_full(0, 1514) {
            path.push(0, 1514, ());
        }
        let at = path.room_at(1514);
        assert!(at > 0 && path.is_full(at - MS / 10, 1514), "{text}");
        assert!(!path.is_full(at, 1514), "{text}");
    }
}

#[test]
fn held_packets_are_overtaken_and_doubled_ones_come_twice() {
    let mut path = Path::new(direction("delay=1ms,reorder=10%:5ms,duplicate=10%"), 5, 0);
    for n in 0..10_000_u64 {
        path.push(n * MS, 100, n);
    }
    let all: Vec<u64> = std::iter::from_fn(|| path.poll(u64::MAX)).collect();
    let doubled = all.len() as f64 / 10_000.0 - 1.0;
    assert!((doubled - 0.1).abs() < 0.01, "{doubled}");
    let overtaken = all.windows(2).filter(|two| two[1] < two[0]).count() as f64 / 10_000.0;
    assert!((overtaken - 0.1).abs() < 0.02, "{overtaken}");
}

#[test]
fn a_packet_is_there_at_its_time_and_not_before() {
    let mut path = Path::new(direction("delay=5ms"), 1, 0);
    path.push(0, 10, "first");
    path.push(MS, 10, "second");
    assert_eq!(path.deadline(), Some(5 * MS));
    assert_eq!(path.poll(5 * MS - 1), None);
    assert_eq!(path.poll(5 * MS), Some("first"));
    assert_eq!(path.poll(5 * MS), None);
    assert_eq!(path.under_way(), 1);
    assert_eq!(path.poll(6 * MS), Some("second"));
    assert_eq!(path.deadline(), None);
}

#[test]
fn the_same_seed_is_the_same_line_and_another_is_another() {
    let text = "2Mbit/s,delay=20ms,jitter=5ms:pareto,loss=5%,burst=3,reorder=2%,duplicate=1%";
    let fate = |seed| {
        let mut path = Path::new(direction(text), seed, 0);
        let fates = (0..2000).map(|n| path.push(n * MS, 500, ()));
        fates.collect::<Vec<_>>()
    };
    assert_eq!(fate(1), fate(1));
    assert_ne!(fate(1), fate(2));
    // Written down once: the same on every machine.
    let mut path = Path::new(direction("delay=1ms,jitter=1ms:exponential"), 1, 0);
    let first: Vec<_> = (0..3)
        .map(|n| arrival(path.push(n * 1000 * MS, 1, ())))
        .collect();
    assert_eq!(first, WRITTEN_DOWN);
}

const WRITTEN_DOWN: [u64; 3] = [1_498_413, 1_001_544_621, 2_001_015_913];

#[test]
fn rates_and_delays_are_those_of_the_spec() {
    let fast = direction("1Gbit/s,delay=3us");
    assert_eq!(fast.rate, BitRate::new(1_000_000_000));
    assert_eq!(fast.delay, Duration::from_micros(3));
}
