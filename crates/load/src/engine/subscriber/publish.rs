//! What the answers to Publish requests bring (Part 4, 5.14.5), and what follows from it for subscriptions.

use plan::Reconnect;
use record::notification_ledger::{Gap, Head};
use wire::template::walk::{Notification, PublishResponse};
use wire::types::{StatusCode, SubscriptionAcknowledgement};

use super::answer::{is, wrong};
use super::message::hear;
use super::notes::Notes;
use super::reception::MessageEffect;
use super::{Post, Subscriber, SubscriberStep};

/// Whose message it is.
#[derive(Debug, Clone, Copy)]
struct Whose {
    /// The server's number of the subscription.
    id: u32,
    /// Its place; one that there is none at, if it is not here.
    place: u32,
    /// Its number in the notification ledger; one that the notification ledger does not know, if nobody here does.
    number: u32,
    /// Another session has it now.
    away: bool,
}

impl Subscriber {
    /// A Publish request was answered.
    pub(super) fn published(&mut self, body: &[u8], notes: &mut Notes<'_>) {
        self.reception.supply.end();
        let response = match PublishResponse::parse(body) {
            Ok(response) => response,
            Err(error) => return self.publish_refused(wrong(error), notes),
        };
        let several = self.reception.subscriptions.len() > 1;
        let supply = &mut self.reception.supply;
        supply.answered(&response, several, notes.now.mono);
        for result in response.results {
            notes.notification_ledger.acknowledged(result.bits());
        }
        let whose = self.whose(response.subscription_id);
        let head = Head {
            sequence: response.sequence_number,
            publish_time: response.publish_time,
            header_time: response.timestamp,
            at: notes.at(),
            more: response.more_notifications,
            bytes: body.len() as u32,
        };
        let subscriptions = &mut self.reception.subscriptions;
        if response.is_keep_alive() {
            let gap = notes.notification_ledger.keep_alive(whose.number, head);
            subscriptions.expect(whose.place, head.sequence, true);
            return self.miss(whose, gap, notes);
        }
        let change = match response.notifications().next() {
            Some(Ok(Notification::StatusChange { status, .. })) => Some(status),
            _ => None,
        };
        let places = self.assignment.event_places();
        if change.is_some_and(|status| self.changes.hands_over(status)) {
            if notes
                .notification_ledger
                .handed_over(whose.number, head.sequence)
            {
                let open = notes.message(whose.number, head);
                hear(open, response.notifications(), places);
            }
            return;
        }
        subscriptions.expect(whose.place, head.sequence, false);
        self.acknowledge(whose, head.sequence);
        if let Some(status) = change {
            return self.meet(whose.place, MessageEffect::Ended(status), notes);
        }
        let open = notes.message(whose.number, head);
        let (gap, ended) = hear(open, response.notifications(), places);
        self.miss(whose, gap, notes);
        let subscriptions = &mut self.reception.subscriptions;
        self.changes
            .came(whose.place, &self.assignment, subscriptions, notes);
        self.meet(whose.place, ended.into(), notes);
    }

    #[inline]
    fn whose(&self, id: u32) -> Whose {
        let subscriptions = &self.reception.subscriptions;
        let place = subscriptions.place(id);
        let known = place.and_then(|place| Some((place, subscriptions.number(place)?)));
        let away = match known {
            None => self.handover.away(id),
            Some(_) => None,
        };
        let known = known.or(away.map(|number| (u32::MAX, number)));
        let (place, number) = known.unwrap_or((u32::MAX, u32::MAX));
        Whose {
            id,
            place,
            number,
            away: away.is_some(),
        }
    }

    /// A message is to be acknowledged by whoever has the subscription now.
    #[inline]
    fn acknowledge(&mut self, whose: Whose, sequence: u32) {
        let acknowledgement = SubscriptionAcknowledgement {
            subscription_id: whose.id,
            sequence_number: sequence,
        };
        match whose.away {
            true => self.handover.forward(Post::Acknowledge(acknowledgement)),
            false => self.reception.supply.acknowledge(acknowledgement),
        }
    }

    /// Messages are missing: they are asked for by whoever has the subscription now.
    #[inline]
    fn miss(&mut self, whose: Whose, gap: Option<Gap>, notes: &Notes<'_>) {
        match whose.away {
            true => self.handover.miss(whose.id, gap, notes.now.mono),
            false => self.reception.miss(whose.place, gap, notes.now),
        }
    }

    /// What a message says of its subscription comes true.
    #[inline]
    pub(super) fn meet(&mut self, place: u32, effect: MessageEffect, notes: &mut Notes<'_>) {
        match effect {
            MessageEffect::Stays => {}
            MessageEffect::Gone => self.lose(place),
            MessageEffect::Ended(status) => self.ended(place, status, notes),
        }
    }

    #[cold]
    fn ended(&mut self, place: u32, status: StatusCode, notes: &mut Notes<'_>) {
        if self.changes.hands_over(status) {
            return;
        }
        if let Some(number) = self.reception.subscriptions.number(place) {
            let at = notes.at();
            notes
                .notification_ledger
                .status_change(number, status.bits(), at);
        }
        if status.is_bad() || is(status, StatusCode::GoodSubscriptionTransferred) {
            self.lose(place);
        }
    }

    /// A subscription is gone. It is made again, if that is wanted.
    fn lose(&mut self, place: u32) {
        self.reception.forget(place);
        let wanted = self.assignment.plan().reconnect != Reconnect::Never;
        let ours = self.reception.subscriptions.get(place).is_some();
        if wanted && ours && self.step == SubscriberStep::Running {
            self.set_up.create_again(place);
        }
    }

    /// These are gone.
    pub(super) fn lose_all(&mut self, places: Vec<u32>) {
        for place in places {
            self.lose(place);
        }
    }

    /// A Publish request came to nothing.
    pub(super) fn publish_failed(&mut self, status: StatusCode, notes: &mut Notes<'_>) {
        self.reception.supply.end();
        self.publish_refused(status, notes);
    }

    fn publish_refused(&mut self, status: StatusCode, notes: &mut Notes<'_>) {
        // What the deletion of subscriptions ends, or the end of the connection, was not refused.
        if self.step >= SubscriberStep::Leaving || is(status, StatusCode::BadConnectionClosed) {
            return;
        }
        notes.notification_ledger.publish_refused(status.bits());
        // A session that has given all away has none, until it has others.
        let bare = is(status, StatusCode::BadNoSubscription) && !self.changes.passes_on();
        if !bare || self.step != SubscriberStep::Running {
            let supply = &mut self.reception.supply;
            return supply.refused(status, notes.now.mono);
        }
        let places = self.reception.subscriptions.there();
        let at = notes.at();
        for place in &places {
            if let Some(number) = self.reception.subscriptions.number(*place) {
                notes.notification_ledger.ended(number, status.bits(), at);
            }
        }
        self.lose_all(places);
    }
}
