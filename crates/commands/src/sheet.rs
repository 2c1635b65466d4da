//! What a command that examines a server finds: a sheet on the screen, as JSON, in a file, as a page.

use std::io::Write;
use std::path::PathBuf;

use load::access::Access;
use report::Style;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::failure::Failure;
use crate::results::ResultFile;
use crate::screen::{self, Out, tell};
use crate::{access, pcap, quick, written};

/// Where a sheet goes, and what is looked at for it beside the server's answers.
#[derive(Debug, clap::Args)]
#[group(id = "sheet")]
pub struct Args {
    /// The server's process, where it does not listen itself on this machine's loopback
    #[arg(long, value_name = "PID")]
    pub server_pid: Option<u32>,
    /// The sheet as JSON instead of a screen for people
    #[arg(long)]
    json: bool,
    /// Also write the sheet as JSON into this file
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Also draw the sheet as a page for a browser
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// No progress while it runs
    #[arg(short, long)]
    quiet: bool,
    #[command(flatten)]
    feed: quick::feed::Args,
}

/// A sheet of one command.
pub trait Sheet: Serialize + DeserializeOwned {
    /// What its files call themselves.
    const FORMAT: &'static str;
    /// And since when they are as they are.
    const VERSION: u32;

    /// For people at a terminal.
    fn screen(&self, style: Style) -> String;

    /// For people with a browser.
    fn page(&self) -> String;
}

impl Sheet for record::security::Sheet {
    const FORMAT: &'static str = record::security::FORMAT;
    const VERSION: u32 = record::security::VERSION;

    fn screen(&self, style: Style) -> String {
        report::security(self, style)
    }

    fn page(&self) -> String {
        report::security_html(self)
    }
}

impl Sheet for record::attack::Sheet {
    const FORMAT: &'static str = record::attack::FORMAT;
    const VERSION: u32 = record::attack::VERSION;

    fn screen(&self, style: Style) -> String {
        report::attack(self, style)
    }

    fn page(&self) -> String {
        report::attack_html(self)
    }
}

impl Args {
    /// Whether its files can be written, and where the screen goes beside them; who is told meanwhile.
    pub fn begin(&self, pcap: &pcap::Args) -> anyhow::Result<Out> {
        let files = [
            ("--out", &self.out),
            ("--report", &self.report),
            ("--live-file", &self.feed.live_file),
            pcap.named(),
        ];
        written::check(files, &[])?;
        self.feed.open()?;
        let takes_output = files
            .iter()
            .any(|(_, it)| it.as_deref().is_some_and(written::is_output));
        Ok(Out::beside_file(takes_output))
    }

    /// The server's process, as it was named, or as it listens; not this one.
    pub fn server(&self, access: &Access) -> Option<u32> {
        let pid = self.server_pid.or_else(|| access::served_by(access));
        pid.filter(|it| *it != std::process::id())
    }

    /// How far it is.
    pub fn progress(&self, what: &str) {
        if !self.quiet {
            tell!("{what}");
        }
    }

    /// Writes and prints it. Files come first.
    pub fn put(&self, sheet: &impl Sheet, out: &mut Out) -> anyhow::Result<()> {
        if let Some(file) = &self.out {
            let text = serde_json::to_string_pretty(sheet)? + "\n";
            written::put("--out", file, text.as_bytes());
        }
        if let Some(file) = &self.report {
            written::put("--report", file, sheet.page().as_bytes());
        }
        match self.json {
            true => screen::json(out, sheet)?,
            false => out.write_all(sheet.screen(out.style()).as_bytes())?,
        }
        Ok(())
    }
}

/// The screen of the sheet that a file has; none if it has none.
pub fn kept_screen(file: &ResultFile, style: Style) -> Option<Result<String, Failure>> {
    kept::<record::security::Sheet>(file, |it| it.screen(style))
        .or_else(|| kept::<record::attack::Sheet>(file, |it| it.screen(style)))
}

/// The page of the sheet that a file has; none if it has none.
pub fn kept_page(file: &ResultFile) -> Option<Result<String, Failure>> {
    kept::<record::security::Sheet>(file, Sheet::page)
        .or_else(|| kept::<record::attack::Sheet>(file, Sheet::page))
}

fn kept<T: Sheet>(
    file: &ResultFile,
    show: impl FnOnce(&T) -> String,
) -> Option<Result<String, Failure>> {
    let sheet: Result<T, Failure> = file.read(T::FORMAT, T::VERSION)?;
    Some(sheet.map(|it| show(&it)))
}
