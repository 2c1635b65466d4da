//! `uaperf link … -- COMMAND`: a command with a link as its only network.

#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on has failed"
)]

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::support;
use crate::support::{Said, Server, Telling, command, json};

/// `uaperf link` with these words, and what it printed as JSON; nothing where this user may not have one.
fn link(folder: &Path, words: &[&str]) -> Option<(Said, Value)> {
    let mut words = words.to_vec();
    let at = words.iter().position(|it| *it == "--").unwrap();
    words.insert(at, "--json");
    words.insert(0, "link");
    let said = Said::by(&mut command(folder, &words));
    if is_refused(&said.err) {
        return None;
    }
    let told = serde_json::from_str(&said.out).unwrap_or_default();
    Some((said, told))
}

/// Whether this machine gives no links, which is said.
fn is_refused(err: &str) -> bool {
    let refusals = [
        "error: cannot make a user namespace",
        "error: cannot make a network namespace",
        "error: cannot use /dev/net/tun",
    ];
    let line = err
        .lines()
        .find(|line| refusals.iter().any(|it| line.starts_with(it)));
    if let Some(line) = line {
        let hint = err.lines().find_map(|it| it.strip_prefix("  try: "));
        without::skipped("a command behind a link", line, hint.unwrap_or_default());
    }
    line.is_some()
}

const PROGRAM: &str = env!("CARGO_BIN_EXE_uaperf");

#[test]
fn a_command_reaches_a_server_outside_over_the_link_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &[]);
    let words = [
        "10Mbit/s,delay=15ms",
        "--seed",
        "3",
        "--congestion",
        "reno",
        "--to",
        &server.url,
        "--",
        PROGRAM,
        "read",
        "{url}",
        "--requests",
        "5",
        "--warmup",
        "0s",
        "--out",
        "r.json",
    ];
    let Some((said, told)) = link(folder.path(), &words) else {
        return;
    };
    // 4 where the machine is too busy, which is no fault of the link.
    assert!([0, 4].contains(&said.code), "{}{}", said.out, said.err);
    assert_eq!(told["exit_code"], said.code);
    assert_eq!(told["link"], "rate=10Mbit/s,delay=15ms");
    assert_eq!(told["congestion"], "reno");
    let account = &told["account"];
    for way in ["up", "down"] {
        assert!(account[way]["packets"].as_u64().unwrap() > 10, "{told}");
        assert_eq!(account[way]["lost"], 0);
    }
    assert!(
        account["led"]["connections"].as_u64().unwrap() >= 1,
        "{told}"
    );
    let run = json(&folder.path().join("r.json"));
    let response = &run["phases"][0]["total"]["histograms"]["response"];
    let fastest = response["min_ns"].as_f64().unwrap() / 1e6;
    assert!(fastest >= 30.0, "{fastest} ms");

    let words = ["delay=1ms", "--far", "true", "--", "cat", "/proc/net/dev"];
    let (said, _) = link(folder.path(), &words).unwrap();
    let interfaces: Vec<&str> = said
        .err
        .lines()
        .filter_map(|line| Some(line.split_once(':')?.0.trim()))
        .collect();
    assert_eq!(interfaces, ["lo", "link0"], "{}", said.err);
}

#[test]
fn the_exit_code_is_that_of_the_command_and_signals_reach_it() {
    let folder = tempfile::tempdir().unwrap();
    let ends = |line: &str| {
        let words = ["delay=1ms", "--far", "sleep 60", "--", "sh", "-c", line];
        Some(link(folder.path(), &words)?.0.code)
    };
    let Some(code) = ends("exit 7") else {
        return;
    };
    assert_eq!(code, 7);
    assert_eq!(ends("kill -KILL $$"), Some(137));

    for (signal, code) in [("TERM", 5), ("INT", 6)] {
        let line =
            "trap 'exit 5' TERM; trap 'exit 6' INT; echo begun >&2; while :; do sleep 0.02; done";
        let words = [
            "link",
            "delay=1ms",
            "--far",
            "sleep 60",
            "--",
            "sh",
            "-c",
            line,
        ];
        let mut child = command(folder.path(), &words)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut telling = Telling::of(&mut child);
        telling.until("begun");
        support::signal(child.id(), signal);
        let told = telling.whole();
        assert_eq!(child.wait().unwrap().code(), Some(code));
        // What it carried is told all the same.
        let told = told.join().unwrap();
        assert!(told.contains("link delay=1ms for"), "{told}");
    }
}

#[test]
fn a_signal_to_the_group_reaches_the_command_once_and_nothing_is_left_of_the_far_end() {
    let folder = tempfile::tempdir().unwrap();
    if link(folder.path(), &["delay=1ms", "--", "true"]).is_none() {
        return;
    }
    let line = "trap 'echo got >> got' INT; echo begun >&2; \
                n=0; until [ -e got ] || [ $n -ge 1500 ]; do sleep 0.02; n=$((n+1)); done; \
                n=0; while [ $n -lt 25 ]; do sleep 0.02; n=$((n+1)); done";
    let far = "sleep 61 & echo $! > far.pid";
    let words = ["link", "delay=1ms", "--far", far, "--", "sh", "-c", line];
    let mut child = command(folder.path(), &words)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .unwrap();
    let mut telling = Telling::of(&mut child);
    telling.until("begun");
    let group = format!("-{}", child.id());
    let killed = Command::new("kill").args(["-INT", "--", &group]).status();
    assert!(killed.unwrap().success());
    let told = telling.whole();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    told.join().unwrap();
    assert_eq!(
        std::fs::read_to_string(folder.path().join("got")).unwrap(),
        "got\n"
    );
    let left = std::fs::read_to_string(folder.path().join("far.pid")).unwrap();
    assert!(!Path::new("/proc").join(left.trim()).exists(), "{left}");
}

#[test]
fn pubsub_crosses_the_link_to_a_command_at_the_far_end() {
    let folder = tempfile::tempdir().unwrap();
    let url = "opc.udp://198.18.0.2:4840";
    let far = format!("{PROGRAM} listen {url} --duration 10s --json > heard.json");
    let words = [
        "delay=5ms,up.loss=20%",
        "--far",
        &far,
        "--far-port",
        "4840",
        "--",
        PROGRAM,
        "publish",
        url,
        "--interval",
        "10ms",
        "--cycles",
        "50",
    ];
    let Some((said, told)) = link(folder.path(), &words) else {
        return;
    };
    assert!([0, 4].contains(&said.code), "{}{}", said.out, said.err);
    let up = &told["account"]["up"];
    let (sent, lost) = (
        up["packets"].as_u64().unwrap(),
        up["lost"].as_u64().unwrap(),
    );
    assert_eq!(sent, 50, "{told}");
    assert!(lost > 0, "{told}");
    // The listener was asked to end when all was there, and tells what came.
    let heard = json(&folder.path().join("heard.json"));
    assert_eq!(heard["result"]["datagrams"], sent - lost, "{heard}");
}

#[test]
fn what_cannot_be_is_refused_and_says_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |words: &[&str]| {
        let mut all = vec!["link"];
        all.extend(words);
        let said = Said::by(&mut command(folder.path(), &all));
        (said.code, said.err)
    };
    let (code, err) = refused(&["dsl", "--", "true"]);
    assert_eq!(code, 2, "{err}");
    assert!(err.contains("--to"), "{err}");
    let words = [
        "dsl",
        "--to",
        "opc.tcp://127.0.0.1:1",
        "--listen",
        "127.0.0.1:0",
        "--",
        "true",
    ];
    let (code, err) = refused(&words);
    assert_eq!(code, 2, "{err}");
    assert!(err.contains("--listen"), "{err}");
    let (code, err) = refused(&["dsl", "--far", "true", "--", "uaperf", "read", "{url}"]);
    if is_refused(&err) {
        return;
    }
    assert_eq!(code, 2, "{err}");
    assert!(err.contains("--to URL"), "{err}");
    let words = ["dsl", "--congestion", "none", "--far", "true", "--", "true"];
    let (code, err) = refused(&words);
    assert_eq!(code, 1, "{err}");
    // The one that every kernel has.
    assert!(err.contains("one of: ") && err.contains("reno"), "{err}");
    let (code, err) = refused(&["dsl", "--far", "true", "--", "no-such-program"]);
    assert_eq!(code, 2, "{err}");
    assert!(err.contains("cannot start no-such-program"), "{err}");
    let (code, err) = refused(&["dsl", "--far", "exit 3", "--far-port", "1", "--", "true"]);
    assert_eq!(code, 1, "{err}");
    assert!(err.contains("ended before it listened at port 1"), "{err}");
}

/// A shell in a mount namespace whose /dev/net has only what the test puts there.
fn with_own_dev_net(line: &str) -> Option<Said> {
    let line = format!("mount -t tmpfs none /dev/net && {line}");
    let said = Said::by(Command::new("unshare").args(["-m", "sh", "-c", &line]));
    match said.err.contains("unshare failed") || said.err.contains("mount:") {
        true => {
            let command = "run the tests as root";
            without::skipped("another /dev/net", said.err.trim(), command);
            None
        }
        false => Some(said),
    }
}

#[test]
fn without_a_tun_device_the_error_says_how_to_get_one() {
    let Some(said) = with_own_dev_net(&format!("exec {PROGRAM} link dsl --far true -- true"))
    else {
        return;
    };
    assert_eq!(said.code, 1, "{}", said.err);
    assert!(said.err.contains("cannot use /dev/net/tun"), "{}", said.err);
    assert!(said.err.contains("modprobe tun"), "{}", said.err);
}

#[test]
fn a_user_without_rights_has_a_link_and_stays_who_it_is() {
    // Where others may not look, the program cannot be started by them.
    let folder = tempfile::tempdir_in("/tmp").unwrap();
    let program = folder.path().join("uaperf");
    std::fs::copy(PROGRAM, &program).unwrap();
    std::fs::set_permissions(
        folder.path(),
        std::os::unix::fs::PermissionsExt::from_mode(0o755),
    )
    .unwrap();
    let line = format!(
        "mknod -m 666 /dev/net/tun c 10 200 && exec setpriv --reuid=65534 --regid=65534 --clear-groups \
         {} link delay=1ms --far true -- sh -c 'id -u; grep CapEff /proc/self/status'",
        program.display()
    );
    let Some(said) = with_own_dev_net(&line) else {
        return;
    };
    if is_refused(&said.err) {
        return;
    }
    assert_eq!(said.code, 0, "{}", said.err);
    assert_eq!(
        said.out, "65534\nCapEff:\t0000000000000000\n",
        "{}",
        said.err
    );
}
