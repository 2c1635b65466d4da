//! From a scenario's text to all of its points.

use std::collections::BTreeMap;
use std::time::Duration;

use super::complaint::{Complaint, Wrong, unknown};
use super::sweep::{Order, Together};
use super::tree::{Choice, Entry, Item, Node, Scalar as Value};
use super::values::{one, table, thresholds, word};
use super::vocabulary::Vocabulary;
use super::{Given, MOST_POINTS, Parameter, Point, Scenario, keys, point, sweep, top_keys, tree};
use crate::unit::duration;

/// More repetitions than these nobody waits for, either.
const MOST_REPETITIONS: u32 = 10_000;

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
        let entries = table(&top, "")?;
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
        for key in [
            "name", "about", "study", "repeat", "order", "seed", "sweep", "pause",
        ] {
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
            let read = point::read(&resolve(&places)?, given, vocabulary)?;
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
            study: whole.study,
            parameters,
            axes,
            points,
            repeat: given.repeat.unwrap_or(whole.repeat),
            order: whole.order,
            seed: whole.seed,
            pause: whole.pause,
        })
    }
}

/// What holds for a scenario as a whole.
struct Whole {
    name: String,
    about: Option<String>,
    study: Option<String>,
    repeat: u32,
    order: Order,
    seed: u64,
    together: Together,
    pause: Duration,
}

impl Whole {
    fn read(top: &Item, file: &str) -> Result<Self, Wrong> {
        let entries = table(top, "")?;
        let get = |key: &str| entries.iter().find(|entry| entry.key == key);
        let text = |key: &str| match get(key) {
            Some(entry) => one::<String>(&entry.item, key, "a text").map(Some),
            None => Ok(None),
        };
        let order = |order: Order| (order.name(), order);
        let want = "a whole number from 1 to 10000";
        let repeat = match get("repeat") {
            Some(entry) => {
                let repeat: u32 = one(&entry.item, "repeat", want)?;
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
                let text: String = one(&entry.item, "pause", "a duration such as 2s")?;
                duration::parse(&text)
                    .map_err(|error| Wrong::new(&entry.item.at, "pause", error.to_string()))?
            }
            None => Duration::ZERO,
        };
        for key in ["slo", "stop_when"] {
            if let Some(entry) = get(key) {
                thresholds(&entry.item, key)?;
            }
        }
        Ok(Self {
            name: text("name")?.unwrap_or_else(|| stem(file)),
            about: text("about")?,
            study: text("study")?,
            repeat,
            order: match get("order") {
                Some(entry) => word(
                    &entry.item,
                    "order",
                    &[Order::Given, Order::Random, Order::Mirrored].map(order),
                )?,
                None => Order::default(),
            },
            seed: match get("seed") {
                Some(entry) => one(&entry.item, "seed", "a whole number")?,
                None => 1,
            },
            together: match get("sweep") {
                Some(entry) => word(
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
    entries: &[Entry],
    given: &Given,
) -> Result<(Vec<Parameter>, BTreeMap<String, Item>), Wrong> {
    let declared = entries.iter().find(|entry| entry.key == "parameters");
    let table = match declared {
        Some(entry) => table(&entry.item, "parameters")?,
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
