//! What a command that measures prints of its result: all of it, the verdict, or data for machines.

use std::io::Write;
use std::path::PathBuf;

use record::Run;
use report::Named;

use crate::failure::Failure;
use crate::screen::{self, Out};

/// What is printed at the end.
#[derive(Debug, Clone, Default, clap::Args)]
#[group(id = "printed")]
#[command(next_help_heading = "Output")]
pub struct Args {
    /// Print the result as JSON instead of a screen for people: the same as the result file
    #[arg(long, conflicts_with = "format")]
    json: bool,
    /// How the result is printed
    #[arg(long, value_name = "FORMAT")]
    format: Option<Format>,
    /// Print the verdict only, and no progress; -qq: print nothing
    #[arg(short = 'q', action = clap::ArgAction::Count, conflicts_with_all = ["json", "format"])]
    brief: u8,
    /// No progress while it runs
    #[arg(long)]
    quiet: bool,
}

/// A form of what is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// A screen for people
    Text,
    /// What is in the result file
    Json,
    /// A row for each point, phase and metric, as --csv writes it
    Csv,
}

/// What is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Printed {
    /// A form of all of it.
    All(Format),
    /// A line for each phase.
    Verdict,
    /// Nothing at all.
    Nothing,
}

impl Args {
    /// What is printed.
    pub fn what(&self) -> Printed {
        match (self.brief, self.json, self.format) {
            (0, true, _) => Printed::All(Format::Json),
            (0, false, format) => Printed::All(format.unwrap_or(Format::Text)),
            (1, ..) => Printed::Verdict,
            _ => Printed::Nothing,
        }
    }

    /// Whether nobody wants to see how it goes.
    pub fn is_quiet(&self) -> bool {
        self.quiet || self.brief > 0
    }

    /// From now on nobody wants to.
    pub fn be_quiet(&mut self) {
        self.quiet = true;
    }

    /// A screen for people, with or without progress.
    pub fn quiet(quiet: bool) -> Self {
        Self {
            quiet,
            ..Self::default()
        }
    }

    /// Data and a file that was asked for do not both go to standard output.
    pub fn check(&self, takes_output: bool) -> Result<(), Failure> {
        let data = matches!(self.what(), Printed::All(Format::Json | Format::Csv));
        match data && takes_output {
            true => {
                let option = if self.json { "--json" } else { "--format" };
                let what = format!("{option}: a file goes to standard output already (-)");
                Err(Failure::usage(what).hint("name a file, or leave one of the two out"))
            }
            false => Ok(()),
        }
    }
}

impl Printed {
    /// Prints a run. Where it was saved stands below it, for people.
    pub fn run(
        self,
        run: &Run,
        saved: Option<&PathBuf>,
        takes_output: bool,
    ) -> std::io::Result<()> {
        let mut out = Out::beside_file(takes_output);
        match self {
            Self::All(Format::Text) => {
                out.write_all(report::summary(run, out.style()).as_bytes())?;
                if let Some(file) = saved {
                    writeln!(out, "\nresult      {}", file.display())?;
                }
            }
            Self::All(Format::Json) => screen::json(&mut out, run)?,
            Self::All(Format::Csv) => out.write_all(report::csv::csv(run).as_bytes())?,
            Self::Verdict => writeln!(out, "{}", report::verdict_line(run))?,
            Self::Nothing => {}
        }
        Ok(())
    }
}

/// Results as one text of JSON: the only one, or a list.
pub fn results(out: &mut impl Write, runs: &[Named]) -> std::io::Result<()> {
    match runs {
        [one] => screen::json(out, &one.run),
        several => {
            let runs: Vec<&Run> = several.iter().map(|it| &it.run).collect();
            screen::json(out, &runs)
        }
    }
}
