//! What a client does when it is due: its rounds, keeping its session alive, leaving.

use std::sync::atomic::Ordering;
use std::time::Duration;

use plan::unit::duration::nanos;
use plan::{ConnectKind, Work};
use record::{Lateness, Times};
use wire::types::StatusCode;

use super::client::Client;
use super::course::RoundsShared;
use super::recorder::Whole;
use super::round::Round;
use super::sequence;
use super::{connect, items, nodes};
use crate::access::Leaving;

/// What became of something that a client did beside its rounds.
pub enum ActOutcome {
    /// Nothing to tell.
    Well,
    /// Its session is lost.
    Lost(String),
}

/// A server that grants no timeout hears from a session this often.
const SOMETIMES: Duration = Duration::from_secs(30);

impl<'a> Client<'a> {
    /// Does what is due at this time. `free`: since when it could have been begun.
    pub async fn act(&mut self, course: &'a RoundsShared<'a>, at: u64, free: u64) -> ActOutcome {
        if self.round_at == Some(at) {
            return self.round(course, at, free).await;
        }
        self.leave(course).await;
        ActOutcome::Well
    }

    async fn round(&mut self, course: &'a RoundsShared<'a>, planned: u64, free: u64) -> ActOutcome {
        self.source.pop();
        if planned >= course.settings.warmup_ns {
            self.left -= 1;
        }
        let target = self.seat.target as usize;
        if let Ok(mut recorder) = course.recorder.lock() {
            recorder.begins(target);
        }
        let had = self.session.is_some();
        let sent = course.t();
        let mut round = Round::new(course);
        let came = match self.work {
            Work::Connect(plan) => connect::round(self, plan, &mut round).await.map(|()| 1),
            Work::Items(plan) => items::round(self, plan, &mut round).await,
            Work::Nodes(plan) => nodes::round(self, plan, &mut round).await,
            Work::Sequence(plan) => match self.user.take() {
                Some(mut user) => {
                    let came = sequence::round(self, &mut user, plan, &mut round, course).await;
                    self.user = Some(user);
                    came
                }
                None => Err(StatusCode::BadInternalError),
            },
            _ => Err(StatusCode::BadNotImplemented),
        };
        if came == Err(sequence::CUT) {
            if let Ok(mut recorder) = course.recorder.lock() {
                recorder.cut(target, &round.notes);
            }
            self.round_at = None;
            return ActOutcome::Well;
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
        if let Ok(mut recorder) = course.recorder.lock() {
            recorder.round(whole, &round.notes);
        }
        if let Some(storm) = &course.storm
            && storm.came(came.is_ok(), completed)
        {
            course.end_at(completed);
        }
        self.round_at = None;
        self.stays(course, completed).await;
        match self.session.is_none() && had {
            true => ActOutcome::Lost(came.err().unwrap_or(StatusCode::Good).to_string()),
            false => ActOutcome::Well,
        }
    }

    /// What comes after a round.
    async fn stays(&mut self, course: &'a RoundsShared<'a>, t: u64) {
        let Work::Connect(plan) = self.work else {
            return self.answered(course, t);
        };
        match (plan.kind, &self.session) {
            (ConnectKind::Churn, Some(_)) if plan.hold.is_zero() => self.leave(course).await,
            (ConnectKind::Churn, Some(_)) => {
                self.leave_at = Some(t.saturating_add(nanos(plan.hold)));
                self.rest(course);
            }
            _ => self.answered(course, t),
        }
    }

    /// In a closed loop the next round is due.
    fn answered(&mut self, course: &RoundsShared<'_>, t: u64) {
        self.source.answered(t);
        self.turn(course.settings.end_ns());
        self.rest(course);
    }

    /// Until it is its turn again.
    fn rest(&mut self, course: &RoundsShared<'_>) {
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
    async fn leave(&mut self, course: &'a RoundsShared<'a>) {
        (self.leave_at, self.keep_at) = (None, None);
        let mut round = Round::new(course);
        connect::leave(self, &mut round).await;
        if let Ok(mut recorder) = course.recorder.lock() {
            recorder.steps(self.seat.target as usize, &round.notes);
        }
        self.answered(course, course.t());
    }

    /// Lets the server hear from it.
    pub async fn keep(&mut self, course: &RoundsShared<'_>) -> ActOutcome {
        self.keep_at = None;
        let Some(session) = &mut self.session else {
            return ActOutcome::Well;
        };
        if let Some(kept) = course.kept.get(self.seat.target as usize) {
            kept.fetch_add(1, Ordering::Relaxed);
        }
        if let Err(error) = session.read_state_in_turn().await {
            self.session = None;
            if let Some(storm) = &course.storm {
                storm.lost();
            }
            return ActOutcome::Lost(error.to_string());
        }
        self.rest(course);
        ActOutcome::Well
    }

    /// Writes down what fell due while others had their turn, and is not done any more.
    pub fn unsent(&mut self, course: &RoundsShared<'_>, ended: u64) {
        if self.source.is_open()
            && let Ok(mut recorder) = course.recorder.lock()
        {
            while let Some(planned) = self.source.peek().filter(|at| *at < ended)
                && self.left > 0
            {
                self.source.pop();
                self.left -= 1;
                recorder.unsent(self.seat.target as usize, planned, ended);
            }
        }
    }

    /// The phase is over.
    pub async fn close(&mut self, course: &'a RoundsShared<'a>, leaving: &mut Leaving) {
        if matches!(self.work, Work::Connect(plan) if !plan.kind.begins_open()) {
            if self.session.is_some() {
                self.leave(course).await;
            }
        } else if let Some(session) = self.session.take() {
            let server = self.seat.target as usize;
            leaving.leave_in_turn(server, session).await;
        }
    }
}
