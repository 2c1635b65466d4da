//! A loop whose thread has others, too: it takes a turn when something happened to it or is due, with memory that the
//! thread lends to one after the other.

use std::io::ErrorKind;
use std::mem::swap;
use std::time::Duration;

use mio::Events;

use super::EventLoop;
use super::loop_memory::LoopMemory;

/// What happened to one loop and is looked at in a turn.
const EVENTS: usize = 256;

/// What a thread lends to the loops that it runs.
#[derive(Debug)]
pub struct ThreadResources {
    events: Events,
    loop_memory: LoopMemory,
}

impl Default for ThreadResources {
    fn default() -> Self {
        Self {
            events: Events::with_capacity(EVENTS),
            loop_memory: LoopMemory::for_a_thread(),
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
    pub fn turn_at(&mut self, resources: &mut ThreadResources) -> Next {
        if let Some(until) = self.struck.still {
            let left = until.since(self.shared.clock.now().mono);
            if !left.is_zero() && !self.shared.status.is_over() {
                return Next::In(left);
            }
            self.struck.still = None;
        }
        // Lent by the thread; the second time it is given back.
        swap(
            &mut self.responder.connections.loop_memory,
            &mut resources.loop_memory,
        );
        let mut events = std::mem::replace(&mut resources.events, Events::with_capacity(0));
        let polled = self
            .responder
            .connections
            .poll
            .poll(&mut events, Some(Duration::ZERO));
        let full = events.iter().count() >= EVENTS;
        let next = match polled {
            Ok(()) => {
                self.take_turn(&events);
                self.next(full)
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => Next::In(Duration::ZERO),
            Err(_) => Next::Over,
        };
        resources.events = events;
        swap(
            &mut self.responder.connections.loop_memory,
            &mut resources.loop_memory,
        );
        next
    }

    fn next(&mut self, full: bool) -> Next {
        if self.stopping {
            return Next::Over;
        }
        let now = self.shared.clock.now().mono;
        match self.struck.still {
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
        self.responder.connections.poll.as_raw_fd()
    }
}
