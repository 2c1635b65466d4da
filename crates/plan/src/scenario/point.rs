//! From a tree without parameters and sweeps to what is done at one point.

use super::complaint::{Wrong, unknown};
use super::phases::{self, Inherited};
use super::tree::{Entry, Item, Node, Scalar};
use super::values::{one, refused, setting, table, texts, word};
use super::vocabulary::{Kind, Setting, Shape, Vocabulary};
use super::{Given, Group, Restart, Start, hosts, keys};

/// One point.
pub struct Read {
    pub targets: Vec<String>,
    pub start: Option<Start>,
    pub groups: Vec<Group>,
}

/// What is done at a point; `given` may name other servers and agents than its own.
pub fn read(top: &Item, given: &Given, vocabulary: &dyn Vocabulary) -> Result<Read, Wrong> {
    let instead = given.targets.as_slice();
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
            (None, None) if !needs_server(get("phase"), vocabulary) => {}
            (None, None) => {
                let what =
                    "there is none (want target = \"opc.tcp://host:4840\" or a table [start])";
                return Err(Wrong::new(&(0..0), "target", what));
            }
        }
    }
    let servers = match &start {
        Some(start) => start.servers(),
        // Publishers and listeners are no clients.
        None if targets.is_empty() => 0,
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
        fleet: hosts::read(get("fleet"), given)?,
    };
    let groups = phases::read(get("phase"), &inherited, servers, vocabulary)?;
    Ok(Read {
        targets,
        start,
        groups,
    })
}

/// Whether any phase does; what is no phase is complained about when phases are read.
fn needs_server(phases: Option<&Entry>, vocabulary: &dyn Vocabulary) -> bool {
    let Some(Node::List(items)) = phases.map(|entry| &entry.item.node) else {
        return true;
    };
    items.iter().any(|item| {
        let entries = table(item, "phase").unwrap_or_default();
        let service = entries.iter().find(|entry| entry.key == "service");
        service.is_none_or(|it| vocabulary.needs_server(&it.item.to_string()))
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
    let on = match get("on") {
        None => None,
        Some(entry) => {
            let on: String = one(&entry.item, "start.on", "a host, such as ssh:user@host")?;
            vocabulary
                .place(kind, &name, &settings, &on)
                .map_err(|refusal| match refusal.option {
                    None => Wrong::new(&entry.item.at, "start.on", refusal.what),
                    Some(_) => refused(refusal, &settings, item, "start"),
                })?;
            Some(on)
        }
    };
    Ok(Start {
        kind,
        name,
        on,
        restart,
        settings,
    })
}
