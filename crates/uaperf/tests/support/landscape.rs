//! A landscape of devices that ends with its test.

#![allow(dead_code, reason = "no test needs all of it")]
#![allow(clippy::unwrap_used, clippy::panic)]

use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::{Telling, command, signal};

/// Devices that run.
pub struct Landscape {
    pub child: Child,
    said: Option<Telling>,
    /// URL and name of each.
    pub ready: Vec<(String, String)>,
}

impl Landscape {
    pub fn start(folder: &Path, options: &[&str], devices: usize) -> Self {
        let words = ["fleet", "serve", "devices.toml"];
        Self::of(
            &mut command(folder, &[&words[..], options].concat()),
            devices,
        )
    }

    /// One that is started like this.
    pub fn of(command: &mut Command, devices: usize) -> Self {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let said = Telling::of(&mut child);
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut ready = Vec::new();
        while ready.len() < devices {
            let mut line = String::new();
            assert!(out.read_line(&mut line).unwrap() > 0, "it ended early");
            let line = line.trim().strip_prefix("READY ").unwrap();
            let (url, name) = line.split_once(' ').unwrap();
            ready.push((url.to_owned(), name.to_owned()));
        }
        std::thread::spawn(move || std::io::copy(&mut out, &mut std::io::sink()));
        Self {
            child,
            said: Some(said),
            ready,
        }
    }

    pub fn until(&mut self, words: &str) {
        self.said.as_mut().unwrap().until(words);
    }

    /// Interrupts it; its exit code.
    pub fn end(self) -> Option<i32> {
        self.ended().0
    }

    /// Interrupts it; its exit code, and all that it said.
    pub fn ended(mut self) -> (Option<i32>, String) {
        let rest = self.said.take().unwrap().whole();
        signal(self.child.id(), "INT");
        let status = self.child.wait().unwrap();
        (status.code(), rest.join().unwrap())
    }
}

impl Drop for Landscape {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn until_it_listens(url: &str) {
    let address = url.strip_prefix("opc.tcp://").unwrap();
    let end = Instant::now() + Duration::from_secs(60);
    while let Err(error) = TcpStream::connect(address) {
        assert!(Instant::now() < end, "{url}: {error}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Of a JSON value by its path.
pub fn number(of: &Value, path: &str) -> u64 {
    of.pointer(path)
        .and_then(Value::as_u64)
        .unwrap_or_else(|| panic!("no {path} in {of:#}"))
}
