//! Connections on which nobody is logged in. What they want waits for those that have a session, and is done one
//! step at a time, so that a crowd that comes, goes or shouts holds up nobody who works.

use std::collections::VecDeque;

use super::ready::Ready;
use super::{EventLoop, Mail, SlotId};

/// A step that waits to be taken.
pub enum WaitingStep {
    /// Something happened on a connection.
    Look(SlotId),
    /// Others have to tell something of one.
    Open(Mail),
}

/// Those who wait.
#[derive(Default)]
pub struct Unauthenticated {
    waiting: VecDeque<WaitingStep>,
    /// There may be a connection to accept.
    accepting: bool,
    /// The last step was to let somebody in.
    accept_next: bool,
}

impl Unauthenticated {
    /// Whether anybody waits.
    pub fn wait(&self) -> bool {
        self.accepting || !self.waiting.is_empty()
    }

    /// There is a connection to accept.
    pub fn accept(&mut self) {
        self.accepting = true;
    }

    /// One was accepted, if there was one; there may be more or not.
    pub fn accepted(&mut self, more: bool) {
        self.accepting = more;
    }

    /// A connection is to be looked at.
    pub fn look(&mut self, id: SlotId) {
        self.waiting.push_back(WaitingStep::Look(id));
    }

    /// A letter is to be opened.
    pub fn open(&mut self, mail: Mail) {
        self.waiting.push_back(WaitingStep::Open(mail));
    }

    /// Whether the next step is to let another one in, and not to go on with one of those that are there already.
    fn is_to_accept(&mut self) -> bool {
        let busy = !self.waiting.is_empty();
        self.accept_next = self.accepting && !(busy && self.accept_next);
        self.accept_next
    }

    /// The letters of all who wait, none of whom does any more.
    pub fn into_mail(self) -> impl Iterator<Item = Mail> {
        self.waiting.into_iter().filter_map(|step| match step {
            WaitingStep::Open(mail) => Some(mail),
            WaitingStep::Look(_) => None,
        })
    }
}

impl EventLoop {
    /// Something happened on a connection: it is looked at now, or when it is the turn of those without a session.
    pub(super) fn ready(&mut self, id: SlotId, ready: Ready) {
        match self.responder.connections.is_known(id) {
            true => self.look_at(id, ready),
            false => self.responder.connections.wait(id, ready),
        }
    }

    fn look_at(&mut self, id: SlotId, ready: Ready) {
        if ready.due {
            self.time_out(id);
        }
        if ready.writable {
            self.flush(id);
        }
        if ready.readable {
            self.read(id);
        }
    }

    /// Takes one step: goes on with one of those that are there already, or lets another one in.
    pub(super) fn receive_unauthenticated(&mut self) {
        if self
            .responder
            .connections
            .queues
            .unauthenticated
            .is_to_accept()
        {
            let more = self.accept_one();
            self.responder
                .connections
                .queues
                .unauthenticated
                .accepted(more);
            return;
        }
        while let Some(step) = self
            .responder
            .connections
            .queues
            .unauthenticated
            .waiting
            .pop_front()
        {
            let id = match step {
                WaitingStep::Open(mail) => return self.open(mail),
                WaitingStep::Look(id) => id,
            };
            // One that is gone meanwhile has nothing to say any more, and takes nobody's turn.
            let link = self.responder.connections.links.get_mut(id);
            if let Some(ready) = link.and_then(|link| link.here.waiting.take()) {
                return self.look_at(id, ready);
            }
        }
    }
}
