//! Options that every subcommand understands.

use std::path::PathBuf;

use clap::builder::{OsStringValueParser, TypedValueParser as _};

use crate::{log, place, screen};

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
    #[command(flatten)]
    log: log::Args,
}

impl Global {
    /// Before anything else is done.
    pub fn begin(&self) -> anyhow::Result<()> {
        if let Some(when) = self.color {
            screen::colour(when);
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
