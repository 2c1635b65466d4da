//! Figures for other programs while something runs: pages that Prometheus reads, receivers to which they are pushed, and the
//! dashboard that asks for them.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support;
use crate::support::{Said, Server, command, program, text};

mod judge;
mod receiver;

use receiver::{Manner, Receiver};

/// A load that goes on for as long.
fn load(folder: &Path, url: &str, more: &[&str]) -> Command {
    let mut command = command(folder, &["read", url, "-n", "nsu=urn:bench;i=1000"]);
    let fixed = ["--security", "none", "--quiet", "--rate", "200/s"];
    command.args(fixed).args(["--out", "run.json"]).args(more);
    command
}

/// A program that tells figures, ended with its test.
struct Telling(Child);

impl Drop for Telling {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts it, and gives where it answers.
fn telling(command: &mut Command) -> (Telling, String) {
    let mut child = command
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let address = lines.find_map(|line| {
        let line = line.ok()?;
        let url = line.strip_prefix("prometheus  http://")?;
        Some(url.strip_suffix("/metrics")?.to_owned())
    });
    // What it says later must not find a closed pipe.
    std::thread::spawn(move || lines.for_each(drop));
    (Telling(child), address.unwrap())
}

/// A port of the loopback that nobody had a moment ago.
fn free_port() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port().to_string()
}

/// A plant that tells what it does.
fn plant(folder: &Path) -> (Telling, String, String) {
    let port = free_port();
    let mut command = program();
    command
        .args(["serve", "--trust", "--metrics", ":0", "--quiet"])
        .args(["--port", &port, "--fault", "delay=1us,on=read,every=2"])
        .arg("--pki")
        .arg(folder.join("server"))
        .stdin(Stdio::null());
    let (plant, address) = telling(&mut command);
    (plant, address, format!("opc.tcp://127.0.0.1:{port}"))
}

fn page(address: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    let wait = Some(Duration::from_secs(60));
    stream.set_read_timeout(wait).unwrap();
    stream.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.split_once("\r\n\r\n").unwrap().1.to_owned()
}

/// The sum of what has this name and all of these labels.
fn sum(page: &str, name: &str, labels: &[&str]) -> f64 {
    let lines = page.lines().filter(|line| {
        let at = line.find(['{', ' ']).unwrap_or(0);
        line.get(..at) == Some(name) && labels.iter().all(|label| line.contains(label))
    });
    lines
        .map(|line| line.rsplit(' ').next().unwrap().parse::<f64>().unwrap())
        .sum()
}

#[test]
fn a_server_tells_what_it_did_for_whom() {
    let folder = tempfile::tempdir().unwrap();
    let (_plant, address, url) = plant(folder.path());
    let ran = Said::by(&mut load(folder.path(), &url, &["--requests", "200"]));
    assert!(matches!(ran.code, 0 | 4), "{}", ran.err);
    let before = page(&address);
    let sessions = [
        "uaperf_server_sessions_opened_total",
        "uaperf_server_sessions",
    ];
    let sessions = sessions.map(|name| sum(&before, name, &[]));
    assert!(sessions[0] >= 1.0 && sessions[1] == 0.0, "{before}");
    // One that is not let in, with a password that travels encrypted.
    let user = ["--requests", "1", "--user", "nobody", "--trust"];
    let mut refused = load(folder.path(), &url, &user);
    let refused = Said::by(refused.env("UAPERF_PASSWORD", "wrong"));
    assert_eq!(refused.code, 1, "{}", refused.err);
    let page = page(&address);
    let of = |name: &str, labels: &[&str]| sum(&page, &format!("uaperf_server_{name}"), labels);
    let server = format!("server=\"{url}\"");
    let reads = of("service_total", &[&server, "service=\"Read\""]);
    assert!(reads >= 200.0, "{page}");
    assert!(of("requests_total", &[&server]) >= reads, "{page}");
    // Each second Read was struck.
    let (events, hits) = (
        of("fault_events_total", &["number=\"1\""]),
        of("fault_hits_total", &["on=read"]),
    );
    assert!(
        events >= 200.0 && (events / 2.0 - hits).abs() <= 1.0,
        "{page}"
    );
    assert!(of("sessions_refused_total", &[]) >= 1.0, "{page}");
    assert!(
        of("loop_busy_seconds_total", &["loop=\"plant-0\""]) > 0.0,
        "{page}"
    );
    assert!(of("held_limit_bytes", &[]) > 1e6, "{page}");
    assert!(
        sum(&page, "process_resident_memory_bytes", &[]) > 1e6,
        "{page}"
    );
    // It can be observed over the same page from another host.
    let watched = format!("prom:http://{address}");
    let more = ["--duration", "2s", "--observe", &watched];
    let ran = Said::by(&mut load(folder.path(), &url, &more));
    assert!(matches!(ran.code, 0 | 4), "{}", ran.err);
    let observed = "a client library of Prometheus";
    let result = std::fs::read_to_string(folder.path().join("run.json")).unwrap();
    assert!(result.contains(observed), "{}{}", ran.out, ran.err);
    judge::checked_by_promtool(&page);
}

/// What only measures by other commands tells the same while it does.
#[test]
fn cost_and_perfclient_tell_what_their_loads_do() {
    let folder = tempfile::tempdir().unwrap();
    let (_plant, _, url) = plant(folder.path());
    let receiver = Receiver::start(Manner::Take);
    let push = format!("otlp+http://{}", receiver.address);
    let run = |words: &[&str]| {
        let told = ["--push", &push, "--push-every", "1s"];
        let told = [&told[..], &["--live-file", "live.jsonl", "--quiet"]].concat();
        let ran = Said::by(&mut command(folder.path(), &[words, &told].concat()));
        assert!(matches!(ran.code, 0 | 4), "{}{}", ran.out, ran.err);
        let lines = std::fs::read_to_string(folder.path().join("live.jsonl")).unwrap();
        assert!(lines.lines().count() > 1, "{lines}");
        for line in lines.lines() {
            assert!(serde_json::from_str::<Value>(line).is_ok(), "{line}");
        }
        lines
    };
    let node = ["-n", "nsu=urn:bench;i=1000", "--trust", "--out", "run.json"];
    let reads = ["--rate", "100", "--duration", "2"];
    run(&[&["perfclient", &url][..], &node, &reads].concat());
    let lines = run(&["cost", &url, "--only", "read", "--step", "500ms", "--trust"]);
    assert!(lines.contains("read"), "{lines}");
    let pushes = receiver.requests().len();
    assert!(pushes >= 4, "{pushes}");
}

/// What examines a server or this host tells what it asks meanwhile, by the kinds of what it does.
#[test]
fn attack_security_and_calibrate_tell_what_they_ask_and_do() {
    let folder = tempfile::tempdir().unwrap();
    let (_plant, _, url) = plant(folder.path());
    let run = |words: &[&str], codes: &[i32]| {
        let told = ["--live-file", "live.jsonl", "--quiet", "--metrics", ":0"];
        let ran = Said::by(&mut command(folder.path(), &[words, &told].concat()));
        assert!(codes.contains(&ran.code), "{}{}", ran.out, ran.err);
        assert!(
            ran.err.contains("prometheus  http://127.0.0.1:"),
            "{}",
            ran.err
        );
        let lines = std::fs::read_to_string(folder.path().join("live.jsonl")).unwrap();
        let lines = lines.lines().map(|it| serde_json::from_str(it).unwrap());
        (ran, lines.collect::<Vec<Value>>())
    };
    let of = |lines: &[Value], phase: &str| -> Vec<Value> {
        let of = lines.iter().filter(|it| it["phase"] == phase);
        of.cloned().collect()
    };
    let most = |lines: &[Value], what: &str| {
        lines
            .iter()
            .filter_map(|it| it[what].as_u64())
            .max()
            .unwrap()
    };
    let total = |lines: &[Value], what: &str| -> u64 {
        lines.iter().filter_map(|it| it[what].as_u64()).sum()
    };

    let words = ["attack", &url, "--step", "2s", "--kind", "half-open,browse"];
    let more = ["--attacks", "20/s", "--trust", "--out", "sheet.json"];
    let (ran, lines) = run(&[&words[..], &more].concat(), &[0, 3, 4]);
    let sheet = support::json(&folder.path().join("sheet.json"));
    for (at, kind) in ["half-open", "browse"].into_iter().enumerate() {
        let lines = of(&lines, kind);
        let made = &sheet["kinds"][at]["seen"]["attackers"]["made"];
        let told = most(&lines, "total_attacks");
        assert!(
            told > 0 && told <= made.as_u64().unwrap(),
            "{kind}: {}",
            ran.err
        );
        let parts: Vec<&str> = lines.iter().filter_map(|it| it["point"].as_str()).collect();
        for part in ["calm", "attack", "calm afterwards"] {
            assert!(parts.contains(&part), "{kind}: {parts:?}");
        }
        assert!(most(&lines, "total_completed") > 100, "{lines:?}");
    }

    let words = ["security", &url, "--quick", "--trust", "--values", "1,100"];
    let (_, lines) = run(&[&words[..], &["--out", "sheet.json"]].concat(), &[0]);
    let sheet = support::json(&folder.path().join("sheet.json"));
    for way in sheet["ways"].as_array().unwrap() {
        let name = way["security"].as_str().unwrap();
        let reads = total(&of(&lines, &format!("{name} reads")), "completed");
        let kept: Vec<Value> = way["sizes"].as_array().unwrap().clone();
        // The warm-up is told, too, and not kept.
        assert!(reads > total(&kept, "requests"), "{name}: {reads} {kept:?}");
        let came = total(&of(&lines, &format!("{name} connections")), "completed");
        assert!(came > way["handshakes"]["made"].as_u64().unwrap(), "{name}");
    }

    let words = ["calibrate", "--budget", "2s", "--out", "host.json"];
    let (_, lines) = run(&words, &[0]);
    let host = support::json(&folder.path().join("host.json"));
    for load in host["generator"].as_array().unwrap() {
        let lines = of(&lines, load["name"].as_str().unwrap());
        // One for each slice that a figure is the median of, as far as something happened in it.
        assert!((1..=7).contains(&lines.len()), "{lines:?}");
    }
    assert!(total(&lines, "completed") > 0, "{lines:?}");
}

/// Where the dashboard is.
fn dashboard() -> Value {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    support::json(&root.join("deploy/grafana/uaperf.json"))
}

/// What it asks for, with what Grafana fills in.
fn queries() -> Vec<String> {
    let dashboard = dashboard();
    let panels = dashboard["panels"].as_array().unwrap();
    let targets = panels
        .iter()
        .flat_map(|it| it["targets"].as_array().cloned().unwrap_or_default());
    let filled = targets.map(|it| {
        let query = it["expr"].as_str().unwrap().to_owned();
        query
            .replace("$__rate_interval", "10s")
            .replace("$instance", ".*")
    });
    filled.collect()
}

/// The metrics in a query: words that are no function, keyword or label.
fn names(query: &str) -> BTreeSet<String> {
    let words = query.split(|it: char| !(it.is_alphanumeric() || it == '_'));
    let is_name = |it: &&str| it.starts_with("uaperf_") || it.starts_with("process_");
    words.filter(is_name).map(str::to_owned).collect()
}

#[test]
fn the_dashboard_asks_for_nothing_that_is_not_told_and_prometheus_answers_it() {
    let folder = tempfile::tempdir().unwrap();
    let (_plant, served, url) = plant(folder.path());
    let gone = Receiver::start(Manner::Refuse);
    let push = format!("otlp+http://{}", gone.address);
    let told = [
        "--duration",
        "300s",
        "--metrics",
        ":0",
        "--push",
        &push,
        "--push-every",
        "1s",
    ];
    let (_load, loaded) = telling(&mut load(folder.path(), &url, &told));
    let nodes = [
        "subscribe",
        &url,
        "-n",
        "i=2258",
        "--security",
        "none",
        "--quiet",
    ];
    let mut subscribing = command(folder.path(), &nodes);
    subscribing.args(["--duration", "300s", "--out", "s.json", "--metrics", ":0"]);
    let (_subscribing, subscribed) = telling(&mut subscribing);
    let begin = Instant::now();
    let pages = loop {
        let pages = [page(&served), page(&loaded), page(&subscribed)].concat();
        if sum(
            &pages,
            "uaperf_requests_completed_total",
            &["command=\"read\""],
        ) > 0.0
            && sum(&pages, "uaperf_notified_values_total", &[]) > 0.0
        {
            break pages;
        }
        assert!(begin.elapsed() < Duration::from_secs(60), "{pages}");
        std::thread::sleep(Duration::from_millis(200));
    };
    let told: BTreeSet<&str> = pages
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split(['{', ' ']).next())
        .collect();
    let queries = queries();
    assert!(queries.len() > 20, "{queries:?}");
    for query in &queries {
        let names = names(query);
        assert!(!names.is_empty(), "{query}");
        for name in names {
            assert!(told.contains(name.as_str()), "{name} of {query}\n{pages}");
        }
    }
    // The page about them has all of them, and no others.
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/live.md");
    let docs = std::fs::read_to_string(docs).unwrap();
    let types = pages
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next());
    let families: BTreeSet<&str> = types.collect();
    for name in &families {
        assert!(
            docs.contains(&format!("`{name}`")),
            "docs/live.md does not tell of {name}"
        );
    }
    // Of that `attack` alone tells.
    let elsewhere = ["uaperf_attacks_total"];
    for name in docs.split('`').filter(|it| it.starts_with("uaperf_")) {
        let is_told = families.contains(name) || elsewhere.contains(&name);
        assert!(is_told, "docs/live.md tells of {name}");
    }
    let Some(prometheus) =
        judge::Prometheus::start(folder.path(), &[&served, &loaded, &subscribed])
    else {
        return;
    };
    let counted = "sum(rate(uaperf_server_service_total{service=\"Read\"}[10s]))";
    prometheus.until_more_than(counted, 0.0);
    for query in &queries {
        prometheus.ask(query);
    }
    // What it computes of what it scraped is the load that was asked for.
    let rate = "sum(rate(uaperf_requests_completed_total{command=\"read\"}[10s]))";
    let found = prometheus.until_more_than(rate, 100.0);
    assert!(found < 400.0, "{found}");
}

#[test]
fn receivers_of_otlp_and_influx_get_totals_that_their_own_readers_read() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(&folder.path().join("server"), &["--security", "none"]);
    let (otlp, influx) = (Receiver::start(Manner::Take), Receiver::start(Manner::Take));
    let urls = [
        format!("otlp+http://{}", otlp.address),
        format!(
            "influx+http://{}/api/v2/write?org=o&bucket=b",
            influx.address
        ),
    ];
    let more = [
        "--requests",
        "300",
        "--push",
        &urls[0],
        "--push",
        &urls[1],
        "--push-every",
        "1s",
    ];
    let ran = Said::by(&mut load(folder.path(), &server.url, &more));
    assert!(matches!(ran.code, 0 | 4), "{}", ran.err);
    assert!(!ran.err.contains("warning: --push"), "{}", ran.err);
    let run = support::json(&folder.path().join("run.json"));
    assert_eq!(
        run["phases"][0]["total"]["completed"].as_u64().unwrap() + left_out(&run),
        300
    );
    let (otlp, influx) = (otlp.requests(), influx.requests());
    assert!(
        otlp.len() >= 2 && influx.len() >= 2,
        "{} {}",
        otlp.len(),
        influx.len()
    );
    assert!(
        otlp[0].head.starts_with("POST /v1/metrics HTTP/1."),
        "{}",
        otlp[0].head
    );
    assert!(
        otlp[0]
            .head
            .contains("\r\nContent-Type: application/json\r\n"),
        "{}",
        otlp[0].head
    );
    assert!(
        influx[0]
            .head
            .starts_with("POST /api/v2/write?org=o&bucket=b HTTP/1.")
    );
    // The last push has everything.
    judge::otlp(&otlp.last().unwrap().body, 300);
    judge::influx(&influx.last().unwrap().body, 300);
}

/// Requests of the warm-up.
fn left_out(run: &Value) -> u64 {
    let phase = &run["phases"][0];
    phase["left_out"]["completed"].as_u64().unwrap_or(0)
}

#[test]
fn a_receiver_that_is_slow_or_refuses_or_is_gone_holds_nothing_up_and_is_told_of() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(&folder.path().join("server"), &["--security", "none"]);
    let hangs = Receiver::start(Manner::Hang);
    let refuses = Receiver::start(Manner::Refuse);
    let part = Receiver::start(Manner::TakeAPart);
    let urls = [
        format!("otlp+http://{}", hangs.address),
        format!("influx+http://{}/write?db=d", refuses.address),
        format!("otlp+http://{}", part.address),
        // Nobody listens there.
        "influx+http://127.0.0.1:1/write?db=d".to_owned(),
    ];
    let mut more = vec!["--duration", "2s", "--warmup", "0s", "--push-every", "1s"];
    more.extend(urls.iter().flat_map(|url| ["--push", url.as_str()]));
    let ran = Said::by(&mut load(folder.path(), &server.url, &more));
    assert!(matches!(ran.code, 0 | 4), "{}", ran.err);
    // All requests were sent, of 200 a second for 2 s.
    let run = support::json(&folder.path().join("run.json"));
    let total = &run["phases"][0]["total"];
    let count = |name: &str| total[name].as_u64().unwrap_or(0);
    let due = count("completed") + count("unsent");
    assert!(
        (395..=401).contains(&due) && count("unsent") <= 20,
        "{total}"
    );
    for (url, why) in [
        // Or "not taken in time", where the last push begins late.
        (&urls[0], "in time"),
        (
            &urls[1],
            "HTTP status 401: unauthorized (it wants a token: --push-token-file FILE or UAPERF_PUSH_TOKEN)",
        ),
        (&urls[2], "it took all but 7 figures: too old"),
        (&urls[3], "Connection refused"),
    ] {
        let host = url.split("//").nth(1).unwrap().split('/').next().unwrap();
        let of = ran
            .err
            .lines()
            .filter(|line| line.contains(&format!("//{host}/")));
        let of: Vec<&str> = of.collect();
        // Once when it began, once at the end.
        assert!(
            of.iter().all(|line| line.contains(why)),
            "{why}: {}",
            ran.err
        );
        assert_eq!(of.len(), 2, "{}", ran.err);
        let ends: Vec<&str> = of[1].split(": ").nth(2).unwrap().split(' ').collect();
        assert_eq!(
            (ends[0], ends[1], ends[3]),
            (ends[2], "of", "pushes"),
            "{}",
            ran.err
        );
    }
}

#[test]
fn a_token_comes_from_a_file_or_a_variable_and_goes_to_one_receiver_only() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(&folder.path().join("server"), &["--security", "none"]);
    std::fs::write(folder.path().join("token"), "s3cr3t-one\nanother line\n").unwrap();
    let influx = Receiver::start(Manner::Take);
    let otlp = Receiver::start(Manner::Take);
    let to_influx = format!("influx+http://{}/write?db=d", influx.address);
    let to_otlp = format!("otlp+http://{}", otlp.address);
    let file = [
        "--requests",
        "1",
        "--push",
        &to_influx,
        "--push-token-file",
        "token",
    ];
    let by_file = Said::by(&mut load(folder.path(), &server.url, &file));
    let variable = ["--requests", "1", "--push", &to_otlp];
    let mut by_variable = load(folder.path(), &server.url, &variable);
    let by_variable = Said::by(by_variable.env("UAPERF_PUSH_TOKEN", "s3cr3t-two"));
    for said in [&by_file, &by_variable] {
        assert!(matches!(said.code, 0 | 4), "{}", said.err);
        assert!(!said.out.contains("s3cr3t") && !said.err.contains("s3cr3t"));
    }
    let result = std::fs::read_to_string(folder.path().join("run.json")).unwrap();
    assert!(!result.contains("s3cr3t"));
    let head = |of: &Receiver| of.requests().last().unwrap().head.clone();
    assert!(head(&influx).contains("\r\nAuthorization: Token s3cr3t-one\r\n"));
    assert!(head(&otlp).contains("\r\nAuthorization: Bearer s3cr3t-two\r\n"));
    let both = [&file[..], &["--push", &to_otlp]].concat();
    for (words, said) in [
        (
            &both[..],
            "error: a token and 2 receivers: which of them is it for?",
        ),
        (
            &["--push", &to_otlp, "--push-token-file", "none"][..],
            "error: --push-token-file none: ",
        ),
        (
            &["--push", "influx+http://h/write?db=d&p=s3cr3t"][..],
            "error: invalid value",
        ),
        (
            &["--push-every", "2s"][..],
            "error: the following required arguments were not provided",
        ),
    ] {
        let refused = Said::by(&mut load(folder.path(), &server.url, words));
        assert_eq!(refused.code, 2, "{}", refused.err);
        assert!(refused.err.starts_with(said), "{}", refused.err);
    }
}

#[test]
fn a_port_that_is_taken_is_told_before_a_server_serves() {
    let folder = tempfile::tempdir().unwrap();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = format!(":{}", taken.local_addr().unwrap().port());
    let words = [
        "serve",
        "--port",
        "0",
        "--security",
        "none",
        "--metrics",
        &port,
    ];
    let said = Said::by(&mut command(folder.path(), &words));
    assert_eq!(said.code, 2, "{}", said.err);
    assert!(
        said.err.starts_with("error: --prometheus 127.0.0.1"),
        "{}",
        said.err
    );
    assert!(
        said.err.contains("take another one, or 0 for a free one"),
        "{}",
        text(said.err.as_bytes())
    );
    assert!(!said.out.contains("READY"), "{}", said.out);
}
