//! What tests had to do without: another stack, a browser, a tool.
//!
//! A test that cannot run here says so at once, in a line that begins with `SKIPPED`, and passes. Lines get
//! lost among others, so each is noted too, and the last test binary of `cargo test --workspace` prints how many
//! there were, and why ([`summary`]). With `CI=true` nothing may be skipped.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::PathBuf;

/// Says that a test is skipped: what is missing, why, and the command that brings it.
///
/// # Panics
/// When the environment says `CI=true`: there, what is missing is a failure.
#[allow(
    clippy::panic,
    reason = "the failure of a test that has to run, and cannot"
)]
pub fn skipped(what: &str, reason: &str, command: &str) {
    let line = format!("SKIPPED {what}: {reason}: {command}");
    if std::env::var("CI").is_ok_and(|it| it == "true") {
        panic!("{line}");
    }
    say(&line);
    note(&line);
}

/// Prints a line even while the test runner keeps back what tests print.
pub fn say(line: &str) {
    // One write, so that lines of parallel tests do not mix.
    let _ = std::io::stderr().write_all(format!("{line}\n").as_bytes());
}

/// Keeps a line for the summary. One that cannot be kept was printed all the same.
fn note(line: &str) {
    let file = OpenOptions::new().create(true).append(true).open(notes());
    if let Ok(mut file) = file {
        let _ = file.write_all(format!("{} {line}\n", run()).as_bytes());
    }
}

/// How many tests of this run were skipped, and why; what was noted is forgotten.
pub fn summary() -> String {
    // Nothing was skipped if nobody wrote.
    let noted = std::fs::read_to_string(notes()).unwrap_or_default();
    let _ = std::fs::remove_file(notes());
    told(&noted, run())
}

fn told(noted: &str, run: u32) -> String {
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    for line in noted.lines() {
        if let Some((of, line)) = line.split_once(' ')
            && of == run.to_string()
        {
            *reasons.entry(line).or_default() += 1;
        }
    }
    match reasons.values().sum::<usize>() {
        0 => "skipped: no test".to_owned(),
        all => {
            let reasons: Vec<String> = reasons
                .iter()
                .map(|(line, times)| {
                    let line = line.strip_prefix("SKIPPED ").unwrap_or(line);
                    format!("{times} for want of {line}")
                })
                .collect();
            format!("skipped: {all} tests: {}", reasons.join("; "))
        }
    }
}

/// All binaries of one `cargo test` have the same parent.
fn run() -> u32 {
    #[cfg(unix)]
    return std::os::unix::process::parent_id();
    #[cfg(not(unix))]
    return 0;
}

/// Beside the binaries of the tests, whatever the folder of targets is called.
fn notes() -> PathBuf {
    // Where the system does not say, notes lie in the folder of the run.
    let binary = std::env::current_exe().unwrap_or_default();
    let folder = binary.parent().map(PathBuf::from).unwrap_or_default();
    folder.join("skipped.txt")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reasons_of_this_run_are_counted_and_those_of_others_left_out() {
        let noted = "7 SKIPPED asyncua: no pip: uaperf peers install asyncua\n\
                     8 SKIPPED browser: not installed: apt-get install chromium\n\
                     7 SKIPPED asyncua: no pip: uaperf peers install asyncua\n";
        assert_eq!(
            told(noted, 7),
            "skipped: 2 tests: 2 for want of asyncua: no pip: uaperf peers install asyncua"
        );
        assert_eq!(told(noted, 9), "skipped: no test");
        let both = noted.replace('8', "7");
        assert!(told(&both, 7).starts_with("skipped: 3 tests: 2 for want of asyncua"));
    }
}
