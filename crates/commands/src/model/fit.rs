//! `uaperf model fit`: from results to a model.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use model::{FitError, FitMethod, fit, row};

use super::{input, show};
use crate::calibrated;
use crate::failure::Failure;
use crate::lost;
use crate::screen;
use crate::written;

/// Fit a model to results or tables
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Result files, folders of them, and tables (.csv: a row for each run)
    #[arg(required = true, value_name = "FILE|DIR")]
    data: Vec<PathBuf>,
    /// Where to put the model
    #[arg(long, value_name = "FILE", default_value = "model.json")]
    out: PathBuf,
    /// Of what it is a model: server, version, machine
    #[arg(long, value_name = "TEXT", default_value = "")]
    name: String,
    /// Only runs with so many sessions; the others can be what the model is held against
    #[arg(long, value_name = "N", value_delimiter = ',')]
    sessions: Vec<u32>,
    /// The runs are of this host: keep how fast it is, as `uaperf calibrate` found, so that `uaperf size --here` can scale
    /// costs to other hosts
    #[arg(long)]
    here: bool,
    /// What kind of model
    #[arg(long, value_name = "KIND", default_value = "cost")]
    kind: Kind,
    /// Also write the rows as a table
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Kind {
    /// Costs; wake-ups count in proportion, or saturate
    Cost,
    /// Costs; powers of wake-ups are tried too
    Exponent,
    /// Costs, and a Gaussian process on what they leave over (30 loads or more)
    Gp,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    let out_file = Some(args.out.clone());
    written::check([("--out", &out_file), ("--csv", &args.csv)], &args.data)?;
    let rows = input::with_sessions(input::rows(&args.data)?, &args.sessions)?;
    let speed = args.here.then(calibrated::speed).transpose()?;
    let rung = match args.kind {
        Kind::Cost => FitMethod::Cost,
        Kind::Exponent => FitMethod::Exponent,
        Kind::Gp => FitMethod::Process,
    };
    if let Some(file) = &args.csv {
        written::put("--csv", file, row::write(&rows).as_bytes());
    }
    let mut model = fit(&rows, rung).map_err(|error| {
        let hint = match error {
            FitError::Mixed { .. } => "fit each of them by itself",
            FitError::TooFewForProcess { .. } => "measure more loads, or leave out --kind gp",
            _ => {
                "`uaperf model design` chooses loads; let values change faster than they are sampled"
            }
        };
        Failure::new(error.to_string()).hint(hint)
    })?;
    model.name = args.name;
    model.calibrated = speed;
    written::put("--out", &args.out, model.to_json().as_bytes());
    let taken =
        written::is_output(&args.out) || args.csv.as_deref().is_some_and(written::is_output);
    let mut out = screen::Out::beside_file(taken);
    out.write_all(screen::text(&model, show::draw).as_bytes())?;
    if !lost::is_any() {
        writeln!(out, "\nmodel       {}", args.out.display())?;
    }
    Ok(ExitCode::SUCCESS)
}
