//! One client: when its rounds are due, and the session that it has.

use plan::unit::duration::nanos;
use plan::{Seat, Work};
use wire::service::Service;
use wire::types::{NodeId, StatusCode};

use super::super::error::SessionError;
use super::super::running::Running;
use super::super::source::Source;
use super::super::target::Target;
use super::course;
use super::user::User;
use crate::access::{DetachedSession, Session};
use crate::transport::CallError;
use crate::work::Prepared;

/// One client.
pub struct Client<'a> {
    pub seat: Seat,
    pub target: &'a Target,
    pub work: &'a Work,
    /// What it makes, and where.
    pub prepared: &'a Prepared,
    /// Its session, while it has one.
    pub session: Option<Session>,
    /// Its session, while it has no connection.
    pub detached: Option<Box<DetachedSession>>,
    /// The names of the sessions that it was given before and behind rounds; those that it comes and goes
    /// with cannot be compared with server diagnostics.
    pub ids: Vec<NodeId>,
    /// What it has beside its session, if it is a user.
    pub user: Option<Box<User>>,
    /// It begins no round from then on.
    pub until: u64,
    pub source: Source,
    pub left: u64,
    /// When the next round is due.
    pub round_at: Option<u64>,
    /// When it closes what it opened.
    pub leave_at: Option<u64>,
    /// When the server has to hear from it.
    pub keep_at: Option<u64>,
}

impl<'a> Client<'a> {
    /// The client of a seat.
    pub fn new(running: &Running<'a>, seat: Seat) -> Option<Self> {
        let (phase, targets) = (running.phase, running.servers());
        let (target, prepared) = running.server(seat)?;
        let (source, left) = course::rounds(phase, seat, targets);
        let mut client = Self {
            seat,
            target,
            work: &phase.work,
            session: None,
            detached: None,
            ids: Vec::new(),
            prepared,
            user: phase
                .sequences()
                .map(|_| Box::new(User::new(phase.seed, seat.target, seat.index))),
            until: course::stay(phase, seat, targets).map_or(u64::MAX, |(_, until)| nanos(until)),
            source,
            left,
            round_at: None,
            leave_at: None,
            keep_at: None,
        };
        client.turn(u64::MAX);
        Some(client)
    }

    /// Has the session that its rounds begin with.
    pub async fn ready(&mut self) -> Result<(), SessionError> {
        match self.begins_open() {
            true => self.open().await,
            false => Ok(()),
        }
    }

    /// Whether it has a session before its first round.
    fn begins_open(&self) -> bool {
        match self.work {
            Work::Connect(connect) => connect.kind.begins_open(),
            Work::Sequence(sequences) => sequences.begins_open(),
            _ => true,
        }
    }

    /// Opens a session, outside of the figures.
    pub async fn open(&mut self) -> Result<(), SessionError> {
        let opened = self.target.open_as(self.seat.index as usize).await?;
        self.detached = None;
        if self.begins_open() {
            self.ids.push(opened.id());
        }
        self.session = Some(opened);
        Ok(())
    }

    /// Calls a service over its session, which is opened again if it was lost before.
    pub async fn call<S: Service>(&mut self, request: S) -> Result<S::Response, StatusCode> {
        let Some(session) = &mut self.session else {
            return Err(StatusCode::BadSessionIdInvalid);
        };
        session.call_in_turn(request).await.map_err(|error| {
            // Another round has another connection.
            if let CallError::Link(_) | CallError::Send(_) = error {
                self.session = None;
            }
            error.status()
        })
    }

    /// Has a session for a round that needs one.
    pub async fn has_session(&mut self) -> Result<(), StatusCode> {
        match self.session {
            Some(_) => Ok(()),
            None => self.open().await.map_err(|error| error.status()),
        }
    }

    /// When it has something to do.
    pub fn next(&self) -> Option<u64> {
        let times = [self.round_at, self.leave_at];
        times.into_iter().flatten().min()
    }

    /// When the server has to hear from it.
    pub fn keep_at(&self) -> Option<u64> {
        self.keep_at
    }

    /// Whether there is more to do than to keep its session alive.
    pub fn is_active(&self) -> bool {
        self.round_at.is_some() || self.leave_at.is_some()
    }

    /// No more rounds; tells how many there would have been.
    pub fn give_up(&mut self) -> u64 {
        self.round_at = None;
        std::mem::take(&mut self.left)
    }

    /// The next round, if there is one before the end.
    pub fn turn(&mut self, end: u64) {
        let next = self.source.peek().filter(|at| *at < end.min(self.until));
        self.round_at = next.filter(|_| self.left > 0);
    }
}
