//! A plant that publishes: the same counters over PubSub as for clients.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on has failed"
)]

use std::net::UdpSocket;
use std::path::Path;
use std::time::{Duration, Instant};

use pubsub::discovery::{Announced, Asks, Probe};
use pubsub::reader::{Part, Reader};
use pubsub::security::{GroupKeys, KeyRing, Mode, PubSubPolicy};
use pubsub::view::Known;
use pubsub::{PublisherId, Tolerance, View};
use record::Run;
use record::run::Kind;

use crate::support;
use crate::support::{Said, Server, command};

/// Signals that count each 20 ms: 30 UInt32 and 10 Doubles.
const PLANT: &str = "\
    [[namespace]]\nuri = 'urn:line'\n\
    [[namespace.signals]]\ncount = 30\nname = 'A{n}'\ntype = 'UInt32'\npattern = 'counter'\nupdate = '20ms'\n\
    [[namespace.signals]]\ncount = 10\nname = 'B{n}'\ntype = 'Double'\npattern = 'counter'\nupdate = '20ms'\nstored = true\n";

fn socket() -> (UdpSocket, String) {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket
        .set_read_timeout(Some(Duration::from_secs(10)))
        .unwrap();
    let url = format!("opc.udp://{}", socket.local_addr().unwrap());
    (socket, url)
}

/// A server of a plant file, its certificates beside it.
fn serve(folder: &Path, plant: &str, words: &[&str]) -> Server {
    let file = folder.join("line.toml");
    std::fs::write(&file, plant).unwrap();
    let file = file.display().to_string();
    let words: Vec<&str> = [file.as_str()]
        .into_iter()
        .chain(words.iter().copied())
        .collect();
    Server::start(&folder.join("server"), &words)
}

/// All numbers of the next message: the UInt32 ones, then the Doubles.
fn numbers(socket: &UdpSocket) -> (Vec<u32>, Vec<f64>) {
    let mut buffer = [0; 4096];
    let len = socket.recv(&mut buffer).unwrap();
    let view = View::parse(&buffer[..len], Tolerance::NONE).unwrap();
    let mut reader = Reader::default();
    let (mut whole, mut real) = (Vec::new(), Vec::new());
    for set in view.messages(Known::default()).unwrap() {
        let set = set.unwrap();
        // The first visit learns what the fields look like.
        reader.visit(&set, |_| ()).unwrap();
        let each = |part: Part<'_>| {
            if let Part::Run(run) = part
                && !run.each(|it: [u8; 4]| whole.push(u32::from_le_bytes(it)))
            {
                assert!(run.each(|it: [u8; 8]| real.push(f64::from_le_bytes(it))));
            }
        };
        reader.visit(&set, each).unwrap();
    }
    (whole, real)
}

#[test]
fn a_plant_publishes_its_counters_as_they_are_at_each_moment() {
    let folder = tempfile::tempdir().unwrap();
    let (socket, url) = socket();
    let plant = format!("{PLANT}[[publish]]\nto = '{url}'\ninterval = '100ms'\npublisher = 7\n");
    let server = serve(folder.path(), &plant, &[]);
    let first = numbers(&socket);
    let mut last = first.clone();
    for _ in 0..5 {
        let next = numbers(&socket);
        assert_eq!((next.0.len(), next.1.len()), (30, 10));
        // One moment for all of them.
        assert!(next.0.iter().all(|it| *it == next.0[0]), "{next:?}");
        assert!(next.0[0] >= last.0[0] && next.1[0] >= last.1[0]);
        last = next;
    }
    // Five updates between two messages; a message that was late makes up for it.
    let steps = last.0[0] - first.0[0];
    assert!((20..=100).contains(&steps), "{steps}");
    // What is stored is written by a loop, and there a moment later.
    assert!((f64::from(last.0[0]) - last.1[0]).abs() <= 20.0, "{last:?}");
    // Clients are served the same meanwhile.
    let node = "nsu=urn:line;s=A1";
    let words = [
        "read",
        &server.url,
        "-n",
        node,
        "--requests",
        "1",
        "--out",
        "read.json",
    ];
    let said = Said::by(&mut command(folder.path(), &words));
    // One request is over before a busy machine gives its client a turn.
    assert!([0, 4].contains(&said.code), "{}{}", said.out, said.err);
}

#[test]
fn a_scenario_listens_to_the_plant_that_it_starts_and_watches_its_cpu() {
    let folder = tempfile::tempdir().unwrap();
    let (socket, url) = socket();
    drop(socket);
    std::fs::write(folder.path().join("line.toml"), PLANT).unwrap();
    let scenario = format!(
        "[start]\nplant = 'line.toml'\npublish = '{url}'\npublish_interval = '20ms'\n\
         [[phase]]\nservice = 'listen'\nfrom = '{url}'\nduration = '600ms'\nexpect = ['loss=0']\n"
    );
    std::fs::write(folder.path().join("x.toml"), scenario).unwrap();
    let words = ["run", "x.toml", "--out", "out", "--quiet"];
    let said = Said::by(&mut command(folder.path(), &words));
    let context = format!("{}{}", said.out, said.err);
    assert!([0, 4].contains(&said.code), "{context}");
    let run = Run::read(&folder.path().join("out/001-point1-1.json")).unwrap();
    // A busy machine may keep the listener from its socket.
    let kinds = [Kind::Valid, Kind::GeneratorLimited];
    assert!(kinds.contains(&run.verdict.kind), "{context}");
    let phase = &run.phases[0];
    let heard = &phase.pubsub.as_ref().unwrap().listeners[0];
    assert_eq!(heard.values, 40 * heard.datagrams, "{heard:?}");
    assert!(heard.datagrams >= 15, "{heard:?}");
    assert!(phase.resources.iter().any(|it| it.who == "server"));
}

#[test]
fn listeners_of_one_group_take_each_their_own_of_several_publishers() {
    let folder = tempfile::tempdir().unwrap();
    let (socket, url) = socket();
    drop(socket);
    let group = url.replace("127.0.0.1", "239.255.66.10");
    std::fs::write(folder.path().join("line.toml"), PLANT).unwrap();
    let phase = |name, more| {
        format!(
            "[[phase]]\nname = '{name}'\nservice = 'listen'\ngroup = 'needs'\nfrom = '{group}'\ninterface = '127.0.0.1'\n{more}"
        )
    };
    let scenario = format!(
        "[start]\nplant = 'line.toml'\ncount = 3\npublish = '{group}'\npublish_interface = '127.0.0.1'\npublish_interval = '20ms'\n\
         [group.needs]\nduration = '3s'\n{}{}{}",
        phase("two", "publishers = ['2']\n"),
        phase("two-and-three", "publishers = ['2', '3']\n"),
        phase("all", "")
    );
    std::fs::write(folder.path().join("x.toml"), scenario).unwrap();
    let words = ["run", "x.toml", "--out", "out", "--quiet"];
    let said = Said::by(&mut command(folder.path(), &words));
    let context = format!("{}{}", said.out, said.err);
    assert!([0, 4].contains(&said.code), "{context}");
    let run = Run::read(&folder.path().join("out/001-point1-1.json")).unwrap();
    let taken = run.phases.iter().map(|phase| {
        let heard = &phase.pubsub.as_ref().unwrap().listeners[0];
        (phase.name.as_str(), heard.streams)
    });
    let expected = [("two", 1), ("two-and-three", 2), ("all", 3)];
    assert_eq!(taken.collect::<Vec<_>>(), expected, "{context}");
}

#[cfg(target_os = "linux")]
#[test]
fn datagrams_of_a_plant_say_which_class_of_traffic_they_are_of() {
    use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg};
    use std::os::fd::AsRawFd;

    let folder = tempfile::tempdir().unwrap();
    let (socket, url) = socket();
    socket2::SockRef::from(&socket)
        .set_recv_tos_v4(true)
        .unwrap();
    let plant =
        format!("{PLANT}[[publish]]\nto = '{url}'\ninterval = '20ms'\ndscp = 'af31'\nttl = 4\n");
    let typed = [
        "--publish",
        &url,
        "--publish-interval",
        "20ms",
        "--publish-dscp",
        "26",
    ];
    for words in [&[][..], &typed] {
        let _server = serve(folder.path(), &plant, words);
        let mut came = [0; 4096];
        let mut into = [std::io::IoSliceMut::new(&mut came)];
        let mut more = nix::cmsg_space!(u8);
        let flags = MsgFlags::empty();
        let told = recvmsg::<()>(socket.as_raw_fd(), &mut into, Some(&mut more), flags).unwrap();
        let mut classes = told.cmsgs().unwrap();
        let class = classes.find_map(|it| match it {
            ControlMessageOwned::Ipv4Tos(class) => Some(class),
            _ => None,
        });
        assert_eq!(class, Some(26 << 2), "{words:?}");
    }
}

#[test]
fn what_cannot_be_published_is_said_before_anything_is_served() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("line.toml");
    for (text, told) in [
        ("[[publish]]\nto = 'udp://127.0.0.1:4840'\n", "line 17"),
        (
            "[[publish]]\nto = 'opc.udp://127.0.0.1:4840'\nencoding = 'json'\n",
            "want variant or raw",
        ),
        (
            "[[publish]]\nto = 'opc.udp://127.0.0.1:4840'\ninterval = '0s'\n",
            "want more than nothing",
        ),
        (
            "[[publish]]\nto = 'opc.udp://nowhere.invalid:4840'\n",
            "is no host or port",
        ),
        (
            "[[publish]]\nto = 'opc.udp://127.0.0.1:4840'\ndscp = 64\n",
            "\"64\" is no DSCP",
        ),
        (
            "[[publish]]\nto = 'mqtt://127.0.0.1'\ndscp = 'ef'\n",
            "it is of datagrams over UDP",
        ),
    ] {
        std::fs::write(&file, format!("{PLANT}{text}")).unwrap();
        let words = ["serve", "line.toml", "--port", "0"];
        let said = Said::by(&mut command(folder.path(), &words));
        assert!(
            [1, 2].contains(&said.code),
            "{text}: {}{}",
            said.out,
            said.err
        );
        assert!(!said.out.contains("READY"), "{text}: {}", said.out);
        assert!(said.err.contains(told), "{text}: {}", said.err);
    }
    // Nothing that changes.
    let still = "[[namespace]]\nuri = 'urn:line'\n\
        [[namespace.signals]]\ncount = 3\nname = 'A{n}'\ntype = 'UInt32'\npattern = { constant = 1 }\n";
    std::fs::write(&file, still).unwrap();
    let words = [
        "serve",
        "line.toml",
        "--port",
        "0",
        "--publish",
        "opc.udp://127.0.0.1:4840",
    ];
    let said = Said::by(&mut command(folder.path(), &words));
    assert_eq!(said.code, 2, "{}", said.err);
    assert!(said.err.contains("no signals that move"), "{}", said.err);
}

fn free() -> String {
    let (socket, url) = socket();
    drop(socket);
    url
}

#[test]
fn a_listener_asks_a_plant_what_it_publishes_and_reads_raw_data_by_it() {
    let folder = tempfile::tempdir().unwrap();
    let (to, discovery) = (free(), free());
    let words = ["--publish", &to, "--publish-interval", "20ms"];
    let more = [
        "--publish-encoding",
        "raw",
        "--publish-discovery",
        &discovery,
    ];
    let server = serve(folder.path(), PLANT, &[words, more].concat());
    let listen = |more: &[&str]| {
        let words = ["listen", &to, "--json", "--duration"];
        let said = Said::by(command(folder.path(), &words).args(more));
        assert_eq!(said.code, 0, "{}{}", said.out, said.err);
        let told: serde_json::Value = serde_json::from_str(&said.out).unwrap();
        told.pointer("/result").unwrap().clone()
    };
    let number = |of: &serde_json::Value, path: &str| of.pointer(path).unwrap().as_u64().unwrap();
    let alone = listen(&["200ms"]);
    assert_eq!(number(&alone, "/values"), 0, "{alone:#}");
    let told = listen(&["2s", "--discovery", &discovery]);
    // Metadata, the group and its writer, endpoints.
    assert!(number(&told, "/discovery") >= 3, "{told:#}");
    let values = number(&told, "/values");
    assert!(values > 0 && values % 40 == 0, "{told:#}");
    let stream = told.pointer("/streams/0").unwrap();
    assert_eq!(stream["writers"][0]["data_set"]["name"], "DataSet1");
    assert_eq!(stream["writers"][0]["data_set"]["fields"], 40);
    assert_eq!(stream["writers"][0]["name"], "Writer1");
    assert_eq!(stream["writer_group_name"], "WriterGroup1");
    assert_eq!(stream["interval_ms"], 20.0);
    assert_eq!(stream["endpoints"][0], server.url.as_str());
    assert_eq!(number(stream, "/datagrams"), number(&told, "/datagrams"));
}

#[test]
fn a_publisher_answers_probes_for_it_once_in_half_a_second_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let discovery = free();
    let key = format!("PubSub-Aes256-CTR 1 {}\n", "07".repeat(68));
    std::fs::write(folder.path().join("group.keys"), &key).unwrap();
    let words = [
        "publish",
        "opc.udp://127.0.0.1:9",
        "--discovery",
        &discovery,
    ];
    let secured = ["--security", "sign-and-encrypt", "--keys", "group.keys"];
    let load = [
        "--signals",
        "3",
        "--duration",
        "4s",
        "--json",
        "--publisher",
        "7",
    ];
    let publisher = command(folder.path(), &words)
        .args(secured)
        .args(load)
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let (asker, _) = socket();
    asker
        .connect(discovery.trim_start_matches("opc.udp://"))
        .unwrap();
    asker
        .set_read_timeout(Some(Duration::from_millis(100)))
        .unwrap();
    let probe = |publisher: u16| {
        let mut bytes = Vec::new();
        let asks = Asks::MetaData(vec![1, 500]);
        let publisher = PublisherId::UInt16(publisher);
        Probe { asks }.encode(&publisher, None, &mut bytes).unwrap();
        // It may not be there yet.
        let _ = asker.send(&bytes);
    };
    let mut ring = KeyRing::new(Some(Mode::SignAndEncrypt), Tolerance::NONE);
    let keys = GroupKeys::new(PubSubPolicy::Aes256Ctr, &[7; 68]).unwrap();
    ring.insert(1, keys);
    // What it tells of which writer, and whether it can.
    let mut told = || {
        let mut buffer = [0; 2000];
        let len = asker.recv(&mut buffer).ok()?;
        let bytes = &mut buffer[..len];
        let opened = ring.open(bytes).unwrap();
        let view = View::parse_opened(bytes, opened, Tolerance::NONE).unwrap();
        match view.announcement().unwrap().unwrap().told {
            Announced::MetaData {
                writer_id,
                metadata,
                status,
            } => Some((writer_id, metadata.fields.len(), status)),
            other => panic!("{other:?}"),
        }
    };
    let since = Instant::now();
    let first = loop {
        probe(7);
        if let Some(first) = told() {
            break first;
        }
        assert!(since.elapsed() < Duration::from_secs(20), "no answer");
    };
    let answered = Instant::now();
    assert_eq!(first, (1, 3, 0));
    // The other writer is none of its own.
    let other = loop {
        if let Some(other) = told() {
            break other;
        }
        assert!(since.elapsed() < Duration::from_secs(20), "no answer");
    };
    assert_eq!(other, (500, 0, 0x803E_0000));
    // Whatever else comes is not for it.
    probe(8);
    asker.send(&[0x91, 0x91, 4, 7]).unwrap();
    asker.send(b"garbage").unwrap();
    // Asked twice again, and answered once, when it may be.
    probe(7);
    probe(7);
    let again = loop {
        match told() {
            Some((1, ..)) => break answered.elapsed(),
            Some(_) => {}
            None => assert!(since.elapsed() < Duration::from_secs(30), "no answer"),
        }
    };
    assert!(again >= Duration::from_millis(400), "{again:?}");
    let output = publisher.wait_with_output().unwrap();
    let said: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let asked = said.pointer("/result/discovery").unwrap();
    assert!(asked["probes"].as_u64().unwrap() >= 3, "{asked}");
    assert_eq!(asked["others"], 3, "{asked}");
}

#[test]
fn a_server_says_what_it_publishes_and_a_listener_finds_it_with_the_keys() {
    let folder = tempfile::tempdir().unwrap();
    let (taken, url) = socket();
    drop(taken);
    let plant = format!(
        "{PLANT}[[security_group]]\nid = 'line'\nlifetime = '200ms'\n\
         [[publish]]\nto = '{url}'\ninterval = '20ms'\npublisher = 7\nencoding = 'raw'\nsecurity_group = 'line'\n"
    );
    let server = serve(folder.path(), &plant, &["--trust"]);
    let words = [
        "listen",
        &server.url,
        "--trust",
        "--datagrams",
        "40",
        "--expect",
        "loss=0",
    ];
    let words = [&words[..], &["--out", "heard.json"]].concat();
    let said = Said::by(&mut command(folder.path(), &words));
    assert_eq!(said.code, 0, "{}{}", said.out, said.err);
    assert!(
        said.out
            .contains("writer 1 (Writer1): DataSet1 of 40 fields, RawData"),
        "{}",
        said.out
    );
    let text = std::fs::read(folder.path().join("heard.json")).unwrap();
    let told: serde_json::Value = serde_json::from_slice(&text).unwrap();
    let heard = &told["result"];
    // RawData has values only for who knows what it is.
    assert_eq!(heard["values"], 40 * 40, "{heard}");
    assert_eq!(
        heard["streams"][0]["security"], "sign-and-encrypt",
        "{heard}"
    );
    assert!(
        heard["keys"]["tokens"].as_array().unwrap().len() >= 3,
        "{heard}"
    );
    let connection = &heard["server"][0];
    assert_eq!(connection["url"], url.as_str(), "{connection}");
    assert_eq!(connection["publisher_id"], "7", "{connection}");
    assert_eq!(connection["state"], "Operational", "{connection}");
    let group = &connection["groups"][0];
    assert_eq!(
        (&group["id"], &group["interval_ms"]),
        (&1.into(), &20.0.into()),
        "{group}"
    );
    assert_eq!(group["security_group"], "line", "{group}");
    // It has sent more since it was first asked.
    let said = Said::by(&mut command(folder.path(), &words));
    assert_eq!(said.code, 0, "{}{}", said.out, said.err);
    let text = std::fs::read(folder.path().join("heard.json")).unwrap();
    let later: serde_json::Value = serde_json::from_slice(&text).unwrap();
    let sent = |told: &serde_json::Value| {
        let group = &told["result"]["server"][0]["groups"][0];
        group["sent"].as_u64().unwrap()
    };
    assert!(sent(&later) >= sent(&told) + 39, "{later}");

    let alone = Server::start(&folder.path().join("server"), &["--trust"]);
    let said = Said::by(&mut command(
        folder.path(),
        &["listen", &alone.url, "--trust"],
    ));
    assert_eq!(said.code, 1, "{}", said.err);
    assert!(
        said.err.contains("publishes nothing that it tells of"),
        "{}",
        said.err
    );
}

/// Hits of the faults that a plant had, in the order in which they were given, once it has ended.
fn hits(mut server: Server, ledger: &Path) -> Vec<u64> {
    server.signal("TERM");
    server.child.wait().unwrap();
    let told = support::json(ledger);
    let faults = told["faults"].as_array().unwrap();
    faults
        .iter()
        .map(|it| it["hits"].as_u64().unwrap())
        .collect()
}

/// What a listener says of the only writer that it heard, and of what it could not read.
fn only(told: &serde_json::Value) -> (&serde_json::Value, u64) {
    let result = &told["result"];
    let streams = result["streams"].as_array().unwrap();
    assert_eq!(streams.len(), 1, "{result}");
    let unread = result["unread"].as_array().unwrap();
    let unread = unread.iter().map(|it| it["datagrams"].as_u64().unwrap());
    (&streams[0]["writers"][0]["sequence"], unread.sum())
}

#[test]
fn what_a_plant_does_to_its_datagrams_is_what_a_listener_finds() {
    let folder = tempfile::tempdir().unwrap();
    let url = free();
    let words = [
        "listen",
        &url,
        "--duration",
        "8s",
        "--json",
        "--out",
        "heard.json",
    ];
    let listener = command(folder.path(), &words)
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    // One after the other, so that each datagram has one of them at most.
    let windows = [
        ("drop", "1s"),
        ("corrupt", "1500ms"),
        ("repeat", "2s"),
        ("reorder", "2500ms"),
        ("delay=100ms", "3s"),
    ];
    let faults: Vec<String> = windows
        .iter()
        .map(|(effect, after)| {
            format!("--fault={effect},on=datagram,every=4,after={after},for=400ms")
        })
        .collect();
    let ledger = folder.path().join("ledger.json");
    let kept = ledger.display().to_string();
    let words = [
        "--publish",
        &url,
        "--publish-interval",
        "5ms",
        "--ledger",
        &kept,
    ];
    let faults = faults.iter().map(String::as_str);
    let words: Vec<&str> = words.into_iter().chain(faults).collect();
    let server = serve(folder.path(), PLANT, &words);
    std::thread::sleep(Duration::from_secs(4));
    let hits = hits(server, &ledger);
    let heard = listener.wait_with_output().unwrap();
    let told: serde_json::Value = serde_json::from_slice(&heard.stdout).unwrap();
    let (counted, unread) = only(&told);
    let [drop, corrupt, repeat, reorder, delay] = hits[..] else {
        panic!("{hits:?}");
    };
    // A machine that stood still may have missed one of the windows.
    assert!(hits.iter().sum::<u64>() > 20, "{hits:?}");
    assert_eq!(unread, corrupt, "{told}");
    assert_eq!(counted["lost"], drop + corrupt, "{hits:?} {told}");
    assert_eq!(counted["duplicates"], repeat, "{hits:?} {told}");
    assert_eq!(counted["late"], reorder + delay, "{hits:?} {told}");
    // Each value of the plant has its place.
    let account = |words: &[&str]| {
        let words = [&["pubsub", "account", "ledger.json", "heard.json"], words].concat();
        Said::by(&mut command(folder.path(), &words))
    };
    let said = account(&["--json"]);
    let told: serde_json::Value = serde_json::from_str(&said.out).unwrap();
    let places = &told["listeners"][0];
    let values = |name: &str| places[name].as_u64().unwrap();
    for (name, messages) in [
        ("kept_back", drop),
        ("unread", corrupt),
        ("repeated", repeat),
        ("late", reorder + delay),
        ("refused", 0),
        ("in_socket", 0),
        ("on_the_way", 0),
        ("outside", 0),
    ] {
        assert_eq!(values(name), 40 * messages, "{name}: {hits:?} {told:#}");
    }
    let all = ["kept_back", "unread", "late", "delivered"].map(values);
    assert_eq!(all.iter().sum::<u64>(), values("due"), "{told:#}");
    assert_eq!(told["publisher"], "1");
    let said = account(&[]);
    assert!(said.out.contains("kept back on purpose"), "{}", said.out);
    // Who began to listen later than it published has no account of another time.
    for (words, told) in [
        (
            &["pubsub", "account", "heard.json", "heard.json"][..],
            "neither a ledger",
        ),
        (
            &["pubsub", "account", "ledger.json", "ledger.json"],
            "no result of a listener",
        ),
        (
            &[
                "pubsub",
                "account",
                "ledger.json",
                "heard.json",
                "--publisher",
                "7",
            ],
            "no such publisher; it has 1",
        ),
        (
            &["pubsub", "account", "none.json", "heard.json"],
            "No such file",
        ),
    ] {
        let said = Said::by(&mut command(folder.path(), words));
        assert_eq!(said.code, 2, "{words:?}: {}", said.err);
        assert!(said.err.contains(told), "{words:?}: {}", said.err);
    }
}

#[test]
fn a_datagram_that_is_signed_with_another_key_is_refused_and_missed() {
    let folder = tempfile::tempdir().unwrap();
    let url = free();
    let plant = format!(
        "{PLANT}[[security_group]]\nid = 'line'\n\
         [[publish]]\nto = '{url}'\ninterval = '10ms'\nsecurity_group = 'line'\n"
    );
    let ledger = folder.path().join("ledger.json");
    let kept = ledger.display().to_string();
    let fault = "wrong_key,on=datagram,every=5,after=5s,for=1s";
    let words = ["--trust", "--ledger", &kept, "--fault", fault];
    let server = serve(folder.path(), &plant, &words);
    let words = [
        "listen",
        &server.url,
        "--trust",
        "--json",
        "--duration",
        "8s",
    ];
    let said = Said::by(&mut command(folder.path(), &words));
    let told: serde_json::Value = serde_json::from_str(&said.out).unwrap();
    let hits = hits(server, &ledger)[0];
    let (counted, unread) = only(&told);
    assert!(hits > 2, "{}", said.err);
    assert_eq!(
        (counted["lost"].as_u64(), unread),
        (Some(hits), hits),
        "{told}"
    );
}
