//! `uaperf calibrate`, as a user runs it, and what later runs make of it.

#![allow(clippy::unwrap_used, clippy::panic, clippy::expect_used)]

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

fn uaperf() -> Command {
    Command::new(env!("CARGO_BIN_EXE_uaperf"))
}

struct Server(Child, String);

impl Server {
    fn start(pki: &std::path::Path) -> Self {
        let mut process = uaperf()
            .args([
                "serve",
                "--profile",
                "bench",
                "--port",
                "0",
                "--with-parent",
            ])
            .arg("--pki")
            .arg(pki)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let out = process.stdout.take().unwrap();
        BufReader::new(out).read_line(&mut line).unwrap();
        let url = line.trim().strip_prefix("READY ").unwrap().to_owned();
        Self(process, url)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_host_that_was_calibrated_is_held_beside_later_results() {
    let folder = tempfile::tempdir().unwrap();
    let configuration = folder.path().join("configuration");
    let calibrated = uaperf()
        .args(["calibrate", "--budget", "1s", "--json"])
        .env("XDG_CONFIG_HOME", &configuration)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&calibrated.stderr).into_owned();
    assert!(calibrated.status.success(), "{said}");
    assert!(
        said.contains("the generator against the built-in server"),
        "{said}"
    );
    let printed: Value = serde_json::from_slice(&calibrated.stdout).unwrap();
    let kept = configuration.join("uaperf/calibration.json");
    let kept: Value = serde_json::from_slice(&std::fs::read(kept).unwrap()).unwrap();
    assert_eq!(printed, kept);

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
        // A slice of 12 ms on a busy machine may see nothing at all.
        assert!(0.0 < at("high"), "{load}");
        assert!(
            at("low") <= at("median") && at("median") <= at("high"),
            "{load}"
        );
    }

    let server = Server::start(&folder.path().join("pki"));
    let measured = uaperf()
        .args([
            "read",
            &server.1,
            "--node",
            "nsu=urn:bench;i=1000",
            "--rate",
            "100/s",
        ])
        .args(["--duration", "500ms", "--quiet", "--out"])
        .arg(folder.path().join("read.json"))
        .arg("--pki")
        .arg(folder.path().join("client"))
        .env("XDG_CONFIG_HOME", &configuration)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&measured.stdout).into_owned();
    assert!(said.contains("asked of the built-in server"), "{said}");
}

#[test]
fn a_budget_that_makes_no_sense_is_refused_with_what_is_allowed() {
    let refused = uaperf()
        .args(["calibrate", "--budget", "10"])
        .output()
        .unwrap();
    assert_eq!(refused.status.code(), Some(2));
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(said.contains("--budget"), "{said}");
}
