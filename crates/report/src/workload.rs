//! What was asked, in one sentence.

use std::time::Duration;

use plan::sequence::Sequences;
use plan::unit::duration::show;
use plan::{
    Aggregating, Arrival, Connect, Items, Listen, NewNodes, NodeSpec, Nodes, Phase, Publish, Read,
    Sampling, Spread, Subscribe, Values, Warmup, Work,
};

use crate::page::counted;

/// `read Value of ns=2;i=1000..1099, 10 nodes a request; 4 sessions, constant 1k/s each; 10 s`.
pub(crate) fn sentence(phase: &Phase, targets: usize) -> String {
    if phase.work.is_pubsub() {
        return format!("{}; {}", work(&phase.work), length(phase));
    }
    let beside = phase.beside.iter().map(work);
    let mut parts = vec![work(&phase.work)];
    parts.extend(beside.map(|what| format!("beside it {what}")));
    parts.extend([load(phase, targets), length(phase)]);
    let mut extras = Vec::new();
    if phase.arrival.is_open() {
        extras.push(format!("catch-up {}", phase.catch_up));
    }
    if phase.coalesce > 1 {
        extras.push(format!("woken up for {} answers at a time", phase.coalesce));
    }
    if phase.spin {
        extras.push("spinning".to_owned());
    }
    if phase.fresh_session {
        extras.push("a session for each request".to_owned());
    }
    if phase.reconnect {
        extras.push("reconnecting".to_owned());
    }
    extras.push(format!("timeout {}", show(phase.timeout)));
    extras.push(format!("seed {}", phase.seed));
    parts.push(extras.join(", "));
    parts.join("; ")
}

/// The same without what is taken for granted: `read Value of ns=2;i=1000; 4 sessions, constant 1k/s each`.
pub(crate) fn in_brief(phase: &Phase, targets: usize) -> String {
    if phase.work.is_pubsub() {
        return work(&phase.work);
    }
    format!("{}; {}", work(&phase.work), load(phase, targets))
}

fn work(work: &Work) -> String {
    let what = match work {
        Work::Read(read) => reading("read", read),
        Work::Register(register) => {
            let also = if register.compare {
                ", and unregistered beside it"
            } else {
                ""
            };
            format!("{}{also}", reading("read registered", &register.read))
        }
        Work::Write(write) => {
            let values = match &write.values {
                Values::Original => "their own values",
                Values::Count => "counting values",
                Values::Random => "random values",
                Values::Fixed(value) => value,
            };
            let registered = if write.registered { "registered " } else { "" };
            format!("write {values} to {registered}{}", nodes(&write.nodes))
        }
        Work::Browse(browse) => format!("browse {} {}", browse.direction, nodes(&browse.nodes)),
        Work::History(history) => {
            let way = if history.backwards { " backwards" } else { "" };
            let last = show(history.last);
            let what = match history.aggregate {
                Some(aggregate) => format!("{} of ", aggregated(aggregate)),
                None => String::new(),
            };
            let of = nodes(&history.nodes);
            format!("read {what}the last {last} of {of}{way}")
        }
        Work::Translate(translate) => match translate.paths.as_slice() {
            [path] => format!("translate {path}"),
            paths => format!("translate {}", counted(paths.len() as u64, "path", "paths")),
        },
        Work::Call(call) => format!("call {} of {}", call.method, call.object),
        Work::Subscribe(plan) => return subscribing(plan),
        Work::Connect(plan) => return connecting(plan),
        Work::Items(plan) => return making_items(plan),
        Work::Nodes(plan) => return making_nodes(plan),
        Work::Sequence(plan) => return acting(plan),
        Work::Publish(plan) => return publishing(plan),
        Work::Listen(plan) => return listening(plan),
        other => other.name().to_owned(),
    };
    match work.batch() {
        1 => what,
        n => format!("{what}, {n} a request"),
    }
}

/// `publish 100 floats each 10 ms as Variants, dynamic, to opc.udp://127.0.0.1:0; 1 listener`.
fn publishing(plan: &Publish) -> String {
    let each = match plan.interval {
        Some(interval) => format!("each {}", show(interval)),
        None => "as fast as possible".to_owned(),
    };
    let messages = match (plan.groups, plan.writers) {
        (1, 1) => String::new(),
        (groups, 1) => format!(" in {groups} NetworkMessages"),
        (1, writers) => format!(" in {writers} DataSetMessages"),
        (groups, writers) => format!(" in {groups} NetworkMessages of {writers} DataSetMessages"),
    };
    let encoding = match plan.encoding.as_str() {
        "raw" => "RawData",
        "value" => "DataValues",
        _ => "Variants",
    };
    // Texts have neither layouts nor security.
    let written = match plan.mapping.as_str() {
        "uadp" => format!("layout {}, security {}", plan.layout, plan.security),
        json => json.replace("json", "JSON"),
    };
    let at = match &plan.broker {
        Some(broker) => format!("{} (MQTT {}, QoS {})", plan.to, broker.mqtt, broker.qos),
        None => plan.to.clone(),
    };
    let listeners = match plan.listeners {
        0 => String::new(),
        n => format!("; {}", counted(n.into(), "listener", "listeners")),
    };
    format!(
        "publish {} ({}) {each}{messages} as {encoding}, {written}, to {at}{listeners}",
        counted(plan.values(), "value", "values"),
        plan.kind
    )
}

/// `listen at opc.udp://239.0.0.1:4840; 2 listeners`.
fn listening(plan: &Listen) -> String {
    let listeners = counted(plan.listeners.into(), "listener", "listeners");
    let mut text = format!("listen at {}", plan.from);
    if plan.security != "none" {
        text += &format!(", security {} or better", plan.security);
    }
    for (what, ids) in [
        ("publishers", &plan.publishers),
        ("writer groups", &plan.groups),
    ] {
        if !ids.is_empty() {
            text += &format!(", {what} {}", ids.join(" "));
        }
    }
    format!("{text}; {listeners}")
}

/// `connect: storm, held for 1 min, 64 at once, then 1 read`.
fn connecting(plan: &Connect) -> String {
    let mut parts = vec![format!("connect: {}", plan.kind)];
    if !plan.hold.is_zero() {
        parts.push(format!("held for {}", show(plan.hold)));
    }
    parts.push(format!("at most {} at once", plan.at_once));
    if plan.source_addresses > 0 {
        let from = u64::from(plan.source_addresses);
        parts.push(format!("from {}", counted(from, "address", "addresses")));
    }
    parts.push(counted(plan.reads.into(), "read each", "reads each"));
    parts.join(", ")
}

/// `create, modify and delete 1 subscription × 100 items of ns=2;i=1..100, 1000 a call`.
fn making_items(plan: &Items) -> String {
    let subscriptions = counted(plan.subscriptions.into(), "subscription", "subscriptions");
    let items = match plan.items {
        Some(items) => counted(items.into(), "item", "items"),
        None => "an item for each node".to_owned(),
    };
    let text = format!(
        "create, modify and delete {subscriptions} × {items} of {}, publishing {}, sampling {}, queue {}",
        nodes(&plan.nodes),
        show(plan.publishing),
        plan.sampling,
        plan.queue,
    );
    match plan.items_per_call {
        Some(n) => format!("{text}, {n} a call"),
        None => text,
    }
}

/// `add and delete 100 nodes below i=85, with references between them, 10 a call`.
fn making_nodes(plan: &NewNodes) -> String {
    let nodes = counted(plan.count.into(), "node", "nodes");
    let mut text = format!("add and delete {nodes} below {}", plan.below);
    if plan.references {
        text.push_str(", with references between them");
    }
    if let Some(n) = plan.nodes_per_call {
        text.push_str(&format!(", {n} a call"));
    }
    text
}

/// `users: operator*3: connect -> read ns=2;i=1; ramp-up 10 s`.
fn acting(plan: &Sequences) -> String {
    let all: Vec<String> = plan.all.iter().map(ToString::to_string).collect();
    let mut text = format!("users: {}", all.join(" | "));
    for (name, length) in [("ramp-up", plan.ramp_up), ("ramp-down", plan.ramp_down)] {
        if !length.is_zero() {
            text.push_str(&format!(", {name} {}", show(length)));
        }
    }
    text
}

/// `subscribe to ns=2;i=1: 10 subscriptions × 100 items a session, publishing 1 s, sampling 100 ms, queue 10`.
fn subscribing(plan: &Subscribe) -> String {
    let subscriptions = counted(plan.subscriptions.into(), "subscription", "subscriptions");
    let items = match plan.items {
        Some(items) => counted(items.into(), "item", "items"),
        None => "an item for each node".to_owned(),
    };
    let sampling = match plan.sampling {
        Sampling::Publishing => "sampling as often".to_owned(),
        Sampling::Fastest => "sampling as fast as can be".to_owned(),
        Sampling::Every(interval) => format!("sampling {}", show(interval)),
    };
    let newest = if plan.discard_newest {
        " that discards the newest"
    } else {
        ""
    };
    let (on, publishing) = (nodes(&plan.nodes), show(plan.publishing));
    let mut text = match &plan.events {
        Some(events) => {
            let queue = match plan.queue {
                u32::MAX => "queue as long as can be".to_owned(),
                queue => format!("queue {queue}"),
            };
            format!(
                "subscribe to events of {on}{}: {subscriptions} × {items} a session, publishing {publishing}, \
                 {queue}{newest}, {} fields",
                match &events.filter {
                    Some(filter) => format!(" where {filter}"),
                    None => String::new(),
                },
                events.fields().len(),
            )
        }
        None => format!(
            "subscribe to {on}: {subscriptions} × {items} a session, publishing {publishing}, {sampling}, \
             queue {}{newest}",
            plan.queue,
        ),
    };
    for more in unusual(plan) {
        text.push_str(", ");
        text.push_str(&more);
    }
    text
}

/// `average each 10 s`.
fn aggregated(aggregate: Aggregating) -> String {
    format!("{} each {}", aggregate.function, show(aggregate.interval))
}

/// What differs from the defaults of a subscription.
fn unusual(plan: &Subscribe) -> Vec<String> {
    let usual = Subscribe::new(plan.nodes.clone());
    let mut more = Vec::new();
    let mut add = |differs: bool, text: String| {
        if differs {
            more.push(text);
        }
    };
    let option = |n: Option<u32>| n.map_or_else(String::new, |n| n.to_string());
    if let Some(deadband) = plan.deadband {
        add(true, format!("deadband {deadband}"));
    }
    if let Some(aggregate) = plan.aggregate {
        add(true, aggregated(aggregate));
    }
    add(
        plan.trigger != usual.trigger,
        format!("trigger {}", plan.trigger),
    );
    add(plan.mode != usual.mode, format!("mode {}", plan.mode));
    add(plan.publishing_off, "publishing disabled".to_owned());
    if let Some(requests) = plan.publish_requests {
        let requests = counted(requests.into(), "Publish request", "Publish requests");
        add(true, format!("{requests} waiting"));
    }
    add(
        plan.max_notifications > 0,
        format!("at most {} values a message", plan.max_notifications),
    );
    add(plan.priority > 0, format!("priority {}", plan.priority));
    add(
        plan.keep_alive != usual.keep_alive,
        format!("keep-alive after {}", plan.keep_alive),
    );
    add(
        plan.lifetime.is_some(),
        format!("lifetime {}", option(plan.lifetime)),
    );
    if let Some(items) = plan.items_per_call {
        add(
            true,
            format!("{} a call", counted(items.into(), "item", "items")),
        );
    }
    if let Some(settle) = plan.settle {
        add(true, format!("settled for {}", show(settle)));
    }
    add(
        plan.offsets != usual.offsets,
        format!("phase {}", plan.offsets),
    );
    add(
        plan.timestamps != usual.timestamps,
        format!("timestamps {}", plan.timestamps),
    );
    if let Some(rate) = plan.change_rate {
        add(true, format!("each said to change {rate}"));
    }
    let refresh = plan.events.as_ref().is_some_and(|events| events.refresh);
    add(refresh, "refresh at the beginning".to_owned());
    for churn in &plan.churn {
        add(true, format!("churn {churn}"));
    }
    if let Some(rate) = plan.writer {
        add(true, format!("a writer {rate}"));
    }
    more
}

fn reading(verb: &str, read: &Read) -> String {
    let range = match &read.index_range {
        Some(range) => format!("[{range}]"),
        None => String::new(),
    };
    format!("{verb} {}{range} of {}", read.attribute, nodes(&read.nodes))
}

/// All of them if they are few, else the first and their number.
fn nodes(nodes: &Nodes) -> String {
    let specs = nodes.specs();
    let names: Vec<String> = specs.iter().map(NodeSpec::to_string).collect();
    match names.as_slice() {
        [] => "no node".to_owned(),
        few @ ([_] | [_, _] | [_, _, _]) => few.join(", "),
        [first, more @ ..] => format!("{first} and {} more", more.len()),
    }
}

fn load(phase: &Phase, targets: usize) -> String {
    let mut text = counted(phase.sessions.into(), "session", "sessions");
    if targets > 1 {
        text.push_str(&format!(" with each of {targets} targets"));
    }
    if phase.spread == Spread::Split {
        text.push_str(", nodes split among them");
    }
    let each = if phase.sessions > 1 || targets > 1 {
        " each"
    } else {
        ""
    };
    match &phase.arrival {
        // Nothing is asked again and again.
        Arrival::Closed { .. } if matches!(phase.work, Work::Subscribe(_)) => {}
        // A client does one thing after the other.
        Arrival::Closed { think, .. } if !phase.work.steps().is_empty() => {
            if !think.is_zero() {
                text.push_str(&format!(", think time {}", show(*think)));
            }
        }
        Arrival::Closed { think, .. } if phase.together => {
            text.push_str(", all sending together once the slowest was answered");
            if !think.is_zero() {
                text.push_str(&format!(", after {}", show(*think)));
            }
        }
        Arrival::Closed { in_flight, think } => {
            text.push_str(&format!(", {in_flight} in flight{each}"));
            if !think.is_zero() {
                text.push_str(&format!(", think time {}", show(*think)));
            }
        }
        open => {
            text.push_str(&format!(", {open}{each}"));
            if phase.slots != Phase::SLOTS {
                text.push_str(&format!(", at most {} in flight", phase.slots));
            }
        }
    }
    text
}

fn length(phase: &Phase) -> String {
    let mut text = match (phase.duration, phase.requests) {
        (Some(duration), Some(requests)) => format!(
            "{} or {}",
            show(duration),
            counted(requests, "request", "requests")
        ),
        (Some(duration), None) => show(duration),
        (None, Some(requests)) => counted(requests, "request", "requests"),
        (None, None) if phase.is_storm() => "until all have come".to_owned(),
        (None, None) => "to the end of its steps".to_owned(),
    };
    if let Warmup::Given { warmup } = phase.warmup
        && warmup > Duration::ZERO
    {
        text = format!("{text} after {} of warm-up", show(warmup));
    }
    if !phase.cooldown.is_zero() {
        text = format!("{text}, {} of cool-down", show(phase.cooldown));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_subscription_what_differs_from_the_defaults_is_named() {
        let node: NodeSpec = "ns=2;i=1..4".parse().unwrap();
        let mut plan = Subscribe::new(node.into());
        let usual = "subscribe to ns=2;i=1..4: 1 subscription × an item for each node a session, \
                     publishing 500 ms, sampling as often, queue 1";
        assert_eq!(subscribing(&plan), usual);
        plan.publish_requests = Some(3);
        plan.max_notifications = 100;
        plan.churn = vec!["mode:1/s".parse().unwrap()];
        assert_eq!(
            subscribing(&plan),
            format!(
                "{usual}, 3 Publish requests waiting, at most 100 values a message, churn mode:1/s"
            )
        );
    }
}
