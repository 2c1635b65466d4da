//! The line that changes while a phase runs.

use std::io::{self, Write};
use std::time::Duration;

use plan::unit::Rate;
use plan::unit::duration::{self, clock};
use record::Closed;
use record::notification_ledger::Stretch;
use record::underway::{News, Underway};

use crate::page::{WIDTH, counted, cut, grouped};
use crate::style::{Style, TextStyle};

/// What a phase is doing right now, from the intervals that its cores have closed.
#[derive(Debug)]
pub struct Live {
    length_ns: Option<u64>,
    requests: Option<u64>,
    style: Style,
    publishes: bool,
    so_far: Underway,
}

impl Live {
    /// For a phase of this length, warm-up included, or of so many requests.
    pub fn new(length: Option<Duration>, requests: Option<u64>, style: Style) -> Self {
        Self {
            length_ns: length.map(duration::nanos),
            requests,
            style,
            publishes: false,
            so_far: Underway::default(),
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
        self.so_far.hear(core, so_far);
    }

    /// An interval that a core closed in one of its ledgers.
    pub fn add(&mut self, core: usize, ledger: usize, closed: &Closed) {
        self.so_far.add(core, ledger, closed);
    }

    /// Completed so far.
    pub fn completed(&self) -> u64 {
        self.so_far.all().counters.completed
    }

    /// What happened since the last line; `now_ns` counts from the phase's start.
    ///
    /// `  3 s   9,998/s   p50 210 µs  p99 1.20 ms  max 3.00 ms   12 in flight   0 errors   7 s left`
    ///
    /// `  3 s   2.5k/s values   10/s messages  delay mean 79.5 ms  max 121 ms   0 lost   7 s left`
    pub fn line(&mut self, now_ns: u64) -> String {
        let news = self.so_far.take();
        let mut parts = vec![format!("{:>6}", clock(now_ns))];
        match self.so_far.is_notified() {
            false => self.asked(&news, &mut parts),
            true => self.notified(&news, &mut parts),
        }
        parts.extend(self.left(now_ns));
        parts.join("  ")
    }

    /// What requests did.
    fn asked(&self, news: &News, parts: &mut Vec<String>) {
        parts.push(format!("{:>9}", rate(news, news.closed.succeeded())));
        let response = &news.closed.response;
        parts.push(format!(
            "p50 {:>7}  p99 {:>7}  max {:>7}",
            at(response.quantile(0.5)),
            at(response.quantile(0.99)),
            at(response.max())
        ));
        parts.push(format!("{:>4} in flight", self.so_far.in_flight()));
        parts.push(self.errors());
    }

    /// What subscriptions brought. Of notifications it is the delay that counts: a Publish request
    /// waits for news.
    fn notified(&self, news: &News, parts: &mut Vec<String>) {
        let all = self.so_far.notified();
        let what = if all.events { "events" } else { "values" };
        parts.push(format!("{:>9} {what}", rate(news, news.notified.values)));
        parts.push(format!(
            "{:>6} messages",
            rate(news, news.notified.messages)
        ));
        let (delay, lost) = match self.publishes {
            true => ("late", "refused"),
            false => ("delay", "lost"),
        };
        let delays = &news.closed.delay;
        parts.push(format!(
            "{delay} mean {:>7}  max {:>7}",
            at(delays.mean().map(|mean| mean as u64)),
            at(delays.max())
        ));
        if self.completed() > 0 {
            // Requests that are sent beside.
            parts.push(format!("{} requests", rate(news, news.closed.succeeded())));
        }
        if self.so_far.all().errors > 0 {
            parts.push(self.errors());
        }
        parts.push(self.bad(all.lost, format!("{} {lost}", grouped(all.lost))));
    }

    fn errors(&self) -> String {
        let errors = self.so_far.all().errors;
        self.bad(errors, counted(errors, "error", "errors"))
    }

    /// Words that stand out when there are any.
    fn bad(&self, count: u64, words: String) -> String {
        match count {
            0 => words,
            _ => self.style.ink(TextStyle::Bad, words),
        }
    }

    /// Whatever ends the phase first.
    fn left(&self, now_ns: u64) -> Option<String> {
        let by_requests = self.requests.and_then(|all| {
            let completed = self.completed();
            let left = all.saturating_sub(completed);
            let each = now_ns as f64 / completed as f64;
            (completed > 0).then_some((left as f64 * each) as u64)
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

/// So many in the time that is covered.
fn rate(news: &News, count: u64) -> String {
    news.per_second(count)
        .map_or_else(|| "no news".to_owned(), Rate::show)
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
