//! `opc.https` as a user has it: a server of ours, and commands that dial.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::io::BufRead;
use std::path::Path;

use crate::support::{Said, Server, command, json, ready};
use serde_json::Value;

/// A server with a port for HTTPS, and the URL of that.
fn server(pki: &Path, options: &[&str]) -> (Server, String) {
    let mut server = Server::start(pki, &[&["--https", "0"], options].concat());
    let mut line = String::new();
    server.out.read_line(&mut line).unwrap();
    let url = ready(&line).to_owned();
    assert!(url.starts_with("opc.https://127.0.0.1:"), "{url}");
    (server, url)
}

#[test]
fn probe_and_load_go_over_https() {
    let folder = tempfile::tempdir().unwrap();
    let (_server, url) = server(&folder.path().join("server"), &["--trust"]);
    let probe = ["probe", &url, "--json", "--trust", "--timeout", "60s"];
    let said = Said::by(&mut command(folder.path(), &probe));
    assert_eq!(said.code, 0, "{}", said.err);
    let probe: Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(probe["tls"]["version"], "TLS 1.3");
    let steps = probe["steps"].as_array().unwrap().iter();
    let steps: Vec<_> = steps.map(|it| it["step"].as_str().unwrap()).collect();
    assert!(steps.contains(&"TLS handshake"), "{steps:?}");
    for absent in ["WebSocket upgrade", "hello", "open channel"] {
        assert!(!steps.contains(&absent), "{steps:?}");
    }
    let offers = probe["endpoints"].as_array().unwrap();
    assert_eq!(offers.len(), 1);
    assert_eq!(offers[0]["url"], url.as_str());

    // With the prefix and without, one request at a time and several in a row.
    let plain = url.replace("opc.https", "https");
    for (url, in_flight) in [(&url, "1"), (&plain, "8")] {
        let read = ["read", url, "-n", "ns=2;i=1000..1009", "--sessions", "2"];
        let bounds = ["--requests", "400", "--out", "run.json", "--batch", "10"];
        let more = ["--in-flight", in_flight, "--trust", "--timeout", "60s"];
        let more = [&more[..], &["--dscp", "af21"]].concat();
        let read = [&read[..], &bounds, &more].concat();
        let said = Said::by(&mut command(folder.path(), &read));
        // A busy machine may make a verdict of its own; every request is answered all the same.
        assert!([0, 4].contains(&said.code), "{}", said.err);
        let run = json(&folder.path().join("run.json"));
        assert_eq!(run["targets"][0]["dscp"], "18");
        assert!(said.out.contains("DSCP 18"), "{}", said.out);
        let total = &run["phases"][0]["total"];
        assert_eq!(total["completed"], 400, "{total}");
        assert_eq!(total["failed"].as_u64().unwrap_or(0), 0, "{total}");
    }
    let connect = ["connect", &url, "--sessions", "2", "--duration", "2s"];
    let more = ["--allow", "storm", "--out", "run.json", "--trust"];
    let said = Said::by(&mut command(folder.path(), &[&connect[..], &more].concat()));
    assert!([0, 4].contains(&said.code), "{}", said.err);
    let all = std::fs::read_to_string(folder.path().join("run.json")).unwrap();
    assert!(all.contains("TLS handshake") && !all.contains("open channel"));
}

#[test]
fn what_https_has_not_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let (server, url) = server(&folder.path().join("server"), &["--security", "none"]);
    let say = |words: &[&str]| {
        let more = ["--trust", "--timeout", "60s"];
        Said::by(&mut command(folder.path(), &[words, &more].concat()))
    };
    // No channel of its own, and so none to be renewed.
    let said = say(&["probe", &url, "--security", "Basic256Sha256:Sign"]);
    assert_eq!(said.code, 1, "{}", said.err);
    let said = say(&["connect", &url, "--kind", "renewal"]);
    assert_eq!(said.code, 2, "{}", said.err);
    assert!(said.err.contains("opc.https"), "{}", said.err);
    assert!(said.err.contains("opc.tcp"), "{}", said.err);
    // Another protocol behind the port, either way.
    let said = say(&["probe", &server.url.replace("opc.tcp", "opc.https")]);
    assert_eq!(said.code, 1);
    assert!(said.err.contains("its port for opc.https"), "{}", said.err);
    let said = say(&["probe", &url.replace("opc.https", "opc.wss")]);
    assert_eq!(said.code, 1);
    assert!(said.err.contains("405"), "{}", said.err);
    let said = say(&["probe", &url.replace("opc.https", "opc.tcp")]);
    assert_eq!(said.code, 1, "{}", said.err);
    let said = say(&["probe", &url, "--listen-reverse", "0"]);
    assert_ne!(said.code, 0);
    assert!(said.err.contains("over opc.tcp"), "{}", said.err);
}

#[test]
fn certificates_of_tls_are_judged_over_https_too() {
    let folder = tempfile::tempdir().unwrap();
    let (_server, url) = server(&folder.path().join("server"), &["--security", "none"]);
    let probe = |more: &[&str]| {
        let words = [&["probe", url.as_str(), "--timeout", "60s"], more].concat();
        Said::by(&mut command(folder.path(), &words))
    };
    let said = probe(&[]);
    assert_eq!(said.code, 1, "{}", said.err);
    for word in ["TLS certificate is not accepted", "uaperf cert trust "] {
        assert!(said.err.contains(word), "{}", said.err);
    }
    assert_eq!(probe(&["--trust"]).code, 0);
}

/// Part 6, 5.4 and 7.5.2: over HTTPS and over WebSockets, where only TLS protects.
#[test]
fn messages_are_json_where_that_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let options = ["--https", "0", "--wss", "0", "--trust"];
    let mut server = Server::start(&folder.path().join("server"), &options);
    let mut urls = Vec::new();
    for _ in 0..2 {
        let mut line = String::new();
        server.out.read_line(&mut line).unwrap();
        urls.push(ready(&line).to_owned());
    }
    let say = |words: &[&str]| {
        let more = ["--trust", "--timeout", "60s", "--encoding", "json"];
        Said::by(&mut command(folder.path(), &[words, &more].concat()))
    };
    for url in &urls {
        let read = ["read", url, "-n", "ns=2;i=1000..1009", "--sessions", "2"];
        let bounds = ["--requests", "200", "--out", "run.json", "--batch", "10"];
        let said = say(&[&read[..], &bounds, &["--in-flight", "4"]].concat());
        assert!([0, 4].contains(&said.code), "{}", said.err);
        let run = json(&folder.path().join("run.json"));
        let total = &run["phases"][0]["total"];
        assert_eq!(total["completed"], 200, "{total}");
        assert_eq!(total["failed"].as_u64().unwrap_or(0), 0, "{total}");
        assert_eq!(run["targets"][0]["security"], "None, messages in JSON");
        let said = say(&["probe", url, "--json"]);
        assert_eq!(said.code, 0, "{}", said.err);
        let probe: Value = serde_json::from_str(&said.out).unwrap();
        assert_eq!(probe["endpoints"][0]["url"], url.as_str());
    }
    let wss = urls.iter().find(|url| url.starts_with("opc.wss")).unwrap();
    let said = say(&["subscribe", wss, "-n", "ns=2;i=1000", "--duration", "1s"]);
    assert!([0, 4].contains(&said.code), "{}", said.err);
    // Nothing protects messages in JSON but TLS, and over TCP there is none.
    let said = say(&["probe", wss, "--security", "Basic256Sha256:Sign"]);
    assert_eq!(said.code, 1, "{}", said.err);
    let said = say(&["probe", &server.url]);
    assert_eq!(said.code, 1, "{}", said.err);
    assert!(said.err.contains("OPC UA Binary only"), "{}", said.err);
}

#[test]
fn an_emulated_link_carries_https_and_json() {
    let folder = tempfile::tempdir().unwrap();
    let options = ["--security", "none", "--wss", "0", "--https", "0"];
    let mut server = Server::start(&folder.path().join("server"), &options);
    for ways in [&["json"][..], &["binary", "json"]] {
        let mut line = String::new();
        server.out.read_line(&mut line).unwrap();
        let url = ready(&line).to_owned();
        for encoding in ways {
            let read = [
                "read",
                &url,
                "-n",
                "ns=2;i=1000",
                "--requests",
                "20",
                "--trust",
            ];
            let more = [
                "--link",
                "delay=20ms",
                "--encoding",
                encoding,
                "--out",
                "run.json",
            ];
            let said = Said::by(&mut command(folder.path(), &[&read[..], &more].concat()));
            assert!([0, 4].contains(&said.code), "{}", said.err);
            let run = json(&folder.path().join("run.json"));
            let total = &run["phases"][0]["total"];
            assert_eq!(total["completed"], 20, "{url} {encoding}");
            let p50 = total["histograms"]["service"]["p50_ns"].as_f64().unwrap();
            assert!(p50 >= 40e6, "{url} {encoding}: {p50}");
        }
    }
}

#[test]
fn an_origin_is_what_browsers_call_one() {
    let folder = tempfile::tempdir().unwrap();
    let say = |words: &[&str]| {
        let more = ["serve", "--port", "0"];
        Said::by(&mut command(folder.path(), &[&more, words].concat()))
    };
    let said = say(&["--https", "0", "--cors", "hmi.example/a"]);
    assert_eq!(said.code, 2, "{}", said.err);
    assert!(said.err.contains("origin"), "{}", said.err);
    let said = say(&["--cors", "*"]);
    assert_eq!(said.code, 2, "{}", said.err);
    assert!(said.err.contains("--https"), "{}", said.err);
}
