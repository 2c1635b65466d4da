//! A peer's server, running as a process of its own for as long as somebody holds it.

use std::fs::{self, File};
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

use platform::child;

use crate::stack::{Stack, StackState};
use crate::{place, process};

/// How a server is to be started.
#[derive(Debug, Clone)]
pub struct StartOptions {
    /// The port on 127.0.0.1; a free one when not given.
    pub port: Option<u16>,
    /// How often the scalars change; constant when not given.
    pub update: Option<Duration>,
    /// The CPUs that it may run on, as `taskset` takes them: `0,2-3`.
    pub pin: Option<String>,
    /// Its certificates; the stack's own folder when not given.
    pub pki: Option<PathBuf>,
    /// Trust only the client certificates in `trusted/certs` of that folder.
    pub strict: bool,
    /// What its environment has besides what it inherits: `JAVA_TOOL_OPTIONS`, `-Xmx512m`.
    pub environment: Vec<(String, String)>,
    /// More arguments, as they are.
    pub extra: Vec<String>,
    /// How long it may take to accept connections.
    pub patience: Duration,
}

impl Default for StartOptions {
    fn default() -> Self {
        Self {
            port: None,
            update: None,
            pin: None,
            pki: None,
            strict: false,
            environment: Vec::new(),
            extra: Vec::new(),
            // Node and Java compile as they start, on two cores that do other things as well.
            patience: Duration::from_secs(60),
        }
    }
}

/// Why a server did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// It has to be installed first.
    #[error("{0} is not installed; try: uaperf peers install {0}")]
    NotInstalled(&'static str),
    /// `taskset` is not there.
    #[error(transparent)]
    NoTaskset(#[from] NoTaskset),
    /// The process ended before it accepted connections.
    #[error("{stack} ended before it was ready ({end})\n{tail}\n(all of it: {})", .log.display())]
    Ended {
        /// The stack.
        stack: &'static str,
        /// The port it was to listen on.
        port: u16,
        /// Its exit status.
        end: String,
        /// The end of its log.
        tail: String,
        /// The whole of it.
        log: PathBuf,
    },
    /// It did not say in time that it accepts connections.
    #[error("{stack} was not ready after {} s\n{tail}\n(all of it: {})", .after.as_secs(), .log.display())]
    Silent {
        /// The stack.
        stack: &'static str,
        /// How long it was waited for.
        after: Duration,
        /// The end of its log.
        tail: String,
        /// The whole of it.
        log: PathBuf,
    },
    /// The system refused something.
    #[error("{stack}: {what}: {source}")]
    System {
        /// The stack.
        stack: &'static str,
        /// What was tried.
        what: &'static str,
        /// What the system says.
        source: io::Error,
    },
}

/// A process cannot be held to a CPU.
#[derive(Debug, thiserror::Error)]
#[error("{0} cannot be pinned: taskset is not there (on Linux: sudo apt-get install util-linux)")]
pub struct NoTaskset(&'static str);

/// A running server. It ends when this is dropped, and also when this process is killed: the
/// server reads its standard input, whose other end is held here, until there is no more.
#[derive(Debug)]
pub struct Server {
    stack: &'static Stack,
    child: Child,
    stdin: Option<ChildStdin>,
    url: String,
    port: u16,
    log: PathBuf,
    took: Duration,
}

impl Server {
    /// Starts a server and waits until it accepts connections.
    pub fn start(stack: &'static Stack, options: &StartOptions) -> Result<Self, StartError> {
        let mut outcome = Self::try_start(stack, options);
        // Between the choice of a free port and its use another program may take it.
        for _ in 0..2 {
            match &outcome {
                Err(StartError::Ended { port, .. })
                    if options.port.is_none() && TcpListener::bind(local(*port)).is_err() =>
                {
                    outcome = Self::try_start(stack, options);
                }
                _ => break,
            }
        }
        outcome
    }

    fn try_start(stack: &'static Stack, options: &StartOptions) -> Result<Self, StartError> {
        let start = Instant::now();
        let Launch {
            mut command,
            port,
            log,
            pki,
        } = Launch::prepare(stack, options)?;
        let first = FirstRun::of(&pki).map_err(system(stack, "lock the certificates"))?;
        let mut child = command
            .stdin(Stdio::piped())
            .spawn()
            .map_err(system(stack, "start the server"))?;
        let stdin = child.stdin.take();
        let took = Duration::ZERO;
        let mut server = Self {
            stack,
            child,
            stdin,
            url: url(port),
            port,
            log,
            took,
        };
        server.wait_until_ready(options.patience)?;
        first.done();
        server.took = start.elapsed();
        Ok(server)
    }

    fn wait_until_ready(&mut self, patience: Duration) -> Result<(), StartError> {
        let start = Instant::now();
        let stack = self.stack.name;
        loop {
            let ended = self.child.try_wait();
            if let Some(status) = ended.map_err(system(self.stack, "watch the server"))? {
                return Err(StartError::Ended {
                    stack,
                    port: self.port,
                    end: status.to_string(),
                    tail: process::tail(&self.log, 15),
                    log: self.log.clone(),
                });
            }
            if says_ready(&self.log) {
                return Ok(());
            }
            if start.elapsed() > patience {
                return Err(StartError::Silent {
                    stack,
                    after: patience,
                    tail: process::tail(&self.log, 15),
                    log: self.log.clone(),
                });
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// The stack that it is built on.
    pub fn stack(&self) -> &'static Stack {
        self.stack
    }

    /// Where it listens: `opc.tcp://127.0.0.1:PORT`.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The id of its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What it printed.
    pub fn log(&self) -> &Path {
        &self.log
    }

    /// How long it took from the start of the process until it accepted connections.
    pub fn start_time(&self) -> Duration {
        self.took
    }

    /// Whether its process still runs.
    pub fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Ends it: a word, then a signal, then force. The same happens when it is dropped.
    pub fn stop(self) {}
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.stdin.take());
        child::end(&mut self.child, Duration::from_secs(2));
    }
}

/// A server's command, ready to be started.
pub(crate) struct Launch {
    pub command: Command,
    pub port: u16,
    pub log: PathBuf,
    pub pki: PathBuf,
}

impl Launch {
    pub fn prepare(stack: &'static Stack, options: &StartOptions) -> Result<Self, StartError> {
        if !matches!(stack.state(), StackState::Installed) {
            return Err(StartError::NotInstalled(stack.name));
        }
        let port = match options.port {
            Some(port) => port,
            None => free_port().map_err(system(stack, "find a free port"))?,
        };
        let pki = match &options.pki {
            Some(dir) => dir.clone(),
            None => stack.dir().join("pki").join("server"),
        };
        let pki = fs::create_dir_all(&pki)
            .and_then(|()| std::path::absolute(&pki))
            .map_err(system(stack, "make the folder of its certificates"))?;
        let run = place::new_run(&format!("{}-server", stack.name))
            .map_err(system(stack, "make a folder for its log"))?;
        let log = run.join("log");
        let out = File::create(&log).map_err(system(stack, "make its log"))?;
        let err = out.try_clone().map_err(system(stack, "make its log"))?;

        let mut words: Vec<String> = pinned(stack.name, options.pin.as_deref())?;
        words.extend(stack.server.iter().map(|word| stack.expand(word)));
        words.extend(["--port".into(), port.to_string(), "--pki".into()]);
        words.push(pki.to_string_lossy().into_owned());
        if let Some(update) = options.update {
            words.extend(["--update-us".into(), update.as_micros().to_string()]);
        }
        if options.strict {
            words.push("--strict".into());
        }
        words.extend(options.extra.iter().cloned());

        let mut command = process::command(words);
        command.current_dir(&run).stdout(out).stderr(err);
        command.envs(
            options
                .environment
                .iter()
                .map(|(name, value)| (name, value)),
        );
        // A group of its own: Ctrl-C is for the program that measures, which then ends the
        // server in its own time.
        platform::process::apart(&mut command);
        Ok(Self {
            command,
            port,
            log,
            pki,
        })
    }
}

/// Whether a server has said in its log that it accepts connections.
pub(crate) fn says_ready(log: &Path) -> bool {
    // A log that is not there yet says nothing yet.
    let text = fs::read(log).unwrap_or_default();
    let mut lines = text.split(|byte| *byte == b'\n');
    lines.any(|line| line.starts_with(b"READY "))
}

pub(crate) fn system(
    stack: &'static Stack,
    what: &'static str,
) -> impl FnOnce(io::Error) -> StartError {
    let stack = stack.name;
    move |source| StartError::System {
        stack,
        what,
        source,
    }
}

pub(crate) fn url(port: u16) -> String {
    format!("opc.tcp://{}", local(port))
}

fn local(port: u16) -> SocketAddrV4 {
    SocketAddrV4::new(Ipv4Addr::LOCALHOST, port)
}

fn free_port() -> io::Result<u16> {
    let listener = TcpListener::bind(local(0))?;
    Ok(listener.local_addr()?.port())
}

/// The words before a command that is to run on these CPUs only.
pub(crate) fn pinned(stack: &'static str, pin: Option<&str>) -> Result<Vec<String>, NoTaskset> {
    let Some(cpus) = pin else {
        return Ok(Vec::new());
    };
    if process::on_path("taskset").is_none() {
        return Err(NoTaskset(stack));
    }
    // taskset replaces itself by the program, so the id is the server's.
    Ok(["taskset", "-c", cpus].map(str::to_owned).to_vec())
}

/// The first process that uses a PKI folder makes a key and a certificate in it. Two at once
/// would mix theirs, so the others wait until it is ready.
pub(crate) struct FirstRun(Option<(File, PathBuf)>);

impl FirstRun {
    pub fn of(pki: &Path) -> io::Result<Self> {
        let made = pki.join(".made");
        if made.exists() {
            return Ok(Self(None));
        }
        let lock = File::create(pki.join(".lock"))?;
        lock.lock()?;
        Ok(Self((!made.exists()).then_some((lock, made))))
    }

    pub fn done(self) {
        if let Some((_lock, made)) = self.0 {
            // Without the mark the next one waits for nothing, and nothing else is lost.
            let _ = File::create(made);
        }
    }
}
