//! `--proxy` as a user has it: a proxy of the test between a server of ours and every kind of command that dials.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::io::BufRead;
use std::path::Path;

use crate::support::proxy::{Does, Proxy};
use crate::support::{Said, Server, command, json, ready};

/// A server, and its ports for opc.tcp, opc.wss and opc.https.
fn server(pki: &Path) -> (Server, Vec<String>) {
    let options = ["--wss", "0", "--https", "0", "--trust", "--update", "50ms"];
    let mut server = Server::start(pki, &options);
    let mut urls = vec![server.url.clone()];
    for _ in 0..2 {
        let mut line = String::new();
        server.out.read_line(&mut line).unwrap();
        urls.push(ready(&line).to_owned());
    }
    (server, urls)
}

/// The same server by a name that nobody but the proxy knows.
fn hidden(url: &str) -> String {
    url.replace("127.0.0.1", "plant.invalid")
}

#[test]
fn every_transport_goes_through_a_proxy() {
    let folder = tempfile::tempdir().unwrap();
    let (_server, urls) = server(&folder.path().join("server"));
    // me:pass word
    let proxy = Proxy::start(Does::Tunnelling(
        "Proxy-Authorization: Basic bWU6cGFzcyB3b3Jk",
    ));
    let by = proxy.url().replace("http://", "http://me@");
    std::fs::write(folder.path().join("secret"), "pass word\n").unwrap();
    let secret = ["--proxy", &by, "--proxy-password-file", "secret"];
    let options = [&secret[..], &["--trust", "--timeout", "60s"]].concat();
    let say = |words: &[&str]| {
        let said = Said::by(&mut command(folder.path(), &[words, &options].concat()));
        // A busy machine may make a verdict of its own.
        assert!([0, 4].contains(&said.code), "{words:?}: {}", said.err);
        said
    };
    for url in &urls {
        let url = &hidden(url);
        let read = ["read", url, "-n", "ns=2;i=1000..1009", "--sessions", "2"];
        let bounds = ["--requests", "100", "--out", "run.json", "--batch", "10"];
        let said = say(&[&read[..], &bounds].concat());
        assert!(said.out.contains("through the proxy"), "{}", said.out);
        let run = json(&folder.path().join("run.json"));
        assert_eq!(run["targets"][0]["proxy"], proxy.url());
        if cfg!(target_os = "linux") {
            assert_eq!(run["targets"][0]["interface"], "lo");
        }
        assert_eq!(run["phases"][0]["total"]["completed"], 100);
        let text = std::fs::read_to_string(folder.path().join("run.json")).unwrap();
        assert!(!text.contains("pass word") && !text.contains("bWU6"));

        let said = say(&["probe", url, "--json"]);
        assert!(said.out.contains("proxy tunnel"), "{}", said.out);
        let end = url.split("://").nth(1).unwrap();
        assert_eq!(proxy.asked().last().unwrap(), end);
    }
    // Each session has several connections over HTTPS.
    let before = proxy.asked().len();
    let url = hidden(&urls[2]);
    let subscribe = ["subscribe", &url, "-n", "ns=2;i=1000..1009", "--publishing"];
    let bounds = ["100ms", "--duration", "2s", "--out", "run.json"];
    say(&[&subscribe[..], &bounds].concat());
    let run = json(&folder.path().join("run.json"));
    let values = &run["phases"][0]["subscriptions"]["places"];
    assert!(values["delivered"].as_u64().unwrap() > 20, "{values}");
    assert!(proxy.asked().len() - before >= 4);

    let url = hidden(&urls[1]);
    let connect = ["connect", &url, "--sessions", "2", "--duration", "1s"];
    say(&[&connect[..], &["--allow", "storm", "--out", "run.json"]].concat());
    let all = std::fs::read_to_string(folder.path().join("run.json")).unwrap();
    assert!(all.contains("proxy tunnel"));

    let discover = ["discover", &url, "--timeout", "60s"];
    let words = [&discover[..], &secret].concat();
    let said = Said::by(&mut command(folder.path(), &words));
    assert_eq!(said.code, 0, "{}", said.err);
    assert!(said.out.contains("opc.wss://"), "{}", said.out);
}

#[test]
fn a_proxy_that_makes_no_tunnel_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let url = "opc.wss://plant.invalid:4843";
    let probe = |proxy: &str, password: Option<&str>| {
        let words = ["probe", url, "--trust", "--proxy", proxy, "--timeout", "2s"];
        let mut command = command(folder.path(), &words);
        command.env_remove("UAPERF_PROXY_PASSWORD");
        if let Some(password) = password {
            command.env("UAPERF_PROXY_PASSWORD", password);
        }
        let said = Said::by(&mut command);
        assert_ne!(said.code, 0, "{}", said.out);
        assert!(said.out.is_empty(), "{}", said.out);
        said.err
    };
    let says = |answer: &'static [u8], words: &[&str]| {
        let proxy = Proxy::start(Does::Answers(answer));
        let err = probe(&proxy.url(), None);
        assert!(err.contains(&proxy.url()), "{err}");
        for word in words {
            assert!(err.contains(word), "{word}: {err}");
        }
    };
    says(b"HTTP/1.1 403 Forbidden\r\n\r\n", &["403 Forbidden", "443"]);
    says(
        b"HTTP/1.1 502 Bad Gateway\r\n\r\n",
        &["502 Bad Gateway", "reaches no server"],
    );
    says(
        b"HTTP/1.1 407 No\r\nProxy-Authenticate: NTLM\r\n\r\n",
        &["407", "NTLM", "Basic only"],
    );
    says(b"SSH-2.0-OpenSSH_9.9\r\n", &["no HTTP", "speaks HTTP"]);
    says(b"HTTP/1.1 200 OK\r\n\r\nearly", &["of its own"]);
    says(b"", &["closed the connection without an answer"]);

    let proxy = Proxy::start(Does::Tunnelling(
        "Proxy-Authorization: Basic bWU6bXkgd29yZA==",
    ));
    let err = probe(&proxy.url(), None);
    assert!(err.contains("407") && err.contains("USER@"), "{err}");
    let by = proxy.url().replace("http://", "http://me@");
    let err = probe(&by, Some("another"));
    assert!(err.contains("did not take the login"), "{err}");
    assert!(!err.contains("another"), "{err}");
    // Nobody is there to be asked, but where a person runs this at a terminal.
    if std::fs::File::open("/dev/tty").is_err() {
        let err = probe(&by, None);
        assert!(err.contains("UAPERF_PROXY_PASSWORD"), "{err}");
    }
    // With the right one nobody is at the port of the server.
    let words = [
        "probe",
        "opc.wss://plant.invalid:1",
        "--trust",
        "--proxy",
        &by,
    ];
    let mut right = command(folder.path(), &words);
    let said = Said::by(right.env("UAPERF_PROXY_PASSWORD", "my word"));
    assert!(said.err.contains("502"), "{}", said.err);

    let waits = Proxy::start(Does::Waits);
    let err = probe(&waits.url(), None);
    assert!(err.contains("within 2s"), "{err}");
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let place = closed.local_addr().unwrap();
    drop(closed);
    let err = probe(&format!("http://{place}"), None);
    assert!(err.contains("refused") && err.contains("--proxy"), "{err}");
    let err = probe("http://proxy.invalid:3128", None);
    assert!(err.contains("cannot look up proxy.invalid"), "{err}");
}

#[test]
fn the_environment_is_heard_when_that_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let (_server, urls) = server(&folder.path().join("server"));
    let proxy = Proxy::start(Does::Tunnels);
    let probe = |url: &str, more: &[&str], none: &str| {
        let words = [&["probe", url, "--trust", "--timeout", "60s"], more].concat();
        let mut command = command(folder.path(), &words);
        for name in ["https_proxy", "no_proxy"] {
            command.env_remove(name);
        }
        command
            .env("HTTPS_PROXY", proxy.url())
            .env("NO_PROXY", none);
        let said = Said::by(&mut command);
        assert_eq!(said.code, 0, "{}", said.err);
        said.out
    };
    // Not asked for, and left out.
    probe(&urls[2], &[], "");
    probe(&urls[2], &["--proxy", "env"], "127.0.0.0/8");
    assert_eq!(proxy.asked(), Vec::<String>::new());
    let out = probe(&hidden(&urls[2]), &["--proxy", "env"], "127.0.0.0/8");
    assert!(out.contains("through the proxy"), "{out}");
    assert!(!proxy.asked().is_empty());
}

#[test]
fn what_goes_not_with_a_proxy_is_said_before_anybody_dials() {
    let folder = tempfile::tempdir().unwrap();
    let url = "opc.tcp://plant.invalid:4840";
    let proxy = ["--proxy", "http://127.0.0.1:1"];
    for (words, told) in [
        (&["probe", url, "--link", "4g"][..], "--link"),
        (&["probe", url, "--listen-reverse", "0"], "--listen-reverse"),
        (
            &[
                "attack",
                url,
                "--allow",
                "attack",
                "--mine",
                "plant.invalid",
            ],
            "none of them",
        ),
    ] {
        let said = Said::by(&mut command(folder.path(), &[words, &proxy].concat()));
        assert_eq!(said.code, 2, "{words:?}: {}", said.err);
        assert!(said.err.contains(told), "{}", said.err);
    }
    let words = ["probe", url, "--proxy", "http://me:s3cret@127.0.0.1:1"];
    let said = Said::by(&mut command(folder.path(), &words));
    assert_eq!(said.code, 2, "{}", said.err);
    assert!(said.err.contains("UAPERF_PROXY_PASSWORD"), "{}", said.err);
    assert!(!said.err.contains("s3cret"), "{}", said.err);
}
