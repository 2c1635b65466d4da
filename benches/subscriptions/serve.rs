//! The plant in a process of its own: this program, started once more.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use plant::{Config, Profile, Server};

use crate::place::pin;

/// The first argument that makes this program a plant.
pub const ROLE: &str = "--serve-plant";

/// What it serves.
#[derive(Debug, Clone, Copy)]
pub enum Served {
    /// The bench address space, renewed this often.
    Bench { update: Duration },
    /// A million counters.
    Large,
}

/// A running plant. It ends when this is dropped, or when this process ends.
#[derive(Debug)]
pub struct Plant {
    child: Child,
    stdin: Option<ChildStdin>,
    url: String,
}

impl Plant {
    pub fn start(served: Served, threads: usize, core: Option<usize>) -> anyhow::Result<Self> {
        let core = core.map_or("any".into(), |core| core.to_string());
        let what = match served {
            Served::Bench { update } => update.as_millis().to_string(),
            Served::Large => "large".to_owned(),
        };
        let mut child = Command::new(std::env::current_exe()?)
            .args([ROLE, &threads.to_string(), &core, &what])
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
        let _ = self.child.wait();
    }
}

/// Is a plant until standard input ends.
pub fn serve(mut arguments: impl Iterator<Item = String>) -> anyhow::Result<()> {
    let threads = arguments.next().context("how many threads?")?.parse()?;
    let core = arguments.next().and_then(|core| core.parse().ok());
    let what = arguments.next().context("what is to be served?")?;
    // Before any thread is started: they inherit it.
    pin(core)?;
    let profile = match what.as_str() {
        "large" => {
            let plant = Profile::named("large").context("no profile large")?;
            Profile::Plant(Arc::new(plant?))
        }
        millis => Profile::Bench {
            update: Some(Duration::from_millis(millis.parse()?)),
        },
    };
    let mut config = Config {
        profiles: vec![profile],
        threads,
        ..Config::default()
    };
    config.limits.items_per_subscription = 1_000_000;
    let server = Server::start(config)?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "READY {}", server.url())?;
    out.flush()?;
    std::io::stdin().lock().read_to_end(&mut Vec::new())?;
    server.stop();
    Ok(())
}
