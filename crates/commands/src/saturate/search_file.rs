//! The trials of a search, kept in a folder: a result file each, and what they said of the objective.

use std::path::{Path, PathBuf};

use judge::capacity::{Answer, Bounds, Capacity, End, Judgement, Why};
use plan::{Grow, Threshold};
use record::run::{Bottleneck, Destination, place_file};
use record::sweep::Short;
use record::{Run, Timestamp};
use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::results;

/// The file that the trials are listed in.
const NAME: &str = "search.json";
const FORMAT: &str = "uaperf search";
const VERSION: u32 = 3;

/// What a search has found so far, and where it is kept.
#[derive(Debug)]
pub struct SearchFile {
    folder: PathBuf,
    page: Page,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Page {
    format: String,
    version: u32,
    started: Timestamp,
    /// What was typed behind the name of the program.
    command: Vec<String>,
    /// Where it was typed, as seen from the folder.
    from: PathBuf,
    grow: String,
    objective: Vec<String>,
    bounds: Bounds,
    trials: Vec<Trial>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    capacity: Option<Capacity>,
    /// What limited the server at the smallest load that was too much.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    bottleneck: Option<Bottleneck>,
}

/// A load that was tried.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// The load.
    pub load: f64,
    /// What it said of the objective.
    pub answer: Answer,
    /// Why no other, where that is not plain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<Why>,
    /// The result file, in the same folder.
    pub file: PathBuf,
    /// Requests per second that were answered, or values that came.
    pub rate_per_s: Option<f64>,
    /// Half of the responses took less, or of the values were less late.
    pub p50_ns: Option<u64>,
    /// 99 of 100 did.
    pub p99_ns: Option<u64>,
    /// Requests that failed.
    pub errors: u64,
    /// Cores that the server kept busy, if it was watched.
    pub server_cores: Option<f64>,
    /// The run's verdict, and what it rests on.
    pub verdict: record::run::Verdict,
}

impl Trial {
    /// Whether nothing was done in it.
    pub fn failed(&self) -> bool {
        self.why == Some(Why::Failed)
    }
}

impl SearchFile {
    /// What is in the file, for programs.
    pub fn page(&self) -> &impl Serialize {
        &self.page
    }

    /// An empty one in a new folder.
    pub fn new(
        wanted: Option<&Path>,
        started: Timestamp,
        grow: Grow,
        objective: &[Threshold],
        bounds: &Bounds,
    ) -> anyhow::Result<Self> {
        let folder = match wanted {
            Some(folder) => folder.to_owned(),
            None => results::fresh(started, "saturate"),
        };
        if folder.join(NAME).exists() {
            let folder = folder.display();
            return Err(
                Failure::usage(format!("--out {folder}: there is a search already"))
                    .hint(format!("continue it: uaperf saturate --resume {folder}"))
                    .into(),
            );
        }
        if folder.exists() && !folder.is_dir() {
            let folder = folder.display();
            return Err(
                Failure::usage(format!("--out {folder}: that is a file (want a folder)")).into(),
            );
        }
        let from = std::fs::create_dir_all(&folder)
            .and_then(|()| results::way(&folder, &std::env::current_dir()?))
            .map_err(|error| {
                let folder = folder.display();
                Failure::usage(format!("cannot make the folder {folder}: {error}"))
            })?;
        Ok(Self {
            folder,
            page: Page {
                format: FORMAT.to_owned(),
                version: VERSION,
                started,
                command: crate::usage::words().collect(),
                from,
                grow: grow.to_string(),
                objective: objective.iter().map(ToString::to_string).collect(),
                bounds: bounds.clone(),
                trials: Vec::new(),
                capacity: None,
                bottleneck: None,
            },
        })
    }

    /// One that was begun before.
    pub fn read(folder: &Path) -> anyhow::Result<Self> {
        let wrong = |what: String| Failure::usage(format!("--resume {}: {what}", folder.display()));
        let text = std::fs::read(folder.join(NAME)).map_err(|error| {
            wrong(format!("{NAME}: {error}")).hint("give a folder that uaperf saturate has made")
        })?;
        let kept: serde_json::Value = serde_json::from_slice(&text)
            .map_err(|error| wrong(format!("{NAME} is no search: {error}")))?;
        let version = &kept["version"];
        if *version != VERSION {
            return Err(wrong(format!(
                "{NAME} has version {version}, from another uaperf that searches otherwise (want {VERSION})"
            ))
            .into());
        }
        let page = serde_json::from_value(kept)
            .map_err(|error| wrong(format!("{NAME} is no search: {error}")))?;
        Ok(Self {
            folder: folder.to_owned(),
            page,
        })
    }

    /// What was typed behind the name of the program.
    pub fn command(&self) -> &[String] {
        &self.page.command
    }

    /// Where it was typed.
    pub fn from(&self) -> PathBuf {
        self.folder.join(&self.page.from)
    }

    /// Where it looks.
    pub fn bounds(&self) -> &Bounds {
        &self.page.bounds
    }

    /// Gives up only after so many trials.
    pub fn allow(&mut self, trials: u32) {
        self.page.bounds.trials = trials;
    }

    /// Leaves nothing behind, if there was no trial.
    pub fn leave(&self) {
        if self.page.trials.is_empty() {
            // Whatever else lies there stays, and the folder with it.
            let _ = std::fs::remove_dir(&self.folder);
        }
    }

    /// Where it is kept.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// What goes on with it.
    pub fn again(&self) -> String {
        format!("uaperf saturate --resume {}", self.folder.display())
    }

    /// All trials, in the order they were made.
    pub fn trials(&self) -> &[Trial] {
        &self.page.trials
    }

    /// A trial was made.
    pub fn add(&mut self, load: f64, judged: Judgement, run: &Run) -> anyhow::Result<&Trial> {
        let file = PathBuf::from(format!("trial-{:03}.json", self.page.trials.len() + 1));
        run.write(&Destination::File(self.folder.join(&file)))
            .map_err(|error| Failure::new(error.to_string()))?;
        let phase = run.phases.first();
        let short = phase.map(Short::of);
        let short = short.as_ref();
        self.page.trials.push(Trial {
            load,
            answer: judged.answer,
            why: judged.why,
            file,
            rate_per_s: short.and_then(|it| it.rate_per_s),
            p50_ns: short.and_then(|it| it.p50_ns),
            p99_ns: short.and_then(|it| it.p99_ns),
            errors: short.map_or(0, |it| it.errors),
            server_cores: short.and_then(|it| it.server_cpu_cores),
            verdict: run.verdict.clone(),
        });
        self.write()?;
        let added = self.page.trials.last();
        added.ok_or_else(|| Failure::new("a trial was lost").into())
    }

    /// The search is over.
    pub fn close(&mut self, capacity: Capacity) -> anyhow::Result<()> {
        self.page.capacity = Some(capacity);
        self.page.bottleneck = self.limit(capacity);
        self.write()
    }

    /// What limited the server, if the search has ended with that.
    pub fn bottleneck(&self) -> Option<&Bottleneck> {
        self.page.bottleneck.as_ref()
    }

    /// What limited the smallest load above all that held, beside the smallest that was tried: close to the edge both are
    /// alike.
    fn limit(&self, capacity: Capacity) -> Option<Bottleneck> {
        if capacity.end == End::Generator {
            return None;
        }
        let read = |trial: &Trial| Run::read(&self.folder.join(&trial.file)).ok();
        let trials = || self.page.trials.iter();
        let above = |it: &&Trial| capacity.holds.is_none_or(|holds| it.load > holds);
        let missed = trials().filter(|it| it.answer == Answer::Missed && !it.failed());
        let missed = missed
            .filter(above)
            .min_by(|a, b| a.load.total_cmp(&b.load))?;
        let held = trials().filter(|it| it.answer == Answer::Met && it.load < missed.load);
        let held = held.min_by(|a, b| a.load.total_cmp(&b.load));
        let (run, before) = (read(missed)?, held.and_then(read));
        let before = before.as_ref().and_then(|it| it.phases.first());
        Some(judge::bottleneck(run.phases.first()?, before, &run.targets))
    }

    /// All of it or nothing.
    fn write(&self) -> anyhow::Result<()> {
        let text = serde_json::to_vec_pretty(&self.page)?;
        place_file(&text, &self.folder.join(NAME))
            .map_err(|error| Failure::new(error.to_string()))?;
        Ok(())
    }
}
