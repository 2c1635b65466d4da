//! Publish requests that wait at the server, and what their answers bring (Part 4, 5.14.5).

use std::time::Duration;

use record::receipt::Head;
use wire::client::Connection;
use wire::template::walk::{Notification, PublishResponse};
use wire::time::Now;
use wire::types::{StatusCode, SubscriptionAcknowledgement};

use super::answer::is;
use super::message::hear;
use super::supply::{DOUBLINGS, PAUSE};
use super::{BACKLOG, Post, Subscriber, SubscriberStep};
use crate::engine::recorder::NotificationTracker;
use crate::work::events::Places;

/// A message that lay so long at the server before its response was sent had to wait for a
/// request.
const WAITED_TICKS: i64 = 500_000;

impl Subscriber {
    /// Reckons anew how many requests are wanted.
    pub(super) fn foresee(&mut self) {
        let there = self.by_id.len();
        let rate = self.subscriptions.iter().filter(|it| it.id.is_some());
        let rate = rate
            .map(|it| 1.0 / it.publishing.as_secs_f64().max(1e-3))
            .sum();
        self.supply.foresee(there, rate);
    }

    /// The longest that a request may wait in good order.
    fn patience(&self) -> Duration {
        let silence = |it: &super::Subscription| it.publishing.saturating_mul(it.keep_alive.max(1));
        let longest = self
            .subscriptions
            .iter()
            .map(silence)
            .max()
            .unwrap_or_default();
        let turns = u32::try_from(self.supply.waiting + 2).unwrap_or(u32::MAX);
        longest
            .saturating_mul(turns)
            .saturating_add(self.orders.timeout)
    }

    /// Sends Publish requests until enough of them wait.
    pub(super) fn supply(
        &mut self,
        connection: &mut Connection,
        now: Now,
        tracker: &mut NotificationTracker<'_>,
    ) {
        if self.supply.quiet_until.is_some_and(|at| now.mono < at) {
            return;
        }
        self.supply.quiet_until = None;
        if self.by_id.is_empty() || !self.supply.is_due() || self.catches_up() {
            return;
        }
        let deadline = now.mono + self.patience();
        let mut sent = 0;
        while self.supply.missing() > 0 && connection.pending().len() < BACKLOG {
            let publish = &self.requests.publish;
            let acknowledgements = &self.acknowledgements;
            let request = connection.send(deadline, |out, handle| {
                let start = out.len();
                out.resize(start + publish.len_with(acknowledgements.len()), 0);
                let room = out.get_mut(start..).unwrap_or_default();
                // As long as it was foreseen to be, so that all of it is written.
                let written = publish.write(room, handle, now.utc, acknowledgements);
                debug_assert!(written.is_ok());
            });
            let Ok(id) = request else {
                break;
            };
            self.acknowledgements.clear();
            self.asked.keep(id, super::PendingRequest::Publish);
            self.supply.send(now.mono);
            sent += 1;
        }
        if sent > 0 {
            tracker.receipt.publish_sent(sent);
        }
    }

    pub(super) fn published(
        &mut self,
        body: &[u8],
        now: Now,
        tracker: &mut NotificationTracker<'_>,
    ) {
        self.supply.end();
        let response = match PublishResponse::parse(body) {
            Ok(response) => response,
            Err(error) => return self.publish_refused(super::answer::wrong(error), now, tracker),
        };
        self.supply.failures = 0;
        for result in response.results {
            tracker.receipt.acknowledged(result.bits());
        }
        // Some servers leave times out.
        let known = response.timestamp != 0 && response.publish_time != 0;
        let waited =
            known && response.timestamp.saturating_sub(response.publish_time) > WAITED_TICKS;
        let awaited = self.supply.was_awaited(now.mono) && !response.is_keep_alive();
        self.shape.waited += u64::from(waited || awaited);
        let others = response.more_notifications || self.by_id.len() > 1;
        if waited || (self.supply.waiting == 0 && others) {
            self.supply.starved();
        }
        let place = self.place(response.subscription_id);
        let known = place.and_then(|place| Some((place, self.number(place)?)));
        let away = match known {
            None => self.away(response.subscription_id),
            Some(_) => None,
        };
        let known = known.or(away.map(|number| (u32::MAX, number)));
        let (place, number) = known.unwrap_or((u32::MAX, u32::MAX));
        let head = Head {
            sequence: response.sequence_number,
            publish_time: response.publish_time,
            header_time: response.timestamp,
            at: self.at(now.mono),
            more: response.more_notifications,
            bytes: body.len() as u32,
        };
        if response.is_keep_alive() {
            let gap = tracker.receipt.keep_alive(number, head);
            self.expect(place, head.sequence, true);
            return match away {
                Some(_) => self.miss_away(response.subscription_id, gap, now),
                None => self.miss(place, gap, now),
            };
        }
        let first = response.notifications().next();
        if let Some(Ok(Notification::StatusChange { status, .. })) = first
            && self.hands_over(status)
        {
            if tracker.receipt.handed_over(number, head.sequence) {
                let open = tracker.receipt.message(tracker.ledger, number, head);
                hear(open, response.notifications(), self.event_places());
            }
            return;
        }
        let acknowledgement = SubscriptionAcknowledgement {
            subscription_id: response.subscription_id,
            sequence_number: head.sequence,
        };
        match away {
            Some(_) => self.forward(Post::Acknowledge(acknowledgement)),
            None => self.acknowledgements.push(acknowledgement),
        }
        self.expect(place, head.sequence, false);
        if let Some(Ok(Notification::StatusChange { status, .. })) = first {
            return self.ended(place, status, now, tracker);
        }
        let open = tracker.receipt.message(tracker.ledger, number, head);
        let (gap, ended) = hear(open, response.notifications(), self.event_places());
        match away {
            Some(_) => self.miss_away(response.subscription_id, gap, now),
            None => self.miss(place, gap, now),
        }
        if !self.turning.is_empty() {
            self.came(place, tracker);
        }
        if let Some(status) = ended {
            self.ended(place, status, now, tracker);
        }
    }

    /// Where in events the fields are that accounting needs.
    pub(super) fn event_places(&self) -> Places {
        let events = self.requests.terms.events();
        events.map_or_else(Places::default, |events| events.places)
    }

    /// The server has given a subscription up, or away (Part 4, 5.14.1.4 and 5.14.7.1).
    pub(super) fn ended(
        &mut self,
        place: u32,
        status: StatusCode,
        now: Now,
        tracker: &mut NotificationTracker<'_>,
    ) {
        if self.hands_over(status) {
            return;
        }
        if let Some(number) = self.number(place) {
            let at = self.at(now.mono);
            tracker.receipt.status_change(number, status.bits(), at);
        }
        if status.is_bad() || is(status, StatusCode::GoodSubscriptionTransferred) {
            self.lose(place);
        }
    }

    /// A subscription is not there any more.
    pub(super) fn forget(&mut self, place: u32) {
        if let Some(subscription) = self.subscription(place) {
            subscription.id = None;
            subscription.catching_up = false;
            subscription.doubtful = false;
        }
        self.by_id.retain(|(_, known)| *known != place);
        self.missing.retain(|missing| missing.place != place);
    }

    pub(super) fn publish_failed(
        &mut self,
        status: StatusCode,
        now: Now,
        tracker: &mut NotificationTracker<'_>,
    ) {
        self.supply.end();
        self.publish_refused(status, now, tracker);
    }

    fn publish_refused(
        &mut self,
        status: StatusCode,
        now: Now,
        tracker: &mut NotificationTracker<'_>,
    ) {
        // What the deletion of subscriptions ends, or the end of the connection, was not refused.
        if self.step >= SubscriberStep::Leaving || is(status, StatusCode::BadConnectionClosed) {
            return;
        }
        tracker.receipt.publish_refused(status.bits());
        if is(status, StatusCode::BadTooManyPublishRequests) {
            // Those that still wait are as many as it takes.
            self.supply.most = self.supply.waiting.max(1);
            return;
        }
        let expelled = [
            StatusCode::BadSessionIdInvalid,
            StatusCode::BadSessionClosed,
            StatusCode::BadSessionNotActivated,
        ];
        if expelled.iter().any(|it| is(status, *it)) {
            self.expelled = true;
            return;
        }
        // A session that has given all away has none, until it has others.
        let bare = is(status, StatusCode::BadNoSubscription) && !self.passes_on();
        if bare && self.step == SubscriberStep::Running {
            for place in self.there() {
                if let Some(number) = self.number(place) {
                    let at = self.at(now.mono);
                    tracker.receipt.ended(number, status.bits(), at);
                }
                self.lose(place);
            }
            return;
        }
        let pause = PAUSE.saturating_mul(1 << self.supply.failures.min(DOUBLINGS));
        self.supply.failures += 1;
        self.supply.quiet_until = Some(now.mono + pause);
    }
}
