//! Subscriptions first, then items: what each takes is a result of its own.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use plan::unit::duration::nanos;
use record::notification_ledger::{SetUpStep, SubscriptionTerms};
use wire::channel::SendError;
use wire::service::Response;
use wire::template::walk::{self, CreatedItem};
use wire::time::Instant;
use wire::types::{CreateSubscriptionResponse, StatusCode};

use super::answer::{decode, millis, wrong};
use super::assignment::Assignment;
use super::notes::Notes;
use super::outgoing::Outgoing;
use super::pending::{ItemsAsked, PendingRequest};
use super::reception::Reception;
use super::shape::Shape;
use super::subscriptions::Subscriptions;
use crate::work::events;

/// Requests that create something and wait for their answers, in each session.
const CREATING: usize = 16;

/// What is still to be created, and what became of it.
#[derive(Debug)]
pub(super) struct SetUp {
    /// When the first subscription could be created.
    began: Option<Instant>,
    /// Subscriptions to be created.
    to_create: VecDeque<u32>,
    /// Subscriptions whose items are to be created, from which on.
    to_fill: VecDeque<(u32, usize)>,
    /// The server's numbers of items are needed.
    keeps_ids: bool,
    /// Subscriptions that were not created, by status.
    refused: BTreeMap<u32, u64>,
    shape: Shape,
}

impl SetUp {
    /// So many subscriptions are to be created. `keeps_ids`: the server's numbers of their items are needed.
    pub fn new(subscriptions: u32, keeps_ids: bool) -> Self {
        Self {
            began: None,
            to_create: (0..subscriptions).collect(),
            to_fill: VecDeque::new(),
            keeps_ids,
            refused: BTreeMap::new(),
            shape: Shape::default(),
        }
    }

    /// Begins with the subscriptions.
    pub fn begin(&mut self, now: Instant) {
        self.began.get_or_insert(now);
    }

    /// Subscriptions that were not created, by status.
    pub fn refused(&self) -> &BTreeMap<u32, u64> {
        &self.refused
    }

    /// What became of the shape that was asked for, as far as answers to these requests say.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    pub fn refuse(&mut self, status: StatusCode) {
        *self.refused.entry(status.bits()).or_default() += 1;
    }

    /// One that was lost is to be created again.
    pub fn create_again(&mut self, place: u32) {
        if !self.to_create.contains(&place) {
            self.to_create.push_back(place);
        }
    }

    /// When the next subscription is to be created. `creating`: requests on their way that are no Publish; `again`: it
    /// was lost.
    pub fn next_creation(
        &self,
        assignment: &Assignment,
        creating: usize,
        again: bool,
    ) -> Option<Instant> {
        let next = *self.to_create.front()?;
        if creating >= CREATING {
            return None;
        }
        let began = self.began?;
        Some(match again {
            // At once.
            true => began,
            false => began + assignment.offset(next),
        })
    }

    /// Whether all subscriptions were asked for and answered.
    pub fn has_created(&self, creating: usize) -> bool {
        self.to_create.is_empty() && creating == 0
    }

    /// Whether all items were asked for and answered.
    pub fn has_filled(&self, creating: usize) -> bool {
        self.to_fill.is_empty() && creating == 0
    }

    /// Asks for subscriptions that are due. `publish`: requests on their way that are Publish.
    pub fn create_subscriptions(&mut self, out: &mut Outgoing<'_>, publish: usize, again: bool) {
        // Random offsets do not rise: whoever is next is waited for.
        while self
            .next_creation(out.assignment, out.pending().beside(publish), again)
            .is_some_and(|at| at <= out.now.mono)
            && out.has_room()
            && let Some(&next) = self.to_create.front()
        {
            let about = PendingRequest::Subscription {
                subscription: next,
                sent: out.now.mono,
            };
            let request = out.assignment.requests.subscription(out.now.utc);
            if !out.send(request, about) {
                return;
            }
            self.to_create.pop_front();
        }
    }

    /// A subscription was created, or not. Tells whether it was.
    pub fn created(
        &mut self,
        (place, sent): (u32, Instant),
        body: &[u8],
        assignment: &Assignment,
        reception: &mut Reception,
        notes: &mut Notes<'_>,
    ) -> bool {
        let response = match decode(body) {
            Ok(Response::CreateSubscription(response)) => Ok(response),
            Ok(_) => Err(StatusCode::BadUnknownResponse),
            Err(status) => Err(status),
        };
        match response {
            Ok(response) => {
                notes.step(SetUpStep::CreateSubscription, sent, 1);
                reception.supply.round_trip(notes.now.mono.since(sent));
                self.note_subscription(place, &response, assignment, reception, notes);
                true
            }
            Err(status) => {
                self.refuse(status);
                false
            }
        }
    }

    fn note_subscription(
        &mut self,
        place: u32,
        response: &CreateSubscriptionResponse,
        assignment: &Assignment,
        reception: &mut Reception,
        notes: &mut Notes<'_>,
    ) {
        let publishing = millis(response.revised_publishing_interval);
        let terms = SubscriptionTerms {
            publishing_ns: nanos(publishing),
            keep_alive: response.revised_max_keep_alive_count,
            lifetime: response.revised_lifetime_count,
        };
        if differs(assignment.plan().publishing, publishing) {
            self.shape.publishing = Some(publishing);
        }
        let id = response.subscription_id;
        let Some(subscription) = reception.subscriptions.get_mut(place) else {
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
            Some(number) => notes
                .notification_ledger
                .recreated(number, terms, notes.at()),
            None => {
                let number = notes
                    .notification_ledger
                    .subscription(assignment.seat(place), terms);
                let items = assignment.requests.items() as u32;
                subscription.number = Some(number);
                subscription.first_handle = notes.notification_ledger.reserve(number, items).start;
            }
        }
        reception.know(id, place);
    }

    /// Items of this subscription are to be created.
    pub fn fill(&mut self, place: u32) {
        self.to_fill.push_back((place, 0));
    }

    /// Items of all subscriptions are to be created, in the order of their places.
    pub fn fill_all(&mut self, subscriptions: &Subscriptions) {
        let mut there = subscriptions.there();
        there.sort_unstable();
        self.to_fill = there.into_iter().map(|place| (place, 0)).collect();
    }

    /// Asks for items. `publish`: requests on their way that are Publish.
    pub fn create_items(
        &mut self,
        out: &mut Outgoing<'_>,
        publish: usize,
        subscriptions: &Subscriptions,
    ) {
        let assignment = out.assignment;
        let (requests, utc) = (&assignment.requests, out.now.utc);
        let each = requests.items();
        while out.pending().beside(publish) < CREATING
            && out.has_room()
            && let Some((place, first)) = self.to_fill.front().copied()
        {
            let subscription = subscriptions.get(place);
            let there = subscription.and_then(|it| Some((it.id?, it.first_handle)));
            let Some((id, handle)) = there.filter(|_| first < each) else {
                self.to_fill.pop_front();
                continue;
            };
            let count = requests.terms.per_call.min(each - first);
            let asked = ItemsAsked {
                subscription: place,
                first: first as u32,
                count: count as u32,
                sent: out.now.mono,
            };
            let about = PendingRequest::Items(asked);
            let sent = out.write(out.deadline(), about, |out, request| {
                let which = first..first + count;
                requests.create_items(out, (request, utc), place, id, handle, which);
            });
            match sent {
                Ok(()) => {}
                // Larger than the server takes (Part 6, 7.1.2.4).
                Err(SendError::TooLarge { .. }) => self.refuse(StatusCode::BadRequestTooLarge),
                Err(_) => return,
            }
            if let Some(front) = self.to_fill.front_mut() {
                front.1 = first + count;
            }
        }
    }

    /// Items were created, or not. Tells whether they are the last ones of their subscription.
    pub fn created_items(
        &mut self,
        asked: ItemsAsked,
        body: &[u8],
        assignment: &Assignment,
        subscriptions: &mut Subscriptions,
        notes: &mut Notes<'_>,
    ) -> bool {
        match self.note_items(asked, body, assignment, subscriptions, notes) {
            Ok(created) => {
                notes.step(SetUpStep::CreateItems, asked.sent, created);
                (asked.first + asked.count) as usize >= assignment.requests.items()
            }
            Err(status) => {
                items_refused(asked, status, notes);
                false
            }
        }
    }

    fn note_items(
        &mut self,
        asked: ItemsAsked,
        body: &[u8],
        assignment: &Assignment,
        subscriptions: &mut Subscriptions,
        notes: &mut Notes<'_>,
    ) -> Result<u32, StatusCode> {
        let (place, count) = (asked.subscription, asked.count);
        let results = walk::created_items(body).map_err(wrong)?;
        if results.items() != count as usize {
            // More or fewer results than items break a rule of every service (Part 4, 7.1).
            return Err(StatusCode::BadUnexpectedError);
        }
        let plan = assignment.plan();
        // What waits for events does not sample.
        let wanted = match plan.events {
            Some(_) => None,
            None => plan.sampling.interval(plan.publishing),
        };
        let mut created = 0;
        for (n, result) in (asked.first..).zip(results) {
            let item = result.map_err(wrong)?;
            self.note_filter(&item, assignment);
            if item.status.is_bad() {
                notes.notification_ledger.item_refused(item.status.bits());
                continue;
            }
            created += 1;
            if let Some(wanted) = wanted
                && differs(wanted, millis(item.sampling))
            {
                self.shape.revised_sampling += 1;
                self.shape.sampling = Some((wanted, millis(item.sampling)));
            }
            let terms = assignment.item_terms(place, n, item.sampling, item.queue);
            let Some(subscription) = subscriptions.get_mut(place) else {
                continue;
            };
            notes
                .notification_ledger
                .item(subscription.first_handle + n, terms);
            if self.keeps_ids {
                let len = subscription.items.len().max(n as usize + 1);
                subscription.items.resize(len, 0);
                if let Some(place) = subscription.items.get_mut(n as usize) {
                    *place = item.id;
                }
            }
        }
        Ok(created)
    }

    /// What the server says of the filter of an item; what was said of one before counts for all.
    fn note_filter(&mut self, item: &CreatedItem<'_>, assignment: &Assignment) {
        let Some(events) = assignment.requests.terms.events() else {
            return;
        };
        let shape = &mut self.shape;
        if shape.unknown_fields.is_empty() && shape.bad_filter.is_empty() {
            let (fields, wrong) = events::told(item.filter_result, &events.names);
            shape.unknown_fields = fields;
            shape.bad_filter = wrong;
        }
    }
}

/// None of these items was created.
pub(super) fn items_refused(asked: ItemsAsked, status: StatusCode, notes: &mut Notes<'_>) {
    for _ in 0..asked.count {
        notes.notification_ledger.item_refused(status.bits());
    }
}

/// Whether a server has granted something else: more than rounding explains.
fn differs(asked: Duration, granted: Duration) -> bool {
    asked.abs_diff(granted) > asked / 100
}
