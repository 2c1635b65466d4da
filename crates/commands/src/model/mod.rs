//! `uaperf model`: what a server's work costs, and what it would spend on other loads.

mod amounts;
mod campaign;
mod check;
pub mod delays;
mod design;
mod fit;
mod held_out;
mod input;
mod next;
mod noise;
mod pictures;
mod predict;
mod show;

use std::process::ExitCode;

use crate::global::Global;

pub use amounts::Amounts;
pub use held_out::held_out;
pub use input::{server_model, text};
pub use pictures::of_size;
pub use predict::{Who, costs, interval, level, place};
pub use show::wrapped;

/// Fit cost models to results, and predict loads that were not measured
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Fit(fit::Args),
    Show(show::Args),
    Predict(predict::Args),
    Check(check::Args),
    Noise(noise::Args),
    Design(design::Args),
    Next(next::Args),
}

const EXAMPLES: &str = "\
A model says what a server's CPU costs: so much for each message, value, sample. It is fitted to runs of
`uaperf subscribe`, `read` and `write` with the server's CPU in them, or to a table (CSV).

Examples:
  uaperf model design --sessions 1,5,20 --points 500,2000,8000 --publishing 100ms,500ms \\
    --fanout share --out campaign.toml
  uaperf model fit results/20260301T093000Z-sweep --out server.json
  uaperf model fit rows.csv --name 'drive controller, firmware 2.1'
  uaperf model show server.json
  uaperf model predict server.json --sessions 1,5,10 --points 2000 --fanout share --publishing 100ms
  uaperf model check server.json results/held-out --max-error 10%
  uaperf model next server.json --plant line4.toml --out next.toml
  uaperf model noise results/20260301T093000Z-sweep
  uaperf model show burger2019       of published figures; comes with the program
  uaperf model show open62541        of a server that was measured; so do plant, pyopcua, node-opcua";

/// Carries out `uaperf model`.
pub fn run(args: Args, _global: &Global) -> anyhow::Result<ExitCode> {
    match args.command {
        Command::Fit(args) => fit::run(args),
        Command::Show(args) => show::run(args),
        Command::Predict(args) => predict::run(args),
        Command::Check(args) => check::run(args),
        Command::Noise(args) => noise::run(args),
        Command::Design(args) => design::run(args),
        Command::Next(args) => next::run(args),
    }
}
