//! `uaperf watch`, as a user runs it, held against what the processes that it watches did.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, clippy::expect_used)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use crate::support::{Said, listens_to_signals, program, signal, text};
use serde_json::Value;

/// A shell that has done what it was to do first, and ends with its test.
struct Shell(Child);

impl Shell {
    fn new(script: &str) -> Self {
        let mut command = Command::new("sh");
        command
            .args(["-c", script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut shell = Self(command.spawn().unwrap());
        shell
            .0
            .stdout
            .as_mut()
            .unwrap()
            .read_exact(&mut [0])
            .unwrap();
        shell
    }

    fn id(&self) -> String {
        self.0.id().to_string()
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn lines(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn of<'a>(lines: &'a [Value], kind: &str) -> Vec<&'a Value> {
    lines.iter().filter(|it| it["line"] == kind).collect()
}

#[test]
fn what_lines_say_adds_up_to_what_the_end_says_and_the_cost_is_there() {
    let shell = Shell::new("echo; while :; do :; done");
    let words = [
        "watch",
        &shell.id(),
        "--interval",
        "20ms",
        "--duration",
        "600ms",
        "--json",
        "--counters",
    ];
    let said = Said::by(program().args(words));
    assert_eq!((said.code, said.err.as_str()), (0, ""));
    let lines = lines(&said.out);
    let end = lines.last().unwrap();
    assert_eq!(end["line"], "end");
    let looks = of(&lines, "process");
    let sum = |what: &str| {
        looks
            .iter()
            .map(|it| it[what].as_u64().unwrap())
            .sum::<u64>()
    };
    let whole = &end["processes"][0];
    assert_eq!(sum("cpu_ns"), whole["cpu_ns"].as_u64().unwrap());
    assert_eq!(sum("interval_ns"), whole["watched_ns"].as_u64().unwrap());
    assert!(sum("cpu_ns") > 0 && whole["pid"] == shell.0.id());
    let looked = looks.len() as u64;
    assert_eq!(end["cost"]["looks"].as_u64().unwrap(), looked);
    assert!(end["cost"]["cpu_ns"].as_u64().unwrap() > 0);
    // The last look is a close one, and threads add up to the process but for a tick of the scheduler.
    let close = &looks.last().unwrap()["closely"];
    let threads = close["by_thread"].as_array().unwrap();
    assert_eq!(threads.len(), 1);
    let (thread, all) = (threads[0]["cpu_ns"].as_u64().unwrap(), sum("cpu_ns"));
    assert!(thread.abs_diff(all) < 20_000_000, "{thread} {all}");
    let counted = &close["counters"]["task_clock_ns"];
    let counted = counted["count"]
        .as_u64()
        .unwrap_or_else(|| panic!("{counted}"));
    assert!(
        (counted as f64 / all as f64 - 1.0).abs() < 0.05,
        "{counted} {all}"
    );
    // What this machine does not have is a reason.
    let host = of(&lines, "host")[0];
    for figure in ["mean_hertz", "hottest_celsius", "watts"] {
        let it = &host[figure];
        assert!(
            it["not_available"].is_string() || it.is_number() || it.is_array(),
            "{host}"
        );
    }
}

#[test]
fn a_process_that_ends_is_told_and_is_a_failure_only_if_more_was_asked_for() {
    for (duration, code) in [(None, 0), (Some("60s"), 1)] {
        let mut shell = Shell::new("echo; read x");
        let mut command = program();
        command.args(["watch", &shell.id(), "--interval", "20ms", "--json"]);
        command.args(duration.map(|it| ["--duration", it]).into_iter().flatten());
        let mut watch = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut out = BufReader::new(watch.stdout.take().unwrap());
        let mut first = String::new();
        out.read_line(&mut first).unwrap();
        drop(shell.0.stdin.take());
        shell.0.wait().unwrap();
        let mut rest = String::new();
        out.read_to_string(&mut rest).unwrap();
        let ended = watch.wait_with_output().unwrap();
        assert_eq!(ended.status.code(), Some(code));
        let lines = lines(&rest);
        let told = of(&lines, "ended");
        assert_eq!(told.len(), 1);
        assert!(told[0]["reason"].as_str().unwrap().contains("has ended"));
        assert_eq!(lines.last().unwrap()["processes"][0]["ended"], true);
        let err = text(&ended.stderr);
        assert_eq!(
            err.contains("before --duration 1m was over"),
            code == 1,
            "{err}"
        );
    }
}

#[test]
fn prometheus_reads_totals_and_ctrl_c_ends_it_in_good_order() {
    let shell = Shell::new("echo; read x");
    for (duration, code) in [(None, 0), (Some("60s"), 130)] {
        let mut command = program();
        command.args(["watch", &shell.id(), "--counters", "--prometheus", ":0"]);
        command.args(duration.map(|it| ["--duration", it]).into_iter().flatten());
        let mut watch = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut err = BufReader::new(watch.stderr.take().unwrap());
        let mut line = String::new();
        err.read_line(&mut line).unwrap();
        let at = line
            .trim()
            .strip_prefix("figures for Prometheus: http://127.0.0.1:")
            .unwrap();
        let port: u16 = at.strip_suffix("/metrics").unwrap().parse().unwrap();
        // What is there from the first moment on may come a moment after the line that says where.
        let mut page = String::new();
        while !page.contains("uaperf_process_up") {
            page.clear();
            let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
            stream
                .write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
                .unwrap();
            stream.read_to_string(&mut page).unwrap();
            assert!(page.starts_with("HTTP/1.1 200 OK\r\n"), "{page}");
        }
        let value = |name: &str| {
            let line = page.lines().find(|line| line.starts_with(name)).unwrap();
            line.rsplit(' ').next().unwrap().parse::<f64>().unwrap()
        };
        let labels = format!("{{process=\"sh\",pid=\"{}\"", shell.0.id());
        assert!(value(&format!("uaperf_process_up{labels}")) > 0.0);
        assert!(value(&format!("uaperf_process_resident_memory_bytes{labels}")) > 100_000.0);
        assert!(value(&format!("uaperf_thread_cpu_seconds_total{labels}")) >= 0.0);
        let clock = format!("uaperf_process_counted_total{labels},event=\"task_clock_ns\"");
        assert!(value(&clock) >= 0.0);
        while !listens_to_signals(watch.id()) {
            std::thread::yield_now();
        }
        signal(watch.id(), "INT");
        let ended = watch.wait_with_output().unwrap();
        assert_eq!(ended.status.code(), Some(code));
        let out = text(&ended.stdout);
        assert!(out.contains("watching cost "), "{out}");
    }
}

#[test]
fn what_names_no_process_is_refused_with_what_was_typed() {
    let refused = |target: &str| Said::by(program().args(["watch", target]));
    let nobody = refused("no-such-program");
    assert_eq!(nobody.code, 1);
    assert!(
        nobody.err.contains("no process is named no-such-program"),
        "{}",
        nobody.err
    );
    let closed = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let port = refused(&format!(":{closed}"));
    assert_eq!(port.code, 1);
    assert!(port.err.contains("nobody listens on port"), "{}", port.err);
    assert_eq!(refused(":0").code, 2);
    let fast = Said::by(program().args(["watch", "1", "--interval", "9ms"]));
    assert_eq!(fast.code, 2);
    assert!(fast.err.contains("want 10ms to 1h"), "{}", fast.err);
}

#[test]
fn children_are_watched_when_they_are_asked_for() {
    let shell = Shell::new("sh -c 'echo; read x'; true");
    let words = [
        "watch",
        &shell.id(),
        "--children",
        "--duration",
        "100ms",
        "--json",
    ];
    let said = Said::by(program().args(words));
    let all = lines(&said.out);
    assert_eq!(
        all.last().unwrap()["processes"].as_array().unwrap().len(),
        2
    );
}
