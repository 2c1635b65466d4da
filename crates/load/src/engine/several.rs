//! Work that waits, such as calls of sessions, done by tasks: they are dealt out to threads, which they share.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::Thread;
use std::time::Duration;

use super::control::Control;
use super::error::{Failed, RunError};
use super::spent::Spent;
use crate::transport::tasks::{self, Helpers, SHARE, Task};

/// What the tasks of a thread did, in their order.
pub struct Done<T> {
    pub each: Vec<T>,
    /// Nanoseconds in which it had nothing to do.
    pub idle_ns: u64,
    pub spent: Spent,
}

/// How often `meanwhile` is called.
const MEANWHILE: Duration = Duration::from_millis(20);

/// Has a task do it for each of these, on so many threads, or each on its own where tasks share none. The calling thread
/// looks after other things meanwhile.
pub fn in_tasks<T: Send, U: Send, F: Future<Output = U>>(
    all: Vec<T>,
    threads: usize,
    does: impl Fn(T) -> F + Sync,
    meanwhile: impl FnMut(),
) -> Result<Vec<Done<U>>, RunError> {
    let most = all.len().max(1);
    let threads = if SHARE { threads.clamp(1, most) } else { most };
    let mut shares: Vec<Vec<T>> = (0..threads).map(|_| Vec::new()).collect();
    for (n, one) in all.into_iter().enumerate() {
        if let Some(share) = shares.get_mut(n % threads) {
            share.push(one);
        }
    }
    let helpers = Arc::new(Helpers::default());
    on_threads(shares, meanwhile, |share| {
        let spent = Spent::so_far();
        let tasks = share
            .into_iter()
            .map(|one| -> Task<'_, U> { Box::pin(does(one)) });
        let ran = tasks::run(tasks.collect(), &helpers)?;
        Ok(Done {
            each: ran.done,
            idle_ns: ran.waited_ns,
            spent: Spent::so_far().since(&spent),
        })
    })
}

/// A thread for each share.
fn on_threads<T: Send, U: Send>(
    shares: Vec<T>,
    mut meanwhile: impl FnMut(),
    does: impl Fn(T) -> Result<U, RunError> + Sync,
) -> Result<Vec<U>, RunError> {
    let left = AtomicUsize::new(shares.len());
    let (left, does) = (&left, &does);
    let caller = std::thread::current();
    std::thread::scope(|scope| {
        let mut threads = Vec::new();
        for (n, share) in shares.into_iter().enumerate() {
            let thread = std::thread::Builder::new().name(format!("load-{n}"));
            let over = Over(left, caller.clone());
            threads.push(thread.spawn_scoped(scope, move || {
                let _over = over;
                does(share)
            })?);
        }
        while left.load(Ordering::Acquire) > 0 {
            meanwhile();
            std::thread::park_timeout(MEANWHILE);
        }
        let ended = threads
            .into_iter()
            .map(|it| it.join().map_err(|_| RunError::Thread)?);
        ended.collect()
    })
}

/// Says that a thread is over, however it ends.
struct Over<'a>(&'a AtomicUsize, Thread);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
        self.1.unpark();
    }
}

/// Does it for all of them, so many at a time, until somebody stops it. Gives those for which it
/// went well, in any order, and the others with the reason why not, by seat.
pub fn several<T, U: Send, F: Future<Output = Result<U, Failed>>>(
    all: impl Iterator<Item = T> + Send,
    (at_once, threads): (usize, usize),
    control: &Control,
    does: impl Fn(T) -> F + Sync,
) -> Result<(Vec<U>, Vec<Failed>), RunError> {
    let next = Mutex::new(all);
    let done = Mutex::new((Vec::new(), Vec::new()));
    let (next, done, does) = (&next, &done, &does);
    let work = |()| async move {
        loop {
            let one = next.lock().ok().and_then(|mut next| next.next());
            let Some(one) = one.filter(|_| !control.is_over()) else {
                return;
            };
            let came = does(one).await;
            if let Ok(mut done) = done.lock() {
                match came {
                    Ok(it) => done.0.push(it),
                    Err(failed) => done.1.push(failed),
                }
            }
        }
    };
    in_tasks(vec![(); at_once], threads, work, || {})?;
    let mut done = done.lock().map_err(|_| RunError::Thread)?;
    let (there, mut failed) = std::mem::take(&mut *done);
    failed.sort_by_key(|it| it.seat);
    Ok((there, failed))
}
