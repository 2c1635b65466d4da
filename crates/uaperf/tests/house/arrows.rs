//! Arrows between the crates only point down.

use std::process::Command;

use serde_json::Value;

use crate::files::root;

/// The rooms of the house, the highest layer first. A crate may use the crates of lower
/// layers. `docs/architecture.md` says what each is for.
pub const LAYERS: &[&[&str]] = &[
    &["uaperf"],
    &["commands"],
    &["peers", "fleet", "report", "model"],
    &["plant", "load", "observe", "judge", "simulate"],
    &[
        "revocation",
        "capture",
        "pubsub",
        "plan",
        "link",
        "mdns",
        "pki",
        "wss",
        "wire",
        "record",
    ],
    &["platform"],
];

/// Crates that only test or measure the others: they may use all, and nobody uses them.
pub const OUTSIDE: &[&str] = &["interop", "fuzzed", "counted", "benches", "without"];

/// What tests of all crates may use, and what runs other stacks for them.
const FOR_TESTS: &[&str] = &["without"];

/// Arrows inside a layer that were found worth having, with the reason beside each.
const BETWEEN_NEIGHBOURS: &[(&str, &str)] = &[
    // A plan names endpoints, nodes and attributes as the wire does.
    ("plan", "wire"),
    // The fields of a DataSet are values as the wire encodes them, behind the same guard.
    ("pubsub", "wire"),
    // What is JSON towards the network is messages as the wire knows them.
    ("wss", "wire"),
    // A capture has the keys of channels, as the wire derives them.
    ("capture", "wire"),
    // A link is typed in the quantities of a plan, and its chance is the same on every machine.
    ("link", "plan"),
    // What judging a certificate wants to know is asked over sockets, which judging has none of; client and server both
    // do.
    ("revocation", "pki"),
];

/// One arrow: `from` uses `to`.
pub type Arrow = (String, String);

fn layer(room: &str) -> Option<usize> {
    LAYERS.iter().position(|rooms| rooms.contains(&room))
}

/// What is wrong with an arrow, if anything is.
fn objection((from, to): &Arrow) -> Option<String> {
    if FOR_TESTS.contains(&to.as_str()) {
        return None;
    }
    if OUTSIDE.contains(&to.as_str()) {
        return Some(format!(
            "{from} uses {to}, which is for tests and measurements only"
        ));
    }
    if OUTSIDE.contains(&from.as_str()) || BETWEEN_NEIGHBOURS.contains(&(from, to)) {
        return None;
    }
    match (layer(from), layer(to)) {
        (Some(upper), Some(lower)) if upper < lower => None,
        (Some(upper), Some(lower)) if upper == lower => {
            Some(format!("{from} uses {to}, which stands in the same layer"))
        }
        (Some(_), Some(_)) => Some(format!("{from} uses {to}, which stands above it")),
        // An unknown crate has a test of its own.
        _ => None,
    }
}

/// The crates of the workspace and the arrows between them, those that only tests need among them or not.
pub fn workspace(tests: bool) -> (Vec<String>, Vec<Arrow>) {
    let output = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--format-version",
            "1",
            "--no-deps",
            "--locked",
            "--offline",
        ])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "cargo metadata: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let mut crates = Vec::new();
    let mut arrows = Vec::new();
    for package in metadata["packages"].as_array().unwrap() {
        let from = package["name"].as_str().unwrap();
        crates.push(from.to_owned());
        for dependency in package["dependencies"].as_array().unwrap() {
            // Only a crate of this repository has a path, and only one that is always needed no kind.
            if dependency["path"].is_string() && (tests || dependency["kind"].is_null()) {
                let to = dependency["name"].as_str().unwrap();
                arrows.push((from.to_owned(), to.to_owned()));
            }
        }
    }
    (crates, arrows)
}

#[test]
fn arrows_between_crates_only_point_down() {
    let (_, arrows) = workspace(true);
    assert!(
        !arrows.is_empty(),
        "a house without arrows: is the metadata still read right?"
    );
    let wrong: Vec<String> = arrows.iter().filter_map(objection).collect();
    assert!(
        wrong.is_empty(),
        "{}\nMove what is shared to a lower layer; see docs/architecture.md, \"The house\".",
        wrong.join("\n")
    );
}

#[test]
fn every_crate_has_its_place_in_the_house() {
    let (crates, _) = workspace(true);
    for name in crates {
        assert!(
            layer(&name).is_some() || OUTSIDE.contains(&name.as_str()),
            "{name} has no place yet: add it to LAYERS in {} and to docs/architecture.md, \"The house\"",
            file!()
        );
    }
}

#[test]
fn every_crate_is_named_in_the_architecture() {
    let page = crate::files::text("docs/architecture.md".as_ref());
    for name in workspace(true).0 {
        assert!(
            page.contains(&format!("`{name}`")),
            "docs/architecture.md does not say what `{name}` is for"
        );
    }
}

#[test]
fn an_arrow_up_or_sideways_is_refused() {
    let arrow = |from: &str, to: &str| objection(&(from.to_owned(), to.to_owned()));
    assert_eq!(arrow("uaperf", "wire"), None);
    assert_eq!(arrow("interop", "uaperf"), None);
    assert!(arrow("wire", "load").unwrap().contains("above"));
    assert!(arrow("load", "plant").unwrap().contains("same layer"));
    assert!(arrow("uaperf", "interop").unwrap().contains("tests"));
}
