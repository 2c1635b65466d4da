//! Subscriptions (Part 4, 5.14): the state machine, without sockets and with time as an
//! argument.
//!
//! [`Subscription::tick`] is to be called each publishing interval, [`Subscription::publish`]
//! whenever a Publish request can be answered and [`Subscription::wants`] one.

mod asked;
mod computed;
mod event;
mod filter;
mod item;
mod kept;
mod moment;
mod queue;
#[cfg(test)]
mod tests;

pub use event::{EventItem, EventItems, EventParameters};
pub use filter::Filter;
pub use item::{Item, Links, Parameters, Watch};

use std::sync::Arc;
use std::time::Duration;

use plan::unit::duration;
use wire::time::{Instant, Now};
use wire::types::{MonitoringMode, StatusCode};

use crate::core::SlotId;
use crate::diagnostics::SubscriptionRecord;
use crate::fault::Faults;
use crate::ledger::{Account, Ledger, Load, Tally, Values};
use crate::session::Owner;
use crate::space::Space;
use computed::Pace;
use kept::Kept;

/// Encoding ids of notifications (Part 6, annex A.3).
const DATA_CHANGE: u16 = 811;
const EVENTS: u16 = 916;
const STATUS_CHANGE: u16 = 820;

/// Time goes on, whatever somebody asks for.
const LEAST_INTERVAL: Duration = Duration::from_micros(100);

/// What a client may change about a subscription, revised.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Terms {
    /// Time between publishings.
    pub interval: Duration,
    /// Publishings without a Publish request until it dies.
    pub lifetime: u32,
    /// Publishings without notifications until the client is told that it lives.
    pub keep_alive: u32,
    /// Notifications of a message at most; 0 for any number.
    pub most: u32,
    /// Which subscription is served first when several wait.
    pub priority: u8,
}

/// Where it is in the table of Part 4, 5.14.1.2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Has sent something in the last interval.
    Normal,
    /// Has something to send and no Publish request for it.
    Late,
    /// Has nothing to send, and counts.
    KeepAlive,
}

/// What a publishing came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tick {
    /// It goes on; see [`Subscription::wants`].
    Alive,
    /// Nobody asked for so long that it is to be deleted.
    Expired,
}

/// What a message was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Message {
    /// So many values.
    Notifications(usize),
    /// That it lives.
    KeepAlive,
    /// There was to be one, and faults left nothing of it.
    Nothing,
}

/// What became of a notification message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// A connection has it.
    Sent,
    /// A fault held it back.
    Dropped,
    /// There was no connection, or it was too large for it.
    Unsent,
}

/// A subscription.
#[derive(Debug)]
pub struct Subscription {
    /// Its number in the server.
    pub id: u32,
    /// Whose it is; nobody's when its session was closed without it.
    pub session: Option<SlotId>,
    /// On whose behalf it was made, also when there is no session.
    pub owner: Arc<Owner>,
    /// What others see of it.
    pub record: Arc<SubscriptionRecord>,
    /// What the client may change.
    pub terms: Terms,
    /// Whether it sends notifications.
    pub enabled: bool,
    /// When the next publishing is due.
    pub next: Instant,
    /// What it watches, by rising number.
    items: Vec<Item>,
    /// What it hears of.
    events: EventItems,
    last_item: u32,
    /// Values that may be reported now.
    ready: usize,
    /// Items that watch nothing.
    disabled: usize,
    /// The shortest sampling interval of items that have to be asked.
    fastest: Option<Duration>,
    /// The last two have to be counted again.
    stale: bool,
    state: State,
    lifetime: u32,
    keep_alive: u32,
    /// Whether anything was sent since it was created.
    message_sent: bool,
    /// Something is to be sent as soon as there is a Publish request.
    wants: bool,
    /// The number of the next notification message, never 0.
    sequence: u32,
    kept: Kept,
    /// The item that reports first in the next message.
    turn: usize,
    /// What it counts for the ledger.
    account: Account,
    /// What the last notification message holds, until it is told what became of it.
    load: Option<Load>,
    /// Values dropped because queues were full that [`take_dropped`](Self::take_dropped) told.
    dropped: u64,
    /// The shortest sampling interval of items that have to be asked, and when that is.
    poll: Option<(Duration, Instant)>,
    /// When its timer rings; others that ring are left from before.
    pub wake: Instant,
    /// Since when it has something to send and no Publish request.
    late_since: Option<Instant>,
    /// When it was looked at last.
    seen: Instant,
}

impl Subscription {
    /// A subscription without items.
    pub fn new(id: u32, session: SlotId, terms: Terms, enabled: bool, now: Now) -> Self {
        let subscription = Self {
            id,
            session: Some(session),
            owner: Arc::default(),
            record: Arc::new(SubscriptionRecord::new(id)),
            terms,
            enabled,
            next: now.mono + terms.interval,
            items: Vec::new(),
            events: EventItems::default(),
            last_item: 0,
            ready: 0,
            disabled: 0,
            fastest: None,
            stale: false,
            state: State::Normal,
            lifetime: terms.lifetime,
            keep_alive: terms.keep_alive,
            message_sent: false,
            wants: false,
            sequence: 1,
            kept: Kept::default(),
            turn: 0,
            account: Account::default(),
            load: None,
            dropped: 0,
            poll: None,
            wake: Instant::default(),
            late_since: None,
            seen: now.mono,
        };
        subscription.tell_terms();
        subscription.tell();
        subscription
    }

    /// Joins a session, by its place and its number.
    pub fn join(&mut self, session: SlotId, number: u32, owner: &Arc<Owner>) {
        self.session = Some(session);
        self.owner = Arc::clone(owner);
        self.record.session.set(number);
    }

    /// Stays behind when its session ends.
    pub fn leave(&mut self) {
        self.session = None;
        self.record.session.set(0);
    }

    fn tell_terms(&self) {
        let (record, terms) = (&self.record, &self.terms);
        record.set_interval(terms.interval);
        record.priority.set(terms.priority.into());
        record.max_keep_alive.set(terms.keep_alive);
        record.max_lifetime.set(terms.lifetime);
        record.max_notifications.set(terms.most);
        record.enabled.set(self.enabled.into());
    }

    /// Shows others how it stands.
    fn tell(&self) {
        let record = &self.record;
        record.keep_alive.set(self.keep_alive);
        record.lifetime.set(self.lifetime);
        record.next_sequence.set(self.sequence);
        record
            .unacknowledged
            .set(self.kept.sequences().len() as u32);
        record.set_oldest(self.kept.oldest());
        let tally = &self.account.tally;
        record.discarded.set(tally.messages.forgotten as u32);
        let events = tally.event.overflowed;
        record.event_overflows.set(events as u32);
        let overflowed = tally.values().overflowed - events;
        record.overflows.set(overflowed as u32);
    }

    /// Enters what it counts into a ledger.
    pub fn enter(&mut self, ledger: &Arc<Ledger>) {
        self.account.open(self.id, ledger);
    }

    /// What it counted.
    #[cfg(test)]
    pub fn tally(&self) -> &Tally {
        &self.account.tally
    }

    /// Whether something is to be sent as soon as there is a Publish request.
    pub fn wants(&self) -> bool {
        self.wants
    }

    /// When it is to be looked at next: for a publishing, or to ask items before.
    pub fn due(&self) -> Instant {
        match self.poll {
            Some((_, at)) => self.next.min(at),
            None => self.next,
        }
    }

    /// Whether a publishing interval is over.
    pub fn is_due(&self, now: Now) -> bool {
        self.next <= now.mono
    }

    /// Any call of its client that names it keeps it alive (Part 4, table 83).
    pub fn touch(&mut self) {
        self.lifetime = self.terms.lifetime;
    }

    /// Between two publishings: takes the samples of items that have to be asked in time.
    pub fn sample(&mut self, space: &Space, now: Now) {
        self.sample_some(space, now, false);
    }

    /// Takes the samples that are due, those of items that can look back only if told to.
    fn sample_some(&mut self, space: &Space, now: Now, all: bool) {
        if let Some((interval, at)) = &mut self.poll {
            while *at <= now.mono {
                *at = *at + *interval;
            }
        }
        let mut triggered = self.events.catch_up(space, now, &mut self.account.tally);
        let mut pace = Pace::default();
        for item in &mut self.items {
            if !all && item.polled().is_none() {
                continue;
            }
            let before = item.ready();
            let queued = item.catch_up(space, now, &mut pace, &mut self.account.tally);
            if queued {
                self.ready += item.ready();
                self.ready -= before;
                triggered.extend_from_slice(item.links());
            }
        }
        for id in triggered {
            self.events.trigger(id);
            self.change(id, |item, _| item.set_triggered(true));
        }
        self.account.settle();
    }

    /// Changes an item; none if it is not there.
    fn change<R>(&mut self, id: u32, what: impl FnOnce(&mut Item, &mut Tally) -> R) -> Option<R> {
        let item = find_mut(&mut self.items, id)?;
        let before = item.ready();
        let result = what(item, &mut self.account.tally);
        self.ready += item.ready();
        self.ready -= before;
        Some(result)
    }

    /// Values dropped because queues were full, since this was asked last.
    pub fn take_dropped(&mut self) -> u64 {
        let values = self.account.tally.values();
        let dropped = values.overwritten + values.overflowed;
        dropped - std::mem::replace(&mut self.dropped, dropped)
    }

    fn ready(&self) -> bool {
        self.enabled && (self.ready > 0 || self.events.ready())
    }

    /// A publishing interval is over. `requests`: Publish requests of its session wait.
    pub fn tick(&mut self, space: &Space, now: Now, requests: bool) -> Tick {
        self.seen = now.mono;
        // One that was looked at too late does not catch up.
        while self.next <= now.mono {
            self.next = self.next + self.terms.interval.max(LEAST_INTERVAL);
        }
        // Part 4, 5.14.1.3: the counter is set back by Publish requests; one that waits means
        // that the client is there.
        self.lifetime = match requests {
            true => self.terms.lifetime,
            false => self.lifetime.saturating_sub(1),
        };
        if self.lifetime == 0 {
            if let Some(took) = self.account.took() {
                took.expired();
            }
            return Tick::Expired;
        }
        self.sample_some(space, now, true);
        self.wants = match self.state {
            // Row 12.
            State::Late => true,
            // Rows 6, 8, 14, 17.
            _ if self.ready() => true,
            // Rows 7, 8: the first message comes after one interval, whatever it is.
            State::Normal if !self.message_sent => true,
            // Row 9.
            State::Normal => {
                self.state = State::KeepAlive;
                self.keep_alive = self.terms.keep_alive;
                self.count()
            }
            // Rows 15, 16, 17.
            State::KeepAlive => self.count(),
        };
        if self.wants && !requests {
            if self.state != State::Late {
                self.record.late.bump();
                self.late_since = Some(now.mono);
                self.record.set_late_since(Some(now.mono.as_nanos()));
            }
            self.state = State::Late;
        }
        self.tell();
        Tick::Alive
    }

    /// It can send again, or never will.
    fn end_gap(&mut self, now: Instant) {
        if let Some(since) = self.late_since.take() {
            self.record.set_late_since(None);
            if let Some(took) = self.account.took() {
                took.gap(duration::nanos(now.since(since)));
            }
        }
    }

    /// Counts an interval without notifications. True when it is time to say so.
    fn count(&mut self) -> bool {
        if self.keep_alive <= 1 {
            return true;
        }
        self.keep_alive -= 1;
        false
    }

    /// Answers a Publish request: appends the response from subscriptionId to
    /// notificationMessage.
    pub fn publish(&mut self, space: &Space, now: Now, kept: usize, out: &mut Vec<u8>) -> Message {
        self.publish_with(space, now, kept, None, out)
    }

    /// The same with faults in its values.
    pub fn publish_with(
        &mut self,
        space: &Space,
        now: Now,
        kept: usize,
        faults: Option<&Faults>,
        out: &mut Vec<u8>,
    ) -> Message {
        self.touch();
        self.end_gap(now.mono);
        self.record.publish_requests.bump();
        let ready = self.ready();
        out.extend_from_slice(&self.id.to_le_bytes());
        // Part 4, 5.14.5.2: what can be republished, this message among it.
        let sequences = self.kept.sequences();
        let available = sequences.len() + usize::from(ready);
        let skip = available.saturating_sub(kept.max(1));
        out.extend_from_slice(&((available - skip) as u32).to_le_bytes());
        for sequence in sequences.skip(skip) {
            out.extend_from_slice(&sequence.to_le_bytes());
        }
        if ready {
            out.extend_from_slice(&self.sequence.to_le_bytes());
        }
        let more_at = out.len();
        out.push(0);
        let start = out.len();
        out.extend_from_slice(&self.sequence.to_le_bytes());
        out.extend_from_slice(&now.utc.to_le_bytes());
        self.message_sent = true;
        self.keep_alive = self.terms.keep_alive;
        if !ready {
            // Part 4, 5.14.1.1: a keep-alive has the number of the next message, and no data.
            out.extend_from_slice(&0u32.to_le_bytes());
            if self.state == State::Late {
                self.state = State::KeepAlive;
            }
            self.wants = false;
            self.account.tally.messages.keep_alives += 1;
            self.account.settle();
            self.tell();
            return Message::KeepAlive;
        }
        let load = self.notifications(space, now, faults, out);
        let more = self.ready();
        if load.total() == 0 {
            self.wants = more;
            self.account.settle();
            self.tell();
            return Message::Nothing;
        }
        if let Some(flag) = out.get_mut(more_at) {
            *flag = u8::from(more);
        }
        let message = out.get(start..).unwrap_or_default();
        let tally = &mut self.account.tally;
        tally.messages.made += 1;
        tally.load(load, |values| &mut values.reported);
        let numbered = (self.sequence, now.mono.as_nanos());
        self.kept.keep(numbered, message, load, kept, |load| {
            tally.messages.forgotten += 1;
            tally.load(load, |values| &mut values.forgotten);
        });
        self.load = Some(load);
        self.advance();
        self.state = State::Normal;
        self.wants = more;
        let values = load.total();
        self.record.data_changes.add(load.computed + load.stored);
        self.record.events.add(load.event);
        self.record.notifications.add(values as u32);
        self.tell();
        Message::Notifications(values)
    }

    /// Says what became of the notification message that was made last.
    pub fn became(&mut self, fate: Delivery) {
        if let Some(load) = self.load.take() {
            let tally = &mut self.account.tally;
            let (message, value): (_, fn(&mut Values) -> &mut u64) = match fate {
                Delivery::Sent => (&mut tally.messages.sent, |values| &mut values.sent),
                Delivery::Dropped => (&mut tally.messages.dropped, |values| &mut values.dropped),
                Delivery::Unsent => (&mut tally.messages.unsent, |values| &mut values.unsent),
            };
            *message += 1;
            tally.load(load, value);
        }
        self.account.settle();
    }

    fn advance(&mut self) {
        // Part 4, 5.14.1.1: after the largest number comes 1.
        self.sequence = self.sequence.checked_add(1).unwrap_or(1);
    }

    /// Appends notificationData: what changed, what happened, or both; tells how much.
    fn notifications(
        &mut self,
        space: &Space,
        now: Now,
        faults: Option<&Faults>,
        out: &mut Vec<u8>,
    ) -> Load {
        let mut load = Load::default();
        let both = self.ready > 0 && self.events.ready();
        let parts_at = out.len();
        out.extend_from_slice(&[1 + u8::from(both), 0, 0, 0]);
        if self.ready > 0 {
            self.changes(space, now, faults, &mut load, out);
        }
        let most = match self.terms.most {
            0 => usize::MAX,
            most => (most as usize).saturating_sub(load.total()),
        };
        if both && most == 0 {
            // The message is full of values: events come with the next.
            if let Some(parts) = out.get_mut(parts_at) {
                *parts = 1;
            }
        } else if self.events.ready() {
            self.happenings(most, now, faults, &mut load, out);
        }
        load
    }

    /// Appends an EventNotificationList.
    fn happenings(
        &mut self,
        most: usize,
        now: Now,
        faults: Option<&Faults>,
        load: &mut Load,
        out: &mut Vec<u8>,
    ) {
        let body = begin(out, EVENTS);
        let count_at = out.len();
        out.extend_from_slice(&[0; 4]);
        let lose = |node| faults.is_some_and(|faults| faults.report(node, now.mono).lost);
        let tally = &mut self.account.tally;
        let count = self.events.report(most, lose, load, tally, out);
        if let Some(place) = out.get_mut(count_at..count_at + 4) {
            place.copy_from_slice(&(count as u32).to_le_bytes());
        }
        end(out, body);
    }

    /// Appends a DataChangeNotification. A value of a computed item takes about 15 ns
    /// (`examples/weight.rs`).
    fn changes(
        &mut self,
        space: &Space,
        now: Now,
        faults: Option<&Faults>,
        load: &mut Load,
        out: &mut Vec<u8>,
    ) {
        let body = begin(out, DATA_CHANGE);
        let count_at = out.len();
        out.extend_from_slice(&[0; 4]);
        let most = match self.terms.most {
            0 => usize::MAX,
            most => most as usize,
        };
        let mut count = 0;
        let mut pace = Pace::default();
        // Room for numbers with all their times.
        out.reserve(self.ready.min(most).saturating_mul(40));
        let items = self.items.len();
        let mut at = self.turn;
        for _ in 0..items {
            if self.ready == 0 {
                break;
            }
            if at >= items {
                at = 0;
            }
            let Some(item) = self.items.get_mut(at) else {
                break;
            };
            let ready = item.ready();
            for _ in 0..ready.min(most - count) {
                let mark = faults.map(|faults| faults.report(item.node, now.mono));
                let mark = mark.unwrap_or_default();
                self.ready -= 1;
                if mark.lost {
                    item.lose(&mut self.account.tally);
                    continue;
                }
                item.report(mark, space, &mut pace, out);
                load.count(item.kind());
                count += 1;
            }
            if item.ready() > 0 {
                // The message is full: this one goes on in the next.
                self.turn = at;
                break;
            }
            item.set_triggered(false);
            at += 1;
        }
        if let Some(place) = out.get_mut(count_at..count_at + 4) {
            place.copy_from_slice(&(count as u32).to_le_bytes());
        }
        // No diagnostics.
        out.extend_from_slice(&(-1i32).to_le_bytes());
        end(out, body);
    }

    /// Says that its last message was sent once more.
    pub fn repeated(&mut self) {
        self.account.tally.messages.repeated += 1;
        self.account.settle();
    }

    /// A message that was sent and not acknowledged.
    pub fn republish(&mut self, sequence: u32) -> Option<&[u8]> {
        self.touch();
        let found = self.kept.get(sequence);
        if let Some(took) = self.account.took() {
            took.republish(found.is_some());
        }
        let (message, load) = found?;
        let tally = &mut self.account.tally;
        tally.messages.republished += 1;
        tally.load(load, |values| &mut values.republished);
        self.account.settle();
        Some(message)
    }

    /// Lets a message go. False if there is none of this number.
    pub fn acknowledge(&mut self, sequence: u32, now: Now) -> bool {
        let Some((load, at)) = self.kept.acknowledge(sequence) else {
            return false;
        };
        if let Some(took) = self.account.took() {
            took.acknowledged(now.mono.as_nanos().saturating_sub(at));
        }
        let tally = &mut self.account.tally;
        tally.messages.acknowledged += 1;
        tally.load(load, |values| &mut values.acknowledged);
        self.account.settle();
        self.tell();
        true
    }

    /// Numbers of messages that can be republished.
    pub fn available(&self) -> Vec<u32> {
        self.kept.sequences().collect()
    }

    /// Changes terms; the next publishing is one new interval from now.
    pub fn modify(&mut self, terms: Terms, now: Now) {
        if terms.interval != self.terms.interval {
            self.next = now.mono + terms.interval;
        }
        self.terms = terms;
        self.keep_alive = self.keep_alive.min(terms.keep_alive);
        self.touch();
        self.record.modified.bump();
        self.tell_terms();
        self.tell();
    }

    /// Row 19 of the table.
    pub fn set_publishing(&mut self, enabled: bool) {
        self.enabled = enabled;
        match enabled {
            true => self.record.enables.bump(),
            false => self.record.disables.bump(),
        }
        self.tell_terms();
        self.touch();
        if self.state != State::Late {
            self.wants = false;
        }
    }

    /// Adds an item, which sees the value now.
    pub fn add(&mut self, make: impl FnOnce(u32) -> Item, space: &Space, now: Now) -> u32 {
        self.last_item = self.last_item.wrapping_add(1);
        let mut item = make(self.last_item);
        item.begin(space, now, &mut self.account.tally);
        self.ready += item.ready();
        self.disabled += usize::from(item.is_disabled());
        let fastest = [self.fastest, item.polled()];
        self.fastest = fastest.into_iter().flatten().min();
        self.items.push(item);
        self.last_item
    }

    /// Sees to it that items are asked often enough. To be called after items have changed.
    pub fn settle(&mut self, now: Now) {
        if std::mem::take(&mut self.stale) {
            self.fastest = self.items.iter().filter_map(Item::polled).min();
            self.disabled = self.items.iter().filter(|item| item.is_disabled()).count();
            self.turn = 0;
        }
        let before = self.poll;
        self.poll = self
            .fastest
            .filter(|interval| *interval < self.terms.interval)
            .map(|interval| interval.max(LEAST_INTERVAL))
            .map(|interval| match before {
                Some((same, at)) if same == interval => (interval, at),
                _ => (interval, now.mono + interval),
            });
        let silent = |item: &&EventItem| item.mode == MonitoringMode::Disabled;
        let silent = self.events.items().iter().filter(silent).count();
        self.record.items.set(self.len() as u32);
        self.record
            .disabled_items
            .set((self.disabled + silent) as u32);
        self.account.settle();
    }

    /// Removes items; tells of each whether it was there.
    pub fn remove(&mut self, ids: &[u32]) -> Vec<bool> {
        let there = ids.iter().map(|id| self.has(*id)).collect();
        let mut gone = ids.to_vec();
        gone.sort_unstable();
        let is_gone = |id: &u32| gone.binary_search(id).is_ok();
        let (tally, ready) = (&mut self.account.tally, &mut self.ready);
        self.items.retain_mut(|item| {
            let gone = is_gone(&item.id);
            if gone {
                *ready -= item.ready();
                item.clear(tally);
            }
            !gone
        });
        self.events.remove(|id| is_gone(&id), tally);
        self.account.settle();
        for item in &mut self.items {
            item.unlink(|id| is_gone(&id));
        }
        self.stale = true;
        there
    }

    /// An item.
    pub fn item(&self, id: u32) -> Option<&Item> {
        let at = self.items.binary_search_by_key(&id, |item| item.id).ok()?;
        self.items.get(at)
    }

    /// How many items it has, of values and of events.
    pub fn len(&self) -> usize {
        self.items.len() + self.events.items().len()
    }

    /// Whether there is an item of this number.
    pub fn has(&self, id: u32) -> bool {
        self.item(id).is_some() || self.events.get(id).is_some()
    }

    /// What items an item triggers.
    pub fn links_mut(&mut self, id: u32) -> Option<&mut Links> {
        match find_mut(&mut self.items, id) {
            Some(item) => Some(item.links_mut()),
            None => self.events.get_mut(id).map(|item| &mut item.links),
        }
    }

    /// Items that watch events.
    pub fn events(&self) -> &EventItems {
        &self.events
    }

    /// Adds an item that hears of what happens from now on.
    pub fn add_events(&mut self, make: impl FnOnce(u32) -> EventItem) -> u32 {
        self.last_item = self.last_item.wrapping_add(1);
        self.events.add(make(self.last_item));
        self.last_item
    }

    /// Changes an item that watches events.
    pub fn set_events(&mut self, id: u32, with: EventParameters, space: &Space, now: Now) {
        let tally = &mut self.account.tally;
        self.events.set(id, with, space, now, tally);
        self.account.settle();
    }

    /// Part 9, 5.5.7.
    pub fn refresh(
        &mut self,
        only: Option<u32>,
        space: &Space,
        now: Now,
    ) -> Result<(), StatusCode> {
        self.touch();
        let refreshed = self
            .events
            .refresh(only, space, now, &mut self.account.tally);
        self.account.settle();
        refreshed
    }

    /// All items that watch values.
    pub fn items(&self) -> &[Item] {
        &self.items
    }

    /// Changes how an item reports. What it saw up to now counts as before. [`settle`](Self::settle)
    /// is to be called afterwards.
    pub fn set_mode(&mut self, id: u32, mode: MonitoringMode, space: &Space, now: Now) -> bool {
        if self
            .events
            .set_mode(id, mode, space, now, &mut self.account.tally)
        {
            return true;
        }
        let changed = self.change(id, |item, tally| {
            item.catch_up(space, now, &mut Pace::default(), tally);
            item.set_mode(mode, space, now, tally);
        });
        self.stale = true;
        changed.is_some()
    }

    /// Changes an item. What it saw up to now counts as before. [`settle`](Self::settle) is to be
    /// called afterwards.
    pub fn set_item(&mut self, id: u32, parameters: &Parameters, space: &Space, now: Now) {
        self.change(id, |item, tally| {
            item.catch_up(space, now, &mut Pace::default(), tally);
            item.set(parameters, tally);
        });
        self.stale = true;
    }

    /// Reports the last value of every item again (Part 5, 9.2).
    pub fn resend(&mut self) {
        for item in &mut self.items {
            let before = item.ready();
            item.resend(&mut self.account.tally);
            self.ready += item.ready();
            self.ready -= before;
        }
        self.account.settle();
    }
}

impl Drop for Subscription {
    /// Whatever ends it: what it counted stays in the ledger.
    fn drop(&mut self) {
        self.end_gap(self.seen);
        self.record.set_oldest(None);
        self.record.unacknowledged.set(0);
        let tally = &mut self.account.tally;
        for item in &mut self.items {
            item.clear(tally);
        }
        self.events.clear(tally);
        for load in self.kept.loads() {
            tally.messages.forgotten += 1;
            tally.load(load, |values| &mut values.forgotten);
        }
        self.account.close();
    }
}

fn find_mut(items: &mut [Item], id: u32) -> Option<&mut Item> {
    let at = items.binary_search_by_key(&id, |item| item.id).ok()?;
    items.get_mut(at)
}

/// Appends the beginning of an ExtensionObject; gives the place of its length.
fn begin(out: &mut Vec<u8>, type_id: u16) -> usize {
    let [low, high] = type_id.to_le_bytes();
    out.extend_from_slice(&[1, 0, low, high, 1]);
    let at = out.len();
    out.extend_from_slice(&[0; 4]);
    at
}

/// Writes the length at `at`.
fn end(out: &mut [u8], at: usize) {
    let len = (out.len() - at - 4) as u32;
    if let Some(place) = out.get_mut(at..at + 4) {
        place.copy_from_slice(&len.to_le_bytes());
    }
}

/// Appends, from subscriptionId on, that a subscription has ended or moved (Part 4, 7.25.4).
pub fn status_change(id: u32, status: StatusCode, now: Now, out: &mut Vec<u8>) {
    out.extend_from_slice(&id.to_le_bytes());
    // Nothing to republish, nothing more.
    out.extend_from_slice(&[0, 0, 0, 0, 0]);
    // Not one of the numbered messages of a subscription that is gone.
    out.extend_from_slice(&1u32.to_le_bytes());
    out.extend_from_slice(&now.utc.to_le_bytes());
    out.extend_from_slice(&1u32.to_le_bytes());
    let body = begin(out, STATUS_CHANGE);
    out.extend_from_slice(&status.bits().to_le_bytes());
    out.push(0);
    end(out, body);
}
