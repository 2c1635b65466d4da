//! Servers as second readers of a phase: their own counts are read through one of the sessions that are
//! measured, when all sessions are open and nothing was sent yet, and when the last answer is there. So it
//! takes no session more than the phase has. Where there is none before the first request or behind the
//! last, one is opened for it alone.

use std::collections::HashSet;

use plan::{Phase, Seat};
use record::run::{Counted, Figure};
use wire::types::{NodeId, ReadResponse, RequestHeader, StatusCode};

use super::opening::Waiting;
use super::subscriber::DiagnosticsDuty as Duty;
use super::target::Target;
use crate::access::Session;
use crate::diagnostics::{self, DiagnosticsRequest, Look, Plant};
use crate::transport::Socket;

/// What is known of one server.
#[derive(Debug)]
pub struct DiagnosticsReader {
    before: Result<Look, String>,
    /// Our sessions, those that are lost among them.
    ours: HashSet<NodeId>,
    /// What is to be asked about sessions, again at the end.
    about: DiagnosticsRequest,
}

impl DiagnosticsReader {
    /// Asks the server of a target, one that is this plant or none, through the first of its sessions.
    pub fn begin(target: u32, plant: Plant, waiting: &mut Vec<Waiting>) -> Self {
        let own = waiting.iter().filter(|it| it.seat.target == target);
        let ours: HashSet<NodeId> = own.map(|it| it.detached.id()).collect();
        let about = about(&ours, plant);
        Self {
            before: through_first(target, waiting, about),
            ours,
            about,
        }
    }

    /// Asks a server through a session that is opened for it alone.
    pub fn beside(target: &Target) -> Self {
        Self {
            before: beside(target),
            ours: HashSet::new(),
            about: DiagnosticsRequest::Server(plant(target)),
        }
    }

    /// What is to be asked when the phase is over; nothing of a server that tells nothing.
    pub fn wants(&self) -> Option<DiagnosticsRequest> {
        self.before.is_ok().then_some(self.about)
    }

    /// A session that is there now.
    pub fn knows(&mut self, session: NodeId) {
        self.ours.insert(session);
    }

    /// What the server counted meanwhile.
    pub fn end(&self, answer: Result<ReadResponse, StatusCode>) -> Figure<Counted> {
        let counted = |before: &Look| {
            let after = Look::of(self.about, answer)?;
            Ok::<_, String>(after.since(before, &self.ours, 1))
        };
        match &self.before {
            Ok(before) => counted(before).into(),
            Err(why) => Figure::missing(why),
        }
    }

    /// Asks a server through a session that was opened for rounds of steps, one of `ours`; through one of
    /// its own if there is none.
    pub fn of_rounds(target: &Target, ours: HashSet<NodeId>, first: Option<&mut Session>) -> Self {
        let about = about(&ours, plant(target));
        Self {
            before: match first {
                Some(session) => Look::of(about, ask(session, about)),
                None => beside(target),
            },
            ours,
            about,
        }
    }

    /// What the server counted during rounds of steps, asked before their sessions are closed. `kept` requests
    /// read its state only to keep sessions alive.
    pub fn end_of_rounds(
        &self,
        target: &Target,
        asked: Option<&mut Session>,
        kept: u64,
    ) -> Figure<Counted> {
        let mut told = match asked {
            Some(session) => self.end(ask(session, self.about)),
            None => return self.end_beside(target),
        };
        if let Figure::Known(told) = &mut told {
            told.own_reads += kept;
        }
        told
    }

    /// What the server counted meanwhile, asked through one of the sessions that are left.
    pub fn end_through(&self, target: usize, sessions: &mut [(usize, Session)]) -> Figure<Counted> {
        let Some(about) = self.wants() else {
            return self.end(Err(StatusCode::BadNoData));
        };
        let own = sessions.iter_mut().find(|(of, _)| *of == target);
        match own {
            Some((_, session)) => self.end(ask(session, about)),
            None => Figure::missing("no session was left to ask through"),
        }
    }

    /// The same with what it counted for subscriptions.
    pub fn end_with(
        &self,
        sessions: Result<ReadResponse, StatusCode>,
        subscriptions: Option<Result<ReadResponse, StatusCode>>,
    ) -> Figure<Counted> {
        let mut told = self.end(sessions);
        if let Figure::Known(told) = &mut told {
            told.subscriptions = Some(match subscriptions {
                Some(answer) => diagnostics::subscriptions(answer, &self.ours).into(),
                None => Figure::missing(diagnostics::too_many("subscriptions")),
            });
        }
        told
    }

    /// The same through a session that is opened for it alone.
    pub fn end_beside(&self, target: &Target) -> Figure<Counted> {
        let counted = |before: &Look| {
            let mut told = beside(target)?.since(before, &self.ours, 0);
            told.sessions = Figure::missing("sessions came and went, and their counts with them");
            // That of the second look is counted, and not that of the first.
            if let Some(sessions) = told.summary.get_mut("cumulatedSessionCount") {
                *sessions = sessions.saturating_sub(1);
            }
            Ok::<_, String>(told)
        };
        match &self.before {
            Ok(before) => counted(before).into(),
            Err(why) => Figure::missing(why),
        }
    }
}

/// What a session with subscriptions has to do when they were measured; `asks`, if it is the first with its
/// server.
pub fn duty(phase: &Phase, readers: &[DiagnosticsReader], seat: Seat, asks: bool) -> Duty {
    let about = readers
        .get(seat.target as usize)
        .and_then(DiagnosticsReader::wants);
    let all = |plan: &plan::Subscribe| u64::from(plan.subscriptions) * u64::from(phase.sessions);
    match about {
        None => Duty::None,
        Some(_) if !asks => Duty::Waits,
        Some(about) => Duty::Asks {
            about,
            subscriptions: phase.subscribe().map_or(0, all) <= diagnostics::MOST,
        },
    }
}

/// What is asked: of so many sessions, each by itself or not.
fn about(ours: &HashSet<NodeId>, plant: Plant) -> DiagnosticsRequest {
    match ours.len() as u64 {
        n if n > diagnostics::MOST => DiagnosticsRequest::Server(plant),
        _ => DiagnosticsRequest::Sessions(plant),
    }
}

fn plant(target: &Target) -> Plant {
    Plant::of(&target.about.namespaces)
}

/// Asks through a session.
fn ask(session: &mut Session, about: DiagnosticsRequest) -> Result<ReadResponse, StatusCode> {
    let request = diagnostics::request(about, RequestHeader::default());
    session.call(request).map_err(|error| error.status())
}

fn through_first(
    target: u32,
    waiting: &mut Vec<Waiting>,
    about: DiagnosticsRequest,
) -> Result<Look, String> {
    let own = waiting.iter().enumerate();
    let own = own.filter(|(_, it)| it.seat.target == target);
    let Some(at) = own.min_by_key(|(_, it)| it.seat).map(|(at, _)| at) else {
        return Err("no session was opened".to_owned());
    };
    let Waiting {
        seat,
        socket,
        connection,
        detached,
        askers,
        requests,
    } = waiting.swap_remove(at);
    let mut lost = |error: std::io::Error| format!("its session was lost: {error}");
    let mut session = detached
        .put_together(socket.into_inner(), connection)
        .map_err(&mut lost)?;
    let look = Look::of(about, ask(&mut session, about));
    let (socket, connection, detached) = session.take_apart();
    waiting.push(Waiting {
        seat,
        socket: Socket::new(socket).map_err(&mut lost)?,
        connection,
        detached,
        askers,
        requests,
    });
    look
}

fn beside(target: &Target) -> Result<Look, String> {
    let mut session = target.open().map_err(|error| error.to_string())?;
    let about = DiagnosticsRequest::Server(plant(target));
    let look = Look::of(about, ask(&mut session, about));
    session.leave();
    look
}
