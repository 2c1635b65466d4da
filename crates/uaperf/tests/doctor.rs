//! `uaperf doctor`: what is missing or broken on a machine, and what mends it.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic)]

use std::net::TcpListener;
use std::path::Path;

use crate::support::{Said, command, program};
use serde_json::Value;

fn looked(folder: &Path) -> (i32, Value) {
    let said = Said::by(&mut command(folder, &["doctor", "--json"]));
    (said.code, serde_json::from_str(&said.out).unwrap())
}

fn check<'a>(told: &'a Value, subject: &str) -> &'a Value {
    let mut checks = told["checks"].as_array().unwrap().iter();
    let found = checks.find(|it| it["subject"] == subject);
    found.unwrap_or_else(|| panic!("no {subject} in {told}"))
}

#[test]
fn a_machine_that_was_never_used_is_not_broken_and_stays_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let (code, told) = looked(folder.path());
    assert_eq!((code, &told["broken"]), (0, &0.into()), "{told}");
    for subject in ["certificates", "own certificate", "trust lists", "results"] {
        assert_eq!(check(&told, subject)["standing"], "good", "{told}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn what_is_broken_is_named_with_what_mends_it() {
    let folder = tempfile::tempdir().unwrap();
    // Where folders are wanted, files are.
    for name in ["pki", "results"] {
        std::fs::write(folder.path().join(name), "").unwrap();
    }
    let (code, told) = looked(folder.path());
    assert_eq!(code, 1, "{told}");
    for subject in ["certificates", "results"] {
        let it = check(&told, subject);
        assert_eq!(it["standing"], "broken", "{told}");
        assert!(
            it["mend"].as_str().unwrap().contains("name another place"),
            "{told}"
        );
    }
    let screen = Said::by(&mut command(folder.path(), &["doctor"]));
    assert_eq!(screen.code, 1);
    assert!(
        screen.out.contains("BROKEN   certificates"),
        "{}",
        screen.out
    );
}

#[test]
fn certificates_that_end_soon_and_those_that_wait_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let made = Said::by(&mut command(
        folder.path(),
        &["cert", "make", "--days", "3"],
    ));
    assert_eq!(made.code, 0, "{}", made.err);
    let rejected = folder.path().join("pki/rejected/certs");
    std::fs::create_dir_all(&rejected).unwrap();
    std::fs::write(rejected.join("broken.der"), "no certificate").unwrap();
    let (code, told) = looked(folder.path());
    assert_eq!(code, 0, "{told}");
    let own = check(&told, "own certificate");
    assert_eq!(own["standing"], "note", "{told}");
    assert!(
        own["found"].as_str().unwrap().starts_with("expires in "),
        "{told}"
    );
    let lists = check(&told, "trust lists");
    assert!(
        lists["found"].as_str().unwrap().contains("broken.der"),
        "{told}"
    );
}

#[test]
fn a_port_that_is_taken_is_told() {
    let folder = tempfile::tempdir().unwrap();
    // It may be taken already, by whomever.
    let _taken = TcpListener::bind("127.0.0.1:4840");
    let (code, told) = looked(folder.path());
    let port = check(&told, "port 4840");
    assert_eq!((code, &port["standing"]), (0, &"note".into()), "{told}");
    assert!(
        port["mend"].as_str().unwrap().contains("--port 0"),
        "{told}"
    );
}

#[test]
fn without_a_home_a_folder_has_to_be_named() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = program();
    command.args(["doctor"]).current_dir(folder.path());
    for name in ["HOME", "XDG_CONFIG_HOME", "UAPERF_PKI"] {
        command.env_remove(name);
    }
    let said = Said::by(&mut command);
    assert_eq!(said.code, 1, "{}", said.out);
    assert!(said.out.contains("--pki"), "{}", said.out);
}
