//! `uaperf publish` and `uaperf listen`: PubSub over UDP.

mod keys;
pub mod listen;
pub mod publish;

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use judge::Exit;
use load::pubsub::Spread;
use plan::unit::duration::{parse, show, show_nanos};
use plan::{Figures, Threshold};
use serde::Serialize;

use crate::{results, screen};

/// Options that both commands have.
#[derive(Debug, clap::Args)]
struct Common {
    /// How long [default: 10s]
    #[arg(long, value_name = "TIME", default_value = "10s", hide_default_value = true, value_parser = parse)]
    duration: Duration,
    /// Address of the interface that a multicast group is reached by [default: the system's choice]
    #[arg(long, value_name = "IP")]
    interface: Option<std::net::IpAddr>,
    /// File with keys: a line `POLICY TOKEN HEX` for each, as `PubSub-Aes256-CTR 1 0a0b…`
    #[arg(long, value_name = "FILE")]
    keys: Option<PathBuf>,
    /// A condition on the result, such as loss=0: exit code 3 if it is not met
    #[arg(long, value_name = "THRESHOLD", value_delimiter = ',')]
    expect: Vec<Threshold>,
    /// JSON for machines instead of a screen for people
    #[arg(long)]
    json: bool,
    /// Keep the JSON in this file too
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// A result with what it is worth.
#[derive(Debug, Serialize)]
struct Judged<T> {
    format: &'static str,
    version: u32,
    verdict: &'static str,
    evidence: Vec<String>,
    expectations: Vec<Expectation>,
    machine: record::run::Fingerprint,
    result: T,
}

#[derive(Debug, Serialize)]
struct Expectation {
    threshold: String,
    figure: Option<f64>,
    met: bool,
}

/// A verdict and why.
struct Verdict {
    name: &'static str,
    exit: Exit,
    evidence: Vec<String>,
}

/// Prints and keeps a result, and gives the exit code.
fn conclude<T: Serialize + Figures>(
    common: &Common,
    format: &'static str,
    verdict: Verdict,
    result: T,
    draw: screen::Draw<T>,
) -> anyhow::Result<ExitCode> {
    let expectations: Vec<Expectation> = common
        .expect
        .iter()
        .map(|it| {
            let outcome = it.check(&result);
            Expectation {
                threshold: it.to_string(),
                figure: outcome.figure,
                met: outcome.is_met(),
            }
        })
        .collect();
    let judged = Judged {
        format,
        version: 1,
        verdict: verdict.name,
        evidence: verdict.evidence,
        expectations,
        machine: observe::fingerprint(),
        result,
    };
    if let Some(file) = &common.out {
        results::write(file, &(serde_json::to_string_pretty(&judged)? + "\n"))?;
    }
    let mut out = screen::out();
    if common.json {
        screen::json(&mut out, &judged)?;
    } else {
        let mut text = judged.verdict.to_owned();
        for (n, why) in judged.evidence.iter().enumerate() {
            text.push_str(if n == 0 { ": " } else { "; " });
            text.push_str(why);
        }
        text.push_str("\n\n");
        text.push_str(&screen::text(&judged.result, draw));
        for it in &judged.expectations {
            let met = if it.met { "met" } else { "not met" };
            let figure = it
                .figure
                .map_or("not measured".to_owned(), |it| it.to_string());
            writeln!(text, "\nexpect {}: {met} ({figure})", it.threshold)?;
        }
        out.write_all(text.as_bytes())?;
    }
    let met = judged.expectations.iter().all(|it| it.met);
    let exit = match verdict.exit {
        Exit::Good if !met => Exit::Threshold,
        other => other,
    };
    Ok(ExitCode::from(exit.code()))
}

/// One line of figures.
fn spread(out: &mut String, name: &str, it: &Spread) -> std::fmt::Result {
    let show = |ns: u64| show(Duration::from_nanos(ns));
    writeln!(
        out,
        "  {name:<9} p50 {}  p90 {}  p99 {}  p99.9 {}  max {}  mean {}",
        show(it.p50_ns),
        show(it.p90_ns),
        show(it.p99_ns),
        show(it.p999_ns),
        show(it.max_ns),
        show_nanos(it.mean_ns),
    )
}
