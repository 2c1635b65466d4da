//! `uaperf peers` as a user types it, on a machine that lacks things.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::support::{Said, program};
use tempfile::TempDir;

/// A machine of which only the programs in one folder are there.
struct Machine {
    folder: TempDir,
}

impl Machine {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        fs::create_dir(folder.path().join("bin")).unwrap();
        Self { folder }
    }

    fn has(&self, program: &str, script: &str) {
        let file = self.folder.path().join("bin").join(program);
        fs::write(&file, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Types `uaperf peers ARGUMENTS`.
    fn peers(&self, arguments: &str) -> Said {
        Said::by(
            program()
                .arg("peers")
                .args(arguments.split_whitespace())
                .env("PATH", self.folder.path().join("bin"))
                .env("UAPERF_PEERS", self.folder.path().join("peers")),
        )
    }
}

/// Python that is there, but cannot make an environment.
const BROKEN_PYTHON: &str =
    "case $1 in -c) echo 3.12.0;; *) echo no room on the disk; exit 3;; esac";

#[test]
fn without_any_tool_the_list_names_all_peers_and_what_each_needs() {
    let said = Machine::new().peers("list");
    assert_eq!(said.code, 0, "{}", said.err);
    for stack in peers::Stack::all() {
        let line = said.out.lines().find(|line| line.starts_with(stack.name));
        let line = line.unwrap_or_else(|| panic!("no {} in\n{}", stack.name, said.out));
        assert!(line.contains("needs tools"), "{line}");
        assert!(line.contains(stack.version), "{line}");
    }
}

#[test]
fn a_missing_tool_is_named_with_the_command_that_cures_it() {
    let machine = Machine::new();
    let said = machine.peers("install asyncua");
    assert_eq!(said.code, 1);
    assert!(
        said.err.contains("sudo apt-get install python3-venv"),
        "{}",
        said.err
    );
    let said = machine.peers("doctor asyncua");
    assert_eq!(said.code, 1);
    assert!(said.out.contains("lacks  python3"), "{}", said.out);
    assert!(
        said.out.contains("cure: sudo apt-get install python3-venv"),
        "{}",
        said.out
    );
}

#[test]
fn a_failed_installation_is_remembered_with_what_it_printed() {
    let machine = Machine::new();
    machine.has("python3", BROKEN_PYTHON);
    let said = machine.peers("list");
    let asyncua = said
        .out
        .lines()
        .find(|line| line.starts_with("asyncua"))
        .unwrap();
    assert!(asyncua.contains("not installed"), "{asyncua}");

    let said = machine.peers("install asyncua");
    assert_eq!(said.code, 1);
    assert!(
        said.err.contains("[1/3] make a Python environment"),
        "{}",
        said.err
    );
    assert!(said.err.contains("no room on the disk"), "{}", said.err);

    let said = machine.peers("list");
    let asyncua = said
        .out
        .lines()
        .find(|line| line.starts_with("asyncua"))
        .unwrap();
    assert!(asyncua.contains("broken"), "{asyncua}");
    let said = machine.peers("doctor asyncua");
    assert_eq!(said.code, 1);
    assert!(said.out.contains("| no room on the disk"), "{}", said.out);
    assert!(
        said.out.contains("uaperf peers install asyncua"),
        "{}",
        said.out
    );
}

#[test]
fn a_name_that_is_no_peer_is_wrong_usage() {
    let machine = Machine::new();
    for arguments in [
        "start kepware",
        "install kepware",
        "stop kepware",
        "doctor kepware",
    ] {
        let said = machine.peers(arguments);
        assert_eq!(said.code, 2, "{arguments}");
        for stack in peers::Stack::all() {
            assert!(said.err.contains(stack.name), "{}", said.err);
        }
    }
}

#[test]
fn nothing_to_stop_is_fine_for_all_and_a_failure_for_a_name() {
    let machine = Machine::new();
    assert_eq!(machine.peers("stop all").code, 0);
    assert_eq!(machine.peers("stop asyncua").code, 1);
}
