//! What a loop needs of the machine that it runs on. Everything else about it is arithmetic, so that
//! a loop can be played in virtual time too.

use std::io;

use wire::client::{Connection, Done};
use wire::job::Job;
use wire::time::{Instant, Now};
use wire::types::NodeId;

use super::subscriber::RecoveryPath;
use crate::transport::ReadOutcome;
use crate::work::{Asker, Requests};

/// A clock, sockets, somebody who wakes up, and somebody who does what takes long.
pub trait Host {
    /// A connected socket that never blocks.
    type Socket;

    /// Monotonic time.
    fn mono(&self) -> Instant;

    /// Both clocks.
    fn now(&self) -> Now;

    /// What this thread has had of a processor, in nanoseconds, where that is known.
    fn cpu(&self) -> Option<u64> {
        None
    }

    /// Comes back at this moment, as exactly as it can.
    fn sleep_until(&mut self, at: Instant);

    /// From now on this socket rings for this seat.
    fn register(&mut self, seat: usize, socket: &mut Self::Socket) -> io::Result<()>;

    /// It rings no more.
    fn deregister(&mut self, socket: &mut Self::Socket);

    /// Reads once.
    fn read(&mut self, socket: &mut Self::Socket, into: &mut [u8]) -> io::Result<ReadOutcome>;

    /// Writes what the socket takes.
    fn write(&mut self, socket: &mut Self::Socket, bytes: &[u8]) -> io::Result<usize>;

    /// Has the socket ring only for so many bytes. Tells whether it can.
    fn low_water(&mut self, socket: &Self::Socket, bytes: usize) -> bool;

    /// Has reads of the socket tell when bytes came in. Tells whether they can.
    fn stamp(&mut self, socket: &mut Self::Socket) -> bool;

    /// Comes back when a socket rings or there is mail, at `until` at the latest. Adds the seats
    /// for which it rang, and tells whether there is mail. Without `until`, it does not wait.
    fn wait(
        &mut self,
        until: Option<Instant>,
        now: Instant,
        ready: &mut Vec<ReadySocket>,
    ) -> io::Result<bool>;

    /// Has something done that takes long; what comes of it is in the mail later.
    fn submit(&mut self, task: SlowTask);

    /// What has come.
    fn mail(&mut self) -> Option<Mail<Self::Socket>>;
}

/// A socket that rang.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadySocket {
    /// Whose.
    pub seat: usize,
    /// There may be something to read.
    pub readable: bool,
    /// It may take something.
    pub writable: bool,
}

/// Something that takes long.
pub enum SlowTask {
    /// A step of the channel of this seat.
    Job(usize, Job<Done>),
    /// The session of this seat is to be opened again; it is this one of all sessions.
    Reopen(usize, usize),
}

/// What a loop is told.
pub enum Mail<S> {
    /// An expensive step of the channel of this seat is done.
    Job(usize, Done),
    /// The session of this seat is back, or is not.
    Reopened(usize, Result<Box<Reopened<S>>, String>),
}

/// A session that was opened again.
pub struct Reopened<S> {
    /// Its socket.
    pub socket: S,
    /// Its connection.
    pub connection: Connection,
    /// Its token.
    pub token: NodeId,
    /// What it asks.
    pub askers: Vec<Asker>,
    /// What it subscribes to.
    pub requests: Option<Requests>,
    /// Whether it is the same session.
    pub came: RecoveryPath,
}
