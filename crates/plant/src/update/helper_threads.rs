//! Threads that wait for each other: for the time, for work, for its end.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Numbers and flags: nothing is left half done by a thread that panics.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Ends a wait before its time.
#[derive(Debug, Default)]
pub struct Bell {
    rung: Mutex<bool>,
    rings: Condvar,
}

impl Bell {
    /// Waits. True as soon as the bell rings, or if it did before.
    pub fn wait(&self, time: Duration) -> bool {
        let end = Instant::now() + time;
        let mut rung = lock(&self.rung);
        while !*rung {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            let woken = self.rings.wait_timeout(rung, left);
            rung = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }

    /// Ends all waits, those to come too.
    pub fn ring(&self) {
        *lock(&self.rung) = true;
        self.rings.notify_all();
    }
}

/// Threads that help with each pass.
#[derive(Debug)]
pub struct HelperThreads {
    helpers: usize,
    work: Mutex<Work>,
    begin: Condvar,
    end: Condvar,
}

#[derive(Debug, Default)]
struct Work {
    pass: u64,
    update: u64,
    busy: usize,
    over: bool,
}

impl HelperThreads {
    /// So many threads with the one that leads them.
    pub fn new(threads: usize) -> Self {
        Self {
            helpers: threads.saturating_sub(1),
            work: Mutex::default(),
            begin: Condvar::new(),
            end: Condvar::new(),
        }
    }

    /// Lets all helpers do their share of an update.
    pub fn begin(&self, update: u64) {
        if self.helpers == 0 {
            return;
        }
        let mut work = lock(&self.work);
        work.pass += 1;
        work.update = update;
        work.busy = self.helpers;
        self.begin.notify_all();
    }

    /// Until all helpers are done.
    pub fn wait(&self) {
        let mut work = lock(&self.work);
        while work.busy > 0 && !work.over {
            work = self.end.wait(work).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// A helper waits for the pass after `seen`. None when there will be no more.
    pub fn next(&self, seen: &mut u64) -> Option<u64> {
        let mut work = lock(&self.work);
        while work.pass == *seen && !work.over {
            work = self
                .begin
                .wait(work)
                .unwrap_or_else(PoisonError::into_inner);
        }
        *seen = work.pass;
        (!work.over).then_some(work.update)
    }

    /// A helper is done.
    pub fn finished(&self) {
        let mut work = lock(&self.work);
        work.busy = work.busy.saturating_sub(1);
        if work.busy == 0 {
            self.end.notify_one();
        }
    }

    /// There will be no more passes.
    pub fn dismiss(&self) {
        lock(&self.work).over = true;
        self.begin.notify_all();
        self.end.notify_all();
    }
}
