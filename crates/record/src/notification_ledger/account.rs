//! What the notification ledgers of all cores add up to.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Histogram;
use crate::histogram::exact;

use super::counts::{Events, Firsts, Messages, Places, Values};
use super::notifier::EventsReceived;
use super::numbers::NumberState;
use super::subscription::{HELD, KEPT, SILENT, UNJUDGED};
use super::{Counts, Event, NotificationLedger, Row, Seat};

/// Single items that are named: the slowest, and those that never reported.
const NAMED: usize = 20;

/// Steps of setting subscriptions up and taking them down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetUpStep {
    /// CreateSubscription.
    CreateSubscription,
    /// CreateMonitoredItems.
    CreateItems,
    /// SetTriggering.
    SetTriggering,
    /// ModifyMonitoredItems and ModifySubscription.
    Modify,
    /// SetMonitoringMode and SetPublishingMode.
    SetMode,
    /// TransferSubscriptions.
    Transfer,
    /// ConditionRefresh.
    Refresh,
    /// DeleteMonitoredItems.
    DeleteItems,
    /// DeleteSubscriptions.
    DeleteSubscriptions,
    /// CreateSubscription for one that was lost.
    RecreateSubscription,
    /// CreateMonitoredItems for those of one that was lost.
    RecreateItems,
}

impl SetUpStep {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::CreateSubscription,
        Self::CreateItems,
        Self::SetTriggering,
        Self::Modify,
        Self::SetMode,
        Self::Transfer,
        Self::Refresh,
        Self::DeleteItems,
        Self::DeleteSubscriptions,
        Self::RecreateSubscription,
        Self::RecreateItems,
    ];

    /// Its name in result files.
    pub fn name(self) -> &'static str {
        match self {
            Self::CreateSubscription => "create_subscription",
            Self::CreateItems => "create_items",
            Self::SetTriggering => "set_triggering",
            Self::Modify => "modify",
            Self::SetMode => "set_mode",
            Self::Transfer => "transfer",
            Self::Refresh => "refresh",
            Self::DeleteItems => "delete_items",
            Self::DeleteSubscriptions => "delete_subscriptions",
            Self::RecreateSubscription => "recreate_subscription",
            Self::RecreateItems => "recreate_items",
        }
    }
}

/// How long a step took, each time and in all.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepTimes {
    /// Things it was about: subscriptions, items.
    pub things: u64,
    /// When the first began and the last ended.
    pub span: Option<(u64, u64)>,
    /// Each request.
    #[serde(with = "exact")]
    pub times: Histogram,
}

impl StepTimes {
    pub(super) fn add(&mut self, began: u64, ended: u64, things: u32) {
        self.merge(&Self {
            things: things.into(),
            span: Some((began, ended)),
            times: Histogram::of(ended.saturating_sub(began), 1),
        });
    }

    fn merge(&mut self, other: &Self) {
        self.things += other.things;
        self.span = match (self.span, other.span) {
            (Some((a, b)), Some((c, d))) => Some((a.min(c), b.max(d))),
            (one, other) => one.or(other),
        };
        self.times.merge(&other.times);
    }
}

/// An item that stands out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Tardy {
    /// Its mean delay.
    pub mean_ns: u64,
    /// Its subscription.
    pub seat: Seat,
    /// Its place in it.
    pub item: u32,
}

/// Counts of one stretch of time.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stretch {
    /// Values as they came.
    pub values: Values,
    /// Updates of counters by what became of them.
    pub places: Places,
    /// Events, where items wait for those.
    pub events: Events,
    /// Messages and requests.
    pub messages: Messages,
}

impl Stretch {
    /// Adds another.
    pub fn merge(&mut self, other: &Self) {
        self.values.merge(&other.values);
        self.places.merge(&other.places);
        self.events.merge(&other.events);
        self.messages.merge(&other.messages);
    }
}

/// What all cores received. Merging is exact, commutative and associative.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    /// What was counted before the measurement: while setting up and settling.
    pub before: Stretch,
    /// What was counted from then on.
    pub measured: Stretch,
    /// When the measurement began, on the notification ledgers' clock.
    pub measured_from: Option<u64>,
    /// When the notification ledgers were closed.
    pub ended_at: u64,
    /// The first of each kind of event; times on the notification ledgers' clock.
    pub firsts: Firsts,
    /// Steps of setting up, in the order of [`SetUpStep::ALL`].
    pub steps: [StepTimes; SetUpStep::ALL.len()],
    /// How long a message was missing before it came after all.
    #[serde(with = "exact")]
    pub recovery: Histogram,
    /// How long subscriptions were away: cut until they went on or were made again.
    #[serde(with = "exact")]
    pub outages: Histogram,
    /// Bad ends by what ended and status code.
    pub statuses: BTreeMap<(Cow<'static, str>, u32), u64>,
    /// Each subscription, by seat.
    pub rows: Vec<Row>,
    /// Items that were created.
    pub items: u64,
    /// Of them those of counters.
    pub counters: u64,
    /// Mean delays: one entry for each item with a value while measured.
    #[serde(with = "exact")]
    pub item_delays: Histogram,
    /// Values of each item while measured.
    #[serde(with = "exact")]
    pub item_values: Histogram,
    /// Those with the longest mean delays, the longest first.
    pub slowest: Vec<Tardy>,
    /// Items without any value.
    pub silent: u64,
    /// The first of them.
    pub silent_first: Vec<(Seat, u32)>,
    /// Updates of counters behind the last value of each item, as far as time tells.
    pub under_way: u64,
    /// Of them those that should have come by then.
    pub overdue: u64,
    /// Items with such.
    pub overdue_items: u64,
    /// The first of them.
    pub overdue_first: Option<Event>,
    /// Values that were expected of items with a known change rate, and those that came.
    pub by_rate: ByRate,
    /// Subscriptions away when the notification ledgers were closed.
    pub away: u64,
    /// Messages still missing then that Republish may have.
    pub unasked: u64,
    /// What items that wait for events heard.
    pub heard: EventsReceived,
}

/// Items whose changes are known by their rate alone.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ByRate {
    /// Items.
    pub items: u64,
    /// Values to be expected, at least.
    pub expected: u64,
    /// Values that came of those expected.
    pub came: u64,
    /// Of those expected, so many may fail to come by phase alone.
    pub by_phase: u64,
}

impl Account {
    /// Everything, from the first message on.
    pub fn whole(&self) -> Stretch {
        let mut whole = self.before.clone();
        whole.merge(&self.measured);
        whole
    }

    /// Adds what another core received.
    pub fn merge(&mut self, other: &Self) {
        // Every field is named, so that a new one cannot be forgotten.
        let Self {
            before,
            measured,
            measured_from,
            ended_at,
            firsts,
            steps,
            recovery,
            outages,
            statuses,
            rows,
            items,
            counters,
            item_delays,
            item_values,
            slowest,
            silent,
            silent_first,
            under_way,
            overdue,
            overdue_items,
            overdue_first,
            by_rate,
            away,
            unasked,
            heard,
        } = other;
        for (ours, theirs) in [(&mut self.before, before), (&mut self.measured, measured)] {
            ours.merge(theirs);
        }
        self.measured_from = match (self.measured_from, *measured_from) {
            (Some(ours), Some(theirs)) => Some(ours.min(theirs)),
            (ours, theirs) => ours.or(theirs),
        };
        self.ended_at = self.ended_at.max(*ended_at);
        self.firsts.merge(firsts);
        for (ours, theirs) in self.steps.iter_mut().zip(steps) {
            ours.merge(theirs);
        }
        self.recovery.merge(recovery);
        self.outages.merge(outages);
        for (of, count) in statuses {
            *self.statuses.entry(of.clone()).or_default() += count;
        }
        self.rows.extend_from_slice(rows);
        self.rows.sort_by_key(|row| row.seat);
        self.items += items;
        self.counters += counters;
        self.item_delays.merge(item_delays);
        self.item_values.merge(item_values);
        self.slowest.extend_from_slice(slowest);
        self.slowest
            .sort_by(|a, b| b.mean_ns.cmp(&a.mean_ns).then(a.cmp(b)));
        self.slowest.truncate(NAMED);
        self.silent += silent;
        self.silent_first.extend_from_slice(silent_first);
        self.silent_first.sort_unstable();
        self.silent_first.truncate(NAMED);
        self.under_way += under_way;
        self.overdue += overdue;
        self.overdue_items += overdue_items;
        self.overdue_first = match (self.overdue_first, *overdue_first) {
            (Some(ours), Some(theirs)) => Some(ours.min(theirs)),
            (ours, theirs) => ours.or(theirs),
        };
        self.by_rate.items += by_rate.items;
        self.by_rate.expected += by_rate.expected;
        self.by_rate.came += by_rate.came;
        self.by_rate.by_phase += by_rate.by_phase;
        self.away += away;
        self.unasked += unasked;
        self.heard.merge(heard);
    }

    /// The same on a clock that shows so much more: notification ledgers of several processes begin at moments of their own.
    pub fn shift(&mut self, by_ns: i64) {
        let shift = |at: &mut u64| *at = at.saturating_add_signed(by_ns);
        self.measured_from.iter_mut().for_each(shift);
        shift(&mut self.ended_at);
        self.firsts.shift(shift);
        let events = self.overdue_first.iter_mut();
        events.for_each(|event| shift(&mut event.at_ns));
        for (from, to) in self.steps.iter_mut().filter_map(|it| it.span.as_mut()) {
            shift(from);
            shift(to);
        }
    }
}

impl NotificationLedger {
    /// All is over: what was received, to be merged with that of other cores. `at` is the time up to
    /// which values could come.
    pub fn finish(mut self, at: u64) -> Account {
        self.measured(at);
        let [before, measured] = std::mem::take(&mut self.counts).map(stretch);
        let mut account = Account {
            before,
            measured,
            measured_from: self.measuring,
            ended_at: at,
            firsts: self.firsts,
            steps: std::mem::take(&mut self.steps),
            recovery: self.recovery.take(),
            outages: self.outages.take(),
            statuses: std::mem::take(&mut self.statuses),
            ..Account::default()
        };
        self.items_into(&mut account, at);
        account.heard = std::mem::take(&mut self.notifiers).told();
        let mut due: BTreeMap<usize, u64> = BTreeMap::new();
        for group in &self.groups {
            let at = group.subscription as usize;
            let publishing = self
                .subscriptions
                .get(at)
                .map(|it| it.row.terms.publishing_ns);
            if let Some(ns) = publishing.and_then(|publishing| group.news_ns(publishing)) {
                due.entry(at)
                    .and_modify(|least| *least = ns.min(*least))
                    .or_insert(ns);
            }
        }
        for mut subscription in self.subscriptions {
            let numbers = &subscription.numbers;
            let open = |state| matches!(state, NumberState::Missing | NumberState::Asked);
            let unasked = numbers.holes.iter().filter(|hole| open(hole.state));
            account.unasked += unasked.count() as u64;
            account.away += u64::from(subscription.cut.is_some());
            let due = due.get(&account.rows.len()).copied();
            let publishing = subscription.row.terms.publishing_ns;
            subscription.row.news = due.is_some_and(|ns| ns <= publishing);
            subscription.row.due_ns = due;
            account.rows.push(subscription.row);
        }
        account.rows.sort_by_key(|row| row.seat);
        account
    }

    fn items_into(&self, account: &mut Account, at: u64) {
        let utc = self.utc.saturating_add((at / 100) as i64);
        let measured_ns = at.saturating_sub(self.measuring.unwrap_or(at));
        let mut delays = crate::histogram::dense::Dense::new();
        let mut counts = crate::histogram::dense::Dense::new();
        for (index, subscription) in self.subscriptions.iter().enumerate() {
            let seat = subscription.row.seat;
            let handles = subscription.handles.iter().cloned().flatten();
            for (place, handle) in (0u32..).zip(handles) {
                let Some(item) = self.items.get(handle as usize) else {
                    continue;
                };
                let group = item.group().and_then(|at| self.groups.get(at as usize));
                let Some(group) = group.filter(|group| group.subscription as usize == index) else {
                    continue;
                };
                account.items += 1;
                let all = group.terms.watch == super::WatchedValue::Events(super::Ids::All);
                account.counters += u64::from(group.counter.is_some() || all);
                counts.record(item.values.into(), 1);
                // Values may come without source timestamps.
                if item.values > 0 && item.source != 0 {
                    let mean_ns = item.waited * 100 / u64::from(item.values);
                    delays.record(mean_ns, 1);
                    account.note_slow(Tardy {
                        mean_ns,
                        seat,
                        item: place,
                    });
                }
                if item.group & SILENT != 0 {
                    account.silent += 1;
                    account.silent_first.push((seat, place));
                    account.silent_first.sort_unstable();
                    account.silent_first.truncate(NAMED);
                    continue;
                }
                if item.group & HELD != 0 {
                    // What it keeps is due when it reports again.
                    continue;
                }
                let publishing_ns = subscription.row.terms.publishing_ns;
                if let Some(due) = group.due(publishing_ns, measured_ns) {
                    // One may be under way, one may fall on either side of the beginning.
                    let due = due.saturating_sub(2);
                    account.by_rate.items += 1;
                    account.by_rate.expected += due;
                    account.by_rate.came += due.min(item.values.into());
                    account.by_rate.by_phase += group.by_phase(publishing_ns, due);
                }
                if let Some(counter) = group.counter
                    && !subscription.over
                    && counter.update_ns > 0
                    && item.source != 0
                {
                    let mut since =
                        utc.saturating_sub(item.source).max(0).saturating_mul(100) as u64;
                    if item.group & (KEPT | UNJUDGED) != 0 {
                        // It was let go a moment ago: nothing was due before.
                        since = since.min(at.saturating_sub(subscription.released));
                    }
                    account.under_way += since / counter.update_ns;
                    let wait = group.phase.saturating_add(subscription.late_after()) * 100;
                    let held_back = u64::from(group.terms.held_back);
                    let healthy = (wait as u64)
                        .saturating_add(subscription.row.terms.publishing_ns)
                        .saturating_add((held_back + 1).saturating_mul(counter.update_ns));
                    let overdue = since.saturating_sub(healthy).div_ceil(counter.update_ns);
                    if overdue > 0 {
                        account.overdue += overdue;
                        account.overdue_items += 1;
                        let event = Event {
                            at_ns: at.saturating_sub(since),
                            seat,
                            item: Some(place),
                            sequence: 0,
                        };
                        let first = account
                            .overdue_first
                            .map_or(event, |known| known.min(event));
                        account.overdue_first = Some(first);
                    }
                }
            }
        }
        account.item_delays = delays.take();
        account.item_values = counts.take();
    }
}

impl Account {
    fn note_slow(&mut self, item: Tardy) {
        let worst = |a: &Tardy, b: &Tardy| b.mean_ns.cmp(&a.mean_ns).then(a.cmp(b));
        if self.slowest.len() == NAMED
            && self
                .slowest
                .last()
                .is_some_and(|last| worst(last, &item).is_lt())
        {
            return;
        }
        let at = self
            .slowest
            .partition_point(|known| worst(known, &item).is_lt());
        self.slowest.insert(at, item);
        debug_assert!(
            self.slowest
                .is_sorted_by(|one, next| worst(one, next).is_le())
        );
        self.slowest.truncate(NAMED);
    }
}

pub(super) fn stretch(counts: Counts) -> Stretch {
    Stretch {
        values: counts.values,
        places: counts.places,
        events: counts.events,
        messages: counts.messages,
    }
}
