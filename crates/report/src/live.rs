//! The line that changes while a phase runs.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::time::Duration;

use plan::unit::Rate;
use plan::unit::duration::{self, clock};
use record::Closed;
use record::receipt::{Events, Stretch};

use crate::page::{WIDTH, counted, cut, grouped};
use crate::style::{Ink, Style};

/// What a phase is doing right now, from the intervals that its cores have closed.
#[derive(Debug)]
pub struct Live {
    length_ns: Option<u64>,
    requests: Option<u64>,
    style: Style,
    publishes: bool,
    // Of the time since the last line.
    recent: Closed,
    recent_ns: u64,
    // The last level that each core told of each of its ledgers.
    in_flight: BTreeMap<(usize, usize), i64>,
    // What the subscriptions of each core brought so far, and what the last line told of that.
    heard: BTreeMap<usize, Heard>,
    told: Heard,
    completed: u64,
    errors: u64,
    told_ns: u64,
}

/// What subscriptions brought.
#[derive(Debug, Clone, Copy, Default)]
struct Heard {
    values: u64,
    messages: u64,
    /// Values, or messages where values cannot be counted.
    lost: u64,
    /// They are events.
    events: bool,
}

impl Live {
    /// For a phase of this length, warm-up included, or of so many requests.
    pub fn new(length: Option<Duration>, requests: Option<u64>, style: Style) -> Self {
        Self {
            length_ns: length.map(duration::nanos),
            requests,
            style,
            publishes: false,
            recent: Closed::default(),
            recent_ns: 0,
            in_flight: BTreeMap::new(),
            heard: BTreeMap::new(),
            told: Heard::default(),
            completed: 0,
            errors: 0,
            told_ns: 0,
        }
    }

    /// Of a publisher: its delays are those of cycles, and what is lost was refused.
    #[must_use]
    pub fn of_publisher(mut self, is: bool) -> Self {
        self.publishes = is;
        self
    }

    /// What the subscriptions of a core brought since the measurement began.
    pub fn hear(&mut self, core: usize, so_far: &Stretch) {
        let heard = Heard {
            values: so_far.values.received,
            messages: so_far.messages.notifications,
            lost: so_far.places.lost().max(so_far.messages.lost()),
            events: so_far.events != Events::default(),
        };
        self.heard.insert(core, heard);
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
    ///
    /// `  3 s   2.5k/s values   10/s messages  delay mean 79.5 ms  max 121 ms   0 lost   7 s left`
    pub fn line(&mut self, now_ns: u64) -> String {
        let recent = std::mem::take(&mut self.recent);
        // Intervals come late and in groups: the rate is over the time that they cover.
        let covered = self.recent_ns.saturating_sub(self.told_ns);
        self.told_ns = self.told_ns.max(self.recent_ns);
        let mut parts = vec![format!("{:>6}", clock(now_ns))];
        match self.heard.is_empty() {
            true => self.asked(&recent, covered, &mut parts),
            false => self.notified(&recent, covered, &mut parts),
        }
        parts.extend(self.left(now_ns));
        parts.join("  ")
    }

    /// What requests did.
    fn asked(&self, recent: &Closed, covered: u64, parts: &mut Vec<String>) {
        parts.push(format!("{:>9}", rate(recent.succeeded(), covered)));
        let response = &recent.response;
        parts.push(format!(
            "p50 {:>7}  p99 {:>7}  max {:>7}",
            at(response.quantile(0.5)),
            at(response.quantile(0.99)),
            at(response.max())
        ));
        let in_flight: i64 = self.in_flight.values().sum();
        parts.push(format!("{in_flight:>4} in flight"));
        let errors = counted(self.errors, "error", "errors");
        parts.push(match self.errors {
            0 => errors,
            _ => self.style.ink(Ink::Bad, errors),
        });
    }

    /// What subscriptions brought. Of notifications it is the delay that counts: a Publish request
    /// waits for news.
    fn notified(&mut self, recent: &Closed, covered: u64, parts: &mut Vec<String>) {
        let mut all = Heard::default();
        for heard in self.heard.values() {
            all.values += heard.values;
            all.messages += heard.messages;
            all.lost += heard.lost;
            all.events |= heard.events;
        }
        let told = std::mem::replace(&mut self.told, all);
        let since = |all: u64, told: u64| rate(all.saturating_sub(told), covered);
        let what = if all.events { "events" } else { "values" };
        parts.push(format!("{:>9} {what}", since(all.values, told.values)));
        parts.push(format!(
            "{:>6} messages",
            since(all.messages, told.messages)
        ));
        let (delay, lost) = match self.publishes {
            true => ("late", "refused"),
            false => ("delay", "lost"),
        };
        parts.push(format!(
            "{delay} mean {:>7}  max {:>7}",
            at(recent.delay.mean().map(|mean| mean as u64)),
            at(recent.delay.max())
        ));
        if self.completed > 0 {
            // Requests that are sent beside.
            parts.push(format!("{} requests", rate(recent.succeeded(), covered)));
        }
        if self.errors > 0 {
            let errors = counted(self.errors, "error", "errors");
            parts.push(self.style.ink(Ink::Bad, errors));
        }
        let lost = format!("{} {lost}", grouped(all.lost));
        parts.push(match all.lost {
            0 => lost,
            _ => self.style.ink(Ink::Bad, lost),
        });
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

/// So many in so long.
fn rate(count: u64, covered_ns: u64) -> String {
    match covered_ns {
        0 => "no news".to_owned(),
        covered => Rate::show(count as f64 * 1e9 / covered as f64),
    }
}

fn at(value: Option<u64>) -> String {
    value.map_or_else(|| "n/a".to_owned(), duration::show_ns)
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
