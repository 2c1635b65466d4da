//! Publishers on one host and listeners on another, in one phase with one result.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic)]

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::support::sshd::Sshd;
use crate::support::{Said, Telling, command, json, signal};
use serde_json::Value;

const UAPERF: &str = env!("CARGO_BIN_EXE_uaperf");

/// A port where nobody listens.
fn port() -> u16 {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.local_addr().unwrap().port()
}

fn scenario(folder: &Path, phase: &str) {
    std::fs::write(folder.join("x.toml"), format!("[[phase]]\n{phase}")).unwrap();
}

fn run(folder: &Path, phase: &str, ssh: &str) -> Said {
    scenario(folder, phase);
    let mut run = command(folder, &["run", "x.toml", "--out", "out", "--quiet"]);
    Said::by(run.env("UAPERF_SSH", ssh))
}

fn result(folder: &Path) -> Value {
    json(&folder.join("out/001-point1-1.json"))
}

fn measured(said: &Said) {
    assert!(said.is_measured(), "{}{}", said.out, said.err);
}

fn shown(folder: &Path) -> String {
    let said = Said::by(&mut command(folder, &["show", "out/001-point1-1.json"]));
    assert_eq!(said.code, 0, "{}", said.err);
    said.out.split_whitespace().collect::<Vec<_>>().join(" ")
}

const PUBLISH: &str = "service = 'publish'\nsignals = 10\ninterval = '20ms'\nduration = '1s'\n";

#[test]
fn what_an_agent_publishes_is_heard_here_and_every_delay_has_the_bound_of_both_clocks() {
    let folder = tempfile::tempdir().unwrap();
    let phase =
        format!("{PUBLISH}security = 'sign-and-encrypt'\non = 'local:1'\nexpect = ['loss=0']\n");
    measured(&run(folder.path(), &phase, "false"));
    let run = result(folder.path());
    let phase = &run["phases"][0];
    let told = &phase["pubsub"];
    assert_eq!(told["published"]["values"], 500, "{told}");
    let heard = &told["listeners"][0];
    assert_eq!(heard["values"], 500, "{told}");
    assert_eq!(heard["never_came"], 0);
    assert_eq!(heard["security"][0], "sign-and-encrypt");
    assert_eq!(phase["total"]["values"], 500);
    assert_eq!(phase["total"]["histograms"]["delay"]["count"], 500);
    let host = &run["hosts"][0];
    assert_eq!(
        (&host["name"], &host["role"]),
        (&"local:1".into(), &"publishes".into())
    );
    assert!(host["machine"]["cores"].as_u64().unwrap() > 0);
    assert!(host["clock"]["error_ns"].as_u64().unwrap() > 0);
    // Its CPU is that of the process that published.
    let publisher = phase["resources"].as_array().unwrap().iter();
    let publisher: Vec<&Value> = publisher.filter(|it| it["who"] == "server").collect();
    assert_eq!(publisher.len(), 1);
    let clock = &told["clock"];
    let error = clock["error_ns"].as_u64().unwrap();
    assert_eq!(
        clock["between"],
        serde_json::json!(["local:1", "this host"])
    );
    let percentiles = clock["one_way"].as_array().unwrap();
    assert_eq!(percentiles.len(), 5, "{clock}");
    for it in percentiles {
        let (low, high) = (
            it["low_ns"].as_u64().unwrap(),
            it["high_ns"].as_u64().unwrap(),
        );
        match it["ns"].as_u64() {
            Some(ns) => assert_eq!((low, high), (ns - error, ns + error)),
            None => assert!(low == 0 && high < 2 * error, "{it}"),
        }
    }
    let shown = shown(folder.path());
    assert!(
        shown.contains("those of local:1 (publishes) and this host agree to ±"),
        "{shown}"
    );
    assert!(shown.contains("± clocks"), "{shown}");
    assert!(shown.contains("local:1, publishes"), "{shown}");
}

/// A way that holds up what passes, in both directions.
fn slow(sshd: &Sshd, folder: &Path) -> String {
    let config = std::fs::read_to_string(folder.join("ssh.conf")).unwrap();
    let port = config
        .lines()
        .find_map(|it| it.trim().strip_prefix("Port "));
    let port: u16 = port.unwrap().parse().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let own = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let server = TcpStream::connect(("127.0.0.1", port)).unwrap();
            for (mut from, mut to) in [
                (client.try_clone().unwrap(), server.try_clone().unwrap()),
                (server, client),
            ] {
                std::thread::spawn(move || {
                    let mut bytes = vec![0; 65_536];
                    while let Ok(n @ 1..) = from.read(&mut bytes) {
                        std::thread::sleep(Duration::from_millis(20));
                        if to.write_all(&bytes[..n]).is_err() {
                            return;
                        }
                    }
                    let _ = to.shutdown(std::net::Shutdown::Write);
                });
            }
        }
    });
    let slow = config.replace(&format!("Port {port}"), &format!("Port {own}"));
    std::fs::write(folder.join("slow.conf"), slow).unwrap();
    sshd.ssh.replace("ssh.conf", "slow.conf")
}

#[test]
fn a_delay_that_is_less_than_what_the_clocks_leave_open_is_refused_on_screen_page_and_in_the_file()
{
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let Some(sshd) = Sshd::start("delays by clocks that are not known well", path) else {
        return;
    };
    let ssh = slow(&sshd, path);
    let (to, on) = (port(), format!("ssh:lab:{UAPERF}"));
    let phase = format!(
        "{PUBLISH}to = 'opc.udp://127.0.0.1:{to}'\non = '{on}'\nexpect = ['delay.p50<1s', 'loss=0']\n"
    );
    let said = run(path, &phase, &ssh);
    // What is not known does not meet a threshold.
    assert!(matches!(said.code, 3 | 4), "{}{}", said.out, said.err);
    let run = result(path);
    let told = &run["phases"][0]["pubsub"];
    assert_eq!(told["listeners"][0]["values"], 500, "{told}");
    let error = told["clock"]["error_ns"].as_u64().unwrap();
    assert!(error > 5_000_000, "{error}");
    let half = &told["clock"]["one_way"][0];
    let why = half["ns"]["not_available"].as_str().unwrap();
    let want = "not known: the clocks of ssh:lab and this host agree to ±";
    assert!(
        why.starts_with(want) && why.ends_with("more than the delay"),
        "{why}"
    );
    let unmet = &run["phases"][0]["expectations"];
    assert!(
        unmet[0]["reason"].as_str().unwrap().starts_with(want),
        "{unmet}"
    );
    assert_eq!(unmet[1]["met"], true);
    let want = "unknown: the clocks of ssh:lab and this host agree to ±";
    let shown = shown(path);
    assert!(shown.contains(want), "{shown}");
    let page = ["report", "out/001-point1-1.json", "-o", "page.html"];
    assert_eq!(Said::by(&mut command(path, &page)).code, 0);
    let page = std::fs::read_to_string(path.join("page.html")).unwrap();
    assert!(page.contains(want));
}

#[test]
fn a_publisher_and_listeners_on_three_hosts_are_one_result_and_each_listener_has_its_host() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let Some(sshd) = Sshd::start("publisher and listeners elsewhere", path) else {
        return;
    };
    let to = port();
    let here = format!("ssh:lab:{UAPERF}");
    // A group, which several hosts can hear.
    let phase = format!(
        "{PUBLISH}to = 'opc.udp://239.255.7.31:{to}'\ninterface = '127.0.0.1'\non = '{here}'\n\
         listen_on = ['local:1', '{here}']\nlisteners = 2\n"
    );
    measured(&run(path, &phase, &sshd.ssh));
    let run = result(path);
    let names = |of: &Value, key: &str| -> Vec<String> {
        let all = of.as_array().unwrap().iter();
        all.map(|it| it[key].as_str().unwrap().to_owned()).collect()
    };
    let hosts = &run["hosts"];
    assert_eq!(names(hosts, "name"), ["ssh:lab", "local:1", "ssh:lab#2"]);
    assert_eq!(names(hosts, "role"), ["publishes", "listens", "listens"]);
    let phase = &run["phases"][0];
    let told = &phase["pubsub"];
    let listeners = told["listeners"].as_array().unwrap();
    assert_eq!(
        names(&told["listeners"], "on"),
        ["local:1", "local:1", "ssh:lab#2", "ssh:lab#2"]
    );
    for it in listeners {
        assert_eq!(
            (&it["values"], &it["never_came"]),
            (&500.into(), &0.into()),
            "{told}"
        );
    }
    assert_eq!(phase["total"]["values"], 2000);
    assert_eq!(phase["total"]["histograms"]["delay"]["count"], 2000);
    assert_eq!(told["clock"]["between"][1], "2 listening hosts");
}

#[test]
fn listeners_on_an_agent_hear_a_publisher_of_others() {
    let folder = tempfile::tempdir().unwrap();
    let to = port();
    let url = format!("opc.udp://127.0.0.1:{to}");
    let words = ["publish", &url, "--interval", "10ms", "--duration", "20s"];
    let mut publisher = command(folder.path(), &words);
    let mut publisher = publisher.stdout(Stdio::null()).spawn().unwrap();
    let phase = format!("service = 'listen'\nfrom = '{url}'\nduration = '1s'\non = 'local:1'\n");
    let since = Instant::now();
    let said = run(folder.path(), &phase, "false");
    let most = since.elapsed().as_millis() as u64 / 10 + 10;
    publisher.kill().unwrap();
    publisher.wait().unwrap();
    measured(&said);
    let run = result(folder.path());
    let heard = &run["phases"][0]["pubsub"]["listeners"][0];
    assert_eq!(heard["on"], "local:1");
    let datagrams = heard["datagrams"].as_u64().unwrap();
    assert!((20..=most).contains(&datagrams), "{heard}");
    assert_eq!(run["hosts"][0]["role"], "listens");
}

/// The agents of this test, by what they hold in their environment.
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
    let mut all: Vec<u32> = each.collect();
    all.sort_unstable();
    all
}

/// Begins a phase that takes long, and gives its agents when it has begun.
fn begun(folder: &Path, phase: &str, count: usize) -> (std::process::Child, Telling, Vec<u32>) {
    scenario(folder, phase);
    let mut run = command(folder, &["run", "x.toml", "--out", "out", "--plain"]);
    let mut child = run
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut telling = Telling::of(&mut child);
    telling.until("  max ");
    let until = Instant::now() + Duration::from_secs(20);
    while agents(folder).len() < count {
        assert!(Instant::now() < until, "{:?}", agents(folder));
        std::thread::sleep(Duration::from_millis(50));
    }
    (child, telling, agents(folder))
}

#[cfg(target_os = "linux")]
#[test]
fn a_publisher_whose_agent_is_killed_leaves_what_was_heard_and_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let phase = format!("{}on = 'local:1'\n", PUBLISH.replace("'1s'", "'4s'"));
    let (child, telling, agents) = begun(folder.path(), &phase, 1);
    let whole = telling.whole();
    signal(agents[0], "KILL");
    let output = child.wait_with_output().unwrap();
    let said = whole.join().unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    let run = result(folder.path());
    assert_eq!(run["verdict"]["kind"], "INCOMPLETE", "{}", run["verdict"]);
    let why = run["verdict"]["evidence"].to_string();
    assert!(why.contains("agent local:1 was lost"), "{why}");
    assert!(why.contains("what it published is not known"), "{why}");
    let heard = &run["phases"][0]["pubsub"]["listeners"][0];
    assert!(heard["values"].as_u64().unwrap() > 0, "{heard}");
    assert!(run["hosts"][0]["lost"].is_string());
}

#[cfg(target_os = "linux")]
#[test]
fn of_two_listening_agents_one_that_is_killed_is_missing_and_an_interrupt_keeps_what_came() {
    let folder = tempfile::tempdir().unwrap();
    let phase = format!(
        "{}to = 'opc.udp://239.255.7.32:{}'\ninterface = '127.0.0.1'\nlisten_on = ['local:2']\n",
        PUBLISH.replace("'1s'", "'30s'"),
        port()
    );
    let (child, telling, agents) = begun(folder.path(), &phase, 2);
    let whole = telling.whole();
    signal(agents[0], "KILL");
    std::thread::sleep(Duration::from_millis(500));
    signal(child.id(), "INT");
    let since = Instant::now();
    let output = child.wait_with_output().unwrap();
    let said = whole.join().unwrap();
    assert_eq!(output.status.code(), Some(130), "{said}");
    assert!(since.elapsed() < Duration::from_secs(20));
    let run = result(folder.path());
    let told = &run["phases"][0]["pubsub"];
    assert_eq!(told["listeners"].as_array().unwrap().len(), 1, "{told}");
    assert!(told["listeners"][0]["values"].as_u64().unwrap() > 0);
    assert!(told["published"]["values"].as_u64().unwrap() > 0);
    let why = run["verdict"]["evidence"].to_string();
    assert!(why.contains("what it heard is missing"), "{why}");
}

#[test]
fn what_cannot_be_placed_is_refused_with_its_line_and_a_host_that_is_not_there_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |more: &str, want: &[&str]| {
        scenario(folder.path(), &format!("{PUBLISH}{more}\n"));
        let said = Said::by(&mut command(folder.path(), &["check", "x.toml"]));
        assert_eq!(said.code, 2, "{}", said.out);
        for want in want {
            assert!(said.err.contains(want), "{want}: {}", said.err);
        }
    };
    refused("on = 'plc1'", &["on", "names no agents", "line 6"]);
    refused(
        "on = 'local:2'",
        &["one publisher is on one host", "line 6"],
    );
    refused("on = 'local:1*3'", &["nothing is shared out here"]);
    refused(
        "on = 'ssh:pc1'",
        &["the port at which the listeners' host is reached"],
    );
    refused("listen_on = ['local:1']", &["the port at which"]);
    refused(
        "to = 'opc.udp://10.0.0.1:4840'\nlisten_on = ['ssh:a', 'ssh:b']",
        &["want a group"],
    );
    let keys =
        "security = 'sign'\non = 'local:1'\nkeys = 'opc.tcp://plc1:4840'\nsecurity_group = 'g'";
    refused(keys, &["agents ask no key service yet"]);
    let phase = format!(
        "{PUBLISH}to = 'opc.udp://127.0.0.1:{}'\non = 'ssh:pc1'\n",
        port()
    );
    let said = run(folder.path(), &phase, "false");
    assert_eq!(said.code, 1, "{}{}", said.out, said.err);
    let text = said.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        text.contains("ssh:pc1 was lost before it said who it is"),
        "{text}"
    );
}
