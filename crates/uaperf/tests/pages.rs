//! Manual pages and completions.

#![allow(clippy::unwrap_used)]

use std::process::Output;

use crate::support::program;

fn uaperf(args: &[&str]) -> Output {
    program().args(args).output().unwrap()
}

#[test]
fn every_command_has_a_manual_page() {
    let folder = tempfile::tempdir().unwrap();
    let pages = folder.path().join("man1");
    assert!(uaperf(&["man", pages.to_str().unwrap()]).status.success());
    for name in ["uaperf", "uaperf-read", "uaperf-run", "uaperf-peers-start"] {
        let page = std::fs::read_to_string(pages.join(format!("{name}.1"))).unwrap();
        assert!(
            page.starts_with(".ie \\n(.g") || page.contains(".TH"),
            "{name}"
        );
    }
    let run = std::fs::read_to_string(pages.join("uaperf-run.1")).unwrap();
    assert!(run.contains("resume"));
}

#[test]
fn shells_complete_commands_and_their_options() {
    for (shell, marks) in [
        ("bash", ["complete -F", "--dry-run"]),
        ("zsh", ["#compdef uaperf", "--dry-run"]),
        ("fish", ["complete -c uaperf", "dry-run"]),
    ] {
        let output = uaperf(&["completions", shell]);
        assert!(output.status.success());
        let script = String::from_utf8(output.stdout).unwrap();
        for mark in marks {
            assert!(script.contains(mark), "{shell}: {mark}");
        }
    }
    assert_eq!(uaperf(&["completions", "dos"]).status.code(), Some(2));
}
