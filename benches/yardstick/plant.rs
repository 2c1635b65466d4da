//! The plant in a process of its own: this program, started once more.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, bail};
use plant::{Config, Profile, Server};

use crate::place::pin;

/// The first argument that makes this program a plant.
pub const ROLE: &str = "--serve-plant";

/// How a plant is to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Loops that serve connections.
    pub threads: usize,
    /// Held to this core.
    pub core: Option<usize>,
    /// Polls without sleeping, and offers no security: it starts and ends within a turn.
    pub spin: bool,
}

/// A running plant. It ends when this is dropped, or when this process ends.
#[derive(Debug)]
pub struct Plant {
    child: Child,
    stdin: Option<ChildStdin>,
    url: String,
}

impl Plant {
    pub fn start(shape: Shape) -> anyhow::Result<Self> {
        let core = shape.core.map_or("any".into(), |core| core.to_string());
        let mut child = Command::new(std::env::current_exe()?)
            .args([ROLE, &shape.threads.to_string(), &core])
            .args(shape.spin.then_some("spin"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("start the plant")?;
        let stdin = child.stdin.take();
        let mut line = String::new();
        if let Some(stdout) = child.stdout.take() {
            BufReader::new(stdout).read_line(&mut line)?;
        }
        let mut plant = Self {
            child,
            stdin,
            url: String::new(),
        };
        match line.trim().strip_prefix("READY ") {
            Some(url) => url.clone_into(&mut plant.url),
            None => bail!("the plant did not start"),
        }
        Ok(plant)
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Plant {
    fn drop(&mut self) {
        drop(self.stdin.take());
        let start = Instant::now();
        while start.elapsed() < Duration::from_secs(2) {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Is a plant until standard input ends.
pub fn serve(mut arguments: impl Iterator<Item = String>) -> anyhow::Result<()> {
    let threads = arguments.next().context("how many threads?")?.parse()?;
    let core = arguments.next().and_then(|core| core.parse().ok());
    let spin = arguments.next().is_some_and(|word| word == "spin");
    // Before any thread is started: they inherit it.
    pin(core)?;
    let server = Server::start(Config {
        identity: match spin {
            true => None,
            false => Some(identity("urn:uaperf:yardstick:plant")?),
        },
        profiles: vec![Profile::Bench { update: None }],
        threads,
        spin,
        ..Config::default()
    })?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "READY {}", server.url())?;
    out.flush()?;
    std::io::stdin().lock().read_to_end(&mut Vec::new())?;
    server.stop();
    Ok(())
}

/// A certificate for this run, kept nowhere.
pub fn identity(uri: &str) -> anyhow::Result<pki::Identity> {
    let key = pki::Key::generate(2048)?;
    let request = pki::make::Request::application(uri).dns("localhost");
    let request = request.ip(std::net::Ipv4Addr::LOCALHOST.into());
    let certificate = request.self_signed(&key, SystemTime::now().into())?;
    Ok(pki::Identity::new(certificate, key))
}
