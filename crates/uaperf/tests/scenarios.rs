//! The ready test descriptions in `scenarios/`: each is accepted, and runs.

#![allow(clippy::unwrap_used, clippy::panic, clippy::expect_used)]

use std::path::{Path, PathBuf};
use std::process::Output;

use crate::support::{Server, text, uaperf};
use record::Run;
use record::sweep::{MeasurementState, Sweep};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios")
}

/// Those of a kind.
fn files(ending: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for study in std::fs::read_dir(folder()).unwrap() {
        let study = study.unwrap().path();
        if !study.is_dir() {
            continue;
        }
        let all = std::fs::read_dir(study)
            .unwrap()
            .map(|it| it.unwrap().path());
        files.extend(all.filter(|it| it.extension().is_some_and(|it| it == ending)));
    }
    files.sort();
    files
}

#[test]
fn every_ready_scenario_is_accepted() {
    let home = tempfile::tempdir().unwrap();
    let (scenarios, documents) = (files("toml"), files("txt"));
    assert!(scenarios.len() >= 10 && documents.len() >= 5);
    for file in scenarios.iter().chain(&documents) {
        let output = uaperf(home.path(), &["check", file.to_str().unwrap()]);
        assert!(output.status.success(), "{}", text(&output.stderr));
    }
    for file in scenarios {
        let (study, name) = (
            file.parent().unwrap().file_name().unwrap(),
            file.file_stem().unwrap(),
        );
        let name = format!(
            "name = \"{}.{}\"",
            study.to_str().unwrap(),
            name.to_str().unwrap()
        );
        let written = std::fs::read_to_string(&file).unwrap();
        assert!(
            written.contains(&name),
            "{}: results are found by {name}",
            file.display()
        );
    }
}

fn plant(profile: &str, home: &Path) -> Server {
    Server::start(&home.join("server"), &["--trust", "--profile", profile])
}

/// Every point was measured, and everything that was sent was answered well.
fn is_measured(out: &Path, output: &Output) {
    let told = format!("{}{}", text(&output.stdout), text(&output.stderr));
    // Whether so short a run was steady is no question.
    assert!(matches!(output.status.code(), Some(0 | 4)), "{told}");
    for it in Sweep::read(out).unwrap().measurements {
        assert_eq!(it.state, MeasurementState::Done, "{told}");
        for phase in Run::read(&out.join(it.file.unwrap())).unwrap().phases {
            let came = phase.total.histogram("delay").count();
            assert!(
                phase.total.completed.max(came) > 0,
                "{}: {told}",
                phase.name
            );
            assert_eq!(phase.total.errors, 0, "{}: {told}", phase.name);
        }
    }
}

#[test]
fn every_ready_scenario_runs_in_miniature() {
    let home = tempfile::tempdir().unwrap();
    let bench = plant("bench", home.path());
    for file in files("toml") {
        let written = std::fs::read_to_string(&file).unwrap();
        let out = home.path().join(file.file_stem().unwrap());
        let mut args = vec!["run", file.to_str().unwrap(), "--quiet", "--repeat", "1"];
        args.extend(["--out", out.to_str().unwrap()]);
        // A value that changes each second takes that long to be seen.
        let duration = match written.contains("service = \"subscribe\"") {
            true => "duration=1500ms",
            false => "duration=200ms",
        };
        for (parameter, little) in [
            ("requests", "requests=20"),
            ("duration", duration),
            ("settle", "settle=100ms"),
            ("items", "items=5"),
            ("subscriptions", "subscriptions=3"),
            ("sessions", "sessions=3"),
            ("signals", "signals=30"),
            ("clients", "clients=5"),
        ] {
            if written.contains(&format!("\n{parameter} = "))
                && written.contains(&format!("\"${parameter}\""))
            {
                args.extend(["-P", little]);
            }
        }
        if written.contains("peer = ") {
            // Not every machine has the other stacks; the bench nodes are the same everywhere.
            args.extend(["--target", bench.url.as_str()]);
        }
        is_measured(&out, &uaperf(home.path(), &args));
    }
}

#[test]
fn the_documents_of_2015_run_in_miniature() {
    let home = tempfile::tempdir().unwrap();
    let plant = plant("gonzalez2015", home.path());
    for file in files("txt") {
        // The same tests with a few cycles, and no more sessions than a test may open.
        let written = std::fs::read_to_string(&file).unwrap();
        let mut little = String::new();
        for line in written.lines() {
            little.push_str(match line {
                "cycles: 1000" | "cycles: 100" | "cycles: 50" | "cycles: 25" => "cycles: 3",
                "concurrency: 400" => "concurrency: 20",
                line => line,
            });
            little.push('\n');
        }
        let name = file.file_name().unwrap();
        std::fs::write(home.path().join(name), little).unwrap();
        let out = home.path().join("out").join(file.file_stem().unwrap());
        let args = [
            "run",
            name.to_str().unwrap(),
            "--quiet",
            "--trust",
            "--target",
            plant.url.as_str(),
        ];
        let args = [args.as_slice(), &["--out", out.to_str().unwrap()]].concat();
        is_measured(&out, &uaperf(home.path(), &args));
        let stem = file.file_stem().unwrap().to_str().unwrap();
        let rows = std::fs::read_to_string(out.join(format!("{stem}.results.csv"))).unwrap();
        let measures = written.lines().filter(|line| *line == "measure").count();
        assert_eq!(rows.lines().count(), 1 + measures, "{stem}");
    }
}
