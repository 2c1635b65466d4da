//! `uaperf plant from`: a plant file of what a server has.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use load::access::{Access, AccessError, ServerFacts};
use load::diagnostics::PLANT;
use load::survey::{Survey, Variable, number, survey};
use load::transport::Steps;
use plan::unit::duration::parse;
use plant::Plant;
use wire::channel::Protection;
use wire::types::{NodeId, Variant};
use wire::url::Url;

use crate::failure::Failure;
use crate::global::Global;
use crate::screen::{self, tell};
use crate::{access, advice, written};

/// Write a plant file of what a server has: its folders and variables with their ids, types and values, how these move, and its
/// limits
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Where the server is, such as opc.tcp://plc1:4840
    #[arg(value_parser = plan::typed)]
    url: Url,
    /// Write the plant there [default: standard output]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// How long values are watched, to see which move and how
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = parse)]
    watch: Duration,
    /// At most so many nodes
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    most: u32,
    #[command(flatten)]
    access: access::Args,
}

const EXAMPLES: &str = "\
It reads, and changes nothing. Of a signal that moves the plant has one that moves as often and as far, not the same values.

Examples:
  uaperf plant from opc.tcp://plc1:4840 --out plc1.toml
  uaperf plant from opc.tcp://plc1:4840 --security best --user operator --watch 1m --out plc1.toml
  uaperf serve plc1.toml";

/// Carries out `uaperf plant from`.
pub fn run(args: Args, global: &Global) -> anyhow::Result<ExitCode> {
    written::check([("--out", &args.out)], &[])?;
    let access = args.access.resolve(args.url.clone(), global)?;
    let failed = |error| -> Failure { advice::on(&error, &access) };
    let opening = access.discover().map_err(failed)?;
    let mut session = access.open(&opening, &mut Steps::new()).map_err(failed)?;
    let about = ServerFacts::ask(&mut session).map_err(|error| Failure::new(error.to_string()))?;
    let mut told = 0;
    let found = |nodes: usize| {
        if nodes >= told + 100 {
            told = nodes;
            screen::status(&format!("{nodes} nodes"));
        }
        true
    };
    let found = survey(&mut session, args.most as usize, args.watch, found);
    screen::status("");
    let found = found.map_err(|error| Failure::new(format!("{}: {error}", args.url)))?;
    session.leave();
    let offered = offered(&access).map_err(failed)?;
    let written = Written::of(&args.url, &about, &found, &offered);
    // Whatever another server calls its nodes: what is written is a plant.
    Plant::parse(&written.text, "the plant", Path::new("."))
        .map_err(|wrong| Failure::new(format!("what {} has makes no plant: {wrong}", args.url)))?;
    let out = args.out.unwrap_or_else(|| PathBuf::from("-"));
    written::put("--out", &out, written.text.as_bytes());
    tell!("{}", written.summary(&found));
    Ok(ExitCode::SUCCESS)
}

/// What security the server has, as plants say it; what plants have not is left out.
fn offered(access: &Access) -> Result<Vec<String>, AccessError> {
    let offers = access.offers()?;
    let known: HashSet<String> = wire::channel::all_protections()
        .map(|it: Protection| it.to_string())
        .collect();
    let names: BTreeSet<String> = offers.iter().map(|it| it.name()).collect();
    Ok(names.into_iter().filter(|it| known.contains(it)).collect())
}

/// The file, and what is not in it.
#[derive(Debug, Default)]
struct Written {
    text: String,
    signals: u64,
    moving: u64,
    /// Variables that are left out, by the reason.
    left_out: BTreeMap<&'static str, u64>,
}

/// Folders and signals of a namespace.
#[derive(Debug, Default)]
struct Space {
    folders: BTreeMap<String, String>,
    signals: String,
}

impl Written {
    fn of(url: &Url, about: &ServerFacts, found: &Survey, security: &[String]) -> Self {
        let mut it = Self::default();
        let mut spaces: BTreeMap<u16, Space> = BTreeMap::new();
        let (mut kept, mut used) = (Vec::new(), HashSet::new());
        let own = about.namespaces.iter().position(|it| it == PLANT);
        for variable in &found.variables {
            let signal = match own == Some(variable.node.namespace.into()) {
                true => Err("that every plant has"),
                false => signal(variable, found),
            };
            match signal {
                Ok((text, moves)) => {
                    let space = spaces.entry(variable.node.namespace).or_default();
                    space.signals.push_str(&text);
                    used.extend((1..=variable.path.len()).filter_map(|it| variable.path.get(..it)));
                    kept.push(variable);
                    it.signals += 1;
                    it.moving += u64::from(moves);
                }
                Err(why) => *it.left_out.entry(why).or_default() += 1,
            }
        }
        for object in found
            .objects
            .iter()
            .filter(|it| used.contains(it.path.as_slice()))
        {
            let space = spaces.entry(object.node.namespace).or_default();
            if let Some(id) = id(&object.node) {
                space.folders.entry(path(&object.path)).or_insert(id);
            }
        }
        // Ids that variables have are none for folders.
        let ids: HashSet<&NodeId> = found.variables.iter().map(|it| &it.node).collect();
        for variable in kept {
            if let Some(space) = spaces.get_mut(&variable.node.namespace) {
                own_folder(space, variable, &ids);
            }
        }
        it.write(url, about, (found, security), &spaces);
        it
    }

    fn write(
        &mut self,
        url: &Url,
        about: &ServerFacts,
        (found, security): (&Survey, &[String]),
        spaces: &BTreeMap<u16, Space>,
    ) {
        let out = &mut self.text;
        // Writing into a String does not fail.
        let _ = writeln!(out, "# What {url} had, {}.", about.name());
        if found.is_cut {
            let _ = writeln!(out, "# There is more: --most said where to end.");
        }
        let _ = writeln!(out, "name = {}", quoted(&about.name()));
        if !security.is_empty() {
            let names: Vec<String> = security.iter().map(|it| quoted(it)).collect();
            let _ = writeln!(out, "security = [{}]", names.join(", "));
        }
        let limits = LIMITS.iter().filter_map(|(theirs, ours)| {
            let limit = about.limit(theirs)?;
            Some(format!("{ours} = {limit:.0}\n"))
        });
        let limits: String = limits.collect();
        if !limits.is_empty() {
            let _ = write!(out, "\n[limits]\n{limits}");
        }
        for (index, space) in spaces.iter().filter(|(_, it)| !it.signals.is_empty()) {
            let _ = writeln!(out, "\n[[namespace]]\nindex = {index}");
            let uri = about.namespaces.get(usize::from(*index));
            if let Some(uri) = uri.filter(|_| *index > 1) {
                let _ = writeln!(out, "uri = {}", quoted(uri));
            }
            for (path, id) in &space.folders {
                let (path, id) = (quoted(path), quoted(id));
                let _ = writeln!(out, "\n[[namespace.folder]]\npath = {path}\nid = {id}");
            }
            out.push_str(&space.signals);
        }
    }

    fn summary(&self, found: &Survey) -> String {
        let mut text = format!("{} signals, {} of them move", self.signals, self.moving);
        let mut left: Vec<String> = self
            .left_out
            .iter()
            .map(|(why, count)| format!("variables {why} ({count})"))
            .collect();
        for (count, what) in [
            (found.methods, "methods"),
            (found.properties, "properties and parts of variables"),
            (found.hidden, "nodes that may not be browsed"),
        ] {
            if count > 0 {
                left.push(format!("{what} ({count})"));
            }
        }
        if !left.is_empty() {
            let _ = write!(text, "; left out: {}", left.join(", "));
        }
        if found.is_cut {
            text.push_str("; there are more nodes (--most N)");
        }
        text
    }
}

/// What a server says that it takes at most, and what a plant calls it.
const LIMITS: [(&str, &str); 9] = [
    ("MaxNodesPerRead", "nodes_per_read"),
    ("MaxNodesPerWrite", "nodes_per_write"),
    ("MaxNodesPerMethodCall", "methods_per_call"),
    ("MaxNodesPerBrowse", "nodes_per_browse"),
    ("MaxNodesPerRegisterNodes", "nodes_per_register"),
    (
        "MaxNodesPerTranslateBrowsePathsToNodeIds",
        "paths_per_translate",
    ),
    ("MaxMonitoredItemsPerCall", "items_per_call"),
    ("MaxBrowseContinuationPoints", "continuation_points"),
    ("MaxSessions", "sessions"),
];

fn quoted(text: &str) -> String {
    // A string of JSON is one of TOML, but for a character that nobody can see.
    serde_json::Value::from(text.replace('\x7f', "")).to_string()
}

/// An id as plants say it, without its namespace; none if it is one that they cannot have.
fn id(node: &NodeId) -> Option<String> {
    let text = node.to_string();
    let text = match text.split_once(';') {
        Some((namespace, rest)) if namespace.starts_with("ns=") => rest.to_owned(),
        _ => text,
    };
    let is_usable = text.len() > 2 && !text.contains(['{', '}']);
    is_usable.then_some(text)
}

/// Names of folders are told apart by slashes, and braces stand for numbers.
fn name(text: &str) -> String {
    match text {
        "" => "_".to_owned(),
        text => text.replace('/', "_").replace('{', "(").replace('}', ")"),
    }
}

fn path(names: &[String]) -> String {
    let names: Vec<String> = names.iter().map(|it| name(it)).collect();
    names.join("/")
}

/// A signal has its folders in its own namespace: those that are of another are made there once more, with ids that no
/// variable has.
fn own_folder(space: &mut Space, variable: &Variable, ids: &HashSet<&NodeId>) {
    for depth in 1..=variable.path.len() {
        let path = path(variable.path.get(..depth).unwrap_or_default());
        let namespace = variable.node.namespace;
        space.folders.entry(path.clone()).or_insert_with(|| {
            let mut text = format!("folder {path}");
            while ids.contains(&NodeId::new(namespace, text.as_str())) {
                text.push('_');
            }
            format!("s={text}")
        });
    }
}

/// The table of a signal and whether it moves, or why it is none.
fn signal(it: &Variable, found: &Survey) -> Result<(String, bool), &'static str> {
    if it.node.namespace == 0 {
        return Err("of namespace 0");
    }
    let id = id(&it.node).ok_or("with ids that plants cannot have")?;
    let value = it
        .value
        .as_ref()
        .ok_or("without a value that could be read")?;
    let (kind, sizes) = kind(value)?;
    let mut text = String::from("\n[[namespace.signals]]\n");
    let mut row = |key: &str, value: String| {
        // Writing into a String does not fail.
        let _ = writeln!(text, "{key} = {value}");
    };
    if !it.path.is_empty() {
        row("folder", quoted(&path(&it.path)));
    }
    row("name", quoted(&name(&it.name)));
    row("ids", quoted(&id));
    row("type", quoted(kind));
    if !sizes.is_empty() {
        row("dimensions", format!("{sizes:?}"));
    }
    if let Some(description) = &it.description {
        row("description", quoted(description));
    }
    let is_writable = it.access & WRITE != 0;
    let access = match (it.access & READ != 0, is_writable) {
        (true, true) => "read-write",
        (false, true) => "write",
        (true, false) => "read",
        (false, false) => "none",
    };
    if access != "read" {
        row("access", quoted(access));
    }
    let moves = it.moves.changes > 0;
    match moves {
        true => {
            row("pattern", pattern(it, value));
            row(
                "update",
                quoted(&format!("{}ms", update(it.moves.changes, found.watched))),
            );
            if is_writable {
                row("stored", "true".to_owned());
            }
        }
        false => {
            if let Some(value) = constant(value) {
                row("value", value);
            }
        }
    }
    if let Some([low, high]) = it.range {
        row("range", format!("[{low:?}, {high:?}]"));
    }
    if let Some(unit) = &it.unit {
        row("unit", quoted(unit));
    }
    Ok((text, moves))
}

/// Bits of AccessLevel (Part 3, 8.57).
const READ: u8 = 1;
const WRITE: u8 = 2;

/// How it moves: as far as it was seen, or may go.
fn pattern(it: &Variable, value: &Variant) -> String {
    let is_whole = !matches!(value, Variant::Float(_) | Variant::Double(_));
    match (number(value), it.moves.bounds) {
        (Some(first), Some(_)) if it.moves.rises && is_whole && it.range.is_none() => {
            format!("{{ counter = {{ start = {first:.0} }} }}")
        }
        (Some(_), Some([low, high])) => {
            // Beyond what was seen there is more, if nobody says where it ends.
            let beyond = ((high - low) / 10.0).max(f64::MIN_POSITIVE);
            let [low, high] = it.range.unwrap_or([low - beyond, high + beyond]);
            let [low, high] = match is_whole {
                true => within(value, [low.floor(), high.ceil()]),
                false => [low, high],
            };
            let step = it.moves.step.min(high - low);
            format!("{{ random_walk = {{ low = {low:?}, high = {high:?}, step = {step:?} }} }}")
        }
        _ if matches!(value, Variant::Boolean(_)) => quoted("toggle"),
        _ => quoted("counter"),
    }
}

/// No more than the type has room for.
fn within(value: &Variant, [low, high]: [f64; 2]) -> [f64; 2] {
    let [least, most] = match value {
        Variant::SByte(_) => [f64::from(i8::MIN), f64::from(i8::MAX)],
        Variant::Byte(_) => [0.0, f64::from(u8::MAX)],
        Variant::Int16(_) => [f64::from(i16::MIN), f64::from(i16::MAX)],
        Variant::UInt16(_) => [0.0, f64::from(u16::MAX)],
        Variant::Int32(_) => [f64::from(i32::MIN), f64::from(i32::MAX)],
        Variant::UInt32(_) => [0.0, f64::from(u32::MAX)],
        Variant::UInt64(_) => [0.0, f64::MAX],
        _ => [f64::MIN, f64::MAX],
    };
    [low.max(least), high.min(most)]
}

/// Times that people choose for updates, in milliseconds.
const USUAL_MS: [u64; 16] = [
    50, 100, 200, 250, 500, 1000, 2000, 2500, 5000, 10_000, 20_000, 30_000, 60_000, 120_000,
    300_000, 600_000,
];

/// How often it changes, in milliseconds: the usual time that is nearest.
fn update(changes: u64, watched: Duration) -> u64 {
    let each = watched.as_secs_f64() * 1000.0 / changes.max(1) as f64;
    let apart = |ms: u64| (ms as f64 / each).ln().abs();
    let nearest = USUAL_MS
        .into_iter()
        .min_by(|a, b| apart(*a).total_cmp(&apart(*b)));
    nearest.unwrap_or(1000)
}

/// Elements of arrays whose values are written down.
const LISTED: usize = 256;

/// The type of a value, and its dimensions.
fn kind(value: &Variant) -> Result<(&'static str, Vec<u32>), &'static str> {
    let (of, sizes) = match value {
        Variant::Array(array) => {
            let len = u32::try_from(array.values.len()).map_err(|_| "that are too long")?;
            let sizes = array.dimensions.clone().unwrap_or_else(|| vec![len]);
            if sizes.iter().map(|it| u64::from(*it)).product::<u64>() != u64::from(len) || len == 0
            {
                return Err("that are empty arrays");
            }
            (array.values.first().ok_or("that are empty arrays")?, sizes)
        }
        one => (one, Vec::new()),
    };
    let name = match of {
        Variant::Boolean(_) => "Boolean",
        Variant::SByte(_) => "SByte",
        Variant::Byte(_) => "Byte",
        Variant::Int16(_) => "Int16",
        Variant::UInt16(_) => "UInt16",
        Variant::Int32(_) => "Int32",
        Variant::UInt32(_) => "UInt32",
        Variant::Int64(_) => "Int64",
        Variant::UInt64(_) => "UInt64",
        Variant::Float(_) => "Float",
        Variant::Double(_) => "Double",
        Variant::String(_) => "String",
        Variant::DateTime(_) => "DateTime",
        Variant::Guid(_) => "Guid",
        Variant::ByteString(_) => "ByteString",
        Variant::LocalizedText(_) => "LocalizedText",
        Variant::Empty => return Err("without a value that could be read"),
        Variant::ExtensionObject(_) => return Err("of structures"),
        _ => return Err("of types that plants do not fill"),
    };
    Ok((name, sizes))
}

/// A value as plants say it; none if it is one that they make up themselves.
fn constant(value: &Variant) -> Option<String> {
    Some(match value {
        Variant::Boolean(it) => it.to_string(),
        Variant::Float(it) if it.is_finite() => format!("{it:?}"),
        Variant::Double(it) if it.is_finite() => format!("{it:?}"),
        Variant::Int64(it) => it.to_string(),
        Variant::UInt64(it) => i64::try_from(*it).ok()?.to_string(),
        Variant::String(it) => quoted(it.value().as_deref()?),
        Variant::Array(array) if array.dimensions.as_ref().is_none_or(|it| it.len() < 2) => {
            if array.values.len() > LISTED {
                return None;
            }
            let all: Option<Vec<String>> = array.values.iter().map(constant).collect();
            format!("[{}]", all?.join(", "))
        }
        Variant::Float(_) | Variant::Double(_) => return None,
        other => format!("{:.0}", number(other)?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn updates_are_at_the_usual_time_that_is_nearest() {
        let of = |changes, ms| update(changes, Duration::from_millis(ms));
        assert_eq!(
            [of(98, 5000), of(49, 5010), of(5, 5000), of(1, 5000)],
            [50, 100, 1000, 5000]
        );
    }

    #[test]
    fn names_and_ids_that_a_plant_cannot_have_are_others_or_none() {
        assert_eq!(
            path(&["A/B".into(), String::new(), "{n}".into()]),
            "A_B/_/(n)"
        );
        assert_eq!(id(&NodeId::new(4, "x")).as_deref(), Some("s=x"));
        assert_eq!(id(&NodeId::new(4, "a{n}")), None);
        assert_eq!(id(&NodeId::new(0, 7)).as_deref(), Some("i=7"));
    }
}
