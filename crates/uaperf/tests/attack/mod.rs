//! `uaperf attack`: what attacks do to good clients, and whom nobody attacks.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::net::TcpListener;
use std::num::NonZeroU32;
use std::process::Stdio;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use bad::{BadProcess, Fault};
use peers::StartOptions;
use peers::testing::{require, start};
use plant::{PasswordHash, Rights, Users};
use serde_json::Value;
use tempfile::TempDir;
use wire::url::Url;

use crate::support;
use crate::support::{Said, Telling, command, json, signal};

mod bad;

fn users(anonymous: Rights) -> Users {
    let password = PasswordHash::new(b"bench", [7; 16], NonZeroU32::MIN);
    Users {
        passwords: vec![("bench".to_owned(), password)],
        anonymous_rights: anonymous,
        ..Users::default()
    }
}

/// A plant in this process.
fn plant(anonymous: Rights) -> plant::Server {
    started(anonymous, None)
}

fn started(anonymous: Rights, advertise: Option<Url>) -> plant::Server {
    plant::Server::start(plant::Config {
        profiles: vec![plant::Profile::Bench { update: None }],
        users: users(anonymous),
        advertise,
        ..plant::Config::default()
    })
    .unwrap()
}

/// What a command said, and the sheet that it wrote.
fn attacked(url: &str, options: &[&str]) -> (Said, Value, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let mut command = command(folder.path(), &["attack", url]);
    if !options.contains(&"--step") {
        command.args(["--step", "1s"]);
    }
    command.args(["--security", "none", "--out", "sheet.json"]);
    let said = Said::by(command.args(options));
    let file = folder.path().join("sheet.json");
    let sheet = match file.exists() {
        true => json(&file),
        false => Value::Null,
    };
    (said, sheet, folder)
}

fn kind<'a>(sheet: &'a Value, name: &str) -> &'a Value {
    let kinds = sheet["kinds"].as_array().unwrap();
    kinds.iter().find(|it| it["kind"] == name).unwrap()
}

/// What attackers were told: how often, by answer.
fn told(kind: &Value) -> Vec<(String, u64)> {
    let answers = kind["seen"]["attackers"]["answers"].as_array().unwrap();
    answers
        .iter()
        .map(|it| {
            let told = it["told"].as_str().unwrap().to_owned();
            (told, it["count"].as_u64().unwrap())
        })
        .collect()
}

fn count(of: &Value) -> u64 {
    of.as_u64().unwrap()
}

/// What was measured of one server: what takes seconds and hardly any work is done for all tests at once.
type Run = (Said, Value, TempDir);

struct Runs {
    /// In the order of the faults.
    bad: [Run; 4],
    plant: Run,
    /// Whether somebody connected to where that plant says that it is.
    elsewhere: bool,
    /// Without a permission and with one, if it can be had.
    open62541: Option<[Run; 2]>,
}

static RUNS: LazyLock<Runs> = LazyLock::new(|| {
    let faults = [
        (Fault::Dies, &["--kind", "half-open,replayed"][..]),
        (Fault::Forgets, &["--kind", "half-open", "--left", "20MiB"]),
        (Fault::CutsOff, &["--kind", "half-open"]),
        (Fault::Slows, &["--kind", "half-open"]),
    ];
    std::thread::scope(|scope| {
        let plant = scope.spawn(|| {
            // The plant names somebody else as its endpoints' host, who would notice.
            let named = TcpListener::bind("127.0.0.1:0").unwrap();
            named.set_nonblocking(true).unwrap();
            let plant = started(
                Rights::ALL,
                format!("opc.tcp://{}", named.local_addr().unwrap())
                    .parse()
                    .ok(),
            );
            let url = format!("opc.tcp://{}", plant.address());
            let kinds = "--kind=half-open,passwords,history";
            let run = attacked(&url, &[kinds, "--report", "page.html"]);
            (run, named.accept().is_ok())
        });
        let open62541 = scope.spawn(|| {
            let server = start(require("open62541")?, &StartOptions::default());
            let run = |words: &[&str]| {
                let kind = ["--kind", "replayed"];
                attacked(server.url(), &[&kind[..], words].concat())
            };
            let named = ["--allow", "attack", "--mine", "127.0.0.1"];
            Some([run(&[]), run(&named)])
        });
        let bad = faults.map(|(fault, options)| scope.spawn(move || bad(fault, options)));
        let (plant, elsewhere) = plant.join().unwrap();
        Runs {
            bad: bad.map(|it| it.join().unwrap()),
            plant,
            elsewhere,
            open62541: open62541.join().unwrap(),
        }
    })
});

#[test]
fn a_plant_refuses_what_it_has_to_refuse_and_its_good_clients_lose_nothing() {
    let (said, sheet, folder) = &RUNS.plant;
    assert!(matches!(said.code, 0 | 3 | 4), "{}{}", said.out, said.err);
    let guessed = kind(sheet, "passwords");
    let told = told(guessed);
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!(told[0].0, "BadUserAccessDenied");
    // A hundred a second, unless this machine is too busy for that.
    assert!((20..=100).contains(&told[0].1), "{told:?}");
    let seen = &guessed["seen"];
    for stage in ["calm", "attacked", "after"] {
        let stage = &seen[stage];
        assert!(count(&stage["completed"]) > 100, "{stage}");
        assert_eq!(count(&stage["errors"]), 0, "{stage}");
        assert_eq!(count(&stage["lost_sessions"]), 0, "{stage}");
        assert!(count(&stage["newcomers"]["came"]) > 0, "{stage}");
        assert_eq!(count(&stage["newcomers"]["refused"]), 0, "{stage}");
    }
    assert_eq!(count(&seen["lost_values"]), 0);
    let ratio = &seen["ratios"][0]["attacked"];
    assert!(ratio["low"].as_f64() <= ratio["ratio"].as_f64(), "{ratio}");
    assert!(ratio["high"].as_f64() >= ratio["ratio"].as_f64(), "{ratio}");
    // Who is not let in leaves a session that nobody activates, until that is forgotten.
    let left = &seen["sessions"];
    assert!(count(&left["after"]) > count(&left["before"]), "{left}");
    let history = kind(sheet, "history");
    assert!(
        history["not_tried"]
            .as_str()
            .unwrap()
            .contains("no history")
    );
    let mut show = command(folder.path(), &["show", "sheet.json"]);
    assert_eq!(Said::by(&mut show).out.trim_end(), said.out.trim_end());
    let page = std::fs::read_to_string(folder.path().join("page.html")).unwrap();
    for part in ["What attackers were told", "BadUserAccessDenied", "<svg"] {
        assert!(page.contains(part), "{part}");
    }
    let mut report = command(folder.path(), &["report", "sheet.json", "-o", "again.html"]);
    assert_eq!(Said::by(&mut report).code, 0);
    let again = std::fs::read_to_string(folder.path().join("again.html")).unwrap();
    assert_eq!(again, page);
}

#[test]
fn all_connections_go_to_the_host_that_was_typed() {
    let (said, sheet, _) = &RUNS.plant;
    for kind_of in ["half-open", "passwords"] {
        let made = &kind(sheet, kind_of)["seen"]["attackers"]["made"];
        assert!(count(made) > 10, "{kind_of}: {}", said.out);
    }
    assert!(!RUNS.elsewhere);
}

/// Half-open connections at a server that is no good, and what is found.
fn bad(fault: Fault, options: &[&str]) -> Run {
    let plant = plant(Rights::ALL);
    let (process, url) = BadProcess::start(fault, plant.address());
    let pid = process.id().to_string();
    attacked(&url, &[&["--server-pid", &pid], options].concat())
}

/// The run of a bad server, which is to end with the exit code for harm.
fn harmed(place: usize) -> (&'static Said, &'static Value) {
    let (said, sheet, _) = &RUNS.bad[place];
    assert_eq!(said.code, 3, "{}{}", said.out, said.err);
    (said, sheet)
}

#[test]
fn a_server_that_ends_has_died_and_nothing_more_is_tried() {
    let (said, sheet) = harmed(0);
    assert_eq!(sheet["kinds"].as_array().unwrap().len(), 1, "{sheet}");
    assert_eq!(kind(sheet, "half-open")["verdict"]["is"], "died");
    for words in ["half-open: died", "SERVER GONE", "connection refused"] {
        assert!(said.out.contains(words), "{words}: {}", said.out);
    }
}

#[test]
fn a_server_that_forgets_memory_left_it_behind() {
    let (said, sheet) = harmed(1);
    let kind = kind(sheet, "half-open");
    let left = count(&kind["seen"]["memory"]["after"]) - count(&kind["seen"]["memory"]["before"]);
    assert!(left > 20 << 20, "{left}");
    // Whoever is slow beside that is this machine.
    let verdict = kind["verdict"]["is"].as_str().unwrap();
    let fits = matches!(verdict, "left-behind" | "slowed" | "starved");
    assert!(fits, "{}", said.out);
    assert!(
        said.out.contains("of memory more than before"),
        "{}",
        said.out
    );
}

#[test]
fn a_server_that_cuts_good_clients_off_has_refused_them() {
    let (said, sheet) = harmed(2);
    let kind = kind(sheet, "half-open");
    assert_eq!(
        kind["verdict"]["is"], "refused-good-clients",
        "{}",
        said.out
    );
    let stages = ["attacked", "after"].map(|it| &kind["seen"][it]);
    let lost: u64 = stages.iter().map(|it| count(&it["lost_sessions"])).sum();
    assert!(lost > 0, "{}", said.out);
    assert!(said.out.contains("lost its connection"), "{}", said.out);
}

#[test]
fn a_server_that_answers_later_with_many_connections_is_slowed() {
    let (said, sheet, _) = &RUNS.bad[3];
    let kind = kind(sheet, "half-open");
    let ratios = &kind["seen"]["ratios"][0];
    let median = &ratios["attacked"];
    assert!(median["ratio"].as_f64() > Some(3.0), "{}", said.out);
    assert!(median["low"].as_f64() > Some(1.0), "{}", said.out);
    assert!(said.out.contains("times as long"), "{}", said.out);
    // On a machine that has too much else to do it is not said whose fault it was.
    match said.out.contains("the good client was the limit") {
        true => assert!(matches!(said.code, 3 | 4), "{}", said.out),
        false => {
            // What comes at the end of a second is answered behind it: of one second that may be much.
            let verdict = &kind["verdict"];
            let slowed = verdict["is"] == "slowed" && verdict["times"].as_f64() > Some(3.0);
            assert!(slowed || verdict["is"] == "starved", "{}", said.out);
            assert_eq!(said.code, 3, "{}", said.out);
        }
    }
}

#[test]
fn nobody_is_attacked_whom_the_user_did_not_name() {
    // Somebody who would notice.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let url = format!("opc.tcp://{}", listener.local_addr().unwrap());
    for (words, told) in [
        (
            &["--allow", "attack", "--mine", "localhost"][..],
            "is not the host",
        ),
        (&["--mine", "127.0.0.2"], "is not the host"),
        (&["--allow", "attack", "--mine", "plc1"], "is not the host"),
        (&["--allow", "storm"], "invalid value 'storm'"),
        (
            &["--allow", "attack", "--mine", "127.0.0.1", "--link", "4g"],
            "--link",
        ),
        (&["--step", "0s"], "want 1s to 10m"),
        (&["--attacks", "1000000/s"], "want at most 10000/s"),
        (&["--kind", "floods"], "want certificates, half-open"),
        (&["--slow", "1"], "want a number above 1"),
    ] {
        let (said, sheet, _) = attacked(&url, words);
        assert_eq!(
            (said.code, &sheet),
            (2, &Value::Null),
            "{words:?}: {}",
            said.err
        );
        assert!(said.err.contains(told), "{words:?}: {}", said.err);
    }
    assert!(listener.accept().is_err());
}

#[test]
fn a_server_that_is_no_plant_wants_both_the_permission_and_its_name() {
    // A plant that does not tell what it counted is known as none.
    let mut rights = Rights::ALL;
    rights.call = false;
    let plant = plant(rights);
    for (words, hint) in [
        (&[][..], "attacking a server has to be allowed"),
        (
            &["--mine", "127.0.0.1"],
            "attacking a server has to be allowed",
        ),
        (&["--allow", "attack"], "whose server it is has to be said"),
    ] {
        let (said, _, _) = attacked(plant.url(), words);
        assert_eq!(said.code, 2, "{}", said.err);
        assert!(said.err.contains(hint), "{}", said.err);
        assert!(
            said.err.contains("--allow attack --mine 127.0.0.1"),
            "{}",
            said.err
        );
    }
}

#[test]
fn ctrl_c_keeps_what_was_measured() {
    let plant = plant(Rights::ALL);
    let folder = tempfile::tempdir().unwrap();
    let mut command = command(folder.path(), &["attack", plant.url(), "--step", "2s"]);
    command
        .args(["--security", "none", "--kind", "replayed,half-open"])
        .args(["--out", "sheet.json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut telling = Telling::of(&mut child);
    telling.until("replayed (1 of 2): attack");
    let connections = || plant.counted().cumulated_connections;
    let (before, began) = (connections(), Instant::now());
    while connections() < before + 30 {
        assert!(began.elapsed() < Duration::from_secs(20), "no attacks");
        std::thread::sleep(Duration::from_millis(5));
    }
    signal(child.id(), "INT");
    let rest = telling.whole();
    let output = child.wait_with_output().unwrap();
    let rest = rest.join().unwrap();
    assert_eq!(output.status.code(), Some(130), "{rest}");
    assert!(support::text(&output.stdout).contains("INTERRUPTED"));
    let sheet = json(&folder.path().join("sheet.json"));
    assert_eq!(sheet["interrupted"], true);
    assert_eq!(sheet["kinds"].as_array().unwrap().len(), 1);
    let seen = &kind(&sheet, "replayed")["seen"];
    assert!(count(&seen["calm"]["completed"]) > 100, "{seen}");
    assert!(count(&seen["attackers"]["made"]) > 10, "{seen}");
}

#[test]
fn open62541_stands_messages_that_are_sent_twice() {
    let Some([without, (said, sheet, _)]) = &RUNS.open62541 else {
        return;
    };
    assert_eq!(without.0.code, 2, "{}", without.0.err);
    assert!(matches!(said.code, 0 | 3 | 4), "{}{}", said.out, said.err);
    let kind = kind(sheet, "replayed");
    let answers = kind["seen"]["attackers"]["answers"].as_array().unwrap();
    assert!(
        answers.iter().all(|it| it["refused"] == true),
        "{answers:?}"
    );
    for stage in ["calm", "attacked", "after"] {
        let stage = &kind["seen"][stage];
        assert!(count(&stage["completed"]) > 100, "{stage}");
        assert_eq!(count(&stage["errors"]), 0, "{stage}");
    }
    assert!(count(&kind["seen"]["memory"]["before"]) > 0);
}
