//! One look at all that is watched.

use std::time::{Duration, Instant};

use observe::counters::{Counted, Counters};
use observe::{Core, Host, Link, Memory, Process, Pulse, Sample, Task, Times, Tree, links};

use super::wide::{self, Wide};

/// At one moment.
pub(super) struct Look {
    pub at: Instant,
    /// In the order of the processes. Without a closer look some figures are not in it.
    pub processes: Vec<Sample>,
    /// What takes a closer look.
    pub close: Option<Close>,
}

/// What takes a closer look.
pub(super) struct Close {
    /// Of all cores. They are counted in ticks of 10 ms, which say nothing of less time.
    pub host: observe::Figure<Times>,
    /// Each of them; none where the system does not tell.
    pub cores: Vec<Core>,
    /// Of the machine.
    pub memory: observe::Figure<Memory>,
    /// Threads of each process; none of this one.
    pub threads: Vec<Vec<Task>>,
    /// Where the host was to be observed.
    pub links: Vec<Link>,
    /// Of server and generator, where the server is watched and it is time for that.
    pub wide: Option<Wide>,
    /// Of each process, where they were to be counted.
    pub counted: Vec<observe::Figure<Counted>>,
}

impl Look {
    /// How much is in it.
    pub fn depth(&self) -> u8 {
        match &self.close {
            None => 0,
            Some(Close { wide: None, .. }) => 1,
            Some(_) => 2,
        }
    }
}

/// Who looks.
pub(super) struct UsageSampler {
    processes: Vec<Process>,
    /// For looks that are no closer ones.
    pulses: Vec<Option<Pulse>>,
    host: bool,
    /// Whether looks follow each other so fast that not each can be a closer one.
    is_fast: bool,
    closer: Instant,
    server: Option<u32>,
    wider: Instant,
    /// Of each process, where they are to be counted.
    counters: Vec<observe::Figure<Counters>>,
}

/// So often at most where looks are fast, and so often at least.
const CLOSER: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(1));
/// A closer look may take one part of so many of the time until the next one.
const PART: u32 = 200;

impl UsageSampler {
    pub fn new(
        processes: Vec<Process>,
        (host, counted): (bool, bool),
        is_fast: bool,
        server: Option<u32>,
    ) -> Self {
        let pulse = |it: &Process| Pulse::of(it.id()).ok();
        let counters = processes.iter().filter(|_| counted);
        Self {
            // Threads that begin later are counted with those that begin them.
            counters: counters.map(|it| Counters::of(it.id())).collect(),
            pulses: match is_fast {
                true => processes.iter().map(pulse).collect(),
                false => Vec::new(),
            },
            processes,
            host,
            is_fast,
            closer: Instant::now(),
            server,
            wider: Instant::now(),
        }
    }

    /// Looks; closely if it is time for that, or has to be.
    pub fn look(&mut self, closely: bool) -> Look {
        let at = Instant::now();
        if !closely && self.is_fast && at < self.closer {
            return self.glance(at);
        }
        let mut threads = Vec::with_capacity(self.processes.len());
        let mut processes = Vec::with_capacity(self.processes.len());
        for (n, process) in self.processes.iter_mut().enumerate() {
            let (sample, tasks) = process.look();
            processes.push(sample);
            threads.push(match n {
                0 => Vec::new(),
                // A process that has ended has no threads.
                _ => tasks.unwrap_or_default(),
            });
        }
        let (host, cores) = match Host::cpu_by_core() {
            Ok((all, cores)) => (Ok(all), cores),
            Err(why) => (Err(why), Vec::new()),
        };
        let mut close = Close {
            host,
            cores,
            memory: Host::memory(),
            threads,
            links: match self.host {
                // Where the system does not count there are no lines of interfaces.
                true => links(&Tree::here()).unwrap_or_default(),
                false => Vec::new(),
            },
            wide: None,
            counted: self
                .counters
                .iter_mut()
                .map(|it| Ok(it.as_mut().map_err(|why| why.clone())?.read()))
                .collect(),
        };
        let (least, most) = CLOSER;
        self.closer = at + (at.elapsed() * PART).clamp(least, most);
        // It has a time of its own until the next one.
        let wide = self.server.filter(|_| closely || at >= self.wider);
        close.wide = wide.map(|server| {
            let (wide, next) = wide::look(server);
            self.wider = next;
            wide
        });
        Look {
            at,
            processes,
            close: Some(close),
        }
    }

    fn glance(&mut self, at: Instant) -> Look {
        let one = |(pulse, process): (&Option<Pulse>, &mut Process)| {
            let glance = pulse.as_ref().and_then(|it| it.glance().ok());
            glance.unwrap_or_else(|| process.sample())
        };
        Look {
            at,
            processes: self
                .pulses
                .iter()
                .zip(&mut self.processes)
                .map(one)
                .collect(),
            close: None,
        }
    }
}
