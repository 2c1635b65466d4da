//! A peer's client as a load: started once, it reads as often as it is told to, between the turns
//! of others.
//!
//! Each load client is a stack of its own as far as installing goes: it needs no more than one
//! program, and installing it changes nothing about the servers and clients that tests use.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::Duration;

use platform::child;
use serde::Deserialize;

use crate::security::{Mode, Policy};
use crate::server::{FirstRun, NoTaskset, pinned};
use crate::stack::{Stack, StackState};
use crate::{place, process, stacks};

/// How a load client connects.
#[derive(Debug, Clone)]
pub struct LoaderOptions {
    /// The security policy.
    pub policy: Policy,
    /// The message security mode.
    pub mode: Mode,
    /// The CPUs that it may run on, as `taskset` takes them.
    pub pin: Option<String>,
}

impl Default for LoaderOptions {
    fn default() -> Self {
        Self {
            policy: Policy::None,
            mode: Mode::None,
            pin: None,
        }
    }
}

/// Reads of Doubles of the bench address space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reads {
    /// Requests in flight; with one it calls synchronously, unless it spins.
    pub in_flight: u32,
    /// Nodes of a request, 500 at most.
    pub batch: u32,
    /// How long, a minute at most.
    pub duration: Duration,
    /// Poll without sleeping.
    pub spin: bool,
}

/// Subscriptions to nodes 1000 to 1999 of the bench address space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WatchLoad {
    /// 100 at most.
    pub subscriptions: u32,
    /// Of each subscription.
    pub items: u32,
    /// How often they publish, and sample.
    pub publishing: Duration,
    /// How long values are counted once the first ones have settled, a minute at most.
    pub duration: Duration,
}

/// What came of them.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Done {
    /// Calls that were answered, or values that came.
    pub calls: u64,
    /// Those with another answer than one good value for each node.
    pub bad: u64,
    /// How long it took, until the last answer.
    pub elapsed_ns: u64,
    /// CPU that the client has used, user and system.
    pub cpu_ns: u64,
    /// Median of the round trips, with one request in flight.
    pub p50_ns: Option<u64>,
    /// What ended it early.
    pub error: Option<String>,
}

/// Why a load client does not load.
#[derive(Debug, thiserror::Error)]
pub enum LoaderError {
    /// It has to be installed first.
    #[error("{0} is not installed")]
    NotInstalled(&'static str),
    /// `taskset` is not there.
    #[error(transparent)]
    NoTaskset(#[from] NoTaskset),
    /// It did not connect, or ended.
    #[error("{stack}: {what}\n{tail}")]
    Failed {
        /// The stack.
        stack: &'static str,
        /// What it said last, or that it ended.
        what: String,
        /// The end of its log.
        tail: String,
    },
    /// The system refused something.
    #[error("{stack}: {source}")]
    System {
        /// The stack.
        stack: &'static str,
        /// What the system says.
        source: io::Error,
    },
}

/// A connected load client. It ends when this is dropped, or its owner is killed.
#[derive(Debug)]
pub struct Loader {
    stack: &'static Stack,
    child: Child,
    stdin: Option<ChildStdin>,
    lines: BufReader<ChildStdout>,
    log: PathBuf,
}

impl Loader {
    /// The load clients that there are.
    pub fn all() -> &'static [&'static Stack] {
        stacks::LOADERS
    }

    /// The load client built on a stack.
    pub fn of(stack: &str) -> Option<&'static Stack> {
        let name = format!("{stack}-load");
        Self::all().iter().copied().find(|it| it.name == name)
    }

    /// Starts one and waits until it has a session.
    pub fn start(
        stack: &'static Stack,
        url: &str,
        options: &LoaderOptions,
    ) -> Result<Self, LoaderError> {
        let name = stack.name;
        let system = |source| LoaderError::System {
            stack: name,
            source,
        };
        if !matches!(stack.state(), StackState::Installed) {
            return Err(LoaderError::NotInstalled(name));
        }
        let pki = stack.dir().join("pki").join("client");
        fs::create_dir_all(&pki).map_err(system)?;
        let pki = std::path::absolute(&pki).map_err(system)?;
        let run = place::new_run(name).map_err(system)?;
        let log = run.join("log");
        let err = File::create(&log).map_err(system)?;

        let mut words = pinned(name, options.pin.as_deref())?;
        words.extend(stack.client.iter().map(|word| stack.expand(word)));
        words.extend([url.to_owned(), "--pki".into(), pki.display().to_string()]);
        words.extend(["--policy".into(), options.policy.name().into()]);
        words.extend(["--mode".into(), options.mode.name().into()]);
        let first = FirstRun::of(&pki).map_err(system)?;
        let mut child = process::command(words)
            .current_dir(&run)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(err)
            .spawn()
            .map_err(system)?;
        let stdin = child.stdin.take();
        let Some(stdout) = child.stdout.take() else {
            child::end(&mut child, Duration::ZERO);
            return Err(system(io::ErrorKind::BrokenPipe.into()));
        };
        let mut loader = Self {
            stack,
            child,
            stdin,
            lines: BufReader::new(stdout),
            log,
        };
        match loader.line()?.trim() {
            "READY" => first.done(),
            other => return Err(loader.failed(format!("it said {other:?} instead of READY"))),
        }
        Ok(loader)
    }

    /// The id of its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Has it read. It ends by itself when it hangs, so this does not.
    pub fn run(&mut self, reads: &Reads) -> Result<Done, LoaderError> {
        let wait = if reads.spin { "spin" } else { "sleep" };
        let (in_flight, batch) = (reads.in_flight, reads.batch);
        let line = format!(
            "{in_flight} {batch} {} {wait}\n",
            reads.duration.as_millis()
        );
        self.told(&line)
    }

    /// Has it subscribe, where it can.
    pub fn watch(&mut self, watch: &WatchLoad) -> Result<Done, LoaderError> {
        let line = format!(
            "watch {} {} {} {}\n",
            watch.subscriptions,
            watch.items,
            watch.publishing.as_millis(),
            watch.duration.as_millis()
        );
        self.told(&line)
    }

    fn told(&mut self, line: &str) -> Result<Done, LoaderError> {
        let written = match &mut self.stdin {
            Some(stdin) => stdin
                .write_all(line.as_bytes())
                .and_then(|()| stdin.flush()),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        };
        written.map_err(|error| self.failed(error.to_string()))?;
        let line = self.line()?;
        let done: Done = serde_json::from_str(&line)
            .map_err(|error| self.failed(format!("{error}: {}", line.trim())))?;
        match &done.error {
            Some(error) => Err(self.failed(error.clone())),
            None => Ok(done),
        }
    }

    fn line(&mut self) -> Result<String, LoaderError> {
        let mut line = String::new();
        match self.lines.read_line(&mut line) {
            Ok(0) => Err(self.failed("it ended".into())),
            Ok(_) => Ok(line),
            Err(error) => Err(self.failed(error.to_string())),
        }
    }

    fn failed(&self, what: String) -> LoaderError {
        LoaderError::Failed {
            stack: self.stack.name,
            what,
            tail: process::tail(&self.log, 10),
        }
    }
}

impl Drop for Loader {
    fn drop(&mut self) {
        drop(self.stdin.take());
        // It says goodbye to the server first.
        let _ = child::wait(&mut self.child, Duration::from_secs(1));
        child::end(&mut self.child, Duration::from_secs(1));
    }
}
