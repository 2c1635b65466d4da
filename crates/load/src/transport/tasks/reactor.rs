//! What the tasks of a thread wait by: sockets in a poll, a moment, what helpers have done.

use std::cell::Cell;
use std::fmt;
use std::future::poll_fn;
use std::io::{self, ErrorKind};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::task::Poll;

use mio::unix::SourceFd;
use mio::{Interest, Registry, Token};
use wire::time::Instant;

use super::{Helpers, NEVER, Watcher};

/// What the tasks of a thread wait by.
pub struct Reactor {
    id: u64,
    registry: Registry,
    helpers: Arc<Helpers>,
    post: Sender<usize>,
    waker: Arc<mio::Waker>,
    /// The task whose turn it is.
    task: Cell<usize>,
    /// When it is to have the next one, whatever happens.
    until: Cell<Instant>,
    /// Tasks that are not over.
    left: Cell<usize>,
}

impl Reactor {
    pub(super) fn new(
        registry: Registry,
        helpers: Arc<Helpers>,
        post: Sender<usize>,
        waker: Arc<mio::Waker>,
    ) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            registry,
            helpers,
            post,
            waker,
            task: Cell::new(0),
            until: Cell::new(NEVER),
            left: Cell::new(0),
        }
    }

    /// It is this task's turn, of so many.
    pub(super) fn turn(&self, task: usize, left: usize) {
        self.task.set(task);
        self.left.set(left);
        self.until.set(NEVER);
    }

    /// Nobody else waits for a turn.
    pub fn is_alone(&self) -> bool {
        self.left.get() == 1
    }

    /// When the task that had its turn wants the next one.
    pub(super) fn until(&self) -> Instant {
        self.until.get()
    }

    /// Others have their turn until something happens for this task, or until then. It may have been nothing.
    pub async fn wait(&self, until: Instant) {
        let mut waited = false;
        poll_fn(|_| {
            if std::mem::replace(&mut waited, true) {
                return Poll::Ready(());
            }
            self.until.set(until);
            Poll::Pending
        })
        .await;
    }

    /// The task whose turn it is.
    pub fn watcher(&self) -> Watcher {
        (self.id, self.task.get())
    }

    /// From now on this task is woken when the socket may be read from or written to.
    pub fn watch(&self, socket: &impl AsRawFd) -> io::Result<()> {
        let fd = socket.as_raw_fd();
        let (token, both) = (
            Token(self.task.get()),
            Interest::READABLE | Interest::WRITABLE,
        );
        match self.registry.register(&mut SourceFd(&fd), token, both) {
            // It woke another task, or this one.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                self.registry.reregister(&mut SourceFd(&fd), token, both)
            }
            result => result,
        }
    }

    /// The task whose turn it is is woken once a helper has done this.
    pub fn submit(&self, job: impl FnOnce() + Send + 'static) {
        let (post, waker, task) = (self.post.clone(), Arc::clone(&self.waker), self.task.get());
        self.helpers.submit(move || {
            job();
            if post.send(task).is_ok() {
                // Tasks that cannot be woken have ended.
                let _ = waker.wake();
            }
        });
    }
}

impl fmt::Debug for Reactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Reactor").field(&self.id).finish()
    }
}
