//! The line that changes while a phase runs.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::time::Duration;

use plan::unit::{Rate, duration};
use record::Closed;

use crate::page::{WIDTH, counted, cut, grouped};
use crate::style::{Ink, Style};

/// What a phase is doing right now, from the intervals that its cores have closed.
#[derive(Debug)]
pub struct Live {
    length_ns: Option<u64>,
    requests: Option<u64>,
    style: Style,
    // Of the time since the last line.
    recent: Closed,
    recent_ns: u64,
    // The last level that each core told of each of its ledgers.
    in_flight: BTreeMap<(usize, usize), i64>,
    completed: u64,
    errors: u64,
    told_ns: u64,
}

impl Live {
    /// For a phase of this length, warm-up included, or of so many requests.
    pub fn new(length: Option<Duration>, requests: Option<u64>, style: Style) -> Self {
        Self {
            length_ns: length.map(duration::nanos),
            requests,
            style,
            recent: Closed::default(),
            recent_ns: 0,
            in_flight: BTreeMap::new(),
            completed: 0,
            errors: 0,
            told_ns: 0,
        }
    }

    /// An interval that a core closed in one of its ledgers.
    pub fn add(&mut self, core: usize, ledger: usize, closed: &Closed) {
        self.recent.merge(closed);
        self.recent_ns = self
            .recent_ns
            .max(closed.start_ns.saturating_add(closed.width_ns));
        self.in_flight.insert((core, ledger), closed.in_flight);
        self.completed += closed.counters.completed;
        self.errors += closed.errors;
    }

    /// Completed so far.
    pub fn completed(&self) -> u64 {
        self.completed
    }

    /// What happened since the last line; `now_ns` counts from the phase's start.
    ///
    /// `  3 s   9,998/s   p50 210 µs  p99 1.20 ms  max 3.00 ms   12 in flight   0 errors   7 s left`
    pub fn line(&mut self, now_ns: u64) -> String {
        let recent = std::mem::take(&mut self.recent);
        // Intervals come late and in groups: the rate is over the time that they cover.
        let covered = self.recent_ns.saturating_sub(self.told_ns);
        self.told_ns = self.told_ns.max(self.recent_ns);
        let rate = match covered {
            0 => "no news".to_owned(),
            covered => {
                let done = match recent.delay.is_empty() {
                    true => recent.counters.completed,
                    false => recent.delay.count(),
                };
                let unit = if recent.delay.is_empty() {
                    ""
                } else {
                    " values"
                };
                format!("{}{unit}", Rate::show(done as f64 * 1e9 / covered as f64))
            }
        };
        let mut parts = vec![format!("{:>6}", clock(now_ns)), format!("{rate:>9}")];
        // Of notifications it is the delay that counts: a Publish request waits for news.
        let delays = !recent.delay.is_empty();
        let response = match delays {
            true => &recent.delay,
            false => &recent.response,
        };
        let at = |value: Option<u64>| {
            value.map_or_else(|| "n/a".to_owned(), |ns| duration::show_nanos(ns as f64))
        };
        parts.push(format!(
            "{}p50 {:>7}  p99 {:>7}  max {:>7}",
            if delays { "delay " } else { "" },
            at(response.quantile(0.5)),
            at(response.quantile(0.99)),
            at(response.max())
        ));
        if !delays {
            let in_flight: i64 = self.in_flight.values().sum();
            parts.push(format!("{in_flight:>4} in flight"));
        }
        let errors = counted(self.errors, "error", "errors");
        parts.push(match self.errors {
            0 => errors,
            _ => self.style.ink(Ink::Bad, errors),
        });
        parts.extend(self.left(now_ns));
        parts.join("  ")
    }

    /// Whatever ends the phase first.
    fn left(&self, now_ns: u64) -> Option<String> {
        let by_requests = self.requests.and_then(|all| {
            let left = all.saturating_sub(self.completed);
            let each = now_ns as f64 / self.completed as f64;
            (self.completed > 0).then_some((left as f64 * each) as u64)
        });
        let by_time = self.length_ns.map(|length| length.saturating_sub(now_ns));
        match (by_requests, by_time, self.requests) {
            (None, None, None) => None,
            (None, None, Some(all)) => Some(format!("{} to do", grouped(all))),
            (left, also, _) => {
                let least = left.into_iter().chain(also).min()?;
                Some(format!("{} left", clock(least)))
            }
        }
    }
}

/// Whole seconds, minutes beyond two of them.
fn clock(ns: u64) -> String {
    let seconds = (ns + 500_000_000) / 1_000_000_000;
    match seconds {
        s if s < 120 => format!("{s} s"),
        s if s < 3600 => format!("{}:{:02}", s / 60, s % 60),
        s => format!("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60),
    }
}

/// Where live lines go: over each other on a terminal, else one a second below each other.
#[derive(Debug)]
pub struct Board<W> {
    out: W,
    terminal: bool,
    next_ns: u64,
    drawn: bool,
}

/// Between two lines on a terminal.
const REDRAW_NS: u64 = 200_000_000;
/// Between two lines that stay.
const LINE_NS: u64 = 1_000_000_000;

impl<W: Write> Board<W> {
    /// Lines go to `out`.
    pub fn new(out: W, terminal: bool) -> Self {
        Self {
            out,
            terminal,
            next_ns: LINE_NS,
            drawn: false,
        }
    }

    /// Draws a line if it is time for one.
    pub fn tick(&mut self, live: &mut Live, now_ns: u64) -> io::Result<()> {
        if now_ns < self.next_ns {
            return Ok(());
        }
        let every = if self.terminal { REDRAW_NS } else { LINE_NS };
        // After a pause there is no flood of lines.
        self.next_ns = (now_ns / every + 1) * every;
        let line = live.line(now_ns);
        match self.terminal {
            // A colour at the end could be cut; the line is known to be short enough.
            true => write!(self.out, "\r\x1b[2K{line}")?,
            false => writeln!(self.out, "{}", cut(&line, WIDTH))?,
        }
        self.drawn = true;
        self.out.flush()
    }

    /// Takes the line away from a terminal.
    pub fn end(&mut self) -> io::Result<()> {
        if self.terminal && self.drawn {
            write!(self.out, "\r\x1b[2K")?;
            self.drawn = false;
        }
        self.out.flush()
    }
}
