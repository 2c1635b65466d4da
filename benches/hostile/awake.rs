//! Processors that do not sleep: a virtual machine that gives its processor back may get it again late, one whose
//! neighbour sleeps is faster, and who attacks keeps both awake. What counts is the plant's work, so they are kept awake
//! without attackers, too.

use std::io::Read;
use std::ops::Range;
use std::process::{Child, ChildStdin, Stdio};

use anyhow::Context;

use crate::places;

/// The word that makes this program one that stays awake.
pub const ROLE: &str = "awake";

/// A process that does nothing as long as nobody else wants to do something.
pub struct Awake {
    child: Child,
    stdin: Option<ChildStdin>,
}

impl Awake {
    /// On these processors, behind everybody else.
    pub fn start(places: &Range<usize>) -> anyhow::Result<Self> {
        let mut child = places::behind_all(places)?
            .args([ROLE, &places.len().to_string()])
            .stdin(Stdio::piped())
            .spawn()
            .context("stay awake with taskset and chrt")?;
        let stdin = child.stdin.take();
        Ok(Self { child, stdin })
    }
}

impl Drop for Awake {
    fn drop(&mut self) {
        drop(self.stdin.take());
        let _ = self.child.wait();
    }
}

/// Stays awake with so many threads until standard input ends.
pub fn stay(mut words: impl Iterator<Item = String>) -> anyhow::Result<()> {
    let threads: usize = words.next().context("how many threads?")?.parse()?;
    for _ in 0..threads {
        std::thread::spawn(|| {
            loop {
                std::hint::spin_loop();
            }
        });
    }
    std::io::stdin().lock().read_to_end(&mut Vec::new())?;
    Ok(())
}
