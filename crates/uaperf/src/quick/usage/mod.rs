//! What processes and the host spend while a phase runs.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use observe::{Host, Limit, Process, Sample, Thread, Times, Tree};
use record::run::{Figure, Usage, UsageSeries};

/// At first; it doubles whenever there are too many looks.
const EVERY: Duration = Duration::from_millis(100);
/// More looks are thinned out.
const MOST: usize = 600;

/// Its place among the processes; the first is this one.
const SERVER: usize = 1;

/// A thread that looks at processes and the host from time to time.
pub struct Watch {
    stop: Sender<()>,
    thread: JoinHandle<Seen>,
}

/// What it saw.
pub struct Seen {
    /// Names and process ids, in the order of each look.
    who: Vec<(&'static str, Option<u32>)>,
    looks: Vec<Look>,
    /// Whether it was said which process the server is, and not found out.
    pub asked: bool,
    /// Processors that the server may use.
    allowed: Option<f64>,
}

/// At one moment.
struct Look {
    at: Instant,
    processes: Vec<Sample>,
    /// Of the server.
    threads: Vec<Thread>,
    host: observe::Figure<Times>,
}

impl Watch {
    /// Begins with this process, and with another one if there is one to watch. `asked` says
    /// whether that was named by who runs this.
    pub fn start(server: Option<Process>, asked: bool) -> std::io::Result<Self> {
        let (stop, stopped) = channel();
        let mut who = vec![("generator", None)];
        let mut processes = vec![Process::own()];
        if let Some(server) = server {
            who.push(("server", Some(server.id())));
            processes.push(server);
        }
        let allowed = who.get(SERVER).and_then(|(_, pid)| allowed((*pid)?));
        let watch = move || {
            let mut look = || Look {
                at: Instant::now(),
                processes: processes.iter_mut().map(Process::sample).collect(),
                threads: match processes.get(SERVER) {
                    Some(server) => server.threads().unwrap_or_default(),
                    None => Vec::new(),
                },
                host: Host::sample().cpu,
            };
            let (mut every, mut looks) = (EVERY, vec![look()]);
            // Anything but a timeout ends it.
            while stopped.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
                looks.push(look());
                if looks.len() >= MOST {
                    every *= 2;
                    let mut keep = false;
                    looks.retain(|_| {
                        keep = !keep;
                        keep
                    });
                }
            }
            looks.push(look());
            Seen {
                who,
                looks,
                asked,
                allowed,
            }
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

/// What a process had at a moment.
pub struct Level {
    /// When, in nanoseconds since the phase began.
    pub at: i128,
    pub rss_bytes: Option<u64>,
    pub descriptors: Option<u64>,
}

fn signed(time: Duration) -> i128 {
    i128::try_from(time.as_nanos()).unwrap_or(i128::MAX)
}

/// A look that comes so much after the end belongs to it all the same.
const NEAR: u64 = 50_000_000;

impl Seen {
    /// For a result: sums over a window of a phase that began at `began`, and the course of it.
    /// `spun` tells for which share of its time the generator found nothing to do, between two times.
    pub fn series(
        &self,
        began: Instant,
        from_ns: u64,
        to_ns: u64,
        spun: Option<&dyn Fn(u64, u64) -> f64>,
    ) -> Vec<UsageSeries> {
        // The last look before the window and the last one in it: all of it is covered.
        let until = |t: u64| move |look: &&Look| since(look.at, began).is_none_or(|at| at <= t);
        let first = self.looks.iter().rfind(until(from_ns));
        let first = first.or(self.looks.first());
        let last = self.looks.iter().rfind(until(to_ns.saturating_add(NEAR)));
        let window = first.zip(last);
        // Of the looks, as the processor time is: theirs is not quite the window's.
        let spun = spun.zip(window).and_then(|(spun, (first, last))| {
            let from = since(first.at, began).unwrap_or(0);
            let to = since(last.at, began).filter(|&to| to > from)?;
            Some(spun(from, to))
        });
        let mut all = Vec::new();
        for (n, (who, pid)) in self.who.iter().enumerate() {
            let mut series = UsageSeries {
                who: (*who).into(),
                pid: *pid,
                ..UsageSeries::default()
            };
            if let Some((first, last)) = window
                && let (Some(first), Some(last)) = (first.processes.get(n), last.processes.get(n))
            {
                series.window = last.since(first).usage(&last.peak_rss_bytes);
                // Of the processor time only: a spinning loop that others keep from its processor is no more
                // at work for that.
                if let (None, Some(share), Figure::Known(cores)) =
                    (pid, spun, &series.window.cpu_cores)
                {
                    let length = to_ns.saturating_sub(from_ns) as f64;
                    series.window.spun_ns = Figure::Known((share * cores * length) as u64);
                }
            }
            for (at_ns, earlier, later) in self.pairs(began) {
                let (Some(a), Some(b)) = (earlier.processes.get(n), later.processes.get(n)) else {
                    continue;
                };
                series.at_ns.push(at_ns);
                series.cpu_cores.push(b.since(a).cores().ok());
                series.rss_bytes.push(b.rss_bytes.clone().ok());
            }
            all.push(series);
        }
        all.push(self.host(began, window));
        all
    }

    /// All cores of the machine, whoever used them.
    fn host(&self, began: Instant, window: Option<(&Look, &Look)>) -> UsageSeries {
        let mut series = UsageSeries {
            who: "host".into(),
            ..UsageSeries::default()
        };
        if let Some((first, last)) = window {
            let spent = between(first, last);
            let known = |of: fn(&Times) -> u64| Figure::from(spent.as_ref().map(of));
            series.window = Usage {
                cpu_ns: known(Times::busy_ns),
                user_ns: known(|times| times.user_ns),
                system_ns: known(|times| times.system_ns),
                stolen_ns: known(|times| times.steal_ns),
                cpu_cores: Figure::from(spent.as_ref().map(|times| cores(times, first, last))),
                ..Usage::default()
            };
        }
        for (at_ns, earlier, later) in self.pairs(began) {
            let busy = between(earlier, later).ok();
            series.at_ns.push(at_ns);
            series
                .cpu_cores
                .push(busy.map(|times| cores(&times, earlier, later)));
            series.rss_bytes.push(None);
        }
        series
    }

    /// Each look since the phase began, with the one before it.
    fn pairs(&self, began: Instant) -> impl Iterator<Item = (u64, &Look, &Look)> {
        self.looks.windows(2).filter_map(move |pair| match pair {
            [earlier, later] => Some((since(later.at, began)?, earlier, later)),
            _ => None,
        })
    }

    /// Cores that a process kept busy between each look and the next, and when.
    pub fn cores(&self, who: &str, began: Instant) -> Vec<(u64, f64)> {
        let Some(n) = self.who.iter().position(|(name, _)| *name == who) else {
            return Vec::new();
        };
        self.pairs(began)
            .filter_map(|(at, a, b)| {
                let spent = b.processes.get(n)?.since(a.processes.get(n)?);
                Some((at, spent.cores().ok()?))
            })
            .collect()
    }

    /// What a process had at each look, also before the phase.
    pub fn levels(&self, who: &str, began: Instant) -> Vec<Level> {
        let Some(n) = self.who.iter().position(|(name, _)| *name == who) else {
            return Vec::new();
        };
        let level = |look: &Look| {
            let sample = look.processes.get(n)?;
            let before = || Some(-signed(began.checked_duration_since(look.at)?));
            let after = look.at.checked_duration_since(began).map(signed);
            Some(Level {
                at: after.or_else(before)?,
                rss_bytes: sample.rss_bytes.clone().ok(),
                descriptors: sample.descriptors.clone().ok(),
            })
        };
        self.looks.iter().filter_map(level).collect()
    }

    /// Processors that the server may use, where the system tells.
    pub fn allowed(&self) -> Option<f64> {
        self.allowed
    }

    /// The share of its time that the server's busiest thread had something to do in a window: on a CPU, or
    /// waiting for one that others had.
    pub fn busiest_thread(&self, began: Instant, from_ns: u64, to_ns: u64) -> Option<f64> {
        let mut inside = self
            .looks
            .iter()
            .filter(|look| since(look.at, began).is_some_and(|at| (from_ns..=to_ns).contains(&at)));
        let (first, last) = (inside.next()?, inside.next_back()?);
        let elapsed = last.at.duration_since(first.at).as_nanos() as f64;
        let worked = |thread: &Thread| {
            let cpu = thread.cpu_ns.as_ref().ok()?;
            Some(cpu + thread.waited_ns.as_ref().unwrap_or(&0))
        };
        // One that was not there at first is no thread that could be the limit of all of it.
        let shares = last.threads.iter().filter_map(|after| {
            let before = first.threads.iter().find(|it| it.id == after.id)?;
            let worked = worked(after)?.checked_sub(worked(before)?)?;
            Some(worked as f64 / elapsed.max(1.0))
        });
        shares.reduce(f64::max).map(|share| share.min(1.0))
    }

    /// The share of this machine's time that the hypervisor took.
    pub fn stolen(&self) -> Option<f64> {
        let (first, last) = self.looks.first().zip(self.looks.last())?;
        between(first, last).ok()?.stolen().ok()
    }
}

/// Its processors by affinity; fewer where its control group gets less time than that.
fn allowed(pid: u32) -> Option<f64> {
    let processors = observe::processors_of(pid).ok()?.len() as f64;
    let group = observe::cgroup(&Tree::here(), pid);
    match group.and_then(|group| group.cpu_cores) {
        Ok(Limit::At(cores)) => Some(cores.min(processors)),
        _ => Some(processors),
    }
}

fn between(earlier: &Look, later: &Look) -> observe::Figure<Times> {
    Ok(later.host.clone()?.since(&earlier.host.clone()?))
}

fn cores(busy: &Times, earlier: &Look, later: &Look) -> f64 {
    let elapsed = later.at.duration_since(earlier.at);
    busy.busy_ns() as f64 / (elapsed.as_nanos() as f64).max(1.0)
}

fn since(at: Instant, began: Instant) -> Option<u64> {
    let since = at.checked_duration_since(began)?;
    u64::try_from(since.as_nanos()).ok()
}
