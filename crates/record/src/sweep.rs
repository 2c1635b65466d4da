//! The index of a scenario's results: which points there are, and what became of each.
//!
//! A scenario keeps each of its measurements as a [`Run`](crate::Run) in a file of its own, and beside
//! them one `index.json`, which holds all that it takes to go on after an end before its time.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::Timestamp;
use crate::run::{Destination, Kind, Mark, ReadError, Verdict, WriteError, place_file};

/// What every index says it is.
pub const FORMAT: &str = "uaperf sweep";
/// The version that is written.
pub const VERSION: u32 = 1;
/// The name of the file.
pub const FILE: &str = "index.json";

/// What a scenario measured, and what is left.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sweep {
    /// [`FORMAT`].
    pub format: String,
    /// [`VERSION`].
    pub version: u32,
    /// What the scenario is called.
    pub name: String,
    /// When it began.
    pub started: Timestamp,
    /// When the last measurement so far was over.
    pub ended: Timestamp,
    /// The scenario itself.
    pub scenario: Source,
    /// What is varied.
    pub axes: Vec<Axis>,
    /// How often each point is measured.
    pub repeat: u32,
    /// In which order: `given`, `random`, `mirrored`.
    pub order: String,
    /// Of a random order.
    pub seed: u64,
    /// All of them, in that order.
    pub measurements: Vec<Measurement>,
}

/// A scenario as it was read, so that it can be carried on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// The file, by its whole path: what it refers to lies beside it.
    pub file: PathBuf,
    /// What was in it.
    pub text: String,
    /// Parameters that were given instead of those in the file: names and values.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parameters: Vec<(String, String)>,
    /// Servers that were given instead of those in the file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<String>,
    /// How often each point, if that was given instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeat: Option<u32>,
    /// Agents that were given instead of those in the file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fleet: Vec<String>,
    /// For how long agents go on alone, if that was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub orphan: Option<String>,
}

/// Something that is varied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Axis {
    /// Its name: `batch`.
    pub name: String,
    /// Its values, as typed.
    pub values: Vec<String>,
}

/// One measurement: a point, for the first or another time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// The point's place in the sweep, from 0 on.
    pub point: usize,
    /// Which repetition, from 1 on.
    pub repetition: u32,
    /// The point's value on each axis, as typed.
    pub values: Vec<String>,
    /// What became of it.
    pub state: MeasurementState,
    /// Why it failed or was left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The result file, in the same folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The worst verdict of its phases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Kind>,
    /// Its phases in a few figures each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<Short>,
    /// Whether every `expect` was met; none without any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<bool>,
    /// Whether every `slo` was kept; none without any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slo: Option<bool>,
    /// The `stop_when` that came true here: the sweep ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped: Option<String>,
    /// The `abort_on` that ended it early.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aborted: Option<String>,
}

/// What became of a measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MeasurementState {
    /// Not yet measured.
    Planned,
    /// Measured.
    Done,
    /// Nothing could be measured.
    Failed,
    /// Ended by the user; to be measured again.
    Interrupted,
    /// Beyond a point at which `stop_when` came true.
    LeftOut,
}

/// A phase in a few figures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Short {
    /// Its name.
    pub name: String,
    /// Its verdict.
    pub verdict: Kind,
    /// What `p50_ns` and `p99_ns` are of: `response`, or `delay` where values were subscribed to or
    /// published.
    pub of: String,
    /// Operations that succeeded, per second; of a subscription and PubSub, values.
    pub rate_per_s: Option<f64>,
    /// The median.
    pub p50_ns: Option<u64>,
    /// The 99th percentile.
    pub p99_ns: Option<u64>,
    /// Operations that ended badly.
    pub errors: u64,
    /// Values of subscriptions, or messages of PubSub, that were sent, or promised, and never came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<u64>,
    /// Cores that the server kept busy, where it was watched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_cpu_cores: Option<f64>,
}

impl Short {
    /// Of a phase.
    pub fn of(phase: &crate::run::Phase) -> Self {
        let of = match phase.is_notified() {
            true => "delay",
            false => "response",
        };
        let times = phase.total.histogram(of);
        let server = phase.resources.iter().find(|usage| usage.who == "server");
        Self {
            name: phase.name.clone(),
            verdict: phase.verdict.kind,
            of: of.to_owned(),
            rate_per_s: phase.rate_per_s(),
            p50_ns: times.quantile(0.5),
            p99_ns: times.quantile(0.99),
            errors: phase.total.errors,
            lost: phase.lost(),
            server_cpu_cores: server.and_then(|it| it.window.cpu_cores.known().copied()),
        }
    }
}

impl Measurement {
    /// Whether it still has to be measured.
    pub fn is_left(&self) -> bool {
        matches!(
            self.state,
            MeasurementState::Planned | MeasurementState::Interrupted | MeasurementState::Failed
        )
    }

    /// What was measured, into its row.
    pub fn take(&mut self, run: &crate::Run) {
        self.verdict = Some(run.verdict.kind);
        self.phases = run.phases.iter().map(Short::of).collect();
        let all = || run.phases.iter().flat_map(|phase| &phase.expectations);
        self.expected = (all().count() > 0).then(|| all().all(|it| it.met));
        self.why = reason(&run.verdict);
        self.aborted = run.marks.contains(&Mark::Aborted).then(|| aborted(run));
    }
}

/// The condition, from what was not kept.
fn aborted(run: &crate::Run) -> String {
    let mut all = run.phases.iter().flat_map(|phase| &phase.expectations);
    let condition = all.find_map(|it| it.expected.strip_prefix("never "));
    condition.unwrap_or("abort_on").to_owned()
}

fn reason(verdict: &Verdict) -> Option<String> {
    let first = verdict.evidence.first();
    first
        .filter(|_| matches!(verdict.kind, Kind::Failed | Kind::Incomplete))
        .cloned()
}

impl Sweep {
    /// Reads the index of a folder.
    pub fn read(folder: &Path) -> Result<Self, ReadError> {
        let file = folder.join(FILE);
        let text = std::fs::read(&file).map_err(|source| ReadError::File {
            file: file.clone(),
            source,
        })?;
        let json = |source| ReadError::Json {
            file: file.clone(),
            source,
        };
        let value: serde_json::Value = serde_json::from_slice(&text).map_err(json)?;
        if value["format"] != FORMAT {
            return Err(ReadError::NotASweep(file));
        }
        if let Some(found) = value["version"]
            .as_u64()
            .filter(|it| *it > u64::from(VERSION))
        {
            return Err(ReadError::Newer { file, found });
        }
        serde_json::from_slice(&text).map_err(json)
    }

    /// Writes the index into its folder, as a whole or not at all.
    pub fn write(&self, folder: &Path) -> Result<PathBuf, WriteError> {
        let mut text = serde_json::to_vec_pretty(self).map_err(WriteError::Json)?;
        text.push(b'\n');
        place_file(&text, &folder.join(FILE))
    }

    /// Where the result of a measurement goes: its place in the order, its point, its repetition.
    pub fn file_of(&self, place: usize) -> String {
        let digits = self.measurements.len().to_string().len().max(3);
        match self.measurements.get(place) {
            Some(it) => format!(
                "{:0digits$}-point{}-{}.json",
                place + 1,
                it.point + 1,
                it.repetition
            ),
            None => format!("{:0digits$}.json", place + 1),
        }
    }

    /// The same as a destination.
    pub fn destination(&self, folder: &Path, place: usize) -> Destination {
        Destination::File(folder.join(self.file_of(place)))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn sweep() -> Sweep {
        let now = Timestamp::from_unix_ns(1_800_000_000_000_000_000).unwrap();
        Sweep {
            format: FORMAT.into(),
            version: VERSION,
            name: "batch".into(),
            started: now,
            ended: now,
            scenario: Source {
                file: "x.toml".into(),
                text: "name = \"batch\"".into(),
                parameters: vec![("rate".into(), "1/s".into())],
                targets: Vec::new(),
                repeat: None,
                fleet: Vec::new(),
                orphan: None,
            },
            axes: vec![Axis {
                name: "batch".into(),
                values: vec!["1".into()],
            }],
            repeat: 1,
            order: "given".into(),
            seed: 1,
            measurements: vec![Measurement {
                point: 0,
                repetition: 1,
                values: vec!["1".into()],
                state: MeasurementState::LeftOut,
                why: Some("beyond point 1".into()),
                file: None,
                verdict: None,
                phases: Vec::new(),
                expected: None,
                slo: Some(false),
                stopped: None,
                aborted: None,
            }],
        }
    }

    #[test]
    fn an_index_comes_back_as_it_was_written() {
        let folder = tempfile::tempdir().unwrap();
        let sweep = sweep();
        sweep.write(folder.path()).unwrap();
        assert_eq!(Sweep::read(folder.path()).unwrap(), sweep);
        let text = std::fs::read_to_string(folder.path().join(FILE)).unwrap();
        assert!(text.contains("\"state\": \"left-out\""), "{text}");
    }

    #[test]
    fn what_is_no_index_or_a_later_one_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let said = |text: &str| {
            std::fs::write(folder.path().join(FILE), text).unwrap();
            Sweep::read(folder.path()).unwrap_err().to_string()
        };
        assert!(said("{}").contains("not the index of a scenario"));
        assert!(said(r#"{"format":"uaperf sweep","version":9}"#).contains("newer uaperf"));
        assert!(said("{").contains("index.json: "));
    }
}
