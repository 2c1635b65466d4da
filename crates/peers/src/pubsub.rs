//! Publishers and subscribers of other stacks: `stacks/README.md` says what they do.

use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, ChildStdout, Stdio};
use std::time::Duration;

use platform::child;
use serde::Deserialize;

use crate::stack::Stack;
use crate::{process, stacks};

/// A publisher or subscriber that runs. It ends when this is dropped.
#[derive(Debug)]
pub struct PubSub {
    child: Child,
    lines: io::Lines<BufReader<ChildStdout>>,
}

/// Why one did not start.
#[derive(Debug, thiserror::Error)]
pub enum PubSubError {
    /// The stack has none.
    #[error("{0} has no PubSub")]
    None(&'static str),
    /// It could not be started or read from.
    #[error("{stack}: cannot start its PubSub program: {source}")]
    System {
        /// The stack.
        stack: &'static str,
        /// What the system says.
        source: io::Error,
    },
    /// It ended before it was ready; what it says is on standard error.
    #[error("{0}: its PubSub program ended before it was ready")]
    Ended(&'static str),
}

/// What a publisher or subscriber that is a load did in a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct PubSubTurn {
    /// Messages that it sent, or that came.
    pub messages: u64,
    /// How long it took.
    pub elapsed_ns: u64,
    /// CPU that it has used, user and system.
    pub cpu_ns: u64,
}

impl PubSub {
    /// Publishers and a subscriber of open62541 that are a load: `stacks/open62541/pubsub_load.c` says what they take.
    pub fn load() -> &'static Stack {
        stacks::PUBSUB_LOAD
    }

    /// A turn of one that is a load.
    ///
    /// # Errors
    /// It has ended, or says something else.
    pub fn turn(&mut self, line: &str) -> io::Result<PubSubTurn> {
        self.say(line)?;
        let line = self.line()?.ok_or(io::ErrorKind::UnexpectedEof)?;
        Ok(serde_json::from_str(&line)?)
    }

    /// Starts one and waits until it can send or receive.
    ///
    /// # Errors
    /// The stack has none, or it does not start.
    pub fn start(stack: &'static Stack, words: &[&str]) -> Result<Self, PubSubError> {
        if stack.pubsub.is_empty() {
            return Err(PubSubError::None(stack.name));
        }
        let system = |source| PubSubError::System {
            stack: stack.name,
            source,
        };
        let program = stack.pubsub.iter().map(|word| stack.expand(word));
        let mut child = process::command(program)
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(system)?;
        let Some(out) = child.stdout.take() else {
            return Err(system(io::Error::other("no standard output")));
        };
        let lines = BufReader::new(out).lines();
        let mut started = Self { child, lines };
        match started.line().map_err(system)?.as_deref() {
            Some("READY") => Ok(started),
            _ => Err(PubSubError::Ended(stack.name)),
        }
    }

    /// Gives it a line.
    ///
    /// # Errors
    /// It does not read any more.
    pub fn say(&mut self, line: &str) -> io::Result<()> {
        let input = self.child.stdin.as_mut();
        let input = input.ok_or(io::ErrorKind::BrokenPipe)?;
        writeln!(input, "{line}")?;
        input.flush()
    }

    /// The next line that it prints, once it does; none when it has ended.
    ///
    /// # Errors
    /// It could not be read.
    pub fn line(&mut self) -> io::Result<Option<String>> {
        self.lines.next().transpose()
    }
}

impl Drop for PubSub {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        child::end(&mut self.child, Duration::from_secs(2));
    }
}
