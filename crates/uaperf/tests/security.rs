//! `uaperf security`: what protections cost, what is refused, and what should be mended.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::io::{BufRead, BufReader};
use std::num::NonZeroU32;
use std::process::{Command, Output, Stdio};
use std::time::SystemTime;

use crate::support::{command, json, signal, text};
use load::access::Security;
use pki::Store;
use pki::make::Request;
use plant::{PasswordHash, TrustPolicy, Users};
use serde_json::Value;
use wire::channel::Protection;

const BEST: &str = "Basic256Sha256:SignAndEncrypt";
const OLD: &str = "Basic128Rsa15:Sign";

fn protection(name: &str) -> Protection {
    match name.parse::<Security>() {
        Ok(Security::Exactly(protection)) => protection,
        other => panic!("{name}: {other:?}"),
    }
}

/// A server in this process, with a folder for its certificates and one for the client's.
struct Bench {
    folder: tempfile::TempDir,
    plant: plant::Server,
}

impl Bench {
    /// `strict`: only who is in its trust list, and that is the client.
    fn start(securities: &[&str], strict: bool, config: plant::Config) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let now = SystemTime::now().into();
        let server = Store::new(folder.path().join("server"));
        let request = Request::application("urn:test:plant").host("127.0.0.1");
        let own = server.own(&request, pki::KeyKind::Rsa(2048), now).unwrap();
        let client = Store::new(folder.path().join("pki"));
        let request = Request::application("urn:test:client").host("localhost");
        let certificate = client
            .own(&request, pki::KeyKind::Rsa(2048), now)
            .unwrap()
            .certificate;
        server.trust_certificate(&certificate).unwrap();
        client.trust_certificate(&own.certificate).unwrap();
        let plant = plant::Server::start(plant::Config {
            protections: securities.iter().map(|it| protection(it)).collect(),
            identity: Some(own),
            trust: match strict {
                true => TrustPolicy::from(server),
                false => TrustPolicy::default(),
            },
            ..config
        });
        Self {
            folder,
            plant: plant.unwrap(),
        }
    }

    fn command(&self, options: &[&str]) -> Command {
        let words = ["security", self.plant.url(), "--quick"];
        let mut command = command(self.folder.path(), &words);
        command
            .args(options)
            .env("UAPERF_PASSWORD", "bench")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    fn run(&self, options: &[&str]) -> (Output, Value) {
        let out = self.folder.path().join("sheet.json");
        let _ = fs::remove_file(&out);
        let output = self
            .command(options)
            .args(["--out", "sheet.json"])
            .output()
            .unwrap();
        let sheet = match out.exists() {
            true => json(&out),
            false => Value::Null,
        };
        (output, sheet)
    }
}

fn bench() -> plant::Config {
    let password = PasswordHash::new(b"bench", [7; 16], NonZeroU32::MIN);
    plant::Config {
        profiles: vec![plant::Profile::Bench { update: None }],
        users: Users {
            passwords: vec![("bench".to_owned(), password)],
            ..Users::default()
        },
        ..plant::Config::default()
    }
}

fn outcomes(sheet: &Value) -> Vec<(&str, &str)> {
    let all = sheet["refusals"].as_array().unwrap().iter();
    all.map(|it| {
        (
            it["what"].as_str().unwrap(),
            it["outcome"].as_str().unwrap(),
        )
    })
    .collect()
}

fn warnings(sheet: &Value) -> Vec<&str> {
    let all = sheet["warnings"].as_array().unwrap().iter();
    all.map(|it| it["what"].as_str().unwrap()).collect()
}

#[test]
fn a_server_that_checks_whom_it_talks_to_refuses_what_it_has_to_refuse() {
    let bench = Bench::start(&[BEST], true, bench());
    let (output, sheet) = bench.run(&["--user", "bench"]);
    let said = text(&output.stdout);
    assert!(output.status.success(), "{said}{}", text(&output.stderr));
    assert_eq!(
        outcomes(&sheet),
        [
            ("an unknown client certificate", "refused"),
            ("an expired client certificate", "not-tried"),
            ("a certificate of another application URI", "refused"),
            (
                "a session without protection, which is not offered",
                "refused"
            ),
            ("a user that does not exist", "refused"),
        ]
    );
    assert!(!said.contains("ACCEPTED"), "{said}");
    for told in ["BadCertificateUriInvalid", "BadUserAccessDenied"] {
        assert!(said.contains(told), "{told}: {said}");
    }
    let way = &sheet["ways"][0];
    assert_eq!(way["security"], BEST);
    let kinds = way["users"].as_array().unwrap();
    let measured = |kind: &str| {
        let user = kinds.iter().find(|it| it["kind"] == kind);
        user.is_some_and(|it| it["activation"]["median_ns"].as_u64() > Some(0))
    };
    assert!(measured("anonymous") && measured("user name"), "{kinds:?}");
    for figure in ["connect", "renewal"] {
        assert!(
            way[figure]["median_ns"].as_u64() > Some(0),
            "{figure}: {way}"
        );
    }
    let folder = bench.folder.path();
    let again = command(folder, &["show", "sheet.json"]).output().unwrap();
    assert_eq!(text(&again.stdout).trim_end(), said.trim_end());
    let page = command(folder, &["report", "sheet.json", "-o", "page.html"]);
    assert!({ page }.output().unwrap().status.success());
    let page = fs::read_to_string(folder.join("page.html")).unwrap();
    assert!(page.contains("What has to be refused"));
}

#[test]
fn a_server_that_takes_everybody_is_told_what_to_mend() {
    let bench = Bench::start(&["None", OLD, BEST], false, bench());
    let page = bench.folder.path().join("page.html");
    let (output, sheet) = bench.run(&["--strict", "--report", "page.html"]);
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(3), "{said}");
    let outcomes = outcomes(&sheet);
    assert!(
        outcomes.contains(&("an unknown client certificate", "accepted")),
        "{outcomes:?}"
    );
    assert!(
        outcomes.contains(&("an expired client certificate", "accepted")),
        "{outcomes:?}"
    );
    let warnings = warnings(&sheet);
    for part in [
        "accepts an unknown client certificate",
        "anonymous users may write",
        "without protection are offered",
        "deprecated policies are offered: Basic128Rsa15",
    ] {
        assert!(
            warnings.iter().any(|it| it.contains(part)),
            "{part}: {warnings:?}"
        );
    }
    let names: Vec<&str> = sheet["ways"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["security"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["None", OLD, BEST]);
    let size = |way: usize, place: usize| &sheet["ways"][way]["sizes"][place];
    for way in sheet["ways"].as_array().unwrap() {
        let seen = &way["handshakes"];
        // Two rounds of four clients, each of which connects at least once.
        assert!(seen["made"].as_u64() >= Some(8), "{seen}");
        assert_eq!(
            (&seen["at_once"], &seen["failed"]),
            (&4.into(), &0.into()),
            "{seen}"
        );
        for figure in ["server_cpu_ns", "client_cpu_ns"] {
            assert!(seen[figure].as_f64() > Some(0.0), "{figure}: {seen}");
        }
        let rate = &seen["per_second"];
        assert!(rate["low"].as_f64() <= rate["high"].as_f64() && rate["low"].as_f64() > Some(0.0));
    }
    assert_eq!(said.matches("  handshakes ").count(), 3, "{said}");
    let bytes = |way, place| {
        let size = size(way, place);
        size["request_bytes"].as_u64().unwrap() + size["response_bytes"].as_u64().unwrap()
    };
    // Part 6, 6.7.2: a signature of SHA-1 has 20 bytes; of SHA-256 32, and padding to whole blocks comes with it.
    assert_eq!(bytes(1, 0) - bytes(0, 0), 2 * 20);
    let added = bytes(2, 0) - bytes(0, 0);
    assert!((2 * 33..=2 * (32 + 17)).contains(&added), "{added}");
    assert!(bytes(0, 3) > bytes(0, 0) + 1000 * 20, "{}", bytes(0, 3));
    assert_eq!(size(0, 0)["ratio"]["median"], 1.0);
    assert!(
        size(2, 0)["server_cpu_ns"].as_f64() > Some(0.0),
        "{}",
        size(2, 0)
    );
    let html = fs::read_to_string(page).unwrap();
    for part in [
        "Round trip over payload",
        "What is refused",
        "several clients make and leave",
        "to mend",
        "<svg",
    ] {
        assert!(html.contains(part), "{part}");
    }
}

#[test]
fn the_size_of_messages_stays_below_the_servers_limit_and_the_node_has_to_be_there() {
    let mut config = bench();
    config.limits.nodes_per_read = 50;
    let bench = Bench::start(&["None"], true, config);
    let (output, sheet) = bench.run(&["--no-refusals"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let sizes = sheet["ways"][0]["sizes"].as_array().unwrap();
    let values: Vec<u64> = sizes
        .iter()
        .map(|it| it["values"].as_u64().unwrap())
        .collect();
    assert_eq!(values, [1, 10]);
    assert_eq!(outcomes(&sheet), []);
    let (_, sheet) = bench.run(&["--no-refusals", "--at-once", "0"]);
    assert_eq!(
        sheet["ways"][0]["handshakes"]["not_available"],
        "nobody tried"
    );
    let (output, _) = bench.run(&["--node", "browse:/Objects/Nowhere"]);
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output.stderr);
    assert!(said.contains("there is no Nowhere"), "{said}");
}

#[test]
fn clients_that_come_at_the_same_time_and_are_not_let_in_are_counted() {
    let mut config = bench();
    config.limits.sessions = 1;
    let bench = Bench::start(&["None"], true, config);
    let (output, sheet) = bench.run(&["--no-refusals", "--at-once", "8"]);
    let said = text(&output.stdout);
    assert!(output.status.success(), "{said}{}", text(&output.stderr));
    let seen = &sheet["ways"][0]["handshakes"];
    assert!(seen["made"].as_u64() >= Some(1), "{seen}");
    assert!(seen["failed"].as_u64() >= Some(1), "{seen}");
    assert!(said.contains("BadTooManySessions"), "{said}");
}

#[test]
fn a_server_that_is_not_trusted_is_not_measured_and_one_that_does_not_trust_says_how_to_change_that()
 {
    let bench = Bench::start(&["None", BEST], true, bench());
    let strange = bench.folder.path().join("strange");
    let strange = strange.to_str().unwrap();
    let (output, _) = bench.run(&["--pki", strange]);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("uaperf cert trust"), "{said}");
    // It does not know us: without protection there are figures, and the other says why there are none.
    let (output, sheet) = bench.run(&["--pki", strange, "--trust", "--no-refusals"]);
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(
        said.contains("does not trust our certificate yet"),
        "{said}"
    );
    assert_eq!(sheet["ways"][0]["failed"], Value::Null);
    assert!(
        sheet["ways"][1]["failed"].is_string(),
        "{}",
        sheet["ways"][1]
    );
}

#[test]
fn a_server_that_goes_away_leaves_what_was_measured_and_exit_code_1() {
    let mut config = bench();
    config.faults = vec!["restart=1h,on=read,every=60,times=1".parse().unwrap()];
    let bench = Bench::start(&["None", BEST], true, config);
    let (output, sheet) = bench.run(&["--timeout", "500ms"]);
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("failed"), "{said}");
    assert!(sheet["ways"][0]["failed"].is_string(), "{sheet}");
}

#[test]
fn ctrl_c_keeps_what_was_measured() {
    let bench = Bench::start(&["None", BEST], true, bench());
    let mut command = command(bench.folder.path(), &["security", bench.plant.url()]);
    command
        .args(["--rounds", "1000", "--out", "sheet.json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut told = BufReader::new(child.stderr.take().unwrap()).lines();
    let second = told
        .by_ref()
        .map_while(Result::ok)
        .find(|it| it.starts_with("round 2"));
    assert!(second.is_some());
    signal(child.id(), "INT");
    // Whoever does not read holds nobody up.
    let rest: Vec<String> = told.map_while(Result::ok).collect();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{rest:?}");
    assert!(text(&output.stdout).contains("INTERRUPTED"));
    let sheet = json(&bench.folder.path().join("sheet.json"));
    assert_eq!(sheet["interrupted"], true);
    assert!(
        sheet["ways"][0]["connect"]["count"].as_u64() >= Some(4),
        "{sheet}"
    );
}
