//! IPv6 over every transport: a server at `::1`, and what dials it or is dialled by it.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::io::BufRead;
use std::net::{Ipv6Addr, TcpListener};
use std::path::Path;
use std::process::Stdio;

use crate::support::{Said, Server, command, json, program, ready};

/// Whether there is IPv6 on this machine; said if not.
fn is_there(test: &str) -> bool {
    match TcpListener::bind((Ipv6Addr::LOCALHOST, 0)) {
        Ok(_) => true,
        Err(error) => {
            let install = "sysctl net.ipv6.conf.all.disable_ipv6=0";
            without::skipped(test, &format!("no ::1: {error}"), install);
            false
        }
    }
}

/// A server there, and its URLs over TCP, WebSockets and HTTPS.
fn server(pki: &Path, options: &[&str]) -> (Server, Vec<String>) {
    let mut command = program();
    command
        .args(["serve", "--listen", "::1", "--port", "0", "--wss", "0"])
        .args(["--https", "0", "--with-parent", "--update", "50ms"])
        .args(options)
        .env("UAPERF_PKI", pki)
        .stdin(Stdio::piped());
    let mut server = Server::of(&mut command);
    let mut urls = vec![server.url.clone()];
    for _ in 0..2 {
        let mut line = String::new();
        server.out.read_line(&mut line).unwrap();
        urls.push(ready(&line).to_owned());
    }
    for (url, scheme) in urls.iter().zip(["opc.tcp", "opc.wss", "opc.https"]) {
        assert!(url.starts_with(&format!("{scheme}://[::1]:")), "{url}");
    }
    (server, urls)
}

#[test]
fn every_transport_is_served_and_loaded_over_ipv6() {
    if !is_there("IPv6 over every transport") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (_server, urls) = server(&folder.path().join("server"), &["--trust"]);
    let options = ["--trust", "--timeout", "60s"];
    let say = |words: &[&str]| {
        let words = [words, &options].concat();
        let said = Said::by(&mut command(folder.path(), &words));
        // A busy machine may make a verdict of its own.
        assert!([0, 4].contains(&said.code), "{words:?}: {}", said.err);
        said.out
    };
    for url in &urls {
        let out = say(&["probe", url]);
        assert!(out.contains("([::1]:"), "{out}");

        let read = ["read", url, "-n", "ns=2;i=1000..1009", "--sessions", "2"];
        let out = ["--requests", "100", "--batch", "10", "--out", "run.json"];
        say(&[&read[..], &out].concat());
        let run = json(&folder.path().join("run.json"));
        assert_eq!(run["targets"][0]["url"], url.as_str());
        assert_eq!(run["phases"][0]["total"]["completed"], 100);

        let subscribe = ["subscribe", url, "-n", "ns=2;i=1000..1009", "--publishing"];
        let out = ["100ms", "--duration", "1s", "--out", "run.json"];
        say(&[&subscribe[..], &out].concat());
        let run = json(&folder.path().join("run.json"));
        let values = &run["phases"][0]["subscriptions"]["places"];
        assert!(values["delivered"].as_u64().unwrap() > 10, "{values}");
        assert_eq!(values["lost"].as_u64().unwrap_or(0), 0, "{values}");

        let connect = ["connect", url, "--sessions", "2", "--duration", "1s"];
        say(&[&connect[..], &["--allow", "storm", "--out", "run.json"]].concat());

        let said = Said::by(&mut command(folder.path(), &["discover", url]));
        assert_eq!(said.code, 0, "{}", said.err);
        for url in &urls {
            assert!(said.out.contains(url), "{url}: {}", said.out);
        }
    }
    for url in &urls[1..] {
        let read = ["read", url, "-n", "i=2258", "--encoding", "json"];
        say(&[&read[..], &["--requests", "20", "--out", "run.json"]].concat());
    }
}

/// The certificate of a server says at which addresses it is; those of IPv6 as well.
#[test]
fn certificates_are_held_to_an_address_of_ipv6() {
    if !is_there("certificates for IPv6") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for (names, fits) in [
        (&["--ip", "::1"][..], true),
        (&["--ip", "127.0.0.1", "--dns", "localhost"], false),
    ] {
        let pki = folder.path().join(format!("server-{fits}"));
        let make = [&["cert", "make", "--force"][..], names].concat();
        let made = Said::by(command(folder.path(), &make).env("UAPERF_PKI", &pki));
        assert_eq!(made.code, 0, "{}", made.err);
        let (_server, urls) = server(&pki, &["--trust", "--security", "none"]);
        for url in &urls[1..] {
            let probe = |more: &[&str]| {
                let words = [&["probe", url, "--timeout", "60s"], more].concat();
                Said::by(&mut command(folder.path(), &words))
            };
            let said = probe(&[]);
            assert_eq!(said.code, 1, "{}", said.out);
            let (_, hint) = said.err.split_once("uaperf cert ").unwrap();
            let name = hint.split(' ').nth(1).unwrap();
            let name = name.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
            let trusted = Said::by(&mut command(folder.path(), &["cert", "trust", name]));
            assert_eq!(trusted.code, 0, "{}", trusted.err);
            let said = probe(&[]);
            assert_eq!(said.code == 0, fits, "{names:?} {url}: {}", said.err);
            if !fits {
                assert!(said.err.contains("::1"), "{}", said.err);
                assert_eq!(probe(&["--skip-check", "host"]).code, 0);
            }
            let gone = Said::by(&mut command(folder.path(), &["cert", "reject", name]));
            assert_eq!(gone.code, 0, "{}", gone.err);
            let _ = std::fs::remove_dir_all(folder.path().join("pki"));
        }
    }
}

/// Reverse connect is over TCP, and over IPv6 as well.
#[test]
fn a_server_dials_over_ipv6() {
    if !is_there("reverse connect over IPv6") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let port = {
        let free = TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).unwrap();
        free.local_addr().unwrap().port()
    };
    let place = format!("opc.tcp://[::1]:{port}");
    let pki = folder.path().join("server");
    let (_server, urls) = server(&pki, &["--trust", "--reverse", &place]);
    let read = ["read", &urls[0], "-n", "i=2258", "--requests", "20"];
    let more = ["--listen-reverse", &place, "--trust", "--timeout", "60s"];
    let words = [&read[..], &more, &["--out", "run.json"]].concat();
    let said = Said::by(&mut command(folder.path(), &words));
    assert!([0, 4].contains(&said.code), "{}", said.err);
    let run = json(&folder.path().join("run.json"));
    assert_eq!(run["phases"][0]["total"]["completed"], 20);
}
