//! The program beside the examples, what it needs to run, and a server of it.

#![allow(dead_code, reason = "no example needs all of it")]

use std::error::Error;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

pub type Fallible<T> = Result<T, Box<dyn Error>>;

/// The words behind the name of the example, one after the other, or what is usual.
pub fn words() -> impl FnMut(&str) -> String {
    let mut words = std::env::args().skip(1);
    move |otherwise| words.next().unwrap_or_else(|| otherwise.to_owned())
}

/// This program's build of `uaperf`, and a folder for certificates and results.
pub struct Bench {
    program: PathBuf,
    pub folder: PathBuf,
}

impl Bench {
    pub fn new(name: &str) -> Fallible<Self> {
        // Examples are built into a folder beside the program.
        let program = std::env::current_exe()?
            .ancestors()
            .nth(2)
            .ok_or("no folder above")?
            .join("uaperf");
        let folder = std::env::temp_dir().join(format!("uaperf-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        Ok(Self { program, folder })
    }

    pub fn uaperf(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.env("UAPERF_PKI", self.folder.join("pki"));
        command
    }

    /// On a free port, with these options.
    pub fn serve(&self, options: &[&str]) -> Fallible<Server> {
        let mut child = self
            .uaperf()
            .args(["serve", "--port", "0", "--security", "none"])
            .arg("--with-parent")
            .args(options)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut ready = String::new();
        let out = child.stdout.take().ok_or("no output")?;
        BufReader::new(out).read_line(&mut ready)?;
        let url = ready.trim().strip_prefix("READY ").ok_or("no server")?;
        Ok(Server {
            child,
            url: url.to_owned(),
        })
    }

    /// Leaves nothing behind.
    pub fn clear(self) -> Fallible<()> {
        Ok(std::fs::remove_dir_all(self.folder)?)
    }
}

/// `uaperf serve`, for as long as it is held.
pub struct Server {
    child: Child,
    pub url: String,
}

impl Server {
    pub fn id(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
