//! `uaperf rerun`: the command of a result, carried out once more.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::path::Path;

use crate::support;
use crate::support::{Said, Server, command};

fn says(folder: &Path, words: &[&str]) -> Said {
    Said::by(&mut command(folder, words))
}

#[test]
fn a_result_is_measured_again_and_neither_file_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(&folder.path().join("server"), &[]);
    let words = [
        "read",
        &server.url,
        "-n",
        "i=2258",
        "--security",
        "none",
        "--requests",
        "20",
        "--quiet",
        "--out",
        "a.json",
        "--csv=a.csv",
        "--expect",
        "errors=0",
    ];
    let first = says(folder.path(), &words);
    assert!([0, 4].contains(&first.code), "{}", first.err);
    let shown = says(folder.path(), &["rerun", "a.json", "--dry-run"]);
    let wanted = format!(
        "uaperf read {} -n i=2258 --security none --requests 20 --quiet --expect errors=0\n",
        server.url
    );
    assert_eq!((shown.code, shown.out), (0, wanted));
    let again = says(folder.path(), &["rerun", "a.json", "--out", "b.json"]);
    assert!([0, 4].contains(&again.code), "{}", again.err);
    let [a, b] = ["a.json", "b.json"].map(|it| support::json(&folder.path().join(it)));
    assert_ne!(a["started"], b["started"]);
    for run in [&a, &b] {
        assert_eq!(run["phases"][0]["total"]["completed"], 20);
        assert_eq!(run["phases"][0]["expectations"][0]["met"], true);
    }
    // A result of a result can be repeated as well, and a failure is the command's own.
    drop(server);
    let gone = says(folder.path(), &["rerun", "b.json"]);
    assert_eq!(gone.code, 1, "{}", gone.err);
    assert!(gone.err.contains("connection refused"), "{}", gone.err);
}

#[test]
fn a_file_starts_nothing_but_a_measurement() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(&folder.path().join("server"), &[]);
    let words = [
        "read",
        &server.url,
        "--security",
        "none",
        "--requests",
        "1",
        "--quiet",
        "--out",
        "a.json",
    ];
    says(folder.path(), &words);
    let file = folder.path().join("a.json");
    let good = std::fs::read_to_string(&file).unwrap();
    let (before, typed) = good.split_once("\"argv\"").unwrap();
    let typed = typed.replacen("\"read\"", "\"serve\"", 1);
    let strange = format!("{before}\"argv\"{typed}");
    std::fs::write(&file, strange).unwrap();
    let said = says(folder.path(), &["rerun", "a.json"]);
    assert_eq!(said.code, 1, "{}", said.err);
    assert!(
        said.err.contains("none that can be carried out again"),
        "{}",
        said.err
    );
    let said = says(folder.path(), &["rerun", "gone.json"]);
    assert_eq!(said.code, 1);
}
