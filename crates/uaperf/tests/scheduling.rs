//! Processors and priorities of a run, as the kernel tells of them meanwhile and afterwards.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic)]

use std::os::unix::process::CommandExt;
use std::process::Stdio;
use std::time::{Duration, Instant};

use observe::schedule::{Scheduling, scheduling};
use support::{Said, Server, command, json, program};

mod support;

/// Whether this process may do as it likes with priorities.
fn may() -> bool {
    let child = std::process::Command::new("chrt")
        .args(["--fifo", "1", "true"])
        .stderr(Stdio::null())
        .status();
    child.is_ok_and(|it| it.success())
}

#[test]
fn a_server_is_held_to_its_processors_and_priority_for_the_run_and_no_longer() {
    if !may() {
        without::skipped(
            "scheduling",
            "SCHED_FIFO is not allowed here",
            "sudo cargo test",
        );
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let served = Server::start(&folder.path().join("served"), &["--security", "none"]);
    let pid = served.child.id();
    let before = scheduling(pid).unwrap();
    let words = [
        "read",
        &served.url,
        "--rate",
        "50/s",
        "--duration",
        "2s",
        "--pin-server",
        "0",
        "--rt-server",
        "7",
        "--rt",
        "5",
        "--pin-client",
        "0",
        "--out",
        "run.json",
    ];
    let mut run = command(folder.path(), &words);
    let mut run = run.stdout(Stdio::null()).spawn().unwrap();
    let meanwhile = |is: &dyn Fn(&Scheduling) -> bool, pid: u32| {
        let until = Instant::now() + Duration::from_secs(60);
        while !scheduling(pid).is_ok_and(|it| is(&it)) {
            assert!(Instant::now() < until, "{:?}", scheduling(pid));
            std::thread::sleep(Duration::from_millis(10));
        }
    };
    let held =
        |it: &Scheduling| it.policy == "SCHED_FIFO" && it.priority == 7 && it.processors == [0];
    meanwhile(&|it| held(it) && !it.mixed, pid);
    // Of the generator only the threads that make load.
    meanwhile(&|it| it.mixed, run.id());
    // Others on this machine may make the generator too slow.
    assert!(matches!(run.wait().unwrap().code(), Some(0 | 4)));
    assert_eq!(scheduling(pid).unwrap(), before);
    let run = json(&folder.path().join("run.json"));
    assert_eq!(run["request"]["rt_server"], 7);
    assert_eq!(run["request"]["pin_server"][0], 0);
    let notes = run["notes"].to_string();
    assert!(
        notes.contains("on processors 0 under SCHED_FIFO with priority 7"),
        "{notes}"
    );
    assert!(
        notes.contains("ran under SCHED_FIFO with priority 5"),
        "{notes}"
    );
}

#[test]
fn what_is_not_allowed_is_refused_with_the_cure_before_anything_is_sent() {
    use std::os::unix::fs::PermissionsExt;
    let url = "opc.tcp://127.0.0.1:1";
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
    for (words, why) in [
        (
            ["--rt", "50"],
            "SCHED_FIFO is not allowed: run as root, or `sudo setcap",
        ),
        (
            ["--nice", "-5"],
            "a nice value of -5 is not allowed: run as root",
        ),
    ] {
        let mut command = program();
        command.args(["read", url]).args(words);
        command.current_dir(folder.path());
        if may() {
            // Nobody in particular.
            command.uid(65_534).gid(65_534);
        }
        let said = Said::by(&mut command);
        assert_eq!(said.code, 1, "{}", said.err);
        assert!(said.err.contains(why), "{}", said.err);
    }
    let said = Said::by(program().args(["read", url, "--rt", "50", "--fleet", "local:2"]));
    assert_eq!(said.code, 2);
    assert!(
        said.err.contains("--rt: agents of --fleet cannot"),
        "{}",
        said.err
    );
    for (option, value) in [("--rt", "100"), ("--rt", "-1"), ("--nice", "20")] {
        let said = Said::by(program().args(["read", url, option, value]));
        assert_eq!(said.code, 2, "{}", said.err);
    }
}

#[test]
fn processors_that_are_not_there_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let served = Server::start(&folder.path().join("served"), &["--security", "none"]);
    let words = [
        "read",
        &served.url,
        "--pin-server",
        "4096",
        "--requests",
        "1",
    ];
    let said = Said::by(&mut command(folder.path(), &words));
    assert_eq!(said.code, 1, "{}", said.err);
    assert!(said.err.contains("--pin-server: "), "{}", said.err);
}
