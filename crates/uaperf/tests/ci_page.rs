//! The commands of `docs/ci.md` work as they stand, on servers of our own and for a shorter time.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::process::Command;

use crate::support::{Server, text};

/// Commands of the files for CI services, those in their loop five times.
fn commands(page: &str) -> Vec<String> {
    let (mut commands, mut in_code) = (Vec::new(), false);
    for line in page.lines() {
        let line = line.trim_start();
        in_code = match line.strip_prefix("```") {
            Some(language) => language == "yaml",
            None => in_code,
        };
        let line = line.strip_prefix("- ").unwrap_or(line);
        if in_code && line.starts_with("uaperf ") {
            commands.push(line.to_owned());
        }
    }
    let (looped, rest): (Vec<String>, Vec<String>) =
        commands.into_iter().partition(|line| line.contains("$i"));
    let turns = (1..=5).flat_map(|i| {
        looped
            .iter()
            .map(move |line| line.replace("$i", &i.to_string()))
    });
    turns.chain(rest).collect()
}

#[test]
fn every_uaperf_command_of_the_page_does_what_the_page_says() {
    let folder = tempfile::tempdir().unwrap();
    let [base, new] = ["a/server", "b/server"]
        .map(|pki| Server::start(&folder.path().join(pki), &["--profile", "bench", "--trust"]));
    let page = include_str!("../../../docs/ci.md");
    let commands = commands(page);
    assert_eq!(commands.len(), 10 + 6, "{commands:#?}");
    let program = Path::new(env!("CARGO_BIN_EXE_uaperf"));
    let run = |command: &str, duration: &str| {
        let line = command
            .replace("opc.tcp://127.0.0.1:4840", &base.url)
            .replace("opc.tcp://127.0.0.1:4841", &new.url)
            .replace("--rate 2000/s", "--rate 200/s")
            .replace("--duration 10s", &format!("--duration {duration}"));
        // As the shell of a CI service would.
        let output = Command::new("/bin/sh")
            .args(["-c", &line])
            .env("PATH", program.parent().unwrap())
            .env("UAPERF_PKI", folder.path().join("client"))
            .env(
                "GITHUB_STEP_SUMMARY",
                folder.path().join("results/summary.md"),
            )
            .current_dir(folder.path())
            .output();
        let output = output.unwrap();
        let said = text(&output.stderr);
        // What a second on a busy machine is worth is not what is tested: only that the command is one.
        assert!(
            matches!(output.status.code(), Some(0 | 3 | 4)),
            "{line}: {output:?}"
        );
        assert!(!said.contains("error:"), "{line}: {said}");
        text(&output.stdout)
    };
    for command in commands {
        run(&command, "1s");
    }
    let (_, script) = page.split_once("```sh\n").unwrap();
    let (script, _) = script.split_once("```").unwrap();
    // Both begin within less than half of it.
    let compared = run(script, "4s");
    assert!(compared.contains("5 pairs of runs"), "{compared}");
    for file in [
        "base/5.json",
        "new/1.json",
        "compared.html",
        "summary.md",
        "promised.xml",
        "promised.html",
        "gitlab.xml",
        "gitlab.html",
    ] {
        assert!(folder.path().join("results").join(file).exists(), "{file}");
    }
}
