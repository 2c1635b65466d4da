//! What an agent costs its host while it has nothing to do.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic)]

use std::io::Read;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::support;

/// A figure of a process's memory, in bytes.
fn memory(pid: u32, name: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|it| it.strip_prefix(name));
    let figure = line.unwrap().trim_start_matches(':').trim();
    figure.trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}

/// Whether a process has been given no processor for a moment.
fn rests(pid: u32) -> bool {
    let spent = || {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/schedstat")).unwrap();
        stat.split_whitespace().next().unwrap().to_owned()
    };
    let before = spent();
    std::thread::sleep(Duration::from_millis(200));
    spent() == before
}

#[test]
fn an_idle_agent_is_small_and_does_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut agent = support::command(folder.path(), &["agent", "--pipe", "--orphan", "60s"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // It has said who it is.
    let mut first = [0; 100];
    agent
        .stdout
        .as_mut()
        .unwrap()
        .read_exact(&mut first)
        .unwrap();
    let pid = agent.id();
    let until = Instant::now() + Duration::from_secs(20);
    while !rests(pid) {
        assert!(Instant::now() < until, "it is never idle");
    }
    let (all, own) = (memory(pid, "VmRSS"), memory(pid, "RssAnon"));
    let mib = |bytes: u64| bytes as f64 / 1048576.0;
    println!(
        "an idle agent: {:.1} MiB resident, {:.1} MiB of it its own memory and the rest parts of the program's file",
        mib(all),
        mib(own)
    );
    drop(agent.stdin.take());
    agent.wait().unwrap();
    assert!(own < 10_000_000, "{own}");
    // Of a program that is not optimised its code alone was 20 MB.
    assert!(all < 20_000_000, "{all}");
}
