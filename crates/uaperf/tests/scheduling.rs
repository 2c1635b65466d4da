//! Processors and priorities of a run, as the kernel tells of them meanwhile and afterwards.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic)]

use std::os::unix::process::CommandExt;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::support::{Said, Server, command, json, program};
use observe::schedule::{Scheduling, scheduling};

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

/// A run on a machine whose kernel says that these cores are isolated: the file is laid over that of the kernel.
fn with_isolated(folder: &std::path::Path, list: &str, words: &[&str]) -> Said {
    std::fs::write(folder.join("isolated"), list).unwrap();
    let mut run = std::process::Command::new("unshare");
    run.args(["--mount", "sh", "-c"])
        .arg("mount --bind isolated /sys/devices/system/cpu/isolated && exec \"$0\" \"$@\"")
        .arg(env!("CARGO_BIN_EXE_uaperf"))
        .args(words)
        .env("UAPERF_PKI", folder.join("pki"))
        .current_dir(folder);
    Said::by(&mut run)
}

#[test]
fn a_server_has_the_isolated_cores_for_the_run_and_where_there_are_none_the_boot_option_is_said() {
    if !may() {
        without::skipped(
            "isolated cores",
            "no file can be laid over one of the kernel here",
            "sudo cargo test",
        );
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let served = Server::start(&folder.path().join("served"), &["--security", "none"]);
    let before = scheduling(served.child.id()).unwrap();
    let read = ["read", &served.url, "--rate", "50/s", "--duration", "1s"];
    let run = |list: &str, words: &[&str]| {
        let words = [&read[..], &["--quiet", "--out", "run.json"], words].concat();
        with_isolated(folder.path(), list, &words)
    };
    let said = run("0\n", &["--isolated", "server"]);
    assert!(matches!(said.code, 0 | 4), "{}", said.err);
    let result = json(&folder.path().join("run.json"));
    assert_eq!(result["request"]["isolated"], "server");
    assert_eq!(result["machine"]["isolated"], "0");
    let notes = result["notes"].to_string();
    assert!(
        notes.contains("isolated cores 0 were for the server"),
        "{notes}"
    );
    assert!(notes.contains("the server ran on processors 0 "), "{notes}");
    assert_eq!(scheduling(served.child.id()).unwrap(), before);
    for (list, words, code, why) in [
        ("\n", &["--isolated", "server"][..], 1, "isolcpus="),
        (
            "0\n",
            &["--isolated", "both"],
            1,
            "one core only is isolated",
        ),
        (
            "0\n",
            &["--isolated", "client", "--pin", "0"],
            2,
            "says where those threads run",
        ),
        (
            "0\n",
            &["--isolated", "server", "--fleet", "local:2"],
            2,
            "--isolated: agents",
        ),
    ] {
        let said = run(list, words);
        assert_eq!(said.code, code, "{}", said.err);
        assert!(said.err.contains(why), "{}", said.err);
    }
}
