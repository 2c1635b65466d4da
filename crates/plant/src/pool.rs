//! A few threads for what takes milliseconds: RSA, passwords, files.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

type Work = Box<dyn FnOnce() + Send>;

#[derive(Default)]
struct Queue {
    waiting: VecDeque<Work>,
    /// What only some of the threads do, and only when nothing else waits.
    for_others: VecDeque<Work>,
    closed: bool,
}

impl Queue {
    fn next(&mut self, for_others: bool) -> Option<Work> {
        match self.waiting.pop_front() {
            None if for_others => self.for_others.pop_front(),
            next => next,
        }
    }
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

    fn submit(&self, work: Work) {
        self.lock().waiting.push_back(work);
        self.more.notify_one();
    }

    fn submit_for_others(&self, work: Work) {
        self.lock().for_others.push_back(work);
        // The one that is woken may be none of those that do it.
        self.more.notify_all();
    }

    fn close(&self) {
        let mut queue = self.lock();
        queue.closed = true;
        queue.waiting.clear();
        queue.for_others.clear();
        self.more.notify_all();
    }
}

/// Where work is handed in; cheap to copy.
///
/// The number of threads is bounded. What waits is bounded by the connections: each has at most
/// one step of its channel and one of its sessions under way, and what is left of one long request.
#[derive(Clone)]
pub struct Pool {
    work: Arc<Inner>,
    /// What waits for others, for seconds maybe, has threads of its own.
    waits: Arc<Inner>,
}

/// Threads at most for what takes milliseconds.
pub const HELPERS: usize = 2;
/// Threads that wait for an authority to answer.
const WAITING: usize = 16;
/// Of these so many may wait on behalf of others, who have their certificates checked here. The rest is for who wants in.
const FOR_OTHERS: usize = 8;

impl Pool {
    /// Starts the threads; each begins with `begin`.
    ///
    /// With `waits` there are threads for what waits, too. Nobody waits for these when it ends: they end with what they
    /// wait for.
    pub fn start(
        threads: usize,
        waits: bool,
        begin: impl Fn() + Clone + Send + 'static,
    ) -> std::io::Result<(Self, Vec<JoinHandle<()>>)> {
        let pool = Self::without_threads();
        let spawn = |name: String, inner: &Arc<Inner>, for_others: bool| {
            let (inner, begin) = (Arc::clone(inner), begin.clone());
            std::thread::Builder::new().name(name).spawn(move || {
                begin();
                work(&inner, for_others);
            })
        };
        let mut handles = Vec::new();
        for n in 0..threads.max(1) {
            handles.push(spawn(format!("plant-helper-{n}"), &pool.work, false)?);
        }
        for n in 0..if waits { WAITING } else { 0 } {
            spawn(format!("plant-asker-{n}"), &pool.waits, n < FOR_OTHERS)?;
        }
        Ok((pool, handles))
    }

    /// One without threads: whoever has it does the work [himself](Self::do_one).
    pub fn without_threads() -> Self {
        Self {
            work: Arc::default(),
            waits: Arc::default(),
        }
    }

    /// Does what waits longest. Whether there was anything.
    pub fn do_one(&self) -> bool {
        let next = self.work.lock().waiting.pop_front();
        let next = next.or_else(|| self.waits.lock().next(true));
        next.is_some_and(|work| {
            work();
            true
        })
    }

    /// Hands work in.
    pub fn submit(&self, work: impl FnOnce() + Send + 'static) {
        self.work.submit(Box::new(work));
    }

    /// Has something forgotten, before anything else is begun: what is given back takes the place of what comes next.
    pub fn forget(&self, what: impl Send + 'static) {
        self.work
            .lock()
            .waiting
            .push_front(Box::new(move || drop(what)));
        self.work.more.notify_one();
    }

    /// Hands in what waits for others and costs little itself.
    pub fn wait_for(&self, work: impl FnOnce() + Send + 'static) {
        self.waits.submit(Box::new(work));
    }

    /// The same on behalf of others: it may take long, and leaves threads for those who want in.
    pub fn wait_for_others(&self, work: impl FnOnce() + Send + 'static) {
        self.waits.submit_for_others(Box::new(work));
    }

    /// Lets the threads end after what they do now.
    pub fn close(&self) {
        self.work.close();
        self.waits.close();
    }
}

fn work(inner: &Inner, for_others: bool) {
    loop {
        let mut queue = inner.lock();
        let work = loop {
            if queue.closed {
                return;
            }
            match queue.next(for_others) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;
    use std::time::Duration;

    #[test]
    fn checks_for_others_leave_threads_for_who_wants_in() {
        let (pool, _) = Pool::start(1, true, || ()).unwrap();
        let (begun, begins) = mpsc::channel();
        let (end, ended) = mpsc::channel::<()>();
        let ended = Arc::new(Mutex::new(ended));
        for _ in 0..2 * WAITING {
            let (begun, ended) = (begun.clone(), Arc::clone(&ended));
            pool.wait_for_others(move || {
                begun.send("others").unwrap();
                let _ = ended.lock().unwrap().recv();
            });
        }
        let patience = Duration::from_secs(60);
        for _ in 0..FOR_OTHERS {
            assert_eq!(begins.recv_timeout(patience), Ok("others"));
        }
        pool.wait_for(move || begun.send("login").unwrap());
        assert_eq!(begins.recv_timeout(patience), Ok("login"));
        pool.close();
        drop(end);
    }
}
