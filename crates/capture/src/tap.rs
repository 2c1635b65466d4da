//! A connection that is recorded: what its owner writes and reads is handed to the recorder.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::conversation::{Ends, Numbers, Side};
use crate::queue::{Event, Queue};

/// A connection of ours that is recorded. Dropping it is its end.
pub struct Tap {
    queue: Arc<Queue>,
    ends: Ends,
    ours: Side,
    next: Numbers,
    /// The other side said that nothing more comes.
    left: bool,
}

impl Tap {
    pub(crate) fn new(queue: Arc<Queue>, own: SocketAddr, peer: SocketAddr, ours: Side) -> Self {
        let ends = match ours {
            Side::Client => Ends {
                client: own,
                server: peer,
            },
            Side::Server => Ends {
                client: peer,
                server: own,
            },
        };
        let first = Numbers::first(queue.number());
        queue.send(Event::Opened {
            at: now(),
            ends,
            first,
        });
        Self {
            queue,
            ends,
            ours,
            next: first.opened(),
            left: false,
        }
    }

    /// The socket took these bytes.
    pub fn sent(&mut self, bytes: &[u8]) {
        self.carried(self.ours, bytes);
    }

    /// The socket gave these bytes; none says that nothing more comes.
    pub fn received(&mut self, bytes: &[u8]) {
        self.left |= bytes.is_empty();
        self.carried(self.ours.other(), bytes);
    }

    fn carried(&mut self, from: Side, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        self.queue.carried(bytes.len(), || Event::Carried {
            at: now(),
            ends: self.ends,
            from,
            next: self.next,
            bytes: bytes.into(),
        });
        // What is dropped has numbers too: a reader sees the gap.
        self.next = self.next.after(from, bytes.len());
    }
}

impl Drop for Tap {
    fn drop(&mut self) {
        self.queue.send(Event::Closed {
            at: now(),
            ends: self.ends,
            first: match self.left {
                true => self.ours.other(),
                false => self.ours,
            },
            next: self.next,
        });
    }
}

impl fmt::Debug for Tap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tap")
            .field("ends", &self.ends)
            .finish_non_exhaustive()
    }
}

/// Nanoseconds since 1970.
fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |it| u64::try_from(it.as_nanos()).unwrap_or(u64::MAX))
}
