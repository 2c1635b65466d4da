//! What a simulated talk says, on a screen and as JSON.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};

use plan::unit::duration::show_ns;
use record::average::mean;
use serde::Serialize;
use simulate::protocol::{Message, ProtocolStep, SessionCourse, Side};
use wire::url::Transport;

use super::protocol_result::SessionResult;
use super::scene;
use crate::model::wrapped;

/// What came of it.
#[derive(Debug, Serialize)]
pub struct Summary {
    simulated: bool,
    transport: &'static str,
    link: String,
    security: String,
    user: String,
    costs: String,
    seed: u64,
    sessions: usize,
    failed: usize,
    /// Why, and how many of them.
    failures: BTreeMap<String, usize>,
    /// Sessions in which TCP sent something again.
    with_loss: usize,
    sent_again: u64,
    /// From the first segment to the activated session.
    activation: Option<Times>,
    steps: Vec<OfStep>,
    /// Of the first session that went well.
    messages: Vec<OfMessage>,
    /// Mean bytes of a session on the line, headers among them: up and down.
    on_line: Option<[f64; 2]>,
    notes: Vec<String>,
}

/// Times of many.
#[derive(Debug, Clone, Serialize)]
pub struct Times {
    pub mean_ns: f64,
    pub p50_ns: u64,
    pub p95_ns: u64,
    pub p99_ns: u64,
    pub max_ns: u64,
}

impl Times {
    pub fn of(mut all: Vec<u64>) -> Option<Self> {
        all.sort_unstable();
        let max_ns = *all.last()?;
        let quantile = |q: f64| {
            let rank = (q * all.len() as f64).ceil() as usize;
            all.get(rank.saturating_sub(1)).copied().unwrap_or(max_ns)
        };
        Some(Self {
            mean_ns: mean(all.iter().map(|&it| it as f64))?,
            p50_ns: quantile(0.5),
            p95_ns: quantile(0.95),
            p99_ns: quantile(0.99),
            max_ns,
        })
    }
}

#[derive(Debug, Serialize)]
struct OfStep {
    step: &'static str,
    count: usize,
    #[serde(flatten)]
    times: Times,
    /// Bytes of its messages in the first session that went well: up and down.
    bytes: [usize; 2],
}

#[derive(Debug, Serialize)]
struct OfMessage {
    at_ns: u64,
    from: &'static str,
    kind: String,
    bytes: usize,
    step: &'static str,
}

/// Messages of a session that are shown; a session of many requests has more.
const SHOWN: usize = 40;

impl Summary {
    pub fn of(result: &SessionResult, args: &scene::Args) -> Self {
        let good = |it: &&SessionCourse| it.failed.is_none();
        let first = result.courses.iter().find(good);
        let steps = ProtocolStep::ALL.into_iter().filter_map(|step| {
            let of_step = result.courses.iter().flat_map(|it| &it.steps);
            let all: Vec<u64> = of_step.filter(|it| it.0 == step).map(|it| it.2).collect();
            let messages = first.into_iter().flat_map(|it| &it.messages);
            let mut bytes = [0; 2];
            for it in messages.filter(|it| it.step == step) {
                match it.from {
                    Side::Client => bytes[0] += it.bytes,
                    Side::Server => bytes[1] += it.bytes,
                }
            }
            Some(OfStep {
                step: step.name(),
                count: all.len(),
                times: Times::of(all)?,
                bytes,
            })
        });
        let mut failures = BTreeMap::new();
        for why in result.courses.iter().filter_map(|it| it.failed.clone()) {
            *failures.entry(why).or_insert(0) += 1;
        }
        let on_line: Vec<[u64; 2]> = result.courses.iter().filter_map(|it| it.on_line).collect();
        let mean = |way: usize| mean(on_line.iter().map(|it| it[way] as f64));
        let activation = result.courses.iter().filter(good);
        Self {
            simulated: true,
            transport: args.transport.scheme(),
            link: args.link.to_string(),
            security: result.set.protection.to_string(),
            user: result.set.user.clone(),
            costs: result.set.costs.clone(),
            seed: args.seed,
            sessions: result.courses.len(),
            failed: result
                .courses
                .iter()
                .filter(|it| it.failed.is_some())
                .count(),
            failures,
            with_loss: result.courses.iter().filter(|it| it.sent_again > 0).count(),
            sent_again: result.courses.iter().map(|it| it.sent_again).sum(),
            activation: Times::of(activation.filter_map(SessionCourse::activation).collect()),
            steps: steps.collect(),
            messages: first
                .map(|it| it.messages.iter().take(SHOWN).map(message).collect())
                .unwrap_or_default(),
            on_line: mean(0).zip(mean(1)).map(Into::into),
            notes: result.set.notes.clone(),
        }
    }
}

fn message(it: &Message) -> OfMessage {
    OfMessage {
        at_ns: it.at,
        from: match it.from {
            Side::Client => "client",
            Side::Server => "server",
        },
        kind: String::from_utf8_lossy(&it.kind).into_owned(),
        bytes: it.bytes,
        step: it.step.name(),
    }
}

pub fn draw(out: &mut String, it: &Summary) -> fmt::Result {
    let sessions = if it.sessions == 1 {
        "session"
    } else {
        "sessions"
    };
    writeln!(
        out,
        "SIMULATED {} {sessions}, seed {}",
        it.sessions, it.seed
    )?;
    let link = if it.link.is_empty() { "none" } else { &it.link };
    writeln!(out, "link        {link}")?;
    if it.transport != Transport::Tcp.scheme() {
        writeln!(out, "transport   {}", it.transport)?;
    }
    writeln!(out, "security    {}, user {}", it.security, it.user)?;
    writeln!(out, "costs       {}", it.costs)?;
    for (why, count) in &it.failures {
        writeln!(out, "failed      {count}: {why}")?;
    }
    if it.sent_again > 0 {
        writeln!(
            out,
            "loss        TCP sent {} segments again, in {} of {} {sessions}",
            it.sent_again, it.with_loss, it.sessions
        )?;
    }
    let widths = "step                  count        mean         p50         p95         max   bytes up    down";
    writeln!(out, "\n{widths}")?;
    for step in &it.steps {
        row(out, step.step, step.count, &step.times, Some(step.bytes))?;
    }
    if let Some(times) = &it.activation {
        let count = it.sessions - it.failed;
        row(out, "connecting in all", count, times, None)?;
    }
    if let Some([up, down]) = it.on_line {
        writeln!(
            out,
            "\non the line {up:.0} bytes up and {down:.0} down a session, with headers and what was sent again"
        )?;
    }
    writeln!(out)?;
    if !it.messages.is_empty() {
        writeln!(out, "messages of the first session")?;
    }
    for message in &it.messages {
        let at = show_ns(message.at_ns);
        let arrow = if message.from == "client" { "->" } else { "<-" };
        writeln!(
            out,
            "  {at:>10}  {arrow} {} {:>7} B  {}",
            message.kind, message.bytes, message.step
        )?;
    }
    for note in &it.notes {
        wrapped(out, note)?;
    }
    wrapped(
        out,
        "Nothing of this was measured. The bytes are those of our client and server; TCP, the link and what cryptography takes are computed.",
    )
}

fn row(
    out: &mut String,
    name: &str,
    count: usize,
    times: &Times,
    bytes: Option<[usize; 2]>,
) -> fmt::Result {
    let mean = show_ns(times.mean_ns as u64);
    let (p50, p95, max) = (
        show_ns(times.p50_ns),
        show_ns(times.p95_ns),
        show_ns(times.max_ns),
    );
    write!(
        out,
        "{name:<20}{count:>7}{mean:>12}{p50:>12}{p95:>12}{max:>12}"
    )?;
    match bytes {
        Some([up, down]) => writeln!(out, "{up:>11}{down:>8}"),
        None => writeln!(out),
    }
}
