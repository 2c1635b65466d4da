//! `uaperf saturate` against a server whose capacity is known: it takes 10 ms for each Read, one
//! after the other.

#![allow(clippy::unwrap_used, clippy::panic, clippy::expect_used)]

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;

struct Server(Child, String);

impl Server {
    fn start(pki: &Path) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_uaperf"))
            .args([
                "serve",
                "--profile",
                "bench",
                "--port",
                "0",
                "--with-parent",
            ])
            .args(["--security", "none", "--fault", "service-time=10ms,on=read"])
            .arg("--pki")
            .arg(pki)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let out = process.stdout.take().unwrap();
        BufReader::new(out).read_line(&mut line).unwrap();
        let url = line.trim().strip_prefix("READY ").unwrap().to_owned();
        Self(process, url)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn saturate(folder: &Path, url: &str, more: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_uaperf"))
        .args(["saturate", "read", url, "-n", "nsu=urn:bench;i=1000"])
        .args(["--duration", "1s", "--quiet", "--pki"])
        .arg(folder.join("client"))
        .args(more)
        .current_dir(folder)
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn the_capacity_of_a_server_is_found_and_a_search_that_was_stopped_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(&folder.path().join("pki"));
    let search = ["--slo", "p50<100ms", "--from", "40/s", "--precision", "10%"];

    let whole = [&search[..], &["--out", "whole"]].concat();
    let found = saturate(folder.path(), &server.1, &whole);
    let said = text(&found.stdout);
    assert_eq!(
        found.status.code(),
        Some(0),
        "{said}{}",
        text(&found.stderr)
    );
    assert!(said.contains("CAPACITY"), "{said}");
    let file = folder.path().join("whole/search.json");
    let kept: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    let holds = kept["capacity"]["holds"].as_f64().unwrap();
    // 100 a second are what 10 ms allow; a busy machine may take some of it away.
    assert!((75.0..=112.0).contains(&holds), "{said}");
    let trials = kept["trials"].as_array().unwrap();
    for trial in trials {
        let result = folder
            .path()
            .join("whole")
            .join(trial["file"].as_str().unwrap());
        let run: Value = serde_json::from_slice(&std::fs::read(result).unwrap()).unwrap();
        assert_eq!(run["format"], "uaperf run");
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
        &server.1,
        &[&search[..], &["--resume", "whole"]].concat(),
    );
    let said = text(&again.stdout);
    let rows = |text: &str| {
        text.lines()
            .filter(|line| line.ends_with("met") || line.ends_with("missed"))
            .count()
    };
    assert!(rows(&said) >= trials.len(), "{said}");
    assert!(said.contains("CAPACITY"), "{said}{}", text(&again.stderr));

    let other = ["--slo", "p50<9ms", "--resume", "whole"];
    let refused = saturate(folder.path(), &server.1, &other);
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stderr).contains("want the same command again"));
}

#[test]
fn an_objective_that_nothing_meets_and_one_that_everything_meets_are_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(&folder.path().join("pki"));
    // No answer takes less than 10 ms.
    let search = ["--slo", "p50<5ms", "--grow", "sessions", "--confirm", "1"];
    let found = saturate(folder.path(), &server.1, &search);
    let said = text(&found.stdout);
    assert_eq!(found.status.code(), Some(3), "{said}");
    assert!(
        said.contains("CAPACITY    none: 1 session misses"),
        "{said}"
    );

    let search = ["--slo", "p50<60s", "--grow", "sessions", "--to", "2"];
    let found = saturate(folder.path(), &server.1, &search);
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
