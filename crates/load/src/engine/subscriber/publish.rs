//! Publish requests that wait at the server, and what their answers bring (Part 4, 5.14.5).

use std::time::Duration;

use record::receipt::{EventKind, Gap, Head, Open, Told};
use wire::client::Connection;
use wire::template::walk::{Fields, Notification, Notifications, PublishResponse, RawNodeId};
use wire::time::{Instant, Now};
use wire::types::{StatusCode, SubscriptionAcknowledgement};

use super::{BACKLOG, Post, Subscriber, SubscriberStep, is};
use crate::engine::recorder::NotificationTracker;
use crate::work::events::Places;

/// How many Publish requests are to wait.
#[derive(Debug)]
pub(super) struct Supply {
    /// As typed.
    fixed: Option<usize>,
    /// To be kept waiting.
    wanted: usize,
    /// Of them, those that may be missing: where messages come fast, requests are sent in groups.
    spare: usize,
    /// The server takes no more than these.
    most: usize,
    /// On their way.
    waiting: usize,
    /// Answered, refused or given up.
    ended: u64,
    /// When the oldest of those on their way was sent, if none was before.
    alone: Option<Instant>,
    /// The shortest time from a request to its answer.
    round_trip: Option<Duration>,
    /// After a failure nothing is sent until then.
    quiet_until: Option<Instant>,
    /// Failures one after another.
    failures: u32,
}

/// Publish requests that one session keeps waiting at most, when it decides itself.
const MOST: usize = 1000;
/// As long as this a request, and with it an acknowledgement, may wait for others to go with.
const GATHER: Duration = Duration::from_millis(5);
/// After a failed Publish, and twice that after another one, and so on.
const PAUSE: Duration = Duration::from_millis(10);
/// The longest pause is 2^7 of the shortest.
const DOUBLINGS: u32 = 7;

impl Supply {
    pub(super) fn new(fixed: Option<u32>) -> Self {
        let fixed = fixed.map(|n| n as usize);
        Self {
            fixed,
            wanted: fixed.unwrap_or(0),
            spare: 0,
            most: MOST.max(fixed.unwrap_or(0)),
            waiting: 0,
            ended: 0,
            alone: None,
            round_trip: None,
            quiet_until: None,
            failures: 0,
        }
    }

    pub(super) fn waiting(&self) -> usize {
        self.waiting
    }

    /// How many have ended so far.
    pub(super) fn ended(&self) -> u64 {
        self.ended
    }

    /// One has ended.
    fn end(&mut self) {
        self.waiting = self.waiting.saturating_sub(1);
        self.ended += 1;
    }

    pub(super) fn quiet_until(&self) -> Option<Instant> {
        self.quiet_until
    }

    pub(super) fn round_trip(&mut self, took: Duration) {
        self.round_trip = Some(self.round_trip.map_or(took, |known| known.min(took)));
    }

    /// One for each subscription, as all may have news at once; those that are on their way while
    /// further news come, or wait for others to go with; and one to spare.
    fn foresee(&mut self, subscriptions: usize, publishings_per_s: f64) {
        if self.fixed.is_some() {
            return;
        }
        // As long as no answer came, nothing is known to be on its way.
        let round_trip = self.round_trip.unwrap_or_default().as_secs_f64();
        let travelling = (publishings_per_s * round_trip).ceil() as usize;
        self.spare = (publishings_per_s * GATHER.as_secs_f64()) as usize;
        let needed = subscriptions + 1 + travelling + self.spare;
        self.wanted = self.wanted.max(needed);
    }

    /// One is sent.
    fn send(&mut self, now: Instant) {
        if self.waiting == 0 {
            self.alone = Some(now);
        }
        self.waiting += 1;
    }

    /// Whether the message that has come was waiting for its request: before that none was at the server, and
    /// it was answered at once.
    fn was_awaited(&mut self, now: Instant) -> bool {
        let Some((sent, shortest)) = self.alone.take().zip(self.round_trip) else {
            return false;
        };
        now.since(sent) < shortest.saturating_mul(2)
    }

    /// Messages wait at the server for a request.
    fn starved(&mut self) {
        if self.fixed.is_none() {
            self.wanted = (self.wanted + self.wanted.div_ceil(2)).min(self.most);
        }
    }

    /// Over a new connection nothing waits yet.
    pub(super) fn again(&mut self) {
        self.waiting = 0;
        self.alone = None;
        self.failures = 0;
        self.quiet_until = None;
    }

    fn missing(&self) -> usize {
        self.wanted.min(self.most).saturating_sub(self.waiting)
    }

    /// Whether enough are missing to be sent.
    fn is_due(&self) -> bool {
        self.missing() > self.spare.min(self.wanted.min(self.most) / 2)
    }
}

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

    /// Publish requests that it keeps waiting.
    pub fn publish_requests(&self) -> usize {
        self.supply.wanted.min(self.supply.most)
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
            Err(error) => return self.publish_refused(super::set_up::wrong(error), now, tracker),
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

/// Everything in a message: tells what is missing before it, and whether it says that the
/// subscription has ended.
pub(super) fn hear(
    mut open: Open<'_>,
    notifications: Notifications<'_>,
    places: Places,
) -> (Option<Gap>, Option<StatusCode>) {
    let mut ended = None;
    // What cannot be read ends the message; the connection has vouched for its length.
    for notification in notifications.map_while(Result::ok) {
        match notification {
            Notification::DataChange(items) => {
                // What cannot be read ends the message, as below.
                let _ = items.each(|it| {
                    open.value(it.client_handle, it.status, it.source, it.server, it.count);
                });
            }
            Notification::StatusChange { status, .. } => ended = Some(status),
            Notification::Events(events) => {
                for event in events.map_while(Result::ok) {
                    open.event(event.client_handle, told(event.fields, places));
                }
            }
            Notification::Other { .. } => {}
        }
    }
    (open.end(), ended)
}

/// What accounting needs of an event.
fn told<'a>(fields: Fields<'a>, places: Places) -> Told<'a> {
    let mut told = Told::default();
    for (at, field) in fields.enumerate() {
        if at == places.id {
            told.id = field.as_octets();
        } else if at == places.kind {
            told.kind = match field.as_node_id() {
                Some(RawNodeId::Numeric { namespace, id }) => Some(EventKind { namespace, id }),
                _ => None,
            };
        } else if at == places.time {
            told.time = field.as_time().unwrap_or(0);
        } else if at == places.received {
            told.received = field.as_time().unwrap_or(0);
        }
    }
    told
}
