//! `uaperf link --on`: a relay on the host of an agent, which ends with its controller and obeys whom it knows.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::sshd::Sshd;
use crate::support::{Said, Server, command, json, signal};

const UAPERF: &str = env!("CARGO_BIN_EXE_uaperf");

/// A relay elsewhere that takes connections.
struct Relay {
    child: Child,
    /// It goes on writing there.
    _told: BufReader<ChildStderr>,
    url: String,
}

impl Relay {
    fn start(command: &mut Command) -> Self {
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = child.spawn().unwrap();
        let mut told = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        while !line.starts_with("listening at ") {
            line.clear();
            assert_ne!(told.read_line(&mut line).unwrap(), 0, "no relay");
        }
        let url = line.split_whitespace().nth(2).unwrap().to_owned();
        Self {
            child,
            _told: told,
            url,
        }
    }

    fn end(self) -> (Option<i32>, Value) {
        let output = self.child.wait_with_output().unwrap();
        let told = serde_json::from_slice(&output.stdout).unwrap();
        (output.status.code(), told)
    }
}

fn link(folder: &Path, to: &str, on: &str) -> Command {
    let words = ["link", "10Mbit/s,delay=15ms", "--to", to, "--on", on];
    let more = ["--listen", "127.0.0.1:0", "--json"];
    command(folder, &[&words[..], &more].concat())
}

fn read(folder: &Path, url: &str) -> Value {
    let words = ["read", url, "-n", "i=2258", "--requests", "5"];
    let more = ["--security", "none", "--quiet", "--out", "r.json"];
    let said = Said::by(&mut command(folder, &[&words[..], &more].concat()));
    assert!([0, 4].contains(&said.code), "{}{}", said.out, said.err);
    json(&folder.join("r.json"))
}

#[test]
fn a_relay_on_another_host_is_ended_here_and_tells_here_what_it_carried() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let Some(sshd) = Sshd::start("a relay on another host", path) else {
        return;
    };
    let server = Server::start(path, &["--security", "none"]);
    let on = format!("ssh:lab:{UAPERF}");
    let mut command = link(path, &server.url, &on);
    let relay = Relay::start(command.env("UAPERF_SSH", &sshd.ssh));
    let run = read(path, &relay.url);
    let response = &run["phases"][0]["total"]["histograms"]["response"];
    assert!(
        response["min_ns"].as_u64().unwrap() >= 30_000_000,
        "{response}"
    );
    signal(relay.child.id(), "INT");
    let (code, told) = relay.end();
    assert_eq!(code, Some(0), "{told}");
    assert_eq!(told["on"], "ssh:lab");
    assert_eq!(told["interrupted"], true);
    assert_eq!(told["lost"], Value::Null);
    let account = &told["account"];
    assert!(account["connections"].as_u64().unwrap() >= 1, "{told}");
    assert!(account["down"]["bytes"].as_u64().unwrap() > 500, "{told}");
}

/// What a process has started.
fn child_of(pid: u32) -> Option<u32> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    let of = |task: std::fs::DirEntry| {
        let children = std::fs::read_to_string(task.path().join("children")).ok()?;
        children.split_whitespace().next()?.parse().ok()
    };
    tasks.flatten().find_map(of)
}

#[test]
fn a_relay_that_is_lost_is_said_with_what_was_last_known_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let server = Server::start(path, &["--security", "none"]);
    let relay = Relay::start(&mut link(path, &server.url, "local:1"));
    read(path, &relay.url);
    signal(child_of(relay.child.id()).unwrap(), "KILL");
    let (code, told) = relay.end();
    assert_eq!(code, Some(1), "{told}");
    assert!(told["lost"].as_str().unwrap().contains("local:1"), "{told}");
    assert_eq!(told["interrupted"], false);
}

#[test]
fn a_relay_ends_with_its_controller() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let relay = Relay::start(&mut link(path, "opc.tcp://127.0.0.1:1", "local:1"));
    let at = relay.url.strip_prefix("opc.tcp://").unwrap().to_owned();
    assert!(std::net::TcpStream::connect(&at).is_ok());
    signal(relay.child.id(), "KILL");
    relay.child.wait_with_output().unwrap();
    let until = Instant::now() + Duration::from_secs(60);
    while std::net::TcpStream::connect(&at).is_ok() {
        assert!(Instant::now() < until, "it goes on alone");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn an_agent_relays_for_whom_it_knows_and_to_its_servers_only() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let key = path.join("own.key").display().to_string();
    let line = Said::by(&mut command(path, &["fleet", "key", "--key", &key]));
    std::fs::write(path.join("keys"), line.out).unwrap();
    let said = |guard: &str| {
        let script = path.join("ssh.sh");
        let keys = path.join("keys");
        let text = format!(
            "exec {UAPERF} agent --pipe --allow-from {} {guard}\n",
            keys.display()
        );
        std::fs::write(&script, text).unwrap();
        let mut command = link(path, "opc.tcp://127.0.0.1:1", "ssh:lab");
        command.args(["--duration", "100ms"]);
        command.env("UAPERF_SSH", format!("sh {}", script.display()));
        Said::by(command.env("UAPERF_FLEET_KEY", &key))
    };
    let good = said("--targets 127.0.0.1:1 --loads link");
    assert_eq!(good.code, 0, "{}{}", good.out, good.err);
    for (guard, want) in [
        ("--targets 127.0.0.1:1", "link is not among its --loads"),
        (
            "--targets 10.0.0.*:4840 --loads link",
            "opc.tcp://127.0.0.1:1 is not among its --targets",
        ),
    ] {
        let refused = said(guard);
        assert_eq!(refused.code, 1, "{}{}", refused.out, refused.err);
        assert!(refused.err.contains(want), "{}", refused.err);
    }
}

#[test]
fn what_cannot_relay_is_refused_with_its_reason() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let two = Said::by(&mut link(path, "opc.tcp://127.0.0.1:1", "local:2"));
    assert_eq!(two.code, 2, "{}", two.err);
    assert!(two.err.contains("want one agent"), "{}", two.err);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    let words = ["link", "dsl", "--to", "opc.tcp://127.0.0.1:1"];
    let more = ["--on", "local:1", "--listen", &taken];
    let said = Said::by(&mut command(path, &[&words[..], &more].concat()));
    assert_eq!(said.code, 1, "{}", said.err);
    let want = format!("cannot listen at {taken}");
    assert!(said.err.contains(&want), "{}", said.err);
}
