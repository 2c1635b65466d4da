//! Update loops: threads that write values, as a server does that has them from somewhere.
//!
//! All stored signals with the same interval are written in one pass, which one thread begins at
//! each multiple of the interval on the server's clock and others help with. The time from the
//! first write of a pass to its last is its run span.

mod crew;
pub mod metrics;

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use wire::template::walk::RawVariant;
use wire::types::StatusCode;

use crate::describe::Stored;
use crate::history::Past;
use crate::shared::Shared;
use crate::space::{Source, Stamp};
use crew::{Bell, Crew};

/// Values that are written together.
#[derive(Debug)]
pub struct UpdateLoop {
    interval: Duration,
    threads: usize,
    items: Vec<Stored>,
    /// What it came to.
    pub passes: Arc<Passes>,
}

/// What an update loop came to.
#[derive(Debug, Default)]
pub struct Passes {
    /// Passes so far.
    pub count: AtomicU64,
    /// Passes that could not begin before the next one was due.
    pub missed: AtomicU64,
    /// How long the last one took, in nanoseconds.
    pub last: AtomicU64,
    /// How long all of them took.
    pub sum: AtomicU64,
    /// How long the longest took.
    pub longest: AtomicU64,
    /// How long after its time the last one began.
    pub late: AtomicU64,
    /// When the last one ended, in ticks.
    pub at: AtomicU64,
}

impl UpdateLoop {
    /// One loop for each interval, the shortest first.
    pub fn plan(stored: Vec<Stored>, threads: usize) -> Vec<Self> {
        let mut loops: BTreeMap<Duration, Vec<Stored>> = BTreeMap::new();
        for item in stored {
            let interval = item.motion.signal().interval();
            loops.entry(interval).or_default().push(item);
        }
        let planned = loops.into_iter().map(|(interval, items)| Self {
            interval,
            threads: threads.clamp(1, items.len().max(1)),
            items,
            passes: Arc::default(),
        });
        planned.collect()
    }

    /// The time between two passes.
    pub fn interval(&self) -> Duration {
        self.interval
    }

    /// Threads that share a pass.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// Signals that are written in a pass.
    pub fn signals(&self) -> usize {
        self.items.len()
    }
}

/// Update loops that run.
#[derive(Default)]
pub struct Running {
    bell: Arc<Bell>,
    crews: Vec<Arc<Crew>>,
    threads: Vec<JoinHandle<()>>,
}

impl Running {
    /// Starts loops. What was started before one failed can be stopped.
    pub fn start(&mut self, loops: Vec<UpdateLoop>, shared: &Arc<Shared>) -> io::Result<()> {
        for (n, each) in loops.into_iter().enumerate() {
            self.start_one(n, each, shared)?;
        }
        Ok(())
    }

    fn start_one(&mut self, n: usize, each: UpdateLoop, shared: &Arc<Shared>) -> io::Result<()> {
        let crew = Arc::new(Crew::new(each.threads));
        self.crews.push(Arc::clone(&crew));
        let share = each.items.len().div_ceil(each.threads);
        let mut items = each.items;
        // The first share stays with the thread that begins the passes.
        for k in (1..each.threads).rev() {
            let own = items.split_off((k * share).min(items.len()));
            let (crew, shared) = (Arc::clone(&crew), Arc::clone(shared));
            let thread = std::thread::Builder::new().name(format!("update-{n}-{k}"));
            self.threads.push(thread.spawn(move || {
                let mut scratch = Vec::new();
                let mut seen = 0;
                while let Some(update) = crew.next(&mut seen) {
                    write(&own, update, &shared, &mut scratch);
                    crew.finished();
                }
            })?);
        }
        let (bell, shared) = (Arc::clone(&self.bell), Arc::clone(shared));
        let (interval, passes) = (each.interval, each.passes);
        let thread = std::thread::Builder::new().name(format!("update-{n}-0"));
        self.threads
            .push(thread.spawn(move || run(&bell, &crew, &items, interval, &passes, &shared))?);
        Ok(())
    }

    /// Runs something each `interval`, until it is stopped.
    pub fn each(
        &mut self,
        interval: Duration,
        mut what: impl FnMut() + Send + 'static,
    ) -> io::Result<()> {
        let bell = Arc::clone(&self.bell);
        let thread = std::thread::Builder::new().name("plant-metrics".to_owned());
        self.threads.push(thread.spawn(move || {
            while !bell.wait(interval) {
                what();
            }
        })?);
        Ok(())
    }

    /// Ends all of them.
    pub fn stop(&mut self) {
        self.bell.ring();
        for crew in &self.crews {
            crew.dismiss();
        }
        for thread in self.threads.drain(..) {
            // One that panicked has nothing left to stop.
            let _ = thread.join();
        }
    }
}

/// The thread that begins the passes.
fn run(
    bell: &Bell,
    crew: &Crew,
    items: &[Stored],
    interval: Duration,
    passes: &Passes,
    shared: &Shared,
) {
    let interval = u64::try_from(interval.as_nanos())
        .unwrap_or(u64::MAX)
        .max(1);
    let mut scratch = Vec::new();
    let mut done = shared.clock.now().mono.as_nanos() / interval;
    // What was there when the server started is as old as that.
    write(items, done, shared, &mut scratch);
    loop {
        let now = shared.clock.now().mono.as_nanos();
        let due = (done + 1).saturating_mul(interval);
        if now < due {
            if bell.wait(Duration::from_nanos(due - now)) {
                return;
            }
            continue;
        }
        let update = now / interval;
        passes
            .missed
            .fetch_add(update - done - 1, Ordering::Relaxed);
        done = update;
        let begun = shared.clock.now().mono.as_nanos();
        crew.begin(update);
        write(items, update, shared, &mut scratch);
        crew.wait();
        let end = shared.clock.now();
        let span = end.mono.as_nanos() - begun;
        passes
            .late
            .store(begun - update * interval, Ordering::Relaxed);
        passes.last.store(span, Ordering::Relaxed);
        passes.sum.fetch_add(span, Ordering::Relaxed);
        passes.longest.fetch_max(span, Ordering::Relaxed);
        passes.at.store(end.utc as u64, Ordering::Relaxed);
        passes.count.fetch_add(1, Ordering::Relaxed);
    }
}

/// Writes the values after so many updates, with the time of writing.
fn write(items: &[Stored], update: u64, shared: &Shared, scratch: &mut Vec<u8>) {
    let stamp = Stamp {
        status: StatusCode::Good,
        source: shared.clock.now().utc,
    };
    for item in items {
        let node = shared.space.lasting(item.node);
        let Some(variable) = node.and_then(|node| node.variable()) else {
            continue;
        };
        match &variable.source {
            Source::Scalar(scalar) if item.motion.is_number() => {
                let bits = item.motion.signal().bits(update);
                scalar.set(bits, stamp);
                if let Some(ring) = &item.history {
                    ring.keep(Past::Bits(scalar.kind(), bits), stamp, stamp.source);
                }
            }
            source => {
                scratch.clear();
                item.motion.encode(update, &item.namespaces, scratch);
                if let Ok(value) = RawVariant::parse(scratch) {
                    source.set(&value, stamp);
                }
                if let Some(ring) = &item.history {
                    let encoded = Past::Encoded(Arc::from(scratch.as_slice()));
                    ring.keep(encoded, stamp, stamp.source);
                }
            }
        }
    }
    shared.counters.updates.add(items.len() as u64);
}
