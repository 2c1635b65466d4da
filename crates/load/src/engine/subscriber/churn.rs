//! Items and subscriptions that are changed while they report: a load of its own.

use std::collections::BTreeMap;

use plan::unit::duration::nanos;
use plan::{Churn, Churned};
use record::notification_ledger::{Monitoring, SetUpStep, SubscriptionTerms};
use wire::service::{Request, Response};
use wire::time::Instant;
use wire::types::{
    ModifyMonitoredItemsRequest, ModifySubscriptionRequest, MonitoredItemModifyRequest,
    MonitoringMode, SetMonitoringModeRequest, StatusCode,
};

use super::answer::{decode, is, millis};
use super::assignment::Assignment;
use super::notes::Notes;
use super::outgoing::Outgoing;
use super::pending::{ChangeAsked, PendingRequest};
use super::refresh;
use super::subscriptions::{Changed, Subscription, Subscriptions};

/// One of the changes, again and again.
#[derive(Debug)]
struct RepeatedChange {
    churn: Churn,
    /// When the next is due; none before the first.
    next: Option<Instant>,
    /// How many there were: each subscription in turn, there and back again.
    turns: u32,
}

/// All changes of a session.
#[derive(Debug)]
pub(super) struct Changes {
    turning: Vec<RepeatedChange>,
    /// Those that the server refused, by what they were and its status.
    failures: BTreeMap<(&'static str, u32), u64>,
}

/// A subscription that is to go to another session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Offer {
    pub place: u32,
    /// Its last values are wanted once more.
    pub initial: bool,
}

/// Messages after a change that may bring values from before it, which are not held to it.
const FROM_BEFORE: u8 = 2;

impl RepeatedChange {
    fn new(churn: &Churn) -> Self {
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

impl Changes {
    pub fn new(churn: &[Churn]) -> Self {
        Self {
            turning: churn.iter().map(RepeatedChange::new).collect(),
            failures: BTreeMap::new(),
        }
    }

    /// Whether they need the server's numbers of items.
    pub fn names_items(&self) -> bool {
        let mut turning = self.turning.iter();
        turning.any(|it| matches!(it.churn.what, Churned::Modify | Churned::Mode))
    }

    /// Whether subscriptions go from session to session.
    pub fn passes_on(&self) -> bool {
        self.turning.iter().any(|it| it.churn.what.is_transfer())
    }

    /// Whether this status says no more than that one of them went.
    pub fn hands_over(&self, status: StatusCode) -> bool {
        is(status, StatusCode::GoodSubscriptionTransferred) && self.passes_on()
    }

    /// Those that the server refused, by what they were and its status.
    pub fn failures(&self) -> &BTreeMap<(&'static str, u32), u64> {
        &self.failures
    }

    pub fn fail(&mut self, what: &'static str, status: StatusCode) {
        *self.failures.entry((what, status.bits())).or_default() += 1;
    }

    /// When the next change is due.
    pub fn next_turn(&self) -> Option<Instant> {
        let due = self.turning.iter().filter_map(|turning| turning.next);
        due.min()
    }

    /// Sends the changes that are due; those that fell due while nothing could be sent are left
    /// out. Tells which subscriptions are to go to other sessions.
    pub fn turn(&mut self, out: &mut Outgoing<'_>, subscriptions: &Subscriptions) -> Vec<Offer> {
        let mut offers = Vec::new();
        let ids: Vec<u32> = match self.turning.is_empty() {
            true => return offers,
            false => subscriptions.there(),
        };
        let now = out.now.mono;
        for turning in &mut self.turning {
            let period = std::time::Duration::from_nanos(turning.period());
            let next = *turning.next.get_or_insert(now + period);
            if next > now {
                continue;
            }
            turning.next = Some((next + period).max(now));
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
                let initial = what == Churned::TransferInitial;
                offers.push(Offer { place, initial });
                continue;
            }
            // Changed in one round, changed back in the next.
            let there = round % 2 == 0;
            let subscription = subscriptions.get(place);
            let Some((request, count)) = subscription.and_then(|it| change(what, it, there, out))
            else {
                continue;
            };
            let about = match what {
                Churned::Refresh => PendingRequest::Refresh { sent: now },
                _ => PendingRequest::Churn(ChangeAsked {
                    subscription: place,
                    there,
                    count,
                    sent: now,
                }),
            };
            out.send(request, about);
        }
        offers
    }

    /// Something was changed, or not.
    pub fn turned(
        &mut self,
        asked: ChangeAsked,
        body: &[u8],
        assignment: &Assignment,
        subscriptions: &mut Subscriptions,
        notes: &mut Notes<'_>,
    ) {
        let response = match decode(body) {
            Ok(response) => response,
            Err(status) => return self.fail("change", status),
        };
        let ChangeAsked {
            subscription: place,
            there,
            count,
            sent,
        } = asked;
        let Some(subscription) = subscriptions.get_mut(place) else {
            return;
        };
        let changed = match response {
            Response::ModifyMonitoredItems(response) => {
                notes.step(SetUpStep::Modify, sent, count);
                let results = response.results.unwrap_or_default();
                let good = results.iter().find(|it| !it.status_code.is_bad());
                good.map(|good| Changed::Terms {
                    count,
                    sampling: good.revised_sampling_interval,
                    queue: good.revised_queue_size,
                })
            }
            Response::SetMonitoringMode(response) => {
                notes.step(SetUpStep::SetMode, sent, count);
                let results = response.results.unwrap_or_default();
                let mode = match there {
                    true => Monitoring::Sampling,
                    false => Monitoring::Reporting,
                };
                let good = results.iter().any(|status| !status.is_bad());
                let at = notes.at();
                good.then_some(Changed::Mode { count, mode, at })
            }
            Response::ModifySubscription(response) => {
                notes.step(SetUpStep::Modify, sent, 1);
                let publishing = millis(response.revised_publishing_interval);
                let terms = SubscriptionTerms {
                    publishing_ns: nanos(publishing),
                    keep_alive: response.revised_max_keep_alive_count,
                    lifetime: response.revised_lifetime_count,
                };
                if let Some(number) = subscription.number {
                    notes.notification_ledger.revised(number, terms);
                }
                subscription.publishing = publishing;
                subscription.keep_alive = terms.keep_alive;
                None
            }
            _ => None,
        };
        if let Some(changed) = changed {
            note(
                (place, subscription),
                changed,
                FROM_BEFORE,
                assignment,
                notes,
            );
        }
    }

    /// A message has come.
    #[inline]
    pub fn came(
        &self,
        place: u32,
        assignment: &Assignment,
        subscriptions: &mut Subscriptions,
        notes: &mut Notes<'_>,
    ) {
        if self.turning.is_empty() {
            return;
        }
        if let Some(subscription) = subscriptions.get_mut(place)
            && let Some((changed, left)) = subscription.changed
        {
            note((place, subscription), changed, left - 1, assignment, notes);
        }
    }
}

/// A change of a subscription, or back, and how many things it changes.
fn change(
    what: Churned,
    subscription: &Subscription,
    there: bool,
    out: &Outgoing<'_>,
) -> Option<(Request, u32)> {
    let id = subscription.id?;
    let terms = &out.assignment.requests.terms;
    let plan = &terms.plan;
    let request_header = out.header();
    let factor = if there { 2 } else { 1 };
    let count = subscription.items.len().min(terms.per_call);
    let items = subscription.items.get(..count).unwrap_or_default();
    Some(match what {
        Churned::Modify => {
            let sampling = plan.sampling.interval(plan.publishing).unwrap_or_default();
            let items = (subscription.first_handle..)
                .zip(items)
                .map(|(handle, id)| {
                    let mut parameters = terms.parameters();
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
        Churned::Refresh => (refresh::request(out, id).into(), 1),
        Churned::Transfer | Churned::TransferInitial => return None,
    })
}

/// Between values from before a change and those after it nothing is promised; and values from
/// before may come in messages after it, of which so many are left.
fn note(
    (place, subscription): (u32, &mut Subscription),
    changed: Changed,
    left: u8,
    assignment: &Assignment,
    notes: &mut Notes<'_>,
) {
    subscription.changed = (left > 0).then_some((changed, left));
    let first = subscription.first_handle;
    match changed {
        Changed::Terms {
            count,
            sampling,
            queue,
        } => {
            // Until then nobody is held to more than the longer of both intervals.
            let plan = assignment.plan();
            let longer = plan.sampling.interval(plan.publishing).unwrap_or_default() * 2;
            let sampling = match left {
                0 => sampling,
                _ => sampling.max(longer.as_secs_f64() * 1e3),
            };
            for n in 0..count {
                let terms = assignment.item_terms(place, n, sampling, queue);
                notes.notification_ledger.item(first + n, terms);
            }
        }
        Changed::Mode { count, mode, at } => {
            for handle in first..first + count {
                notes.notification_ledger.monitored(handle, mode, at);
            }
        }
    }
}
