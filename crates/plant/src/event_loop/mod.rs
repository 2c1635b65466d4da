//! A loop that serves connections: one thread, its own sockets, sessions and timers. One more is the acceptor: it lets
//! clients in, and has those who have no session, so that they are in nobody's way.

mod acceptor;
mod account;
mod alarm;
mod answering;
mod arriving;
mod between_loops;
mod checking;
mod connection_state;
mod connections;
mod dispatch;
mod disturbed_responses;
mod fault;
mod hosted;
mod link;
mod long;
mod loop_memory;
mod loops;
mod mail;
mod moves;
mod moving;
mod pipe;
mod publish;
mod queues;
mod ready;
mod request;
mod response;
mod serving;
mod session_end;
mod session_table;
mod sessions;
mod slower;
mod socket;
mod store;
mod transfer;
mod unauthenticated;
mod user;
mod visiting;
mod walked;
mod work_recorder;
mod writing;
mod wss;

pub use account::Account;
pub use alarm::Alarm;
pub use between_loops::Secured;
pub use hosted::{Next, ThreadResources};
pub use mail::{Mail, Post};
pub use pipe::{ClientEnd, ServerEnd, pair};

use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Duration;

use mio::{Events, Poll, Token, Waker};
use wire::channel::ChannelError;
use wire::time::{Instant, Now};
use wire::types::StatusCode;

use crate::internals::Task;
use crate::pool::Pool;
use crate::refused::Who;
use crate::shared::Shared;
use crate::slots::{PendingRequest, SlotId, Slots};
use crate::timers::{Due, Timers};
use acceptor::Acceptor;
use connections::Connections;
use fault::Struck;
use loop_memory::LoopMemory;
use loops::Loops;
use moves::Moves;
use ready::Ready;
use socket::Socket;
use store::SessionStore;
use work_recorder::WorkRecorder;

const LISTENER: Token = Token(usize::MAX);
const WAKER: Token = Token(usize::MAX - 1);
const ALARM: Token = Token(usize::MAX - 2);

/// What is due is done for so long before sockets are looked at again: a few subscriptions of a hundred items, or one
/// of thousands.
const DUE_IN_A_ROW: Duration = Duration::from_micros(50);
/// More than these are not looked at one by one between turns.
const CROWD: usize = 64;
/// More memory than this is not kept for the next one who needs some.
const KEEP: usize = 1024 * 1024;

/// The loop.
pub struct EventLoop {
    /// Which one it is, and the others.
    loops: Loops,
    shared: Arc<Shared>,
    responder: Responder,
    acceptor: Acceptor,
    /// What faults did to it.
    struck: Struck,
    moves: Moves,
    /// What wakes its own thread.
    alarm: Option<Alarm>,
    stopping: bool,
}

/// What answers: the connections of a loop, and the sessions and subscriptions that are served over them.
struct Responder {
    shared: Arc<Shared>,
    /// When the turn began, or what is done in it.
    now: Now,
    connections: Connections,
    store: SessionStore,
    work_recorder: WorkRecorder,
}

impl EventLoop {
    /// Number `index` of the loops of a server.
    pub fn new(index: u8, shared: Arc<Shared>, pool: Pool) -> std::io::Result<Self> {
        let mut own = Self::hosted(index, shared, pool)?;
        own.alarm = Some(Alarm::new(
            own.responder.connections.poll.registry(),
            ALARM,
        )?);
        own.responder.connections.loop_memory = LoopMemory::for_a_thread();
        Ok(own)
    }

    /// The same without what it needs for a thread of its own.
    pub fn hosted(index: u8, shared: Arc<Shared>, pool: Pool) -> std::io::Result<Self> {
        let poll = Poll::new()?;
        let waker = Waker::new(poll.registry(), WAKER)?;
        let now = shared.clock.now();
        let work_recorder = WorkRecorder::new(shared.workings.of(index));
        let loops = Loops::new(index, waker);
        let connections = Connections::new(Arc::clone(&shared), pool, poll, loops.post());
        let responder = Responder {
            shared: Arc::clone(&shared),
            now,
            connections,
            store: SessionStore::new(index),
            work_recorder,
        };
        Ok(Self {
            loops,
            shared,
            responder,
            acceptor: Acceptor::default(),
            struck: Struck::default(),
            moves: Moves::default(),
            alarm: None,
            stopping: false,
        })
    }

    /// Where its mail is put.
    pub fn post(&self) -> Post {
        self.loops.post()
    }

    /// Makes all loops known to this one; the last of them is the acceptor.
    pub fn know(&mut self, posts: Vec<Post>) {
        self.loops.know(posts);
    }

    /// Runs until the server stops.
    pub fn run(mut self) {
        let mut events = Events::with_capacity(1024);
        while !self.stopping {
            let timeout = self.sleep();
            match self.responder.connections.poll.poll(&mut events, timeout) {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                // Without the poll nothing can be served.
                Err(_) => return,
            }
            // One that never sleeps looks again and again: that is no work.
            let idle = timeout == Some(Duration::ZERO)
                && events.is_empty()
                && !self.responder.has_more()
                && !self
                    .responder
                    .store
                    .timers
                    .are_due(self.shared.clock.now().mono);
            self.responder.work_recorder.is_idle(idle);
            self.take_turn(&events);
        }
    }

    /// Does what the poll told of, and what is due.
    fn take_turn(&mut self, events: &Events) {
        self.responder.now = self.shared.clock.now();
        let start = self.responder.now.mono;
        for event in events {
            match event.token() {
                LISTENER => self.responder.connections.queues.unauthenticated.accept(),
                WAKER => {
                    self.read_mail();
                }
                ALARM => {
                    if let Some(alarm) = &mut self.alarm {
                        alarm.rang();
                    }
                }
                token => self.ready(
                    link_of(token),
                    Ready {
                        readable: event.is_readable(),
                        writable: event.is_writable(),
                        due: false,
                    },
                ),
            }
        }
        self.end_turn(start);
    }

    /// What a turn has beside what happened on sockets.
    fn end_turn(&mut self, start: Instant) {
        for link in std::mem::take(&mut self.responder.connections.queues.again) {
            self.read(link);
        }
        if let Some(id) = self.responder.connections.next_unwritten() {
            self.flush(id);
        }
        self.receive_unauthenticated();
        self.responder.store.subscriptions.go_on_to_end();
        // Last: what all of them left for others to be told goes now.
        self.run_timers();
        self.faults_changed();
        // One that never sleeps works all the time. On a thread that has others, processor time is theirs, too.
        let spins = self.shared.config.spin || self.shared.clock.is_by_hand() || self.is_hosted();
        let came = self.responder.work_recorder.came_lately();
        self.struck
            .slower
            .work_longer(start, came, &self.shared, spins);
        debug_assert!(
            self.responder.connections.queues_hold(),
            "a queued connection has no turn"
        );
        debug_assert!(
            self.responder.store.counts_hold(),
            "a count is not what waits"
        );
        let took = self.shared.clock.now().mono.since(start);
        self.responder.work_recorder.end_turn(took);
    }

    /// Makes this the acceptor for clients in the same process.
    pub fn accept_in_memory(&mut self) {
        self.acceptor.leads = true;
    }

    /// Lets one of them in.
    pub fn take_in(&mut self, end: ServerEnd) {
        self.welcome(Socket::Memory(end));
    }

    /// One turn of a loop without a system's sockets. Whether there was anything to do.
    pub fn turn(&mut self) -> bool {
        self.responder.now = self.shared.clock.now();
        let start = self.responder.now.mono;
        let due = self.responder.store.timers.are_due(self.responder.now.mono);
        let waited = self.responder.has_more();
        let mut busy = self.read_mail() || due || waited;
        for id in self.responder.connections.links.ids() {
            if let Some(link) = self.responder.connections.links.get(id)
                && let Socket::Memory(end) = &link.socket
                && let Some(ready) = end.happened()
            {
                busy = true;
                self.ready(id, ready);
            }
        }
        self.end_turn(start);
        busy
    }

    /// When it has to do something next, if nobody asks.
    pub fn wakes(&self) -> Option<Instant> {
        self.responder.store.timers.wake()
    }

    /// Work that was done in pieces so far.
    pub fn spent(&self) -> usize {
        self.responder.work_recorder.spent()
    }

    /// How many connections, sessions and subscriptions it has.
    pub fn has(&self) -> (usize, usize, usize) {
        let (links, sessions) = (
            self.responder.connections.links.ids().len(),
            self.responder.store.sessions.ids().len(),
        );
        (links, sessions, self.responder.store.subscriptions.len())
    }

    /// How long to wait for something to happen.
    fn sleep(&mut self) -> Option<Duration> {
        // Whether a thread that is shared sleeps is not for one of its loops to say.
        let spins = self.shared.config.spin && !self.acceptor.leads && !self.is_hosted();
        if self.responder.has_more() || spins {
            return Some(Duration::ZERO);
        }
        let at = self.responder.store.timers.wake()?;
        match &mut self.alarm {
            Some(alarm) if alarm.is_set_to(at) => None,
            Some(alarm) => alarm.until(at, self.shared.clock.now().mono),
            None => Some(at.since(self.shared.clock.now().mono)),
        }
    }

    fn stop(&mut self) {
        self.stopping = true;
        self.acceptor.listener = None;
        for id in self.responder.store.sessions.ids() {
            self.responder.say_goodbye(id);
        }
        for id in self.responder.connections.links.ids() {
            self.responder
                .end_with(id, StatusCode::BadShutdown, "the server is shutting down");
        }
    }

    /// A connection's time is up, unless something has happened meanwhile.
    fn time_out(&mut self, id: SlotId) {
        if let Some(link) = self.responder.connections.links.get_mut(id) {
            link.here.timer = None;
            if link.here.is_paused() {
                // The rest of a message may have come, but nobody looked.
                link.connection.wait_anew(self.responder.now);
            }
            link.connection.handle_timeout(self.responder.now);
            self.serve(id);
            self.responder
                .connections
                .schedule(id, &mut self.responder.store.timers);
        }
    }

    /// Does what is due, but not so much of it that who asks something has to wait long: the rest
    /// has its turn after a look at the sockets.
    fn run_timers(&mut self) {
        if self.responder.store.timers.are_many() {
            self.responder.tidy_timers();
        }
        let mut times = None;
        while let Some((at, due)) = self.responder.store.timers.pop(self.responder.now.mono) {
            let (start, begun) = *times.get_or_insert_with(|| {
                let now = self.shared.clock.now().mono;
                (now, now)
            });
            let mut publishes = false;
            let mut enough = false;
            match due {
                Due::Link(id) => self.ready(
                    id,
                    Ready {
                        due: true,
                        ..Ready::default()
                    },
                ),
                Due::Release(id) => self.release(id),
                Due::Fault => self.fault_due(),
                Due::Listen => self.listen_again(),
                Due::Session(id) => self.responder.session_due(id),
                Due::Accept => self.responder.connections.queues.unauthenticated.accept(),
                Due::Subscription(id) => {
                    publishes = true;
                    enough = self.responder.subscription_due(id, at);
                }
            }
            let now = self.shared.clock.now().mono;
            if publishes {
                self.responder
                    .work_recorder
                    .did(Task::PUBLISHING, now.since(begun));
            }
            if enough || now.since(start) >= DUE_IN_A_ROW {
                break;
            }
            times = Some((start, now));
        }
        self.flush_dirty();
    }
}

impl Responder {
    /// Whether there is something to go on with although nothing happens.
    fn has_more(&self) -> bool {
        self.connections.queues.wait() || self.store.subscriptions.are_ending()
    }

    fn closed(&mut self, id: SlotId, error: &ChannelError) {
        let status = match error {
            ChannelError::Security(_)
            | ChannelError::Nonce { .. }
            | ChannelError::NonceUsedTwice => Some(StatusCode::BadSecurityChecksFailed),
            ChannelError::Certificate(status) => Some(*status),
            _ => None,
        };
        if let Some(status) = status {
            self.shared.counters.security_rejected_channels.add(1);
            let link = self.connections.links.get(id);
            if let Some(link) = link {
                link.audit_channel(&self.shared, status, self.now);
            }
            if let Some(link) = link.filter(|link| !link.noted) {
                let peer = link.connection.peer();
                let who = peer.map_or(Who::Unknown, |peer| {
                    Who::Certificate(Who::common_name(peer.as_bytes()))
                });
                let refused = &self.shared.refused;
                refused.note(self.now, link.address(), &who, status);
            }
        }
        self.flush_only(id, usize::MAX);
        self.connections.drop_link(id);
    }

    /// Forgets when those would have had their turn who are gone.
    fn tidy_timers(&mut self) {
        let links = &self.connections.links;
        let SessionStore {
            sessions,
            subscriptions,
            timers,
        } = &mut self.store;
        timers.retain(|at, due| match due {
            Due::Link(id) => links
                .get(id)
                .is_some_and(|link| link.here.timer == Some(at)),
            Due::Session(id) => sessions.get(id).is_some(),
            Due::Subscription(id) => subscriptions.get(&id).is_some_and(|it| it.wake == at),
            Due::Accept | Due::Release(_) | Due::Fault | Due::Listen => true,
        });
    }
}

/// What a poll calls a connection.
pub fn token(id: SlotId) -> Token {
    Token(id.slot as usize | (id.generation as usize) << 32)
}

/// Which connection a poll means.
pub fn link_of(token: Token) -> SlotId {
    SlotId {
        slot: token.0 as u32,
        generation: (token.0 >> 32) as u32,
    }
}
