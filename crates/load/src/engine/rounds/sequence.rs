//! Rounds of simulated users: the steps of a sequence, with think times between them.

use std::time::Duration;

use plan::sequence::{Does, SequenceStep, Sequences};
use plan::unit::duration::nanos;
use plan::{NodeError, Nodes};
use wire::types::{
    CreateMonitoredItemsRequest, CreateSubscriptionRequest, DataChangeNotification,
    DeleteSubscriptionsRequest, ExtensionObject, MonitoredItemCreateRequest, MonitoringMode,
    MonitoringParameters, NodeId, PublishRequest, ReadValueId, RequestHeader, StatusCode,
    SubscriptionAcknowledgement, TimestampsToReturn,
};

use super::client::Client;
use super::course::RoundsShared;
use super::recorder::Note;
use super::round::Round;
use super::user::User;
use crate::transport::tasks::sleep_until;
use crate::transport::{Steps, one_each};

/// The phase is over in the middle of a sequence: it has neither failed nor been done.
pub const CUT: StatusCode = StatusCode::BadRequestCancelledByClient;

/// A sequence, from its first step to its last; tells how many operations went well in it. What fails ends
/// it.
pub async fn round(
    client: &mut Client<'_>,
    user: &mut User,
    plan: &Sequences,
    round: &mut Round<'_>,
    course: &RoundsShared<'_>,
) -> Result<u32, StatusCode> {
    if plan.begins_open() && client.session.is_none() {
        client.open().await.map_err(|error| error.status())?;
        user.subscription = None;
        ready(client, user).await?;
    } else if client.session.is_some() && user.askers.is_empty() {
        ready(client, user).await?;
    }
    let all: u32 = plan.all.iter().map(|it| it.weight).sum();
    let mut chosen = (user.chance.next_u64() % u64::from(all.max(1))) as u32;
    let names = plan.names();
    let (mut name, mut ask) = (0, 0);
    for sequence in &plan.all {
        let steps = sequence.steps.iter().filter(|step| step.is_timed()).count();
        let asks = sequence.steps.iter().filter(|step| step.asks()).count();
        if chosen >= sequence.weight {
            chosen -= sequence.weight;
            name += steps + 1;
            ask += asks;
            continue;
        }
        let began = round.t();
        let mut values = 0;
        let mut at = name;
        let mut came = Ok(());
        for step in &sequence.steps {
            let named = match step.is_timed() {
                true => {
                    at += 1;
                    names.get(at).copied()
                }
                false => None,
            };
            let asker = ask;
            ask += usize::from(step.asks());
            match self::step(client, user, step, (named, asker), round, course).await {
                Ok(n) => values += n,
                Err(status) => {
                    came = Err(status);
                    break;
                }
            }
        }
        if came != Err(CUT)
            && let Some(&whole) = names.get(name)
        {
            round.notes.push(Note {
                step: whole,
                began,
                ended: round.t(),
                status: came.err().unwrap_or(StatusCode::Good),
                values,
            });
        }
        return came.map(|()| values);
    }
    Err(StatusCode::BadNothingToDo)
}

/// What it asks is made for the session that it has.
async fn ready(client: &mut Client<'_>, user: &mut User) -> Result<(), StatusCode> {
    let Some(session) = &mut client.session else {
        return Err(StatusCode::BadSessionIdInvalid);
    };
    let prepared = client.prepared;
    let askers = prepared.askers(session, plan::Spread::All, 0, 1).await;
    user.askers = askers.map_err(|_| StatusCode::BadNodeIdInvalid)?;
    Ok(())
}

async fn step(
    client: &mut Client<'_>,
    user: &mut User,
    step: &SequenceStep,
    (name, asker): (Option<&'static str>, usize),
    round: &mut Round<'_>,
    course: &RoundsShared<'_>,
) -> Result<u32, StatusCode> {
    // A step without a name is not timed: it notes nothing.
    let name = name.unwrap_or_default();
    match &step.does {
        Does::Pause { mean, exponential } => {
            let factor = match exponential {
                true => user.chance.exponential(),
                false => 1.0,
            };
            let until = round.t().saturating_add(nanos(mean.mul_f64(factor)));
            pause(client, user, until, course).await
        }
        Does::Connect => {
            if let Some(session) = client.session.take() {
                // It was left open by the sequence before.
                session.leave_in_turn().await;
            }
            user.subscription = None;
            let open = async { client.open().await.map_err(|error| error.status()) };
            round.step(name, open).await?;
            ready(client, user).await?;
            Ok(0)
        }
        Does::Disconnect => {
            user.subscription = None;
            if let Some(session) = client.session.take() {
                let end = async {
                    let ended = session.close_in_turn(&mut Steps::new()).await;
                    ended.map_err(|error| error.status())
                };
                round.step(name, end).await?;
            }
            Ok(0)
        }
        Does::Ask(_) => asks(client, user, (name, asker), round).await,
        Does::Subscribe { nodes, interval } => {
            let nodes = found(client, nodes)?;
            let id = round
                .step(name, subscribe(client, &nodes, *interval))
                .await?;
            user.subscription = Some((id, *interval));
            user.unacknowledged.clear();
            Ok(nodes.len() as u32)
        }
        Does::Unsubscribe => {
            let Some((id, _)) = user.subscription.take() else {
                return Ok(0);
            };
            let request = DeleteSubscriptionsRequest {
                request_header: RequestHeader::default(),
                subscription_ids: Some(vec![id]),
            };
            round.step(name, client.call(request)).await?;
            Ok(0)
        }
    }
}

/// A request and its answer, with as many values as it carried.
async fn asks(
    client: &mut Client<'_>,
    user: &mut User,
    (name, asker): (&'static str, usize),
    round: &mut Round<'_>,
) -> Result<u32, StatusCode> {
    let (Some(session), Some(asker)) = (&mut client.session, user.askers.get_mut(asker)) else {
        return Err(StatusCode::BadSessionIdInvalid);
    };
    let began = round.t();
    let answered = session.exchange_in_turn(|out, handle, utc| {
        asker.append(out, handle, utc);
    });
    let answered = answered.await;
    let (status, values, lost) = match answered {
        Ok(body) => {
            let answer = asker.service().judge(&body, asker.batch());
            (answer.status, answer.values, false)
        }
        Err(error) => (error.status(), 0, true),
    };
    round.notes.push(Note {
        step: name,
        began,
        ended: round.t(),
        status,
        values,
    });
    if lost {
        client.session = None;
    }
    match status.is_bad() {
        true => Err(status),
        false => Ok(values),
    }
}

/// Waits, and takes what its subscription brings; tells how many values that were.
async fn pause(
    client: &mut Client<'_>,
    user: &mut User,
    until: u64,
    course: &RoundsShared<'_>,
) -> Result<u32, StatusCode> {
    let mut values = 0;
    loop {
        let t = course.t();
        if course.is_stopped() || t >= course.settings.end_ns() {
            return Err(CUT);
        }
        if t >= until {
            return Ok(values);
        }
        match user.subscription {
            // An answer comes with each interval, be it a keep-alive message.
            Some((_, interval)) if t.saturating_add(nanos(interval)) <= until => {
                values += publish(client, user).await?;
            }
            _ => {
                sleep_until(course.at(until.min(t + course.look_up))).await;
            }
        }
    }
}

async fn publish(client: &mut Client<'_>, user: &mut User) -> Result<u32, StatusCode> {
    let acknowledged = std::mem::take(&mut user.unacknowledged);
    let request = PublishRequest {
        request_header: RequestHeader::default(),
        subscription_acknowledgements: Some(acknowledged),
    };
    let response = client.call(request).await?;
    let message = response.notification_message;
    let data = message.notification_data.unwrap_or_default();
    if !data.is_empty() {
        user.unacknowledged.push(SubscriptionAcknowledgement {
            subscription_id: response.subscription_id,
            sequence_number: message.sequence_number,
        });
    }
    let items = |it: &ExtensionObject| {
        let change = it.inner_as::<DataChangeNotification>();
        change.map_or(0, |it| it.monitored_items.as_ref().map_or(0, Vec::len))
    };
    Ok(data.iter().map(items).sum::<usize>() as u32)
}

async fn subscribe(
    client: &mut Client<'_>,
    nodes: &[NodeId],
    interval: Duration,
) -> Result<u32, StatusCode> {
    let milliseconds = interval.as_secs_f64() * 1e3;
    let request = CreateSubscriptionRequest {
        request_header: RequestHeader::default(),
        requested_publishing_interval: milliseconds,
        requested_lifetime_count: 10_000,
        // An answer in each interval: whoever waits need not wait longer.
        requested_max_keep_alive_count: 1,
        max_notifications_per_publish: 0,
        publishing_enabled: true,
        priority: 0,
    };
    let created = client.call(request).await?;
    let items = nodes
        .iter()
        .zip(1..)
        .map(|(node, handle)| MonitoredItemCreateRequest {
            item_to_monitor: ReadValueId::from(node.clone()),
            monitoring_mode: MonitoringMode::Reporting,
            requested_parameters: MonitoringParameters {
                client_handle: handle,
                sampling_interval: milliseconds,
                filter: ExtensionObject::null(),
                queue_size: 1,
                discard_oldest: true,
            },
        });
    let request = CreateMonitoredItemsRequest {
        request_header: RequestHeader::default(),
        subscription_id: created.subscription_id,
        timestamps_to_return: TimestampsToReturn::Both,
        items_to_create: Some(items.collect()),
    };
    let made = client.call(request).await?;
    let results = one_each(made.results, nodes.len())?;
    match results.iter().find(|it| it.status_code.is_bad()) {
        Some(bad) => Err(bad.status_code),
        None => Ok(created.subscription_id),
    }
}

fn found(client: &Client<'_>, nodes: &Nodes) -> Result<Vec<NodeId>, StatusCode> {
    let namespaces = &client.target.about.namespaces;
    nodes
        .resolve(namespaces, |path| {
            Err(NodeError::Unresolved(path.to_string()))
        })
        .map_err(|_| StatusCode::BadNodeIdInvalid)
}
