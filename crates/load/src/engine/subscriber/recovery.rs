//! Sessions that lost their connection and came back (Part 4, 6.7): the same session over a new
//! channel, a new session that takes the subscriptions over, or new subscriptions.

use plan::Reconnect;
use record::notification_ledger::SetUpStep;
use wire::service::Response;
use wire::time::Instant;
use wire::types::TransferSubscriptionsRequest;

use super::answer::decode;
use super::gaps::republish;
use super::notes::Notes;
use super::outgoing::Outgoing;
use super::pending::PendingRequest;
use super::subscriptions::Subscriptions;

/// How a session came back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecoveryPath {
    /// It is the same one.
    Resumed,
    /// It is another one.
    New,
}

/// What a session does to have its subscriptions again.
#[derive(Debug, Default)]
pub(super) struct Recovery {
    /// A new session is to take the subscriptions over.
    to_transfer: bool,
}

impl Recovery {
    /// Whether subscriptions are still to be taken over.
    pub fn transfers(&self) -> bool {
        self.to_transfer
    }

    /// The session is back. Tells which subscriptions are lost.
    pub fn begin(
        &mut self,
        came: RecoveryPath,
        wanted: Reconnect,
        subscriptions: &mut Subscriptions,
    ) -> Vec<u32> {
        match (came, wanted) {
            // The server kept what it sent and was not told of: that comes first.
            (RecoveryPath::Resumed, _) => subscriptions.doubt_all(),
            (RecoveryPath::New, Reconnect::Recreate) => return subscriptions.there(),
            (RecoveryPath::New, _) => self.to_transfer = !subscriptions.is_empty(),
        }
        Vec::new()
    }

    /// Has the new session take the subscriptions over; and asks for messages that were sent
    /// before.
    pub fn send(&self, out: &mut Outgoing<'_>, subscriptions: &Subscriptions) {
        let asked = |asked: &PendingRequest| matches!(asked, PendingRequest::Transfer { .. });
        if self.to_transfer && !out.pending().any(asked) {
            let request = TransferSubscriptionsRequest {
                request_header: out.header(),
                subscription_ids: Some(subscriptions.ids()),
                send_initial_values: false,
            };
            let sent = out.now.mono;
            out.send(request, PendingRequest::Transfer { sent });
        }
        for (place, subscription) in (0..).zip(subscriptions.all()) {
            if subscription.catching_up
                && let Some(id) = subscription.id
            {
                catch_up((place, id), subscription.expected, out);
            }
        }
    }

    /// The server says which of them it has handed over. Tells which are lost.
    pub fn transferred(
        &mut self,
        sent: Instant,
        body: &[u8],
        subscriptions: &mut Subscriptions,
        notes: &mut Notes<'_>,
    ) -> Vec<u32> {
        let Ok(Response::TransferSubscriptions(response)) = decode(body) else {
            return self.not_transferred(subscriptions);
        };
        self.to_transfer = false;
        let mut places = subscriptions.there();
        notes.step(SetUpStep::Transfer, sent, places.len() as u32);
        let results = response.results.unwrap_or_default();
        let mut results = results.into_iter();
        places.retain(|place| {
            let lost = results.next().is_none_or(|it| it.status_code.is_bad());
            if !lost {
                subscriptions.resumed(*place, notes);
            }
            lost
        });
        places
    }

    /// The server hands none over. Tells which are lost.
    pub fn not_transferred(&mut self, subscriptions: &Subscriptions) -> Vec<u32> {
        self.to_transfer = false;
        subscriptions.there()
    }
}

/// Asks for the next message of a subscription that was sent before, unless it is asked for.
fn catch_up((place, id): (u32, u32), sequence: u32, out: &mut Outgoing<'_>) {
    let asks = |asked: &PendingRequest| matches!(asked, PendingRequest::CatchUp { subscription, .. } if *subscription == place);
    if !out.pending().any(asks) {
        let about = PendingRequest::CatchUp {
            subscription: place,
            sequence,
        };
        let request = republish(out, id, sequence);
        out.send(request, about);
    }
}
