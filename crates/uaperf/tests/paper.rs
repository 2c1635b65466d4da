//! `uaperf paper`: what the studies printed, repeated by one command.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::path::Path;
use std::process::Output;

use crate::support::{command, text};
use serde_json::Value;

fn uaperf(folder: &Path, words: &[&str]) -> Output {
    command(folder, words).output().unwrap()
}

#[test]
fn the_list_has_what_was_printed_and_what_becomes_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let output = uaperf(folder.path(), &["paper", "list", "--json"]);
    let all: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(all.len(), 96);
    let output = uaperf(folder.path(), &["paper", "list", "morato2021"]);
    let said = text(&output.stdout);
    assert!(said.contains("morato2021.table_04 "), "{said}");
    assert!(said.contains("not here: a current meter"), "{said}");
    assert!(!said.contains("burger2019"), "{said}");
    let output = uaperf(folder.path(), &["paper", "show", "burger2019.fig_07"]);
    assert!(text(&output.stdout).contains("name = \"burger2019.fig_06\""));
}

#[test]
fn what_cannot_be_run_says_why_and_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    for (id, told) in [
        ("burger2019.fig_99", "uaperf paper list"),
        ("morato2021.table_10", "a current meter"),
        ("tahvanainen2016.clock_offset", "uaperf probe URL"),
    ] {
        let output = uaperf(folder.path(), &["paper", "run", id]);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{id}: {said}");
        assert!(said.contains(told), "{id}: {said}");
    }
    for (id, told) in [
        ("gonzalez2015.fig_2a", "leave --scale quick away"),
        ("gonzalez2015", "nothing of that can be run"),
    ] {
        let words = ["paper", "run", id, "--scale", "quick"];
        let output = uaperf(folder.path(), &words);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{id}: {said}");
        assert!(said.contains(told), "{id}: {said}");
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn all_that_is_ready_can_be_planned_short_and_whole() {
    let folder = tempfile::tempdir().unwrap();
    for (scale, scenarios) in [("quick", 24), ("full", 28)] {
        let words = ["paper", "run", "all", "--dry-run", "--scale", scale];
        let output = uaperf(folder.path(), &words);
        assert!(output.status.success(), "{}", text(&output.stderr));
        let said = text(&output.stdout);
        let planned = said
            .lines()
            .filter(|it| it.starts_with("scenario "))
            .count();
        assert_eq!(planned, scenarios, "{said}");
    }
}

#[test]
fn experiments_of_one_scenario_are_measured_once_and_their_shape_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let mut words = vec!["paper", "run"];
    words.extend(["tahvanainen2016.table_13", "tahvanainen2016.table_13"]);
    words.extend([
        "--scale",
        "quick",
        "-P",
        "requests=20",
        "--out",
        "papers",
        "--quiet",
        "--target-name",
        "plc1",
    ]);
    let output = uaperf(folder.path(), &words);
    let said = text(&output.stdout);
    // On a busy machine the figures may be in doubt; that is no matter here.
    assert!(
        matches!(output.status.code(), Some(0 | 4)),
        "{said}{}",
        text(&output.stderr)
    );
    assert_eq!(said.matches("ranks correlate").count(), 1, "{said}");
    assert!(
        said.contains("over 6 places from batch 100 to 3,000"),
        "{said}"
    );
    let results = folder.path().join("papers/tahvanainen2016.table_13");
    let page = fs::read_to_string(results.join("report.html")).unwrap();
    assert!(page.contains("ranks correlate"));
    assert!(page.contains("server=plc1"));
    assert!(page.contains("What Tahvanainen 2016 printed"));
    // The scenario is kept with its results.
    let again = [
        "run",
        "--resume",
        "papers/tahvanainen2016.table_13",
        "--dry-run",
    ];
    let again = uaperf(folder.path(), &again);
    assert!(again.status.success(), "{}", text(&again.stderr));
    pages_are_written(folder.path());
}

/// Of what was measured: an index of everything that was printed, a page of the one experiment, and its picture.
fn pages_are_written(folder: &Path) {
    let output = uaperf(folder, &["paper", "pages", "papers", "--out", "pages"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let said = text(&output.stdout);
    assert!(said.starts_with("1 of 96 experiments, 1 page;"), "{said}");
    let read = |name: &str| fs::read_to_string(folder.join("pages").join(name)).unwrap();
    let index = read("README.md");
    let row = index.lines().find(|it| it.contains("Growing batch size"));
    let row = row.unwrap();
    assert!(row.contains("](tahvanainen2016.table_13.md)"), "{row}");
    assert!(row.contains("ranks correlate"), "{row}");
    assert_eq!(index.matches("| not measured |").count(), 55, "{index}");
    let page = read("tahvanainen2016.table_13.md");
    for wanted in [
        "- Table 13: Growing batch size",
        "7 measurements",
        "`requests=20`",
        "Tahvanainen 2016, table 13, mean: over 6 places",
        "![tahvanainen2016.table_13](tahvanainen2016.table_13-1.svg)",
        "Tahvanainen 2016, Table 13:",
    ] {
        assert!(page.contains(wanted), "{wanted}: {page}");
    }
    let picture = read("tahvanainen2016.table_13-1.svg");
    assert!(picture.starts_with("<svg xmlns=") && picture.contains(" rings\""));
    // Seven points of three curves, and what was printed.
    assert!(picture.matches("<circle").count() > 3 * 7, "{picture}");
    for (wrong, told) in [
        ("nowhere", "is no folder"),
        ("pages", "no folder has results"),
    ] {
        let output = uaperf(folder, &["paper", "pages", wrong]);
        assert_eq!(output.status.code(), Some(1));
        assert!(
            text(&output.stderr).contains(told),
            "{}",
            text(&output.stderr)
        );
    }
}

#[test]
fn a_model_is_fitted_to_some_runs_and_held_against_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let mut words = vec!["paper", "run", "burger2019.fig_13", "--scale", "quick"];
    words.extend(["-P", "duration=1s", "-P", "settle=300ms"]);
    words.extend(["--out", "papers", "--quiet"]);
    let output = uaperf(folder.path(), &words);
    let said = text(&output.stdout);
    let code = output.status.code();
    assert!(
        matches!(code, Some(0 | 4)),
        "{said}{}",
        text(&output.stderr)
    );
    let results = folder.path().join("papers/burger2019.fig_13");
    // A busy machine may miss so many values that too few runs are left.
    if said.contains("no model of 10 sessions") {
        assert!(!results.join("model.html").exists());
        return;
    }
    let words = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words.contains("a model of the runs with 10 sessions is"),
        "{said}"
    );
    assert!(words.contains("model.html"), "{said}");
    let page = fs::read_to_string(results.join("model.html")).unwrap();
    assert!(page.contains("10 sessions, every 100 ms"));
    let model = fs::read_to_string(results.join("model.json")).unwrap();
    assert!(model.contains("\"configurations\": 3"), "{model}");
}

#[test]
fn a_server_that_is_not_there_fails_each_point_and_the_command() {
    let folder = tempfile::tempdir().unwrap();
    let words = [
        "paper",
        "run",
        "tahvanainen2016.table_12",
        "--scale",
        "quick",
        "--target",
        "opc.tcp://127.0.0.1:9",
        "--out",
        "papers",
    ];
    let output = uaperf(folder.path(), &words);
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("FAILED, or not complete"), "{said}");
    assert!(!said.contains("page "), "{said}");
}

#[test]
fn an_experiment_is_repeated_with_the_server_of_another_stack() {
    if peers::testing::require("node-opcua").is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let words = |peer| {
        let words = [
            "paper",
            "run",
            "tahvanainen2016.table_13",
            "--scale",
            "quick",
        ];
        [&words[..], &["--peer", peer, "--out", "papers"]].concat()
    };
    let output = uaperf(folder.path(), &words("node-opcua"));
    let (said, errors) = (text(&output.stdout), text(&output.stderr));
    assert!(
        [0, 4].contains(&output.status.code().unwrap()),
        "{said}{errors}"
    );
    let results = folder.path().join("papers/tahvanainen2016.table_13");
    let page = fs::read_to_string(results.join("report.html")).unwrap();
    assert!(
        page.contains("NodeOPCUA") || page.contains("node-opcua"),
        "{said}"
    );
    let output = uaperf(folder.path(), &words("nobody"));
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("there is no peer \"nobody\""));
}
