//! From a tree without parameters and sweeps to what is done at one point.

use std::fmt::Display;
use std::ops::Range;
use std::str::FromStr;

use super::complaint::{Wrong, unknown};
use super::keys;
use super::tree::{Entry, Item, Node, Scalar};
use super::vocabulary::{Key, Kind, Setting, Shape, Vocabulary};
use super::weights;
use super::{Group, Restart, Start, Step};
use crate::threshold::Threshold;

/// One point.
pub struct Read {
    pub targets: Vec<String>,
    pub start: Option<Start>,
    pub groups: Vec<Group>,
}

/// The entries of a table.
pub fn table<'a>(item: &'a Item, field: &str) -> Result<&'a [Entry], Wrong> {
    match &item.node {
        Node::Table(entries) => Ok(entries),
        _ => Err(Wrong::new(
            &item.at,
            field,
            "is no table (want keys with values)",
        )),
    }
}

/// One value, read as what it is to be.
pub fn one<T: FromStr<Err: Display>>(item: &Item, field: &str, want: &str) -> Result<T, Wrong> {
    let Node::Scalar(scalar) = &item.node else {
        return Err(Wrong::new(&item.at, field, format!("{item} (want {want})")));
    };
    let text = scalar.to_string();
    text.parse()
        .map_err(|_| Wrong::new(&item.at, field, format!("{text:?} (want {want})")))
}

/// One of some words.
pub fn word<T: Copy>(item: &Item, field: &str, words: &[(&str, T)]) -> Result<T, Wrong> {
    let text = item.to_string();
    let found = words.iter().find(|(word, _)| *word == text);
    found.map(|(_, value)| *value).ok_or_else(|| {
        let words: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        Wrong::new(
            &item.at,
            field,
            format!("{text:?} (want {})", words.join(" or ")),
        )
    })
}

/// One text or several.
pub fn texts(item: &Item, field: &str) -> Result<Vec<(String, Range<usize>)>, Wrong> {
    let items = match &item.node {
        Node::List(items) => items.as_slice(),
        Node::Scalar(_) => std::slice::from_ref(item),
        Node::Table(_) => {
            return Err(Wrong::new(
                &item.at,
                field,
                "is a table (want a value or a list)",
            ));
        }
    };
    let text = |item: &Item| match &item.node {
        Node::Scalar(scalar) => Ok((scalar.to_string(), item.at.clone())),
        _ => Err(Wrong::new(
            &item.at,
            field,
            "is no single value (want a list of values)",
        )),
    };
    items.iter().map(text).collect()
}

/// Conditions.
pub fn thresholds(item: &Item, field: &str) -> Result<Vec<Threshold>, Wrong> {
    let parse = |(text, at): (String, Range<usize>)| {
        text.parse()
            .map_err(|error: crate::ThresholdError| Wrong::new(&at, field, error.to_string()))
    };
    texts(item, field)?.into_iter().map(parse).collect()
}

/// What is done at a point; `instead` of its servers others may be given.
pub fn point(top: &Item, instead: &[String], vocabulary: &dyn Vocabulary) -> Result<Read, Wrong> {
    let top = table(top, "")?;
    let get = |key: &str| top.iter().find(|entry| entry.key == key);
    let (mut targets, mut start) = (instead.to_vec(), None);
    let written = top
        .iter()
        .find(|entry| matches!(entry.key.as_str(), "target" | "targets"));
    if instead.is_empty() {
        start = match get("start") {
            Some(entry) => Some(read_start(&entry.item, vocabulary)?),
            None => None,
        };
        match (written, &start) {
            // It is started where the target says that it is.
            (Some(entry), Some(_)) => {
                let port = port(entry)?;
                if let Some(start) = &mut start
                    && !start.settings.iter().any(|it| it.option == port.option)
                {
                    start.settings.push(port);
                }
            }
            (Some(entry), None) => {
                let specs = texts(&entry.item, &entry.key)?;
                targets = specs.into_iter().map(|(text, _)| text).collect();
            }
            (None, Some(_)) => {}
            (None, None) => {
                let what =
                    "there is none (want target = \"opc.tcp://host:4840\" or a table [start])";
                return Err(Wrong::new(&(0..0), "target", what));
            }
        }
    }
    let servers = match &start {
        Some(start) => start.servers(),
        None => {
            let at = written.map_or(0..0, |entry| entry.item.at.clone());
            vocabulary
                .targets(&targets)
                .map_err(|what| Wrong::new(&at, "target", what))?
        }
    };
    let inherited = Inherited {
        defaults: get("defaults"),
        groups: get("group"),
        slo: get("slo"),
        stop_when: get("stop_when"),
    };
    let groups = read_phases(get("phase"), &inherited, servers, vocabulary)?;
    Ok(Read {
        targets,
        start,
        groups,
    })
}

/// The port of the only target, for the server that is started there.
fn port(entry: &Entry) -> Result<Setting, Wrong> {
    let wrong = |what: String| Wrong::new(&entry.item.at, entry.key.as_str(), what);
    let specs = texts(&entry.item, &entry.key)?;
    let [(text, _)] = specs.as_slice() else {
        let what = "several, of which [start] can start one (want one URL, or none: a free port)";
        return Err(wrong(what.to_owned()));
    };
    let url: Result<wire::url::Url, _> = text.parse();
    let url = url.map_err(|error| wrong(error.to_string()))?;
    Ok(Setting {
        option: "port".to_owned(),
        shape: Shape::One,
        values: vec![Scalar::Number(url.port().to_string())],
        at: entry.item.at.clone(),
        field: entry.key.clone(),
    })
}

fn read_start(item: &Item, vocabulary: &dyn Vocabulary) -> Result<Start, Wrong> {
    let entries = table(item, "start")?;
    let get = |key: &str| entries.iter().find(|entry| entry.key == key);
    let (kind, entry) = match (get("plant"), get("peer")) {
        (Some(entry), None) => (Kind::Plant, entry),
        (None, Some(entry)) => (Kind::Peer, entry),
        _ => {
            let what = "wants one of plant = \"bench\" and peer = \"open62541\"";
            return Err(Wrong::new(&item.at, "start", what));
        }
    };
    let field = format!("start.{}", entry.key);
    let name: String = one(&entry.item, &field, "a name")?;
    let known = vocabulary.startable(kind);
    let is_file = kind == Kind::Plant && name.ends_with(".toml");
    if !is_file && !known.contains(&name) {
        let what = unknown(&name, &entry.key, known.iter().map(String::as_str));
        return Err(Wrong::new(
            &entry.item.at,
            field,
            format!("{name:?}: {what}"),
        ));
    }
    let restart = match get("restart") {
        None => Restart::Never,
        Some(entry) => word(
            &entry.item,
            "start.restart",
            &[
                ("each point", Restart::EachPoint),
                ("each repetition", Restart::EachRepetition),
                ("never", Restart::Never),
            ],
        )?,
    };
    let keys = vocabulary.start_keys(kind);
    let own = keys::start_keys();
    let mut settings = Vec::new();
    for entry in entries {
        if own.iter().any(|key| key.is(&entry.key)) {
            continue;
        }
        settings.push(setting(entry, "start", &keys, &own)?);
    }
    vocabulary
        .start(kind, &name, &settings)
        .map_err(|refusal| refused(refusal, &settings, item, "start"))?;
    Ok(Start {
        kind,
        name,
        restart,
        settings,
    })
}

struct Inherited<'a> {
    defaults: Option<&'a Entry>,
    groups: Option<&'a Entry>,
    slo: Option<&'a Entry>,
    stop_when: Option<&'a Entry>,
}

/// A phase before it is one.
struct Sketch<'a> {
    field: String,
    item: &'a Item,
    service: String,
    keys: Vec<Key>,
    name: Option<String>,
    group: Option<String>,
    weight: Option<u32>,
    settings: Vec<Setting>,
    slo: Vec<Threshold>,
    stop_when: Vec<Threshold>,
}

fn read_phases(
    phases: Option<&Entry>,
    inherited: &Inherited<'_>,
    servers: usize,
    vocabulary: &dyn Vocabulary,
) -> Result<Vec<Group>, Wrong> {
    let items = match phases.map(|entry| (&entry.item.node, entry)) {
        Some((Node::List(items), _)) if !items.is_empty() => items,
        Some((_, entry)) => {
            let what = "is no list of phases (want [[phase]], once for each)";
            return Err(Wrong::new(&entry.key_at, "phase", what));
        }
        None => {
            let what = "there is none (want [[phase]] with a service, once or more)";
            return Err(Wrong::new(&(0..0), "phase", what));
        }
    };
    let mut sketches = Vec::with_capacity(items.len());
    for (n, item) in items.iter().enumerate() {
        sketches.push(sketch(item, format!("phase[{n}]"), inherited, vocabulary)?);
    }
    inherit(&mut sketches, inherited)?;
    let mut groups: Vec<(Option<String>, Vec<Step>)> = Vec::new();
    let mut names: Vec<String> = Vec::new();
    for sketch in sketches {
        let phase = vocabulary
            .phase(&sketch.service, &sketch.settings, servers)
            .map_err(|refusal| refused(refusal, &sketch.settings, sketch.item, &sketch.field))?;
        let name = distinct(
            sketch.name.unwrap_or_else(|| sketch.service.clone()),
            &names,
        );
        names.push(name.clone());
        let step = Step {
            phase: crate::Phase {
                name: Some(name.clone()),
                ..phase
            },
            name,
            service: sketch.service,
            settings: sketch.settings,
            slo: sketch.slo,
            stop_when: sketch.stop_when,
        };
        match groups.last_mut() {
            Some((group, steps)) if group.is_some() && *group == sketch.group => steps.push(step),
            _ => groups.push((sketch.group, vec![step])),
        }
    }
    Ok(groups
        .into_iter()
        .map(|(_, steps)| Group { steps })
        .collect())
}

/// A name that no other phase has.
fn distinct(name: String, taken: &[String]) -> String {
    if !taken.contains(&name) {
        return name;
    }
    let numbered = (2..).map(|n| format!("{name} {n}"));
    let mut free = numbered.filter(|name| !taken.contains(name));
    free.next().unwrap_or_default()
}

fn sketch<'a>(
    item: &'a Item,
    field: String,
    inherited: &Inherited<'_>,
    vocabulary: &dyn Vocabulary,
) -> Result<Sketch<'a>, Wrong> {
    let entries = table(item, &field)?;
    let get = |key: &str| entries.iter().find(|entry| entry.key == key);
    let services = vocabulary.services();
    let service = match get("service") {
        Some(entry) => {
            let service = entry.item.to_string();
            if !services.contains(&service) {
                let what = unknown(&service, "service", services.iter().map(String::as_str));
                let field = format!("{field}.service");
                return Err(Wrong::new(
                    &entry.item.at,
                    field,
                    format!("{service:?}: {what}"),
                ));
            }
            service
        }
        None => {
            let what = format!(
                "names no service (want service = one of {})",
                services.join(", ")
            );
            return Err(Wrong::new(&item.at, field, what));
        }
    };
    let text = |key: &str| match get(key) {
        Some(entry) => one::<String>(&entry.item, &format!("{field}.{key}"), "a text").map(Some),
        None => Ok(None),
    };
    let conditions = |key: &str, above: Option<&Entry>| match (get(key), above) {
        (Some(entry), _) => thresholds(&entry.item, &format!("{field}.{key}")),
        (None, Some(entry)) => thresholds(&entry.item, key),
        (None, None) => Ok(Vec::new()),
    };
    let keys = vocabulary.keys(&service);
    let own = keys::phase_keys();
    let mut settings: Vec<Setting> = Vec::new();
    for entry in entries {
        if own.iter().any(|key| key.is(&entry.key)) {
            continue;
        }
        let setting = setting(entry, &field, &keys, &own)?;
        if settings.iter().any(|other| other.option == setting.option) {
            let what = "is there twice, under two names (want it once)";
            return Err(Wrong::new(&entry.key_at, setting.field, what));
        }
        settings.push(setting);
    }
    Ok(Sketch {
        name: text("name")?,
        group: text("group")?,
        weight: match get("weight") {
            Some(entry) => {
                let field = format!("{field}.weight");
                let want = "a whole number from 1 to 1000000";
                let weight: u32 = one(&entry.item, &field, want)?;
                if !(1..=1_000_000).contains(&weight) {
                    return Err(Wrong::new(
                        &entry.item.at,
                        field,
                        format!("{weight} (want {want})"),
                    ));
                }
                Some(weight)
            }
            None => None,
        },
        slo: conditions("slo", inherited.slo)?,
        stop_when: conditions("stop_when", inherited.stop_when)?,
        keys,
        service,
        settings,
        item,
        field,
    })
}

/// Gives phases what their group and the defaults say and they do not.
fn inherit(sketches: &mut [Sketch<'_>], inherited: &Inherited<'_>) -> Result<(), Wrong> {
    if let Some(groups) = inherited.groups {
        for group in table(&groups.item, "group")? {
            let field = format!("group.{}", group.key);
            let entries = table(&group.item, &field)?;
            let mut members: Vec<&mut Sketch<'_>> = sketches
                .iter_mut()
                .filter(|sketch| sketch.group.as_deref() == Some(&group.key))
                .collect();
            if members.is_empty() {
                let what = format!("no phase is in it (want group = {:?} in some)", group.key);
                return Err(Wrong::new(&group.key_at, field, what));
            }
            let weighed: Vec<Option<u32>> = members.iter().map(|it| it.weight).collect();
            for entry in entries {
                let key = common(entry, &field, &members)?;
                let parts = match weights::divides(&key.option) {
                    true if weighed.iter().any(Option::is_some) => {
                        let setting = setting(entry, &field, &[key], &[])?;
                        Some(weights::divide(&setting, &weighed)?)
                    }
                    _ => None,
                };
                give(entry, &field, &mut members, parts)?;
            }
        }
    }
    for sketch in sketches.iter() {
        let shared = |group: &str| {
            let groups = inherited
                .groups
                .and_then(|it| table(&it.item, "group").ok());
            let table = groups.and_then(|all| all.iter().find(|it| it.key == group));
            let entries = table.and_then(|it| self::table(&it.item, "").ok());
            entries.is_some_and(|entries| {
                entries
                    .iter()
                    .any(|it| weights::divides(&it.key.replace('_', "-")))
            })
        };
        if sketch.weight.is_some() && !sketch.group.as_deref().is_some_and(shared) {
            let what = "divides nothing (want a group, and in its table [group.NAME] sessions, rate_total \
                        or requests)";
            return Err(Wrong::new(
                &sketch.item.at,
                format!("{}.weight", sketch.field),
                what,
            ));
        }
    }
    if let Some(defaults) = inherited.defaults {
        let mut members: Vec<&mut Sketch<'_>> = sketches.iter_mut().collect();
        for entry in table(&defaults.item, "defaults")? {
            common(entry, "defaults", &members)?;
            give(entry, "defaults", &mut members, None)?;
        }
    }
    Ok(())
}

/// The key that an entry is for at least one of the phases.
fn common(entry: &Entry, field: &str, members: &[&mut Sketch<'_>]) -> Result<Key, Wrong> {
    let mut all = members.iter().flat_map(|it| &it.keys);
    match all.find(|key| key.is(&entry.key)) {
        Some(key) => Ok(key.clone()),
        None => {
            let known = members.iter().flat_map(|it| &it.keys);
            let mut known: Vec<&str> = known.map(|key| key.name.as_str()).collect();
            known.sort_unstable();
            known.dedup();
            let what = unknown(&entry.key, "key", known);
            Err(Wrong::new(
                &entry.key_at,
                format!("{field}.{}", entry.key),
                what,
            ))
        }
    }
}

/// Gives an entry to the phases that know its key and have none of their own.
fn give(
    entry: &Entry,
    field: &str,
    members: &mut [&mut Sketch<'_>],
    parts: Option<Vec<Setting>>,
) -> Result<(), Wrong> {
    let mut parts = parts.map(Vec::into_iter);
    for sketch in members {
        let part = parts.as_mut().and_then(Iterator::next);
        let Some(key) = sketch.keys.iter().find(|key| key.is(&entry.key)) else {
            continue;
        };
        if sketch.settings.iter().any(|it| it.option == key.option) {
            continue;
        }
        let setting = match part {
            Some(part) => part,
            None => setting(entry, field, std::slice::from_ref(key), &[])?,
        };
        sketch.settings.push(setting);
    }
    Ok(())
}

/// An entry as the setting of a key.
fn setting(entry: &Entry, field: &str, keys: &[Key], own: &[Key]) -> Result<Setting, Wrong> {
    let field = format!("{field}.{}", entry.key);
    let Some(key) = keys.iter().find(|key| key.is(&entry.key)) else {
        let known = keys.iter().chain(own).map(|key| key.name.as_str());
        return Err(Wrong::new(
            &entry.key_at,
            field,
            unknown(&entry.key, "key", known),
        ));
    };
    let wrong = |what: String| Wrong::new(&entry.item.at, field.clone(), what);
    let values = match (&entry.item.node, key.shape) {
        (Node::Scalar(scalar @ Scalar::Bool(_)), Shape::Flag) => vec![scalar.clone()],
        (_, Shape::Flag) => return Err(wrong(format!("{} (want true or false)", entry.item))),
        (Node::Scalar(scalar), _) => vec![scalar.clone()],
        (Node::List(items), Shape::Many) => {
            let mut values = Vec::with_capacity(items.len());
            for item in items {
                match &item.node {
                    Node::Scalar(scalar) => values.push(scalar.clone()),
                    _ => {
                        return Err(Wrong::new(
                            &item.at,
                            field,
                            "a list within a list (want single values)",
                        ));
                    }
                }
            }
            values
        }
        (Node::List(_), Shape::One) => {
            let told = "a list (want one value, or { sweep = [...] } to measure with each of them)";
            return Err(wrong(told.to_owned()));
        }
        (Node::Table(_), _) => {
            return Err(wrong(
                "a table (want a value, or { sweep = [...] })".to_owned(),
            ));
        }
    };
    Ok(Setting {
        option: key.option.clone(),
        shape: key.shape,
        values,
        at: entry.item.at.clone(),
        field,
    })
}

/// A refusal, at the place of the setting that it is about.
fn refused(
    refusal: super::vocabulary::Refusal,
    settings: &[Setting],
    item: &Item,
    field: &str,
) -> Wrong {
    let about = refusal.option.as_ref();
    let setting = settings
        .iter()
        .find(|setting| about.is_some_and(|option| *option == setting.option));
    match (setting, about) {
        (Some(setting), _) => Wrong::new(&setting.at, setting.field.clone(), refusal.what),
        (None, Some(option)) => {
            let field = format!("{field}.{}", option.replace('-', "_"));
            Wrong::new(&item.at, field, refusal.what)
        }
        (None, None) => Wrong::new(&item.at, field, refusal.what),
    }
}
