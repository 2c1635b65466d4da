//! The standard address space as another server has it, and as ours has it.

use std::collections::BTreeSet;

use peers::StartOptions;
use peers::testing::{require, say, start};

use super::dump::Dump;
use super::{ours, plant};

/// A server whose standard address space was made from the same NodeSet by others.
const OTHER: &str = "async-opcua";

/// What each server decides for itself.
const OWN: &[&str] = &[
    "AccessLevel",
    "AccessLevelEx",
    "UserAccessLevel",
    "Executable",
    "UserExecutable",
];

/// The object that has what a server says of itself.
const SERVER: &str = "i=2253";

/// HasComponent, HasProperty.
const PARTS: &[&str] = &["i=47", "i=46"];

/// The node an entry is about, if all that its key names is of the standard.
fn standard(key: &str) -> Option<&str> {
    let mut ids = key.split(' ').filter(|word| word.contains('='));
    let all = ids.all(|id| id.trim_start_matches("svr=0;").starts_with("i="));
    all.then(|| key.split(' ').next().unwrap())
}

/// A node and what it is made of, down to the last property.
fn parts(dump: &Dump, whole: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::from([whole.to_owned()]);
    let mut pending = vec![whole.to_owned()];
    while let Some(node) = pending.pop() {
        for kind in PARTS {
            let start = format!("{node} -> {kind} ");
            let below = dump.keys().filter_map(|key| key.strip_prefix(&start));
            for part in below.map(|id| id.trim_start_matches("svr=0;")) {
                if found.insert(part.to_owned()) {
                    pending.push(part.to_owned());
                }
            }
        }
    }
    found
}

/// Whether both say the same, or each says what it may. Theirs names of a structure only the fields that it adds;
/// Part 3, 8.48 has those of its base before them. A variable type without a default has the attribute with nothing
/// in it there, and no attribute here.
fn agree(key: &str, theirs: Option<&String>, ours: Option<&String>) -> bool {
    if theirs == ours {
        return true;
    }
    let (_, what) = key.rsplit_once(' ').unwrap();
    match (what, theirs, ours) {
        (what, ..) if OWN.contains(&what) => true,
        ("Value", Some(theirs), None) => theirs == "Good nothing",
        ("DataTypeDefinition", Some(theirs), Some(ours)) => {
            let fields = theirs.split_once("fields: Some([");
            fields.is_some_and(|(_, added)| ours.ends_with(added))
        }
        _ => false,
    }
}

#[test]
fn another_server_has_the_same_standard() {
    let Some(stack) = require(OTHER) else { return };
    let other = start(stack, &StartOptions::default());
    let server = plant(None);
    let theirs = ours::dump(other.url());
    let ours = ours::dump(server.url());
    let of_itself = parts(&ours, SERVER);
    let (mut compared, mut unlike) = (0, Vec::new());
    for key in ours.keys().chain(theirs.keys()).collect::<BTreeSet<_>>() {
        let Some(node) = standard(key) else { continue };
        // Which parts a server has, and what they say, is its own.
        let parts_of = key.ends_with(" Value") || key.contains(" -> ") || key.contains(" <- ");
        if parts_of && of_itself.contains(node) {
            continue;
        }
        // And so is what its folders offer, such as the aggregates that it tells.
        let offered = key.rsplit_once(" <- i=35 svr=0;");
        if offered.is_some_and(|(_, folder)| of_itself.contains(folder)) {
            continue;
        }
        compared += 1;
        let (theirs, ours) = (theirs.get(key), ours.get(key));
        if !agree(key, theirs, ours) {
            unlike.push(format!("{key}: theirs {theirs:?}, ours {ours:?}"));
        }
    }
    say(&format!("{compared} references and attributes compared"));
    assert!(compared > 70_000, "{compared}");
    assert!(unlike.is_empty(), "{}\n{}", unlike.len(), unlike.join("\n"));
}
