//! The joint ledger: what became of each update, sample, value and message, over all devices, whichever process serves them.

use std::fmt::Write as _;
use std::ops::AddAssign;
use std::time::{Duration, SystemTime};

use plan::unit::duration::{self, nanos};
use plant::{Counted, GroundTruth, ServerWatch, Taking, Tally, Updates};
use record::Timestamp;
use serde::{Deserialize, Serialize};

use super::file::Landscape;
use super::schedule::Event;
use super::share::Part;
use crate::serve::live::sums;

/// An event happened to the devices of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Struck {
    /// Its place in the schedule.
    pub event: usize,
    /// When the last of them was told, since all devices were there.
    pub at_ns: u64,
    /// To how many.
    pub devices: usize,
}

/// Something that happened to devices.
#[derive(Debug, Clone, Serialize)]
pub struct Happened {
    /// When it was to, since all devices were there.
    planned_ns: u64,
    /// When the last of them was told.
    at_ns: u64,
    /// To whom.
    devices: String,
    /// What.
    action: String,
    /// What that is for each of them.
    fault: String,
    /// How many there were.
    pub struck: usize,
    /// Their places.
    #[serde(skip)]
    pub places: Vec<usize>,
    /// For how long it took them away.
    #[serde(skip)]
    pub away: Option<Duration>,
}

impl Happened {
    /// An event, as it happened.
    pub fn of(event: &Event, struck: Struck) -> Self {
        Self {
            planned_ns: nanos(event.at),
            at_ns: struck.at_ns,
            devices: event.pattern.clone(),
            action: event.action.clone(),
            fault: event.fault.to_string(),
            struck: struck.devices,
            places: event.devices.clone(),
            away: event.away,
        }
    }

    /// When, since all devices were there.
    pub fn at(&self) -> Duration {
        Duration::from_nanos(self.at_ns)
    }
}

/// What happened, by all processes that say so: each event once, in the order of the schedule.
pub fn happened(landscape: &Landscape, struck: &[Struck]) -> Vec<Happened> {
    let events = landscape.events.iter().enumerate();
    let one = |(place, event): (usize, &Event)| {
        let these = struck.iter().filter(|it| it.event == place);
        let all = these.copied().reduce(|a, b| Struck {
            event: place,
            at_ns: a.at_ns.max(b.at_ns),
            devices: a.devices + b.devices,
        });
        all.map(|all| Happened::of(event, all))
    };
    events.filter_map(one).collect()
}

/// Counts of devices, added up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Sum {
    /// How many there are.
    devices: usize,
    /// Updates made.
    updates: Updates,
    /// What became of values and messages of subscriptions.
    subscriptions: Tally,
    /// How clients took what there was for them.
    clients: Taking,
    /// How often faults struck.
    fault_hits: u64,
    /// What devices counted beside.
    counted: Counted,
}

impl Sum {
    fn of(truth: &GroundTruth) -> Self {
        Self {
            devices: 1,
            updates: truth.updates,
            subscriptions: truth.subscriptions.total,
            clients: truth.clients,
            fault_hits: truth.faults.iter().map(|it| it.hits).sum(),
            counted: truth.counted,
        }
    }
}

impl AddAssign for Sum {
    fn add_assign(&mut self, other: Self) {
        self.devices += other.devices;
        self.updates.computed += other.updates.computed;
        self.updates.stored += other.updates.stored;
        self.updates.event += other.updates.event;
        self.subscriptions += other.subscriptions;
        self.clients += other.clients;
        self.fault_hits += other.fault_hits;
        self.counted += other.counted;
    }
}

/// What became of the devices that one process serves.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Sheet {
    /// By group.
    groups: Vec<Sum>,
    /// Of each device its place, and what became of it as a line of JSON.
    each: Vec<(usize, String)>,
}

#[derive(Debug, Serialize)]
struct OfDevice<'a> {
    device: &'a str,
    url: &'a str,
    application_uri: &'a str,
    #[serde(flatten)]
    truth: GroundTruth,
}

impl Sheet {
    /// What is true now of the devices of a part, which are in the order of the file.
    pub fn read(landscape: &Landscape, part: &Part<'_>, watches: &[ServerWatch]) -> Self {
        let (mut groups, mut each) = (Vec::new(), Vec::new());
        let mut watches = watches.iter();
        for group in &landscape.groups {
            let mut sum = Sum::default();
            for (device, watch) in part.of(group).into_iter().zip(watches.by_ref()) {
                let truth = watch.ground_truth();
                sum += Sum::of(&truth);
                let of_device = OfDevice {
                    device: &device.name,
                    url: watch.url(),
                    application_uri: &device.uri,
                    truth,
                };
                // Numbers, names and times have a form in JSON.
                let line = serde_json::to_string(&of_device).unwrap_or_default();
                each.push((device.place, line));
            }
            groups.push(sum);
        }
        Self { groups, each }
    }

    fn total(&self) -> Sum {
        let mut total = Sum::default();
        self.groups.iter().for_each(|it| total += *it);
        total
    }
}

/// An agent that served devices.
pub struct Server {
    /// As it was named.
    pub name: String,
    /// How many devices it had.
    pub devices: usize,
    /// What became of them, or why nobody knows.
    pub sheet: Result<Sheet, String>,
}

#[derive(Debug, Serialize)]
struct OfGroup {
    name: String,
    #[serde(flatten)]
    sum: Sum,
}

#[derive(Debug, Serialize)]
struct OfAgent {
    name: String,
    /// How many devices it was given.
    given: usize,
    /// Why nothing is known of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    lost: Option<String>,
    #[serde(flatten)]
    sum: Option<Sum>,
}

/// The joint ledger.
#[derive(Debug, Serialize)]
pub struct Joint {
    landscape: String,
    at: Timestamp,
    events: Vec<Happened>,
    total: Sum,
    groups: Vec<OfGroup>,
    /// Agents that served them, where there were any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    agents: Vec<OfAgent>,
    #[serde(skip)]
    each: Vec<(usize, String)>,
}

impl Joint {
    /// That of the devices of this process.
    pub fn here(landscape: &Landscape, sheet: Sheet, events: Vec<Happened>) -> Self {
        let mut joint = Self::empty(landscape, events);
        joint.add(sheet);
        joint
    }

    /// That of the devices of agents.
    pub fn of_agents(landscape: &Landscape, servers: Vec<Server>, events: Vec<Happened>) -> Self {
        let mut joint = Self::empty(landscape, events);
        for it in servers {
            let (sheet, lost) = match it.sheet {
                Ok(sheet) => (Some(sheet), None),
                Err(why) => (None, Some(why)),
            };
            joint.agents.push(OfAgent {
                name: it.name,
                given: it.devices,
                lost,
                sum: sheet.as_ref().map(Sheet::total),
            });
            sheet.into_iter().for_each(|sheet| joint.add(sheet));
        }
        joint.each.sort_by_key(|(place, _)| *place);
        joint
    }

    fn empty(landscape: &Landscape, events: Vec<Happened>) -> Self {
        let group = |name: &String| OfGroup {
            name: name.clone(),
            sum: Sum::default(),
        };
        Self {
            landscape: landscape.name.clone(),
            at: Timestamp::from(SystemTime::now()),
            events,
            total: Sum::default(),
            groups: landscape.groups.iter().map(|it| group(&it.name)).collect(),
            agents: Vec::new(),
            each: Vec::new(),
        }
    }

    fn add(&mut self, sheet: Sheet) {
        self.total += sheet.total();
        for (group, sum) in self.groups.iter_mut().zip(sheet.groups) {
            group.sum += sum;
        }
        self.each.extend(sheet.each);
    }

    /// Whether all agents told what became of their devices.
    pub fn is_whole(&self) -> bool {
        self.agents.iter().all(|it| it.lost.is_none())
    }

    /// As JSON, with a line for each device if that is asked for.
    pub fn to_json(&self, each: bool) -> String {
        // Numbers, names and times have a form in JSON.
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        if each && text.ends_with("\n}") {
            text.truncate(text.len() - 2);
            text += ",\n  \"each\": [\n";
            let lines = self.each.iter().map(|(_, line)| line.as_str());
            let lines: Vec<_> = lines.collect();
            text += &lines.join(",\n");
            text += "\n  ]\n}";
        }
        text.push('\n');
        text
    }

    /// For people, at the end.
    pub fn totals(&self) -> String {
        let mut text = format!("devices {}\n", self.total.devices);
        text += &sums(&self.total.counted, &self.total.subscriptions);
        let width = self.agents.iter().map(|it| it.name.len()).max();
        let width = width.unwrap_or(0);
        for it in &self.agents {
            // Writing into a text never fails.
            let _ = match &it.sum {
                Some(sum) => writeln!(
                    text,
                    "{:width$}  devices {}, sessions {}, values read {}, written {}, sent {}",
                    it.name,
                    sum.devices,
                    sum.counted.cumulated_sessions,
                    sum.counted.reads,
                    sum.counted.writes,
                    sum.subscriptions.values().sent
                ),
                None => writeln!(
                    text,
                    "{:width$}  {} devices are missing: it {}",
                    it.name,
                    it.given,
                    it.lost.as_deref().unwrap_or("told nothing")
                ),
            };
        }
        for it in &self.events {
            let at = duration::show(it.at());
            let _ = writeln!(
                text,
                "event at {at}: {} {}, {} devices",
                it.devices, it.action, it.struck
            );
        }
        text
    }
}
