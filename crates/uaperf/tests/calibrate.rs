//! `uaperf calibrate`, as a user runs it, and what later runs make of it.

#![allow(clippy::unwrap_used, clippy::panic, clippy::expect_used)]

use crate::support::{Said, Server, command, json, program, text};
use serde_json::Value;

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

#[test]
fn costs_are_scaled_to_a_host_that_was_calibrated() {
    let folder = tempfile::tempdir().unwrap();
    let plant = "name = 'x'\nfanout = 'share'\n[[node]]\nname = 'n'\npoints = 500\nclients = 4\npublishing = '100ms'\n";
    std::fs::write(folder.path().join("x.toml"), plant).unwrap();
    let run = |words: &str| {
        let words: Vec<&str> = words.split(' ').collect();
        let home = folder.path().join("configuration");
        Said::by(command(folder.path(), &words).env("XDG_CONFIG_HOME", home))
    };
    let never = run("size x.toml --model plant --here");
    assert_eq!(never.code, 2, "{}", never.out);
    assert!(never.err.contains("uaperf calibrate"), "{}", never.err);
    let none = run("size x.toml --model burger2019 --here");
    assert!(
        none.err.contains("how fast its machine was"),
        "{}",
        none.err
    );
    let calibrated = run("calibrate --budget 1s --quiet --json");
    assert_eq!(calibrated.code, 0, "{}", calibrated.err);
    let sized = |words: &str| -> Value {
        let said = run(words);
        assert_eq!(said.code, 0, "{}", said.err);
        serde_json::from_str(&said.out).unwrap()
    };
    let usual = sized("size x.toml --model plant --json");
    let here = sized("size x.toml --model plant --json --here");
    let of = |it: &Value, what: &str| it["nodes"][0]["cpu"][what].as_f64().unwrap();
    // A debug build is slower than the machine of the model: costs are higher, by as much as cores are slower.
    let slower = 1.0 / here["nodes"][0]["node"]["speed"].as_f64().unwrap();
    let ratio = of(&here, "cpu_percent") / of(&usual, "cpu_percent");
    assert!((ratio / slower - 1.0).abs() < 1e-6, "{ratio} {slower}");
    let width = |it: &Value| of(it, "high") / of(it, "cpu_percent");
    assert!((width(&here) / width(&usual).powi(2) - 1.0).abs() < 1e-6);
    // A model of this host is not scaled to it.
    let table = "sessions,items,publishing_ms,cpu_percent\n1,10,100,2\n1,100,100,3\n5,100,100,8\n5,10,500,2.2\n";
    std::fs::write(folder.path().join("rows.csv"), table).unwrap();
    let fitted = run("model fit rows.csv --here");
    assert_eq!(fitted.code, 0, "{}", fitted.err);
    let own = sized("size x.toml --model model.json --json --here");
    assert_eq!(own["nodes"][0]["node"]["speed"], 1.0);
}
