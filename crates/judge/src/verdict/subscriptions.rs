//! What subscriptions say of a server, and what a server says of its subscriptions.

use std::collections::BTreeMap;

use record::run::{CountComparison, Outcome, Phase, Silence, Stall, Status, Subscriptions};
use serde_json::Value;

use super::missing::Missing;
use super::reason::Reason;
use super::status;
use super::words::percent;

/// From this share on, values that came late or overflowed say that the server did not keep up.
const SHARE: f64 = 0.01;

/// A server whose cores and threads were busy for less than this share is not short of them.
const IDLE: f64 = 0.5;

/// From this much on, publishing that takes longer than its interval says so as well.
const PACE: f64 = 1.05;

/// From this share of messages on that waited for a Publish request, the pace is not the server's.
const STARVED: f64 = 0.05;

/// So many times in a row may something be due and not come.
const SILENT: u64 = 5;

/// A silence below this is what networks and operating systems do.
const SILENT_NS: u64 = 500_000_000;

/// Steps that change subscriptions while they are measured.
const CHANGES: [&str; 2] = ["modify", "set_mode"];

/// What subscriptions say of a phase.
pub(crate) fn reasons(told: &Subscriptions, phase: &Phase) -> Vec<Reason> {
    let mut reasons = failures(told);
    let stalled = told.found("stalled");
    reasons.extend(stalled.map(|found| Reason::OverflowedMeanwhile {
        values: found.count,
    }));
    reasons.extend(silence(told, &phase.stalls));
    reasons.extend(behind(told, phase));
    reasons
}

fn failures(told: &Subscriptions) -> Vec<Reason> {
    let mut failures = Vec::new();
    let ended = told.found("ended").map_or(0, |found| found.count);
    if told.subscriptions == 0 {
        failures.push(Reason::NoSubscription);
    } else if told.items == 0 {
        let status = refused_items(told).next().map(|it| it.name.clone());
        failures.push(Reason::NoItem { status });
    } else if told.count("received") == 0 && told.held.is_none() {
        failures.push(Reason::NothingCame {
            events: told.events.is_some(),
        });
    }
    if told.subscriptions > 0 && ended >= told.subscriptions {
        failures.push(Reason::SubscriptionsEnded(ended));
    }
    failures
}

/// When subscriptions heard nothing though something was owed to them.
fn silence(told: &Subscriptions, stalls: &[Stall]) -> Option<Reason> {
    // Without a request nothing can be published.
    if told.waited as f64 >= STARVED * told.count("publish_answered").max(1) as f64 {
        return None;
    }
    let changed = told
        .steps
        .iter()
        .any(|step| CHANGES.contains(&step.step.as_str()));
    let owed = |it: &Silence| {
        // Servers begin to count at the message or at the publishing after it.
        let keep_alive = it
            .keep_alive_ns
            .saturating_add(it.keep_alive_ns / 2 + SILENT_NS);
        let due = it.due_ns.filter(|_| told.held.is_none() && !changed);
        let due = due.map(|due| {
            let usual = due.max(it.usual_ns.unwrap_or(0));
            usual.saturating_mul(SILENT).max(SILENT_NS)
        });
        due.map_or(keep_alive, |due| due.min(keep_alive))
    };
    let stood = |it: &Silence| {
        let mut each: BTreeMap<_, u64> = BTreeMap::new();
        for stall in stalls {
            *each.entry(stall.of).or_default() += stall.within(it.from_ns, it.to_ns);
        }
        each.into_values().max().unwrap_or(0)
    };
    let silent = told
        .silences
        .iter()
        .filter(|it| it.length_ns().saturating_sub(stood(it)) > owed(it));
    let longest = silent.max_by_key(|it| it.length_ns())?;
    Some(Reason::Silence {
        from_ns: longest.from_ns,
        length_ns: longest.length_ns(),
        to_ns: (!longest.lasts).then_some(longest.to_ns),
    })
}

/// How a server shows that it did not keep up.
fn behind(told: &Subscriptions, phase: &Phase) -> Vec<Reason> {
    let mut reasons = Vec::new();
    let delivered = told.delivered().max(1) as f64;
    let late = told.count("late") as f64 / delivered;
    if late >= SHARE {
        reasons.push(Reason::Late { share: late });
    }
    if let Some((share, by_phase)) = short(told)
        && !(by_phase && is_idle(phase))
    {
        reasons.push(Reason::ShortOfChanges { share });
    }
    // Where the client itself holds items back or has subscriptions publish at another pace, neither pace
    // nor waiting is the server's doing.
    if told
        .steps
        .iter()
        .any(|step| CHANGES.contains(&step.step.as_str()))
    {
        return reasons;
    }
    // With two new values of each item in a message there is something to tell in each publishing, and
    // the mean interval is the server's pace. With fewer, a publishing may be without news and is left out:
    // only where nodes are known to change as often the shortest interval is the pace.
    let busiest = told.each.iter().filter(|it| it.arrival.count >= 10);
    let pace = busiest.filter_map(|it| {
        let wanted = it.publishing_ns.max(1) as f64;
        let each = it.values as f64 / f64::from(it.items.max(1));
        // Events come when they happen, many at once or none.
        let regular = told.events.is_none() && each >= 2.0 * it.messages as f64;
        let found = match regular {
            true => it.arrival.mean_ns?,
            false if it.news => it.arrival.min_ns as f64,
            false => return None,
        };
        Some((found / wanted, found, wanted))
    });
    // Without a request nothing can be published.
    let starved = told.waited as f64 >= STARVED * told.count("publish_answered").max(1) as f64;
    if let Some((pace, found, wanted)) = pace.max_by(|a, b| a.0.total_cmp(&b.0))
        && pace > PACE
        && !starved
    {
        reasons.push(Reason::SlowPublishing {
            found_ns: found,
            wanted_ns: wanted,
        });
    }
    let queueing = phase.total.histogram("queueing");
    let interval = told.each.iter().map(|it| it.publishing_ns).min();
    if let (Some(p99), Some(interval)) = (queueing.quantile(0.99), interval)
        && p99 > interval.max(50_000_000)
    {
        reasons.push(Reason::Queueing { p99_ns: p99 });
    }
    reasons
}

/// The share of the values that a change rate promises which did not come, where it says anything; and whether phases explain it.
fn short(told: &Subscriptions) -> Option<(f64, bool)> {
    let rate = told.by_rate.filter(|it| it.expected > 0)?;
    let short = rate.expected.saturating_sub(rate.came);
    let share = short as f64 / rate.expected as f64;
    (share >= SHARE).then_some((share, short <= rate.by_phase))
}

/// Whether the server is known to have had little to do.
fn is_idle(phase: &Phase) -> bool {
    let mut all = phase.resources.iter();
    let Some(server) = all.find(|it| it.who == "server") else {
        return false;
    };
    let cores = server.window.cpu_cores.known().zip(server.cores_allowed);
    cores.is_some_and(|(cores, allowed)| *cores < IDLE * allowed)
        && server
            .threads
            .iter()
            .all(|it| it.busiest.is_none_or(|busy| busy < IDLE))
}

/// What servers say of a filter that they do not take (Part 4, 5.13.2.4; Part 13, 5.3.2).
const FILTERS: [&str; 6] = [
    "BadAggregateNotSupported",
    "BadAggregateConfigurationRejected",
    "BadMonitoredItemFilterUnsupported",
    "BadMonitoredItemFilterInvalid",
    "BadFilterNotAllowed",
    "BadDeadbandFilterInvalid",
];

/// What would help, whatever the verdict is.
pub(crate) fn advice(told: &Subscriptions) -> Vec<&'static str> {
    let some = |name: &str| told.count(name) > 0;
    let refused = || refused_items(told).map(|it| it.name.as_str());
    let bad_filter = refused().any(|name| FILTERS.contains(&name));
    let rules = [
        (
            some("overflowed") || some("overflow_bits") && told.outcome == Outcome::Lost,
            "keep more values in the server with --queue, or fetch them more often with --publishing",
        ),
        (
            some("republish_refused"),
            "the server had forgotten messages that were asked for again: let it keep more, or \
             acknowledge later",
        ),
        (
            told.found("ended").is_some(),
            "let subscriptions live longer with --lifetime, and see in the server's log why they ended",
        ),
        (
            bad_filter,
            "the server takes no such filter on these nodes: --deadband with a percentage wants an EURange, \
             and numbers; --aggregate wants one of those that the server names below i=2997, and numbers; other \
             options are --deadband with a difference, and none",
        ),
        (
            told.subscriptions > 0 && told.items == 0 && !bad_filter,
            status::advice(refused().next().unwrap_or_default()),
        ),
        (
            told.silent > 0 && told.events.is_some(),
            "listen where the server tells of more: the Server object (i=2253), objects whose EventNotifier \
             has SubscribeToEvents",
        ),
        (
            told.silent > 0 && told.events.is_none() && told.held.is_none(),
            "look at the nodes that never reported: are they there, and do they change at all?",
        ),
    ];
    let rules = rules.into_iter().filter(|(holds, _)| *holds);
    rules.map(|(_, advice)| advice).collect()
}

/// Items and subscriptions that were asked for and are not there; the latter by status. Without any, that has
/// failed.
pub fn missing(told: &Subscriptions, refused: &[(String, u64)]) -> Vec<Missing> {
    let subscriptions = refused.iter().filter(|_| told.subscriptions > 0);
    let subscriptions = subscriptions.map(|(status, n)| Missing::Subscriptions {
        refused: *n,
        status: status.clone(),
    });
    let items = refused_items(told).filter(|_| told.items > 0);
    let items = items.map(|status| Missing::Items {
        refused: status.count,
        status: status.name.clone(),
    });
    subscriptions.chain(items).collect()
}

/// What became of items that were not created.
fn refused_items(told: &Subscriptions) -> impl Iterator<Item = &Status> {
    let items = told.ended.iter().filter(|it| it.what == "item");
    items.map(|it| &it.status)
}

/// What should be known of them.
pub(crate) fn notes(told: &Subscriptions, phase: &Phase) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some((share, true)) = short(told)
        && is_idle(phase)
    {
        notes.push(format!(
            "{} of the values that the change rate promises did not come, of a server that had little to do: values \
             change, are sampled and are published about as often, and where these meet one takes the place of another; \
             sample twice as often (--sampling), or keep more (--queue)",
            percent(share)
        ));
    }
    if let Some(why) = &told.held {
        notes.push(format!("nothing was to be reported: {why}"));
    } else if told.silent > 0 {
        let which = told.silent_items.first().and_then(|it| it.node.clone());
        let which = which.map_or_else(String::new, |node| format!(", {node} among them"));
        let items = if told.silent == 1 { "item" } else { "items" };
        notes.push(format!("{} {items} never reported{which}", told.silent));
    }
    if told.steps.iter().any(|step| step.step == "set_mode") {
        notes.push(
            "items were held back and let go on by --churn: delays are those of values kept meanwhile, \
             too"
                .into(),
        );
    }
    if told.clock.ahead > 0 {
        notes.push(format!(
            "{} values came before their timestamps: the clocks of both sides differ, delays are too short",
            told.clock.ahead
        ));
    }
    if told.count("stray") > 0 {
        notes.push(format!(
            "{} values were of no item of their subscription",
            told.count("stray")
        ));
    }
    if told.count("renumbered") > 0 {
        notes.push(
            "the server began to number messages anew: what is missing there is unknown".into(),
        );
    }
    let differ = told.beside.iter().filter(|beside| !beside.agrees());
    let unexplained = differ.filter(|beside| beside.because.is_none());
    for beside in unexplained {
        notes.push(format!(
            "{}: {} by the server's {}, {} by us",
            beside.what, beside.server, beside.source, beside.client
        ));
    }
    notes
}

/// Counts of plants, each between two of its ledgers (GroundTruth, as JSON), added up over all of them,
/// beside ours. Other clients of these plants are counted by them as well.
pub fn beside_ledgers(plants: &[(&Value, &Value)], told: &Subscriptions) -> Vec<CountComparison> {
    // Kinds of values that a plant has none of are not in its ledger, nor are counts that an older one does not keep.
    let total = |ledger: &Value, kind: &str, name: &str| {
        ledger["subscriptions"]["total"][kind][name]
            .as_u64()
            .unwrap_or(0)
    };
    let grown = |kind: &str, name: &str| -> u64 {
        let each = plants.iter().map(|(before, after)| {
            total(after, kind, name).saturating_sub(total(before, kind, name))
        });
        each.sum()
    };
    let messages = |name: &str| grown("messages", name);
    let values =
        |name: &str| grown("computed", name) + grown("stored", name) + grown("event", name);
    let mut rows = Vec::new();
    let mut add = |what: &str, server: u64, client: u64, because: &str| {
        let because = (server != client && !because.is_empty()).then(|| because.to_owned());
        rows.push(CountComparison {
            source: "ledger".to_owned(),
            what: what.to_owned(),
            server,
            client,
            because,
        });
    };
    let ours = |name: &str| told.count(name);
    let on_its_way = match messages("sent") + messages("republished") {
        sent if sent > ours("notifications").saturating_sub(ours("repeated_messages")) => {
            "in messages that were on their way when a connection or the run ended, or went to other clients of the plant"
        }
        _ => "",
    };
    add(
        "messages sent",
        messages("sent") + messages("repeated") + messages("republished"),
        ours("notifications"),
        on_its_way,
    );
    add(
        if told.events.is_some() {
            "events sent"
        } else {
            "values sent"
        },
        values("sent") + values("republished"),
        ours("received").saturating_sub(ours("repeated")),
        on_its_way,
    );
    add(
        "keep-alives",
        messages("keep_alives"),
        ours("keep_alives"),
        on_its_way,
    );
    add(
        "messages sent twice",
        messages("repeated"),
        ours("repeated_messages"),
        "",
    );
    add(
        "messages acknowledged",
        messages("acknowledged"),
        ours("acknowledged"),
        "acknowledged with the last requests, or by deleting the subscription",
    );
    if told.counters == told.items && told.counters > 0 {
        let ends = match told.count("unjudged") {
            0 => "before the first value of an item or behind its last",
            _ => "before the first value of an item, behind its last or while items were changed",
        };
        add(
            "values left out by a fault",
            values("lost"),
            ours("missing"),
            ends,
        );
        let overflowed = ours("overflowed") + ours("stalled");
        add("overflowed", values("overflowed"), overflowed, ends);
        add(
            "overwritten",
            values("overwritten"),
            ours("overwritten"),
            ends,
        );
        add(
            "sampled away",
            values("unsampled"),
            ours("sampled_away"),
            ends,
        );
    }
    rows
}

/// What went wrong in a plant on purpose between two of its ledgers: each fault, and how often it
/// struck.
pub fn faults(before: &Value, after: &Value) -> Vec<(String, u64)> {
    // A plant without faults has no list of them.
    let list = |ledger: &Value| ledger["faults"].as_array().cloned().unwrap_or_default();
    let known = list(before);
    let hits = |fault: &Value| fault["hits"].as_u64().unwrap_or(0);
    list(after)
        .iter()
        .filter_map(|fault| {
            let then = known
                .iter()
                .find(|it| it["id"] == fault["id"])
                .map_or(0, hits);
            let struck = hits(fault).saturating_sub(then);
            let name = fault["fault"].as_str()?.to_owned();
            (struck > 0).then_some((name, struck))
        })
        .collect()
}
