//! Installing a stack: unpack our sources, then run its steps, behind a file lock.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use platform::child;

use crate::process;
use crate::stack::{InstallStep, Stack, StackState, Tool};

/// A step that takes longer than this has hung, most likely on a registry that says no more. The
/// longest known takes four minutes alone, and a few times that beside other work.
const STEP_LIMIT: Duration = Duration::from_secs(20 * 60);

/// What an installation is doing, for whoever is waiting for it.
#[derive(Debug, Clone)]
pub enum InstallEvent {
    /// Another process is installing the same stack.
    Waiting,
    /// A step begins.
    Step {
        /// Counted from 1.
        number: usize,
        /// How many there are.
        of: usize,
        /// What it does.
        what: &'static str,
    },
    /// It is installed.
    Done {
        /// How long it took; zero when there was nothing to do.
        took: Duration,
    },
}

impl fmt::Display for InstallEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Waiting => write!(f, "waiting for another installation to end"),
            Self::Step { number, of, what } => write!(f, "[{number}/{of}] {what}"),
            Self::Done { took } => write!(f, "installed in {:.1} s", took.as_secs_f64()),
        }
    }
}

/// Why a stack could not be installed.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// Tools are not there; the message says how to get them.
    #[error("{stack} needs {}", .tools.iter().map(|t| format!("{} ({})", t.name, t.cure)).collect::<Vec<_>>().join(", "))]
    Missing {
        /// The stack.
        stack: &'static str,
        /// What it lacks.
        tools: Vec<&'static Tool>,
    },
    /// A step did not succeed.
    #[error("{stack}: {reason}\n{tail}\n(all of it: {})", .log.display())]
    Step {
        /// The stack.
        stack: &'static str,
        /// Which step and how it ended.
        reason: String,
        /// The end of what it printed.
        tail: String,
        /// The whole of it.
        log: PathBuf,
    },
    /// The folder could not be written.
    #[error("{stack}: {}: {source}", .path.display())]
    Files {
        /// The stack.
        stack: &'static str,
        /// Where.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

impl Stack {
    /// Makes servers and clients of this stack startable. Does nothing when they are, waits when
    /// another process is at it, and repeats all steps when our sources have changed.
    pub fn install(
        &'static self,
        progress: &mut dyn FnMut(InstallEvent),
    ) -> Result<(), InstallError> {
        let start = Instant::now();
        if let StackState::Missing(tools) = self.state() {
            let stack = self.name;
            return Err(InstallError::Missing { stack, tools });
        }
        if !self.is_installed() {
            let lock = self.lock(progress)?;
            // Whoever held the lock before has most likely done the work.
            if !self.is_installed() {
                self.unpack()?;
                self.run_steps(&lock, progress)?;
                self.write("installed", self.fingerprint().as_bytes())?;
                // Why it failed before is asked for only where it is not installed.
                let _ = fs::remove_file(self.dir().join("failed"));
            }
        }
        let took = start.elapsed();
        progress(InstallEvent::Done { took });
        Ok(())
    }

    /// Whether the marker that is written last stands for the sources of this build.
    pub(crate) fn is_installed(&self) -> bool {
        fs::read_to_string(self.dir().join("installed")).is_ok_and(|m| m == self.fingerprint())
    }

    /// What the last attempt with these sources failed with.
    pub(crate) fn failure(&self) -> Option<String> {
        let text = fs::read_to_string(self.dir().join("failed")).ok()?;
        let (fingerprint, reason) = text.split_once('\n')?;
        (fingerprint == self.fingerprint()).then(|| reason.to_owned())
    }

    /// What the steps of the last installation printed.
    pub fn install_log(&self) -> PathBuf {
        self.dir().join("install.log")
    }

    fn files_error(&self, path: PathBuf) -> impl FnOnce(io::Error) -> InstallError {
        let stack = self.name;
        move |source| InstallError::Files {
            stack,
            path,
            source,
        }
    }

    fn write(&self, name: &str, content: &[u8]) -> Result<(), InstallError> {
        let path = self.dir().join(name);
        let written = match path.parent() {
            Some(dir) => fs::create_dir_all(dir),
            None => Ok(()),
        };
        written
            .and_then(|()| fs::write(&path, content))
            .map_err(self.files_error(path))
    }

    fn lock(&self, progress: &mut dyn FnMut(InstallEvent)) -> Result<File, InstallError> {
        self.write("lock", b"")?;
        let path = self.dir().join("lock");
        let file = File::open(&path).map_err(self.files_error(path.clone()))?;
        if file.try_lock().is_err() {
            progress(InstallEvent::Waiting);
            file.lock().map_err(self.files_error(path))?;
        }
        Ok(file)
    }

    fn unpack(&self) -> Result<(), InstallError> {
        // The marker goes first: from here on the folder is not what it says.
        let _ = fs::remove_file(self.dir().join("installed"));
        for source in self.sources {
            let path = self.dir().join(source.path);
            // An unchanged file keeps its time, so that compilers have less to do.
            if !fs::read(&path).is_ok_and(|old| old == source.text.as_bytes()) {
                self.write(source.path, source.text.as_bytes())?;
            }
        }
        Ok(())
    }

    fn run_steps(
        &self,
        lock: &File,
        progress: &mut dyn FnMut(InstallEvent),
    ) -> Result<(), InstallError> {
        let log = self.install_log();
        File::create(&log).map_err(self.files_error(log.clone()))?;
        let of = self.steps.len();
        for (step, number) in self.steps.iter().zip(1..) {
            let what = step.what;
            progress(InstallEvent::Step { number, of, what });
            let outcome = self
                .run(step, lock)
                .map_err(self.files_error(log.clone()))?;
            if let Err(end) = outcome {
                let reason = format!("{what}: {end}");
                let note = format!("{}\n{reason}", self.fingerprint());
                self.write("failed", note.as_bytes())?;
                return Err(InstallError::Step {
                    stack: self.name,
                    reason,
                    tail: process::tail(&log, 15),
                    log,
                });
            }
        }
        Ok(())
    }

    /// Runs one step; the inner result is how it ended.
    fn run(&self, step: &InstallStep, lock: &File) -> io::Result<Result<(), String>> {
        let mut log = OpenOptions::new().append(true).open(self.install_log())?;
        writeln!(log, "$ {}", step.command.join(" "))?;
        let words = step.command.iter().map(|word| self.expand(word));
        let mut command = process::command(process::tied(words.collect()));
        for (name, value) in step.env {
            command.env(name, self.expand(value));
        }
        command
            .current_dir(self.dir())
            // The lock file is empty, so there is nothing to read; but while the step holds it, the
            // lock holds too, even when this process is gone and the step goes on.
            .stdin(lock.try_clone()?)
            .stdout(log.try_clone()?)
            .stderr(log.try_clone()?);
        let mut child = match command.spawn() {
            Ok(child) => child,
            Err(e) => return Ok(Err(format!("{e}"))),
        };
        Ok(match child::wait(&mut child, STEP_LIMIT)? {
            Some(status) if status.success() => Ok(()),
            Some(status) => Err(status.to_string()),
            None => {
                child::end(&mut child, Duration::from_secs(2));
                Err(format!("stopped after {} s", STEP_LIMIT.as_secs()))
            }
        })
    }
}
