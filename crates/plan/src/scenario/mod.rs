//! Scenario files: a test that anyone can repeat, as a text.
//!
//! A scenario says what is done to which servers, what of it is varied, how often and in which order.
//! [`Scenario::parse`] reads it as a whole: every point of its sweep is resolved and checked before
//! anything runs, so a mistake in the last point is found before the first one is measured.
//!
//! Its keys are the options of the commands; a [`Vocabulary`] knows them. What only scenarios have
//! stands in [`top_keys`], [`phase_keys`] and [`start_keys`].

mod complaint;
mod keys;
mod read;
mod sweep;
mod tree;
mod vocabulary;
mod weights;

use std::collections::BTreeMap;
use std::time::Duration;

pub use complaint::{Complaint, nearest};
pub use keys::{phase_keys, start_keys, top_keys};
pub use sweep::{Axis, Order, Together, Turn};
pub use tree::Scalar;
pub use vocabulary::{Key, Kind, Refusal, Setting, Shape, Vocabulary};

use crate::phase::Phase;
use crate::threshold::Threshold;
use crate::unit::duration;
use crate::work::Work;
use complaint::{Wrong, unknown};
use tree::{Choice, Item, Node, Scalar as Value};

/// More points than these nobody waits for.
pub const MOST_POINTS: usize = 10_000;
/// More repetitions, too.
const MOST_REPETITIONS: u32 = 10_000;

/// A test, ready to be carried out.
#[derive(Debug, Clone, PartialEq)]
pub struct Scenario {
    /// What it is called.
    pub name: String,
    /// What it is for.
    pub about: Option<String>,
    /// Its parameters in force.
    pub parameters: Vec<Parameter>,
    /// What is varied; nothing if there is but one point.
    pub axes: Vec<Axis>,
    /// What is measured.
    pub points: Vec<Point>,
    /// How often each of them.
    pub repeat: u32,
    /// In which order.
    pub order: Order,
    /// Of a random order.
    pub seed: u64,
    /// Between two measurements.
    pub pause: Duration,
}

/// Something that whoever runs it may say otherwise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
    /// What it is for.
    pub about: Option<String>,
}

/// One point of a sweep.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// Which value of each axis, as typed.
    pub values: Vec<String>,
    /// Which place on each axis.
    pub places: Vec<usize>,
    /// The servers; none if they are started.
    pub targets: Vec<String>,
    /// What is started.
    pub start: Option<Start>,
    /// One after the other.
    pub groups: Vec<Group>,
}

/// Phases that run at the same time; often there is just one.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    /// Side by side.
    pub steps: Vec<Step>,
}

/// A phase of a scenario.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// Its name; no other phase has it.
    pub name: String,
    /// The command.
    pub service: String,
    /// Its options.
    pub settings: Vec<Setting>,
    /// What they mean.
    pub phase: Phase,
    /// What it has to keep to count as good.
    pub slo: Vec<Threshold>,
    /// What ends the sweep.
    pub stop_when: Vec<Threshold>,
}

/// A server that is started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Start {
    /// A plant or a peer.
    pub kind: Kind,
    /// Which.
    pub name: String,
    /// When a new one takes its place.
    pub restart: Restart,
    /// Its options.
    pub settings: Vec<Setting>,
}

/// When a new server takes the place of an old one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Restart {
    /// Before each measurement.
    EachPoint,
    /// Before the first point of each repetition.
    EachRepetition,
    /// Only when its settings change.
    Never,
}

impl Point {
    /// How many servers it has, as far as that is written.
    pub fn servers(&self) -> usize {
        let started = self.start.as_ref().map(Start::servers);
        started.unwrap_or(self.targets.len()).max(1)
    }
}

impl Step {
    /// How long its load goes on with so many servers, if that does not depend on their answers.
    pub fn length(&self, servers: usize) -> Option<Duration> {
        let phase = &self.phase;
        let until = phase.measured_until();
        let paced = phase
            .requests
            .zip(phase.pace())
            .and_then(|(requests, pace)| {
                let rate = pace.mean_rate() * f64::from(phase.sessions) * servers as f64;
                Duration::try_from_secs_f64(requests as f64 / rate).ok()
            });
        let paced = paced.map(|paced| phase.warmup.given().saturating_add(paced));
        let length = match (until, paced) {
            (Some(until), Some(paced)) => until.min(paced),
            (until, paced) => until.or(paced)?,
        };
        let settling = match &phase.work {
            Work::Subscribe(work) => {
                let each = u64::from(work.subscriptions) * u64::from(work.items.unwrap_or(0));
                work.settling(each * u64::from(phase.sessions) * servers as u64)
            }
            _ => Duration::ZERO,
        };
        Some(
            length
                .saturating_add(settling)
                .saturating_add(phase.cooldown),
        )
    }
}

impl Group {
    /// How long the longest of its steps goes on with so many servers, as far as that is known.
    pub fn length(&self, servers: usize) -> Option<Duration> {
        self.steps
            .iter()
            .filter_map(|step| step.length(servers))
            .max()
    }
}

impl Start {
    /// How many servers that makes.
    pub fn servers(&self) -> usize {
        let count = self.settings.iter().find(|it| it.option == "count");
        let count = count.and_then(|it| it.values.first()?.to_string().parse().ok());
        count.unwrap_or(1)
    }
}

/// What whoever runs a scenario says otherwise.
#[derive(Debug, Clone, Default)]
pub struct Given {
    /// `-P name=value`.
    pub parameters: Vec<(String, String)>,
    /// These servers instead of its own.
    pub targets: Vec<String>,
    /// Each point so often.
    pub repeat: Option<u32>,
}

impl Scenario {
    /// Reads a scenario; `file` is what complaints call it.
    pub fn parse(
        text: &str,
        file: &str,
        given: &Given,
        vocabulary: &dyn Vocabulary,
    ) -> Result<Self, Complaint> {
        Self::read(text, file, given, vocabulary).map_err(|wrong| wrong.in_text(file, text))
    }

    fn read(
        text: &str,
        file: &str,
        given: &Given,
        vocabulary: &dyn Vocabulary,
    ) -> Result<Self, Wrong> {
        let top = tree::parse(text)?;
        let entries = read::table(&top, "")?;
        let own = top_keys();
        for entry in entries {
            let known = || own.iter().map(|key| key.name.as_str()).chain(keys::TABLES);
            let is_known = entry.key == "targets" || known().any(|key| key == entry.key);
            if !is_known {
                let what = unknown(&entry.key, "key", known());
                return Err(Wrong::new(&entry.key_at, entry.key.as_str(), what));
            }
        }
        let (parameters, values) = parameters(entries, given)?;
        let mut found = Vec::new();
        for (name, item) in &values {
            sweep::find(item, &format!("parameters.{name}"), name, &mut found)?;
        }
        for entry in entries.iter().filter(|entry| entry.key != "parameters") {
            sweep::find(&entry.item, &entry.key, &entry.key, &mut found)?;
        }
        found.sort_by_key(|it| it.at);

        let one = |key: &str| entries.iter().find(|entry| entry.key == key);
        let resolve = |combination: &[usize]| {
            let chosen = sweep::chosen(&found, combination);
            let choice = Choice {
                parameters: &values,
                chosen: &chosen,
            };
            let mut top = top.clone();
            if let Node::Table(entries) = &mut top.node {
                entries.retain(|entry| entry.key != "parameters");
            }
            choice.resolve(&top, "")
        };
        // What holds for the whole of it is the same at all points.
        for key in ["name", "about", "repeat", "order", "seed", "sweep", "pause"] {
            if let Some(entry) = one(key)
                && entry.item.sweep(key)?.is_some()
            {
                let what = "holds for the whole scenario (want one value)";
                return Err(Wrong::new(&entry.item.at, key, what));
            }
        }
        let first = resolve(&vec![0; found.len()])?;
        let whole = Whole::read(&first, file)?;
        let combinations = sweep::combinations(&found, whole.together, MOST_POINTS)?;
        let axes = sweep::axes(&found);
        let mut points = Vec::with_capacity(combinations.len());
        for places in combinations {
            let read = read::point(&resolve(&places)?, &given.targets, vocabulary)?;
            points.push(Point {
                values: axes
                    .iter()
                    .zip(&places)
                    .map(|(axis, place)| axis.values.get(*place).cloned().unwrap_or_default())
                    .collect(),
                places,
                targets: read.targets,
                start: read.start,
                groups: read.groups,
            });
        }
        let stops = |point: &Point| {
            let mut steps = point.groups.iter().flat_map(|group| &group.steps);
            steps.any(|step| !step.stop_when.is_empty())
        };
        if whole.order != Order::Given && points.iter().any(stops) {
            let (at, field) = match (one("order"), one("stop_when")) {
                (Some(entry), _) | (None, Some(entry)) => (entry.item.at.clone(), "order"),
                (None, None) => (0..0, "order"),
            };
            let what = format!(
                "{:?} does not go with stop_when, which ends what comes after a point (want given)",
                whole.order.name()
            );
            return Err(Wrong::new(&at, field, what));
        }
        Ok(Self {
            name: whole.name,
            about: whole.about,
            parameters,
            axes,
            points,
            repeat: given.repeat.unwrap_or(whole.repeat),
            order: whole.order,
            seed: whole.seed,
            pause: whole.pause,
        })
    }

    /// All measurements in their order.
    pub fn turns(&self) -> Vec<Turn> {
        sweep::turns(self.points.len(), self.repeat, self.order, self.seed)
    }

    /// Whether a point lies beyond another one, on the axis that ends when `stop_when` comes true there:
    /// the last axis, the others being equal.
    pub fn is_beyond(&self, point: usize, end: usize) -> bool {
        let (Some(point), Some(end)) = (self.points.get(point), self.points.get(end)) else {
            return false;
        };
        match (point.places.split_last(), end.places.split_last()) {
            (Some((last, others)), Some((at, same))) => {
                // Zipped axes go on together.
                let zipped = point.places.iter().all(|place| place == last)
                    && self.points.len() == self.axes.first().map_or(1, |axis| axis.values.len());
                last > at && (zipped || others == same)
            }
            _ => false,
        }
    }

    /// How long the load of one point goes on, as far as that is known: phases that end after a number
    /// of requests may take any time.
    pub fn length(point: &Point) -> (Duration, bool) {
        let mut known = true;
        let mut step = |step: &Step| match step.length(point.servers()) {
            Some(length) => length,
            None => {
                known = false;
                Duration::ZERO
            }
        };
        let mut length = Duration::ZERO;
        for group in &point.groups {
            let longest = group.steps.iter().map(&mut step).max();
            length = length.saturating_add(longest.unwrap_or_default());
        }
        (length, known)
    }
}

/// What holds for a scenario as a whole.
struct Whole {
    name: String,
    about: Option<String>,
    repeat: u32,
    order: Order,
    seed: u64,
    together: Together,
    pause: Duration,
}

impl Whole {
    fn read(top: &Item, file: &str) -> Result<Self, Wrong> {
        let entries = read::table(top, "")?;
        let get = |key: &str| entries.iter().find(|entry| entry.key == key);
        let text = |key: &str| match get(key) {
            Some(entry) => read::one::<String>(&entry.item, key, "a text").map(Some),
            None => Ok(None),
        };
        let order = |order: Order| (order.name(), order);
        let want = "a whole number from 1 to 10000";
        let repeat = match get("repeat") {
            Some(entry) => {
                let repeat: u32 = read::one(&entry.item, "repeat", want)?;
                if !(1..=MOST_REPETITIONS).contains(&repeat) {
                    let what = format!("{repeat} (want {want})");
                    return Err(Wrong::new(&entry.item.at, "repeat", what));
                }
                repeat
            }
            None => 1,
        };
        let pause = match get("pause") {
            Some(entry) => {
                let text: String = read::one(&entry.item, "pause", "a duration such as 2s")?;
                duration::parse(&text)
                    .map_err(|error| Wrong::new(&entry.item.at, "pause", error.to_string()))?
            }
            None => Duration::ZERO,
        };
        for key in ["slo", "stop_when"] {
            if let Some(entry) = get(key) {
                read::thresholds(&entry.item, key)?;
            }
        }
        Ok(Self {
            name: text("name")?.unwrap_or_else(|| stem(file)),
            about: text("about")?,
            repeat,
            order: match get("order") {
                Some(entry) => read::word(
                    &entry.item,
                    "order",
                    &[Order::Given, Order::Random, Order::Mirrored].map(order),
                )?,
                None => Order::default(),
            },
            seed: match get("seed") {
                Some(entry) => read::one(&entry.item, "seed", "a whole number")?,
                None => 1,
            },
            together: match get("sweep") {
                Some(entry) => read::word(
                    &entry.item,
                    "sweep",
                    &[("crossed", Together::Crossed), ("zipped", Together::Zipped)],
                )?,
                None => Together::default(),
            },
            pause,
        })
    }
}

/// The file's name without folders and ending.
fn stem(file: &str) -> String {
    let name = file.rsplit(['/', '\\']).next().unwrap_or(file);
    let stem = name.split_once('.').map_or(name, |(stem, _)| stem);
    match stem {
        "" => "scenario".to_owned(),
        stem => stem.to_owned(),
    }
}

/// What is declared under `[parameters]`, with what was given instead.
fn parameters(
    entries: &[tree::Entry],
    given: &Given,
) -> Result<(Vec<Parameter>, BTreeMap<String, Item>), Wrong> {
    let declared = entries.iter().find(|entry| entry.key == "parameters");
    let table = match declared {
        Some(entry) => read::table(&entry.item, "parameters")?,
        None => &[],
    };
    for (name, _) in &given.parameters {
        if !table.iter().any(|entry| entry.key == *name) {
            let what = match table.is_empty() {
                true => "the scenario has no [parameters]".to_owned(),
                false => unknown(
                    name,
                    "parameter",
                    table.iter().map(|entry| entry.key.as_str()),
                ),
            };
            let at = declared.map_or(0..0, |entry| entry.key_at.clone());
            return Err(Wrong::new(&at, format!("-P {name}"), what));
        }
    }
    let mut parameters = Vec::new();
    let mut values = BTreeMap::new();
    for entry in table {
        let field = format!("parameters.{}", entry.key);
        let (default, about) = default(&entry.item, &field)?;
        let instead = given
            .parameters
            .iter()
            .rev()
            .find(|(name, _)| *name == entry.key);
        let item = match instead {
            Some((_, text)) => tree::given(text, &default.at),
            None => default,
        };
        if refers(&item) {
            let what = "refers to a parameter (want a value)";
            return Err(Wrong::new(&item.at, field, what));
        }
        let value = match item.sweep(&field)? {
            Some(values) => {
                let values: Vec<String> = values.iter().map(Item::to_string).collect();
                values.join(", ")
            }
            None if matches!(item.node, Node::Table(_)) => {
                let what = "a table (want a value, a list, { sweep = [...] } or { default = …, about = \"…\" })";
                return Err(Wrong::new(&item.at, field, what));
            }
            None => item.to_string(),
        };
        parameters.push(Parameter {
            name: entry.key.clone(),
            value,
            about,
        });
        values.insert(entry.key.clone(), item);
    }
    Ok((parameters, values))
}

/// `10`, or `{ default = 10, about = "…" }`.
fn default(item: &Item, field: &str) -> Result<(Item, Option<String>), Wrong> {
    let Node::Table(entries) = &item.node else {
        return Ok((item.clone(), None));
    };
    let Some(default) = entries.iter().find(|entry| entry.key == "default") else {
        return Ok((item.clone(), None));
    };
    let mut about = None;
    for entry in entries {
        match entry.key.as_str() {
            "default" => {}
            "about" => about = Some(entry.item.to_string()),
            key => {
                let what = unknown(key, "key", ["default", "about"]);
                return Err(Wrong::new(&entry.key_at, format!("{field}.{key}"), what));
            }
        }
    }
    Ok((default.item.clone(), about))
}

/// Whether there is a reference to a parameter in it.
fn refers(item: &Item) -> bool {
    match &item.node {
        Node::Scalar(Value::Text(text)) => {
            text.contains("${")
                || text.strip_prefix('$').is_some_and(|name| {
                    !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_')
                })
        }
        Node::Scalar(_) => false,
        Node::List(items) => items.iter().any(refers),
        Node::Table(entries) => entries.iter().any(|entry| refers(&entry.item)),
    }
}
