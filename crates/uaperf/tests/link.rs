//! `uaperf link` and `--link`: a network that is slow or bad on purpose.

#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on has failed"
)]

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};

use serde_json::Value;

use crate::support;
use crate::support::{Said, Server, command, json};

/// A relay that is ready.
struct Relay {
    child: Child,
    url: String,
}

impl Relay {
    fn start(folder: &Path, words: &[&str]) -> Self {
        let mut child = command(
            folder,
            &["link", "--listen", "127.0.0.1:0", "--duration", "60s"],
        )
        .args(words)
        .arg("--json")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
        let mut line = String::new();
        let told = child.stderr.take().unwrap();
        BufReader::new(told).read_line(&mut line).unwrap();
        let at = line.strip_prefix("listening at ").unwrap();
        let url = at.split(',').next().unwrap().to_owned();
        Self { child, url }
    }

    /// What it says of itself after an interrupt, before its time.
    fn end(self) -> Value {
        support::signal(self.child.id(), "INT");
        let output = self.child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(130));
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

/// The smallest response time of the only phase, in milliseconds.
fn fastest(run: &Value) -> f64 {
    let response = &run["phases"][0]["total"]["histograms"]["response"];
    response["min_ns"].as_f64().unwrap() / 1e6
}

/// 4 where the machine is too busy, which is no fault of the link.
fn measured(said: &Said) {
    assert!([0, 4].contains(&said.code), "{}{}", said.out, said.err);
}

#[test]
fn a_client_sees_the_delay_of_a_relay_and_the_relay_keeps_an_account() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let relay = Relay::start(
        folder.path(),
        &["10Mbit/s,delay=15ms", "--to", &server.url, "--seed", "3"],
    );
    let words = [
        "read",
        &relay.url,
        "--requests",
        "5",
        "--warmup",
        "0s",
        "--out",
        "r.json",
    ];
    let read = Said::by(&mut command(folder.path(), &words));
    measured(&read);
    let fastest = fastest(&json(&folder.path().join("r.json")));
    assert!(fastest >= 30.0, "{fastest} ms");
    let told = relay.end();
    assert_eq!(told["link"], "rate=10Mbit/s,delay=15ms");
    assert_eq!(told["seed"], 3);
    let account = &told["account"];
    assert!(account["connections"].as_u64().unwrap() >= 1, "{told}");
    assert!(account["up"]["bytes"].as_u64().unwrap() > 500, "{told}");
    assert!(account["down"]["packets"].as_u64().unwrap() > 5, "{told}");
    assert_eq!(account["up"]["lost"], 0);
}

#[test]
fn an_interrupt_is_the_end_of_a_relay_that_has_none() {
    let home = tempfile::tempdir().unwrap();
    let words = [
        "link",
        "4g",
        "--to",
        "opc.tcp://127.0.0.1:1",
        "--listen",
        "127.0.0.1:0",
    ];
    let mut child = command(home.path(), &words)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stderr.as_mut().unwrap())
        .read_line(&mut line)
        .unwrap();
    support::signal(child.id(), "INT");
    assert_eq!(child.wait().unwrap().code(), Some(0), "{line}");
}

#[test]
fn a_link_of_ones_own_is_in_the_result_on_the_screen_and_among_the_doubts_of_a_comparison() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let read = |link: Option<&str>, file: &str| {
        let mut words = vec!["read", &server.url, "--requests", "20", "--warmup", "0s"];
        words.extend(link.iter().flat_map(|link| ["--link", link]));
        words.extend(["--out", file]);
        let said = Said::by(&mut command(folder.path(), &words));
        measured(&said);
        (said.out, json(&folder.path().join(file)))
    };
    let (without, plain) = read(None, "plain.json");
    let (screen, slow) = read(Some("delay=10ms"), "slow.json");
    assert!(
        screen.contains("over an emulated link: delay=10ms"),
        "{screen}"
    );
    assert!(!without.contains("emulated link"), "{without}");
    assert_eq!(slow["targets"][0]["link"], "delay=10ms");
    assert_eq!(plain["targets"][0]["link"], Value::Null);
    // The server is still named by its own URL, and reached through the link for everything.
    assert_eq!(slow["targets"][0]["url"], plain["targets"][0]["url"]);
    assert!(fastest(&slow) >= 20.0, "{} ms", fastest(&slow));
    let compared = Said::by(&mut command(
        folder.path(),
        &["compare", "plain.json", "slow.json"],
    ));
    let doubt = "they differ in their link: none and delay=10ms";
    assert!(compared.out.contains(doubt), "{}", compared.out);
}

#[test]
fn a_link_is_a_key_of_scenarios_that_can_be_varied() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let scenario = format!(
        "target = '{}'\n[[phase]]\nname = 'near and far'\nservice = 'read'\nrequests = 5\nwarmup = '0s'\n\
         link = {{ sweep = ['delay=1ms', 'delay=8ms'] }}\n",
        server.url
    );
    std::fs::write(folder.path().join("far.toml"), scenario).unwrap();
    let said = Said::by(&mut command(
        folder.path(),
        &["run", "far.toml", "--out", "far"],
    ));
    measured(&said);
    assert!(
        said.out.contains("delay=1ms") && said.out.contains("delay=8ms"),
        "{}",
        said.out
    );
}

#[test]
fn a_server_that_is_not_there_is_reported_and_a_relay_lives_on() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let relay = Relay::start(folder.path(), &["delay=1ms", "--to", &server.url]);
    drop(server);
    let read = Said::by(&mut command(
        folder.path(),
        &["read", &relay.url, "--timeout", "5s"],
    ));
    assert_eq!(read.code, 1, "{}{}", read.out, read.err);
    let told = relay.end();
    assert!(told["account"]["refused"].as_u64().unwrap() >= 1, "{told}");
}

#[test]
fn what_is_no_link_is_refused_and_says_what_is_one() {
    let folder = tempfile::tempdir().unwrap();
    let said = Said::by(&mut command(
        folder.path(),
        &["read", "opc.tcp://127.0.0.1:1", "--link", "5g"],
    ));
    assert_eq!(said.code, 2, "{}", said.err);
    assert!(said.err.contains("satellite"), "{}", said.err);

    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    let words = [
        "link",
        "dsl",
        "--to",
        "opc.tcp://127.0.0.1:1",
        "--listen",
        &taken,
    ];
    let said = Said::by(&mut command(folder.path(), &words));
    assert_eq!(said.code, 1, "{}", said.err);
    assert!(
        said.err.contains("cannot listen at") && said.err.contains("free port"),
        "{}",
        said.err
    );

    let said = Said::by(&mut command(folder.path(), &["link", "--list"]));
    assert_eq!(said.code, 0, "{}", said.err);
    assert!(said.out.contains("cavalieri-2mbps"), "{}", said.out);
}
