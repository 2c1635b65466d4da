//! One client: when its rounds are due, and the session that it has.

use std::sync::atomic::Ordering;
use std::time::Duration;

use plan::unit::duration::nanos;
use plan::{ConnectKind, Seat, Work};
use record::{Lateness, Times};
use wire::service::Service;
use wire::types::{NodeId, StatusCode};

use super::super::opening::{SessionError, Target};
use super::super::run::Running;
use super::super::source::Source;
use super::book::{Round, Whole};
use super::sequence::{self, User};
use super::{Course, connect, items, nodes};
use crate::access::{Absent, Session};
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
    pub absent: Option<Box<Absent>>,
    /// The names of the sessions that it was given before and behind rounds; those that it comes and goes
    /// with are no use to a witness.
    pub ids: Vec<NodeId>,
    /// What it has beside its session, if it is a user.
    user: Option<Box<User>>,
    /// It begins no round from then on.
    until: u64,
    source: Source,
    left: u64,
    /// When the next round is due.
    round_at: Option<u64>,
    /// When it closes what it opened.
    leave_at: Option<u64>,
    /// When the server has to hear from it.
    keep_at: Option<u64>,
}

/// What became of something that a client did beside its rounds.
pub enum Did {
    /// Nothing to tell.
    Well,
    /// Its session is lost.
    Lost(String),
}

/// A server that grants no timeout hears from a session this often.
const SOMETIMES: Duration = Duration::from_secs(30);

impl<'a> Client<'a> {
    /// The client of a seat.
    pub fn new(running: &Running<'a>, seat: Seat) -> Option<Self> {
        let (phase, targets) = (running.phase, running.servers());
        let (target, prepared) = running.server(seat)?;
        let (source, left) = super::rounds(phase, seat, targets);
        let mut client = Self {
            seat,
            target,
            work: &phase.work,
            session: None,
            absent: None,
            ids: Vec::new(),
            prepared,
            user: phase
                .sequences()
                .map(|_| Box::new(User::new(phase.seed, seat.target, seat.index))),
            until: super::stay(phase, seat, targets).map_or(u64::MAX, |(_, until)| nanos(until)),
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
    pub fn ready(&mut self) -> Result<(), SessionError> {
        match self.begins_open() {
            true => self.open(),
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
    pub fn open(&mut self) -> Result<(), SessionError> {
        let opened = self.target.open_as(self.seat.index as usize)?;
        self.absent = None;
        if self.begins_open() {
            self.ids.push(opened.id());
        }
        self.session = Some(opened);
        Ok(())
    }

    /// Calls a service over its session, which is opened again if it was lost before.
    pub fn call<S: Service>(&mut self, request: S) -> Result<S::Response, StatusCode> {
        let Some(session) = &mut self.session else {
            return Err(StatusCode::BadSessionIdInvalid);
        };
        session.call(request).map_err(|error| {
            // Another round has another connection.
            if let CallError::Link(_) | CallError::Send(_) = error {
                self.session = None;
            }
            error.status()
        })
    }

    /// Has a session for a round that needs one.
    pub fn has_session(&mut self) -> Result<(), StatusCode> {
        match self.session {
            Some(_) => Ok(()),
            None => self.open().map_err(|error| error.status()),
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
    fn turn(&mut self, end: u64) {
        let next = self.source.peek().filter(|at| *at < end.min(self.until));
        self.round_at = next.filter(|_| self.left > 0);
    }

    /// Does what is due at this time. `free`: since when it could have been begun.
    pub fn act(&mut self, course: &'a Course<'a>, at: u64, free: u64) -> Did {
        if self.round_at == Some(at) {
            return self.round(course, at, free);
        }
        self.leave(course);
        Did::Well
    }

    fn round(&mut self, course: &'a Course<'a>, planned: u64, free: u64) -> Did {
        self.source.pop();
        if planned >= course.settings.warmup_ns {
            self.left -= 1;
        }
        let target = self.seat.target as usize;
        if let Ok(mut book) = course.book.lock() {
            book.begins(target);
        }
        let had = self.session.is_some();
        let sent = course.t();
        let mut round = Round::new(course);
        let came = match self.work {
            Work::Connect(plan) => connect::round(self, plan, &mut round).map(|()| 1),
            Work::Items(plan) => items::round(self, plan, &mut round),
            Work::Nodes(plan) => nodes::round(self, plan, &mut round),
            Work::Sequence(plan) => match self.user.take() {
                Some(mut user) => {
                    let came = sequence::round(self, &mut user, plan, &mut round, course);
                    self.user = Some(user);
                    came
                }
                None => Err(StatusCode::BadInternalError),
            },
            _ => Err(StatusCode::BadNotImplemented),
        };
        if came == Err(sequence::CUT) {
            if let Ok(mut book) = course.book.lock() {
                book.cut(target, &round.notes);
            }
            self.round_at = None;
            return Did::Well;
        }
        let completed = course.t();
        // Of requests that went well, an operation may not have.
        let came = match round.bad {
            Some(status) => came.and(Err(status)),
            None => came,
        };
        let whole = Whole {
            target,
            times: Times {
                planned,
                sent,
                completed,
            },
            lateness: Lateness::in_turn(planned, free, sent),
            status: came.err().unwrap_or(StatusCode::Good),
            values: came.unwrap_or(0),
        };
        if let Ok(mut book) = course.book.lock() {
            book.round(whole, &round.notes);
        }
        if let Some(storm) = &course.storm
            && storm.came(came.is_ok(), completed)
        {
            course.end_at(completed);
        }
        self.round_at = None;
        self.stays(course, completed);
        match self.session.is_none() && had {
            true => Did::Lost(came.err().unwrap_or(StatusCode::Good).to_string()),
            false => Did::Well,
        }
    }

    /// What comes after a round.
    fn stays(&mut self, course: &'a Course<'a>, t: u64) {
        let Work::Connect(plan) = self.work else {
            return self.answered(course, t);
        };
        match (plan.kind, &self.session) {
            (ConnectKind::Churn, Some(_)) if plan.hold.is_zero() => self.leave(course),
            (ConnectKind::Churn, Some(_)) => {
                self.leave_at = Some(t.saturating_add(nanos(plan.hold)));
                self.rest(course);
            }
            _ => self.answered(course, t),
        }
    }

    /// In a closed loop the next round is due.
    fn answered(&mut self, course: &Course<'_>, t: u64) {
        self.source.answered(t);
        self.turn(course.settings.end_ns());
        self.rest(course);
    }

    /// Until it is its turn again.
    fn rest(&mut self, course: &Course<'_>) {
        let t = course.t();
        self.keep_at = self.session.as_mut().map(|session| {
            let timeout = match session.timeout() {
                Duration::ZERO => SOMETIMES,
                some => some / 2,
            };
            // One that is at it again at once keeps its buffers.
            if self.round_at.is_none_or(|at| at > t) {
                session.rest();
            }
            t.saturating_add(nanos(timeout))
        });
    }

    /// Closes its session and what is under it.
    fn leave(&mut self, course: &'a Course<'a>) {
        (self.leave_at, self.keep_at) = (None, None);
        let mut round = Round::new(course);
        connect::leave(self, &mut round);
        if let Ok(mut book) = course.book.lock() {
            book.steps(self.seat.target as usize, &round.notes);
        }
        self.answered(course, course.t());
    }

    /// Lets the server hear from it.
    pub fn keep(&mut self, course: &Course<'_>) -> Did {
        self.keep_at = None;
        let Some(session) = &mut self.session else {
            return Did::Well;
        };
        if let Some(kept) = course.kept.get(self.seat.target as usize) {
            kept.fetch_add(1, Ordering::Relaxed);
        }
        if let Err(error) = session.read_state() {
            self.session = None;
            if let Some(storm) = &course.storm {
                storm.lost();
            }
            return Did::Lost(error.to_string());
        }
        self.rest(course);
        Did::Well
    }

    /// Writes down what fell due while others had their turn, and is not done any more.
    pub fn unsent(&mut self, course: &Course<'_>, ended: u64) {
        if self.source.is_open()
            && let Ok(mut book) = course.book.lock()
        {
            while let Some(planned) = self.source.peek().filter(|at| *at < ended)
                && self.left > 0
            {
                self.source.pop();
                self.left -= 1;
                book.unsent(self.seat.target as usize, planned, ended);
            }
        }
    }

    /// The phase is over.
    pub fn close(&mut self, course: &'a Course<'a>) {
        if matches!(self.work, Work::Connect(plan) if !plan.kind.begins_open()) {
            if self.session.is_some() {
                self.leave(course);
            }
        } else if let Some(session) = self.session.take() {
            session.leave();
        }
    }
}
