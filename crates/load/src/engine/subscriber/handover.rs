//! Subscriptions that go from session to session while they report (Part 4, 5.14.7): a load of its own.
//!
//! A subscription is given away at the moment at which the other session asks for it: from then on that
//! session knows it, whichever of response and first message comes first. What the server had sent to the
//! session before may still come there; it is counted, and the session that has the subscription
//! now acknowledges it.

use std::collections::VecDeque;

use wire::client::Connection;
use wire::service::Response;
use wire::time::{Instant, Now};
use wire::types::{StatusCode, SubscriptionAcknowledgement, TransferSubscriptionsRequest};

use record::receipt;

use super::churn::Turning;
use super::{PendingRequest, Subscriber, Subscription};
use crate::engine::recorder::NotificationTracker;

/// A subscription between two sessions.
#[derive(Debug)]
pub struct InTransfer {
    /// The server's number for it.
    id: u32,
    subscription: Subscription,
    /// What is still to be acknowledged.
    acknowledgements: Vec<SubscriptionAcknowledgement>,
    /// The session that had it, as a seat of the loop.
    from: usize,
    /// Its last values are wanted once more.
    initial: bool,
}

/// What one session has for another one of its loop.
#[derive(Debug)]
pub enum Post {
    /// A subscription that the next session is to take over.
    Offer {
        /// Its place here.
        place: u32,
        /// Its last values are wanted once more.
        initial: bool,
    },
    /// A subscription that the server did not hand over: it is where it was.
    Back(InTransfer),
    /// A message came here after all: to be acknowledged by whoever has the subscription now.
    Acknowledge(SubscriptionAcknowledgement),
    /// A message is missing: to be asked for by whoever has the subscription now.
    Missing {
        /// The server's number of the subscription.
        id: u32,
        /// The message's.
        sequence: u32,
        /// When another one told of it.
        noticed: Instant,
    },
}

/// What a session knows of subscriptions on the way.
#[derive(Debug, Default)]
pub(super) struct Handover {
    /// For other sessions.
    pub(super) post: VecDeque<Post>,
    /// To be asked for: place, seat that had it, with initial values.
    to_take: VecDeque<(u32, usize, bool)>,
    /// Subscriptions that others have now, by the server's number, with their number in the receipt.
    away: Vec<(u32, u32)>,
}

impl InTransfer {
    /// The session that had it, as a seat of the loop.
    pub fn from(&self) -> usize {
        self.from
    }
}

impl Handover {
    /// Whether a subscription is to be asked for.
    pub(super) fn is_due(&self) -> bool {
        !self.to_take.is_empty()
    }
}

impl Subscriber {
    /// Whether its subscriptions go from session to session.
    pub(super) fn passes_on(&self) -> bool {
        self.turning.iter().any(Turning::is_transfer)
    }

    /// Whether this status says no more than that one of them went.
    pub(super) fn hands_over(&self, status: StatusCode) -> bool {
        super::answer::is(status, StatusCode::GoodSubscriptionTransferred) && self.passes_on()
    }

    /// A subscription is to go to another session, unless something about it is on its way.
    pub(super) fn offer(&mut self, place: u32, initial: bool) {
        let about = |asked: &PendingRequest| match asked {
            PendingRequest::Republish { subscription, .. }
            | PendingRequest::Take { subscription, .. } => *subscription == place,
            _ => false,
        };
        let waits = self.missing.iter().any(|missing| missing.place == place)
            || self
                .handover
                .to_take
                .iter()
                .any(|(take, ..)| *take == place);
        if !waits && !self.asked.any(about) {
            self.handover.post.push_back(Post::Offer { place, initial });
        }
    }

    /// Gives a subscription away; `from`: its own seat.
    pub fn give(&mut self, place: u32, initial: bool, from: usize) -> Option<InTransfer> {
        let id = self.id(place)?;
        let subscription = std::mem::take(self.subscription(place)?);
        if let Some(number) = subscription.number {
            self.handover.away.push((id, number));
        }
        self.by_id.retain(|(known, _)| *known != id);
        let (acknowledgements, others) = std::mem::take(&mut self.acknowledgements)
            .into_iter()
            .partition(|it| it.subscription_id == id);
        self.acknowledgements = others;
        Some(InTransfer {
            id,
            subscription,
            acknowledgements,
            from,
            initial,
        })
    }

    /// Has a subscription of another session taken over.
    pub fn take_over(&mut self, moved: InTransfer) {
        let (from, initial) = (moved.from, moved.initial);
        let place = self.put(moved);
        self.handover.to_take.push_back((place, from, initial));
    }

    /// Has a subscription again that it wanted to give away.
    pub fn take_back(&mut self, moved: InTransfer) {
        self.put(moved);
    }

    fn put(&mut self, moved: InTransfer) -> u32 {
        let InTransfer {
            id,
            subscription,
            acknowledgements,
            ..
        } = moved;
        self.handover.away.retain(|(known, _)| *known != id);
        self.acknowledgements.extend(acknowledgements);
        let free = self.subscriptions.iter().position(|it| it.number.is_none());
        let place = free.unwrap_or(self.subscriptions.len());
        match self.subscriptions.get_mut(place) {
            Some(slot) => *slot = subscription,
            None => self.subscriptions.push(subscription),
        }
        self.know(id, place as u32);
        place as u32
    }

    /// The number in the receipt of a subscription that another session has now.
    pub(super) fn away(&self, id: u32) -> Option<u32> {
        let found = self.handover.away.iter().find(|(known, _)| *known == id);
        found.map(|(_, number)| *number)
    }

    /// Sends word to whoever has a subscription now.
    pub(super) fn forward(&mut self, post: Post) {
        self.handover.post.push_back(post);
    }

    /// Asks the server for the subscriptions that others have given.
    pub(super) fn take_all(&mut self, connection: &mut Connection, now: Now) {
        while let Some((place, from, initial)) = self.handover.to_take.pop_front() {
            let Some(id) = self.id(place) else { continue };
            let request = TransferSubscriptionsRequest {
                request_header: self.requests.header(now.utc),
                subscription_ids: Some(vec![id]),
                send_initial_values: initial,
            };
            let asked = PendingRequest::Take {
                subscription: place,
                from,
                initial,
                sent: now.mono,
            };
            if !self.send(connection, request, asked, now) {
                self.not_taken(place, from, StatusCode::BadTooManyOperations);
            }
        }
    }

    pub(super) fn taken(
        &mut self,
        (place, from, initial): (u32, usize, bool),
        sent: Instant,
        body: &[u8],
        now: Now,
        tracker: &mut NotificationTracker<'_>,
    ) {
        let status = match super::answer::decode(body) {
            Ok(Response::TransferSubscriptions(response)) => {
                let result = response.results.and_then(|all| all.into_iter().next());
                result.map_or(StatusCode::BadUnexpectedError, |it| it.status_code)
            }
            Ok(_) => StatusCode::BadUnknownResponse,
            Err(status) => status,
        };
        if status.is_bad() {
            return self.not_taken(place, from, status);
        }
        let (sent, at) = (self.at(sent), self.at(now.mono));
        tracker
            .receipt
            .step(receipt::SetUpStep::Transfer, sent, at, 1);
        if let Some(number) = self.number(place).filter(|_| initial) {
            tracker.receipt.told_again(number);
        }
    }

    /// The server did not hand it over: it goes back.
    pub(super) fn not_taken(&mut self, place: u32, from: usize, status: StatusCode) {
        self.fail("transfer", status);
        if let Some(moved) = self.give(place, false, from) {
            // It was never here.
            self.handover.away.retain(|(known, _)| *known != moved.id);
            self.forward(Post::Back(moved));
        }
    }
}
