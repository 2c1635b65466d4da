//! `uaperf probe` as a user runs it, against what is not the server that was hoped for.

#![allow(clippy::unwrap_used)]

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::process::{Command, Output};
use std::thread;

fn probe(url: &str, options: &[&str]) -> Output {
    let pki = tempfile::tempdir().unwrap();
    Command::new(env!("CARGO_BIN_EXE_uaperf"))
        .args(["probe", url, "--timeout", "500ms"])
        .args(options)
        .env("UAPERF_PKI", pki.path())
        .env_remove("UAPERF_PASSWORD")
        .output()
        .unwrap()
}

/// The exit code and what was said on the way out.
fn failure(url: &str) -> (i32, String) {
    let output = probe(url, &[]);
    let text = String::from_utf8(output.stderr).unwrap();
    (output.status.code().unwrap(), text)
}

/// Answers the first bytes of each connection as told; an empty answer closes it.
fn port_that(answers: &'static [u8], closes: bool) -> String {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let url = format!("opc.tcp://{}", listener.local_addr().unwrap());
    // Ends with the test's process.
    thread::spawn(move || {
        let mut open = Vec::new();
        for mut socket in listener.incoming().flatten() {
            if closes || !answers.is_empty() {
                let _ = socket.read(&mut [0; 1024]);
                let _ = socket.write_all(answers);
            }
            if !closes {
                open.push(socket);
            }
        }
    });
    url
}

#[track_caller]
fn says(url: &str, code: i32, words: &[&str]) {
    let (got, text) = failure(url);
    assert_eq!(got, code, "{text}");
    for word in words {
        assert!(text.contains(word), "{word:?} is not in: {text}");
    }
}

#[test]
fn a_wrong_url_is_wrong_usage() {
    says("http://127.0.0.1", 2, &["opc.tcp://"]);
    says("opc.tcp://127.0.0.1:99999", 2, &["1 to 65535"]);
}

#[test]
fn a_name_that_has_no_address_is_told_so() {
    says(
        "opc.tcp://no-such-host.invalid",
        1,
        &["cannot look up no-such-host.invalid", "IP address"],
    );
}

#[test]
fn a_port_where_nobody_listens_is_told_so() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    says(
        &format!("opc.tcp://{address}"),
        1,
        &["connection refused", "is the server running"],
    );
}

#[test]
fn a_port_that_says_nothing_is_told_so() {
    says(
        &port_that(b"", false),
        1,
        &["nothing answers to a hello", "--timeout"],
    );
}

#[test]
fn a_web_server_is_known_for_what_it_is() {
    says(
        &port_that(b"HTTP/1.1 400 Bad Request\r\n\r\n", false),
        1,
        &["speaks HTTP", "4840"],
    );
    says(
        &port_that(&[0x15, 3, 1, 0, 2, 2, 70, 0, 0], false),
        1,
        &["speaks TLS"],
    );
}

#[test]
fn a_port_that_closes_at_once_is_told_so() {
    says(
        &port_that(b"", true),
        1,
        &["closed the connection without a word during: hello"],
    );
}

#[test]
fn a_server_that_says_why_it_refuses_is_quoted() {
    // ERR, 16 bytes and no reason: BadTcpEndpointUrlInvalid.
    says(
        &port_that(b"ERRF\x10\0\0\0\0\0\x83\x80\xff\xff\xff\xff", false),
        1,
        &["BadTcpEndpointUrlInvalid", "path of the URL"],
    );
}
