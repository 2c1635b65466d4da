//! Readers that others wrote: Prometheus, OpenTelemetry's messages in Python, InfluxDB's decoder in Go.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::text;

const INSTALL: &str = "apt-get install prometheus";

/// Runs a program on an input, and gives what it prints if it ends well.
fn output(command: &mut Command, input: &str) -> std::io::Result<Result<String, String>> {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let mut stdin = child.stdin.take().unwrap();
    // One that ends early says why.
    let _ = stdin.write_all(input.as_bytes());
    drop(stdin);
    let output = child.wait_with_output()?;
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    Ok(match output.status.success() {
        true => Ok(out),
        false => Err(format!("{out}{err}")),
    })
}

/// Prometheus's own linter of pages has no objection.
pub fn checked_by_promtool(page: &str) {
    let mut tool = Command::new("promtool");
    match output(tool.args(["check", "metrics"]), page) {
        Ok(said) => assert!(
            said.as_deref().is_ok_and(|it| it.trim().is_empty()),
            "{said:?}\n{page}"
        ),
        Err(error) => without::skipped("promtool", &error.to_string(), INSTALL),
    }
}

/// A Prometheus that scrapes each second, ended with its test.
pub struct Prometheus {
    child: Child,
    address: String,
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Prometheus {
    /// It scrapes these pages.
    pub fn start(folder: &Path, pages: &[&str]) -> Option<Self> {
        let pages: Vec<String> = pages.iter().map(|it| format!("'{it}'")).collect();
        let config = format!(
            "global:\n  scrape_interval: 1s\nscrape_configs:\n  - job_name: uaperf\n    static_configs:\n      - targets: [{}]\n",
            pages.join(", ")
        );
        std::fs::write(folder.join("prometheus.yml"), config).unwrap();
        let address = format!("127.0.0.1:{}", super::free_port());
        let mut command = Command::new("prometheus");
        command
            .args([
                "--config.file=prometheus.yml",
                "--storage.tsdb.path=tsdb",
                "--log.level=error",
            ])
            .arg(format!("--web.listen-address={address}"))
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        match command.spawn() {
            Ok(child) => Some(Self { child, address }),
            Err(error) => {
                without::skipped("prometheus", &error.to_string(), INSTALL);
                None
            }
        }
    }

    /// What it answers to a query: the values.
    pub fn ask(&self, query: &str) -> Vec<f64> {
        let answer = self
            .get(query)
            .unwrap_or_else(|why| panic!("{query}: {why}"));
        let values = answer["data"]["result"].as_array().unwrap();
        values
            .iter()
            .map(|it| it["value"][1].as_str().unwrap().parse().unwrap())
            .collect()
    }

    fn get(&self, query: &str) -> Result<Value, String> {
        let encoded: String = query.bytes().map(|byte| format!("%{byte:02x}")).collect();
        let ask = || -> std::io::Result<String> {
            let mut stream = TcpStream::connect(&self.address)?;
            stream.set_read_timeout(Some(Duration::from_secs(30)))?;
            let request = format!("GET /api/v1/query?query={encoded} HTTP/1.0\r\n\r\n");
            stream.write_all(request.as_bytes())?;
            let mut answer = String::new();
            stream.read_to_string(&mut answer)?;
            Ok(answer)
        };
        let answer = ask().map_err(|error| error.to_string())?;
        let body = answer.split_once("\r\n\r\n").map_or("", |it| it.1);
        let json: Value = serde_json::from_str(body).map_err(|_| answer.clone())?;
        match json["status"] == "success" {
            true => Ok(json),
            false => Err(answer),
        }
    }

    /// The one value of a query, once it is more than that.
    pub fn until_more_than(&self, query: &str, least: f64) -> f64 {
        let begin = Instant::now();
        loop {
            let found = self.get(query);
            let value = found
                .as_ref()
                .ok()
                .and_then(|it| it["data"]["result"][0]["value"][1].as_str());
            match value.map(|it| it.parse::<f64>().unwrap()) {
                Some(value) if value > least => return value,
                _ => assert!(
                    begin.elapsed() < Duration::from_secs(60),
                    "{query}: {found:?}"
                ),
            }
            std::thread::sleep(Duration::from_millis(200));
        }
    }
}

const OTLP: &str = "opentelemetry-proto==1.45.2";

/// Reads a request strictly as what OTLP has for it: an unknown field or a wrong type is an error.
const READ: &str = "
import sys
from google.protobuf import json_format
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
request = json_format.Parse(sys.stdin.read(), ExportMetricsServiceRequest())
for resource in request.resource_metrics:
    print('resource', *sorted(it.key for it in resource.resource.attributes))
    for metric in (it for scope in resource.scope_metrics for it in scope.metrics):
        kind = metric.WhichOneof('data')
        for point in getattr(metric, kind).data_points:
            labels = ','.join(f'{it.key}={it.value.string_value}' for it in point.attributes)
            assert 0 < point.start_time_unix_nano < point.time_unix_nano
            if kind == 'histogram':
                assert sum(point.bucket_counts) == point.count
                assert len(point.bucket_counts) == len(point.explicit_bounds) + 1
            value = point.count if kind == 'histogram' else point.as_double
            print(metric.name, metric.unit, kind, labels, value)
";

/// Whether OpenTelemetry's own messages take it, and how many requests it says were completed.
pub fn otlp(body: &str, completed: u64) {
    let python = match python() {
        Ok(python) => python,
        Err(why) => {
            return without::skipped("opentelemetry-proto", &why, "apt-get install python3-venv");
        }
    };
    let said = output(Command::new(python).args(["-c", READ]), body).unwrap();
    let said = said.unwrap_or_else(|why| panic!("{why}\n{body}"));
    let resource = "resource host.name service.instance.id service.name service.version\n";
    let labels = "command=read,phase=read";
    for line in [
        resource,
        &format!("uaperf_requests_completed 1 sum {labels} {completed}.0\n"),
        &format!("uaperf_response_seconds s histogram {labels} {completed}\n"),
        &format!("uaperf_requests_in_flight 1 gauge {labels} 0.0\n"),
    ] {
        assert!(said.contains(line), "{line}{said}");
    }
}

/// A Python that has them. It is installed once.
fn python() -> Result<PathBuf, String> {
    let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join("opentelemetry-proto");
    let python = home.join("bin/python");
    // Written last, so that an installation that was interrupted is made anew.
    let stamp = home.join("installed.txt");
    if std::fs::read_to_string(&stamp).is_ok_and(|it| it == OTLP) {
        return Ok(python);
    }
    run(Command::new("python3")
        .args(["-m", "venv", "--clear"])
        .arg(&home))?;
    let install = "-m pip install --quiet --no-input --disable-pip-version-check --timeout 30";
    run(Command::new(&python).args(install.split(' ')).arg(OTLP))?;
    std::fs::write(stamp, OTLP).map_err(|error| error.to_string())?;
    Ok(python)
}

fn run(command: &mut Command) -> Result<(), String> {
    match command.stdin(Stdio::null()).output() {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(text(&output.stderr).trim().replace('\n', " ")),
        Err(error) => Err(error.to_string()),
    }
}

/// Whether InfluxDB's own decoder takes it, and how many requests it says were completed.
pub fn influx(body: &str, completed: u64) {
    let program = match decoder() {
        Ok(program) => program,
        Err(why) => return without::skipped("line-protocol", &why, "apt-get install golang-go"),
    };
    let said = output(&mut Command::new(program), body).unwrap();
    let said = said.unwrap_or_else(|why| panic!("{why}\n{body}"));
    let (count, times) = ("uaperf_requests_completed_total", "uaperf_response_seconds");
    let labels = "command=read phase=read";
    for (name, rest) in [
        (count, format!("value:float={completed} at ")),
        (times, format!("count:float={completed} sum:float=")),
        (times, format!("le=+Inf bucket:float={completed} at ")),
    ] {
        let (start, rest) = (format!("{name} host="), format!(" {labels} {rest}"));
        let mut lines = said.lines();
        assert!(
            lines.any(|line| line.starts_with(&start) && line.contains(&rest)),
            "{start}{rest}\n{said}"
        );
    }
    assert_eq!(said.lines().count(), body.lines().count());
}

/// The decoder as a program. It is built once.
fn decoder() -> Result<PathBuf, String> {
    let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join("line-protocol");
    std::fs::create_dir_all(&home).map_err(|error| error.to_string())?;
    for (name, text) in [
        ("main.go", include_str!("lines/main.go")),
        ("go.mod", include_str!("lines/go.mod")),
        ("go.sum", include_str!("lines/go.sum")),
    ] {
        std::fs::write(home.join(name), text).map_err(|error| error.to_string())?;
    }
    run(Command::new("go")
        .args(["build", "-o", "lines", "."])
        .current_dir(&home))?;
    Ok(home.join("lines"))
}
