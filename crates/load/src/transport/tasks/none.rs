//! Where sockets of the system cannot be put in a poll as they are: each task has a thread, and calls block it.

use std::io;

use wire::time::Instant;

use super::{Task, TaskResults, Watcher, blocking};

/// What tasks of a thread would wait by: there is none.
#[derive(Debug)]
pub enum Reactor {}

/// Nobody helps: calls block the thread of their task alone.
#[derive(Debug, Default)]
pub struct Helpers;

/// Does what these tasks have to do, which should be one, on this thread.
pub fn run<T>(tasks: Vec<Task<'_, T>>, _: &Helpers) -> io::Result<TaskResults<T>> {
    let done = tasks.into_iter().map(blocking).collect();
    Ok(TaskResults { done, waited_ns: 0 })
}

impl Reactor {
    /// Waits.
    pub async fn wait(&self, _: Instant) {
        match *self {}
    }

    /// The task whose turn it is.
    pub fn watcher(&self) -> Watcher {
        match *self {}
    }

    /// From now on this task is woken when the socket may be read from or written to.
    pub fn watch<S>(&self, _: &S) -> io::Result<()> {
        match *self {}
    }

    /// Nobody else waits for a turn.
    pub fn is_alone(&self) -> bool {
        match *self {}
    }

    /// Has a helper do it.
    pub fn submit(&self, _: impl FnOnce() + Send + 'static) {
        match *self {}
    }
}
