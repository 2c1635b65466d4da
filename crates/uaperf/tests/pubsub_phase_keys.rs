//! Phases with PubSub whose keys a key service hands out, that ask publishers what they send, and what is shown of
//! them meanwhile.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::net::UdpSocket;
use std::path::Path;
use std::process::Stdio;

use crate::support::{Said, Server, command};
use record::Run;
use record::run::{KeyUse, Kind, PubSub};
use record::sweep::Sweep;
use serde_json::Value;

fn free() -> String {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    format!("opc.udp://{}", socket.local_addr().unwrap())
}

/// Carries a scenario out, and gives what was said and measured.
fn run(folder: &Path, scenario: &str, words: &[&str]) -> (Said, Vec<Run>) {
    std::fs::write(folder.join("x.toml"), scenario).unwrap();
    let words = [&["run", "x.toml", "--out", "out"], words].concat();
    let said = Said::by(&mut command(folder, &words));
    let out = folder.join("out");
    let index = Sweep::read(&out).unwrap();
    let files = index.measurements.iter().filter_map(|it| it.file.clone());
    let runs = files.map(|file| Run::read(&out.join(file)).unwrap());
    (said, runs.collect())
}

fn told(run: &Run) -> &PubSub {
    run.phases[0].pubsub.as_ref().unwrap()
}

fn datagrams(keys: &KeyUse) -> u64 {
    keys.tokens.iter().map(|it| it.datagrams).sum()
}

/// A key service for one user.
const PLANT: &str = "\
    [[user]]\nname = 'alice'\npassword_hash = 'pbkdf2-sha256$1000$000102030405060708090a0b0c0d0e0f$be6f1fa29e1e9d7fe83b29ea370ae12a8a0b20014a21dc117124a05df37e6991'\n\
    [[security_group]]\nid = 'line4'\nlifetime = '300ms'\nmay_get = ['alice']\n";

fn key_service(folder: &Path) -> Server {
    let file = folder.join("plant.toml");
    std::fs::write(&file, PLANT).unwrap();
    std::fs::write(folder.join("password"), "bench\n").unwrap();
    let file = file.display().to_string();
    Server::start(&folder.join("server"), &[&file, "--trust"])
}

/// What a phase says of it. The password lies beside the scenario.
fn of(server: &Server) -> String {
    format!(
        "keys = '{}'\nsecurity_group = 'line4'\nservice_user = 'alice'\nservice_password_file = 'password'\n\
         trust = true\nsecurity = 'sign-and-encrypt'\n",
        server.url
    )
}

#[test]
fn keys_of_a_service_change_during_a_phase_without_a_loss_and_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let server = key_service(folder.path());
    let scenario = format!(
        "[[phase]]\nservice = 'publish'\nsignals = 10\ngroups = 2\ninterval = '4ms'\nduration = '1200ms'\n\
         expect = ['loss=0', 'errors=0']\n{}",
        of(&server)
    );
    let (said, runs) = run(folder.path(), &scenario, &["--quiet"]);
    assert!([0, 4].contains(&said.code), "{}{}", said.out, said.err);
    let run = &runs[0];
    let (told, context) = (told(run), format!("{run:?}"));
    assert!(
        matches!(run.verdict.kind, Kind::Valid | Kind::GeneratorLimited),
        "{context}"
    );
    let (sent, heard) = (told.published.as_ref().unwrap(), &told.listeners[0]);
    let (at_sender, at_listener) = (sent.keys.as_ref().unwrap(), heard.keys.as_ref().unwrap());
    assert_eq!(at_sender.tokens, at_listener.tokens, "{context}");
    // Two groups of the layout Dynamic, which says no group: they have their numbers together.
    assert_eq!(datagrams(at_sender), 600, "{context}");
    assert!((4..=9).contains(&at_sender.tokens.len()), "{context}");
    assert_eq!(sent.roll_overs, at_sender.tokens.len() as u64 - 1);
    assert_eq!((heard.lost, heard.never_came), (Some(0), Some(0)));
    assert_eq!(heard.security, ["sign-and-encrypt"]);
    assert_eq!((at_sender.expired, heard.unreadable()), (0, 0), "{context}");
    assert!(at_sender.asked >= 2 && at_listener.asked >= 2, "{context}");
    let plan = serde_json::to_string(&run.plan).unwrap();
    for words in [r#""group":"line4""#, r#""user":"alice""#] {
        assert!(plan.contains(words), "{plan}");
    }
    assert!(!plan.contains("password"), "{plan}");
    let shown = Said::by(&mut command(folder.path(), &["show", "out"]));
    assert_eq!(shown.code, 0, "{}{}", shown.out, shown.err);
    let index = Sweep::read(&folder.path().join("out")).unwrap();
    let file = index.measurements[0].file.clone().unwrap();
    let file = folder.path().join("out").join(file);
    let shown = Said::by(&mut command(
        folder.path(),
        &["show", &file.display().to_string()],
    ));
    let words = format!("{} tokens, ", at_sender.tokens.len());
    assert!(shown.out.contains(&words), "{words}: {}", shown.out);
    assert!(
        shown.out.contains("the key service answered"),
        "{}",
        shown.out
    );
}

#[test]
fn a_key_service_that_refuses_ends_the_phase_before_it_begins_and_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let server = key_service(folder.path());
    let publish = "[[phase]]\nservice = 'publish'\nduration = '5s'\n";
    let unknown = of(&server).replace("service_user = 'alice'\n", "");
    let unknown = unknown.replace("service_password_file = 'password'\n", "");
    let (said, runs) = run(folder.path(), &format!("{publish}{unknown}"), &["--quiet"]);
    assert!(
        said.code != 0 && runs.is_empty(),
        "{}{}",
        said.out,
        said.err
    );
    let index = Sweep::read(&folder.path().join("out")).unwrap();
    let why = index.measurements[0].why.clone().unwrap();
    assert!(why.contains("BadUserAccessDenied"), "{why}");

    let refused = |scenario: &str, words: &str| {
        std::fs::write(folder.path().join("y.toml"), scenario).unwrap();
        let said = Said::by(&mut command(folder.path(), &["check", "y.toml"]));
        assert_eq!(said.code, 2, "{}{}", said.out, said.err);
        assert!(said.err.contains(words), "{words}: {}", said.err);
    };
    let rolls = format!("{publish}{}roll_over = '1s'\n", of(&server));
    refused(&rolls, "it says itself how long a key holds");
    let no_group = format!("{publish}{}", of(&server)).replace("security_group = 'line4'\n", "");
    refused(&no_group, "security-group");
    let at_broker = "[[phase]]\nservice = 'listen'\nfrom = 'mqtt://127.0.0.1'\n\
                     discovery = 'opc.udp://224.0.2.14'\n";
    refused(at_broker, "a broker keeps what publishers tell");
}

#[test]
fn a_listener_of_a_phase_asks_what_rawdata_is_and_has_keys_of_the_same_service() {
    let folder = tempfile::tempdir().unwrap();
    let server = key_service(folder.path());
    let (to, discovery) = (free(), free());
    let mut publisher = command(
        folder.path(),
        &[
            "publish",
            &to,
            "--encoding=raw",
            "--signals=10",
            "--interval=10ms",
            "--duration=1m",
            "--keys",
            &server.url,
            "--security-group=line4",
            "--service-user=alice",
            "--service-password-file=password",
            "--trust",
            "--security=sign-and-encrypt",
            "--discovery",
            &discovery,
        ],
    )
    .stdout(Stdio::null())
    .stderr(Stdio::null())
    .spawn()
    .unwrap();
    let phase = format!(
        "[[phase]]\nservice = 'listen'\nfrom = '{to}'\nduration = '2500ms'\n{}",
        of(&server)
    );
    let scenario = format!("{phase}discovery = '{discovery}'\n{phase}");
    let (said, runs) = run(folder.path(), &scenario, &["--quiet"]);
    publisher.kill().unwrap();
    publisher.wait().unwrap();
    assert_eq!(said.code, 0, "{}{}", said.out, said.err);
    let [asked, not] = &runs[0].phases[..] else {
        unreachable!("two phases: {runs:?}")
    };
    let heard = |phase: &record::run::Phase| phase.pubsub.as_ref().unwrap().listeners[0].clone();
    let (asked, not) = (heard(asked), heard(not));
    // What RawData means was told a few cycles after the first datagram came.
    assert!(asked.discovery > 0 && not.discovery == 0, "{asked:?}");
    let values = asked.values / 10;
    assert!(values > 0 && values <= asked.datagrams, "{asked:?}");
    assert_eq!(not.values, 0, "{not:?}");
    for heard in [asked, not] {
        assert_eq!(heard.unreadable(), 0, "{heard:?}");
        assert!(heard.datagrams > 20, "{heard:?}");
        let keys = heard.keys.unwrap();
        assert!(keys.tokens.len() >= 4, "2.5 s of 300 ms: {keys:?}");
        assert_eq!(datagrams(&keys), heard.datagrams);
    }
}

#[test]
fn what_listeners_hear_is_shown_while_they_do_and_told_to_other_programs() {
    let folder = tempfile::tempdir().unwrap();
    let scenario = "[[phase]]\nname = 'ours'\nservice = 'publish'\nsignals = 10\ninterval = '10ms'\n\
                    duration = '2500ms'\n";
    let live = ["--live-file", "live.jsonl"];
    let (said, runs) = run(folder.path(), scenario, &live);
    assert!([0, 4].contains(&said.code), "{}{}", said.out, said.err);
    let is_live = |line: &&str| line.contains("values") && line.contains("messages");
    let lines: Vec<&str> = said.err.lines().filter(is_live).collect();
    assert!(!lines.is_empty(), "{}", said.err);
    for line in &lines {
        assert!(line.contains("0 lost"), "{line}");
        assert!(
            line.contains("delay mean") && line.contains(" left"),
            "{line}"
        );
        assert!(!line.contains("requests"), "{line}");
    }
    let text = std::fs::read_to_string(folder.path().join("live.jsonl")).unwrap();
    let rows: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let last = rows.last().unwrap();
    assert_eq!(
        (&last["command"], &last["phase"]),
        (&"publish".into(), &"ours".into())
    );
    let heard = told(&runs[0]).listeners[0].clone();
    assert_eq!(last["total_notified"], heard.values, "{text}");
    assert_eq!(last["total_messages"], heard.datagrams, "{text}");
    assert_eq!(
        (&last["total_lost"], &last["total_completed"]),
        (&0.into(), &0.into())
    );
    let counted: u64 = rows.iter().map(|it| it["values"].as_u64().unwrap()).sum();
    assert_eq!(counted, heard.values, "{text}");

    std::fs::remove_dir_all(folder.path().join("out")).unwrap();
    let (said, _) = run(folder.path(), scenario, &["--quiet"]);
    assert!(!said.err.contains("messages"), "{}", said.err);
}
