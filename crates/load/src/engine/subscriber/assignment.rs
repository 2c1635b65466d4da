//! What a session has to do. Its parts look at it; none of them changes it.

use std::time::Duration;

use plan::Subscribe;
use plan::unit::duration::nanos;
use record::notification_ledger::{self, ItemTerms};

use super::Orders;
use super::answer::millis;
use crate::work::Requests;
use crate::work::events::Places;

/// Its orders, and requests that have its token.
#[derive(Debug)]
pub(super) struct Assignment {
    pub requests: Requests,
    pub orders: Orders,
}

impl Assignment {
    pub fn plan(&self) -> &Subscribe {
        &self.requests.terms.plan
    }

    /// When a subscription is to be created, since the first one could be.
    pub fn offset(&self, place: u32) -> Duration {
        let (session, sessions) = self.orders.place;
        let plan = self.plan();
        plan.offset(self.orders.seed, self.orders.seat, session, sessions, place)
    }

    /// A subscription's place in the plan, as the notification ledger knows it.
    pub fn seat(&self, place: u32) -> notification_ledger::Seat {
        notification_ledger::Seat {
            target: self.orders.seat.target,
            session: self.orders.seat.index,
            subscription: place,
        }
    }

    /// What the notification ledger has to know of an item.
    pub fn item_terms(&self, place: u32, item: u32, sampling: f64, queue: u32) -> ItemTerms {
        let terms = &self.requests.terms;
        ItemTerms {
            sampling_ns: nanos(millis(sampling)),
            queue_size: queue,
            discard_oldest: !terms.plan.discard_newest,
            held_back: terms.held_back(),
            watch: self.requests.watch(place, item as usize),
        }
    }

    /// Where in events the fields are that accounting needs.
    pub fn event_places(&self) -> Places {
        let events = self.requests.terms.events();
        events.map_or_else(Places::default, |events| events.places)
    }
}
