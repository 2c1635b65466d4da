//! Reverse connect: servers that dial and clients that await them, ours, node-opcua's and async-opcua's in both roles.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Stdio;

use tempfile::TempDir;

use crate::support;
use crate::support::node::{self, Node, free_port};
use crate::support::{Said, Server};

/// A plant that dials a port of this machine.
fn dials(folder: &Path, port: u16, more: &[&str]) -> Server {
    let client = format!("opc.tcp://127.0.0.1:{port}");
    let mut options = vec!["--trust", "--reverse", &client];
    options.extend(more);
    Server::start(&folder.join("server"), &options)
}

/// Reads from servers that are awaited at a port.
fn read(folder: &Path, urls: &[&str], port: u16, more: &[&str]) -> Said {
    let place = format!("opc.tcp://127.0.0.1:{port}");
    let mut words = vec!["read"];
    words.extend(urls);
    words.extend(["-n", "i=2258", "--quiet", "--listen-reverse", &place]);
    words.extend(more);
    Said::by(&mut support::command(folder, &words))
}

/// A program of node-opcua at a port; none where it cannot be had.
fn start(program: &str, folder: &Path, port: u16, words: &[&str]) -> Option<Node> {
    let mut command = node::node(&format!("reverse/{program}"), folder)?;
    command
        .arg(port.to_string())
        .args(words)
        .arg(folder.join("node"));
    Some(Node::start(&mut command))
}

#[test]
fn servers_that_dial_are_loaded_as_those_that_are_dialled() {
    let folder = TempDir::new().unwrap();
    let port = free_port();
    let server = dials(folder.path(), port, &[]);
    for security in ["none", "best"] {
        let more = [
            "--security",
            security,
            "--trust",
            "--sessions",
            "5",
            "--requests",
            "200",
            "--out",
            "x.json",
        ];
        let said = read(folder.path(), &[&server.url], port, &more);
        assert!([0, 4].contains(&said.code), "{security}: {}", said.err);
        let run = support::json(&folder.path().join("x.json"));
        assert_eq!(run["phases"][0]["total"]["completed"], 200, "{security}");
        assert_eq!(run["phases"][0]["total"]["errors"], 0, "{security}");
    }
}

#[test]
fn several_servers_dial_one_port_and_each_session_has_its_own() {
    let folder = TempDir::new().unwrap();
    let port = free_port();
    let one = dials(folder.path(), port, &[]);
    let other = dials(folder.path(), port, &[]);
    let more = [
        "--security",
        "none",
        "--sessions",
        "4",
        "--rate",
        "50/s",
        "--duration",
        "1s",
        "--out",
        "x.json",
    ];
    let said = read(folder.path(), &[&one.url, &other.url], port, &more);
    assert!([0, 4].contains(&said.code), "{}", said.err);
    let run = support::json(&folder.path().join("x.json"));
    let parts = run["phases"][0]["parts"].as_array().unwrap();
    let done: Vec<_> = parts
        .iter()
        .map(|it| it["sum"]["completed"].as_u64().unwrap())
        .collect();
    assert!(done.len() == 2 && done.iter().all(|&n| n > 0), "{done:?}");
}

#[test]
fn a_session_that_was_lost_comes_back_over_the_next_call() {
    let folder = TempDir::new().unwrap();
    let port = free_port();
    let server = dials(
        folder.path(),
        port,
        &["--fault", "disconnect,on=read,every=60,times=1"],
    );
    let more = [
        "--security",
        "none",
        "--reconnect",
        "--rate",
        "100/s",
        "--duration",
        "2s",
        "--out",
        "x.json",
    ];
    let said = read(folder.path(), &[&server.url], port, &more);
    assert_ne!(said.code, 1, "{}", said.err);
    let run = support::json(&folder.path().join("x.json"));
    assert_eq!(run["phases"][0]["total"]["reconnects"], 1, "{}", said.out);
}

#[test]
fn whoever_waits_for_the_wrong_server_is_told_who_came() {
    let folder = TempDir::new().unwrap();
    let port = free_port();
    let more = ["--security", "none", "--requests", "1", "--timeout", "2s"];
    let nobody = "opc.tcp://127.0.0.1:1";
    let said = read(folder.path(), &[nobody], port, &more);
    assert_eq!(said.code, 1, "{}", said.err);
    for words in [
        "no server of this URL dialled 127.0.0.1",
        "uaperf serve --reverse",
    ] {
        assert!(said.err.contains(words), "{words}: {}", said.err);
    }
    let server = dials(folder.path(), port, &[]);
    let said = read(folder.path(), &[nobody], port, &more);
    assert_eq!(said.code, 1, "{}", said.err);
    let came = format!("those that did are {}", server.url);
    assert!(said.err.contains(&came), "{}", said.err);
    // The port is taken.
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let said = read(
        folder.path(),
        &[nobody],
        taken.local_addr().unwrap().port(),
        &more,
    );
    assert_eq!(said.code, 1, "{}", said.err);
    assert!(
        said.err.contains("--listen-reverse: cannot listen on"),
        "{}",
        said.err
    );
}

#[test]
fn strangers_at_the_port_are_in_nobodys_way() {
    let folder = TempDir::new().unwrap();
    let port = free_port();
    let server = dials(folder.path(), port, &[]);
    let more = [
        "--security",
        "none",
        "--requests",
        "20000",
        "--in-flight",
        "1",
        // All are counted: what was found to be a warm-up would be left out.
        "--warmup",
        "0s",
        "--out",
        "x.json",
    ];
    let reading = std::thread::scope(|scope| {
        let folder = folder.path();
        let reading = scope.spawn(|| read(folder, &[&server.url], port, &more));
        // Garbage, a half message, a hello of a client, and silence.
        let mut others = Vec::new();
        for said in [
            &b"GET / HTTP/1.1\r\n\r\n"[..],
            b"RHEF\x20\0\0\0",
            b"HELF\x08\0\0\0",
            b"RHEF\xff\xff\xff\xff",
            b"",
        ] {
            for _ in 0..10 {
                if let Ok(mut other) = TcpStream::connect(("127.0.0.1", port)) {
                    let _ = other.write_all(said);
                    others.push(other);
                }
            }
        }
        reading.join().unwrap()
    });
    assert!([0, 4].contains(&reading.code), "{}", reading.err);
    let run = support::json(&folder.path().join("x.json"));
    assert_eq!(run["phases"][0]["total"]["completed"], 20000);
}

#[test]
fn a_foreign_server_that_dials_is_read_from() {
    let folder = TempDir::new().unwrap();
    let (port, own) = (free_port(), free_port());
    let client = format!("opc.tcp://127.0.0.1:{port}");
    let Some(mut node) = start("server.js", folder.path(), own, &[&client]) else {
        return;
    };
    let url = node.says("READY ");
    for security in ["none", "best"] {
        let more = [
            "--security",
            security,
            "--trust",
            "--requests",
            "50",
            "--out",
            "x.json",
        ];
        let said = read(folder.path(), &[&url], port, &more);
        assert!([0, 4].contains(&said.code), "{security}: {}", said.err);
        let run = support::json(&folder.path().join("x.json"));
        assert_eq!(run["phases"][0]["total"]["completed"], 50, "{security}");
    }
}

#[test]
fn a_foreign_client_reads_from_a_plant_that_dials() {
    let folder = TempDir::new().unwrap();
    let (port, own) = (free_port(), free_port());
    let url = format!("opc.tcp://127.0.0.1:{own}");
    let Some(mut node) = start("client.js", folder.path(), port, &[&url]) else {
        return;
    };
    node.says("LISTENING");
    let own = own.to_string();
    let client = format!("opc.tcp://127.0.0.1:{port}");
    let mut command = support::program();
    command
        .args(["serve", "--port", &own, "--trust", "--reverse", &client])
        .env("UAPERF_PKI", folder.path().join("server"))
        .stdin(Stdio::null());
    let _plant = Server::of(&mut command);
    for _ in 0..2 {
        assert_eq!(node.says("READ "), "Good");
    }
    assert!(node.child.wait().unwrap().success());
}

#[test]
fn async_opcua_dials_and_awaits_as_well() {
    let Some(stack) = peers::testing::require("async-opcua") else {
        return;
    };
    let folder = TempDir::new().unwrap();
    // Its server dials us.
    let port = free_port();
    let options = peers::StartOptions {
        pki: Some(folder.path().join("there")),
        extra: vec!["--reverse".into(), format!("127.0.0.1:{port}")],
        ..peers::StartOptions::default()
    };
    let server = peers::Server::start(stack, &options).unwrap();
    for security in ["none", "best"] {
        let more = ["--security", security, "--trust", "--requests", "50"];
        let more = [&more[..], &["--out", "x.json"]].concat();
        let said = read(folder.path(), &[server.url()], port, &more);
        assert!([0, 4].contains(&said.code), "{security}: {}", said.err);
        let run = support::json(&folder.path().join("x.json"));
        assert_eq!(run["phases"][0]["total"]["completed"], 50, "{security}");
    }
    drop(server);
    // Our plant dials its client.
    let port = free_port();
    let plant = dials(folder.path(), port, &["--profile", "bench"]);
    for (policy, mode) in [
        (peers::Policy::None, peers::Mode::None),
        (peers::Policy::Basic256Sha256, peers::Mode::SignAndEncrypt),
    ] {
        let options = peers::ClientOptions {
            policy,
            mode,
            pki: Some(folder.path().join("client")),
            listen_reverse: Some(port),
            ..peers::ClientOptions::default()
        };
        let report = peers::Client::run(stack, &plant.url, &options).unwrap();
        assert!(report.all_ok(), "{policy:?}: {report:?}");
    }
}
