//! What processes and the host spend while a phase runs.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use observe::{Host, Process, Sample};
use record::run::{Figure, Usage, UsageSeries};

/// At first; it doubles whenever there are too many samples.
const EVERY: Duration = Duration::from_millis(100);
/// More samples are thinned out.
const MOST: usize = 600;

/// A thread that looks at processes from time to time.
pub struct Watch {
    stop: Sender<()>,
    thread: JoinHandle<Seen>,
}

/// What it saw.
pub struct Seen {
    who: Vec<Row>,
    /// Share of this machine's time that the hypervisor took.
    pub stolen: Option<f64>,
}

struct Row {
    who: &'static str,
    pid: Option<u32>,
    process: Process,
    samples: Vec<(Instant, Sample)>,
}

impl Watch {
    /// Begins with this process, and with another one if there is one to watch.
    pub fn start(server: Option<Process>) -> std::io::Result<Self> {
        let (stop, stopped) = channel();
        let mut who = vec![Row::new("generator", None, Process::own())];
        if let Some(server) = server {
            who.push(Row::new("server", Some(server.id()), server));
        }
        let watch = move || {
            let first = Host::sample();
            let mut every = EVERY;
            let look = |who: &mut Vec<Row>| {
                for row in who {
                    row.samples.push((Instant::now(), row.process.sample()));
                }
            };
            look(&mut who);
            // Anything but a timeout ends it.
            while stopped.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
                look(&mut who);
                if who.iter().any(|row| row.samples.len() >= MOST) {
                    every *= 2;
                    for row in &mut who {
                        let mut keep = false;
                        row.samples.retain(|_| {
                            keep = !keep;
                            keep
                        });
                    }
                }
            }
            look(&mut who);
            let stolen = match (Host::sample().cpu, first.cpu) {
                (Ok(last), Ok(first)) => last.since(&first).stolen().ok(),
                _ => None,
            };
            Seen { who, stolen }
        };
        let thread = std::thread::Builder::new()
            .name("watch".into())
            .spawn(watch)?;
        Ok(Self { stop, thread })
    }

    /// Ends it.
    pub fn finish(self) -> Option<Seen> {
        // Gone only if the thread has ended.
        let _ = self.stop.send(());
        self.thread.join().ok()
    }
}

impl Row {
    fn new(who: &'static str, pid: Option<u32>, process: Process) -> Self {
        Self {
            who,
            pid,
            process,
            samples: Vec::new(),
        }
    }
}

impl Seen {
    /// For a result: sums over a window of a phase that began at `began`, and the course of it.
    /// `spun_ns` is what the generator spent waiting for something to do.
    pub fn series(
        &self,
        began: Instant,
        from_ns: u64,
        to_ns: u64,
        spun_ns: Option<u64>,
    ) -> Vec<UsageSeries> {
        self.who
            .iter()
            .map(|row| row.series(began, from_ns, to_ns, spun_ns))
            .collect()
    }

    /// Cores that a process kept busy between each sample and the next, and when.
    pub fn cores(&self, who: &str, began: Instant) -> Vec<(u64, f64)> {
        let row = self.who.iter().find(|row| row.who == who);
        let pairs = row.map_or(&[][..], |row| &row.samples).windows(2);
        pairs
            .filter_map(|pair| match pair {
                [(_, a), (at, b)] => Some((since(*at, began)?, b.since(a).cores().ok()?)),
                _ => None,
            })
            .collect()
    }
}

impl Row {
    fn series(
        &self,
        began: Instant,
        from_ns: u64,
        to_ns: u64,
        spun_ns: Option<u64>,
    ) -> UsageSeries {
        let mut series = UsageSeries {
            who: self.who.into(),
            pid: self.pid,
            ..UsageSeries::default()
        };
        let inside = |(at, _): &&(Instant, Sample)| {
            since(*at, began).is_some_and(|t| t <= to_ns.saturating_add(NEAR))
        };
        let last = self.samples.iter().rfind(inside);
        // The last one before the window, so that all of it is covered.
        let before = |(at, _): &&(Instant, Sample)| since(*at, began).is_none_or(|t| t <= from_ns);
        let first = self.samples.iter().rfind(before);
        let first = first.or(self.samples.first());
        if let (Some((_, first)), Some((_, last))) = (first, last) {
            let spent = last.since(first);
            series.window = Usage {
                cpu_cores: spent.cores().into(),
                cpu_ns: spent.cpu_ns.into(),
                user_ns: spent.user_ns.into(),
                system_ns: spent.system_ns.into(),
                waited_ns: spent.waited_ns.into(),
                stolen_ns: Figure::missing("of the host only"),
                spun_ns: match (self.who, spun_ns) {
                    ("generator", Some(ns)) => Figure::Known(ns),
                    _ => Figure::missing("it does not spin, or does not say"),
                },
                rss_peak_bytes: last.peak_rss_bytes.clone().into(),
                voluntary_switches: spent.voluntary_switches.into(),
                involuntary_switches: spent.involuntary_switches.into(),
                minor_faults: spent.minor_faults.into(),
                major_faults: spent.major_faults.into(),
            };
        }
        for pair in self.samples.windows(2) {
            let [(_, a), (at, b)] = pair else { continue };
            let Some(at_ns) = since(*at, began) else {
                continue;
            };
            series.at_ns.push(at_ns);
            series.cpu_cores.push(b.since(a).cores().ok());
            series.rss_bytes.push(b.rss_bytes.clone().ok());
        }
        series
    }
}

/// A sample that comes so much after the end belongs to it all the same.
const NEAR: u64 = 50_000_000;

fn since(at: Instant, began: Instant) -> Option<u64> {
    let since = at.checked_duration_since(began)?;
    u64::try_from(since.as_nanos()).ok()
}
