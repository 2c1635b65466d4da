//! What subscriptions brought, and what became of what they did not bring.

mod of_account;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{ClockBound, Status};
use crate::Histogram;

pub use of_account::Names;

/// What can be said about losses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Every value that the terms of subscriptions and items promise came.
    Lossless,
    /// As far as sequence numbers and overflow bits tell, nothing is missing.
    #[default]
    NothingMissing,
    /// Values were lost, and only such as the server could not keep while the generator itself did not run.
    Stalled,
    /// Values or messages were lost.
    Lost,
}

impl Outcome {
    /// As it is printed.
    pub fn name(self) -> &'static str {
        match self {
            Self::Lossless => "LOSSLESS",
            Self::NothingMissing => "NO GAPS",
            Self::Stalled => "STALLED",
            Self::Lost => "LOST",
        }
    }
}

/// What subscriptions brought.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Subscriptions {
    /// Whether anything was lost.
    pub outcome: Outcome,
    /// Values that were promised and never came, where they can be counted; messages that never came
    /// where not.
    pub lost: u64,
    /// What this rests on: sentences.
    pub rests_on: Vec<String>,
    /// What happened, by cause: how often, and where first. Only what happened at all.
    pub causes: Vec<Incident>,
    /// Subscriptions that were created.
    pub subscriptions: u64,
    /// Items that were created.
    pub items: u64,
    /// Of them those of counters, whose every value can be placed.
    pub counters: u64,
    /// Values as they came, from the first message on.
    pub values: BTreeMap<String, u64>,
    /// Updates of counters by what became of them; their sum, less `refilled`, is `updates`.
    pub places: BTreeMap<String, u64>,
    /// Messages and requests.
    pub messages: BTreeMap<String, u64>,
    /// What items heard that wait for events; `values` counts events then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub events: Option<EventsHeard>,
    /// What of these was counted before the measurement, while setting up and settling; only what is
    /// not 0.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub before: BTreeMap<String, u64>,
    /// Why nothing was to be reported, where that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<String>,
    /// Messages that had to wait at the server for a Publish request.
    #[serde(default)]
    pub waited: u64,
    /// Updates behind the last value of each item when all was over: on their way.
    pub under_way: u64,
    /// Of them those that should have come by then.
    pub overdue: u64,
    /// Items without any value.
    pub silent: u64,
    /// The first of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub silent_items: Vec<Place>,
    /// When subscriptions heard nothing for longest, not even a keep-alive: those with the most of what they
    /// are owed meanwhile.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub silences: Vec<Silence>,
    /// Values expected by `--change-rate`, and those that came of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_rate: Option<ByRate>,
    /// Requests, items and subscriptions that ended badly.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ended: Vec<Ended>,
    /// Steps of setting up and taking down.
    pub steps: Vec<StepTaken>,
    /// How long messages were missing before they came after all.
    pub recovery: Histogram,
    /// How long subscriptions were away.
    pub outages: Histogram,
    /// Mean delay of each item.
    pub item_delay: Histogram,
    /// Those with the longest.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slowest: Vec<Slow>,
    /// Values of the item with the fewest and the most in the measured time.
    pub item_values: Extremes,
    /// How evenly subscriptions were served.
    pub fairness: Fairness,
    /// Bytes on the wire for each value.
    pub bytes_per_value: Option<f64>,
    /// What the clocks of both sides allow to say of delays.
    #[serde(default)]
    pub clock: ClockBound,
    /// What the server counted itself, beside what came.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<CountComparison>,
    /// The subscriptions, up to a thousand.
    pub each: Vec<EachSubscription>,
}

/// What items heard that wait for events.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct EventsHeard {
    /// Events by what they were, from the first message on: `raised`, `overflow_events`, `refreshed` and so on.
    pub counts: BTreeMap<String, u64>,
    /// How many of which type; each copy.
    pub kinds: BTreeMap<String, u64>,
    /// Sources that EventIds told apart, in each item.
    pub sources: u64,
    /// From the first event of a refresh to its last.
    pub refreshes: Histogram,
    /// Refreshes whose end did not come.
    pub unfinished: u64,
    /// Fields that the server said it does not know, with what it said.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown_fields: Vec<String>,
}

impl EventsHeard {
    /// A count by its name.
    pub fn count(&self, name: &str) -> u64 {
        self.counts.get(name).copied().unwrap_or(0)
    }
}

/// The fewest and the most.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extremes {
    /// The fewest.
    pub min: Option<u64>,
    /// The most.
    pub max: Option<u64>,
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Incident {
    /// What: `missing`, `lost_message`, `overflowed`, `stalled`, `outage`, `overwritten`, `sampled_away`,
    /// `repeated`, `out_of_order`, `recovered`, `late`, `stray`, `overflow_alone`, `ended`.
    pub cause: String,
    /// How many values; of `ended`, how many subscriptions.
    pub count: u64,
    /// Where it happened first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<First>,
}

/// Where something happened first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct First {
    /// When, since the phase began; less than zero while setting up.
    pub at_ns: i64,
    /// In which subscription, and to which item.
    #[serde(flatten)]
    pub place: Place,
    /// In or before the message of this number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sequence: Option<u32>,
}

/// A subscription, or an item of one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// Index into the run's targets.
    pub target: u32,
    /// The session, counted over the target.
    pub session: u32,
    /// The subscription, counted over the session.
    pub subscription: u32,
    /// The item, counted over the subscription.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<u32>,
    /// What it watches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
}

/// Values expected of items whose changes are known by their rate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ByRate {
    /// Items.
    pub items: u64,
    /// Values to be expected at least.
    pub expected: u64,
    /// Those of them that came.
    pub came: u64,
    /// Of those expected, so many may fail to come though nobody is late: values change, are sampled and are published about as often,
    /// and one is taken over by the next where these meet.
    #[serde(default, skip_serializing_if = "super::pubsub::is_zero")]
    pub by_phase: u64,
}

/// What ended badly, and how often.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    /// What: `publish`, `republish`, `item`, `acknowledgement`, `status_change`, `ended` (a
    /// subscription).
    pub what: String,
    /// With which status, how often.
    #[serde(flatten)]
    pub status: Status,
}

/// A step of setting up or taking down.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepTaken {
    /// `create_subscription`, `create_items` and so on.
    pub step: String,
    /// Subscriptions or items.
    pub things: u64,
    /// From the beginning of the first request to the end of the last.
    pub span_ns: u64,
    /// Each request.
    pub times: Histogram,
}

/// An item that stands out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Slow {
    /// Its mean delay.
    pub mean_ns: u64,
    /// Which it is.
    #[serde(flatten)]
    pub place: Place,
}

/// How evenly subscriptions were served in the measured time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Fairness {
    /// Messages of the subscription with the fewest, per second.
    pub min_messages_per_s: Option<f64>,
    /// Of the one with the most.
    pub max_messages_per_s: Option<f64>,
    /// Values of the subscription with the fewest, for each of its items.
    pub min_values_per_item: Option<f64>,
    /// Of the one with the most.
    pub max_values_per_item: Option<f64>,
    /// Jain's index of these: 1 when all are alike, 1/n when one has all.
    pub jain: Option<f64>,
    /// Standard deviation of the publish times from whole intervals, of the steadiest subscription.
    pub min_jitter_ns: Option<f64>,
    /// Of the unsteadiest.
    pub max_jitter_ns: Option<f64>,
}

/// A count of the server's beside ours.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CountComparison {
    /// Where the server counts: `ledger`.
    #[serde(rename = "witness")]
    pub source: String,
    /// What is counted.
    pub what: String,
    /// By the server, between the beginning and the end.
    pub server: u64,
    /// By us.
    pub client: u64,
    /// What the difference is, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
}

impl CountComparison {
    /// Whether both say the same.
    pub fn agrees(&self) -> bool {
        self.server == self.client
    }
}

/// Intervals of a subscription.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Intervals {
    /// How many.
    pub count: u64,
    /// Their mean.
    pub mean_ns: Option<f64>,
    /// Their standard deviation.
    pub deviation_ns: Option<f64>,
    /// The shortest.
    pub min_ns: i64,
    /// The longest.
    pub max_ns: i64,
}

/// A time in which a subscription heard nothing, not even a keep-alive.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Silence {
    /// Of which.
    #[serde(flatten)]
    pub place: Place,
    /// From, since the phase began.
    pub from_ns: u64,
    /// To.
    pub to_ns: u64,
    /// It went on to the end.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lasts: bool,
    /// Without anything to tell, a keep-alive is due after so long.
    pub keep_alive_ns: u64,
    /// Something to tell is due so often, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due_ns: Option<u64>,
    /// Between messages of it otherwise, where there were some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usual_ns: Option<u64>,
}

impl Silence {
    /// How long it was.
    pub fn length_ns(&self) -> u64 {
        self.to_ns.saturating_sub(self.from_ns)
    }
}

/// One subscription in the measured time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EachSubscription {
    /// Which it is.
    #[serde(flatten)]
    pub place: Place,
    /// Its publishing interval, revised.
    pub publishing_ns: u64,
    /// Items that were created.
    pub items: u32,
    /// There is something to tell at each publishing, as far as it is known how its nodes change.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub news: bool,
    /// Notification messages.
    pub messages: u64,
    /// Messages without notifications.
    pub keep_alives: u64,
    /// Values.
    pub values: u64,
    /// Between arrivals of messages.
    pub arrival: Intervals,
    /// How far publish times were from whole publishing intervals.
    pub jitter: Intervals,
    /// How it ended, unless we deleted it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<String>,
}

impl Subscriptions {
    /// A count by its name: of values, places or messages.
    pub fn count(&self, name: &str) -> u64 {
        let maps = [&self.values, &self.places, &self.messages];
        let found = maps.iter().find_map(|map| map.get(name));
        found.copied().unwrap_or(0)
    }

    /// How often something was found.
    pub fn found(&self, cause: &str) -> Option<&Incident> {
        self.causes.iter().find(|found| found.cause == cause)
    }

    /// First copies of values.
    pub fn delivered(&self) -> u64 {
        self.count("in_order") + self.count("out_of_order") + self.count("recovered")
    }

    /// The share of what was promised that was lost; none if nothing was promised.
    pub fn loss_share(&self) -> Option<f64> {
        let promised = self.delivered() + self.lost;
        (promised > 0).then(|| self.lost as f64 / promised as f64)
    }
}
