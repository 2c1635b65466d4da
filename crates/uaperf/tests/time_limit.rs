//! `--max-time` ends any command as Ctrl-C does, whether or not signals reach it.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic)]

use std::net::TcpListener;
use std::path::Path;
use std::process::Command;

use crate::support::{Said, Server, command, json};

fn says(folder: &Path, words: &[&str]) -> Said {
    Said::by(&mut command(folder, words))
}

/// Connections are accepted by the operating system, and nobody answers.
fn silent() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("opc.tcp://{}", listener.local_addr().unwrap());
    (listener, url)
}

/// The same command where no Ctrl-C reaches it, as with nohup or in the background of a script.
fn deaf(typed: &Command) -> Command {
    let mut deaf = Command::new("sh");
    deaf.args(["-c", "trap '' INT; exec \"$@\"", "sh"]);
    deaf.arg(typed.get_program()).args(typed.get_args());
    for (name, value) in typed.get_envs() {
        match value {
            Some(value) => deaf.env(name, value),
            None => deaf.env_remove(name),
        };
    }
    if let Some(folder) = typed.get_current_dir() {
        deaf.current_dir(folder);
    }
    deaf
}

#[test]
fn a_phase_of_an_hour_keeps_what_it_measured_until_the_limit() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(&folder.path().join("server"), &[]);
    let words = [
        "read",
        &server.url,
        "-n",
        "i=2258",
        "--security",
        "none",
        "--duration",
        "1h",
        "--in-flight",
        "1",
        "--out",
        "cut.json",
        "--max-time",
        "4s",
    ];
    let said = Said::by(&mut deaf(&command(folder.path(), &words)));
    assert_eq!(said.code, 130, "{}", said.err);
    assert!(
        said.err.contains("time limit of 4s reached"),
        "{}",
        said.err
    );
    let run = json(&folder.path().join("cut.json"));
    assert_eq!(run["marks"].to_string(), "[\"interrupted\"]");
    assert_eq!(run["verdict"]["kind"], "INCOMPLETE");
    let evidence = run["verdict"]["evidence"][0].as_str().unwrap();
    assert!(
        evidence.starts_with("time limit of 4s reached after"),
        "{evidence}"
    );
    assert!(run["phases"][0]["total"]["completed"].as_u64().unwrap() > 0);
}

#[test]
fn a_server_that_never_answers_takes_no_longer_than_the_limit() {
    let folder = tempfile::tempdir().unwrap();
    let (_listener, url) = silent();
    // It has nothing to keep, so that it ends at once, whatever it waits for.
    let probe = ["probe", &url, "--timeout", "1h", "--max-time", "1s"];
    let probe = says(folder.path(), &probe);
    assert_eq!((probe.code, probe.out.as_str()), (130, ""), "{}", probe.err);
    assert!(
        probe.err.contains("time limit of 1s reached"),
        "{}",
        probe.err
    );
    let read = [
        "read",
        &url,
        "-n",
        "i=2258",
        "--timeout",
        "3s",
        "--max-time",
        "1s",
    ];
    let read = says(folder.path(), &read);
    assert_eq!(read.code, 130, "{}", read.err);
}

#[test]
fn a_scenario_says_what_the_limit_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(&folder.path().join("server"), &[]);
    let phase = |name| {
        format!(
            "[[phase]]\nname = \"{name}\"\nservice = \"read\"\nnodes = [\"i=2258\"]\nduration = \"1h\"\n"
        )
    };
    let scenario = format!(
        "name = \"long\"\ntarget = \"{}\"\n{}{}",
        server.url,
        phase("first"),
        phase("second")
    );
    std::fs::write(folder.path().join("long.toml"), scenario).unwrap();
    let words = ["run", "long.toml", "--out", "kept"];
    let mut typed = command(folder.path(), &words);
    let said = Said::by(typed.env("UAPERF_MAX_TIME", "4s"));
    assert_eq!(said.code, 130, "{}", said.err);
    let index = json(&folder.path().join("kept/index.json"));
    let kept = index["measurements"][0]["file"].as_str().unwrap();
    let run = json(&folder.path().join("kept").join(kept));
    let evidence = run["verdict"]["evidence"].to_string();
    assert!(
        evidence.contains("time limit of 4s reached after"),
        "{evidence}"
    );
    assert!(
        evidence.contains("time limit of 4s reached before"),
        "{evidence}"
    );
}

#[test]
fn a_limit_of_nothing_is_wrong_usage() {
    let folder = tempfile::tempdir().unwrap();
    let said = says(folder.path(), &["doctor", "--max-time", "0s"]);
    assert_eq!(said.code, 2, "{}", said.err);
    assert!(said.err.contains("--max-time"), "{}", said.err);
    // One that is not reached changes nothing.
    let said = says(folder.path(), &["config", "show", "--max-time", "1h"]);
    assert_eq!(said.code, 0, "{}", said.err);
}
