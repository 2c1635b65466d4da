//! Instructions of the hot paths, counted by callgrind: the same on a busy machine and an idle
//! one, so a ceiling can be close to what was measured.
//!
//! The program that is counted is `examples/ledger.rs`, built for release. It is run for N and
//! for 2 N rounds: the difference is N rounds, and whatever happens before and after drops out.

#![allow(clippy::expect_used, reason = "a test that cannot count has failed")]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Instructions of some rounds, divided by as many.
fn instructions_a_round(program: &Path, path: &str) -> f64 {
    // Two bins and more, so that closing them is counted too.
    const ROUNDS: u32 = 250_000;
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

/// `examples/ledger.rs`, built for release beside the tests. Cargo holds no lock while tests
/// run, so it can be called from one.
fn example() -> PathBuf {
    // CARGO_TARGET_TMPDIR is `tmp` in the target directory, also where that was moved.
    let target = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .parent()
        .expect("a parent");
    let build = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--release", "--example", "ledger"])
        .arg("--manifest-path")
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml"))
        .arg("--target-dir")
        .arg(target)
        .status()
        .expect("cargo starts");
    assert!(build.success(), "the example does not build");
    target.join("release/examples/ledger")
}

#[test]
fn an_entry_costs_what_it_costs() {
    if !has_valgrind() {
        return;
    }
    let program = example();
    // The example makes up its times before it writes them down.
    let nothing = instructions_a_round(&program, "nothing");
    for &(path, ceiling) in CEILINGS {
        let measured = instructions_a_round(&program, path) - nothing;
        println!("{path}: {measured:.1} instructions, at most {ceiling}");
        assert!(measured > 20.0, "{path} is not written down at all");
        assert!(measured <= ceiling, "{path}: {measured:.1}, not {ceiling}");
    }
}

/// Path, and the most instructions that an entry may cost, closing its bin among them. Measured
/// with rustc 1.95 on x86-64; some room is left for other compilers. Together they take 26 ns.
const CEILINGS: &[(&str, f64)] = &[
    // Two histograms, six counters: 89.
    ("done", 105.0),
    // Four histograms: 86.
    ("late", 105.0),
];
