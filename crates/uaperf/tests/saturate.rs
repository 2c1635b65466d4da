//! `uaperf saturate` against a server whose capacity is known: it takes 10 ms for each Read, one
//! after the other.

#![allow(clippy::unwrap_used, clippy::panic, clippy::expect_used)]

use std::path::Path;
use std::process::Output;

use support::{Server, command, json, text};

mod support;

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
    let again = saturate(
        folder.path(),
        &server.url,
        &[&search[..], &["--resume", "whole"]].concat(),
    );
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

    let other = ["--slo", "p50<9ms", "--resume", "whole"];
    let refused = saturate(folder.path(), &server.url, &other);
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stderr).contains("want the same command again"));
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
}
