//! What its lane, its loop and other sessions ask of a session.

use std::collections::BTreeMap;

use wire::client::RequestId;
use wire::time::Instant;
use wire::types::SubscriptionAcknowledgement;

use super::{Post, ServerCounts, Shape, Subscriber, SubscriberStep, Witness};

impl Subscriber {
    /// How far it is.
    pub fn step(&self) -> SubscriberStep {
        self.step
    }

    /// Whether all its subscriptions were asked for and answered.
    pub fn has_subscriptions(&self) -> bool {
        self.step > SubscriberStep::Subscriptions || self.all_created()
    }

    /// Whether it can take subscriptions over.
    pub fn is_running(&self) -> bool {
        self.step == SubscriberStep::Running
    }

    /// Whether nothing is to be expected any more of its subscriptions, unless it says so itself.
    pub fn is_quiet(&self) -> bool {
        self.step > SubscriberStep::Quiet || self.step == SubscriberStep::Quiet && self.quiet
    }

    /// Whether the server has told what it was asked, as far as it did.
    pub fn is_told(&self) -> bool {
        self.step > SubscriberStep::Witnessing
            || self.step == SubscriberStep::Witnessing && self.next().is_none()
    }

    /// What the server said, if this session asked it.
    pub fn heard(&mut self) -> Option<ServerCounts> {
        let asks = matches!(self.orders.witness, Witness::Asks { .. });
        asks.then(|| std::mem::take(&mut self.heard))
    }

    /// Subscriptions that were not created, by status.
    pub fn refused(&self) -> &BTreeMap<u32, u64> {
        &self.refused
    }

    /// Changes that the server refused, by what they were and its status.
    pub fn failures(&self) -> &BTreeMap<(&'static str, u32), u64> {
        &self.failures
    }

    /// What became of the shape that was asked for.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Publish requests that it keeps waiting.
    pub fn publish_requests(&self) -> usize {
        self.supply.wanted.min(self.supply.most)
    }

    /// Requests of its own on their way.
    pub fn in_flight(&self) -> usize {
        self.asked.len()
    }

    /// Whether a request is one of its own.
    #[inline]
    pub fn owns(&self, id: RequestId) -> bool {
        self.asked.has(id)
    }

    /// Whether the server has said that it does not know the session any more; once.
    pub fn is_expelled(&mut self) -> bool {
        std::mem::take(&mut self.expelled)
    }

    /// What it has for another session.
    pub fn post(&mut self) -> Option<Post> {
        self.handover.post.pop_front()
    }

    /// Whether it has this subscription, by the server's number.
    pub fn has(&self, id: u32) -> bool {
        self.place(id).is_some()
    }

    /// A message of one of its subscriptions came to a session that had it before.
    pub fn came_elsewhere(&mut self, acknowledgement: SubscriptionAcknowledgement) {
        self.acknowledgements.push(acknowledgement);
    }

    /// A message of one of its subscriptions is missing, as a session saw that had it before.
    pub fn missed_elsewhere(&mut self, id: u32, sequence: u32, noticed: Instant) {
        if let Some(place) = self.place(id) {
            self.want(place, sequence, noticed);
        }
    }
}
