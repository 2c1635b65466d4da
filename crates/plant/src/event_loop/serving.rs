//! What connections have to say: read, looked at, and answered where it lies if it can be.

use std::ops::ControlFlow;

use wire::certificate::Certificate;
use wire::channel::{ChannelError, SendError};
use wire::policy::Policy;
use wire::server::{Event, Polled, RequestId};
use wire::types::StatusCode;

use super::link::{HIGH_WATER, Link, ReadOutcome, Standing, WRITE};
use super::long::Long;
use super::walked::{Answer, answer_now};
use super::{Account, EventLoop, KEEP, PendingRequest, Responder, SlotId};
use crate::fault::Class;
use crate::service::steps::PART;

/// Reads of one connection before others have their turn.
const READS_IN_A_ROW: usize = 8;
/// Answers that are written together: to write a quarter of what clients often have in flight
/// lets both sides work at the same time.
const ANSWERS_IN_A_ROW: usize = 16;
/// Or so many bytes of them.
const BYTES_IN_A_ROW: usize = 64 * 1024;

impl EventLoop {
    /// Reads what there is, answers it and writes the answers.
    ///
    /// The connection reads into the loop's own memory, so that it holds none while it is idle.
    pub(super) fn read(&mut self, id: SlotId) {
        let Some(link) = self.responder.connections.links.get_mut(id) else {
            return;
        };
        if link.here.is_paused() {
            return;
        }
        let memory = std::mem::take(&mut self.responder.connections.loop_memory.inbox);
        link.connection.lend_inbox(memory);
        self.read_on(id);
        // One that ended or moved meanwhile has taken care of itself.
        self.responder.connections.take_back(id);
        let now = self.responder.now;
        let Some(link) = self.responder.connections.links.get_mut(id) else {
            return;
        };
        link.connection.has_begun_below(link.socket.partial(), now);
        if link.settle().is_err() {
            return self.responder.starve(id);
        }
        if link.connection.is_unfinished() {
            self.responder
                .connections
                .schedule(id, &mut self.responder.store.timers);
        }
    }

    fn read_on(&mut self, id: SlotId) {
        for _ in 0..READS_IN_A_ROW {
            let Some(link) = self.responder.connections.links.get_mut(id) else {
                return;
            };
            if link.here.is_paused() {
                return;
            }
            let got = link.read(&self.shared.counters);
            match got {
                ReadOutcome::Bytes => self.serve(id),
                ReadOutcome::Last | ReadOutcome::Nothing => {
                    if let ReadOutcome::Last = got {
                        self.serve(id);
                    }
                    return;
                }
                ReadOutcome::End => {
                    link.connection.lost();
                    self.serve(id);
                    return;
                }
            }
        }
        self.responder.connections.look_again(id);
    }

    /// Looks at all that a connection has to say.
    pub(super) fn serve(&mut self, id: SlotId) {
        let Some(link) = self.responder.connections.links.get(id) else {
            return;
        };
        if self.responder.work_recorder.look_at(link) >= PART {
            // Others have theirs first, however it comes to be looked at once more.
            return self.responder.connections.write_later(id);
        }
        let mut turn = Turn {
            body: std::mem::take(&mut self.responder.connections.loop_memory.body),
            answers: 0,
            unflushed: 0,
            room: WRITE,
        };
        while self.responder.may_go_on(id, &mut turn) {
            let Some(step) = self.next_step(id, &mut turn) else {
                break;
            };
            if self.take_step(id, step, &mut turn).is_break() {
                break;
            }
        }
        if turn.answers > 0 {
            self.responder.work_recorder.took(turn.answers);
            self.shared.counters.requests.add(turn.answers);
        }
        turn.body.shrink_to(KEEP);
        self.responder.connections.loop_memory.body = turn.body;
        if let Some(link) = self.responder.connections.links.get_mut(id) {
            self.responder.work_recorder.leave(link);
        }
        self.flush(id);
    }

    /// Answers requests where they lie, one after the other, until a connection has something else to say or something
    /// else is to be done first.
    fn next_step(&mut self, id: SlotId, turn: &mut Turn) -> Option<ServeStep> {
        let now = self.responder.now;
        let Responder {
            connections,
            work_recorder,
            store,
            ..
        } = &mut self.responder;
        let link = connections.links.get_mut(id)?;
        link.connection
            .lend_outbox(&mut connections.loop_memory.outbox);
        let channel = link.connection.channel_id();
        let is_shared = link.is_shared();
        let shared = &*self.shared;
        let faulty = link.disturbed.is_some() || shared.faults.want(Class::Request);
        loop {
            let (request, bytes, mut reply) = match link.connection.poll(now) {
                None => {
                    // What is decided at once has its job without an event.
                    connections.take_job(id);
                    return None;
                }
                Some(Polled::Other(event)) => return Some(link.said(event)),
                Some(Polled::Request { id, body, reply }) => (id, body, reply),
            };
            let held_to = is_shared.then_some(link.here.limits.as_slice());
            let counted = (&mut store.sessions, &mut *work_recorder);
            let answer = match faulty {
                true => Answer::Later,
                false => answer_now(
                    (shared, now),
                    counted,
                    (channel, held_to),
                    bytes,
                    &mut reply,
                ),
            };
            match answer {
                Answer::Given => turn.has_answered(),
                Answer::NotSent {
                    account,
                    handle,
                    error,
                } => {
                    turn.has_answered();
                    link.is_used();
                    let (link, id) = (id, request);
                    let asked = PendingRequest { link, id, handle };
                    return Some(ServeStep::NotSent(account, asked, error));
                }
                Answer::Long(long) => {
                    link.is_used();
                    return Some(ServeStep::Long(long));
                }
                Answer::Later => {
                    turn.body.clear();
                    turn.body.extend_from_slice(bytes);
                    return Some(ServeStep::Request(request));
                }
            }
            // A session is there, over HTTPS whichever connection it was activated over.
            link.is_used();
            if turn.writes_first(link.connection.backlog()) || work_recorder.worked() >= PART {
                return Some(ServeStep::Answered);
            }
        }
    }

    /// Does what is to be done about it, and tells whether what comes next is looked at.
    fn take_step(&mut self, id: SlotId, step: ServeStep, turn: &mut Turn) -> ControlFlow<()> {
        match step {
            ServeStep::Nothing => {}
            // Answering gives a channel nothing to do.
            ServeStep::Answered => return self.responder.leave_to_others(id),
            ServeStep::NotSent(account, asked, error) => {
                self.responder.not_sent(account, asked, &error);
            }
            ServeStep::Long(long) => {
                turn.answers += 1;
                turn.unflushed = 0;
                if let Some(link) = self.responder.connections.links.get_mut(id) {
                    link.here.long = Some(long);
                }
                self.responder.begin_long_answer(id, &mut turn.room)?;
            }
            ServeStep::Judge(certificate, policy) => {
                let now = self.responder.now;
                self.responder
                    .connections
                    .judge(id, certificate, policy, now);
            }
            ServeStep::Opened { renewed } => {
                if !renewed {
                    self.shared.counters.channels.add(1);
                }
                let now = self.responder.now;
                if let Some(link) = self.responder.connections.links.get(id) {
                    link.audit_channel(&self.shared, StatusCode::Good, now);
                }
                self.responder
                    .connections
                    .schedule(id, &mut self.responder.store.timers);
            }
            ServeStep::Request(request) => {
                self.arrive(id, request, &turn.body);
                turn.has_answered();
                self.responder.begin_long_answer(id, &mut turn.room)?;
            }
            ServeStep::Closed(error) => {
                self.responder.closed(id, &error);
                return ControlFlow::Break(());
            }
        }
        self.responder.connections.take_job(id);
        ControlFlow::Continue(())
    }
}

/// What a connection has to say.
enum ServeStep {
    Nothing,
    /// Requests that are answered; there may be more.
    Answered,
    NotSent(Account, PendingRequest, SendError),
    Long(Box<Long>),
    Judge(Certificate, Policy),
    Opened {
        renewed: bool,
    },
    Request(RequestId),
    Closed(ChannelError),
}

/// One connection's turn.
struct Turn {
    /// A request that is not answered where it lies.
    body: Vec<u8>,
    answers: u64,
    /// Answers since something was written.
    unflushed: usize,
    /// Bytes that it may still write.
    room: usize,
}

impl Turn {
    fn has_answered(&mut self) {
        self.answers += 1;
        self.unflushed += 1;
    }

    /// Whether answers are written before there are more of them, with so many bytes waiting.
    #[inline]
    fn writes_first(&self, backlog: usize) -> bool {
        let much = self.unflushed > 0 && backlog > BYTES_IN_A_ROW;
        self.unflushed >= ANSWERS_IN_A_ROW || much
    }
}

impl Link {
    /// Something else than a request.
    fn said(&mut self, event: Event<'_>) -> ServeStep {
        match event {
            Event::Hello { endpoint_url } => {
                self.greeted(endpoint_url);
                ServeStep::Nothing
            }
            Event::Certificate {
                certificate,
                policy,
                ..
            } => ServeStep::Judge(certificate, policy),
            Event::Opened { renewed, .. } => ServeStep::Opened { renewed },
            Event::Closed(error) => ServeStep::Closed(error),
            _ => ServeStep::Nothing,
        }
    }

    /// A client says hello.
    fn greeted(&mut self, endpoint_url: String) {
        self.endpoint_url = endpoint_url;
        if let Some(line) = self.line.take() {
            line.used();
        }
        if self.standing == Standing::Refused {
            // Part 6, 7.1.5: what there is to say to one too many.
            let reason = "the server has no more room for connections";
            let busy = StatusCode::BadTcpServerTooBusy;
            self.connection.shut(busy, reason);
        }
    }
}

impl Responder {
    /// Whether a connection may say more in its turn; writes meanwhile what has been answered.
    fn may_go_on(&mut self, id: SlotId, turn: &mut Turn) -> bool {
        loop {
            let Some(link) = self.connections.links.get_mut(id) else {
                return false;
            };
            if link.backlog() > HIGH_WATER || link.here.waits() {
                link.here.pause();
                return false;
            }
            if !turn.writes_first(link.connection.backlog()) {
                return true;
            }
            turn.unflushed = 0;
            turn.room = turn.room.saturating_sub(self.flush_only(id, WRITE));
            if turn.room == 0 {
                self.connections.write_later(id);
                return false;
            }
        }
    }

    /// Whether others have their turn now: many requests are as much as one with many operations.
    fn leave_to_others(&mut self, id: SlotId) -> ControlFlow<()> {
        if self.work_recorder.worked() < PART {
            return ControlFlow::Continue(());
        }
        self.connections.write_later(id);
        ControlFlow::Break(())
    }

    /// Begins to write a long answer, if there is one and time is left for it.
    fn begin_long_answer(&mut self, id: SlotId, room: &mut usize) -> ControlFlow<()> {
        let link = self.connections.links.get(id);
        let long = link.is_some_and(|link| link.here.long.is_some());
        if long && self.work_recorder.worked() < PART && !self.write_long_answer(id, room) {
            return ControlFlow::Break(());
        }
        self.leave_to_others(id)
    }

    /// Goes on with a long answer that was just begun. Whether what comes next is looked at: nothing is before its end.
    fn write_long_answer(&mut self, id: SlotId, room: &mut usize) -> bool {
        let Some(link) = self.connections.links.get_mut(id) else {
            return false;
        };
        link.here.pause();
        *room = (*room).min(link.share());
        *room -= self.flush_only(id, *room).min(*room);
        if *room == 0 {
            self.connections.write_later(id);
        }
        match self.connections.links.get_mut(id) {
            Some(link) if *room > 0 && link.here.long.is_none() => {
                link.here.go_on_reading();
                true
            }
            _ => false,
        }
    }
}
