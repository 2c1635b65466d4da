//! The end: subscriptions are deleted, with their items (Part 4, 5.14.8).

use record::receipt;
use wire::client::Connection;
use wire::service::Response;
use wire::time::{Instant, Now};
use wire::types::DeleteSubscriptionsRequest;

use super::{PendingRequest, Subscriber, SubscriberStep, Witness};
use crate::engine::recorder::NotificationTracker;

impl Subscriber {
    /// No more figures are wanted: what was created is to be deleted, once the server was asked what it counted
    /// of it.
    pub fn end(&mut self) {
        if self.step < SubscriberStep::Quiet {
            let witnesses =
                self.orders.witness != Witness::None && self.step == SubscriberStep::Running;
            self.step = match witnesses {
                true => SubscriberStep::Quiet,
                false => SubscriberStep::Leaving,
            };
        }
    }

    pub(super) fn leave(&mut self, connection: &mut Connection, now: Now) {
        // What is missing goes with the subscriptions.
        let asked = |asked: &PendingRequest| {
            matches!(
                asked,
                PendingRequest::Delete { .. } | PendingRequest::Republish { .. }
            )
        };
        if self.asked.any(asked) {
            return;
        }
        let ids: Vec<u32> = self.by_id.iter().map(|(id, _)| *id).collect();
        if ids.is_empty() {
            self.step = SubscriberStep::Gone;
            return;
        }
        let request = DeleteSubscriptionsRequest {
            request_header: self.requests.header(now.utc),
            subscription_ids: Some(ids),
        };
        self.send(
            connection,
            request,
            PendingRequest::Delete { sent: now.mono },
            now,
        );
    }

    pub(super) fn deleted(
        &mut self,
        sent: Instant,
        body: &[u8],
        now: Now,
        tracker: &mut NotificationTracker<'_>,
    ) {
        if let Ok(Response::DeleteSubscriptions(response)) = super::answer::decode(body) {
            let results = response.results.unwrap_or_default();
            let good = results.iter().filter(|status| !status.is_bad()).count();
            let step = receipt::SetUpStep::DeleteSubscriptions;
            tracker
                .receipt
                .step(step, self.at(sent), self.at(now.mono), good as u32);
        }
        self.step = SubscriberStep::Gone;
    }
}
