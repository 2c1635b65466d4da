//! One session's subscriptions while a phase runs: made in complete sets, kept supplied with
//! Publish requests, mended where messages are missing, deleted at the end.
//!
//! No socket and no clock, as a lane has none: it shares the lane's connection, is told what time it is and
//! what came in, and writes down what it hears in the loop's receipt.
//!
//! - [`pending`]: requests on their way, and what each is about;
//! - [`set_up`]: subscriptions, then items;
//! - [`supply`]: how many Publish requests wait;
//! - [`publish`]: they are sent, and what their answers bring;
//! - [`message`]: what stands in a message;
//! - [`answer`]: what other answers say;
//! - [`gaps`]: messages that are missing;
//! - [`recovery`]: sessions that came back;
//! - [`churn`]: items and subscriptions that are changed while they report;
//! - [`handover`]: subscriptions that go to other sessions;
//! - [`witness`]: what the server counted, before it is deleted;
//! - [`refresh`]: the states of conditions;
//! - [`leave`]: the end;
//! - [`asked`]: what the loop and other sessions want to know.

mod answer;
mod asked;
mod churn;
mod gaps;
mod handover;
mod leave;
mod message;
mod pending;
mod publish;
mod recovery;
mod refresh;
mod set_up;
mod shape;
mod supply;
mod witness;

pub use handover::Post;
pub use recovery::Came;
pub use shape::Shape;
pub use witness::{ServerCounts, Witness};

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use plan::Seat;
use record::receipt;
use wire::client::{Connection, RequestId};
use wire::service::Request;
use wire::time::{Instant, Now};
use wire::types::{StatusCode, SubscriptionAcknowledgement};

use super::recorder::NotificationTracker;
use crate::work::Requests;
use answer::is;
use churn::{Changed, Turning};
use gaps::Missing;
use handover::Handover;
use pending::{PendingRequest, PendingRequests};
use supply::Supply;

/// How far a session is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SubscriberStep {
    /// Subscriptions are being created.
    Subscriptions,
    /// Items are being created.
    Items,
    /// All is there.
    Running,
    /// Nothing more is wanted: subscriptions fall silent, for the server's counts to stand.
    Quiet,
    /// The server is asked what it counted.
    Witnessing,
    /// Subscriptions are being deleted.
    Leaving,
    /// Nothing is there any more.
    Gone,
}

/// What a session is told before it begins.
#[derive(Debug)]
pub struct Orders {
    /// Which session it is.
    pub seat: Seat,
    /// Its place among those of all targets, and how many there are.
    pub place: (u64, u64),
    /// Of everything random.
    pub seed: u64,
    /// How long a request may take that does not wait for news.
    pub timeout: Duration,
    /// When the receipt's clock shows 0.
    pub zero: Instant,
    /// What it does between the end of the measurement and the deletion.
    pub witness: Witness,
}

/// A subscription.
#[derive(Debug, Default)]
struct Subscription {
    /// The server's number for it; none if it is not there.
    id: Option<u32>,
    /// Its number in the receipt, once it was there.
    number: Option<u32>,
    /// The client handle of its first item.
    first_handle: u32,
    /// Revised.
    publishing: Duration,
    /// Revised: intervals without news.
    keep_alive: u32,
    /// The next message's number.
    expected: u32,
    /// Messages sent before a reconnect are being fetched.
    catching_up: bool,
    /// Its session is back, and whether it is still there has to show.
    doubtful: bool,
    /// The server's numbers of its items, where they are needed.
    items: Vec<u32>,
    /// Items that were changed, and messages that may still bring values from before.
    changed: Option<(Changed, u8)>,
}

/// One session's subscriptions.
#[derive(Debug)]
pub struct Subscriber {
    requests: Requests,
    orders: Orders,
    step: SubscriberStep,
    /// How far it may go before others are as far.
    allowed: SubscriberStep,
    /// When the first subscription could be created.
    began: Option<Instant>,
    subscriptions: Vec<Subscription>,
    /// The server's numbers, ascending, and our places.
    by_id: Vec<(u32, u32)>,
    /// Requests on their way, Publish among them.
    asked: PendingRequests,
    /// Subscriptions to be created.
    to_create: VecDeque<u32>,
    /// Subscriptions whose items are to be created, from which on.
    to_fill: VecDeque<(u32, usize)>,
    supply: Supply,
    acknowledgements: Vec<SubscriptionAcknowledgement>,
    /// Messages to be asked for.
    missing: VecDeque<Missing>,
    /// A new session is to take the subscriptions over.
    to_transfer: bool,
    turning: Vec<Turning>,
    /// Subscriptions that are to be told the states of all conditions.
    to_refresh: VecDeque<u32>,
    handover: Handover,
    /// Changes that the server refused, by what they were and its status.
    failures: BTreeMap<(&'static str, u32), u64>,
    /// The server does not know the session any more.
    expelled: bool,
    /// Subscriptions that were not created, by status.
    refused: BTreeMap<u32, u64>,
    shape: Shape,
    /// Its subscriptions are silent.
    quiet: bool,
    /// What the server said when all was quiet.
    heard: ServerCounts,
}

/// Requests that create something and wait for their answers, in each session.
const CREATING: usize = 16;
/// Bytes that wait for the socket before more is added.
const BACKLOG: usize = 64 * 1024;

impl Subscriber {
    /// A session that will subscribe.
    pub fn new(requests: Requests, orders: Orders) -> Self {
        let plan = &requests.terms.plan;
        let count = plan.subscriptions;
        Self {
            supply: Supply::new(plan.publish_requests),
            turning: plan.churn.iter().map(Turning::new).collect(),
            requests,
            orders,
            step: SubscriberStep::Subscriptions,
            allowed: SubscriberStep::Subscriptions,
            began: None,
            subscriptions: (0..count).map(|_| Subscription::default()).collect(),
            by_id: Vec::new(),
            asked: PendingRequests::default(),
            to_create: (0..count).collect(),
            to_fill: VecDeque::new(),
            acknowledgements: Vec::new(),
            missing: VecDeque::new(),
            to_transfer: false,
            to_refresh: VecDeque::new(),
            handover: Handover::default(),
            failures: BTreeMap::new(),
            expelled: false,
            refused: BTreeMap::new(),
            shape: Shape::default(),
            quiet: false,
            heard: ServerCounts::default(),
        }
    }

    /// The others are as far: it may go on to this step.
    pub fn allow(&mut self, step: SubscriberStep) {
        self.allowed = self.allowed.max(step);
        self.take_next_step();
    }

    fn fail(&mut self, what: &'static str, status: StatusCode) {
        *self.failures.entry((what, status.bits())).or_default() += 1;
    }

    /// When there is something to send, if nothing else happens before.
    pub fn due(&self) -> Option<Instant> {
        if self.handover.is_due() {
            return Some(Instant::default());
        }
        let pause = self.supply.quiet_until();
        let creation = match self.step {
            SubscriberStep::Subscriptions => self.next_creation(),
            _ => None,
        };
        let turn = match self.step {
            SubscriberStep::Running => self.next_turn(),
            _ => None,
        };
        [pause, creation, turn, self.next_question()]
            .into_iter()
            .flatten()
            .min()
    }

    /// Sends what is due. To be written by the caller at once; tells whether there is anything.
    pub(in crate::engine) fn pump(
        &mut self,
        connection: &mut Connection,
        now: Now,
        tracker: &mut NotificationTracker<'_>,
    ) -> bool {
        let before = connection.pending().len();
        self.take_next_step();
        if self.step < SubscriberStep::Gone {
            self.ask_again(connection, now, tracker);
        }
        match self.step {
            SubscriberStep::Subscriptions => self.create_subscriptions(connection, now),
            SubscriberStep::Items => self.create_items(connection, now),
            SubscriberStep::Running => {
                self.transfer(connection, now);
                self.take_all(connection, now);
                // Those that were lost and are made again.
                self.create_subscriptions(connection, now);
                self.create_items(connection, now);
                self.refresh(connection, now);
                self.turn(connection, now);
            }
            SubscriberStep::Quiet => self.quieten(connection, now),
            SubscriberStep::Witnessing => self.witness(connection, now),
            SubscriberStep::Leaving => self.leave(connection, now),
            SubscriberStep::Gone => {}
        }
        if self.step < SubscriberStep::Quiet {
            self.supply(connection, now, tracker);
        }
        connection.pending().len() > before
    }

    /// Goes on to the next step when this one is done and the others are as far.
    fn take_next_step(&mut self) {
        if self.step == SubscriberStep::Subscriptions
            && self.all_created()
            && self.allowed >= SubscriberStep::Items
        {
            self.step = SubscriberStep::Items;
            let there = self.by_id.iter().map(|(_, place)| (*place, 0));
            self.to_fill = there.collect();
            self.to_fill.make_contiguous().sort_unstable();
        }
        if self.allowed >= SubscriberStep::Witnessing && self.is_quiet() {
            self.step = self.step.max(SubscriberStep::Witnessing);
        }
        if self.allowed >= SubscriberStep::Leaving && self.is_told() {
            self.step = self.step.max(SubscriberStep::Leaving);
        }
    }

    /// An answer came.
    pub(in crate::engine) fn answered(
        &mut self,
        id: RequestId,
        body: &[u8],
        now: Now,
        tracker: &mut NotificationTracker<'_>,
    ) {
        match self.asked.take(id) {
            PendingRequest::Nothing => {}
            PendingRequest::Publish => self.published(body, now, tracker),
            PendingRequest::Subscription { subscription, sent } => {
                self.created(subscription, sent, body, now, tracker);
            }
            PendingRequest::Items {
                subscription,
                first,
                count,
                sent,
            } => self.created_items(subscription, (first, count), sent, body, now, tracker),
            PendingRequest::Republish {
                subscription,
                sequence,
            } => self.republished(subscription, sequence, body, now, tracker),
            PendingRequest::CatchUp {
                subscription,
                sequence,
            } => self.caught_up(subscription, sequence, body, now, tracker),
            PendingRequest::Transfer { sent } => self.transferred(sent, body, now, tracker),
            PendingRequest::Take {
                subscription,
                from,
                initial,
                sent,
            } => self.taken((subscription, from, initial), sent, body, now, tracker),
            PendingRequest::Churn {
                subscription,
                there,
                count,
                sent,
            } => self.turned(subscription, there, count, sent, body, now, tracker),
            PendingRequest::Quiet => self.silenced(Ok(())),
            PendingRequest::Diagnostics(about) => self.told(about, Ok(body)),
            PendingRequest::Refresh { sent } => self.refreshed(sent, body, now, tracker),
            PendingRequest::Delete { sent } => self.deleted(sent, body, now, tracker),
        }
    }

    /// A request came to nothing: it took too long, was given up by the server, or the connection
    /// ended.
    pub(in crate::engine) fn failed(
        &mut self,
        id: RequestId,
        status: StatusCode,
        now: Now,
        tracker: &mut NotificationTracker<'_>,
    ) {
        match self.asked.take(id) {
            PendingRequest::Nothing => {}
            PendingRequest::Publish => self.publish_failed(status, now, tracker),
            PendingRequest::Subscription { .. } => self.refuse(status),
            PendingRequest::Items { count, .. } => {
                for _ in 0..count {
                    tracker.receipt.item_refused(status.bits());
                }
                self.done_with_items();
            }
            PendingRequest::Republish {
                subscription,
                sequence,
            } => self.not_republished(subscription, sequence, status, tracker),
            PendingRequest::CatchUp { subscription, .. } => {
                if !is(status, StatusCode::BadConnectionClosed) {
                    self.seen(subscription, now, tracker);
                }
                self.caught_up_all(subscription);
            }
            PendingRequest::Transfer { .. } => self.not_transferred(),
            PendingRequest::Take {
                subscription, from, ..
            } => self.not_taken(subscription, from, status),
            PendingRequest::Churn { .. } => self.fail("change", status),
            PendingRequest::Quiet => self.silenced(Err(status)),
            PendingRequest::Diagnostics(about) => self.told(about, Err(status)),
            PendingRequest::Refresh { .. } => tracker.receipt.refresh_refused(status.bits()),
            PendingRequest::Delete { .. } => self.step = SubscriberStep::Gone,
        }
    }

    fn refuse(&mut self, status: StatusCode) {
        *self.refused.entry(status.bits()).or_default() += 1;
    }

    /// Sends a request that is not sent often. Tells whether it could be.
    fn send(
        &mut self,
        connection: &mut Connection,
        request: impl Into<Request>,
        asked: PendingRequest,
        now: Now,
    ) -> bool {
        let mut request = request.into();
        let sent = connection.send(now.mono + self.orders.timeout, |out, handle| {
            request.header_mut().request_handle = handle;
            // Numbers and texts, which always encode.
            let encoded = request.encode(out);
            debug_assert!(encoded.is_ok());
        });
        match sent {
            Ok(id) => {
                self.asked.keep(id, asked);
                true
            }
            Err(_) => false,
        }
    }

    /// A moment on the receipt's clock.
    #[inline]
    fn at(&self, moment: Instant) -> u64 {
        moment.nanos_since(self.orders.zero)
    }

    /// A subscription's place in the plan, as the receipt knows it.
    fn seat(&self, place: u32) -> receipt::Seat {
        receipt::Seat {
            target: self.orders.seat.target,
            session: self.orders.seat.index,
            subscription: place,
        }
    }

    /// The place of a subscription by the server's number.
    #[inline]
    fn place(&self, id: u32) -> Option<u32> {
        if let [(only, place)] = self.by_id.as_slice() {
            return (*only == id).then_some(*place);
        }
        let at = self.by_id.binary_search_by_key(&id, |(id, _)| *id).ok()?;
        self.by_id.get(at).map(|(_, place)| *place)
    }

    /// The places of the subscriptions that are there.
    fn there(&self) -> Vec<u32> {
        self.by_id.iter().map(|(_, place)| *place).collect()
    }

    /// A subscription is there, with this number of the server.
    fn know(&mut self, id: u32, place: u32) {
        let at = self.by_id.partition_point(|(known, _)| *known < id);
        self.by_id.insert(at, (id, place));
        debug_assert!(self.by_id.is_sorted());
        self.foresee();
    }

    fn subscription(&mut self, place: u32) -> Option<&mut Subscription> {
        self.subscriptions.get_mut(place as usize)
    }

    /// The number of a subscription in the receipt.
    fn number(&self, place: u32) -> Option<u32> {
        self.subscriptions.get(place as usize)?.number
    }

    /// The server's number of a subscription.
    fn id(&self, place: u32) -> Option<u32> {
        self.subscriptions.get(place as usize)?.id
    }
}
