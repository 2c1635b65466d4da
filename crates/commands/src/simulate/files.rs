//! Run files of what nobody measured, marked so.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use model::plant::{Fanout, Node, Plant};
use plan::unit::Rate;
use plan::{NodeSpec, Sampling, Spread, Subscribe, TargetSpec, Targets, Work};
use record::run::{
    Build, ClockBound, Destination, EvidenceTopic, Figure, Fingerprint, Incident, Kind, Mark,
    Outcome as Losses, Phase, Product, Run, Subscriptions, Target, Usage, UsageSeries, Verdict,
    WarmUp,
};
use record::{Measure, Timestamp};
use serde_json::json;
use simulate::{Group, Outcome};

use super::world::World;
use crate::quick::status_name;

/// Simulated time begins here, so that the same seed makes the same file: the first second of 2000.
pub const BEGIN: i128 = 946_684_800_000_000_000;

/// More servers than these are only counted.
const TARGETS: u32 = 1_000;

/// Writes a run file for each book; how many.
pub fn write(
    it: &World,
    plant: &Plant,
    outcome: Outcome,
    interrupted: bool,
    folder: &Path,
) -> anyhow::Result<usize> {
    let (length, look) = (outcome.length, outcome.look_every);
    let count = outcome.groups.len();
    for group in outcome.groups {
        let node = &plant.nodes[group.kind];
        let name = file_name(node, &group);
        let mut run = run(it, plant, node, group, length, look)
            .with_context(|| format!("cannot make the run file {name}"))?;
        if interrupted {
            run.marks.push(Mark::Interrupted);
        }
        run.write(&Destination::File(folder.join(name)))?;
    }
    Ok(count)
}

/// A name that files and hosts may have.
fn plain(name: &str) -> String {
    let plain = name.chars().map(|c| match c.is_ascii_alphanumeric() {
        true => c.to_ascii_lowercase(),
        false => '-',
    });
    plain.collect()
}

fn file_name(node: &Node, group: &Group) -> String {
    let mut name = plain(&node.name);
    for number in [group.node, group.client].into_iter().flatten() {
        name += &format!("-{}", number + 1);
    }
    name + ".json"
}

fn run(
    it: &World,
    plant: &Plant,
    node: &Node,
    group: Group,
    length: u64,
    look: u64,
) -> anyhow::Result<Run> {
    let at =
        |ns: u64| Timestamp::from_unix_ns(BEGIN + i128::from(ns)).context("a time beyond time");
    let machine = Fingerprint {
        host: Figure::missing("simulated"),
        build: Build {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            ..Build::default()
        },
        ..Fingerprint::default()
    };
    let mut run = Run::new("simulate plant", at(0)?, machine);
    run.ended = at(length)?;
    run.request = json!({
        "plant": plant,
        "kind": node.name,
        "node": group.node.map(|it| it + 1),
        "client": group.client.map(|it| it + 1),
        "seed": it.world.seed,
        "costs": it.costs,
    });
    let servers = match group.node {
        Some(number) => number + 1..number + 2,
        None => 1..node.count.min(TARGETS) + 1,
    };
    let urls =
        servers.map(|number| format!("opc.tcp://{}-{number}.simulated:4840", plain(&node.name)));
    let urls: Vec<String> = urls.collect();
    let specs = urls.iter().map(|url| url.parse::<TargetSpec>());
    let targets = Targets::resolve(&specs.collect::<Result<Vec<_>, _>>()?, |_| {
        Err(std::io::ErrorKind::NotFound.into())
    })?;
    run.plan = plan::Plan::of(targets, planned(node, &group, length)?).to_value()?;
    let product = Product {
        name: Figure::Known(format!("simulated {}", node.name)),
        ..Product::default()
    };
    let link = plant
        .links
        .iter()
        .find(|link| Some(&link.name) == node.link.as_ref());
    run.targets = urls
        .into_iter()
        .map(|url| Target {
            url,
            product: product.clone(),
            security: node.security.to_string(),
            user: "anonymous".to_owned(),
            link: link.map(|it| it.link.clone()),
            ..Target::default()
        })
        .collect();
    let phase = phase(node, group, at(0)?, length, look);
    run.verdict = phase.verdict.clone();
    run.phases = vec![phase];
    run.marks = vec![Mark::Simulated];
    run.notes = it.notes.clone();
    run.notes.insert(0, format!("costs: {}", it.costs));
    if node.count > TARGETS && run.targets.len() as u32 == TARGETS {
        run.notes.push(format!(
            "{} servers, of which {TARGETS} are named",
            node.count
        ));
    }
    Ok(run)
}

fn planned(node: &Node, group: &Group, length: u64) -> anyhow::Result<plan::Phase> {
    let points = node.points as u32;
    let nodes: NodeSpec = format!("ns=1;i=1..{points}").parse()?;
    let duration = |ms: f64| Duration::from_nanos((ms * 1e6).round() as u64);
    let mut work = Subscribe::new(nodes.into());
    work.publishing = duration(node.publishing_ms);
    work.sampling = match node.sampling_ms == node.publishing_ms {
        true => Sampling::Publishing,
        false => Sampling::Every(duration(node.sampling_ms)),
    };
    work.change_rate = Rate::new(1, (node.change_ms * 1e6).round() as u64);
    let mut phase = plan::Phase::new(Work::Subscribe(Box::new(work)));
    phase.sessions = match group.client {
        Some(_) => 1,
        None => node.clients as u32,
    };
    phase.spread = match node.fanout {
        Fanout::Share => Spread::Split,
        Fanout::All => Spread::All,
    };
    phase.duration = Some(Duration::from_nanos(length));
    phase.warmup = plan::Warmup::Given {
        warmup: Duration::ZERO,
    };
    Ok(phase)
}

fn phase(node: &Node, group: Group, started: Timestamp, length: u64, look: u64) -> Phase {
    let warm_up = WarmUp {
        given_ns: Some(0),
        ..WarmUp::default()
    };
    let name = &|code| status_name(code);
    let mut phase = Phase::new("simulated", started, &group.tally, warm_up, 0, name);
    let (told, verdict) = (subscriptions(&group), judged(node, &group, &phase));
    phase.subscriptions = Some(told);
    phase.verdict = verdict;
    let rows = group.cpu_cores.len();
    let at: Vec<u64> = (1..=rows as u64).map(|n| (n * look).min(length)).collect();
    let mut before = 0;
    let spent = std::iter::zip(&group.cpu_cores, &at)
        .map(|(cores, &at)| cores * (at - std::mem::replace(&mut before, at)) as f64);
    let spent: f64 = spent.sum();
    phase.resources = vec![UsageSeries {
        who: "server".to_owned(),
        window: Usage {
            cpu_ns: Figure::Known(spent as u64),
            cpu_cores: Figure::Known(spent / length.max(1) as f64),
            ..Usage::default()
        },
        cpu_cores: group.cpu_cores.iter().map(|it| Some(*it)).collect(),
        rss_bytes: vec![None; rows],
        at_ns: at,
        ..UsageSeries::default()
    }];
    phase
}

fn subscriptions(group: &Group) -> Subscriptions {
    let it = &group.totals;
    let lost = it.overwritten + it.missed;
    let some = |pairs: &[(&str, u64)]| -> BTreeMap<String, u64> {
        let some = pairs.iter().filter(|(_, n)| *n > 0);
        some.map(|(name, n)| ((*name).to_owned(), *n)).collect()
    };
    let causes = [("overwritten", it.overwritten), ("outage", it.missed)];
    let causes = causes.into_iter().filter(|(_, count)| *count > 0);
    Subscriptions {
        outcome: match lost {
            0 => Losses::Lossless,
            _ => Losses::Lost,
        },
        lost,
        rests_on: vec!["simulated: it is known what was sent and what arrived".to_owned()],
        causes: causes
            .map(|(cause, count)| Incident {
                cause: cause.to_owned(),
                count,
                first: None,
            })
            .collect(),
        subscriptions: group.sessions,
        items: group.items,
        values: some(&[
            ("received", it.values),
            ("in_order", it.values - it.recovered),
            ("recovered", it.recovered),
        ]),
        messages: some(&[
            ("notifications", it.messages),
            ("publish_sent", it.messages),
            ("publish_answered", it.messages),
            ("bytes", it.bytes),
            ("value_bytes", it.bytes),
            ("cut", it.cut),
            ("resumed", it.resumed),
            ("recreated", it.renewed),
        ]),
        waited: it.waited,
        outages: group.outages.clone(),
        bytes_per_value: (it.values > 0).then(|| it.bytes as f64 / it.values as f64),
        clock: ClockBound {
            error_ns: Figure::Known(0),
            ..ClockBound::default()
        },
        ..Subscriptions::default()
    }
}

/// Publishings that were skipped, from which share on a server does not keep up.
const SKIPPED: f64 = 0.01;

/// By the rules that measured runs have, as far as there is anything to apply them to.
fn judged(node: &Node, group: &Group, phase: &Phase) -> Verdict {
    let it = &group.totals;
    let mut verdict = Verdict::default();
    let asked = (it.messages + it.skipped).max(1) as f64;
    let share = it.skipped as f64 / asked;
    let queueing = phase
        .total
        .histogram(Measure::Queueing.name())
        .quantile(0.99);
    let publishing = (node.publishing_ms * 1e6) as u64;
    let (kind, about, text) = if it.messages == 0 {
        (
            Kind::Failed,
            EvidenceTopic::NothingCame,
            "no message came".to_owned(),
        )
    } else if it.left_away > 0 {
        let (away, of) = (it.left_away, group.sessions);
        let text = format!("{away} of {of} clients have no connection in the end");
        (Kind::Incomplete, EvidenceTopic::LostSessions, text)
    } else if share >= SKIPPED || queueing.is_some_and(|it| it > publishing) {
        let text = format!(
            "{:.1} % of publishings were skipped because the message before was not made yet; values queued for {} (p99)",
            share * 100.0,
            queueing.map_or_else(|| "n/a".to_owned(), plan::unit::duration::show_ns)
        );
        (Kind::ServerSaturated, EvidenceTopic::Queueing, text)
    } else {
        let text = "each message was made in its interval".to_owned();
        (Kind::Valid, EvidenceTopic::Queueing, text)
    };
    verdict.kind = kind;
    verdict.add(about, text, "");
    verdict
}
