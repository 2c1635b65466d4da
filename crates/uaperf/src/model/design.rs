//! `uaperf model design`: a scenario with the loads that tell most about costs.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use model::Workload;
use model::design::choose;
use model::plant::percent;
use plan::unit::duration::typed;

use super::input;
use super::predict::{Who, interval};
use crate::failure::Failure;
use crate::lost;
use crate::{screen, written};

/// Choose which loads to measure for a model, and write them as a scenario
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Numbers of clients to choose from
    #[arg(long, value_name = "N", value_delimiter = ',', required = true)]
    sessions: Vec<u32>,
    /// Numbers of signals to choose from
    #[arg(long, value_name = "N", value_delimiter = ',', required = true)]
    points: Vec<u32>,
    /// Publishing intervals to choose from
    #[arg(long, value_name = "DURATION", value_delimiter = ',', required = true, value_parser = interval)]
    publishing: Vec<Duration>,
    /// How often signals change [default: twice in the shortest publishing interval, so that no sample misses a change]
    #[arg(long, value_name = "DURATION", value_parser = interval)]
    change: Option<Duration>,
    /// Whether each point goes to one client or to each of them
    #[arg(long, value_name = "WHO")]
    fanout: Who,
    /// How many loads
    #[arg(long, value_name = "N", default_value_t = 16)]
    runs: usize,
    /// How often each of them
    #[arg(long, value_name = "N", default_value_t = 3)]
    repeat: u32,
    /// How long each of them
    #[arg(long, value_name = "DURATION", default_value = "20s", value_parser = interval)]
    duration: Duration,
    /// A model of an earlier campaign, so that loads that it expects to be too much are left out
    #[arg(long, value_name = "MODEL")]
    model: Option<PathBuf>,
    /// Of a core, with --model
    #[arg(long, value_name = "PERCENT", default_value = "90%")]
    cpu_limit: String,
    /// Of the order
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Where to put the scenario; - for standard output
    #[arg(long, value_name = "FILE", default_value = "-")]
    out: PathBuf,
}

/// A load that can be chosen.
struct Load {
    sessions: u32,
    points: u32,
    publishing: Duration,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    written::check([("--out", &Some(args.out.clone()))], &[])?;
    let zero = args.sessions.iter().chain(&args.points).any(|it| *it == 0);
    if zero || args.runs == 0 || args.repeat == 0 {
        let what = "--sessions, --points, --runs and --repeat: want 1 or more";
        return Err(Failure::usage(what).into());
    }
    let limit = percent(&args.cpu_limit).ok_or_else(|| {
        Failure::usage(format!(
            "--cpu-limit {}: want more than 0% and at most 100%",
            args.cpu_limit
        ))
    })?;
    let model = args.model.as_deref().map(input::model).transpose()?;
    let loads = args.loads();
    let workloads: Vec<Workload> = loads.iter().map(|it| args.workload(it)).collect();
    let chosen = choose(
        &workloads,
        args.runs,
        model.as_ref().map(|it| (it, limit)),
        args.seed,
    );
    if chosen.len() < 3 {
        let what = format!("{} loads to choose from: want 3 or more", chosen.len());
        return Err(Failure::new(what)
            .hint("more values of --sessions, --points, --publishing")
            .into());
    }
    let chosen: Vec<&Load> = chosen.into_iter().map(|it| &loads[it]).collect();
    written::put("--out", &args.out, args.scenario(&chosen).as_bytes());
    if !written::is_output(&args.out) && !lost::is_any() {
        let n = chosen.len();
        writeln!(
            screen::out(),
            "{n} of {} loads in {}",
            loads.len(),
            args.out.display()
        )?;
    }
    Ok(ExitCode::SUCCESS)
}

impl Args {
    /// How often signals change.
    fn change(&self) -> Duration {
        let shortest = self.publishing.iter().min().copied();
        self.change.unwrap_or(shortest.unwrap_or_default() / 2)
    }

    /// All of them, where each client has at least one point.
    fn loads(&self) -> Vec<Load> {
        let mut loads = Vec::new();
        for &sessions in &self.sessions {
            for &points in &self.points {
                for &publishing in &self.publishing {
                    if self.fanout == Who::All || points >= sessions {
                        loads.push(Load {
                            sessions,
                            points,
                            publishing,
                        });
                    }
                }
            }
        }
        loads
    }

    fn workload(&self, load: &Load) -> Workload {
        let items = match self.fanout {
            Who::All => f64::from(load.points),
            Who::Share => f64::from(load.points) / f64::from(load.sessions),
        };
        let ms = load.publishing.as_secs_f64() * 1e3;
        Workload {
            change_ms: self.change().as_secs_f64() * 1e3,
            variables: f64::from(load.points),
            ..Workload::of_signals(f64::from(load.sessions), items, ms)
        }
    }

    fn scenario(&self, chosen: &[&Load]) -> String {
        let list = |of: &dyn Fn(&Load) -> String| -> String {
            let each: Vec<String> = chosen.iter().map(|it| of(it)).collect();
            each.join(", ")
        };
        let quoted = |it: Duration| format!("\"{}\"", typed(it));
        let rate = format!("{:.3}", 1.0 / self.change().as_secs_f64());
        let rate = rate.trim_end_matches('0').trim_end_matches('.');
        let mut text = String::new();
        // Writing into a String does not fail.
        let _ = write!(
            text,
            "# Loads that tell most about costs. Run it, then fit a model to the folder of its results:
#   uaperf run THIS.toml --out results/campaign && uaperf model fit results/campaign
# For a server of your own put `target = \"opc.tcp://…\"` in the place of [start], and its nodes below.
name = \"campaign\"
repeat = {}
order = \"random\"
seed = {}
sweep = \"zipped\"

[parameters]
clients = {{ sweep = [{}] }}
signals = {{ sweep = [{}] }}
publishing = {{ sweep = [{}] }}

[start]
plant = \"burger2019\"
signals = \"$signals\"
update = {}
restart = \"each point\"

[[phase]]
service = \"subscribe\"
nodes = [\"browse:/Objects/Signals/*\"]
sessions = \"$clients\"
spread = \"{}\"
publishing = \"$publishing\"
sampling = \"$publishing\"
change_rate = \"{rate}/s\"
duration = {}
",
            self.repeat,
            self.seed,
            list(&|it| it.sessions.to_string()),
            list(&|it| it.points.to_string()),
            list(&|it| quoted(it.publishing)),
            quoted(self.change()),
            match self.fanout {
                Who::Share => "split",
                Who::All => "all",
            },
            quoted(self.duration),
        );
        text
    }
}
