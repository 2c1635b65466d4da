//! `uaperf model next`: which loads to measure for the narrowest intervals of loads that matter.

use std::fmt::{self, Write as _};
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use model::next::{Advice, Interval, Limit, next};
use model::plant::{Fanout, Plant, parse_percent};
use model::{Model, Security, Term, Workload};
use plan::unit::duration::typed;
use plan::unit::{Percent, share};
use serde::Serialize;

use super::campaign::{Campaign, Load};
use super::predict::{Who, interval, level, place};
use super::{input, show};
use crate::failure::Failure;
use crate::{lost, screen, written};

/// Choose which loads to measure next, for the narrowest intervals of a plant or of loads that are named
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A model file, or one that comes with the program: burger2019, plant, open62541, pyopcua, node-opcua
    #[arg(value_name = "MODEL")]
    model: PathBuf,
    /// The plant whose intervals shall become narrow
    #[arg(long, value_name = "PLANT.toml", conflicts_with_all = ["sessions", "points", "publishing"])]
    plant: Option<PathBuf>,
    /// Instead of a plant: clients, with a session each
    #[arg(long, value_name = "N", value_delimiter = ',', requires_all = ["points", "publishing", "fanout"])]
    sessions: Vec<u32>,
    /// Points that the server has
    #[arg(long, value_name = "N", value_delimiter = ',', requires = "sessions")]
    points: Vec<u32>,
    /// Whether each point goes to one client or to each of them; of a plant, instead of what the file says
    #[arg(long, value_name = "WHO")]
    fanout: Option<Who>,
    /// Publishing interval, also of sampling and changes
    #[arg(long, value_name = "DURATION", value_delimiter = ',', value_parser = interval, requires = "sessions")]
    publishing: Vec<Duration>,
    /// none, Sign or SignAndEncrypt
    #[arg(long, value_name = "MODE", requires = "sessions")]
    security: Option<Security>,
    /// Numbers of clients that can be measured [default: 1, 2, 5, 10, … up to the largest that was or is asked for]
    #[arg(long, value_name = "N", value_delimiter = ',')]
    try_sessions: Vec<u32>,
    /// Numbers of points that can be measured [default: likewise]
    #[arg(long, value_name = "N", value_delimiter = ',')]
    try_points: Vec<u32>,
    /// Publishing intervals that can be measured [default: those asked for, twice and five times as long]
    #[arg(long, value_name = "DURATION", value_delimiter = ',', value_parser = interval)]
    try_publishing: Vec<Duration>,
    /// What a load may spend, of a core
    #[arg(long, value_name = "PERCENT", default_value = "90%")]
    cpu_limit: String,
    /// How many loads
    #[arg(long, value_name = "N", default_value_t = 5)]
    runs: usize,
    /// How often each of them
    #[arg(long, value_name = "N", default_value_t = 3)]
    repeat: u32,
    /// How long each of them
    #[arg(long, value_name = "DURATION", default_value = "20s", value_parser = interval)]
    duration: Duration,
    /// How often intervals shall hold
    #[arg(long, value_name = "PERCENT", default_value = "95%")]
    interval: Percent,
    /// Write the loads as a scenario; - for standard output
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Print it as JSON
    #[arg(long)]
    json: bool,
}

/// A load that matters.
#[derive(Debug, Serialize)]
struct Target {
    name: String,
    workload: Workload,
    #[serde(skip)]
    shape: Shape,
}

/// What loads have in common that tell of it.
#[derive(Debug, Clone, PartialEq)]
struct Shape {
    publishing: Duration,
    sampling: Duration,
    change: Duration,
    who: Who,
    security: Security,
}

/// What is printed.
#[derive(Debug, Serialize)]
struct Answer {
    targets: Vec<Target>,
    loads: Vec<Named>,
    #[serde(flatten)]
    advice: Advice,
    /// By how much runs of the same differ, where that is known.
    noise: Option<f64>,
}

/// A load that was chosen, as people call it.
#[derive(Debug, Serialize)]
struct Named {
    sessions: u32,
    points: u32,
    publishing: String,
    fanout: Fanout,
    security: Security,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    written::check(
        [("--out", &args.out)],
        &args.plant.iter().cloned().collect::<Vec<_>>(),
    )?;
    if args.runs == 0 || args.repeat == 0 {
        return Err(Failure::usage("--runs and --repeat: want 1 or more").into());
    }
    let limit = parse_percent(&args.cpu_limit).ok_or_else(|| {
        Failure::usage(format!(
            "--cpu-limit {}: want more than 0% and at most 100%",
            args.cpu_limit
        ))
    })?;
    let model = input::server_model(&args.model)?;
    let targets = args.targets()?;
    let loads = args.loads(&model, &targets);
    let workloads: Vec<Workload> = loads.iter().map(Load::workload).collect();
    let wanted: Vec<Workload> = targets.iter().map(|it| it.workload.clone()).collect();
    let asked = (args.runs, limit);
    let advice = next(&model, &wanted, &workloads, asked, level(args.interval)?);
    if advice.steps.is_empty() {
        let what = format!(
            "none of {} loads is expected below {limit} % of a core",
            loads.len()
        );
        return Err(Failure::new(what)
            .hint("use smaller --try-sessions and --try-points, or a larger --cpu-limit")
            .into());
    }
    let chosen: Vec<&Load> = advice.steps.iter().map(|it| &loads[it.candidate]).collect();
    let helps = advice.nothing.is_none();
    if let Some(file) = args.out.as_ref().filter(|_| helps) {
        let campaign = Campaign {
            repeat: args.repeat,
            seed: 1,
            duration: args.duration,
        };
        let about = "Loads after which a model says most of what was asked for.";
        written::put("--out", file, campaign.scenario(about, &chosen).as_bytes());
    }
    let answer = Answer {
        loads: chosen.iter().map(|it| named(it)).collect(),
        targets,
        advice,
        noise: model.noise.as_ref().map(|it| it.cv),
    };
    let mut out = screen::Out::beside_file(args.out.as_deref().is_some_and(written::is_output));
    let text = match args.json {
        true => serde_json::to_string_pretty(&answer)? + "\n",
        false => screen::text(&answer, draw),
    };
    out.write_all(text.as_bytes())?;
    match &args.out {
        Some(file) if helps && !args.json && !lost::is_any() => {
            writeln!(out, "scenario    {}", file.display())?;
        }
        None if helps && !args.json => {
            writeln!(out, "--out FILE writes them as a scenario for `uaperf run`")?;
        }
        _ => {}
    }
    Ok(ExitCode::SUCCESS)
}

fn named(it: &Load) -> Named {
    Named {
        sessions: it.sessions,
        points: it.points,
        publishing: typed(it.publishing),
        fanout: it.who.into(),
        security: it.security,
    }
}

/// Of milliseconds, to the microsecond.
fn duration(ms: f64) -> Duration {
    Duration::from_micros((ms * 1e3).round() as u64)
}

impl Args {
    fn targets(&self) -> Result<Vec<Target>, Failure> {
        if let Some(file) = &self.plant {
            let wrong = |error| Failure::new(format!("{}: {error}", file.display()));
            let plant =
                Plant::read(&input::text(file)?, self.fanout.map(Into::into)).map_err(wrong)?;
            let of = |node: &model::plant::Node| Target {
                name: node.name.clone(),
                workload: node.workload(),
                shape: Shape {
                    publishing: duration(node.publishing_ms),
                    sampling: duration(node.sampling_ms),
                    change: duration(node.change_ms),
                    who: match node.fanout {
                        Fanout::Share => Who::Share,
                        Fanout::All => Who::All,
                    },
                    security: node.security,
                },
            };
            return Ok(plant.nodes.iter().map(of).collect());
        }
        let Some(who) = self.fanout.filter(|_| !self.sessions.is_empty()) else {
            return Err(Failure::usage("nothing to predict")
                .hint("--plant PLANT.toml, or --sessions, --points, --publishing and --fanout"));
        };
        if self.sessions.iter().chain(&self.points).any(|it| *it == 0) {
            return Err(Failure::usage("--sessions and --points: want 1 or more"));
        }
        let mut targets = Vec::new();
        for &sessions in &self.sessions {
            for &points in &self.points {
                for &publishing in &self.publishing {
                    let shape = Shape {
                        publishing,
                        sampling: publishing,
                        change: publishing,
                        who,
                        security: self.security.unwrap_or_default(),
                    };
                    let load = shape.load(sessions, points, publishing, publishing);
                    targets.push(Target {
                        name: format!("{sessions} x {points} at {}", typed(publishing)),
                        workload: load.workload(),
                        shape,
                    });
                }
            }
        }
        Ok(targets)
    }

    /// All loads that can be measured.
    fn loads(&self, model: &Model, targets: &[Target]) -> Vec<Load> {
        let most = |term: Term, of: &dyn Fn(&Workload) -> f64| {
            let measured = model.bounds.iter().find(|it| it.term == term);
            let asked = targets.iter().map(|it| of(&it.workload));
            asked.fold(measured.map_or(0.0, |it| it.most), f64::max)
        };
        let sessions = match self.try_sessions.is_empty() {
            true => steps(1, most(Term::Session, &|it| it.sessions)),
            false => self.try_sessions.clone(),
        };
        let points = match self.try_points.is_empty() {
            true => steps(10, most(Term::Item, &|it| it.variables)),
            false => self.try_points.clone(),
        };
        let mut loads: Vec<Load> = Vec::new();
        for target in targets {
            let shape = &target.shape;
            let own = [1, 2, 5].map(|it| shape.publishing * it);
            let intervals = match self.try_publishing.is_empty() {
                true => &own[..],
                false => &self.try_publishing[..],
            };
            let shortest = intervals.iter().min().copied().unwrap_or(shape.publishing);
            // As often as `design` lets them: no sample may miss a change.
            let change = match shape.change > shape.publishing {
                true => shape.change,
                false => shortest / 2,
            };
            let (sessions, points) = (
                with(
                    &sessions,
                    target.workload.sessions,
                    self.try_sessions.is_empty(),
                ),
                with(
                    &points,
                    target.workload.variables,
                    self.try_points.is_empty(),
                ),
            );
            for &sessions in &sessions {
                for &points in &points {
                    for &publishing in intervals {
                        let load = shape.load(sessions, points, publishing, change);
                        if sessions > 0
                            && load.is_possible()
                            && points > 0
                            && !loads.contains(&load)
                        {
                            loads.push(load);
                        }
                    }
                }
            }
        }
        loads
    }
}

/// The numbers, and one more.
fn with(numbers: &[u32], one: f64, more: bool) -> Vec<u32> {
    let one = one.round() as u32;
    let mut all = numbers.to_vec();
    if more && !all.contains(&one) {
        all.push(one);
    }
    all
}

/// 1, 2, 5, 10, … from the first to the most.
fn steps(first: u32, most: f64) -> Vec<u32> {
    let decades = std::iter::successors(Some(first), |it| it.checked_mul(10));
    let all = decades.flat_map(|it| [1, 2, 5].map(|step| it.saturating_mul(step)));
    all.take_while(|it| f64::from(*it) <= most).collect()
}

impl Shape {
    /// Its sampling stands to its publishing as it is asked for.
    fn load(&self, sessions: u32, points: u32, publishing: Duration, change: Duration) -> Load {
        let ratio = self.sampling.as_secs_f64() / self.publishing.as_secs_f64();
        let sampling = publishing.as_secs_f64() * ratio;
        Load {
            sessions,
            points,
            publishing,
            sampling: duration(sampling * 1e3),
            change,
            who: self.who,
            security: self.security,
        }
    }
}

fn draw(out: &mut String, it: &Answer) -> fmt::Result {
    let advice = &it.advice;
    for (target, now) in std::iter::zip(&it.targets, &advice.now) {
        show::wrapped(
            out,
            &format!(
                "now         {}: {:.1} %, {:.0} % interval {:.1} to {:.1} %, {}",
                target.name,
                now.cpu_percent,
                now.level * 100.0,
                now.low,
                now.high,
                place(now)
            ),
        )?;
    }
    if let Some(limit) = advice.nothing {
        return nothing(out, it, limit);
    }
    writeln!(
        out,
        "\n{:>10}{:>10}{:>12}{:>8}{:>16}{:>10}   intervals then",
        "sessions", "points", "publishing", "fanout", "security", "CPU"
    )?;
    for (load, step) in std::iter::zip(&it.loads, &advice.steps) {
        let then: Vec<String> = step.then.iter().map(told).collect();
        writeln!(
            out,
            "{:>10}{:>10}{:>12}{:>8}{:>16}{:>10}   {}",
            load.sessions,
            load.points,
            load.publishing,
            load.fanout.name(),
            load.security.to_string(),
            format!("{:.1} %", step.cpu_percent),
            // More than one stand below the table.
            if then.len() == 1 {
                then.concat()
            } else {
                String::new()
            }
        )?;
    }
    writeln!(out)?;
    if let Some(last) = advice.steps.last() {
        let each = std::iter::zip(&last.then, &advice.floor);
        for (target, (then, floor)) in std::iter::zip(&it.targets, each) {
            show::wrapped(
                out,
                &format!(
                    "then        {}: {} ({:.0} % interval, expected); {} at best, however many loads are measured",
                    target.name,
                    told(then),
                    then.level * 100.0,
                    told(floor)
                ),
            )?;
        }
    }
    Ok(())
}

fn told(it: &Interval) -> String {
    format!("{:.1} to {:.1} %", it.low, it.high)
}

/// What is in the way when no load would help.
fn nothing(out: &mut String, it: &Answer, limit: Limit) -> fmt::Result {
    let noise = it.noise.map_or_else(String::new, share::show);
    let error = share::show(it.advice.error);
    let why = match limit {
        Limit::Noise => format!(
            "runs of the same differ by {noise}, and the model is no further off. Longer runs or a calmer machine make intervals narrower, more loads do not"
        ),
        Limit::Form => format!(
            "runs of the same differ by {noise}, but the model is {error} off where it was not fitted. `uaperf model fit --kind exponent` or `--kind gp` may do better, more loads do not"
        ),
        Limit::Unknown => format!(
            "the model is {error} off where it was not fitted, and nothing was measured twice: runs of the same may differ as much. Measure loads several times (`repeat = 3`)"
        ),
    };
    show::wrapped(out, &format!("nothing would help: {why}"))
}
