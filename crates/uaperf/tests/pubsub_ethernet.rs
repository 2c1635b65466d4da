//! `uaperf publish` and `uaperf listen` in Ethernet frames, over a cable between two interfaces of a network of their own.

#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on has failed"
)]

use std::io::{BufRead, BufReader, Read};
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use pubsub::{Tolerance, View};
use record::Run;
use record::sweep::Sweep;
use serde_json::Value;
use socket2::{Domain, Protocol, Socket, Type};

use crate::support::network;
use crate::support::{Said, Server, command};

/// Moves this thread, and what it starts from now on, to a network namespace with a cable from `left` to `right`; false where
/// this user may not, which is said.
fn cable() -> bool {
    let skipped = |reason: &str, command: &str| {
        without::skipped("PubSub over Ethernet", reason, command);
        false
    };
    let laid = network::own().and_then(|()| {
        network::ip("link add left type veth peer name right")?;
        network::ip("link set left up")?;
        network::ip("link set right up")
    });
    if let Err(it) = laid {
        return skipped(&it.reason, it.command);
    }
    true
}

/// A listener that is ready.
fn listen(folder: &Path, duration: &str, words: &[&str]) -> Child {
    let mut child = command(folder, &["listen", "--json", "--duration", duration])
        .args(words)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let told = child.stderr.take().unwrap();
    BufReader::new(told).read_line(&mut line).unwrap();
    assert!(line.starts_with("listening"), "{line}");
    child
}

fn end(child: Child) -> Value {
    let output = child.wait_with_output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap()
}

fn publish(folder: &Path, words: &[&str]) -> Value {
    let said = Said::by(command(folder, &["publish", "--json"]).args(words));
    // 4 where the machine is too busy to be on time, which is no fault of what was sent.
    assert!([0, 4].contains(&said.code), "{}{}", said.out, said.err);
    serde_json::from_str(&said.out).unwrap()
}

/// A socket of the test's own that sees what an interface sends and receives.
fn eyes(interface: &str) -> Socket {
    let all = Protocol::from(i32::from(3u16.to_be()));
    let socket = Socket::new(Domain::PACKET, Type::RAW, Some(all)).unwrap();
    let mut cards = nix::ifaddrs::getifaddrs().unwrap();
    let card = cards.find(|it| {
        it.interface_name == interface && it.address.is_some_and(|it| it.as_link_addr().is_some())
    });
    let address = card.unwrap().address.unwrap();
    nix::sys::socket::bind(socket.as_raw_fd(), address.as_link_addr().unwrap()).unwrap();
    socket
        .set_read_timeout(Some(Duration::from_secs(10)))
        .unwrap();
    socket
}

const MANY: &[&str] = &["--signals", "10", "--groups", "2", "--interval", "1ms"];

#[test]
fn frames_come_whole_with_their_vlan_stamps_and_delays() {
    if !cable() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for (sent_to, heard_at, vlan, priority) in [
        ("01-00-5e-00-00-01", "right", None, None),
        ("01-00-5e-00-00-01:5.3", "right", Some(5), Some(3)),
        ("01-00-5e-00-00-01:5", "right:5", Some(5), Some(0)),
        (
            "01-00-5e-00-00-01:4094.7",
            "01-00-5e-00-00-01:4094.7",
            Some(4094),
            Some(7),
        ),
        ("02-00-00-00-00-77", "02-00-00-00-00-77", None, None),
    ] {
        let url = format!("opc.eth://{heard_at}");
        let listener = listen(
            folder,
            "20s",
            &[
                &url,
                "--interface",
                "right",
                "--datagrams",
                "80",
                "--expect",
                "loss=0",
            ],
        );
        // What others are sent is not heard.
        for other in ["01-00-5e-00-00-01:6.3", "02-00-00-00-00-78"] {
            if heard_at != "right" {
                let to = format!("opc.eth://{other}");
                publish(
                    folder,
                    &[&[&to, "--interface", "left", "--cycles", "3"], MANY].concat(),
                );
            }
        }
        let to = format!("opc.eth://{sent_to}");
        let words = [&[&to, "--interface", "left", "--cycles", "40"], MANY].concat();
        let sent = &publish(folder, &words)["result"];
        assert_eq!(sent["datagrams"], 80, "{sent}");
        let told = end(listener);
        assert_eq!(told["verdict"], "VALID", "{sent_to}: {told:#}");
        let heard = &told["result"];
        assert_eq!(heard["values"], sent["values"], "{heard:#}");
        assert_eq!(heard["bytes"], sent["bytes"], "{heard:#}");
        assert_eq!(
            (&heard["socket_drops"], &heard["kernel_stamps"]),
            (&0.into(), &true.into())
        );
        let stream = &heard["streams"][0];
        assert_eq!(stream["vlan"].as_u64(), vlan, "{stream:#}");
        assert_eq!(stream["priority"].as_u64(), priority, "{stream:#}");
        assert_eq!(stream["source"].as_str().unwrap().len(), 17);
        // The other interface is of this host, and has its clock.
        assert_eq!(stream["delay"]["same-clock"]["count"], 80, "{stream:#}");
    }
}

#[test]
fn frames_that_nobody_read_in_time_are_counted_by_the_socket_to_the_last() {
    if !cable() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let words = ["opc.eth://right", "--receive-buffer", "1KiB"];
    let listener = listen(folder, "4s", &words);
    let to = "opc.eth://01-00-5e-00-00-01";
    // Fewer than may wait between the interfaces.
    let words = [to, "--interface", "left", "--max", "--cycles", "900"];
    let sent = &publish(folder, &words)["result"];
    assert_eq!(sent["datagrams"], 900, "{sent:#}");
    let told = end(listener);
    let heard = &told["result"];
    let (came, dropped) = (&heard["datagrams"], &heard["socket_drops"]);
    let (came, dropped) = (came.as_u64().unwrap(), dropped.as_u64().unwrap());
    assert!(dropped > 0, "{heard:#}");
    assert_eq!(came + dropped, 900, "{heard:#}");
    assert_eq!(told["verdict"], "GENERATOR-LIMITED", "{told:#}");
}

#[test]
fn a_frame_is_what_part_14_has_and_a_capture_of_it_is_read() {
    if !cable() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let mut eyes = eyes("left");
    let mut capture = Vec::new();
    for word in [0xa1b2_c3d4u32, 0x0004_0002, 0, 0, 65_535, 1] {
        capture.extend(word.to_le_bytes());
    }
    for (tag, head) in [
        ("", vec![0xb6, 0x2c]),
        (":291.5", vec![0x81, 0, 0xa1, 0x23, 0xb6, 0x2c]),
    ] {
        let to = format!("opc.eth://01-00-5e-00-00-01{tag}");
        let words = ["--interface", "left", "--cycles", "1", "--signals", "20"];
        let sent = publish(folder, &[&[to.as_str()], &words[..]].concat());
        let frame = loop {
            let mut frame = vec![0; 2048];
            let len = eyes.read(&mut frame).unwrap();
            frame.truncate(len);
            // Others are of the system, which looks for neighbours.
            if frame.starts_with(&[1, 0, 0x5e, 0, 0, 1]) {
                break frame;
            }
        };
        assert_eq!(frame.get(12..12 + head.len()), Some(head.as_slice()));
        let message = &frame[12 + head.len()..];
        assert_eq!(sent["result"]["bytes"], message.len());
        let view = View::parse(message, Tolerance::NONE).unwrap();
        assert!(view.header.publisher_id.is_some());
        let len = u32::try_from(frame.len()).unwrap();
        for word in [0, 0, len, len] {
            capture.extend(word.to_le_bytes());
        }
        capture.extend(frame);
    }
    let to = "opc.eth://01-00-5e-00-00-01";
    let words = [
        "publish",
        to,
        "--interface",
        "left",
        "--cycles",
        "2",
        "--interval",
        "1ms",
    ];
    let said = Said::by(&mut command(folder, &words));
    assert!(said.out.contains("  2 frames of "), "{}", said.out);
    std::fs::write(folder.join("a.pcap"), capture).unwrap();
    let heard = |words: &[&str]| {
        let words = [&["listen", "--pcap", "a.pcap", "--json"], words].concat();
        let said = Said::by(&mut command(folder, &words));
        let told: Value = serde_json::from_str(&said.out).unwrap();
        told["result"].clone()
    };
    let all = heard(&[]);
    assert_eq!((&all["datagrams"], &all["values"]), (&2.into(), &40.into()));
    let tagged = heard(&["opc.eth://01-00-5e-00-00-01:291"]);
    assert_eq!(tagged["datagrams"], 1);
    let stream = &tagged["streams"][0];
    assert_eq!(
        (&stream["vlan"], &stream["priority"]),
        (&291.into(), &5.into())
    );
    assert_eq!(heard(&["opc.eth://01-00-5e-00-00-02"])["datagrams"], 0);
}

#[test]
fn phases_and_plants_go_in_frames_too() {
    if !cable() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let scenario = "\
        [[phase]]\nservice = 'publish'\nto = 'opc.eth://01-00-5e-00-00-01:7.2'\ninterface = 'left'\n\
        listen_interface = 'right'\nlisteners = 2\nsignals = 10\ninterval = '10ms'\nduration = '500ms'\n\
        expect = ['loss=0']\n\
        [[phase]]\nservice = 'listen'\nfrom = 'opc.eth://right:9'\nduration = '500ms'\n";
    std::fs::write(folder.join("s.toml"), scenario).unwrap();
    // A plant publishes meanwhile.
    let plant = "\
        [[namespace]]\nuri = 'urn:line'\n\
        [[namespace.signals]]\ncount = 30\nname = 'A{n}'\ntype = 'UInt32'\npattern = 'counter'\nupdate = '20ms'\n\
        [[publish]]\nto = 'opc.eth://01-00-5e-00-00-02:9'\ninterface = 'left'\ninterval = '20ms'\n";
    std::fs::write(folder.join("line.toml"), plant).unwrap();
    let file = folder.join("line.toml").display().to_string();
    let server = Server::start(&folder.join("server"), &[&file]);
    let words = ["run", "s.toml", "--out", "runs", "--quiet"];
    let said = Said::by(&mut command(folder, &words));
    assert!([0, 4].contains(&said.code), "{}{}", said.out, said.err);
    drop(server);
    let out = folder.join("runs");
    let index = Sweep::read(&out).unwrap();
    let files = index.measurements.iter().filter_map(|it| it.file.clone());
    let runs: Vec<Run> = files.map(|it| Run::read(&out.join(it)).unwrap()).collect();
    let told: Vec<_> = runs
        .iter()
        .flat_map(|it| &it.phases)
        .filter_map(|it| it.pubsub.as_ref())
        .collect();
    let [published, plant] = told.as_slice() else {
        panic!("{told:?}");
    };
    assert!(published.multicast);
    assert_eq!(published.counted().1, "frames");
    for it in &published.listeners {
        assert_eq!((it.datagrams, it.never_came), (50, Some(0)), "{it:?}");
    }
    let heard = &plant.listeners[0];
    assert!(heard.datagrams >= 10, "{heard:?}");
    assert_eq!(heard.values, 30 * heard.datagrams, "{heard:?}");
}

#[test]
fn what_is_missing_is_said_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let said = |words: &[&str]| Said::by(&mut command(folder, words));
    for (words, code, told) in [
        (
            &["publish", "opc.eth://01-00-5e-00-00-01"][..],
            1,
            "by which interface",
        ),
        (
            &["publish", "opc.eth://lo"],
            1,
            "frames go to a MAC address",
        ),
        (
            &["listen", "opc.eth://no-such"],
            1,
            "there is no interface no-such; this host has ",
        ),
        (&["listen", "opc.eth://lo:4095"], 2, "0 to 4094"),
        (
            &["listen", "opc.eth://lo", "--interface", "eth0"],
            1,
            "another one",
        ),
        (
            &["listen", "opc.eth://lo", "--pcap", "a.pcap"],
            2,
            "which interface",
        ),
        (
            &[
                "publish",
                "opc.eth://01-00-5e-00-00-01",
                "--interface",
                "lo",
                "--signals",
                "1000",
            ],
            1,
            "an Ethernet frame takes 1500",
        ),
        (
            &[
                "publish",
                "opc.eth://01-00-5e-00-00-01",
                "--mapping",
                "json",
            ],
            2,
            "over Ethernet are UADP",
        ),
    ] {
        let said = said(words);
        assert_eq!(said.code, code, "{words:?}: {}{}", said.out, said.err);
        assert!(said.err.contains(told), "{words:?}: {}", said.err);
    }
    // Without the right to it, which root gives up, and others have not.
    let bare = ["--bounding-set=-net_raw", "--inh-caps=-net_raw", "--"];
    let is_root = std::fs::metadata("/proc/self").is_ok_and(|it| it.uid() == 0);
    let bare: &[&str] = if is_root { &bare } else { &[] };
    let program = env!("CARGO_BIN_EXE_uaperf");
    let words = [program, "listen", "opc.eth://lo", "--duration", "100ms"];
    let mut command = Command::new("setpriv");
    command.args(bare).args(words);
    command.current_dir(folder);
    let Ok(output) = command.output() else {
        return without::skipped(
            "raw sockets",
            "setpriv is not installed",
            "apt-get install util-linux",
        );
    };
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{err}");
    assert!(
        err.contains("CAP_NET_RAW") && err.contains("setcap cap_net_raw+ep"),
        "{err}"
    );
}
