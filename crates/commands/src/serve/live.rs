//! What a running server shows of itself: a block on a terminal that is written over, lines
//! elsewhere, and totals at the end.

mod between;

use std::io::Write;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use observe::{Figure, Process, Sample, Task};
use plan::unit::duration::{clock, nanos};
use plant::{Counted, FaultCount, Refused, ServerWatch, Tally};

use super::taking::{self, Device};
use crate::screen::{self, tell};
use between::Between;

/// Time between two looks.
const EVERY: Duration = Duration::from_secs(1);
/// How long a writer may hang at the end before it is left behind.
const PATIENCE: Duration = Duration::from_millis(200);
/// Services whose times are shown at the end, those that took most time.
const SERVICES: usize = 6;
/// Columns where a terminal does not tell how many it has.
const COLUMNS: usize = 80;

/// A server's figures at one moment.
struct Look {
    at: Instant,
    counted: Counted,
    tally: Tally,
    faults: Vec<FaultCount>,
    /// How clients take what there is for them, by server.
    devices: Vec<Device>,
    process: Sample,
    threads: Figure<Vec<Task>>,
}

/// Who looks.
struct FigureSource {
    watches: Vec<ServerWatch>,
    process: Process,
    start: Instant,
    /// How many of those who were refused were shown, by server.
    refused: Vec<u64>,
}

impl FigureSource {
    fn look(&mut self) -> Look {
        let at = Instant::now();
        let (process, threads) = self.process.look();
        Look {
            at,
            counted: counted(&self.watches),
            tally: tally(&self.watches),
            faults: faults(&self.watches),
            devices: self.watches.iter().map(Device::of).collect(),
            process,
            threads,
        }
    }

    /// Who was refused since this was asked last, a line each.
    fn refused(&mut self, up: Duration) -> Vec<String> {
        let mut lines = Vec::new();
        for (watch, known) in self.watches.iter().zip(&mut self.refused) {
            let (new, all) = watch.refused(*known);
            *known = all;
            lines.extend(new.iter().map(|one| refusal(one, up)));
        }
        lines
    }
}

/// `7 s refused 127.0.0.1:40312: BadUserAccessDenied, user "operator" (311 more before)`.
fn refusal(one: &Refused, up: Duration) -> String {
    let address = match one.address {
        Some(address) => address.to_string(),
        None => "an address that is gone".into(),
    };
    let before = match one.untold {
        0 => String::new(),
        more => format!(" ({more} more before)"),
    };
    let (who, status) = (&one.who, one.status);
    format!(
        "{} refused {address}: {status}, {who}{before}",
        clock(nanos(up))
    )
}

/// The first server's URL, and how many there are beside.
fn name(watches: &[ServerWatch]) -> String {
    match watches {
        [] => String::new(),
        [one] => one.url().to_owned(),
        [first, others @ ..] => format!("{} and {} more", first.url(), others.len()),
    }
}

fn counted(watches: &[ServerWatch]) -> Counted {
    let mut sum = Counted::default();
    for watch in watches {
        sum += watch.counted();
    }
    sum
}

fn tally(watches: &[ServerWatch]) -> Tally {
    let mut sum = Tally::default();
    for watch in watches {
        sum += watch.tally();
    }
    sum
}

/// Faults of the same number are the same on servers alike; their counts are added up.
fn faults(watches: &[ServerWatch]) -> Vec<FaultCount> {
    let mut sums: Vec<FaultCount> = Vec::new();
    for fault in watches.iter().flat_map(ServerWatch::faults) {
        let same = |sum: &&mut FaultCount| (sum.id, &sum.fault) == (fault.id, &fault.fault);
        match sums.iter_mut().find(same) {
            Some(sum) => {
                sum.events += fault.events;
                sum.hits += fault.hits;
            }
            None => sums.push(fault),
        }
    }
    sums
}

/// What a display is told.
enum Event {
    /// A note.
    Note(String),
    /// It is over.
    End,
}

/// Where notes are put that belong to no look.
#[derive(Clone)]
pub struct Notes {
    display: Option<mpsc::Sender<Event>>,
}

impl Notes {
    /// Tells people who look.
    pub fn tell(&self, note: String) {
        if let Some(display) = &self.display {
            // What ended shows nothing any more.
            let _ = display.send(Event::Note(note));
        }
    }

    /// Tells people, also those who want to see nothing else.
    pub fn warn(&self, note: String) {
        let unshown = match &self.display {
            Some(display) => display.send(Event::Note(note)).err(),
            None => Some(mpsc::SendError(Event::Note(note))),
        };
        if let Some(mpsc::SendError(Event::Note(note))) = unshown {
            tell!("{note}");
        }
    }
}

/// What is shown, by a thread of its own: a terminal that is stopped must not stop the server.
pub struct Display {
    told: mpsc::Sender<Event>,
    done: mpsc::Receiver<()>,
}

impl Display {
    /// Begins to show.
    pub fn start(watches: Vec<ServerWatch>) -> Self {
        let (told, hears) = mpsc::channel();
        let (ready, done) = mpsc::channel();
        let source = FigureSource {
            refused: vec![0; watches.len()],
            watches,
            process: Process::own(),
            start: Instant::now(),
        };
        std::thread::spawn(move || {
            show(source, &hears);
            // Nobody may wait any more.
            let _ = ready.send(());
        });
        Self { told, done }
    }

    /// Where notes for one that may not be there are put.
    pub fn notes(display: Option<&Self>) -> Notes {
        let display = display.map(|display| display.told.clone());
        Notes { display }
    }

    /// Shows the last of it.
    pub fn stop(self) {
        let _ = self.told.send(Event::End);
        let _ = self.done.recv_timeout(PATIENCE);
    }
}

/// Both ways write to standard error: standard output is for whoever started this.
fn show(mut source: FigureSource, told: &mpsc::Receiver<Event>) {
    let mut out = std::io::stderr();
    let terminal = screen::is_drawn_on();
    let mut before = source.look();
    let mut lines = 0;
    loop {
        let last = match told.recv_timeout(EVERY) {
            Err(RecvTimeoutError::Timeout) => false,
            Ok(Event::End) | Err(RecvTimeoutError::Disconnected) => true,
            Ok(Event::Note(note)) => {
                // In the place of the block, which stands below it when it comes next.
                let text = match lines {
                    0 => format!("{note}\n"),
                    lines => format!("\x1b[{lines}A\r\x1b[J{note}\n"),
                };
                lines = 0;
                if out.write_all(text.as_bytes()).is_err() {
                    return;
                }
                continue;
            }
        };
        let now = source.look();
        let up = now.at - source.start;
        let mut refused = source.refused(up);
        let between = Between {
            before: &before,
            now: &now,
            up,
        };
        let text = match (terminal, last) {
            (true, _) => {
                let width = terminal_size::terminal_size().map_or(COLUMNS, |(w, _)| w.0.into());
                // Above the block, which begins below them from now on.
                let block = between.block(&name(&source.watches));
                let text = over(&[refused, block.clone()].concat(), lines, width);
                lines = block.len();
                text
            }
            (false, last) => {
                if !last && between.has_changed() {
                    refused.push(between.line());
                }
                refused.iter().map(|line| format!("{line}\n")).collect()
            }
        };
        // Whoever read it has gone: nothing is left to do here.
        if out.write_all(text.as_bytes()).is_err() || last {
            return;
        }
        before = now;
    }
}

/// A block written over the one of `lines` lines before it, at once, so that nothing flickers.
fn over(block: &[String], lines: usize, width: usize) -> String {
    let mut text = match lines {
        0 => String::new(),
        lines => format!("\x1b[{lines}A\r"),
    };
    for line in block {
        // A line that wraps would be two, and the next block one too low.
        text.extend(line.chars().take(width.saturating_sub(1)));
        text.push_str("\x1b[K\n");
    }
    text
}

/// What servers counted, and what became of values and messages: the lines that each of their kind ends with.
pub fn sums(counted: &Counted, tally: &Tally) -> String {
    let values = tally.values();
    format!(
        "sessions {}, subscriptions {}, requests {}, refused {}\n\
         values read {}, written {}, methods called {}\n\
         bytes received {}, sent {}\n\
         samples {}, filtered {}, queued {}, overwritten {}, overflowed {}, sent {}\n\
         messages {}, dropped {}, unsent {}, acknowledged {}, republished {}\n",
        counted.cumulated_sessions,
        counted.cumulated_subscriptions,
        counted.requests,
        counted.rejected_requests,
        counted.reads,
        counted.writes,
        counted.calls,
        counted.received_bytes,
        counted.sent_bytes,
        values.samples,
        values.filtered,
        values.queued,
        values.overwritten,
        values.overflowed,
        values.sent,
        tally.messages.made,
        tally.messages.dropped,
        tally.messages.unsent,
        tally.messages.acknowledged,
        tally.messages.republished,
    )
}

/// What a server did in all.
pub fn totals(watches: &[ServerWatch]) -> String {
    let counted = counted(watches);
    let mut text = sums(&counted, &tally(watches));
    let (channels, sessions) = (
        counted.security_rejected_channels,
        counted.security_rejected_sessions,
    );
    if channels + sessions > 0 {
        let untold: u64 = watches.iter().map(ServerWatch::refused_untold).sum();
        text += &format!("not let in: channels {channels}, sessions {sessions}");
        if untold > 0 {
            text += &format!(" (the last {untold} were not told of)");
        }
        text.push('\n');
    }
    // Of several servers each has loops of its own: its ledger has them.
    if let [watch] = watches {
        for line in report::internals(&watch.internals(), SERVICES) {
            text += &format!("{line}\n");
        }
    }
    let devices: Vec<_> = watches.iter().map(Device::of).collect();
    text += &taking::table(&devices);
    for fault in faults(watches) {
        text += &format!(
            "fault {}: {} of {}\n",
            fault.fault, fault.hits, fault.events
        );
    }
    text
}
