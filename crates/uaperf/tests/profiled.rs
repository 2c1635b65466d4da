//! The program under the tools that count its instructions.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::{Said, Server};

/// It under Valgrind, which hides from it what the kernel maps into each process.
fn under_valgrind(folder: &Path, words: &[&str]) -> Command {
    let mut command = Command::new("valgrind");
    command
        .args(["--quiet", "--tool=none", env!("CARGO_BIN_EXE_uaperf")])
        .args(words)
        .env("UAPERF_PKI", folder.join("pki"))
        .env("XDG_STATE_HOME", folder.join("state"))
        .current_dir(folder);
    command
}

#[test]
fn generator_and_plant_run_under_valgrind() {
    let valgrind = Command::new("valgrind")
        .arg("--version")
        .stdout(Stdio::null())
        .status();
    if valgrind.is_err() {
        return without::skipped("profiled", "no valgrind", "apt-get install valgrind");
    }
    let folder = tempfile::tempdir().unwrap();
    let serve = [
        "serve",
        "--port",
        "0",
        "--with-parent",
        "--security",
        "none",
    ];
    let mut serve = under_valgrind(folder.path(), &serve);
    let server = Server::of(serve.stdin(Stdio::piped()));
    let read = [
        "read",
        &server.url,
        "-n",
        "i=2258",
        "--requests",
        "50",
        "--security",
        "none",
        "--timeout",
        "60s",
    ];
    let said = Said::by(under_valgrind(folder.path(), &read).stdin(Stdio::null()));
    // It may be too slow to be believed; it is there at the end.
    assert!(said.out.contains("Good 50"), "{said:?}");
    assert!([0, 4].contains(&said.code), "{said:?}");
}
