//! What limits a server is named by commands that load one whose limit is known.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use support::{Said, Server, command, json};

mod support;

const PLANT: [&str; 4] = ["--profile", "bench", "--security", "none"];

/// Reads until the server is what limits it; on a busy machine the generator may be, which says nothing of the server.
/// What was found, and what the screen says in one line.
fn saturated(folder: &Path, url: &str, words: &[&str]) -> (Value, String) {
    let mut last = String::new();
    for _ in 0..6 {
        let read = ["read", url, "--duration", "3s", "--quiet"];
        let out = ["--out", "run.json"];
        let said = Said::by(&mut command(folder, &[&read[..], &out, words].concat()));
        assert!([0, 4].contains(&said.code), "{}{}", said.out, said.err);
        let run = json(&folder.join("run.json"));
        let phase = &run["phases"][0];
        if phase["verdict"]["kind"] == "SERVER-SATURATED" {
            let screen = said.out.split_whitespace().collect::<Vec<_>>().join(" ");
            return (phase["bottleneck"].clone(), screen);
        }
        assert_eq!(phase["bottleneck"], Value::Null, "{phase}");
        last = said.out;
    }
    panic!("the server is never the limit:\n{last}");
}

fn candidate<'a>(found: &'a Value, of: &str) -> &'a Value {
    let all = found["candidates"].as_array().unwrap();
    all.iter().find(|it| it["of"] == of).unwrap()
}

#[test]
fn a_plant_of_one_loop_is_limited_by_that_thread_or_by_the_only_core() {
    let folder = tempfile::tempdir().unwrap();
    let loops = ["--threads", "1"];
    let server = Server::start(&folder.path().join("s"), &[&PLANT[..], &loops].concat());
    let work = ["-n", "nsu=urn:bench;i=1000..1099", "--batch", "100"];
    let load = ["--sessions", "4", "--in-flight", "8", "--warmup", "500ms"];
    let (found, screen) = saturated(folder.path(), &server.url, &[&work[..], &load].concat());
    let limit = found["limited_by"].as_str().unwrap_or("none");
    let cores = candidate(&found, "server-cpu");
    let allowed = &cores["for"][0]["allowed"];
    let only = *allowed == 1.0;
    match only {
        true => assert_eq!(limit, "server-cpu", "{found}"),
        false => {
            assert_eq!(limit, "server-thread", "{found}");
            let thread = &candidate(&found, "server-thread")["for"][0];
            assert_eq!(thread["name"], "plant-0", "{found}");
            assert!(thread["busy"].as_f64().unwrap() >= 0.9, "{found}");
            let said = "limited by: one thread of the server (plant-0 busy 9";
            assert!(
                screen.contains(said) || screen.contains("(plant-0 busy 100 %"),
                "{screen}"
            );
        }
    }
    let page = ["report", "run.json", "-o", "-"];
    let page = Said::by(&mut command(folder.path(), &page)).out;
    assert!(page.contains("<b>Limited by </b>") && page.contains("What limited it"));
}

#[test]
fn a_plant_that_sleeps_is_never_called_busy() {
    let folder = tempfile::tempdir().unwrap();
    let sleeps = ["--fault", "service-time=10ms,on=read"];
    let server = Server::start(&folder.path().join("s"), &[&PLANT[..], &sleeps].concat());
    let load = ["-n", "nsu=urn:bench;i=1000", "--rate", "200/s"];
    let (found, screen) = saturated(folder.path(), &server.url, &load);
    assert_eq!(found["limited_by"], Value::Null, "{found}");
    for of in ["server-cpu", "server-thread", "generator", "link"] {
        assert_eq!(
            candidate(&found, of)["finding"],
            "does-not-limit",
            "{found}"
        );
    }
    assert_eq!(found["server_waits"], true, "{found}");
    let said = "limited by: not known: the server waits for something that is not seen here";
    assert!(screen.contains(said), "{screen}");
}

#[test]
fn a_slow_link_is_the_limit_and_the_server_behind_it_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(&folder.path().join("s"), &PLANT);
    // 100 values take about 2 kB each way: 12 of 40 requests a second.
    let work = ["-n", "nsu=urn:bench;i=1000..1099", "--batch", "100"];
    let load = ["--rate", "40/s", "--link", "200kbit/s", "--warmup", "500ms"];
    let (found, screen) = saturated(folder.path(), &server.url, &[&work[..], &load].concat());
    assert_eq!(found["limited_by"], "link", "{found}");
    let share = candidate(&found, "link")["for"][0]["share"].as_f64();
    assert!(share.is_some_and(|it| (0.9..=1.0).contains(&it)), "{found}");
    assert_eq!(
        candidate(&found, "server-cpu")["finding"],
        "does-not-limit",
        "{found}"
    );
    assert!(
        screen.contains("limited by: the link (the emulated link carried 9")
            || screen.contains("limited by: the link (the emulated link carried 100 %"),
        "{screen}"
    );
}

/// A network of its own whose loopback is slow, and a command in it.
const SLOW: &str = "
set -e
ip link set lo up mtu 1500
tc qdisc add dev lo root tbf rate 4mbit burst 64kbit latency 400ms
";

/// A server in it, read from until it cannot keep up: answers of 20 kB, twice as many as go through.
const READS: &str = "
rm -f ready run.json
\"$0\" serve --port 4840 --profile bench --security none --pki s >ready 2>&1 &
server=$!
trap 'kill $server' EXIT
until grep -q READY ready; do sleep 0.05; done
\"$0\" read opc.tcp://127.0.0.1:4840 -n 'nsu=urn:bench;i=3012' --rate 50/s --duration 4s --quiet --out run.json
";

/// A shell in a network namespace of its own.
fn in_namespace(folder: &Path, script: &str) -> Command {
    let mut shell = Command::new("unshare");
    shell
        .args(["-rn", "sh", "-c", script, env!("CARGO_BIN_EXE_uaperf")])
        .env("UAPERF_PKI", folder.join("pki"))
        .current_dir(folder)
        .stdin(Stdio::null());
    shell
}

#[test]
fn a_link_that_shapes_its_traffic_is_seen_by_what_tcp_says_of_it() {
    let folder = tempfile::tempdir().unwrap();
    if Command::new("tc").arg("-V").output().is_err() {
        without::skipped("shaped link", "no tc", "apt-get install iproute2");
        return;
    }
    let allowed = in_namespace(folder.path(), SLOW).output().unwrap();
    if !allowed.status.success() {
        // No package brings it: a container may not have a network of its own.
        let why = String::from_utf8_lossy(&allowed.stderr).into_owned();
        without::say(&format!("SKIPPED shaped link: {}", why.trim()));
        return;
    }
    for _ in 0..6 {
        let script = format!("{SLOW}{READS}");
        let said = in_namespace(folder.path(), &script).output().unwrap();
        let run = json(&folder.path().join("run.json"));
        let phase = &run["phases"][0];
        if phase["verdict"]["kind"] != "SERVER-SATURATED" {
            continue;
        }
        let found = &phase["bottleneck"];
        assert_eq!(found["limited_by"], "link", "{found}");
        assert_eq!(candidate(found, "link")["for"][0]["what"], "network-held");
        let screen = String::from_utf8_lossy(&said.stdout).into_owned();
        assert!(
            screen.contains("limited by: the link (data waited for the network "),
            "{screen}"
        );
        return;
    }
    panic!("the server is never the limit");
}

/// The server behind the one that has a lock.
const BEHIND: &str = "UAPERF_TEST_BEHIND";

/// No test unless it was started to be a server: a thread for each connection, and one lock for all of them, which is
/// held for 2 ms for each request. What requests ask for, a plant answers.
#[test]
fn is_a_server_with_a_lock() {
    let Ok(behind) = std::env::var(BEHIND) else {
        return;
    };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    println!("port {}", listener.local_addr().unwrap().port());
    let lock = Arc::new(Mutex::new(()));
    for client in listener.incoming() {
        let (client, lock) = (client.unwrap(), lock.clone());
        let server = TcpStream::connect(&behind).unwrap();
        let worker = std::thread::Builder::new().name("worker".to_owned());
        worker.spawn(move || answer(client, server, &lock)).unwrap();
    }
}

/// One message after the other, until one side has enough.
fn answer(mut client: TcpStream, mut server: TcpStream, lock: &Mutex<()>) -> Option<()> {
    loop {
        let request = message(&mut client)?;
        let held = lock.lock().unwrap();
        server.write_all(&request).ok()?;
        let answer = message(&mut server)?;
        if request.starts_with(b"MSG") {
            std::thread::sleep(Duration::from_millis(2));
        }
        drop(held);
        client.write_all(&answer).ok()?;
    }
}

/// A message of one chunk (Part 6, 7.1.2): its length stands behind four letters.
fn message(from: &mut TcpStream) -> Option<Vec<u8>> {
    let mut message = vec![0; 8];
    from.read_exact(&mut message).ok()?;
    let length = u32::from_le_bytes(message[4..8].try_into().unwrap());
    message.resize(length as usize, 0);
    from.read_exact(&mut message[8..]).ok()?;
    Some(message)
}

/// This program once more, as that server.
struct Locked(Child);

impl Locked {
    fn start(behind: &str) -> (Self, String) {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "is_a_server_with_a_lock", "--nocapture"])
            .env(BEHIND, behind)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.as_mut().unwrap()).lines();
        let mut lines = lines.map_while(Result::ok);
        let port = lines.find_map(|it| Some(it.split_once("port ")?.1.to_owned()));
        (
            Self(child),
            format!("opc.tcp://127.0.0.1:{}", port.unwrap()),
        )
    }
}

impl Drop for Locked {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn threads_that_wait_for_each_other_are_told_from_threads_that_work() {
    let folder = tempfile::tempdir().unwrap();
    let plant = Server::start(&folder.path().join("s"), &PLANT);
    let behind = plant.url.strip_prefix("opc.tcp://").unwrap();
    let (_locked, url) = Locked::start(behind);
    let search = ["--grow", "sessions", "--slo", "p50<11ms", "--confirm", "1"];
    let mut last = String::new();
    for n in 0..4 {
        let out = format!("found-{n}");
        let words = ["saturate", "read", &url, "-n", "nsu=urn:bench;i=1000"];
        let rest = ["--duration", "1s", "--to", "16", "--out", &out, "--quiet"];
        let words = [&words[..], &search, &rest].concat();
        let said = Said::by(&mut command(folder.path(), &words));
        last = said.out + &said.err;
        let kept = json(&folder.path().join(&out).join("search.json"));
        // Where the generator was late there is nothing to be said of the server.
        if kept["bottleneck"].is_null() || said.code != 0 {
            continue;
        }
        assert_eq!(kept["bottleneck"]["limited_by"], "lock", "{last}{kept}");
        assert!(last.contains("limited by  a lock of the server"), "{last}");
        return;
    }
    panic!("nothing was found:\n{last}");
}
