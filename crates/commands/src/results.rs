//! Results that were kept: files, folders of them, and what else is written of them.

use std::path::{Component, Path, PathBuf};

use record::run::ReadError;
use record::{Run, Timestamp, sweep};
use report::{Named, Unmeasured};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::failure::Failure;
use crate::written;

/// Reads results: files, and all that lie in folders, in the order of their names.
pub fn read(paths: &[PathBuf]) -> Result<Vec<Named>, Failure> {
    let mut runs = Vec::new();
    // `results/*.json` names a scenario's index as well.
    for path in paths {
        match path.is_dir() {
            true => runs.extend(folder(path)?),
            false if paths.len() > 1 && is_index(path) => {}
            false => runs.push(named(path)?),
        }
    }
    Ok(runs)
}

/// Whether it is what a scenario has beside its results.
fn is_index(file: &Path) -> bool {
    file.file_name().is_some_and(|name| name == sweep::FILE)
}

/// All results of a folder, of which there have to be some.
fn folder(folder: &Path) -> Result<Vec<Named>, Failure> {
    let runs = inside(folder)?;
    match runs.is_empty() {
        true => Err(
            Failure::new(format!("{}: no results in this folder", folder.display()))
                .hint("runs are kept in results/ unless --out names another file"),
        ),
        false => Ok(runs),
    }
}

/// All results of a folder. Other files that happen to be JSON are passed over; broken results are not.
fn inside(folder: &Path) -> Result<Vec<Named>, Failure> {
    let unreadable =
        |error: std::io::Error| Failure::new(format!("cannot read {}: {error}", folder.display()));
    let mut files: Vec<PathBuf> = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let file = entry.map_err(unreadable)?.path();
        let json = file.extension().is_some_and(|ending| ending == "json");
        if json && !is_index(&file) {
            files.push(file);
        }
    }
    files.sort();
    let mut runs = Vec::new();
    for file in files {
        match Run::read(&file) {
            Err(ReadError::NotARun(_)) => {}
            read => runs.push(name(&file, read.map_err(|error| failure(&file, error))?)),
        }
    }
    Ok(runs)
}

/// Occasions in a folder: each folder in it, and each file, is one; the earliest first.
pub fn occasions(folder: &Path) -> Result<Vec<(String, Vec<Named>)>, Failure> {
    let unreadable =
        |error: std::io::Error| Failure::new(format!("cannot read {}: {error}", folder.display()));
    let mut occasions = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let json = path.extension().is_some_and(|ending| ending == "json");
        let label = match path.is_dir() {
            true => path.file_name(),
            false => path.file_stem(),
        };
        let label = label.unwrap_or_default().to_string_lossy().into_owned();
        let runs = match path.is_dir() {
            // A folder without results is none of our business.
            true => inside(&path)?,
            false if json && !is_index(&path) => match Run::read(&path) {
                Ok(run) => vec![name(&path, run)],
                Err(ReadError::NotARun(_)) => Vec::new(),
                Err(error) => return Err(failure(&path, error)),
            },
            false => Vec::new(),
        };
        if let Some(first) = runs.iter().map(|it| it.run.started).min() {
            occasions.push((first, (label, runs)));
        }
    }
    occasions.sort_by_key(|(started, _)| *started);
    Ok(occasions.into_iter().map(|(_, it)| it).collect())
}

/// A file that is a result and not a run.
#[derive(Debug)]
pub struct ResultFile {
    file: PathBuf,
    text: Vec<u8>,
    kind: Kind,
}

/// What tells the kind of such a file. The rest is passed over: runs are large.
#[derive(Debug, Deserialize)]
struct Kind {
    format: String,
    version: u32,
}

impl ResultFile {
    /// None if it is a run, or nothing that can be read.
    pub fn open(file: &Path) -> Option<Self> {
        let text = std::fs::read(file).ok()?;
        Some(Self {
            file: file.to_owned(),
            kind: serde_json::from_slice(&text).ok()?,
            text,
        })
    }

    /// What it says, if it is of this format.
    pub fn read<T: DeserializeOwned>(
        &self,
        format: &str,
        version: u32,
    ) -> Option<Result<T, Failure>> {
        let file = self.file.display();
        if self.kind.format != format {
            return None;
        }
        if self.kind.version != version {
            let what = format!("{file}: written by a newer uaperf");
            return Some(Err(Failure::new(what).hint("update uaperf")));
        }
        let read = serde_json::from_slice(&self.text);
        Some(read.map_err(|error| Failure::new(format!("{file}: {error}"))))
    }
}

/// What a file is, in a line, with what in it nobody here knows.
pub fn checked(file: &Path, text: &str) -> Result<String, Failure> {
    let run = Run::from_json(text.as_bytes(), file).map_err(|error| failure(file, error))?;
    let wrong = |error: serde_json::Error| Failure::new(format!("{}: {error}", file.display()));
    let said: Value = serde_json::from_slice(text.as_bytes()).map_err(wrong)?;
    let known = run.to_json().map_err(wrong)?;
    let known: Value = serde_json::from_slice(&known).map_err(wrong)?;
    let mut unknown = Vec::new();
    left_out(&said, &known, "", &mut unknown);
    let mut line = format!(
        "result of `{}` of {}, {}, phases: {}",
        run.command,
        run.started,
        run.verdict.kind.name(),
        run.phases.len()
    );
    if !unknown.is_empty() {
        line.push_str("; not known here, and ignored: ");
        line.push_str(&unknown.join(", "));
    }
    Ok(line)
}

/// What one value says and the other does not, by its path; what says nothing is not missed.
fn left_out(said: &Value, known: &Value, at: &str, all: &mut Vec<String>) {
    match (said, known) {
        (Value::Object(said), Value::Object(known)) => {
            for (key, value) in said {
                let at = format!("{at}{}{key}", if at.is_empty() { "" } else { "." });
                match known.get(key) {
                    Some(known) => left_out(value, known, &at, all),
                    None if value.is_null() => {}
                    None => all.push(at),
                }
            }
        }
        (Value::Array(said), Value::Array(known)) => {
            for (n, (said, known)) in std::iter::zip(said, known).enumerate() {
                left_out(said, known, &format!("{at}[{n}]"), all);
            }
        }
        _ => {}
    }
}

fn named(file: &Path) -> Result<Named, Failure> {
    let run = Run::read(file).map_err(|error| failure(file, error))?;
    Ok(name(file, run))
}

fn name(file: &Path, run: Run) -> Named {
    Named::new(file.display().to_string(), run)
}

fn failure(file: &Path, error: ReadError) -> Failure {
    let failure = Failure::new(error.to_string());
    match error {
        ReadError::File { .. } if file.is_dir() => {
            failure.hint(format!("uaperf show {}", file.join("*.json").display()))
        }
        ReadError::File { .. } => {
            failure.hint("runs are kept in results/ unless --out names another file")
        }
        ReadError::Json { .. } => {
            failure.hint("the file was changed or truncated; uaperf only writes complete results")
        }
        ReadError::NotARun(_) if is_index(file) => failure
            .hint("it is what a scenario has beside its results: name one of them, or the folder"),
        _ => failure,
    }
}

/// A name as every file system takes it.
pub fn in_file_names(name: &str) -> String {
    name.chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect()
}

/// A folder for results that is not there yet: `results/UTCTIME-NAME`.
pub fn fresh(now: Timestamp, name: &str) -> PathBuf {
    let stem = format!("results/{}-{}", now.compact(), in_file_names(name));
    let first = PathBuf::from(&stem);
    let more = (2..1000).map(|n| PathBuf::from(format!("{stem}-{n}")));
    std::iter::once(first.clone())
        .chain(more)
        .find(|folder| !folder.exists())
        .unwrap_or(first)
}

/// The way from one folder to another; both are there. A path from the root where they share nothing.
pub fn way(from: &Path, to: &Path) -> std::io::Result<PathBuf> {
    let (from, to) = (from.canonicalize()?, to.canonicalize()?);
    let same = |(one, other): &(Component<'_>, Component<'_>)| one == other;
    let shared = std::iter::zip(from.components(), to.components());
    let shared = shared.take_while(same).count();
    if shared == 0 {
        return Ok(to);
    }
    let up = from.components().skip(shared);
    let up = up.map(|_| Component::ParentDir);
    Ok(up.chain(to.components().skip(shared)).collect())
}

/// What else can be written of results.
#[derive(Debug, Default, clap::Args)]
#[group(id = "written")]
#[command(next_help_heading = "Output")]
pub struct Files {
    /// Also write a page with charts, to be opened in a browser
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    /// Also write a table: one row for each point, phase and metric; - for standard output
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
    /// Also write verdicts and thresholds as JUnit XML, for CI servers
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
}

impl Files {
    /// The files with their options, for checks.
    pub fn named(&self) -> [(&'static str, &Option<PathBuf>); 3] {
        [
            ("--report", &self.report),
            ("--csv", &self.csv),
            ("--junit", &self.junit),
        ]
    }

    /// Whether any was asked for.
    pub fn is_any(&self) -> bool {
        self.named().iter().any(|(_, file)| file.is_some())
    }

    /// Whether one of them goes to standard output.
    pub fn take_output(&self) -> bool {
        let files = self.named().into_iter();
        let mut files = files.filter_map(|(_, file)| file.as_deref());
        files.any(written::is_output)
    }

    /// Writes what was asked for, of results and of what could not be measured.
    pub fn write(&self, runs: &[Named], failed: &[Unmeasured]) {
        if let Some(file) = &self.report {
            written::put("--report", file, report::html(runs, None).as_bytes());
        }
        if let Some(file) = &self.csv {
            written::put("--csv", file, report::csv::of(runs).as_bytes());
        }
        if let Some(file) = &self.junit {
            written::put("--junit", file, report::junit(runs, failed).as_bytes());
        }
    }

    /// Writes that nothing could be measured, where a program reads that: an older file would say something else.
    pub fn write_failed(&self, failed: &[Unmeasured]) {
        if let Some(file) = &self.junit {
            written::put("--junit", file, report::junit(&[], failed).as_bytes());
        }
    }
}

/// Writes a file, and makes its folder.
pub fn write(file: &Path, text: &str) -> Result<(), Failure> {
    record::run::replace(file, text.as_bytes())
        .map_err(|error| Failure::new(format!("cannot write {}: {error}", file.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_between_two_folders_leads_from_one_to_the_other() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        std::fs::create_dir_all(at("tests/reads")).unwrap();
        std::fs::create_dir_all(at("results/one")).unwrap();
        let found = way(&at("results/one"), &at("tests/reads")).unwrap();
        assert_eq!(found, Path::new("../../tests/reads"));
        assert_eq!(
            way(&at("tests"), &at("tests/reads")).unwrap(),
            Path::new("reads")
        );
        assert_eq!(way(&at("tests"), &at("tests")).unwrap(), Path::new(""));
        assert!(way(&at("tests"), &at("nothing")).is_err());
    }

    #[test]
    fn an_occasion_whose_results_are_broken_is_not_left_out_in_silence() {
        let root = tempfile::tempdir().unwrap();
        let file = root.path().join("monday/run.json");
        std::fs::create_dir_all(root.path().join("monday")).unwrap();
        // What is no result is none of our business.
        std::fs::write(&file, "{\"other\": 1}").unwrap();
        assert!(occasions(root.path()).unwrap().is_empty());
        std::fs::write(&file, "{\"format\": \"uaperf run\", \"version\": 1000000}").unwrap();
        let error = occasions(root.path()).unwrap_err().to_string();
        assert!(error.contains("newer uaperf"), "{error}");
        std::fs::rename(&file, root.path().join("run.json")).unwrap();
        assert!(occasions(root.path()).is_err());
    }
}
