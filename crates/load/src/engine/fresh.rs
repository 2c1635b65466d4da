//! `--fresh-session`: a connection, a channel and a session for each request.
//!
//! What is measured is mostly the server's RSA and the operating system's sockets, so this needs no
//! loop: each simulated client is a thread that calls and waits.

use std::time::Duration;

use plan::{Phase, Seat};
use record::{Lateness, Ledger, Times};
use wire::time::Instant;
use wire::types::StatusCode;

use super::books::Books;
use super::opening::{SessionError, Target};
use super::run::Control;
use super::settings::Settings;
use super::source::Source;
use super::spent::Spent;
use super::told::Report;
use crate::transport::{Clock, Steps};
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
}

/// One client at work.
pub fn run(client: &Client<'_>, mut source: Source) -> Report {
    let clock = Clock::new();
    let spent = Spent::so_far();
    let t = || {
        let now = clock.mono().as_nanos();
        now.saturating_sub(client.origin.as_nanos())
    };
    let end = client.settings.end_ns();
    let mut ledgers: Vec<_> = (0..client.ledgers).map(|_| Ledger::with_end(end)).collect();
    let mut left = client.requests;
    let (mut slept, mut turn) = (0, 0);
    std::thread::sleep(client.origin.since(clock.mono()));
    while let Some(planned) = source.peek().filter(|at| *at < end && left > 0) {
        if !sleep_until(planned, &t, client.control, &mut slept) || t() >= end {
            break;
        }
        source.pop();
        if planned >= client.settings.warmup_ns {
            left -= 1;
        }
        let sent = t();
        let (work, answer) = one(client, turn);
        turn += 1;
        let completed = t();
        let mut books = Books::new(ledgers.get_mut(client.base..).unwrap_or_default());
        let late = Lateness {
            pacer: sent.saturating_sub(planned),
            ..Lateness::default()
        };
        let times = Times {
            planned,
            sent,
            completed,
        };
        books.sent(sent, work, late, 0, 1);
        if let Some(ledger) = books.of(work) {
            ledger.done(times, answer.status.bits(), answer.values, 1);
        }
        source.answered(completed);
    }
    let (ran, spent) = (t(), Spent::so_far().since(&spent));
    let stopped = ran.min(end);
    for ledger in &mut ledgers {
        ledger.end_at(stopped);
    }
    Report {
        tallies: ledgers.into_iter().map(Ledger::finish).collect(),
        losses: Vec::new(),
        // A call that waits for its answer is not at work.
        idle_ns: ran.saturating_sub(spent.cpu_ns.unwrap_or(0)).max(slept),
        ran_ns: ran,
        ended_ns: stopped,
        sent_bytes: 0,
        received_bytes: 0,
        writes: 0,
        reads: 0,
        cpu_ns: spent.cpu_ns,
        starved_ns: spent.starved_ns,
        seats: 1,
        sessions: Vec::new(),
    }
}

/// A long wait is looked up from, to be ended early. Tells whether to go on.
fn sleep_until(at: u64, t: &impl Fn() -> u64, control: &Control, slept: &mut u64) -> bool {
    const LOOK_UP: Duration = Duration::from_millis(50);
    loop {
        if control.is_stopped() {
            return false;
        }
        let before = t();
        if before >= at {
            return true;
        }
        std::thread::sleep(Duration::from_nanos(at - before).min(LOOK_UP));
        *slept += t() - before;
    }
}

/// Connects, asks, and closes. The closing is not waited for in the figures.
fn one(client: &Client<'_>, turn: usize) -> (u32, Answer) {
    let failed = |error: SessionError| Answer::failed(error.status());
    let opened = client
        .target
        .access
        .open(&client.target.opening, &mut Steps::new());
    let mut session = match opened {
        Ok(session) => session,
        Err(error) => return (0, failed(error.into())),
    };
    let phase = client.phase;
    let askers = client.prepared.askers(
        &mut session,
        phase.spread,
        client.seat.index,
        phase.sessions,
    );
    let answer = match askers {
        Ok(mut askers) => {
            let work = turn % askers.len().max(1);
            match askers.get_mut(work) {
                Some(asker) => {
                    let mut bytes = 0;
                    let sent = session.exchange(|out, handle, utc| {
                        bytes = asker.append(out, handle, utc);
                    });
                    let answer = match sent {
                        Ok(body) => asker.service().judge(&body, asker.batch()),
                        Err(error) => Answer::failed(error.status()),
                    };
                    (work as u32, answer)
                }
                None => (0, Answer::failed(StatusCode::BadNothingToDo)),
            }
        }
        Err(error) => (0, failed(error.into())),
    };
    let _ = session.close(&mut Steps::new());
    answer
}
