//! Subscriptions (Part 4, 5.14): the state machine, without sockets and with time as an
//! argument.
//!
//! [`Subscription::tick`] is to be called each publishing interval, [`Subscription::draft`]
//! whenever a Publish request can be answered and [`Subscription::wants`] one.

mod all;
mod computed;
mod computed_item;
mod event;
mod filter;
mod folded;
mod item;
mod items;
mod links;
mod looking;
mod memory;
mod message;
mod moment;
mod publishing;
mod queue;
mod retransmission;
#[cfg(test)]
mod tests;

pub use all::Subscriptions;
pub use event::{EventItem, EventItems, EventParameters};
pub use filter::Filter;
pub use folded::Folding;
pub use item::{Item, Parameters, WatchedAttribute};
pub use links::Links;
pub use message::{Delivery, Message, status_change};
pub use publishing::Tick;

use std::sync::Arc;
use std::time::Duration;

use wire::budget::Budget;
use wire::time::{Instant, Now};

use crate::diagnostics::SubscriptionRecord;
use crate::ledger::{Account, Ledger};
use crate::session::Owner;
use crate::slots::SlotId;
use looking::Look;
use memory::Memory;
use publishing::PublishingState;
use retransmission::RetransmissionQueue;

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
    /// What items and their values take, and what of it is items.
    memory: Memory,
    weight: usize,
    /// Values that may be reported now.
    ready: usize,
    /// Items that watch nothing.
    disabled: usize,
    /// The shortest sampling interval of items that have to be asked.
    fastest: Option<Duration>,
    /// The shortest sampling interval of all items, or one that was shorter.
    quickest: Duration,
    /// The last three have to be counted again.
    stale: bool,
    state: PublishingState,
    lifetime: u32,
    keep_alive: u32,
    /// Whether anything was sent since it was created.
    message_sent: bool,
    /// Something is to be sent as soon as there is a Publish request.
    wants: bool,
    /// The number of the next notification message, never 0.
    sequence: u32,
    kept: RetransmissionQueue,
    /// The item that reports first in the next message.
    turn: usize,
    /// What it counts for the ledger.
    account: Account,
    /// Values dropped because queues were full that [`take_dropped`](Self::take_dropped) told.
    dropped: u64,
    /// The shortest sampling interval of items that have to be asked, and when that is.
    poll: Option<(Duration, Instant)>,
    /// After how many publishing intervals it is looked at next; more than 1 while it rests.
    rest: u32,
    /// When its timer rings; others that ring are left from before.
    pub wake: Instant,
    /// Since when it has something to send and no Publish request.
    late_since: Option<Instant>,
    /// When it was looked at last.
    seen: Instant,
    /// When all of its items were looked at last: when that began.
    looked: Instant,
    /// When it ended: of many items that is later.
    look_ended: Instant,
    /// A look that has begun and not ended.
    look: Option<Look>,
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
            memory: Memory::default(),
            weight: 0,
            ready: 0,
            disabled: 0,
            fastest: None,
            quickest: Duration::MAX,
            stale: false,
            state: PublishingState::Normal,
            lifetime: terms.lifetime,
            keep_alive: terms.keep_alive,
            message_sent: false,
            wants: false,
            sequence: 1,
            kept: RetransmissionQueue::default(),
            turn: 0,
            account: Account::default(),
            dropped: 0,
            poll: None,
            rest: 1,
            wake: Instant::default(),
            late_since: None,
            seen: now.mono,
            looked: now.mono,
            look_ended: now.mono,
            look: None,
        };
        subscription.tell_terms();
        subscription.tell();
        subscription
    }

    /// Joins a session, by its place and its number.
    pub fn join(&mut self, session: SlotId, number: u32, owner: &Arc<Owner>) {
        self.session = Some(session);
        self.own(owner);
        self.record.session.set(number);
    }

    /// Is somebody's from now on. Part 4, 6.5: audit events that wait are not for one who may not know.
    pub fn own(&mut self, owner: &Arc<Owner>) {
        if self.owner.audits && !owner.audits {
            self.events.withhold(&self.memory, &mut self.account.tally);
            self.account.settle();
        }
        self.owner = Arc::clone(owner);
    }

    /// Takes the memory of its items, their values and the messages that it keeps from this budget.
    pub fn draw_on(&mut self, budget: &Budget) {
        self.kept.draw_on(budget.hold());
        self.memory.draw_on(budget.hold());
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
    pub fn tally(&self) -> &crate::ledger::Tally {
        &self.account.tally
    }

    /// Values and events that wait in the queues of its items.
    pub fn queued(&self) -> u64 {
        self.account.tally.values().pending()
    }

    /// Values dropped because queues were full, since this was asked last.
    pub fn take_dropped(&mut self) -> u64 {
        let values = self.account.tally.values();
        let dropped = values.overwritten + values.overflowed;
        dropped - std::mem::replace(&mut self.dropped, dropped)
    }

    /// Changes terms; the next publishing is one new interval from now.
    pub fn modify(&mut self, terms: Terms, now: Now) {
        if terms.interval != self.terms.interval {
            self.next = now.mono + terms.interval;
        }
        self.terms = terms;
        self.keep_alive = self.keep_alive.min(terms.keep_alive);
        self.touch(now);
        self.record.modified.bump();
        self.tell_terms();
        self.tell();
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
            item.clear(&self.memory, tally);
        }
        self.events.clear(&self.memory, tally);
        for load in self.kept.loads() {
            tally.forget(load);
        }
        self.account.close();
    }
}
