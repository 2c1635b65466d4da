//! Every other stack's server under load: what it answers, and what it refuses, as
//! `docs/measuring.md` says.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::Path;

use peers::StartOptions;
use peers::testing::{require, say, start};
use record::Run;

use crate::support;
use crate::support::{command as uaperf, text};

const REQUESTS: u64 = 40;

/// What is asked, one column each.
const ASKED: &[(&str, &[&str])] = &[
    (
        "read",
        &["-n", "nsu=urn:bench;i=1000..1009", "--batch", "10"],
    ),
    (
        "write",
        &[
            "-n",
            "nsu=urn:bench;i=1000..1009",
            "--batch",
            "10",
            "--allow",
            "write",
        ],
    ),
    ("browse", &[]),
    ("translate", &[]),
    (
        "call",
        &[
            "--object",
            "nsu=urn:bench;i=4001",
            "--method",
            "nsu=urn:bench;i=4000",
            "--arg",
            "1.5",
            "--allow",
            "call",
        ],
    ),
    (
        "register",
        &["-n", "nsu=urn:bench;i=1000..1009", "--batch", "10"],
    ),
];

/// The statuses that operations ended with; `good` if all of them did. The number of requests is
/// exact whatever the server makes of them.
fn asked(url: &str, command: &str, options: &[&str], folder: &Path) -> String {
    let file = folder.join(format!("{command}.json"));
    let output = uaperf(folder, &[command, url, "--in-flight", "2", "--quiet"])
        .args(["--security", "none", "--timeout", "60s"])
        .args(["--requests", &REQUESTS.to_string()])
        .args(options)
        .arg("--out")
        .arg(&file)
        .output()
        .unwrap();
    if !file.exists() {
        let said = text(&output.stderr);
        let first = said.lines().next().unwrap_or_default();
        let status = first
            .split_whitespace()
            .rev()
            .find(|w| w.starts_with("Bad"));
        return status.map_or_else(|| first.to_owned(), |status| format!("{status} at once"));
    }
    let run = Run::read(&file).unwrap();
    let total = &run.phases[0].total;
    assert_eq!(total.completed, REQUESTS, "{url} {command}");
    let names: Vec<_> = total.statuses.iter().map(|it| it.name.clone()).collect();
    match names.as_slice() {
        [one] if one == "Good" => "good".to_owned(),
        names => names.join(", "),
    }
}

fn loaded(name: &str) {
    let Some(stack) = require(name) else { return };
    let server = start(stack, &StartOptions::default());
    let folder = tempfile::tempdir().unwrap();
    let cells = ASKED
        .iter()
        .map(|(command, options)| asked(server.url(), command, options, folder.path()));
    let row = format!("| {name} | {} |", cells.collect::<Vec<_>>().join(" | "));
    say(&row);
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/measuring.md");
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains(&row), "docs/measuring.md does not say {row}");
}

#[test]
fn open62541_answers_what_the_page_says() {
    loaded("open62541");
}

#[test]
fn async_opcua_answers_what_the_page_says() {
    loaded("async-opcua");
}

#[test]
fn asyncua_answers_what_the_page_says() {
    loaded("asyncua");
}

#[test]
fn python_opcua_answers_what_the_page_says() {
    loaded("pyopcua");
}

#[test]
fn node_opcua_answers_what_the_page_says() {
    loaded("node-opcua");
}

#[test]
fn gopcua_answers_what_the_page_says() {
    loaded("gopcua");
}

#[test]
fn milo_1_answers_what_the_page_says() {
    loaded("milo1");
}

#[test]
fn milo_06_answers_what_the_page_says() {
    loaded("milo06");
}

/// The one stack from a registry that knows HTTPS works at several requests of a connection at once, so each Publish request has one of
/// its own.
#[test]
fn milo06_publishes_over_https() {
    let Some(stack) = require("milo06") else {
        return;
    };
    let port = {
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        free.local_addr().unwrap().port()
    };
    let options = StartOptions {
        extra: vec!["--https".into(), port.to_string()],
        update: Some(std::time::Duration::from_millis(100)),
        ..StartOptions::default()
    };
    let _server = start(stack, &options);
    let folder = tempfile::tempdir().unwrap();
    let url = format!("opc.https://127.0.0.1:{port}/bench");
    let words = ["subscribe", &url, "-n", "nsu=urn:bench;i=1000..1009"];
    let more = ["--publishing", "100ms", "--duration", "3s", "--queue", "10"];
    let output = uaperf(folder.path(), &[&words[..], &more].concat())
        .args(["--sessions", "2", "--trust"])
        .args(["--timeout", "60s", "--quiet", "--out", "run.json"])
        .args(["--log", "warn"])
        .output()
        .unwrap();
    let file = folder.path().join("run.json");
    assert!(file.exists(), "{}", text(&output.stderr));
    let told = support::json(&file)["phases"][0]["subscriptions"].clone();
    let said = text(&output.stderr);
    assert_eq!(told["items"], 20, "{said}");
    let count = |of: &str, name: &str| told[of][name].as_u64().unwrap_or(0);
    // Ten updates a second and item, of which a busy machine leaves some out.
    assert!(
        count("messages", "notifications") >= 2 * 10,
        "{said}\n{told}"
    );
    assert!(
        told["values"]["received"].as_u64() >= Some(20 * 10),
        "{told}"
    );
    assert_eq!(count("messages", "missing_messages"), 0, "{told}");
    assert_eq!(count("messages", "cut"), 0, "{said}\n{told}");
}
