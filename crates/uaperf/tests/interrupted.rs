//! Commands with a server of their own that are interrupted leave nothing behind.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic)]

use std::fs::read_dir;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::support::command;
use rustix::process::{Pid, Signal, kill_process};

/// Interrupts a command once it has a temporary folder; its exit code, and what is left of them.
fn interrupted(words: &[&str]) -> (Option<i32>, usize) {
    let folder = tempfile::tempdir().unwrap();
    let temporary = folder.path().join("tmp");
    std::fs::create_dir(&temporary).unwrap();
    let mut child = command(folder.path(), words)
        .env("TMPDIR", &temporary)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let until = Instant::now() + Duration::from_secs(60);
    while left(&temporary) == 0 {
        assert!(Instant::now() < until, "no folder was made");
        std::thread::sleep(Duration::from_millis(5));
    }
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let code = child.wait().unwrap().code();
    (code, left(&temporary))
}

fn left(temporary: &Path) -> usize {
    read_dir(temporary).unwrap().count()
}

#[test]
fn a_demo_that_is_interrupted_leaves_no_folder_behind() {
    assert_eq!(interrupted(&["demo"]), (Some(130), 0));
}

#[test]
fn a_calibration_that_is_interrupted_leaves_no_folder_behind() {
    let words = ["calibrate", "--budget", "3s", "--out", "host.json"];
    assert_eq!(interrupted(&words), (Some(130), 0));
}
