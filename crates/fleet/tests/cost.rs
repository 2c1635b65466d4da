//! What a thousand agents cost a controller that has nothing but them: messages, bytes, processor time and memory.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::time::{Duration, Instant};

use fleet::frame::{Frames, PREAMBLE, encode};
use fleet::{Agent, Controller, Event, FromAgent, Hello, Settings, Share, Stamp, Task, ToAgent};

const MS: u64 = 1_000_000;
const S: u64 = 1_000 * MS;
const AGENTS: usize = 1000;
/// Their load goes on for so long, in virtual time.
const LONG: u64 = 60 * S;
/// What an agent tells of a quarter of a second, and in the end: as large as those of a read by one thread.
const PROGRESS: usize = 300;
const RESULTS: usize = 20_000;

/// Messages and their bytes.
#[derive(Debug, Default, Clone, Copy)]
struct Sent {
    messages: u64,
    bytes: u64,
}

impl Sent {
    fn add(&mut self, frame: &[u8]) {
        self.messages += 1;
        self.bytes += frame.len() as u64;
    }
}

fn stamp(at: u64) -> Stamp {
    Stamp {
        mono_ns: at,
        utc_ns: at as i64,
    }
}

/// Resident memory of this process.
fn resident() -> Option<u64> {
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = statm.split_whitespace().nth(1)?.parse().ok()?;
    Some(pages * 4096)
}

struct Host {
    agent: Agent,
    frames: Frames,
    runs: Option<(u64, u64)>,
    told: bool,
}

/// The controller with what it reads from its agents, and the time that both took.
struct Desk {
    controller: Controller,
    frames: Vec<Frames>,
    took: Duration,
}

impl Desk {
    /// What comes, in the bytes of a pipe.
    fn receive(&mut self, agent: usize, bytes: &[u8], now: u64) {
        let begun = Instant::now();
        self.frames[agent].push(bytes);
        while let Some(message) = self.frames[agent].poll::<FromAgent>().unwrap() {
            self.controller.receive(agent, message, stamp(now));
        }
        self.took += begun.elapsed();
    }

    /// What happened, and what is to be sent.
    fn turn(&mut self, now: u64) -> (Vec<Event>, Vec<(usize, Vec<u8>)>) {
        let begun = Instant::now();
        self.controller.handle_timeout(stamp(now));
        let events: Vec<Event> = std::iter::from_fn(|| self.controller.poll_event()).collect();
        for event in &events {
            match event {
                Event::Gathered => (0..AGENTS).for_each(|agent| {
                    let task = vec![0; 500];
                    self.controller.share(
                        agent,
                        Share {
                            task,
                            ..Share::default()
                        },
                    );
                }),
                Event::Results { agent, .. } => self.controller.taken(*agent),
                _ => {}
            }
        }
        let controller = &mut self.controller;
        let out = std::iter::from_fn(|| controller.poll_transmit(stamp(now)));
        let out = out.map(|(agent, message)| (agent, encode(&message).unwrap()));
        let out: Vec<_> = out.collect();
        self.took += begun.elapsed();
        (events, out)
    }
}

#[test]
fn a_thousand_agents_cost_a_controller_little() {
    let before = resident();
    let controller = Controller::new("1", AGENTS, Settings::default(), stamp(0));
    let mut desk = Desk {
        controller,
        frames: (0..AGENTS).map(|_| Frames::default()).collect(),
        took: Duration::ZERO,
    };
    desk.frames.iter_mut().for_each(|it| it.push(PREAMBLE));
    let hello = Hello {
        version: "1".to_owned(),
        host: "lab-host-17".to_owned(),
        services: (0..20).map(|n| format!("service {n}")).collect(),
        ..Hello::default()
    };
    let host = |_| Host {
        agent: Agent::new(hello.clone(), 10 * S, stamp(0)),
        frames: Frames::default(),
        runs: None,
        told: false,
    };
    let mut hosts: Vec<Host> = (0..AGENTS).map(host).collect();
    hosts.iter_mut().for_each(|it| it.frames.push(PREAMBLE));
    let (mut to, mut from, mut results) = (Sent::default(), Sent::default(), Sent::default());
    let (mut now, mut over, mut most) = (0, false, None);
    // One step is how long a message is on its way.
    while !over {
        let (events, out) = desk.turn(now);
        over = events.contains(&Event::Over);
        let lost = events.iter().find(|it| matches!(it, Event::Lost { .. }));
        assert!(lost.is_none(), "{lost:?} at {now}");
        for (agent, frame) in out {
            to.add(&frame);
            let host = &mut hosts[agent];
            host.frames.push(&frame);
            while let Some(message) = host.frames.poll::<ToAgent>().unwrap() {
                host.agent.receive(message, stamp(now));
            }
        }
        for (n, host) in hosts.iter_mut().enumerate() {
            while let Some(task) = host.agent.poll_task() {
                match task {
                    Task::Share(_) => host.agent.ready(0),
                    Task::Start { at_ns } => host.runs = Some((at_ns, at_ns)),
                    _ => {}
                }
            }
            if let Some((begun, next)) = host.runs.filter(|(_, next)| *next <= now) {
                if now >= begun + LONG && !std::mem::replace(&mut host.told, true) {
                    host.agent.results(&[7; RESULTS]);
                } else if now < begun + LONG {
                    host.agent.progress(vec![7; PROGRESS]);
                }
                host.runs = Some((begun, next + 250 * MS));
            }
            while let Some(message) = host.agent.poll_transmit(stamp(now)) {
                let frame = encode(&message).unwrap();
                match message {
                    FromAgent::Results { .. } => results.add(&frame),
                    _ => from.add(&frame),
                }
                desk.receive(n, &frame, now);
            }
        }
        most = most.max(resident());
        now += 50 * MS;
        assert!(now < 600 * S, "it does not end");
    }
    let all = (to.messages + from.messages) as f64;
    println!(
        "{AGENTS} agents, {} s of load: to agents {} messages, {} bytes; from agents {} messages, {} bytes; results {} bytes",
        LONG / S,
        to.messages,
        to.bytes,
        from.messages,
        from.bytes,
        results.bytes
    );
    println!(
        "the controller: {:?} of a processor, {:.2} µs a message, {:.3} % of one while they run",
        desk.took,
        desk.took.as_secs_f64() * 1e6 / all,
        desk.took.as_secs_f64() / (now as f64 / 1e9) * 100.0
    );
    let seconds = LONG / S;
    // A question and an answer, four pieces of progress a second; what is before and behind the load.
    assert!(to.messages < AGENTS as u64 * (seconds + 30), "{to:?}");
    assert!(
        from.messages < AGENTS as u64 * (5 * seconds + 30),
        "{from:?}"
    );
    let rate = (to.bytes + from.bytes) / seconds / AGENTS as u64;
    assert!(rate < 2000, "{rate} bytes a second for an agent");
    if let (Some(before), Some(most)) = (before, most) {
        let more = most - before;
        println!(
            "memory: {:.1} MiB more, {:.1} KiB an agent, agents themselves included",
            more as f64 / 1048576.0,
            more as f64 / 1024.0 / AGENTS as f64
        );
        assert!(more < 256 << 20, "{more} bytes of memory");
    }
    // A thousand agents are a tenth of a processor at most, even where this program checks itself.
    assert!(desk.took < Duration::from_nanos(now), "{:?}", desk.took);
}
