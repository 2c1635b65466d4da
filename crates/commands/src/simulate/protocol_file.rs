//! The run file of a simulated talk.

use std::time::Duration;

use anyhow::Context;
use plan::{Connect, ConnectKind, NodeSpec, Read, TargetSpec, Targets, Work};
use record::Timestamp;
use record::ledger::{BAD_TIMEOUT, Lateness, Ledger, Times};
use record::run::{
    Build, EvidenceTopic, Figure, Fingerprint, Kind, Mark, Part, Phase, Product, Run, Sum, Target,
    Verdict, WarmUp,
};
use serde_json::json;
use simulate::protocol::{ProtocolStep, SessionCourse, Side};

use super::files::BEGIN;
use super::protocol_result::SessionResult;
use super::scene;
use crate::quick::status_name;

/// What came of it, as a run that nobody measured.
pub fn run(result: &SessionResult, args: &scene::Args) -> anyhow::Result<Run> {
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
    let reads = result.reading.requests > 0;
    let command = if reads { "requests" } else { "handshake" };
    let mut run = Run::new(format!("simulate {command}"), at(0)?, machine);
    let begins = begins(result);
    let ends = std::iter::zip(&begins, &result.courses).map(|(at, it)| at + it.ended);
    let length = ends.max().unwrap_or(0).max(1);
    run.ended = at(length)?;
    run.request = json!({
        "link": args.link.to_string(),
        "security": result.set.protection.to_string(),
        "user": result.set.user,
        "sessions": result.sessions,
        "every_ns": result.every.map(|it| it.as_nanos() as u64),
        "requests": result.reading.requests,
        "batch": result.reading.batch,
        "value_bytes": result.reading.value.map(|it| it.0),
        "costs": result.set.costs,
        "seed": args.seed,
    });
    let url = result.set.scene.client.url.clone();
    let targets = Targets::resolve(&[url.parse::<TargetSpec>()?], |_| {
        Err(std::io::ErrorKind::NotFound.into())
    })?;
    run.plan = plan::Plan::of(targets, planned(result)?).to_value()?;
    run.targets = vec![Target {
        url,
        product: Product {
            name: Figure::Known("simulated uaperf plant".to_owned()),
            ..Product::default()
        },
        security: result.set.protection.to_string(),
        user: result.set.user.clone(),
        link: Some(args.link.to_string()).filter(|it| !it.is_empty()),
        ..Target::default()
    }];
    let mut phase = phase(result, &begins, at(0)?, length);
    phase.verdict = judged(result);
    run.verdict = phase.verdict.clone();
    run.phases = vec![phase];
    run.marks = vec![Mark::Simulated];
    if result.interrupted {
        run.marks.push(Mark::Interrupted);
    }
    run.notes = vec![format!("costs: {}", result.set.costs)];
    run.notes.extend(result.set.notes.iter().cloned());
    Ok(run)
}

/// When each session begins: those with links of their own one after the other.
fn begins(result: &SessionResult) -> Vec<u64> {
    let mut next = 0;
    let courses = result.courses.iter();
    courses
        .map(|it| match result.every {
            Some(_) => it.began,
            None => {
                let begins = next;
                next += it.ended;
                begins
            }
        })
        .collect()
}

fn planned(result: &SessionResult) -> anyhow::Result<plan::Phase> {
    let reading = &result.reading;
    let work = match reading.requests {
        0 => Work::Connect(Connect {
            reads: 0,
            ..Connect::new(match result.every {
                Some(Duration::ZERO) => ConnectKind::Storm,
                _ => ConnectKind::Churn,
            })
        }),
        _ => {
            let nodes: NodeSpec = format!("ns=1;i=1000..{}", 999 + reading.batch).parse()?;
            Work::Read(Read {
                batch: reading.batch,
                ..Read::new(nodes.into())
            })
        }
    };
    let mut phase = plan::Phase::new(work);
    phase.sessions = match (reading.requests, result.every) {
        (0, None) => 1,
        _ => result.sessions,
    };
    phase.duration = None;
    phase.requests = Some(u64::from(result.sessions) * u64::from(reading.requests.max(1)));
    phase.warmup = plan::Warmup::Given {
        warmup: Duration::ZERO,
    };
    Ok(phase)
}

/// An operation: when it began, how long it took, whether it went well.
type Done = (u64, u64, bool);

fn ledger(mut all: Vec<Done>, values: u32, length: u64) -> Ledger {
    all.sort_unstable_by_key(|it| it.0 + it.1);
    let mut ledger = Ledger::with_end(length + 1);
    for (sent, took, good) in all {
        let times = Times {
            planned: sent,
            sent,
            completed: sent + took,
        };
        ledger.late(sent, Lateness::default(), 1);
        match good {
            true => ledger.done(times, 0, values, 1),
            false => ledger.failed(times, BAD_TIMEOUT, 1),
        }
    }
    ledger
}

fn phase(result: &SessionResult, begins: &[u64], started: Timestamp, length: u64) -> Phase {
    let sessions = || std::iter::zip(begins, &result.courses);
    let of_step = |step: ProtocolStep| {
        let all = sessions().flat_map(|(at, it)| it.steps.iter().map(move |step| (*at, step)));
        let all = all.filter(|(_, it)| it.0 == step);
        all.map(|(at, it)| (at + it.1, it.2, true))
            .collect::<Vec<Done>>()
    };
    let reads = result.reading.requests > 0;
    let (all, values) = match reads {
        true => (of_step(ProtocolStep::Read), result.reading.batch),
        false => (
            sessions()
                .map(|(at, it)| {
                    let took = it.activation().unwrap_or(it.ended);
                    (*at, took, it.failed.is_none())
                })
                .collect(),
            0,
        ),
    };
    let mut total = ledger(all, values, length);
    for (at, course) in sessions() {
        for it in counted(course, reads) {
            let bytes = u32::try_from(it.bytes).unwrap_or(u32::MAX);
            match it.from {
                Side::Client => total.sent_bytes(at + it.at, bytes, 1),
                Side::Server => total.received_bytes(at + it.at, bytes, 1),
            }
        }
    }
    let warm_up = WarmUp {
        given_ns: Some(0),
        ..WarmUp::default()
    };
    let name = &|code| status_name(code);
    let mut phase = Phase::new("simulated", started, &total.finish(), warm_up, 0, name);
    if !reads {
        for step in ProtocolStep::ALL {
            let all = of_step(step);
            if !all.is_empty() {
                let tally = ledger(all, 0, length).finish();
                phase.parts.push(Part {
                    target: 0,
                    service: step.name().to_owned(),
                    sum: Sum::of(&tally.whole(), name),
                });
            }
        }
    }
    phase
}

/// The messages that count: of requests, or all.
fn counted(
    course: &SessionCourse,
    reads: bool,
) -> impl Iterator<Item = &simulate::protocol::Message> {
    let messages = course.messages.iter();
    messages.filter(move |it| !reads || it.step == ProtocolStep::Read)
}

fn judged(result: &SessionResult) -> Verdict {
    let mut verdict = Verdict::default();
    let (all, failed) = (
        result.courses.len(),
        result
            .courses
            .iter()
            .filter(|it| it.failed.is_some())
            .count(),
    );
    let (kind, about, text) = match failed {
        0 => (
            Kind::Valid,
            EvidenceTopic::SessionsLost,
            "each session went through all its steps".to_owned(),
        ),
        _ if failed == all => (
            Kind::Failed,
            EvidenceTopic::AllFailed,
            "no session went through all its steps".to_owned(),
        ),
        _ => (
            Kind::Incomplete,
            EvidenceTopic::SessionsLost,
            format!("{failed} of {all} sessions did not go through all their steps"),
        ),
    };
    verdict.kind = kind;
    verdict.add(about, text, "");
    verdict
}
