//! Sessions that lost their connection and came back (Part 4, 6.7): the same session over a new
//! channel, a new session that takes the subscriptions over, or new subscriptions.

use plan::Reconnect;
use record::receipt;
use wire::client::Connection;
use wire::service::Response;
use wire::template::walk::RepublishResponse;
use wire::time::{Instant, Now};
use wire::types::{StatusCode, TransferSubscriptionsRequest};

use super::gaps::after;
use super::message::hear;
use super::{PendingRequest, Subscriber, SubscriberStep};
use crate::engine::recorder::NotificationTracker;
use crate::work::Requests;

/// How a session came back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Came {
    /// It is the same one.
    Resumed,
    /// It is another one.
    New,
}

impl Subscriber {
    /// The connection is gone.
    pub(in crate::engine) fn cut(&mut self, now: Now, tracker: &mut NotificationTracker<'_>) {
        let at = self.at(now.mono);
        for (_, place) in &self.by_id {
            if let Some(number) = self.number(*place) {
                tracker.receipt.cut(number, at);
            }
        }
        // Whether they arrived is not known; those that did not are only kept for longer.
        self.acknowledgements.clear();
        self.expelled = false;
        if self.step >= SubscriberStep::Quiet {
            self.step = SubscriberStep::Gone;
        }
    }

    /// The session is back, with requests that have its token.
    pub(in crate::engine) fn reconnected(&mut self, requests: Requests, came: Came) {
        self.requests = requests;
        self.supply.again();
        match (came, self.requests.terms.plan.reconnect) {
            (Came::Resumed, _) => self.look_for_all(),
            (Came::New, Reconnect::Recreate) => self.remake_all(),
            (Came::New, _) => self.to_transfer = !self.by_id.is_empty(),
        }
    }

    /// The server kept what it sent and was not told of: that comes first, and shows which subscriptions are
    /// still there.
    fn look_for_all(&mut self) {
        for place in self.there() {
            if let Some(subscription) = self.subscription(place) {
                subscription.catching_up = true;
                subscription.doubtful = true;
            }
        }
    }

    /// It is there.
    pub(super) fn seen(&mut self, place: u32, now: Now, tracker: &mut NotificationTracker<'_>) {
        let doubtful = self.subscription(place).map(|it| &mut it.doubtful);
        if doubtful.is_some_and(std::mem::take) {
            self.resumed(place, now, tracker);
        }
    }

    fn resumed(&mut self, place: u32, now: Now, tracker: &mut NotificationTracker<'_>) {
        let at = self.at(now.mono);
        if let Some(number) = self.number(place) {
            tracker.receipt.resumed(number, at, false);
        }
        if let Some(subscription) = self.subscription(place) {
            subscription.catching_up = true;
        }
    }

    fn remake_all(&mut self) {
        for place in self.there() {
            self.lose(place);
        }
    }

    /// A subscription is gone. It is made again, if that is wanted.
    pub(super) fn lose(&mut self, place: u32) {
        self.forget(place);
        let wanted = self.requests.terms.plan.reconnect != Reconnect::Never;
        let there = (place as usize) < self.subscriptions.len();
        if wanted
            && there
            && self.step == SubscriberStep::Running
            && !self.to_create.contains(&place)
        {
            self.to_create.push_back(place);
        }
    }

    /// Has the new session take the subscriptions over; and asks for messages that were sent
    /// before.
    pub(super) fn transfer(&mut self, connection: &mut Connection, now: Now) {
        let asked = |asked: &PendingRequest| matches!(asked, PendingRequest::Transfer { .. });
        if self.to_transfer && !self.asked.any(asked) {
            let ids = self.by_id.iter().map(|(id, _)| *id);
            let request = TransferSubscriptionsRequest {
                request_header: self.requests.header(now.utc),
                subscription_ids: Some(ids.collect()),
                send_initial_values: false,
            };
            let asked = PendingRequest::Transfer { sent: now.mono };
            self.send(connection, request, asked, now);
        }
        for place in 0..self.subscriptions.len() as u32 {
            self.catch_up(place, connection, now);
        }
    }

    fn catch_up(&mut self, place: u32, connection: &mut Connection, now: Now) {
        let subscription = self.subscriptions.get(place as usize);
        let Some(subscription) = subscription.filter(|it| it.catching_up) else {
            return;
        };
        let asks = |asked: &PendingRequest| matches!(asked, PendingRequest::CatchUp { subscription, .. } if *subscription == place);
        let (Some(id), sequence) = (subscription.id, subscription.expected) else {
            return;
        };
        if !self.asked.any(asks) {
            let asked = PendingRequest::CatchUp {
                subscription: place,
                sequence,
            };
            let request = self.republish(id, sequence, now);
            self.send(connection, request, asked, now);
        }
    }

    pub(super) fn transferred(
        &mut self,
        sent: Instant,
        body: &[u8],
        now: Now,
        tracker: &mut NotificationTracker<'_>,
    ) {
        self.to_transfer = false;
        let Ok(Response::TransferSubscriptions(response)) = super::answer::decode(body) else {
            return self.not_transferred();
        };
        let places = self.there();
        let step = receipt::SetUpStep::Transfer;
        tracker
            .receipt
            .step(step, self.at(sent), self.at(now.mono), places.len() as u32);
        let results = response.results.unwrap_or_default();
        for (n, place) in places.into_iter().enumerate() {
            let good = results.get(n).is_some_and(|it| !it.status_code.is_bad());
            if good {
                self.resumed(place, now, tracker);
            } else {
                self.lose(place);
            }
        }
    }

    pub(super) fn not_transferred(&mut self) {
        self.to_transfer = false;
        self.remake_all();
    }

    /// A message that was sent before the reconnect; or the server has no more of them.
    pub(super) fn caught_up(
        &mut self,
        place: u32,
        sequence: u32,
        body: &[u8],
        now: Now,
        tracker: &mut NotificationTracker<'_>,
    ) {
        let message = match RepublishResponse::parse(body) {
            Ok(message) => message,
            Err(error) => {
                let gone = StatusCode::BadSubscriptionIdInvalid;
                if super::answer::is(super::answer::wrong(error), gone) {
                    self.lose(place);
                } else {
                    self.seen(place, now, tracker);
                }
                return self.caught_up_all(place);
            }
        };
        let Some(number) = self.number(place) else {
            return;
        };
        self.seen(place, now, tracker);
        self.acknowledge(place, sequence);
        if let Some(subscription) = self.subscription(place) {
            subscription.expected = after(sequence);
        }
        // Nothing told that it was missing: it is the next one.
        tracker.receipt.republish_asked(number, sequence);
        let head = self.head(&message, body, now);
        let open = tracker.receipt.message(tracker.ledger, number, head);
        let (gap, ended) = hear(open, message.notifications(), self.event_places());
        self.miss(place, gap, now);
        if let Some(status) = ended {
            self.ended(place, status, now, tracker);
        }
    }

    pub(super) fn caught_up_all(&mut self, place: u32) {
        if let Some(subscription) = self.subscription(place) {
            subscription.catching_up = false;
        }
    }
}
