//! What a loop has that accepts connections.

use std::net::SocketAddr;
use std::time::Duration;

use mio::net::TcpListener;
use wire::time::Instant;

/// Those without a session are looked for no sooner than that again.
const MAKE_ROOM_AGAIN: Duration = Duration::from_millis(20);

/// The acceptor's part of a loop; others have it empty.
#[derive(Debug, Default)]
pub struct Acceptor {
    /// It has no sessions, but leads to the loops that have.
    pub leads: bool,
    /// Where clients come.
    pub listener: Option<TcpListener>,
    /// Where it listens again after a fault took the server away, and when.
    pub away: Option<(SocketAddr, Instant)>,
    /// A descriptor kept for when there are no others.
    reserve: Option<std::fs::File>,
    /// When connections without a session were looked for, to make room.
    made_room: Option<Instant>,
}

impl Acceptor {
    /// Keeps a descriptor that can be done without.
    pub fn keep_reserve(&mut self) {
        self.reserve = std::fs::File::open(platform::file::NOTHING).ok();
    }

    /// There are no descriptors: accepts one with the reserve, and ends it, so that its client is told.
    pub fn accept_and_end(&mut self) {
        if self.reserve.take().is_some() {
            if let Some(listener) = &self.listener {
                drop(listener.accept());
            }
            self.keep_reserve();
        }
    }

    /// Whether it is time to look for connections that may go; then it is not again for a moment.
    pub fn may_make_room(&mut self, now: Instant) -> bool {
        let soon = |at: Instant| now.since(at) < MAKE_ROOM_AGAIN;
        if self.made_room.is_some_and(soon) {
            return false;
        }
        self.made_room = Some(now);
        true
    }
}
