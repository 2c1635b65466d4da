//! Clients that we did not write judge what our server has beside values: events and conditions,
//! histories, nodes that are added, users with certificates. What was found is told in `docs/plant.md`.
//!
//! The judges are small programs beside this file, run with what `uaperf peers install` installed.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::SystemTime;

use peers::testing::{require, say};
use plant::{Config, Plant, Profile, Server};

/// What the profile has, with room for nodes and somebody who comes with a certificate.
fn served(folder: &Path) -> Server {
    let more = r#"
# A judge that does not get its CPU for a while finds everything afterwards.
[limits]
added_nodes = 100
queue_size = 1000000

[[group]]
name = "fitters"
may = ["read", "write"]

[[user]]
name = "anna"
certificate = true
group = "fitters"

[[namespace]]
uri = "urn:test:breadth"

[[namespace.signals]]
name = "Setpoint"
type = "Int32"
access = "read-write"
"#;
    let text = format!(
        "anonymous_may = [\"read\", \"write\", \"call\"]\nuser_certificates = \"users\"\n{}\n{more}",
        Profile::text("alarms").unwrap()
    );
    let plant = Plant::parse(&text, "breadth", folder).unwrap();
    let request = pki::make::Request::application("urn:uaperf:plant").dns("localhost");
    Server::start(plant.config(Config {
        profiles: Vec::new(),
        identity: Some(identity(&request)),
        ..Config::default()
    }))
    .unwrap()
}

fn identity(request: &pki::make::Request) -> pki::Identity {
    let key = pki::Key::generate(2048).unwrap();
    let now = SystemTime::now().into();
    pki::Identity::new(request.self_signed(&key, now).unwrap(), key)
}

/// Has a judge do its steps; gives what it printed last.
fn judged(mut command: Command, home: &Path, url: &str, steps: &str, more: &[&Path]) -> String {
    command.arg(url).arg(steps).args(more);
    // Certificates that a stack makes for itself stay here.
    command.env("HOME", home).env("XDG_CONFIG_HOME", home);
    command.env("PYTHONDONTWRITEBYTECODE", "1");
    let output = command.stdin(Stdio::null()).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{steps}: {told}");
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().last().unwrap_or_default().to_owned()
}

fn beside(file: &str) -> std::path::PathBuf {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/breadth");
    tests.join(file)
}

fn asyncua() -> Option<Command> {
    let stack = require("asyncua")?;
    let mut command = Command::new(stack.dir().join("venv/bin/python"));
    command.arg(beside("judge.py"));
    Some(command)
}

fn node() -> Option<Command> {
    let stack = require("node-opcua")?;
    let mut command = Command::new("node");
    command.env("NODE_PATH", stack.dir().join("node_modules"));
    command.arg(beside("judge.js"));
    Some(command)
}

/// The number behind a name in a flat part of a JSON text.
fn number(text: &str, name: &str) -> i64 {
    let (_, rest) = text.split_once(&format!("\"{name}\":")).expect(text);
    let digits: String = rest
        .trim_start()
        .chars()
        .take_while(|c| c.is_ascii_digit() || *c == '-')
        .collect();
    digits.parse().expect(text)
}

fn says(text: &str, what: &str) -> bool {
    text.replace(' ', "").contains(what)
}

/// Five thousand events a second; each event's id tells whether one is missing. How many of them a client
/// takes before its queue overflows is its own affair, on a busy machine a fraction.
fn flood(name: &str, text: &str) {
    say(&format!("{name}: {text}"));
    assert!(number(text, "count") > 1_000, "{name}: {text}");
    assert_eq!(number(text, "sources"), 50, "{name}: {text}");
    assert_eq!(number(text, "missing"), 0, "{name}: {text}");
    assert_eq!(number(text, "twice"), 0, "{name}: {text}");
}

/// Two seconds of a value each 100 ms, seven in a page.
fn history(name: &str, text: &str) {
    say(&format!("{name}: {text}"));
    let values = number(text, "values");
    assert!((19..=21).contains(&values), "{name}: {text}");
    assert_eq!(number(text, "pages"), (values + 6) / 7, "{name}: {text}");
    assert!(says(text, "\"steps\":[100]"), "{name}: {text}");
    assert!(number(text, "own") >= values, "{name}: {text}");
}

#[test]
fn asyncua_hears_reads_and_adds_what_there_is() {
    let Some(_) = asyncua() else { return };
    let folder = tempfile::tempdir().unwrap();
    let anna = identity(&pki::make::Request::application("urn:anna").common_name("anna"));
    let store = pki::Store::new(folder.path().join("users"));
    store.trust_certificate(&anna.certificate).unwrap();
    let server = served(folder.path());
    std::thread::sleep(std::time::Duration::from_millis(2_500));
    let judge = |steps: &str, more: &[&Path]| {
        judged(asyncua().unwrap(), folder.path(), server.url(), steps, more)
    };
    flood("asyncua", &judge("flood", &[]));
    let text = judge("where", &[]);
    assert!(number(&text, "least") > 800, "{text}");
    let text = judge("conditions", &[]);
    say(&format!("asyncua: {text}"));
    assert!(
        says(&text, "\"acked\":true") && says(&text, "\"shown\":true"),
        "{text}"
    );
    assert!(number(&text, "refreshed") > 0, "{text}");
    history("asyncua", &judge("history", &[]));
    let text = judge("manage", &[]);
    assert!(
        says(&text, "\"read\":42.5,\"names\":[\"Value\"],\"gone\":true"),
        "{text}"
    );

    let (certificate, key) = (
        folder.path().join("anna.der"),
        folder.path().join("anna.pem"),
    );
    pki::store::write_certificate(&certificate, &anna.certificate).unwrap();
    pki::store::write_key(&key, &anna.key).unwrap();
    let text = judge("rights", &[&certificate, &key]);
    assert_eq!(number(&text, "level") & 3, 3, "{text}");
    let tally = server.tally().event;
    assert!(tally.balances(), "{tally:?}");
}

#[test]
fn node_opcua_hears_and_reads_what_there_is() {
    let Some(_) = node() else { return };
    let folder = tempfile::tempdir().unwrap();
    let server = served(folder.path());
    std::thread::sleep(std::time::Duration::from_millis(2_500));
    let judge = |steps: &str| judged(node().unwrap(), folder.path(), server.url(), steps, &[]);
    flood("node-opcua", &judge("flood"));
    let text = judge("where");
    let alarms = number(&text, "alarms");
    assert!(alarms > 0 && alarms == number(&text, "count"), "{text}");
    let text = judge("conditions");
    say(&format!("node-opcua: {text}"));
    assert!(
        says(
            &text,
            "\"status\":\"Good\",\"acked\":true,\"call\":\"Good\""
        ),
        "{text}"
    );
    assert!(number(&text, "refreshed") > 0, "{text}");
    history("node-opcua", &judge("history"));
    let tally = server.tally().event;
    assert!(tally.balances(), "{tally:?}");
}

#[test]
fn asyncua_browses_and_reads_what_stands_in_a_nodeset_file() {
    let Some(_) = asyncua() else { return };
    let folder = tempfile::tempdir().unwrap();
    let sets = plant::NodeSet::read(&[beside("line.NodeSet2.xml")]).unwrap();
    let server = Server::start(Config {
        nodesets: sets,
        ..Config::default()
    })
    .unwrap();
    let url = server.url();
    let text = judged(asyncua().unwrap(), folder.path(), url, "nodeset", &[]);
    say(&format!("asyncua: {text}"));
    assert!(says(&text, "\"speed\":2.5,\"table\":[1,-2,3]"), "{text}");
    assert!(says(&text, "\"point\":[\"X\",\"Y\"]"), "{text}");
    assert!(says(&text, "\"parent\":true"), "{text}");
    assert!(says(&text, "\"called\":\"Bad"), "{text}");
}
