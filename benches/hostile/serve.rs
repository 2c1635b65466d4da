//! The plant, in a process of its own, whose memory and descriptors are looked at.

use std::io::{BufRead, BufReader, Read, Write};
use std::num::NonZeroU32;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, bail};
use plant::{Config, PasswordHash, Profile, Server, TrustPolicy};

/// The word that makes this program a plant.
pub const ROLE: &str = "serve";

/// A session that is not heard of ends so soon, so that what dead clients leave can be waited for.
const SESSION: Duration = Duration::from_secs(10);

/// A running plant. It ends when this is dropped, or when this process ends.
pub struct Plant {
    child: Child,
    stdin: Option<ChildStdin>,
    pub url: String,
}

impl Plant {
    pub fn start(folder: &str, threads: usize) -> anyhow::Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .args([ROLE, folder, &threads.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("start the plant")?;
        let stdin = child.stdin.take();
        let mut line = String::new();
        if let Some(stdout) = child.stdout.take() {
            BufReader::new(stdout).read_line(&mut line)?;
        }
        let Some(url) = line.trim().strip_prefix("READY ") else {
            let _ = child.kill();
            bail!("the plant did not start");
        };
        Ok(Self {
            url: url.to_owned(),
            child,
            stdin,
        })
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Plant {
    fn drop(&mut self) {
        drop(self.stdin.take());
        let start = Instant::now();
        while start.elapsed() < Duration::from_secs(5) {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Is a plant until standard input ends: it trusts nobody, and knows one user.
pub fn serve(mut words: impl Iterator<Item = String>) -> anyhow::Result<()> {
    let folder = words.next().context("which folder?")?;
    let threads = words.next().context("how many threads?")?.parse()?;
    let key = pki::Key::generate(2048)?;
    let request = pki::make::Request::application("urn:uaperf:hostile:plant").dns("localhost");
    let request = request.ip(std::net::Ipv4Addr::LOCALHOST.into());
    let certificate = request.self_signed(&key, SystemTime::now().into())?;
    let mut config = Config {
        identity: Some(pki::Identity::new(certificate, key)),
        trust: TrustPolicy::Store(pki::Store::new(folder)),
        profiles: vec![Profile::Bench {
            update: Some(Duration::from_millis(100)),
        }],
        threads,
        ..Config::default()
    };
    const ROUNDS: NonZeroU32 = NonZeroU32::MIN.saturating_add(9_999);
    let hash = PasswordHash::new(b"right", [7; 16], ROUNDS);
    config.users.passwords.push(("operator".into(), hash));
    config.limits.session_timeout = Duration::from_millis(100)..=SESSION;
    observe::limits::raise_descriptors(config.limits.connections as u64 + 200).ok();
    let server = Server::start(config)?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "READY {}", server.url())?;
    out.flush()?;
    std::io::stdin().lock().read_to_end(&mut Vec::new())?;
    server.stop();
    Ok(())
}
