//! What `--observe` says of processes that spend a known amount.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::support::{Server, program};
use serde_json::Value;

/// What this program does instead of its tests, when it is started again.
const DOES: &str = "UAPERF_TEST_SPENDS";

/// Where it writes down what its own clock says: seconds since 1970, and seconds of CPU.
const LOG: &str = "UAPERF_TEST_SPENT";

/// This program once more, spending something.
struct Spender(Child);

impl Spender {
    fn of(what: &str, log: &Path) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "observe::spends_what_it_is_told", "--nocapture"])
            .env(DOES, what)
            .env(LOG, log)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.as_mut().unwrap()).lines();
        let ready = lines.map_while(Result::ok).any(|it| it.contains("ready"));
        assert!(ready, "it did not begin");
        Self(child)
    }

    fn id(&self) -> String {
        self.0.id().to_string()
    }
}

impl Drop for Spender {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Of a core, this share is used.
const SHARE: f64 = 0.37;
/// Bytes that leak in a second.
const LEAK: f64 = 10.0 * 1048576.0;

/// No test unless it was started to be one that spends: it ends when it is killed.
#[test]
fn spends_what_it_is_told() {
    let Ok(what) = std::env::var(DOES) else {
        return;
    };
    println!("ready");
    std::io::stdout().flush().unwrap();
    let (began, cpu) = (Instant::now(), observe::thread_cpu().unwrap());
    let mut leaked: Vec<Vec<u8>> = Vec::new();
    let (own, mut log) = (
        observe::Process::own(),
        File::create(std::env::var_os(LOG).unwrap()).unwrap(),
    );
    loop {
        // Close enough to each other: a thread that is taken off its core in between asks again.
        let at = loop {
            let (before, cpu) = (now(), own.cpu().unwrap().as_secs_f64());
            if now() - before < 0.002 {
                break (before, cpu);
            }
        };
        writeln!(log, "{:.6} {:.6}", at.0, at.1).unwrap();
        let elapsed = began.elapsed().as_secs_f64();
        match what.as_str() {
            // What it could not use while others had the core it uses later.
            "cpu" => {
                let due = Duration::from_secs_f64(elapsed * SHARE);
                while observe::thread_cpu().unwrap() - cpu < due {
                    std::hint::black_box((0..1000_u64).sum::<u64>());
                }
            }
            _ => {
                while (leaked.len() as f64) * 262_144.0 < elapsed * LEAK {
                    leaked.push(vec![1; 262_144]);
                }
            }
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn now() -> f64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.unwrap().as_secs_f64()
}

/// What it had spent at a time, by its own account: in between as evenly as can be.
fn spent_at(log: &str, at: f64) -> f64 {
    let rows = log.lines().filter_map(|line| line.split_once(' '));
    let rows: Vec<(f64, f64)> = rows
        .map(|(at, cpu)| (at.parse().unwrap(), cpu.parse().unwrap()))
        .collect();
    let after = rows
        .iter()
        .position(|it| it.0 > at)
        .expect("it ended early");
    let (then, next) = (rows[after - 1], rows[after]);
    then.1 + (next.1 - then.1) * (at - then.0) / (next.0 - then.0)
}

/// A short load with something observed meanwhile; what its only phase says.
fn observed(words: &[&str]) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let served = Server::start(&folder.path().join("served"), &["--security", "none"]);
    let out = folder.path().join("run.json");
    let load = ["read", &served.url, "--rate", "50/s", "--warmup", "200ms"];
    let output = program()
        .args(load)
        .args(["--quiet", "--out"])
        .arg(&out)
        .args(words)
        .current_dir(folder.path())
        .output()
        .unwrap();
    let text = std::fs::read(&out).unwrap_or_else(|_| panic!("{output:?}"));
    let run: Value = serde_json::from_slice(&text).unwrap();
    run["phases"][0].clone()
}

fn process<'a>(phase: &'a Value, who: &str) -> &'a Value {
    let all = phase["resources"].as_array().unwrap();
    all.iter().find(|it| it["who"] == who).expect(who)
}

fn column(of: &Value, name: &str) -> Vec<f64> {
    let rows = of[name].as_array().unwrap();
    rows.iter().filter_map(Value::as_f64).collect()
}

#[test]
fn a_known_share_of_a_core_is_read_as_that() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("spent");
    let spender = Spender::of("cpu", &log);
    let id = spender.id();
    let words = ["--duration", "4s", "--observe", &id, "--observe-interval"];
    let phase = observed(&[&words[..], &["10ms"]].concat());
    let seen = process(&phase, "observed");
    assert_eq!(seen["pid"].to_string(), id);
    let cores = seen["window"]["cpu_cores"].as_f64().unwrap();
    // What it spent in the window by its own account: a share of that which others left it.
    std::thread::sleep(Duration::from_millis(100));
    let log = std::fs::read_to_string(&log).unwrap();
    let started: record::Timestamp = phase["started"].as_str().unwrap().parse().unwrap();
    let at = |edge: &str| (started.unix_ns() as f64 + phase[edge].as_f64().unwrap()) / 1e9;
    let (from, to) = (at("from_ns"), at("to_ns"));
    let own = (spent_at(&log, to) - spent_at(&log, from)) / (to - from);
    assert!((cores - own).abs() < 0.01, "{cores}, but {own}");
    assert!(own > 0.5 * SHARE && own < SHARE + 0.05, "{own}");
    let mean = &seen["means"]["cpu_cores"];
    let (mean, error) = (
        mean["mean"].as_f64().unwrap(),
        mean["error"].as_f64().unwrap(),
    );
    assert!((mean - cores).abs() < 1e-9);
    assert!(
        (mean - own).abs() < 0.01 + error,
        "{mean} ± {error}, but {own}"
    );
    // One thread does it all, in user space.
    let busiest = &seen["threads"][0];
    assert_eq!(busiest["name"], "observe::spends");
    let user = seen["window"]["user_ns"].as_f64().unwrap();
    assert!(user > 0.8 * seen["window"]["cpu_ns"].as_f64().unwrap());
    // The same in the course of it: all is one thread's, and in user space where enough ticks came together.
    let course = &seen["cpu_course"];
    let all = column(course, "cpu_cores");
    let mean = all.iter().sum::<f64>() / all.len() as f64;
    assert!((mean - own).abs() < 0.05, "{mean}, but {own}: {course}");
    // All cores of the machine, each by itself, make what the host did.
    let host = &process(&phase, "host")["cpu_course"];
    let cores = host["cores"].as_array().unwrap();
    let each: f64 = cores
        .iter()
        .map(|core| column(core, "busy").iter().sum::<f64>())
        .sum();
    let together: f64 = column(host, "cpu_cores").iter().sum();
    assert!(
        cores.len() == 16 || (each - together).abs() < 0.1 * together,
        "{each}, but {together}: {host}"
    );
    let thread = &course["threads"][0];
    assert_eq!(thread["name"], "observe::spends");
    let of_thread = column(thread, "cpu_cores").iter().sum::<f64>();
    // What a thread has spent is known up to the last tick of the scheduler.
    assert!(
        (of_thread / all.iter().sum::<f64>() - 1.0).abs() < 0.05,
        "{course}"
    );
    let user = column(course, "user_cores");
    assert!(user.len() >= 3, "{course}");
    // Closer looks are as close to each other as their cost allows: ticks of half a second are enough, those of less are not.
    let at = column(course, "at_ns");
    let are_close = at.windows(2).any(|it| it[1] - it[0] < 0.4e9);
    assert!(user.len() < all.len() || !are_close, "{course}");
    assert!(user.iter().all(|it| *it > 0.1), "{course}");
}

#[test]
fn a_leak_is_as_steep_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let spender = Spender::of("memory", &folder.path().join("spent"));
    let id = spender.id();
    let words = ["--duration", "3s", "--observe", &id, "--observe-interval"];
    let phase = observed(&[&words[..], &["20ms"]].concat());
    let seen = process(&phase, "observed");
    let (at, rss) = (column(seen, "at_ns"), column(seen, "rss_bytes"));
    assert!(at.len() > 60, "{} looks", at.len());
    let n = at.len() as f64;
    let (x, y) = (at.iter().sum::<f64>() / n, rss.iter().sum::<f64>() / n);
    let rows = || at.iter().zip(&rss);
    let slope = rows().map(|(a, r)| (a - x) * (r - y)).sum::<f64>()
        / rows().map(|(a, _)| (a - x).powi(2)).sum::<f64>();
    let slope = slope * 1e9;
    assert!(
        (slope / LEAK - 1.0).abs() < 0.05,
        "{slope} of {LEAK} bytes/s"
    );
}

#[test]
fn a_server_that_is_observed_by_its_port_is_the_server_with_its_threads_and_the_host_has_links() {
    let folder = tempfile::tempdir().unwrap();
    let served = Server::start(&folder.path().join("served"), &["--security", "none"]);
    let port = format!(
        ":{}",
        served.url.rsplit(':').next().unwrap().trim_end_matches('/')
    );
    let out = folder.path().join("run.json");
    let load = ["read", &served.url, "--rate", "200/s", "--duration", "2s"];
    let output = program()
        .args(load)
        .args(["--observe", &format!("{port},host"), "--out"])
        .arg(&out)
        .current_dir(folder.path())
        .output()
        .unwrap();
    let run: Value = serde_json::from_slice(&std::fs::read(&out).unwrap()).unwrap();
    let phase = &run["phases"][0];
    let all = phase["resources"].as_array().unwrap();
    assert!(all.iter().all(|it| it["who"] != "observed"), "{all:?}");
    let server = process(phase, "server");
    let threads = server["threads"].as_array().unwrap();
    assert!(
        threads.iter().any(|it| it["name"] == "plant-0"),
        "{threads:?}"
    );
    let links = process(phase, "host")["links"].as_array().unwrap();
    let lo = links.iter().find(|it| it["name"] == "lo").unwrap();
    // 400 requests and their answers, each way on the loopback.
    assert!(lo["received_bytes"].as_u64().unwrap() > 20_000, "{lo}");
    let cost = phase["observing"]["cpu_cores"].as_f64().unwrap();
    assert!(cost > 0.0 && cost < 0.2, "{cost}");
    let screen = String::from_utf8(output.stdout).unwrap();
    for said in ["threads: plant-0", "link lo: ", "observing", " ± "] {
        assert!(screen.contains(said), "{said} is not in\n{screen}");
    }
}

#[test]
fn what_the_kernel_counts_of_a_server_is_what_its_threads_count_and_what_it_does_not_has_a_reason()
{
    let folder = tempfile::tempdir().unwrap();
    let served = Server::start(&folder.path().join("served"), &["--security", "none"]);
    let load = ["read", &served.url, "--rate", "200/s", "--duration", "2s"];
    let counted = ["--warmup", "200ms", "--counters", "--out", "run.json"];
    let run = |words: &[&str]| {
        let mut program = program();
        let output = program.args(words).current_dir(folder.path()).output();
        String::from_utf8(output.unwrap().stdout).unwrap()
    };
    let screen = run(&[&load[..], &counted[..]].concat());
    let text = std::fs::read(folder.path().join("run.json")).unwrap();
    let result: Value = serde_json::from_slice(&text).unwrap();
    let phase = &result["phases"][0];
    let server = process(phase, "server");
    let counters = &server["counters"];
    for name in ["cycles", "instructions", "cache_misses", "branch_misses"] {
        let it = &counters[name];
        let known = it["count"].as_u64().is_some_and(|it| it > 0);
        assert!(known || it["not_available"].is_string(), "{name}: {it}");
    }
    let each = &counters["instructions_per_operation"];
    let known = each.as_f64().is_some_and(|it| it > 100.0);
    assert!(known || each["not_available"].is_string(), "{each}");
    // Root may count what happens in the kernel; others by its setting.
    if let Some(switches) = counters["context_switches"]["count"].as_f64() {
        let window = &server["window"];
        let both = ["voluntary_switches", "involuntary_switches"];
        let wanted: f64 = both.iter().map(|it| window[it].as_f64().unwrap()).sum();
        // The plant's threads live as long as the plant. Looking at them takes some milliseconds.
        assert!(
            (switches / wanted - 1.0).abs() < 0.1,
            "{switches}, but {wanted}"
        );
        let clock = counters["task_clock_ns"]["count"].as_f64().unwrap();
        let cpu = window["cpu_ns"].as_f64().unwrap();
        assert!((clock / cpu - 1.0).abs() < 0.1, "{clock}, but {cpu}");
        let threads = counters["threads"].as_array().unwrap();
        let plant = threads.iter().find(|it| it["name"] == "plant-0").unwrap();
        assert!(
            plant["context_switches"]["count"].as_f64().unwrap() > 0.5 * switches,
            "{plant}"
        );
        assert!(screen.contains(" context switches, "), "{screen}");
    }
    assert!(screen.contains("counted: "), "{screen}");
    run(&["report", "run.json", "-o", "page.html"]);
    let page = std::fs::read_to_string(folder.path().join("page.html")).unwrap();
    assert!(page.contains("Counted by the kernel and the processor"));
}

#[test]
fn what_cannot_be_observed_is_said_before_anything_is_sent() {
    for (target, why) in [
        ("no-such-server", "no process is named no-such-server"),
        ("4294967295", "no process has the id"),
        (":1", "cannot be watched"),
    ] {
        let words = ["read", "opc.tcp://127.0.0.1:1", "--observe", target];
        let output = program().args(words).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains("--observe") && said.contains(why), "{said}");
        assert_eq!(output.status.code(), Some(2), "{said}");
    }
}
