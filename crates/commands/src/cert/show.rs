//! `uaperf cert show`: all there is to know about a certificate.

use std::io::Write;

use crate::screen;

use super::{Bench, view};

/// Show a certificate: whom it names, how long it is valid, what is wrong with it
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  uaperf cert show                 our own
  uaperf cert show server.der      a file, DER or PEM
  uaperf cert show 3F09A1 --json   one of `uaperf cert list`, for machines")]
pub struct Args {
    /// `own`, a file, or the beginning of a thumbprint
    #[arg(value_name = "own|FILE|THUMBPRINT", default_value = "own")]
    certificate: String,
    /// Write JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: Args, bench: &Bench) -> anyhow::Result<()> {
    let found = bench.resolve(&args.certificate)?;
    let mut out = screen::out();
    if args.json {
        let all: Vec<_> = found
            .iter()
            .map(|one| view::to_json(one, bench.now))
            .collect();
        screen::json(&mut out, &all)?;
        return Ok(());
    }
    for (index, one) in found.iter().enumerate() {
        if index > 0 {
            writeln!(out)?;
        }
        view::write_text(&mut out, one, bench.now)?;
    }
    Ok(())
}
