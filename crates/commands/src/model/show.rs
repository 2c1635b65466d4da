//! `uaperf model show`: a model on the screen.

use std::fmt::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

use model::process::Process;
use model::{Amount, Coefficient, Metrics, Model, Wake};
use plan::unit::share;

use super::input;
use crate::screen;

/// Show a model: costs, errors, what it does not know
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A model file, or one that comes with the program: burger2019, plant, open62541, pyopcua, node-opcua
    #[arg(value_name = "MODEL")]
    model: PathBuf,
    /// Print the whole model as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: Args) -> anyhow::Result<ExitCode> {
    screen::print(&input::model(&args.model)?, args.json, draw)?;
    Ok(ExitCode::SUCCESS)
}

/// A model as a screen.
pub fn draw(out: &mut String, model: &Model) -> fmt::Result {
    if !model.name.is_empty() {
        writeln!(out, "{}", model.name)?;
    }
    let data = &model.data;
    write!(
        out,
        "fitted to   {} rows, {} configurations",
        data.rows, data.configurations
    )?;
    match data.overloaded {
        0 => writeln!(out)?,
        n => writeln!(
            out,
            "; {n} rows left out: the values asked for did not come"
        )?,
    }
    match &model.noise {
        Some(noise) => writeln!(
            out,
            "noise       the same runs differ by {:.1} % ({} runs)",
            noise.cv * 100.0,
            noise.runs
        )?,
        None => writeln!(
            out,
            "noise       unknown: no configuration was measured twice"
        )?,
    }
    writeln!(
        out,
        "\n{:<24}{:>12}  {:<12}{:>24}",
        "cost of a", "", "", "95 % interval"
    )?;
    for it in &model.coefficients {
        let hard = match it.inflation >= Coefficient::HARD_TO_TELL {
            true => "  hard to tell from others",
            false => "",
        };
        writeln!(
            out,
            "{:<24}{:>12}  {:<12}{:>24}{hard}",
            it.term.name(),
            number(it.us),
            it.term.unit(),
            format!("{} to {}", number(it.low), number(it.high)),
        )?;
    }
    match model.wake {
        Wake::Linear => {}
        Wake::Saturating(most) => writeln!(out, "wake-ups saturate at {most} in a second")?,
        Wake::Power(exponent) => writeln!(out, "wake-ups count to the power of {exponent}")?,
    }
    unknown(out, model)?;
    if let Some(process) = &model.process {
        corrections(out, process)?;
    }
    writeln!(
        out,
        "\n{:<32}{:>8}{:>8}{:>8}{:>8}",
        "error where not measured", "mean", "median", "p90", "R2"
    )?;
    errors(out, "this model", Some(&model.metrics))?;
    if model.cost_metrics.is_some() {
        errors(out, "its costs alone", model.cost_metrics.as_ref())?;
    }
    errors(out, "as Burger et al. 2019", model.paper_metrics.as_ref())?;
    let exponent = model.refitted.map(|it| it.exponent);
    if let Some(exponent) = exponent {
        let name = format!("the same, exponent {exponent:.2}");
        errors(out, &name, model.refitted_metrics.as_ref())?;
    }
    if let Some(of) = &model.memory {
        amount(out, "memory     ", "kB", 1e-3, of)?;
    }
    if let Some(of) = &model.bytes {
        amount(out, "sent       ", "bytes", 1.0, of)?;
    }
    match model.beyond {
        Some(log) => writeln!(
            out,
            "beyond what it was fitted to (largest third of loads), 9 of 10 within a factor of {:.2}",
            log.exp()
        ),
        None => writeln!(
            out,
            "errors beyond what it was fitted to: unknown, want 9 configurations"
        ),
    }
}

/// What each thing takes of memory or bytes.
fn amount(out: &mut String, what: &str, unit: &str, scale: f64, of: &Amount) -> fmt::Result {
    let of_term = |it: &Coefficient| format!("{} {} {unit}", it.term.name(), number(it.us * scale));
    let each: Vec<String> = of.coefficients.iter().map(of_term).collect();
    wrapped(
        out,
        &format!(
            "{what} {}; {:.1} % off where not measured, of {} configurations",
            each.join(", "),
            of.metrics.mape * 100.0,
            of.configurations
        ),
    )
}

/// What a process looks at, the inputs that change most first.
fn corrections(out: &mut String, process: &Process) -> fmt::Result {
    let kernel = &process.whole.kernel;
    let mut each: Vec<(f64, &str)> = std::iter::zip(&kernel.lengths, &process.inputs)
        .map(|(length, input)| (*length, input.quantity.name()))
        .collect();
    each.sort_by(|a, b| a.0.total_cmp(&b.0));
    // Over a length of ten spreads of an input hardly anything changes with it.
    let names: Vec<&str> = each
        .iter()
        .filter(|it| it.0 < 10.0)
        .map(|it| it.1)
        .collect();
    let by = match names.is_empty() {
        true => "none of what was asked for".to_owned(),
        false => names.join(", "),
    };
    let percent = |square: f64| (square.sqrt().exp() - 1.0) * 100.0;
    wrapped(
        out,
        &format!(
            "a Gaussian process corrects the sum of costs: by about {:.1} %, with {by}; noise {:.1} %",
            percent(kernel.variance),
            percent(kernel.noise)
        ),
    )
}

/// What is not in it, by the reason.
fn unknown(out: &mut String, model: &Model) -> fmt::Result {
    for (why, text) in [
        ("not-measured", "unknown, none was measured"),
        (
            "inseparable",
            "counted with others, which they always went with",
        ),
        (
            "not-needed",
            "left out, predictions are no better with them",
        ),
        ("too-few-configurations", "left out, too few configurations"),
    ] {
        let names: Vec<&str> = model
            .dropped
            .iter()
            .filter(|it| it.why == why && it.term.is_of(model.data.pubsub.is_some()))
            .map(|it| it.term.name())
            .collect();
        if !names.is_empty() {
            wrapped(out, &format!("{text}: {}", names.join(", ")))?;
        }
    }
    Ok(())
}

/// A sentence in lines of a screen.
pub fn wrapped(out: &mut String, text: &str) -> fmt::Result {
    let mut line = String::new();
    for word in text.split(' ') {
        if line.len() + word.len() > 96 {
            writeln!(out, "{}", line.trim_end())?;
            line = "  ".to_owned();
        }
        line += word;
        line.push(' ');
    }
    writeln!(out, "{}", line.trim_end())
}

fn errors(out: &mut String, name: &str, metrics: Option<&Metrics>) -> fmt::Result {
    let Some(it) = metrics else {
        return writeln!(out, "{name:<32}     cannot be fitted");
    };
    let r2 = it
        .r2
        .map_or_else(|| "n/a".to_owned(), |it| format!("{it:.3}"));
    writeln!(
        out,
        "{name:<32}{:>8}{:>8}{:>8}{r2:>8}",
        share::show(it.mape),
        share::show(it.median),
        share::show(it.p90)
    )
}

/// A share as people read it; there may be nothing to take it of.
pub fn known_share(it: Option<f64>) -> String {
    it.map_or("n/a".to_owned(), share::show)
}

/// Three digits.
pub fn number(it: f64) -> String {
    match it.abs() {
        0.0 => "0".to_owned(),
        a if a < 9.995 => format!("{it:.2}"),
        a if a < 99.95 => format!("{it:.1}"),
        _ => format!("{it:.0}"),
    }
}
