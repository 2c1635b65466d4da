//! `--fresh-session`: a connection, a channel and a session for each request.
//!
//! What is measured is mostly the server's RSA and the operating system's sockets, so this needs no
//! loop: each simulated client is a thread that calls and waits.

use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use plan::Seat;
use record::samples::Sheet;
use record::{Lateness, Ledger, Times};
use wire::time::Instant;
use wire::types::StatusCode;

use super::control::Control;
use super::end::End;
use super::error::{RunError, SessionError};
use super::opening;
use super::outcome::{Outcome, gather};
use super::recorder::{self, Recorder, Sent};
use super::reports::{self, Progress, Report};
use super::running::{Begin, PER_THREAD, Running, listen};
use super::settings::Settings;
use super::spent::Spent;
use super::target::Target;
use super::witness::Witness;
use crate::access::Session;
use crate::transport::{Clock, Socket};
use crate::work::{Answer, Prepared};

/// Carries out a phase, a thread for each session.
pub fn run(
    running: &Running<'_>,
    seats: &[Seat],
    progress: &mut dyn FnMut(Progress),
) -> Result<Outcome, RunError> {
    let settings = Settings::new(running.phase);
    let works = running.names().len();
    let asked = running
        .targets
        .iter()
        .filter(|_| running.options.diagnostics);
    let witnesses: Vec<_> = asked.map(|it| (Witness::beside(it), it)).collect();
    let begin = Begin::after(PER_THREAD, seats.len(), &Clock::new());
    let (tell, told) = channel();
    let reports = std::thread::scope(|scope| {
        let mut threads = Vec::new();
        for (number, &seat) in seats.iter().enumerate() {
            let Some((target, prepared)) = running.server(seat) else {
                continue;
            };
            let client = Client {
                running,
                settings: &settings,
                target,
                prepared,
                seat,
                requests: opening::requests(running.phase, seat, running.servers()),
                origin: begin.origin,
                base: seat.target as usize * works,
                number,
            };
            let (sheet, tell) = (running.sheet(), tell.clone());
            let thread = std::thread::Builder::new().name(format!("load-{}", seat.index));
            threads.push(thread.spawn_scoped(scope, move || work(&client, sheet, &tell))?);
        }
        drop(tell);
        listen(&told, progress);
        let ended = threads
            .into_iter()
            .map(|it| it.join().map_err(|_| RunError::Thread));
        ended.collect::<Result<Vec<_>, RunError>>()
    })?;
    let (mut outcome, _) = gather(running, begin, seats, reports);
    let ended = witnesses.iter().map(|(it, target)| it.end_beside(target));
    outcome.diagnostics = ended.collect();
    Ok(outcome)
}

/// One of the clients.
struct Client<'a> {
    running: &'a Running<'a>,
    settings: &'a Settings,
    target: &'a Target,
    prepared: &'a Prepared,
    seat: Seat,
    /// How many requests it may send after the warm-up.
    requests: u64,
    origin: Instant,
    /// Its first ledger.
    base: usize,
    /// Which of all sessions it is, for progress.
    number: usize,
}

/// One client at work.
fn work(
    client: &Client<'_>,
    mut sheet: Option<Sheet>,
    progress: &Sender<Progress>,
) -> Report<Socket> {
    let Running { phase, control, .. } = *client.running;
    let mut source = opening::source(phase, client.seat);
    let clock = Clock::new();
    let spent = Spent::so_far();
    let t = || clock.mono().nanos_since(client.origin);
    let mut end = End::planned(client.settings.end_ns());
    let mut ledgers: Vec<_> = (0..client.running.ledgers())
        .map(|_| Ledger::with_end(end.at()).with_cuts(client.settings.cuts()))
        .collect();
    let mut left = client.requests;
    let (mut slept, mut turn) = (0, 0);
    // Until then the client was at its request before, or closed its session.
    let mut free = 0;
    std::thread::sleep(client.origin.since(clock.mono()));
    let mut changes = 0;
    loop {
        for change in control.changes_since(changes) {
            changes += 1;
            let at = change.at.nanos_since(client.origin);
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
        match sleep_until(planned.min(end.at()), &t, control, changes, &mut slept) {
            Woken::Due if t() < end.at() => {}
            Woken::Changed => continue,
            Woken::Due | Woken::Over => break,
        }
        source.pop();
        if planned >= client.settings.warmup_ns {
            left -= 1;
        }
        let sent = t();
        let (session, one) = one(client, turn);
        turn += 1;
        let completed = t();
        // Closing is no part of a request, but the client is busy until it is done.
        if let Some(session) = session {
            session.leave();
        }
        let One {
            work,
            answer,
            bytes,
            received,
        } = one;
        let mut recorder = Recorder {
            ledgers: ledgers.get_mut(client.base..).unwrap_or_default(),
            sheet: sheet.as_mut(),
            target: client.seat.target as usize,
            receipt: None,
        };
        let lateness = Lateness::in_turn(planned, free, sent);
        free = t();
        let times = Times {
            planned,
            sent,
            completed,
        };
        recorder.sent(
            sent,
            Sent {
                work,
                lateness,
                bytes,
            },
            1,
        );
        recorder.done(
            recorder::Outcome {
                work,
                times,
                status: answer.status.bits(),
                values: answer.values,
                bytes: received,
            },
            1,
        );
        tell(&mut ledgers, (client.number, free, slept), progress, false);
        // The next request of a closed loop is due when the client is free, so that closing is in none.
        source.answered(free);
    }
    let (ran, spent) = (t(), Spent::so_far().since(&spent));
    let ended = (control.is_over() || ran >= end.at()).then_some(ran.min(end.at()));
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
    tell(&mut ledgers, (client.number, ran, slept), progress, true);
    Report {
        abandons: false,
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
    last: bool,
) {
    let closed = reports::closed(ledgers.iter_mut().enumerate(), t, last);
    if !closed.is_empty() {
        // Nobody may be listening.
        let _ = progress.send(Progress {
            core,
            closed,
            heard: None,
            ran_ns: t,
            idle_ns,
            last,
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

/// Connects and asks. The session is still open.
fn one(client: &Client<'_>, turn: usize) -> (Option<Session>, One) {
    match client.target.open_as(client.seat.index as usize) {
        Ok(mut session) => {
            let one = ask(client, &mut session, turn);
            (Some(session), one)
        }
        Err(error) => (None, One::failed(error.status())),
    }
}

fn ask(client: &Client<'_>, session: &mut Session, turn: usize) -> One {
    let phase = client.running.phase;
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
