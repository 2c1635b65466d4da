//! Servers start, are found running, and leave nothing behind, however their starter ends.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use peers::testing::{require, say, start};
use peers::{Client, ClientOptions, Server, StartError, StartOptions};

/// How long something may take that has to happen.
const PATIENCE: Duration = Duration::from_secs(60);

fn is_alive(pid: u32) -> bool {
    peers::started(pid).is_some()
}

fn gone_within(limit: Duration, pid: u32) -> Option<Duration> {
    let begin = Instant::now();
    while begin.elapsed() < limit {
        if !is_alive(pid) {
            return Some(begin.elapsed());
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    None
}

#[test]
fn a_server_runs_until_it_is_dropped() {
    let Some(stack) = require("asyncua") else {
        return;
    };
    let server = start(stack, &StartOptions::default());
    let pid = server.pid();
    assert!(is_alive(pid));
    let log = std::fs::read_to_string(server.log()).unwrap();
    assert!(log.contains(&format!("READY {}", server.url())), "{log}");
    drop(server);
    assert!(!is_alive(pid));
}

#[test]
fn a_server_that_is_told_nonsense_says_so_with_its_log() {
    let Some(stack) = require("asyncua") else {
        return;
    };
    let options = StartOptions {
        extra: vec!["--no-such-option".into()],
        ..StartOptions::default()
    };
    let Err(StartError::Ended { tail, log, .. }) = Server::start(stack, &options) else {
        panic!("it started");
    };
    assert!(tail.contains("--no-such-option"), "{tail}");
    assert!(log.is_file());
}

#[cfg(target_os = "linux")]
#[test]
fn a_pinned_server_runs_on_that_cpu_alone() {
    let Some(stack) = require("asyncua") else {
        return;
    };
    let options = StartOptions {
        pin: Some("0".into()),
        ..StartOptions::default()
    };
    let server = start(stack, &options);
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid())).unwrap();
    let allowed = status.lines().find(|l| l.starts_with("Cpus_allowed_list"));
    assert_eq!(allowed, Some("Cpus_allowed_list:\t0"));
}

#[cfg(target_os = "linux")]
#[test]
fn a_server_has_the_environment_that_it_is_given() {
    let Some(stack) = require("asyncua") else {
        return;
    };
    let options = StartOptions {
        environment: vec![("UAPERF_GIVEN".into(), "-Xmx512m -Dx=1".into())],
        ..StartOptions::default()
    };
    let server = start(stack, &options);
    let all = std::fs::read(format!("/proc/{}/environ", server.pid())).unwrap();
    let given = all.split(|byte| *byte == 0);
    assert_eq!(
        given
            .filter(|it| *it == b"UAPERF_GIVEN=-Xmx512m -Dx=1")
            .count(),
        1
    );
}

/// Runs one of the tests below in a process of its own; gives it and the number that it prints.
fn holder(test: &str) -> (Child, u32) {
    let mut starter = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--ignored", "--nocapture"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(starter.stdout.take().unwrap()).lines();
    let number = lines
        .map_while(Result::ok)
        .find_map(|line| line.split("HOLDING ").nth(1)?.trim().parse().ok())
        .expect("the starter says what it holds");
    (starter, number)
}

/// Not a test of its own: the process that a test kills.
#[test]
#[ignore = "started by another test"]
fn hold_a_server() {
    let Some(stack) = require("asyncua") else {
        return;
    };
    let server = start(stack, &StartOptions::default());
    println!("HOLDING {}", server.pid());
    std::thread::sleep(10 * PATIENCE);
}

#[test]
fn killing_the_starter_leaves_no_server_behind() {
    if require("asyncua").is_none() {
        return;
    }
    let (mut starter, pid) = holder("hold_a_server");
    assert!(is_alive(pid));

    // SIGKILL on Unix: nothing in the starter gets to run any more.
    starter.kill().unwrap();
    starter.wait().unwrap();
    let took = gone_within(PATIENCE, pid);
    assert!(took.is_some(), "process {pid} outlived its starter");
    say(&format!(
        "the server was gone {:.0?} after its starter was killed",
        took.unwrap()
    ));
}

/// Not a test of its own: the process that a test kills, waiting for a client that waits for an
/// answer that never comes.
#[test]
#[ignore = "started by another test"]
fn hold_a_client() {
    let Some(stack) = require("asyncua") else {
        return;
    };
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("opc.tcp://{}", silent.local_addr().unwrap());
    // Neither gives up before it is killed.
    let options = ClientOptions {
        patience: 10 * PATIENCE,
        ..ClientOptions::default()
    };
    std::thread::spawn(move || Client::run(stack, &url, &options));
    let _connection = silent.accept().unwrap();
    println!("HOLDING 0");
    std::thread::sleep(10 * PATIENCE);
}

#[cfg(target_os = "linux")]
#[test]
fn killing_the_starter_leaves_no_client_behind() {
    if require("asyncua").is_none() {
        return;
    }
    let (mut starter, _) = holder("hold_a_client");
    let children: Vec<u32> = std::fs::read_dir(format!("/proc/{}/task", starter.id()))
        .unwrap()
        .filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("children")).ok())
        .flat_map(|ids| {
            ids.split_whitespace()
                .map(|id| id.parse().unwrap())
                .collect::<Vec<_>>()
        })
        .collect();
    assert_eq!(children.len(), 1, "{children:?}");
    assert!(is_alive(children[0]));
    starter.kill().unwrap();
    starter.wait().unwrap();
    assert!(gone_within(PATIENCE, children[0]).is_some());
}

#[cfg(target_os = "linux")]
#[test]
fn a_server_in_the_background_outlives_its_starter_and_is_stopped_by_its_id() {
    use peers::background;
    let Some(stack) = require("asyncua") else {
        return;
    };
    let running = background::start(stack, &StartOptions::default()).unwrap();
    assert!(background::list().contains(&running));
    // It has no end of file to wait for: still there after a while, and answering.
    std::thread::sleep(Duration::from_millis(300));
    let options = ClientOptions {
        steps: vec!["connect", "read"],
        ..ClientOptions::default()
    };
    let report = Client::run(stack, &running.url, &options).unwrap();
    assert_eq!(report.error, None);
    assert!(running.stop());
    assert!(!running.is_alive());
    assert!(!background::list().contains(&running));
}

#[cfg(target_os = "linux")]
#[test]
fn another_process_with_the_same_id_is_not_stopped() {
    let mut bystander = Command::new("sleep").arg("30").spawn().unwrap();
    let running = peers::background::Running {
        stack: "asyncua".into(),
        url: "opc.tcp://127.0.0.1:1".into(),
        pid: bystander.id(),
        started: "0".into(),
        log: "none".into(),
    };
    assert!(!running.stop());
    assert!(is_alive(bystander.id()));
    bystander.kill().unwrap();
    bystander.wait().unwrap();
}
