#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::sync::atomic::AtomicBool;

use pubsub::layout::Layout;
use pubsub::{Content, Fields, PublisherId};
use wire::types::Variant;

use super::super::Delay;
use super::super::choice::Choice;
use std::collections::BTreeMap;

use super::*;

/// 2026-01-01T00:00:00Z, in nanoseconds.
const BEGUN: u64 = 1_767_225_600_000_000_000;
const MILLI: u64 = 1_000_000;

/// The message of a number: its writer's only one, of ten Floats.
fn message(number: u16) -> Vec<u8> {
    let fields = Fields::Variant(vec![Variant::Float(1.0); 10]);
    let sets = [(7, Content::Key(fields))];
    let mut message = Layout::Dynamic.message(PublisherId::UInt64(5), 3, 1, sets);
    message.messages[0].sequence = Some(number);
    let mut bytes = Vec::new();
    message.encode(&mut bytes).unwrap();
    bytes
}

fn udp(payload: &[u8], port: u16) -> Vec<u8> {
    let mut it = 40_000u16.to_be_bytes().to_vec();
    it.extend(port.to_be_bytes());
    it.extend((payload.len() as u16 + 8).to_be_bytes());
    it.extend([0, 0]);
    it.extend(payload);
    it
}

fn ipv4(inside: &[u8], fragment: u16) -> Vec<u8> {
    let mut it = vec![0x45, 0];
    it.extend((inside.len() as u16 + 20).to_be_bytes());
    it.extend([0, 9]);
    it.extend(fragment.to_be_bytes());
    it.extend([64, 17, 0, 0, 192, 168, 1, 10, 224, 0, 2, 14]);
    it.extend(inside);
    it
}

fn ipv6(inside: &[u8], headers: &[u8], next: u8) -> Vec<u8> {
    let mut it = vec![0x60, 0, 0, 0];
    it.extend(((inside.len() + headers.len()) as u16).to_be_bytes());
    it.extend([next, 64]);
    it.extend([[0; 15].as_slice(), &[1]].concat().repeat(2));
    it.extend(headers);
    it.extend(inside);
    it
}

fn ethernet(kind: &[u8], inside: &[u8]) -> Vec<u8> {
    let mut it = vec![1, 0, 0x5e, 0, 2, 14, 0xde, 0xad, 0xbe, 0xef, 0, 1];
    it.extend(kind);
    it.extend(inside);
    // Short frames are filled up.
    it.resize(it.len().max(60), 0);
    it
}

/// Options of an interface: their codes and values.
type Options = Vec<(u16, Vec<u8>)>;

/// From nanoseconds to units of a file.
type Units = fn(u64) -> u64;

/// A file in either byte order.
struct Writer {
    bytes: Vec<u8>,
    big: bool,
}

impl Writer {
    fn word(&mut self, word: u32) -> &mut Self {
        let word = if self.big {
            word.to_be_bytes()
        } else {
            word.to_le_bytes()
        };
        self.bytes.extend(word);
        self
    }

    fn half(&mut self, half: u16) -> &mut Self {
        let half = if self.big {
            half.to_be_bytes()
        } else {
            half.to_le_bytes()
        };
        self.bytes.extend(half);
        self
    }

    fn pcap(link: u32, nanos: bool, big: bool) -> Self {
        let mut this = Self {
            bytes: Vec::new(),
            big,
        };
        this.word(if nanos { 0xa1b2_3c4d } else { 0xa1b2_c3d4 });
        this.half(2).half(4).word(0).word(0).word(65_535).word(link);
        this
    }

    fn packet(&mut self, at: u64, nanos: bool, packet: &[u8], was: usize) {
        let unit = if nanos { 1 } else { 1000 };
        self.word((at / 1_000_000_000) as u32);
        self.word((at % 1_000_000_000 / unit) as u32);
        self.word(packet.len() as u32).word(was as u32);
        self.bytes.extend(packet);
    }

    fn block(&mut self, kind: u32, body: &[u8]) {
        let mut body = body.to_vec();
        body.resize(body.len().next_multiple_of(4), 0);
        let len = body.len() as u32 + 12;
        self.word(kind).word(len);
        self.bytes.extend(body);
        self.word(len);
    }

    fn pcapng(link: u16, options: &[(u16, Vec<u8>)], big: bool) -> Self {
        let mut this = Self {
            bytes: Vec::new(),
            big,
        };
        let mut body = Self {
            bytes: Vec::new(),
            big,
        };
        body.word(0x1a2b_3c4d)
            .half(1)
            .half(0)
            .word(u32::MAX)
            .word(u32::MAX);
        this.block(0x0a0d_0d0a, &body.bytes);
        let mut body = Self {
            bytes: Vec::new(),
            big,
        };
        body.half(link).half(0).word(0);
        for (code, value) in options {
            body.half(*code).half(value.len() as u16);
            body.bytes.extend(value);
            body.bytes.resize(body.bytes.len().next_multiple_of(4), 0);
        }
        this.block(1, &body.bytes);
        this
    }

    fn enhanced(&mut self, interface: u32, units: u64, packet: &[u8]) {
        let mut body = Self {
            bytes: Vec::new(),
            big: self.big,
        };
        body.word(interface)
            .word((units >> 32) as u32)
            .word(units as u32);
        body.word(packet.len() as u32).word(packet.len() as u32);
        body.bytes.extend(packet);
        self.block(6, &body.bytes);
    }
}

fn try_read(bytes: &[u8], to: Option<&str>) -> Result<ListenerReport, CaptureError> {
    let plan = Reading {
        to: to.map(|it| it.parse().unwrap()),
        datagrams: None,
        keys: KeyRing::new(None, Tolerance::HARMLESS),
        tolerance: Tolerance::HARMLESS,
        choice: Choice::default(),
    };
    read(bytes, "a.pcap", plan, &AtomicBool::new(false))
}

fn heard(bytes: &[u8]) -> ListenerReport {
    try_read(bytes, None).unwrap()
}

/// A hundred messages, a millisecond apart, of which the eleventh is missing.
fn one_missing(write: &mut dyn FnMut(u64, Vec<u8>)) {
    for number in (0..100).filter(|it| *it != 10) {
        write(BEGUN + u64::from(number) * MILLI, message(number));
    }
}

fn is_as_sent(heard: &ListenerReport, format: &str) {
    let captured = heard.capture.as_ref().unwrap();
    assert_eq!(captured.format, format);
    assert!(!captured.torn);
    assert_eq!((heard.datagrams, heard.values), (99, 990), "{heard:?}");
    assert_eq!(heard.elapsed_ns, 99 * MILLI);
    assert_eq!(heard.lost(), 1);
    let [stream] = heard.streams.as_slice() else {
        panic!("{heard:?}");
    };
    let arrival = stream.arrival.as_ref().unwrap();
    // 98 intervals of 1 ms, and one of 2.
    assert!(
        (arrival.mean_ns - 99.0 / 98.0 * 1e6).abs() < 1e3,
        "{arrival:?}"
    );
    assert_eq!(stream.publisher_id.as_deref(), Some("5"));
}

#[test]
fn a_pcap_of_either_byte_order_and_resolution_is_read_as_it_came() {
    for big in [false, true] {
        for nanos in [false, true] {
            let mut file = Writer::pcap(1, nanos, big);
            one_missing(&mut |at, bytes| {
                let frame = ethernet(&[8, 0], &ipv4(&udp(&bytes, 4840), 0));
                file.packet(at, nanos, &frame, frame.len());
            });
            let heard = heard(&file.bytes);
            is_as_sent(&heard, "pcap");
            let stream = &heard.streams[0];
            assert_eq!(stream.source.as_deref(), Some("192.168.1.10"));
            assert!(!matches!(stream.delay, Delay::SameClock(_)));
        }
    }
}

#[test]
fn a_pcapng_says_its_own_resolution_and_offset() {
    let seconds = BEGUN / 1_000_000_000;
    for big in [false, true] {
        let offset = if big {
            seconds.to_be_bytes()
        } else {
            seconds.to_le_bytes()
        };
        // Microseconds unless it says so, nanoseconds, 2^-20 s, and seconds that are added.
        let kinds: [(Options, Units); 4] = [
            (vec![], |at| at / 1000),
            (vec![(2, b"eth0".to_vec()), (9, vec![9])], |at| at),
            (vec![(9, vec![0x80 | 30])], |at| {
                (u128::from(at) * (1 << 30) / 1_000_000_000 + 1) as u64
            }),
            (
                vec![(14, offset.to_vec()), (9, vec![9]), (0, vec![])],
                |at| at - BEGUN,
            ),
        ];
        for (options, units) in kinds {
            let mut file = Writer::pcapng(1, &options, big);
            one_missing(&mut |at, bytes| {
                let frame = ethernet(&[8, 0], &ipv4(&udp(&bytes, 4840), 0));
                file.enhanced(0, units(at), &frame);
                // Statistics of the interface, which say nothing here.
                file.block(5, &[0; 12]);
            });
            let mut heard = heard(&file.bytes);
            assert!(heard.elapsed_ns.abs_diff(99 * MILLI) <= 2);
            heard.elapsed_ns = 99 * MILLI;
            is_as_sent(&heard, "pcapng");
        }
    }
}

#[test]
fn every_link_leads_to_its_datagrams() {
    let bytes = message(1);
    let four = ipv4(&udp(&bytes, 4840), 0);
    let six = ipv6(&udp(&bytes, 4840), &[], 17);
    // A header of options before that of UDP.
    let options = ipv6(&udp(&bytes, 4840), &[17, 0, 1, 4, 0, 0, 0, 0], 0);
    let sll = [
        &[0, 0, 0, 1, 0, 6, 1, 2, 3, 4, 5, 6, 0, 0, 8, 0],
        four.as_slice(),
    ]
    .concat();
    let sll2 = {
        let head = [
            0x08, 0, 0, 0, 0, 0, 0, 2, 0, 1, 0, 6, 1, 2, 3, 4, 5, 6, 0, 0,
        ];
        [&head, four.as_slice()].concat()
    };
    let cases = [
        (0, [&[2, 0, 0, 0], four.as_slice()].concat()),
        (1, ethernet(&[8, 0], &four)),
        (1, ethernet(&[0x81, 0, 0, 5, 8, 0], &four)),
        (
            1,
            ethernet(&[0x88, 0xa8, 0, 5, 0x81, 0, 0, 6, 0x86, 0xdd], &six),
        ),
        (1, ethernet(&[0xb6, 0x2c], &bytes)),
        (101, four.clone()),
        (228, four.clone()),
        (229, options),
        (113, sll),
        (276, sll2),
    ];
    for (link, packet) in cases {
        let mut file = Writer::pcap(link, true, false);
        file.packet(BEGUN, true, &packet, packet.len());
        let heard = heard(&file.bytes);
        assert_eq!(
            (heard.datagrams, heard.values),
            (1, 10),
            "link {link}: {heard:?}"
        );
        assert_eq!(heard.unreadable(), 0, "link {link}");
    }
}

#[test]
fn what_is_not_counted_as_heard_is_counted_and_named() {
    let bytes = message(1);
    let whole = ipv4(&udp(&bytes, 4840), 0);
    let mut file = Writer::pcap(101, true, false);
    let mut put = |packet: &[u8], was| file.packet(BEGUN, true, packet, was);
    put(&whole, whole.len());
    // The first part and a later one, another port, TCP, the beginning of one.
    put(&ipv4(&udp(&bytes, 4840), 0x2000), whole.len());
    put(&ipv4(&bytes, 0x00b9), whole.len());
    put(&ipv4(&udp(&bytes, 4841), 0), whole.len());
    let mut tcp = whole.clone();
    tcp[9] = 6;
    put(&tcp, tcp.len());
    put(&whole[..40], whole.len());
    let heard = heard(&file.bytes);
    let captured = heard.capture.clone().unwrap();
    assert_eq!(heard.datagrams, 1);
    let counts = (
        captured.packets,
        captured.fragments,
        captured.others,
        captured.cut,
    );
    assert_eq!(counts, (6, 2, 2, 1), "{captured:?}");
    let mut file = Writer::pcap(147, true, false);
    file.packet(BEGUN, true, &whole, whole.len());
    let heard = self::heard(&file.bytes);
    assert_eq!(
        heard.capture.unwrap().unknown_links,
        BTreeMap::from([(147, 1)])
    );
}

#[test]
fn only_what_went_to_the_address_is_taken() {
    let mut file = Writer::pcap(101, true, false);
    let packet = ipv4(&udp(&message(1), 5000), 0);
    file.packet(BEGUN, true, &packet, packet.len());
    let datagrams = |to| try_read(&file.bytes, to).unwrap().datagrams;
    assert_eq!(datagrams(None), 0);
    assert_eq!(datagrams(Some("opc.udp://224.0.2.14:5000")), 1);
    assert_eq!(datagrams(Some("opc.udp://0.0.0.0:5000")), 1);
    assert_eq!(datagrams(Some("opc.udp://224.0.2.15:5000")), 0);
    assert_eq!(datagrams(Some("opc.udp://224.0.2.14:4840")), 0);
}

#[test]
fn a_torn_file_is_read_up_to_its_end_and_a_broken_one_says_where() {
    let mut file = Writer::pcap(101, true, false);
    let packet = ipv4(&udp(&message(1), 4840), 0);
    file.packet(BEGUN, true, &packet, packet.len());
    let one = file.bytes.len();
    file.packet(BEGUN, true, &packet, packet.len());
    for end in [one + 1, one + 16, file.bytes.len() - 1] {
        let heard = heard(&file.bytes[..end]);
        assert_eq!(heard.datagrams, 1);
        assert!(heard.capture.unwrap().torn, "{end}");
    }
    assert!(!heard(&file.bytes[..one]).capture.unwrap().torn);
    let error = |bytes: &[u8]| try_read(bytes, None).unwrap_err().to_string();
    assert_eq!(error(b""), "is no capture (want pcap or pcapng)");
    assert_eq!(
        error(b"{\"log\": 1}"),
        "is no capture (want pcap or pcapng)"
    );
    assert!(error(&file.bytes[..20]).ends_with("it ends in its header"));
    let mut long = file.bytes.clone();
    long[one + 8..one + 12].fill(0xff);
    assert_eq!(
        error(&long),
        format!("is broken at byte {}: a packet that is too long", one + 16)
    );
    let mut ng = Writer::pcapng(1, &[], false);
    ng.enhanced(1, 0, &packet);
    assert!(error(&ng.bytes).contains("an interface that was not described"));
    // Behind the section's 28 bytes, the head of the block and the link: the option's code and length.
    let mut options = Writer::pcapng(1, &[(9, vec![9])], false);
    assert_eq!(options.bytes[44..48], [9, 0, 1, 0]);
    options.bytes[46] = 200;
    assert!(error(&options.bytes).contains("options are longer than it"));
}

#[test]
fn datagrams_that_ip_cut_up_are_put_together() {
    let mut file = Writer::pcap(101, true, false);
    let mut at = BEGUN;
    let mut put = |packet: &[u8]| {
        at += MILLI;
        file.packet(at, true, packet, packet.len());
    };
    for number in 0..4 {
        let segment = udp(&message(number), 4840);
        let (a, b, c) = (&segment[..32], &segment[32..64], &segment[64..]);
        match number {
            // In order, out of order, with one missing, and over IPv6.
            0 => [(a, 0x2000), (b, 0x2004), (c, 8)].map(|(it, flags)| put(&ipv4(it, flags))),
            1 => [(c, 8), (a, 0x2000), (b, 0x2004)].map(|(it, flags)| put(&ipv4(it, flags))),
            2 => [(a, [0, 1]), (b, [0, 33]), (c, [0, 64])].map(|(it, [high, low])| {
                put(&ipv6(it, &[17, 0, high, low, 0, 0, 0, 7], 44));
            }),
            _ => [(a, 0x2000), (a, 0x2000), (c, 8)].map(|(it, flags)| put(&ipv4(it, flags))),
        };
    }
    let heard = heard(&file.bytes);
    assert_eq!((heard.datagrams, heard.values), (3, 30), "{heard:?}");
    assert_eq!((heard.unreadable(), heard.lost()), (0, 0));
    let captured = heard.capture.unwrap();
    assert_eq!((captured.packets, captured.reassembled), (12, 3));
    assert_eq!((captured.fragments, captured.others), (3, 0));
    // The first was whole 3 ms after the beginning, the last 9 ms.
    assert_eq!(heard.elapsed_ns, 6 * MILLI);
}

#[test]
fn frames_are_taken_by_address_and_vlan_and_say_theirs() {
    let bytes = message(1);
    let mut file = Writer::pcap(1, true, false);
    let kinds: [&[u8]; 3] = [
        &[0xb6, 0x2c],
        &[0x81, 0, 0x60, 5, 0xb6, 0x2c],
        &[0x88, 0xa8, 0x20, 7, 0x81, 0, 0, 9, 0xb6, 0x2c],
    ];
    for kind in kinds {
        let frame = ethernet(kind, &bytes);
        file.packet(BEGUN, true, &frame, frame.len());
    }
    let taken = |to: Option<&str>| try_read(&file.bytes, to).unwrap();
    let datagrams = |to: &str| taken(Some(to)).datagrams;
    assert_eq!(taken(None).datagrams, 3);
    assert_eq!(datagrams("opc.eth://01-00-5e-00-02-0e"), 3);
    assert_eq!(datagrams("opc.eth://01-00-5e-00-02-0f"), 0);
    assert_eq!(datagrams("opc.eth://01-00-5e-00-02-0e:5"), 1);
    assert_eq!(datagrams("opc.eth://01-00-5e-00-02-0e:7.1"), 1);
    assert_eq!(datagrams("opc.eth://01-00-5e-00-02-0e:7.2"), 0);
    assert_eq!(datagrams("opc.udp://0.0.0.0:4840"), 0);
    let heard = taken(Some("opc.eth://01-00-5e-00-02-0e:5.3"));
    let stream = &heard.streams[0];
    assert_eq!((stream.vlan, stream.priority), (Some(5), Some(3)));
    assert_eq!(stream.source.as_deref(), Some("de:ad:be:ef:00:01"));
    assert_eq!(
        taken(Some("opc.eth://01-00-5e-00-02-0e:7")).streams[0].vlan,
        Some(7)
    );
}

/// Whatever stands in a file, it is read to an end or refused.
#[test]
fn no_bytes_bring_it_down() {
    let mut random = plan::Random::stream(1, &[]);
    let mut ng = Writer::pcapng(1, &[(9, vec![9])], false);
    let mut plain = Writer::pcap(1, false, false);
    let frame = ethernet(&[8, 0], &ipv4(&udp(&message(1), 4840), 0));
    for _ in 0..4 {
        ng.enhanced(0, BEGUN, &frame);
        plain.packet(BEGUN, false, &frame, frame.len());
    }
    for bytes in [ng.bytes, plain.bytes] {
        for _ in 0..2000 {
            let mut bytes = bytes.clone();
            for _ in 0..=random.next_u64() % 8 {
                let at = random.next_u64() as usize % bytes.len();
                bytes[at] = random.next_u64() as u8;
            }
            bytes.truncate(random.next_u64() as usize % bytes.len());
            let _ = try_read(&bytes, None);
        }
    }
}
