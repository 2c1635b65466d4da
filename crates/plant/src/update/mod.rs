//! Update loops: threads that write values, as a server does that has them from somewhere.
//!
//! All stored signals with the same interval are written in one pass, which one thread begins at
//! each multiple of the interval on the server's clock and others help with. The time from the
//! first write of a pass to its last is its run span.

mod helper_threads;
pub mod metrics;
mod shared_thread;

pub use shared_thread::SharedThread;

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::Duration;

use wire::template::walk::RawVariant;
use wire::types::StatusCode;

use crate::describe::Stored;
use crate::internals::{Passes, Updating};
use crate::shared::Shared;
use crate::space::history::StoredValue;
use crate::space::{Source, Stamp};
use helper_threads::{Bell, HelperThreads};
use shared_thread::Stop;

/// Values that are written together.
#[derive(Debug)]
pub struct UpdateLoop {
    interval: Duration,
    threads: usize,
    items: Vec<Stored>,
    /// What it came to.
    pub passes: Arc<Passes>,
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

    /// What it does and comes to, for those who tell of it.
    pub fn working(&self) -> Updating {
        Updating {
            interval: self.interval,
            signals: self.items.len(),
            threads: self.threads,
            passes: Arc::clone(&self.passes),
        }
    }
}

/// Update loops that run.
#[derive(Default)]
pub struct Running {
    bell: Arc<Bell>,
    helpers: Vec<Arc<HelperThreads>>,
    threads: Vec<JoinHandle<()>>,
    /// What a thread does that others have work for, too.
    elsewhere: Vec<Stop>,
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
        let helpers = Arc::new(HelperThreads::new(each.threads));
        self.helpers.push(Arc::clone(&helpers));
        let share = each.items.len().div_ceil(each.threads);
        let mut items = each.items;
        // The first share stays with the thread that begins the passes.
        for k in (1..each.threads).rev() {
            let own = items.split_off((k * share).min(items.len()));
            let (helpers, shared) = (Arc::clone(&helpers), Arc::clone(shared));
            let thread = std::thread::Builder::new().name(format!("update-{n}-{k}"));
            self.threads.push(thread.spawn(move || {
                let mut scratch = Vec::new();
                let mut seen = 0;
                while let Some(update) = helpers.next(&mut seen) {
                    write(&own, update, &shared, &mut scratch);
                    helpers.finished();
                }
            })?);
        }
        let bell = Arc::clone(&self.bell);
        let mut turns = Turns::new(
            items,
            each.interval,
            each.passes,
            helpers,
            Arc::clone(shared),
        );
        let thread = std::thread::Builder::new().name(format!("update-{n}-0"));
        self.threads.push(thread.spawn(move || {
            turns.begin();
            while !bell.wait(turns.left()) {
                turns.pass();
            }
        })?);
        Ok(())
    }

    /// Has a thread run them that others have work for, too: each by itself, whatever number of threads it asks for.
    pub fn start_on(
        &mut self,
        thread: &SharedThread,
        loops: Vec<UpdateLoop>,
        shared: &Arc<Shared>,
    ) {
        for each in loops {
            let (helpers, shared) = (Arc::new(HelperThreads::new(1)), Arc::clone(shared));
            let mut turns = Turns::new(each.items, each.interval, each.passes, helpers, shared);
            turns.begin();
            let left = turns.left();
            let work = move || {
                turns.pass();
                turns.left()
            };
            self.elsewhere.push(thread.take(left, Box::new(work)));
        }
    }

    /// The same for something that is done each `interval`.
    pub fn each_on(
        &mut self,
        thread: &SharedThread,
        interval: Duration,
        mut what: impl FnMut() + Send + 'static,
    ) {
        let work = move || {
            what();
            interval
        };
        self.elsewhere.push(thread.take(interval, Box::new(work)));
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
        self.elsewhere.drain(..).for_each(Stop::now);
        for helpers in &self.helpers {
            helpers.dismiss();
        }
        for thread in self.threads.drain(..) {
            // One that panicked has nothing left to stop.
            let _ = thread.join();
        }
    }
}

/// The passes of a loop, for the thread that begins them.
struct Turns {
    items: Vec<Stored>,
    /// In nanoseconds.
    interval: u64,
    passes: Arc<Passes>,
    helpers: Arc<HelperThreads>,
    shared: Arc<Shared>,
    scratch: Vec<u8>,
    /// Updates that are over.
    done: u64,
}

impl Turns {
    fn new(
        items: Vec<Stored>,
        interval: Duration,
        passes: Arc<Passes>,
        helpers: Arc<HelperThreads>,
        shared: Arc<Shared>,
    ) -> Self {
        let interval = u64::try_from(interval.as_nanos()).unwrap_or(u64::MAX);
        Self {
            items,
            interval: interval.max(1),
            passes,
            helpers,
            shared,
            scratch: Vec::new(),
            done: 0,
        }
    }

    fn now(&self) -> u64 {
        self.shared.clock.now().mono.as_nanos()
    }

    /// What was there when the server started is as old as that.
    fn begin(&mut self) {
        self.done = self.now() / self.interval;
        write(&self.items, self.done, &self.shared, &mut self.scratch);
    }

    /// How long until the next one.
    fn left(&self) -> Duration {
        let due = (self.done + 1).saturating_mul(self.interval);
        Duration::from_nanos(due.saturating_sub(self.now()))
    }

    /// A pass, if it is due.
    fn pass(&mut self) {
        let begun = self.now();
        let update = begun / self.interval;
        if update <= self.done {
            return;
        }
        let missed = update - self.done - 1;
        self.passes.missed.fetch_add(missed, Ordering::Relaxed);
        self.done = update;
        self.helpers.begin(update);
        write(&self.items, update, &self.shared, &mut self.scratch);
        self.helpers.wait();
        let end = self.shared.clock.now();
        let span = end.mono.as_nanos() - begun;
        let (passes, late) = (&self.passes, begun - update * self.interval);
        passes.late.store(late, Ordering::Relaxed);
        passes.took(span);
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
                    ring.keep(StoredValue::Bits(scalar.kind(), bits), stamp, stamp.source);
                }
            }
            source => {
                scratch.clear();
                item.motion.encode(update, &item.namespaces, scratch);
                if let Ok(value) = RawVariant::parse(scratch) {
                    source.set(&value, stamp);
                }
                if let Some(ring) = &item.history {
                    let encoded = StoredValue::Encoded(Arc::from(scratch.as_slice()));
                    ring.keep(encoded, stamp, stamp.source);
                }
            }
        }
    }
    shared.counters.updates.add(items.len() as u64);
}
