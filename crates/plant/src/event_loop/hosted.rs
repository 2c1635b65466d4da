//! A loop whose thread has others, too: it takes a turn when something happened to it or is due, with memory that the
//! thread lends to one after the other.

use std::io::ErrorKind;
use std::mem::swap;
use std::time::Duration;

use mio::Events;

use super::{EventLoop, READ};

/// What happened to one loop and is looked at in a turn.
const EVENTS: usize = 256;

/// What a thread lends to the loops that it runs.
#[derive(Debug)]
pub struct Desk {
    events: Events,
    scratch: Vec<u8>,
    spare: Vec<u8>,
    body: Vec<u8>,
}

impl Default for Desk {
    fn default() -> Self {
        Self {
            events: Events::with_capacity(EVENTS),
            scratch: vec![0; READ],
            spare: Vec::new(),
            body: Vec::new(),
        }
    }
}

/// When a loop wants its next turn, if nothing happens before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// After this time.
    In(Duration),
    /// Not by itself.
    Idle,
    /// Never: its server has stopped, or has no poll any more.
    Over,
}

impl EventLoop {
    /// Whether it has no thread of its own.
    pub(super) fn is_hosted(&self) -> bool {
        self.alarm.is_none() && !self.shared.clock.is_by_hand()
    }

    /// A turn.
    pub fn turn_at(&mut self, desk: &mut Desk) -> Next {
        if let Some(until) = self.still {
            let left = until.since(self.shared.clock.now().mono);
            if !left.is_zero() && !self.shared.status.is_over() {
                return Next::In(left);
            }
            self.still = None;
        }
        self.borrow(desk);
        let mut events = std::mem::replace(&mut desk.events, Events::with_capacity(0));
        let polled = self.poll.poll(&mut events, Some(Duration::ZERO));
        let full = events.iter().count() >= EVENTS;
        let next = match polled {
            Ok(()) => {
                self.take_turn(&events);
                self.next(full)
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => Next::In(Duration::ZERO),
            Err(_) => Next::Over,
        };
        desk.events = events;
        self.borrow(desk);
        next
    }

    /// Takes what the thread lends; the second time gives it back.
    fn borrow(&mut self, desk: &mut Desk) {
        swap(&mut self.scratch, &mut desk.scratch);
        swap(&mut self.spare, &mut desk.spare);
        swap(&mut self.body, &mut desk.body);
    }

    fn next(&mut self, full: bool) -> Next {
        if self.stopping {
            return Next::Over;
        }
        let now = self.shared.clock.now().mono;
        match self.still {
            Some(until) => Next::In(until.since(now)),
            None if full => Next::In(Duration::ZERO),
            None => self.sleep().map_or(Next::Idle, Next::In),
        }
    }
}

#[cfg(unix)]
impl std::os::fd::AsRawFd for EventLoop {
    /// Its poll, for the poll of the thread.
    fn as_raw_fd(&self) -> std::os::fd::RawFd {
        self.poll.as_raw_fd()
    }
}
