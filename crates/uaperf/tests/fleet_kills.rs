//! What becomes of a load when an agent, its controller or the way between them is killed, at each stage of it.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic)]

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::support::relay::Relay;
use crate::support::relay::table::{KILLS, Kill, PHASES, Phase, table};
use crate::support::{Said, Server, command, text};
use serde_json::Value;

const NODES: &str = "nsu=urn:bench;i=1000..1099";

/// What is seen of a load.
#[derive(Debug, Default)]
struct Seen {
    /// None where a signal ended the controller.
    code: Option<i32>,
    run: Option<Value>,
    /// What `fleet collect` makes of it: exit code, result.
    later: Option<(i32, Option<Value>)>,
    err: String,
}

impl Seen {
    /// The word of docs/fleet.md for it.
    fn word(&self) -> String {
        let kind = |run: &Value| run["verdict"]["kind"].as_str().unwrap().to_owned();
        let lacks = |run: &Value| hosts(run).iter().any(|it| it["lost"].is_string());
        let came = |run: &Value| hosts(run).iter().any(|it| it["late"] == true);
        let later = match &self.later {
            Some((0 | 4, Some(run))) if came(run) => ", late",
            Some((1, Some(run))) if came(run) => ", part",
            None | Some((1, _)) => "",
            other => return format!("unknown: {other:?}"),
        };
        let first = match (self.code, &self.run) {
            (Some(0 | 4), Some(run)) if !lacks(run) => "whole",
            (Some(1), Some(run)) if kind(run) == "INCOMPLETE" => {
                assert_eq!(run["marks"].to_string(), "[\"degraded\"]");
                match hosts(run).iter().find(|it| it["lost"].is_string()) {
                    Some(host) if host["sessions"] == 0 => "fewer",
                    Some(_) => "lost",
                    None => "apart",
                }
            }
            (Some(130), Some(_)) => "stopped",
            (Some(130), None) => "stopped, no result",
            (None | Some(1), None) => "none",
            other => return format!("unknown: {other:?}"),
        };
        format!("{first}{later}")
    }
}

fn hosts(run: &Value) -> &Vec<Value> {
    run["hosts"].as_array().unwrap()
}

/// All that is in a result was counted by one of its agents.
fn adds_up(run: &Value) {
    let completed = |of: &Value| of["total"]["completed"].as_u64().unwrap_or(0);
    let own: u64 = hosts(run).iter().map(completed).sum();
    assert_eq!(completed(&run["phases"][0]), own);
}

fn run_of(file: &Path) -> Option<Value> {
    let text = std::fs::read(file).ok()?;
    serde_json::from_slice(&text).ok()
}

/// Files below a folder that are called so.
fn files(folder: &Path, name: &str) -> Vec<PathBuf> {
    let loads = std::fs::read_dir(folder.join("uaperf/fleet"));
    let loads = loads.into_iter().flatten().map(|it| it.unwrap().path());
    loads
        .map(|it| it.join(name))
        .filter(|it| it.exists())
        .collect()
}

/// A load by an agent here and one behind the relay.
fn load(path: &Path, url: &str, relay: &Relay) -> std::process::Child {
    let read = [
        "read",
        url,
        "-n",
        NODES,
        "--sessions",
        "4",
        "--security",
        "none",
    ];
    let load = [
        "--duration",
        "1s",
        "--warmup",
        "0s",
        "--rate",
        "20/s",
        "--plain",
        "--out",
        "run.json",
    ];
    let fleet = ["--fleet", "local:1,ssh:lab", "--orphan", "3s"];
    let mut command = command(path, &[&read[..], &load, &fleet].concat());
    let child = command
        .env("UAPERF_SSH", &relay.ssh)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    relay.of(child.id());
    child
}

fn cell(url: &str, kill: Kill, phase: Phase) -> Seen {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let there = path.join("there");
    let pause = Duration::from_millis(4500);
    let relay = Relay::start(path, &there, (kill, phase), pause, OnceLock::new());
    let child = load(path, url, &relay);
    let output = child.wait_with_output().unwrap();
    assert!(
        relay.struck().is_some(),
        "{kill:?} {phase:?} never: {}",
        text(&output.stderr)
    );
    // Load stops by itself: it has the time that its controller may be silent, and a moment.
    let stays = matches!(kill, Kill::AgentStops);
    let ended = relay.has_ended(Instant::now() + Duration::from_secs(if stays { 0 } else { 20 }));
    assert!(ended || stays, "{kill:?} {phase:?}: the agent goes on");
    drop(relay);
    let run = run_of(&path.join("run.json"));
    let load = files(&path.join("state"), "ledger.json").pop();
    let what = match (&run, load) {
        (Some(run), _) if hosts(run).iter().any(|it| it["books"].is_string()) => {
            Some("run.json".to_owned())
        }
        (None, Some(file)) => {
            let folder = file.parent().unwrap().file_name().unwrap();
            Some(folder.to_str().unwrap().to_owned())
        }
        _ => None,
    };
    let later = what.map(|what| {
        let collected = collect(path, &there, &what);
        let run = run_of(&path.join("run.json")).or_else(|| run_of(&path.join("late.json")));
        (collected.code, run)
    });
    let runs = run.iter().chain(later.iter().flat_map(|(_, run)| run));
    runs.for_each(adds_up);
    Seen {
        code: output.status.code(),
        run,
        later,
        err: text(&output.stderr),
    }
}

fn collect(path: &Path, there: &Path, what: &str) -> Said {
    let ssh = path.join("ssh.sh");
    let agent = env!("CARGO_BIN_EXE_uaperf");
    let text = format!(
        "XDG_STATE_HOME={} exec {agent} agent --pipe\n",
        there.display()
    );
    std::fs::write(&ssh, text).unwrap();
    let out = ["--out", "late.json"];
    let more = if what == "run.json" {
        &[][..]
    } else {
        &out[..]
    };
    let mut command = command(path, &[&["fleet", "collect", what], more].concat());
    Said::by(command.env("UAPERF_SSH", format!("sh {}", ssh.display())))
}

/// Many of them beside each other: most of their time is waiting.
fn all(cells: &[(Kill, Phase, String)]) -> Vec<Seen> {
    let folder = tempfile::tempdir().unwrap();
    let options = ["--profile", "bench", "--security", "none"];
    let server = Server::start(&folder.path().join("pki"), &options);
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        loop {
            let n = next.fetch_add(1, Ordering::Relaxed);
            let Some((kill, phase, _)) = cells.get(n) else {
                break;
            };
            done.push((n, cell(&server.url, *kill, *phase)));
        }
        done
    };
    let mut done: Vec<(usize, Seen)> = std::thread::scope(|scope| {
        // Each is three processes, and agents that begin late are a result of another kind.
        let at_once = std::thread::available_parallelism().map_or(4, |it| 3 * it.get());
        let threads: Vec<_> = (0..at_once.min(12)).map(|_| scope.spawn(work)).collect();
        threads
            .into_iter()
            .flat_map(|it| it.join().unwrap())
            .collect()
    });
    done.sort_by_key(|(n, _)| *n);
    done.into_iter().map(|(_, it)| it).collect()
}

/// In virtual time all of them are played each time: `crates/fleet/tests/kills.rs`.
#[test]
fn a_kill_at_a_phase_ends_as_the_table_says() {
    let every = std::env::var_os("UAPERF_KILLS").is_some_and(|it| it == "all");
    let mut cells = Vec::new();
    for (n, (kill, row)) in KILLS.into_iter().zip(table()).enumerate() {
        for (m, (phase, want)) in PHASES.into_iter().zip(row).enumerate() {
            // Somebody who says nothing at all is waited for half a minute.
            let waits = m == 0 && want == "fewer" && !matches!(kill, Kill::Agent | Kill::Way);
            if every || ((n + m) % 4 == 0 && !waits) {
                cells.push((kill, phase, want));
            }
        }
    }
    let mut wrong = Vec::new();
    for ((kill, phase, want), seen) in cells.iter().zip(all(&cells)) {
        let is = seen.word();
        println!("{kill:?} at {phase:?}: {is}");
        if want.split(" or ").all(|it| it != is) {
            let (at, err) = (format!("{kill:?} at {phase:?}"), &seen.err);
            wrong.push(format!("{at}: {is} (want {want})\n{err}\n{seen:#?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn books_that_the_controller_cannot_keep_stay_with_their_agent() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let there = path.join("there");
    let options = ["--profile", "bench", "--security", "none"];
    let server = Server::start(&path.join("server"), &options);
    // It is never told that they are taken.
    let plan = (Kill::Agent, Phase::Taken);
    let relay = Relay::start(path, &there, plan, Duration::ZERO, OnceLock::new());
    let child = load(path, &server.url, &relay);
    let state = path.join("state");
    let until = Instant::now() + Duration::from_secs(60);
    let ledger = loop {
        assert!(Instant::now() < until, "nothing is shared out");
        match files(&state, "ledger.json").pop() {
            Some(ledger) => break ledger,
            None => std::thread::sleep(Duration::from_millis(5)),
        }
    };
    std::fs::create_dir(ledger.with_file_name("taken-1")).unwrap();
    let output = child.wait_with_output().unwrap();
    let (code, err) = (output.status.code(), text(&output.stderr));
    assert!(matches!(code, Some(0 | 4)), "{err}");
    assert!(err.contains("results of agents are not kept"), "{err}");
    assert!(relay.struck().is_none());
    assert!(relay.has_ended(Instant::now() + Duration::from_secs(20)));
    assert_eq!(files(&there, "agent-1").len(), 1);
    let run = run_of(&path.join("run.json")).unwrap();
    adds_up(&run);
    assert!(hosts(&run).iter().all(|it| it["lost"].is_null()));
}
