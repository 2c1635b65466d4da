//! A plant in a process of its own, for commands that bring their own server.

use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use anyhow::{Context, bail};
use load::access::{Access, Security, TrustRule};
use pki::Store;
use platform::child;
use wire::channel::Protection;
use wire::url::Url;

use crate::failure::Failure;
use crate::interrupt::{self, Taken};
use crate::{place, settings};

/// What is to be ended and removed should this process quit.
static LEFT: Mutex<Left> = Mutex::new(Left {
    commands: Vec::new(),
    processes: Vec::new(),
    folders: Vec::new(),
});

struct Left {
    /// Commands of this program, which end in good order when they are interrupted.
    commands: Vec<Weak<Mutex<Child>>>,
    processes: Vec<Weak<Mutex<Child>>>,
    folders: Vec<PathBuf>,
}

/// So long a command of this program may take to end in good order.
const ENDS_WITHIN: Duration = Duration::from_secs(3);

/// So long a server may take whose input has ended.
const LEAVES_WITHIN: Duration = Duration::from_secs(2);

/// Whoever adds to it has it cleared before this process quits.
fn left() -> MutexGuard<'static, Left> {
    interrupt::before_quitting(Taken::Started, clear);
    LEFT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Ends all servers and removes all folders of this process, which is about to end itself.
fn clear() {
    let left = LEFT.lock().unwrap_or_else(PoisonError::into_inner);
    for process in left.commands.iter().filter_map(Weak::upgrade) {
        child::end_in_order(&mut locked(&process), ENDS_WITHIN);
    }
    for process in left.processes.iter().filter_map(Weak::upgrade) {
        child::kill(&mut locked(&process));
    }
    for folder in &left.folders {
        let _ = std::fs::remove_dir_all(folder);
    }
}

/// A program that runs until this is dropped, or until this process is interrupted.
pub struct ChildGuard(Arc<Mutex<Child>>);

impl ChildGuard {
    /// Starts it. Ctrl-C is not for it, but for this process.
    pub fn start(mut command: Command) -> io::Result<Self> {
        let process = spawn(&mut command)?;
        left().processes.push(Arc::downgrade(&process));
        Ok(Self(process))
    }

    /// Whether it still runs.
    pub fn is_running(&self) -> bool {
        matches!(locked(&self.0).try_wait(), Ok(None))
    }
}

impl Drop for ChildGuard {
    fn drop(&mut self) {
        child::kill(&mut locked(&self.0));
    }
}

/// Carries out a command of this program and gives what it printed. If this process is interrupted meanwhile the command is, too, so
/// that it leaves nothing behind; then this does not come back.
pub fn carried_out(mut command: Command) -> io::Result<Output> {
    command.stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let process = spawn(&mut command)?;
    left().commands.push(Arc::downgrade(&process));
    let (out, err) = {
        let mut process = locked(&process);
        (process.stdout.take(), process.stderr.take())
    };
    // Both at once: a pipe that nobody reads would stop it.
    let err = std::thread::spawn(move || all_of(err));
    let stdout = all_of(out);
    // Text for a message: its exit status tells whether it failed.
    let stderr = err.join().unwrap_or_default();
    interrupt::wait_if_quitting();
    let status = locked(&process).wait()?;
    Ok(Output {
        status,
        stdout,
        stderr,
    })
}

/// What a program writes until it ends.
fn all_of(pipe: Option<impl Read>) -> Vec<u8> {
    let mut all = Vec::new();
    if let Some(mut pipe) = pipe {
        // What came before it failed is all there is.
        let _ = pipe.read_to_end(&mut all);
    }
    all
}

/// A process that Ctrl-C is not for.
fn spawn(command: &mut Command) -> io::Result<Arc<Mutex<Child>>> {
    platform::process::apart(command);
    Ok(Arc::new(Mutex::new(command.spawn()?)))
}

/// A plant that serves until this is dropped, or until this process ends in whatever way.
pub struct Serving {
    process: Arc<Mutex<Child>>,
    /// Where it is reached; the first of them, should it be several servers.
    pub url: Url,
    /// Where all of them are reached.
    pub urls: Vec<Url>,
}

impl Serving {
    /// `uaperf serve` with these arguments on a free port, its certificates in `pki`.
    pub fn start(args: &[&str], pki: &Path) -> anyhow::Result<Self> {
        Self::start_several(args, 1, pki)
    }

    /// The same for so many servers in one process; a port among the arguments stands.
    pub fn start_several(args: &[&str], servers: usize, pki: &Path) -> anyhow::Result<Self> {
        let port: &[&str] = match args.iter().any(|arg| arg.starts_with("--port")) {
            true => &[],
            false => &["--port", "0"],
        };
        let mut command = settings::this_program()?;
        command
            .args(["serve", "--with-parent"])
            .args(port)
            .args(args)
            .arg("--pki")
            .arg(pki);
        Self::of(command, args, servers)
    }

    /// The same by a command that is one here or starts one elsewhere, which ends with its standard input. `args` are what it is
    /// named by.
    pub fn of(mut command: Command, args: &[&str], servers: usize) -> anyhow::Result<Self> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        // Ctrl-C is for us: the server goes on until what is being measured has ended in good order.
        let process = spawn(&mut command).context("cannot start a server")?;
        let mut lines = String::new();
        let out = locked(&process).stdout.take();
        left().processes.push(Arc::downgrade(&process));
        if let Some(out) = out {
            let mut out = BufReader::new(out);
            for _ in 0..servers {
                out.read_line(&mut lines)?;
            }
        }
        let ready = lines.lines().filter_map(|line| line.strip_prefix("READY "));
        let urls: Vec<Url> = ready.filter_map(|url| url.trim().parse().ok()).collect();
        let Some(url) = urls.first().filter(|_| urls.len() == servers).cloned() else {
            child::kill(&mut locked(&process));
            bail!(Failure::new(format!(
                "uaperf serve {} did not start",
                args.join(" ")
            )));
        };
        Ok(Self { process, url, urls })
    }

    /// The way to it of a client that takes whatever certificate it has; its own are in `pki`.
    pub fn access(&self, protection: Protection, pki: &Path) -> Access {
        Access {
            security: Security::Exactly(protection),
            trust: TrustRule::Everyone,
            ..Access::new(self.url.clone(), Store::new(pki), place::own_request())
        }
    }

    /// Whether it still serves.
    pub fn is_running(&mut self) -> bool {
        matches!(locked(&self.process).try_wait(), Ok(None))
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        locked(&self.process).id()
    }
}

impl Drop for Serving {
    /// The server lives as long as the pipe; should it not end with it, it is ended.
    fn drop(&mut self) {
        let mut process = locked(&self.process);
        drop(process.stdin.take());
        child::leave(&mut process, LEAVES_WITHIN);
    }
}

fn locked(process: &Mutex<Child>) -> MutexGuard<'_, Child> {
    process.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A folder of this process, gone with it: certificates of a server and its client.
pub struct Folder(pub PathBuf);

impl Folder {
    /// One for a command.
    pub fn make(command: &str) -> anyhow::Result<Self> {
        let path = std::env::temp_dir().join(format!("uaperf-{command}-{}", std::process::id()));
        left().folders.push(path.clone());
        std::fs::create_dir_all(&path)
            .with_context(|| format!("cannot make the folder {}", path.display()))?;
        Ok(Self(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
