//! `uaperf discover --lan` and `uaperf serve --announce`: who is on a network that nobody else is on, among themselves and with
//! another implementation of multicast DNS.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::io::{BufRead, BufReader};
use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support;
use crate::support::network;
use crate::support::{Said, Server, command};

/// A network of this thread's own; without it the test is skipped, as others would be asked.
fn alone(test: &str) -> bool {
    let laid = network::own().and_then(|()| network::ip("route add 224.0.0.0/4 dev lo"));
    if let Err(it) = &laid {
        without::skipped(test, &it.reason, it.command);
    }
    laid.is_ok()
}

/// What is there, after listening for so long.
fn discover(folder: &Path, words: &[&str]) -> (Said, Value) {
    let words = [&["discover", "--lan", "--json"], words].concat();
    let said = Said::by(&mut command(folder, &words));
    let told = serde_json::from_str(&said.out).unwrap_or_default();
    (said, told)
}

/// Asks until this is there.
fn until(folder: &Path, words: &[&str], is_it: impl Fn(&[Value]) -> bool) -> Vec<Value> {
    let start = Instant::now();
    loop {
        let (said, told) = discover(folder, words);
        let servers = told["servers"].as_array().cloned().unwrap_or_default();
        if is_it(&servers) {
            return servers;
        }
        assert!(
            start.elapsed() < Duration::from_secs(120),
            "{}{}",
            said.out,
            said.err
        );
    }
}

fn texts(value: &Value) -> Vec<&str> {
    value
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it.as_str().unwrap())
        .collect()
}

fn named(servers: &[Value]) -> Vec<&str> {
    servers
        .iter()
        .map(|it| it["name"].as_str().unwrap())
        .collect()
}

#[test]
fn a_plant_is_found_over_each_transport_while_it_is_there() {
    let name = "a plant on a network of its own";
    if !alone(name) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let options = ["--announce", "--wss", "0", "--https", "0"];
    let mut plant = Server::start(folder.path(), &options);
    let mut ready = vec![plant.url.clone()];
    for _ in 0..2 {
        let mut line = String::new();
        plant.out.read_line(&mut line).unwrap();
        ready.push(support::ready(&line).to_owned());
    }
    let quick = ["--wait", "1500ms"];
    let servers = until(folder.path(), &quick, |it| it.len() == 3);
    // Each URL that it says when it starts, by its address.
    let mut found: Vec<_> = servers
        .iter()
        .flat_map(|it| texts(&it["by_address"]))
        .collect();
    found.sort_unstable();
    ready.sort_unstable();
    assert_eq!(found, ready);
    for server in &servers {
        assert_eq!(server["name"], "bench");
        assert_eq!(texts(&server["capabilities"]), ["DA"]);
        assert_eq!(texts(&server["addresses"]), ["127.0.0.1"]);
        let host = server["host"].as_str().unwrap();
        assert!(host.ends_with(".local"), "{host}");
        assert!(
            server["url"]
                .as_str()
                .unwrap()
                .contains(&format!("://{host}:"))
        );
        assert!(server["first_heard_ns"].as_u64().unwrap() > 0);
    }
    let wss = servers
        .iter()
        .find(|it| it["url"].as_str().unwrap().starts_with("opc.wss"))
        .unwrap();
    // As the standard names it, and as the discovery server of the OPC Foundation does.
    assert_eq!(texts(&wss["services"]), ["_opcua-tls", "_opcua-wss"]);
    // For people, with a command that goes on with what was found.
    let shown = Said::by(&mut command(
        folder.path(),
        &["discover", "--lan", "--wait", "1500ms"],
    ));
    assert_eq!(shown.code, 0, "{}", shown.err);
    assert!(
        shown
            .out
            .starts_with("3 say they are on this network: asked over lo"),
        "{}",
        shown.out
    );
    let probe = shown
        .out
        .lines()
        .find_map(|it| it.split_once("uaperf probe "))
        .unwrap()
        .1;
    assert!(ready.contains(&probe.to_owned()), "{}", shown.out);
    plant.signal("TERM");
    assert!(plant.child.wait().unwrap().success());
    let gone = Said::by(&mut command(
        folder.path(),
        &["discover", "--lan", "--wait", "1500ms"],
    ));
    assert_eq!((gone.code, gone.out.as_str()), (1, ""));
    assert!(
        gone.err.contains("that it is there: asked over lo"),
        "{}",
        gone.err
    );
}

#[test]
fn a_plant_is_taken_back_where_somebody_listens() {
    if !alone("a plant that ends while somebody listens") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut plant = Server::start(folder.path(), &["--announce"]);
    until(folder.path(), &["--wait", "1500ms"], |it| it.len() == 1);
    // Long enough for the end of a plant on a busy machine; what counts is who is still there when it is over.
    let words = ["discover", "--lan", "--json", "--wait", "20s"];
    let listening = command(folder.path(), &words)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let listening = std::thread::spawn(move || listening.wait_with_output().unwrap());
    std::thread::sleep(Duration::from_secs(5));
    plant.signal("TERM");
    assert!(plant.child.wait().unwrap().success());
    let output = listening.join().unwrap();
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(told["servers"].as_array().unwrap().len(), 0, "{told}");
    assert!(told["packets"].as_u64().unwrap() > 0);
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn servers_of_one_name_and_of_one_program_have_names_of_their_own() {
    if !alone("servers of one name") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let _first = Server::start(folder.path(), &["--announce"]);
    until(folder.path(), &["--wait", "1500ms"], |it| it.len() == 1);
    let _second = Server::start(folder.path(), &["--announce"]);
    let _several = Server::start(folder.path(), &["--announce", "--count", "2"]);
    let servers = until(folder.path(), &["--wait", "1500ms"], |it| {
        let names = named(it);
        it.len() == 4 && names.contains(&"bench") && names.contains(&"bench (2)")
    });
    let with_port = servers.iter().filter(|it| {
        let (name, url) = (it["name"].as_str().unwrap(), it["url"].as_str().unwrap());
        let port = url.rsplit_once(':').unwrap().1;
        name == format!("bench {port}")
    });
    assert_eq!(with_port.count(), 2, "{:?}", named(&servers));
}

#[test]
fn an_interface_is_chosen_and_both_families_are_spoken() {
    let name = "interfaces of a network of its own";
    let laid = network::own().and_then(|()| {
        network::ip("link add left type veth peer name right")?;
        network::ip("addr add 192.0.2.7/24 dev left")?;
        network::ip("addr add 2001:db8::7/64 dev left nodad")?;
        network::ip("link set left up")?;
        network::ip("link set right up")
    });
    if let Err(it) = laid {
        return without::skipped(name, &it.reason, it.command);
    }
    let folder = tempfile::tempdir().unwrap();
    let _here = Server::start(folder.path(), &["--announce", "--listen", "::", "--trust"]);
    let quick = ["--wait", "1500ms", "--interface"];
    for interface in ["left", "192.0.2.7"] {
        let words = [quick.as_slice(), &[interface]].concat();
        let servers = until(folder.path(), &words, |it| it.len() == 1);
        let addresses = texts(&servers[0]["addresses"]);
        assert!(addresses.contains(&"192.0.2.7"), "{addresses:?}");
        assert!(addresses.contains(&"2001:db8::7"), "{addresses:?}");
        // What means something on one link only stands with that link, and not in a URL.
        let local = addresses.iter().filter(|it| it.starts_with("fe80::"));
        assert!(
            local.clone().all(|it| it.ends_with("%left")),
            "{addresses:?}"
        );
        let urls = texts(&servers[0]["by_address"]);
        assert_eq!(urls.len(), addresses.len() - local.count(), "{urls:?}");
        assert!(
            urls.iter()
                .any(|it| it.starts_with("opc.tcp://[2001:db8::7]:")),
            "{urls:?}"
        );
    }
    // A server for everybody says nothing where nobody else is.
    let (lo, told) = discover(folder.path(), &["--wait", "1500ms", "--interface", "lo"]);
    assert_eq!((lo.code, told["servers"].as_array().unwrap().len()), (1, 0));
    // Both families, where they are.
    let (_, told) = discover(folder.path(), &["--wait", "1500ms", "--interface", "left"]);
    assert_eq!(told["interfaces"][0]["ipv4"], true);
    assert_eq!(told["interfaces"][0]["ipv6"], true);
    let (none, _) = discover(folder.path(), &["--interface", "none"]);
    assert_eq!((none.code, none.out.as_str()), (1, ""));
    assert!(
        none.err
            .contains("an interface none that is up is not there"),
        "{}",
        none.err
    );
}

#[test]
fn garbage_and_lies_on_the_wire_harm_neither_side() {
    if !alone("garbage on a network of its own") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut plant = Server::start(folder.path(), &["--announce"]);
    let wire = UdpSocket::bind("127.0.0.1:0").unwrap();
    let group = ("224.0.0.251", 5353);
    let (done, stop) = std::sync::mpsc::channel::<()>();
    let sending = std::thread::spawn(move || {
        let head = |flags: u8, counts: [u8; 4]| {
            let counts = counts.map(|it| [0, it]).concat();
            [&[0, 0, flags, 0], counts.as_slice()].concat()
        };
        let mut seed = 2026u64;
        let mut sent = 0u64;
        while done_yet(&stop) {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let random = seed.to_be_bytes().repeat(1 + (seed % 60) as usize);
            let packets = [
                Vec::new(),
                random.clone(),
                // Names that point at themselves, counts that are not true, answers that are cut off.
                [head(0, [1, 0, 0, 0]).as_slice(), b"\xc0\x0c\0\x0c\0\x01"].concat(),
                [head(0x84, [0, 255, 255, 255]).as_slice(), &random].concat(),
                [
                    head(0x84, [0, 1, 0, 0]).as_slice(),
                    b"\x0a_opcua-tcp\x04_tcp\x05local\0\0\x0c\0\x01\0\0",
                ]
                .concat(),
                [head(0, [40, 0, 0, 0]).as_slice(), &[0; 400]].concat(),
            ];
            for packet in packets {
                wire.send_to(&packet, group).unwrap();
                sent += 1;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        sent
    });
    let servers = until(folder.path(), &["--wait", "1500ms"], |it| it.len() == 1);
    assert_eq!(servers[0]["by_address"][0], plant.url.as_str());
    let (_, told) = discover(folder.path(), &["--wait", "1500ms"]);
    assert!(told["unreadable"].as_u64().unwrap() > 0, "{told}");
    done.send(()).unwrap();
    assert!(sending.join().unwrap() > 100);
    until(folder.path(), &["--wait", "1500ms"], |it| it.len() == 1);
    assert!(plant.child.try_wait().unwrap().is_none(), "it ended");
}

fn done_yet(stop: &std::sync::mpsc::Receiver<()>) -> bool {
    matches!(stop.try_recv(), Err(std::sync::mpsc::TryRecvError::Empty))
}

#[test]
fn a_name_that_commands_a_terminal_is_shown_without_it() {
    if !alone("a name with a command in it") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    // From the port of multicast DNS, which others have as well.
    let udp = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::DGRAM, None).unwrap();
    udp.set_reuse_address(true).unwrap();
    let any: std::net::SocketAddr = ([127, 0, 0, 1], 5353).into();
    udp.bind(&any.into()).unwrap();
    let wire = UdpSocket::from(udp);
    let record = |name: &[u8], of: u8, data: &[u8]| {
        let len = (data.len() as u16).to_be_bytes();
        [name, &[0, of, 0, 1, 0, 0, 0, 120], &len, data].concat()
    };
    let service = b"\x0a_opcua-tcp\x04_tcp\x05local\0";
    let instance = [b"\x08red\x1b[31m".as_slice(), service].concat();
    let answer = [
        b"\0\0\x84\0\0\0\0\x03\0\0\0\0".to_vec(),
        record(service, 12, &instance),
        record(&instance, 33, b"\0\0\0\0\x12\xe8\x04evil\x05local\0"),
        record(&instance, 16, b"\x0cpath=/a\x1b]0;b\x05caps="),
    ];
    let (done, stop) = std::sync::mpsc::channel::<()>();
    let sending = std::thread::spawn(move || {
        while done_yet(&stop) {
            wire.send_to(&answer.concat(), ("224.0.0.251", 5353))
                .unwrap();
            std::thread::sleep(Duration::from_millis(20));
        }
    });
    let servers = until(folder.path(), &["--wait", "1500ms"], |it| it.len() == 1);
    assert_eq!(servers[0]["name"], "red\u{1b}[31m");
    let shown = Said::by(&mut command(
        folder.path(),
        &["discover", "--lan", "--wait", "1500ms"],
    ));
    done.send(()).unwrap();
    sending.join().unwrap();
    assert_eq!(shown.code, 0, "{}", shown.err);
    assert!(
        shown.out.contains("red [31m") && !shown.out.contains('\u{1b}'),
        "{:?}",
        shown.out
    );
}

#[test]
fn a_server_of_another_implementation_is_found_and_ours_by_it() {
    let name = "multicast DNS of Python's zeroconf";
    let Some(python) = zeroconf(name) else { return };
    if !alone(name) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    // Theirs, by us.
    let mut theirs = Peer::start(
        &python,
        &[
            "announce",
            "Press 7.2",
            "press7",
            "4841",
            "/line4",
            "DA,HD,LDS",
        ],
    );
    let servers = until(folder.path(), &["--wait", "1500ms"], |it| it.len() == 1);
    let server = &servers[0];
    assert_eq!(server["name"], "Press 7.2");
    assert_eq!(server["url"], "opc.tcp://press7.local:4841/line4");
    assert_eq!(texts(&server["capabilities"]), ["DA", "HD", "LDS"]);
    assert_eq!(
        texts(&server["by_address"]),
        ["opc.tcp://127.0.0.1:4841/line4"]
    );
    theirs.end();
    // Ours, by them, from its beginning to its end.
    let mut browsing = Peer::start(&python, &["browse"]);
    let mut plant = Server::start(folder.path(), &["--announce", "--wss", "0"]);
    let mut wss = String::new();
    plant.out.read_line(&mut wss).unwrap();
    let wss = support::ready(&wss).to_owned();
    let mut found = [browsing.says("+ bench."), browsing.says("+ bench.")];
    found.sort_unstable();
    for (found, (kind, url)) in found
        .iter()
        .zip([("_opcua-tcp", &plant.url), ("_opcua-tls", &wss)])
    {
        let port = url.rsplit_once(':').unwrap().1;
        let words: Vec<_> = found.split(' ').collect();
        assert_eq!(words[0], format!("{kind}._tcp.local."), "{found}");
        assert!(words[1].ends_with(".local."), "{found}");
        assert_eq!(words[2..], [port, "127.0.0.1", "caps=DA,path=/"], "{found}");
    }
    plant.signal("TERM");
    assert!(plant.child.wait().unwrap().success());
    let mut gone = [browsing.says("- bench."), browsing.says("- bench.")];
    gone.sort_unstable();
    assert_eq!(gone, ["_opcua-tcp._tcp.local.", "_opcua-tls._tcp.local."]);
    // A name that they have already is not taken from them.
    let _theirs = Peer::start(&python, &["announce", "bench", "theirs", "4842", "/", "DA"]);
    let _plant = Server::start(folder.path(), &["--announce"]);
    let servers = until(folder.path(), &["--wait", "1500ms"], |it| it.len() == 2);
    assert_eq!(named(&servers), ["bench", "bench (2)"]);
    assert_eq!(servers[0]["url"], "opc.tcp://theirs.local:4842");
}

/// Python with zeroconf, in an environment of its own below `target`; without it the test is skipped.
fn zeroconf(test: &str) -> Option<PathBuf> {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/lan");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/zeroconf");
    std::fs::create_dir_all(&folder).unwrap();
    // Tests of this file install it at the same time.
    let lock = std::fs::File::create(folder.join("lock")).unwrap();
    lock.lock().unwrap();
    let python = folder.join("venv/bin/python");
    let wanted = std::fs::read_to_string(tests.join("requirements.txt")).unwrap();
    if std::fs::read_to_string(folder.join("installed")).ok() != Some(wanted.clone()) {
        let made = run(Command::new("python3")
            .args(["-m", "venv"])
            .arg(folder.join("venv")));
        let installed = made.and_then(|()| {
            let pip = [
                "-m",
                "pip",
                "install",
                "--no-input",
                "--disable-pip-version-check",
                "--prefer-binary",
                "-r",
            ];
            run(Command::new(&python)
                .args(pip)
                .arg(tests.join("requirements.txt")))
        });
        if let Err(reason) = installed {
            without::skipped(
                test,
                &reason,
                "apt-get install python3-venv, and a way to PyPI",
            );
            return None;
        }
        std::fs::write(folder.join("installed"), wanted).unwrap();
    }
    Some(python)
}

fn run(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|error| error.to_string())?;
    match output.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&output.stderr)
            .trim()
            .replace('\n', " ")),
    }
}

/// The other implementation while it runs.
struct Peer {
    child: Child,
    out: BufReader<ChildStdout>,
}

impl Peer {
    fn start(python: &Path, words: &[&str]) -> Self {
        let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/lan/peer.py");
        let mut child = Command::new(python)
            .arg(program)
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        let mut peer = Self { child, out };
        peer.says("READY");
        peer
    }

    /// The rest of the next line that begins so.
    fn says(&mut self, what: &str) -> String {
        loop {
            let mut line = String::new();
            assert!(
                self.out.read_line(&mut line).unwrap() > 0,
                "it ended before it said {what:?}"
            );
            if let Some(rest) = line.strip_prefix(what) {
                return rest.trim().to_owned();
            }
        }
    }

    /// Ends it as it wants to be ended.
    fn end(&mut self) {
        drop(self.child.stdin.take());
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
