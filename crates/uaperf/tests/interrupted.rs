//! Commands that are interrupted leave nothing behind, and the second interrupt ends them whatever they wait for.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic)]

use std::fs::read_dir;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::support::command;

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

/// Its reader has stopped, so that the first interrupt finds nobody who would end in good order.
#[cfg(target_os = "linux")]
#[test]
fn a_watch_that_waits_for_its_reader_is_quit_by_the_second_interrupt() {
    let folder = tempfile::tempdir().unwrap();
    let ssh = folder.path().join("ssh");
    let there = folder.path().join("there.pid");
    let script = format!(
        "echo $$ > {}\nexec {} watch --pipe {}\n",
        there.display(),
        env!("CARGO_BIN_EXE_uaperf"),
        std::process::id()
    );
    std::fs::write(&ssh, script).unwrap();
    let here = std::process::id().to_string();
    let far = format!("ssh:there:{here}");
    let words = ["watch", &here, &far, "--json", "--interval", "10ms"];
    let mut child = command(folder.path(), &words)
        .env("UAPERF_SSH", format!("sh {}", ssh.display()))
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let out = child.stdout.take().unwrap();
    until("its output is full", || {
        let before = rustix::io::ioctl_fionread(&out).unwrap();
        std::thread::sleep(Duration::from_millis(300));
        before > 0 && rustix::io::ioctl_fionread(&out).unwrap() == before
    });
    let there = std::fs::read_to_string(&there).unwrap();
    let there = Path::new("/proc").join(there.trim());
    assert!(there.exists());
    let pid = Pid::from_child(&child);
    kill_process(pid, Signal::INT).unwrap();
    std::thread::sleep(Duration::from_millis(300));
    assert!(child.try_wait().unwrap().is_none());
    kill_process(pid, Signal::INT).unwrap();
    until("it ends", || child.try_wait().unwrap().is_some());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    until("what it started ends", || !there.exists());
}

#[cfg(target_os = "linux")]
fn until(what: &str, mut happens: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(60);
    while !happens() {
        assert!(Instant::now() < end, "not within a minute: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
