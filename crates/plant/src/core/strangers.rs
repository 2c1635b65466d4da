//! Connections on which nobody is logged in. They wait for those that have a session and are looked at one
//! at a time, so that a crowd that comes, goes or shouts holds up nobody who works.

use std::collections::VecDeque;

use super::{Core, SlotId};

/// What happened on a connection that was not looked at yet.
#[derive(Debug, Clone, Copy, Default)]
pub struct Ready {
    pub readable: bool,
    pub writable: bool,
}

/// Those who wait.
#[derive(Debug, Default)]
pub struct Strangers {
    waiting: VecDeque<SlotId>,
    /// Somebody may be at the door.
    knocking: bool,
}

impl Strangers {
    /// Whether anybody waits.
    pub fn wait(&self) -> bool {
        self.knocking || !self.waiting.is_empty()
    }

    /// Somebody is at the door.
    pub fn knock(&mut self) {
        self.knocking = true;
    }
}

impl Core {
    /// Something happened on a connection: it is looked at now, or when it is a stranger's turn.
    pub(super) fn ready(&mut self, id: SlotId, ready: Ready) {
        let Some(link) = self.links.get_mut(id) else {
            return;
        };
        if link.known {
            return self.look_at(id, ready);
        }
        match &mut link.waiting {
            Some(waiting) => {
                waiting.readable |= ready.readable;
                waiting.writable |= ready.writable;
            }
            waiting => {
                *waiting = Some(ready);
                self.strangers.waiting.push_back(id);
            }
        }
    }

    /// There may be more to read than a connection was given time for.
    pub(super) fn look_again(&mut self, id: SlotId) {
        match self.links.get(id).is_some_and(|link| link.known) {
            true => self.again.push(id),
            false => self.ready(
                id,
                Ready {
                    readable: true,
                    writable: false,
                },
            ),
        }
    }

    fn look_at(&mut self, id: SlotId, ready: Ready) {
        if ready.writable {
            self.flush(id);
        }
        if ready.readable {
            self.read(id);
        }
    }

    /// Lets one in, and looks at one of those who wait.
    pub(super) fn receive_strangers(&mut self) {
        self.strangers.knocking = self.strangers.knocking && self.accept_one();
        while let Some(id) = self.strangers.waiting.pop_front() {
            // One that is gone meanwhile has nothing to say any more, and takes nobody's turn.
            let ready = self.links.get_mut(id).and_then(|link| link.waiting.take());
            if let Some(ready) = ready {
                return self.look_at(id, ready);
            }
        }
    }
}
