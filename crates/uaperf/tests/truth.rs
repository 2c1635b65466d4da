//! What the quick commands say about servers whose conduct is known, over real sockets.
//!
//! The exact part is in `crates/load/tests/virtual_time`. Here a machine with other things to do
//! runs both sides, so that bounds are wide, and a run that the machine itself held up is repeated.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::io::BufRead;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use crate::support;
use crate::support::{Server, Telling, command, json, signal};

/// A server with one thread, and a folder for its certificates.
fn server() -> (Server, TempDir) {
    let pki = tempfile::tempdir().unwrap();
    let options = ["--security", "none", "--threads", "1"];
    (Server::start(pki.path(), &options), pki)
}

/// How long something may take that has to happen.
const PATIENCE: Duration = Duration::from_secs(60);

/// A place where results go.
struct Place {
    folder: TempDir,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { folder }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// `uaperf read`, its result in `r.json`.
    fn read(&self, url: &str, options: &[&str]) -> Command {
        let mut command = command(self.folder.path(), &["read", url]);
        if !options.contains(&"--timeout") {
            command.args(["--timeout", "60s"]);
        }
        command
            .args(options)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        if !options.contains(&"--out") {
            command.args(["--out", "r.json"]);
        }
        command
    }

    fn result(&self) -> Value {
        json(&self.file("r.json"))
    }
}

fn total(run: &Value) -> &Value {
    &run["phases"][0]["total"]
}

fn nanos(run: &Value, measure: &str, percentile: &str) -> f64 {
    let histogram = &total(run)["histograms"][measure];
    histogram[percentile].as_f64().unwrap()
}

fn verdict(run: &Value) -> &str {
    run["verdict"]["kind"].as_str().unwrap()
}

fn text(output: &Output) -> String {
    support::text(&[&output.stdout[..], &output.stderr].concat())
}

/// What the system says of a run, told by neither the generator nor its verdict.
#[derive(Debug, Default, Clone, Copy)]
struct HeldUp {
    /// Time that the generator's thread was ready to run and no CPU was free.
    waited: f64,
    /// Time that the hypervisor took from all CPUs.
    stolen: f64,
}

impl HeldUp {
    /// Looks on until the program has ended.
    fn until_it_ends(mut child: Child) -> (Output, Self) {
        let (mut seen, before) = (Self::default(), stolen());
        while child.try_wait().unwrap().is_none() {
            seen.waited = waited(child.id()).max(seen.waited);
            sleep(Duration::from_millis(20));
        }
        seen.stolen = stolen() - before;
        (child.wait_with_output().unwrap(), seen)
    }

    /// Whether that explains how late the pacer was. A thread that gets its CPU w seconds late sends
    /// the rate · w requests of that time late, by w / 2 on average; no w is above the largest
    /// lateness. So all lateness together is at most rate / 2 · largest · all that was waited; by chance
    /// twice that.
    fn explains(self, late: &Late) -> bool {
        late.sum <= late.rate * late.largest * (self.waited + self.stolen)
    }
}

/// Seconds that a process's thread `load-0` was ready to run without a CPU.
fn waited(pid: u32) -> f64 {
    let Ok(threads) = std::fs::read_dir(format!("/proc/{pid}/task")) else {
        return 0.0;
    };
    let read = |path: PathBuf| std::fs::read_to_string(path).unwrap_or_default();
    threads
        .flatten()
        .filter(|thread| read(thread.path().join("comm")).trim() == "load-0")
        .filter_map(|thread| {
            // CPU time, run-queue time, time slices (the kernel's sched-stats).
            let text = read(thread.path().join("schedstat"));
            text.split_whitespace().nth(1)?.parse::<f64>().ok()
        })
        .sum::<f64>()
        / 1e9
}

/// Seconds that the hypervisor has taken from this machine (proc(5): the eighth figure, hundredths).
fn stolen() -> f64 {
    let text = std::fs::read_to_string("/proc/stat").unwrap();
    let ticks = text.lines().next().unwrap().split_whitespace().nth(8);
    ticks.map_or(0.0, |ticks| ticks.parse::<f64>().unwrap() / 100.0)
}

/// How late the pacer made requests, in seconds.
#[derive(Debug)]
struct Late {
    sum: f64,
    largest: f64,
    /// Requests in a second.
    rate: f64,
}

impl Late {
    fn of(run: &Value) -> Self {
        let pacer = &total(run)["histograms"]["pacer"];
        // None at all, where the machine gave it no time for a single one.
        let figure = |name: &str| pacer[name].as_f64().unwrap_or(0.0);
        let phase = &run["phases"][0];
        let ns = phase["to_ns"].as_f64().unwrap() - phase["from_ns"].as_f64().unwrap();
        Self {
            sum: figure("mean_ns") * figure("count") / 1e9,
            largest: figure("max_ns") / 1e9,
            rate: figure("count") / ns * 1e9,
        }
    }
}

/// Waits until fewer programs want to run than there are CPUs, but not for ever.
fn a_calm_moment() {
    let cpus = std::thread::available_parallelism().unwrap().get();
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(5) {
        let load = std::fs::read_to_string("/proc/loadavg").unwrap();
        // proc(5): the fourth figure is how many are runnable, of how many there are.
        let running = load.split_whitespace().nth(3).unwrap().split('/').next();
        if running.unwrap().parse::<usize>().unwrap() <= cpus {
            return;
        }
        sleep(Duration::from_millis(50));
    }
}

/// Tries until the verdict is one of these. Any other is accepted only of a run that the machine held up,
/// as the system itself says, and then it is tried again.
fn sooner_or_later(wanted: &[&str], mut attempt: impl FnMut(&Place) -> (Output, HeldUp)) {
    const TRIES: usize = 40;
    for _ in 0..TRIES {
        a_calm_moment();
        let place = Place::new();
        let (output, held_up) = attempt(&place);
        let run = place.result();
        if wanted.contains(&verdict(&run)) {
            return;
        }
        let said = text(&output);
        let late = Late::of(&run);
        println!("{}: {late:?}, {held_up:?}", verdict(&run));
        assert_eq!(verdict(&run), "GENERATOR-LIMITED", "{said}");
        assert!(held_up.explains(&late), "{late:?}, {held_up:?}\n{said}");
    }
    panic!("a machine on which {TRIES} runs in a row get no CPU cannot run this test");
}

#[test]
fn a_server_that_stands_still_shows_in_response_times_and_not_in_service_times() {
    let (server, _pki) = server();
    stands_still(&server, &server.url, &[]);
}

#[test]
fn a_server_that_stands_still_shows_so_over_wss() {
    stands_still_over("--wss", "binary");
}

#[test]
fn a_server_that_stands_still_shows_so_over_https() {
    stands_still_over("--https", "binary");
}

#[test]
fn a_server_that_stands_still_shows_so_in_json() {
    for transport in ["--wss", "--https"] {
        stands_still_over(transport, "json");
    }
}

/// The same inside TLS.
fn stands_still_over(transport: &str, encoding: &str) {
    let pki = tempfile::tempdir().unwrap();
    let options = ["--security", "none", "--threads", "1", transport, "0"];
    let mut server = Server::start(pki.path(), &options);
    let mut line = String::new();
    server.out.read_line(&mut line).unwrap();
    let more = ["--trust", "--encoding", encoding];
    stands_still(&server, support::ready(&line), &more);
}

/// Stops the server for a second in the midst of a load.
fn stands_still(server: &Server, url: &str, more: &[&str]) {
    // Never the generator's fault: see `sooner_or_later`.
    sooner_or_later(&["VALID", "SERVER-SATURATED"], |place| {
        let options = ["--rate", "100/s", "--slots", "1", "--duration", "5s"];
        let child = place
            .read(url, &[&options[..], &["--warmup", "0s"], more].concat())
            .spawn()
            .unwrap();
        let pid = child.id();
        let watch = std::thread::spawn(move || HeldUp::until_it_ends(child));
        // From when the load has begun, not from when the program was started.
        let begun = Instant::now();
        while waited(pid) == 0.0 && begun.elapsed() < PATIENCE {
            sleep(Duration::from_millis(10));
        }
        sleep(Duration::from_millis(1200));
        server.signal("STOP");
        let stopped = Instant::now();
        sleep(Duration::from_secs(1));
        server.signal("CONT");
        let stop = stopped.elapsed().as_secs_f64();
        let (output, held_up) = watch.join().unwrap();
        let run = place.result();
        let said = text(&output);
        if verdict(&run) == "GENERATOR-LIMITED" {
            // What it says of itself is looked into; its figures are of the machine.
            return (output, held_up);
        }
        // Of five seconds, the slowest share x waited longer than about s − 5 s · x.
        for (percentile, x) in [("p90_ns", 0.1), ("p99_ns", 0.01)] {
            let exact = stop - 5.0 * x;
            let got = nanos(&run, "response", percentile) / 1e9;
            assert!(
                (got - exact).abs() < 0.3,
                "{percentile} {got} {exact}\n{said}"
            );
        }
        // All but one of them were sent after it.
        assert!(
            nanos(&run, "service", "p90_ns") < 0.25 * stop * 1e9,
            "{said}"
        );
        let slot = nanos(&run, "slot", "p90_ns");
        assert!(slot > 0.5 * nanos(&run, "response", "p90_ns"), "{said}");
        // All were sent, but for the last that a busy machine may leave no time.
        let count = |name: &str| total(&run)[name].as_u64().unwrap_or(0);
        assert_eq!(count("completed") + count("unsent"), 500, "{said}");
        assert!(count("unsent") <= 5, "{said}");
        (output, held_up)
    });
}

#[test]
fn an_outage_is_told_and_not_taken_for_a_warm_up() {
    let (server, _pki) = server();
    // A machine that stops the generator as well says so itself.
    sooner_or_later(&["UNSTEADY"], |place| {
        let options = ["--rate", "200/s", "--duration", "10s", "--timeout", "500ms"];
        let expect = ["--expect", "errors=0,timeouts=0,max<100ms"];
        let child = place
            .read(&server.url, &[&options[..], &expect].concat())
            .spawn()
            .unwrap();
        let pid = child.id();
        let watch = std::thread::spawn(move || HeldUp::until_it_ends(child));
        let begun = Instant::now();
        while waited(pid) == 0.0 && begun.elapsed() < PATIENCE {
            sleep(Duration::from_millis(10));
        }
        sleep(Duration::from_millis(300));
        server.signal("STOP");
        let stopped = Instant::now();
        sleep(Duration::from_secs(3));
        server.signal("CONT");
        let stop = stopped.elapsed().as_secs_f64();
        let (output, held_up) = watch.join().unwrap();
        let run = place.result();
        let said = text(&output);
        if verdict(&run) == "GENERATOR-LIMITED" {
            return (output, held_up);
        }
        let phase = &run["phases"][0];
        assert_eq!(phase["warm_up"]["cut_ns"], 0, "{said}");
        let told = phase["verdict"]["evidence"][0].as_str().unwrap();
        assert!(told.starts_with("no operation succeeded from "), "{said}");
        let timeouts = total(&run)["timeouts"].as_u64().unwrap() as f64;
        assert!(timeouts > 0.6 * 200.0 * (stop - 0.5), "{said}");
        for expectation in phase["expectations"].as_array().unwrap() {
            assert_eq!(expectation["met"], false, "{said}");
        }
        assert_eq!(output.status.code(), Some(4), "{said}");
        (output, held_up)
    });
}

#[test]
fn a_delay_in_the_server_moves_the_service_time_by_as_much() {
    const DELAY: f64 = 20e6;
    let start = |faults: &[&str]| {
        let faults = faults.iter().map(|fault| fault.parse().unwrap());
        plant::Server::start(plant::Config {
            faults: faults.collect(),
            ..plant::Config::default()
        })
        .unwrap()
    };
    let (plain, delayed) = (start(&[]), start(&["delay=20ms,on=read"]));
    let moved = DELAY - 2e6..DELAY + 10e6;
    let mut least = [f64::INFINITY; 2];
    let mut difference = 0.0;
    // What else the machine does only adds to a time: the least of several is nearest to what it is.
    for turn in 1..=12 {
        let times = [&plain, &delayed].map(|server| {
            let place = Place::new();
            let options = ["--rate", "100/s", "--duration", "1s", "--warmup", "0s"];
            let security = ["--quiet", "--security", "none"];
            let options = [&options[..], &security].concat();
            let output = place.read(server.url(), &options).output().unwrap();
            assert!(place.file("r.json").exists(), "{}", text(&output));
            nanos(&place.result(), "service", "p50_ns")
        });
        for (least, time) in least.iter_mut().zip(times) {
            *least = least.min(time);
        }
        difference = least[1] - least[0];
        if turn >= 3 && moved.contains(&difference) {
            break;
        }
    }
    assert!(moved.contains(&difference), "{least:?}");
}

/// A CPU that this process may use.
fn a_cpu() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let list = status
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    let first = list.unwrap().trim().split([',', '-']).next();
    first.unwrap().to_owned()
}

/// Busy on this CPU until it is dropped; ends by itself after a minute, whatever becomes of the test.
struct Busy(Child);

impl Busy {
    fn on(cpu: &str) -> Self {
        let busy = "timeout 60 sh -c 'while :; do :; done'";
        let child = Command::new("taskset")
            .args(["-c", cpu, "sh", "-c", &format!("exec {busy}")])
            .spawn();
        Self(child.expect("taskset of util-linux"))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        signal(self.0.id(), "TERM");
        let _ = self.0.wait();
    }
}

#[test]
fn a_starved_generator_is_told_from_a_slow_server_and_from_one_that_is_not_starved() {
    let (server, _pki) = server();
    let cpu = a_cpu();
    let read = |place: &Place| {
        let load = ["--rate", "2k/s", "--duration", "2s", "--warmup", "0s"];
        let spin = ["--spin", "--pin", &cpu];
        let child = place
            .read(&server.url, &[&load[..], &spin[..]].concat())
            .spawn();
        HeldUp::until_it_ends(child.unwrap())
    };
    {
        let _others = [Busy::on(&cpu), Busy::on(&cpu)];
        let place = Place::new();
        let (output, held_up) = read(&place);
        let said = text(&output);
        assert_eq!(verdict(&place.result()), "GENERATOR-LIMITED", "{said}");
        assert_eq!(output.status.code(), Some(4));
        // The test did what it says: the thread had to share its CPU with two others.
        assert!(held_up.waited > 0.5, "{held_up:?}");
    }
    // The same load on the same CPU with nobody beside it.
    sooner_or_later(&["VALID"], read);
}

#[test]
fn a_server_that_vanishes_leaves_what_was_measured_and_a_mark() {
    let (server, _pki) = server();
    let place = Place::new();
    let mut child = place
        .read(&server.url, &["--rate", "200/s", "--duration", "60s"])
        .spawn()
        .unwrap();
    let mut telling = Telling::of(&mut child);
    telling.until_it_measures();
    drop(server);
    let told = telling.whole();
    let output = child.wait_with_output().unwrap();
    let run = place.result();
    let said = text(&output) + &told.join().unwrap();
    let good = total(&run)["statuses"]
        .as_array()
        .unwrap()
        .iter()
        .find(|status| status["code"] == 0);
    assert!(good.unwrap()["count"].as_u64().unwrap() > 0, "{said}");
    assert!(
        run["marks"].to_string().contains("degraded"),
        "{}",
        run["marks"]
    );
    assert!(said.contains("the session was lost"), "{said}");
    assert_eq!(run["verdict"]["kind"], "FAILED", "{said}");
    assert_eq!(output.status.code(), Some(1), "{said}");
}

#[test]
fn an_unreachable_server_is_told_in_one_line() {
    let place = Place::new();
    let output = place.read("opc.tcp://127.0.0.1:1", &[]).output().unwrap();
    let said = support::text(&output.stderr);
    let first = said.lines().next().unwrap();
    assert!(first.starts_with("error: opc.tcp://127.0.0.1:1"), "{said}");
    assert_eq!(output.status.code(), Some(1));
    assert!(!place.file("r.json").exists());
}

/// Bytes that have come to a server and that it has not read: the system's own account.
fn unread(server: &Server) -> usize {
    let port: u16 = server.url.rsplit(':').next().unwrap().parse().unwrap();
    let sockets = std::fs::read_to_string("/proc/net/tcp").unwrap();
    // proc(5): the local address is the second word, the queues sent:received the fifth, all in hex;
    // of those that listen, the queue counts connections.
    let of_port = |line: &&str| {
        let mut words = line.split_whitespace().skip(1);
        let local = words.next().and_then(|it| it.split(':').nth(1));
        local.and_then(|it| u16::from_str_radix(it, 16).ok()) == Some(port)
            && words.nth(1) == Some("01")
    };
    let received = |line: &str| {
        let queues = line.split_whitespace().nth(4)?;
        usize::from_str_radix(queues.split(':').nth(1)?, 16).ok()
    };
    let lines = sockets.lines().filter(of_port);
    lines.filter_map(received).sum()
}

/// Waits until a run has said that it is under way, and sends a signal.
fn interrupt(child: &mut Child, server: Option<&Server>) {
    let mut telling = Telling::of(child);
    telling.until_it_measures();
    if let Some(server) = server {
        server.signal("STOP");
        // A request is on its way and stays there.
        let begun = Instant::now();
        while unread(server) == 0 {
            assert!(begun.elapsed() < PATIENCE, "nothing is sent");
            sleep(Duration::from_millis(10));
        }
    }
    signal(child.id(), "INT");
    telling.until("once more");
    telling.whole();
}

#[test]
fn an_interrupt_ends_the_phase_and_keeps_the_marked_result() {
    let (server, _pki) = server();
    let place = Place::new();
    let mut child = place
        .read(&server.url, &["--rate", "200/s", "--duration", "60s"])
        .spawn()
        .unwrap();
    interrupt(&mut child, None);
    let output = child.wait_with_output().unwrap();
    let run = place.result();
    assert!(run["marks"].to_string().contains("interrupted"), "{run}");
    let end = run["phases"][0]["end_ns"].as_u64().unwrap();
    assert!(end < 59_000_000_000, "{end}");
    assert!(total(&run)["completed"].as_u64().unwrap() > 0);
    assert_eq!(run["verdict"]["kind"], "INCOMPLETE", "{run}");
    let first = run["verdict"]["evidence"][0].as_str().unwrap();
    assert!(first.starts_with("interrupted after"), "{first}");
    assert!(first.ends_with(" of 60 s"), "{first}");
    assert_eq!(output.status.code(), Some(130));
}

#[test]
fn a_second_interrupt_quits_without_a_result() {
    let (server, _pki) = server();
    let place = Place::new();
    // Answers of a server that stands still would be waited for as long as this.
    let options = ["--rate", "200/s", "--duration", "60s", "--timeout", "60s"];
    let mut command = command(place.folder.path(), &["read", &server.url]);
    command
        .args(options)
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    interrupt(&mut child, Some(&server));
    signal(child.id(), "INT");
    assert_eq!(child.wait().unwrap().code(), Some(130));
    server.signal("CONT");
    assert!(!place.file("results").exists());
}

#[test]
fn a_full_disk_loses_its_file_and_nothing_else() {
    let (server, _pki) = server();
    let short = [
        "--rate",
        "200/s",
        "--duration",
        "1s",
        "--warmup",
        "0s",
        "--quiet",
    ];
    let run = |more: &[&str]| {
        let place = Place::new();
        // A link, so that what is wrong with writing to it cannot harm the device.
        std::os::unix::fs::symlink("/dev/full", place.file("full")).unwrap();
        let options = [&short[..], more].concat();
        let output = place.read(&server.url, &options).output().unwrap();
        (place, output)
    };
    // The table is lost; the result is kept, and the figures are on the screen.
    let (place, output) = run(&["--csv", "full"]);
    let said = text(&output);
    assert!(
        said.contains("response") && said.contains("No space left"),
        "{said}"
    );
    // The last request may be due too late to be sent.
    let kept = place.result();
    let count = |name: &str| total(&kept)[name].as_u64().unwrap_or(0);
    assert_eq!(count("completed") + count("unsent"), 200, "{said}");
    assert!(count("unsent") <= 5, "{said}");
    assert_eq!(output.status.code(), Some(1));
    // The result is lost; the figures are on the screen all the same.
    let (_place, output) = run(&["--out", "full"]);
    let said = text(&output);
    assert!(
        said.contains("response") && said.contains("No space left"),
        "{said}"
    );
    assert_eq!(output.status.code(), Some(1));
    // Rows that cannot even be begun are told before anything is sent.
    let (_place, output) = run(&["--samples", "full"]);
    let said = text(&output);
    assert!(
        said.contains("--samples full: cannot be written: No space left"),
        "{said}"
    );
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn rows_that_no_longer_fit_are_counted_and_the_result_is_kept() {
    let (server, _pki) = server();
    let place = Place::new();
    let read = place.read(&server.url, &[]);
    // Files of this process may not be larger than 64 KiB: rows are, the result is not.
    let mut limited = Command::new("sh");
    limited
        .args(["-c", "trap '' XFSZ; ulimit -f 128; exec \"$@\"", "sh"])
        .arg(read.get_program())
        .args(read.get_args())
        .args([
            "--rate",
            "3k/s",
            "--duration",
            "2s",
            "--warmup",
            "0s",
            "--quiet",
        ])
        .args(["--samples", "rows.csv"])
        .current_dir(place.folder.path())
        .env("UAPERF_PKI", place.file("pki"));
    let output = limited.output().unwrap();
    let run = place.result();
    let said = text(&output);
    assert!(
        run["notes"].to_string().contains("rows were not written"),
        "{said}"
    );
    let lost = "error: --samples rows.csv: samples are incomplete: ";
    assert_eq!(said.matches(lost).count(), 1, "{said}");
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert_eq!(total(&run)["planned"], 6000, "{said}");
}
