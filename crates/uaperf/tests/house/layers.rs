//! Folders of a crate use each other in one direction, too, and those of the plant stand in layers.

use std::collections::BTreeSet;

use crate::modules::{Arrows, Crate, Names, crates, ring, shown};

/// The plant's modules, the highest layer first. A module may use those of lower layers and of its own.
const PLANT: &[(&str, &[&str])] = &[
    (
        "server",
        &["server", "site", "in_memory", "dialler", "watch", "signals"],
    ),
    (
        "loops: sockets, timers, channels",
        &[
            "event_loop",
            "listening",
            "line",
            "tls_acceptor",
            "start_error",
        ],
    ),
    (
        "services: a request in, a response out",
        &["service", "update", "shared", "session"],
    ),
    (
        "subscriptions: time is an argument",
        &["subscription", "timers"],
    ),
    (
        "what it is made of",
        &[
            "describe",
            "config",
            "profile",
            "file",
            "nodeset",
            "server_nodes",
            "advertise",
            "endpoints",
            "directory",
        ],
    ),
    ("users", &["users", "trust", "security_group"]),
    (
        "space: nodes, values, events, history, and what is counted of them",
        &[
            "space",
            "internals",
            "ledger",
            "fault",
            "diagnostics",
            "refused",
        ],
    ),
    (
        "ground",
        &[
            "clock", "counters", "limits", "status", "slots", "terms", "pool",
        ],
    ),
];

/// What is below a folder counts as the folder; the root is nobody.
fn folders(arrows: &Arrows) -> Arrows {
    let top = |names: &Names| names.first().map(|name| vec![name.clone()]);
    let mut folders = Arrows::new();
    for (from, to) in arrows {
        let Some(from) = top(from) else { continue };
        let others: BTreeSet<Names> = to.iter().filter_map(top).filter(|it| *it != from).collect();
        folders.entry(from).or_default().extend(others);
    }
    folders
}

/// Modules that use one that stands above them, and modules that stand nowhere.
fn objections(layers: &[(&str, &[&str])], arrows: &Arrows) -> Vec<String> {
    let layer = |module: &Names| {
        let name = module.first()?.as_str();
        layers.iter().position(|(_, names)| names.contains(&name))
    };
    let mut wrong = Vec::new();
    for (from, to) in arrows.iter().filter(|(from, _)| !from.is_empty()) {
        let Some(own) = layer(from) else {
            wrong.push(format!("{} stands in no layer", from.join("::")));
            continue;
        };
        for other in to.iter().filter(|to| layer(to).is_some_and(|it| it < own)) {
            let (from, other) = (from.join("::"), other.join("::"));
            wrong.push(format!("{from} uses {other}, which stands above it"));
        }
    }
    wrong
}

#[test]
fn folders_use_each_other_in_one_direction() {
    let mut wrong = Vec::new();
    for name in crates() {
        if let Some(ring) = ring(&folders(&Crate::read(&name).arrows())) {
            wrong.push(format!("{name} has a ring of folders: {}", shown(&ring)));
        }
    }
    assert!(wrong.is_empty(), "in {}:\n{}", file!(), wrong.join("\n"));
}

#[test]
fn modules_of_the_plant_use_what_stands_below_them() {
    let wrong = objections(PLANT, &Crate::read("plant").arrows());
    assert!(wrong.is_empty(), "in {}:\n{}", file!(), wrong.join("\n"));
}

#[test]
fn an_arrow_that_points_up_is_named() {
    let names = |path: &str| -> Names { path.split("::").map(str::to_owned).collect() };
    let arrow = |from: &str, to: &[&str]| {
        let to: BTreeSet<Names> = to.iter().map(|it| names(it)).collect();
        (names(from), to)
    };
    let arrows: Arrows = [
        arrow("space::node", &["clock", "service::read", "space::value"]),
        arrow("space::value", &["space::node"]),
        arrow("attic", &["space"]),
        arrow("service", &["space::node"]),
    ]
    .into();
    assert_eq!(
        objections(PLANT, &arrows),
        [
            "attic stands in no layer",
            "space::node uses service::read, which stands above it",
        ]
    );
    // Inside a folder it is no ring of folders; between two it is.
    assert_eq!(
        shown(&ring(&folders(&arrows)).unwrap()),
        "space -> service -> space"
    );
}
