//! The program as its tests run it, and servers of it that end with their test.

#![allow(dead_code, reason = "no test needs all of it")]
#![allow(clippy::unwrap_used, clippy::panic)]

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Output, Stdio};

use serde_json::Value;

/// `uaperf`, without any words.
pub fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_uaperf"))
}

/// `uaperf` with these words in a folder, its certificates in `pki` there and nothing to read.
pub fn command(folder: &Path, words: &[&str]) -> Command {
    let mut command = program();
    command
        .args(words)
        .env("UAPERF_PKI", folder.join("pki"))
        .current_dir(folder)
        .stdin(Stdio::null());
    command
}

/// What became of `uaperf` with these words in a folder.
pub fn uaperf(folder: &Path, words: &[&str]) -> Output {
    command(folder, words).output().unwrap()
}

/// What a command said, and how it ended.
pub struct Said {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Said {
    pub fn by(command: &mut Command) -> Self {
        let output = command.output().unwrap();
        Self {
            code: output.status.code().unwrap(),
            out: text(&output.stdout),
            err: text(&output.stderr),
        }
    }
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// What a command wrote into a file.
pub fn json(file: &Path) -> Value {
    let text = std::fs::read(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    serde_json::from_slice(&text).unwrap()
}

pub fn signal(pid: u32, name: &str) {
    let sent = Command::new("kill")
        .args([format!("-{name}"), pid.to_string()])
        .status();
    assert!(sent.unwrap().success(), "kill -{name} {pid}");
}

/// `uaperf serve`, ended with the test.
pub struct Server {
    pub child: Child,
    pub url: String,
    /// What it says after its first READY.
    pub out: BufReader<ChildStdout>,
}

impl Server {
    /// On a free port, its certificates in a folder.
    pub fn start(pki: &Path, options: &[&str]) -> Self {
        let mut command = program();
        command
            .args(["serve", "--port", "0", "--with-parent"])
            .args(options)
            .arg("--pki")
            .arg(pki)
            .stdin(Stdio::piped());
        Self::of(&mut command)
    }

    /// A server that is started like this.
    pub fn of(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        out.read_line(&mut line).unwrap();
        let url = ready(&line).to_owned();
        Self { child, url, out }
    }

    pub fn signal(&self, name: &str) {
        signal(self.child.id(), name);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The URL in the line that a server begins with.
pub fn ready(line: &str) -> &str {
    line.trim().strip_prefix("READY ").unwrap()
}
