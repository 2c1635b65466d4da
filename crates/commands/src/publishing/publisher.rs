//! The publisher of a phase: a process of its own, so that its CPU and memory are seen apart from the listeners'.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStderr, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use anyhow::Context;
use load::pubsub::Published;
use platform::child;

use super::broker::Secret;
use super::parent::{BEGUN, READY};
use crate::failure::Failure;
use crate::settings;

/// So long it may take until it is ready, and until it has told what it did when it was to end.
const PATIENCE: Duration = Duration::from_secs(10);

/// So long it may take until it has its broker and its keys: they say sooner what is wrong.
const BEGINS_WITHIN: Duration = Duration::from_secs(30);

/// So long it may take whose input has ended, when nobody wants to know any more what it did.
const LEAVES_WITHIN: Duration = Duration::from_millis(500);

/// A publisher that runs; it ends with this value.
pub struct Publisher {
    process: Child,
    lines: Receiver<String>,
    said: Option<ChildStderr>,
}

impl Publisher {
    /// Starts `uaperf publish` with these words. It waits for [`begin`](Self::begin).
    pub fn start(words: &[String]) -> anyhow::Result<Self> {
        let mut command = settings::this_program()?;
        command
            .args(["publish", "--with-parent"])
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        // Ctrl-C is for us: what was published until then is told in good order.
        platform::process::apart(&mut command);
        let mut process = command.spawn().context("cannot start a publisher")?;
        let said = process.stderr.take();
        let (line, lines) = channel();
        if let Some(out) = process.stdout.take() {
            std::thread::spawn(move || {
                for read in BufReader::new(out).lines().map_while(Result::ok) {
                    // Nobody may want it any more.
                    let _ = line.send(read);
                }
            });
        }
        let mut publisher = Self {
            process,
            lines,
            said,
        };
        match publisher.line(PATIENCE).as_deref() {
            Ok(READY) => Ok(publisher),
            _ => Err(publisher.failed().into()),
        }
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    /// It publishes with these keys, and logs in with the secrets, at a broker and at a key service; it has begun when
    /// this comes back: at this time, in nanoseconds since 1970.
    pub fn begin(&mut self, secrets: [&Secret; 2], keys: &str) -> anyhow::Result<u64> {
        let lines = keys.lines().filter(|line| !line.trim().is_empty());
        let input = self.process.stdin.as_mut();
        let input = input.context("a publisher without standard input")?;
        for secret in secrets.into_iter().flatten() {
            writeln!(input, "{}", secret.as_str())?;
        }
        for line in lines {
            writeln!(input, "{line}")?;
        }
        writeln!(input)?;
        input.flush()?;
        let line = self.line(BEGINS_WITHIN).unwrap_or_default();
        let at = line.strip_prefix(BEGUN).map(str::trim);
        let at = at.and_then(|at| at.parse().ok());
        at.ok_or_else(|| self.failed().into())
    }

    /// What it published, if it has ended within this time.
    pub fn ended(&mut self, within: Duration) -> Option<anyhow::Result<Published>> {
        match self.line(within) {
            Ok(line) => Some(serde_json::from_str(&line).context("what a publisher said")),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => Some(Err(self.failed().into())),
        }
    }

    /// Ends it before its time.
    pub fn end(&mut self) -> anyhow::Result<Published> {
        drop(self.process.stdin.take());
        let ended = self.ended(PATIENCE);
        ended.unwrap_or_else(|| Err(Failure::new("the publisher did not end").into()))
    }

    fn line(&self, within: Duration) -> Result<String, RecvTimeoutError> {
        self.lines.recv_timeout(within)
    }

    /// Why it ended, in its own words.
    fn failed(&mut self) -> Failure {
        drop(self.process.stdin.take());
        child::kill(&mut self.process);
        let mut said = String::new();
        if let Some(mut out) = self.said.take() {
            let _ = out.read_to_string(&mut said);
        }
        let first = said.lines().next().unwrap_or_default();
        let why = first.strip_prefix("error: ").unwrap_or(first);
        match why.is_empty() {
            true => Failure::new("the publisher ended too early"),
            false => Failure::new(format!("the publisher: {why}")),
        }
    }
}

impl Drop for Publisher {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        child::leave(&mut self.process, LEAVES_WITHIN);
    }
}
