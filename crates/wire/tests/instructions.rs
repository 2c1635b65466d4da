//! Instructions of the hot paths, counted by callgrind: the same on a busy machine and an idle
//! one, so a ceiling can be close to what was measured.
//!
//! The program that is counted is `examples/hotpath.rs`, built for release. It is run for N and
//! for 2 N rounds: the difference is N rounds, and whatever happens before and after drops out.

#![allow(clippy::expect_used, reason = "a test that cannot count has failed")]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Instructions of some rounds, divided by as many.
fn instructions_a_round(program: &Path, path: &str) -> f64 {
    const ROUNDS: u32 = 200;
    let once = instructions(program, path, ROUNDS);
    let twice = instructions(program, path, 2 * ROUNDS);
    (twice - once) as f64 / f64::from(ROUNDS)
}

fn instructions(program: &Path, path: &str, rounds: u32) -> u64 {
    let counts = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{path}-{rounds}.callgrind"));
    let mut file = std::ffi::OsString::from("--callgrind-out-file=");
    file.push(&counts);
    let run = Command::new("valgrind")
        .args(["--tool=callgrind", "--quiet"])
        .arg(file)
        .arg(program)
        .args([path, &rounds.to_string()])
        .output()
        .expect("valgrind starts");
    assert!(
        run.status.success(),
        "{}",
        String::from_utf8_lossy(&run.stderr)
    );
    let counts = std::fs::read_to_string(counts).expect("callgrind wrote its counts");
    counts
        .lines()
        .find_map(|line| {
            line.strip_prefix("summary: ")
                .or(line.strip_prefix("totals: "))
        })
        .and_then(|n| n.trim().parse().ok())
        .expect("callgrind's counts have a summary")
}

fn has_valgrind() -> bool {
    let there = Command::new("valgrind")
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if !there {
        println!("SKIPPED instructions: valgrind not installed: apt-get install valgrind");
        let ci = std::env::var("CI").is_ok_and(|v| v == "true");
        assert!(!ci, "valgrind is required where CI=true");
    }
    there
}

/// `examples/hotpath.rs`, built for release beside the tests. Cargo holds no lock while tests
/// run, so it can be called from one.
fn hotpath() -> PathBuf {
    // CARGO_TARGET_TMPDIR is `tmp` in the target directory, also where that was moved.
    let target = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .parent()
        .expect("a parent");
    let build = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--release", "--example", "hotpath"])
        .arg("--manifest-path")
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml"))
        .arg("--target-dir")
        .arg(target)
        .status()
        .expect("cargo starts");
    assert!(build.success(), "the example does not build");
    target.join("release/examples/hotpath")
}

#[test]
fn the_hot_paths_cost_what_they_cost() {
    if !has_valgrind() {
        return;
    }
    let program = hotpath();
    let mut above = Vec::new();
    for &(path, each, ceiling) in CEILINGS {
        let measured = instructions_a_round(&program, path) / f64::from(each);
        println!("{path}: {measured:.1} instructions, at most {ceiling}");
        if measured > ceiling {
            above.push(format!("{path}: {measured:.1}, at most {ceiling}"));
        }
    }
    assert!(
        above.is_empty(),
        "too many instructions:\n{}",
        above.join("\n")
    );
}

/// Path, how many things a round does, and the most that one may cost. Measured with rustc 1.95
/// on x86-64; some room is left for other compilers and memcpys.
const CEILINGS: &[(&str, u32, f64)] = &[
    // Copied and patched: 42, with acknowledgement 46, with another value 61.
    ("send-read", 1, 60.0),
    ("send-publish", 1, 65.0),
    ("send-write", 1, 85.0),
    // One Double, which shows what a response costs before its first value: 195.
    ("check-read-1", 1, 250.0),
    // Each of 100 Doubles: 8.9, and 13.0 when each has a status on the wire. The bar is 15.
    ("check-read-100", 100, 12.0),
    ("check-read-100-timestamps", 100, 12.0),
    ("check-read-100-statuses", 100, 15.0),
    // Double and Int32 by turns, so that no step is like the one before: 73.
    ("check-read-100-mixed", 100, 90.0),
    ("check-write-100", 100, 8.0),
    // Not only checked but handed out one by one: 78 a value, 85 a monitored item.
    ("read-values-100", 100, 95.0),
    ("notifications-100", 100, 105.0),
    // The server's side, 93 a node.
    ("serve-read-100", 100, 115.0),
];
