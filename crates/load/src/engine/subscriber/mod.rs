//! One session's subscriptions while a phase runs: made in complete sets, kept supplied with
//! Publish requests, mended where messages are missing, deleted at the end.
//!
//! No socket and no clock, as a lane has none: it shares the lane's connection, is told what time it is and
//! what came in, and writes down what it hears in the loop's notification ledger.
//!
//! It is made of parts, each of which has what it needs to know:
//!
//! - [`set_up`]: what is still to be created, subscriptions, then items; what became of their [`shape`];
//! - [`reception`]: [`subscriptions`] that are there, Publish requests that wait ([`supply`]), messages that are
//!   missing ([`gaps`]);
//! - [`recovery`]: sessions that came back;
//! - [`churn`]: items and subscriptions that are changed while they report;
//! - [`handover`]: subscriptions that go to other sessions;
//! - [`refresh`]: the states of conditions;
//! - [`diagnostics`]: what the server counted, before it is deleted;
//! - [`pending`]: requests on their way, and what each is about.
//!
//! A part that sends is handed the way to the server ([`outgoing`]), a part that hears something is handed the notification ledger
//! ([`notes`]); what the session has to do ([`assignment`]) all of them may look at. What comes with answers to
//! Publish requests concerns most of them ([`publish`]). What other sessions and the loop want to know is in
//! [`queries`]. [`message`] and [`answer`] read, and [`leave`] is the end.

mod answer;
mod assignment;
mod churn;
mod diagnostics;
mod gaps;
mod handover;
mod leave;
mod message;
mod notes;
mod outgoing;
mod pending;
mod publish;
mod queries;
mod reception;
mod recovery;
mod refresh;
mod set_up;
mod shape;
mod subscriptions;
mod supply;

pub use diagnostics::{DiagnosticsDuty, ServerCounts};
pub use handover::Post;
pub use recovery::RecoveryPath;
pub use shape::Shape;

use std::time::Duration;

use plan::Seat;
use wire::client::{Connection, RequestId};
use wire::time::{Instant, Now};
use wire::types::StatusCode;

use super::recorder::NotificationTracker;
use crate::work::Requests;
use answer::is;
use assignment::Assignment;
use churn::Changes;
use diagnostics::ReadingDiagnostics;
use handover::Handover;
use notes::Notes;
use outgoing::Outgoing;
use pending::{PendingRequest, PendingRequests};
use reception::Reception;
use recovery::Recovery;
use refresh::Refresh;
use set_up::SetUp;

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
    ReadingDiagnostics,
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
    /// When the notification ledger's clock shows 0.
    pub zero: Instant,
    /// What it does between the end of the measurement and the deletion.
    pub diagnostics: DiagnosticsDuty,
}

/// One session's subscriptions.
#[derive(Debug)]
pub struct Subscriber {
    assignment: Assignment,
    step: SubscriberStep,
    /// How far it may go before others are as far.
    allowed: SubscriberStep,
    /// Requests on their way, Publish among them.
    pending: PendingRequests,
    set_up: SetUp,
    reception: Reception,
    recovery: Recovery,
    changes: Changes,
    handover: Handover,
    refresh: Refresh,
    reading_diagnostics: ReadingDiagnostics,
}

impl Subscriber {
    /// A session that will subscribe.
    pub fn new(requests: Requests, orders: Orders) -> Self {
        let plan = &requests.terms.plan;
        let changes = Changes::new(&plan.churn);
        Self {
            set_up: SetUp::new(plan.subscriptions, changes.names_items()),
            reception: Reception::new(plan),
            changes,
            reading_diagnostics: ReadingDiagnostics::new(orders.diagnostics),
            assignment: Assignment { requests, orders },
            step: SubscriberStep::Subscriptions,
            allowed: SubscriberStep::Subscriptions,
            pending: PendingRequests::default(),
            recovery: Recovery::default(),
            handover: Handover::default(),
            refresh: Refresh::default(),
        }
    }

    /// Begins with the subscriptions.
    pub fn begin(&mut self, now: Now) {
        self.set_up.begin(now.mono);
    }

    /// The others are as far: it may go on to this step.
    pub fn allow(&mut self, step: SubscriberStep) {
        self.allowed = self.allowed.max(step);
        self.take_next_step();
    }

    /// No more figures are wanted: what was created is to be deleted, once the server was asked what it counted
    /// of it.
    pub fn end(&mut self) {
        if self.step < SubscriberStep::Quiet {
            let witnesses =
                self.reading_diagnostics.is_wanted() && self.step == SubscriberStep::Running;
            self.step = match witnesses {
                true => SubscriberStep::Quiet,
                false => SubscriberStep::Leaving,
            };
        }
    }

    /// When there is something to send, if nothing else happens before.
    pub fn due(&self) -> Option<Instant> {
        if self.handover.is_due() {
            return Some(Instant::default());
        }
        let pause = self.reception.supply.quiet_until();
        let creation = match self.step {
            SubscriberStep::Subscriptions => {
                let creating = self.creating();
                self.set_up.next_creation(&self.assignment, creating, false)
            }
            _ => None,
        };
        let turn = match self.step {
            SubscriberStep::Running => self.changes.next_turn(),
            _ => None,
        };
        [pause, creation, turn, self.reception.gaps.next_question()]
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
        let notes = &mut Notes::new(self.assignment.orders.zero, now, tracker);
        let out = &mut Outgoing::new(&self.assignment, connection, &mut self.pending, now);
        if self.step < SubscriberStep::Gone {
            let all = self.step >= SubscriberStep::Quiet;
            self.reception.ask_again(out, all, notes);
        }
        let publish = self.reception.supply.waiting();
        match self.step {
            SubscriberStep::Subscriptions => self.set_up.create_subscriptions(out, publish, false),
            SubscriberStep::Items => {
                let subscriptions = &self.reception.subscriptions;
                self.set_up.create_items(out, publish, subscriptions);
                if self.set_up.has_filled(out.pending().beside(publish)) {
                    self.step = SubscriberStep::Running;
                }
            }
            SubscriberStep::Running => {
                self.recovery.send(out, &self.reception.subscriptions);
                let (reception, changes) = (&mut self.reception, &mut self.changes);
                self.handover.take_all(out, reception, changes);
                // Those that were lost and are made again.
                self.set_up.create_subscriptions(out, publish, true);
                let subscriptions = &reception.subscriptions;
                self.set_up.create_items(out, publish, subscriptions);
                self.refresh.send(out, subscriptions);
                for offer in changes.turn(out, subscriptions) {
                    self.handover.offer(offer, out.pending(), &reception.gaps);
                }
            }
            SubscriberStep::Quiet => self
                .reading_diagnostics
                .quieten(out, &self.reception.subscriptions),
            SubscriberStep::ReadingDiagnostics => self.reading_diagnostics.ask(out),
            SubscriberStep::Leaving => {
                if leave::delete_all(out, &self.reception.subscriptions) {
                    self.step = SubscriberStep::Gone;
                }
            }
            SubscriberStep::Gone => {}
        }
        if self.step < SubscriberStep::Quiet {
            let transfers = self.recovery.transfers();
            self.reception.supply(out, transfers, notes);
        }
        connection.pending().len() > before
    }

    /// Goes on to the next step when this one is done and the others are as far.
    fn take_next_step(&mut self) {
        if self.step == SubscriberStep::Subscriptions
            && self.has_subscriptions()
            && self.allowed >= SubscriberStep::Items
        {
            self.step = SubscriberStep::Items;
            self.set_up.fill_all(&self.reception.subscriptions);
        }
        if self.allowed >= SubscriberStep::ReadingDiagnostics && self.is_quiet() {
            self.step = self.step.max(SubscriberStep::ReadingDiagnostics);
        }
        if self.allowed >= SubscriberStep::Leaving && self.is_told() {
            self.step = self.step.max(SubscriberStep::Leaving);
        }
    }

    /// Once all items are asked for and answered.
    fn done_with_items(&mut self) {
        if self.step == SubscriberStep::Items && self.set_up.has_filled(self.creating()) {
            self.step = SubscriberStep::Running;
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
        let notes = &mut Notes::new(self.assignment.orders.zero, now, tracker);
        let assignment = &self.assignment;
        let reception = &mut self.reception;
        match self.pending.take(id) {
            PendingRequest::Nothing => {}
            PendingRequest::Publish => self.published(body, notes),
            PendingRequest::Subscription { subscription, sent } => {
                let asked = (subscription, sent);
                let created = self
                    .set_up
                    .created(asked, body, assignment, reception, notes);
                if created && self.step == SubscriberStep::Running {
                    self.set_up.fill(subscription);
                }
            }
            PendingRequest::Items(asked) => {
                let subscriptions = &mut reception.subscriptions;
                let last = self
                    .set_up
                    .created_items(asked, body, assignment, subscriptions, notes);
                let events = assignment.plan().events.as_ref();
                if last && events.is_some_and(|events| events.refresh) {
                    self.refresh.want(asked.subscription);
                }
                self.done_with_items();
            }
            PendingRequest::Republish {
                subscription,
                sequence,
            } => {
                let places = assignment.event_places();
                let effect = reception.republished((subscription, sequence), body, places, notes);
                self.meet(subscription, effect, notes);
            }
            PendingRequest::CatchUp {
                subscription,
                sequence,
            } => {
                let places = assignment.event_places();
                let effect = reception.caught_up((subscription, sequence), body, places, notes);
                self.meet(subscription, effect, notes);
            }
            PendingRequest::Transfer { sent } => {
                let subscriptions = &mut reception.subscriptions;
                let lost = self.recovery.transferred(sent, body, subscriptions, notes);
                self.lose_all(lost);
            }
            PendingRequest::Take(asked) => {
                let changes = &mut self.changes;
                self.handover.taken(asked, body, reception, changes, notes);
            }
            PendingRequest::Churn(asked) => {
                let subscriptions = &mut reception.subscriptions;
                self.changes
                    .turned(asked, body, assignment, subscriptions, notes);
            }
            PendingRequest::Quiet => self.reading_diagnostics.silenced(Ok(())),
            PendingRequest::Diagnostics(about) => self.reading_diagnostics.told(about, Ok(body)),
            PendingRequest::Refresh { sent } => refresh::refreshed(sent, body, notes),
            PendingRequest::Delete { sent } => {
                leave::deleted(sent, body, notes);
                self.step = SubscriberStep::Gone;
            }
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
        let notes = &mut Notes::new(self.assignment.orders.zero, now, tracker);
        let reception = &mut self.reception;
        match self.pending.take(id) {
            PendingRequest::Nothing => {}
            PendingRequest::Publish => self.publish_failed(status, notes),
            PendingRequest::Subscription { .. } => self.set_up.refuse(status),
            PendingRequest::Items(asked) => {
                set_up::items_refused(asked, status, notes);
                self.done_with_items();
            }
            PendingRequest::Republish {
                subscription,
                sequence,
            } => reception.not_republished((subscription, sequence), status, notes),
            PendingRequest::CatchUp { subscription, .. } => {
                if !is(status, StatusCode::BadConnectionClosed) {
                    reception.subscriptions.seen(subscription, notes);
                }
                reception.subscriptions.caught_up(subscription);
            }
            PendingRequest::Transfer { .. } => {
                let lost = self.recovery.not_transferred(&reception.subscriptions);
                self.lose_all(lost);
            }
            PendingRequest::Take(asked) => {
                let changes = &mut self.changes;
                self.handover.not_taken(asked, status, reception, changes);
            }
            PendingRequest::Churn(_) => self.changes.fail("change", status),
            PendingRequest::Quiet => self.reading_diagnostics.silenced(Err(status)),
            PendingRequest::Diagnostics(about) => self.reading_diagnostics.told(about, Err(status)),
            PendingRequest::Refresh { .. } => {
                notes.notification_ledger.refresh_refused(status.bits())
            }
            PendingRequest::Delete { .. } => self.step = SubscriberStep::Gone,
        }
    }

    /// The connection is gone.
    pub(in crate::engine) fn cut(&mut self, now: Now, tracker: &mut NotificationTracker<'_>) {
        let notes = &mut Notes::new(self.assignment.orders.zero, now, tracker);
        self.reception.cut(notes);
        if self.step >= SubscriberStep::Quiet {
            self.step = SubscriberStep::Gone;
        }
    }

    /// The session is back, with requests that have its token.
    pub(in crate::engine) fn reconnected(&mut self, requests: Requests, came: RecoveryPath) {
        self.assignment.requests = requests;
        self.reception.supply.again();
        let wanted = self.assignment.plan().reconnect;
        let subscriptions = &mut self.reception.subscriptions;
        let lost = self.recovery.begin(came, wanted, subscriptions);
        self.lose_all(lost);
    }

    /// Requests on their way that are no Publish.
    fn creating(&self) -> usize {
        self.pending.beside(self.reception.supply.waiting())
    }
}
