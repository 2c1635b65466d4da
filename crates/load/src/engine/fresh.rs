//! `--fresh-session`: a connection, a channel and a session for each request.
//!
//! What is measured is mostly the server's RSA and the operating system's sockets, so this needs no
//! loop: each simulated client is a thread that calls and waits.

use std::sync::mpsc::Sender;
use std::time::Duration;

use plan::{Phase, Seat};
use record::samples::Sheet;
use record::{Lateness, Ledger, Times};
use wire::time::Instant;
use wire::types::StatusCode;

use super::books::{Books, Outcome};
use super::control::Control;
use super::end::End;
use super::opening::{SessionError, Target};
use super::settings::Settings;
use super::source::Source;
use super::spent::Spent;
use super::told::{Progress, Report};
use crate::access::Session;
use crate::transport::{Clock, Socket, Steps};
use crate::work::{Answer, Prepared};

/// What one of the clients is told.
pub struct Client<'a> {
    pub phase: &'a Phase,
    pub settings: &'a Settings,
    pub target: &'a Target,
    pub prepared: &'a Prepared,
    pub seat: Seat,
    /// How many requests it may send after the warm-up.
    pub requests: u64,
    pub origin: Instant,
    pub control: &'a Control,
    pub ledgers: usize,
    pub base: usize,
    /// Which of all sessions it is, for progress.
    pub number: usize,
}

/// One client at work.
pub fn run(
    client: &Client<'_>,
    mut source: Source,
    mut sheet: Option<Sheet>,
    progress: &Sender<Progress>,
) -> Report<Socket> {
    let clock = Clock::new();
    let spent = Spent::so_far();
    let t = || {
        let now = clock.mono().as_nanos();
        now.saturating_sub(client.origin.as_nanos())
    };
    let mut end = End::planned(client.settings.end_ns());
    let mut ledgers: Vec<_> = (0..client.ledgers)
        .map(|_| Ledger::with_end(end.at()))
        .collect();
    let mut left = client.requests;
    let (mut slept, mut turn) = (0, 0);
    // Until then the client was at its request before.
    let mut free = 0;
    std::thread::sleep(client.origin.since(clock.mono()));
    let mut changes = 0;
    loop {
        for change in client.control.changes_since(changes) {
            changes += 1;
            let at = change.at.as_nanos();
            let at = at.saturating_sub(client.origin.as_nanos());
            source.change(at, change.level, 1);
            end.change(at, change.level);
            for ledger in &mut ledgers {
                ledger.end_at(end.at());
            }
        }
        if left == 0 || source.is_dry_until(end.at()) {
            break;
        }
        // In a pause there is nothing to wait for but its end.
        let planned = source.peek().unwrap_or(u64::MAX);
        match sleep_until(
            planned.min(end.at()),
            &t,
            client.control,
            changes,
            &mut slept,
        ) {
            Woken::Due if t() < end.at() => {}
            Woken::Changed => continue,
            Woken::Due | Woken::Over => break,
        }
        source.pop();
        if planned >= client.settings.warmup_ns {
            left -= 1;
        }
        let sent = t();
        let One {
            work,
            answer,
            bytes,
            received,
        } = one(client, turn);
        turn += 1;
        let completed = t();
        let mut books = Books {
            ledgers: ledgers.get_mut(client.base..).unwrap_or_default(),
            sheet: sheet.as_mut(),
            target: client.seat.target as usize,
            receipt: None,
        };
        // A client has one request at a time: what waited for it waited for the server.
        let slot = free.max(planned).min(sent) - planned.min(sent);
        let late = Lateness {
            pacer: sent.saturating_sub(planned) - slot,
            slot,
            socket: 0,
        };
        free = completed;
        let times = Times {
            planned,
            sent,
            completed,
        };
        books.sent(sent, work, late, bytes, 1);
        books.done(
            Outcome {
                work,
                times,
                status: answer.status.bits(),
                values: answer.values,
                bytes: received,
            },
            1,
        );
        let idle = (client.number, completed, slept);
        tell(&mut ledgers, idle, progress);
        source.answered(completed);
    }
    let (ran, spent) = (t(), Spent::so_far().since(&spent));
    let ended = (client.control.is_over() || ran >= end.at()).then_some(ran.min(end.at()));
    if let Some(ended) = ended.filter(|_| source.is_open())
        && let Some(ledger) = ledgers.get_mut(client.base)
    {
        // What fell due while it was at another request, and is not sent any more.
        while let Some(planned) = source.peek().filter(|at| *at < ended && left > 0) {
            source.pop();
            left -= 1;
            ledger.unsent(planned, ended, 1);
        }
    }
    Report {
        ledgers,
        ..Report::of_calls(1, ended, ran, slept, &spent)
    }
}

/// What ended a wait.
enum Woken {
    /// It is time.
    Due,
    /// A person changed what is offered.
    Changed,
    /// The phase is to end.
    Over,
}

/// A long wait is looked up from, to be ended early.
fn sleep_until(
    at: u64,
    t: &impl Fn() -> u64,
    control: &Control,
    changes: usize,
    slept: &mut u64,
) -> Woken {
    const LOOK_UP: Duration = Duration::from_millis(50);
    loop {
        if control.is_over() {
            return Woken::Over;
        }
        if control.has_changed_since(changes) {
            return Woken::Changed;
        }
        let before = t();
        if before >= at {
            return Woken::Due;
        }
        std::thread::sleep(Duration::from_nanos(at - before).min(LOOK_UP));
        *slept += t() - before;
    }
}

/// What is over by now, for whoever watches.
fn tell(
    ledgers: &mut [Ledger],
    (core, t, idle_ns): (usize, u64, u64),
    progress: &Sender<Progress>,
) {
    let mut closed = Vec::new();
    for (work, ledger) in ledgers.iter_mut().enumerate() {
        closed.extend(ledger.take_closed(t).map(|tick| (work, tick)));
    }
    if !closed.is_empty() {
        // Nobody may be listening.
        let _ = progress.send(Progress {
            core,
            closed,
            heard: None,
            ran_ns: t,
            idle_ns,
        });
    }
}

/// What became of one request.
struct One {
    work: u32,
    answer: Answer,
    /// Of the request.
    bytes: u32,
    /// Of the response.
    received: u32,
}

impl One {
    fn failed(status: StatusCode) -> Self {
        Self {
            work: 0,
            answer: Answer::failed(status),
            bytes: 0,
            received: 0,
        }
    }
}

/// Connects, asks, and closes. The closing is not waited for in the figures.
fn one(client: &Client<'_>, turn: usize) -> One {
    let target = client.target;
    let opened = target.access.open_as(
        client.seat.index as usize,
        &target.opening,
        &mut Steps::new(),
    );
    let mut session = match opened {
        Ok(session) => session,
        Err(error) => return One::failed(error.status()),
    };
    let one = ask(client, &mut session, turn);
    // Whether the server minds being left is of no interest.
    let _ = session.close(&mut Steps::new());
    one
}

fn ask(client: &Client<'_>, session: &mut Session, turn: usize) -> One {
    let phase = client.phase;
    let (index, sessions) = (client.seat.index, phase.sessions);
    let askers = client
        .prepared
        .askers(session, phase.spread, index, sessions);
    let mut askers = match askers {
        Ok(askers) => askers,
        Err(error) => return One::failed(SessionError::from(error).status()),
    };
    let work = turn % askers.len().max(1);
    let Some(asker) = askers.get_mut(work) else {
        return One::failed(StatusCode::BadNothingToDo);
    };
    let mut bytes = 0;
    let answered = session.exchange(|out, handle, utc| {
        bytes = asker.append(out, handle, utc) as u32;
    });
    let (answer, received) = match answered {
        Ok(body) => (
            asker.service().judge(&body, asker.batch()),
            body.len() as u32,
        ),
        Err(error) => (Answer::failed(error.status()), 0),
    };
    One {
        work: work as u32,
        answer,
        bytes,
        received,
    }
}
