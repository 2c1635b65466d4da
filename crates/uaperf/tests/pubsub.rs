//! `uaperf publish` and `uaperf listen`, over unicast on the loopback: every message has its place.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::io::{BufRead, BufReader, Read};
use std::net::UdpSocket;
use std::path::Path;
use std::process::{Child, Stdio};

use pubsub::layout::Layout;
use pubsub::template::Template;
use pubsub::{Content, Fields, PublisherId};
use serde_json::Value;
use wire::types::Variant;

use crate::support::network;
use crate::support::{Said, command};

/// A listener that is ready.
struct Listener {
    child: Child,
    url: String,
}

impl Listener {
    fn start(folder: &Path, words: &[&str]) -> Self {
        let free = UdpSocket::bind("127.0.0.1:0").unwrap();
        let url = format!("opc.udp://{}", free.local_addr().unwrap());
        drop(free);
        let mut child = command(folder, &["listen", &url, "--json", "--duration", "20s"])
            .args(words)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let told = child.stderr.take().unwrap();
        BufReader::new(told).read_line(&mut line).unwrap();
        assert!(line.starts_with("listening"), "{line}");
        Self { child, url }
    }

    /// What it said, and its exit code.
    fn end(self) -> (Value, i32) {
        let output = self.child.wait_with_output().unwrap();
        let told = serde_json::from_slice(&output.stdout).unwrap();
        (told, output.status.code().unwrap())
    }

    fn socket(&self) -> UdpSocket {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket
            .connect(self.url.strip_prefix("opc.udp://").unwrap())
            .unwrap();
        socket
    }
}

fn publish(folder: &Path, words: &[&str]) -> Value {
    let said = Said::by(command(folder, &["publish"]).args(words).arg("--json"));
    // 4 where the machine is too busy to be on time, which is no fault of what was sent.
    assert!([0, 4].contains(&said.code), "{}{}", said.out, said.err);
    serde_json::from_str(&said.out).unwrap()
}

/// Keys of two tokens.
fn keys(folder: &Path) -> String {
    let file = folder.join("group.keys");
    let key = |digit: &str| digit.repeat(136);
    let text = format!(
        "# a group\nPubSub-Aes256-CTR 1 {}\nPubSub-Aes256-CTR 2 {}\n",
        key("1"),
        key("2")
    );
    std::fs::write(&file, text).unwrap();
    file.display().to_string()
}

#[test]
fn what_is_published_is_heard_in_every_layout_and_encoding() {
    let folder = tempfile::tempdir().unwrap();
    for layout in ["dynamic", "periodic-fixed"] {
        for (encoding, name) in [
            ("variant", "Variant"),
            ("raw", "RawData"),
            ("value", "DataValue"),
        ] {
            // RawData without names and sizes is one DataSetMessage to a reader.
            let writers = if layout == "dynamic" { 3 } else { 1 };
            let listener =
                Listener::start(folder.path(), &["--datagrams", "40", "--expect", "loss=0"]);
            let words = [
                "--layout",
                layout,
                "--encoding",
                encoding,
                "--signals",
                "10",
            ];
            let more = [
                "--groups",
                "2",
                "--interval",
                "1ms",
                "--cycles",
                "20",
                "--type",
                "double",
                "--dscp",
                "ef",
            ];
            let writers_typed = writers.to_string();
            let words = [
                &words[..],
                &more,
                &[&listener.url, "--writers", &writers_typed],
            ]
            .concat();
            let sent = &publish(folder.path(), &words)["result"];
            assert_eq!(
                (&sent["datagrams"], &sent["cycles"]),
                (&40.into(), &20.into())
            );
            assert_eq!(sent["lateness"]["count"], 20);
            let (told, code) = listener.end();
            let context = format!("{layout} {encoding}: {told}");
            assert_eq!(code, 0, "{context}");
            assert_eq!(told["verdict"], "VALID", "{context}");
            let heard = &told["result"];
            assert_eq!(heard["bytes"], sent["bytes"], "{context}");
            assert_eq!(sent["dscp"], "46", "{context}");
            // Threads have clocks of their own on Linux.
            let cpu = |it: &Value| it["cpu_ns"].as_u64().is_some_and(|ns| ns > 0);
            assert_eq!(
                cpu(sent) && cpu(heard),
                cfg!(target_os = "linux"),
                "{context}"
            );
            let values = if encoding == "raw" {
                0.into()
            } else {
                sent["values"].clone()
            };
            assert_eq!(heard["values"], values, "{context}");
            let streams = heard["streams"].as_array().unwrap();
            // The dynamic layout does not name groups.
            assert_eq!(
                streams.len(),
                if layout == "dynamic" { 1 } else { 2 },
                "{context}"
            );
            let all = streams
                .iter()
                .flat_map(|it| it["writers"].as_array().unwrap());
            for writer in all {
                assert_eq!(writer["encoding"], name, "{context}");
            }
        }
    }
}

/// Cycles as a publisher makes them.
fn cycles(n: usize) -> Vec<Vec<u8>> {
    let id = PublisherId::UInt16(7);
    let fields = Fields::Variant(vec![Variant::Float(0.0); 5]);
    let message = Layout::Dynamic.message(id, 1, 1, [(4, Content::Key(fields))]);
    let mut template = Template::new(&message, &[], None).unwrap();
    let mut out = Vec::new();
    (0..n)
        .map(|_| {
            assert!(template.write(1, &mut out));
            out.clone()
        })
        .collect()
}

#[test]
fn drops_repeats_reordering_and_damage_are_told_exactly() {
    let folder = tempfile::tempdir().unwrap();
    let all = cycles(1000);
    let mut sent = Vec::new();
    let (mut dropped, mut repeated, mut late, mut damaged) = (0, 0, 0, 0);
    let mut n = 0;
    while n < all.len() {
        match n % 50 {
            10 => dropped += 1,
            20 => {
                sent.extend([all[n].clone(), all[n].clone()]);
                repeated += 1;
            }
            30 => {
                sent.extend([all[n + 1].clone(), all[n].clone()]);
                late += 1;
                n += 1;
            }
            40 => {
                let mut cut = all[n].clone();
                cut.truncate(cut.len() - 3);
                sent.push(cut);
                damaged += 1;
            }
            _ => sent.push(all[n].clone()),
        }
        n += 1;
    }
    let count = sent.len().to_string();
    let listener = Listener::start(
        folder.path(),
        &["--datagrams", &count, "--expect", "loss=0"],
    );
    let socket = listener.socket();
    for (n, datagram) in sent.iter().enumerate() {
        socket.send(datagram).unwrap();
        // Few enough that the kernel's usual room for them is never full.
        if n % 10 == 0 {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    }
    let (told, code) = listener.end();
    assert_eq!(code, 3, "loss was not to be: {told}");
    let heard = &told["result"];
    let writer = &heard["streams"][0]["writers"][0];
    assert_eq!(writer["sequence"]["duplicates"], repeated, "{told}");
    assert_eq!(writer["sequence"]["late"], late, "{told}");
    // What was damaged behind the sequence number is no loss of a message, but of its values.
    assert_eq!(writer["sequence"]["lost"], dropped, "{told}");
    let unread: u64 = heard["unread"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["datagrams"].as_u64().unwrap())
        .sum();
    assert_eq!(unread, damaged, "{told}");
    assert_eq!(told["expectations"][0]["met"], false);
}

#[test]
fn secured_messages_are_heard_through_a_change_of_keys_and_not_without_them() {
    let folder = tempfile::tempdir().unwrap();
    let file = keys(folder.path());
    for security in ["sign", "sign-and-encrypt"] {
        let words = ["--datagrams", "60", "--keys", &file, "--security", security];
        let listener = Listener::start(folder.path(), &words);
        let words = ["--keys", &file, "--security", security, "--interval", "2ms"];
        let more = [
            "--cycles",
            "60",
            "--roll-over",
            "40ms",
            "--layout",
            "periodic-fixed",
        ];
        let sent = publish(
            folder.path(),
            &[&words[..], &more, &[&listener.url]].concat(),
        );
        assert_eq!(sent["result"]["roll_overs"], 1, "{sent}");
        let (told, code) = listener.end();
        assert_eq!(code, 0, "{told}");
        let stream = &told["result"]["streams"][0];
        assert_eq!(stream["security"], security, "{told}");
        assert_eq!(stream["sequence"]["lost"], 0, "{told}");
        assert_eq!(told["result"]["unread"], Value::Array(Vec::new()), "{told}");
    }
    let listener = Listener::start(folder.path(), &["--datagrams", "5"]);
    let words = [
        "--keys",
        &file,
        "--security",
        "sign",
        "--cycles",
        "5",
        "--interval",
        "1ms",
    ];
    publish(folder.path(), &[&words[..], &[&listener.url]].concat());
    let (told, code) = listener.end();
    assert_eq!((code, &told["verdict"]), (1, &"FAILED".into()), "{told}");
    let reason = told["result"]["unread"][0]["reason"].as_str().unwrap();
    assert!(reason.contains("no key of SecurityTokenId 1"), "{reason}");
}

#[test]
fn what_cannot_be_is_said_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let wrong = folder.path().join("wrong.keys");
    std::fs::write(&wrong, "PubSub-Aes256-CTR 1 aabb\n").unwrap();
    let wrong = wrong.display().to_string();
    let to = "opc.udp://127.0.0.1:9";
    let frames = "opc.eth://01-00-5e-00-00-01";
    let cases: [(&[&str], i32, &str); 9] = [
        (
            &["listen", "opc.udp://127.0.0.1:0", "--listeners", "2"],
            2,
            "want a group",
        ),
        (
            &["publish", frames, "--dscp", "ef"],
            2,
            "opc.eth://MAC:VID.PCP",
        ),
        (&["publish", to, "--dscp", "af44"], 2, "af11 to af43"),
        (
            &["publish", "opc.tcp://127.0.0.1"],
            2,
            "does not begin with opc.udp://",
        ),
        (&["publish", to, "--security", "sign"], 2, "--keys FILE"),
        (
            &["publish", to, "--keys", &wrong, "--security", "sign"],
            2,
            "a key of 2 bytes",
        ),
        (&["publish", to, "--interval", "0s"], 2, "--max"),
        (&["publish", to, "--signals", "60000"], 1, "UDP takes 65507"),
        (
            &["listen", "opc.udp://203.0.113.1:4840"],
            1,
            "an address of this host",
        ),
    ];
    for (words, code, what) in cases {
        let said = Said::by(&mut command(folder.path(), words));
        assert_eq!(said.code, code, "{words:?}: {}", said.err);
        assert!(said.err.contains(what), "{words:?}: {}", said.err);
        assert!(!said.err.contains("aabb"), "a key is not printed");
    }
    let nothing = ["listen", "opc.udp://127.0.0.1:0", "--duration", "100ms"];
    let said = Said::by(&mut command(folder.path(), &nothing));
    assert_eq!(said.code, 1);
    assert!(
        said.out.starts_with("INCOMPLETE: nothing came"),
        "{}",
        said.out
    );
}

#[test]
fn a_listener_takes_what_the_chosen_send_and_counts_the_rest() {
    let folder = tempfile::tempdir().unwrap();
    let chosen = ["--publisher", "7", "--publisher", "line 4", "--group", "2"];
    let words = [&chosen[..], &["--datagrams", "10", "--expect", "loss=0"]].concat();
    let listener = Listener::start(folder.path(), &words);
    let keys = keys(folder.path());
    let secured = ["--keys", &keys, "--security", "sign-and-encrypt"];
    // Of another publisher, which it has no key for either; and of another group of one that it wants.
    for (publisher, more) in [("5", &secured[..]), ("7", &[]), ("line 4", &[])] {
        let words = ["--publisher", publisher, "--groups", "2", "--cycles", "5"];
        let how = [
            "--layout",
            "periodic-fixed",
            "--interval",
            "1ms",
            &listener.url,
        ];
        publish(folder.path(), &[&words[..], &how, more].concat());
    }
    let (told, code) = listener.end();
    assert_eq!((code, &told["verdict"]), (0, &"VALID".into()), "{told}");
    let heard = &told["result"];
    assert_eq!(
        (&heard["datagrams"], &heard["not_chosen"]),
        (&10.into(), &20.into()),
        "{told}"
    );
    let streams = heard["streams"].as_array().unwrap().iter();
    let mut whose: Vec<_> = streams
        .map(|it| {
            (
                it["publisher_id"].as_str().unwrap(),
                it["writer_group_id"].as_u64(),
            )
        })
        .collect();
    whose.sort_unstable();
    assert_eq!(whose, [("7", Some(2)), ("line 4", Some(2))], "{told}");
}

#[test]
fn listeners_to_a_group_hear_the_same_each_with_its_own_account() {
    let folder = tempfile::tempdir().unwrap();
    let name = "listeners_to_a_group_hear_the_same_each_with_its_own_account";
    let reach = network::group(name, "239.255.7.2", 3);
    let (at, listeners) = (reach.to, reach.listeners.to_string());
    let keys = keys(folder.path());
    let words = [
        "listen",
        &at,
        "--interface",
        "127.0.0.1",
        "--listeners",
        &listeners,
    ];
    let more = ["--datagrams", "50", "--keys", &keys, "--expect", "loss=0"];
    let mut listener = command(folder.path(), &words)
        .args(more)
        .args(["--duration", "60s", "--json", "--out", "heard.json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut said = BufReader::new(listener.stderr.take().unwrap());
    while !line.contains("listening at") {
        line.clear();
        assert!(said.read_line(&mut line).unwrap() > 0, "it ended");
    }
    let security = ["--keys", &keys, "--security", "sign-and-encrypt"];
    let words = [
        &at,
        "--interface",
        "127.0.0.1",
        "--interval",
        "1ms",
        "--cycles",
        "50",
    ];
    let sent = publish(folder.path(), &[&words[..], &security].concat());
    // Routers are passed on the way to a group.
    let ttl = (reach.listeners > 1).then_some(1);
    assert_eq!(sent["result"]["ttl"].as_u64(), ttl, "{sent}");
    let output = listener.wait_with_output().unwrap();
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{told}");
    let heard = &told["result"];
    // A single one has no others.
    let others = heard["others"].as_array().map_or(&[][..], Vec::as_slice);
    assert_eq!(others.len() + 1, reach.listeners as usize, "{heard}");
    for each in others.iter().chain([heard]) {
        assert_eq!(
            (&each["datagrams"], &each["values"]),
            (&50.into(), &5000.into()),
            "{each}"
        );
    }
    let said = Said::by(&mut command(folder.path(), &["show", "heard.json"]));
    for n in 2..=reach.listeners {
        let words = format!("listener {n}: 50 datagrams");
        assert!(said.out.contains(&words), "{}", said.out);
    }
}

/// What came to a socket, as tcpdump would have written it (raw IP, microseconds).
fn capture(socket: &UdpSocket, datagrams: usize) -> Vec<u8> {
    let port = socket.local_addr().unwrap().port();
    let mut file = Vec::new();
    for word in [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65_535, 101] {
        file.extend(word.to_le_bytes());
    }
    let mut buffer = [0; 65_536];
    for n in 0..datagrams {
        let (len, _) = socket.recv_from(&mut buffer).unwrap();
        let mut packet = vec![0x45, 0];
        packet.extend((len as u16 + 28).to_be_bytes());
        packet.extend([0, 0, 0, 0, 64, 17, 0, 0, 127, 0, 0, 1, 127, 0, 0, 1]);
        packet.extend([0x9c, 0x40]);
        packet.extend(port.to_be_bytes());
        packet.extend((len as u16 + 8).to_be_bytes());
        packet.extend([0, 0]);
        packet.extend(&buffer[..len]);
        // A millisecond apart.
        let words = [
            1_800_000_000,
            n as u32 * 1000,
            packet.len() as u32,
            packet.len() as u32,
        ];
        for word in words {
            file.extend(word.to_le_bytes());
        }
        file.extend(packet);
    }
    file
}

#[test]
fn a_capture_is_heard_as_a_socket_is() {
    let home = tempfile::tempdir().unwrap();
    let keys = keys(home.path());
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket
        .set_read_timeout(Some(std::time::Duration::from_secs(20)))
        .unwrap();
    let url = format!("opc.udp://{}", socket.local_addr().unwrap());
    let words = [
        url.as_str(),
        "--interval",
        "5ms",
        "--cycles",
        "50",
        "--signals",
        "20",
        "--keys",
        &keys,
        "--security",
        "sign-and-encrypt",
    ];
    let (sent, file) = std::thread::scope(|scope| {
        let captured = scope.spawn(|| capture(&socket, 50));
        (publish(home.path(), &words), captured.join().unwrap())
    });
    assert_eq!(sent["result"]["cycles"], 50, "{sent}");
    let listen = |file: &[u8], words: &[&str]| {
        std::fs::write(home.path().join("line.pcap"), file).unwrap();
        let all = ["listen", "--pcap", "line.pcap", "--json", "--keys", &keys];
        Said::by(command(home.path(), &all).args(words))
    };
    let said = listen(
        &file,
        &[&url, "--expect", "loss=0", "--security", "sign-and-encrypt"],
    );
    assert_eq!(said.code, 0, "{}{}", said.out, said.err);
    let told: Value = serde_json::from_str(&said.out).unwrap();
    let result = &told["result"];
    assert_eq!(
        (&result["datagrams"], &result["values"]),
        (&50.into(), &1000.into()),
        "{told}"
    );
    assert_eq!(result["elapsed_ns"], 49_000_000, "{told}");
    assert_eq!(result["streams"][0]["security"], "sign-and-encrypt");
    // Nothing of it was sent to 4840, a part of it is lost, and half of it is not all.
    let said = listen(&file, &[]);
    assert_eq!(said.code, 1, "{}{}", said.out, said.err);
    let packet = (file.len() - 24) / 50;
    let gap = [&file[..24 + packet], &file[24 + 2 * packet..]].concat();
    let said = listen(&gap, &[&url, "--expect", "loss=0"]);
    assert_eq!(said.code, 3, "{}{}", said.out, said.err);
    let said = listen(&file[..file.len() - 3], &[&url]);
    let told: Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(
        (said.code, &told["verdict"]),
        (1, &"INCOMPLETE".into()),
        "{told}"
    );
    let said = listen(b"no capture", &[&url]);
    assert_eq!(said.code, 1);
    assert!(
        said.err.contains("--pcap line.pcap: is no capture"),
        "{}",
        said.err
    );
    let said = Said::by(&mut command(
        home.path(),
        &["listen", "--pcap", "nothing.pcap"],
    ));
    assert_eq!(said.code, 1);
    assert!(said.err.contains("cannot read it"), "{}", said.err);
    let said = Said::by(&mut command(home.path(), &["listen"]));
    assert_eq!(said.code, 2, "{}", said.err);
}

#[test]
fn what_was_kept_is_shown_as_it_was() {
    let home = tempfile::tempdir().unwrap();
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let url = format!("opc.udp://{}", socket.local_addr().unwrap());
    let run = |words: &[&str]| Said::by(&mut command(home.path(), words));
    let words = [
        "publish",
        &url,
        "--cycles",
        "3",
        "--interval",
        "1ms",
        "--out",
        "sent.json",
    ];
    let sent = run(&[&words[..], &["--expect", "errors=0"]].concat());
    assert!([0, 4].contains(&sent.code), "{}{}", sent.out, sent.err);
    assert!(sent.out.contains("expect errors=0: met"), "{}", sent.out);
    let shown = run(&["show", "sent.json"]);
    assert_eq!((shown.code, shown.out.trim_end()), (0, sent.out.trim_end()));
    // Two of them, and one among runs; as a table; of a later version.
    let shown = run(&["show", "sent.json", "sent.json"]);
    assert_eq!(
        shown.out.matches("published to").count(),
        2,
        "{}",
        shown.out
    );
    std::fs::write(home.path().join("other.json"), "{}").unwrap();
    let shown = run(&["show", "sent.json", "other.json"]);
    assert!(
        shown.code == 2 && shown.err.contains("other.json"),
        "{}",
        shown.err
    );
    let shown = run(&["show", "sent.json", "--csv", "x.csv"]);
    assert!(
        shown.code == 2 && shown.err.contains("screen only"),
        "{}",
        shown.err
    );
    let file = home.path().join("sent.json");
    let later = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, later.replace("\"version\": 1,", "\"version\": 2,")).unwrap();
    let shown = run(&["show", "sent.json"]);
    assert!(
        shown.code == 1 && shown.err.contains("newer uaperf"),
        "{}",
        shown.err
    );
    // A place that takes no file is said before anything is sent.
    let refused = run(&["publish", &url, "--out", "other.json/x.json"]);
    assert_eq!(refused.code, 1, "{}", refused.err);
    assert!(
        refused
            .err
            .contains("--out other.json/x.json: cannot be written"),
        "{}",
        refused.err
    );
}

/// What both commands tell while they run, where there is no terminal: a line each second.
#[test]
fn who_publishes_and_who_listens_tells_each_second_what_was_so_far() {
    let folder = tempfile::tempdir().unwrap();
    let free = UdpSocket::bind("127.0.0.1:0").unwrap();
    let url = format!("opc.udp://{}", free.local_addr().unwrap());
    drop(free);
    let live = |name: &str| folder.path().join(name).display().to_string();
    let (heard, sent) = (live("heard.jsonl"), live("sent.jsonl"));
    let words = ["listen", &url, "--duration", "7s", "--live-file", &heard];
    let mut listener = command(folder.path(), &words)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A datagram that nobody waits for is refused, and not sent.
    let mut said = BufReader::new(listener.stderr.take().unwrap());
    let mut told = String::new();
    while !told.contains("listening at") {
        assert!(said.read_line(&mut told).unwrap() > 0, "{told}");
    }
    let words = ["publish", &url, "--interval", "5ms", "--signals", "10"];
    let more = ["--duration", "3s", "--live-file", &sent];
    let publisher = Said::by(command(folder.path(), &words).args(more));
    said.read_to_string(&mut told).unwrap();
    listener.wait().unwrap();
    let lines = |text: &str, word: &str| {
        let with = text.lines().filter(|it| it.contains(word));
        with.map(str::to_owned).collect::<Vec<_>>()
    };
    // The last second may end before its line.
    let of_publisher = lines(&publisher.err, "refused");
    assert!(of_publisher.len() >= 2, "{}", publisher.err);
    assert!(of_publisher[1].contains("/s values"), "{of_publisher:?}");
    assert!(of_publisher[1].contains("late mean"), "{of_publisher:?}");
    let of_listener = lines(&told, "lost");
    assert!(of_listener.len() >= 3, "{told}");
    assert!(of_listener[1].contains("delay mean"), "{of_listener:?}");
    let totals = |file: &str| {
        let text = std::fs::read_to_string(file).unwrap();
        let lines = text.lines().map(serde_json::from_str);
        let lines: Vec<Value> = lines.map(Result::unwrap).collect();
        let values = lines.iter().filter_map(|it| it["values"].as_u64());
        let total = |name: &str| lines.last().and_then(|it| it[name].as_u64());
        (
            total("total_messages"),
            total("total_notified"),
            values.sum(),
        )
    };
    assert_eq!(totals(&sent), (Some(600), Some(6_000), 6_000u64));
    assert_eq!(totals(&heard), (Some(600), Some(6_000), 6_000));
    let quiet = ["publish", &url, "--duration", "1500ms", "--quiet"];
    let said = Said::by(&mut command(folder.path(), &quiet));
    assert_eq!(lines(&said.err, "values"), Vec::<String>::new());
}
