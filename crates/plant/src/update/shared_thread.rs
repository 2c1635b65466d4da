//! One thread for the update loops of many servers: what is due first is done first.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Does something, and says after what time it is due again.
type Work = Box<dyn FnMut() -> Duration + Send>;

/// What has to be done, and whether that is over.
struct Job {
    work: Work,
    over: Arc<Mutex<bool>>,
}

#[derive(Default)]
struct Queue {
    arrived: Vec<(Instant, Job)>,
    over: bool,
}

#[derive(Default)]
struct Inner {
    queue: Mutex<Queue>,
    changed: Condvar,
}

impl Inner {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        // Nothing is left half done in the queue by a thread that panics.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A thread that has work of many.
pub struct SharedThread {
    inner: Arc<Inner>,
    thread: Option<JoinHandle<()>>,
}

/// Ends what one of them has to do.
pub struct Stop(Arc<Mutex<bool>>);

impl Stop {
    /// It is not done any more from here on.
    pub fn now(self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
    }
}

impl SharedThread {
    /// Starts the thread.
    pub fn start(name: &str) -> io::Result<Self> {
        let inner = Arc::<Inner>::default();
        let own = Arc::clone(&inner);
        let thread = std::thread::Builder::new().name(name.to_owned());
        let thread = thread.spawn(move || run(&own))?;
        Ok(Self {
            inner,
            thread: Some(thread),
        })
    }

    /// Takes work that is due after this time.
    pub fn take(&self, due_in: Duration, work: Work) -> Stop {
        let over = Arc::new(Mutex::new(false));
        let job = Job {
            work,
            over: Arc::clone(&over),
        };
        self.inner
            .lock()
            .arrived
            .push((Instant::now() + due_in, job));
        self.inner.changed.notify_one();
        Stop(over)
    }
}

impl Drop for SharedThread {
    fn drop(&mut self) {
        self.inner.lock().over = true;
        self.inner.changed.notify_one();
        if let Some(thread) = self.thread.take() {
            // One that panicked has nothing left to stop.
            let _ = thread.join();
        }
    }
}

fn run(inner: &Inner) {
    let mut jobs: Vec<Option<Job>> = Vec::new();
    let mut free = Vec::new();
    let mut due = BinaryHeap::new();
    loop {
        let mut queue = inner.lock();
        for (at, job) in queue.arrived.drain(..) {
            let n = free.pop().unwrap_or_else(|| {
                jobs.push(None);
                jobs.len() - 1
            });
            if let Some(place) = jobs.get_mut(n) {
                *place = Some(job);
            }
            due.push(Reverse((at, n)));
        }
        if queue.over {
            return;
        }
        let first = due.peek().map(|Reverse((at, _))| *at);
        let left = first.map(|at| at.saturating_duration_since(Instant::now()));
        match left {
            Some(left) if left.is_zero() => drop(queue),
            Some(left) => {
                drop(inner.changed.wait_timeout(queue, left));
                continue;
            }
            None => {
                drop(inner.changed.wait(queue));
                continue;
            }
        }
        let Some(Reverse((_, n))) = due.pop() else {
            continue;
        };
        match jobs
            .get_mut(n)
            .and_then(|place| place.as_mut())
            .and_then(done)
        {
            Some(again) => due.push(Reverse((Instant::now() + again, n))),
            None => {
                if let Some(place) = jobs.get_mut(n) {
                    *place = None;
                }
                free.push(n);
            }
        }
    }
}

/// Does one; when it is due again, if it is not over.
fn done(job: &mut Job) -> Option<Duration> {
    // Whoever ends it waits until it is done, so that nothing is counted behind that.
    let over = job.over.lock().unwrap_or_else(PoisonError::into_inner);
    match *over {
        true => None,
        false => Some((job.work)()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[test]
    fn what_is_stopped_is_not_done_again_and_others_go_on() {
        let thread = SharedThread::start("test").unwrap();
        let counts: [Arc<AtomicU32>; 2] = Default::default();
        let take = |count: &Arc<AtomicU32>| {
            let count = Arc::clone(count);
            let work = move || {
                count.fetch_add(1, Ordering::Relaxed);
                Duration::from_millis(1)
            };
            thread.take(Duration::ZERO, Box::new(work))
        };
        let read = |n: usize| counts[n].load(Ordering::Relaxed);
        let until = |n: usize, least: u32| {
            while read(n) < least {
                std::thread::sleep(Duration::from_millis(1));
            }
        };
        let first = take(&counts[0]);
        let _second = take(&counts[1]);
        until(0, 3);
        first.now();
        let stopped = read(0);
        until(1, read(1) + 5);
        assert_eq!(read(0), stopped);
        // The place of the first is free for another.
        let third = take(&counts[0]);
        until(0, stopped + 2);
        third.now();
    }
}
