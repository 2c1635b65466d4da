//! What its lane, its loop and other sessions ask of a session.

use std::collections::BTreeMap;

use wire::client::RequestId;
use wire::time::Instant;
use wire::types::SubscriptionAcknowledgement;

use super::handover::InTransfer;
use super::{Post, ServerCounts, Shape, Subscriber, SubscriberStep};

impl Subscriber {
    /// How far it is.
    pub fn step(&self) -> SubscriberStep {
        self.step
    }

    /// Whether all its subscriptions were asked for and answered.
    pub fn has_subscriptions(&self) -> bool {
        self.step > SubscriberStep::Subscriptions || self.set_up.has_created(self.creating())
    }

    /// Whether it can take subscriptions over.
    pub fn is_running(&self) -> bool {
        self.step == SubscriberStep::Running
    }

    /// Whether nothing is to be expected any more of its subscriptions, unless it says so itself.
    pub fn is_quiet(&self) -> bool {
        self.step > SubscriberStep::Quiet
            || self.step == SubscriberStep::Quiet && self.reading_diagnostics.is_quiet()
    }

    /// Whether the server has told what it was asked, as far as it did.
    pub fn is_told(&self) -> bool {
        self.step > SubscriberStep::ReadingDiagnostics
            || self.step == SubscriberStep::ReadingDiagnostics && self.reading_diagnostics.is_told()
    }

    /// What the server said, if this session asked it.
    pub fn heard(&mut self) -> Option<ServerCounts> {
        self.reading_diagnostics.take()
    }

    /// Subscriptions that were not created, by status.
    pub fn refused(&self) -> &BTreeMap<u32, u64> {
        self.set_up.refused()
    }

    /// Changes that the server refused, by what they were and its status.
    pub fn failures(&self) -> &BTreeMap<(&'static str, u32), u64> {
        self.changes.failures()
    }

    /// What became of the shape that was asked for.
    pub fn shape(&self) -> Shape {
        Shape {
            waited: self.reception.supply.waited(),
            ..self.set_up.shape().clone()
        }
    }

    /// Publish requests that it keeps waiting.
    pub fn publish_requests(&self) -> usize {
        self.reception.supply.wanted()
    }

    /// Requests of its own on their way.
    pub fn in_flight(&self) -> usize {
        self.pending.len()
    }

    /// Whether a request is one of its own.
    #[inline]
    pub fn owns(&self, id: RequestId) -> bool {
        self.pending.has(id)
    }

    /// Whether the server has said that it does not know the session any more; once.
    pub fn is_expelled(&mut self) -> bool {
        self.reception.supply.is_expelled()
    }

    /// What it has for another session.
    pub fn post(&mut self) -> Option<Post> {
        self.handover.next_post()
    }

    /// Whether it has this subscription, by the server's number.
    pub fn has(&self, id: u32) -> bool {
        self.reception.subscriptions.place(id).is_some()
    }

    /// Gives a subscription away; `from`: its own seat.
    pub fn give(&mut self, place: u32, initial: bool, from: usize) -> Option<InTransfer> {
        self.handover
            .give(place, initial, from, &mut self.reception)
    }

    /// Has a subscription of another session taken over.
    pub fn take_over(&mut self, moved: InTransfer) {
        self.handover.take_over(moved, &mut self.reception);
    }

    /// Has a subscription again that it wanted to give away.
    pub fn take_back(&mut self, moved: InTransfer) {
        self.handover.put(moved, &mut self.reception);
    }

    /// A message of one of its subscriptions came to a session that had it before.
    pub fn came_elsewhere(&mut self, acknowledgement: SubscriptionAcknowledgement) {
        self.reception.supply.acknowledge(acknowledgement);
    }

    /// A message of one of its subscriptions is missing, as a session saw that had it before.
    pub fn missed_elsewhere(&mut self, id: u32, sequence: u32, noticed: Instant) {
        if let Some(place) = self.reception.subscriptions.place(id) {
            self.reception.want(place, sequence, noticed);
        }
    }
}
