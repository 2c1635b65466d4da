//! Sessions are opened, told what they are to do, and got back when they were lost.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use plan::{Phase, Reconnect, Seat};
use wire::time::Instant;

use super::error::{Failed, RunError, SessionError};
use super::helper::Reopen;
use super::host::Reopened;
use super::lane::Setup;
use super::running::Running;
use super::settings::Settings;
use super::several::several;
use super::source::Source;
use super::subscriber::{DiagnosticsDuty, Orders, RecoveryPath};
use super::target::Target;
use crate::access::{DetachedSession, Session};
use crate::transport::Socket;
use crate::transport::tasks::blocking;
use crate::work::{Asker, Prepared, Requests};

/// A session that is open and knows what it will ask, and that waits for the phase to begin.
pub struct Waiting {
    pub seat: Seat,
    pub socket: Socket,
    pub connection: wire::client::Connection,
    pub detached: DetachedSession,
    pub askers: Vec<Asker>,
    /// What it subscribes to.
    pub requests: Option<Requests>,
}

impl Waiting {
    /// How many items it will create.
    pub fn items(&self) -> u64 {
        self.requests.as_ref().map_or(0, Requests::all_items)
    }
}

/// Sessions that are opened at the same time.
const AT_ONCE: usize = 8;

/// Opens all sessions, several at a time. One that does not open is told and left out.
pub fn open_all(
    running: &Running<'_>,
    seats: &[Seat],
) -> Result<(Vec<Waiting>, Vec<Failed>), RunError> {
    let known = seats
        .iter()
        .filter_map(|&seat| Some((seat, running.server(seat)?)));
    let at_once = (seats.len().min(AT_ONCE), running.threads());
    several(
        known,
        at_once,
        running.control,
        |(seat, server)| async move {
            let (target, prepared) = server;
            let opened = open(target, prepared, running.phase, seat).await;
            opened.map_err(|error| Failed { seat, error })
        },
    )
}

/// Opens a session and tells it what it will ask.
async fn open(
    target: &Target,
    prepared: &Prepared,
    phase: &Phase,
    seat: Seat,
) -> Result<Waiting, SessionError> {
    let session = target.open_as(seat.index as usize).await?;
    ready(prepared, phase, seat, session).await
}

async fn ready(
    prepared: &Prepared,
    phase: &Phase,
    seat: Seat,
    mut session: Session,
) -> Result<Waiting, SessionError> {
    let askers = prepared.askers(&mut session, phase.spread, seat.index, phase.sessions);
    let askers = askers.await?;
    let requests = prepared.requests(&mut session, phase.spread, seat.index, phase.sessions)?;
    let (socket, connection, detached) = session.take_apart();
    Ok(Waiting {
        seat,
        socket: Socket::new(socket)?,
        connection,
        detached,
        askers,
        requests,
    })
}

/// Sessions that are open, without their sockets, by their place among all.
pub type DetachedSessions = Mutex<HashMap<usize, DetachedSession>>;

/// What the helpers do when one of the sessions was lost.
pub fn reopener(
    running: &Running<'_>,
    seats: &[Seat],
    detached_sessions: &Arc<DetachedSessions>,
) -> Arc<Reopen> {
    let detached_sessions = Arc::clone(detached_sessions);
    let (phase, seats) = (running.phase.clone(), seats.to_vec());
    let (targets, prepared) = (running.targets.to_vec(), running.prepared.to_vec());
    Arc::new(move |index| {
        let gone = || "there is no such session".to_owned();
        let seat = *seats.get(index).ok_or_else(gone)?;
        let place = seat.target as usize;
        let target = targets.get(place).ok_or_else(gone)?;
        let prepared = prepared.get(place).ok_or_else(gone)?;
        reopen(target, prepared, &phase, (index, seat), &detached_sessions)
            .map_err(|error| error.to_string())
    })
}

/// Gets a session back that was lost: the same one, if that is wanted and the server lets it, or
/// another one in its place.
fn reopen(
    target: &Target,
    prepared: &Prepared,
    phase: &Phase,
    (index, seat): (usize, Seat),
    detached_sessions: &DetachedSessions,
) -> Result<Reopened<Socket>, SessionError> {
    let resumes = phase
        .subscribe()
        .is_some_and(|it| it.reconnect == Reconnect::Resume);
    let detached = match detached_sessions.lock() {
        Ok(mut detached_sessions) if resumes => detached_sessions.remove(&index),
        _ => None,
    };
    let keep = |detached: DetachedSession| {
        if let Ok(mut detached_sessions) = detached_sessions.lock() {
            detached_sessions.insert(index, detached);
        }
    };
    let resumed = detached.map(|detached| {
        target
            .access
            .resume(seat.index as usize, &target.opening, detached)
    });
    let (waiting, came) = match resumed {
        Some(Ok(session)) => {
            let waiting = blocking(ready(prepared, phase, seat, session))?;
            (waiting, RecoveryPath::Resumed)
        }
        Some(Err(Some(detached))) => {
            keep(*detached);
            // The server cannot be reached: another session could not reach it either.
            return Err(SessionError::Socket(
                std::io::ErrorKind::NotConnected.into(),
            ));
        }
        Some(Err(None)) | None => (
            blocking(open(target, prepared, phase, seat))?,
            RecoveryPath::New,
        ),
    };
    let token = waiting.detached.token().clone();
    keep(waiting.detached);
    Ok(Reopened {
        socket: waiting.socket,
        connection: waiting.connection,
        token,
        askers: waiting.askers,
        requests: waiting.requests,
        came,
    })
}

/// What a session is told before it begins.
pub fn setup(
    phase: &Phase,
    settings: &Settings,
    (seat, targets): (Seat, u32),
    requests: u64,
    token: wire::types::NodeId,
    askers: Vec<Asker>,
    origin: Instant,
) -> Setup {
    Setup {
        token,
        askers,
        source: source(phase, seat),
        requests,
        warmup: settings.warmup_ns,
        timeout: phase.timeout,
        in_flight: phase.in_flight() as usize,
        place: place(phase, seat, targets),
        origin,
        end: settings.end_ns(),
        // The first ledger is that of the subscriptions.
        first: u32::from(phase.subscribe().is_some()),
    }
}

/// A session's place among all of them, and how many there are.
pub fn place(phase: &Phase, seat: Seat, targets: u32) -> (u64, u64) {
    let sessions = u64::from(phase.sessions);
    (
        u64::from(seat.target) * sessions + u64::from(seat.index),
        u64::from(targets) * sessions,
    )
}

/// What a session that subscribes is told before it begins.
pub fn orders(
    phase: &Phase,
    seat: Seat,
    targets: u32,
    zero: Instant,
    diagnostics: DiagnosticsDuty,
) -> Orders {
    Orders {
        seat,
        place: place(phase, seat, targets),
        seed: phase.seed,
        timeout: phase.timeout,
        zero,
        diagnostics,
    }
}

/// When a session's requests are due.
pub fn source(phase: &Phase, seat: Seat) -> Source {
    if !phase.has_requests() {
        return Source::closed(0, Duration::ZERO);
    }
    match (&phase.arrival, plan::Schedule::beyond_phase(phase, seat)) {
        (plan::Arrival::Closed { .. }, _) if phase.together => Source::cycle(),
        (plan::Arrival::Closed { in_flight, think }, _) => Source::closed(*in_flight, *think),
        (plan::Arrival::Open(_), Some(schedule)) => Source::open(schedule, phase.catch_up),
        // An open loop has a schedule.
        (plan::Arrival::Open(_), None) => Source::closed(0, Duration::ZERO),
    }
}

/// How many requests a session may send after the warm-up.
pub fn requests(phase: &Phase, seat: Seat, targets: u32) -> u64 {
    phase
        .requests_of(seat.target, seat.index, targets)
        .unwrap_or(u64::MAX)
}

/// The requests of these sessions, where a number was asked for.
pub fn requests_of_all(phase: &Phase, seats: &[Seat], targets: u32) -> Option<u64> {
    let seats = seats.iter();
    seats
        .map(|it| phase.requests_of(it.target, it.index, targets))
        .sum()
}

/// The same when some sessions could not be opened: those that were (`place` of `opened`) share what
/// was asked for, so that as many requests are sent as somebody wanted.
pub fn requests_of_fewer(all: Option<u64>, place: usize, opened: usize) -> u64 {
    let (place, opened) = (place as u64, opened.max(1) as u64);
    all.map_or(u64::MAX, |all| {
        all / opened + u64::from(place < all % opened)
    })
}
