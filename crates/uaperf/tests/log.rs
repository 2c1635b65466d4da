//! `--log`: what happens inside, as lines of text or JSON, and nothing where it was not asked for.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::path::Path;

use serde_json::Value;
use tempfile::TempDir;

use crate::support;
use crate::support::{Said, Server};

fn read(folder: &Path, url: &str, more: &[&str]) -> Said {
    let words = ["read", url, "-n", "i=2258", "--requests", "3", "--quiet"];
    let mut command = support::command(folder, &words);
    Said::by(command.args(more).env_remove("UAPERF_LOG"))
}

/// The line with these words.
fn line<'a>(log: &'a str, words: &[&str]) -> &'a str {
    let mut lines = log.lines();
    let found = lines.find(|line| words.iter().all(|word| line.contains(word)));
    found.unwrap_or_else(|| panic!("no line with {words:?} in {log}"))
}

#[test]
fn a_refused_server_certificate_says_which_check_failed() {
    let folder = TempDir::new().unwrap();
    let server = Server::start(&folder.path().join("server"), &[]);
    let log = ["--security", "best", "--log", "debug"];
    let said = read(folder.path(), &server.url, &log);
    assert_eq!(said.code, 1, "{}", said.err);
    line(&said.err, &["WARN load", "was refused", "check=Untrusted"]);
    line(&said.err, &["DEBUG client{url=", "channel opened"]);
}

#[test]
fn a_refused_client_certificate_says_which_check_failed_at_the_server() {
    let folder = TempDir::new().unwrap();
    let log = folder.path().join("server.log");
    let options = ["--log", "debug", "--log-file", log.to_str().unwrap()];
    let server = Server::start(&folder.path().join("server"), &options);
    let said = read(
        folder.path(),
        &server.url,
        &["--security", "best", "--trust"],
    );
    assert_eq!(said.code, 1, "{}", said.err);
    let log = std::fs::read_to_string(&log).unwrap();
    line(
        &log,
        &["DEBUG", "a certificate was refused", "check=Untrusted"],
    );
    line(&log, &["WARN plant", "refused", "BadCertificateUntrusted"]);
    line(&log, &["INFO server{channel=", "connection accepted"]);
    assert!(!log.contains("TRACE"), "{log}");
}

#[test]
fn each_message_has_its_name_in_a_trace_that_programs_read() {
    let folder = TempDir::new().unwrap();
    let server = Server::start(&folder.path().join("server"), &[]);
    let log = [
        "--security",
        "none",
        "--log",
        "off,wire=trace",
        "--log-format",
        "json",
        "--log-file",
        "x.log",
        "--out",
        "x.json",
    ];
    let said = read(folder.path(), &server.url, &log);
    assert!([0, 4].contains(&said.code), "{}", said.err);
    assert!(!said.err.contains("DEBUG"), "{}", said.err);
    let log = std::fs::read_to_string(folder.path().join("x.log")).unwrap();
    let lines: Vec<Value> = log
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let count = |message: &str| lines.iter().filter(|it| it["message"] == message).count();
    // What looks at the server and its counters reads as well.
    assert!(count("ReadRequest sent") >= 3, "{log}");
    assert_eq!(
        count("ReadRequest sent"),
        count("ReadResponse came"),
        "{log}"
    );
    assert_eq!(
        count("ActivateSessionRequest sent"),
        count("CloseSessionRequest sent"),
        "{log}"
    );
    let targets = |it: &&Value| it["target"].as_str().unwrap().starts_with("wire");
    assert!(lines.iter().all(|it| targets(&it)), "{log}");
    // Whoever reads the figures is told.
    let run = support::json(&folder.path().join("x.json"));
    assert!(
        run["notes"].to_string().contains("--log"),
        "{}",
        run["notes"]
    );
}

#[test]
fn nothing_is_logged_unless_it_is_asked_for() {
    let folder = TempDir::new().unwrap();
    let server = Server::start(&folder.path().join("server"), &[]);
    let words = [
        "read",
        &server.url,
        "-n",
        "i=2258",
        "--requests",
        "3",
        "--quiet",
        "--security",
        "none",
    ];
    let with =
        |value: &str| Said::by(support::command(folder.path(), &words).env("UAPERF_LOG", value));
    for nothing in ["", " ", "off"] {
        let said = with(nothing);
        assert!(!said.err.contains("INFO"), "{nothing:?}: {}", said.err);
    }
    line(&with("info").err, &["INFO load", "session activated"]);
    let said = with("loud");
    assert_eq!(said.code, 2, "{}", said.err);
    assert!(said.err.contains("want off, error, warn"), "{}", said.err);
    let said = read(folder.path(), &server.url, &["--log-file", "x.log"]);
    assert_eq!(said.code, 2, "{}", said.err);
}

#[test]
#[cfg(target_os = "linux")]
fn a_log_on_a_full_disk_is_reported_and_the_result_kept() {
    let folder = TempDir::new().unwrap();
    let server = Server::start(&folder.path().join("server"), &[]);
    let log = [
        "--security",
        "none",
        "--log",
        "trace",
        "--log-file",
        "/dev/full",
        "--out",
        "x.json",
    ];
    let said = read(folder.path(), &server.url, &log);
    assert_eq!(said.code, 1, "{}", said.err);
    line(&said.err, &["--log-file /dev/full", "No space left"]);
    assert_eq!(said.err.matches("No space left").count(), 1, "{}", said.err);
    let run = support::json(&folder.path().join("x.json"));
    assert_eq!(run["phases"][0]["total"]["completed"], 3);
}
