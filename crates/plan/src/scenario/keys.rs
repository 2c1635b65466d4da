//! The keys that only scenarios have.

use super::vocabulary::{Key, Shape};

/// A key, its shape, its value in help, what it does, and what holds without it.
type Row = (
    &'static str,
    Shape,
    &'static str,
    &'static str,
    Option<&'static str>,
);

const TOP: &[Row] = &[
    (
        "name",
        Shape::One,
        "TEXT",
        "What the scenario is called",
        Some("the file's name"),
    ),
    ("about", Shape::One, "TEXT", "What it is for", None),
    (
        "study",
        Shape::One,
        "STUDY.EXPERIMENT",
        "The published experiment that it repeats, such as tahvanainen2016.table_11: what the study printed stands beside the results",
        None,
    ),
    (
        "target",
        Shape::Many,
        "URL",
        "Servers: opc.tcp://host:port/path, a range opc.tcp://host:4840-4849, or @FILE; instead of [start]",
        None,
    ),
    (
        "repeat",
        Shape::One,
        "N",
        "How often each point is measured",
        Some("1"),
    ),
    (
        "order",
        Shape::One,
        "given|random|mirrored",
        "In which order points are measured: as written, shuffled for each repetition from the seed, or there and back",
        Some("given"),
    ),
    (
        "seed",
        Shape::One,
        "N",
        "Of the random order; phases have a seed of their own",
        Some("1"),
    ),
    (
        "sweep",
        Shape::One,
        "crossed|zipped",
        "How several sweeps go together: each value with each, or the first with the first and so on",
        Some("crossed"),
    ),
    (
        "pause",
        Shape::One,
        "DURATION",
        "How long nothing is done between two measurements",
        Some("0s"),
    ),
    (
        "slo",
        Shape::Many,
        "THRESHOLD",
        "What a point has to keep to count as good; the summary says which did",
        None,
    ),
    (
        "stop_when",
        Shape::Many,
        "THRESHOLD",
        "Ends the sweep over its last value when this comes true at a point, such as 'p99>50ms'; the points beyond are marked as left out",
        None,
    ),
];

const PHASE: &[Row] = &[
    (
        "service",
        Shape::One,
        "SERVICE",
        "What is measured: the name of the command",
        None,
    ),
    (
        "name",
        Shape::One,
        "TEXT",
        "What the phase is called in results",
        Some("the service"),
    ),
    (
        "group",
        Shape::One,
        "NAME",
        "Phases next to each other with the same group run side by side; [group.NAME] holds what they have in common",
        None,
    ),
    (
        "weight",
        Shape::One,
        "N",
        "In a group: the share of its sessions, rate_total and requests",
        None,
    ),
    (
        "fleet",
        Shape::Many,
        "true|false|SPEC",
        "Whether the agents of [fleet] share the phase; false: its load is made here; agents as in [fleet]: they make it",
        Some("true, where there are agents"),
    ),
    (
        "slo",
        Shape::Many,
        "THRESHOLD",
        "As above, for this phase alone",
        None,
    ),
    (
        "stop_when",
        Shape::Many,
        "THRESHOLD",
        "As above, for this phase alone",
        None,
    ),
];

const START: &[Row] = &[
    (
        "plant",
        Shape::One,
        "NAME|FILE",
        "Start the program's own server in a process of its own: a profile, or a plant file beside the scenario",
        None,
    ),
    (
        "peer",
        Shape::One,
        "NAME",
        "Start another stack's server, as `uaperf peers list` names it",
        None,
    ),
    (
        "on",
        Shape::One,
        "SPEC",
        "Start it on another host: ssh:host, ssh:user@host or ssh:host:/path/to/uaperf; plants alone",
        Some("this machine"),
    ),
    (
        "restart",
        Shape::One,
        "each point|each repetition|never",
        "When a new server takes the place of the old one; when its settings change it always does",
        Some("never"),
    ),
];

const FLEET: &[Row] = &[
    (
        "hosts",
        Shape::Many,
        "SPEC",
        "Agents: local:N (processes on this machine), ssh:host, ssh:user@host, ssh:host:/path/to/uaperf; with *N or *cores behind it their weight",
        None,
    ),
    (
        "shares",
        Shape::One,
        "weight|cores",
        "What an agent without a weight of its own gets: as much as the others, or by the processors of its host",
        Some("weight"),
    ),
    (
        "orphan",
        Shape::One,
        "DURATION",
        "Agents stop their load when they hear nothing from the controller for this long",
        Some("10s"),
    ),
];

/// Tables of a scenario, beside its keys.
pub(super) const TABLES: [&str; 6] = ["parameters", "start", "fleet", "defaults", "group", "phase"];

fn keys(rows: &[Row]) -> Vec<Key> {
    rows.iter()
        .map(|&(name, shape, value, about, default)| Key {
            name: name.to_owned(),
            option: name.to_owned(),
            shape,
            value: value.to_owned(),
            about: about.to_owned(),
            default: default.map(str::to_owned),
        })
        .collect()
}

/// Keys at the top of a scenario.
pub fn top_keys() -> Vec<Key> {
    keys(TOP)
}

/// Keys of a phase beside the options of its service.
pub fn phase_keys() -> Vec<Key> {
    keys(PHASE)
}

/// Keys of `[fleet]`.
pub fn fleet_keys() -> Vec<Key> {
    keys(FLEET)
}

/// Keys of `[start]` beside the options of the server.
pub fn start_keys() -> Vec<Key> {
    keys(START)
}
