//! Where results go.

use std::path::PathBuf;

use record::run::Destination;

use crate::failure::Failure;

/// Where results go.
#[derive(Debug, clap::Args)]
#[group(id = "output")]
#[command(next_help_heading = "Output")]
pub struct Args {
    /// The result file [default: results/UTCTIME-COMMAND.json]
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Also write a table: one row for each phase and metric
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
    /// Also write one row for each request: planned, sent, completed, status
    #[arg(long, value_name = "FILE")]
    pub samples: Option<PathBuf>,
    /// No progress while it runs
    #[arg(short, long)]
    pub quiet: bool,
    /// Watch this process too: the server's, when it runs on this machine
    #[arg(long, value_name = "PID")]
    pub server_pid: Option<u32>,
}

impl Args {
    /// Finds out before anything is measured whether the files can be what they are meant to be.
    pub fn check(&self) -> anyhow::Result<()> {
        let files = [
            ("--out", &self.out),
            ("--csv", &self.csv),
            ("--samples", &self.samples),
        ];
        for (option, file) in files {
            if let Some(folder) = file.as_ref().filter(|file| file.is_dir()) {
                let folder = folder.display();
                return Err(Failure::usage(format!(
                    "{option} {folder}: that is a folder (want the name of a file)"
                ))
                .into());
            }
        }
        Ok(())
    }

    /// Where the result file goes.
    pub fn destination(&self) -> Destination {
        match &self.out {
            Some(file) => Destination::File(file.clone()),
            None => Destination::Folder("results".into()),
        }
    }
}
