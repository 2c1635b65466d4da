//! Subscriptions first, then items: what each takes is a result of its own.

use std::time::Duration;

use plan::unit::duration::nanos;
use record::receipt::{self, ItemTerms, SubscriptionTerms};
use wire::client::Connection;
use wire::service::Response;
use wire::template::walk::{self, CreatedItem};
use wire::time::{Instant, Now};
use wire::types::{CreateSubscriptionResponse, StatusCode};

use super::answer::{millis, wrong};
use super::churn::Turning;
use super::{BACKLOG, CREATING, PendingRequest, Subscriber, SubscriberStep};
use crate::engine::recorder::NotificationTracker;
use crate::work::events;

impl Subscriber {
    /// Begins with the subscriptions.
    pub fn begin(&mut self, now: Now) {
        self.began.get_or_insert(now.mono);
    }

    /// When the next subscription is to be created.
    pub(super) fn next_creation(&self) -> Option<Instant> {
        let next = *self.to_create.front()?;
        if self.creating() >= CREATING {
            return None;
        }
        let began = self.began?;
        if self.step > SubscriberStep::Subscriptions {
            // One that was lost: at once.
            return Some(began);
        }
        let (place, all) = self.orders.place;
        let plan = &self.requests.terms.plan;
        Some(began + plan.offset(self.orders.seed, self.orders.seat, place, all, next))
    }

    /// Requests on their way that are no Publish.
    fn creating(&self) -> usize {
        self.asked.len().saturating_sub(self.supply.waiting())
    }

    pub(super) fn all_created(&self) -> bool {
        self.to_create.is_empty() && self.creating() == 0
    }

    pub(super) fn create_subscriptions(&mut self, connection: &mut Connection, now: Now) {
        // Random offsets do not rise: whoever is next is waited for.
        while self.next_creation().is_some_and(|at| at <= now.mono)
            && connection.pending().len() < BACKLOG
            && let Some(&next) = self.to_create.front()
        {
            let asked = PendingRequest::Subscription {
                subscription: next,
                sent: now.mono,
            };
            let request = self.requests.subscription(now.utc);
            if !self.send(connection, request, asked, now) {
                return;
            }
            self.to_create.pop_front();
        }
    }

    pub(super) fn created(
        &mut self,
        place: u32,
        sent: Instant,
        body: &[u8],
        now: Now,
        tracker: &mut NotificationTracker<'_>,
    ) {
        let response = match super::answer::decode(body) {
            Ok(Response::CreateSubscription(response)) => response,
            Ok(_) => return self.refuse(StatusCode::BadUnknownResponse),
            Err(status) => return self.refuse(status),
        };
        let step = receipt::SetUpStep::CreateSubscription;
        tracker
            .receipt
            .step(step, self.at(sent), self.at(now.mono), 1);
        self.supply.round_trip(now.mono.since(sent));
        self.note_subscription(place, &response, now, tracker);
        if self.step == SubscriberStep::Running {
            self.to_fill.push_back((place, 0));
        }
    }

    fn note_subscription(
        &mut self,
        place: u32,
        response: &CreateSubscriptionResponse,
        now: Now,
        tracker: &mut NotificationTracker<'_>,
    ) {
        let publishing = millis(response.revised_publishing_interval);
        let terms = SubscriptionTerms {
            publishing_ns: nanos(publishing),
            keep_alive: response.revised_max_keep_alive_count,
            lifetime: response.revised_lifetime_count,
        };
        let (seat, at) = (self.seat(place), self.at(now.mono));
        let asked = self.requests.terms.plan.publishing;
        if differs(asked, publishing) {
            self.shape.publishing = Some(publishing);
        }
        let items = self.requests.items() as u32;
        let id = response.subscription_id;
        let Some(subscription) = self.subscription(place) else {
            return;
        };
        subscription.id = Some(id);
        subscription.publishing = publishing;
        subscription.keep_alive = response.revised_max_keep_alive_count;
        subscription.expected = 1;
        subscription.catching_up = false;
        subscription.doubtful = false;
        subscription.items.clear();
        match subscription.number {
            Some(number) => tracker.receipt.recreated(number, terms, at),
            None => {
                let number = tracker.receipt.subscription(seat, terms);
                subscription.number = Some(number);
                subscription.first_handle = tracker.receipt.reserve(number, items).start;
            }
        }
        self.know(id, place);
    }

    pub(super) fn create_items(&mut self, connection: &mut Connection, now: Now) {
        let each = self.requests.items();
        while self.creating() < CREATING
            && connection.pending().len() < BACKLOG
            && let Some((place, first)) = self.to_fill.front().copied()
        {
            let subscription = self.subscriptions.get(place as usize);
            let there = subscription.and_then(|it| Some((it.id?, it.first_handle)));
            let Some((id, handle)) = there.filter(|_| first < each) else {
                self.to_fill.pop_front();
                continue;
            };
            let count = self.requests.terms.per_call.min(each - first);
            let requests = &self.requests;
            let deadline = now.mono + self.orders.timeout;
            let sent = connection.send(deadline, |out, request| {
                let which = first..first + count;
                requests.create_items(out, (request, now.utc), place, id, handle, which);
            });
            match sent {
                Ok(id) => {
                    let asked = PendingRequest::Items {
                        subscription: place,
                        first: first as u32,
                        count: count as u32,
                        sent: now.mono,
                    };
                    self.asked.keep(id, asked);
                }
                // Larger than the server takes (Part 6, 7.1.2.4).
                Err(wire::channel::SendError::TooLarge { .. }) => {
                    self.refuse(StatusCode::BadRequestTooLarge);
                }
                Err(_) => return,
            }
            if let Some(front) = self.to_fill.front_mut() {
                front.1 = first + count;
            }
        }
        self.done_with_items();
    }

    /// Once all items are asked for and answered.
    pub(super) fn done_with_items(&mut self) {
        if self.step == SubscriberStep::Items && self.to_fill.is_empty() && self.creating() == 0 {
            self.step = SubscriberStep::Running;
        }
    }

    pub(super) fn created_items(
        &mut self,
        place: u32,
        which: (u32, u32),
        sent: Instant,
        body: &[u8],
        now: Now,
        tracker: &mut NotificationTracker<'_>,
    ) {
        match self.note_items(place, which, body, tracker) {
            Ok(created) => {
                let (sent, now) = (self.at(sent), self.at(now.mono));
                tracker
                    .receipt
                    .step(receipt::SetUpStep::CreateItems, sent, now, created);
            }
            Err(status) => {
                for _ in 0..which.1 {
                    tracker.receipt.item_refused(status.bits());
                }
            }
        }
        self.done_with_items();
    }

    fn note_items(
        &mut self,
        place: u32,
        (first, count): (u32, u32),
        body: &[u8],
        tracker: &mut NotificationTracker<'_>,
    ) -> Result<u32, StatusCode> {
        let results = walk::created_items(body).map_err(wrong)?;
        if results.items() != count as usize {
            // More or fewer results than items break a rule of every service (Part 4, 7.1).
            return Err(StatusCode::BadUnexpectedError);
        }
        let plan = &self.requests.terms.plan;
        // What waits for events does not sample.
        let wanted = match plan.events {
            Some(_) => None,
            None => plan.sampling.interval(plan.publishing),
        };
        let keeps_ids = self.turning.iter().any(Turning::names_items);
        let mut created = 0;
        for (n, result) in (first..).zip(results) {
            let item = result.map_err(wrong)?;
            self.note_filter(&item);
            if item.status.is_bad() {
                tracker.receipt.item_refused(item.status.bits());
                continue;
            }
            created += 1;
            if let Some(wanted) = wanted
                && differs(wanted, millis(item.sampling))
            {
                self.shape.revised_sampling += 1;
                self.shape.sampling = Some((wanted, millis(item.sampling)));
            }
            let terms = self.item_terms(place, n, item.sampling, item.queue);
            let Some(subscription) = self.subscriptions.get_mut(place as usize) else {
                continue;
            };
            tracker.receipt.item(subscription.first_handle + n, terms);
            if keeps_ids {
                let len = subscription.items.len().max(n as usize + 1);
                subscription.items.resize(len, 0);
                if let Some(place) = subscription.items.get_mut(n as usize) {
                    *place = item.id;
                }
            }
        }
        if first as usize + count as usize >= self.requests.items() {
            self.wants_refresh(place);
        }
        Ok(created)
    }

    /// What the server says of the filter of an item; what was said of one before counts for all.
    fn note_filter(&mut self, item: &CreatedItem<'_>) {
        let Some(events) = self.requests.terms.events() else {
            return;
        };
        let shape = &mut self.shape;
        if shape.unknown_fields.is_empty() && shape.bad_filter.is_empty() {
            let (fields, wrong) = events::told(item.filter_result, &events.names);
            shape.unknown_fields = fields;
            shape.bad_filter = wrong;
        }
    }

    /// What the receipt has to know of an item.
    pub(super) fn item_terms(&self, place: u32, item: u32, sampling: f64, queue: u32) -> ItemTerms {
        let terms = &self.requests.terms;
        ItemTerms {
            sampling_ns: nanos(millis(sampling)),
            queue_size: queue,
            discard_oldest: !terms.plan.discard_newest,
            held_back: terms.held_back(),
            watch: self.requests.watch(place, item as usize),
        }
    }
}

/// Whether a server has granted something else: more than rounding explains.
fn differs(asked: Duration, granted: Duration) -> bool {
    asked.abs_diff(granted) > asked / 100
}
