//! Loads of several agents: one result, exact sums, and what is lost named.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::path::Path;
use std::process::{Child, Stdio};

use crate::support;

#[cfg(unix)]
use crate::support::sshd::Sshd;
use crate::support::{Said, Server, Telling, command, json, text};
use serde_json::Value;

const NODES: &str = "nsu=urn:bench;i=1000..1099";

fn said(folder: &Path, words: &[&str]) -> Said {
    Said::by(&mut command(folder, words))
}

fn measured(said: &Said) {
    assert!(said.is_measured(), "{}{}", said.out, said.err);
}

fn sum(hosts: &Value, of: impl Fn(&Value) -> u64) -> u64 {
    hosts.as_array().unwrap().iter().map(of).sum()
}

#[test]
fn the_requests_of_three_agents_are_one_result_and_each_is_counted_once() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(&folder.path().join("pki"), &["--profile", "bench"]);
    let words = ["--requests", "1000", "--sessions", "10", "--batch", "3"];
    let out = ["--out", "run.json", "--hlog", "run.hlog"];
    let read = ["read", &server.url, "-n", NODES, "--fleet", "local:3"];
    let told = said(folder.path(), &[&read[..], &words, &out].concat());
    measured(&told);
    let run = json(&folder.path().join("run.json"));
    let total = &run["phases"][0]["total"];
    assert_eq!(total["completed"], 1000);
    assert_eq!(total["values"], 3000);
    assert_eq!(total["histograms"]["response"]["count"], 1000);
    let hosts = &run["hosts"];
    assert_eq!(hosts.as_array().unwrap().len(), 3);
    let sessions: Vec<&Value> = hosts
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["sessions"])
        .collect();
    assert_eq!(sessions, [4, 3, 3]);
    assert_eq!(
        sum(hosts, |it| it["total"]["completed"].as_u64().unwrap()),
        1000
    );
    for host in hosts.as_array().unwrap() {
        // All of them have the clocks of this machine.
        let clock = &host["clock"];
        let (ahead, error) = (clock["ahead_ns"].as_i64(), clock["error_ns"].as_i64());
        assert!(ahead.unwrap().abs() <= error.unwrap(), "{clock}");
        assert!(host["machine"]["cores"].as_u64().unwrap() > 0);
        assert_ne!(host["pid"], std::process::id());
    }
    assert!(told.out.contains("local:2"), "{}", told.out);
    assert!(folder.path().join("run.hlog").exists());
}

#[test]
fn an_open_loop_has_the_same_plan_for_any_number_of_agents() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(&folder.path().join("pki"), &["--profile", "bench"]);
    let planned = |fleet: &[&str], file: &str| {
        let read = [
            "read",
            &server.url,
            "-n",
            NODES,
            "--sessions",
            "6",
            "--out",
            file,
        ];
        let pace = [
            "--rate-total",
            "300/s",
            "--arrival",
            "poisson",
            "--duration",
            "2s",
            // One that is found would end elsewhere each time.
            "--warmup",
            "0s",
        ];
        let told = said(folder.path(), &[&read[..], &pace, fleet].concat());
        measured(&told);
        let run = json(&folder.path().join(file));
        run["phases"][0]["total"]["planned"].as_u64().unwrap()
    };
    let one = planned(&[], "one.json");
    assert!(one > 400, "{one}");
    assert_eq!(planned(&["--fleet", "local:2,local:1"], "three.json"), one);
}

#[test]
fn what_several_agents_write_is_put_back_and_needs_permission_as_ever() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(&folder.path().join("pki"), &["--profile", "bench"]);
    let write = ["write", &server.url, "-n", NODES, "--fleet", "local:2"];
    let refused = said(folder.path(), &write);
    assert_eq!(refused.code, 2, "{}", refused.err);
    let load = [
        "--sessions",
        "4",
        "--requests",
        "200",
        "--values",
        "count",
        "--restore",
    ];
    let out = ["--allow", "write", "--out", "run.json"];
    measured(&said(folder.path(), &[&write[..], &load, &out].concat()));
    let run = json(&folder.path().join("run.json"));
    assert_eq!(run["phases"][0]["total"]["completed"], 200);
    let notes = run["notes"].to_string();
    assert!(
        notes.contains("100 original values were written back"),
        "{notes}"
    );
}

#[test]
fn values_that_agents_subscribe_to_are_accounted_for_together() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(&folder.path().join("pki"), &["--profile", "bench"]);
    let what = [
        "subscribe",
        &server.url,
        "-n",
        "nsu=urn:bench;i=3030",
        "--fleet",
        "local:2",
    ];
    let shape = [
        "--sessions",
        "4",
        "--publishing",
        "100ms",
        "--queue",
        "10",
        "--duration",
        "3s",
    ];
    let out = ["--expect", "loss=0", "--out", "run.json"];
    measured(&said(folder.path(), &[&what[..], &shape, &out].concat()));
    let told = &json(&folder.path().join("run.json"))["phases"][0]["subscriptions"];
    assert_eq!(told["subscriptions"], 4, "{told}");
    assert_eq!(told["items"], 4);
}

/// A read of ten seconds by two agents that has begun, and the processes of its agents.
#[cfg(target_os = "linux")]
fn begun(folder: &Path, url: &str) -> (Child, Telling, Vec<u32>) {
    let read = [
        "read",
        url,
        "-n",
        NODES,
        "--sessions",
        "4",
        "--duration",
        "10s",
        "--fleet",
    ];
    let mut command = command(
        folder,
        &[&read[..], &["local:2", "--plain", "--out", "run.json"]].concat(),
    );
    let mut child = command
        .stderr(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut telling = Telling::of(&mut child);
    telling.until_it_measures();
    let agents = children(child.id());
    assert_eq!(agents.len(), 2);
    (child, telling, agents)
}

#[cfg(target_os = "linux")]
fn children(of: u32) -> Vec<u32> {
    let tasks = std::fs::read_dir(format!("/proc/{of}/task")).unwrap();
    let lists = tasks.map(|it| std::fs::read_to_string(it.unwrap().path().join("children")));
    let all: Vec<String> = lists.map(|it| it.unwrap_or_default()).collect();
    let ids = all.iter().flat_map(|it| it.split_whitespace());
    ids.map(|it| it.parse().unwrap()).collect()
}

#[cfg(target_os = "linux")]
#[test]
fn an_agent_that_is_killed_leaves_a_result_that_says_what_is_missing() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(&folder.path().join("pki"), &["--profile", "bench"]);
    let (child, telling, agents) = begun(folder.path(), &server.url);
    use rustix::process::{Pid, Signal, kill_process};
    let pid = Pid::from_raw(agents[1].try_into().unwrap()).unwrap();
    kill_process(pid, Signal::KILL).unwrap();
    let err = telling.whole();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stdout));
    assert!(
        err.join()
            .unwrap()
            .contains("warning: agent local:2 was lost while it made its load")
    );
    let run = json(&folder.path().join("run.json"));
    assert_eq!(run["verdict"]["kind"], "INCOMPLETE");
    let evidence = run["verdict"]["evidence"].to_string();
    assert!(
        evidence.contains("what its 2 sessions did is missing"),
        "{evidence}"
    );
    assert_eq!(run["marks"].to_string(), "[\"degraded\"]");
    assert!(run["phases"][0]["total"]["completed"].as_u64().unwrap() > 0);
    assert!(run["hosts"][1]["lost"].is_string() && run["hosts"][0]["lost"].is_null());
}

#[cfg(target_os = "linux")]
#[test]
fn an_interrupt_ends_the_load_of_all_agents_and_keeps_what_they_measured() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(&folder.path().join("pki"), &["--profile", "bench"]);
    let (child, telling, agents) = begun(folder.path(), &server.url);
    support::signal(child.id(), "INT");
    let err = telling.whole();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", err.join().unwrap());
    let run = json(&folder.path().join("run.json"));
    assert_eq!(run["marks"].to_string(), "[\"interrupted\"]");
    assert!(
        sum(&run["hosts"], |it| it["total"]["completed"]
            .as_u64()
            .unwrap())
            > 0
    );
    assert!(
        agents
            .iter()
            .all(|pid| !Path::new(&format!("/proc/{pid}")).exists())
    );
}

#[cfg(target_os = "linux")]
#[test]
fn agents_stop_by_themselves_when_their_controller_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(&folder.path().join("pki"), &["--profile", "bench"]);
    let (mut child, telling, agents) = begun(folder.path(), &server.url);
    child.kill().unwrap();
    child.wait().unwrap();
    drop(telling);
    let until = std::time::Instant::now() + std::time::Duration::from_secs(60);
    for pid in agents {
        let alive = || {
            let status = std::fs::read_to_string(format!("/proc/{pid}/stat"));
            status.is_ok_and(|it| !it.contains(") Z "))
        };
        while alive() {
            assert!(std::time::Instant::now() < until, "agent {pid} goes on");
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }
}

#[test]
fn commands_and_options_that_agents_cannot_do_are_refused_before_anything_runs() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |words: &[&str]| {
        let all = [words, &["--fleet", "local:2"]].concat();
        let said = said(folder.path(), &all);
        assert_eq!(said.code, 2, "{words:?}: {}", said.err);
        said.err
    };
    let url = "opc.tcp://127.0.0.1:1";
    let err = refused(&["read", url, "--fresh-session"]);
    assert!(
        err.contains("--fresh-session: agents of --fleet cannot"),
        "{err}"
    );
    let said = said(folder.path(), &["read", url, "--fleet", "plc1"]);
    assert!(
        said.code == 2 && said.err.contains("want local:2"),
        "{}",
        said.err
    );
}

#[test]
fn an_agent_is_not_there_or_no_agent_and_both_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(&folder.path().join("pki"), &["--profile", "bench"]);
    let gone = "ssh:nobody.invalid";
    let check = |ssh: &str| {
        let mut command = command(folder.path(), &["fleet", "check", gone, "--json"]);
        Said::by(command.env("UAPERF_SSH", ssh))
    };
    let told = check("false");
    assert_eq!(told.code, 1);
    assert!(told.out.contains("its process ended"), "{}", told.out);
    let told = check("echo Welcome to");
    assert!(told.out.contains("it said \\\"Welcome to"), "{}", told.out);
    // With one agent that is there the load is made, and the result says who was not.
    let read = [
        "read",
        &server.url,
        "--requests",
        "10",
        "--out",
        "run.json",
        "--fleet",
    ];
    let mut command = command(
        folder.path(),
        &[&read[..], &[&format!("local:1,{gone}")]].concat(),
    );
    let told = Said::by(command.env("UAPERF_SSH", "false"));
    assert_eq!(told.code, 1, "{}", told.err);
    let run = json(&folder.path().join("run.json"));
    assert_eq!(run["verdict"]["kind"], "INCOMPLETE");
    assert_eq!(run["phases"][0]["total"]["completed"], 10);
}

#[test]
fn a_check_tells_what_hosts_are_and_how_their_clocks_stand() {
    let folder = tempfile::tempdir().unwrap();
    let told = said(
        folder.path(),
        &["fleet", "check", "local:2", "--clocks", "300ms", "--json"],
    );
    assert_eq!(told.code, 0, "{}", told.err);
    let told: Value = serde_json::from_str(&told.out).unwrap();
    assert_eq!(told["good"], 2);
    let clock = &told["agents"][1]["clock"];
    let error = clock["error_ns"].as_i64().unwrap();
    assert!(
        clock["ahead_ns"].as_i64().unwrap().abs() <= error,
        "{clock}"
    );
    assert!(clock["exchanges"].as_u64().unwrap() >= 8);
    let low = clock["drift_low_ppb"].as_i64().unwrap();
    assert!(
        low <= 0 && clock["drift_high_ppb"].as_i64().unwrap() >= 0,
        "{clock}"
    );
}

#[cfg(unix)]
#[test]
fn an_agent_on_a_host_that_ssh_reaches_has_its_part_of_the_load() {
    let folder = tempfile::tempdir().unwrap();
    let Some(sshd) = Sshd::start("fleet by ssh", folder.path()) else {
        return;
    };
    let server = Server::start(&folder.path().join("pki"), &["--profile", "bench"]);
    let spec = format!("local:1,ssh:lab:{}", env!("CARGO_BIN_EXE_uaperf"));
    let read = [
        "read",
        &server.url,
        "-n",
        NODES,
        "--fleet",
        &spec,
        "--out",
        "run.json",
    ];
    let load = [
        "--sessions",
        "4",
        "--requests",
        "400",
        "--trust",
        "--user",
        "bench",
    ];
    let mut command = command(folder.path(), &[&read[..], &load].concat());
    // The secret goes over the pipe, and nowhere else.
    let ssh = &sshd.ssh;
    let told = Said::by(
        command
            .env("UAPERF_SSH", ssh)
            .env("UAPERF_PASSWORD", "bench"),
    );
    measured(&told);
    let written = std::fs::read_to_string(folder.path().join("run.json")).unwrap();
    let run: Value = serde_json::from_str(&written).unwrap();
    assert_eq!(run["phases"][0]["total"]["completed"], 400);
    assert_eq!(run["hosts"][1]["name"], "ssh:lab");
    assert_eq!(run["hosts"][1]["total"]["completed"], 200);
    let clock = &run["hosts"][1]["clock"];
    let (ahead, error) = (clock["ahead_ns"].as_i64(), clock["error_ns"].as_i64());
    assert!(ahead.unwrap().abs() <= error.unwrap(), "{clock}");
}

#[cfg(unix)]
#[test]
fn this_program_is_copied_to_a_host_and_found_there() {
    let folder = tempfile::tempdir().unwrap();
    let Some(sshd) = Sshd::start("fleet by ssh", folder.path()) else {
        return;
    };
    let there = folder.path().join("opt/lab/uaperf");
    let spec = format!("ssh:lab:{}", there.display());
    let fleet = |words: &[&str]| {
        let mut command = command(folder.path(), &[&["fleet"], words].concat());
        Said::by(command.env("UAPERF_SSH", &sshd.ssh))
    };
    // Twice: what is there is replaced.
    for _ in 0..2 {
        let said = fleet(&["install", &spec]);
        assert_eq!(said.code, 0, "{}{}", said.out, said.err);
        assert!(
            said.out.starts_with(&format!("{spec}: uaperf ")),
            "{}",
            said.out
        );
    }
    let said = fleet(&["check", &spec, "--clocks", "200ms"]);
    assert_eq!(said.code, 0, "{}{}", said.out, said.err);
    // What cannot be there is told, and nothing is left of it.
    std::fs::write(folder.path().join("file"), "").unwrap();
    let said = fleet(&[
        "install",
        &format!("ssh:lab:{}/file/uaperf", folder.path().display()),
    ]);
    assert_eq!(said.code, 1, "{}", said.err);
    assert!(said.err.contains("mkdir"), "{}", said.err);
    let said = fleet(&["install", &format!("ssh:lab:{}", folder.path().display())]);
    assert_eq!(said.code, 1, "{}", said.err);
    let left = std::fs::read_dir(folder.path()).unwrap().flatten();
    assert!(
        !left
            .into_iter()
            .any(|it| it.path().extension().is_some_and(|it| it == "part"))
    );
    for spec in ["ssh:lab", "local:2"] {
        let said = fleet(&["install", spec]);
        assert_eq!(said.code, 2, "{}", said.err);
        assert!(
            said.err.contains("want ssh:host:/path/to/uaperf"),
            "{}",
            said.err
        );
    }
}

#[test]
fn a_program_that_is_not_there_and_a_host_that_does_not_know_us_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let Some(sshd) = Sshd::start("fleet by ssh", folder.path()) else {
        return;
    };
    let check = |spec: &str| {
        let mut command = command(folder.path(), &["fleet", "check", spec]);
        let said = Said::by(command.env("UAPERF_SSH", &sshd.ssh));
        assert_eq!(said.code, 1, "{}", said.err);
        said.out
    };
    let out = check("ssh:lab:/nowhere/uaperf");
    assert!(out.contains("/nowhere/uaperf"), "{out}");
    std::fs::write(folder.path().join("user.pub"), "").unwrap();
    let out = check("ssh:lab");
    assert!(out.contains("Permission denied"), "{out}");
}
