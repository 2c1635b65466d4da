//! What is observed, held against what the system's own tools say of the same processes and sockets: within 2 %.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use observe::{Network, Tree, descendants, thread_cpu};
use serde_json::Value;
use support::program;

mod support;

/// What this program does instead of its tests, when it is started again.
const WORKS: &str = "UAPERF_TEST_WORKS";

/// No test unless it was started to be one that works: once it is told to, in user space, in the kernel, and with memory.
#[test]
fn works_once_it_is_told_to() {
    if std::env::var_os(WORKS).is_none() {
        return;
    }
    println!("ready");
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
    let until = |long: Duration, work: &mut dyn FnMut()| {
        let began = thread_cpu().unwrap();
        while thread_cpu().unwrap() - began < long {
            work();
        }
    };
    let memory = vec![1_u8; 64 << 20];
    until(Duration::from_millis(900), &mut || {
        std::hint::black_box((0..100_000_u64).sum::<u64>());
    });
    let mut zero = std::fs::File::open("/dev/zero").unwrap();
    let mut buffer = vec![0; 1 << 20];
    until(Duration::from_millis(600), &mut || {
        zero.read_exact(&mut buffer).unwrap();
    });
    // All of it is there to be seen before it ends.
    std::thread::sleep(Duration::from_millis(500));
    assert!(memory.len() > buffer.len());
}

fn is_there(tool: &str, package: &str) -> bool {
    let found = Command::new(tool)
        .arg("-V")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    if found.is_err() {
        let cure = format!("sudo apt-get install {package}");
        without::skipped("agreement", &format!("there is no {tool}"), &cure);
    }
    found.is_ok()
}

fn near(what: &str, found: f64, wanted: f64, ticks: f64) {
    let off = (found - wanted).abs();
    assert!(
        off <= 0.02 * wanted + ticks,
        "{what}: {found}, but {wanted}"
    );
}

/// `uaperf watch` of a process until it ends, or for so long; it has begun when this returns.
fn watch(pid: u32, words: &[&str]) -> (Child, BufReader<std::process::ChildStdout>) {
    let mut child = program()
        .args(["watch", &pid.to_string(), "--json"])
        .args(words)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    assert!(line.contains("\"line\":\"process\""), "{line}");
    (child, out)
}

fn end(out: BufReader<std::process::ChildStdout>) -> Value {
    let last = out.lines().map_while(Result::ok).last().unwrap();
    let last: Value = serde_json::from_str(&last).unwrap();
    assert_eq!(last["line"], "end");
    last["processes"][0].clone()
}

#[test]
fn cpu_and_memory_of_a_process_are_those_of_gnu_time() {
    if !is_there("/usr/bin/time", "time") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut timed = Command::new("/usr/bin/time")
        .args(["-v", "-o", "time.txt"])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "works_once_it_is_told_to", "--nocapture"])
        .env(WORKS, "1")
        .current_dir(folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(timed.stdout.take().unwrap()).lines();
    let mut lines = lines.map_while(Result::ok);
    assert!(lines.any(|it| it.contains("ready")));
    let worker = descendants(&Tree::here(), timed.id()).unwrap()[0];
    let (mut watching, out) = watch(worker, &["--interval", "20ms"]);
    timed.stdin.take().unwrap().write_all(b"now\n").unwrap();
    let seen = end(out);
    assert!(watching.wait().unwrap().success());
    drop(lines);
    timed.wait().unwrap();
    let told = std::fs::read_to_string(folder.path().join("time.txt")).unwrap();
    let told = |name: &str| -> f64 {
        let line = told.lines().find(|it| it.trim().starts_with(name)).unwrap();
        line.rsplit(' ').next().unwrap().parse().unwrap()
    };
    let seconds = |name: &str| seen[name].as_f64().unwrap() / 1e9;
    let (user, kernel) = (told("User time"), told("System time"));
    // Before it was watched it had started; the kernel divides by ticks of 10 ms, and GNU time tells hundredths.
    near("CPU", seconds("cpu_ns"), user + kernel, 0.03);
    near("user", seconds("user_ns"), user, 0.04);
    near("kernel", seconds("system_ns"), kernel, 0.04);
    let memory = told("Maximum resident set size") * 1024.0;
    near(
        "memory",
        seen["largest_rss_bytes"].as_f64().unwrap(),
        memory,
        0.0,
    );
}

#[test]
fn cpu_of_a_process_is_that_of_pidstat() {
    if !is_there("pidstat", "sysstat") {
        return;
    }
    let mut shell = Command::new("sh")
        .args(["-c", "while :; do :; done"])
        .spawn()
        .unwrap();
    let pid = shell.id();
    let (mut watching, out) = watch(pid, &["--interval", "20ms", "--duration", "3s"]);
    let pidstat = Command::new("pidstat")
        .args(["-u", "-p", &pid.to_string(), "3", "1"])
        .env("LC_ALL", "C")
        .output()
        .unwrap();
    let seen = end(out);
    watching.wait().unwrap();
    shell.kill().unwrap();
    shell.wait().unwrap();
    let told = String::from_utf8(pidstat.stdout).unwrap();
    // UID, PID, %usr, %system, %guest, %wait, %CPU
    let line = told
        .lines()
        .find(|it| it.starts_with("Average:") && it.ends_with("sh"));
    let line = line.unwrap_or_else(|| panic!("{told}"));
    let share = line
        .split_whitespace()
        .nth(7)
        .unwrap()
        .parse::<f64>()
        .unwrap();
    // They do not begin at the same moment, and others may have the core at either end.
    near(
        "CPU",
        seen["cpu_cores"].as_f64().unwrap(),
        share / 100.0,
        0.03,
    );
}

#[test]
fn what_tcp_counts_of_a_connection_is_what_ss_says() {
    if !is_there("ss", "iproute2") {
        return;
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap();
    let mut client = TcpStream::connect(at).unwrap();
    let (mut server, _) = listener.accept().unwrap();
    let reader = std::thread::spawn(move || {
        let mut all = vec![0; 3_000_000];
        server.read_exact(&mut all).unwrap();
        server
    });
    client.write_all(&vec![7; 3_000_000]).unwrap();
    let _server = reader.join().unwrap();
    let filter = format!("sport = :{}", client.local_addr().unwrap().port());
    let said = || {
        let ss = Command::new("ss")
            .args(["-tinH", &filter])
            .output()
            .unwrap();
        String::from_utf8(ss.stdout).unwrap()
    };
    // The last acknowledgement may be on its way.
    let until = Instant::now() + Duration::from_secs(20);
    let mut text = said();
    while !text.contains("bytes_acked:3000001") && Instant::now() < until {
        text = said();
    }
    let told = |name: &str| -> f64 {
        let word = text.split_whitespace().find_map(|it| it.strip_prefix(name));
        let word = word.unwrap_or_else(|| panic!("{name} is not in {text}"));
        word.split('/').next().unwrap().parse().unwrap()
    };
    let all = Network::default().sockets(std::process::id()).unwrap();
    let ours = all
        .iter()
        .find(|it| it.local == client.local_addr().unwrap());
    let tcp = ours.unwrap().tcp.clone().unwrap();
    near("bytes", tcp.sent_bytes as f64, told("bytes_acked:"), 1.0);
    near("rtt", f64::from(tcp.rtt_us), told("rtt:") * 1000.0, 1.0);
    near(
        "window",
        f64::from(tcp.congestion_window),
        told("cwnd:"),
        0.0,
    );
}
