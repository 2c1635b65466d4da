//! What other programs are told while a command runs, and what they read afterwards.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support;
use crate::support::{Server, command, text};

fn plant(folder: &Path) -> Server {
    Server::start(&folder.join("server"), &["--profile", "bench", "--trust"])
}

fn read(url: &str, folder: &Path, more: &[&str]) -> Command {
    let mut command = command(folder, &["read", url, "-n", "nsu=urn:bench;i=1000"]);
    command
        .args(["--security", "none", "--quiet"])
        .args(["--rate", "200/s", "--out", "run.json"])
        .args(more)
        .arg("--pki")
        .arg(folder.join("client"));
    command
}

fn get(address: &str, request: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(60)))
        .unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn prometheus_is_answered_while_a_command_runs() {
    let folder = tempfile::tempdir().unwrap();
    let plant = plant(folder.path());
    let mut running = read(
        &plant.url,
        folder.path(),
        &["--duration", "300s", "--metrics", ":0"],
    )
    .stdout(Stdio::null())
    .stderr(Stdio::piped())
    .spawn()
    .unwrap();
    let mut lines = BufReader::new(running.stderr.take().unwrap()).lines();
    let address = lines
        .find_map(|line| {
            let line = line.ok()?;
            Some(
                line.strip_prefix("prometheus  http://")?
                    .strip_suffix("/metrics")?
                    .to_owned(),
            )
        })
        .unwrap();
    // Whoever sees that it has begun may interrupt it.
    assert!(support::listens_to_signals(running.id()));
    let begin = Instant::now();
    let text = loop {
        let answer = get(&address, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
        assert!(
            answer.contains("Content-Type: text/plain; version=0.0.4"),
            "{answer}"
        );
        let counted = answer.lines().find_map(|line| {
            line.strip_prefix("uaperf_requests_completed_total{command=\"read\",phase=\"read\"} ")
        });
        if counted.is_some_and(|n| n.parse::<f64>().unwrap() > 0.0) {
            break answer;
        }
        assert!(begin.elapsed() < Duration::from_secs(60), "{answer}");
        std::thread::sleep(Duration::from_millis(100));
    };
    // Every sample belongs to a metric with a type, and buckets never fall.
    let body = text.split("\r\n\r\n").nth(1).unwrap();
    let types: Vec<&str> = body
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE "))
        .collect();
    assert!(
        types.contains(&"uaperf_response_seconds histogram"),
        "{types:?}"
    );
    let buckets: Vec<f64> = body
        .lines()
        .filter(|line| line.starts_with("uaperf_response_seconds_bucket{"))
        .map(|line| line.rsplit(' ').next().unwrap().parse().unwrap())
        .collect();
    assert_eq!(buckets.len(), 20);
    assert!(
        buckets.windows(2).all(|two| two[0] <= two[1]),
        "{buckets:?}"
    );
    // The same as OpenMetrics, for those who ask for it.
    let open = get(
        &address,
        "GET /metrics HTTP/1.1\r\nAccept: application/openmetrics-text; version=1.0.0\r\n\r\n",
    );
    assert!(
        open.contains("\r\nContent-Type: application/openmetrics-text; version=1.0.0"),
        "{open}"
    );
    assert!(
        open.contains("\n# TYPE uaperf_requests_completed counter\n"),
        "{open}"
    );
    assert!(open.contains("\n# UNIT uaperf_response_seconds seconds\n"));
    assert!(open.ends_with("\n# EOF\n"), "{open}");
    judged("openmetrics", &open);
    judged("text", &text);
    assert!(get(&address, "GET /other HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404 "));
    assert!(get(&address, "POST /metrics HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 405 "));
    // Whoever asks for too much is left, and others are still answered.
    let _ = TcpStream::connect(&address)
        .unwrap()
        .write_all(&[b'x'; 100_000]);
    assert!(get(&address, "GET /metrics HTTP/1.0\r\n\r\n").contains("uaperf_values_total"));
    running.kill().unwrap();
    running.wait().unwrap();
}

#[test]
fn a_live_file_has_a_line_each_second_and_a_log_is_read_by_others() {
    let folder = tempfile::tempdir().unwrap();
    let plant = plant(folder.path());
    let more = [
        "--duration",
        "3200ms",
        "--warmup",
        "0s",
        "--live-file",
        "told/live.jsonl",
        "--hlog",
        "kept/run.hlog",
        "--report",
        "run.html",
        "--junit",
        "run.xml",
        "--csv",
        "run.csv",
        "--expect",
        "errors=0",
    ];
    let output = read(&plant.url, folder.path(), &more).output().unwrap();
    assert!(matches!(output.status.code(), Some(0 | 4)), "{output:?}");
    let file = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    let live: Vec<Value> = file("told/live.jsonl")
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert!(live.len() >= 2, "{live:?}");
    let last = live.last().unwrap();
    assert_eq!(
        (&last["command"], &last["phase"]),
        (&"read".into(), &"read".into())
    );
    let run = record::Run::read(&folder.path().join("run.json")).unwrap();
    let total = last["total_completed"].as_u64().unwrap();
    let parts: u64 = live
        .iter()
        .map(|line| line["completed"].as_u64().unwrap())
        .sum();
    assert_eq!(parts, total);
    // What the last interval brought is in the result alone.
    assert!(
        total > 0 && total <= run.phases[0].total.completed,
        "{total}"
    );
    assert!(file("run.html").starts_with("<!DOCTYPE html>"));
    assert!(file("run.xml").contains("name=\"errors=0\""));
    assert!(file("run.csv").starts_with("started,"));
    let log = file("kept/run.hlog");
    assert!(
        log.contains("Tag=response,"),
        "{}",
        log.get(..400).unwrap_or(&log)
    );
    // The Python port of HdrHistogram reads the same number of values, where it is installed.
    let count = "
import sys
from hdrh.log import HistogramLogReader
from hdrh.histogram import HdrHistogram
all = HdrHistogram(1, 3600 * 10**9, 3)
reader = HistogramLogReader(sys.argv[1], all)
n = 0
while (it := reader.get_next_interval_histogram()) is not None:
    if it.get_tag() == 'response':
        n += it.get_total_count()
print(n)";
    let read = Command::new("python3")
        .args(["-c", count, "kept/run.hlog"])
        .current_dir(folder.path())
        .output();
    if let Ok(read) = read
        && read.status.success()
    {
        let found = text(&read.stdout);
        assert_eq!(
            found.trim(),
            run.phases[0]
                .total
                .histogram("response")
                .count()
                .to_string()
        );
    }
}

#[test]
fn files_that_cannot_be_written_are_told_before_anything_is_measured() {
    let folder = tempfile::tempdir().unwrap();
    let nowhere = "opc.tcp://127.0.0.1:1";
    std::fs::create_dir(folder.path().join("there")).unwrap();
    std::fs::write(folder.path().join("file"), "").unwrap();
    for (option, value, code, error) in [
        (
            "--report",
            "there",
            2,
            "error: --report there: that is a folder (want the name of a file)",
        ),
        (
            "--live-file",
            "file/live.jsonl",
            1,
            "error: --live-file file/live.jsonl: cannot be written: ",
        ),
        (
            "--prometheus",
            "here",
            2,
            "error: invalid value 'here' for '--prometheus <ADDR>'",
        ),
    ] {
        let output = read(nowhere, folder.path(), &["--duration", "1s", option, value])
            .output()
            .unwrap();
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{said}");
        assert!(said.starts_with(error), "{said}");
    }
}

const JUDGE: &str = "prometheus_client==0.26.0";

/// Reads a page strictly: every sample in a family of its own kind, buckets in order, the unit in the name.
const READ: &str = "
import sys
if sys.argv[1] == 'openmetrics':
    from prometheus_client.openmetrics.parser import text_string_to_metric_families as families
else:
    from prometheus_client.parser import text_string_to_metric_families as families
for it in families(sys.stdin.read()):
    print(it.name, it.type, it.unit or '-', len(it.samples))
";

/// Whether Prometheus's own library reads the page as it is meant.
fn judged(format: &str, answer: &str) {
    let python = match parser() {
        Ok(python) => python,
        Err(why) => {
            let command = "apt-get install python3-venv";
            return without::skipped("prometheus_client", &why, command);
        }
    };
    let mut reading = Command::new(python)
        .args(["-c", READ, format])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let page = answer.split("\r\n\r\n").nth(1).unwrap();
    let mut input = reading.stdin.take().unwrap();
    input.write_all(page.as_bytes()).unwrap();
    drop(input);
    let output = reading.wait_with_output().unwrap();
    let found = text(&output.stdout);
    assert!(output.status.success(), "{}\n{page}", text(&output.stderr));
    let unit = match format {
        "openmetrics" => "seconds",
        _ => "-",
    };
    for family in [
        "uaperf_requests_completed counter - 1\n",
        "uaperf_requests_in_flight gauge - 1\n",
        &format!("uaperf_response_seconds histogram {unit} 22\n"),
    ] {
        assert!(found.contains(family), "{family}{found}");
    }
}

/// A Python that has the judge. It is installed once.
fn parser() -> Result<std::path::PathBuf, String> {
    let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join("prometheus_client");
    let python = home.join("bin/python");
    // Written last, so that an installation that was interrupted is made anew.
    let stamp = home.join("installed.txt");
    if std::fs::read_to_string(&stamp).is_ok_and(|it| it == JUDGE) {
        return Ok(python);
    }
    let run = |command: &mut Command| match command.stdin(Stdio::null()).output() {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(text(&output.stderr).trim().replace('\n', " ")),
        Err(error) => Err(error.to_string()),
    };
    run(Command::new("python3")
        .args(["-m", "venv", "--clear"])
        .arg(&home))?;
    let install = "-m pip install --quiet --no-input --disable-pip-version-check --timeout 30";
    run(Command::new(&python).args(install.split(' ')).arg(JUDGE))?;
    std::fs::write(stamp, JUDGE).map_err(|error| error.to_string())?;
    Ok(python)
}
