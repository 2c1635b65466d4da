//! How answers go out: as much as a socket takes, and no more than its share while others wait.

use wire::types::StatusCode;

use super::connection_state::Turn;
use super::link::{HIGH_WATER, WriteOutcome};
use super::long::ServerState;
use super::{EventLoop, KEEP, Responder, SlotId};
use crate::internals::Task;
use crate::service::steps::{PART, Work};

impl EventLoop {
    /// Writes, and goes on with a connection that waited for it.
    pub(super) fn flush(&mut self, id: SlotId) {
        let Some(link) = self
            .responder
            .connections
            .links
            .get(id)
            .filter(|link| link.here.turn != Turn::Queued)
        else {
            return;
        };
        let share = link.share();
        if self.responder.work_recorder.look_at(link) >= PART {
            return self.responder.connections.write_later(id);
        }
        self.responder.flush_only(id, share);
        let Some(link) = self.responder.connections.links.get_mut(id) else {
            return;
        };
        self.responder.work_recorder.leave(link);
        if let Some(memory) = link.connection.reclaim_outbox()
            && memory.capacity() <= KEEP
            && memory.capacity() > self.responder.connections.loop_memory.outbox.capacity()
        {
            self.responder.connections.loop_memory.outbox = memory;
        }
        // With memory that it was lent to read into it is counted when that is given back.
        if !self.responder.connections.loop_memory.is_out() && link.settle().is_err() {
            return self.responder.starve(id);
        }
        for session in link.owed() {
            self.responder.answer_publish(session);
        }
        if self.set_off(id) {
            // If it is still here after all, it goes on here.
            return self.flush(id);
        }
        let Some(link) = self.responder.connections.links.get_mut(id) else {
            return;
        };
        let may_go_on = link.here.turn == Turn::Paused && !link.here.waits();
        if may_go_on && link.backlog() < HIGH_WATER / 2 {
            link.here.go_on_reading();
            // What was received before is looked at first, in a turn of its own.
            self.responder.connections.look_again(id);
            self.serve(id);
        }
    }

    pub(super) fn flush_dirty(&mut self) {
        let mut dirty = std::mem::take(&mut self.responder.connections.queues.dirty);
        dirty.sort_unstable();
        dirty.dedup();
        for link in dirty.drain(..) {
            self.flush(link);
        }
        // Flushing gives nobody else anything to send: the memory can be used again.
        self.responder.connections.queues.dirty = dirty;
    }
}

impl Responder {
    /// There is no memory for what waits on a connection: it ends, and the process lives.
    pub(super) fn starve(&mut self, id: SlotId) {
        let reason = "the server has no memory for more that waits on this connection";
        self.end_with(id, StatusCode::BadTcpNotEnoughResources, reason);
    }

    /// Ends a connection, and tells its client why.
    pub(super) fn end_with(&mut self, id: SlotId, status: StatusCode, reason: &str) {
        if let Some(link) = self.connections.links.get_mut(id) {
            link.connection.shut(status, reason);
        }
        self.flush_only(id, usize::MAX);
        self.connections.drop_link(id);
    }

    /// Writes at most so much, and says how much it was.
    pub(super) fn flush_only(&mut self, id: SlotId, most: usize) -> usize {
        let Some(link) = self.connections.links.get_mut(id) else {
            return 0;
        };
        let disturbed = link.disturbed.is_some();
        // What is done for a session may give it something to be told.
        let session = link.here.long.as_ref().and_then(|long| long.session());
        let mut server = ServerState {
            shared: &self.shared,
            store: &mut self.store,
            now: self.now,
        };
        let mut work = Work::turn();
        let long = link.here.long.is_some();
        let begun = long.then(|| self.shared.clock.now().mono);
        let put = link.flush(most, &mut server, &mut work);
        if let Some(begun) = begun {
            let took = self.shared.clock.now().mono.since(begun);
            self.work_recorder.did(Task::LONG_ANSWERS, took);
        }
        self.work_recorder.add(work.spent());
        if let Some(session) = session {
            self.answer_publish(session);
        }
        let written = match put {
            WriteOutcome::Taken(bytes) => {
                // It has the last word, and no poll tells of that: a read does.
                if self
                    .connections
                    .links
                    .get_mut(id)
                    .is_some_and(|link| link.socket.is_over())
                {
                    self.connections.look_again(id);
                }
                bytes
            }
            WriteOutcome::More => {
                self.connections.write_later(id);
                most
            }
            WriteOutcome::End => {
                if let Some(link) = self.connections.links.get_mut(id) {
                    link.connection.lost();
                }
                self.connections.drop_link(id);
                return 0;
            }
        };
        if disturbed {
            self.connections
                .schedule_release(id, &mut self.store.timers);
        }
        written
    }
}
