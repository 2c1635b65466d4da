//! What a loop writes down of requests, whichever way they are answered: that one has come, how often each service was asked
//! for and how long it took, and how much work that was, for the connection that is looked at in this turn and in all.
//!
//! Nothing else counts for the loop. What is counted for sessions is with [`Account`](super::Account).

use std::sync::Arc;
use std::time::Duration;

use wire::time::Instant;

use super::link::Link;
use crate::clock::Clock;
use crate::fault::{Class, Faults, Turn};
use crate::internals::{LoopWork, Measuring, Task};

/// A request that is being answered, and since when, if that is to be known.
#[derive(Debug)]
#[must_use = "what began is written down when it ends"]
pub struct Entry {
    begun: Option<Instant>,
}

/// What a loop counts of its work.
#[derive(Debug)]
pub struct WorkRecorder {
    measuring: Measuring,
    /// Requests since faults made the loop slower for the last time.
    came: Turn,
    /// How many turns there were, this one too.
    turns: u64,
    /// Work that was done in this turn for the connection that is looked at.
    worked: usize,
    /// Work that was done in pieces, all of it.
    spent: usize,
}

impl WorkRecorder {
    /// Of a loop that counts there.
    pub fn new(work: Arc<LoopWork>) -> Self {
        Self {
            measuring: Measuring::new(work),
            came: Turn::default(),
            turns: 1,
            worked: 0,
            spent: 0,
        }
    }

    /// A request has come, of a type that faults may make the loop slower for.
    #[inline]
    pub fn came(&mut self, type_id: u32, faults: &Faults) {
        if faults.want(Class::Turn) {
            self.came.add(type_id);
        }
    }

    /// What came since this was made empty, for who makes the loop slower.
    pub fn came_lately(&mut self) -> &mut Turn {
        &mut self.came
    }

    /// Begins to answer a request. Of those that come by the million it is known of some how long they take.
    #[inline]
    pub fn begin(&mut self, frequent: bool, clock: &Clock) -> Entry {
        let timed = !frequent || self.measuring.is_next();
        Entry {
            begun: timed.then(|| clock.now().mono),
        }
    }

    /// A request that was decoded first began then.
    pub fn begun(at: Instant) -> Entry {
        Entry { begun: Some(at) }
    }

    /// It is answered, or kept to be answered later, and was so much work.
    #[inline]
    pub fn end(&mut self, entry: Entry, task: Task, work: usize, clock: &Clock) {
        self.add(work);
        let done = &self.measuring.work;
        done.did(task);
        if let Some(begun) = entry.begun {
            done.took(task, clock.now().mono.since(begun));
        }
    }

    /// Something was done beside requests, or for one that began before.
    pub fn did(&self, task: Task, took: Duration) {
        let done = &self.measuring.work;
        done.did(task);
        done.took(task, took);
    }

    /// So much was done for the connection that is looked at.
    #[inline]
    pub fn add(&mut self, work: usize) {
        self.worked += work;
        self.spent += work;
    }

    /// This connection is looked at: what was done for it in this turn before counts. Tells how much that was.
    #[inline]
    pub fn look_at(&mut self, link: &Link) -> usize {
        self.worked = link.here.worked(self.turns);
        self.worked
    }

    /// What was done for this connection counts when it is looked at once more.
    #[inline]
    pub fn leave(&self, link: &mut Link) {
        link.here.has_worked(self.turns, self.worked);
    }

    /// Work that was done in this turn for the connection that is looked at.
    #[inline]
    pub fn worked(&self) -> usize {
        self.worked
    }

    /// All work so far.
    pub fn spent(&self) -> usize {
        self.spent
    }

    /// So many requests were taken in a row.
    pub fn took(&mut self, requests: u64) {
        self.measuring.requests += requests;
    }

    /// Whether this turn finds nothing to do, in a loop that does not sleep.
    pub fn is_idle(&mut self, idle: bool) {
        self.measuring.is_idle = idle;
    }

    /// Where subscriptions count what waits for them.
    pub fn work(&self) -> &LoopWork {
        &self.measuring.work
    }

    /// A turn is over, which took so long.
    pub fn end_turn(&mut self, took: Duration) {
        self.turns += 1;
        self.measuring.end_turn(took);
    }
}
