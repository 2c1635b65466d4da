//! What is observed, held against what the system's own tools say of the same processes and sockets: within 2 %.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::program;
use observe::{Network, Tree, descendants, thread_cpu};
use serde_json::Value;

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
    // All of it is there to be seen before it ends, by close looks as well.
    std::thread::sleep(Duration::from_millis(1300));
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
    assert_eq!(difference(what, found, wanted, ticks), None);
}

fn difference(what: &str, found: f64, wanted: f64, ticks: f64) -> Option<String> {
    let off = (found - wanted).abs();
    (off > 0.02 * wanted + ticks).then(|| format!("{what}: {found}, but {wanted}"))
}

/// The one that works, with what lets it begin, once it waits for that.
fn worker() -> (Child, BufReader<ChildStdout>) {
    let mut worker = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "agreement::works_once_it_is_told_to",
            "--nocapture",
        ])
        .env(WORKS, "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut out = BufReader::new(worker.stdout.take().unwrap());
    let mut line = String::new();
    while !line.contains("ready") {
        line.clear();
        assert!(out.read_line(&mut line).unwrap() > 0, "it ended");
    }
    (worker, out)
}

/// `uaperf watch` of a process until it ends, or for so long; it has begun when this returns.
fn watch(pid: u32, words: &[&str]) -> (Child, BufReader<ChildStdout>) {
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

fn end(out: BufReader<ChildStdout>) -> Value {
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
        .args([
            "--exact",
            "agreement::works_once_it_is_told_to",
            "--nocapture",
        ])
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
    let since = Instant::now();
    let (mut watching, out) = watch(pid, &["--interval", "20ms", "--duration", "3s"]);
    let pidstat = Command::new("pidstat")
        .args(["-u", "-p", &pid.to_string(), "3", "1"])
        .env("LC_ALL", "C")
        .output()
        .unwrap();
    let apart = since
        .elapsed()
        .saturating_sub(Duration::from_secs(3))
        .as_secs_f64()
        / 3.0;
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
        0.03 + apart,
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

/// Waits until a process has counters of the kernel open; false if it ended without.
fn counts(perf: &mut Child) -> bool {
    let folder = format!("/proc/{}/fd", perf.id());
    let is_counter = |it: std::io::Result<std::fs::DirEntry>| {
        let target = it.and_then(|it| std::fs::read_link(it.path()));
        target.is_ok_and(|it| it.to_string_lossy().contains("perf_event"))
    };
    while perf.try_wait().unwrap().is_none() {
        let mut open = std::fs::read_dir(&folder).into_iter().flatten();
        if open.any(is_counter) {
            return true;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    false
}

#[test]
fn what_the_kernel_counts_of_a_process_is_what_perf_stat_says() {
    if !is_there("perf", "linux-perf") {
        return;
    }
    // The two do not begin and end at the same moment, and other tests may have the cores in between: once they have to agree.
    let mut differences = Vec::new();
    for _ in 0..3 {
        differences = differences_to_perf_stat();
        if differences.is_empty() {
            return;
        }
    }
    panic!("{differences:?}");
}

/// What `uaperf watch` and `perf stat` say of a process, where that differs.
fn differences_to_perf_stat() -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let (mut worker, _out) = worker();
    let pid = worker.id();
    let events = "task-clock,context-switches,page-faults,cpu-migrations";
    // Threads that it has already are counted with it only if each is named; it begins none.
    let mut perf = Command::new("perf")
        .args(["stat", "-x,", "-o", "perf.txt", "-e", events])
        .args(["-p", &pid.to_string()])
        .env("LC_ALL", "C")
        .current_dir(folder.path())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    if !counts(&mut perf) {
        let mut why = String::new();
        let mut err = perf.stderr.take().unwrap();
        err.read_to_string(&mut why).unwrap();
        // In a container counting may be forbidden, whatever is installed.
        without::say(&format!("SKIPPED perf stat: {}", why.trim()));
        worker.kill().unwrap();
        worker.wait().unwrap();
        return Vec::new();
    }
    let (mut watching, out) = watch(pid, &["--interval", "20ms", "--counters"]);
    worker.stdin.take().unwrap().write_all(b"now\n").unwrap();
    let lines: Vec<Value> = out
        .lines()
        .map_while(Result::ok)
        .map(|line| serde_json::from_str(&line).unwrap())
        .collect();
    assert!(watching.wait().unwrap().success());
    worker.wait().unwrap();
    assert!(perf.wait().unwrap().success());
    let told = std::fs::read_to_string(folder.path().join("perf.txt")).unwrap();
    let told = |event: &str| -> f64 {
        let line = told.lines().find(|it| it.split(',').nth(2) == Some(event));
        let line = line.unwrap_or_else(|| panic!("no {event}: {told}"));
        line.split(',').next().unwrap().parse().unwrap()
    };
    let sum = |path: &str| -> f64 {
        let each = lines.iter().filter_map(|it| it.pointer(path)?.as_f64());
        each.sum()
    };
    let counter = |name: &str| sum(&format!("/closely/counters/{name}/count"));
    // perf tells milliseconds.
    let clock = told("task-clock") * 1e6;
    let end = lines.last().unwrap();
    let cpu = end.pointer("/processes/0/cpu_ns").unwrap();
    let switches = told("context-switches");
    let (own, forced) = (
        sum("/closely/voluntary_switches"),
        sum("/closely/involuntary_switches"),
    );
    let faults = told("page-faults");
    let both = sum("/minor_faults") + sum("/major_faults");
    let compared = [
        ("CPU", cpu.as_f64().unwrap(), clock, 5e6),
        ("task clock", counter("task_clock_ns"), clock, 5e6),
        ("switches", counter("context_switches"), switches, 4.0),
        ("switches of both kinds", own + forced, switches, 4.0),
        ("page faults", counter("page_faults"), faults, 30.0),
        ("faults of both kinds", both, faults, 30.0),
        (
            "migrations",
            counter("migrations"),
            told("cpu-migrations"),
            2.0,
        ),
    ];
    let differences = compared.into_iter();
    differences
        .filter_map(|(what, found, wanted, ticks)| difference(what, found, wanted, ticks))
        .collect()
}

/// A server and one who reads from it, alone in a network that has nothing but a loopback. What the kernel counts of it
/// is written down before and after.
const ALONE: &str = r#"
mount -t sysfs none /sys || exit 77
ip link set lo up || exit 77
"$0" serve --port 4840 --profile bench --security none --pki s >ready 2>&1 &
server=$!
trap 'kill $server' EXIT
until grep -q READY ready; do sleep 0.05; done
cat /proc/net/dev >before
"$0" read opc.tcp://127.0.0.1:4840 -n 'nsu=urn:bench;i=1000..1499' --in-flight 2 --duration 3s --warmup 0s \
    --observe host --quiet --out run.json
cat /proc/net/dev >after
"#;

/// Bytes and packets that came in by the loopback.
fn by_loopback(folder: &Path, file: &str) -> [f64; 2] {
    let text = std::fs::read_to_string(folder.join(file)).unwrap();
    let line = text.lines().find_map(|it| it.trim().strip_prefix("lo:"));
    let mut words = line.unwrap().split_whitespace();
    [(); 2].map(|()| words.next().unwrap().parse().unwrap())
}

#[test]
fn bytes_of_messages_and_of_an_interface_are_those_of_proc_net_dev() {
    if !is_there("ip", "iproute2") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let said = Command::new("unshare")
        .args(["-rnm", "sh", "-c", ALONE, env!("CARGO_BIN_EXE_uaperf")])
        .env("UAPERF_PKI", folder.path().join("pki"))
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .output();
    let said = match said {
        Ok(said) if said.status.code() == Some(77) || !folder.path().join("ready").exists() => {
            // No package brings it: a container may not have a network of its own.
            let why = String::from_utf8_lossy(&said.stderr).into_owned();
            without::say(&format!("SKIPPED /proc/net/dev: {}", why.trim()));
            return;
        }
        said => said.unwrap(),
    };
    let (out, error) = (
        String::from_utf8_lossy(&said.stdout),
        String::from_utf8_lossy(&said.stderr),
    );
    assert!(said.status.success(), "{out}{error}");
    let run = std::fs::read_to_string(folder.path().join("run.json")).unwrap();
    let run: Value = serde_json::from_str(&run).unwrap();
    let phase = &run["phases"][0];
    let [before, after] = ["before", "after"].map(|file| by_loopback(folder.path(), file));
    let (bytes, packets) = (after[0] - before[0], after[1] - before[1]);
    assert!(bytes > 5e6, "{bytes} bytes: {phase}");

    // What the interface is said to have carried, in the measured window: all but looking at the server.
    let host = phase["resources"].as_array().unwrap().iter();
    let links = host.filter_map(|it| it["links"].as_array()).flatten();
    let lo = links.into_iter().find(|it| it["name"] == "lo").unwrap();
    for way in ["received_bytes", "sent_bytes"] {
        near(way, lo[way].as_f64().unwrap(), bytes, 50_000.0);
    }
    // Its course adds up to that, but for what lies before the first look and behind the last one.
    let course = &lo["course"];
    let at = course["at_ns"].as_array().unwrap().iter();
    let at: Vec<f64> = at.map(|it| it.as_f64().unwrap() / 1e9).collect();
    let rates = course["received_bytes_per_s"].as_array().unwrap().iter();
    let rates: Vec<f64> = rates.map(|it| it.as_f64().unwrap()).collect();
    let rows = at.windows(2).zip(rates.iter().skip(1));
    let sum: f64 = rows.map(|(two, rate)| (two[1] - two[0]) * rate).sum();
    assert!(at.len() > 10, "{course}");
    assert!((0.85..1.02).contains(&(sum / bytes)), "{sum} of {bytes}");

    // What the messages are said to weigh, with the headers of their chunks (Part 6, 6.7.2: 12, 4 and 8 bytes), and those
    // of TCP and IP around all that was sent at once: the loopback has no Ethernet.
    let of = |what: &str| {
        let it = &phase["total"][what];
        it["total_bytes"].as_f64().unwrap() + 24.0 * it["count"].as_f64().unwrap()
    };
    let chunks = of("requests") + of("responses");
    near("messages", chunks + 52.0 * packets, bytes, 50_000.0);
}
