//! What a landscape shows of itself.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use observe::Process;
use plan::unit::{Bytes, Rate, duration};
use plant::{Counted, ServerWatch};
use wire::url::Url;

use super::file::{Group, Landscape};
use super::ledger::Happened;
use super::schedule::Event;
use crate::screen::{self, counted, tell};

/// What is in a file, for who checks it.
pub fn contents(landscape: &Landscape) -> String {
    let devices = landscape.devices().count();
    let mut text = format!(
        "{}: {}, {}\n",
        landscape.name,
        counted(devices, "device"),
        counted(landscape.events.len(), "event")
    );
    for group in &landscape.groups {
        let variables = group.plant.variables();
        // Writing into a text never fails.
        let _ = writeln!(
            text,
            "  {:<16} {} of {} with {variables} variables, {}{}",
            group.name,
            counted(group.devices.len(), "device"),
            group.plant.name,
            ports(group),
            (group.on.as_ref()).map_or_else(String::new, |on| format!(", on {on}"))
        );
    }
    for event in &landscape.events {
        let _ = writeln!(
            text,
            "  at {:<13} {} {}: {} ({})",
            duration::show(event.at),
            event.pattern,
            event.action,
            counted(event.devices.len(), "device"),
            event.fault
        );
    }
    text
}

fn ports(group: &Group) -> String {
    let port = |it: Option<&super::file::Device>| it.map_or(0, |it| it.port);
    match (port(group.devices.first()), port(group.devices.last())) {
        (0, _) => "free ports".to_owned(),
        (first, last) if first == last => format!("port {first}"),
        (first, last) => format!("ports {first}-{last}"),
    }
}

/// What it took until all of them were there.
#[derive(Debug, Clone, Copy, Default)]
pub struct Begun {
    /// How many there are.
    pub devices: usize,
    /// How long it took.
    pub took: Duration,
    /// How much of it went into certificates.
    pub certificates: Duration,
    /// Of their processes, where that is known.
    pub memory: Option<u64>,
    /// Agents that serve them.
    pub agents: usize,
}

/// All of them are there.
pub fn begun(landscape: &Landscape, it: &Begun) -> String {
    let memory = it.memory.map_or_else(String::new, |bytes| {
        format!(", {} of memory", Bytes::show(bytes as f64))
    });
    let agents = match it.agents {
        0 => String::new(),
        n => format!(" on {}", counted(n, "agent")),
    };
    format!(
        "{}: {}{agents} began in {}, of which {} for certificates{memory}; Ctrl-C ends",
        landscape.name,
        counted(it.devices, "device"),
        duration::show(it.took),
        duration::show(it.certificates),
    )
}

/// Where to connect to: a range of ports for devices of a group on a host if their ports follow each other, as commands take
/// it; else each. `urls` are those of all devices, in the order of the file.
pub fn ready(landscape: &Landscape, urls: &[String]) -> Vec<String> {
    let mut lines = Vec::new();
    let mut rest = urls;
    for group in &landscape.groups {
        let (these, others) = rest.split_at(group.devices.len().min(rest.len()));
        rest = others;
        let mut devices = group.devices.iter();
        let read: Vec<(&String, Option<Url>)> =
            these.iter().map(|url| (url, url.parse().ok())).collect();
        let host = |it: &(&String, Option<Url>)| it.1.as_ref().map(|url| url.host().to_owned());
        let port = |it: &(&String, Option<Url>)| it.1.as_ref().map_or(0, Url::port);
        for same in read.chunk_by(|a, b| host(a) == host(b)) {
            let follow = same
                .windows(2)
                .all(|pair| matches!(pair, [a, b] if port(a).checked_add(1) == Some(port(b))));
            let names = devices.by_ref().take(same.len());
            match (same, same.last()) {
                ([first, _, ..], Some(last)) if follow => {
                    names.for_each(drop);
                    lines.push(format!("{}-{} {}", first.0, port(last), group.name));
                }
                _ => {
                    let each = same.iter().zip(names);
                    lines.extend(each.map(|((url, _), it)| format!("{url} {}", it.name)));
                }
            }
        }
    }
    lines
}

/// Something happened.
pub fn event(event: &Event, happened: &Happened) -> String {
    let (at, count) = (duration::show(happened.at()), happened.struck);
    let what = match event.action.as_str() {
        "fault" => event.fault.to_string(),
        action => format!("{action} ({})", event.fault),
    };
    format!(
        "{at}: {} {what}: {}",
        event.pattern,
        counted(count, "device")
    )
}

/// How all are, now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    /// What they counted.
    pub counted: Counted,
    /// Of their processes, where that is known.
    pub memory: Option<u64>,
}

/// The line that shows how all are.
pub struct Live {
    devices: usize,
    before: (Instant, Counted),
}

impl Live {
    /// Begins to look.
    pub fn new(devices: usize) -> Self {
        Self {
            devices,
            before: (Instant::now(), Counted::default()),
        }
    }

    /// Shows how they are: in the place of the line before on a terminal, elsewhere where anything has changed.
    pub fn look(
        &mut self,
        up: Duration,
        look: Look,
        happened: &[Happened],
        next: Option<Duration>,
    ) {
        let now = (Instant::now(), look.counted);
        let seconds = (now.0 - self.before.0).as_secs_f64().max(1e-9);
        let rate = |of: fn(&Counted) -> u64| {
            let more = of(&now.1).saturating_sub(of(&self.before.1));
            Rate::show(more as f64 / seconds)
        };
        let mut line = format!(
            "{} devices, {} away, {} sessions, {} items, {} requests, {} values",
            self.devices,
            away(happened, up),
            now.1.sessions,
            now.1.items,
            rate(|it| it.requests),
            rate(|it| it.notifications),
        );
        if let Some(bytes) = look.memory {
            line += &format!(", {}", Bytes::show(bytes as f64));
        }
        if let Some(next) = next {
            line += &format!(", next event at {}", duration::show(next));
        }
        let line = format!("{:>5}s {line}", up.as_secs());
        if screen::is_drawn_on() {
            screen::status(&line);
        } else if now.1 != self.before.1 {
            tell!("{line}");
        }
        self.before = now;
    }
}

/// How devices of this process are.
pub fn look(watches: &[ServerWatch], process: &mut Process) -> Look {
    let mut counted = Counted::default();
    for watch in watches {
        counted += watch.counted();
    }
    Look {
        counted,
        memory: process.sample().rss_bytes.ok(),
    }
}

/// How many are away because of what happened.
fn away(happened: &[Happened], now: Duration) -> usize {
    let mut places: Vec<usize> = happened
        .iter()
        .filter(|it| {
            it.away
                .is_some_and(|away| now < it.at().saturating_add(away))
        })
        .flat_map(|it| it.places.iter().copied())
        .collect();
    places.sort_unstable();
    places.dedup();
    places.len()
}
