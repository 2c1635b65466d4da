//! `uaperf calibrate`, as a user runs it, and what later runs make of it.

#![allow(clippy::unwrap_used, clippy::panic, clippy::expect_used)]

use serde_json::Value;
use support::{Server, command, json, program, text};

mod support;

#[test]
fn a_host_that_was_calibrated_is_held_beside_later_results() {
    let folder = tempfile::tempdir().unwrap();
    let configuration = folder.path().join("configuration");
    let calibrated = program()
        .args(["calibrate", "--budget", "3s", "--json"])
        .env("XDG_CONFIG_HOME", &configuration)
        .output()
        .unwrap();
    let said = text(&calibrated.stderr);
    assert!(calibrated.status.success(), "{said}");
    assert!(
        said.contains("the generator against the built-in server"),
        "{said}"
    );
    let printed: Value = serde_json::from_slice(&calibrated.stdout).unwrap();
    let kept = configuration.join("uaperf/calibration.json");
    assert_eq!(printed, json(&kept));

    let policies = printed["policies"].as_array().unwrap();
    assert_eq!(policies.len(), 5);
    for policy in policies {
        let median = |what: &str| policy["key"][what]["median"].as_f64().unwrap();
        // What only the owner of an RSA key can do costs many times what everybody can.
        assert!(median("sign_ns") > 2.0 * median("verify_ns"), "{policy}");
        assert!(
            median("decrypt_ns") > 2.0 * median("encrypt_ns"),
            "{policy}"
        );
    }
    for late in printed["pacing"].as_array().unwrap() {
        let at = |what: &str| late[what].as_u64().unwrap();
        assert!(at("p50_ns") <= at("p99_ns") && at("p99_ns") <= at("max_ns"));
        assert!(at("count") > 10, "{late}");
    }
    for load in printed["generator"].as_array().unwrap() {
        let at = |what: &str| load["rate_per_s"][what].as_f64().unwrap();
        // A short slice on a busy machine may see nothing at all.
        assert!(0.0 < at("high"), "{load}");
        assert!(
            at("low") <= at("median") && at("median") <= at("high"),
            "{load}"
        );
    }

    let server = Server::start(&folder.path().join("server"), &["--profile", "bench"]);
    let words = ["read", &server.url, "--node", "nsu=urn:bench;i=1000"];
    let measured = command(folder.path(), &words)
        .args(["--rate", "100/s", "--duration", "500ms", "--quiet"])
        .args(["--out", "read.json"])
        .env("XDG_CONFIG_HOME", &configuration)
        .output()
        .unwrap();
    let said = text(&measured.stdout);
    assert!(said.contains("asked of the built-in server"), "{said}");
}

#[test]
fn a_budget_that_makes_no_sense_is_refused_with_what_is_allowed() {
    let refused = program()
        .args(["calibrate", "--budget", "10"])
        .output()
        .unwrap();
    assert_eq!(refused.status.code(), Some(2));
    let said = text(&refused.stderr);
    assert!(said.contains("--budget"), "{said}");
}
