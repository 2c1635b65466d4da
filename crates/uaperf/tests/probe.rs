//! `uaperf probe` as a user runs it, against servers, and against what is none.

#![allow(clippy::unwrap_used)]

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::process::Output;
use std::thread;

use crate::support::{Said, Server, command, text};
use serde_json::Value;
use tempfile::TempDir;

fn probe(url: &str, timeout: &str) -> Output {
    let folder = tempfile::tempdir().unwrap();
    command(folder.path(), &["probe", url, "--timeout", timeout])
        .env_remove("UAPERF_PASSWORD")
        .output()
        .unwrap()
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
    says_after("60s", url, code, words);
}

#[track_caller]
fn says_after(timeout: &str, url: &str, code: i32, words: &[&str]) {
    let output = probe(url, timeout);
    let text = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{text}");
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
    says_after(
        "500ms",
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

/// `uaperf serve` with a folder of its own, and a client's folder beside it.
struct Bench {
    folder: TempDir,
    server: Server,
    url: String,
}

impl Bench {
    fn serving(options: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let server = Server::start(&folder.path().join("server"), options);
        let url = match server.url.rsplit_once(':') {
            Some((_, port)) => format!("opc.tcp://127.0.0.1:{port}"),
            None => server.url.clone(),
        };
        Self {
            folder,
            server,
            url,
        }
    }

    /// Types `uaperf ARGUMENTS` as the client.
    fn client(&self, arguments: &str, password: &str) -> (i32, String, String) {
        let mut command = command(self.folder.path(), &[]);
        command
            .args(arguments.split_whitespace())
            .env("UAPERF_PASSWORD", password);
        let Said { code, out, err } = Said::by(&mut command);
        (code, out, err)
    }

    fn probe(&self, options: &str) -> (i32, String, String) {
        self.client(&format!("probe {} --repeat 2 {options}", self.url), "bench")
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        drop(self.server.child.stdin.take());
        self.server.child.wait().unwrap();
    }
}

#[test]
fn a_probe_tells_people_what_they_want_to_know() {
    let bench = Bench::serving(&["--trust"]);
    let (code, screen, said) = bench.probe("");
    assert_eq!(code, 0, "{said}");
    for word in [
        "Product      uaperf plant",
        "State        Running",
        "urn:bench",
        "Basic256Sha256:SignAndEncrypt",
        "MaxNodesPerRead",
        "activate session",
        "of 2",
    ] {
        assert!(screen.contains(word), "{word:?} is not in:\n{screen}");
    }
    let widest = screen.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(120), "{widest:?}");
}

#[test]
fn a_probe_tells_machines_the_same_and_times_every_step() {
    let bench = Bench::serving(&["--trust"]);
    let (code, json, said) = bench.probe("--json --security best --trust --user bench");
    assert_eq!(code, 0, "{said}");
    let probe: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(probe["security"], "Aes256_Sha256_RsaPss:SignAndEncrypt");
    assert_eq!(probe["user"], "bench");
    assert_eq!(probe["endpoints"].as_array().unwrap().len(), 11);
    let steps = probe["steps"].as_array().unwrap();
    let names: Vec<_> = steps.iter().map(|s| s["step"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        [
            "name lookup",
            "TCP connect",
            "hello",
            "open channel",
            "create session",
            "activate session",
            "first read",
            "close"
        ]
    );
    for step in steps {
        assert_eq!(step["count"], 2);
        assert!(step["min_ns"].as_u64() <= step["median_ns"].as_u64());
        assert!(step["max_ns"].as_u64() > Some(0));
    }
    assert!(!json.contains("UAPERF_PASSWORD"));
}

#[test]
fn a_certificate_unknown_here_is_refused_until_it_is_trusted() {
    let bench = Bench::serving(&["--trust"]);
    let (code, _, said) = bench.probe("--security best");
    assert_eq!(code, 1);
    assert!(said.contains("BadCertificateUntrusted"), "{said}");
    let trust = said
        .split("uaperf ")
        .find(|text| text.starts_with("cert trust "))
        .unwrap();
    let trust = trust.split(',').next().unwrap();
    let (code, _, said) = bench.client(trust, "");
    assert_eq!(code, 0, "{said}");
    let (code, _, said) = bench.probe("--security best");
    assert_eq!(code, 0, "{said}");
}

#[test]
fn a_certificate_unknown_to_the_server_is_guessed_from_its_silence() {
    let bench = Bench::serving(&[]);
    let (code, _, said) = bench.probe("--security best --trust");
    assert_eq!(code, 1);
    assert!(said.contains("does not trust our certificate"), "{said}");
    assert!(said.contains("own"), "{said}");
}

#[test]
fn a_wrong_password_is_told_apart_from_a_wrong_name_of_the_server() {
    let bench = Bench::serving(&["--trust"]);
    let probe = format!("probe {} --security best --trust --user bench", bench.url);
    let (code, _, said) = bench.client(&probe, "wrong");
    assert_eq!(code, 1);
    assert!(said.contains("does not let bench in"), "{said}");
    assert!(!said.contains("wrong"), "the secret is shown: {said}");
}

#[test]
fn a_token_from_a_file_lets_its_user_in() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    std::fs::write(at("anna.jwt"), "a.b.c\n").unwrap();
    std::fs::write(at("eve.jwt"), "e.v.e\n").unwrap();
    let plant = "anonymous = false\n[[user]]\nname = \"anna\"\ntoken_file = \"anna.jwt\"\n";
    std::fs::write(at("plant.toml"), plant).unwrap();
    let bench = Bench::serving(&["--trust", &at("plant.toml")]);
    let probe = |token: &str| bench.probe(&format!("--trust --json --user-token {}", at(token)));
    let (code, json, said) = probe("anna.jwt");
    assert_eq!(code, 0, "{said}");
    let told: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(told["user"], "issued token");
    let (code, _, said) = probe("eve.jwt");
    assert_eq!(code, 1);
    assert!(
        said.contains("does not take the token of --user-token"),
        "{said}"
    );
    assert!(!said.contains("e.v.e"), "the secret is shown: {said}");
    let (code, _, said) = bench.probe("--trust");
    assert_eq!(code, 1);
    assert!(said.contains("it takes issued token"), "{said}");
    assert!(said.contains("--user-token FILE"), "{said}");
}

#[test]
fn the_address_as_typed_is_used_when_the_server_calls_itself_otherwise() {
    let bench = Bench::serving(&["--host", "inside.invalid", "--security", "none"]);
    let (code, screen, said) = bench.probe("");
    assert_eq!(code, 0, "{said}");
    assert!(screen.contains("note: the server calls itself"), "{screen}");
    assert!(screen.contains("inside.invalid"), "{screen}");
}

#[test]
fn what_is_not_offered_is_answered_with_what_is() {
    let bench = Bench::serving(&["--trust", "--security", "Basic256Sha256:Sign"]);
    let (code, _, said) = bench.probe("--security Aes128_Sha256_RsaOaep:Sign");
    assert_eq!(code, 1);
    assert!(said.contains("it offers Basic256Sha256:Sign"), "{said}");
}

#[test]
fn a_session_timeout_is_asked_for_and_what_is_granted_is_told() {
    let bench = Bench::serving(&["--trust"]);
    for (asked, granted_s) in [("5s", 5), ("2h", 3600)] {
        let words = format!("--trust --json --session-timeout {asked}");
        let (code, out, err) = bench.probe(&words);
        assert_eq!(code, 0, "{err}");
        let told: Value = serde_json::from_str(&out).unwrap();
        let granted = told["agreed"]["session_timeout_ns"].as_u64().unwrap();
        assert_eq!(granted, granted_s * 1_000_000_000, "{asked}");
    }
}

/// What was found of a service.
fn found<'a>(told: &'a Value, service: &str) -> &'a str {
    let all = told["services"].as_array().unwrap();
    let it = all.iter().find(|it| it["service"] == service).unwrap();
    it["found"].as_str().unwrap()
}

#[test]
fn the_services_of_a_plant_are_tried_and_nothing_is_left_behind() {
    let bench = Bench::serving(&["--trust"]);
    let (code, out, err) = bench.probe("--trust --json --services");
    assert_eq!(code, 0, "{err}");
    let told: Value = serde_json::from_str(&out).unwrap();
    for service in ["Browse", "Read", "Write", "HistoryRead", "Call", "Publish"] {
        assert_eq!(found(&told, service), "there", "{out}");
    }
    for service in ["QueryFirst", "QueryNext"] {
        assert_eq!(found(&told, service), "missing", "{out}");
    }
    let (code, screen, err) = bench.probe("--trust --services");
    assert_eq!(code, 0, "{err}");
    let sets: Vec<_> = screen
        .lines()
        .filter(|it| it.contains("not Query"))
        .collect();
    assert_eq!(
        sets,
        ["Query           not QueryFirst, not QueryNext"],
        "{screen}"
    );
    assert!(
        screen.lines().any(|it| it.starts_with("Profiles ")),
        "{screen}"
    );
    // Without it nothing is tried.
    let (_, out, _) = bench.probe("--trust --json");
    assert!(!out.contains("\"services\""), "{out}");
}

/// open62541 has no queries, node-opcua does not change histories. asyncua denies rights for what it does not know, which does not
/// tell whether it is there.
#[test]
fn the_services_of_others_are_what_they_say() {
    let folder = tempfile::tempdir().unwrap();
    for (stack, there, not_there, told_by) in [
        (
            "open62541",
            "TransferSubscriptions",
            "QueryFirst",
            "missing",
        ),
        ("node-opcua", "HistoryRead", "HistoryUpdate", "missing"),
        ("asyncua", "HistoryRead", "QueryFirst", "unclear"),
    ] {
        let Some(stack) = peers::testing::require(stack) else {
            continue;
        };
        let server = peers::testing::start(stack, &peers::StartOptions::default());
        let words = [
            "probe",
            server.url(),
            "--services",
            "--json",
            "--timeout",
            "5s",
        ];
        let said = Said::by(&mut command(folder.path(), &words));
        assert_eq!(said.code, 0, "{}", said.err);
        let told: Value = serde_json::from_str(&said.out).unwrap();
        for used in [
            "Browse",
            "Read",
            "CreateSubscription",
            "DeleteSubscriptions",
        ] {
            assert_eq!(found(&told, used), "there", "{}", said.out);
        }
        assert_eq!(found(&told, there), "there", "{}", said.out);
        assert_eq!(found(&told, not_there), told_by, "{}", said.out);
    }
}
