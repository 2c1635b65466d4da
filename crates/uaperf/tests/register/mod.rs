//! `uaperf serve --register`: discovery servers know of it while it is there. One of them is node-opcua's.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::io::{BufRead, BufReader, Read};
use std::net::TcpListener;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::support::node::{self, Node, free_port};
use crate::support::{Said, Server, Telling, command, program};
use serde_json::Value;

/// A server that registers; what it says goes to where it can be read.
fn registers(pki: &Path, options: &[&str]) -> Server {
    let mut command = program();
    command
        .args(["serve", "--port", "0", "--trust"])
        .args(options)
        .env("UAPERF_PKI", pki)
        .stdin(Stdio::null())
        .stderr(Stdio::piped());
    Server::of(&mut command)
}

/// What a discovery server finds.
fn found(folder: &Path, url: &str) -> Vec<Value> {
    let said = Said::by(&mut command(folder, &["discover", url, "--json"]));
    assert_eq!(said.code, 0, "{}", said.err);
    let told: Value = serde_json::from_str(&said.out).unwrap();
    told["servers"]["found"].as_array().unwrap().clone()
}

fn names(servers: &[Value]) -> Vec<&str> {
    let names = servers.iter().map(|server| server["name"].as_str());
    names.map(Option::unwrap).collect()
}

/// node-opcua's discovery server and its URL; without it, nothing.
fn discovery_server(folder: &Path, kind: &str) -> Option<(Node, String)> {
    let mut command = node::node("register/lds.js", folder)?;
    command
        .arg(free_port().to_string())
        .arg(folder.join("lds"))
        .arg(kind);
    let mut lds = Node::start(&mut command);
    let url = lds.says("READY ");
    Some((lds, url))
}

#[test]
fn a_foreign_discovery_server_knows_it_from_its_start_to_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let Some((mut lds, url)) = discovery_server(folder.path(), "newest") else {
        return;
    };
    let pki = folder.path().join("pki");
    let options = ["--register", &url, "--register-every", "1s"];
    let mut plant = registers(&pki, &options);
    let new = lds.says("NEW ");
    let [uri, at, capabilities] = new.split(' ').collect::<Vec<_>>()[..] else {
        panic!("{new}");
    };
    assert!(uri.starts_with("urn:") && uri.ends_with(":uaperf"), "{new}");
    assert_eq!((at, capabilities), (plant.url.as_str(), "DA"));
    let mut told = Telling::of(&mut plant.child);
    told.until("registered at opc.tcp://127.0.0.1:");
    assert!(lds.says("AGAIN ").starts_with(uri));
    let servers = found(folder.path(), &url);
    assert!(names(&servers).contains(&"bench"), "{servers:?}");
    plant.signal("TERM");
    assert_eq!(lds.says("GONE "), uri);
    assert_eq!(plant.child.wait().unwrap().code(), Some(0));
    assert!(!names(&found(folder.path(), &url)).contains(&"bench"));
}

#[test]
fn the_older_service_is_for_discovery_servers_that_do_not_know_the_newer() {
    let folder = tempfile::tempdir().unwrap();
    let Some((mut lds, url)) = discovery_server(folder.path(), "before-1.03") else {
        return;
    };
    let mut plant = registers(&folder.path().join("pki"), &["--register", &url]);
    lds.says("NEW ");
    Telling::of(&mut plant.child).until(": RegisterServer, Basic256Sha256:SignAndEncrypt");
}

/// Part 4, 5.5.5.1: nothing is registered over a channel that does not say who comes.
#[test]
fn a_refusal_is_told_once_with_its_reason_and_the_plant_serves_on() {
    let folder = tempfile::tempdir().unwrap();
    let lds = Server::start(&folder.path().join("lds"), &["--discovery", "--trust"]);
    let options = [
        "--register",
        &lds.url,
        "--register-security",
        "none",
        "--register-every",
        "1s",
    ];
    let mut plant = registers(&folder.path().join("pki"), &options);
    let mut err = BufReader::new(plant.child.stderr.take().unwrap());
    let mut before = String::new();
    while !before.contains("warning: ") {
        assert!(err.read_line(&mut before).unwrap() > 0, "{before}");
    }
    let warning = before.lines().last().unwrap();
    let told = "RegisterServer2 failed: BadSecurityModeInsufficient";
    assert!(warning.contains(told), "{warning}");
    assert_eq!(names(&found(folder.path(), &plant.url)), ["bench"]);
    std::thread::sleep(Duration::from_millis(2_500));
    plant.signal("TERM");
    let mut after = String::new();
    err.read_to_string(&mut after).unwrap();
    assert!(!after.contains("warning"), "{after}");
    assert_eq!(plant.child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_discovery_server_that_comes_later_is_found_and_what_was_not_there_is_told_once() {
    let folder = tempfile::tempdir().unwrap();
    let port = free_port().to_string();
    let url = format!("opc.tcp://127.0.0.1:{port}");
    let file = folder.path().join("line4.toml");
    let text = format!("name = \"line 4\"\nregister = [\"{url}\"]\nregister_every = \"1s\"\n");
    std::fs::write(&file, text).unwrap();
    let mut command = program();
    command
        .args(["serve", file.to_str().unwrap(), "--port", "0", "--trust"])
        .args(["--count", "2"])
        .env("UAPERF_PKI", folder.path().join("pki"))
        .stdin(Stdio::null())
        .stderr(Stdio::piped());
    let mut plant = Server::of(&mut command);
    let mut told = Telling::of(&mut plant.child);
    told.until("warning: not registered at opc.tcp://127.0.0.1:");
    let mut command = program();
    command
        .args([
            "serve",
            "--discovery",
            "--trust",
            "--with-parent",
            "--port",
            &port,
        ])
        .env("UAPERF_PKI", folder.path().join("lds"))
        .stdin(Stdio::piped());
    let lds = Server::of(&mut command);
    told.until("registered at opc.tcp://127.0.0.1:");
    let servers = found(folder.path(), &lds.url);
    assert_eq!(names(&servers), ["bench", "line 4"]);
    let urls = servers[1]["urls"].as_array().unwrap();
    assert_eq!(urls.len(), 2, "{urls:?}");
    assert_eq!(urls[0], plant.url.as_str());
    plant.signal("TERM");
    assert_eq!(plant.child.wait().unwrap().code(), Some(0));
    let whole = told.whole().join().unwrap();
    assert_eq!(whole.matches("warning").count(), 1, "{whole}");
    assert_eq!(names(&found(folder.path(), &lds.url)), ["bench"]);
}

#[test]
fn a_server_that_is_no_discovery_server_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let other = Server::start(&folder.path().join("other"), &["--trust"]);
    let mut plant = registers(&folder.path().join("pki"), &["--register", &other.url]);
    let mut told = Telling::of(&mut plant.child);
    told.until("RegisterServer failed: BadServiceUnsupported");
}

#[test]
fn an_end_waits_for_no_discovery_server_that_does_not_answer() {
    let folder = tempfile::tempdir().unwrap();
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("opc.tcp://{}", silent.local_addr().unwrap());
    let mut plant = registers(&folder.path().join("pki"), &["--register", &url]);
    let _connection = silent.accept().unwrap();
    let start = Instant::now();
    plant.signal("TERM");
    assert_eq!(plant.child.wait().unwrap().code(), Some(0));
    assert!(start.elapsed() < Duration::from_secs(60));
}

#[test]
fn what_is_no_discovery_server_is_refused_before_anything_is_served() {
    let folder = tempfile::tempdir().unwrap();
    for (options, told) in [
        (["--register", "http://lds"], "opc.tcp"),
        (["--register-every", "11m"], "want 1s to 10m"),
    ] {
        let words = [&["serve", "--port", "0"][..], &options].concat();
        let said = Said::by(&mut command(folder.path(), &words));
        assert_eq!(said.code, 2, "{}", said.err);
        assert!(said.err.contains(told), "{}", said.err);
    }
    let file = folder.path().join("wrong.toml");
    std::fs::write(&file, "register = [\"lds:4840\"]\n").unwrap();
    let said = Said::by(&mut command(
        folder.path(),
        &["plant", "check", file.to_str().unwrap()],
    ));
    assert_eq!(said.code, 2, "{}", said.err);
    assert!(said.err.contains("is no discovery server"), "{}", said.err);
    assert!(said.err.contains("line 1"), "{}", said.err);
}
