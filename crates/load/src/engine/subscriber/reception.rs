//! What a session receives with: the subscriptions that are there, the Publish requests that wait for their messages, and
//! the messages that are missing. None of them is right without the others.

use record::notification_ledger::Gap;
use wire::template::walk::RepublishResponse;
use wire::time::{Instant, Now};
use wire::types::{StatusCode, SubscriptionAcknowledgement};

use plan::Subscribe;

use super::answer::{is, wrong};
use super::gaps::{Gaps, worth_asking};
use super::message::hear;
use super::notes::Notes;
use super::outgoing::Outgoing;
use super::subscriptions::{Subscription, Subscriptions, after};
use super::supply::Supply;
use crate::work::events::Places;

/// Subscriptions, Publish requests, missing messages.
#[derive(Debug)]
pub(super) struct Reception {
    pub subscriptions: Subscriptions,
    pub supply: Supply,
    pub gaps: Gaps,
}

/// What a message, or the lack of it, says of its subscription.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MessageEffect {
    /// It is there, as far as it is known.
    Stays,
    /// The server says so in a message: it has given it up, or away (Part 4, 5.14.1.4 and 5.14.7.1).
    Ended(StatusCode),
    /// The server does not know it.
    Gone,
}

impl From<Option<StatusCode>> for MessageEffect {
    fn from(ended: Option<StatusCode>) -> Self {
        ended.map_or(Self::Stays, Self::Ended)
    }
}

impl Reception {
    /// For the subscriptions of a plan; none of them is there yet.
    pub fn new(plan: &Subscribe) -> Self {
        Self {
            subscriptions: Subscriptions::new(plan.subscriptions),
            supply: Supply::new(plan.publish_requests),
            gaps: Gaps::default(),
        }
    }

    /// A subscription is there, with this number of the server.
    pub fn know(&mut self, id: u32, place: u32) {
        self.subscriptions.know(id, place);
        self.supply.foresee(&self.subscriptions);
    }

    /// A subscription is not there any more.
    pub fn forget(&mut self, place: u32) {
        self.subscriptions.forget(place);
        self.gaps.forget(place);
    }

    /// Gives a subscription out, with the server's number for it and what is still to be acknowledged.
    pub fn give(
        &mut self,
        place: u32,
    ) -> Option<(u32, Subscription, Vec<SubscriptionAcknowledgement>)> {
        let (id, subscription) = self.subscriptions.remove(place)?;
        Some((id, subscription, self.supply.give(id)))
    }

    /// Takes one in. Tells its place.
    pub fn put(
        &mut self,
        id: u32,
        subscription: Subscription,
        acknowledgements: Vec<SubscriptionAcknowledgement>,
    ) -> u32 {
        self.supply.put(acknowledgements);
        let place = self.subscriptions.insert(id, subscription);
        self.supply.foresee(&self.subscriptions);
        place
    }

    /// The connection is gone.
    pub fn cut(&mut self, notes: &mut Notes<'_>) {
        let at = notes.at();
        for place in self.subscriptions.there() {
            if let Some(number) = self.subscriptions.number(place) {
                notes.notification_ledger.cut(number, at);
            }
        }
        self.supply.cut();
    }

    /// Messages are missing.
    #[inline]
    pub fn miss(&mut self, place: u32, gap: Option<Gap>, now: Now) {
        for sequence in worth_asking(gap) {
            self.want(place, sequence, now.mono);
        }
    }

    /// A message is missing, as was noticed then.
    pub fn want(&mut self, place: u32, sequence: u32, noticed: Instant) {
        self.gaps.want(place, sequence, noticed, &self.supply);
    }

    /// Asks for what is missing; `all`: for all of it.
    pub fn ask_again(&mut self, out: &mut Outgoing<'_>, all: bool, notes: &mut Notes<'_>) {
        let ended = self.supply.ended();
        self.gaps
            .ask_again(out, &self.subscriptions, ended, all, notes);
    }

    /// Sends the Publish requests that are wanted.
    pub fn supply(&mut self, out: &mut Outgoing<'_>, transfers: bool, notes: &mut Notes<'_>) {
        self.supply.send(out, &self.subscriptions, transfers, notes);
    }

    /// A message that was missing, or why it does not come. `places`: where in events the fields are that accounting
    /// needs.
    pub fn republished(
        &mut self,
        (place, sequence): (u32, u32),
        body: &[u8],
        places: Places,
        notes: &mut Notes<'_>,
    ) -> MessageEffect {
        let message = match RepublishResponse::parse(body) {
            Ok(message) => message,
            Err(error) => {
                self.not_republished((place, sequence), wrong(error), notes);
                return MessageEffect::Stays;
            }
        };
        let Some(number) = self.subscriptions.number(place) else {
            return MessageEffect::Stays;
        };
        self.acknowledge(place, sequence);
        let head = notes.head(&message, body.len());
        let open = notes.republished(number, head);
        let (_, ended) = hear(open, message.notifications(), places);
        ended.into()
    }

    pub fn not_republished(
        &self,
        (place, sequence): (u32, u32),
        status: StatusCode,
        notes: &mut Notes<'_>,
    ) {
        if let Some(number) = self.subscriptions.number(place) {
            notes
                .notification_ledger
                .republish_refused(number, sequence, status.bits());
        }
    }

    /// A message that was sent before the reconnect; or the server has no more of them.
    pub fn caught_up(
        &mut self,
        (place, sequence): (u32, u32),
        body: &[u8],
        places: Places,
        notes: &mut Notes<'_>,
    ) -> MessageEffect {
        let message = match RepublishResponse::parse(body) {
            Ok(message) => message,
            Err(error) => {
                let gone = is(wrong(error), StatusCode::BadSubscriptionIdInvalid);
                if !gone {
                    self.subscriptions.seen(place, notes);
                }
                self.subscriptions.caught_up(place);
                return if gone {
                    MessageEffect::Gone
                } else {
                    MessageEffect::Stays
                };
            }
        };
        let Some(number) = self.subscriptions.number(place) else {
            return MessageEffect::Stays;
        };
        self.subscriptions.seen(place, notes);
        self.acknowledge(place, sequence);
        if let Some(subscription) = self.subscriptions.get_mut(place) {
            subscription.expected = after(sequence);
        }
        // Nothing told that it was missing: it is the next one.
        notes.notification_ledger.republish_asked(number, sequence);
        let head = notes.head(&message, body.len());
        let open = notes.message(number, head);
        let (gap, ended) = hear(open, message.notifications(), places);
        self.miss(place, gap, notes.now);
        ended.into()
    }

    fn acknowledge(&mut self, place: u32, sequence: u32) {
        if let Some(id) = self.subscriptions.id(place) {
            self.supply.acknowledge(SubscriptionAcknowledgement {
                subscription_id: id,
                sequence_number: sequence,
            });
        }
    }
}
