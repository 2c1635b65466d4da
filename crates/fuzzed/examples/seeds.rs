//! Writes `fuzz/seeds/`: small messages of our own making, one or more for each kind.
//!
//! ```sh
//! cargo run -p fuzzed --example seeds
//! ```
//!
//! The certificates of `crates/fuzzed/plant/` are made first if `root.der` there is empty.

#![allow(clippy::unwrap_used, reason = "run by hand")]
#![allow(
    unexpected_cfgs,
    dead_code,
    reason = "what is shared with the tests of wire"
)]

mod scripts;

#[path = "../../wire/tests/messages/mod.rs"]
mod messages;
#[path = "../../wire/tests/sample/mod.rs"]
mod sample;

use std::fs;
use std::path::{Path, PathBuf};

use pki::make::{Authority, Request};
use pki::{Key, Moment};
use sample::Random;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .unwrap()
}

fn main() {
    let plant = repository().join("crates/fuzzed/plant");
    if fs::read(plant.join("root.der")).is_ok_and(|der| der.is_empty()) {
        make_plant(&plant);
    }
    frame();
    channel();
    services();
    certificates(&plant);
    client();
    server();
    uadp();
    discovery();
    json();
    uajson();
    mdns();
    mqtt();
    http();
    scripts::plant(|name, bytes| seed("plant", name, bytes));
}

fn seed(target: &str, name: &str, bytes: &[u8]) {
    let folder = repository().join("fuzz/seeds").join(target);
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join(name), bytes).unwrap();
}

/// A root, two authorities below it, and an application of the lowest.
fn make_plant(folder: &Path) {
    const NOW: Moment = Moment::from_unix(1_800_000_000);
    let key = || Key::generate(2048).unwrap();
    let root = Authority::root(Request::authority("Root"), key(), NOW).unwrap();
    let division = root
        .authority(Request::authority("Division"), key(), NOW)
        .unwrap();
    let line = division
        .authority(Request::authority("Line"), key(), NOW)
        .unwrap();
    let request = Request::application("urn:plc1:drives")
        .organization("Plant")
        .dns("plc1")
        .ip([192, 0, 2, 7].into());
    let application = line.sign(&request, &key(), NOW).unwrap();
    let revoked = root.sign(&request, &key(), NOW).unwrap();
    fs::create_dir_all(folder).unwrap();
    let put = |name: &str, der: &[u8]| fs::write(folder.join(name), der).unwrap();
    put("application.der", application.der());
    put("line.der", line.certificate().der());
    put("division.der", division.certificate().der());
    put("root.der", root.certificate().der());
    // Long enough for any test of today.
    put("line.crl", line.revoke(&[], NOW, 30).unwrap().der());
    put("division.crl", division.revoke(&[], NOW, 30).unwrap().der());
    put("root.crl", root.revoke(&[&revoked], NOW, 30).unwrap().der());
}

fn text(text: &str) -> Vec<u8> {
    let mut out = (text.len() as u32).to_le_bytes().to_vec();
    out.extend_from_slice(text.as_bytes());
    out
}

fn message(head: &[u8; 4], body: &[u8]) -> Vec<u8> {
    let size = 8 + body.len() as u32;
    [head, &size.to_le_bytes()[..], body].concat()
}

fn numbers(numbers: &[u32]) -> Vec<u8> {
    numbers.iter().flat_map(|n| n.to_le_bytes()).collect()
}

fn hello() -> Vec<u8> {
    let body = [
        numbers(&[0, 65_536, 65_536, 0, 0]),
        text("opc.tcp://plant:4840"),
    ];
    message(b"HELF", &body.concat())
}

fn acknowledge() -> Vec<u8> {
    message(b"ACKF", &numbers(&[0, 8192, 8192, 0, 0]))
}

fn error() -> Vec<u8> {
    let body = [numbers(&[0x8013_0000]), text("no")].concat();
    message(b"ERRF", &body)
}

fn reverse() -> Vec<u8> {
    let body = [text("urn:plant"), text("opc.tcp://inside:4840")].concat();
    message(b"RHEF", &body)
}

fn open_none(body: &[u8]) -> Vec<u8> {
    let policy = "http://opcfoundation.org/UA/SecurityPolicy#None";
    let nobody = numbers(&[u32::MAX, u32::MAX]);
    let head = [numbers(&[0]), text(policy), nobody, numbers(&[1, 1])].concat();
    message(b"OPNF", &[&head, body].concat())
}

fn frame() {
    let stream = [
        hello(),
        acknowledge(),
        error(),
        reverse(),
        open_none(b"body"),
        message(b"MSGC", &[1; 30]),
        message(b"MSGF", &[2; 20]),
        message(b"MSGA", &[3; 24]),
        message(b"CLOF", &[4; 16]),
    ];
    for limit in 0..5 {
        let mut data = vec![limit * 4, limit, 7, 9];
        data.extend_from_slice(&stream.concat());
        seed("frame", &format!("all-{limit}"), &data);
    }
    for (index, part) in stream.iter().enumerate() {
        let mut data = vec![3, 3, 1, 2];
        data.extend_from_slice(part);
        seed("frame", &format!("one-{index}"), &data);
    }
    let steps = [
        0xff, 0, 5, 1, 2, 3, 4, 5, 2, 9, 0, 3, 7, 7, 7, 5, 3, 3, 8, 5, 40, 2, 3, 0, 1, 1, 4, 5, 99,
    ];
    seed("frame", "outgoing", &steps);
}

fn channel() {
    for protection in 0..17_u8 {
        // Two messages and an abort, sent, changed on the way, renewed, delivered.
        let steps: &[u8] = &[
            0, 9, 0, 0, 0, 1, 3, 1, 2, 3, 0, // a message
            1, 8, 0, 0, 0, 1, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9, 4, // a long one
            2, 7, 0, 0, 0, 2, 104, 105, // an abort
            3, 4, 10, 0, 9, 0, 0, 0, 1, 1, 65, 0, 10, // sent, delivered, renewed
            0, 9, 0, 0, 0, 1, 1, 66, 3, 3, 4, 11, 50, // and some time
        ];
        seed(
            "channel",
            &format!("under-way-{protection}"),
            &[&[0, protection], steps].concat(),
        );
        let changes: &[u8] = &[
            0, 9, 0, 0, 0, 1, 3, 1, 2, 3, 0, 1, 8, 0, 0, 0, 1, 2, 1, 2, 0, 3, 9, 5, 30, 0, 1, 4, 6,
            3, 0, 9, 0, 7, 0, 0, 20, 0, 4,
        ];
        seed(
            "channel",
            &format!("changed-{protection}"),
            &[&[0, protection], changes].concat(),
        );
        let numbers = [7, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0];
        let sealed = [&[4, protection, 0], &numbers[..], &[20, 0, 1], b"a body"].concat();
        seed("channel", &format!("sealed-{protection}"), &sealed);
        let mut raw = vec![4, protection, 1];
        raw.extend_from_slice(&message(b"MSGF", &[0; 88]));
        seed("channel", &format!("raw-{protection}"), &raw);
        let mut padded = vec![4, protection, 2];
        padded.extend_from_slice(&[7; 8 + 16]);
        padded.extend_from_slice(&[3; 4]);
        seed("channel", &format!("padded-{protection}"), &padded);
    }
    for rule in 0..2 {
        let order = [
            5, rule, 0, 0xff, 0xff, 0xff, 3, 3, 3, 1, 1, 0, 9, 0, 0, 0, 2, 1, 0, 3,
        ];
        seed("channel", &format!("order-{rule}"), &order);
    }
    let pieces = [
        6, 3, 1, 4, 1, 2, 3, 4, 3, 2, 1, 9, 1, 1, 2, 5, 6, 0, 2, 2, 1, 3, 1, 200,
    ];
    seed("channel", "pieces", &pieces);
    // Too much for one message, for all together, and in too many pieces.
    let mut too_much = vec![6];
    for id in [1, 2, 3, 1, 2, 3, 1, 2, 3] {
        too_much.extend_from_slice(&[3, id, 60]);
        too_much.extend_from_slice(&[id; 60]);
        too_much.extend_from_slice(&[1, id, 3, 4, 5, 6, 0, id]);
    }
    seed("channel", "pieces-too-long", &too_much);
    let mut too_many = vec![6];
    for _ in 0..9 {
        too_many.extend_from_slice(&[3, 1, 1, 9, 3, 2, 0]);
    }
    too_many.extend_from_slice(&[1, 2, 1, 9, 1, 1, 0]);
    seed("channel", "pieces-too-many", &too_many);
    let mut open = vec![7, 0];
    open.extend_from_slice(&open_none(b"body"));
    seed("channel", "open-none", &open);
    use wire::service::Kind;
    for number in 0..6 {
        let random = &mut Random(number);
        let request = sample::message(Kind::OpenSecureChannelRequest, random);
        seed(
            "channel",
            &format!("open-request-{number}"),
            &[&[7, 1], &request[..]].concat(),
        );
        let kind = match number {
            0..4 => Kind::OpenSecureChannelResponse,
            _ => Kind::ServiceFault,
        };
        let response = sample::message(kind, random);
        seed(
            "channel",
            &format!("open-response-{number}"),
            &[&[7, 2], &response[..]].concat(),
        );
    }
    for policy in 0..5 {
        let changed = [0xf8, policy, 5, 99, 1, 1, 8, 3, 0];
        let mut padded = vec![0xf0, policy];
        padded.extend_from_slice(&[5; 30]);
        padded.extend_from_slice(&[7; 8]);
        for (name, steps) in [("changed", &changed[..]), ("padded", &padded)] {
            let mut steps = steps.to_vec();
            // The last byte decides little here but whether RSA is done at all.
            steps.push(0);
            let end = steps.len() - 1;
            while !fuzzed::is_chosen(&steps) {
                steps[end] += 1;
            }
            steps.insert(0, 7);
            seed("channel", &format!("rsa-{name}-{policy}"), &steps);
        }
    }
}

fn services() {
    for (index, kind) in fuzzed::services::kinds().enumerate() {
        let answers = kind.name().ends_with("Response");
        for number in 0..3 {
            let mut message = sample::message(kind, &mut Random(number));
            // Handle and result of a service that succeeded: of one that failed nothing is read.
            if answers && number > 0 {
                message[12..20].fill(0);
            }
            let mut data = vec![index as u8];
            data.extend_from_slice(&message[4..]);
            seed("services", &format!("{}-{number}", kind.name()), &data);
        }
    }
    hot_path();
    // Bodies of known types, each as the one argument of a call.
    for kind in sample::bodies() {
        let body = sample::structure(kind, &mut Random(5));
        let object = sample::extension_object(kind, &body);
        let mut data = vec![255];
        data.extend_from_slice(&sample::type_id(wire::service::Kind::CallRequest));
        data.extend_from_slice(&[0; 29]);
        data.extend_from_slice(&1_i32.to_le_bytes());
        data.extend_from_slice(&[0, 1, 0, 2]);
        data.extend_from_slice(&1_i32.to_le_bytes());
        data.push(22);
        data.extend_from_slice(&object);
        seed("services", &format!("body-{}", kind.name()), &data);
    }
    // Values within values, around the depth that is allowed.
    for depth in [98, 99, 100, 101] {
        let kind = wire::service::Kind::ReadResponse;
        let mut data = vec![255];
        data.extend_from_slice(&sample::type_id(kind));
        data.extend_from_slice(&[0; 24]);
        data.extend_from_slice(&1_i32.to_le_bytes());
        data.push(1);
        data.extend(std::iter::repeat_n(24, depth));
        data.extend_from_slice(&[1, 1]);
        data.extend_from_slice(&[0; 4]);
        seed("services", &format!("nested-{depth}"), &data);
    }
}

/// What is walked and not decoded, as it usually looks.
fn hot_path() {
    use wire::types::{ByteString, DataValue, DateTime, StatusCode, Variant};
    let whole = |name: &str, body: Vec<u8>| {
        seed("services", name, &[&[255], &body[..]].concat());
    };
    let statuses = [
        StatusCode::Good,
        StatusCode::BadNodeIdUnknown,
        StatusCode::UncertainInitialValue,
        StatusCode::BadOutOfService,
    ];
    let values = [
        Variant::Double(1.5),
        Variant::UInt64(u64::MAX),
        Variant::Int32(-7),
        Variant::from("text"),
        Variant::ByteString(ByteString::from(vec![1, 2, 3])),
        Variant::from(vec![1_i16, 2, 3]),
        Variant::from(vec![1.5_f64, 2.5]),
        Variant::Boolean(true),
    ];
    let results = values
        .iter()
        .zip(statuses.iter().cycle())
        .zip(1..)
        .map(|((value, status), number)| DataValue {
            value: Some(value.clone()),
            status: Some(*status),
            source_timestamp: Some(DateTime::from(messages::TICKS)),
            source_picoseconds: Some(number),
            server_timestamp: Some(DateTime::from(messages::TICKS + i64::from(number))),
            server_picoseconds: Some(number * 3),
        })
        .collect();
    let mut written = messages::write_response(0);
    written.results = Some(statuses.to_vec());
    let mut called = messages::call_response(2);
    called.results.iter_mut().flatten().for_each(|result| {
        result.status_code = StatusCode::BadInvalidArgument;
        result.input_argument_results = Some(statuses.to_vec());
    });
    let read = messages::read_response(results);
    whole("hot-read-values", messages::encode(&read));
    let doubles = messages::read_response(messages::doubles(5, true));
    whole("hot-read-doubles", messages::encode(&doubles));
    whole("hot-written", messages::encode(&written));
    whole("hot-called", messages::encode(&called));
    let published = messages::publish_response(4);
    whole("hot-published", messages::encode(&published));
    whole("hot-read", messages::encode(&messages::read_request(3)));
    let write = messages::write_request(&values);
    whole("hot-write", messages::encode(&write));
}

fn certificates(plant: &Path) {
    let read = |name: &str| fs::read(plant.join(name)).unwrap();
    let keys = repository().join("crates/wire/tests/keys");
    let chain = [
        read("application.der"),
        read("line.der"),
        read("division.der"),
    ];
    for flags in [0, 4, 9, 63] {
        let data = [&[0, flags], &chain.concat()[..]].concat();
        seed("certificates", &format!("chain-{flags}"), &data);
    }
    for name in ["application.der", "root.der"] {
        let data = [&[0, 0], &read(name)[..]].concat();
        seed("certificates", &format!("sent-{name}"), &data);
    }
    for name in [
        "cert1024.der",
        "cert2048.der",
        "cert4096.der",
        "cert256.der",
        "cert25519.der",
        "cert521.der",
    ] {
        let data = [&[0, 63], &fs::read(keys.join(name)).unwrap()[..]].concat();
        seed("certificates", &format!("sent-{name}"), &data);
    }
    for name in ["line.crl", "root.crl"] {
        let data = [&[1], &read(name)[..]].concat();
        seed("certificates", name, &data);
    }
    let folder = [2, 0, 0xd0, 0x91, 0x51, 0x22, 0x62, 0xa2, 0x13];
    seed("certificates", "folder", &folder);
    let mut own = vec![2, 63];
    for kind in [0, 3] {
        let der = fs::read(keys.join("cert1024.der")).unwrap();
        own.extend_from_slice(&[kind, 0xf0]);
        own.extend_from_slice(&(der.len() as u16).to_le_bytes());
        own.extend_from_slice(&der);
    }
    seed("certificates", "folder-own", &own);
}

fn bytes(bytes: &[u8]) -> Vec<u8> {
    let mut out = match u8::try_from(bytes.len()) {
        Ok(short) if short < 0xf0 => vec![short],
        _ => {
            let [low, high, ..] = bytes.len().to_le_bytes();
            vec![0xf0, low, high]
        }
    };
    out.extend_from_slice(bytes);
    out
}

fn client() {
    let raw = |parts: &[Vec<u8>]| {
        let mut out = vec![0];
        for part in parts {
            out.push(0);
            out.extend_from_slice(&bytes(part));
        }
        out
    };
    seed("client", "acknowledged", &raw(&[acknowledge()]));
    seed("client", "refused", &raw(&[error()]));
    seed("client", "http", &raw(&[b"HTTP/1.1 400 Bad".to_vec()]));
    let mut reversed = raw(&[reverse(), acknowledge()]);
    reversed[0] = 1;
    seed("client", "reversed", &reversed);
    let mut opening = raw(&[open_none(b"body")]);
    opening[0] = 2;
    seed("client", "opening", &opening);
    let answered = [
        4, 3, 2, 104, 105, 0, 3, 0, 1, 10, // a request
        1, 1, 2, 104, 105, 0, 0, 0, 0, // its response
        3, 2, 104, 105, 0, 1, 2, 7, 5, 1, 60, // another, half forgotten
        9, 1, 30, 0, 5, 1, 90, // and renewed
        1, 1, 2, 97, 98, 4, 0, 2, 0, 1, 1, 2, 97, 98, 4, 0, 0, 0, 13, 0xf8,
    ];
    seed("client", "answered", &answered);
    let mut long = vec![4];
    for _ in 0..10 {
        long.extend_from_slice(&[1, 1, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9, 4, 0, 2, 0]);
    }
    seed("client", "long", &long);
    let renewed = [
        4, 8, 9, 1, 0, 0, 5, 1, 1, 8, 9, 1, 60, 2, 5, 3, 1, 8, 9, 1, 60, 3,
    ];
    seed("client", "renewed", &renewed);
    seed(
        "client",
        "secured",
        &[0xf2, 11, 6, 255, 9, 1, 60, 0, 5, 2, 1],
    );
    seed(
        "client",
        "messages",
        &[4, 12, 2, 104, 105, 2, 1, 2, 3, 4, 15, 15],
    );
}

fn server() {
    let raw = |begin: u8, parts: &[Vec<u8>]| {
        let mut out = vec![begin];
        for part in parts {
            out.push(0);
            out.extend_from_slice(&bytes(part));
        }
        out
    };
    seed("server", "hello", &raw(0, &[hello()]));
    seed("server", "reverse", &raw(1, &[hello()]));
    seed("server", "http", &raw(0, &[b"GET / HTTP/1.1".to_vec()]));
    seed("server", "opening", &raw(2, &[open_none(b"body")]));
    let answered = [
        4, 1, 9, 0, 0, 0, 2, 104, 105, 0, 0, 0, 0, // a request
        4, 2, 104, 105, 4, 7, 200, // its response
        1, 9, 0, 0, 0, 2, 104, 105, 4, 0, 2, 0, 1, 9, 0, 0, 0, 2, 104, 105, 4, 0, 0, 0, 14, 0, 8,
        1, 30, 1, 6, 1, 90, 1, 9, 0, 0, 0, 2, 104, 105, 0, 0xf1, 0, 0,
    ];
    seed("server", "answered", &answered);
    let mut long = vec![4];
    for _ in 0..10 {
        long.extend_from_slice(&[1, 9, 0, 0, 0, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9, 4, 0, 2, 0]);
    }
    seed("server", "long", &long);
    for policy in 0..6 {
        let secured = [0x82, 10, policy, 3, 0, 4, 1, 2, 3, 4, 11, 7, 255, 15];
        seed("server", &format!("secured-{policy}"), &secured);
        let strange = [0x82, 13, 1, 10, policy, 0, 0, 4, 1, 2, 3, 4, 11, 15];
        seed("server", &format!("untrusted-{policy}"), &strange);
    }
    seed(
        "server",
        "messages",
        &[2, 12, 2, 104, 105, 1, 1, 2, 3, 4, 15],
    );
    for (policy, kind) in (0..5).flat_map(|policy| (0..3).map(move |kind| (policy, kind))) {
        let mut secret = vec![0x7f, policy, kind, 36, 0, 0, 0];
        secret.extend_from_slice(b"word");
        secret.extend_from_slice(&[7; 32]);
        // The last byte decides little here but whether RSA is done at all.
        secret.push(0);
        let end = secret.len() - 1;
        while !fuzzed::is_chosen(&secret) {
            secret[end] += 1;
        }
        seed("server", &format!("secret-{policy}-{kind}"), &secret);
    }
    seed("server", "shut", &[4, 14, 0xe1, 15, 14, 0xf1]);
}

/// Who asks for a server, who answers for one, who wants its name, and who takes it back.
fn mdns() {
    use mdns::{Data, Kind, Name, Packet, Question, Record};

    let (service, host) = (
        Kind::Tcp.name().unwrap(),
        Name::dotted("other.local").unwrap(),
    );
    let record = |name: &Name, ttl, data| Record {
        name: name.clone(),
        ttl,
        is_all: false,
        data,
    };
    let ask = Packet {
        questions: Kind::ALL
            .map(|it| Question::instances(it.name().unwrap()))
            .into(),
        ..Packet::default()
    };
    let about = |label: &str, ttl| {
        let name = Name::below(label, &service).unwrap();
        let place = Data::Service {
            port: 4841,
            host: host.clone(),
        };
        let text = Data::Text(vec![b"path=/a".to_vec(), b"caps=DA,HD".to_vec()]);
        let answers = vec![
            record(&service, ttl, Data::Pointer(name.clone())),
            record(&name, ttl, place),
            record(&name, ttl, text),
            record(&host, ttl, Data::Address([192, 0, 2, 8].into())),
        ];
        Packet {
            is_answer: true,
            answers,
            ..Packet::default()
        }
    };
    let probe = Packet {
        questions: vec![Question::all(Name::below("bench", &service).unwrap())],
        proposed: about("bench", 120)
            .answers
            .into_iter()
            .skip(1)
            .take(1)
            .collect(),
        ..Packet::default()
    };
    let script = |packets: &[(u8, &Packet)]| {
        let one = |(how, packet): &(u8, &Packet)| {
            let bytes = packet.write();
            let len = u16::try_from(bytes.len()).unwrap().to_be_bytes();
            [&[*how], len.as_slice(), &bytes].concat()
        };
        packets.iter().flat_map(one).collect::<Vec<_>>()
    };
    let late = 0xfe;
    let (there, gone) = (about("line", 4500), about("line", 0));
    seed(
        "mdns",
        "asked",
        &script(&[(late, &probe), (late, &ask), (late, &ask), (1, &ask)]),
    );
    seed(
        "mdns",
        "heard",
        &script(&[(0, &there), (late, &there), (late, &gone)]),
    );
    let disputed = about("bench", 120);
    seed(
        "mdns",
        "disputed",
        &script(&[
            (0, &probe),
            (80, &probe),
            (late, &probe),
            (late, &disputed),
            (late, &ask),
        ]),
    );
}

/// What a broker says to a publisher and to a listener, in either version.
fn mqtt() {
    let common = [
        0xd0, 0, 0x40, 2, 0, 1, 0x50, 2, 0, 2, 0x62, 2, 0, 2, 0x70, 2, 0, 2,
    ];
    let three = [
        [0x20, 2, 0, 0].as_slice(),
        &common,
        &[
            0x90, 3, 0, 1, 1, 0x33, 8, 0, 3, b'a', b'/', b'b', 0, 9, b'x', 0xe0, 0,
        ],
    ];
    let five = [
        [0x20, 6, 0, 0, 3, 0x21, 0, 20].as_slice(),
        &common,
        &[
            0x90, 4, 0, 1, 0, 1, 0x31, 10, 0, 1, b'a', 5, 3, 0, 2, b'm', b't', b'x', 0xe0, 2, 0x8b,
            0,
        ],
    ];
    seed("mqtt", "three", &[&[0], three.concat().as_slice()].concat());
    seed("mqtt", "five", &[&[1], five.concat().as_slice()].concat());
}

/// Requests and answers of HTTPS, of known length and in pieces.
fn http() {
    let post = "POST /ua HTTP/1.1\r\nHost: plc\r\nContent-Type: application/octet-stream\r\n";
    let posts = format!("{post}Content-Length: 3\r\n\r\nabc").repeat(2);
    let pieces = format!(
        "{post}Transfer-Encoding: chunked\r\n\r\n3;a=b\r\nabc\r\nA\r\n0123456789\r\n0\r\nX: y\r\n\r\n\
         {post}Connection: close\r\nContent-Length: 0\r\n\r\n"
    );
    let answers = "HTTP/1.1 100 Continue\r\n\r\n\
                   HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nContent-Length: 4\r\n\r\nabcd\
                   HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n";
    seed("http", "posts", &[b"\x00\x06", posts.as_bytes()].concat());
    seed("http", "pieces", &[b"\x00\x02", pieces.as_bytes()].concat());
    seed(
        "http",
        "answers",
        &[b"\x07\x04", answers.as_bytes()].concat(),
    );
}

/// Each kind of message, in the names of either version, with and without headers.
fn json() {
    let set = |payload: &str| {
        format!(r#"{{"DataSetWriterId":1,"SequenceNumber":7,"Payload":{payload}}}"#)
    };
    let network = |sets: &str| {
        format!(
            r#"{{"MessageId":"m","MessageType":"ua-data","PublisherId":"7","Messages":[{sets}]}}"#
        )
    };
    let compact =
        r#"{"a":{"UaType":10,"Value":1.5},"b":{"UaType":4,"Value":[1,2,3,4],"Dimensions":[2,2]}}"#;
    let value = r#"{"a":{"UaType":12,"Value":"x\u00e9","Status":{"Code":1},"SourceTimestamp":"2021-09-27T18:45:19.555Z"}}"#;
    let old = r#"{"a":{"Type":17,"Body":{"IdType":1,"Id":"n","Namespace":2}},"b":{"Value":{"Type":9,"Body":"7"}}}"#;
    let object = r#"{"a":{"UaType":22,"Value":{"UaTypeId":"i=298","UaEncoding":1,"UaBody":"AgAAAGluAAAAAAAAAAAAAAA="}}}"#;
    let texts = [
        ("compact", network(&set(compact))),
        ("value", network(&[set(value), set(value)].join(","))),
        ("old", network(&set(old))),
        ("object", set(object)),
        ("verbose", set(r#"{"a":1.5,"b":"text","c":{"Value":true}}"#)),
        ("bare", r#"{"a":1.5,"b":[null,false]}"#.to_owned()),
        ("alive", network(r#"{"DataSetWriterId":"1","MessageType":"ua-keepalive"}"#)),
        (
            "metadata",
            r#"{"MessageType":"ua-metadata","PublisherId":"7","DataSetWriterId":1,"MetaData":{"Name":"s","Fields":[{"Name":"a","BuiltInType":10,"ValueRank":-1}],"ConfigurationVersion":{"MajorVersion":1,"MinorVersion":2}}}"#.to_owned(),
        ),
        ("status", r#"{"MessageType":"ua-status","PublisherId":"7","IsCyclic":false,"Status":"Error_3"}"#.to_owned()),
    ];
    for (name, text) in texts {
        // Typed by themselves, and by metadata that says Float.
        for flags in [0, 21] {
            seed(
                "json",
                &format!("{name}-{flags}"),
                &[&[flags], text.as_bytes()].concat(),
            );
        }
    }
}

/// A message of each kind as bytes, and as the text that it is, some of them in the verbose style.
fn uajson() {
    use wire::json::{Style, write};
    for (index, kind) in fuzzed::services::kinds().enumerate() {
        let message = sample::message(kind, &mut Random(1));
        let name = kind.name();
        seed("uajson", name, &[&[index as u8], &message[4..]].concat());
        let style = match index % 8 {
            0 => Style::Verbose,
            _ => Style::Compact,
        };
        let text = write(&message, style, usize::MAX).unwrap();
        let data = [&[255], text.as_bytes()].concat();
        seed("uajson", &format!("{name}-text"), &data);
    }
}

/// What publishers are asked, and what they tell.
fn discovery() {
    use pubsub::PublisherId;
    use pubsub::discovery::{
        Announced, Announcement, Asks, Endpoint, FieldMetaData, MetaData, Probe, WriterConfig,
        WriterGroupConfig,
    };
    use wire::template::walk::BuiltInType;
    let publisher = PublisherId::UInt16(7);
    let keep = |name: &str, bytes: &[u8]| {
        seed("uadp", &format!("{name}-0"), &[&[0], bytes].concat());
    };
    let asks = [
        ("probe-endpoints", Asks::Endpoints),
        ("probe-metadata", Asks::MetaData(vec![1, 2])),
        ("probe-writers", Asks::Writers(Vec::new())),
        ("probe-other", Asks::Other(2, 0)),
    ];
    for (name, asks) in asks {
        let mut out = Vec::new();
        Probe { asks }.encode(&publisher, None, &mut out).unwrap();
        keep(name, &out);
    }
    let text = FieldMetaData {
        max_string_length: 8,
        ..FieldMetaData::scalar("name".into(), BuiltInType::String)
    };
    let array = FieldMetaData {
        value_rank: 1,
        dimensions: vec![3],
        ..FieldMetaData::scalar("row".into(), BuiltInType::Int16)
    };
    let float = FieldMetaData::scalar("speed".into(), BuiltInType::Float);
    let metadata = MetaData {
        name: "line".into(),
        fields: vec![float, text, array],
        major_version: 1,
        minor_version: 2,
        ..MetaData::default()
    };
    let group = WriterGroupConfig {
        name: "group".into(),
        id: 1,
        enabled: true,
        security_mode: 1,
        interval_ms: 100.0,
        content_mask: 0x3f,
        writers: vec![WriterConfig {
            name: "writer".into(),
            id: 1,
            enabled: true,
            key_frame_count: 1,
            data_set: "line".into(),
            ..WriterConfig::default()
        }],
        ..WriterGroupConfig::default()
    };
    let endpoint = Endpoint {
        url: "opc.tcp://plc:4840".into(),
        security_mode: 1,
        ..Endpoint::default()
    };
    let told = [
        (
            "told-metadata",
            Announced::MetaData {
                writer_id: 1,
                metadata,
                status: 0,
            },
        ),
        (
            "told-writers",
            Announced::Writers {
                writer_ids: vec![1],
                group: Box::new(group),
                statuses: vec![0],
            },
        ),
        (
            "told-endpoints",
            Announced::Endpoints {
                endpoints: vec![endpoint],
                status: 0,
            },
        ),
    ];
    for (name, told) in told {
        let mut out = Vec::new();
        let announcement = Announcement { sequence: 1, told };
        announcement.encode(&publisher, None, &mut out).unwrap();
        keep(name, &out);
    }
}

/// Each layout and encoding, clear and secured; delta frames, events, keep-alive messages, parts, a probe.
fn uadp() {
    use pubsub::layout::Layout;
    use pubsub::security::{GroupKeys, Mode, PubSubPolicy, Sealer};
    use pubsub::template::Template;
    use pubsub::{Changes, Content, Fields, PublisherId};
    use wire::types::{DataValue, Variant};
    let datagram = |name: &str, bytes: &[u8]| {
        for flags in [0, 1] {
            let data = [&[flags], bytes].concat();
            seed("uadp", &format!("{name}-{flags}"), &data);
        }
    };
    let variants = || {
        vec![
            Variant::Float(1.5),
            Variant::from("text"),
            Variant::Int32(-7),
        ]
    };
    let contents = [
        ("variant", Content::Key(Fields::Variant(variants()))),
        ("raw", Content::Key(Fields::Raw((0..48).collect()))),
        (
            "value",
            Content::Key(Fields::DataValue(
                variants()
                    .into_iter()
                    .map(|value| DataValue {
                        value: Some(value),
                        source_timestamp: Some(wire::types::DateTime::from(messages::TICKS)),
                        ..DataValue::default()
                    })
                    .collect(),
            )),
        ),
        (
            "delta",
            Content::Delta(Changes::Variant(vec![(2, Variant::Float(2.5))])),
        ),
        ("event", Content::Event(variants())),
        ("alive", Content::KeepAlive),
    ];
    for layout in [Layout::Dynamic, Layout::PeriodicFixed] {
        for (name, content) in &contents {
            let id = PublisherId::UInt64(7);
            let sets = [(1, content.clone()), (2, content.clone())];
            let mut out = Vec::new();
            layout.message(id, 1, 1, sets).encode(&mut out).unwrap();
            datagram(&format!("{layout:?}-{name}").to_lowercase(), &out);
        }
    }
    let message = |fields| {
        let id = PublisherId::String("a publisher".into());
        Layout::Dynamic.message(id, 1, 1, [(1, Content::Key(fields))])
    };
    for mode in [Mode::Sign, Mode::SignAndEncrypt] {
        for (token, policy, len) in [
            (1, PubSubPolicy::Aes128Ctr, 52),
            (2, PubSubPolicy::Aes256Ctr, 68),
        ] {
            let keys = GroupKeys::new(policy, &vec![7; len]).unwrap();
            let sealer = Sealer::new(keys, token, mode, [1; 4]);
            let fields = Fields::Variant(vec![Variant::Float(1.5); 3]);
            let mut template = Template::new(&message(fields), &[], Some(sealer)).unwrap();
            let mut out = Vec::new();
            assert!(template.write(1, &mut out));
            datagram(&format!("{mode:?}-{token}").to_lowercase(), &out);
        }
    }
    let long = message(Fields::Raw((0..200).collect()));
    for (n, part) in long.encode_chunks(150, 9).unwrap().iter().enumerate() {
        datagram(&format!("part-{n}"), part);
    }
    // A probe for metadata, and delta frames with a PublisherId of type 6 and nulls for what did not change.
    datagram("probe", &[0x91, 0x81, 0x04, 7, 0, 1, 1, 1, 0, 0, 0, 1, 0]);
    let nulls = [
        0x51, 0x06, 7, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0x81, 1, 3, 0, 0, 0, 0, 1, 0, 6, 5, 0, 0, 0,
        0, 0, 0,
    ];
    datagram("nulls", &nulls);
}
