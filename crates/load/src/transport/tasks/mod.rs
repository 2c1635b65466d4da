//! Many connections on one thread: each is driven by a task, and others have their turn while it waits.
//!
//! What a link does is written once, in `async` functions. [`blocking`] calls one on a thread that waits for it, in
//! system calls as ever. Among the tasks of `run` the same function waits in a poll that all of them share. Which of
//! both it is, the few functions that wait find out by [`reactor`]; nobody above them has to know.

#[cfg(target_os = "linux")]
mod executor;
#[cfg(target_os = "linux")]
mod helpers;
#[cfg(not(target_os = "linux"))]
mod none;
#[cfg(target_os = "linux")]
mod reactor;

use std::cell::RefCell;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use wire::time::Instant;

use super::Clock;
#[cfg(not(target_os = "linux"))]
pub use none::{Helpers, Reactor, run};
#[cfg(target_os = "linux")]
pub use {executor::run, helpers::Helpers, reactor::Reactor};

/// Whether the tasks of a thread share it; else each has a thread for itself.
pub const SHARE: bool = cfg!(target_os = "linux");

/// Something to be done, with waits in it.
pub type Task<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

/// What came of the tasks of a thread.
#[derive(Debug)]
pub struct TaskResults<T> {
    /// What each came to, in their order.
    pub done: Vec<T>,
    /// Nanoseconds in which none of them had anything to do.
    pub waited_ns: u64,
}

/// A task of a reactor that is woken for a socket.
pub type Watcher = (u64, usize);

/// Something that never happens by itself.
pub(super) const NEVER: Instant = Instant::from_nanos(u64::MAX);

thread_local! {
    /// What the tasks of this thread wait by; none where calls may block it.
    static REACTOR: RefCell<Option<Rc<Reactor>>> = const { RefCell::new(None) };
}

/// What the calling task waits by; none where the call has the thread for itself.
pub(super) fn reactor() -> Option<Rc<Reactor>> {
    REACTOR.with_borrow(Clone::clone)
}

/// Puts another reactor in place, and the one before back when it is dropped.
struct Placed(Option<Rc<Reactor>>);

impl Placed {
    fn new(reactor: Option<Rc<Reactor>>) -> Self {
        Self(REACTOR.replace(reactor))
    }
}

impl Drop for Placed {
    fn drop(&mut self) {
        REACTOR.set(self.0.take());
    }
}

/// Does it on this thread, which waits where it waits.
pub fn blocking<T>(does: impl Future<Output = T>) -> T {
    let _placed = Placed::new(None);
    let mut does = pin!(does);
    let mut context = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(done) = does.as_mut().poll(&mut context) {
            return done;
        }
        // Without a reactor waits are in the system, and a poll ends with the last of them.
        std::thread::yield_now();
    }
}

/// Comes back at this moment.
pub async fn sleep_until(at: Instant) {
    let clock = Clock::new();
    match reactor() {
        None => std::thread::sleep(at.since(clock.mono())),
        Some(reactor) => {
            while clock.mono() < at {
                reactor.wait(at).await;
            }
        }
    }
}

/// Has something done that takes a processor or blocks: by a helper, if others have their turn meanwhile.
pub async fn aside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let Some(reactor) = reactor().filter(|it| !it.is_alone()) else {
        return work();
    };
    let place = Arc::new(Mutex::new(None));
    let theirs = Arc::clone(&place);
    reactor.submit(move || {
        let done = work();
        if let Ok(mut place) = theirs.lock() {
            *place = Some(done);
        }
    });
    loop {
        if let Some(done) = place.lock().ok().and_then(|mut place| place.take()) {
            return done;
        }
        reactor.wait(NEVER).await;
    }
}
