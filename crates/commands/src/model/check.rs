//! `uaperf model check`: a model against runs that it has not seen.

use std::fmt::{self, Write as _};
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use judge::Exit;
use model::checking::{Checked, check};
use plan::unit::Percent;

use super::show::known_share;
use super::{input, pictures, predict};
use crate::failure::Failure;
use crate::{screen, written};

/// Hold a model against runs that it was not fitted to
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A model file, or one that comes with the program: burger2019, plant, open62541, pyopcua, node-opcua
    #[arg(value_name = "MODEL")]
    model: PathBuf,
    /// Result files, folders of them, and tables (.csv)
    #[arg(required = true, value_name = "FILE|DIR")]
    data: Vec<PathBuf>,
    /// Only runs with so many sessions
    #[arg(long, value_name = "N", value_delimiter = ',')]
    sessions: Vec<u32>,
    /// Exit code 3 when the mean error is larger
    #[arg(long, value_name = "PERCENT")]
    max_error: Option<Percent>,
    /// How often intervals shall hold
    #[arg(long, value_name = "PERCENT", default_value = "95%")]
    interval: Percent,
    /// Draw it as a page: measured against predicted, and what is left over
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,
    /// Print it as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    written::check([("--report", &args.report)], &args.data)?;
    let model = input::model(&args.model)?;
    let rows = input::with_sessions(input::rows(&args.data)?, &args.sessions)?;
    let strange = rows
        .iter()
        .find(|it| it.workload.pubsub != model.data.pubsub);
    if let Some(row) = strange {
        let what = format!(
            "{}: the model is not one of {}",
            row.run,
            row.workload.whose()
        );
        return Err(Failure::usage(what).into());
    }
    let checked = check(&model, &rows, predict::level(args.interval)?);
    if let Some(file) = &args.report {
        let page = report::pictures_html(&pictures::of_check(&checked, &rows, &model));
        written::put("--report", file, page.as_bytes());
    }
    let taken = args.report.as_deref().is_some_and(written::is_output);
    let mut out = screen::Out::beside_file(taken);
    match args.json {
        true => screen::json(&mut out, &checked)?,
        false => out.write_all(screen::text(&checked, draw).as_bytes())?,
    }
    let bad = |limit: Percent| checked.mape.is_none_or(|it| it > limit.fraction());
    Ok(match args.max_error.is_some_and(bad) {
        true => ExitCode::from(Exit::Threshold),
        false => ExitCode::SUCCESS,
    })
}

fn draw(out: &mut String, it: &Checked) -> fmt::Result {
    writeln!(
        out,
        "{:<44}{:>9}{:>9}{:>18}",
        "run", "measured", "CPU", "interval"
    )?;
    for row in &it.rows {
        let found = &row.prediction;
        let mark = match row.held {
            true => "",
            false => "  outside",
        };
        let name: String = row.run.chars().rev().take(42).collect();
        let name: String = name.chars().rev().collect();
        writeln!(
            out,
            "{name:<44}{:>9}{:>9}{:>18}{mark}",
            format!("{:.1} %", row.measured),
            format!("{:.1} %", found.cpu_percent),
            format!("{:.1} to {:.1}", found.low, found.high),
        )?;
    }
    writeln!(out)?;
    if it.seen {
        writeln!(
            out,
            "these are the rows that the model was fitted to: errors on them say nothing of others"
        )?;
    }
    writeln!(
        out,
        "mean error  {} of {} rows; as Burger et al. 2019 {}",
        known_share(it.mape),
        it.rows.len(),
        known_share(it.paper_mape)
    )?;
    writeln!(
        out,
        "intervals   {} held; {} rows lie beyond what was measured",
        known_share(it.coverage),
        it.beyond
    )?;
    match it.overloaded {
        0 => Ok(()),
        n => writeln!(
            out,
            "left out    {n} rows: the values asked for did not come"
        ),
    }
}
