//! `uaperf model design`: a scenario with the loads that tell most about costs.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use model::design::choose;
use model::plant::parse_percent;
use model::{Security, Workload};

use super::campaign::{Campaign, Load};
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

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    written::check([("--out", &Some(args.out.clone()))], &[])?;
    let zero = args.sessions.iter().chain(&args.points).any(|it| *it == 0);
    if zero || args.runs == 0 || args.repeat == 0 {
        let what = "--sessions, --points, --runs and --repeat: want 1 or more";
        return Err(Failure::usage(what).into());
    }
    let limit = parse_percent(&args.cpu_limit).ok_or_else(|| {
        Failure::usage(format!(
            "--cpu-limit {}: want more than 0% and at most 100%",
            args.cpu_limit
        ))
    })?;
    let model = args.model.as_deref().map(input::server_model).transpose()?;
    let loads = args.loads();
    let workloads: Vec<Workload> = loads.iter().map(Load::workload).collect();
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
    let campaign = Campaign {
        repeat: args.repeat,
        seed: args.seed,
        duration: args.duration,
    };
    let text = campaign.scenario("Loads that tell most about costs.", &chosen);
    written::put("--out", &args.out, text.as_bytes());
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
                    let load = Load {
                        sessions,
                        points,
                        publishing,
                        sampling: publishing,
                        change: self.change(),
                        who: self.fanout,
                        security: Security::None,
                    };
                    if load.is_possible() {
                        loads.push(load);
                    }
                }
            }
        }
        loads
    }
}
