//! A plant in a process of its own: this program, started once more.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::Ipv4Addr;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, bail};
use plant::{Config, Server};

/// It has so long to end by itself.
const PATIENCE: Duration = Duration::from_secs(5);

/// A running plant. It ends when this is dropped, or when this process ends.
#[derive(Debug)]
pub struct Plant {
    child: Child,
    stdin: Option<ChildStdin>,
    url: String,
}

impl Plant {
    /// Starts this program with these words, the first of which tells it to be a plant.
    pub fn start(words: &[&str]) -> anyhow::Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .args(words)
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

    /// Where it listens.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Plant {
    fn drop(&mut self) {
        drop(self.stdin.take());
        let start = Instant::now();
        while start.elapsed() < PATIENCE {
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
pub fn serve(config: Config) -> anyhow::Result<()> {
    let server = Server::start(config)?;
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
    let request = request.ip(Ipv4Addr::LOCALHOST.into());
    let certificate = request.self_signed(&key, SystemTime::now().into())?;
    Ok(pki::Identity::new(certificate, key))
}
