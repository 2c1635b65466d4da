//! Servers that go on running after the program that started them has ended.
//!
//! A server ends when its standard input does. One in the background gets a FIFO that it holds
//! open in both directions itself, so that this never happens, and is remembered in a file:
//! its process id together with the time that process started, so that no other process that
//! was later given the same id is ever stopped in its place.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use platform::child;
use platform::process::{kill, lasting_input, terminate};
use serde::{Deserialize, Serialize};

use crate::server::{FirstRun, Launch, says_ready, system, url};
use crate::stack::Stack;
use crate::{StartError, StartOptions, place, process};

/// A server that was left running.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Running {
    /// Its stack.
    pub stack: String,
    /// Where it listens.
    pub url: String,
    /// The id of its process.
    pub pid: u32,
    /// When that process started, as the system counts.
    pub started: String,
    /// What it printed.
    pub log: PathBuf,
}

/// Starts a server that outlives this program, and waits until it accepts connections.
pub fn start(stack: &'static Stack, options: &StartOptions) -> Result<Running, StartError> {
    let Launch {
        mut command,
        port,
        log,
        pki,
    } = Launch::prepare(stack, options)?;
    let fifo = log.with_file_name("stdin");
    let stdin = lasting_input(&fifo).map_err(system(stack, "make its standard input"))?;
    let first = FirstRun::of(&pki).map_err(system(stack, "lock the certificates"))?;
    let mut child = command
        .stdin(stdin)
        .spawn()
        .map_err(system(stack, "start the server"))?;

    let begin = Instant::now();
    let stack_name = stack.name;
    let failed = loop {
        match child.try_wait() {
            Err(source) => break system(stack, "watch the server")(source),
            Ok(Some(status)) => {
                break StartError::Ended {
                    stack: stack_name,
                    port,
                    end: status.to_string(),
                    tail: process::tail(&log, 15),
                    log,
                };
            }
            Ok(None) if says_ready(&log) => {
                first.done();
                let running = Running {
                    stack: stack_name.to_owned(),
                    url: url(port),
                    pid: child.id(),
                    // One that has ended by now has no start: no other process is taken for it later.
                    started: process::started(child.id()).unwrap_or_default(),
                    log,
                };
                match remember(&running) {
                    Ok(()) => return Ok(running),
                    Err(source) => break system(stack, "remember the server")(source),
                }
            }
            Ok(None) if begin.elapsed() > options.patience => {
                break StartError::Silent {
                    stack: stack_name,
                    after: options.patience,
                    tail: process::tail(&log, 15),
                    log,
                };
            }
            Ok(None) => std::thread::sleep(Duration::from_millis(5)),
        }
    };
    child::end(&mut child, Duration::from_secs(1));
    Err(failed)
}

/// The servers that still run. Records of those that do not are removed.
pub fn list() -> Vec<Running> {
    let Ok(files) = fs::read_dir(records()) else {
        return Vec::new();
    };
    let mut running = Vec::new();
    for file in files.flatten() {
        let record = fs::read(file.path()).ok();
        let record = record.and_then(|text| serde_json::from_slice::<Running>(&text).ok());
        match record {
            Some(record) if record.is_alive() => running.push(record),
            _ => drop(fs::remove_file(file.path())),
        }
    }
    running.sort_by(|a, b| (&a.stack, a.pid).cmp(&(&b.stack, b.pid)));
    running
}

impl Running {
    /// Whether the process with this id is still the one that was started.
    pub fn is_alive(&self) -> bool {
        process::started(self.pid).is_some_and(|started| started == self.started)
    }

    /// Asks it to end and makes it, if it has not within two seconds. False when it was gone
    /// already.
    pub fn stop(&self) -> bool {
        let was_alive = self.is_alive();
        for ask in [terminate, kill] {
            let begin = Instant::now();
            while self.is_alive() && begin.elapsed() < Duration::from_secs(2) {
                ask(self.pid);
                std::thread::sleep(Duration::from_millis(20));
            }
        }
        // A record that stays is of a process that has ended, and is passed over.
        let _ = fs::remove_file(self.record());
        was_alive
    }

    fn record(&self) -> PathBuf {
        records().join(format!("{}.json", self.pid))
    }
}

fn records() -> PathBuf {
    place::home().join("running")
}

fn remember(running: &Running) -> std::io::Result<()> {
    fs::create_dir_all(records())?;
    fs::write(running.record(), serde_json::to_vec_pretty(running)?)
}
