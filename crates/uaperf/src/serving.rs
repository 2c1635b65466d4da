//! A plant in a process of its own, for commands that bring their own server.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, bail};
use wire::url::Url;

use crate::failure::Failure;

/// A plant that serves until this is dropped, or until this process ends in whatever way.
pub struct Serving {
    process: Child,
    /// Where it is reached.
    pub url: Url,
}

impl Serving {
    /// `uaperf serve` with these arguments on a free port, its certificates in `pki`.
    pub fn start(args: &[&str], pki: &Path) -> anyhow::Result<Self> {
        let program = std::env::current_exe().context("cannot tell where this program is")?;
        let mut process = Command::new(program)
            .args(["serve", "--port", "0", "--with-parent"])
            .args(args)
            .arg("--pki")
            .arg(pki)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start a server")?;
        let mut line = String::new();
        if let Some(out) = process.stdout.take() {
            BufReader::new(out).read_line(&mut line)?;
        }
        let Some(url) = line.trim().strip_prefix("READY ") else {
            let _ = process.kill();
            let _ = process.wait();
            bail!(Failure::new(format!(
                "uaperf serve {} did not start",
                args.join(" ")
            )));
        };
        let url = url.parse()?;
        Ok(Self { process, url })
    }
}

impl Drop for Serving {
    /// The server lives as long as the pipe; should it not end with it, it is ended.
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        for _ in 0..100 {
            if let Ok(Some(_)) = self.process.try_wait() {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A folder of this process, gone with it: certificates of a server and its client.
pub struct Folder(pub PathBuf);

impl Folder {
    /// One for a command.
    pub fn make(command: &str) -> anyhow::Result<Self> {
        let path = std::env::temp_dir().join(format!("uaperf-{command}-{}", std::process::id()));
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
