//! What a landscape shows of itself.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use observe::Process;
use plan::unit::{Bytes, Rate, duration};
use plant::{Counted, Watch};

use super::file::{Group, Landscape};
use super::ledger::Happened;
use super::schedule::Event;
use super::start::Running;
use crate::screen::{self, tell};

/// What is in a file, for who checks it.
pub fn contents(landscape: &Landscape) -> String {
    let devices = landscape.devices().count();
    let mut text = format!(
        "{}: {}, {}\n",
        landscape.name,
        several(devices, "device"),
        several(landscape.events.len(), "event")
    );
    for group in &landscape.groups {
        let variables = group.plant.variables();
        // Writing into a text never fails.
        let _ = writeln!(
            text,
            "  {:<16} {} of {} with {variables} variables, {}",
            group.name,
            several(group.devices.len(), "device"),
            group.plant.name,
            ports(group)
        );
    }
    for event in &landscape.events {
        let _ = writeln!(
            text,
            "  at {:<13} {} {}: {} ({})",
            duration::show(event.at),
            event.pattern,
            event.action,
            several(event.devices.len(), "device"),
            event.fault
        );
    }
    text
}

fn several(n: usize, what: &str) -> String {
    match n {
        1 => format!("1 {what}"),
        n => format!("{n} {what}s"),
    }
}

fn ports(group: &Group) -> String {
    let port = |it: Option<&super::file::Device>| it.map_or(0, |it| it.port);
    match (port(group.devices.first()), port(group.devices.last())) {
        (0, _) => "free ports".to_owned(),
        (first, last) if first == last => format!("port {first}"),
        (first, last) => format!("ports {first}-{last}"),
    }
}

/// All of them are there.
pub fn begun(landscape: &Landscape, running: &Running) -> String {
    let memory = match Process::own().sample().rss_bytes {
        Ok(bytes) => format!(", {} of memory", Bytes::show(bytes as f64)),
        Err(_) => String::new(),
    };
    format!(
        "{}: {} began in {}, of which {} for certificates{memory}; Ctrl-C ends",
        landscape.name,
        several(running.watches.len(), "device"),
        duration::show(running.took),
        duration::show(running.certificates),
    )
}

/// Where to connect to: a range of ports for a group if its ports follow each other, as commands take it; else each.
pub fn ready(landscape: &Landscape, running: &Running) -> Vec<String> {
    let mut lines = Vec::new();
    for (group, servers) in landscape.groups.iter().zip(&running.groups) {
        let follow = |pair: &[plant::Server]| match pair {
            [one, two] => one.address().port().checked_add(1) == Some(two.address().port()),
            _ => false,
        };
        match (servers.first(), servers.last()) {
            (Some(first), Some(last)) if servers.len() > 1 && servers.windows(2).all(follow) => {
                let (url, port) = (first.url(), last.address().port());
                lines.push(format!("{url}-{port} {}", group.name));
            }
            _ => {
                let each = group.devices.iter().zip(servers);
                lines.extend(each.map(|(it, server)| format!("{} {}", server.url(), it.name)));
            }
        }
    }
    lines
}

/// Something happened.
pub fn event(event: &Event, happened: &Happened) -> String {
    let (at, count) = (duration::show(happened.at), happened.struck);
    let what = match event.action.as_str() {
        "fault" => event.fault.to_string(),
        action => format!("{action} ({})", event.fault),
    };
    format!(
        "{at}: {} {what}: {}",
        event.pattern,
        several(count, "device")
    )
}

/// The line that shows how all are.
pub struct Live {
    watches: Vec<Watch>,
    process: Process,
    before: (Instant, Counted),
}

impl Live {
    /// Begins to look.
    pub fn new(watches: &[Watch]) -> Self {
        Self {
            before: (Instant::now(), sum(watches)),
            watches: watches.to_vec(),
            process: Process::own(),
        }
    }

    /// Looks, and shows it: in the place of the line before on a terminal, elsewhere where anything has changed.
    pub fn look(&mut self, up: Duration, happened: &[Happened], next: Option<Duration>) {
        let now = (Instant::now(), sum(&self.watches));
        let seconds = (now.0 - self.before.0).as_secs_f64().max(1e-9);
        let rate = |of: fn(&Counted) -> u64| {
            let more = of(&now.1).saturating_sub(of(&self.before.1));
            Rate::show(more as f64 / seconds)
        };
        let mut line = format!(
            "{} devices, {} away, {} sessions, {} items, {} requests, {} values",
            self.watches.len(),
            away(happened, up),
            now.1.sessions,
            now.1.items,
            rate(|it| it.requests),
            rate(|it| it.notifications),
        );
        if let Ok(bytes) = self.process.sample().rss_bytes {
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

fn sum(watches: &[Watch]) -> Counted {
    let mut sum = Counted::default();
    for watch in watches {
        sum += watch.counted();
    }
    sum
}

/// How many are away because of what happened.
fn away(happened: &[Happened], now: Duration) -> usize {
    let mut places: Vec<usize> = happened
        .iter()
        .filter(|it| it.away.is_some_and(|away| now < it.at.saturating_add(away)))
        .flat_map(|it| it.places.iter().copied())
        .collect();
    places.sort_unstable();
    places.dedup();
    places.len()
}
