//! Subscriptions that go from session to session while they report (Part 4, 5.14.7): a load of its own.
//!
//! A subscription is given away at the moment at which the other session asks for it: from then on that
//! session knows it, whichever of response and first message comes first. What the server had sent to the
//! session before may still come there; it is counted, and the session that has the subscription
//! now acknowledges it.

use std::collections::VecDeque;

use record::notification_ledger::{Gap, SetUpStep};
use wire::service::Response;
use wire::time::Instant;
use wire::types::{StatusCode, SubscriptionAcknowledgement, TransferSubscriptionsRequest};

use super::answer::decode;
use super::churn::{Changes, Offer};
use super::gaps::{Gaps, worth_asking};
use super::notes::Notes;
use super::outgoing::Outgoing;
use super::pending::{PendingRequest, PendingRequests, TakeAsked};
use super::reception::Reception;
use super::subscriptions::Subscription;

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
    post: VecDeque<Post>,
    /// To be asked for: place, seat that had it, with initial values.
    to_take: VecDeque<(u32, usize, bool)>,
    /// Subscriptions that others have now, by the server's number, with their number in the notification ledger.
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
    pub fn is_due(&self) -> bool {
        !self.to_take.is_empty()
    }

    /// What is next for another session.
    pub fn next_post(&mut self) -> Option<Post> {
        self.post.pop_front()
    }

    /// Sends word to whoever has a subscription now.
    pub fn forward(&mut self, post: Post) {
        self.post.push_back(post);
    }

    /// A subscription is to go to another session, unless something about it is on its way.
    pub fn offer(&mut self, offer: Offer, pending: &PendingRequests, gaps: &Gaps) {
        let Offer { place, initial } = offer;
        let about = |asked: &PendingRequest| match asked {
            PendingRequest::Republish { subscription, .. }
            | PendingRequest::Take(TakeAsked { subscription, .. }) => *subscription == place,
            _ => false,
        };
        let waits = gaps.has(place) || self.to_take.iter().any(|(take, ..)| *take == place);
        if !waits && !pending.any(about) {
            self.post.push_back(Post::Offer { place, initial });
        }
    }

    /// Gives a subscription away; `from`: the session's own seat.
    pub fn give(
        &mut self,
        place: u32,
        initial: bool,
        from: usize,
        reception: &mut Reception,
    ) -> Option<InTransfer> {
        let (id, subscription, acknowledgements) = reception.give(place)?;
        if let Some(number) = subscription.number {
            self.away.push((id, number));
        }
        Some(InTransfer {
            id,
            subscription,
            acknowledgements,
            from,
            initial,
        })
    }

    /// Has a subscription of another session taken over.
    pub fn take_over(&mut self, moved: InTransfer, reception: &mut Reception) {
        let (from, initial) = (moved.from, moved.initial);
        let place = self.put(moved, reception);
        self.to_take.push_back((place, from, initial));
    }

    /// Has a subscription again; tells its place.
    pub fn put(&mut self, moved: InTransfer, reception: &mut Reception) -> u32 {
        self.away.retain(|(known, _)| *known != moved.id);
        reception.put(moved.id, moved.subscription, moved.acknowledgements)
    }

    /// The number in the notification ledger of a subscription that another session has now.
    pub fn away(&self, id: u32) -> Option<u32> {
        let found = self.away.iter().find(|(known, _)| *known == id);
        found.map(|(_, number)| *number)
    }

    /// Messages are missing of a subscription that another session has now, which asks for them.
    pub fn miss(&mut self, id: u32, gap: Option<Gap>, noticed: Instant) {
        for sequence in worth_asking(gap) {
            self.forward(Post::Missing {
                id,
                sequence,
                noticed,
            });
        }
    }

    /// Asks the server for the subscriptions that others have given.
    pub fn take_all(
        &mut self,
        out: &mut Outgoing<'_>,
        reception: &mut Reception,
        changes: &mut Changes,
    ) {
        while let Some((place, from, initial)) = self.to_take.pop_front() {
            let Some(id) = reception.subscriptions.id(place) else {
                continue;
            };
            let request = TransferSubscriptionsRequest {
                request_header: out.header(),
                subscription_ids: Some(vec![id]),
                send_initial_values: initial,
            };
            let asked = TakeAsked {
                subscription: place,
                from,
                initial,
                sent: out.now.mono,
            };
            if !out.send(request, PendingRequest::Take(asked)) {
                self.not_taken(asked, StatusCode::BadTooManyOperations, reception, changes);
            }
        }
    }

    /// The server has handed it over, or not.
    pub fn taken(
        &mut self,
        asked: TakeAsked,
        body: &[u8],
        reception: &mut Reception,
        changes: &mut Changes,
        notes: &mut Notes<'_>,
    ) {
        let status = match decode(body) {
            Ok(Response::TransferSubscriptions(response)) => {
                let result = response.results.and_then(|all| all.into_iter().next());
                result.map_or(StatusCode::BadUnexpectedError, |it| it.status_code)
            }
            Ok(_) => StatusCode::BadUnknownResponse,
            Err(status) => status,
        };
        if status.is_bad() {
            return self.not_taken(asked, status, reception, changes);
        }
        notes.step(SetUpStep::Transfer, asked.sent, 1);
        let number = reception.subscriptions.number(asked.subscription);
        if let Some(number) = number.filter(|_| asked.initial) {
            notes.notification_ledger.told_again(number);
        }
    }

    /// The server did not hand it over: it goes back.
    pub fn not_taken(
        &mut self,
        asked: TakeAsked,
        status: StatusCode,
        reception: &mut Reception,
        changes: &mut Changes,
    ) {
        changes.fail("transfer", status);
        if let Some(moved) = self.give(asked.subscription, false, asked.from, reception) {
            // It was never here.
            self.away.retain(|(known, _)| *known != moved.id);
            self.forward(Post::Back(moved));
        }
    }
}
