//! What a client received from subscriptions, and where each value is that it did not receive.
//!
//! A [`NotificationLedger`] belongs to one core. It is told of everything in the order in which it happened:
//! subscriptions and items with their revised terms, messages and their values, requests and their
//! ends. There is no clock in it. In the end it becomes an [`Account`]; accounts of several cores
//! are merged, and what comes out is the same for any number of cores, bit for bit.
//!
//! # How it is used
//!
//! ```
//! use record::Ledger;
//! use record::notification_ledger::{
//!     Counter, Head, ItemTerms, NotificationLedger, Seat, SubscriptionTerms, WatchedValue,
//! };
//!
//! # let utc = 0;
//! // The time at which its clock shows 0, in ticks of 100 ns since 1601.
//! let mut notification_ledger = NotificationLedger::new(utc);
//! let mut ledger = Ledger::new();
//! let seat = Seat { target: 0, session: 0, subscription: 0 };
//! let publishing_ns = 100_000_000;
//! let terms = SubscriptionTerms { publishing_ns, keep_alive: 10, lifetime: 30 };
//! let subscription = notification_ledger.subscription(seat, terms);
//! // Client handles for CreateMonitoredItems; then, for each that was created:
//! let update_ns = 10_000_000;
//! let watch = WatchedValue::Counter(Counter { update_ns, exact: true, ..Counter::default() });
//! let handles = notification_ledger.reserve(subscription, 1);
//! for handle in handles {
//!     let sampling_ns = 10_000_000;
//!     let terms = ItemTerms { sampling_ns, queue_size: 100, watch, ..ItemTerms::default() };
//!     notification_ledger.item(handle, terms);
//! }
//! // Setting up is over; delays and rates count from here, values and messages always.
//! notification_ledger.measure(1_000_000_000);
//! let head = Head { sequence: 1, publish_time: 11_000_000, at: 1_100_000_000, ..Head::default() };
//! let mut open = notification_ledger.message(&mut ledger, subscription, head);
//! open.value(0, 0, 10_900_000, 10_900_000, Some(7));
//! assert_eq!(open.end(), None);
//! let account = notification_ledger.finish(2_000_000_000);
//! assert_eq!(account.measured.values.in_order, 1);
//! ```
//!
//! # What is promised
//!
//! Of a counter it is known which values there were. Between two values of an item that come one
//! after the other, updates are missing without a loss when no sample saw them (the sampling interval
//! is longer than the update interval) or a deadband held them back. All others were promised.
//! They are placed by what the server says and what the client saw: numbers of messages that are
//! missing, the overflow bit, a queue of one. What nothing explains is *missing*.
//!
//! The first value of an item promises nothing about those before it, and neither does the first
//! after it was changed. Where update and sampling are not exact, what can be explained by either being early
//! or late by half an interval is taken for sampled away.

mod account;
mod arrival;
mod counts;
mod event;
mod notifier;
mod numbers;
mod open;
mod placed;
mod placing;
mod set_up;
mod subscription;
mod terms;

use std::borrow::Cow;
use std::collections::BTreeMap;

pub use account::{Account, ByRate, SetUpStep, StepTimes, Stretch, Tardy};
pub use counts::{Cause, Event, Events, Firsts, Messages, Places, Values};
pub use notifier::{EventInfo, EventKind, EventsReceived};
pub use numbers::Gap;
pub use open::{Head, Open};
pub use subscription::{Row, Silence, Spread};
pub use terms::{Counter, Ids, ItemTerms, Monitoring, Seat, SubscriptionTerms, WatchedValue};

use crate::Ledger;
use crate::histogram::dense::Dense;
use arrival::{arrive, recover};
use notifier::Notifiers;
use numbers::{Arrival, NumberState, Numbers};
use open::{Counts, Parts, Way};
use subscription::{Item, MODE, OUTAGE, RESENT, Subscription};
use terms::Group;

/// What one core's subscriptions brought.
#[derive(Debug)]
pub struct NotificationLedger {
    /// Ticks at the clock's 0.
    utc: i64,
    measuring: Option<u64>,
    /// When the measurement was over: only what was on its way is awaited.
    over: Option<u64>,
    /// When the client last went on after it had not run.
    went_on: Option<u64>,
    items: Vec<Item>,
    groups: Vec<Group>,
    subscriptions: Vec<Subscription>,
    /// While setting up, and while measuring.
    counts: [Counts; 2],
    firsts: Firsts,
    steps: [StepTimes; SetUpStep::ALL.len()],
    recovery: Dense,
    outages: Dense,
    statuses: BTreeMap<(Cow<'static, str>, u32), u64>,
    notifiers: Notifiers,
}

impl NotificationLedger {
    /// Nothing yet. `utc` is the time at which the notification ledger's clock shows 0, in ticks of 100 ns
    /// since 1601.
    pub fn new(utc: i64) -> Self {
        Self {
            utc,
            measuring: None,
            over: None,
            went_on: None,
            items: Vec::new(),
            groups: Vec::new(),
            subscriptions: Vec::new(),
            counts: Default::default(),
            firsts: Firsts::default(),
            steps: Default::default(),
            recovery: Dense::new(),
            outages: Dense::new(),
            statuses: BTreeMap::new(),
            notifiers: Notifiers::default(),
        }
    }

    /// Makes room for items, so that they take no more memory than 48 bytes each.
    pub fn expect_items(&mut self, count: usize) {
        self.items.reserve_exact(count);
    }

    /// Setting up and settling are over: delays, rates and fairness count from here. The ledger's
    /// clock shows 0 now.
    pub fn measure(&mut self, at: u64) {
        self.measuring = Some(at);
    }

    /// The measurement is over: who is silent from now on owes nothing.
    pub fn measured(&mut self, at: u64) {
        let Some(from) = self.measuring.filter(|_| self.over.is_none()) else {
            return;
        };
        self.over = Some(at);
        for subscription in self.subscriptions.iter_mut().filter(|it| !it.over) {
            subscription.hear(from, at, true);
        }
    }

    /// The client itself did not run for a while, and goes on now. What overflowed meanwhile the server had to
    /// keep for it, and with the first publishing after it that is told.
    pub fn went_on(&mut self, at: u64) {
        self.went_on = Some(at);
    }

    /// Publish requests were sent.
    pub fn publish_sent(&mut self, count: u32) {
        self.counts().messages.publish_sent += u64::from(count);
    }

    /// A Publish request ended with a Bad status, or was given up.
    pub fn publish_refused(&mut self, status: u32) {
        self.counts().messages.publish_refused += 1;
        self.status("publish", status);
    }

    /// A notification message has come as the answer to a Publish request.
    #[inline]
    pub fn message<'a>(
        &'a mut self,
        ledger: &'a mut Ledger,
        subscription: u32,
        head: Head,
    ) -> Open<'a> {
        self.counts().messages.publish_answered += 1;
        self.open(ledger, subscription, head, false)
    }

    /// Republish has brought a message. The head is that of the message, with the time of this
    /// response.
    pub fn republished<'a>(
        &'a mut self,
        ledger: &'a mut Ledger,
        subscription: u32,
        head: Head,
    ) -> Open<'a> {
        self.counts().messages.republish_answered += 1;
        self.open(ledger, subscription, head, true)
    }

    fn open<'a>(
        &'a mut self,
        ledger: &'a mut Ledger,
        index: u32,
        head: Head,
        asked: bool,
    ) -> Open<'a> {
        let utc = self.utc.saturating_add((head.at / 100) as i64);
        let (measuring, went_on) = (self.measuring, self.went_on);
        let counts = &mut self.counts[usize::from(measuring.is_some())];
        let ledger = measuring.map(|from| (ledger, head.at.saturating_sub(from)));
        let messages = &mut counts.messages;
        messages.notifications += 1;
        messages.bytes += u64::from(head.bytes);
        messages.value_bytes += u64::from(head.bytes);
        // A message of a subscription that nobody knows goes to the last one, where none of its
        // values belongs: they are strays.
        if self.subscriptions.is_empty() {
            self.subscriptions.push(Subscription::new(
                Seat::default(),
                SubscriptionTerms::default(),
            ));
        }
        let at = (index as usize).min(self.subscriptions.len() - 1);
        let known = at == index as usize;
        let subscription = &mut self.subscriptions[at];
        let (way, cycle, gap) = match (known, asked) {
            (false, _) => (Way::InOrder, 0, None),
            (true, false) => arrive(subscription, messages, &head, &mut self.recovery),
            (true, true) => recover(subscription, messages, &head, &mut self.recovery),
        };
        if known && let Some(from) = measuring.filter(|_| self.over.is_none()) {
            subscription.hear(from, head.at, false);
        }
        let publishing = subscription.row.terms.publishing_ns;
        let stalled = went_on.is_some_and(|at| head.at.saturating_sub(at) <= publishing);
        let parts = Parts {
            items: &mut self.items,
            groups: &self.groups,
            subscription,
            index: if known { index } else { u32::MAX },
            counts,
            firsts: &mut self.firsts,
            notifiers: &mut self.notifiers,
            ledger,
        };
        let mut open = Open::new(parts, head, utc, way, cycle);
        open.gap = gap;
        open.stalled = stalled;
        open.begin();
        open
    }

    /// A keep-alive has come. What is missing before it is to be asked for.
    pub fn keep_alive(&mut self, subscription: u32, head: Head) -> Option<Gap> {
        let measuring = self.measuring.is_some();
        let counts = &mut self.counts[usize::from(measuring)];
        counts.messages.publish_answered += 1;
        counts.messages.keep_alives += 1;
        counts.messages.bytes += u64::from(head.bytes);
        let there = self.subscriptions.get_mut(subscription as usize)?;
        there.row.keep_alives += u64::from(measuring);
        if let Some(from) = self.measuring.filter(|_| self.over.is_none()) {
            there.hear(from, head.at, false);
        }
        there.more = false;
        // Part 4, 5.14.1.1: it has the number of the next message. Some servers give that of the
        // last one, which says nothing.
        let Arrival::Ahead(gap) = there.numbers.look(head.sequence) else {
            return None;
        };
        counts.messages.gaps += 1;
        counts.messages.missing_messages += u64::from(gap.count);
        there.miss(gap, head.at);
        there.numbers.expected = head.sequence;
        let event = Event {
            at_ns: head.at,
            seat: there.row.seat,
            item: None,
            sequence: gap.first,
        };
        self.firsts.tell(Cause::LostMessage, event);
        Some(gap)
    }

    /// A StatusChange notification has come (Part 4, 7.25.4).
    pub fn status_change(&mut self, subscription: u32, status: u32, at: u64) {
        self.counts().messages.publish_answered += 1;
        self.counts().messages.status_changes += 1;
        self.status("status_change", status);
        // GoodSubscriptionTransferred ends it for this session as well.
        self.ended(subscription, status, at);
    }

    /// Another session took a subscription over, as it was to: the session that had it is told so (Part 4,
    /// 5.14.7.1). Some servers number that among the subscription's messages: tells whether it is one
    /// that is missing, to be taken as such by [`message`](Self::message).
    pub fn handed_over(&mut self, subscription: u32, sequence: u32) -> bool {
        self.counts().messages.status_changes += 1;
        let missing = self.is_missing(subscription, sequence);
        if let Some(there) = self.subscriptions.get_mut(subscription as usize) {
            there.numbers.passed = sequence;
        }
        self.counts().messages.publish_answered += u64::from(!missing);
        missing
    }

    /// The last values of all its items are told once more, because a transfer asked for them.
    pub fn told_again(&mut self, subscription: u32) {
        self.mark(subscription, RESENT);
    }

    /// A message is asked for by Republish.
    pub fn republish_asked(&mut self, subscription: u32, sequence: u32) {
        self.counts().messages.republish_asked += 1;
        if let Some(hole) = self.hole(subscription, sequence)
            && hole.state == NumberState::Missing
        {
            hole.state = NumberState::Asked;
        }
    }

    /// The server does not have it any more, or will not give it.
    pub fn republish_refused(&mut self, subscription: u32, sequence: u32, status: u32) {
        self.counts().messages.republish_refused += 1;
        self.status("republish", status);
        if let Some(hole) = self.hole(subscription, sequence)
            && hole.state.is_open()
        {
            hole.state = NumberState::Refused;
        }
    }

    /// ConditionRefresh was refused.
    pub fn refresh_refused(&mut self, status: u32) {
        self.status("refresh", status);
    }

    /// Whether a message is still missing that was not asked for, or for which no answer came.
    pub fn is_missing(&self, subscription: u32, sequence: u32) -> bool {
        let there = self.subscriptions.get(subscription as usize);
        there.is_some_and(|there| {
            let hole = there
                .numbers
                .hole(sequence)
                .and_then(|at| there.numbers.holes.get(at));
            hole.is_some_and(|hole| hole.state.is_open())
        })
    }

    fn hole(&mut self, subscription: u32, sequence: u32) -> Option<&mut numbers::Hole> {
        let there = self.subscriptions.get_mut(subscription as usize)?;
        let at = there.numbers.hole(sequence)?;
        there.numbers.holes.get_mut(at)
    }

    /// The result of an acknowledgement.
    #[inline]
    pub fn acknowledged(&mut self, status: u32) {
        if status & 0x8000_0000 == 0 {
            self.counts().messages.acknowledged += 1;
        } else {
            self.counts().messages.acknowledgements_refused += 1;
            self.status("acknowledgement", status);
        }
    }

    /// The connection of a subscription was lost.
    pub fn cut(&mut self, subscription: u32, at: u64) {
        self.counts().messages.cut += 1;
        if let Some(there) = self.subscriptions.get_mut(subscription as usize) {
            there.cut.get_or_insert(at);
            there.publish = 0;
            there.more = false;
        }
    }

    /// It goes on: its session has a new connection, or another session has taken it over.
    /// `initial`: the last values are told once more (Part 4, 5.14.7).
    pub fn resumed(&mut self, subscription: u32, at: u64, initial: bool) {
        self.counts().messages.resumed += 1;
        self.back(subscription, at);
        if initial {
            self.mark(subscription, RESENT);
        }
    }

    /// It was lost and made again, with the same items under the same handles.
    pub fn recreated(&mut self, subscription: u32, terms: SubscriptionTerms, at: u64) {
        self.counts().messages.recreated += 1;
        self.revised(subscription, terms);
        self.back(subscription, at);
        self.mark(subscription, OUTAGE);
        if let Some(there) = self.subscriptions.get_mut(subscription as usize) {
            there.numbers = Numbers::default();
            there.shortest = i64::MAX;
            there.over = false;
            there.row.ended = None;
        }
    }

    fn back(&mut self, subscription: u32, at: u64) {
        if let Some(there) = self.subscriptions.get_mut(subscription as usize)
            && let Some(cut) = there.cut.take()
        {
            self.outages.record(at.saturating_sub(cut), 1);
        }
    }

    fn mark(&mut self, subscription: u32, flag: u32) {
        let Some(there) = self.subscriptions.get(subscription as usize) else {
            return;
        };
        for range in &there.handles {
            let items = self.items.get_mut(range.start as usize..range.end as usize);
            for item in items.into_iter().flatten() {
                if flag == OUTAGE {
                    // Made again, it has the mode that it was planned with.
                    item.group &= !MODE;
                }
                item.group |= flag;
            }
        }
    }

    /// A subscription ended without being deleted by the client.
    pub fn ended(&mut self, subscription: u32, status: u32, at: u64) {
        let Some(there) = self.subscriptions.get_mut(subscription as usize) else {
            return;
        };
        if std::mem::replace(&mut there.over, true) {
            return;
        }
        there.row.ended = Some(status);
        there.cut.get_or_insert(at);
        let event = Event {
            at_ns: at,
            seat: there.row.seat,
            item: None,
            sequence: there.numbers.expected,
        };
        self.status("ended", status);
        self.firsts.tell(Cause::Ended, event);
    }

    /// The client deleted it, or lets it be: nothing more is promised.
    pub fn deleted(&mut self, subscription: u32) {
        if let Some(there) = self.subscriptions.get_mut(subscription as usize) {
            there.over = true;
        }
    }

    /// What was counted up to now, setting up included: for a live display.
    pub fn so_far(&self) -> Stretch {
        let [before, measured] = self.counts.clone().map(account::stretch);
        let mut whole = before;
        whole.merge(&measured);
        whole
    }

    /// What was counted since the measurement began.
    pub fn measured_so_far(&self) -> Stretch {
        let [_, measured] = &self.counts;
        account::stretch(measured.clone())
    }

    fn counts(&mut self) -> &mut Counts {
        &mut self.counts[usize::from(self.measuring.is_some())]
    }

    fn status(&mut self, of: &'static str, status: u32) {
        // The upper half is the code (Part 4, 7.39.1).
        let of = (Cow::Borrowed(of), status & 0xFFFF_0000);
        *self.statuses.entry(of).or_default() += 1;
    }
}
