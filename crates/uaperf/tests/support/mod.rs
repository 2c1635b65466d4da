//! The program as its tests run it, and servers of it that end with their test.

#![allow(dead_code, reason = "no test needs all of it")]
#![allow(clippy::unwrap_used, clippy::panic)]

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdout, Command, Output, Stdio};
use std::thread::JoinHandle;

use serde_json::Value;

pub mod broker;
pub mod lab;
pub mod landscape;
pub mod nats;
pub mod network;
pub mod node;
pub mod npm;
pub mod proxy;
pub mod relay;
pub mod sshd;

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
        .env("XDG_STATE_HOME", folder.join("state"))
        .current_dir(folder)
        .stdin(Stdio::null());
    command
}

/// What became of `uaperf` with these words in a folder.
pub fn uaperf(folder: &Path, words: &[&str]) -> Output {
    command(folder, words).output().unwrap()
}

/// What a command said, and how it ended.
#[derive(Debug)]
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

    /// Agents measured, and all is there. On a machine that others use, too, a verdict may speak of the generator, or of an
    /// agent that began late, which is not lost.
    pub fn is_measured(&self) -> bool {
        let words: Vec<&str> = self.out.split_whitespace().collect();
        let words = words.join(" ");
        let late = words.contains(" after the others") && !words.contains("was lost");
        matches!(self.code, 0 | 4) || self.code == 1 && late
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

#[cfg(unix)]
pub fn signal(pid: u32, name: &str) {
    use rustix::process::{Pid, Signal, kill_process};
    let signal = match name {
        "INT" => Signal::INT,
        "TERM" => Signal::TERM,
        "STOP" => Signal::STOP,
        "CONT" => Signal::CONT,
        "KILL" => Signal::KILL,
        other => panic!("{other}"),
    };
    let pid = Pid::from_raw(pid.try_into().unwrap()).unwrap();
    kill_process(pid, signal).unwrap();
}

/// Whether a process has its own say in what SIGINT and SIGTERM do to it.
#[cfg(target_os = "linux")]
pub fn listens_to_signals(pid: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    let caught = u64::from_str_radix(caught.unwrap().trim(), 16).unwrap();
    [2, 15].iter().all(|n| caught >> (n - 1) & 1 == 1)
}

/// What a command tells while it runs.
pub struct Telling {
    err: BufReader<ChildStderr>,
    said: String,
}

impl Telling {
    pub fn of(child: &mut Child) -> Self {
        Self {
            err: BufReader::new(child.stderr.take().unwrap()),
            said: String::new(),
        }
    }

    /// Waits for a line with these words.
    pub fn until(&mut self, words: &str) {
        loop {
            let mut line = String::new();
            let read = self.err.read_line(&mut line).unwrap();
            assert!(read > 0, "it ended early: {}", self.said);
            self.said.push_str(&line);
            if line.contains(words) {
                return;
            }
        }
    }

    /// Waits for the first line about requests or values, a second after a measurement began.
    pub fn until_it_measures(&mut self) {
        self.until("  max ");
    }

    /// All of it. Should be asked for before the end is waited for, so that nothing waits for a reader.
    pub fn whole(mut self) -> JoinHandle<String> {
        std::thread::spawn(move || {
            self.err.read_to_string(&mut self.said).unwrap();
            self.said
        })
    }
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

    #[cfg(unix)]
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
