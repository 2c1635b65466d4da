//! What processes and the host spend while a phase runs.

mod course;
mod detail;
mod far;
mod look;
mod observed;
mod options;
mod wide;

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use observe::{Limit, Process, Tree, name_of, thread_cpu};
use plan::unit::duration::nanos;
use record::run::{Figure, Observing};

use self::look::{Look, UsageSampler};
pub use self::observed::{Level, ObservedUsage};
pub use self::options::Args;
pub use self::wide::Ends;
use crate::remote_watch::RemoteWatch;

/// At first; it doubles whenever there are too many looks.
const EVERY: Duration = Duration::from_millis(100);
/// More looks are thinned out.
const MOST: usize = 600;
/// The same where an interval was asked for: a minute of the shortest one.
const MOST_ASKED: usize = 6000;

/// Its place among the processes; the first is this one.
const SERVER: usize = 1;

/// What is to be watched.
#[derive(Debug, Default)]
pub struct WatchTargets {
    /// The server's process, if it is one of this machine.
    pub server: Option<Process>,
    /// Whether that was named by who runs this, and not found out.
    pub named: bool,
    /// Other processes.
    pub others: Vec<Process>,
    /// The network interfaces of this machine, too.
    pub host: bool,
    /// What the kernel and the processor count of each process, too.
    pub counters: bool,
    /// What is looked at on other hosts.
    pub far: Vec<RemoteWatch>,
    /// Whether anything was to be observed beyond what is always looked at.
    pub observes: bool,
    /// Time between two looks, if that was said.
    pub every: Option<Duration>,
}

/// A process that is watched.
#[derive(Debug)]
struct Who {
    who: &'static str,
    name: Option<String>,
    pid: Option<u32>,
}

impl Who {
    fn of(who: &'static str, process: &Process) -> Self {
        Self {
            who,
            name: name_of(&Tree::here(), process.id()).ok(),
            pid: Some(process.id()),
        }
    }
}

/// A thread that looks at processes and the host from time to time.
pub struct UsageWatch {
    stop: Sender<()>,
    thread: JoinHandle<ObservedUsage>,
    far: Vec<RemoteWatch>,
}

impl UsageWatch {
    /// Begins.
    pub fn start(mut asked: WatchTargets) -> std::io::Result<Self> {
        let (stop, stopped) = channel();
        let far = std::mem::take(&mut asked.far);
        let mut who = vec![Who {
            who: "generator",
            name: None,
            pid: None,
        }];
        let mut processes = vec![Process::own()];
        for (name, process) in (asked.server.into_iter().map(|it| ("server", it)))
            .chain(asked.others.into_iter().map(|it| ("observed", it)))
        {
            who.push(Who::of(name, &process));
            processes.push(process);
        }
        let server = who.get(SERVER).filter(|it| it.who == "server");
        let allowed = server.and_then(|it| allowed(it.pid?));
        let (every, most) = match asked.every {
            Some(every) => (every, MOST_ASKED),
            None => (EVERY, MOST),
        };
        let server = server.and_then(|it| it.pid);
        let sampler = UsageSampler::new(
            processes,
            (asked.host, asked.counters),
            every < EVERY,
            server,
        );
        let (named, observes) = (asked.named, asked.observes);
        let watch = move || {
            let (looks, cost) = watch(sampler, every, most, |wait| {
                // Anything but a timeout ends it.
                stopped.recv_timeout(wait) == Err(RecvTimeoutError::Timeout)
            });
            ObservedUsage {
                who,
                looks,
                named,
                allowed,
                observing: observes.then_some(cost),
                far: Vec::new(),
            }
        };
        let thread = std::thread::Builder::new()
            .name("watch".into())
            .spawn(watch)?;
        Ok(Self { stop, thread, far })
    }

    /// Ends it.
    pub fn finish(self) -> Option<ObservedUsage> {
        // Gone only if the thread has ended.
        let _ = self.stop.send(());
        let mut seen = self.thread.join().ok();
        // Each has a last look, which may have to wait for an answer: all at once.
        let ends: Vec<_> = std::thread::scope(|scope| {
            let all = self.far.into_iter();
            let threads: Vec<_> = all.map(|it| scope.spawn(move || it.finish())).collect();
            threads
                .into_iter()
                .filter_map(|it| it.join().ok())
                .collect()
        });
        if let Some(seen) = &mut seen {
            seen.far = ends;
        }
        seen
    }
}

/// Looks at each interval while waiting goes on; then once more.
fn watch(
    mut sampler: UsageSampler,
    mut every: Duration,
    most: usize,
    wait: impl Fn(Duration) -> bool,
) -> (Vec<Look>, Observing) {
    let (began, before) = (Instant::now(), thread_cpu());
    let mut looks = vec![sampler.look(true)];
    let (mut taken, mut closely, mut missed) = (1, 1, 0);
    let mut next = Instant::now() + every;
    loop {
        // A look that would come late is left out, so that those that come stay where they belong.
        let now = Instant::now();
        while next + every <= now {
            next += every;
            missed += 1;
        }
        let goes_on = wait(next.saturating_duration_since(now));
        let look = sampler.look(!goes_on);
        taken += 1;
        closely += u64::from(look.close.is_some());
        looks.push(look);
        if !goes_on {
            break;
        }
        next += every;
        if looks.len() >= most {
            every *= 2;
            looks = thinned(looks);
        }
    }
    let spent = thread_cpu().and_then(|now| Ok(now.saturating_sub(before?)));
    let long = began.elapsed().as_secs_f64().max(f64::MIN_POSITIVE);
    let cost = Observing {
        interval_ns: nanos(every),
        looks: taken,
        closely,
        missed,
        cpu_ns: Figure::from(spent.clone().map(nanos)),
        cpu_cores: Figure::from(spent.map(|it| it.as_secs_f64() / long)),
    };
    (looks, cost)
}

/// One of each two looks: the later one, or the one that is closer.
fn thinned(looks: Vec<Look>) -> Vec<Look> {
    let mut looks = looks.into_iter();
    let mut kept = Vec::new();
    // Everything is counted from the first one.
    kept.extend(looks.next());
    while let Some(one) = looks.next() {
        kept.push(match looks.next() {
            Some(two) if two.depth() >= one.depth() => two,
            _ => one,
        });
    }
    kept
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

#[cfg(all(test, target_os = "linux"))]
mod tests;
