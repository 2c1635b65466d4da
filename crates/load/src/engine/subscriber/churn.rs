//! Items and subscriptions that are changed while they report: a load of its own.

use plan::unit::duration::nanos;
use plan::{Churn, Churned};
use record::receipt::{self, Monitoring, SubscriptionTerms};
use wire::client::Connection;
use wire::service::{Request, Response};
use wire::time::{Instant, Now};
use wire::types::{
    ModifyMonitoredItemsRequest, ModifySubscriptionRequest, MonitoredItemModifyRequest,
    MonitoringMode, SetMonitoringModeRequest,
};

use super::answer::millis;
use super::{PendingRequest, Subscriber};
use crate::engine::recorder::NotificationTracker;

/// One of the changes, again and again.
#[derive(Debug)]
pub(super) struct Turning {
    churn: Churn,
    /// When the next is due; none before the first.
    next: Option<Instant>,
    /// How many there were: each subscription in turn, there and back again.
    turns: u32,
}

/// How the first `count` items of a subscription were changed.
#[derive(Debug, Clone, Copy)]
pub(super) enum Changed {
    /// They have these terms, in milliseconds and values.
    Terms {
        count: u32,
        sampling: f64,
        queue: u32,
    },
    /// They have this mode.
    Mode {
        count: u32,
        mode: Monitoring,
        at: u64,
    },
}

/// Messages after a change that may bring values from before it, which are not held to it.
const FROM_BEFORE: u8 = 2;

impl Turning {
    /// Whether subscriptions go to other sessions.
    pub fn is_transfer(&self) -> bool {
        self.churn.what.is_transfer()
    }

    /// Whether it needs the server's numbers of items.
    pub fn names_items(&self) -> bool {
        matches!(self.churn.what, Churned::Modify | Churned::Mode)
    }

    pub fn new(churn: &Churn) -> Self {
        Self {
            churn: *churn,
            next: None,
            turns: 0,
        }
    }

    /// Nanoseconds between two.
    fn period(&self) -> u64 {
        self.churn.rate.per_ns() / self.churn.rate.count().max(1)
    }
}

impl Subscriber {
    /// When the next change is due.
    pub(super) fn next_turn(&self) -> Option<Instant> {
        let due = self.turning.iter().filter_map(|turning| turning.next);
        due.min()
    }

    /// Sends the changes that are due; those that fell due while nothing could be sent are left
    /// out.
    pub(super) fn turn(&mut self, connection: &mut Connection, now: Now) {
        let ids: Vec<u32> = match self.turning.is_empty() {
            true => return,
            false => self.there(),
        };
        for which in 0..self.turning.len() {
            let Some(turning) = self.turning.get_mut(which) else {
                continue;
            };
            let period = std::time::Duration::from_nanos(turning.period());
            let next = *turning.next.get_or_insert(now.mono + period);
            if next > now.mono {
                continue;
            }
            turning.next = Some((next + period).max(now.mono));
            // All may be with other sessions, or gone: it has its turn when it comes round again.
            if ids.is_empty() {
                continue;
            }
            let (turn, round) = (
                turning.turns as usize % ids.len(),
                turning.turns as usize / ids.len(),
            );
            turning.turns += 1;
            let what = turning.churn.what;
            let Some(place) = ids.get(turn).copied() else {
                continue;
            };
            if what.is_transfer() {
                self.offer(place, what == Churned::TransferInitial);
                continue;
            }
            // Changed in one round, changed back in the next.
            let Some((request, count)) = self.change(what, place, round % 2 == 0, now) else {
                continue;
            };
            let asked = match what {
                Churned::Refresh => PendingRequest::Refresh { sent: now.mono },
                _ => PendingRequest::Churn {
                    subscription: place,
                    there: round % 2 == 0,
                    count,
                    sent: now.mono,
                },
            };
            self.send(connection, request, asked, now);
        }
    }

    fn change(&self, what: Churned, place: u32, there: bool, now: Now) -> Option<(Request, u32)> {
        let subscription = self.subscriptions.get(place as usize)?;
        let id = subscription.id?;
        let plan = &self.requests.terms.plan;
        let request_header = self.requests.header(now.utc);
        let factor = if there { 2 } else { 1 };
        let count = subscription.items.len().min(self.requests.terms.per_call);
        let items = subscription.items.get(..count).unwrap_or_default();
        Some(match what {
            Churned::Modify => {
                let sampling = plan.sampling.interval(plan.publishing).unwrap_or_default();
                let items = (subscription.first_handle..)
                    .zip(items)
                    .map(|(handle, id)| {
                        let mut parameters = self.requests.terms.parameters();
                        parameters.client_handle = handle;
                        if plan.events.is_none() {
                            let sampling = sampling * factor;
                            parameters.sampling_interval = sampling.as_secs_f64() * 1e3;
                        }
                        MonitoredItemModifyRequest {
                            monitored_item_id: *id,
                            requested_parameters: parameters,
                        }
                    });
                let request = ModifyMonitoredItemsRequest {
                    request_header,
                    subscription_id: id,
                    timestamps_to_return: plan.timestamps.into(),
                    items_to_modify: Some(items.collect()),
                };
                (request.into(), count as u32)
            }
            Churned::Mode => {
                let request = SetMonitoringModeRequest {
                    request_header,
                    subscription_id: id,
                    monitoring_mode: match there {
                        true => MonitoringMode::Sampling,
                        false => MonitoringMode::Reporting,
                    },
                    monitored_item_ids: Some(items.to_vec()),
                };
                (request.into(), count as u32)
            }
            Churned::Publishing => {
                let request = ModifySubscriptionRequest {
                    request_header,
                    subscription_id: id,
                    requested_publishing_interval: (plan.publishing * factor).as_secs_f64() * 1e3,
                    requested_lifetime_count: plan.lifetime_count(),
                    requested_max_keep_alive_count: plan.keep_alive,
                    max_notifications_per_publish: plan.max_notifications,
                    priority: plan.priority,
                };
                (request.into(), 1)
            }
            Churned::Refresh => (self.refresh_request(id, now).into(), 1),
            Churned::Transfer | Churned::TransferInitial => return None,
        })
    }

    #[allow(clippy::too_many_arguments, reason = "what was asked, and what came")]
    pub(super) fn turned(
        &mut self,
        place: u32,
        there: bool,
        count: u32,
        sent: Instant,
        body: &[u8],
        now: Now,
        tracker: &mut NotificationTracker<'_>,
    ) {
        let response = match super::answer::decode(body) {
            Ok(response) => response,
            Err(status) => return self.fail("change", status),
        };
        let (sent, at) = (self.at(sent), self.at(now.mono));
        let Some(subscription) = self.subscriptions.get(place as usize) else {
            return;
        };
        let number = subscription.number;
        match response {
            Response::ModifyMonitoredItems(response) => {
                tracker
                    .receipt
                    .step(receipt::SetUpStep::Modify, sent, at, count);
                let results = response.results.unwrap_or_default();
                let good = results.iter().find(|it| !it.status_code.is_bad());
                if let Some(good) = good {
                    let changed = Changed::Terms {
                        count,
                        sampling: good.revised_sampling_interval,
                        queue: good.revised_queue_size,
                    };
                    self.note_change(place, changed, FROM_BEFORE, tracker);
                }
            }
            Response::SetMonitoringMode(response) => {
                tracker
                    .receipt
                    .step(receipt::SetUpStep::SetMode, sent, at, count);
                let results = response.results.unwrap_or_default();
                if results.iter().any(|status| !status.is_bad()) {
                    let mode = match there {
                        true => Monitoring::Sampling,
                        false => Monitoring::Reporting,
                    };
                    self.note_change(
                        place,
                        Changed::Mode { count, mode, at },
                        FROM_BEFORE,
                        tracker,
                    );
                }
            }
            Response::ModifySubscription(response) => {
                tracker
                    .receipt
                    .step(receipt::SetUpStep::Modify, sent, at, 1);
                let publishing = millis(response.revised_publishing_interval);
                let terms = SubscriptionTerms {
                    publishing_ns: nanos(publishing),
                    keep_alive: response.revised_max_keep_alive_count,
                    lifetime: response.revised_lifetime_count,
                };
                if let Some(number) = number {
                    tracker.receipt.revised(number, terms);
                }
                if let Some(subscription) = self.subscription(place) {
                    subscription.publishing = publishing;
                    subscription.keep_alive = terms.keep_alive;
                }
            }
            _ => {}
        }
    }

    /// Between values from before a change and those after it nothing is promised; and values from
    /// before may come in messages after it.
    fn note_change(
        &mut self,
        place: u32,
        changed: Changed,
        left: u8,
        tracker: &mut NotificationTracker<'_>,
    ) {
        let Some(first) = self.subscription(place).map(|it| {
            it.changed = (left > 0).then_some((changed, left));
            it.first_handle
        }) else {
            return;
        };
        match changed {
            Changed::Terms {
                count,
                sampling,
                queue,
            } => {
                // Until then nobody is held to more than the longer of both intervals.
                let plan = &self.requests.terms.plan;
                let longer = plan.sampling.interval(plan.publishing).unwrap_or_default() * 2;
                let sampling = match left {
                    0 => sampling,
                    _ => sampling.max(longer.as_secs_f64() * 1e3),
                };
                for n in 0..count {
                    let terms = self.item_terms(place, n, sampling, queue);
                    tracker.receipt.item(first + n, terms);
                }
            }
            Changed::Mode { count, mode, at } => {
                for handle in first..first + count {
                    tracker.receipt.monitored(handle, mode, at);
                }
            }
        }
    }

    /// A message has come.
    pub(super) fn came(&mut self, place: u32, tracker: &mut NotificationTracker<'_>) {
        let changed = self.subscription(place).and_then(|it| it.changed);
        if let Some((changed, left)) = changed {
            self.note_change(place, changed, left - 1, tracker);
        }
    }
}
