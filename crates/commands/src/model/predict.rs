//! `uaperf model predict`: what a load would cost.

use std::fmt::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use link::Spec;
use model::delay::{self, Delay};
use model::plant::Fanout;
use model::{Prediction, Security, Workload};
use plan::unit::{Percent, duration};
use serde::Serialize;

use super::amounts::Amounts;
use super::delays::{self, Begin};
use super::{input, show};
use crate::failure::Failure;
use crate::screen;

/// Predict what a server spends on loads
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A model file, or one that comes with the program: burger2019, plant, open62541, pyopcua, node-opcua
    #[arg(value_name = "MODEL")]
    model: PathBuf,
    /// Clients, with a session each; several numbers make a table [default: 1]
    #[arg(long, value_name = "N", value_delimiter = ',')]
    sessions: Vec<u32>,
    /// Of a publisher's model: NetworkMessages in a cycle, over which the points are dealt out; several numbers make a
    /// table
    #[arg(
        long,
        value_name = "N",
        value_delimiter = ',',
        conflicts_with = "sessions"
    )]
    groups: Vec<u32>,
    /// Of a publisher's model: DataSetMessages in each of them
    #[arg(long, value_name = "N", default_value_t = 1)]
    writers: u32,
    /// Points that the server has; several numbers make a table
    #[arg(long, value_name = "N", value_delimiter = ',')]
    points: Vec<u32>,
    /// Whether each point goes to one client or to each of them
    #[arg(long, value_name = "WHO")]
    fanout: Option<Who>,
    /// Subscriptions of each session, over which its items are dealt out
    #[arg(long, value_name = "N", default_value_t = 1)]
    subscriptions: u32,
    /// Publishing interval
    #[arg(long, value_name = "DURATION", value_parser = interval)]
    publishing: Option<Duration>,
    /// Sampling interval [default: the publishing interval]
    #[arg(long, value_name = "DURATION", value_parser = interval)]
    sampling: Option<Duration>,
    /// How often a value changes [default: the publishing interval]
    #[arg(long, value_name = "DURATION", value_parser = interval)]
    change: Option<Duration>,
    /// Values that the server keeps for each item
    #[arg(long, value_name = "N", default_value_t = 1)]
    queue: u32,
    /// Read requests per second of all sessions together
    #[arg(long, value_name = "N", default_value_t = 0.0)]
    reads: f64,
    /// Write requests per second of all sessions together
    #[arg(long, value_name = "N", default_value_t = 0.0)]
    writes: f64,
    /// Values in each of these requests
    #[arg(long, value_name = "N", default_value_t = 1)]
    batch: u32,
    /// Bytes of a value [default: 8; of a publisher 4, as a Float]
    #[arg(long, value_name = "N")]
    value_bytes: Option<u32>,
    /// none, Sign or SignAndEncrypt
    #[arg(long, value_name = "MODE", default_value = "none")]
    security: Security,
    /// When the publishing intervals of clients begin, for the delay of values
    #[arg(long, value_name = "HOW", default_value = "random")]
    phases: Begin,
    /// The link between the server and each client, for the delay of values: delay=5ms, 10Mbit/s
    #[arg(long, value_name = "SPEC")]
    link: Option<Spec>,
    /// How often the interval shall hold
    #[arg(long, value_name = "PERCENT", default_value = "95%")]
    interval: Percent,
    /// Print predictions as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Who {
    /// Each point goes to one client
    Share,
    /// Each point goes to each client
    All,
}

impl From<Who> for Fanout {
    fn from(who: Who) -> Self {
        match who {
            Who::Share => Self::Share,
            Who::All => Self::All,
        }
    }
}

pub fn interval(text: &str) -> Result<Duration, String> {
    match duration::parse(text) {
        Ok(Duration::ZERO) => Err("want more than 0".to_owned()),
        Ok(it) => Ok(it),
        Err(error) => Err(error.to_string()),
    }
}

/// The probability that an interval is to hold with.
pub fn level(interval: Percent) -> Result<f64, Failure> {
    let level = interval.fraction();
    match (0.5..1.0).contains(&level) {
        true => Ok(level),
        false => Err(Failure::usage(format!(
            "--interval {interval}: want 50% or more, and less than 100%"
        ))),
    }
}

/// A load and what is said of it.
#[derive(Debug, Serialize)]
struct Predicted {
    sessions: u32,
    points: u32,
    workload: Workload,
    prediction: Prediction,
    #[serde(flatten)]
    amounts: Amounts,
    /// How long values are on their way; none where nothing is published, or one core cannot do it.
    #[serde(skip_serializing_if = "Option::is_none")]
    delay: Option<Delay>,
}

impl Predicted {
    /// Whether clients subscribe to it.
    fn notifies(&self) -> bool {
        self.workload.pubsub.is_none() && self.workload.messages_per_s() > 0.0
    }
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let model = input::model(&args.model)?;
    let level = level(args.interval)?;
    let mut all = Vec::new();
    let points = match args.points.is_empty() {
        true => &vec![0],
        false => &args.points,
    };
    args.check(model.data.pubsub.is_some())?;
    // One of them is given, or neither.
    let numbers = [&args.sessions[..], &args.groups].concat();
    let numbers = match numbers.is_empty() {
        true => vec![1],
        false => numbers,
    };
    for sessions in numbers {
        for &points in points {
            let workload = match &model.data.pubsub {
                None => args.workload(sessions, points)?,
                Some(encoding) => args.published(encoding, sessions, points)?,
            };
            let prediction = model.predict(&workload, level);
            let (phases, link) = (args.phases.into(), args.link.as_ref());
            all.push(Predicted {
                sessions,
                points,
                delay: match model.data.pubsub {
                    None => delay::predicted(&model, &workload, &prediction, phases, link),
                    Some(_) => None,
                },
                prediction,
                amounts: Amounts::of(&model, &workload, level),
                workload,
            });
        }
    }
    screen::print(&all, args.json, |out, all| draw(out, all))?;
    Ok(ExitCode::SUCCESS)
}

impl Args {
    /// What is given has to make sense for the model.
    fn check(&self, of_publisher: bool) -> Result<(), Failure> {
        let of_servers = [
            ("--sessions", !self.sessions.is_empty()),
            ("--fanout", self.fanout.is_some()),
            ("--sampling", self.sampling.is_some()),
            ("--change", self.change.is_some()),
            ("--reads", self.reads > 0.0),
            ("--writes", self.writes > 0.0),
            ("--link", self.link.is_some()),
        ];
        let of_publishers = [
            ("--groups", !self.groups.is_empty()),
            ("--writers", self.writers > 1),
        ];
        let (strange, whose) = match of_publisher {
            true => (&of_servers[..], "a publisher"),
            false => (&of_publishers[..], "a server"),
        };
        match strange.iter().find(|(_, given)| *given) {
            None => Ok(()),
            Some((option, _)) => Err(Failure::usage(format!(
                "{option}: the model is one of {whose}"
            ))
            .hint("clients of a server: --sessions; messages of a publisher: --groups")),
        }
    }

    /// What a publisher sends.
    fn published(&self, encoding: &str, groups: u32, points: u32) -> Result<Workload, Failure> {
        let (Some(interval), 1.., 1.., 1..) = (self.publishing, groups, self.writers, points)
        else {
            return Err(
                Failure::usage("a publisher's model wants --points and --publishing")
                    .hint("so many signals every cycle: --points 1000 --publishing 10ms"),
            );
        };
        let messages = f64::from(groups);
        let sets = f64::from(self.writers);
        let fields = f64::from(points) / messages / sets;
        let ms = interval.as_secs_f64() * 1e3;
        Ok(Workload {
            subscriptions: sets,
            payload_bytes: self.value_bytes.map_or(4.0, f64::from),
            security: self.security,
            ..Workload::of_publisher(encoding, messages, fields, ms)
        })
    }

    fn workload(&self, sessions: u32, points: u32) -> Result<Workload, Failure> {
        let numbers = [self.reads, self.writes];
        if numbers.iter().any(|it| !(*it >= 0.0 && it.is_finite())) {
            return Err(Failure::usage("--reads and --writes: want 0 or more"));
        }
        let idle = Workload {
            sessions: f64::from(sessions),
            reads_per_s: self.reads,
            writes_per_s: self.writes,
            batch: f64::from(self.batch),
            queue: f64::from(self.queue),
            payload_bytes: self.value_bytes.map_or(8.0, f64::from),
            security: self.security,
            ..Workload::idle()
        };
        if points == 0 || sessions == 0 {
            return Ok(idle);
        }
        let Some(publishing) = self.publishing else {
            return Err(Failure::usage("--points without --publishing")
                .hint("how often subscriptions publish: --publishing 100ms"));
        };
        let each = match (self.fanout, sessions) {
            (_, 1) | (Some(Who::All), _) => f64::from(points),
            (Some(Who::Share), _) => f64::from(points) / f64::from(sessions),
            (None, _) => {
                return Err(Failure::usage("--points for several sessions, without --fanout").hint(
                    "--fanout share where each point goes to one client, all where each gets all",
                ));
            }
        };
        let subscriptions = f64::from(self.subscriptions.max(1));
        let ms = |it: Option<Duration>| it.unwrap_or(publishing).as_secs_f64() * 1e3;
        Ok(Workload {
            subscriptions,
            items: each / subscriptions,
            publishing_ms: ms(None),
            sampling_ms: ms(self.sampling),
            change_ms: ms(self.change),
            variables: f64::from(points),
            ..idle
        })
    }
}

fn draw(out: &mut String, all: &[Predicted]) -> fmt::Result {
    let level = all.first().map_or(0.0, |it| it.prediction.level);
    writeln!(
        out,
        "{:>8}{:>10}{:>14}{:>22}{:>16}",
        sessions(all),
        "points",
        "CPU",
        format!("{:.0} % interval", level * 100.0),
        "as Burger 2019"
    )?;
    for it in all {
        let found = &it.prediction;
        let paper = found
            .paper_percent
            .map_or_else(|| "n/a".to_owned(), |it| format!("{it:.1} %"));
        writeln!(
            out,
            "{:>8}{:>10}{:>14}{:>22}{paper:>16}  {}",
            it.sessions,
            it.points,
            format!("{:.1} %", found.cpu_percent),
            format!("{:.1} to {:.1} %", found.low, found.high),
            place(found)
        )?;
    }
    match all {
        [it] => {
            costs(out, &it.prediction)?;
            it.amounts.draw(out, "", 12)?;
            if it.notifies() {
                delays::draw(out, "", 12, it.delay.as_ref())?;
            }
        }
        several => {
            let cells = |it: &Predicted| it.amounts.cells();
            table(out, several, &format!("{:>36}", "memory, sent"), cells)?;
            let cells = |it: &Predicted| match it.notifies() {
                true => delays::cells(it.delay.as_ref()),
                false => String::new(),
            };
            table(
                out,
                several,
                &format!("{:>14}{:>14}", "delay p50", "p95"),
                cells,
            )?;
        }
    }
    let mut unknown: Vec<&String> = all.iter().flat_map(|it| &it.prediction.unknown).collect();
    unknown.sort();
    unknown.dedup();
    for it in unknown {
        show::wrapped(out, &format!("not known   {it}"))?;
    }
    Ok(())
}

/// What the loads have so many of.
fn sessions(all: &[Predicted]) -> &'static str {
    match all.iter().any(|it| it.workload.pubsub.is_some()) {
        true => "groups",
        false => "sessions",
    }
}

/// What else is said of several loads: nothing where there is nothing to say.
fn table(
    out: &mut String,
    all: &[Predicted],
    head: &str,
    cells: impl Fn(&Predicted) -> String,
) -> fmt::Result {
    let lines: Vec<_> = all.iter().map(|it| (it, cells(it))).collect();
    if lines.iter().all(|(_, cells)| cells.is_empty()) {
        return Ok(());
    }
    writeln!(out, "\n{:>8}{:>10}{head}", sessions(all), "points")?;
    for (it, cells) in lines.into_iter().filter(|(_, cells)| !cells.is_empty()) {
        writeln!(out, "{:>8}{:>10}{cells}", it.sessions, it.points)?;
    }
    Ok(())
}

/// Where a prediction lies.
pub fn place(found: &Prediction) -> String {
    match found.extrapolated {
        Some((factor, term)) => format!("{factor:.1} x the {}s measured", term.name()),
        None if found.unusual => "an unusual mix".to_owned(),
        None if !found.unknown.is_empty() => "costs missing".to_owned(),
        None => "inside".to_owned(),
    }
}

/// What the largest costs are.
pub fn costs(out: &mut String, found: &Prediction) -> fmt::Result {
    let all: f64 = found.parts.iter().map(|it| it.1).sum();
    if all > 0.0 {
        let parts = found.parts.iter();
        let parts = parts.map(|(term, us)| format!("{} {:.0} %", term.name(), us / all * 100.0));
        let parts: Vec<String> = parts.collect();
        show::wrapped(out, &format!("goes to     {}", parts.join(", ")))?;
    }
    if let Some(factor) = found.corrected {
        writeln!(
            out,
            "corrected   the sum of costs by {:+.1} %, as loads like it were",
            (factor - 1.0) * 100.0
        )?;
    }
    Ok(())
}
