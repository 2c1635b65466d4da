//! `opc.wss` as a user has it: a server of ours, and every kind of command that dials.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::io::BufRead;
use std::path::Path;

use crate::support::{Said, Server, command, json, ready, text};
use serde_json::Value;

/// A server with a port for WebSockets, and the URL of that.
fn server(pki: &Path, options: &[&str]) -> (Server, String) {
    let mut server = Server::start(pki, &[&["--wss", "0"], options].concat());
    let mut line = String::new();
    server.out.read_line(&mut line).unwrap();
    let url = ready(&line).to_owned();
    assert!(url.starts_with("opc.wss://127.0.0.1:"), "{url}");
    (server, url)
}

#[test]
fn every_policy_goes_through_probe_and_load() {
    let folder = tempfile::tempdir().unwrap();
    let (_server, url) = server(&folder.path().join("server"), &["--trust"]);
    let securities = [
        "none",
        "Basic256Sha256:Sign",
        "Basic256Sha256:SignAndEncrypt",
        "Aes128_Sha256_RsaOaep:SignAndEncrypt",
        "Aes256_Sha256_RsaPss:SignAndEncrypt",
    ];
    for security in securities {
        let options = ["--trust", "--security", security, "--timeout", "60s"];
        let probe = [&["probe", &url, "--json"], &options[..]].concat();
        let said = Said::by(&mut command(folder.path(), &probe));
        assert_eq!(said.code, 0, "{}", said.err);
        let probe: Value = serde_json::from_str(&said.out).unwrap();
        assert_eq!(probe["tls"]["version"], "TLS 1.3");
        let cipher = probe["tls"]["cipher"].as_str().unwrap();
        assert!(cipher.starts_with("TLS_"), "{cipher}");
        let steps = probe["steps"].as_array().unwrap().iter();
        let steps: Vec<_> = steps.map(|it| it["step"].as_str().unwrap()).collect();
        let begin = steps.iter().position(|it| *it == "TCP connect").unwrap();
        let wanted = ["TCP connect", "TLS handshake", "WebSocket upgrade", "hello"];
        assert_eq!(&steps[begin..begin + 4], wanted);
        let offers = probe["endpoints"].as_array().unwrap();
        assert!(!offers.is_empty());
        assert!(offers.iter().all(|it| it["url"] == url.as_str()));

        let read = ["read", &url, "-n", "ns=2;i=1000..1009", "--sessions", "2"];
        let bounds = ["--requests", "200", "--out", "run.json", "--batch", "10"];
        let read = [&read[..], &bounds, &options].concat();
        let said = Said::by(&mut command(folder.path(), &read));
        // A busy machine may make a verdict of its own; every request is answered all the same.
        assert!([0, 4].contains(&said.code), "{}", said.err);
        let run = json(&folder.path().join("run.json"));
        let total = &run["phases"][0]["total"];
        assert_eq!(total["completed"], 200, "{total}");
        assert_eq!(total["failed"].as_u64().unwrap_or(0), 0, "{total}");
    }
    // The same screen as over TCP, and what is around it.
    let said = Said::by(&mut command(folder.path(), &["probe", &url, "--trust"]));
    assert!(said.out.contains("over TLS 1.3 with TLS_"), "{}", said.out);
}

#[test]
fn subscriptions_and_connections_come_and_go() {
    let folder = tempfile::tempdir().unwrap();
    let (_server, url) = server(
        &folder.path().join("server"),
        &["--trust", "--update", "50ms"],
    );
    let options = ["--trust", "--timeout", "60s", "--out", "run.json"];
    let subscribe = [
        "subscribe",
        &url,
        "-n",
        "ns=2;i=1000..1049",
        "--publishing",
        "100ms",
    ];
    let subscribe = [&subscribe[..], &["--duration", "3s"], &options].concat();
    let said = Said::by(&mut command(folder.path(), &subscribe));
    assert!([0, 4].contains(&said.code), "{}", said.err);
    let run = json(&folder.path().join("run.json"));
    let values = &run["phases"][0]["subscriptions"]["places"];
    assert!(values["delivered"].as_u64().unwrap() > 100, "{values}");
    assert_eq!(values["lost"].as_u64().unwrap_or(0), 0, "{values}");

    let connect = [
        "connect",
        &url,
        "--sessions",
        "4",
        "--duration",
        "2s",
        "--allow",
        "storm",
    ];
    let connect = [&connect[..], &options].concat();
    let said = Said::by(&mut command(folder.path(), &connect));
    assert!([0, 4].contains(&said.code), "{}", said.err);
    let all = std::fs::read_to_string(folder.path().join("run.json")).unwrap();
    for step in ["TLS handshake", "WebSocket upgrade"] {
        assert!(all.contains(step), "{step}");
    }
}

#[test]
fn certificates_of_tls_are_judged_as_those_of_channels() {
    let folder = tempfile::tempdir().unwrap();
    let servers = folder.path().join("server");
    let (_server, url) = server(&servers, &["--security", "none"]);
    let probe = |url: &str, more: &[&str]| {
        let words = [&["probe", url, "--timeout", "60s"], more].concat();
        Said::by(&mut command(folder.path(), &words))
    };
    let said = probe(&url, &[]);
    assert_eq!(said.code, 1, "{}", said.err);
    for word in ["TLS certificate is not accepted", "uaperf cert trust "] {
        assert!(said.err.contains(word), "{}", said.err);
    }
    assert_eq!(probe(&url, &["--trust"]).code, 0);
    // What the hint says helps.
    let (_, hint) = said.err.split_once("uaperf cert trust ").unwrap();
    let name = hint.split([',', '\n', ' ']).next().unwrap();
    let trusted = Said::by(&mut command(folder.path(), &["cert", "trust", name]));
    assert_eq!(trusted.code, 0, "{}", trusted.err);
    // The certificate is for localhost, and for no address.
    let port = url.rsplit(':').next().unwrap();
    let said = probe(&format!("opc.wss://localhost:{port}"), &[]);
    assert_eq!(said.code, 0, "{}", said.err);
    let said = probe(&format!("opc.wss://127.0.0.2:{port}"), &[]);
    assert_ne!(said.code, 0, "{}", said.out);
}

#[test]
fn connections_are_resumed_where_that_is_asked_for_and_trust_is_judged_all_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let (_server, url) = server(&folder.path().join("server"), &["--security", "none"]);
    let say = |words: &[&str]| {
        let words = [words, &["--timeout", "60s"]].concat();
        Said::by(&mut command(folder.path(), &words))
    };
    for (more, resumed) in [(None, false), (Some("--tls-resume"), true)] {
        let words = ["probe", &url, "--trust", "--repeat", "3", "--json"];
        let said = say(&words.iter().copied().chain(more).collect::<Vec<_>>());
        assert_eq!(said.code, 0, "{}", said.err);
        let probe: Value = serde_json::from_str(&said.out).unwrap();
        assert_eq!(probe["tls"]["resumed"], resumed, "{probe}");
    }
    // A certificate that nobody trusts is none of a later connection either.
    let said = say(&["probe", &url, "--tls-resume"]);
    assert_eq!(said.code, 1);
    assert!(
        said.err.contains("TLS certificate is not accepted"),
        "{}",
        said.err
    );
    let rounds = [
        "connect",
        &url,
        "--trust",
        "--allow",
        "storm",
        "--tls-resume",
        "--requests",
        "5",
        "--out",
        "run.json",
    ];
    let said = say(&rounds);
    assert!([0, 4].contains(&said.code), "{}", said.err);
    let run = json(&folder.path().join("run.json"));
    assert_eq!(run["phases"][0]["total"]["completed"], 5, "{run}");
}

#[test]
fn what_is_there_instead_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let (server, url) = server(&folder.path().join("server"), &["--security", "none"]);
    let probe = |url: &str| {
        let words = ["probe", url, "--trust", "--timeout", "60s"];
        Said::by(&mut command(folder.path(), &words))
    };
    // TLS to the port of opc.tcp, and the other way round.
    let said = probe(&server.url.replace("opc.tcp", "opc.wss"));
    assert_eq!(said.code, 1);
    assert!(said.err.contains("TLS"), "{}", said.err);
    assert!(said.err.contains("its port for opc.wss"), "{}", said.err);
    let said = probe(&url.replace("opc.wss", "opc.tcp"));
    assert_eq!(said.code, 1, "{}", said.err);

    let words = ["probe", &url, "--trust", "--listen-reverse", "0"];
    let said = Said::by(&mut command(folder.path(), &words));
    assert_ne!(said.code, 0);
    assert!(
        said.err.contains("reverse connect is over opc.tcp"),
        "{}",
        said.err
    );
    for option in ["--reverse", "--advertise"] {
        let words = ["serve", "--port", "0", option, "opc.wss://localhost:1"];
        let said = Said::by(&mut command(folder.path(), &words));
        assert_eq!(said.code, 2, "{}", said.err);
        assert!(said.err.contains("want an opc.tcp:// URL"), "{}", said.err);
    }
}

#[test]
fn an_emulated_link_and_a_capture_work_over_wss() {
    let folder = tempfile::tempdir().unwrap();
    let (_server, url) = server(&folder.path().join("server"), &["--security", "none"]);
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
        "--pcap",
        "wss.pcapng",
        "--out",
        "run.json",
    ];
    let said = Said::by(&mut command(folder.path(), &[&read[..], &more].concat()));
    assert!([0, 4].contains(&said.code), "{}", said.err);
    let run = json(&folder.path().join("run.json"));
    let p50 = &run["phases"][0]["total"]["histograms"]["service"]["p50_ns"];
    assert!(p50.as_f64().unwrap() >= 40e6, "{p50}");
    // What TLS carried, as it would have been over TCP.
    let capture = std::fs::read(folder.path().join("wss.pcapng")).unwrap();
    let has = |part: &[u8]| capture.windows(part.len()).any(|it| it == part);
    for part in [&b"HELF"[..], b"ACKF", b"OPNF", b"MSGF", b"opc.wss://"] {
        assert!(has(part), "{}", text(part));
    }
    assert!(!has(b"Sec-WebSocket"), "what is around the chunks");
}
