//! How fast it is: the queue alone beside a heap, a loaded server, and a large plant.
//!
//! `cargo run --release --locked -p simulate --example speed [servers [seconds]]`

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Instant;

use plan::Random;
use simulate::{
    BackOff, Client, Connect, ConnectCost, Engine, Event, Files, Kind, Link, Phases, Publishing,
    Queue, What, World,
};

const S: u64 = 1_000_000_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut numbers = std::env::args().skip(1).filter_map(|it| it.parse().ok());
    let servers: u32 = numbers.next().unwrap_or(5_000);
    let seconds: u32 = numbers.next().unwrap_or(3_600);
    for waiting in [1_000, 25_000, 200_000] {
        queue(waiting);
    }
    plant("1 server, 30 clients, 100 ms", 1, 30, S / 10, 3_600, None)?;
    plant(
        "the same behind a link",
        1,
        30,
        S / 10,
        3_600,
        Some("100Mbit/s,delay=200us"),
    )?;
    let name = format!("{servers} servers, 4 clients each, 1 s, 24 on a link, {seconds} s");
    plant(&name, servers, 4, S, seconds, Some("100Mbit/s,delay=200us"))?;
    Ok(())
}

/// Events that are planned anew when they are due: the hold model.
fn queue(waiting: u32) {
    const TURNS: u32 = 10_000_000;
    let ahead = |random: &mut Random| match random.next_u64() % 3 {
        0 => S,
        1 => 200_000,
        _ => 50_000 + random.next_u64() % 100_000,
    };
    let mut random = Random::new(1);
    let mut ring = Queue::new(f64::from(waiting) * 3.0);
    let mut heap = BinaryHeap::new();
    for n in 0..waiting {
        let event = Event::new(random.next_u64() % S, What::Publish, 0, n);
        ring.push(event);
        heap.push(Reverse(event));
    }
    let began = Instant::now();
    for _ in 0..TURNS {
        if let Some(event) = ring.pop() {
            ring.push(Event::new(
                event.at + ahead(&mut random),
                What::Publish,
                0,
                event.index(),
            ));
        }
    }
    let of_ring = f64::from(TURNS) / began.elapsed().as_secs_f64() / 1e6;
    let began = Instant::now();
    for _ in 0..TURNS {
        if let Some(Reverse(event)) = heap.pop() {
            heap.push(Reverse(Event::new(
                event.at + ahead(&mut random),
                What::Publish,
                0,
                event.index(),
            )));
        }
    }
    let of_heap = f64::from(TURNS) / began.elapsed().as_secs_f64() / 1e6;
    println!("queue, {waiting:>7} waiting: {of_ring:6.1} M events/s; a heap alone {of_heap:6.1}");
}

fn plant(
    name: &str,
    count: u32,
    sessions: u32,
    every: u64,
    seconds: u32,
    link: Option<&str>,
) -> Result<(), Box<dyn std::error::Error>> {
    let step = ConnectCost {
        cost: 200_000,
        up_bytes: 150,
        down_bytes: 500,
    };
    let world = World {
        seed: 1,
        length: u64::from(seconds) * S,
        links: link.map_or(Ok(Vec::new()), |text| {
            text.parse().map(|spec| {
                vec![Link {
                    name: "cell".to_owned(),
                    spec,
                    each: Some(24),
                }]
            })
        })?,
        kinds: vec![Kind {
            name: "server".to_owned(),
            count,
            cores: 1,
            background: 0.07,
            link: link.map(|_| 0),
            sessions,
            updates: None,
            publishing: Some(Publishing {
                every,
                sampling: every,
                change: every,
                values: vec![100],
                cost: 1_500_000,
                head_bytes: 160,
                value_bytes: 26,
                ask_bytes: 120,
                window: 2,
                lifetime: 60 * S,
                phases: Phases::Random,
            }),
            requests: None,
            connect: Connect {
                full: vec![step; 7],
                resume: vec![step; 5],
            },
            client: Client {
                timeout: 10 * S,
                watchdog: 10 * S,
                back_off: BackOff {
                    first: S,
                    most: 30 * S,
                    jitter: 0.0,
                },
            },
        }],
        happenings: Vec::new(),
        files: Files::Kind,
    };
    let began = Instant::now();
    let outcome = Engine::new(&world)?.finish();
    let took = began.elapsed().as_secs_f64();
    let messages: u64 = outcome.groups.iter().map(|it| it.totals.messages).sum();
    println!(
        "{name}: {:.1} M events and {:.1} M messages in {took:.2} s: {:.1} M events/s; peak memory {}",
        outcome.events as f64 / 1e6,
        messages as f64 / 1e6,
        outcome.events as f64 / took / 1e6,
        memory()
    );
    Ok(())
}

/// The most memory that this process had, as Linux says.
fn memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.map_or_else(|| "unknown".to_owned(), |it| it.trim().to_owned())
}
