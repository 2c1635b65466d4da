//! Landscapes whose devices agents serve: one table and one ledger, which is what clients counted, whatever happens to devices
//! by schedule, and what is missing of an agent that is lost.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic)]

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use crate::support::landscape::{Landscape, number, until_it_listens};
use crate::support::nats::{Nats, TOKEN};
use crate::support::sshd::Sshd;
use crate::support::{Said, Telling, command, json, signal};
use serde_json::Value;

const UAPERF: &str = env!("CARGO_BIN_EXE_uaperf");

/// Twenty devices on free ports. Those of one line fail each fifth write soon, those of the other begin anew. Each line has more
/// words in its table.
fn two_lines(line1: &str, line2: &str) -> String {
    format!(
        r#"
name = "south"

[[group]]
name = "line1"
count = 12
port = 0
keys = "none"
{line1}

[[group]]
name = "line2"
count = 8
port = 0
keys = "none"
uri = "urn:south:{{device}}"
{line2}

[[event]]
at = "200ms"
devices = "line1-*"
action = "fault"
fault = "bad=BadDeviceFailure,on=write,every=5"

[[event]]
at = "200ms"
devices = "line2-*"
action = "restart"
for = "100ms"
"#
    )
}

fn said(folder: &Path, words: &[&str]) -> Said {
    Said::by(&mut command(folder, words))
}

/// Writes to all devices and subscribes to them; writes that came to nothing, values and messages that came.
fn load(folder: &Path, ready: &[(String, String)]) -> (u64, u64, u64) {
    let at = |name: &str| folder.join(name);
    let mut targets = String::new();
    for (url, _) in ready {
        writeln!(targets, "{url}").unwrap();
    }
    std::fs::write(at("targets"), targets).unwrap();
    let write = "write @targets -n nsu=urn:uaperf:device;s=Device.Setpoint --sessions 1 --requests 1000 --warmup 0s \
                 --allow write --security none --out write.json";
    let subscribe = "subscribe @targets -n nsu=urn:uaperf:device;i=1000..1004 --sessions 1 --duration 2s \
                     --security none --out subscribe.json";
    for words in [write, subscribe] {
        let words: Vec<&str> = words.split_whitespace().collect();
        let told = said(folder, &words);
        assert!(matches!(told.code, 0 | 1 | 4), "{}{}", told.out, told.err);
    }
    let (wrote, subscribed) = (json(&at("write.json")), json(&at("subscribe.json")));
    let total = &wrote["phases"][0]["total"];
    assert_eq!(number(total, "/completed"), 1000);
    let statuses = total["statuses"].as_array().unwrap().iter();
    let bad = statuses.filter(|it| it["name"] == "BadDeviceFailure");
    let bad = bad.map(|it| number(it, "/count")).sum();
    let came = &subscribed["phases"][0]["subscriptions"];
    (
        bad,
        number(came, "/values/received"),
        number(came, "/messages/notifications"),
    )
}

/// Twenty devices do what their file says, and the ledger of all agents is what clients counted.
fn twenty(folder: &Path, mut landscape: Landscape, agents: &[(&str, u64)]) {
    landscape.until("line1-* bad=BadDeviceFailure");
    landscape.until("line2-* restart");
    // They are back after a tenth of a second, and later on a machine that is busy.
    std::thread::sleep(Duration::from_millis(500));
    for (url, _) in &landscape.ready {
        until_it_listens(url);
    }
    let ready = std::mem::take(&mut landscape.ready);
    let (bad, values, messages) = load(folder, &ready);
    assert!(bad > 50 && values > 100, "{bad} {values}");
    let (code, told) = landscape.ended();
    assert_eq!(code, Some(0), "{told}");

    let truth = json(&folder.join("truth.json"));
    let total = &truth["total"];
    assert_eq!(number(total, "/devices"), 20);
    assert_eq!(number(total, "/counted/writes"), 1000 - bad);
    // Each of the eight that began anew is one more.
    assert_eq!(number(total, "/fault_hits"), bad + 8);
    assert_eq!(number(total, "/subscriptions/computed/sent"), values);
    assert_eq!(number(total, "/subscriptions/messages/sent"), messages);
    for part in ["agents", "groups"] {
        let all = truth[part].as_array().unwrap();
        for (path, whole) in [("/counted/writes", 1000 - bad), ("/devices", 20)] {
            let sum: u64 = all.iter().map(|it| number(it, path)).sum();
            assert_eq!(sum, whole, "{part} {path}");
        }
    }
    let found = truth["agents"].as_array().unwrap().iter();
    let found: Vec<(&str, u64)> = found
        .map(|it| (it["name"].as_str().unwrap(), number(it, "/given")))
        .collect();
    assert_eq!(found, agents);
    let struck = truth["events"].as_array().unwrap().iter();
    let struck: Vec<u64> = struck.map(|it| number(it, "/struck")).collect();
    assert_eq!(struck, [12, 8]);
    let each = truth["each"].as_array().unwrap().iter();
    let each: Vec<(String, String)> = each
        .map(|it| [&it["url"], &it["device"]].map(|it| it.as_str().unwrap().to_owned()))
        .map(|[url, device]| (url, device))
        .collect();
    assert_eq!(each, ready);
    let names: Vec<String> = (1..=12)
        .map(|n| format!("line1-{n}"))
        .chain((1..=8).map(|n| format!("line2-{n}")))
        .collect();
    assert!(each.iter().map(|it| &it.1).eq(&names), "{each:?}");
}

const LEDGER: [&str; 4] = ["--trust", "--ledger", "truth.json", "--each"];

#[test]
fn three_agents_serve_a_landscape_and_their_ledger_is_what_clients_counted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    std::fs::write(path.join("devices.toml"), two_lines("", "")).unwrap();
    let options = [&LEDGER[..], &["--fleet", "local:2,local:1*2"]].concat();
    let landscape = Landscape::start(path, &options, 20);
    // By weight: 3 of 12 and 2 of 8, twice, and the rest.
    let agents = [("local:1", 5), ("local:2", 5), ("local:3", 10)];
    twenty(path, landscape, &agents);
}

/// An agent at a broker, ended with its test.
struct Agent(Child);

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn lines_on_hosts_by_ssh_and_by_a_broker_are_one_landscape_and_take_signed_commands() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let Some(broker) = Nats::start() else { return };
    let Some(sshd) = Sshd::start("landscape on other hosts", path) else {
        return;
    };
    std::fs::write(path.join("token"), TOKEN).unwrap();
    let command = |words: &[&str]| {
        let mut command = command(path, words);
        command
            .env("UAPERF_FLEET_KEY", path.join("fleet.key"))
            .env("UAPERF_NATS_URL", broker.url())
            .env("UAPERF_NATS_TOKEN_FILE", path.join("token"))
            .env("UAPERF_SSH", &sshd.ssh);
        command
    };
    let key = Said::by(&mut command(&["fleet", "key"]));
    std::fs::write(path.join("keys"), key.out).unwrap();
    let url = broker.url();
    let agent = |name: &str, more: &[&str]| {
        let words = [
            "agent",
            "--nats",
            &url,
            "--tag",
            "lab",
            "--name",
            name,
            "--allow-from",
            "keys",
        ];
        let mut command = command(&[&words[..], more].concat());
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        Telling::of(&mut child).until("waits for loads");
        Agent(child)
    };
    let _all = agent("a", &["--targets", "0.0.0.0", "--loads", "serve"]);
    let _none = agent("b", &["--targets", "*"]);
    let _far = agent("c", &["--targets", "10.0.0.1", "--loads", "serve"]);
    let lines = |name: &str| {
        // The names by which they are reached are none of the network.
        let host = "host = '127.0.0.1'";
        let text = two_lines(
            &format!("on = 'ssh:lab:{UAPERF}'\n{host}"),
            &format!("on = 'nats:lab/{name}'\n{host}"),
        );
        std::fs::write(path.join("devices.toml"), text).unwrap();
        let words = ["fleet", "serve", "devices.toml"];
        command(&[&words[..], &LEDGER].concat())
    };
    let landscape = Landscape::of(&mut lines("a"), 20);
    twenty(path, landscape, &[("ssh:lab", 12), ("nats:lab/a", 8)]);
    for (name, want) in [
        ("b", "serve is not among its --loads: read, subscribe"),
        ("c", "opc.tcp://0.0.0.0:0 is not among its --targets"),
    ] {
        let told = Said::by(&mut lines(name));
        assert_eq!(told.code, 1, "{}", told.err);
        assert!(told.err.contains(want), "{}", told.err);
    }
}

/// The processes of agents in this folder.
fn agents(folder: &Path) -> Vec<u32> {
    let name = folder.display().to_string();
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let each = processes.filter_map(|it| {
        let read = |file: &str| std::fs::read(it.path().join(file)).ok();
        let words = String::from_utf8_lossy(&read("cmdline")?).replace('\0', " ");
        let ours = String::from_utf8_lossy(&read("environ")?).contains(&name);
        let id = it.file_name().to_str()?.parse().ok()?;
        (ours && words.contains("agent --pipe")).then_some(id)
    });
    each.collect()
}

#[test]
fn an_agent_that_is_killed_is_named_with_its_devices_and_the_others_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let text = "[[group]]\nname = 'cell'\ncount = 10\nport = 0\nkeys = 'none'\n";
    std::fs::write(path.join("devices.toml"), text).unwrap();
    let options = [&LEDGER[..], &["--fleet", "local:2"]].concat();
    let mut landscape = Landscape::start(path, &options, 10);
    let all = agents(path);
    assert_eq!(all.len(), 2, "{all:?}");
    signal(all[0], "KILL");
    landscape.until(" was lost ");
    let answers = |url: &str| {
        let words = format!("read {url} -n i=2258 --requests 5 --security none --out read.json");
        let words: Vec<&str> = words.split_whitespace().collect();
        said(path, &words).code
    };
    let ready = landscape.ready.clone();
    let codes = [&ready[..5], &ready[5..]].map(|half| {
        let codes: Vec<i32> = half.iter().map(|(url, _)| answers(url)).collect();
        assert!(codes.windows(2).all(|it| (it[0] == 1) == (it[1] == 1)));
        codes[0]
    });
    assert_eq!(codes.iter().filter(|it| **it == 1).count(), 1, "{codes:?}");
    let (code, told) = landscape.ended();
    assert_eq!(code, Some(1), "{told}");
    let truth = json(&path.join("truth.json"));
    assert_eq!(number(&truth, "/total/devices"), 5);
    assert!(number(&truth, "/total/counted/cumulated_sessions") >= 5);
    let all = truth["agents"].as_array().unwrap();
    let lost: Vec<&Value> = all.iter().filter(|it| it["lost"].is_string()).collect();
    assert_eq!((lost.len(), number(lost[0], "/given")), (1, 5));
    // What it served is not known, which is not none.
    assert!(lost[0].get("devices").is_none(), "{}", lost[0]);
    assert_eq!(truth["each"].as_array().unwrap().len(), 5);
    // Nothing is left of it.
    let end = std::time::Instant::now() + Duration::from_secs(30);
    while !agents(path).is_empty() {
        assert!(std::time::Instant::now() < end, "{:?}", agents(path));
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn what_agents_cannot_serve_is_refused_before_anything_is_served() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    std::fs::write(path.join("press.toml"), "name = 'x'\n").unwrap();
    let serve = |text: &str, more: &[&str]| {
        std::fs::write(path.join("devices.toml"), text).unwrap();
        let words = ["fleet", "serve", "devices.toml", "--trust"];
        said(path, &[&words[..], more].concat())
    };
    let group = "[[group]]\nname = 'cell'\nport = 0\nkeys = 'none'\n";
    let one = ["--fleet", "local:1"];
    for (text, more, code, want) in [
        (
            format!("{group}on = 'plc1'\n"),
            &[][..],
            2,
            "names no agents",
        ),
        (
            format!("{group}on = 'plc1'\n"),
            &[],
            2,
            "devices.toml line 5",
        ),
        (
            format!("{group}on = 'local:1'\nplant = 'press.toml'\n"),
            &[],
            2,
            "agents have no plant files (want a profile)",
        ),
        (
            format!("{group}plant = 'press.toml'\n"),
            &one,
            2,
            "group cell: agents have no plant files",
        ),
        (
            format!("{group}on = 'local:2'\n"),
            &[],
            2,
            "no device is left for local:1",
        ),
        (
            format!("{group}count = 2\nhost = 'plc1'\non = 'local:2'\n"),
            &[],
            2,
            "host is the name of one host, and 2 agents serve it",
        ),
        (
            format!("{group}host = 'a b'\n"),
            &[],
            2,
            "want a host's name or its address",
        ),
        (group.to_owned(), &["--fleet", "plc1"], 2, "names no agents"),
        (
            group.to_owned(),
            &["--fleet", "ssh:nowhere.invalid"],
            1,
            "ssh:nowhere.invalid",
        ),
    ] {
        let told = serve(&text, more);
        assert_eq!(told.code, code, "{text}: {}{}", told.out, told.err);
        assert!(told.err.contains(want), "{want}: {}", told.err);
    }
    // A port that is taken is said by the agent.
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let told = serve(&group.replace("port = 0", &format!("port = {port}")), &one);
    assert_eq!(told.code, 1, "{}", told.err);
    let what = format!("cannot serve cell-1 on 127.0.0.1:{port}");
    assert!(told.err.contains(&what), "{}", told.err);
    assert!(told.err.contains("local:1"), "{}", told.err);
}
