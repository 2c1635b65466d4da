//! What subscriptions told: their part of the result, the server's own counts beside it, and what
//! their shape gives reason to say.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use judge::diagnostics::{Ours, Sent};
use judge::subscriptions::{beside_ledgers, faults};
use load::engine::{Outcome, Shape, Target};
use load::work::Prepared;
use plan::unit::duration;
use plan::{Churned, Mode, Offsets, Phase, Subscribe};
use record::notification_ledger::{EventKind, Seat};
use record::run::{ClockBound, Diagnostics, Figure, Names, Run, Subscriptions};
use serde_json::Value;
use wire::types::{ObjectTypeId, StatusCode};

use super::result;

/// What each of the servers counts itself, where it is a plant of ours.
pub fn witnesses(phase: &Phase, looked: &[Arc<Target>]) -> Vec<Option<Value>> {
    let wanted = looked.iter().filter(|_| phase.subscribe().is_some());
    let truth = |target: &Arc<Target>| serde_json::from_str(&target.ground_truth()?).ok();
    wanted.map(truth).collect()
}

/// What the servers counted themselves (Part 5, 6.3.3), beside what we sent and received.
pub fn diagnostics(
    phase: &Phase,
    outcome: &Outcome,
    heard: Option<&Subscriptions>,
) -> Option<Diagnostics> {
    let mut told = Diagnostics {
        targets: outcome.diagnostics.clone(),
        beside: Vec::new(),
    };
    let sent = sent(phase, outcome);
    let all = || sent.iter().map(|it| it.requests).sum();
    let ours = Ours {
        sent: &sent,
        sessions: match phase.fresh_session {
            true => Some(all()),
            false => {
                let opened = sent.iter().filter(|it| it.service == OPENED);
                opened.map(|it| it.requests).reduce(|a, b| a + b)
            }
        },
        heard: heard.zip(phase.subscribe().map(|plan| plan.queue)),
    };
    told.beside = judge::diagnostics::beside(&told, ours);
    (!told.targets.is_empty()).then_some(told)
}

/// The step that makes a session.
const OPENED: &str = "create session";

/// What was sent, by service. From the first request on, the warm-up too.
fn sent(phase: &Phase, outcome: &Outcome) -> Vec<Sent> {
    let total = outcome.total();
    let named = std::iter::zip(&outcome.names, &total);
    if outcome.rounds.is_none() {
        return named
            .map(|(service, tally)| {
                let counters = tally.whole().sum.counters;
                Sent {
                    service: (*service).to_owned(),
                    requests: counters.sent_sizes.messages,
                    unanswered: counters.timeouts + counters.unfinished,
                }
            })
            .collect();
    }
    // Each step is a request of a service; those of simulated users are named by them.
    let of_users: BTreeMap<&str, &str> = phase
        .sequences()
        .into_iter()
        .flat_map(|it| std::iter::zip(it.names(), it.services()))
        .filter_map(|(name, service)| Some((*name, service?)))
        .collect();
    named
        .map(|(name, tally)| {
            let sum = tally.whole().sum;
            let timed_out = StatusCode::BadTimeout.bits();
            let unanswered = sum.statuses.iter().filter(|(code, _)| *code == timed_out);
            let service = *of_users.get(name).unwrap_or(name);
            Sent {
                service: service.to_owned(),
                requests: match service {
                    OPENED => sum.counters.completed - sum.statuses.bad(),
                    _ => sum.counters.completed,
                },
                unanswered: unanswered.map(|(_, n)| n).sum(),
            }
        })
        .collect()
}

/// What subscriptions told.
pub fn subscriptions(
    phase: &Phase,
    outcome: &Outcome,
    looked: &[Arc<Target>],
    prepared: &[Arc<Prepared>],
    (before, after): (&[Option<Value>], &[Option<Value>]),
    run: &mut Run,
) -> Option<Subscriptions> {
    let plan = phase.subscribe()?;
    let account = outcome.account.as_ref()?;
    let node = |seat: Seat, item: u32| {
        let prepared = prepared.get(seat.target as usize)?;
        let (session, of) = (seat.session, phase.sessions);
        let node = prepared.watched(phase.spread, (session, of), seat.subscription, item)?;
        Some(node.to_string())
    };
    let names = Names {
        status: &result::status_name,
        node: &node,
        kind: &kind,
        events: plan.events.is_some(),
    };
    let mut told = Subscriptions::of(account, &names);
    if let Some(events) = &mut told.events {
        events
            .unknown_fields
            .clone_from(&outcome.shape.unknown_fields);
    }
    run.notes.extend(refused(&outcome.shape));
    told.held = held(plan).map(str::to_owned);
    told.waited = outcome.shape.waited;
    told.clock = ClockBound {
        error_ns: clock_error(looked),
        ..told.clock
    };
    let plants: Option<Vec<_>> = before
        .iter()
        .zip(after)
        .map(|(before, after)| before.as_ref().zip(after.as_ref()))
        .collect();
    // Where one server is none, its part of the sums is not known.
    if let Some(plants) = plants.filter(|plants| !plants.is_empty()) {
        told.beside = beside_ledgers(&plants, &told);
        for (n, (before, after)) in plants.iter().enumerate() {
            let plant = match plants.len() {
                1 => "the plant's fault".to_owned(),
                _ => format!("in target {n} the plant's fault"),
            };
            for (fault, hits) in faults(before, after) {
                let often = match hits {
                    1 => "once".to_owned(),
                    n => format!("{n} times"),
                };
                run.notes.push(format!("{plant} {fault} struck {often}"));
            }
        }
    }
    for ((what, status), n) in &outcome.unchanged {
        let status = result::status_name(*status);
        run.notes.push(format!(
            "{n} times the server refused a {what} of --churn: {status}"
        ));
    }
    run.notes.extend(advice(plan, &told, &outcome.shape));
    Some(told)
}

/// A type of events by its name in the specification, or by its node.
fn kind(kind: EventKind) -> String {
    match ObjectTypeId::try_from(kind.id) {
        Ok(name) if kind.namespace == 0 => format!("{name:?}"),
        _ => format!("ns={};i={}", kind.namespace, kind.id),
    }
}

/// Why nothing is to be reported, from the beginning to the end.
fn held(plan: &Subscribe) -> Option<&'static str> {
    let turns = |what: Churned| plan.churn.iter().any(|churn| churn.what == what);
    match plan.mode {
        _ if plan.publishing_off => Some("publishing is disabled (--publishing-off)"),
        Mode::Sampling if !turns(Churned::Mode) => {
            Some("items sample without reporting (--mode sampling)")
        }
        Mode::Disabled if !turns(Churned::Mode) => Some("items are disabled (--mode disabled)"),
        _ => None,
    }
}

/// What a server said of a filter of events.
fn refused(shape: &Shape) -> Vec<String> {
    let mut notes = Vec::new();
    if !shape.unknown_fields.is_empty() {
        notes.push(format!(
            "the server does not know these fields of events: {}",
            shape.unknown_fields.join(", ")
        ));
    }
    if !shape.bad_filter.is_empty() {
        notes.push(format!(
            "the server refuses a part of --where: {}",
            shape.bad_filter.join(", ")
        ));
    }
    notes
}

/// By how much delays can be wrong.
fn clock_error(looked: &[Arc<Target>]) -> Figure<u64> {
    // Behind a proxy the loopback is that of another machine.
    let is_here = |it: &Arc<Target>| it.access.url.is_loopback() && it.access.proxy.is_none();
    if looked.iter().all(is_here) {
        return Figure::Known(0);
    }
    let clocks = looked.iter().map(|target| target.about.clock);
    let error = clocks.map(|clock| clock.map(|it| it.ahead_ns.abs() + it.error_ns.abs()));
    match error.collect::<Option<Vec<i64>>>() {
        Some(errors) => Figure::Known(errors.into_iter().max().unwrap_or(0).unsigned_abs()),
        None => Figure::missing("the server does not tell its time"),
    }
}

/// What a subscription's shape does to its figures, each with the option that changes it.
fn advice(plan: &Subscribe, told: &Subscriptions, shape: &Shape) -> Vec<String> {
    let mut advice = Vec::new();
    if told.subscriptions > 1 && told.items == told.subscriptions {
        advice.push(format!(
            "each of the {} items has a subscription of its own, which costs a server a timer and a message \
             each: more items in one with --subscriptions and --items",
            told.items
        ));
    }
    let sampling = plan
        .sampling
        .interval(plan.publishing)
        .unwrap_or(Duration::ZERO);
    if plan.events.is_none() && plan.queue <= 1 && sampling < plan.publishing {
        let each = plan.publishing.as_nanos() / sampling.as_nanos().max(1);
        advice.push(match sampling.is_zero() {
            true => "queue 1 keeps one value for each publishing, however often is sampled: more with --queue".into(),
            false => format!(
                "queue 1 keeps one of the {each} values sampled for each publishing: all with --queue {each}"
            ),
        });
    }
    if let Some((asked, granted)) = shape.sampling.filter(|(asked, granted)| asked != granted) {
        advice.push(format!(
            "the server samples {} every {} instead of every {}: ask for that with --sampling {}",
            match shape.revised_sampling {
                1 => "1 item".to_owned(),
                n => format!("{n} items"),
            },
            duration::show(granted),
            duration::show(asked),
            duration::typed(granted)
        ));
    }
    if let Some(granted) = shape.publishing {
        advice.push(format!(
            "the server publishes every {} instead of every {}: ask for that with --publishing {}",
            duration::show(granted),
            duration::show(plan.publishing),
            duration::typed(granted)
        ));
    }
    if plan.offsets == Offsets::Aligned && told.subscriptions > 1 {
        advice.push(
            "all subscriptions were created at once: their delays have one phase and their load comes in bursts; \
             as in a plant with --phase random"
                .into(),
        );
    }
    let answered = told.count("publish_answered").max(1);
    if let Some(requests) = plan.publish_requests
        && shape.waited * 100 > answered
    {
        let too_few = match requests {
            1 => "one Publish request is too few".to_owned(),
            n => format!("{n} Publish requests are too few"),
        };
        advice.push(format!(
            "{} of {answered} messages waited at the server because no Publish request was there: {too_few} \
             for {} in a session: --publish-requests auto",
            shape.waited,
            match plan.subscriptions {
                1 => "a subscription".to_owned(),
                n => format!("{n} subscriptions"),
            }
        ));
    }
    advice
}
