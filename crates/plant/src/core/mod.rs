//! A loop that serves connections: one thread, its own sockets, sessions and timers.

mod alarm;
mod arriving;
mod astray;
mod fault;
mod link;
mod long;
mod mail;
mod moving;
mod publish;
mod request;
mod sessions;
mod slots;
mod slower;
mod strangers;
mod timers;
mod transfer;

pub use mail::{Asked, Mail, Post};
pub use slots::{SlotId, Slots};
pub use timers::{Due, Timers};

use std::collections::VecDeque;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use mio::net::TcpListener;
use mio::{Events, Poll, Token, Waker};
use rustc_hash::FxHashMap;
use wire::channel::{ChannelError, SendError};
use wire::server::{Event, Polled, RequestId};
use wire::time::{Instant, Now};
use wire::types::StatusCode;

use crate::fault::Class;
use crate::pool::Pool;
use crate::refused::Who;
use crate::session::Session;
use crate::shared::Shared;
use crate::subscription::Subscription;
use alarm::Alarm;
use link::{Got, HIGH_WATER, Link, Put, WRITE};
use long::Long;
use request::{Answer, answer_now};
use slower::Slower;
use strangers::{Ready, Strangers};
use transfer::Transfer;

/// Subscriptions by their numbers.
pub type Subscriptions = FxHashMap<u32, Subscription>;

const LISTENER: Token = Token(usize::MAX);
const WAKER: Token = Token(usize::MAX - 1);
const ALARM: Token = Token(usize::MAX - 2);

/// What one read takes from a socket at most.
const READ: usize = 256 * 1024;
/// Reads of one connection before others have their turn.
const READS_IN_A_ROW: usize = 8;
/// Answers that are written together: to write a quarter of what clients often have in flight
/// lets both sides work at the same time.
const ANSWERS_IN_A_ROW: usize = 16;
/// Subscriptions that publish before sockets are looked at again: with a thousand items each that
/// is less than a millisecond.
const PUBLISHINGS_IN_A_ROW: usize = 16;
/// More memory than this is not kept for the next one who needs some.
const KEEP: usize = 1024 * 1024;
/// Or so many bytes of them.
const BYTES_IN_A_ROW: usize = 64 * 1024;

/// The loop.
pub struct Core {
    index: u8,
    shared: Arc<Shared>,
    pool: Pool,
    poll: Poll,
    listener: Option<TcpListener>,
    /// Where it listens again after a fault took the server away.
    away: Option<SocketAddr>,
    slower: Slower,
    /// The faults that others were told of.
    faults_known: u32,
    /// All loops of the server, this one too.
    posts: Vec<Post>,
    turn: usize,
    post: Post,
    mailbox: Receiver<Mail>,
    links: Slots<Link>,
    sessions: Slots<Session>,
    /// Sessions in the order of their coming; some are gone or activated meanwhile.
    unused: VecDeque<(Instant, SlotId)>,
    transfers: Slots<Transfer>,
    subscriptions: Subscriptions,
    timers: Timers,
    alarm: Alarm,
    /// A descriptor kept for when there are no others.
    reserve: Option<std::fs::File>,
    /// Connections beyond the limit that are being told so.
    refusing: usize,
    /// Connections that were given something to send while nobody looked at them.
    dirty: Vec<SlotId>,
    /// Connections that have more to read than they were given time for.
    again: Vec<SlotId>,
    /// Connections that have more to write than they were given time for.
    unwritten: Vec<SlotId>,
    strangers: Strangers,
    now: Now,
    /// Memory to read into, lent to the connection that has its turn.
    scratch: Vec<u8>,
    /// Memory to write into, lent to the connection that has its turn.
    spare: Vec<u8>,
    body: Vec<u8>,
    stopping: bool,
}

impl Core {
    /// Number `index` of the loops of a server.
    pub fn new(index: u8, shared: Arc<Shared>, pool: Pool) -> std::io::Result<Self> {
        let poll = Poll::new()?;
        let waker = Arc::new(Waker::new(poll.registry(), WAKER)?);
        let alarm = Alarm::new(poll.registry(), ALARM)?;
        let (sender, mailbox) = channel();
        let now = shared.clock.now();
        Ok(Self {
            index,
            shared,
            pool,
            poll,
            listener: None,
            away: None,
            slower: Slower::default(),
            faults_known: 0,
            posts: Vec::new(),
            turn: 0,
            post: Post { sender, waker },
            mailbox,
            links: Slots::default(),
            sessions: Slots::default(),
            unused: VecDeque::new(),
            transfers: Slots::default(),
            subscriptions: Subscriptions::default(),
            timers: Timers::default(),
            alarm,
            reserve: None,
            refusing: 0,
            dirty: Vec::new(),
            again: Vec::new(),
            unwritten: Vec::new(),
            strangers: Strangers::default(),
            now,
            scratch: vec![0; READ],
            spare: Vec::new(),
            body: Vec::new(),
            stopping: false,
        })
    }

    /// Where its mail is put.
    pub fn post(&self) -> Post {
        self.post.clone()
    }

    /// Makes all loops known to this one.
    pub fn know(&mut self, posts: Vec<Post>) {
        self.posts = posts;
    }

    /// Runs until the server stops.
    pub fn run(mut self) {
        let mut events = Events::with_capacity(1024);
        while !self.stopping {
            let timeout = self.sleep();
            match self.poll.poll(&mut events, timeout) {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                // Without the poll nothing can be served.
                Err(_) => return,
            }
            self.now = self.shared.clock.now();
            let start = self.now.mono;
            for event in &events {
                match event.token() {
                    LISTENER => self.strangers.knock(),
                    WAKER => self.read_mail(),
                    ALARM => self.alarm.rang(),
                    token => self.ready(
                        link_of(token),
                        Ready {
                            readable: event.is_readable(),
                            writable: event.is_writable(),
                        },
                    ),
                }
            }
            for link in std::mem::take(&mut self.again) {
                self.read(link);
            }
            for link in std::mem::take(&mut self.unwritten) {
                self.write_on(link);
            }
            self.receive_strangers();
            // Last: what all of them left for others to be told goes now.
            self.run_timers();
            self.be_slower(start);
        }
    }

    /// How long to wait for something to happen.
    fn sleep(&mut self) -> Option<Duration> {
        let more = !self.again.is_empty() || !self.unwritten.is_empty() || self.strangers.wait();
        if self.shared.config.spin || more {
            return Some(Duration::ZERO);
        }
        let at = self.timers.wake()?;
        if self.alarm.is_set_to(at) {
            return None;
        }
        self.alarm.until(at, self.shared.clock.now().mono)
    }

    /// Reads what there is, answers it and writes the answers.
    ///
    /// The connection reads into the loop's own memory, so that it holds none while it is idle.
    fn read(&mut self, id: SlotId) {
        let Some(link) = self.links.get_mut(id) else {
            return;
        };
        link.readable = true;
        if link.paused {
            return;
        }
        let memory = std::mem::take(&mut self.scratch);
        link.connection.lend_inbox(memory);
        self.read_on(id);
        // One that ended or moved meanwhile has taken care of itself.
        if self.scratch.is_empty() {
            self.take_back(id);
        }
    }

    fn read_on(&mut self, id: SlotId) {
        for _ in 0..READS_IN_A_ROW {
            let Some(link) = self.links.get_mut(id) else {
                return;
            };
            if link.paused {
                return;
            }
            let got = link.read();
            match got {
                Got::Bytes => self.serve(id),
                Got::Last | Got::Nothing => {
                    link.readable = false;
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
        self.look_again(id);
    }

    /// Takes the memory back that a connection was lent to read into.
    fn take_back(&mut self, id: SlotId) {
        if let Some(link) = self.links.get_mut(id) {
            self.scratch = link.connection.reclaim_inbox();
        }
        // A connection that is gone took it along, and a long chunk may have made it longer.
        if self.scratch.len() != READ {
            self.scratch = vec![0; READ];
        }
    }

    /// Looks at all that a connection has to say.
    fn serve(&mut self, id: SlotId) {
        enum Step {
            Nothing,
            Answered,
            NotSent(RequestId, u32, SendError),
            Long(Box<Long>),
            Judge(wire::certificate::Certificate),
            Opened { renewed: bool },
            Request(RequestId),
            Closed(ChannelError),
        }
        let mut body = std::mem::take(&mut self.body);
        let mut answers = 0;
        let mut unflushed = 0;
        let mut room = WRITE;
        loop {
            let now = self.now;
            let Some(link) = self.links.get_mut(id) else {
                break;
            };
            let backlog = link.connection.backlog();
            if link.backlog() > HIGH_WATER {
                link.paused = true;
                break;
            }
            if unflushed >= ANSWERS_IN_A_ROW || (unflushed > 0 && backlog > BYTES_IN_A_ROW) {
                unflushed = 0;
                room = room.saturating_sub(self.flush_only(id, WRITE));
                if room == 0 {
                    self.write_later(id);
                    break;
                }
                continue;
            }
            link.connection.lend_outbox(&mut self.spare);
            let channel = link.connection.channel_id();
            let faults = &self.shared.faults;
            let faulty = link.astray.is_some() || faults.want(Class::Request);
            let slow = faults.want(Class::Turn);
            let step = match link.connection.poll(now) {
                None => {
                    // Nobody is asked about a renewal: its job is there without an event.
                    self.take_job(id);
                    break;
                }
                Some(Polled::Request {
                    id,
                    body: bytes,
                    mut reply,
                }) => {
                    let (shared, sessions) = (&self.shared, &mut self.sessions);
                    let answer = match faulty {
                        true => Answer::Later,
                        false => answer_now(
                            shared, sessions, self.index, channel, bytes, &mut reply, now,
                        ),
                    };
                    match answer {
                        Answer::Given {
                            type_id,
                            handle,
                            sent,
                        } => {
                            if slow {
                                self.slower.asked.add(type_id);
                            }
                            match sent {
                                Ok(()) => Step::Answered,
                                Err(error) => Step::NotSent(id, handle, error),
                            }
                        }
                        Answer::Long { type_id, long } => {
                            if slow {
                                self.slower.asked.add(type_id);
                            }
                            Step::Long(long)
                        }
                        Answer::Later => {
                            body.clear();
                            body.extend_from_slice(bytes);
                            Step::Request(id)
                        }
                    }
                }
                Some(Polled::Other(event)) => match event {
                    Event::Hello { endpoint_url } => {
                        link.endpoint_url = endpoint_url;
                        if link.refused {
                            // Part 6, 7.1.5: what there is to say to one too many.
                            let reason = "the server has no more room for connections";
                            let busy = StatusCode::BadTcpServerTooBusy;
                            link.connection.shut(busy, reason);
                        }
                        Step::Nothing
                    }
                    Event::Certificate(certificate) => Step::Judge(certificate),
                    Event::Opened { renewed, .. } => Step::Opened { renewed },
                    Event::Closed(error) => Step::Closed(error),
                    _ => Step::Nothing,
                },
            };
            match step {
                Step::Nothing => {}
                Step::Answered => {
                    answers += 1;
                    unflushed += 1;
                    // Answering gives a channel nothing to do.
                    continue;
                }
                Step::NotSent(request, handle, error) => {
                    answers += 1;
                    unflushed += 1;
                    self.not_sent(id, request, handle, &error);
                }
                Step::Long(long) => {
                    answers += 1;
                    unflushed = 0;
                    // Nothing else is answered before its end.
                    link.paused = true;
                    link.long = Some(long);
                    room = room.saturating_sub(self.flush_only(id, room));
                    if room == 0 {
                        self.write_later(id);
                    }
                    match self.links.get_mut(id) {
                        Some(link) if room > 0 && link.long.is_none() => link.paused = false,
                        _ => break,
                    }
                }
                Step::Judge(certificate) => self.judge(id, certificate),
                Step::Opened { renewed } => {
                    if !renewed {
                        self.shared.counters.channels.add(1);
                    }
                    self.schedule(id);
                }
                Step::Request(request) => {
                    self.arrive(id, request, &body);
                    answers += 1;
                    unflushed += 1;
                }
                Step::Closed(error) => {
                    self.closed(id, &error);
                    break;
                }
            }
            self.take_job(id);
        }
        if answers > 0 {
            self.shared.counters.requests.add(answers);
        }
        body.shrink_to(KEEP);
        self.body = body;
        self.flush(id);
    }

    /// Hands an expensive step of a channel to the pool.
    fn take_job(&mut self, id: SlotId) {
        let Some(link) = self.links.get_mut(id) else {
            return;
        };
        if let Some(job) = link.connection.poll_job() {
            link.busy += 1;
            let post = self.post();
            self.pool
                .submit(move || post.send(Mail::Channel(id, job.run())));
        }
    }

    fn judge(&mut self, id: SlotId, certificate: wire::certificate::Certificate) {
        if let crate::TrustPolicy::All = self.shared.config.trust {
            if let Some(link) = self.links.get_mut(id) {
                link.connection.decide(Ok(()), self.now);
            }
            return;
        }
        let (shared, post) = (Arc::clone(&self.shared), self.post());
        let Some(link) = self.links.get_mut(id) else {
            return;
        };
        link.busy += 1;
        let address = link.address();
        self.pool.submit(move || {
            let trust = &shared.config.trust;
            // The policy is not known here but by the channel, which has judged the key itself.
            let judged = trust.judge(certificate.as_bytes(), pki::Role::Client, None);
            if let Err(status) = judged {
                let who = Who::Certificate(Who::common_name(certificate.as_bytes()));
                shared
                    .refused
                    .note(shared.clock.now(), address, &who, status);
            }
            post.send(Mail::Judged(id, judged));
        });
    }

    fn closed(&mut self, id: SlotId, error: &ChannelError) {
        let status = match error {
            ChannelError::Security(_) | ChannelError::Nonce { .. } => {
                Some(StatusCode::BadSecurityChecksFailed)
            }
            ChannelError::Certificate(status) => Some(*status),
            _ => None,
        };
        if let Some(status) = status {
            self.shared.counters.security_rejected_channels.add(1);
            let link = self.links.get(id).filter(|link| !link.noted);
            if let Some(link) = link {
                let peer = link.connection.peer();
                let who = peer.map_or(Who::Unknown, |peer| {
                    Who::Certificate(Who::common_name(peer.as_bytes()))
                });
                let refused = &self.shared.refused;
                refused.note(self.now, link.address(), &who, status);
            }
        }
        self.flush_only(id, usize::MAX);
        self.drop_link(id);
    }

    fn drop_link(&mut self, id: SlotId) {
        if self.scratch.is_empty() {
            self.take_back(id);
        }
        if let Some(mut link) = self.links.remove(id) {
            // A socket that was never registered says so; it is dropped all the same.
            let _ = self.poll.registry().deregister(&mut link.socket);
            let _ = link.socket.shutdown(std::net::Shutdown::Write);
            match link.refused {
                true => self.refusing = self.refusing.saturating_sub(1),
                false => self.shared.counters.connections.sub(1),
            }
        }
    }

    /// Writes, and goes on with a connection that waited for it.
    fn flush(&mut self, id: SlotId) {
        if self.links.get(id).is_some_and(|link| link.unwritten) {
            return;
        }
        self.flush_only(id, WRITE);
        let Some(link) = self.links.get_mut(id) else {
            return;
        };
        if let Some(memory) = link.connection.reclaim_outbox()
            && memory.capacity() <= KEEP
            && memory.capacity() > self.spare.capacity()
        {
            self.spare = memory;
        }
        let may_go_on = link.long.is_none() && !link.unwritten;
        if link.paused && may_go_on && link.backlog() < HIGH_WATER / 2 {
            link.paused = false;
            // What was received before is looked at first, in a turn of its own.
            self.look_again(id);
            self.serve(id);
        }
    }

    /// Writes at most so much, and says how much it was.
    fn flush_only(&mut self, id: SlotId, most: usize) -> usize {
        let Some(link) = self.links.get_mut(id) else {
            return 0;
        };
        let astray = link.astray.is_some();
        let written = match link.flush(most, &self.shared, self.now) {
            Put::Taken(bytes) => bytes,
            Put::More => {
                self.write_later(id);
                most
            }
            Put::End => {
                link.connection.lost();
                self.drop_link(id);
                return 0;
            }
        };
        if astray {
            self.schedule_release(id);
        }
        written
    }

    /// Has a connection go on when others had their turn; until then nothing of it is answered.
    fn write_later(&mut self, id: SlotId) {
        if let Some(link) = self.links.get_mut(id)
            && !std::mem::replace(&mut link.unwritten, true)
        {
            link.paused = true;
            self.unwritten.push(id);
        }
    }

    fn write_on(&mut self, id: SlotId) {
        if let Some(link) = self.links.get_mut(id) {
            link.unwritten = false;
            self.flush(id);
        }
    }

    fn read_mail(&mut self) {
        while let Ok(mail) = self.mailbox.try_recv() {
            let now = self.now;
            match mail {
                Mail::Socket(socket) => self.adopt(socket, false),
                Mail::Channel(id, done) => {
                    if let Some(link) = self.links.get_mut(id) {
                        link.connection.complete(done, now);
                        self.take_job(id);
                        self.unbusy(id);
                        self.serve(id);
                    }
                }
                Mail::Judged(id, judged) => {
                    if let Some(link) = self.links.get_mut(id) {
                        link.noted = judged.is_err();
                        link.connection.decide(judged, now);
                        self.take_job(id);
                        self.unbusy(id);
                        self.serve(id);
                    }
                }
                Mail::Created(asked, session, result) => {
                    self.created(asked, session, result);
                    self.flush(asked.link);
                }
                Mail::Proven(asked, session, result) => {
                    self.proven(asked, session, result);
                    self.flush(asked.link);
                }
                Mail::MakeRoom => {
                    self.end_oldest_unused();
                }
                Mail::Moved(moved) => self.moved(*moved),
                Mail::Wanted(wanted) => self.give(wanted),
                Mail::Given(given) => self.given(given),
                Mail::Stall(until) => self.stand_still(until),
                Mail::Restart(away) => self.begin_anew(away),
                Mail::Cut(fault) => self.cut_some(fault),
                Mail::Faults => self.schedule_faults(),
                Mail::Stop => self.stop(),
            }
        }
    }

    fn stop(&mut self) {
        self.stopping = true;
        self.listener = None;
        for id in self.sessions.ids() {
            self.say_goodbye(id);
        }
        for id in self.links.ids() {
            if let Some(link) = self.links.get_mut(id) {
                let reason = "the server is shutting down";
                link.connection.shut(StatusCode::BadShutdown, reason);
            }
            self.flush_only(id, usize::MAX);
            self.drop_link(id);
        }
    }

    /// Sees to it that a connection is looked at when it has to be.
    fn schedule(&mut self, id: SlotId) {
        let Some(link) = self.links.get_mut(id) else {
            return;
        };
        let Some(at) = link.connection.poll_timeout() else {
            return;
        };
        // One entry that is early enough will do: whoever wakes up too early sleeps again.
        if link.timer.is_none_or(|there| at < there) {
            link.timer = Some(at);
            self.timers.add(at, Due::Link(id));
        }
    }

    /// Does what is due, but not so much of it that who asks something has to wait long: the rest
    /// has its turn after a look at the sockets.
    fn run_timers(&mut self) {
        let mut published = 0;
        while published < PUBLISHINGS_IN_A_ROW
            && let Some((at, due)) = self.timers.pop(self.now.mono)
        {
            match due {
                Due::Link(id) => {
                    let now = self.now;
                    if let Some(link) = self.links.get_mut(id) {
                        link.timer = None;
                        link.connection.handle_timeout(now);
                        self.serve(id);
                        self.schedule(id);
                    }
                }
                Due::Release(id) => self.release(id),
                Due::Fault => self.fault_due(),
                Due::Listen => self.listen_again(),
                Due::Session(id) => self.session_due(id),
                Due::Accept => self.strangers.knock(),
                Due::Subscription(id) => {
                    published += 1;
                    self.subscription_due(id, at);
                }
            }
        }
        self.flush_dirty();
    }

    fn flush_dirty(&mut self) {
        let mut dirty = std::mem::take(&mut self.dirty);
        dirty.sort_unstable();
        dirty.dedup();
        for link in dirty.drain(..) {
            self.flush(link);
        }
        // Flushing gives nobody else anything to send: the memory can be used again.
        self.dirty = dirty;
    }
}

fn token(id: SlotId) -> Token {
    Token(id.slot as usize | (id.generation as usize) << 32)
}

fn link_of(token: Token) -> SlotId {
    SlotId {
        slot: token.0 as u32,
        generation: (token.0 >> 32) as u32,
    }
}
