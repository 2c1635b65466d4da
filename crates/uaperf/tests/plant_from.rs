//! `uaperf plant from`: a plant of what a server has.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on has failed"
)]

use std::path::Path;

use crate::support::{Said, Server, command};

const PLANT: &str = r#"
security = ["none"]
[limits]
nodes_per_read = 500
[[namespace]]
uri = "urn:unused"
[[namespace]]
uri = "urn:line"
index = 4
[[namespace.folder]]
path = "Hall/Drive 1"
id = "i=77"
[[namespace.signals]]
folder = "Hall/Drive 1"
name = "Speed{n}"
ids = "i=100..103"
type = "Double"
pattern = { sine = { low = 0, high = 1500, period = "2s" } }
update = "50ms"
range = [0, 1500]
unit = "1/min"
[[namespace.signals]]
folder = "Hall/Drive 1"
name = "Turns"
ids = "g=72962B91-FA75-4AE6-8D28-B404DC7DAF63"
type = "UInt32"
pattern = "counter"
update = "100ms"
stored = true
access = "read-write"
[[namespace.signals]]
folder = "Hall"
name = "On"
ids = "b=YWJj"
type = "Boolean"
pattern = "toggle"
update = "100ms"
[[namespace.signals]]
name = "Name \"quoted\""
ids = "s=Namé"
type = "String"
value = "line 4\\\n"
description = "what it is called"
[[namespace.signals]]
name = "Ratio"
type = "Float"
value = 0.1
access = "read-write"
[[namespace.signals]]
name = "Matrix"
type = "Int16"
dimensions = [2, 3]
[[namespace.signals]]
name = "List"
type = "Int64"
dimensions = [3]
value = [-1, 0, 9007199254740993]
[[namespace.method]]
name = "Reset"
"#;

/// What `uaperf plant from` makes of a server.
fn taken(folder: &Path, server: &Server, name: &str) -> (String, Said) {
    let words = [
        "plant",
        "from",
        &server.url,
        "--trust",
        "--watch",
        "2s",
        "--out",
        name,
    ];
    let said = Said::by(&mut command(folder, &words));
    assert_eq!(said.code, 0, "{}{}", said.out, said.err);
    (std::fs::read_to_string(folder.join(name)).unwrap(), said)
}

/// All but what is seen of movement, and the first line.
fn still(text: &str) -> Vec<&str> {
    let moving = ["pattern", "update", "# What", "name = \"uaperf"];
    let lines = text.lines();
    lines
        .filter(|line| !moving.iter().any(|it| line.starts_with(it)))
        .collect()
}

#[test]
fn a_plant_of_a_server_has_its_nodes_values_limits_and_how_they_move() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("line.toml"), PLANT).unwrap();
    let serve = |file: &str| {
        let file = folder.path().join(file).display().to_string();
        Server::start(&folder.path().join("server"), &[&file])
    };
    let (first, said) = taken(folder.path(), &serve("line.toml"), "first.toml");
    assert!(
        said.err.contains("10 signals, 6 of them move"),
        "{}",
        said.err
    );
    assert!(said.err.contains("methods (10)"), "{}", said.err);
    for line in [
        "security = [\"None\"]",
        "nodes_per_read = 500",
        "index = 4\nuri = \"urn:line\"",
        "path = \"Hall/Drive 1\"\nid = \"i=77\"",
        "ids = \"g=72962b91-fa75-4ae6-8d28-b404dc7daf63\"",
        "name = \"Name \\\"quoted\\\"\"\nids = \"s=Namé\"\ntype = \"String\"",
        "value = \"line 4\\\\\\n\"",
        "description = \"what it is called\"",
        "range = [0.0, 1500.0]\nunit = \"1/min\"",
        "value = [-1, 0, 9007199254740993]",
        "dimensions = [2, 3]",
        "pattern = { random_walk = { low = 0.0, high = 1500.0,",
        "pattern = { counter = { start =",
        "pattern = \"toggle\"",
        "stored = true",
    ] {
        assert!(first.contains(line), "{line} in {first}");
    }
    // What was made is a plant, and the same is made of it again.
    let said = Said::by(&mut command(
        folder.path(),
        &["plant", "check", "first.toml"],
    ));
    assert!(
        said.out.contains("10 variables"),
        "{}{}",
        said.out,
        said.err
    );
    let (second, _) = taken(folder.path(), &serve("first.toml"), "second.toml");
    assert_eq!(still(&first), still(&second));
}

#[test]
fn what_cannot_be_had_is_said_and_nothing_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let nobody = "opc.tcp://127.0.0.1:1";
    let from = |words: &[&str]| {
        let words = [&["plant", "from"], words].concat();
        Said::by(&mut command(folder.path(), &words))
    };
    let said = from(&[nobody, "--out", "none.toml"]);
    assert_eq!(said.code, 1, "{}", said.err);
    assert!(said.err.contains("refused"), "{}", said.err);
    assert!(!folder.path().join("none.toml").exists());
    std::fs::write(folder.path().join("file"), "").unwrap();
    let said = from(&[nobody, "--out", "file/plant.toml"]);
    assert!([1, 2].contains(&said.code), "{}", said.err);
    assert!(said.err.contains("file/plant.toml"), "{}", said.err);
    assert_eq!(from(&[nobody, "--most", "0"]).code, 2);
}
