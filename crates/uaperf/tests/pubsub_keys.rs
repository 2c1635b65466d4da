//! Keys of PubSub from a key service: over a change of keys nothing is lost, and only those get them who may.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on has failed"
)]

use std::net::UdpSocket;
use std::path::Path;
use std::process::{Child, Stdio};

use serde_json::Value;

use crate::support;
use crate::support::{Said, Server, Telling, command, json};

fn free_port() -> u16 {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.local_addr().unwrap().port()
}

/// Options that get keys of `line4` at a server.
fn of(server: &str) -> [&str; 7] {
    [
        "--keys",
        server,
        "--security-group",
        "line4",
        "--trust",
        "--security",
        "sign-and-encrypt",
    ]
}

/// A listener whose socket is open.
fn listener(folder: &Path, url: &str, words: &[&str]) -> (Child, Telling) {
    let words = [&["listen", url, "--duration", "20s"], words].concat();
    let mut child = command(folder, &words)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut telling = Telling::of(&mut child);
    telling.until("listening at");
    (child, telling)
}

/// All datagrams by token.
fn datagrams(told: &Value) -> u64 {
    let all = told["tokens"].as_array().unwrap().iter();
    all.map(|it| it["datagrams"].as_u64().unwrap()).sum()
}

#[test]
fn keys_of_a_service_change_without_a_loss_and_each_datagram_is_told_by_its_key() {
    let folder = tempfile::tempdir().unwrap();
    let (ours, plants) = (free_port(), free_port());
    let (ours, plants) = (
        format!("opc.udp://127.0.0.1:{ours}"),
        format!("opc.udp://127.0.0.1:{plants}"),
    );
    let words = [
        "--update",
        "100ms",
        "--trust",
        "--security-group",
        "line4",
        "--group-lifetime",
        "300ms",
        "--publish",
        &plants,
        "--publish-interval",
        "5ms",
        "--publish-signals",
        "10",
        "--publish-security",
        "sign",
    ];
    let server = Server::start(&folder.path().join("server"), &words);
    let words = [
        &of(&server.url)[..],
        &["--datagrams", "400", "--out", "ours.json"],
    ]
    .concat();
    let (mut ours_heard, _told) = listener(folder.path(), &ours, &words);
    // The plant's own publisher has the same keys.
    let words = [
        &of(&server.url)[..5],
        &["--datagrams", "150", "--out", "plants.json"],
    ]
    .concat();
    let (mut plants_heard, _told_too) = listener(folder.path(), &plants, &words);
    let cycles = ["--cycles", "400", "--interval", "3ms", "--out", "sent.json"];
    let words = [&["publish", &ours], &of(&server.url)[..], &cycles].concat();
    let said = Said::by(&mut command(folder.path(), &words));
    assert!([0, 4].contains(&said.code), "{}{}", said.out, said.err);
    assert_eq!(ours_heard.wait().unwrap().code(), Some(0));
    assert_eq!(plants_heard.wait().unwrap().code(), Some(0));
    let [sent, heard, plants] = ["sent.json", "ours.json", "plants.json"]
        .map(|file| json(&folder.path().join(file))["result"].take());
    assert_eq!(sent["keys"]["tokens"], heard["keys"]["tokens"], "{heard}");
    assert_eq!(datagrams(&heard["keys"]), 400, "{heard}");
    let tokens = heard["keys"]["tokens"].as_array().unwrap().len() as u64;
    assert!((4..=9).contains(&tokens), "1.2 s of 300 ms: {heard}");
    assert_eq!(sent["roll_overs"].as_u64(), Some(tokens - 1), "{sent}");
    assert_eq!(sent["keys"]["expired"], 0, "{sent}");
    for heard in [&heard, &plants] {
        assert_eq!(heard["unread"], Value::Array(Vec::new()), "{heard}");
        let stream = &heard["streams"][0];
        assert_eq!(stream["writers"][0]["sequence"]["lost"], 0, "{heard}");
    }
    assert_eq!(heard["streams"][0]["security"], "sign-and-encrypt");
    assert_eq!(plants["streams"][0]["security"], "sign");
    assert!(
        plants["keys"]["tokens"].as_array().unwrap().len() >= 3,
        "{plants}"
    );
}

#[test]
fn a_key_service_that_is_gone_leaves_the_keys_that_it_told() {
    let folder = tempfile::tempdir().unwrap();
    let words = [
        "--trust",
        "--security-group",
        "line4",
        "--group-lifetime",
        "100ms",
    ];
    let server = Server::start(&folder.path().join("server"), &words);
    let url = server.url.clone();
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let to = format!("opc.udp://{}", socket.local_addr().unwrap());
    let more = [
        "--interval",
        "10ms",
        "--duration",
        "1500ms",
        "--out",
        "sent.json",
    ];
    let words = [&["publish", &to], &of(&url)[..], &more].concat();
    // It has asked once it publishes.
    let mut publisher = command(folder.path(), &words)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut first = [0; 2048];
    socket.recv(&mut first).unwrap();
    drop(server);
    assert_eq!(publisher.wait().unwrap().code(), Some(1));
    let told = json(&folder.path().join("sent.json"));
    assert_eq!(told["verdict"], "INCOMPLETE", "{told}");
    let keys = &told["result"]["keys"];
    let (failed, expired) = (&keys["failed"], &keys["expired"]);
    assert!(
        failed.as_u64() > Some(0) && expired.as_u64() > Some(0),
        "{keys}"
    );
    let why = told["evidence"].to_string();
    assert!(why.contains("a key whose time was over"), "{why}");
}

/// Keys for one user, set by another.
const PLANT: &str = "\
    anonymous_may = ['read']\n\
    [[user]]\nname = 'alice'\npassword_hash = 'pbkdf2-sha256$1000$000102030405060708090a0b0c0d0e0f$be6f1fa29e1e9d7fe83b29ea370ae12a8a0b20014a21dc117124a05df37e6991'\n\
    [[user]]\nname = 'sks'\npassword_hash = 'pbkdf2-sha256$1000$000102030405060708090a0b0c0d0e0f$be6f1fa29e1e9d7fe83b29ea370ae12a8a0b20014a21dc117124a05df37e6991'\n\
    [[security_group]]\nid = 'line4'\nmay_get = ['alice']\nmay_set = ['sks']\n";

#[test]
fn only_who_may_gets_keys_or_sets_them() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("plant.toml");
    std::fs::write(&file, PLANT).unwrap();
    let file = file.display().to_string();
    let server = Server::start(&folder.path().join("server"), &[&file, "--trust"]);
    std::fs::write(folder.path().join("password"), "bench\n").unwrap();
    let keys = |verb: &str, more: &[&str]| {
        let words = [
            "pubsub",
            "keys",
            verb,
            &server.url,
            "--security-group",
            "line4",
            "--trust",
        ];
        Said::by(&mut command(folder.path(), &[&words[..], more].concat()))
    };
    let as_user = |name| ["--user", name, "--password-file", "password"];
    let refused = |said: Said, why: &str| {
        assert_eq!(said.code, 1, "{}{}", said.out, said.err);
        assert!(said.err.contains(why), "{}", said.err);
    };
    let denied = "BadUserAccessDenied";
    refused(keys("get", &[]), denied);
    refused(keys("get", &as_user("sks")), denied);
    let signed = ["--security", "Basic256Sha256:Sign"];
    let said = keys("get", &[&as_user("alice")[..], &signed].concat());
    refused(said, "not encrypted");
    let said = keys("get", &as_user("alice"));
    assert_eq!(said.code, 0, "{}", said.err);
    assert!(said.out.contains("5 keys, tokens 1 to 5"), "{}", said.out);

    let make = [
        "pubsub", "keys", "make", "new.keys", "--count", "3", "--first", "70",
    ];
    let make = || Said::by(&mut command(folder.path(), &make));
    assert_eq!(make().code, 0);
    let made = std::fs::read_to_string(folder.path().join("new.keys")).unwrap();
    assert_eq!(made.lines().count(), 3);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let about = std::fs::metadata(folder.path().join("new.keys")).unwrap();
        assert_eq!(about.permissions().mode() & 0o777, 0o600);
    }
    refused(make(), "keys are never overwritten");

    let push = ["--keys", "new.keys", "--lifetime", "10s", "--to-next", "9s"];
    let said = keys("push", &[&as_user("alice")[..], &push].concat());
    refused(said, denied);
    let said = keys("push", &[&as_user("sks")[..], &push].concat());
    assert_eq!(said.code, 0, "{}", said.err);
    let said = keys(
        "get",
        &[&as_user("alice")[..], &["--out", "got.keys"]].concat(),
    );
    assert_eq!(said.code, 0, "{}", said.err);
    assert!(said.out.contains("3 keys, tokens 70 to 72"), "{}", said.out);
    let got = std::fs::read_to_string(folder.path().join("got.keys")).unwrap();
    assert!(got == made, "other keys than those that were set");
    // Keys are nowhere but in files.
    let secret = made.split_whitespace().nth(2).unwrap();
    assert!(!said.out.contains(&secret[..16]));
}

#[test]
fn what_cannot_be_is_said_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let to = "opc.udp://127.0.0.1:9";
    let service = "opc.tcp://127.0.0.1:9";
    let roll_over = ["publish", to, "--roll-over", "1s"];
    let publish = format!("[[publish]]\nto = '{to}'\nsecurity = 'sign'\nsecurity_group = 'g'\n");
    let twins = format!("[[security_group]]\nid = 'g'\n{publish}{publish}");
    std::fs::write(folder.path().join("twins.toml"), twins).unwrap();
    let cases: [(Vec<&str>, i32, &str); 6] = [
        (
            ["publish", to, "--security", "sign", "--keys", service].into(),
            2,
            "add --security-group NAME",
        ),
        (
            [&["publish", to][..], &of(service)].concat(),
            1,
            "nothing listens on port 9",
        ),
        (
            [&roll_over[..], &of(service)].concat(),
            2,
            "how long a key holds",
        ),
        (
            ["listen", to, "--keys", "ftp://x", "--security-group", "g"].into(),
            2,
            "opc.tcp://HOST:PORT",
        ),
        (
            ["serve", "--security-group", "g", "--group-lifetime", "1ms"].into(),
            2,
            "100ms or more",
        ),
        // Numbers of messages would be used twice with one key.
        (
            ["serve", "twins.toml", "--update", "100ms", "--port", "0"].into(),
            2,
            "give each a publisher of its own",
        ),
    ];
    for (words, code, what) in cases {
        let said = Said::by(&mut command(folder.path(), &words));
        assert_eq!(said.code, code, "{words:?}: {}", said.err);
        assert!(said.err.contains(what), "{words:?}: {}", said.err);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn who_is_interrupted_ends_with_130_and_says_what_there_was() {
    use support::signal;
    let folder = tempfile::tempdir().unwrap();
    let url = format!("opc.udp://127.0.0.1:{}", free_port());
    let (mut hears, _told) = listener(folder.path(), &url, &["--out", "heard.json"]);
    let words = [
        "publish",
        &url,
        "--duration",
        "20s",
        "--interval",
        "1ms",
        "--out",
        "sent.json",
    ];
    let mut sends = command(folder.path(), &words)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    while !support::listens_to_signals(sends.id()) {
        std::thread::yield_now();
    }
    signal(sends.id(), "INT");
    assert_eq!(sends.wait().unwrap().code(), Some(130));
    signal(hears.id(), "INT");
    assert_eq!(hears.wait().unwrap().code(), Some(130));
    for file in ["sent.json", "heard.json"] {
        let told = json(&folder.path().join(file));
        assert_eq!(told["verdict"], "INCOMPLETE", "{told}");
    }
}
