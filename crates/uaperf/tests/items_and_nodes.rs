//! `uaperf items` and `uaperf nodes`: what they make in a server, and that nothing of it stays.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::process::Output;

use crate::support::{json, text, uaperf};
use serde_json::Value;
use tempfile::TempDir;

struct Bench {
    folder: TempDir,
    plant: plant::Server,
}

impl Bench {
    fn start(limits: impl FnOnce(&mut plant::Limits)) -> Self {
        let mut config = plant::Config {
            profiles: vec![plant::Profile::Bench { update: None }],
            ..plant::Config::default()
        };
        limits(&mut config.limits);
        Self {
            folder: tempfile::tempdir().unwrap(),
            plant: plant::Server::start(config).unwrap(),
        }
    }

    fn run(&self, command: &str, options: &[&str]) -> Output {
        let url = self.plant.url();
        let words = [
            command,
            url,
            "--quiet",
            "--out",
            "r.json",
            "--samples",
            "kept/calls.csv",
        ];
        uaperf(self.folder.path(), &[&words[..], options].concat())
    }

    fn phase(&self, command: &str, options: &[&str]) -> Value {
        let output = self.run(command, options);
        let file = self.folder.path().join("r.json");
        assert!(file.exists(), "{}", text(&output.stderr));
        json(&file)["phases"][0].take()
    }
}

/// Calls of a step, operations in them that went well, calls with errors.
fn step(phase: &Value, name: &str) -> (u64, u64, u64) {
    let parts = phase["parts"].as_array().unwrap();
    let part = parts.iter().find(|part| part["service"] == name);
    let figure = |name: &str| part.map_or(0, |part| part["sum"][name].as_u64().unwrap());
    (figure("completed"), figure("values"), figure("errors"))
}

#[test]
fn a_round_of_items_creates_modifies_and_deletes_each_of_them_in_calls_of_the_size_asked_for() {
    let bench = Bench::start(|_| {});
    let options = [
        "-n",
        "nsu=urn:bench;i=1000..1009",
        "--subscriptions",
        "2",
        "--items",
        "30",
        "--items-per-call",
        "20",
        "--requests",
        "5",
    ];
    let phase = bench.phase("items", &options);
    assert_eq!(phase["total"]["completed"], 5);
    assert_eq!(phase["total"]["values"], 5 * 2 * 30);
    assert_eq!(step(&phase, "create subscriptions"), (10, 10, 0));
    for name in ["create items", "modify items", "delete items"] {
        assert_eq!(step(&phase, name), (20, 300, 0), "{name}");
    }
    assert_eq!(step(&phase, "delete subscriptions"), (5, 10, 0));
    let counted = bench.plant.counted();
    assert_eq!(counted.cumulated_subscriptions, 10);
    assert_eq!((counted.subscriptions, counted.items), (0, 0));
    let calls = std::fs::read_to_string(bench.folder.path().join("kept/calls.csv")).unwrap();
    let of = |name: &str| calls.lines().filter(|row| row.starts_with(name)).count();
    assert_eq!((of("create items,"), of("items,")), (20, 5));
}

#[test]
fn items_that_a_server_refuses_are_errors_and_the_others_are_deleted_all_the_same() {
    let bench = Bench::start(|_| {});
    let options = [
        "-n",
        "nsu=urn:bench;i=1000",
        "-n",
        "nsu=urn:bench;i=77777",
        "--requests",
        "3",
    ];
    let phase = bench.phase("items", &options);
    assert_eq!(phase["total"]["errors"], 3);
    assert_eq!(phase["total"]["statuses"][0]["name"], "BadNodeIdUnknown");
    assert_eq!(step(&phase, "create items"), (3, 3, 3));
    assert_eq!(step(&phase, "delete items"), (3, 3, 0));
    assert_eq!(bench.plant.counted().items, 0);
}

#[test]
fn a_round_of_nodes_leaves_as_much_room_as_there_was() {
    let bench = Bench::start(|limits| limits.added_nodes = 40);
    let options = ["--allow", "nodes", "--requests", "4", "--count"];
    let phase = bench.phase("nodes", &[&options[..], &["40"]].concat());
    assert_eq!(phase["total"]["errors"], 0);
    assert_eq!(step(&phase, "add nodes"), (4, 160, 0));
    for name in ["add references", "delete references"] {
        assert_eq!(step(&phase, name), (4, 4 * 39, 0), "{name}");
    }
    assert_eq!(step(&phase, "delete nodes"), (4, 160, 0));
    // Ten find no room; the forty that do are deleted again.
    let phase = bench.phase("nodes", &[&options[..], &["50"]].concat());
    assert_eq!(step(&phase, "add nodes"), (4, 160, 4));
    assert_eq!(step(&phase, "delete nodes"), (4, 160, 0));
    let status = &phase["total"]["statuses"][0]["name"];
    assert_eq!(status, "BadResourceUnavailable");
}

#[test]
fn adding_nodes_has_to_be_allowed_and_calls_stay_within_the_servers_limits() {
    let bench = Bench::start(|limits| {
        limits.added_nodes = 40;
        limits.nodes_per_write = 10;
    });
    let refused = |options: &[&str]| {
        let output = bench.run("nodes", options);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{said}");
        said
    };
    assert!(refused(&["--requests", "1"]).contains("--allow nodes"));
    let many = ["--allow", "nodes", "--nodes-per-call", "11"];
    assert!(refused(&many).contains("MaxNodesPerNodeManagement says 10"));
    let options = ["--allow", "nodes", "--requests", "1", "--count", "25"];
    let phase = bench.phase("nodes", &options);
    assert_eq!(step(&phase, "add nodes"), (3, 25, 0));
}
