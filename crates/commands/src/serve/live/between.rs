//! What lies between two looks at a server, as it is shown.

use std::time::Duration;

use plan::unit::duration::{clock, nanos};
use plan::unit::{Bytes, Rate};
use plant::Counted;

use super::Look;
use crate::serve::taking::{self, Device};

/// Two looks and what lies between them.
pub(super) struct Between<'a> {
    pub(super) before: &'a Look,
    pub(super) now: &'a Look,
    pub(super) up: Duration,
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
    pub(super) fn has_changed(&self) -> bool {
        self.before.counted != self.now.counted
    }

    fn bytes(&self, count: fn(&Counted) -> u64) -> String {
        format!("{}/s", Bytes::show(self.rate(count)))
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

    /// For a terminal.
    pub(super) fn block(&self, url: &str) -> Vec<String> {
        let counted = &self.now.counted;
        let mut lines = vec![
            format!("{url}   up {}   Ctrl-C ends", clock(nanos(self.up))),
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
                ("received", self.bytes(|c| c.received_bytes)),
                ("sent", self.bytes(|c| c.sent_bytes)),
            ]),
            format!("loops{}", self.balance()),
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

    /// For where there is none.
    pub(super) fn line(&self) -> String {
        let counted = &self.now.counted;
        format!(
            "{} sessions {} subscriptions {} items {} requests {} notifications {} errors {} cpu {} memory {} received {} sent {}",
            clock(nanos(self.up)),
            counted.sessions,
            counted.subscriptions,
            counted.items,
            self.per_second(|c| c.requests),
            self.per_second(|c| c.notifications),
            self.per_second(|c| c.rejected_requests),
            self.cpu(),
            self.memory(),
            self.bytes(|c| c.received_bytes),
            self.bytes(|c| c.sent_bytes),
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

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use observe::Process;
    use plant::{FaultCount, Tally};

    use super::super::{COLUMNS, over};
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
        assert_eq!(block.len(), 9);
        for line in &block {
            assert!(line.chars().count() < COLUMNS, "{line}");
        }
        assert!(block[0].contains("1:02:03"));
        let first = over(&block, 0, 80);
        let second = over(&block, 9, 80);
        assert_eq!(second, format!("\x1b[9A\r{first}"));
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
        assert!(line.starts_with("7 s sessions 123456 "), "{line}");
        assert!(line.contains("requests 1000/s"), "{line}");
    }
}
