//! Where results go.

use std::path::{Path, PathBuf};

use record::run::Destination;

use crate::results::Files;
use crate::{pcap, printed, tags, written};

/// Where results go.
#[derive(Debug, clap::Args)]
#[group(id = "output")]
#[command(next_help_heading = "Output")]
pub struct Args {
    /// The result file [default: results/UTCTIME-COMMAND.json]
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub files: Files,
    /// Also write one row for each request: planned, sent, completed, status
    #[arg(long, value_name = "FILE")]
    pub samples: Option<PathBuf>,
    /// Also write histograms of each interval as a log that HdrHistogram's tools read
    #[arg(long, value_name = "FILE")]
    pub hlog: Option<PathBuf>,
    #[command(flatten)]
    pub tags: tags::Args,
    #[command(flatten)]
    pub feed: super::feed::Args,
    #[command(flatten)]
    pub printed: printed::Args,
    /// On a terminal, a line each second instead of a screen with charts and keys
    #[arg(long)]
    pub plain: bool,
    #[command(flatten)]
    pub observe: super::usage::Args,
    /// Test the way to the server before the load: round trips by size and what goes through each way, in three seconds;
    /// it says whether the network limits what follows
    #[arg(long)]
    pub link_test: bool,
    #[command(flatten)]
    pub energy: super::energy::Args,
}

impl Args {
    /// Finds out before anything is measured whether the files can be what they are meant to be.
    pub fn check(&self, pcap: &pcap::Args) -> anyhow::Result<()> {
        let files = [
            pcap.named(),
            ("--out", &self.out),
            ("--samples", &self.samples),
            ("--hlog", &self.hlog),
            ("--live-file", &self.feed.live_file),
        ];
        written::check(files.into_iter().chain(self.files.named()), &[])?;
        if self.out.is_none() {
            written::check_folder(Path::new(written::FOLDER))?;
        }
        self.printed.check(self.takes_output())?;
        self.feed.open()?;
        self.tags.begin()?;
        Ok(())
    }

    /// Whether a file goes to standard output, where the summary would be.
    pub fn takes_output(&self) -> bool {
        let own = [&self.out, &self.samples, &self.hlog, &self.feed.live_file];
        let mut own = own.into_iter().filter_map(|file| file.as_deref());
        self.files.take_output() || own.any(written::is_output)
    }

    /// Where the result file goes.
    pub fn destination(&self) -> Destination {
        match &self.out {
            Some(file) => Destination::File(file.clone()),
            None => Destination::Folder(written::FOLDER.into()),
        }
    }
}
