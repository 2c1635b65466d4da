//! A child process at the other end of two pipes: what carries the frames of a fleet, on this machine or by ssh.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use fleet::Stamp;
use platform::child;
use serde::de::DeserializeOwned;

use super::pipe::{self, End};
use super::spec::Way;
use crate::settings;

/// What comes from the process at the other end.
#[derive(Debug)]
pub enum CarrierEvent<T> {
    /// A message, and when it came.
    Message(T, Stamp),
    /// Nothing more.
    End(String),
}

/// The process at the other end.
#[derive(Debug)]
pub struct Carrier {
    child: Child,
    /// Frames for it; its input ends when this is dropped.
    out: Option<Sender<Vec<u8>>>,
}

/// What a shell runs instead of `ssh`, with its options: `ssh -F lab.conf`.
const SSH: &str = "UAPERF_SSH";

/// Lines of an agent's standard error that are kept.
const LINES: usize = 8;

/// A process that was told to leave has so long for it.
const LEAVING: Duration = Duration::from_secs(2);

impl Carrier {
    /// Starts a process that has this name here. What comes from it is told from threads of its own.
    pub fn start<T: DeserializeOwned>(
        name: &str,
        mut command: Command,
        came: impl Fn(CarrierEvent<T>) + Send + 'static,
    ) -> std::io::Result<Self> {
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        // Ctrl-C on the terminal is for this process, which tells the agents.
        platform::process::apart(&mut command);
        let mut child = command.spawn()?;
        let (input, output, error) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(input), Some(output), Some(error)) = (input, output, error) else {
            return Err(std::io::ErrorKind::BrokenPipe.into());
        };
        let (out, frames) = channel();
        let said = Arc::new(Mutex::new(VecDeque::new()));
        let (ended, end) = channel();
        let thread = |what: &str| std::thread::Builder::new().name(format!("{what} {name}"));
        thread("to").spawn(move || pipe::write(input, &frames))?;
        let lines = Arc::clone(&said);
        thread("errors of").spawn(move || {
            listen(error, &lines);
            // Nobody waits any more.
            let _ = ended.send(());
        })?;
        thread("from").spawn(move || read(output, &said, &end, &came))?;
        Ok(Self {
            child,
            out: Some(out),
        })
    }

    /// Sends a frame.
    pub fn send(&self, frame: Vec<u8>) {
        if let Some(out) = &self.out {
            // One that is gone is noticed by its output.
            let _ = out.send(frame);
        }
    }

    /// Nothing more is sent: it is to end by itself.
    pub fn close(&mut self) {
        self.out = None;
    }

    /// Until when processes that were told to leave now may do so.
    pub fn leave_until() -> Instant {
        Instant::now() + LEAVING
    }

    /// Ends it: it has a moment to go by itself.
    pub fn end(self) {
        self.end_by(Self::leave_until());
    }

    /// Ends it: it has until then to go by itself.
    pub fn end_by(mut self, until: Instant) {
        self.close();
        let left = until.saturating_duration_since(Instant::now());
        child::leave(&mut self.child, left);
    }

    /// Ends it now.
    pub fn kill(&mut self) {
        child::kill(&mut self.child);
    }
}

/// The command of an agent.
pub fn agent(way: &Way, pki: &Path) -> std::io::Result<Command> {
    let mut command = program(way, &["agent", "--pipe"])?;
    if let Way::Local(_) = way {
        command.arg("--pki").arg(pki);
    }
    Ok(command)
}

/// This program there, with these words: whoever is asked has looked that a shell leaves them as they are.
pub fn program(way: &Way, words: &[&str]) -> std::io::Result<Command> {
    match way {
        Way::Local(_) => {
            let mut command = settings::this_program()?;
            command.args(words);
            Ok(command)
        }
        Way::Ssh { to, program } => {
            let ssh = std::env::var_os(SSH).filter(|it| !it.is_empty());
            let ssh = ssh.unwrap_or_else(|| OsString::from("ssh"));
            let ssh = ssh.to_string_lossy().into_owned();
            let mut before = ssh.split_whitespace();
            let mut command = Command::new(before.next().unwrap_or("ssh"));
            command.args(before);
            // Nobody is there to type a password or to say yes to a key.
            command.args([
                "-T",
                "-o",
                "BatchMode=yes",
                "-o",
                "ConnectTimeout=20",
                "--",
                to,
            ]);
            command.arg(program.as_deref().unwrap_or("uaperf"));
            command.args(words);
            Ok(command)
        }
        // It is started there before anybody asks for it.
        Way::Nats { .. } => Err(std::io::ErrorKind::Unsupported.into()),
    }
}

fn listen(error: ChildStderr, said: &Mutex<VecDeque<String>>) {
    // Whatever it writes is taken, so that it does not wait for us; lines without end are cut.
    let mut lines = BufReader::new(error);
    let mut line = Vec::new();
    loop {
        line.clear();
        match (&mut lines).take(4096).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        let text = String::from_utf8_lossy(&line).trim().to_owned();
        if !text.is_empty() {
            let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
            said.push_back(text);
            while said.len() > LINES {
                said.pop_front();
            }
        }
    }
}

fn read<T: DeserializeOwned>(
    output: ChildStdout,
    said: &Mutex<VecDeque<String>>,
    end: &Receiver<()>,
    came: &dyn Fn(CarrierEvent<T>),
) {
    let why = match pipe::read(output, |message, now| {
        came(CarrierEvent::Message(message, now))
    }) {
        End::Over => "its process ended".to_owned(),
        End::Failed(error) => error.to_string(),
        End::NotOurs(error) => error.to_string(),
    };
    // What it complained of comes on another pipe.
    let _ = end.recv_timeout(Duration::from_millis(500));
    let said = said.lock().unwrap_or_else(PoisonError::into_inner);
    let why = match said.back() {
        Some(last) => format!("{why}; it said: {last}"),
        None => why,
    };
    came(CarrierEvent::End(why));
}
