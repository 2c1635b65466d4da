//! `uaperf publish` and `uaperf listen` with a broker of another vendor between them, on a free port of the loopback.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on has failed"
)]

mod faults;
mod phases;
mod secured;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use crate::support::broker::{Broker, OPEN};
use crate::support::{Said, command};
use serde_json::Value;

/// A listener that has subscribed.
fn listen(folder: &Path, url: &str, words: &[&str]) -> Child {
    let for_long = ["--duration", "30s"];
    let duration: &[&str] = match words.contains(&"--duration") {
        true => &[],
        false => &for_long,
    };
    let mut child = command(folder, &["listen", url, "--json"])
        .args([duration, words].concat())
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

/// What it said, and its exit code.
fn end(child: Child) -> (Value, i32) {
    let output = child.wait_with_output().unwrap();
    let told = serde_json::from_slice(&output.stdout).unwrap();
    (told, output.status.code().unwrap())
}

fn publish(folder: &Path, url: &str, words: &[&str]) -> (Value, i32) {
    let said = Said::by(command(folder, &["publish", url, "--json"]).args(words));
    let told = serde_json::from_str(&said.out);
    (
        told.unwrap_or_else(|_| panic!("{}{}", said.out, said.err)),
        said.code,
    )
}

fn number(of: &Value, path: &str) -> u64 {
    let found = of.pointer(path).and_then(Value::as_u64);
    found.unwrap_or_else(|| panic!("no {path} in {of:#}"))
}

#[test]
fn every_message_comes_once_in_every_mapping_encoding_and_quality() {
    let folder = tempfile::tempdir().unwrap();
    let Some(broker) = Broker::start(folder.path(), OPEN) else {
        return;
    };
    let cases = [
        ("uadp", "variant", "0", "3.1.1", "Variant"),
        ("uadp", "raw", "1", "5", "RawData"),
        ("json", "variant", "0", "5", "Variant"),
        ("json", "value", "1", "3.1.1", "DataValue"),
        ("json", "raw", "2", "5", "RawData"),
        ("json-verbose", "variant", "2", "3.1.1", "RawData"),
        ("json-reversible", "value", "1", "5", "DataValue"),
    ];
    for (n, (mapping, encoding, qos, version, seen)) in cases.into_iter().enumerate() {
        let url = broker.url(&format!("/line{n}"));
        let filter = format!("{url}/#");
        let of_broker = ["--qos", qos, "--mqtt", version];
        let words = ["--datagrams", "40", "--same-clock", "--expect", "loss=0"];
        let listener = listen(folder.path(), &filter, &[&of_broker[..], &words].concat());
        let words = [
            "--mapping",
            mapping,
            "--encoding",
            encoding,
            "--signals",
            "5",
            "--writers",
            "2",
            "--groups",
            "2",
            "--interval",
            "5ms",
            "--cycles",
            "20",
        ];
        let (sent, code) = publish(folder.path(), &url, &[&of_broker[..], &words].concat());
        assert!([0, 4].contains(&code), "{sent:#}");
        assert_eq!(number(&sent, "/result/datagrams"), 40, "{sent:#}");
        if qos != "0" {
            assert_eq!(number(&sent, "/result/mqtt/acknowledged"), 40, "{sent:#}");
            assert_eq!(number(&sent, "/result/mqtt/acknowledgement/count"), 40);
        }
        let (heard, code) = end(listener);
        assert_eq!(code, 0, "{mapping} {encoding}: {heard:#}");
        assert_eq!(
            number(&heard, "/result/datagrams"),
            40,
            "{mapping} {encoding}: {heard:#}"
        );
        // RawData is read by what the publisher tells of it.
        assert_eq!(number(&heard, "/result/values"), 400);
        let streams = heard
            .pointer("/result/streams")
            .unwrap()
            .as_array()
            .unwrap();
        assert_eq!(streams.len(), 2, "{heard:#}");
        for stream in streams {
            let text = |name: &str| stream.get(name).and_then(Value::as_str);
            assert_eq!(text("publisher_id"), Some("1"));
            let tree = format!(
                "line{n}/{}/data/1/WriterGroup",
                if mapping == "uadp" { "uadp" } else { "json" }
            );
            assert!(text("topic").unwrap().starts_with(&tree), "{stream:#}");
            assert_eq!(number(stream, "/delay/same-clock/count"), 20, "{stream:#}");
            let writers = stream.get("writers").unwrap().as_array().unwrap();
            assert_eq!(writers.len(), 2);
            for writer in writers {
                assert_eq!(
                    writer.get("encoding").unwrap(),
                    seen,
                    "{mapping}: {writer:#}"
                );
                assert_eq!(number(writer, "/sequence/lost"), 0);
            }
        }
    }
}

/// Waits until a publisher's data come to the broker.
fn one_comes(folder: &Path, broker: &Broker) {
    let one = listen(folder, &broker.url("/opcua/#"), &["--datagrams", "1"]);
    end(one);
}

/// What a broker keeps of a publisher names it to those who come later, and is gone when it has gone.
#[test]
fn a_broker_keeps_status_and_metadata_while_the_publisher_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let Some(broker) = Broker::start(folder.path(), OPEN) else {
        return;
    };
    let mut publisher = command(
        folder.path(),
        &["publish", &broker.url(""), "--mapping", "json"],
    )
    .args(["--interval", "20ms", "--duration", "30s", "--signals", "2"])
    .stdout(Stdio::null())
    .spawn()
    .unwrap();
    // Behind the first data the broker has status and metadata.
    one_comes(folder.path(), &broker);
    let listener = listen(
        folder.path(),
        &broker.url("/opcua/#"),
        &["--datagrams", "5"],
    );
    let (heard, code) = end(listener);
    assert_eq!(code, 0, "{heard:#}");
    let stream = heard.pointer("/result/streams/0").unwrap();
    // The broker says how publishers are who go without a word.
    publisher.kill().unwrap();
    publisher.wait().unwrap();
    assert_eq!(stream.get("status").unwrap(), "Operational");
    assert_eq!(
        number(&heard, "/result/mqtt/retained"),
        2,
        "status and metadata: {heard:#}"
    );
    let later = listen(
        folder.path(),
        &broker.url("/opcua/json/#"),
        &["--datagrams", "5"],
    );
    let (_, code) = publish(
        folder.path(),
        &broker.url(""),
        &[
            "--mapping",
            "json",
            "--cycles",
            "5",
            "--interval",
            "20ms",
            "--signals",
            "2",
        ],
    );
    assert!([0, 4].contains(&code));
    let (heard, _) = end(later);
    assert_eq!(
        number(&heard, "/result/mqtt/retained"),
        2,
        "what was kept of the first: {heard:#}"
    );
    // Now it said farewell, and what was kept is taken back.
    let late = command(
        folder.path(),
        &[
            "listen",
            &broker.url("/opcua/#"),
            "--json",
            "--duration",
            "1s",
        ],
    )
    .output()
    .unwrap();
    let late: Value = serde_json::from_slice(&late.stdout).unwrap();
    assert_eq!(number(&late, "/result/mqtt/retained"), 0, "{late:#}");
}

#[test]
fn a_broker_that_stops_and_comes_again_is_told_by_both_ends() {
    let folder = tempfile::tempdir().unwrap();
    let Some(mut broker) = Broker::start(folder.path(), OPEN) else {
        return;
    };
    let listener = listen(
        folder.path(),
        &broker.url("/opcua/#"),
        &["--datagrams", "400", "--duration", "15s"],
    );
    let publisher = command(
        folder.path(),
        &["publish", &broker.url(""), "--json", "--qos", "1"],
    )
    .args(["--interval", "20ms", "--duration", "6s", "--signals", "2"])
    .stdout(Stdio::piped())
    .spawn()
    .unwrap();
    one_comes(folder.path(), &broker);
    let port = broker.port;
    broker.stop();
    std::thread::sleep(Duration::from_secs(1));
    let again = Broker::start_at(folder.path(), OPEN, port).unwrap();
    let (sent, code) = end(publisher);
    assert_eq!(
        (code, sent.get("verdict").unwrap().as_str()),
        (1, Some("INCOMPLETE")),
        "{sent:#}"
    );
    assert!(number(&sent, "/result/mqtt/connections") >= 2, "{sent:#}");
    let unsent = number(&sent, "/result/mqtt/not_connected");
    assert!(
        unsent > 0 && unsent == number(&sent, "/result/refused"),
        "{sent:#}"
    );
    let acknowledged = number(&sent, "/result/mqtt/acknowledged");
    let unacknowledged = number(&sent, "/result/mqtt/unacknowledged");
    assert_eq!(
        acknowledged + unacknowledged,
        number(&sent, "/result/datagrams"),
        "{sent:#}"
    );
    drop(again);
    // Without a broker the listener waits for one until its time is over; Ctrl-C is not needed to see it.
    let (heard, code) = end(listener);
    assert_eq!(
        (code, heard.get("verdict").unwrap().as_str()),
        (1, Some("INCOMPLETE")),
        "{heard:#}"
    );
    assert!(number(&heard, "/result/mqtt/connections") >= 2, "{heard:#}");
    assert!(number(&heard, "/result/mqtt/away_ns") > 0);
    let gaps = number(&heard, "/result/streams/0/writers/0/sequence/gaps");
    assert!(gaps >= 1, "{heard:#}");
}

#[test]
fn who_may_not_come_in_is_told_so_and_secrets_are_not_shown() {
    let folder = tempfile::tempdir().unwrap();
    let Some(broker) = Broker::start(folder.path(), "allow_anonymous false") else {
        return;
    };
    std::fs::write(folder.path().join("secret"), "hidden-word\n").unwrap();
    for version in ["3.1.1", "5"] {
        for verb in ["publish", "listen"] {
            let said = Said::by(
                command(folder.path(), &[verb, &broker.url(""), "--mqtt", version]).args([
                    "--user",
                    "me",
                    "--password-file",
                    "secret",
                    "--duration",
                    "1s",
                ]),
            );
            assert_eq!(said.code, 1, "{}{}", said.out, said.err);
            assert!(
                said.err.contains("the broker refuses: not authorised"),
                "{}",
                said.err
            );
            assert!(!said.err.contains("hidden-word") && !said.out.contains("hidden-word"));
        }
    }
}

#[test]
fn what_is_no_broker_or_not_there_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("mqtt://{}", free.local_addr().unwrap());
    let answering = std::thread::spawn(move || {
        for mut stream in free.incoming().take(2).flatten() {
            let mut some = [0; 1000];
            assert!(stream.read(&mut some).unwrap() > 10);
            stream
                .write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n")
                .unwrap();
        }
    });
    for verb in ["publish", "listen"] {
        let said = Said::by(&mut command(
            folder.path(),
            &[verb, &url, "--duration", "1s"],
        ));
        assert_eq!(said.code, 1, "{}", said.err);
        assert!(said.err.contains("is it a broker"), "{}", said.err);
    }
    answering.join().unwrap();
    for verb in ["publish", "listen"] {
        let said = Said::by(&mut command(
            folder.path(),
            &[verb, &url, "--duration", "1s"],
        ));
        assert_eq!(said.code, 1, "{}", said.err);
        assert!(said.err.contains("does a broker run there"), "{}", said.err);
    }
    for words in [
        vec!["publish", "mqtt://me:word@127.0.0.1"],
        vec!["publish", "opc.udp://127.0.0.1", "--mapping", "json"],
        vec!["listen", "mqtt://127.0.0.1", "--qos", "3"],
        vec!["listen", "mqtt://127.0.0.1", "--pcap", "file"],
    ] {
        let said = Said::by(&mut command(folder.path(), &words));
        assert_eq!(said.code, 2, "{words:?}: {}", said.err);
    }
}

/// A broker that lets publishers in and never reads again: every message has its place all the same.
#[test]
fn a_broker_that_does_not_acknowledge_saturates() {
    let folder = tempfile::tempdir().unwrap();
    let slow = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("mqtt://{}", slow.local_addr().unwrap());
    let greeting = std::thread::spawn(move || {
        let (mut stream, _) = slow.accept().unwrap();
        let mut some = [0; 10];
        stream.read_exact(&mut some).unwrap();
        stream.write_all(&[0x20, 2, 0, 0]).unwrap();
        // What comes is taken, and nothing said of it.
        let mut all = Vec::new();
        let _ = stream.read_to_end(&mut all);
    });
    let words = [
        "--qos",
        "1",
        "--in-flight",
        "10",
        "--interval",
        "2ms",
        "--cycles",
        "50",
        "--signals",
        "1",
    ];
    let (sent, code) = publish(folder.path(), &url, &words);
    greeting.join().unwrap();
    assert_eq!(number(&sent, "/result/mqtt/window_full"), 40, "{sent:#}");
    assert_eq!(number(&sent, "/result/mqtt/unacknowledged"), 10);
    assert_eq!(number(&sent, "/result/datagrams"), 10);
    assert_eq!(
        (code, sent.get("verdict").unwrap().as_str()),
        (1, Some("INCOMPLETE")),
        "{sent:#}"
    );
    let evidence = sent.get("evidence").unwrap().to_string();
    assert!(evidence.contains("did not take 40 of 50"), "{evidence}");
}
