//! A process that is watched: looked at often, and closely now and then.

use observe::{Beat, Network, NotAvailable, Pulse};
use record::Timestamp;

use super::close::Close;
use super::difference::{between, cores, less};
use super::line::{Ended, Line, Process, Sum};

/// A process that is watched.
#[derive(Debug)]
pub struct Watched {
    pub name: String,
    pub pid: u32,
    pulse: Pulse,
    first: Beat,
    pub last: Beat,
    largest_rss: Option<u64>,
    pub close: Close,
    ended: Option<NotAvailable>,
}

impl Watched {
    /// A process, from now on.
    pub fn of(name: String, pid: u32, counters: bool) -> observe::Figure<Self> {
        let pulse = Pulse::of(pid)?;
        let first = pulse.beat()?;
        Ok(Self {
            close: Close::of(pid, &first, counters)?,
            name,
            pid,
            pulse,
            largest_rss: first.rss_bytes.clone().ok(),
            last: first.clone(),
            first,
            ended: None,
        })
    }

    /// Whether somebody watches it already.
    pub fn is_among(&self, all: &[Self]) -> bool {
        all.iter().any(|it| it.pid == self.pid)
    }

    /// Whether it has ended, and that was told.
    pub const fn has_ended(&self) -> bool {
        self.ended.is_some()
    }

    /// What it spent since the last look. Nothing once it has ended. A close look is one that has a network.
    pub fn look(&mut self, at: Timestamp, closely: Option<&Network>) -> Option<Line> {
        if self.has_ended() {
            return None;
        }
        let beat = match self.pulse.beat() {
            Ok(beat) => beat,
            Err(why) => {
                let reason = why.reason().to_owned();
                self.ended = Some(why);
                return Some(Line::Ended(Ended {
                    at,
                    process: self.name.clone(),
                    pid: Some(self.pid),
                    from: None,
                    reason,
                }));
            }
        };
        let interval = between(self.last.at, beat.at);
        let cpu = less(&beat.cpu_ns, &self.last.cpu_ns);
        self.largest_rss = self.largest_rss.max(beat.rss_bytes.clone().ok());
        let line = Process {
            at,
            process: self.name.clone(),
            pid: Some(self.pid),
            from: None,
            interval_ns: interval,
            cpu_cores: cores(cpu.clone(), interval),
            cpu_ns: cpu.into(),
            user_ns: less(&beat.user_ns, &self.last.user_ns).into(),
            system_ns: less(&beat.system_ns, &self.last.system_ns).into(),
            rss_bytes: beat.rss_bytes.clone().into(),
            threads: beat.threads.clone().into(),
            minor_faults: less(&beat.minor_faults, &self.last.minor_faults).into(),
            major_faults: less(&beat.major_faults, &self.last.major_faults).into(),
            closely: closely.map(|network| self.close.look(&beat, network)),
        };
        self.last = beat;
        Some(Line::Process(Box::new(line)))
    }

    /// From the first look to the last.
    pub fn sum(&self) -> Sum {
        let long = between(self.first.at, self.last.at);
        let cpu = less(&self.last.cpu_ns, &self.first.cpu_ns);
        let largest = self
            .largest_rss
            .ok_or_else(|| NotAvailable::because("it was never seen"));
        Sum {
            process: self.name.clone(),
            pid: Some(self.pid),
            from: None,
            watched_ns: long,
            cpu_cores: cores(cpu.clone(), long),
            cpu_ns: cpu.into(),
            user_ns: less(&self.last.user_ns, &self.first.user_ns).into(),
            system_ns: less(&self.last.system_ns, &self.first.system_ns).into(),
            largest_rss_bytes: largest.into(),
            ended: self.has_ended(),
        }
    }
}
