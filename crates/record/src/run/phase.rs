//! A phase: what was planned, what was measured, for each target and in total.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{
    Bottleneck, ClockBound, Diagnostics, Energy, Expectation, Footprint, LinkTest, Observing,
    PubSub, Series, Stall, Status, Subscriptions, Trust, UsageSeries, Verdict,
};
use crate::ledger::{Gauge, Sizes, Statuses};
use crate::{Histogram, Measure, Tally, Timestamp, Window};

/// A phase of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Phase {
    /// Its name, unique in the run.
    pub name: String,
    /// When its clock showed 0. All `_ns` of the phase count from here.
    pub started: Timestamp,
    /// When it stopped offering load.
    pub end_ns: u64,
    /// What was left out at its beginning, and why.
    pub warm_up: WarmUp,
    /// The window that all of `total` and `parts` speak of.
    pub from_ns: u64,
    /// Where the window ends.
    pub to_ns: u64,
    /// What lies outside of the window, before and behind it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOut>,
    /// All targets and services together.
    pub total: Sum,
    /// Each target and service alone, where there is more than one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Part>,
    /// The whole phase in intervals, warm-up included.
    pub series: Series,
    /// Where all sessions send together: how long each cycle took, from its begin to the answer of the
    /// slowest. At most a million.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cycles_ns: Vec<u64>,
    /// What subscriptions brought, where there were any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subscriptions: Option<Subscriptions>,
    /// What was published and heard over PubSub, where that was done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pubsub: Option<PubSub>,
    /// What the servers counted themselves, where they were asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diagnostics: Option<Diagnostics>,
    /// What rounds of steps left behind in the server, where there were any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub footprint: Option<Footprint>,
    /// What was spent meanwhile: the generator, the server, the host.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<UsageSeries>,
    /// What looking at them cost, where it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observing: Option<Observing>,
    /// What the way to the server carried before the load, where that was to be tested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link_test: Option<LinkTest>,
    /// What power meters and the machine itself counted, where it was asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub energy: Vec<Energy>,
    /// When the generator itself did not run, in order; the longest thousand of each of its threads.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stalls: Vec<Stall>,
    /// What a person did to it while it ran.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_hand: Vec<ByHand>,
    /// Whether it can be believed.
    pub verdict: Verdict,
    /// What limited it, where the server did not keep up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bottleneck: Option<Bottleneck>,
    /// Thresholds, and what became of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expectations: Vec<Expectation>,
}

/// Something that a person did to a phase while it ran.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ByHand {
    /// When, since its clock showed 0.
    pub at_ns: u64,
    /// What.
    pub did: OperatorAction,
    /// What was offered from then on, of what was planned; nothing in a pause.
    pub offered_percent: u32,
}

/// What a person can do to a phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OperatorAction {
    /// Have nothing sent, for now.
    Paused,
    /// Have it go on.
    Resumed,
    /// Offer more or less.
    Offered,
    /// End it before its time.
    EndedPhase,
    /// End it and all behind it.
    EndedRun,
}

impl OperatorAction {
    /// Whether the load was another one from then on.
    pub const fn changes_load(self) -> bool {
        matches!(self, Self::Paused | Self::Resumed | Self::Offered)
    }
}

/// What was left out at the beginning of a phase.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WarmUp {
    /// As asked for; none when it was left to be found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub given_ns: Option<u64>,
    /// As found in the figures, if looked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found_ns: Option<u64>,
    /// Which figure took longest to settle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub longest: Option<String>,
    /// What was left out.
    pub cut_ns: u64,
}

/// A part of a phase that is in none of its figures but these.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// Which part.
    pub part: Outside,
    /// From.
    pub from_ns: u64,
    /// To.
    pub to_ns: u64,
    /// How long it was to be; it is longer where the phase could only be cut at the edge of a bin.
    pub asked_ns: u64,
    /// What was done in it.
    #[serde(flatten)]
    pub counts: Counts,
    /// The largest value of each histogram: `response`.
    pub max_ns: BTreeMap<String, u64>,
}

/// A part of a phase outside of the measured window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outside {
    /// Its beginning.
    WarmUp,
    /// Its end.
    CoolDown,
}

impl Outside {
    /// As in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::WarmUp => "warm-up",
            Self::CoolDown => "cool-down",
        }
    }
}

/// What became of operations.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// That fell due: sent, left out, or never sent.
    pub planned: u64,
    /// That ended, well or badly, timeouts among them.
    pub completed: u64,
    /// That ended with a Bad status, timeouts among them.
    pub errors: u64,
    /// That were given up after the client's own timeout.
    pub timeouts: u64,
    /// That were left out to catch up.
    pub skipped: u64,
    /// That were due and never sent.
    pub unsent: u64,
    /// Without an answer when the generator stopped waiting.
    pub unfinished: u64,
}

impl Counts {
    fn of(window: &Window) -> Self {
        let counters = &window.sum.counters;
        Self {
            planned: counters.planned(),
            completed: counters.completed,
            errors: window.sum.statuses.bad(),
            timeouts: counters.timeouts,
            skipped: counters.skipped,
            unsent: counters.unsent,
            unfinished: counters.unfinished,
        }
    }
}

impl LeftOut {
    fn of(part: Outside, window: &Window, asked_ns: u64) -> Self {
        let largest = |&measure: &Measure| {
            let max = window.histogram(measure).max()?;
            Some((measure.name().to_owned(), max))
        };
        Self {
            part,
            from_ns: window.from_ns,
            to_ns: window.to_ns,
            asked_ns,
            counts: Counts::of(window),
            max_ns: Measure::ALL.iter().filter_map(largest).collect(),
        }
    }
}

/// One target and service of a phase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// The target, as an index into the run's `targets`.
    pub target: usize,
    /// The service: `read`.
    pub service: String,
    /// What was measured.
    pub sum: Sum,
}

/// What was measured in a window.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sum {
    /// Operations that fell due: sent, left out, or never sent.
    pub planned: u64,
    /// Operations that were sent.
    pub sent: u64,
    /// Operations that ended, well or badly, timeouts among them.
    pub completed: u64,
    /// Of these, how many ended after the phase had: in the histograms, not in the rate.
    pub drained: u64,
    /// Operations that ended with a Bad status, timeouts among them.
    pub errors: u64,
    /// Operations given up after the client's own timeout.
    pub timeouts: u64,
    /// Operations left out to catch up.
    pub skipped: u64,
    /// Operations that were due and never sent.
    pub unsent: u64,
    /// Operations without an answer when the generator stopped waiting.
    pub unfinished: u64,
    /// Values read, written or otherwise carried.
    pub values: u64,
    /// Connections that were lost and came back.
    pub reconnects: u64,
    /// How long they were away, added up.
    pub outage_ns: u64,
    /// Operations that succeeded, per second of the window.
    pub rate_per_s: Option<f64>,
    /// Operations that were sent, per second of the window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempted_per_s: Option<f64>,
    /// Operations that ended with a Bad status, timeouts among them, per second of the window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed_per_s: Option<f64>,
    /// Operations that were given up after the client's own timeout, per second of the window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timed_out_per_s: Option<f64>,
    /// Values per second of the window.
    pub values_per_s: Option<f64>,
    /// Operations by the status that they ended with.
    pub statuses: Vec<Status>,
    /// Values inside responses by their status, other than Good.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub value_statuses: Vec<Status>,
    /// Messages written.
    pub requests: Messages,
    /// Messages received.
    pub responses: Messages,
    /// Requests in flight of a session, looked at from time to time.
    pub in_flight: Level,
    /// Operations of a session that were due and waited.
    pub waiting: Level,
    /// By name: response, service, lateness, pacer, slot, socket, lag, and others.
    pub histograms: BTreeMap<String, Histogram>,
}

/// Messages and their bytes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Messages {
    /// How many.
    pub count: u64,
    /// Bytes of all of them.
    pub total_bytes: u64,
    /// Bytes of the smallest.
    pub min_bytes: Option<u64>,
    /// Bytes of one on average.
    pub mean_bytes: Option<f64>,
    /// Bytes of the largest.
    pub max_bytes: Option<u64>,
}

/// A level that was looked at from time to time.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Level {
    /// How often.
    pub looks: u64,
    /// The mean.
    pub mean: Option<f64>,
    /// The highest.
    pub max: Option<u64>,
}

impl Sum {
    /// What a window of a tally says; `name` knows the specification's names of status codes.
    pub fn of(window: &Window, name: &dyn Fn(u32) -> String) -> Self {
        let counters = &window.sum.counters;
        let per_second = |n: u64| {
            let seconds = window.seconds();
            (seconds > 0.0).then(|| n as f64 / seconds)
        };
        let statuses = |statuses: &Statuses| {
            statuses
                .iter()
                .map(|(code, count)| Status {
                    code,
                    name: name(code),
                    count,
                })
                .collect()
        };
        Self {
            planned: counters.planned(),
            sent: counters.sent,
            completed: counters.completed,
            drained: counters.completed - window.completed_in_time,
            errors: window.sum.statuses.bad(),
            timeouts: counters.timeouts,
            skipped: counters.skipped,
            unsent: counters.unsent,
            unfinished: counters.unfinished,
            values: counters.values,
            reconnects: counters.reconnects,
            outage_ns: counters.outage_ns,
            rate_per_s: per_second(window.succeeded_in_time()),
            attempted_per_s: per_second(counters.sent),
            failed_per_s: per_second(window.failed_in_time),
            timed_out_per_s: per_second(window.timed_out_in_time),
            values_per_s: per_second(window.values_in_time),
            statuses: statuses(&window.sum.statuses),
            value_statuses: statuses(&window.sum.value_statuses),
            requests: Messages::of(&counters.sent_sizes),
            responses: Messages::of(&counters.received_sizes),
            in_flight: Level::of(&counters.in_flight),
            waiting: Level::of(&counters.waiting),
            histograms: Measure::ALL
                .iter()
                .map(|&measure| (measure.name().to_owned(), window.histogram(measure).clone()))
                .filter(|(_, histogram)| !histogram.is_empty())
                .collect(),
        }
    }

    /// How often one of these times was taken; none where it never was.
    fn taken(&self, times: &[&str]) -> Option<u64> {
        let taken = times.iter().map(|it| self.histogram(it).count());
        taken.max().filter(|&taken| taken > 0)
    }

    /// One of its histograms; an empty one if there is none of that name.
    pub fn histogram(&self, name: &str) -> &Histogram {
        const NONE: &Histogram = &Histogram::EMPTY;
        self.histograms.get(name).unwrap_or(NONE)
    }
}

impl Messages {
    fn of(sizes: &Sizes) -> Self {
        let some = sizes.messages > 0;
        Self {
            count: sizes.messages,
            total_bytes: sizes.bytes,
            min_bytes: some.then_some(sizes.min_bytes.into()),
            mean_bytes: some.then(|| sizes.bytes as f64 / sizes.messages as f64),
            max_bytes: some.then_some(sizes.max_bytes.into()),
        }
    }
}

impl Level {
    fn of(gauge: &Gauge) -> Self {
        Self {
            looks: gauge.looks,
            mean: gauge.mean(),
            max: (gauge.looks > 0).then_some(gauge.max),
        }
    }
}

/// A value that a subscription brought has one of these times.
const VALUE_TIMES: &[&str] = &["delay", "server-delay"];

impl Phase {
    /// What the clocks of both sides allow to say of delays.
    pub fn clock(&self) -> Option<&ClockBound> {
        let subscriptions = self.subscriptions.as_ref().map(|it| &it.clock);
        let pubsub = || self.pubsub.as_ref().and_then(|it| it.clock.as_ref());
        subscriptions.or_else(pubsub)
    }

    /// How far a figure of this histogram can be trusted.
    pub fn trust(&self, of: &str, figure_ns: f64) -> Trust {
        self.clock()
            .map_or(Trust::Whole, |it| it.trust(of, figure_ns))
    }

    /// What became of all operations, in the window and outside of it.
    pub fn whole(&self) -> Counts {
        let sum = &self.total;
        let mut all = Counts {
            planned: sum.planned,
            completed: sum.completed,
            errors: sum.errors,
            timeouts: sum.timeouts,
            skipped: sum.skipped,
            unsent: sum.unsent,
            unfinished: sum.unfinished,
        };
        for Counts {
            planned,
            completed,
            errors,
            timeouts,
            skipped,
            unsent,
            unfinished,
        } in self.left_out.iter().map(|part| part.counts)
        {
            all.planned += planned;
            all.completed += completed;
            all.errors += errors;
            all.timeouts += timeouts;
            all.skipped += skipped;
            all.unsent += unsent;
            all.unfinished += unfinished;
        }
        all
    }

    /// The largest value of a histogram. Of what was left out by command nothing is said; a beginning
    /// that was found to be unsettled is in it.
    pub fn max_ns(&self, name: &str) -> Option<u64> {
        let found = |it: &&LeftOut| self.warm_up.given_ns.is_none() && it.part == Outside::WarmUp;
        let outside = self.left_out.iter().filter(found);
        let outside = outside.filter_map(|it| it.max_ns.get(name).copied());
        outside.chain(self.total.histogram(name).max()).max()
    }

    /// Whether values came without being asked for one by one: from subscriptions or publishers. Their delays are
    /// looked at then, not response times.
    pub fn is_notified(&self) -> bool {
        self.subscriptions.is_some() || self.pubsub.is_some()
    }

    /// Requests per second; of subscriptions and PubSub, values.
    pub fn rate_per_s(&self) -> Option<f64> {
        match self.is_notified() {
            true => self.values_per_s(),
            false => self.total.rate_per_s,
        }
    }

    /// Values per second: answered ones, or those that subscriptions brought; of PubSub, those that a listener got,
    /// on average.
    pub fn values_per_s(&self) -> Option<f64> {
        if let Some(pubsub) = &self.pubsub {
            let listeners = pubsub.listeners.len().max(1) as f64;
            return self.total.values_per_s.map(|all| all / listeners);
        }
        match &self.subscriptions {
            Some(told) => self.came_per_s(told, VALUE_TIMES, "received"),
            None => self.total.values_per_s,
        }
    }

    /// Values a second that the system that is looked at moved: of a publisher those that it sent, else those that came.
    pub fn values_moved_per_s(&self) -> Option<f64> {
        let sent = self.pubsub.as_ref().and_then(|it| it.published.as_ref());
        match sent {
            Some(sent) => sent.values_per_s(),
            None => self.values_per_s(),
        }
    }

    /// Values that were sent or promised and never came; none where nothing tells of it.
    pub fn lost(&self) -> Option<u64> {
        match (&self.subscriptions, &self.pubsub) {
            (Some(told), _) => Some(told.lost),
            (None, Some(pubsub)) => pubsub.lost(),
            (None, None) => None,
        }
    }

    /// Bytes of a value that came without being asked for, with its share of the message around it.
    pub fn bytes_per_value(&self) -> Option<f64> {
        match (&self.subscriptions, &self.pubsub) {
            (Some(told), _) => told.bytes_per_value,
            (None, Some(pubsub)) => pubsub.bytes_per_value(),
            (None, None) => None,
        }
    }

    /// Notification messages per second, if there are subscriptions.
    pub fn messages_per_s(&self) -> Option<f64> {
        let told = self.subscriptions.as_ref()?;
        self.came_per_s(told, &["publish-delay"], "notifications")
    }

    /// Values that subscriptions brought in the window; none where they had no timestamps, or there are
    /// no subscriptions.
    pub fn values_in_window(&self) -> Option<u64> {
        self.subscriptions.as_ref()?;
        self.taken(VALUE_TIMES)
    }

    /// The messages that came in the window; as values.
    pub fn messages_in_window(&self) -> Option<u64> {
        self.subscriptions.as_ref()?;
        self.taken(&["publish-delay"])
    }

    /// Values per second of one target or service: answered ones, or those that subscriptions brought.
    pub fn part_values_per_s(&self, part: &Part) -> Option<f64> {
        let window = self.to_ns.saturating_sub(self.from_ns);
        match part.sum.taken(VALUE_TIMES) {
            Some(taken) if self.subscriptions.is_some() => {
                (window > 0).then(|| taken as f64 * 1e9 / window as f64)
            }
            _ => part.sum.values_per_s,
        }
    }

    /// How often times were taken in the window.
    fn taken(&self, times: &[&str]) -> Option<u64> {
        self.total.taken(times)
    }

    /// How much came a second: as often as these times were taken in the window. Without timestamps there are none;
    /// then as it was counted, from the first moment of the phase on.
    fn came_per_s(&self, told: &Subscriptions, times: &[&str], count: &str) -> Option<f64> {
        let window = self.to_ns.saturating_sub(self.from_ns);
        let (came, ns) = match self.taken(times) {
            Some(taken) => (taken, window),
            None => {
                let before = told.before.get(count).copied().unwrap_or(0);
                (told.count(count).saturating_sub(before), self.end_ns)
            }
        };
        (window > 0).then(|| came as f64 * 1e9 / ns as f64)
    }

    /// A phase from what all cores wrote down, its warm-up cut off. Verdict, resources and
    /// expectations are for others to fill in.
    pub fn new(
        name: impl Into<String>,
        started: Timestamp,
        tally: &Tally,
        warm_up: WarmUp,
        cool_down_ns: u64,
        status_name: &dyn Fn(u32) -> String,
    ) -> Self {
        let end_ns = tally.phase_end();
        let to = match cool_down_ns {
            0 => u64::MAX,
            left_out => end_ns.saturating_sub(left_out),
        };
        let window = tally.window(warm_up.cut_ns, to);
        let mut left_out = Vec::new();
        if window.from_ns > 0 {
            let before = tally.window(0, window.from_ns);
            left_out.push(LeftOut::of(Outside::WarmUp, &before, warm_up.cut_ns));
        }
        if cool_down_ns > 0 {
            let behind = tally.window(window.to_ns, u64::MAX);
            left_out.push(LeftOut::of(Outside::CoolDown, &behind, cool_down_ns));
        }
        Self {
            name: name.into(),
            started,
            end_ns,
            warm_up,
            from_ns: window.from_ns,
            to_ns: window.to_ns,
            left_out,
            total: Sum::of(&window, status_name),
            parts: Vec::new(),
            series: Series::of(tally),
            cycles_ns: Vec::new(),
            stalls: Vec::new(),
            by_hand: Vec::new(),
            subscriptions: None,
            pubsub: None,
            diagnostics: None,
            footprint: None,
            resources: Vec::new(),
            observing: None,
            link_test: None,
            energy: Vec::new(),
            verdict: Verdict::default(),
            bottleneck: None,
            expectations: Vec::new(),
        }
    }
}
