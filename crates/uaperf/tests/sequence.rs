//! Simulated users: sequences of calls with think times between them.

#![allow(clippy::unwrap_used, clippy::panic)]

use crate::support;
use crate::support::{Server, json, uaperf};
use serde_json::Value;

const OPERATOR: &str = "operator*3: connect -> browse i=85 -> think ~20ms -> read \
                        nsu=urn:bench;i=1000..1019 -> subscribe nsu=urn:bench;i=3030 every 50ms -> wait \
                        200ms -> unsubscribe -> disconnect";
const ENGINEER: &str = "engineer: connect -> read nsu=urn:bench;i=1000 -> think 100ms -> write \
                        nsu=urn:bench;i=1000 -> read nsu=urn:bench;i=1000 -> disconnect";

fn part<'a>(run: &'a Value, name: &str) -> &'a Value {
    let parts = run["phases"][0]["parts"].as_array().unwrap();
    let found = parts.iter().find(|part| part["service"] == name);
    &found.unwrap_or_else(|| panic!("there is no {name}"))["sum"]
}

fn count(sum: &Value, what: &str) -> u64 {
    sum[what].as_u64().unwrap()
}

/// The smallest time of a histogram of the result, in nanoseconds.
fn least(sum: &Value) -> u64 {
    sum["histograms"]["response"]["min_ns"].as_u64().unwrap()
}

#[test]
fn a_mixture_of_sequences_has_times_of_each_step_and_of_each_sequence() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let plant = Server::start(&folder.join("server"), &["--profile", "bench", "--trust"]);
    let output = uaperf(
        folder,
        &[
            "sequence",
            &plant.url,
            "--security",
            "none",
            "--quiet",
            "--sessions",
            "8",
            "--ramp-up",
            "500ms",
            "--ramp-down",
            "200ms",
            "--duration",
            "3s",
            "--allow",
            "write",
            "--out",
            "run.json",
            "--sequence",
            OPERATOR,
            "--sequence",
            ENGINEER,
        ],
    );
    let told = support::text(&output.stderr);
    let run = json(&folder.join("run.json"));
    assert_ne!(
        run["verdict"]["kind"], "FAILED",
        "{told} {}",
        run["verdict"]
    );
    let phase = &run["phases"][0];
    assert_eq!(count(&phase["total"], "errors"), 0, "{}", phase["total"]);
    // All that is done is told, and nothing is lost between a sequence and its steps.
    let (operator, engineer) = (part(&run, "operator"), part(&run, "engineer"));
    let both = count(operator, "completed") + count(engineer, "completed");
    assert_eq!(both, count(part(&run, "sequence"), "completed"));
    assert!(count(operator, "completed") > count(engineer, "completed"));
    for step in [
        "connect",
        "browse",
        "read",
        "subscribe",
        "unsubscribe",
        "disconnect",
    ] {
        assert!(count(part(&run, &format!("operator: {step}")), "completed") > 0);
    }
    for step in ["connect", "read", "write", "read 2", "disconnect"] {
        assert!(count(part(&run, &format!("engineer: {step}")), "completed") > 0);
    }
    // A sequence takes at least the time for which it waits; its reads carry twenty values each.
    assert!(least(operator) >= 200_000_000, "{operator}");
    assert!(least(engineer) >= 100_000_000, "{engineer}");
    let read = part(&run, "operator: read");
    assert_eq!(count(read, "values"), 20 * count(read, "completed"));
    // Users come one after the other before the measured time, and go behind it.
    assert_eq!(phase["warm_up"]["given_ns"], 500_000_000);
    assert_eq!(phase["to_ns"], 3_500_000_000u64);
    let notes = run["notes"].to_string();
    assert!(
        notes.contains("users were in a sequence at a time"),
        "{notes}"
    );
}

#[test]
fn a_step_that_fails_ends_its_sequence_with_its_status_and_the_next_one_begins_anew() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let plant = Server::start(&folder.join("server"), &["--profile", "bench", "--trust"]);
    let _ = uaperf(
        folder,
        &[
            "sequence",
            &plant.url,
            "--security",
            "none",
            "--quiet",
            "--requests",
            "20",
            "--out",
            "run.json",
            "--sequence",
            "lost: connect -> read nsu=urn:bench;i=1001 -> subscribe nsu=urn:bench;i=99999 -> read nsu=urn:bench;i=1000 -> disconnect",
        ],
    );
    let run = json(&folder.join("run.json"));
    let lost = part(&run, "lost");
    assert_eq!(count(lost, "completed"), 20);
    assert_eq!(count(lost, "errors"), 20);
    assert_eq!(lost["statuses"][0]["name"], "BadNodeIdUnknown", "{lost}");
    assert_eq!(count(part(&run, "lost: connect"), "completed"), 20);
    // What was never begun has no times.
    let parts = run["phases"][0]["parts"].as_array().unwrap();
    assert!(!parts.iter().any(|part| part["service"] == "lost: read 2"));
}

#[test]
fn what_is_not_allowed_or_no_sequence_is_told_before_anything_is_sent() {
    let folder = tempfile::tempdir().unwrap();
    let said = |sequence: &str| {
        let url = "opc.tcp://127.0.0.1:9";
        let words = ["sequence", url, "--sequence", sequence];
        let output = uaperf(folder.path(), &words);
        (output.status.code(), support::text(&output.stderr))
    };
    let (code, told) = said(ENGINEER);
    assert_eq!(code, Some(2), "{told}");
    assert!(told.contains("--allow write"), "{told}");
    let (code, told) = said("a: jump i=85");
    assert_eq!(code, Some(2), "{told}");
    assert!(told.contains("that is no step"), "{told}");
}
