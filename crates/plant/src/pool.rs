//! A few threads for what takes milliseconds: RSA, passwords, files.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

type Work = Box<dyn FnOnce() + Send>;

#[derive(Default)]
struct Queue {
    waiting: VecDeque<Work>,
    closed: bool,
}

#[derive(Default)]
struct Inner {
    queue: Mutex<Queue>,
    more: Condvar,
}

impl Inner {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        // Nothing is left half done in the queue by a thread that panics.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where work is handed in; cheap to copy.
///
/// The number of threads is bounded. What waits is bounded by the connections: each has at most
/// one step of its channel and one of its sessions under way.
#[derive(Clone)]
pub struct Pool(Arc<Inner>);

impl Pool {
    /// Starts the threads; each begins with `begin`.
    pub fn start(
        threads: usize,
        begin: impl Fn() + Clone + Send + 'static,
    ) -> std::io::Result<(Self, Vec<JoinHandle<()>>)> {
        let pool = Self(Arc::default());
        let mut handles = Vec::new();
        for n in 0..threads.max(1) {
            let (inner, begin) = (Arc::clone(&pool.0), begin.clone());
            let thread = std::thread::Builder::new().name(format!("plant-helper-{n}"));
            handles.push(thread.spawn(move || {
                begin();
                work(&inner);
            })?);
        }
        Ok((pool, handles))
    }

    /// One without threads: whoever has it does the work [himself](Self::do_one).
    pub fn without_threads() -> Self {
        Self(Arc::default())
    }

    /// Does what waits longest. Whether there was anything.
    pub fn do_one(&self) -> bool {
        let next = self.0.lock().waiting.pop_front();
        next.is_some_and(|work| {
            work();
            true
        })
    }

    /// Hands work in.
    pub fn submit(&self, work: impl FnOnce() + Send + 'static) {
        self.0.lock().waiting.push_back(Box::new(work));
        self.0.more.notify_one();
    }

    /// Lets the threads end after what they do now.
    pub fn close(&self) {
        let mut queue = self.0.lock();
        queue.closed = true;
        queue.waiting.clear();
        self.0.more.notify_all();
    }
}

fn work(inner: &Inner) {
    loop {
        let mut queue = inner.lock();
        let work = loop {
            if queue.closed {
                return;
            }
            match queue.waiting.pop_front() {
                Some(work) => break work,
                None => {
                    let woken = inner.more.wait(queue);
                    queue = woken.unwrap_or_else(PoisonError::into_inner);
                }
            }
        };
        drop(queue);
        work();
    }
}
