//! Energy of a run by a meter that takes 4 W, and 10 W for each core that the server keeps busy.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic)]

use std::io::Write;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::support::{Said, Server, command, json, program};
use observe::Process;
use serde_json::Value;

const IDLE_W: f64 = 4.0;
const CORE_W: f64 = 10.0;

/// The stand-in for a meter: it writes until it is dropped, on a clock of its own.
struct Meter {
    /// Seconds since 1970 at its 0.
    zero: f64,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Meter {
    fn start(mut out: impl Write + Send + 'static, server: u32) -> Self {
        let zero = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        writeln!(out, "t;P").unwrap();
        let thread = std::thread::spawn(move || {
            let (began, process) = (Instant::now(), Process::of(server).unwrap());
            let mut before = (0.0, process.cpu().unwrap().as_secs_f64());
            while !stopped.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(50));
                let now = (
                    began.elapsed().as_secs_f64(),
                    process.cpu().unwrap().as_secs_f64(),
                );
                let cores = (now.1 - before.1) / (now.0 - before.0);
                let watts =
                    format!("{:.6};{:.6}", now.0, IDLE_W + CORE_W * cores).replace('.', ",");
                before = now;
                // Nobody reads it any more when the run is over.
                if writeln!(out, "{watts}").and_then(|()| out.flush()).is_err() {
                    return;
                }
            }
        });
        Self {
            zero: zero.as_secs_f64(),
            stop,
            thread: Some(thread),
        }
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let _ = self.thread.take().unwrap().join();
    }
}

const COLUMNS: &str = "time=t,watts=P,separator=semicolon,decimal=comma";

fn words<'a>(url: &'a str, meter: &'a str, offset: &'a str) -> Vec<&'a str> {
    vec![
        "read",
        url,
        "--rate",
        "500/s",
        // Processor time is told from the last look before the window: connecting is not in it.
        "--warmup",
        "300ms",
        "--duration",
        "3s",
        "--out",
        "run.json",
        "--idle",
        "1s",
        "--meter",
        meter,
        "--meter-columns",
        COLUMNS,
        "--meter-offset",
        offset,
        "--energy",
    ]
}

/// A machine on which others work, too, may be too slow for the generator: that is no matter here.
fn is_measured(code: i32) -> bool {
    matches!(code, 0 | 4)
}

fn is_right(folder: &Path) {
    let run = json(&folder.join("run.json"));
    let phase = &run["phases"][0];
    let meter = &phase["energy"][0];
    let known = |it: &Value, name: &str| it[name].as_f64().unwrap_or_else(|| panic!("{meter}"));
    let of = |name: &str| (known(&meter[name], "mean"), known(&meter[name], "error"));
    let seconds = (known(phase, "to_ns") - known(phase, "from_ns")) / 1e9;
    assert!(
        (known(meter, "joules") / known(meter, "watts") - seconds).abs() < 1e-3,
        "{meter}"
    );
    // Its course has the same mean, but for where the window begins and ends.
    let course = &meter["course"]["watts"];
    let watts: Vec<f64> = course
        .as_array()
        .unwrap()
        .iter()
        .filter_map(Value::as_f64)
        .collect();
    let mean = watts.iter().sum::<f64>() / watts.len() as f64;
    // A machine that stood still for a moment has fewer and longer rows.
    assert!(watts.len() > 1, "{course}");
    assert!(
        (mean / known(meter, "watts") - 1.0).abs() < 0.15,
        "{course}"
    );
    let (idle, differ) = of("idle_watts");
    assert!((idle - IDLE_W).abs() < 0.3 + differ, "{meter}");
    let all = phase["resources"].as_array().unwrap();
    let server = all.iter().find(|it| it["who"] == "server").unwrap();
    let wanted = CORE_W * known(&server["window"], "cpu_ns") / 1e9;
    let (above, error) = of("above_idle_joules");
    assert!(
        (above - wanted).abs() < 0.1 * wanted + error,
        "{wanted}: {meter}"
    );
    let done = known(&phase["total"], "completed");
    let (each, _) = of("per_operation_joules");
    assert!((each * done / above - 1.0).abs() < 1e-6, "{meter}");
    // Most machines that tests run on count no energy of their own: that is said.
    let own = phase["energy"][1].clone();
    assert!(
        own["joules"].is_number() || own["joules"]["not_available"].is_string(),
        "{own}"
    );
}

#[test]
fn a_meter_file_gives_energy_for_an_operation_above_idle() {
    let folder = tempfile::tempdir().unwrap();
    let served = Server::start(&folder.path().join("served"), &["--security", "none"]);
    let file = std::fs::File::create(folder.path().join("power.csv")).unwrap();
    let meter = Meter::start(file, served.child.id());
    let offset = meter.zero.to_string();
    let said = Said::by(&mut command(
        folder.path(),
        &words(&served.url, "power.csv", &offset),
    ));
    assert!(is_measured(said.code), "{}\n{}", said.out, said.err);
    is_right(folder.path());
    assert!(
        said.err
            .contains("nothing is done for 1 s before and after"),
        "{}",
        said.err
    );
    assert!(
        said.out.contains("idle 4.") && said.out.contains("for an operation"),
        "{}",
        said.out
    );
    // Lines are broken where figures are long.
    let words: Vec<&str> = said.out.split_whitespace().collect();
    let screen = words.join(" ");
    assert!(screen.contains("on average (stddev "), "{screen}");
    // Two runs are held against each other by it as by their times.
    std::fs::copy(
        folder.path().join("run.json"),
        folder.path().join("new.json"),
    )
    .unwrap();
    let words = [
        "compare",
        "run.json",
        "new.json",
        "--metric",
        "energy-per-request",
    ];
    let said = Said::by(&mut command(folder.path(), &words));
    let row = said.out.lines().find(|it| it.contains("energy-per-requ"));
    assert!(
        row.is_some_and(|it| it.contains("µJ") || it.contains("mJ")),
        "{}",
        said.out
    );
}

#[test]
fn the_clock_of_a_meter_is_found_out_by_a_step_of_load() {
    let folder = tempfile::tempdir().unwrap();
    let served = Server::start(&folder.path().join("served"), &["--security", "none"]);
    let file = std::fs::File::create(folder.path().join("power.csv")).unwrap();
    let meter = Meter::start(file, served.child.id());
    let mut words = words(&served.url, "power.csv", "2s");
    for word in &mut words {
        if *word == "--meter-offset" {
            *word = "--meter-align";
        }
    }
    let said = Said::by(&mut command(folder.path(), &words));
    assert!(is_measured(said.code), "{}\n{}", said.out, said.err);
    let run = json(&folder.path().join("run.json"));
    let by = &run["phases"][0]["energy"][0]["aligned_by_s"];
    let (found, error) = (by["mean"].as_f64().unwrap(), by["error"].as_f64().unwrap());
    // The meter tells the mean since its last reading.
    assert!(
        (found - meter.zero).abs() <= error + 0.1,
        "{by}, but {}",
        meter.zero
    );
    assert!(error < 0.5, "{by}");
    is_right(folder.path());
    // Lines are broken where figures are long.
    let words: Vec<&str> = said.out.split_whitespace().collect();
    let screen = words.join(" ");
    assert!(screen.contains("its clock by a step of load"), "{screen}");
    assert!(
        said.err.contains("a step of load for the meter's clock"),
        "{}",
        said.err
    );
}

#[test]
fn a_meter_may_speak_on_standard_input() {
    let folder = tempfile::tempdir().unwrap();
    let served = Server::start(&folder.path().join("served"), &["--security", "none"]);
    let zero = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_secs_f64();
    let offset = zero.to_string();
    let mut run = command(folder.path(), &words(&served.url, "-", &offset));
    let mut run = run
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let _meter = Meter::start(run.stdin.take().unwrap(), served.child.id());
    assert!(run.wait().unwrap().code().is_some_and(is_measured));
    let run = json(&folder.path().join("run.json"));
    let watts = run["phases"][0]["energy"][0]["watts"].as_f64();
    assert!(
        watts.is_some_and(|it| it > IDLE_W),
        "{}",
        run["phases"][0]["energy"]
    );
}

#[test]
fn a_meter_that_says_nothing_of_the_window_is_named_and_the_rest_of_the_result_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let served = Server::start(&folder.path().join("served"), &["--security", "none"]);
    std::fs::write(folder.path().join("power.csv"), "time,watts\n1,5\n2,5\n").unwrap();
    let words = [
        "read",
        &served.url,
        "--requests",
        "50",
        "--idle",
        "100ms",
        "--meter",
        "power.csv",
        "--out",
        "run.json",
    ];
    let said = Said::by(&mut command(folder.path(), &words));
    assert!(is_measured(said.code), "{}\n{}", said.out, said.err);
    let run = json(&folder.path().join("run.json"));
    let meter = &run["phases"][0]["energy"][0];
    let why = meter["joules"]["not_available"].as_str().unwrap();
    assert!(
        why.contains("the meter's readings go from 1 s to 2 s"),
        "{why}"
    );
    assert!(
        said.out.contains("energy") && said.out.contains("n/a"),
        "{}",
        said.out
    );
}

#[test]
fn what_makes_no_sense_is_refused_before_anything_is_sent() {
    let read = ["read", "opc.tcp://127.0.0.1:1"];
    for (words, why) in [
        (&["--meter-columns", "watts=P"][..], "--meter"),
        (
            &["--meter", "x.csv", "--meter-columns", "time=t"][..],
            "want watts=",
        ),
        (
            &[
                "--meter",
                "x.csv",
                "--meter-align",
                "3s",
                "--meter-offset",
                "1",
            ],
            "--meter-offset",
        ),
    ] {
        let said = Said::by(program().args(read).args(words));
        assert_eq!(said.code, 2, "{}", said.err);
        assert!(said.err.contains(why), "{}", said.err);
    }
}
