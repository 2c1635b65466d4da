//! CreateSubscription, ModifySubscription, SetPublishingMode and DeleteSubscriptions
//! (Part 4, 5.14). What needs a connection is with the loop.

use std::time::Duration;

use wire::types::{
    CreateSubscriptionRequest, CreateSubscriptionResponse, DeleteSubscriptionsRequest,
    DeleteSubscriptionsResponse, ModifySubscriptionRequest, ModifySubscriptionResponse,
    SetPublishingModeRequest, SetPublishingModeResponse, StatusCode,
};

use super::{ServiceContext, operations};
use crate::limits::Limits;
use crate::subscription::{Subscription, Terms};

/// The keep-alive count of a client that leaves it to the server.
const KEEP_ALIVE: u32 = 10;

/// Part 4, 5.14.2.2: what a client asks for, made into what it gets.
fn revise(
    limits: &Limits,
    interval: f64,
    lifetime: u32,
    keep_alive: u32,
    most: u32,
    priority: u8,
) -> Terms {
    let (least, longest) = (
        *limits.publishing_interval.start(),
        *limits.publishing_interval.end(),
    );
    let asked = Duration::try_from_secs_f64(interval / 1000.0);
    // What is not a time, 0 among it, asks for the fastest.
    let interval = asked.unwrap_or_default().clamp(least, longest);
    // So many publishings are no longer than a subscription may be left alone.
    let most_left = limits.subscription_lifetime.as_nanos() / interval.as_nanos().max(1);
    let most_left = u32::try_from(most_left).unwrap_or(u32::MAX).max(3);
    let keep_alive = match keep_alive {
        0 => KEEP_ALIVE,
        asked => asked,
    };
    let keep_alive = keep_alive.min(most_left / 3);
    Terms {
        interval,
        // At least three times the keep-alive count.
        lifetime: lifetime.clamp(keep_alive.saturating_mul(3), most_left),
        keep_alive,
        most,
        priority,
    }
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

impl ServiceContext<'_> {
    /// A subscription of this session.
    pub(super) fn subscription(&mut self, id: u32) -> Result<&mut Subscription, StatusCode> {
        let (session, found) = (self.id, self.subscriptions.get_mut(&id));
        found
            .filter(|subscription| subscription.session == Some(session))
            .ok_or(StatusCode::BadSubscriptionIdInvalid)
    }

    /// Sees to it that a subscription is looked at when it has to be.
    pub(super) fn schedule(&mut self, id: u32) {
        if let Some(subscription) = self.subscriptions.get_mut(&id) {
            self.timers.follow(subscription);
        }
    }

    pub(super) fn create_subscription(
        &mut self,
        request: &CreateSubscriptionRequest,
    ) -> Result<CreateSubscriptionResponse, StatusCode> {
        let limits = &self.shared.config.limits;
        if self.session.subscriptions.len() >= limits.subscriptions_per_session {
            return Err(StatusCode::BadTooManySubscriptions);
        }
        let terms = revise(
            limits,
            request.requested_publishing_interval,
            request.requested_lifetime_count,
            request.requested_max_keep_alive_count,
            request.max_notifications_per_publish,
            request.priority,
        );
        let id = self.shared.subscription_id();
        let enabled = request.publishing_enabled;
        let mut subscription = Subscription::new(id, self.id, terms, enabled, self.now);
        subscription.draw_on(&self.session.budget);
        subscription.enter(&self.shared.ledger);
        subscription.join(self.id, self.session.record.number, &self.session.owner);
        let register = &self.shared.register;
        register.add_subscription(&subscription.record, self.session.key.core);
        self.subscriptions.insert(id, subscription);
        self.session.subscriptions.push(id);
        self.shared.counters.subscriptions.add(1);
        self.shared.counters.cumulated_subscriptions.add(1);
        self.schedule(id);
        Ok(CreateSubscriptionResponse {
            subscription_id: id,
            revised_publishing_interval: milliseconds(terms.interval),
            revised_lifetime_count: terms.lifetime,
            revised_max_keep_alive_count: terms.keep_alive,
            ..Default::default()
        })
    }

    pub(super) fn modify_subscription(
        &mut self,
        request: &ModifySubscriptionRequest,
    ) -> Result<ModifySubscriptionResponse, StatusCode> {
        let terms = revise(
            &self.shared.config.limits,
            request.requested_publishing_interval,
            request.requested_lifetime_count,
            request.requested_max_keep_alive_count,
            request.max_notifications_per_publish,
            request.priority,
        );
        let now = self.now;
        let subscription = self.subscription(request.subscription_id)?;
        subscription.modify(terms, now);
        subscription.settle(now);
        self.schedule(request.subscription_id);
        Ok(ModifySubscriptionResponse {
            revised_publishing_interval: milliseconds(terms.interval),
            revised_lifetime_count: terms.lifetime,
            revised_max_keep_alive_count: terms.keep_alive,
            ..Default::default()
        })
    }

    pub(super) fn set_publishing_mode(
        &mut self,
        request: &mut SetPublishingModeRequest,
    ) -> Result<SetPublishingModeResponse, StatusCode> {
        let limit = self.shared.config.limits.subscriptions_per_session;
        let ids = operations(&mut request.subscription_ids, limit)?;
        let now = self.now;
        let results = ids.into_iter().map(|id| match self.subscription(id) {
            Ok(subscription) => {
                subscription.set_publishing(request.publishing_enabled, now);
                self.schedule(id);
                StatusCode::Good
            }
            Err(status) => status,
        });
        Ok(SetPublishingModeResponse {
            results: Some(results.collect()),
            ..Default::default()
        })
    }

    pub(super) fn delete_subscriptions(
        &mut self,
        request: &mut DeleteSubscriptionsRequest,
    ) -> Result<DeleteSubscriptionsResponse, StatusCode> {
        let limit = self.shared.config.limits.subscriptions_per_session;
        let ids = operations(&mut request.subscription_ids, limit)?;
        let results = ids.into_iter().map(|id| match self.subscription(id) {
            Ok(_) => {
                let items = self.subscriptions.end(id).unwrap_or(0) as u64;
                self.shared.register.drop_subscription(id);
                self.session.subscriptions.retain(|other| *other != id);
                self.shared.counters.subscriptions.sub(1);
                self.shared.counters.items.sub(items);
                StatusCode::Good
            }
            Err(status) => status,
        });
        Ok(DeleteSubscriptionsResponse {
            results: Some(results.collect()),
            ..Default::default()
        })
    }
}
