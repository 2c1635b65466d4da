//! `uaperf show` as users see it.

#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::process::{Command, Output};

use crate::support::{text, uaperf};
use record::run::{Destination, Fingerprint, Phase, WarmUp};
use record::{Lateness, Ledger, Run, Times};

/// A second of a thousand requests that take this long.
fn write(folder: &Path, name: &str, service: u64) {
    let mut ledger = Ledger::with_end(1_000_000_000);
    for k in 0..1000 {
        let sent = k * 1_000_000;
        ledger.late(sent, Lateness::default(), 1);
        let times = Times {
            planned: sent,
            sent,
            completed: sent + service,
        };
        ledger.done(times, 0, 1, 1);
    }
    let mut run = Run::new(
        "read",
        "2026-03-01T09:30:00Z".parse().unwrap(),
        Fingerprint::default(),
    );
    let phase = Phase::new(
        "read",
        run.started,
        &ledger.finish(),
        WarmUp::default(),
        0,
        &|_| "Good".into(),
    );
    run.phases.push(phase);
    run.write(&Destination::File(folder.join(name))).unwrap();
}

fn show(folder: &Path, args: &[&str]) -> Output {
    uaperf(folder, &[&["show"], args].concat())
}

#[test]
fn one_result_is_shown_in_full_and_without_colours_in_a_pipe() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "one.json", 200_000);
    let output = show(folder.path(), &["one.json"]);
    assert!(output.status.success());
    let screen = text(&output.stdout);
    assert!(screen.starts_with("VALID\n"), "{screen}");
    let response = screen.lines().find(|line| line.starts_with("response"));
    let words: Vec<&str> = response.unwrap().split_whitespace().take(3).collect();
    assert_eq!(words, ["response", "200", "µs"], "{screen}");
    assert!(!screen.contains('\x1b'));
}

#[test]
fn colours_are_where_they_were_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "one.json", 200_000);
    let shown = |when: &str| {
        let output = show(folder.path(), &["one.json", "--color", when]);
        assert!(output.status.success());
        text(&output.stdout)
    };
    let plain = shown("never");
    assert_eq!(shown("auto"), plain);
    let coloured = shown("always");
    assert!(coloured.starts_with("\x1b[1;32mVALID\x1b[0m"), "{coloured}");
    let wrong = show(folder.path(), &["one.json", "--color", "green"]);
    assert_eq!(wrong.status.code(), Some(2));
}

#[test]
fn any_percentile_can_be_had_and_a_table_of_all_for_plotters() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "one.json", 200_000);
    write(folder.path(), "two.json", 400_000);
    let output = show(
        folder.path(),
        &["one.json", "two.json", "--percentiles", "p50,97.5,p99.99"],
    );
    assert!(output.status.success(), "{}", text(&output.stderr));
    let screen = text(&output.stdout);
    let row = |name: &str, nth: usize| -> Vec<&str> {
        let mut rows = screen
            .lines()
            .filter(|line| line.trim_start().starts_with(name));
        rows.nth(nth).unwrap().split_whitespace().collect()
    };
    assert_eq!(row("count", 0), ["count", "p50", "p97.5", "p99.99", "max"]);
    // A thousand values say nothing of one in ten thousand.
    assert_eq!(
        row("response", 0),
        [
            "response", "1000", "200", "µs", "200", "µs", "n/a", "200", "µs"
        ]
    );
    assert_eq!(row("response", 1)[2], "400");

    let output = show(
        folder.path(),
        &["two.json", "--percentiles", "p50,p100", "--json"],
    );
    let data: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let response = data
        .as_array()
        .unwrap()
        .iter()
        .find(|it| it["measure"] == "response")
        .unwrap();
    assert_eq!(response["percentiles_ns"]["p100"], 400_000);
    assert_eq!(response["count"], 1000);

    let output = show(folder.path(), &["one.json", "--hgrm", "tables"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let table =
        std::fs::read_to_string(folder.path().join("tables/one-1-read-response.hgrm")).unwrap();
    assert!(
        table.contains("Total count    =           1000]"),
        "{table}"
    );
    for wrong in ["p0", "p101", "median", "p50,"] {
        let output = show(folder.path(), &["one.json", "--percentiles", wrong]);
        assert_eq!(output.status.code(), Some(2), "{wrong}");
    }
}

#[test]
fn several_results_are_compared() {
    let folder = tempfile::tempdir().unwrap();
    for (name, service) in [("a.json", 200_000), ("b.json", 400_000)] {
        write(folder.path(), name, service);
    }
    let screen = text(&show(folder.path(), &["a.json", "b.json"]).stdout);
    let row = screen
        .lines()
        .find(|line| line.starts_with("response mean"))
        .unwrap();
    let words: Vec<&str> = row.split_whitespace().collect();
    assert_eq!(
        words,
        ["response", "mean", "200", "µs", "×2.00", "400", "µs"]
    );
    let many = text(
        &show(
            folder.path(),
            &["a.json", "b.json", "a.json", "b.json", "a.json"],
        )
        .stdout,
    );
    assert_eq!(
        many.lines().filter(|line| line.contains(" VALID ")).count(),
        5,
        "{many}"
    );
}

#[test]
fn a_csv_of_several_results_has_one_head() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "a.json", 200_000);
    let output = show(folder.path(), &["a.json", "a.json", "--csv", "-"]);
    let csv = text(&output.stdout);
    assert_eq!(
        csv.lines()
            .filter(|line| line.starts_with("started,"))
            .count(),
        1
    );
    assert_eq!(csv.matches(",response.p99,200000,ns").count(), 2);
    assert!(
        show(folder.path(), &["a.json", "--csv", "all.csv"])
            .status
            .success()
    );
    assert!(folder.path().join("all.csv").exists());
    let output = show(folder.path(), &["a.json", "--csv", "a.json/folder.csv"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        text(&output.stderr).starts_with("error: --csv a.json/folder.csv: cannot be written: ")
    );
}

#[test]
fn a_file_that_is_no_result_is_told_why() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "good.json", 1000);
    let good = std::fs::read_to_string(folder.path().join("good.json")).unwrap();
    std::fs::create_dir(folder.path().join("results")).unwrap();
    for (name, content, error) in [
        ("gone.json", None, "error: cannot read gone.json: "),
        ("results", None, "error: results: no results in this folder"),
        (
            "cut.json",
            Some(good[..good.len() / 2].to_owned()),
            "error: cut.json: ",
        ),
        (
            "other.json",
            Some("{}".to_owned()),
            "error: other.json: not a result of uaperf",
        ),
        (
            "newer.json",
            Some(good.replacen("\"version\": 1", "\"version\": 999", 1)),
            "error: newer.json: written by a newer uaperf (file version 999",
        ),
        (
            "changed.json",
            Some(good.replacen("\"completed\": 1000", "\"completed\": \"many\"", 1)),
            "error: changed.json: invalid type: string \"many\", expected u64 at line ",
        ),
    ] {
        if let Some(content) = content {
            std::fs::write(folder.path().join(name), content).unwrap();
        }
        let output = show(folder.path(), &["good.json", name]);
        assert_eq!(output.status.code(), Some(1), "{name}");
        assert!(output.stdout.is_empty(), "{name}");
        let text = text(&output.stderr);
        assert!(text.starts_with(error), "{text}");
    }
    assert_eq!(show(folder.path(), &[]).status.code(), Some(2));
}

#[test]
fn folders_are_shown_and_their_table_says_which_point_a_row_is_of() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("sweep")).unwrap();
    for (name, batch) in [("sweep/a.json", 10), ("sweep/b.json", 100)] {
        write(folder.path(), name, 200_000);
        let file = folder.path().join(name);
        let mut run = Run::read(&file).unwrap();
        run.plan = serde_json::json!({"phases": [{"work": {"service": "read", "batch": batch}}]});
        run.write(&Destination::File(file)).unwrap();
    }
    std::fs::write(folder.path().join("sweep/index.json"), "{}").unwrap();
    let csv = text(&show(folder.path(), &["sweep", "--csv", "-"]).stdout);
    assert_eq!(csv.matches(",response.p99,200000,ns,batch 10\n").count(), 1);
    assert_eq!(
        csv.matches(",response.p99,200000,ns,batch 100\n").count(),
        1
    );
    let screen = text(&show(folder.path(), &["sweep"]).stdout);
    assert!(screen.contains("response mean"), "{screen}");
}

#[test]
fn thresholds_are_test_cases_for_ci_servers() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "a.json", 200_000);
    let file = folder.path().join("a.json");
    let mut run = Run::read(&file).unwrap();
    for (expected, found, met) in [
        ("p99<1ms", 200_000.0, true),
        ("p50<100us", 200_000.0, false),
    ] {
        run.phases[0].expectations.push(record::run::Expectation {
            expected: expected.into(),
            found: Some(found),
            met,
            reason: None,
        });
    }
    run.write(&Destination::File(file)).unwrap();
    let output = show(folder.path(), &["a.json", "--junit", "-"]);
    let xml = text(&output.stdout);
    assert!(
        xml.contains("<testsuites name=\"uaperf\" tests=\"3\" failures=\"1\" errors=\"0\">"),
        "{xml}"
    );
    assert!(
        xml.contains("<failure message=\"p50&lt;100us: 200 µs\" type=\"threshold\">"),
        "{xml}"
    );
    assert!(xml.contains("name=\"p99&lt;1ms\" time=\"0\"/>"), "{xml}");
    // A run that cannot be believed is an error of its own.
    let mut run = Run::read(&folder.path().join("a.json")).unwrap();
    run.phases[0].verdict.kind = record::run::Kind::GeneratorLimited;
    run.write(&Destination::File(folder.path().join("b.json")))
        .unwrap();
    let xml = text(&show(folder.path(), &["b.json", "--junit", "-"]).stdout);
    assert!(
        xml.contains("errors=\"1\"") && xml.contains("type=\"GENERATOR-LIMITED\""),
        "{xml}"
    );
    // Well formed, as a parser of another make says.
    std::fs::write(folder.path().join("x.xml"), &xml).unwrap();
    let parsed = Command::new("python3")
        .args([
            "-c",
            "import sys, xml.etree.ElementTree as t; print(t.parse(sys.argv[1]).getroot().tag)",
        ])
        .arg(folder.path().join("x.xml"))
        .output();
    if let Ok(parsed) = parsed {
        assert_eq!(text(&parsed.stdout).trim(), "testsuites");
    }
}

#[test]
fn the_index_of_a_scenario_is_passed_over_among_results() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "a.json", 1000);
    write(folder.path(), "b.json", 2000);
    std::fs::write(folder.path().join("index.json"), "{}").unwrap();
    // As a shell makes it of *.json.
    let output = show(folder.path(), &["a.json", "b.json", "index.json"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("response mean"));
    let output = show(folder.path(), &["index.json"]);
    assert_eq!(output.status.code(), Some(1));
}
