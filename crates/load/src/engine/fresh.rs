//! `--fresh-session`: a connection, a channel and a session for each request.
//!
//! Each simulated client is a task that calls and waits; the tasks share the threads of the phase.

use std::sync::Mutex;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use plan::Seat;
use plan::unit::duration::nanos;
use record::samples::Sheet;
use record::{Lateness, Ledger, Times};
use wire::time::Instant;
use wire::types::StatusCode;

use super::diagnostics_reader::DiagnosticsReader;
use super::end::End;
use super::error::{RunError, SessionError};
use super::opening;
use super::outcome::{Outcome, gather};
use super::recorder::{self, Recorder, Sent};
use super::reports::{self, Progress, Report};
use super::running::{Begin, PER_THREAD, Running};
use super::settings::Settings;
use super::several::{self, in_tasks};
use super::target::Target;
use crate::access::Session;
use crate::transport::tasks::sleep_until;
use crate::transport::{Clock, Socket};
use crate::work::{Answer, Prepared};

/// Carries out a phase, a task for each session.
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
    let readers: Vec<_> = asked
        .map(|it| (DiagnosticsReader::beside(it), it))
        .collect();
    let threads = running.threads();
    let begin = Begin::after(PER_THREAD, threads, &Clock::new());
    let (tell, told) = channel();
    let end = settings.end_ns();
    let ledger = |_| Ledger::with_end(end).with_cuts(settings.cuts());
    let shared_recorder = Mutex::new(SharedRecorder {
        ledgers: (0..running.ledgers()).map(ledger).collect(),
        sheet: running.sheet(),
        changes: 0,
        tell,
    });
    let clients = seats.iter().filter_map(|&seat| {
        let (target, prepared) = running.server(seat)?;
        Some(Client {
            running,
            settings: &settings,
            shared_recorder: &shared_recorder,
            target,
            prepared,
            seat,
            requests: opening::requests(running.phase, seat, running.servers()),
            origin: begin.origin,
            base: seat.target as usize * works,
            look_up: LOOK_UP * (seats.len() as u32 / 64).clamp(1, 10),
        })
    });
    let mut tell = || told.try_iter().for_each(&mut *progress);
    let done = in_tasks(clients.collect(), threads, work, &mut tell)?;
    let mut shared_recorder = shared_recorder.into_inner().map_err(|_| RunError::Thread)?;
    shared_recorder.tell(Clock::new().mono().nanos_since(begin.origin), true);
    tell();
    let mut reports: Vec<_> = done.iter().map(report).collect();
    if let Some(first) = reports.first_mut() {
        first.ledgers = shared_recorder.ledgers;
    }
    let (mut outcome, _) = gather(running, begin, seats, reports);
    let ended = readers.iter().map(|(it, target)| it.end_beside(target));
    outcome.diagnostics = ended.collect();
    Ok(outcome)
}

/// What the clients of a thread did.
fn report(thread: &several::Done<Worked>) -> Report<Socket> {
    let ended = thread.each.iter().filter_map(|it| it.ended).max();
    let ran = thread.each.iter().map(|it| it.ran).max();
    let (sessions, ran) = (thread.each.len(), ran.unwrap_or_default());
    Report::of_calls(sessions, ended, ran, thread.idle_ns, &thread.spent)
}

/// Where all clients write. A request takes tenths of a millisecond and more, a lock takes a ten-thousandth of that.
struct SharedRecorder {
    ledgers: Vec<Ledger>,
    sheet: Option<Sheet>,
    /// Changes of what is offered that the ledgers know of.
    changes: usize,
    tell: Sender<Progress>,
}

impl SharedRecorder {
    /// After so many changes the phase ends then.
    fn ends_at(&mut self, changes: usize, at: u64) {
        if changes > self.changes {
            self.changes = changes;
            self.ledgers.iter_mut().for_each(|it| it.end_at(at));
        }
    }

    /// What is over by now, for whoever watches.
    fn tell(&mut self, t: u64, last: bool) {
        let closed = reports::closed(self.ledgers.iter_mut().enumerate(), t, last);
        if !closed.is_empty() {
            // Nobody may be listening.
            let _ = self.tell.send(Progress {
                core: 0,
                closed,
                heard: None,
                ran_ns: t,
                // Clients wait for answers: no loop is busy with them.
                idle_ns: t,
                last,
            });
        }
    }
}

/// One of the clients.
struct Client<'a> {
    running: &'a Running<'a>,
    settings: &'a Settings,
    shared_recorder: &'a Mutex<SharedRecorder>,
    target: &'a Target,
    prepared: &'a Prepared,
    seat: Seat,
    /// How many requests it may send after the warm-up.
    requests: u64,
    origin: Instant,
    /// Its first ledger.
    base: usize,
    /// A long wait is looked up from this often, to be ended early.
    look_up: Duration,
}

/// Until when a client was at work, and when its phase ended, if that was not because there was nothing more to do.
struct Worked {
    ended: Option<u64>,
    ran: u64,
}

/// One client at work.
async fn work(client: Client<'_>) -> Worked {
    let Running { phase, control, .. } = *client.running;
    let mut source = opening::source(phase, client.seat);
    let t = || client.t();
    let mut end = End::planned(client.settings.end_ns());
    let mut left = client.requests;
    let mut turn = 0;
    // Until then the client was at its request before, or closed its session.
    let mut free = 0;
    sleep_until(client.origin).await;
    let mut changes = 0;
    loop {
        for change in control.changes_since(changes) {
            changes += 1;
            let at = change.at.nanos_since(client.origin);
            source.change(at, change.level, 1);
            end.change(at, change.level);
            if let Ok(mut shared_recorder) = client.shared_recorder.lock() {
                shared_recorder.ends_at(changes, end.at());
            }
        }
        if left == 0 || source.is_dry_until(end.at()) {
            break;
        }
        // In a pause there is nothing to wait for but its end.
        let planned = source.peek().unwrap_or(u64::MAX);
        match client.sleep_until(planned.min(end.at()), changes).await {
            Woken::Due if t() < end.at() => {}
            Woken::Changed => continue,
            Woken::Due | Woken::Over => break,
        }
        source.pop();
        if planned >= client.settings.warmup_ns {
            left -= 1;
        }
        let sent = t();
        // It takes memory only while the client is at it.
        let (session, one) = Box::pin(one(&client, turn)).await;
        turn += 1;
        let completed = t();
        // Closing is no part of a request, but the client is busy until it is done.
        if let Some(session) = session {
            Box::pin(session.leave_in_turn()).await;
        }
        let lateness = Lateness::in_turn(planned, free, sent);
        free = t();
        let times = Times {
            planned,
            sent,
            completed,
        };
        client.write(&one, lateness, times, free);
        // The next request of a closed loop is due when the client is free, so that closing is in none.
        source.answered(free);
    }
    let ran = t();
    let ended = (control.is_over() || ran >= end.at()).then_some(ran.min(end.at()));
    if let Some(ended) = ended.filter(|_| source.is_open())
        && let Ok(mut shared_recorder) = client.shared_recorder.lock()
        && let Some(ledger) = shared_recorder.ledgers.get_mut(client.base)
    {
        // What fell due while it was at another request, and is not sent any more.
        while let Some(planned) = source.peek().filter(|at| *at < ended && left > 0) {
            source.pop();
            left -= 1;
            ledger.unsent(planned, ended, 1);
        }
    }
    Worked { ended, ran }
}

impl Client<'_> {
    /// Nanoseconds since the phase began.
    fn t(&self) -> u64 {
        Clock::new().mono().nanos_since(self.origin)
    }

    /// Writes a request down.
    fn write(&self, one: &One, lateness: Lateness, times: Times, t: u64) {
        let Ok(mut shared_recorder) = self.shared_recorder.lock() else {
            return;
        };
        let SharedRecorder { ledgers, sheet, .. } = &mut *shared_recorder;
        let mut recorder = Recorder {
            ledgers: ledgers.get_mut(self.base..).unwrap_or_default(),
            sheet: sheet.as_mut(),
            target: self.seat.target as usize,
            notification_ledger: None,
        };
        let sent = Sent {
            work: one.work,
            lateness,
            bytes: one.bytes,
        };
        recorder.sent(times.sent, sent, 1);
        let outcome = recorder::Outcome {
            work: one.work,
            times,
            status: one.answer.status.bits(),
            values: one.answer.values,
            bytes: one.received,
        };
        recorder.done(outcome, 1);
        shared_recorder.tell(t, false);
    }

    async fn sleep_until(&self, at: u64, changes: usize) -> Woken {
        let control = self.running.control;
        loop {
            if control.is_over() {
                return Woken::Over;
            }
            if control.has_changed_since(changes) {
                return Woken::Changed;
            }
            let t = self.t();
            if t >= at {
                return Woken::Due;
            }
            let until = at.min(t.saturating_add(nanos(self.look_up)));
            sleep_until(self.origin + Duration::from_nanos(until)).await;
        }
    }
}

/// A long wait is looked up from this often; less often where many wait.
const LOOK_UP: Duration = Duration::from_millis(50);

/// What ended a wait.
enum Woken {
    /// It is time.
    Due,
    /// A person changed what is offered.
    Changed,
    /// The phase is to end.
    Over,
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
async fn one(client: &Client<'_>, turn: usize) -> (Option<Session>, One) {
    match client.target.open_as(client.seat.index as usize).await {
        Ok(mut session) => {
            let one = ask(client, &mut session, turn).await;
            (Some(session), one)
        }
        Err(error) => (None, One::failed(error.status())),
    }
}

async fn ask(client: &Client<'_>, session: &mut Session, turn: usize) -> One {
    let phase = client.running.phase;
    let (index, sessions) = (client.seat.index, phase.sessions);
    let askers = client
        .prepared
        .askers(session, phase.spread, index, sessions)
        .await;
    let mut askers = match askers {
        Ok(askers) => askers,
        Err(error) => return One::failed(SessionError::from(error).status()),
    };
    let work = turn % askers.len().max(1);
    let Some(asker) = askers.get_mut(work) else {
        return One::failed(StatusCode::BadNothingToDo);
    };
    let mut bytes = 0;
    let answered = session.exchange_in_turn(|out, handle, utc| {
        bytes = asker.append(out, handle, utc) as u32;
    });
    let (answer, received) = match answered.await {
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
