//! Runs that belong together: repetitions of a point, points of a sweep.
//!
//! Runs with the same plan are repetitions of each other. What differs between plans is what was
//! varied; the runs of a scenario say it better, and are asked first.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use judge::compare::Metric;
use record::Run;
use record::run::Phase;
use serde_json::Value;

/// A run, what it is called, and what it says of its place in a sweep.
#[derive(Debug, Clone)]
pub struct Named {
    /// The name of its file.
    pub name: String,
    /// What was measured.
    pub run: Run,
    /// What was varied, with its value here.
    pub varied: Vec<(String, String)>,
}

impl Named {
    /// A run, as its file is called. A scenario says in its runs what it varied.
    pub fn new(name: impl Into<String>, run: Run) -> Self {
        let values = run.request.get("values").and_then(Value::as_object);
        let varied = values.map_or_else(Vec::new, |values| {
            let text = |value: &Value| match value {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            values
                .iter()
                .map(|(name, value)| (name.clone(), text(value)))
                .collect()
        });
        Self {
            name: name.into(),
            run,
            varied,
        }
    }
}

/// Runs of one scenario, or of one command: what differs among them was varied. A subscription beside a sweep of
/// reads is no point of it.
#[derive(Debug)]
pub struct Family<'a> {
    /// The name of the scenario, or the command.
    pub name: String,
    /// In the order they were given.
    pub runs: Vec<&'a Named>,
}

/// Runs by what they are runs of, in the order of the first of each.
pub fn families(runs: &[Named]) -> Vec<Family<'_>> {
    let mut families: Vec<Family<'_>> = Vec::new();
    for named in runs {
        let scenario = named.run.request.get("scenario").and_then(Value::as_str);
        let name = scenario.unwrap_or(&named.run.command);
        match families.iter_mut().find(|it| it.name == name) {
            Some(family) => family.runs.push(named),
            None => families.push(Family {
                name: name.to_owned(),
                runs: vec![named],
            }),
        }
    }
    families
}

/// The phases that the first of these runs has, by name.
pub(crate) fn names<'a>(runs: &[&'a Named]) -> Vec<&'a str> {
    let first = runs.first();
    first.map_or_else(Vec::new, |it| {
        it.run.phases.iter().map(|it| it.name.as_str()).collect()
    })
}

/// The phases of this name.
pub(crate) fn phases<'a>(runs: &[&'a Named], name: &str) -> Vec<&'a Phase> {
    runs.iter()
        .filter_map(|it| it.run.phases.iter().find(|phase| phase.name == name))
        .collect()
}

/// What there is of these words, as a label: `reads, batch 100, warm`.
pub(crate) fn labelled(words: &[&str]) -> String {
    let words: Vec<&str> = words.iter().copied().filter(|it| !it.is_empty()).collect();
    words.join(", ")
}

/// Runs by their points.
#[derive(Debug)]
pub struct Points<'a> {
    /// What is varied.
    pub axes: Vec<String>,
    /// In the order of their values.
    pub points: Vec<Point<'a>>,
    /// The figure that curves are drawn over; none: what was varied.
    pub x: Option<Metric>,
}

/// Repetitions of one and the same.
#[derive(Debug)]
pub struct Point<'a> {
    /// A value for each axis.
    pub values: Vec<String>,
    /// In the order they were given.
    pub runs: Vec<&'a Named>,
}

impl Point<'_> {
    /// `batch 100, sessions 2`; empty without axes.
    pub fn label(&self, axes: &[String]) -> String {
        let both = axes.iter().zip(&self.values);
        let words: Vec<String> = both
            .map(|(axis, value)| format!("{axis} {value}"))
            .collect();
        words.join(", ")
    }

    /// The value on an axis, if it is a number.
    pub fn number(&self, axis: usize) -> Option<f64> {
        number(self.values.get(axis)?)
    }
}

/// The number that a value begins with: `100`, `100/s`, `5k/s`.
pub fn number(text: &str) -> Option<f64> {
    if let Ok(rate) = text.parse::<plan::unit::Rate>() {
        return Some(rate.as_f64());
    }
    text.replace('_', "").parse().ok()
}

impl<'a> Points<'a> {
    /// Sorts runs into points.
    pub fn of(runs: impl IntoIterator<Item = &'a Named>) -> Self {
        let runs: Vec<&Named> = runs.into_iter().collect();
        let described: Vec<BTreeMap<String, String>> = runs
            .iter()
            .map(|named| match named.varied.is_empty() {
                true => described(&named.run),
                false => named.varied.iter().cloned().collect(),
            })
            .collect();
        let mut keys: Vec<&String> = described.iter().flat_map(BTreeMap::keys).collect();
        keys.sort();
        keys.dedup();
        keys.retain(|key| {
            let mut values = described.iter().map(|it| it.get(*key));
            let first = values.next().flatten();
            values.any(|value| value != first)
        });
        let mut points: Vec<Point<'a>> = Vec::new();
        for (named, described) in runs.into_iter().zip(&described) {
            let value = |key: &&String| {
                described
                    .get(*key)
                    .cloned()
                    .unwrap_or_else(|| "none".into())
            };
            let values: Vec<String> = keys.iter().map(value).collect();
            match points.iter_mut().find(|point| point.values == values) {
                Some(point) => point.runs.push(named),
                None => points.push(Point {
                    values,
                    runs: vec![named],
                }),
            }
        }
        // By their numbers, one axis after the other; else as they came.
        let all_numbers = |axis: &usize| points.iter().all(|it| it.number(*axis).is_some());
        let numbers: Vec<usize> = (0..keys.len()).filter(all_numbers).collect();
        points.sort_by(|a, b| {
            let mut orders = numbers.iter().map(|&axis| {
                let (a, b) = (a.number(axis), b.number(axis));
                a.partial_cmp(&b).unwrap_or(Ordering::Equal)
            });
            orders
                .find(|order| order.is_ne())
                .unwrap_or(Ordering::Equal)
        });
        Self {
            axes: short(&keys),
            points,
            x: None,
        }
    }

    /// With another figure that curves are drawn over.
    pub fn over(mut self, x: Option<Metric>) -> Self {
        self.x = x;
        self
    }

    /// The axis that curves are drawn over: the one with the most numbers.
    pub fn curve(&self) -> Option<usize> {
        let all_numbers = |axis: &usize| self.points.iter().all(|it| it.number(*axis).is_some());
        let distinct = |axis: &usize| {
            let mut values: Vec<&String> = self
                .points
                .iter()
                .filter_map(|it| it.values.get(*axis))
                .collect();
            values.sort();
            values.dedup();
            values.len()
        };
        let found = (0..self.axes.len()).filter(all_numbers);
        found.max_by_key(distinct).filter(|axis| distinct(axis) > 1)
    }
}

/// The last word of each path, or more of it where that is not enough.
fn short(keys: &[&String]) -> Vec<String> {
    let last = |key: &str, n: usize| {
        let parts: Vec<&str> = key.split('/').collect();
        parts
            .get(parts.len().saturating_sub(n)..)
            .unwrap_or_default()
            .join(" ")
    };
    keys.iter()
        .map(|key| {
            let alone = last(key, 1);
            let twice = keys.iter().filter(|other| last(other, 1) == alone).count() > 1;
            let name = if twice { last(key, 3) } else { alone };
            name.trim_end_matches("_ns").replace('_', " ")
        })
        .collect()
}

/// What a run was asked for, flat: a path and a value for each setting.
pub fn described(run: &Run) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    all.insert("command".to_owned(), run.command.clone());
    if let Some(target) = run.targets.first() {
        all.insert("security".to_owned(), target.security.clone());
        all.insert("target".to_owned(), host(&target.url).to_owned());
    }
    // A load of several hosts is another one than the same of one.
    let agents = agents(run);
    if !agents.is_empty() {
        all.insert("agents".to_owned(), agents.join(" "));
    }
    if let Some(phases) = run.plan.get("phases").and_then(Value::as_array) {
        let several = phases.len() > 1;
        for (i, phase) in phases.iter().enumerate() {
            let name = phase.get("name").and_then(Value::as_str);
            let name = name.map_or_else(|| (i + 1).to_string(), str::to_owned);
            flatten(phase, if several { &name } else { "" }, &mut all);
        }
    }
    all
}

/// Each agent once, as results name it.
fn agents(run: &Run) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for host in &run.hosts {
        if !names.contains(&host.name.as_str()) {
            names.push(&host.name);
        }
    }
    names
}

/// Ports of servers that are started for a measurement differ, and mean nothing; so do those of a group of PubSub that the
/// system chose.
fn host(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let (host, port) = rest.split_once(':').unwrap_or((rest, ""));
    let is_group = host.parse().is_ok_and(|it: Ipv4Addr| it.is_multicast());
    let is_chosen = port.parse().is_ok_and(|it: u16| it >= CHOSEN);
    match host.starts_with("127.") || host == "localhost" || is_group && is_chosen {
        true => host,
        false => rest,
    }
}

/// Systems choose ports from here on.
const CHOSEN: u16 = 32_768;

/// Settings that repetitions may differ in.
const NOT_COMPARED: [&str; 4] = ["seed", "expect", "abort_on", "name"];

fn flatten(value: &Value, path: &str, all: &mut BTreeMap<String, String>) {
    match value {
        Value::Object(fields) => {
            let rate = (
                fields.get("count").and_then(Value::as_f64),
                fields.get("per_ns").and_then(Value::as_f64),
            );
            if let (Some(count), Some(per_ns)) = rate {
                let text = format!("{}/s", count * 1e9 / per_ns);
                all.insert(path.to_owned(), text);
                return;
            }
            for (key, value) in fields {
                if !NOT_COMPARED.contains(&key.as_str()) {
                    flatten(value, &format!("{path}/{key}"), all);
                }
            }
        }
        Value::Null => {}
        Value::String(text) => {
            all.insert(path.to_owned(), text.clone());
        }
        Value::Number(number) if path.ends_with("_ns") => {
            let ns = number.as_f64().unwrap_or(0.0);
            all.insert(path.to_owned(), plan::unit::duration::show_nanos(ns));
        }
        other => {
            all.insert(path.to_owned(), other.to_string());
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use record::run::Fingerprint;
    use serde_json::json;

    fn named(batch: u64, seed: u64) -> Named {
        let started = "2026-03-01T09:30:00Z".parse().unwrap();
        let mut run = Run::new("read", started, Fingerprint::default());
        run.plan = json!({"phases": [{
            "seed": seed,
            "sessions": 1,
            "arrival": {"loop": "open", "rate": {"count": 1, "per_ns": 1_000_000}},
            "work": {"service": "read", "batch": batch},
        }]});
        Named {
            name: format!("{batch}-{seed}"),
            run,
            varied: Vec::new(),
        }
    }

    #[test]
    fn runs_that_differ_in_their_seed_only_are_repetitions() {
        let runs = [named(100, 1), named(10, 1), named(100, 2)];
        let points = Points::of(&runs);
        assert_eq!(points.axes, ["batch"]);
        let found: Vec<(String, usize)> = points
            .points
            .iter()
            .map(|it| (it.label(&points.axes), it.runs.len()))
            .collect();
        assert_eq!(found, [("batch 10".into(), 1), ("batch 100".into(), 2)]);
        assert_eq!(points.curve(), Some(0));
        assert_eq!(Points::of(&runs[..1]).axes, Vec::<String>::new());
    }

    #[test]
    fn other_commands_and_scenarios_are_no_points_of_a_sweep() {
        let mut runs = [named(10, 1), named(100, 1), named(1, 1), named(10, 1)];
        runs[1].run.command = "subscribe".into();
        runs[2].run.request = json!({"scenario": "demo"});
        let all = families(&runs);
        let found: Vec<(&str, usize)> = all
            .iter()
            .map(|it| (it.name.as_str(), it.runs.len()))
            .collect();
        assert_eq!(found, [("read", 2), ("subscribe", 1), ("demo", 1)]);
    }

    #[test]
    fn a_scenario_says_what_it_varied() {
        let mut runs = [named(10, 1), named(10, 1)];
        for (run, value) in runs.iter_mut().zip(["open62541", "milo"]) {
            run.varied = vec![("peer".into(), value.into())];
        }
        let points = Points::of(&runs);
        assert_eq!((points.points.len(), points.curve()), (2, None));
    }

    #[test]
    fn values_are_numbers_in_the_units_they_are_typed_in() {
        assert_eq!(number("5k/s"), Some(5000.0));
        assert_eq!(number("10_000"), Some(10_000.0));
        assert_eq!(number("none"), None);
    }

    #[test]
    fn points_stand_in_the_order_of_their_numbers() {
        let runs: Vec<Named> = [("20", "100"), ("5", "1000"), ("20", "30"), ("5", "200")]
            .map(|(clients, signals)| Named {
                varied: vec![
                    ("clients".into(), clients.into()),
                    ("security".into(), "none".into()),
                    ("signals".into(), signals.into()),
                ],
                ..named(1, 1)
            })
            .into();
        let points = Points::of(&runs).points;
        let found: Vec<String> = points.iter().map(|it| it.values.join(" ")).collect();
        assert_eq!(found, ["5 200", "5 1000", "20 30", "20 100"]);
    }

    #[test]
    fn ports_that_were_chosen_for_a_measurement_mean_nothing() {
        for (url, expected) in [
            ("opc.tcp://127.0.0.1:38515", "127.0.0.1"),
            ("opc.tcp://localhost:4840/path", "localhost"),
            ("opc.udp://239.255.66.2:58238", "239.255.66.2"),
            ("opc.udp://239.255.66.2:4840", "239.255.66.2:4840"),
            ("opc.tcp://plc1:48400", "plc1:48400"),
            ("opc.tcp://10.0.0.7:48400", "10.0.0.7:48400"),
        ] {
            assert_eq!(host(url), expected, "{url}");
        }
    }
}
