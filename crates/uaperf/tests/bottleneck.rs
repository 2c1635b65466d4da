//! What limits a server is named by commands that load one whose limit is known.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::support::{Said, Server, command, json};
use serde_json::Value;

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
            let said = "limited by: one thread of the server (plant-0 busy ";
            let busy = ["9", "more than 99.9 %", "100 %"];
            assert!(
                busy.iter()
                    .any(|it| screen.contains(&format!("{said}{it}"))),
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
    let Some((found, screen)) = shaped(folder.path(), "") else {
        return;
    };
    assert_eq!(found["limited_by"], "link", "{found}");
    assert_eq!(candidate(&found, "link")["for"][0]["what"], "network-held");
    assert!(
        screen.contains("limited by: the link (data waited for the network "),
        "{screen}"
    );
}

#[test]
fn a_link_that_was_tested_before_is_the_limit_with_the_rate_that_it_has() {
    let folder = tempfile::tempdir().unwrap();
    let Some((found, screen)) = shaped(folder.path(), "--link-test") else {
        return;
    };
    assert_eq!(found["limited_by"], "link", "{found}");
    let sign = &candidate(&found, "link")["for"][0];
    assert_eq!(
        (&sign["what"], &sign["proven"]),
        (&"link-tested".into(), &true.into())
    );
    // 4 Mbit/s with the headers of TCP and IP, and what is acknowledged takes the same way.
    let rate = sign["bits_per_s"].as_f64().unwrap();
    assert!((2e6..4.1e6).contains(&rate), "{sign}");
    assert!(
        screen.contains("Mbit/s that went through in a test before"),
        "{screen}"
    );
    let run = json(&folder.path().join("run.json"));
    let test = &run["phases"][0]["link_test"];
    let trips = test["trips"].as_array().unwrap();
    assert!(trips.len() >= 3, "{test}");
    let bytes =
        |it: &Value| it["request_bytes"].as_u64().unwrap() + it["response_bytes"].as_u64().unwrap();
    let (small, large) = (&trips[0], &trips[trips.len() - 1]);
    assert!(bytes(large) > 20 * bytes(small), "{test}");
    let took = |it: &Value| it["median_ns"].as_f64().unwrap();
    assert!(took(large) > took(small), "{test}");
}

/// What limits a server behind a link that shapes its traffic, and the screen; none where there is none.
fn shaped(folder: &Path, more: &str) -> Option<(Value, String)> {
    if Command::new("tc").arg("-V").output().is_err() {
        without::skipped("shaped link", "no tc", "apt-get install iproute2");
        return None;
    }
    let allowed = in_namespace(folder, SLOW).output().unwrap();
    if !allowed.status.success() {
        // No package brings it: a container may not have a network of its own.
        let why = String::from_utf8_lossy(&allowed.stderr).into_owned();
        without::say(&format!("SKIPPED shaped link: {}", why.trim()));
        return None;
    }
    for _ in 0..6 {
        let script = format!(
            "{SLOW}{}",
            READS.replace("--quiet", &format!("--quiet {more}"))
        );
        let said = in_namespace(folder, &script).output().unwrap();
        let run = json(&folder.join("run.json"));
        let phase = &run["phases"][0];
        if phase["verdict"]["kind"] != "SERVER-SATURATED" {
            continue;
        }
        let screen = String::from_utf8_lossy(&said.stdout).into_owned();
        let screen = screen.split_whitespace().collect::<Vec<_>>().join(" ");
        return Some((phase["bottleneck"].clone(), screen));
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
            .args([
                "--exact",
                "bottleneck::is_a_server_with_a_lock",
                "--nocapture",
            ])
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
    // A busy machine may look at the server's threads too seldom to tell, and says so.
    let mut tries = (0..4).map(|_| waiting_for_a_lock(folder.path(), &url));
    let told = tries.find(|(found, _)| !found["limited_by"].is_null());
    let (found, screen) = told.unwrap_or_else(|| panic!("the threads were not looked at"));
    assert_eq!(found["limited_by"], "lock", "{screen}{found}");
    assert!(
        screen.contains("limited by  a lock of the server"),
        "{screen}"
    );
}

/// Sessions are added until the server cannot keep up. What was found, and the screen.
fn waiting_for_a_lock(folder: &Path, url: &str) -> (Value, String) {
    let search = ["--grow", "sessions", "--slo", "p50<11ms", "--confirm", "1"];
    let mut last = String::new();
    for _ in 0..4 {
        // A search is not written over another one.
        let out = tempfile::tempdir_in(folder).unwrap().keep();
        let out = out.join("found").display().to_string();
        let words = ["saturate", "read", url, "-n", "nsu=urn:bench;i=1000"];
        let rest = ["--duration", "1s", "--to", "16", "--out", &out, "--quiet"];
        let words = [&words[..], &search, &rest].concat();
        let said = Said::by(&mut command(folder, &words));
        last = said.out + &said.err;
        let kept = json(&Path::new(&out).join("search.json"));
        // Where the generator was late there is nothing to be said of the server.
        if kept["bottleneck"].is_null() || said.code != 0 {
            continue;
        }
        return (kept["bottleneck"].clone(), last);
    }
    panic!("nothing was found:\n{last}");
}

/// A control group with little memory, which is removed again.
struct Group(PathBuf);

impl Group {
    /// Where this user may make one.
    fn with_memory(bytes: u64) -> Result<Self, String> {
        let name = format!("uaperf-test-{}", std::process::id());
        let unified = Path::new("/sys/fs/cgroup/cgroup.controllers");
        let (folder, limit) = match unified.exists() {
            true => (Path::new("/sys/fs/cgroup").join(&name), "memory.max"),
            false => (
                Path::new("/sys/fs/cgroup/memory").join(&name),
                "memory.limit_in_bytes",
            ),
        };
        let why = |error: std::io::Error| format!("{}: {error}", folder.display());
        std::fs::create_dir(&folder).map_err(why)?;
        let group = Self(folder.clone());
        let limit = folder.join(limit);
        // Without the controller the file is not there, and a new one cannot be made.
        let set = std::fs::write(&limit, bytes.to_string());
        set.map_err(|error| format!("{}: {error}", limit.display()))?;
        Ok(group)
    }

    fn take(&self, pid: u32) {
        std::fs::write(self.0.join("cgroup.procs"), pid.to_string()).unwrap();
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // It is busy until the last process of it is gone.
        for _ in 0..50 {
            if std::fs::remove_dir(&self.0).is_ok() {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// A server in front of another one that has less memory than it looks at; none where there cannot be one.
struct Short {
    server: Child,
    url: String,
    /// Dropped behind the server.
    _group: Group,
}

impl Short {
    fn start(folder: &Path, behind: &str) -> Option<Self> {
        if !Path::new("/proc/pressure/memory").exists() {
            without::say("SKIPPED short of memory: this kernel does not tell of pressure");
            return None;
        }
        let group = match Group::with_memory(64 << 20) {
            Ok(group) => group,
            // No package brings it: a container may not be allowed to make one.
            Err(why) => {
                without::say(&format!("SKIPPED short of memory: {why}"));
                return None;
            }
        };
        let program = folder.join("short_of_memory.py");
        std::fs::write(&program, include_str!("limited/short_of_memory.py")).unwrap();
        let port = behind.rsplit(':').next().unwrap();
        let started = Command::new("python3")
            .arg(&program)
            .args([port, "pages", "96"])
            .current_dir(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        let Ok(mut server) = started else {
            without::skipped("short of memory", "no python3", "apt-get install python3");
            return None;
        };
        group.take(server.id());
        server.stdin.take().unwrap().write_all(b"go\n").unwrap();
        let lines = BufReader::new(server.stdout.take().unwrap()).lines();
        let mut lines = lines.map_while(Result::ok);
        let port = lines.find_map(|it| Some(it.strip_prefix("port ")?.to_owned()));
        Some(Self {
            url: format!("opc.tcp://127.0.0.1:{}", port.unwrap()),
            server,
            _group: group,
        })
    }
}

impl Drop for Short {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

fn short(sessions: &str) -> [&str; 8] {
    [
        "-n",
        "nsu=urn:bench;i=1000",
        "--rate",
        "150/s",
        "--warmup",
        "500ms",
        "--sessions",
        sessions,
    ]
}

#[test]
fn a_server_that_is_short_of_memory_is_limited_by_that() {
    let folder = tempfile::tempdir().unwrap();
    let plant = Server::start(&folder.path().join("s"), &PLANT);
    let Some(server) = Short::start(folder.path(), plant.url.trim_end_matches('/')) else {
        return;
    };
    let mut proven = false;
    for sessions in ["4", "8", "16"] {
        let (found, screen) = saturated(folder.path(), &server.url, &short(sessions));
        let memory = candidate(&found, "server-memory");
        if memory["finding"] == "cannot-tell" {
            // The disk is fast: more threads have to wait for it. Nothing else is named meanwhile.
            assert_eq!(found["limited_by"], Value::Null, "{found}");
            continue;
        }
        assert_eq!(memory["finding"], "limits", "{found}");
        proven = true;
        let signs = memory["for"].as_array().unwrap();
        assert_eq!(signs[0]["what"], "memory-stalled", "{found}");
        assert!(signs[1]["faults"].as_u64().unwrap() >= 20, "{found}");
        if found["limited_by"] == "server-memory" {
            let said = "limited by: the server's memory (";
            assert!(screen.contains(said), "{screen}");
            return;
        }
        // It had to wait for cores that others had as well: then neither is named, and nothing else is.
        assert_eq!(found["limited_by"], Value::Null, "{found}");
        let cores = &candidate(&found, "server-cpu")["for"][0];
        assert!(cores["waited"].as_f64().unwrap() > 0.2, "{found}");
    }
    assert!(proven, "memory is never short");
    without::say("others had the cores all the time: memory is proven, but not the only limit");
}

/// What limited, in ten runs of each server whose limit is known. It takes some minutes:
/// `cargo test --workspace --test all bottleneck:: -- --ignored --nocapture`.
#[test]
#[ignore = "it takes some minutes; its figures are in docs/observe.md"]
fn each_limit_is_named_ten_times_of_ten() {
    const TIMES: usize = 10;
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let plant = Server::start(&at.join("s"), &PLANT);
    let many = ["-n", "nsu=urn:bench;i=1000..1099", "--batch", "100"];
    let mut missed = Vec::new();
    let mut score = |wanted: &str, name: &mut dyn FnMut() -> String| {
        let found: Vec<String> = (0..TIMES).map(|_| name()).collect();
        let right = found.iter().filter(|it| it.as_str() == wanted).count();
        println!("{wanted}: {right} of {TIMES}: {}", found.join(" "));
        if right < TIMES {
            missed.push(wanted.to_owned());
        }
    };
    let limit = |found: &Value| {
        found["limited_by"]
            .as_str()
            .unwrap_or("not-known")
            .to_owned()
    };
    {
        let one = ["--threads", "1"];
        let server = Server::start(&at.join("one"), &[&PLANT[..], &one].concat());
        let load = ["--sessions", "4", "--in-flight", "8", "--warmup", "500ms"];
        let words = [&many[..], &load].concat();
        score("server-thread", &mut || {
            limit(&saturated(at, &server.url, &words).0)
        });
    }
    {
        let behind = plant.url.strip_prefix("opc.tcp://").unwrap();
        let (_locked, url) = Locked::start(behind);
        score("lock", &mut || limit(&waiting_for_a_lock(at, &url).0));
    }
    let slow = ["--rate", "40/s", "--link", "200kbit/s", "--warmup", "500ms"];
    let words = [&many[..], &slow].concat();
    score("link", &mut || limit(&saturated(at, &plant.url, &words).0));
    if shaped(at, "").is_some() {
        score("link", &mut || limit(&shaped(at, "").unwrap().0));
    }
    if let Some(server) = Short::start(at, plant.url.trim_end_matches('/')) {
        score("server-memory", &mut || {
            limit(&saturated(at, &server.url, &short("4")).0)
        });
    }
    assert!(missed.is_empty(), "{missed:?}");
}
