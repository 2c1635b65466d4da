//! What theory says of queues, held against the simulation.

#![allow(clippy::unwrap_used, clippy::panic)]

mod support;

use record::{Histogram, Measure};
use simulate::{Engine, Group, Kind, Phases, Publishing, World};

use support::{MS, S, US, kind, publishing, requests, world};

fn only(world: &World) -> (Group, simulate::Busy) {
    let mut outcome = Engine::new(world).unwrap().finish();
    (outcome.groups.remove(0), outcome.busy.remove(0))
}

fn histogram(group: &Group, measure: Measure) -> Histogram {
    group.tally.whole().histogram(measure).clone()
}

fn assert_near(found: f64, expected: f64, share: f64, what: &str) {
    assert!(
        (found - expected).abs() <= share * expected.abs(),
        "{what}: {found} is not within {share} of {expected}"
    );
}

#[test]
fn one_server_with_equal_services_makes_requests_wait_as_m_d_1_says() {
    for load in [0.3_f64, 0.75, 0.9] {
        let cost = 100 * US;
        // The mean of long queues needs more of them.
        let length = if load > 0.8 { 400 * S } else { 60 * S };
        let it = Kind {
            requests: Some(requests((cost as f64 / load) as u64, cost)),
            ..kind("m/d/1")
        };
        let (group, busy) = only(&world(length, vec![it]));
        let response = histogram(&group, Measure::Response).mean().unwrap();
        let wait = load / (2.0 * (1.0 - load)) * cost as f64;
        assert_near(response, wait + cost as f64, 0.01, &format!("load {load}"));
        assert_near(busy.mean_cores, load, 0.01, "the server's CPU");
    }
}

#[test]
fn littles_law_holds() {
    let it = Kind {
        sessions: 20,
        cores: 2,
        requests: Some(requests(2 * MS, 150 * US)),
        ..kind("little")
    };
    let (group, _) = only(&world(20 * S, vec![it]));
    let response = histogram(&group, Measure::Response);
    let levels = group.tally.in_flight();
    let level: f64 = levels.iter().sum::<f64>() / levels.len() as f64;
    let rate = response.count() as f64 / 20e9;
    assert_near(level, rate * response.mean().unwrap(), 0.01, "L = λ W");
}

/// Queueing and service of messages, of many servers with so many clients each.
fn queued(phases: Phases, clients: u32, servers: u32, load: f64) -> (Histogram, u64) {
    let every = 100 * MS;
    let cost = (every as f64 * load / f64::from(clients)) as u64;
    let it = Kind {
        count: servers,
        sessions: clients,
        publishing: Some(Publishing {
            // Values as old as the publishing.
            change: 1,
            phases,
            ..publishing(every, cost)
        }),
        ..kind("sum d/d/1")
    };
    let (group, _) = only(&world(4 * every - 1, vec![it]));
    // The first interval finds nothing that was left over.
    let window = group.tally.window(every, u64::MAX);
    (window.histogram(Measure::Queueing).clone(), cost)
}

#[test]
fn aligned_publishings_wait_for_all_before_them() {
    let (queued, cost) = queued(Phases::Aligned, 30, 1, 0.75);
    // Of 30, the first takes one service, the last 30.
    assert_eq!(queued.max(), Some(30 * cost));
    assert_near(queued.mean().unwrap(), 15.5 * cost as f64, 1e-6, "aligned");
}

#[test]
fn staggered_publishings_do_not_wait() {
    let (queued, cost) = queued(Phases::Staggered, 30, 1, 0.9);
    assert_eq!((queued.min(), queued.max()), (Some(cost), Some(cost)));
}

/// The mean wait of a source among others in the queue ΣD/D/1: its virtual waiting time, integrated (Roberts and
/// Virtamo 1991; Eckberg 1979).
fn sum_d_d_1(sources: u32, load: f64) -> f64 {
    let period = f64::from(sources) / load;
    let others = sources - 1;
    let longer = |x: f64| -> f64 {
        let mut sum = 0.0;
        let mut choose = 1.0;
        for n in 0..=others {
            if n > 0 {
                choose *= f64::from(others - n + 1) / f64::from(n);
            }
            let n_f = f64::from(n);
            if n_f <= x {
                continue;
            }
            let at = (n_f - x) / period;
            let rest = (period - f64::from(others) + x) / (period - n_f + x);
            sum += choose * at.powi(n as i32) * (1.0 - at).powi((others - n) as i32) * rest;
        }
        sum
    };
    let steps = 20_000;
    let width = f64::from(others) / f64::from(steps);
    (0..steps)
        .map(|n| longer((f64::from(n) + 0.5) * width) * width)
        .sum()
}

#[test]
fn publishings_of_random_phases_wait_as_sum_d_d_1_says() {
    for (clients, load) in [(10, 0.5), (30, 0.75), (30, 0.9)] {
        let (queued, cost) = queued(Phases::Random, clients, 4_000, load);
        let wait = queued.mean().unwrap() / cost as f64 - 1.0;
        assert_near(
            wait,
            sum_d_d_1(clients, load),
            0.02,
            &format!("{clients} at {load}"),
        );
    }
}
