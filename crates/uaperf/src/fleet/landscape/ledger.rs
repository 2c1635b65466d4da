//! The joint ledger: what became of each update, sample, value and message, over all devices.

use std::fmt::Write as _;
use std::time::{Duration, SystemTime};

use plan::unit::duration;
use plant::{Counted, GroundTruth, Taking, Tally, Updates, Watch};
use record::Timestamp;
use serde::Serialize;

use super::file::Landscape;
use crate::serve::live::sums;

/// Something that happened to devices.
#[derive(Debug, Clone, Serialize)]
pub struct Happened {
    /// When it was to, since all devices were there.
    #[serde(rename = "planned_ns", serialize_with = "nanos")]
    pub planned: Duration,
    /// When the last of them was told.
    #[serde(rename = "at_ns", serialize_with = "nanos")]
    pub at: Duration,
    /// To whom.
    pub devices: String,
    /// What.
    pub action: String,
    /// What that is for each of them.
    pub fault: String,
    /// How many there were.
    pub struck: usize,
    /// Their places.
    #[serde(skip)]
    pub places: Vec<usize>,
    /// For how long it took them away.
    #[serde(skip)]
    pub away: Option<Duration>,
}

fn nanos<S: serde::Serializer>(time: &Duration, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_u64(duration::nanos(*time))
}

/// Counts of devices, added up.
#[derive(Debug, Clone, Copy, Default, Serialize)]
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
    fn add(&mut self, truth: &GroundTruth) {
        self.devices += 1;
        self.updates.computed += truth.updates.computed;
        self.updates.stored += truth.updates.stored;
        self.updates.event += truth.updates.event;
        self.subscriptions += truth.subscriptions.total;
        self.clients += truth.clients;
        self.fault_hits += truth.faults.iter().map(|it| it.hits).sum::<u64>();
        self.counted += truth.counted;
    }
}

#[derive(Debug, Serialize)]
struct OfGroup {
    name: String,
    #[serde(flatten)]
    sum: Sum,
}

#[derive(Debug, Serialize)]
struct OfDevice {
    device: String,
    url: String,
    application_uri: String,
    #[serde(flatten)]
    truth: GroundTruth,
}

/// The joint ledger.
#[derive(Debug, Serialize)]
pub struct Joint {
    landscape: String,
    at: Timestamp,
    events: Vec<Happened>,
    total: Sum,
    groups: Vec<OfGroup>,
    #[serde(skip)]
    each: Vec<OfDevice>,
}

impl Joint {
    /// What is true now.
    pub fn read(landscape: &Landscape, watches: &[Watch], events: Vec<Happened>) -> Self {
        let mut total = Sum::default();
        let (mut groups, mut each) = (Vec::new(), Vec::new());
        let mut watches = watches.iter();
        for group in &landscape.groups {
            let mut sum = Sum::default();
            for (device, watch) in group.devices.iter().zip(watches.by_ref()) {
                let truth = watch.ground_truth();
                sum.add(&truth);
                total.add(&truth);
                each.push(OfDevice {
                    device: device.name.clone(),
                    url: watch.url().to_owned(),
                    application_uri: device.uri.clone(),
                    truth,
                });
            }
            groups.push(OfGroup {
                name: group.name.clone(),
                sum,
            });
        }
        Self {
            landscape: landscape.name.clone(),
            at: Timestamp::from(SystemTime::now()),
            events,
            total,
            groups,
            each,
        }
    }

    /// As JSON, with a line for each device if that is asked for.
    pub fn to_json(&self, each: bool) -> String {
        // Numbers, names and times have a form in JSON.
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        if each && text.ends_with("\n}") {
            text.truncate(text.len() - 2);
            text += ",\n  \"each\": [\n";
            let lines = self.each.iter().map(serde_json::to_string);
            let lines: Vec<_> = lines.map(Result::unwrap_or_default).collect();
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
        for it in &self.events {
            let at = duration::show(it.at);
            // Writing into a text never fails.
            let _ = writeln!(
                text,
                "event at {at}: {} {}, {} devices",
                it.devices, it.action, it.struck
            );
        }
        text
    }
}
