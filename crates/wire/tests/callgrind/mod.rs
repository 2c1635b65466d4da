//! Counts the instructions of an example. The program is run for N and for 2 N rounds: the difference is N
//! rounds, and whatever happens before and after drops out. The tests of other crates include this file.

#![allow(clippy::expect_used, reason = "a test that cannot count has failed")]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Instructions of some rounds, divided by as many.
pub fn instructions_a_round(program: &Path, path: &str, rounds: u32) -> f64 {
    let once = instructions(program, path, rounds);
    let twice = instructions(program, path, 2 * rounds);
    (twice - once) as f64 / f64::from(rounds)
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

/// Whether it can be counted; where CI says that it has to be, it has to.
pub fn has_valgrind() -> bool {
    let there = Command::new("valgrind")
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if !there {
        without::skipped("instructions", "no valgrind", "apt-get install valgrind");
    }
    there
}

/// Crates of which examples are counted, and the program: what is built for them together is built once, and the
/// release build of the program finds it done.
const BUILT_TOGETHER: [&str; 5] = ["uaperf", "wire", "load", "pubsub", "record"];

/// An example of one of these crates, built for release beside its tests. Cargo holds no lock
/// while tests run, so it can be called from one.
pub fn example(name: &str) -> PathBuf {
    // CARGO_TARGET_TMPDIR is `tmp` in the target directory, also where that was moved.
    let target = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .parent()
        .expect("a parent");
    let build = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--release", "--example", name])
        .args(
            BUILT_TOGETHER
                .iter()
                .flat_map(|package| ["--package", package]),
        )
        .arg("--manifest-path")
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.toml"))
        .arg("--target-dir")
        .arg(target)
        .status()
        .expect("cargo starts");
    assert!(build.success(), "the example does not build");
    target.join("release/examples").join(name)
}
