//! A process full of those who mean no good, and what the plant looks like meanwhile.

use std::io::{BufRead, BufReader};
use std::ops::Range;
use std::path::Path;
use std::process::{Child, ChildStdin, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context;
use observe::Process;

use crate::looking::Looking;
use crate::{attack, places};

/// A process full of them.
pub struct Attackers {
    child: Child,
    stdin: Option<ChildStdin>,
    cycles: Arc<AtomicU64>,
    refused: Arc<AtomicU64>,
    places: Range<usize>,
}

impl Attackers {
    /// Comes back when as many are there as are to be.
    pub fn start(
        kind: &str,
        url: &str,
        folder: &Path,
        places: Range<usize>,
    ) -> anyhow::Result<Self> {
        // What they cost themselves is not the server's doing.
        let mut child = places::behind_others(&places)?
            .args([attack::ROLE, kind, url])
            .arg(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("start the attackers with taskset, chrt and nice")?;
        let stdin = child.stdin.take();
        let out = child.stdout.take().context("no output")?;
        let cycles = Arc::new(AtomicU64::new(0));
        let (counter, ready) = (Arc::clone(&cycles), std::sync::mpsc::channel());
        let refused = Arc::new(AtomicU64::new(0));
        let turned_away = Arc::clone(&refused);
        let (tell, told) = ready;
        std::thread::spawn(move || {
            for line in BufReader::new(out).lines().map_while(Result::ok) {
                let mut words = line.split(' ').map(|word| word.parse().unwrap_or(0));
                let all_there = words.next() == Some(1);
                counter.store(words.next().unwrap_or(0), Ordering::Relaxed);
                turned_away.store(words.next().unwrap_or(0), Ordering::Relaxed);
                if all_there {
                    // Said again and again; the first time is waited for.
                    let _ = tell.send(());
                }
            }
        });
        let this = Self {
            child,
            stdin,
            cycles,
            refused,
            places,
        };
        told.recv_timeout(Duration::from_secs(60))
            .context("the attackers did not come")?;
        Ok(this)
    }

    /// Ends it, and tells how often they have come and gone, and how often they were refused.
    pub fn stop(self) -> (u64, u64) {
        let counts = (&self.cycles, &self.refused);
        (
            counts.0.load(Ordering::Relaxed),
            counts.1.load(Ordering::Relaxed),
        )
    }
}

impl Drop for Attackers {
    fn drop(&mut self) {
        drop(self.stdin.take());
        let _ = self.child.wait();
    }
}

/// A look at the plant.
pub struct Look {
    /// How often attackers had come and gone then.
    pub cycles: u64,
    /// Resident bytes.
    pub rss: Option<f64>,
    /// Open files.
    pub descriptors: Option<f64>,
}

/// Looks at the plant ten times a second once it has settled, from where the attackers are: thousands of
/// descriptors take milliseconds to count.
pub fn watch(
    attackers: &Attackers,
    plant: u32,
    settled: Duration,
) -> anyhow::Result<Looking<Look>> {
    let mut process = process(plant)?;
    let cycles = Arc::clone(&attackers.cycles);
    let between = Duration::from_millis(100);
    let places = attackers.places.clone();
    Ok(Looking::start(places, settled, between, move || {
        let sample = process.sample();
        Look {
            cycles: cycles.load(Ordering::Relaxed),
            rss: sample.rss_bytes.ok().map(|bytes| bytes as f64),
            descriptors: sample.descriptors.ok().map(|open| open as f64),
        }
    }))
}

/// A process to look at.
pub fn process(pid: u32) -> anyhow::Result<Process> {
    Process::of(pid).map_err(|why| anyhow::anyhow!("{}", why.reason()))
}

/// Waits until the plant has closed what attackers left open.
pub fn back(process: &mut Process, before: &observe::Sample, patience: Duration) {
    let wanted = before.descriptors.clone().unwrap_or(u64::MAX);
    let end = Instant::now() + patience;
    while Instant::now() < end && process.sample().descriptors.is_ok_and(|open| open > wanted) {
        std::thread::sleep(Duration::from_millis(50));
    }
}
