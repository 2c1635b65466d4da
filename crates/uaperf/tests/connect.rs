//! `uaperf connect`: what it does to a server, as the server counts it.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeSet;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use crate::support;
use crate::support::json;

/// A plant of this process, and a folder for the client.
struct Bench {
    folder: TempDir,
    plant: plant::Server,
}

impl Bench {
    fn start() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            plant: plant::Server::start(plant::Config::default()).unwrap(),
        }
    }

    fn command(&self, options: &[&str]) -> Command {
        let words = ["connect", self.plant.url(), "--quiet", "--out", "r.json"];
        let mut command = support::command(self.folder.path(), &[&words[..], options].concat());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn run(&self, options: &[&str]) -> Output {
        self.command(options).output().unwrap()
    }

    /// The phase that was measured.
    fn phase(&self, options: &[&str]) -> Value {
        let output = self.run(&[options, &["--allow", "storm"]].concat());
        let file = self.folder.path().join("r.json");
        assert!(file.exists(), "{}", support::text(&output.stderr));
        json(&file)["phases"][0].take()
    }
}

/// How often a step was done.
fn done(phase: &Value, step: &str) -> u64 {
    let parts = phase["parts"].as_array().unwrap();
    let part = parts.iter().find(|part| part["service"] == step);
    part.map_or(0, |part| part["sum"]["completed"].as_u64().unwrap())
}

/// Looks until it is so.
fn until(mut so: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !so() {
        assert!(Instant::now() < end, "it did not come to pass");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn each_round_of_churn_is_a_session_that_the_server_has_seen_come_and_go() {
    let bench = Bench::start();
    let phase = bench.phase(&["--sessions", "3", "--requests", "30", "--reads", "2"]);
    assert_eq!(phase["total"]["completed"], 30);
    assert_eq!(phase["total"]["errors"], 0);
    for step in [
        "TCP connect",
        "hello",
        "open channel",
        "create session",
        "activate session",
        "close session",
        "close channel",
    ] {
        assert_eq!(done(&phase, step), 30, "{step}");
    }
    assert_eq!(done(&phase, "read"), 60);
    // The server is an address: nobody looked it up.
    assert_eq!(done(&phase, "name lookup"), 0);
    let counted = bench.plant.counted();
    // Beside them: looking at the server, finding out what there is to prepare, and reading what it has
    // counted, before and afterwards.
    assert_eq!(counted.cumulated_sessions, 34);
    assert_eq!(counted.sessions, 0);
}

#[test]
fn a_storm_holds_all_its_sessions_at_once_from_as_many_addresses_as_it_was_told() {
    let bench = Bench::start();
    let child = bench
        .command(&["--kind", "storm", "--sessions", "6", "--hold", "10m"])
        .args(["--source-addresses", "3", "--allow", "storm"])
        .spawn()
        .unwrap();
    until(|| bench.plant.counted().sessions == 6);
    assert_eq!(
        peers_of(bench.plant.address().port()),
        BTreeSet::from(["0100007F", "0200007F", "0300007F"].map(str::to_owned))
    );
    support::signal(child.id(), "INT");
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("6 completed"), "{said}");
    assert!(said.contains("close session"), "{said}");
    until(|| bench.plant.counted().connections == 0);
    assert_eq!(bench.plant.counted().sessions, 0);
}

#[test]
fn a_session_that_reconnects_stays_the_same_session_on_other_channels() {
    let bench = Bench::start();
    let options = ["--kind", "reconnect", "--sessions", "2", "--requests", "10"];
    let phase = bench.phase(&options);
    assert_eq!(phase["total"]["errors"], 0);
    assert_eq!(done(&phase, "activate session"), 10);
    assert_eq!(done(&phase, "create session"), 0);
    let counted = bench.plant.counted();
    assert_eq!(counted.cumulated_sessions, 4);
    assert_eq!(counted.sessions, 0);
    // One to ask for endpoints, four for the sessions, ten to come back.
    assert_eq!(counted.channels, 15);
}

#[test]
fn who_watches_a_storm_of_reconnects_sees_how_many_clients_are_at_it() {
    let bench = Bench::start();
    let options = ["--kind", "reconnect", "--sessions", "4", "--duration", "3s"];
    bench.phase(&[&options[..], &["--live-file", "live.jsonl"]].concat());
    let lines = std::fs::read_to_string(bench.folder.path().join("live.jsonl")).unwrap();
    let mut told = 0;
    for line in lines.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let Some(in_flight) = line["in_flight"].as_i64() else {
            continue;
        };
        assert!((0..=4).contains(&in_flight), "{line}");
        told += in_flight;
    }
    assert!(told > 0, "{lines}");
}

#[test]
fn renewals_stay_on_their_channels() {
    let bench = Bench::start();
    let options = ["--kind", "renewal", "--sessions", "2", "--requests", "20"];
    let phase = bench.phase(&options);
    assert_eq!(phase["total"]["errors"], 0);
    assert_eq!(done(&phase, "renew channel"), 20);
    assert_eq!(done(&phase, "read"), 20);
    assert_eq!(bench.plant.counted().channels, 5);
}

#[test]
fn sessions_that_the_server_has_no_room_for_are_errors_of_the_step_that_was_refused() {
    let mut config = plant::Config::default();
    config.limits.sessions = 2;
    let bench = Bench {
        folder: tempfile::tempdir().unwrap(),
        plant: plant::Server::start(config).unwrap(),
    };
    let phase = bench.phase(&["--kind", "storm", "--sessions", "5"]);
    let status = |name: &str| {
        let all = phase["total"]["statuses"].as_array().unwrap();
        let found = all.iter().find(|status| status["name"] == name);
        found.map_or(0, |status| status["count"].as_u64().unwrap())
    };
    assert_eq!((status("Good"), status("BadTooManySessions")), (2, 3));
    let parts = phase["parts"].as_array().unwrap();
    let created = parts.iter().find(|it| it["service"] == "create session");
    assert_eq!(created.unwrap()["sum"]["errors"], 3);
    assert_eq!(done(&phase, "activate session"), 2);
}

/// How many threads of a process carry load.
fn threads(pid: u32) -> usize {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task"));
    let tasks = tasks.into_iter().flatten().flatten();
    let names = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("comm")).ok());
    let carry = |name: &String| {
        let number = name.trim().strip_prefix("load-");
        number.is_some_and(|it| it.parse::<u32>().is_ok())
    };
    names.filter(carry).count()
}

#[test]
fn ten_thousand_sessions_are_opened_by_two_threads_all_of_them_at_once() {
    const SESSIONS: u64 = 10_000;
    let name = "ten_thousand_sessions_are_opened_by_two_threads_all_of_them_at_once";
    let wanted = SESSIONS + 2_000;
    match observe::limits::raise_descriptors(wanted) {
        Ok(now) if now.soft >= wanted => {}
        _ => return without::skipped(name, "too few descriptors", "ulimit -n 12000"),
    }
    let mut config = plant::Config::default();
    (config.limits.sessions, config.limits.connections) = (11_000, 12_000);
    let bench = Bench {
        folder: tempfile::tempdir().unwrap(),
        plant: plant::Server::start(config).unwrap(),
    };
    let options = ["--allow", "storm", "--kind", "storm", "--timeout", "240s"];
    let many = [
        "--sessions",
        "10000",
        "--at-once",
        "10000",
        "--threads",
        "2",
    ];
    let mut client = bench
        .command(&[&options[..], &many].concat())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut most = 0;
    while client.try_wait().unwrap().is_none() {
        most = most.max(threads(client.id()));
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(most, 2);
    let phase = json(&bench.folder.path().join("r.json"))["phases"][0].take();
    assert_eq!(phase["total"]["errors"], 0, "{}", phase["total"]);
    assert_eq!(phase["footprint"]["held"]["sessions"], SESSIONS);
    assert_eq!(done(&phase, "activate session"), SESSIONS);
    assert_eq!(done(&phase, "close channel"), SESSIONS);
}

#[test]
fn sessions_that_came_early_are_kept_alive_until_the_last_one_has_come() {
    let mut config = plant::Config::default();
    // Half of the storm has come when the first of them would be forgotten.
    let patience = Duration::from_secs(6);
    config.limits.session_timeout = Duration::from_millis(10)..=patience;
    let bench = Bench {
        folder: tempfile::tempdir().unwrap(),
        plant: plant::Server::start(config).unwrap(),
    };
    let options = ["--kind", "storm", "--sessions", "48", "--rate-total", "4/s"];
    let phase = bench.phase(&[&options[..], &["--at-once", "1"]].concat());
    assert_eq!(phase["footprint"]["held"]["sessions"], 48);
    assert_eq!(bench.plant.counted().session_timeouts, 0);
}

#[test]
fn what_makes_no_sense_is_refused_before_anything_is_sent() {
    let bench = Bench::start();
    for (options, want) in [
        (&["--duration", "1s"][..], "--allow storm"),
        (
            &["--allow", "storm", "--kind", "renewal", "--hold", "1s"],
            "--kind storm or churn",
        ),
        (
            &["--allow", "storm", "--kind", "storm", "--requests", "9"],
            "a storm opens each of them once",
        ),
        (&["--allow", "storm", "--in-flight", "4"], "--in-flight"),
        (
            &["--allow", "storm", "--kind", "flood"],
            "want storm, churn",
        ),
    ] {
        let output = bench.run(options);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(want), "{said}");
    }
    assert_eq!(bench.plant.counted().cumulated_connections, 0);
}

/// From where connections to this port of this machine come, as the kernel writes addresses.
fn peers_of(port: u16) -> BTreeSet<String> {
    const ESTABLISHED: &str = "01";
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let to = format!(":{port:04X}");
    let mut peers = BTreeSet::new();
    for line in table.lines().skip(1) {
        let words: Vec<&str> = line.split_whitespace().collect();
        if words[3] == ESTABLISHED && words[2].ends_with(&to) {
            peers.insert(words[1].split(':').next().unwrap().to_owned());
        }
    }
    peers
}
