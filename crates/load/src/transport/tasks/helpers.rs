//! Threads that do for tasks what would hold up the others: RSA, judging a certificate, looking up a name.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// So many at the same time: some may wait for an authority.
const MOST: usize = 16;

type Job = Box<dyn FnOnce() + Send>;

/// Threads that are started when there is something to do for them, and end with the last of those who ask.
#[derive(Debug, Default)]
pub struct Helpers(Arc<Shared>);

#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    came: Condvar,
}

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Job>,
    threads: usize,
    idle: usize,
    over: bool,
}

impl Helpers {
    /// Has one of them do it; if the system has no thread for that, it is done at once.
    pub fn submit(&self, job: impl FnOnce() + Send + 'static) {
        let mut queue = self.0.queue();
        queue.jobs.push_back(Box::new(job));
        if queue.jobs.len() > queue.idle && queue.threads < MOST {
            let shared = Arc::clone(&self.0);
            let thread = std::thread::Builder::new().name("load-helper".into());
            match thread.spawn(move || shared.work()) {
                Ok(_) => queue.threads += 1,
                Err(_) if queue.threads == 0 => {
                    let jobs = std::mem::take(&mut queue.jobs);
                    drop(queue);
                    return jobs.into_iter().for_each(|job| job());
                }
                Err(_) => {}
            }
        }
        drop(queue);
        self.0.came.notify_one();
    }
}

impl Drop for Helpers {
    fn drop(&mut self) {
        self.0.queue().over = true;
        self.0.came.notify_all();
    }
}

impl Shared {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self) {
        let mut queue = self.queue();
        loop {
            if let Some(job) = queue.jobs.pop_front() {
                drop(queue);
                job();
                queue = self.queue();
            } else if queue.over {
                return;
            } else {
                queue.idle += 1;
                queue = self
                    .came
                    .wait(queue)
                    .unwrap_or_else(PoisonError::into_inner);
                queue.idle -= 1;
            }
        }
    }
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Helpers")
    }
}
