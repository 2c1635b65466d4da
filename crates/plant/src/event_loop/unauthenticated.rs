//! Connections on which nobody is logged in. What they want waits for those that have a session, and is done one
//! step at a time, so that a crowd that comes, goes or shouts holds up nobody who works.

use std::collections::VecDeque;

use super::link::Link;
use super::ready::Ready;
use super::{EventLoop, Mail, SlotId};

/// A step that waits to be taken.
enum WaitingStep {
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
}

impl EventLoop {
    /// Something happened on a connection: it is looked at now, or when it is the turn of those without a session.
    pub(super) fn ready(&mut self, id: SlotId, ready: Ready) {
        let Some(link) = self.links.get_mut(id) else {
            return;
        };
        if link.is_known() {
            return self.look_at(id, ready);
        }
        match &mut link.here.waiting {
            Some(waiting) => {
                waiting.readable |= ready.readable;
                waiting.writable |= ready.writable;
                waiting.due |= ready.due;
            }
            waiting => {
                *waiting = Some(ready);
                self.queues
                    .unauthenticated
                    .waiting
                    .push_back(WaitingStep::Look(id));
            }
        }
    }

    /// There may be more to read than a connection was given time for.
    pub(super) fn look_again(&mut self, id: SlotId) {
        match self.is_known(id) {
            true => self.queues.again.push(id),
            false => self.ready(
                id,
                Ready {
                    readable: true,
                    ..Ready::default()
                },
            ),
        }
    }

    /// Mail that is of a connection without a session waits like it.
    pub(super) fn put_off(&mut self, mail: Mail) -> Option<Mail> {
        let unauthenticated = match &mail {
            // Nobody is logged in on one that comes from the acceptor; over HTTPS they come from other loops, too.
            Mail::Led(led) => !led.link.is_known(),
            Mail::Dialled(_) | Mail::Secured(_) => true,
            Mail::Channel(link, _) | Mail::Judged(link, _) | Mail::Decoded(link, _) => {
                !self.is_known(*link)
            }
            Mail::Created(asked, ..) | Mail::NotActivated(asked, _) => !self.is_known(asked.link),
            Mail::Proven(caller, ..) if caller.core == self.loops.index() => {
                !self.is_known(caller.asked.link)
            }
            Mail::Proven(caller, ..) => !caller.known,
            Mail::Activate(wish) => !wish.caller.known,
            _ => false,
        };
        match unauthenticated {
            true => {
                self.queues
                    .unauthenticated
                    .waiting
                    .push_back(WaitingStep::Open(mail));
                None
            }
            false => Some(mail),
        }
    }

    pub(super) fn is_known(&self, id: SlotId) -> bool {
        self.links.get(id).is_some_and(Link::is_known)
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
        let busy = !self.queues.unauthenticated.waiting.is_empty();
        self.queues.unauthenticated.accept_next = self.queues.unauthenticated.accepting
            && !(busy && self.queues.unauthenticated.accept_next);
        if self.queues.unauthenticated.accept_next {
            self.queues.unauthenticated.accepting = self.accept_one();
            return;
        }
        while let Some(step) = self.queues.unauthenticated.waiting.pop_front() {
            let id = match step {
                WaitingStep::Open(mail) => return self.open(mail),
                WaitingStep::Look(id) => id,
            };
            // One that is gone meanwhile has nothing to say any more, and takes nobody's turn.
            let ready = self
                .links
                .get_mut(id)
                .and_then(|link| link.here.waiting.take());
            if let Some(ready) = ready {
                return self.look_at(id, ready);
            }
        }
    }

    /// Sends all of them away who wait, and those who were on their way to this loop.
    pub(super) fn forget_unauthenticated(&mut self) {
        for step in std::mem::take(&mut self.queues.unauthenticated).waiting {
            match step {
                WaitingStep::Open(Mail::Led(_)) => self.shared.counters.connections.sub(1),
                // It is dialled again when the server is back.
                WaitingStep::Open(Mail::Dialled(dialled)) => dialled.line.lost(),
                _ => {}
            }
        }
    }
}
