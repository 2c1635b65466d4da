//! Which results are meant: files in folders, and what they say.

use std::path::{Path, PathBuf};

use record::Run;

use crate::failure::Failure;
use crate::tags;

/// Which results are meant.
#[derive(Debug, clap::Args)]
pub struct Wanted {
    /// Only those with this tag; may be given several times
    #[arg(long = "tag", value_name = "NAME=VALUE", value_parser = tags::tag)]
    tags: Vec<(String, String)>,
    /// Only those of this command: read, subscribe, run
    #[arg(long, value_name = "NAME")]
    command: Option<String>,
    /// Only those of servers whose URL has this in it
    #[arg(long, value_name = "TEXT")]
    target: Option<String>,
    /// Only those that began on this day or later, such as 2026-11-26
    #[arg(long, value_name = "DATE", value_parser = day)]
    since: Option<String>,
    /// Only those that began before this day
    #[arg(long, value_name = "DATE", value_parser = day)]
    before: Option<String>,
}

/// How deep folders are looked into: those of papers have those of experiments, which have results.
const DEEP: usize = 4;

impl Wanted {
    /// Whether anything is said of them.
    pub fn says_which(&self) -> bool {
        let words = [&self.command, &self.target, &self.since, &self.before];
        !self.tags.is_empty() || words.iter().any(|it| it.is_some())
    }

    /// Whether it is one of them.
    pub fn has(&self, run: &Run) -> bool {
        let tagged = |(name, value): &(String, String)| run.tags.get(name) == Some(value);
        let begun = run.started.to_string();
        self.tags.iter().all(tagged)
            && self.command.as_ref().is_none_or(|it| *it == run.command)
            && self.target.as_ref().is_none_or(|it| run.targets.iter().any(|target| target.url.contains(it.as_str())))
            // Timestamps are ISO 8601 in UTC: their order is that of their text.
            && self.since.as_ref().is_none_or(|it| begun >= *it)
            && self.before.as_ref().is_none_or(|it| begun < *it)
    }

    /// All of them in a folder and in those in it.
    pub fn of(&self, folder: &Path) -> Result<Vec<(PathBuf, Run)>, Failure> {
        let mut found = Vec::new();
        self.look(folder, &mut found).map_err(|error| {
            Failure::new(format!("cannot read {}: {error}", folder.display()))
                .hint("results are kept in results/ unless --out names another place")
        })?;
        Ok(found)
    }

    fn look(&self, folder: &Path, found: &mut Vec<(PathBuf, Run)>) -> std::io::Result<()> {
        let mut left = vec![(folder.to_owned(), 0)];
        while let Some((folder, depth)) = left.pop() {
            for entry in std::fs::read_dir(&folder)? {
                let path = entry?.path();
                if path.is_dir() {
                    if depth < DEEP {
                        left.push((path, depth + 1));
                    }
                    continue;
                }
                if path.extension().is_none_or(|ending| ending != "json") {
                    continue;
                }
                // What is no result, and one that was cut off, is for those who ask for it by its name.
                match Run::read(&path) {
                    Ok(run) if self.has(&run) => found.push((path, run)),
                    _ => {}
                }
            }
        }
        Ok(())
    }
}

/// A day, or a moment of it.
fn day(text: &str) -> Result<String, String> {
    let whole = match text.len() {
        10 => format!("{text}T00:00:00Z"),
        _ => text.to_owned(),
    };
    let read: Result<record::Timestamp, _> = whole.parse();
    read.map(|it| it.to_string())
        .map_err(|_| format!("{text:?} is no day (want 2026-11-26, or 2026-11-26T09:30:00Z)"))
}
