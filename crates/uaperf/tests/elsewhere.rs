//! What is observed on other hosts: pages for Prometheus that a stand-in serves, our own exporter, and `uaperf watch
//! --pipe` behind a real ssh and behind a stand-in of it.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::support::sshd::Sshd;
use crate::support::{Said, Server, command, json, program, signal};
use serde_json::Value;

/// A stand-in for node_exporter on a machine that keeps half of a core busy, three quarters of that in user space, and
/// whose interface carries 1 MB/s. It holds answers back while it is told to.
struct Exporter {
    url: String,
    silent: Arc<AtomicBool>,
    /// How often it was asked.
    asked: Arc<AtomicU64>,
}

impl Exporter {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let silent = Arc::new(AtomicBool::new(false));
        let holds = Arc::clone(&silent);
        let asked = Arc::new(AtomicU64::new(0));
        let counts = Arc::clone(&asked);
        let began = Instant::now();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                counts.fetch_add(1, Ordering::Relaxed);
                let holds = Arc::clone(&holds);
                std::thread::spawn(move || answer(stream, &holds, began));
            }
        });
        Self { url, silent, asked }
    }
}

fn answer(stream: TcpStream, silent: &AtomicBool, began: Instant) {
    let mut lines = BufReader::new(&stream).lines();
    let first = lines.next().unwrap().unwrap();
    for line in lines {
        if line.unwrap().is_empty() {
            break;
        }
    }
    if silent.load(Ordering::Relaxed) {
        std::thread::sleep(Duration::from_secs(5));
    }
    let s = began.elapsed().as_secs_f64();
    let page = format!(
        "# TYPE node_cpu_seconds_total counter\n\
         node_cpu_seconds_total{{cpu=\"0\",mode=\"idle\"}} {}\n\
         node_cpu_seconds_total{{cpu=\"0\",mode=\"system\"}} {}\n\
         node_cpu_seconds_total{{cpu=\"0\",mode=\"user\"}} {}\n\
         node_memory_MemAvailable_bytes 3e+09\n\
         node_memory_MemTotal_bytes 4e+09\n\
         node_network_receive_bytes_total{{device=\"eth0\"}} {}\n\
         node_network_transmit_bytes_total{{device=\"eth0\"}} 0\n",
        1000.0 + s * 0.5,
        100.0 + s * 0.125,
        200.0 + s * 0.375,
        5e9 + s * 1e6,
    );
    let (status, page) = match first.split(' ').nth(1) {
        Some("/metrics") => ("200 OK", page),
        _ => ("404 Not Found", String::new()),
    };
    let length = page.len();
    // Who waited too long has gone.
    let _ = write!(
        &stream,
        "HTTP/1.0 {status}\r\nContent-Length: {length}\r\n\r\n{page}"
    );
}

/// Something that lives until its test ends.
struct Shell(Child);

impl Shell {
    fn new(script: &str) -> Self {
        let mut command = Command::new("sh");
        command.args(["-c", script]).stdin(Stdio::piped());
        Self(command.stdout(Stdio::null()).spawn().unwrap())
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A short load of a server with something observed meanwhile: what its only phase says.
fn observed(folder: &Path, duration: &str, words: &[&str], ssh: Option<&str>) -> (Value, String) {
    let served = Server::start(&folder.join("served"), &["--security", "none"]);
    let load = [
        "read",
        &served.url,
        "--rate",
        "50/s",
        "--duration",
        duration,
    ];
    let out = ["--out", "run.json"];
    let mut command = command(folder, &[&load[..], &out, words].concat());
    command.envs(ssh.map(|it| ("UAPERF_SSH", it)));
    let said = Said::by(&mut command);
    // A machine on which others work, too, may be too slow for the generator: that is no matter here.
    assert!(matches!(said.code, 0 | 4), "{}\n{}", said.out, said.err);
    (
        json(&folder.join("run.json"))["phases"][0].clone(),
        said.out,
    )
}

fn seen(phase: &Value) -> Value {
    let all = phase["resources"].as_array().unwrap();
    let seen = all.iter().find(|it| it["who"] == "observed");
    seen.expect("nothing was observed").clone()
}

#[test]
fn a_machine_of_another_host_is_in_the_result_and_a_gap_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let exporter = Exporter::start();
    let (silent, asked) = (Arc::clone(&exporter.silent), Arc::clone(&exporter.asked));
    // Silent for some seconds in the middle, whenever the load begins: it is asked once a second.
    std::thread::spawn(move || {
        while asked.load(Ordering::Relaxed) < 4 {
            std::thread::sleep(Duration::from_millis(10));
        }
        silent.store(true, Ordering::Relaxed);
        std::thread::sleep(Duration::from_millis(2500));
        silent.store(false, Ordering::Relaxed);
    });
    let target = format!("prom:{}", exporter.url);
    let (phase, screen) = observed(folder.path(), "9s", &["--observe", &target], None);
    let seen = seen(&phase);
    let window = &seen["window"];
    let known = |name: &str| window[name].as_f64().unwrap_or_else(|| panic!("{window}"));
    assert!((known("cpu_cores") - 0.5).abs() < 0.02, "{window}");
    let length = (phase["to_ns"].as_f64().unwrap() - phase["from_ns"].as_f64().unwrap()) / 1e9;
    assert!(
        (known("cpu_ns") / 1e9 / length - 0.5).abs() < 0.02,
        "{window}"
    );
    assert!(
        (known("user_ns") / known("cpu_ns") - 0.75).abs() < 0.01,
        "{window}"
    );
    assert_eq!(known("rss_peak_bytes"), 1e9);
    assert_eq!(seen["ram_bytes"], 4_000_000_000_u64);
    assert_eq!(seen["name"], "127.0.0.1");
    let eth0 = &seen["links"][0];
    assert_eq!(eth0["name"], "eth0");
    let carried = eth0["received_bytes"].as_f64().unwrap() / length;
    assert!((carried / 1e6 - 1.0).abs() < 0.02, "{eth0}");
    let source = &seen["source"];
    assert_eq!(source["by"], "node_exporter");
    assert_eq!(source["from"], format!("{}/metrics", exporter.url));
    let resolution = source["resolution_ns"].as_f64().unwrap();
    assert!((resolution / 1e9 - 1.0).abs() < 0.3, "{source}");
    let gap = &source["gaps"][0];
    assert_eq!(gap["reason"], "no answer in time");
    // It is a row of the course without a figure.
    let cores = seen["cpu_cores"].as_array().unwrap();
    assert!(cores.iter().any(Value::is_null) && cores.iter().any(Value::is_number));
    assert!(
        screen.contains("by node_exporter") && screen.contains("nothing from"),
        "{screen}"
    );
    assert!(screen.contains("of 3.73 GiB (25.00 %)"), "{screen}");
}

#[test]
fn our_own_exporter_tells_the_same_as_looking_at_the_process() {
    let folder = tempfile::tempdir().unwrap();
    let shell = Shell::new("while :; do :; done");
    let id = shell.0.id().to_string();
    let mut watch = program()
        .args(["watch", &id, "--prometheus", ":0"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut err = BufReader::new(watch.stderr.take().unwrap());
    err.read_line(&mut line).unwrap();
    let url = line
        .trim()
        .strip_prefix("figures for Prometheus: ")
        .unwrap();
    // The first page comes a moment after the line.
    std::thread::sleep(Duration::from_secs(1));
    let target = format!("prom:{url}#{id}");
    let both = format!("{target},{id}");
    let (phase, _) = observed(folder.path(), "6s", &["--observe", &both], None);
    signal(watch.id(), "INT");
    let _ = watch.wait();
    let all = phase["resources"].as_array().unwrap();
    let of = |far: bool| {
        let is = |it: &&Value| it["who"] == "observed" && it["source"].is_object() == far;
        all.iter().find(is).unwrap_or_else(|| panic!("{all:?}"))
    };
    let (far, near) = (of(true), of(false));
    let cores = |it: &Value| it["window"]["cpu_cores"].as_f64().unwrap();
    assert!(cores(near) > 0.01);
    // Samples are a second apart: at either end of the window the rate may have been any that was seen.
    let rates = far["cpu_cores"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(Value::as_f64);
    let (least, most) = rates.fold((f64::MAX, 0.0_f64), |(a, b), it| (a.min(it), b.max(it)));
    let off = 0.05 * cores(near) + 2.0 * (most - least) / 6.0;
    assert!((cores(far) - cores(near)).abs() < off, "{far}\n{near}");
    assert_eq!(far["source"]["by"], "uaperf");
    assert_eq!(far["name"], "sh at 127.0.0.1");
    // A page is up to a second old: of a window that ends a little behind the last one there is no sum.
    let switches = &far["window"]["involuntary_switches"];
    let why = switches["not_available"].as_str().unwrap_or_default();
    assert!(
        switches.is_number() || why.starts_with("samples cover"),
        "{far}"
    );
    let resolution = far["source"]["resolution_ns"].as_f64().unwrap();
    assert!((resolution / 1e9 - 1.0).abs() < 0.5, "{far}");
}

#[test]
fn watching_a_page_draws_a_line_for_each_sample_and_says_when_none_comes() {
    let exporter = Exporter::start();
    let target = format!("prom:{}/metrics", exporter.url);
    let mut watch = program()
        .args(["watch", &target, "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(watch.stdout.take().unwrap()).lines();
    let mut next = |kind: &str| loop {
        let line: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
        if line["line"] == kind {
            return line;
        }
    };
    let host = next("host");
    let busy = host["busy_cores"].as_f64().unwrap();
    assert!((busy - 0.5).abs() < 0.05, "{host}");
    assert_eq!(host["used_bytes"], 1_000_000_000_u64);
    exporter.silent.store(true, Ordering::Relaxed);
    let gap = next("gap");
    assert_eq!(gap["reason"], "no answer in time");
    signal(watch.id(), "INT");
    let end = next("end");
    assert_eq!(
        end["processes"][0]["from"],
        target.strip_prefix("prom:").unwrap()
    );
    assert_eq!(watch.wait().unwrap().code(), Some(0));
}

#[test]
fn a_page_that_tells_nothing_is_refused_before_anything_is_sent() {
    let exporter = Exporter::start();
    let closed = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    for (target, why) in [
        (
            format!("prom:{}#open62541", exporter.url),
            "names no processes",
        ),
        (format!("prom:{}/nothing", exporter.url), "HTTP status 404"),
        (format!("prom:http://{closed}"), "refused"),
        ("prom:https://plc1".to_owned(), "want prom:http://HOST:PORT"),
        ("ssh:plc1:a;b".to_owned(), "want ssh:HOST"),
    ] {
        let words = ["read", "opc.tcp://127.0.0.1:1", "--observe", &target];
        let said = Said::by(program().args(words));
        assert_eq!(said.code, 2, "{target}: {}", said.err);
        assert!(said.err.contains(why), "{target}: {}", said.err);
    }
}

/// A program in place of ssh: it runs what follows the host on this machine.
fn stand_in(folder: &Path) -> String {
    let file = folder.join("ssh");
    let script = "#!/bin/sh\nwhile [ \"$1\" != -- ]; do shift; done\nshift 2\nexec \"$@\"\n";
    std::fs::write(&file, script).unwrap();
    format!("sh {}", file.display())
}

/// What is in place of a host's name, with this program there.
fn there(host: &str) -> String {
    format!("ssh:{host}:{}", env!("CARGO_BIN_EXE_uaperf"))
}

fn agrees(phase: &Value, id: &str) {
    let all = phase["resources"].as_array().unwrap();
    let of = |far: bool| {
        let is = |it: &&Value| it["who"] == "observed" && it["source"].is_object() == far;
        all.iter().find(is).unwrap_or_else(|| panic!("{all:?}"))
    };
    let (far, near) = (of(true), of(false));
    assert_eq!(far["pid"].to_string(), id);
    let known = |it: &Value, what: &str| it["window"][what].as_f64().unwrap();
    // Looks are 100 ms apart on both sides, and a core may have been its own in one of them and not in the next.
    let (there, here) = (known(far, "cpu_ns"), known(near, "cpu_ns"));
    assert!((there - here).abs() < 0.05 * here + 0.2e9, "{far}\n{near}");
    assert_eq!(far["threads"][0]["name"], near["threads"][0]["name"]);
    let source = &far["source"];
    assert!(
        source["by"].as_str().unwrap().starts_with("uaperf "),
        "{source}"
    );
    let kernel = source["machine"]["kernel"].as_str().unwrap();
    assert!(kernel.starts_with("Linux "), "{source}");
    assert_eq!(source["gaps"].as_array().unwrap().len(), 0, "{source}");
    let interval = source["resolution_ns"].as_f64().unwrap();
    assert!((interval / 1e8 - 1.0).abs() < 0.5, "{source}");
    // One machine, one clock: the way through two pipes is the bound.
    assert!(source["time_error_ns"].as_f64().unwrap() < 1e9, "{source}");
    assert!(source["cost_cores"].as_f64().unwrap() > 0.0, "{source}");
}

#[test]
fn a_process_behind_a_pipe_is_the_same_as_looked_at_here() {
    let folder = tempfile::tempdir().unwrap();
    let ssh = stand_in(folder.path());
    let shell = Shell::new("while :; do :; done");
    let id = shell.0.id().to_string();
    let both = format!("{}:{id},{id}", there("lab"));
    let words = ["--observe", &both, "--observe-interval", "100ms"];
    let (phase, screen) = observed(folder.path(), "4s", &words, Some(&ssh));
    agrees(&phase, &id);
    assert!(screen.contains("from ssh:lab by uaperf"), "{screen}");
    assert!(screen.contains("there: "), "{screen}");
}

#[test]
fn a_process_on_a_host_that_ssh_reaches_is_observed() {
    let folder = tempfile::tempdir().unwrap();
    let Some(sshd) = Sshd::start("observe by ssh", folder.path()) else {
        return;
    };
    let shell = Shell::new("while :; do :; done");
    let id = shell.0.id().to_string();
    let both = format!("{}:{id},{id}", there("lab"));
    let words = ["--observe", &both, "--observe-interval", "100ms"];
    let (phase, _) = observed(folder.path(), "4s", &words, Some(&sshd.ssh));
    agrees(&phase, &id);
}

#[test]
fn a_watch_behind_a_pipe_tells_that_its_process_or_its_host_is_gone() {
    let folder = tempfile::tempdir().unwrap();
    let ssh = stand_in(folder.path());
    let mut shell = Shell::new("read x");
    let target = format!("{}:{}", there("lab"), shell.0.id());
    let mut watch = command(
        folder.path(),
        &["watch", &target, "--interval", "100ms", "--json"],
    )
    .env("UAPERF_SSH", &ssh)
    .stdout(Stdio::piped())
    .stderr(Stdio::piped())
    .spawn()
    .unwrap();
    let mut out = BufReader::new(watch.stdout.take().unwrap());
    let mut first = String::new();
    out.read_line(&mut first).unwrap();
    let first: Value = serde_json::from_str(&first).unwrap();
    assert_eq!(
        (&first["line"], &first["from"]),
        (&"process".into(), &"ssh:lab".into())
    );
    drop(shell.0.stdin.take());
    shell.0.wait().unwrap();
    let mut rest = String::new();
    out.read_to_string(&mut rest).unwrap();
    let ended: Vec<Value> = rest
        .lines()
        .map(|it| serde_json::from_str(it).unwrap())
        .filter(|it: &Value| it["line"] == "ended")
        .collect();
    assert_eq!(ended.len(), 1, "{rest}");
    assert!(
        ended[0]["reason"].as_str().unwrap().contains("has ended"),
        "{rest}"
    );
    assert_eq!(watch.wait().unwrap().code(), Some(0));

    // What is not there is said, and by whom.
    for (target, why) in [
        (
            format!("{}:no-such-program", there("lab")),
            "no process is named no-such-program",
        ),
        ("ssh:lab:/nowhere/uaperf".to_owned(), "/nowhere/uaperf"),
    ] {
        let words = ["watch", target.as_str()];
        let said = Said::by(command(folder.path(), &words).env("UAPERF_SSH", &ssh));
        assert_eq!(said.code, 2, "{}", said.err);
        assert!(said.err.contains(why), "{}", said.err);
    }
}
