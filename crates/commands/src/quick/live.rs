//! What a person sees while a phase runs.

use std::io::Stderr;
use std::time::{Duration, Instant};

use load::engine::{Control, Progress};
use load::pubsub::Sender;
use load::work::Prepared;
use plan::{Phase, Within};
use record::run::Expectation;

use super::feed::FeedSender;
use super::live_figures::LiveFigures;
use super::result::status_name;
use super::stage::Act;
use crate::screen::{self, Out};
use report::live::{Board, Live};
use report::watch::PhaseSetup;

/// Shows progress, and ends the phase when a condition says so.
pub struct Watcher {
    live: Live,
    feed_sender: Option<FeedSender>,
    board: Option<Board<Stderr>>,
    act: Option<Act>,
    began: Option<Instant>,
    so_far: LiveFigures,
    abort_on: Vec<Within>,
    control: Control,
    /// The condition that ended the phase, as one that was not kept.
    pub aborted: Option<Expectation>,
    checked: Duration,
}

/// Conditions are looked at this often.
const CHECK: Duration = Duration::from_secs(1);

impl Watcher {
    /// For a phase with these servers, or where its messages go or come from.
    pub fn new(
        command: &str,
        phase: &Phase,
        targets: Vec<String>,
        quiet: bool,
        control: &Control,
    ) -> Self {
        let stderr = std::io::stderr();
        let style = Out::Error.style();
        let terminal = screen::is_drawn_on();
        let act = match quiet {
            true => None,
            false => Act::begin(about(command, phase, targets), phase, control),
        };
        let length = phase.measured_until().map(|end| end + phase.cooldown);
        Self {
            live: Live::new(length, phase.requests, style)
                .of_publisher(phase.work.only_publishes()),
            feed_sender: FeedSender::of(command, phase.name.as_deref().unwrap_or(command)),
            board: (!quiet && act.is_none()).then(|| Board::new(stderr, terminal)),
            act,
            began: None,
            so_far: LiveFigures::new(&phase.abort_on),
            abort_on: phase.abort_on.clone(),
            control: control.clone(),
            aborted: None,
            checked: Duration::ZERO,
        }
    }

    /// Something happened.
    pub fn tell(&mut self, progress: &Progress) {
        let began = *self.began.get_or_insert_with(Instant::now);
        for (ledger, closed) in &progress.closed {
            self.live.add(progress.core, *ledger, closed);
        }
        // Behind its end a phase cannot be ended early, and has no rate.
        if !self.abort_on.is_empty() && !progress.last {
            self.so_far.add(progress);
        }
        if let Some(heard) = &progress.heard {
            self.live.hear(progress.core, heard);
        }
        let elapsed = began.elapsed();
        if let Some(feed_sender) = &mut self.feed_sender {
            feed_sender.add(progress);
            feed_sender.tick(elapsed);
        }
        if let Some(act) = &self.act {
            act.tell(progress);
        }
        if let Some(board) = &mut self.board {
            // A terminal that is gone does not stop a measurement.
            let _ = board.tick(&mut self.live, elapsed.as_nanos() as u64);
        }
        if elapsed >= self.checked + CHECK && self.aborted.is_none() && !progress.last {
            self.checked = elapsed;
            self.check(elapsed);
        }
    }

    /// A listener heard these so far.
    pub fn senders(&self, all: Vec<Sender>) {
        if let Some(act) = &self.act {
            act.senders(all);
        }
    }

    fn check(&mut self, elapsed: Duration) {
        let so_far = self.so_far.at(elapsed);
        let mut checked = self.abort_on.iter().map(|it| (it, so_far.check(it)));
        if let Some((condition, met)) = checked.find(|(_, it)| it.is_met()) {
            self.aborted = Some(Expectation {
                expected: format!("never {condition}"),
                found: met.figure,
                met: false,
                reason: Some(format!(
                    "it was after {:.1} s: {met}",
                    elapsed.as_secs_f64()
                )),
            });
            self.control.abort();
        }
    }

    /// The phase is over.
    pub fn end(&mut self) {
        if let (Some(feed_sender), Some(began)) = (&self.feed_sender, self.began) {
            feed_sender.line(began.elapsed());
        }
        if let Some(board) = &mut self.board {
            let _ = board.end();
        }
        self.act = None;
    }
}

fn about(command: &str, phase: &Phase, targets: Vec<String>) -> PhaseSetup {
    let names = Prepared::names(phase).into_iter().map(str::to_owned);
    PhaseSetup::of(command, phase, targets, names.collect(), status_name)
}
