//! A session under way.

use std::collections::VecDeque;

use wire::channel::Protection;
use wss::Tunnel;

use super::course::{ProtocolStep, SessionCourse, Side};
use super::parties::{Answering, Caller};
use super::scene::Scene;
use super::secured::{self, Progress};
use crate::tcp::End;

/// A session, on the connection that it has now.
pub struct SimulatedSession {
    pub number: u32,
    pub connection: u32,
    pub discovers: bool,
    pub began: u64,
    pub ends: [End; 2],
    /// TLS at both ends, where it is.
    pub tunnels: [Option<Tunnel>; 2],
    /// What the client did before messages went.
    pub before: Vec<(ProtocolStep, u64, u64)>,
    /// Until when.
    pub before_until: u64,
    pub caller: Option<Caller>,
    pub answering: Option<Answering>,
    /// What came of a chunk that is not here yet.
    pub partial: [Vec<u8>; 2],
    /// Bytes around messages that are on their way to a side.
    pub around: [VecDeque<usize>; 2],
    /// Until when a side is busy with this session.
    pub busy: [u64; 2],
    pub timers: [Option<u64>; 2],
    pub deadline: Option<u64>,
    /// Chunks of the client that are being made.
    pub making: u32,
    pub course: SessionCourse,
    pub over: bool,
}

impl SimulatedSession {
    /// One that begins at a time.
    pub fn new(number: u32, discovers: bool, at: u64) -> Self {
        Self {
            number,
            connection: 0,
            discovers,
            began: at,
            ends: [End::connecting(), End::listening()],
            tunnels: [None, None],
            before: Vec::new(),
            before_until: at,
            caller: None,
            answering: None,
            partial: [Vec::new(), Vec::new()],
            around: [VecDeque::new(), VecDeque::new()],
            busy: [at; 2],
            timers: [None; 2],
            deadline: None,
            making: 0,
            course: SessionCourse {
                began: at,
                ..SessionCourse::default()
            },
            over: false,
        }
    }

    /// Another connection begins, after the one for discovery.
    pub fn connect_again(&mut self, now: u64) {
        self.connection += 1;
        self.discovers = false;
        self.began = now;
        self.ends = [End::connecting(), End::listening()];
        self.tunnels = [None, None];
        self.before.clear();
        self.before_until = now;
        self.partial = [Vec::new(), Vec::new()];
        self.around = [VecDeque::new(), VecDeque::new()];
        self.timers = [None; 2];
        self.deadline = None;
    }

    /// A step before messages go is done.
    pub fn done(&mut self, step: ProtocolStep, now: u64) {
        let began = std::mem::replace(&mut self.before_until, now);
        self.before.push((step, began, now - began));
    }

    /// What the client does before messages go.
    pub fn doing(&self) -> ProtocolStep {
        match self
            .tunnels
            .first()
            .and_then(Option::as_ref)
            .map(Progress::of)
        {
            _ if self.discovers => ProtocolStep::Discover,
            None => ProtocolStep::Connect,
            Some(Progress::Shaking) => ProtocolStep::TlsHandshake,
            Some(Progress::Upgrading | Progress::Open) => ProtocolStep::Upgrade,
        }
    }

    /// Gives TCP bytes of a side.
    pub fn put(&mut self, side: Side, bytes: &[u8]) {
        self.course.given[side.index()] += bytes.len() as u64;
        self.ends[side.index()].write(bytes);
    }

    /// The client says that nothing more comes.
    pub fn leave(&mut self) {
        let at = Side::Client.index();
        if let Some(tunnel) = &mut self.tunnels[at] {
            tunnel.close();
            let bytes = secured::taken(tunnel);
            self.put(Side::Client, &bytes);
        }
        self.ends[at].finish();
    }

    /// What is to be known of a connection that is over.
    pub fn close(&mut self) {
        self.course.sent_again += self.ends.iter().map(End::sent_again).sum::<u64>();
        self.answering = None;
        if let Some(caller) = self.caller.take() {
            let (steps, failed) = caller.finish();
            self.course.steps.extend(steps);
            self.course.failed = failed;
        } else if !self.discovers {
            self.course.steps.append(&mut self.before);
        }
    }

    /// Policy and mode of the connection that it has now.
    pub fn protection(&self, scene: &Scene) -> Protection {
        match self.discovers {
            true => Protection::NONE,
            false => scene.client.protection,
        }
    }
}
