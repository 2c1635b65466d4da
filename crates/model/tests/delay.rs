//! Delays that are computed beside the same servers that run (`simulate`).

#![allow(clippy::unwrap_used, clippy::panic)]

use model::Workload;
use model::delay::{Delay, Serving, delay};
use model::plant::Phases;
use record::{Histogram, Measure};
use simulate::{BackOff, Client, Connect, ConnectCost, Engine, Files, Kind, Publishing, World};

const MS: u64 = 1_000_000;

/// Sampling, change and publishing of each client, in milliseconds.
type Times = (u64, u64, u64);

fn computed(clients: u32, load: f64, (sampling, change, every): Times, phases: Phases) -> Delay {
    let of = Workload {
        sampling_ms: sampling as f64,
        change_ms: change as f64,
        ..Workload::of_signals(f64::from(clients), 10.0, every as f64)
    };
    let serving = Serving {
        message_ms: load * every.max(change) as f64 / f64::from(clients),
        background: 0.0,
    };
    delay(&of, serving, phases, 0.0).unwrap()
}

/// The delay and the queueing (with the service) of the same server, from 400 of it.
fn simulated(
    clients: u32,
    load: f64,
    (sampling, change, every): Times,
    phases: Phases,
) -> (Histogram, Histogram) {
    let phases = match phases {
        Phases::Aligned => simulate::Phases::Aligned,
        Phases::Random => simulate::Phases::Random,
        Phases::Staggered => simulate::Phases::Staggered,
    };
    let step = ConnectCost {
        cost: 1,
        up_bytes: 1,
        down_bytes: 1,
    };
    let kind = Kind {
        name: "server".to_owned(),
        count: 400,
        cores: 1,
        background: 0.0,
        link: None,
        sessions: clients,
        updates: None,
        publishing: Some(Publishing {
            every: every * MS,
            sampling: sampling * MS,
            change: change * MS,
            values: vec![1],
            cost: (load * (every.max(change) * MS) as f64 / f64::from(clients)) as u64,
            head_bytes: 1,
            value_bytes: 1,
            ask_bytes: 1,
            window: 4,
            lifetime: 1000 * every * MS,
            phases,
        }),
        requests: None,
        connect: Connect {
            full: vec![step; 7],
            resume: vec![step; 5],
        },
        client: Client {
            timeout: 10_000 * MS,
            watchdog: 60_000 * MS,
            back_off: BackOff {
                first: 1000 * MS,
                most: 30_000 * MS,
                jitter: 0.0,
            },
        },
    };
    let world = World {
        seed: 3,
        length: 12 * every.max(change) * MS,
        kinds: vec![kind],
        links: Vec::new(),
        happenings: Vec::new(),
        files: Files::Kind,
    };
    let outcome = Engine::new(&world).unwrap().finish();
    let window = outcome.groups[0]
        .tally
        .window(2 * every.max(change) * MS, u64::MAX);
    let of = |measure| window.histogram(measure).clone();
    (of(Measure::Delay), of(Measure::Queueing))
}

fn assert_near(found: f64, expected: f64, share: f64, what: &str) {
    assert!(
        (found - expected).abs() <= share * expected.abs(),
        "{what}: {found} is not within {share} of {expected}"
    );
}

#[test]
fn delays_are_those_of_servers_that_run() {
    for (clients, load, times) in [
        (10, 0.3, (100, 100, 100)),
        (30, 0.75, (100, 100, 100)),
        (30, 0.9, (100, 50, 100)),
        (20, 0.5, (20, 10, 100)),
        (20, 0.17, (20, 300, 100)),
    ] {
        // Sampling on a clock of its own falls anywhere only where phases do.
        let all = [Phases::Random, Phases::Aligned, Phases::Staggered];
        let phases = match times.0 == times.2 {
            true => &all[..],
            false => &all[..1],
        };
        for &phases in phases {
            let what = format!("{clients} at {load}, {times:?}, {phases:?}");
            let found = computed(clients, load, times, phases);
            let (delays, queued) = simulated(clients, load, times, phases);
            let ms = |it: f64| it / MS as f64;
            // A change that is slower than publishing has all clients publish what changed at one moment.
            if times.1 <= times.2 {
                let waits = ms(queued.mean().unwrap());
                assert_near(found.queue_ms + found.service_ms, waits, 0.05, &what);
                let p95 = ms(queued.quantile(0.95).unwrap() as f64);
                assert_near(found.queue_p95_ms + found.service_ms, p95, 0.25, &what);
            }
            assert_near(found.mean_ms, ms(delays.mean().unwrap()), 0.06, &what);
            let p95 = ms(delays.quantile(0.95).unwrap() as f64);
            assert_near(found.p95_ms, p95, 0.10, &what);
        }
    }
}

#[test]
fn values_wait_for_their_publishing_most_of_the_time() {
    // A10: half of the publishing interval on average.
    let found = computed(10, 0.01, (100, 100, 100), Phases::Random);
    assert_near(found.phase_ms, 50.0, 0.05, "phase");
    assert!(found.queue_ms < 0.01 && found.p95_ms > 90.0, "{found:?}");
}

#[test]
fn a_link_is_on_top_and_a_core_that_is_too_slow_has_no_delay() {
    let of = Workload::of_signals(10.0, 10.0, 100.0);
    let serving = |message_ms, background| Serving {
        message_ms,
        background,
    };
    let near = delay(&of, serving(1.0, 0.0), Phases::Random, 0.0).unwrap();
    let far = delay(&of, serving(1.0, 0.0), Phases::Random, 40.0).unwrap();
    assert_near(far.p95_ms, near.p95_ms + 40.0, 1e-9, "link");
    // Half of the core is taken: messages take twice as long.
    let busy = delay(&of, serving(1.0, 0.5), Phases::Random, 0.0).unwrap();
    assert_near(busy.service_ms, 2.0, 1e-9, "service");
    for (message_ms, background) in [(10.0, 0.0), (5.0, 0.5), (0.1, 1.0)] {
        assert_eq!(
            delay(&of, serving(message_ms, background), Phases::Random, 0.0),
            None
        );
    }
    assert_eq!(
        delay(&Workload::idle(), serving(1.0, 0.0), Phases::Random, 0.0),
        None
    );
}
