//! The commands of `docs/ci.md` work as they stand, on servers of our own and for a shorter time.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

struct Plant {
    process: Child,
    url: String,
}

impl Plant {
    fn start(folder: &Path) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_uaperf"))
            .args([
                "serve",
                "--profile",
                "bench",
                "--port",
                "0",
                "--trust",
                "--with-parent",
                "--pki",
            ])
            .arg(folder.join("server"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let ready = lines.find_map(|line| Some(line.ok()?.strip_prefix("READY ")?.to_owned()));
        Self {
            process,
            url: ready.unwrap(),
        }
    }
}

impl Drop for Plant {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Commands of the page's code, those in its loop five times.
fn commands(page: &str) -> Vec<String> {
    let (mut commands, mut in_code) = (Vec::new(), false);
    for line in page.lines() {
        let line = line.trim_start();
        in_code ^= line.starts_with("```");
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
    let (base, new) = (
        Plant::start(&folder.path().join("a")),
        Plant::start(&folder.path().join("b")),
    );
    let page = include_str!("../../../docs/ci.md");
    let commands = commands(page);
    assert_eq!(commands.len(), 10 + 5, "{commands:#?}");
    let program = Path::new(env!("CARGO_BIN_EXE_uaperf"));
    for command in commands {
        let line = command
            .replace("opc.tcp://127.0.0.1:4840", &base.url)
            .replace("opc.tcp://127.0.0.1:4841", &new.url)
            .replace("--duration 10s", "--duration 1s");
        // As the shell of a CI service would.
        let output = Command::new("/bin/sh")
            .args(["-c", &line])
            .env("PATH", program.parent().unwrap())
            .env("UAPERF_PKI", folder.path().join("client"))
            .current_dir(folder.path())
            .output();
        let output = output.unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        // What a second on a busy machine is worth is not what is tested: only that the command is one.
        assert!(
            matches!(output.status.code(), Some(0 | 3 | 4)),
            "{line}: {output:?}"
        );
        assert!(!said.contains("error:"), "{line}: {said}");
    }
    for file in [
        "base/5.json",
        "new/1.json",
        "compared.html",
        "promised.xml",
        "promised.html",
        "gitlab.xml",
        "gitlab.html",
    ] {
        assert!(folder.path().join("results").join(file).exists(), "{file}");
    }
}
