//! Commands that make or check something say with `--json` what that was, as one document.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::path::Path;

use serde_json::Value;

use crate::support::{Said, Server, command};

/// What a command printed as JSON, and its exit code.
fn told(folder: &Path, words: &str) -> (i32, Value, String) {
    let words: Vec<&str> = words.split(' ').chain(["--json"]).collect();
    let said = Said::by(&mut command(folder, &words));
    let told = serde_json::from_str(&said.out);
    let told = told.unwrap_or_else(|it| panic!("{words:?}: {it}: {}\n{}", said.out, said.err));
    (said.code, told, said.err)
}

fn good(folder: &Path, words: &str) -> Value {
    let (code, told, err) = told(folder, words);
    assert_eq!(code, 0, "{words}: {err}");
    told
}

#[test]
fn certificates_and_authorities_are_told_to_programs() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let made = good(at, "cert make");
    let thumbprint = made["thumbprint"].as_str().unwrap();
    let list = good(at, "cert list");
    assert_eq!(list["certificates"][0]["thumbprint"], thumbprint);

    let lab = good(at, "ca make lab --intermediates 1 --algorithm p256");
    let names: Vec<&Value> = (lab["authorities"].as_array().unwrap().iter())
        .map(|it| &it["name"])
        .collect();
    assert_eq!(names, ["root", "ca1"]);
    let issued = good(at, "ca issue lab plc1 --dns plc1");
    assert!(at.join(issued["file"].as_str().unwrap()).is_file());

    let trusted = good(at, "cert trust lab/root.der lab/root.crl");
    assert_eq!(trusted[0]["did"], "trusted");
    assert!(Path::new(trusted[0]["file"].as_str().unwrap()).is_file());
    assert_eq!(trusted[1]["did"], "added-revocation-list");
    // What was done before something could not be is on standard output all the same.
    let (code, some, err) = told(at, "cert trust lab/root.der none-such.der");
    assert_eq!((code, some.as_array().unwrap().len()), (1, 1), "{err}");
    assert!(err.contains("none-such.der"), "{err}");
    let rejected = good(at, "cert reject lab/issued/plc1.der");
    assert_eq!(rejected[0]["did"], "rejected");
    assert_eq!(rejected[0]["thumbprint"], issued["thumbprint"]);

    let revoked = good(at, "ca revoke lab plc1");
    assert_eq!(revoked["revoked"][0]["certificate"], "plc1");
    assert_eq!(revoked["revoked"][0]["issued_by"], "ca1");
    let entries = revoked["lists"].as_array().unwrap().iter();
    let entries: u64 = entries.map(|it| it["entries"].as_u64().unwrap()).sum();
    assert_eq!(entries, 1);
}

#[test]
fn files_that_are_checked_are_told_to_programs() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let scenario = "name = \"x\"\ntarget = \"opc.tcp://127.0.0.1:4840\"\n\n[[phase]]\nname = \"a\"\n\
                    service = \"read\"\nnodes = [\"i=2258\"]\nduration = \"1s\"\n";
    std::fs::write(at.join("x.toml"), scenario).unwrap();
    std::fs::write(
        at.join("bad.toml"),
        scenario.replace("duration", "durration"),
    )
    .unwrap();
    let (code, checked, err) = told(at, "check x.toml bad.toml");
    assert_eq!(code, 2, "{err}");
    assert_eq!(checked[0]["good"], true);
    assert!(checked[0]["about"].as_str().unwrap().contains("1 point"));
    assert_eq!(checked[1]["good"], false);
    assert!(
        checked[1]["problem"]
            .as_str()
            .unwrap()
            .contains("durration")
    );
    assert!(err.contains("durration"), "{err}");

    let profiles = good(at, "plant show");
    assert!(
        profiles
            .as_array()
            .unwrap()
            .iter()
            .any(|it| it["name"] == "bench")
    );
    let bench = good(at, "plant show bench");
    std::fs::write(at.join("bench.toml"), bench["text"].as_str().unwrap()).unwrap();
    let plant = good(at, "plant check bench.toml");
    assert_eq!(plant["file"], "bench.toml");
    assert!(plant["variables"].as_u64().unwrap() > 0);
}

#[test]
fn what_is_removed_and_how_peers_are_is_told_to_programs() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let server = Server::start(&at.join("pki"), &[]);
    let words = [
        "read",
        &server.url,
        "-n",
        "i=2258",
        "--requests",
        "5",
        "--out",
        "r.json",
    ];
    let read = Said::by(&mut command(at, &words));
    assert!([0, 4].contains(&read.code), "{}", read.err);
    let would = good(at, "results rm r.json --dry-run");
    assert_eq!(
        (&would["removed"], &would["files"][0]),
        (&false.into(), &"r.json".into())
    );
    assert!(at.join("r.json").exists());
    assert_eq!(good(at, "results rm r.json")["removed"], true);
    assert!(!at.join("r.json").exists());

    let (_, peers, err) = told(at, "peers doctor");
    let peers = peers.as_array().unwrap();
    assert!(peers.len() >= 8, "{err}");
    for peer in peers {
        // What is on this machine decides whether it is installed and well.
        assert!(
            peer["installed"].is_boolean() && peer["well"].is_boolean(),
            "{peer}"
        );
        assert!(!peer["said"].as_array().unwrap().is_empty(), "{peer}");
    }
}
