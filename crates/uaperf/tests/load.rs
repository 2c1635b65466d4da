//! What the quick commands do when not all is there that was wanted, and what they see of servers.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::Path;
use std::process::Output;
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::support::{Server, json, text, uaperf};
use serde_json::Value;

fn server(config: plant::Config) -> plant::Server {
    plant::Server::start(config).unwrap()
}

fn bench() -> plant::Server {
    server(plant::Config {
        profiles: vec![plant::Profile::Bench { update: None }],
        ..plant::Config::default()
    })
}

/// A command and the result that it wrote.
fn run(folder: &Path, words: &[&str]) -> (Output, Value) {
    let output = uaperf(folder, &[words, &["--quiet", "--out", "r.json"]].concat());
    let file = folder.join("r.json");
    assert!(file.exists(), "{}", text(&output.stderr));
    (output, json(&file))
}

/// How long something may take that has to happen.
const PATIENCE: Duration = Duration::from_secs(60);

/// The same until it was the server that was measured: a generator that does not get its CPU says so, and
/// is tried again.
fn run_on_a_cpu(folder: &Path, words: &[&str]) -> (Output, Value) {
    const TRIES: usize = 12;
    for _ in 0..TRIES {
        let (output, run) = run(folder, words);
        let verdict = &run["verdict"];
        if verdict["kind"] != "GENERATOR-LIMITED" {
            return (output, run);
        }
        let evidence = verdict["evidence"].to_string();
        let had_none = ["for a CPU", "did not run for"].map(|it| evidence.contains(it));
        assert!(had_none.contains(&true), "{verdict}");
    }
    panic!("a machine on which {TRIES} runs in a row get no CPU cannot run this test");
}

/// Good, or 4 where the machine that runs the tests was too busy for a verdict.
fn measured(output: &Output) -> bool {
    matches!(output.status.code(), Some(0 | 4))
}

fn total(run: &Value) -> &Value {
    &run["phases"][0]["total"]
}

/// What the verdict rests on.
fn lacks(run: &Value) -> String {
    run["verdict"]["evidence"].to_string()
}

fn notes(run: &Value) -> String {
    format!("{} {}", run["notes"], run["verdict"]["notes"])
}

#[test]
fn a_fresh_session_is_a_connection_a_channel_and_a_session_for_each_request() {
    let folder = tempfile::tempdir().unwrap();
    let plant = server(plant::Config::default());
    let before = plant.counted();
    let words = ["read", plant.url(), "--security", "none", "--fresh-session"];
    let load = ["--requests", "20", "--sessions", "2", "--warmup", "0s"];
    let (output, run) = run(folder.path(), &[&words[..], &load[..]].concat());
    assert!(measured(&output), "{run}");
    assert_eq!(total(&run)["completed"], 20);
    assert_eq!(total(&run)["errors"], 0);
    let after = plant.counted();
    // And one each to look at the server, to ask for its endpoints, to prepare, and to read the server's own
    // counters before and after.
    let made = |of: fn(&plant::Counted) -> u64| of(&after) - of(&before);
    assert!(
        (20..=25).contains(&made(|it| it.cumulated_sessions)),
        "{after:?}"
    );
    assert!((20..=26).contains(&made(|it| it.cumulated_connections)));
    let begun = Instant::now();
    while plant.counted().sessions > 0 {
        assert!(begun.elapsed() < PATIENCE, "some are left behind");
        sleep(Duration::from_millis(10));
    }
    plant.stop();
}

#[test]
fn a_fresh_session_for_a_server_that_is_slower_than_the_plan_is_not_the_generators_fault() {
    let folder = tempfile::tempdir().unwrap();
    let fault = "delay=50ms,on=read".parse().unwrap();
    let plant = server(plant::Config {
        faults: vec![fault],
        ..plant::Config::default()
    });
    let words = ["read", plant.url(), "--security", "none", "--fresh-session"];
    let load = ["--rate", "40/s", "--duration", "2s", "--warmup", "0s"];
    let (_, run) = run_on_a_cpu(folder.path(), &[&words[..], &load[..]].concat());
    assert_eq!(
        run["verdict"]["kind"], "SERVER-SATURATED",
        "{}",
        run["verdict"]
    );
    // What was planned and not sent is in the books.
    assert_eq!(total(&run)["planned"], 80, "{run}");
    assert!(total(&run)["unsent"].as_u64().unwrap() > 20);
    plant.stop();
}

#[test]
fn closing_is_in_no_figure_of_a_fresh_session() {
    let folder = tempfile::tempdir().unwrap();
    let fault = "delay=2s,on=close_session".parse().unwrap();
    let plant = server(plant::Config {
        faults: vec![fault],
        ..plant::Config::default()
    });
    let words = ["read", plant.url(), "--security", "none", "--fresh-session"];
    // A closed loop, and an open one whose requests come seldom enough for a client to be free again.
    let loads = [
        &["--in-flight", "1"][..],
        &["--rate", "1/s", "--sessions", "4"],
    ];
    for load in loads {
        let more = ["--requests", "4", "--warmup", "0s"];
        let (_, run) = run(folder.path(), &[&words[..], load, &more].concat());
        assert_eq!(total(&run)["completed"], 4, "{run}");
        for figure in ["response", "service"] {
            let max = total(&run)["histograms"][figure]["max_ns"].as_f64();
            assert!(max.unwrap() < 1.5e9, "{figure}, {load:?}: {run}");
        }
    }
    plant.stop();
}

#[test]
fn a_fresh_session_is_due_when_its_server_has_told_its_own_counters() {
    let folder = tempfile::tempdir().unwrap();
    let fault = "delay=600ms,on=create_session".parse().unwrap();
    let plant = server(plant::Config {
        faults: vec![fault],
        ..plant::Config::default()
    });
    let words = ["read", plant.url(), "--security", "none", "--fresh-session"];
    let load = ["--requests", "1", "--warmup", "0s"];
    let (_, run) = run(folder.path(), &[&words[..], &load[..]].concat());
    assert_eq!(total(&run)["completed"], 1, "{run}");
    let late = total(&run)["histograms"]["lateness"]["max_ns"].as_f64();
    assert!(late.unwrap() < 300e6, "{run}");
    plant.stop();
}

#[test]
fn of_several_targets_those_that_are_there_are_loaded_and_the_others_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let (one, two) = (
        server(plant::Config::default()),
        server(plant::Config::default()),
    );
    let nobody = "opc.tcp://127.0.0.1:1";
    let words = ["read", one.url(), nobody, two.url(), "--security", "none"];
    let load = ["--requests", "50", "--warmup", "0s"];
    let (output, run) = run(folder.path(), &[&words[..], &load[..]].concat());
    assert_eq!(output.status.code(), Some(1), "{run}");
    assert_eq!(total(&run)["completed"], 50);
    assert!(run["marks"].to_string().contains("degraded"), "{run}");
    assert_eq!(run["verdict"]["kind"], "INCOMPLETE", "{run}");
    assert!(lacks(&run).contains(nobody), "{}", lacks(&run));
    for server in [&one, &two] {
        assert!(run["targets"].to_string().contains(server.url()));
    }
    assert_eq!(run["targets"].as_array().unwrap().len(), 2);
    one.stop();
    two.stop();
}

#[test]
fn sessions_that_a_server_refuses_leave_their_requests_to_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let mut config = plant::Config::default();
    config.limits.sessions = 3;
    let plant = server(config);
    let words = ["read", plant.url(), "--security", "none", "--sessions", "5"];
    let load = ["--requests", "100", "--warmup", "0s"];
    let (output, run) = run(folder.path(), &[&words[..], &load[..]].concat());
    assert_eq!(output.status.code(), Some(1), "{run}");
    assert_eq!(total(&run)["completed"], 100, "{run}");
    assert!(run["marks"].to_string().contains("degraded"), "{run}");
    let lacks = lacks(&run);
    assert!(lacks.contains("of 5 sessions 3 were opened"), "{lacks}");
    let notes = notes(&run);
    assert!(notes.contains("were sent by the others"), "{notes}");
    plant.stop();
}

#[test]
fn requests_of_a_session_that_is_lost_are_missed() {
    let folder = tempfile::tempdir().unwrap();
    let plant = server(plant::Config {
        faults: vec!["disconnect,on=read,every=30".parse().unwrap()],
        ..plant::Config::default()
    });
    let words = ["read", plant.url(), "--security", "none"];
    let load = ["--requests", "100", "--warmup", "0s"];
    let (_, run) = run(folder.path(), &[&words[..], &load[..]].concat());
    assert!(lacks(&run).contains("of 100 requests were sent"), "{run}");
    assert!(run["marks"].to_string().contains("degraded"), "{run}");
    plant.stop();
}

#[test]
fn a_server_whose_only_thread_is_busy_is_at_its_limit_in_a_closed_loop_and_found_by_its_port() {
    let folder = tempfile::tempdir().unwrap();
    let pki = folder.path().join("served");
    let served = Server::start(&pki, &["--security", "none", "--threads", "1"]);
    // Many nodes cost the server far more than the client; so its thread is busy whatever else the
    // machine does, or waits for a CPU.
    let words = ["read", &served.url, "-n", "nsu=urn:bench;i=1000..1499"];
    let load = ["--batch", "500", "--in-flight", "16", "--duration", "2s"];
    let (output, run) = run_on_a_cpu(folder.path(), &[&words[..], &load[..]].concat());
    let verdict = &run["verdict"];
    assert_eq!(verdict["kind"], "SERVER-SATURATED", "{verdict}");
    let evidence = verdict["evidence"].to_string();
    assert!(
        evidence.contains("a thread of the server was busy"),
        "{evidence}"
    );
    assert_eq!(output.status.code(), Some(0));
    let resources = run["phases"][0]["resources"].as_array().unwrap();
    let server = resources.iter().find(|it| it["who"] == "server").unwrap();
    assert_eq!(server["pid"], served.child.id());
    // One request at a time leaves it time to wait.
    let words = ["read", &served.url, "--rate", "50/s", "--duration", "1s"];
    let (_, run) = self::run(folder.path(), &words);
    assert_ne!(
        run["verdict"]["kind"], "SERVER-SATURATED",
        "{}",
        run["verdict"]
    );
}

#[test]
fn a_part_of_an_array_is_read_and_written_and_nothing_else_of_it_changes() {
    let folder = tempfile::tempdir().unwrap();
    let plant = bench();
    for (node, range) in [(3010, "2:4"), (3012, "9000:9999"), (3014, "102399")] {
        let node = format!("nsu=urn:bench;i={node}");
        for (command, allowed) in [("read", None), ("write", Some("--allow=write"))] {
            let mut words = vec![command, plant.url(), "--security", "none", "-n", &node];
            words.extend(["--index-range", range, "--requests", "20", "--warmup", "0s"]);
            words.extend(allowed);
            let (output, run) = run(folder.path(), &words);
            assert!(measured(&output), "{run}");
            assert_eq!(total(&run)["completed"], 20);
            assert_eq!(total(&run)["errors"], 0, "{run}");
            assert!(total(&run)["value_statuses"].is_null(), "{}", total(&run));
            // Not the whole array is sent: 20,000 bytes, or 102,400.
            let sent = total(&run)["requests"]["max_bytes"].as_u64().unwrap();
            assert!(sent < 2_000, "{command} {range}: {sent} bytes");
        }
    }
}

#[test]
fn of_what_a_wildcard_leads_to_only_nodes_with_the_attribute_are_asked() {
    let folder = tempfile::tempdir().unwrap();
    let plant = bench();
    let read = |node: &str, more: &[&str]| {
        let words = ["read", plant.url(), "--security", "none", "-n", node];
        let load = ["--requests", "50", "--warmup", "0s"];
        run(folder.path(), &[&words[..], &load[..], more].concat())
    };
    // Variables (ServerStatus, ServiceLevel and others) beside objects (ServerCapabilities and others) and methods.
    let (output, run) = read("browse:/Objects/Server/*", &[]);
    assert!(measured(&output), "{run}");
    assert!(total(&run)["value_statuses"].is_null(), "{}", total(&run));
    let said = notes(&run);
    assert!(
        said.contains("nodes of browse:/Objects/Server/* were left out"),
        "{said}"
    );
    assert!(
        said.contains("they have no Value that can be read"),
        "{said}"
    );
    // All have a BrowseName.
    let (_, run) = read("browse:/Objects/Server/*", &["--attribute", "BrowseName"]);
    assert!(!notes(&run).contains("left out"), "{}", notes(&run));
    // What is named stays, and its failure shows.
    let (_, run) = read("i=2253", &[]);
    assert_eq!(
        total(&run)["value_statuses"][0]["name"],
        "BadAttributeIdInvalid"
    );
    let (_, run) = read("browse:/Objects/Server/ServerCapabilities", &[]);
    assert_eq!(
        total(&run)["value_statuses"][0]["name"],
        "BadAttributeIdInvalid"
    );
}

#[test]
fn a_run_is_repeated_from_the_request_in_its_result() {
    let folder = tempfile::tempdir().unwrap();
    let plant = bench();
    let words = [
        "read",
        plant.url(),
        "--security",
        "none",
        "-n",
        "nsu=urn:bench;i=1000..1009",
    ];
    let load = [
        "--batch",
        "5",
        "--rate",
        "100/s",
        "--requests=30",
        "--expect",
        "errors=0",
    ];
    let (_, first) = run(folder.path(), &[&words[..], &load[..]].concat());
    let options = &first["request"]["options"];
    // Defaults as well as what was typed.
    assert_eq!(options["batch"], "5", "{options}");
    assert_eq!(options["sessions"], "1", "{options}");
    assert_eq!(options["expect"], serde_json::json!(["errors=0"]));
    assert_eq!(options["spin"], false);
    let typed = first["request"]["argv"].as_array().unwrap();
    let typed: Vec<&str> = typed.iter().map(|it| it.as_str().unwrap()).collect();
    std::fs::remove_file(folder.path().join("r.json")).unwrap();
    uaperf(folder.path(), &typed);
    let again = json(&folder.path().join("r.json"));
    assert_eq!(first["plan"], again["plan"]);
    assert_eq!(first["request"], again["request"]);
    assert_ne!(first["started"], again["started"]);
}

#[test]
fn cycles_of_the_warm_up_are_in_no_figure() {
    let folder = tempfile::tempdir().unwrap();
    let plant = bench();
    let words = ["read", plant.url(), "-n", "nsu=urn:bench;i=1000"];
    let load = ["--sessions", "3", "--together"];
    let long = ["--requests", "30", "--warmup", "400ms", "--cooldown", "0s"];
    let more = ["--security", "none", "--expect", "cycle.p50<1h"];
    let (_, run) = run(folder.path(), &[&words[..], &load, &long, &more].concat());
    let phase = &run["phases"][0];
    let before = phase["left_out"][0]["completed"].as_u64().unwrap();
    assert!(before >= 3, "there were cycles before: {before}");
    let cycles: Vec<u64> = serde_json::from_value(phase["cycles_ns"].clone()).unwrap();
    // One may have begun before the window, and ended in it.
    assert!((10..=12).contains(&cycles.len()), "{cycles:?}");
    let mut sorted = cycles;
    sorted.sort_unstable();
    let middle = sorted[(sorted.len() - 1) / 2];
    assert_eq!(phase["expectations"][0]["found"], middle as f64, "{run}");
    plant.stop();
}

#[test]
fn how_long_so_many_requests_took_stands_beside_how_long_they_take_at_the_planned_rate() {
    let server = bench();
    let folder = tempfile::tempdir().unwrap();
    let url = format!("opc.tcp://{}", server.address());
    let options = [
        "--rate",
        "200/s",
        "--sessions",
        "2",
        "--requests",
        "100",
        "--warmup",
        "0s",
    ];
    let output = uaperf(folder.path(), &[&["read", &url][..], &options].concat());
    let screen = text(&output.stdout);
    let row = screen.lines().find(|it| it.starts_with("took"));
    let row = row.unwrap_or_else(|| panic!("{screen}"));
    assert!(
        row.contains(" for 100 requests, 250 ms at the planned rate"),
        "{row}"
    );
    // Nothing plans how long a closed loop takes.
    let output = uaperf(folder.path(), &["read", &url, "--requests", "100"]);
    let screen = text(&output.stdout);
    assert!(!screen.contains("at the planned rate"), "{screen}");
}
