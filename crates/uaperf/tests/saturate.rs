//! `uaperf saturate` against a server whose capacity is known: it takes 10 ms for each Read, one
//! after the other.

#![allow(clippy::unwrap_used, clippy::panic, clippy::expect_used)]

use std::path::Path;
use std::process::Output;

use crate::support::{Server, command, json, text, uaperf};
use serde_json::Value;

fn server(folder: &Path) -> Server {
    let options = ["--profile", "bench", "--security", "none"];
    let fault = ["--fault", "service-time=10ms,on=read"];
    Server::start(&folder.join("server"), &[&options[..], &fault].concat())
}

fn saturate(folder: &Path, url: &str, more: &[&str]) -> Output {
    let words = ["saturate", "read", url, "-n", "nsu=urn:bench;i=1000"];
    command(folder, &words)
        .args(["--duration", "1s", "--quiet"])
        .args(more)
        .output()
        .unwrap()
}

#[test]
fn the_capacity_of_a_server_is_found_and_a_search_that_was_stopped_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let server = server(folder.path());
    let search = ["--slo", "p50<100ms", "--from", "40/s", "--precision", "10%"];

    // A search whose generator does not get its CPU finds nothing, and says so: then once more.
    let whole = [&search[..], &["--out", "whole"]].concat();
    let mut found = saturate(folder.path(), &server.url, &whole);
    for _ in 0..5 {
        if found.status.code() != Some(4) {
            break;
        }
        std::fs::remove_dir_all(folder.path().join("whole")).unwrap();
        found = saturate(folder.path(), &server.url, &whole);
    }
    let said = text(&found.stdout);
    assert_eq!(
        found.status.code(),
        Some(0),
        "{said}{}",
        text(&found.stderr)
    );
    assert!(said.contains("CAPACITY"), "{said}");
    let file = folder.path().join("whole/search.json");
    let kept = json(&file);
    let knee = kept["capacity"]["knee"].as_f64().unwrap();
    // 100 a second are what 10 ms allow; a busy machine may take some of it away.
    assert!((75.0..=112.0).contains(&knee), "{said}");
    // What it takes 10 ms for is no work.
    let limit = said.lines().find(|line| line.starts_with("limited by"));
    assert!(limit.is_some_and(|it| it.contains("not known")), "{said}");
    assert_eq!(kept["bottleneck"]["limited_by"], Value::Null, "{said}");
    let trials = kept["trials"].as_array().unwrap();
    for trial in trials {
        let result = folder
            .path()
            .join("whole")
            .join(trial["file"].as_str().unwrap());
        assert_eq!(json(&result)["format"], "uaperf run");
    }

    // As if it had been stopped before its last trial.
    let mut cut = kept.clone();
    cut.as_object_mut().unwrap().remove("capacity");
    cut["trials"]
        .as_array_mut()
        .unwrap()
        .truncate(trials.len() - 1);
    std::fs::write(&file, cut.to_string()).unwrap();
    // From anywhere, with what was typed then.
    let elsewhere = folder.path().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    let again = uaperf(&elsewhere, &["saturate", "--resume", "../whole"]);
    let said = text(&again.stdout);
    let rows = |text: &str| {
        let answers = [" met", " missed", " not told"];
        let verdicts = ["VALID", "SATURATED", "UNSTEADY", "LIMITED", "FAILED"];
        let told = |line: &&str| {
            let has = |words: &[&str]| words.iter().any(|word| line.contains(word));
            line.starts_with(' ') && has(&answers) && has(&verdicts)
        };
        text.lines().filter(told).count()
    };
    assert!(rows(&said) >= trials.len(), "{said}");
    assert!(said.contains("CAPACITY"), "{said}{}", text(&again.stderr));

    let other = ["saturate", "--resume", "whole", "read", &server.url];
    let refused = uaperf(folder.path(), &other);
    assert_eq!(refused.status.code(), Some(2), "{}", text(&refused.stderr));
    assert!(text(&refused.stderr).contains("the command is the one that is kept there"));
}

#[test]
fn an_objective_that_nothing_meets_and_one_that_everything_meets_are_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let server = server(folder.path());
    // No answer takes less than 10 ms.
    let search = ["--slo", "p50<5ms", "--grow", "sessions", "--confirm", "1"];
    let found = saturate(folder.path(), &server.url, &search);
    let said = text(&found.stdout);
    assert_eq!(found.status.code(), Some(3), "{said}");
    assert!(
        said.contains("CAPACITY    none: 1 session misses"),
        "{said}"
    );

    let search = ["--slo", "p50<60s", "--grow", "sessions", "--to", "2"];
    let found = saturate(folder.path(), &server.url, &search);
    let said = text(&found.stdout);
    assert!(said.contains("CAPACITY    at least 2 sessions"), "{said}");
}

#[test]
fn what_cannot_be_searched_for_is_refused_before_anything_is_measured() {
    let folder = tempfile::tempdir().unwrap();
    let nowhere = "opc.tcp://127.0.0.1:1";
    for (arguments, reason) in [
        (&["--grow", "sessions"][..], "needs an objective"),
        (&["--grow", "items", "--slo", "p99<1s"], "--grow: items"),
        (&["--grow", "threads"], "cannot grow"),
        (&["--from", "10"], "want a rate"),
        (
            &["--from", "10/s", "--to", "5/s"],
            "where the search begins",
        ),
    ] {
        let refused = saturate(folder.path(), nowhere, arguments);
        let said = text(&refused.stderr);
        assert_eq!(refused.status.code(), Some(2), "{said}");
        assert!(said.contains(reason), "{said}");
    }
    assert!(!folder.path().join("results").exists());

    // A server that is not there leaves no search behind.
    let lost = saturate(folder.path(), nowhere, &["--out", "lost"]);
    assert_eq!(lost.status.code(), Some(1), "{}", text(&lost.stderr));
    assert!(!folder.path().join("lost").exists());
    let nothing = uaperf(folder.path(), &["saturate", "--resume", "lost"]);
    assert_eq!(nothing.status.code(), Some(2), "{}", text(&nothing.stderr));
}

/// A plant that has limits.
fn limited(folder: &Path, limits: &str) -> Server {
    let file = folder.join("limited.toml");
    let plant = format!(
        "[limits]\n{limits}\n[[namespace]]\nuri = \"urn:limited\"\n[[namespace.signals]]\n"
    );
    std::fs::write(
        &file,
        plant + "type = \"Double\"\nids = \"i=1..\"\ncount = 10\n",
    )
    .unwrap();
    let options = [file.to_str().unwrap(), "--security", "none"];
    Server::start(&folder.join("server"), &options)
}

#[test]
fn a_limit_of_the_server_ends_the_search_with_the_most_that_there_can_be() {
    let folder = tempfile::tempdir().unwrap();
    let server = limited(folder.path(), "nodes_per_read = 12");
    let batch = ["read", &server.url, "-n", "nsu=urn:limited;i=1..10"];
    let search = ["--grow", "batch", "--slo", "p50<60s", "--rate", "20/s"];
    let rest = [
        "--duration",
        "300ms",
        "--csv",
        "all.csv",
        "--out",
        "batch",
        "--quiet",
    ];
    let words = [&["saturate"][..], &batch, &search, &rest].concat();
    let found = uaperf(folder.path(), &words);
    let said = text(&found.stdout);
    assert!(
        said.contains("CAPACITY    at least 12 a request: there cannot be more"),
        "{said}{}",
        text(&found.stderr)
    );
    assert!(said.contains("MaxNodesPerRead says 12"), "{said}");
    let rows = std::fs::read_to_string(folder.path().join("all.csv")).unwrap();
    let trials = json(&folder.path().join("batch/search.json"))["trials"].take();
    let trials = trials.as_array().unwrap().len();
    let rates = rows.lines().filter(|row| row.contains(",rate,"));
    assert_eq!(rates.count(), trials, "{rows}");
}

#[test]
fn a_load_that_the_server_refuses_a_part_of_has_missed_the_objective() {
    let folder = tempfile::tempdir().unwrap();
    let server = limited(folder.path(), "sessions = 4");
    let read = ["saturate", "read", &server.url, "-n", "nsu=urn:limited;i=1"];
    let search = ["--grow", "sessions", "--slo", "p50<60s", "--rate", "20/s"];
    let short = ["--duration", "300ms", "--trials", "8", "--quiet"];
    let found = uaperf(folder.path(), &[&read[..], &search, &short].concat());
    let said = text(&found.stdout);
    let missed = said.lines().find(|line| line.contains("missed:"));
    let missed = missed.unwrap_or_else(|| panic!("{said}{}", text(&found.stderr)));
    assert!(missed.contains("refused or lost sessions"), "{said}");
    assert!(
        said.contains("the server refused or lost sessions"),
        "{said}"
    );
}

#[test]
fn an_objective_without_errors_that_a_server_meets_by_turning_requests_away_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let options = ["--profile", "bench", "--security", "none"];
    let fault = ["--fault", "bad=BadTooManyOperations,on=write,every=2"];
    let place = folder.path().join("server");
    let server = Server::start(&place, &[&options[..], &fault].concat());
    let write = [
        "saturate",
        "write",
        &server.url,
        "-n",
        "nsu=urn:bench;i=1000",
    ];
    let search = ["--grow", "sessions", "--to", "2", "--rate", "20/s"];
    let rest = ["--allow", "write", "--duration", "1s", "--quiet"];
    let said = |slo: &str| {
        let words = [&write[..], &search, &rest, &["--slo", slo]].concat();
        let found = uaperf(folder.path(), &words);
        text(&found.stdout) + &text(&found.stderr)
    };
    // Every other one of two sessions' 40 requests.
    let silent = said("p50<60s");
    let told = "errors      20 at 2 sessions, which met the objective all the same";
    assert!(silent.contains(told), "{silent}");
    let allowed = said("p50<60s,errors<90%");
    assert!(allowed.contains("at least 2 sessions"), "{allowed}");
    assert!(!allowed.contains("errors      "), "{allowed}");
}
