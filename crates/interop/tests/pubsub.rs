//! PubSub with other stacks, both ways: what they publish is read and counted, what is published here they
//! read; each encoding and, where they have it, each security.

#![allow(clippy::unwrap_used)]

use std::net::UdpSocket;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use load::pubsub::{
    Choice, Listen, ListenerReport, Publish, Signal, Target, Values, listen, publish,
};
use peers::testing::require;
use peers::{PubSub, Stack};
use pubsub::layout::Layout;
use pubsub::raw::{self, RawType};
use pubsub::security::{GroupKeys, KeyRing, Mode, PubSubPolicy};
use pubsub::view::{Encoding, Known};
use pubsub::{Content, Fields, Tolerance, View};
use wire::service::Limits;
use wire::template::walk::BuiltInType;
use wire::types::Variant;

const ENCODINGS: [(&str, Encoding); 3] = [
    ("variant", Encoding::Variant),
    ("raw", Encoding::Raw),
    ("value", Encoding::DataValue),
];
const CYCLES: u16 = 20;

/// Keys of both lengths, and how messages are secured with them.
const SECURITIES: [(PubSubPolicy, usize, &str, Mode); 4] = [
    (PubSubPolicy::Aes128Ctr, 52, "sign", Mode::Sign),
    (PubSubPolicy::Aes256Ctr, 68, "sign", Mode::Sign),
    (
        PubSubPolicy::Aes128Ctr,
        52,
        "sign-and-encrypt",
        Mode::SignAndEncrypt,
    ),
    (
        PubSubPolicy::Aes256Ctr,
        68,
        "sign-and-encrypt",
        Mode::SignAndEncrypt,
    ),
];

#[derive(Clone, Copy)]
struct Secured {
    policy: PubSubPolicy,
    len: usize,
    name: &'static str,
    mode: Mode,
}

impl Secured {
    fn all() -> impl Iterator<Item = Self> {
        SECURITIES
            .into_iter()
            .map(|(policy, len, name, mode)| Self {
                policy,
                len,
                name,
                mode,
            })
    }

    fn bytes(self) -> Vec<u8> {
        (1..=self.len).map(|it| it as u8).collect()
    }

    fn hex(self) -> String {
        self.bytes().iter().map(|it| format!("{it:02x}")).collect()
    }

    fn keys(self) -> GroupKeys {
        GroupKeys::new(self.policy, &self.bytes()).unwrap()
    }
}

fn ring(secured: Option<Secured>) -> KeyRing {
    let mut ring = KeyRing::new(secured.map(|it| it.mode), Tolerance::HARMLESS);
    if let Some(secured) = secured {
        ring.insert(1, secured.keys());
    }
    ring
}

fn free_port() -> u16 {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.local_addr().unwrap().port()
}

/// What another stack published: the datagrams as they came, and what a listener says of them.
fn published_by(
    stack: &'static Stack,
    encoding: &str,
    words: &[&str],
    secured: Option<Secured>,
) -> (Vec<Vec<u8>>, ListenerReport) {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket
        .set_read_timeout(Some(Duration::from_secs(60)))
        .unwrap();
    let address = socket.local_addr().unwrap().to_string();
    let cycles = CYCLES.to_string();
    let mut all = vec![
        "publish",
        &address,
        "--encoding",
        encoding,
        "--cycles",
        &cycles,
    ];
    all.extend(words);
    let hex = secured.map(Secured::hex);
    if let (Some(secured), Some(hex)) = (secured, &hex) {
        all.extend(["--security", secured.name, "--keys", hex]);
    }
    let publisher = PubSub::start(stack, &all).unwrap();
    let datagrams: Vec<Vec<u8>> = (0..CYCLES)
        .map(|_| {
            let mut buffer = vec![0; 65_536];
            let n = socket.recv(&mut buffer).unwrap();
            buffer.truncate(n);
            buffer
        })
        .collect();
    drop(publisher);
    let to = free_port();
    let plan = Listen {
        from: format!("opc.udp://127.0.0.1:{to}").parse().unwrap(),
        interface: None,
        buffer: 1 << 20,
        duration: Duration::from_secs(60),
        datagrams: Some(CYCLES.into()),
        keys: ring(secured),
        feed: None,
        tolerance: Tolerance::HARMLESS,
        choice: Choice::default(),
        discovery: None,
        server: None,
    };
    let (ready, is_ready) = channel();
    let listener = thread::spawn(move || {
        let stop = AtomicBool::new(false);
        listen(plan, &stop, || ready.send(()).unwrap()).unwrap()
    });
    is_ready.recv().unwrap();
    for datagram in &datagrams {
        socket.send_to(datagram, ("127.0.0.1", to)).unwrap();
    }
    (datagrams, listener.join().unwrap())
}

/// The values of a datagram.
fn values(datagram: &[u8], ring: &mut KeyRing) -> Vec<Variant> {
    let mut bytes = datagram.to_vec();
    let opened = ring.open(&mut bytes).unwrap();
    let view = View::parse_opened(&bytes, opened, Tolerance::HARMLESS).unwrap();
    let message = view
        .to_message(Known::default(), &Limits::default())
        .unwrap();
    let Content::Key(fields) = message.messages.into_iter().next().unwrap().content else {
        unreachable!("a key frame was sent")
    };
    match fields {
        Fields::Variant(all) => all,
        Fields::DataValue(all) => all.into_iter().map(|it| it.value.unwrap()).collect(),
        Fields::Raw(bytes) => {
            let types = [
                BuiltInType::Double,
                BuiltInType::Int32,
                BuiltInType::UInt16,
                BuiltInType::Boolean,
            ]
            .map(RawType::scalar);
            let all: Vec<_> = raw::fields(&types, &bytes, 0)
                .map(|it| it.unwrap().bytes)
                .collect();
            let [double, int, small, odd] = all[..] else {
                unreachable!("four types give four fields")
            };
            vec![
                Variant::Double(f64::from_le_bytes(double.try_into().unwrap())),
                Variant::Int32(i32::from_le_bytes(int.try_into().unwrap())),
                Variant::UInt16(u16::from_le_bytes(small.try_into().unwrap())),
                Variant::Boolean(odd != [0]),
            ]
        }
    }
}

fn what_it_publishes_is_read(name: &str, secured: Option<Secured>) {
    let Some(stack) = require(name) else { return };
    for (word, encoding) in ENCODINGS {
        let (datagrams, heard) = published_by(stack, word, &[], secured);
        let mut ring = ring(secured);
        for (cycle, datagram) in (0..CYCLES).zip(&datagrams) {
            let want = vec![
                Variant::Double(f64::from(cycle) + 0.5),
                Variant::Int32(-i32::from(cycle)),
                Variant::UInt16(cycle),
                Variant::Boolean(cycle % 2 == 1),
            ];
            assert_eq!(values(datagram, &mut ring), want, "{name} {word}");
        }
        assert!(heard.unread.is_empty(), "{name} {word}: {heard:?}");
        let [stream] = &heard.streams[..] else {
            unreachable!("one publisher: {heard:?}")
        };
        assert_eq!(stream.publisher_id.as_deref(), Some("2234"));
        assert_eq!(stream.publisher_id_type.as_deref(), Some("UInt16"));
        assert_eq!(stream.writer_group_id, Some(100));
        assert_eq!(stream.security, secured.map_or("none", |it| it.name));
        assert_eq!(stream.sequence.unwrap().lost, 0);
        let [writer] = &stream.writers[..] else {
            unreachable!("one writer: {stream:?}")
        };
        assert_eq!(writer.writer_id, Some(62541));
        assert_eq!(writer.key_frames, u64::from(CYCLES));
        assert_eq!(writer.encoding, encoding.name());
        assert_eq!(writer.sequence.unwrap().lost, 0);
        // 8, 4, 2 and 1 bytes without types.
        let fields = if encoding == Encoding::Raw { 15 } else { 4 };
        assert_eq!(writer.fields, fields, "{name} {word}");
    }
}

fn it_reads_what_is_published(name: &str, secured: Option<Secured>) {
    let Some(stack) = require(name) else { return };
    for (word, encoding) in ENCODINGS {
        for layout in [Layout::Dynamic, Layout::PeriodicFixed] {
            let address = format!("127.0.0.1:{}", free_port());
            let mut all = vec!["subscribe", &address, "--encoding", word];
            let hex = secured.map(Secured::hex);
            if let (Some(secured), Some(hex)) = (secured, &hex) {
                all.extend(["--security", secured.name, "--keys", hex]);
            }
            let mut subscriber = PubSub::start(stack, &all).unwrap();
            let to = Target::Udp(format!("opc.udp://{address}").parse().unwrap());
            let plan = Publish {
                encoding,
                layout,
                mode: secured.map(|it| it.mode),
                keys: secured.map(|it| (1, it.keys())).into_iter().collect(),
                interval: Some(Duration::from_millis(5)),
                cycles: Some(CYCLES.into()),
                ..Publish::new(to, Values::Count(Signal::Double, 4))
            };
            let sent = publish(plan, &AtomicBool::new(false), |_| ()).unwrap();
            assert_eq!(sent.datagrams, u64::from(CYCLES));
            for cycle in 0..CYCLES {
                let line = subscriber.line().unwrap().unwrap();
                let row: Vec<f64> = serde_json::from_str(&line).unwrap();
                assert_eq!(row, [f64::from(cycle); 4], "{name} {word} {layout:?}");
            }
        }
    }
}

#[test]
fn open62541_is_read_in_every_encoding() {
    what_it_publishes_is_read("open62541", None);
}

#[test]
fn open62541_reads_every_encoding() {
    it_reads_what_is_published("open62541", None);
}

#[test]
fn open62541_is_read_in_every_security() {
    for secured in Secured::all() {
        what_it_publishes_is_read("open62541", Some(secured));
    }
}

#[test]
fn open62541_reads_every_security() {
    for secured in Secured::all() {
        it_reads_what_is_published("open62541", Some(secured));
    }
}

#[test]
fn asyncua_is_read_in_every_encoding() {
    what_it_publishes_is_read("asyncua", None);
}

#[test]
fn asyncua_reads_every_encoding() {
    it_reads_what_is_published("asyncua", None);
}

/// Part 14, 7.2.4.4.2: type 3. It writes 6.
#[test]
fn asyncua_writes_a_publisher_id_of_uint64_with_a_type_that_does_not_exist() {
    let Some(stack) = require("asyncua") else {
        return;
    };
    let (datagrams, heard) = published_by(stack, "variant", &["--publisher", "uint64"], None);
    assert_eq!(heard.streams[0].publisher_id.as_deref(), Some("2234"));
    assert_eq!(
        heard.streams[0].publisher_id_type.as_deref(),
        Some("UInt64")
    );
    let refused = View::parse(&datagrams[0], Tolerance::NONE).unwrap_err();
    assert_eq!(refused.cause, pubsub::Cause::PublisherIdType(6));
}
