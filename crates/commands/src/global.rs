//! Options that every subcommand understands.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{OsStringValueParser, TypedValueParser as _};
use plan::unit::duration;

use crate::{interrupt, log, place, screen};

/// A command that may take no time would do nothing.
fn time_limit(text: &str) -> Result<Duration, String> {
    match duration::parse(text) {
        Ok(Duration::ZERO) => Err("want more than 0, such as 10m".to_owned()),
        other => other.map_err(|error| error.to_string()),
    }
}

/// Options that every subcommand understands.
#[derive(Debug, clap::Args)]
pub struct Global {
    /// Folder with certificates and trust lists [default: uaperf/pki in the user's configuration folder]
    #[arg(
        long,
        value_name = "DIR",
        global = true,
        env = "UAPERF_PKI",
        hide_env_values = true,
        // An empty variable is one that is not set.
        value_parser = OsStringValueParser::new().map(PathBuf::from)
    )]
    pki: Option<PathBuf>,
    /// File with settings instead of uaperf.toml, or none [default: see `uaperf config show --help`]
    #[arg(long, value_name = "FILE|none", global = true)]
    pub settings: Option<PathBuf>,
    /// Colours in what is printed [default: auto, those of a terminal that shows them, unless NO_COLOR is set]
    #[arg(long, value_name = "WHEN", global = true)]
    color: Option<screen::Colour>,
    /// End the command after this time, as Ctrl-C does: what was measured is kept and marked, exit code 130 [default: no limit]
    #[arg(long, value_name = "DURATION", global = true, value_parser = time_limit)]
    max_time: Option<Duration>,
    #[command(flatten)]
    log: log::Args,
}

impl Global {
    /// Before anything else is done.
    pub fn begin(&self) -> anyhow::Result<()> {
        if let Some(when) = self.color {
            screen::colour(when);
        }
        if let Some(limit) = self.max_time {
            interrupt::after(limit)?;
        }
        Ok(self.log.begin()?)
    }

    /// The folder of certificates and trust lists: as typed, or the user's own.
    pub fn pki(&self) -> anyhow::Result<PathBuf> {
        match self.pki.as_ref().filter(|it| !it.as_os_str().is_empty()) {
            Some(folder) => Ok(folder.clone()),
            None => Ok(place::configuration()?.join("pki")),
        }
    }
}
