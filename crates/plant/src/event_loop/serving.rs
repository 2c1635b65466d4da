//! What connections have to say: read, looked at, and answered where it lies if it can be.

use wire::channel::{ChannelError, SendError};
use wire::policy::Policy;
use wire::server::{Event, Polled, RequestId};
use wire::types::StatusCode;

use super::link::{Got, HIGH_WATER, Standing, WRITE};
use super::long::Long;
use super::walked::{Answer, answer_now};
use super::{Account, Asked, EventLoop, KEEP, Responder, SlotId};
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
        let memory = std::mem::take(&mut self.responder.connections.lent.inbox);
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
                .schedule(id, &mut self.responder.house.timers);
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
                Got::Bytes => self.serve(id),
                Got::Last | Got::Nothing => {
                    if let Got::Last = got {
                        self.serve(id);
                    }
                    return;
                }
                Got::End => {
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
        enum ServeStep {
            Nothing,
            Answered,
            NotSent(Account, Asked, SendError),
            Long(Box<Long>),
            Judge(wire::certificate::Certificate, Policy),
            Opened { renewed: bool },
            Request(RequestId),
            Closed(ChannelError),
        }
        let Some(link) = self.responder.connections.links.get(id) else {
            return;
        };
        if self.responder.books.look_at(link) >= PART {
            // Others have theirs first, however it comes to be looked at once more.
            return self.responder.connections.write_later(id);
        }
        let mut body = std::mem::take(&mut self.responder.connections.lent.body);
        let mut answers = 0;
        let mut unflushed = 0;
        let mut room = WRITE;
        loop {
            let now = self.responder.now;
            let Some(link) = self.responder.connections.links.get_mut(id) else {
                break;
            };
            let backlog = link.connection.backlog();
            if link.backlog() > HIGH_WATER || link.here.waits() {
                link.here.pause();
                break;
            }
            if unflushed >= ANSWERS_IN_A_ROW || (unflushed > 0 && backlog > BYTES_IN_A_ROW) {
                unflushed = 0;
                room = room.saturating_sub(self.responder.flush_only(id, WRITE));
                if room == 0 {
                    self.responder.connections.write_later(id);
                    break;
                }
                continue;
            }
            link.connection
                .lend_outbox(&mut self.responder.connections.lent.outbox);
            let channel = link.connection.channel_id();
            let held_to = link.is_shared().then_some(link.here.limits.as_slice());
            let faults = &self.shared.faults;
            let faulty = link.astray.is_some() || faults.want(Class::Request);
            let step = match link.connection.poll(now) {
                None => {
                    // What is decided at once has its job without an event.
                    self.responder.connections.take_job(id);
                    break;
                }
                Some(Polled::Request {
                    id: request,
                    body: bytes,
                    mut reply,
                }) => {
                    let (shared, sessions) = (&self.shared, &mut self.responder.house.sessions);
                    let entry = self.responder.books.begin(true, &shared.clock);
                    let answer = match faulty {
                        true => Answer::Later,
                        false => {
                            answer_now(shared, sessions, (channel, held_to), bytes, &mut reply, now)
                        }
                    };
                    if let Answer::Given { served, work, .. } | Answer::Long { served, work, .. } =
                        answer
                    {
                        self.responder
                            .books
                            .end(entry, served.task, work, &shared.clock);
                        self.responder.books.came(served.type_id, faults);
                    }
                    match answer {
                        Answer::Given {
                            account,
                            handle,
                            sent,
                            ..
                        } => {
                            // A session is there, over HTTPS whichever connection it was activated over.
                            link.is_used();
                            match sent {
                                Ok(()) => ServeStep::Answered,
                                Err(error) => {
                                    let (link, id) = (id, request);
                                    let asked = Asked { link, id, handle };
                                    ServeStep::NotSent(account, asked, error)
                                }
                            }
                        }
                        Answer::Long { long, .. } => {
                            link.is_used();
                            ServeStep::Long(long)
                        }
                        Answer::Later => {
                            body.clear();
                            body.extend_from_slice(bytes);
                            ServeStep::Request(request)
                        }
                    }
                }
                Some(Polled::Other(event)) => match event {
                    Event::Hello { endpoint_url } => {
                        link.endpoint_url = endpoint_url;
                        if let Some(line) = link.line.take() {
                            line.used();
                        }
                        if link.standing == Standing::Refused {
                            // Part 6, 7.1.5: what there is to say to one too many.
                            let reason = "the server has no more room for connections";
                            let busy = StatusCode::BadTcpServerTooBusy;
                            link.connection.shut(busy, reason);
                        }
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
                },
            };
            match step {
                ServeStep::Nothing => {}
                ServeStep::Answered => {
                    answers += 1;
                    unflushed += 1;
                    if self.responder.books.worked() >= PART {
                        self.responder.connections.write_later(id);
                        break;
                    }
                    // Answering gives a channel nothing to do.
                    continue;
                }
                ServeStep::NotSent(account, asked, error) => {
                    answers += 1;
                    unflushed += 1;
                    self.responder.not_sent(account, asked, &error);
                }
                ServeStep::Long(long) => {
                    answers += 1;
                    unflushed = 0;
                    link.here.long = Some(long);
                    if self.responder.books.worked() < PART
                        && !self.responder.write_long_answer(id, &mut room)
                    {
                        break;
                    }
                    if self.responder.books.worked() >= PART {
                        self.responder.connections.write_later(id);
                        break;
                    }
                }
                ServeStep::Judge(certificate, policy) => {
                    self.responder
                        .connections
                        .judge(id, certificate, policy, now)
                }
                ServeStep::Opened { renewed } => {
                    if !renewed {
                        self.shared.counters.channels.add(1);
                    }
                    link.audit_channel(&self.shared, StatusCode::Good, now);
                    self.responder
                        .connections
                        .schedule(id, &mut self.responder.house.timers);
                }
                ServeStep::Request(request) => {
                    self.arrive(id, request, &body);
                    answers += 1;
                    unflushed += 1;
                    let long = self
                        .responder
                        .connections
                        .links
                        .get(id)
                        .is_some_and(|link| link.here.long.is_some());
                    if long
                        && self.responder.books.worked() < PART
                        && !self.responder.write_long_answer(id, &mut room)
                    {
                        break;
                    }
                    if self.responder.books.worked() >= PART {
                        // Many requests are as much as one with many operations.
                        self.responder.connections.write_later(id);
                        break;
                    }
                }
                ServeStep::Closed(error) => {
                    self.responder.closed(id, &error);
                    break;
                }
            }
            self.responder.connections.take_job(id);
        }
        if answers > 0 {
            self.responder.books.took(answers);
            self.shared.counters.requests.add(answers);
        }
        body.shrink_to(KEEP);
        self.responder.connections.lent.body = body;
        if let Some(link) = self.responder.connections.links.get_mut(id) {
            self.responder.books.leave(link);
        }
        self.flush(id);
    }
}

impl Responder {
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
