//! Time: what is due, and what follows from it.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::ControlFlow;

use link::Way;
use plan::unit::duration::nanos;
use wire::channel::Protection;
use wire::frame::{Header, MessageType};

use super::course::{Message, SessionCourse, Side};
use super::due::{Due, What};
use super::framing;
use super::parties::{Caller, Task};
use super::scene::Scene;
use super::secured::{self, Tls};
use super::simulated_session::SimulatedSession;
use crate::tcp::Line;

pub struct World<'a> {
    pub(super) scene: &'a Scene,
    line: Line,
    due: BinaryHeap<Reverse<Due>>,
    events: u64,
    numbers: u64,
    sessions: Vec<SimulatedSession>,
    /// Until when each core of the server is busy.
    cores: Vec<u64>,
    pub(super) now: u64,
}

/// Events between two looks.
const LOOK: u64 = 1 << 14;

impl<'a> World<'a> {
    pub fn new(scene: &'a Scene, which: u64) -> Self {
        Self {
            scene,
            line: Line::new(scene.link, scene.seed, which),
            due: BinaryHeap::new(),
            events: 0,
            numbers: 0,
            sessions: Vec::new(),
            cores: vec![0; scene.server.cores.max(1)],
            now: 0,
        }
    }

    /// A session begins at a time.
    pub fn begin(&mut self, number: u32, at: u64) {
        let discovers = self.scene.client.discovers;
        self.sessions
            .push(SimulatedSession::new(number, discovers, at));
        self.plan(at, self.sessions.len() - 1, What::Begins);
    }

    /// Bytes on the line so far, up and down.
    pub fn carried(&self) -> [u64; 2] {
        [Way::Up, Way::Down].map(|way| self.line.carried(way).bytes)
    }

    pub fn events(&self) -> u64 {
        self.events
    }

    /// What came of all sessions.
    pub fn finish(mut self) -> Vec<SessionCourse> {
        for session in 0..self.sessions.len() {
            self.end(session, Some("it was interrupted".to_owned()));
        }
        let courses = self.sessions.into_iter().map(|session| {
            let mut course = session.course;
            for step in &mut course.steps {
                step.1 -= course.began;
            }
            for message in &mut course.messages {
                message.at -= course.began;
            }
            course.ended -= course.began;
            course
        });
        courses.collect()
    }

    pub fn run(&mut self, mut look: impl FnMut(u64) -> ControlFlow<()>) {
        while let Some(Reverse(due)) = self.due.pop() {
            self.now = due.at;
            self.events += 1;
            if self.events.is_multiple_of(LOOK) && look(self.now).is_break() {
                break;
            }
            let is_current =
                |session: &SimulatedSession| !session.over && session.connection == due.connection;
            if self.sessions.get(due.session).is_some_and(is_current) {
                self.happen(due.session, due.what);
            }
        }
    }

    pub(super) fn plan(&mut self, at: u64, session: usize, what: What) {
        self.numbers += 1;
        let connection = self
            .sessions
            .get(session)
            .map_or(0, |session| session.connection);
        self.due.push(Reverse(Due {
            at,
            number: self.numbers,
            session,
            connection,
            what,
        }));
    }

    fn happen(&mut self, session: usize, what: What) {
        let now = self.now;
        match what {
            What::Begins => {
                let timeout = nanos(self.scene.client.timeout);
                self.plan(now.saturating_add(timeout), session, What::GivesUp);
                self.transmit(session, Side::Client);
            }
            What::Arrives(side, segment) => {
                self.session(session).ends[side.index()].receive(now, segment);
                self.transmit(session, side);
                self.deliver(session, side);
            }
            What::Timer(side) => {
                self.session(session).timers[side.index()] = None;
                self.transmit(session, side);
            }
            What::Takes(side, chunk) => {
                let it = self.session(session);
                match side {
                    Side::Client => {
                        if let Some(caller) = &mut it.caller {
                            caller.connection().receive(&chunk);
                        }
                    }
                    Side::Server => {
                        if let Some(answering) = &mut it.answering {
                            answering.connection().receive(&chunk);
                        }
                    }
                }
                self.go(session, side);
            }
            What::Writes(side, bytes) => self.write(session, side, &bytes),
            What::Ships(side, bytes, done) => {
                self.session(session).put(side, &bytes);
                self.transmit(session, side);
                if let Some(step) = done {
                    self.session(session).done(step, now);
                    self.call_if_open(session);
                }
            }
            What::Did(task) => {
                let mut todo = Vec::new();
                if let Some(caller) = &mut self.session(session).caller {
                    caller.did(task, now, &mut todo);
                }
                self.plan_tasks(session, todo);
                self.go(session, Side::Client);
            }
            What::Answered(answer) => {
                if let Some(answering) = &mut self.session(session).answering {
                    answering.did(answer, now);
                }
                self.go(session, Side::Server);
            }
            What::Deadline => {
                let it = self.session(session);
                it.deadline = None;
                if let Some(caller) = &mut it.caller {
                    caller.let_time_pass(now);
                }
                self.go(session, Side::Client);
            }
            What::GivesUp => {
                let it = self.session(session);
                if it.caller.is_none() {
                    let why = format!("{}: no answer in time", it.doing().name());
                    self.end(session, Some(why));
                }
            }
        }
    }

    #[allow(
        clippy::indexing_slicing,
        reason = "events name sessions that there are"
    )]
    pub(super) fn session(&mut self, session: usize) -> &mut SimulatedSession {
        &mut self.sessions[session]
    }

    /// When a side has done work of this session, which begins now or when it has done what it had before.
    pub(super) fn occupy(&mut self, session: usize, side: Side, cost: f64) -> u64 {
        let now = self.now;
        let cost = cost.round() as u64;
        let begins = self.session(session).busy[side.index()].max(now);
        let core = match side {
            Side::Server if cost > 0 => self.cores.iter_mut().min(),
            _ => None,
        };
        let ends = match core {
            Some(core) => {
                *core = begins.max(*core) + cost;
                *core
            }
            None => begins + cost,
        };
        self.session(session).busy[side.index()] = ends;
        ends
    }

    /// What TCP has to send now.
    fn transmit(&mut self, session: usize, side: Side) {
        let now = self.now;
        let way = match side {
            Side::Client => Way::Up,
            Side::Server => Way::Down,
        };
        while let Some(segment) = self.session(session).ends[side.index()].poll(now) {
            for at in self.line.carry(now, way, &segment) {
                self.plan(at, session, What::Arrives(side.other(), segment.clone()));
            }
        }
        let it = self.session(session);
        let due = it.ends[side.index()].deadline();
        let timer = &mut it.timers[side.index()];
        if let Some(due) = due
            && timer.is_none_or(|planned| due < planned)
        {
            *timer = Some(due);
            self.plan(due, session, What::Timer(side));
        }
    }

    /// What TCP has brought.
    fn deliver(&mut self, session: usize, side: Side) {
        let scene = self.scene;
        if self.session(session).ends[side.index()].is_open() {
            self.opened(session, side);
        }
        while let Some(bytes) = self.session(session).ends[side.index()].read() {
            if let Err(error) = self.take(session, side, &bytes) {
                let why = format!("{}: {error}", self.session(session).doing().name());
                return self.end(session, Some(why));
            }
        }
        while let Some((header, chunk)) = self.next_chunk(session, side) {
            let costs = match side {
                Side::Client => &scene.client_costs,
                Side::Server => &scene.server_costs,
            };
            let protection = self.session(session).protection(scene);
            let blocks = self.blocks(&header, side.other(), protection);
            let cost = framing::receiving(costs, &header, blocks, protection);
            let at = self.occupy(session, side, cost);
            self.plan(at, session, What::Takes(side, chunk));
        }
    }

    fn next_chunk(&mut self, session: usize, side: Side) -> Option<(Header, Vec<u8>)> {
        let it = self.session(session);
        let around = *it.around[side.index()].front()?;
        let partial = &mut it.partial[side.index()];
        let (header, size) = framing::first(partial.get(around..)?)?;
        partial.drain(..around);
        let chunk = partial.drain(..size).collect();
        it.around[side.index()].pop_front();
        Some((header, chunk))
    }

    /// Blocks of RSA in a chunk that a side sends.
    fn blocks(&self, header: &Header, from: Side, protection: Protection) -> usize {
        let identities = (
            self.scene.client.identity.as_ref(),
            self.scene.server.session.identities.of(protection.policy),
        );
        match identities {
            (Some(client), Some(server))
                if header.message == MessageType::Open && protection != Protection::NONE =>
            {
                let (client, server) = (&client.certificate, &server.certificate);
                let (sender, receiver) = match from {
                    Side::Client => (client, server),
                    Side::Server => (server, client),
                };
                framing::blocks(header.size as usize, protection, sender, receiver)
            }
            _ => 0,
        }
    }

    /// A side deals with all that it has.
    pub(super) fn go(&mut self, session: usize, side: Side) {
        let now = self.now;
        let it = self.session(session);
        match side {
            Side::Client => {
                let Some(caller) = &mut it.caller else {
                    return;
                };
                let mut todo = Vec::new();
                caller.advance(now, &mut todo);
                self.plan_tasks(session, todo);
                self.flush(session, side);
                self.look_at_deadlines(session);
                self.end_if_over(session);
            }
            Side::Server => {
                let Some(answering) = &mut it.answering else {
                    return;
                };
                let mut todo = Vec::new();
                answering.advance(now, &mut todo);
                for (cost, wait, answer) in todo {
                    let at = self.occupy(session, side, cost) + wait as u64;
                    self.plan(at, session, What::Answered(answer));
                }
                self.flush(session, side);
            }
        }
    }

    fn plan_tasks(&mut self, session: usize, todo: Vec<(f64, f64, Task)>) {
        for (cost, wait, task) in todo {
            let at = self.occupy(session, Side::Client, cost) + wait as u64;
            self.plan(at, session, What::Did(task));
        }
    }

    fn look_at_deadlines(&mut self, session: usize) {
        let now = self.now;
        let it = self.session(session);
        let due = it
            .caller
            .as_mut()
            .and_then(|it| it.connection().poll_timeout());
        if let Some(due) = due.map(|it| it.as_nanos().max(now))
            && it.deadline.is_none_or(|planned| due < planned)
        {
            it.deadline = Some(due);
            self.plan(due, session, What::Deadline);
        }
    }

    /// What a side has to say takes its time to be made.
    fn flush(&mut self, session: usize, side: Side) {
        let scene = self.scene;
        let it = self.session(session);
        let protection = it.protection(scene);
        let bytes = match (side, &mut it.caller, &mut it.answering) {
            (Side::Client, Some(caller), _) => taken(caller.connection().pending().to_vec(), |n| {
                caller.connection().wrote(n)
            }),
            (Side::Server, _, Some(answering)) => {
                taken(answering.connection().pending().to_vec(), |n| {
                    answering.connection().wrote(n)
                })
            }
            _ => return,
        };
        if bytes.is_empty() {
            return;
        }
        let costs = match side {
            Side::Client => &scene.client_costs,
            Side::Server => &scene.server_costs,
        };
        let cost = framing::chunks(&bytes).map(|(header, _)| {
            let blocks = self.blocks(&header, side, protection);
            framing::sending(costs, &header, blocks, protection)
        });
        let cost = cost.sum();
        let at = self.occupy(session, side, cost);
        if side == Side::Client {
            self.session(session).making += 1;
        }
        self.plan(at, session, What::Writes(side, bytes));
    }

    fn write(&mut self, session: usize, side: Side, bytes: &[u8]) {
        let (now, scene) = (self.now, self.scene);
        let envelope = scene.envelope;
        let shares = scene.tls.as_ref().and_then(Tls::shared_channel).is_some();
        let it = self.session(session);
        let Some(step) = it.caller.as_ref().map(Caller::doing) else {
            return;
        };
        let mut failed = None;
        for (header, chunk) in framing::chunks(bytes) {
            let around = match header.message {
                MessageType::Open => envelope.opening,
                MessageType::Message | MessageType::Close => envelope.message,
                _ => 0,
            };
            it.around[side.other().index()].push_back(around);
            if around > 0 {
                it.put(side, &vec![0; around]);
            }
            match &mut it.tunnels[side.index()] {
                None => it.put(side, chunk),
                // Keys for so many records that nobody sends them.
                Some(tunnel) => {
                    let sent = tunnel.send(chunk);
                    let bytes = secured::taken(tunnel);
                    it.put(side, &bytes);
                    failed = failed.or(sent.err());
                }
            }
            // Inside HTTP there is no channel that could be closed, and this is only between a party and its TLS.
            let is_only_here = header.message == MessageType::Close && shares;
            if !is_only_here {
                it.course.messages.push(Message {
                    at: now,
                    from: side,
                    kind: header.message.letters(),
                    bytes: chunk.len(),
                    step,
                });
            }
        }
        if side == Side::Client {
            it.making -= 1;
            if it.making == 0 && it.caller.as_ref().is_some_and(Caller::is_ended) {
                it.leave();
            }
        }
        if let Some(error) = failed {
            return self.end(session, Some(format!("{}: {error}", step.name())));
        }
        self.transmit(session, side);
        self.end_if_over(session);
    }

    /// The client has left, or failed.
    fn end_if_over(&mut self, session: usize) {
        let now = self.now;
        let it = self.session(session);
        let Some(caller) = it.caller.as_mut().filter(|it| it.is_ended()) else {
            return;
        };
        if caller.has_failed() {
            return self.end(session, None);
        }
        if it.making > 0 {
            return;
        }
        caller.wrote_last(now);
        if !it.discovers {
            return self.end(session, None);
        }
        // Now the connection that this was for.
        let it = self.session(session);
        it.close();
        it.connect_again(now);
        self.happen(session, What::Begins);
    }

    pub(super) fn end(&mut self, session: usize, why: Option<String>) {
        let now = self.now;
        if self.session(session).over {
            return;
        }
        let it = self.session(session);
        it.close();
        it.over = true;
        it.course.ended = now;
        it.course.failed = it.course.failed.take().or(why);
    }
}

fn taken(bytes: Vec<u8>, mut wrote: impl FnMut(usize)) -> Vec<u8> {
    wrote(bytes.len());
    bytes
}
