//! What a running server shows of itself: a block on a terminal that is written over, lines
//! elsewhere, and totals at the end.

use std::io::{IsTerminal, Write};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use observe::{Figure, Process, Sample, Thread};
use plan::unit::{Bytes, Rate};
use plant::{Counted, FaultCount, Refused, Tally, Watch};

use super::taking::{self, Device};

/// Time between two looks.
const EVERY: Duration = Duration::from_secs(1);
/// How long a writer may hang at the end before it is left behind.
const PATIENCE: Duration = Duration::from_millis(200);
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
    threads: Figure<Vec<Thread>>,
}

/// Who looks.
struct Looker {
    watches: Vec<Watch>,
    process: Process,
    start: Instant,
    /// How many of those who were refused were shown, by server.
    refused: Vec<u64>,
}

impl Looker {
    fn look(&mut self) -> Look {
        Look {
            at: Instant::now(),
            counted: counted(&self.watches),
            tally: tally(&self.watches),
            faults: faults(&self.watches),
            devices: self.watches.iter().map(Device::of).collect(),
            process: self.process.sample(),
            threads: self.process.threads(),
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

/// `0:07 refused 127.0.0.1:40312: BadUserAccessDenied, user "operator" (311 more before)`.
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
        self::up(up)
    )
}

/// The first server's URL, and how many there are beside.
fn name(watches: &[Watch]) -> String {
    match watches {
        [] => String::new(),
        [one] => one.url().to_owned(),
        [first, others @ ..] => format!("{} and {} more", first.url(), others.len()),
    }
}

fn counted(watches: &[Watch]) -> Counted {
    let mut sum = Counted::default();
    for watch in watches {
        sum += watch.counted();
    }
    sum
}

fn tally(watches: &[Watch]) -> Tally {
    let mut sum = Tally::default();
    for watch in watches {
        sum += watch.tally();
    }
    sum
}

/// Faults of the same number are the same on servers alike; their counts are added up.
fn faults(watches: &[Watch]) -> Vec<FaultCount> {
    let mut sums: Vec<FaultCount> = Vec::new();
    for fault in watches.iter().flat_map(Watch::faults) {
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
enum Told {
    /// A note.
    Note(String),
    /// It is over.
    End,
}

/// Where notes are put that belong to no look.
#[derive(Clone)]
pub struct Notes {
    display: Option<mpsc::Sender<Told>>,
}

impl Notes {
    /// Tells people who look.
    pub fn tell(&self, note: String) {
        if let Some(display) = &self.display {
            // What ended shows nothing any more.
            let _ = display.send(Told::Note(note));
        }
    }

    /// Tells people, also those who want to see nothing else.
    pub fn warn(&self, note: String) {
        let unshown = match &self.display {
            Some(display) => display.send(Told::Note(note)).err(),
            None => Some(mpsc::SendError(Told::Note(note))),
        };
        if let Some(mpsc::SendError(Told::Note(note))) = unshown {
            eprintln!("{note}");
        }
    }
}

/// What is shown, by a thread of its own: a terminal that is stopped must not stop the server.
pub struct Display {
    told: mpsc::Sender<Told>,
    done: mpsc::Receiver<()>,
}

impl Display {
    /// Begins to show.
    pub fn start(watches: Vec<Watch>) -> Self {
        let (told, hears) = mpsc::channel();
        let (ready, done) = mpsc::channel();
        let looker = Looker {
            refused: vec![0; watches.len()],
            watches,
            process: Process::own(),
            start: Instant::now(),
        };
        std::thread::spawn(move || {
            show(looker, &hears);
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
        let _ = self.told.send(Told::End);
        let _ = self.done.recv_timeout(PATIENCE);
    }
}

/// Both ways write to standard error: standard output is for whoever started this.
fn show(mut looker: Looker, told: &mpsc::Receiver<Told>) {
    let mut out = std::io::stderr();
    let terminal = out.is_terminal();
    let mut before = looker.look();
    let mut lines = 0;
    loop {
        let last = match told.recv_timeout(EVERY) {
            Err(RecvTimeoutError::Timeout) => false,
            Ok(Told::End) | Err(RecvTimeoutError::Disconnected) => true,
            Ok(Told::Note(note)) => {
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
        let now = looker.look();
        let up = now.at - looker.start;
        let mut refused = looker.refused(up);
        let between = Between {
            before: &before,
            now: &now,
            up,
        };
        let text = match (terminal, last) {
            (true, _) => {
                let width = terminal_size::terminal_size().map_or(COLUMNS, |(w, _)| w.0.into());
                // Above the block, which begins below them from now on.
                let block = between.block(&name(&looker.watches));
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

/// Two looks and what lies between them.
struct Between<'a> {
    before: &'a Look,
    now: &'a Look,
    up: Duration,
}

impl Between<'_> {
    fn seconds(&self) -> f64 {
        let between = self.now.at - self.before.at;
        between.as_secs_f64().max(1e-9)
    }

    fn rate(&self, count: fn(&Counted) -> u64) -> f64 {
        let (before, now) = (count(&self.before.counted), count(&self.now.counted));
        now.saturating_sub(before) as f64 / self.seconds()
    }

    fn per_second(&self, count: fn(&Counted) -> u64) -> String {
        Rate::show(self.rate(count))
    }

    /// Whether anybody came, went or asked.
    fn has_changed(&self) -> bool {
        self.before.counted != self.now.counted
    }

    fn cpu(&self) -> String {
        match self.now.process.since(&self.before.process).cores() {
            Ok(cores) => format!("{:.0} %", cores * 100.0),
            Err(_) => "n/a".into(),
        }
    }

    fn memory(&self) -> String {
        match &self.now.process.rss_bytes {
            Ok(bytes) => Bytes::show(*bytes as f64),
            Err(_) => "n/a".into(),
        }
    }

    /// What each loop used of a core.
    fn loops(&self) -> Option<Vec<f64>> {
        let (before, now) = match (&self.before.threads, &self.now.threads) {
            (Ok(before), Ok(now)) => (before, now),
            _ => return None,
        };
        let mut loops: Vec<(usize, f64)> = now
            .iter()
            .filter_map(|thread| {
                let number = thread.name.strip_prefix("plant-")?.parse().ok()?;
                let old = before.iter().find(|old| old.id == thread.id)?;
                let (Ok(old), Ok(new)) = (&old.cpu_ns, &thread.cpu_ns) else {
                    return None;
                };
                let used = new.saturating_sub(*old) as f64 / 1e9 / self.seconds();
                Some((number, used))
            })
            .collect();
        loops.sort_unstable_by_key(|(number, _)| *number);
        Some(loops.into_iter().map(|(_, used)| used).collect())
    }

    fn balance(&self) -> String {
        let Some(loops) = self.loops() else {
            return "n/a".into();
        };
        let shown: Vec<_> = loops
            .iter()
            .take(8)
            .map(|used| format!("{:.0}", used * 100.0))
            .collect();
        let more = match loops.len() {
            n if n > 8 => format!(" and {} more", n - 8),
            _ => String::new(),
        };
        format!(" {} %{more}", shown.join(" "))
    }

    /// What is lost between a sample and a client, by whatever cause.
    fn lost(&self) -> u64 {
        let values = self.now.tally.values();
        values.overflowed + values.lost + values.dropped
    }

    fn block(&self, url: &str) -> Vec<String> {
        let counted = &self.now.counted;
        let mut lines = vec![
            format!("{url}   up {}   Ctrl-C ends", up(self.up)),
            row([
                ("connections", counted.connections.to_string()),
                ("sessions", counted.sessions.to_string()),
                ("subscriptions", counted.subscriptions.to_string()),
                ("items", counted.items.to_string()),
            ]),
            row([
                ("requests", self.per_second(|c| c.requests)),
                ("reads", self.per_second(|c| c.reads)),
                ("writes", self.per_second(|c| c.writes)),
                ("errors", self.per_second(|c| c.rejected_requests)),
            ]),
            row([
                ("notifications", self.per_second(|c| c.notifications)),
                ("messages", self.per_second(|c| c.messages)),
                ("republished", self.per_second(|c| c.republished)),
                ("lost", self.lost().to_string()),
            ]),
            row([
                ("CPU", self.cpu()),
                ("memory", self.memory()),
                ("loops", self.balance()),
                ("", String::new()),
            ]),
        ];
        let sum = Device::sum(&self.now.devices);
        if sum.tally.messages.made > 0 {
            lines.extend(sum.rows().map(row));
        }
        if self.now.devices.len() > 1 {
            lines.extend(taking::worst(&self.now.devices, 5));
        }
        for fault in self.now.faults.iter().filter(|one| !one.cleared).take(5) {
            lines.push(format!(
                "fault {}  {}: {} of {}",
                fault.id, fault.fault, fault.hits, fault.events
            ));
        }
        lines
    }

    fn line(&self) -> String {
        let counted = &self.now.counted;
        format!(
            "{} sessions {} subscriptions {} items {} requests {} notifications {} errors {} cpu {} memory {}",
            up(self.up),
            counted.sessions,
            counted.subscriptions,
            counted.items,
            self.per_second(|c| c.requests),
            self.per_second(|c| c.notifications),
            self.per_second(|c| c.rejected_requests),
            self.cpu(),
            self.memory(),
        )
    }
}

/// Widths of the columns, which make 79 with what is between them.
const WIDTHS: [usize; 4] = [21, 17, 20, 15];

/// Names to the left and figures to the right of each column.
fn row(cells: [(&str, String); 4]) -> String {
    let cells = cells
        .into_iter()
        .zip(WIDTHS)
        .map(|((name, figure), width)| {
            let room = width.saturating_sub(name.len());
            format!("{name}{figure:>room$}")
        });
    let cells: Vec<_> = cells.collect();
    cells.join("  ").trim_end().to_owned()
}

/// `0:07`, `1:02:03`.
fn up(time: Duration) -> String {
    let seconds = time.as_secs();
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    match hours {
        0 => format!("{minutes}:{seconds:02}"),
        hours => format!("{hours}:{minutes:02}:{seconds:02}"),
    }
}

/// What a server did in all.
pub fn totals(watches: &[Watch]) -> String {
    let counted = counted(watches);
    let tally = tally(watches);
    let values = tally.values();
    let mut text = format!(
        "sessions {}, subscriptions {}, requests {}, refused {}\n\
         values read {}, written {}, methods called {}\n\
         samples {}, filtered {}, queued {}, overwritten {}, overflowed {}, sent {}\n\
         messages {}, dropped {}, unsent {}, acknowledged {}, republished {}\n",
        counted.cumulated_sessions,
        counted.cumulated_subscriptions,
        counted.requests,
        counted.rejected_requests,
        counted.reads,
        counted.writes,
        counted.calls,
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
    );
    let (channels, sessions) = (
        counted.security_rejected_channels,
        counted.security_rejected_sessions,
    );
    if channels + sessions > 0 {
        let untold: u64 = watches.iter().map(Watch::refused_untold).sum();
        text += &format!("not let in: channels {channels}, sessions {sessions}");
        if untold > 0 {
            text += &format!(" (the last {untold} were not told of)");
        }
        text.push('\n');
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

#[cfg(test)]
mod tests {
    use super::*;

    fn look(at: Instant, requests: u64) -> Look {
        let counted = Counted {
            requests,
            reads: requests * 100,
            notifications: requests * 7,
            sessions: 123_456,
            items: 12_345_678,
            ..Counted::default()
        };
        let fault = FaultCount {
            id: 1,
            fault: "drop,on=notification,every=1000".into(),
            events: 5,
            hits: 0,
            cleared: false,
        };
        Look {
            at,
            counted,
            tally: Tally::default(),
            faults: vec![fault],
            devices: vec![device()],
            process: Process::own().sample(),
            threads: Process::own().threads(),
        }
    }

    fn device() -> Device {
        let mut device = Device::sum(&[]);
        device.tally.messages.made = 123_456;
        device.tally.computed.overflowed = 123_456;
        let taking = &mut device.taking;
        taking.publish_gaps = 123_456;
        taking.longest_publish_gap_ns = 3_723_123_456_789;
        taking.acknowledged = 1;
        taking.acknowledged_after_ns = 123_456_789;
        taking.republish_asked = 999;
        taking.now.waiting = 1000;
        taking.now.longest_wait_ns = 12_345_678_912;
        device
    }

    #[test]
    fn a_block_fits_into_eighty_columns_and_is_written_over() {
        let start = Instant::now();
        let (before, now) = (
            look(start, 0),
            look(start + Duration::from_secs(1), 987_654),
        );
        let between = Between {
            before: &before,
            now: &now,
            up: Duration::from_secs(3723),
        };
        let block = between.block("opc.tcp://127.0.0.1:48400");
        assert_eq!(block.len(), 8);
        for line in &block {
            assert!(line.chars().count() < COLUMNS, "{line}");
        }
        assert!(block[0].contains("1:02:03"));
        let first = over(&block, 0, 80);
        let second = over(&block, 8, 80);
        assert_eq!(second, format!("\x1b[8A\r{first}"));
        let narrow = over(&block, 0, 40);
        assert!(
            narrow
                .lines()
                .all(|line| line.chars().count() <= 39 + "\x1b[K".len())
        );
    }

    #[test]
    fn a_line_is_written_when_something_has_changed() {
        let start = Instant::now();
        let (before, now) = (look(start, 1), look(start + Duration::from_secs(2), 2001));
        let between = |now| Between {
            before: &before,
            now,
            up: Duration::from_secs(7),
        };
        assert!(!between(&before).has_changed());
        assert!(between(&now).has_changed());
        let line = between(&now).line();
        assert!(line.starts_with("0:07 sessions 123456 "), "{line}");
        assert!(line.contains("requests 1000/s"), "{line}");
    }
}
