//! Counts the instructions of a path. The program is run for N and for 2 N rounds: the difference is N rounds, and
//! whatever happens before and after drops out.

#![allow(clippy::expect_used, reason = "a test that cannot count has failed")]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// Instructions of some rounds, divided by as many.
pub fn instructions_a_round(group: &str, path: &str, rounds: u32) -> f64 {
    let once = instructions(group, path, rounds);
    let twice = instructions(group, path, 2 * rounds);
    (twice - once) as f64 / f64::from(rounds)
}

fn instructions(group: &str, path: &str, rounds: u32) -> u64 {
    let counts = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let counts = counts.join(format!("{group}-{path}-{rounds}.callgrind"));
    let mut file = std::ffi::OsString::from("--callgrind-out-file=");
    file.push(&counts);
    let run = Command::new("valgrind")
        .args(["--tool=callgrind", "--quiet"])
        .arg(file)
        .arg(program())
        .args([group, path, &rounds.to_string()])
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

/// The program that is counted, built for release together with uaperf: what both are made of is built once, and the
/// release build of uaperf finds it done. Cargo holds no lock while tests run, so it can be called from one.
fn program() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        // CARGO_TARGET_TMPDIR is `tmp` in the target directory, also where that was moved.
        let target = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .parent()
            .expect("a parent");
        let build = Command::new(env!("CARGO"))
            .args(["build", "--quiet", "--release", "--bins"])
            .args(["--package", "uaperf", "--package", "counted"])
            .arg("--manifest-path")
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.toml"))
            .arg("--target-dir")
            .arg(target)
            .status()
            .expect("cargo starts");
        assert!(build.success(), "the program does not build");
        target.join("release/counted")
    })
}
