//! What one process spends.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use platform::System;
use platform::process::{Look, Watched};
use record::run::{Figure as Recorded, Usage};

use crate::clock::process_cpu;
use crate::figure::{Figure, NotAvailable};
use crate::files;
use crate::reread::KeptFiles;
use crate::stat::{Stat, divided};
use crate::tasks::{Task, TaskFiles};

/// A process that is watched, this one or another.
#[derive(Debug)]
pub struct Process {
    id: Option<u32>,
    files: KeptFiles,
    tasks: TaskFiles,
    /// With the id, this names a process for good: ids are given again.
    started: Figure<u64>,
    /// It, where there is no `/proc`.
    watched: Option<Watched>,
    switches: Switches,
}

/// What a process had spent up to a moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// When it was asked.
    pub at: Instant,
    /// What asking cost the one who asked.
    pub took: Duration,
    /// CPU, user and system, of all threads, those that have ended too.
    pub cpu_ns: Figure<u64>,
    /// The part of it in user space. The kernel divides by ticks of 10 ms.
    pub user_ns: Figure<u64>,
    /// The part of it in the kernel, likewise.
    pub system_ns: Figure<u64>,
    /// Time that its threads were ready to run and no core was free, of those that live.
    pub waited_ns: Figure<u64>,
    /// Memory in RAM.
    pub rss_bytes: Figure<u64>,
    /// The most that it ever was.
    pub peak_rss_bytes: Figure<u64>,
    /// Threads.
    pub threads: Figure<u64>,
    /// Context switches because a thread waited for something.
    pub voluntary_switches: Figure<u64>,
    /// Context switches because another was to run.
    pub involuntary_switches: Figure<u64>,
    /// Page faults that needed no disk.
    pub minor_faults: Figure<u64>,
    /// Page faults that did.
    pub major_faults: Figure<u64>,
    /// Open descriptors.
    pub descriptors: Figure<u64>,
}

/// What a process spent between two samples.
#[derive(Debug, Clone, PartialEq)]
pub struct Spent {
    /// Between them.
    pub elapsed: Duration,
    /// What taking the later sample cost.
    pub took: Duration,
    /// CPU, user and system.
    pub cpu_ns: Figure<u64>,
    /// The part of it in user space.
    pub user_ns: Figure<u64>,
    /// The part of it in the kernel.
    pub system_ns: Figure<u64>,
    /// Time that its threads waited for a core.
    pub waited_ns: Figure<u64>,
    /// Context switches because a thread waited for something.
    pub voluntary_switches: Figure<u64>,
    /// Context switches because another was to run.
    pub involuntary_switches: Figure<u64>,
    /// Page faults that needed no disk.
    pub minor_faults: Figure<u64>,
    /// Page faults that did.
    pub major_faults: Figure<u64>,
}

impl Spent {
    /// CPU time over elapsed time: 1 is a core.
    pub fn cores(&self) -> Figure<f64> {
        let cpu = self.cpu_ns.clone()?;
        match self.elapsed.as_secs_f64() {
            0.0 => Err(NotAvailable::because("no time has passed")),
            seconds => Ok(cpu as f64 / 1e9 / seconds),
        }
    }

    /// The same as it stands in a result file. `peak` is the peak of its memory at the end.
    pub fn usage(&self, peak: &Figure<u64>) -> Usage {
        Usage {
            cpu_ns: Recorded::from(self.cpu_ns.clone()),
            user_ns: Recorded::from(self.user_ns.clone()),
            system_ns: Recorded::from(self.system_ns.clone()),
            waited_ns: Recorded::from(self.waited_ns.clone()),
            stolen_ns: Recorded::missing("counted for the host only"),
            spun_ns: Recorded::missing("only the process itself knows"),
            cpu_cores: Recorded::from(self.cores()),
            rss_peak_bytes: Recorded::from(peak.clone()),
            voluntary_switches: Recorded::from(self.voluntary_switches.clone()),
            involuntary_switches: Recorded::from(self.involuntary_switches.clone()),
            minor_faults: Recorded::from(self.minor_faults.clone()),
            major_faults: Recorded::from(self.major_faults.clone()),
        }
    }
}

impl Sample {
    /// What was spent since an earlier one.
    pub fn since(&self, earlier: &Self) -> Spent {
        let less = |later: &Figure<u64>, sooner: &Figure<u64>| -> Figure<u64> {
            Ok(later.clone()?.saturating_sub(sooner.clone()?))
        };
        let cpu_ns = less(&self.cpu_ns, &earlier.cpu_ns);
        let [user_ns, system_ns] = divided(
            &cpu_ns,
            &less(&self.user_ns, &earlier.user_ns),
            &less(&self.system_ns, &earlier.system_ns),
        );
        Spent {
            elapsed: self.at.saturating_duration_since(earlier.at),
            took: self.took,
            cpu_ns,
            user_ns,
            system_ns,
            waited_ns: less(&self.waited_ns, &earlier.waited_ns),
            voluntary_switches: less(&self.voluntary_switches, &earlier.voluntary_switches),
            involuntary_switches: less(&self.involuntary_switches, &earlier.involuntary_switches),
            minor_faults: less(&self.minor_faults, &earlier.minor_faults),
            major_faults: less(&self.major_faults, &earlier.major_faults),
        }
    }
}

impl Process {
    /// This process.
    pub fn own() -> Self {
        Self::at(None, "/proc/self".to_owned())
    }

    /// Another process.
    pub fn of(id: u32) -> Figure<Self> {
        let process = Self::at(Some(id), format!("/proc/{id}"));
        match (&process.started, &process.watched) {
            (Err(_), None) => Err(ended(id)),
            _ => Ok(process),
        }
    }

    fn at(id: Option<u32>, folder: String) -> Self {
        let mut files = KeptFiles::of(folder.clone());
        let started = files.text("stat");
        let started = started.and_then(|text| Stat::of(&text, &folder)?.field(22));
        let watched = match System::IS_LINUX {
            true => None,
            false => Watched::of(id.unwrap_or_else(std::process::id)).ok(),
        };
        Self {
            id,
            files,
            tasks: TaskFiles::of(format!("{folder}/task")),
            started,
            watched,
            switches: Switches::default(),
        }
    }

    /// Its id.
    pub fn id(&self) -> u32 {
        self.id.unwrap_or_else(std::process::id)
    }

    /// What it has spent up to now. The samples of one `Process` never go back: what threads had
    /// counted that have ended since is remembered.
    pub fn sample(&mut self) -> Sample {
        self.look().0
    }

    /// The same, and its threads one by one, which were asked for it.
    pub fn look(&mut self) -> (Sample, Figure<Vec<Task>>) {
        let at = Instant::now();
        if !System::IS_LINUX {
            return (self.told(at), Err(NotAvailable::here()));
        }
        // The clock comes first, close to the moment that the sample is named after.
        let cpu = process_cpu(self.id);
        let text = self.line();
        let stat_path = self.files.path("stat");
        let stat = text.as_deref().map_err(Clone::clone);
        let stat = stat.and_then(|text| Stat::of(text, &stat_path));
        let status_path = self.files.path("status");
        let status = self.files.text("status");
        let kibibytes = |key: &str| -> Figure<u64> {
            let status = status.as_ref().map_err(Clone::clone)?;
            Ok(files::keyed(status, key, &status_path)? * 1024)
        };
        let tasks = stat
            .as_ref()
            .map_err(Clone::clone)
            .and_then(|_| self.tasks.look());
        let switches = match &tasks {
            Ok(tasks) => self.switches.sum(tasks),
            Err(reason) => Err(reason.clone()),
        };
        let of =
            |get: &dyn Fn(&Stat<'_>) -> Figure<u64>| get(stat.as_ref().map_err(Clone::clone)?);
        let counted = |get: fn(&Counted) -> u64| switches.as_ref().map(get).map_err(Clone::clone);
        let mut sample = Sample {
            at,
            took: Duration::ZERO,
            cpu_ns: match &stat {
                Err(reason) => Err(reason.clone()),
                Ok(_) => cpu.map(whole_ns),
            },
            user_ns: of(&|stat| stat.ticks(14)),
            system_ns: of(&|stat| stat.ticks(15)),
            waited_ns: counted(|it| it.waited_ns),
            rss_bytes: kibibytes("VmRSS"),
            peak_rss_bytes: kibibytes("VmHWM"),
            threads: of(&|stat| stat.field(20)),
            voluntary_switches: counted(|it| it.voluntary),
            involuntary_switches: counted(|it| it.involuntary),
            minor_faults: of(&|stat| stat.field(10)),
            major_faults: of(&|stat| stat.field(12)),
            descriptors: files::count(&self.files.path("fd")),
        };
        sample.took = at.elapsed();
        (sample, tasks)
    }

    /// What a system tells that has no `/proc`.
    fn told(&mut self, at: Instant) -> Sample {
        let look = match &mut self.watched {
            Some(watched) => watched.look().ok(),
            None => None,
        };
        let look = look.ok_or_else(|| ended(self.id()));
        let of = |get: &dyn Fn(&Look) -> Option<u64>| match &look {
            Ok(look) => get(look).ok_or_else(NotAvailable::here),
            Err(reason) => Err(reason.clone()),
        };
        let nothing = || of(&|_| None);
        Sample {
            at,
            took: at.elapsed(),
            cpu_ns: of(&|it| Some(whole_ns(it.cpu))),
            user_ns: nothing(),
            system_ns: nothing(),
            waited_ns: nothing(),
            rss_bytes: of(&|it| it.rss_bytes),
            peak_rss_bytes: nothing(),
            threads: nothing(),
            voluntary_switches: nothing(),
            involuntary_switches: nothing(),
            minor_faults: nothing(),
            major_faults: nothing(),
            descriptors: of(&|it| it.descriptors),
        }
    }

    /// CPU that it has used up to now and nothing else: one system call.
    pub fn cpu(&self) -> Figure<Duration> {
        process_cpu(self.id)
    }

    /// Its threads that live.
    pub fn threads(&mut self) -> Figure<Vec<Task>> {
        self.line()?;
        self.tasks.look()
    }

    /// The line about it: about the same process as at first, and not about one that was given its id later.
    fn line(&mut self) -> Figure<String> {
        let path = self.files.path("stat");
        let started = |text: &str| Stat::of(text, &path)?.field(22);
        match (self.files.text("stat"), self.id) {
            (Ok(text), id) => match started(&text) {
                now if now.is_ok() && now == self.started => Ok(text),
                // This process has no id, and has not ended.
                _ => Err(ended(id.unwrap_or_default())),
            },
            (Err(_), Some(id)) if System::IS_LINUX => Err(ended(id)),
            (Err(reason), _) => Err(reason),
        }
    }
}

fn ended(id: u32) -> NotAvailable {
    NotAvailable::because(format!("process {id} has ended"))
}

fn whole_ns(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// What only threads count, with that of those that have ended.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Counted {
    voluntary: u64,
    involuntary: u64,
    waited_ns: u64,
}

impl Counted {
    fn of(task: &Task) -> Figure<Self> {
        Ok(Self {
            voluntary: task.voluntary_switches.clone()?,
            involuntary: task.involuntary_switches.clone()?,
            waited_ns: task.waited_ns.clone()?,
        })
    }

    fn plus(self, other: Self) -> Self {
        Self {
            voluntary: self.voluntary + other.voluntary,
            involuntary: self.involuntary + other.involuntary,
            waited_ns: self.waited_ns + other.waited_ns,
        }
    }
}

#[derive(Debug, Default)]
struct Switches {
    seen: BTreeMap<u32, Counted>,
    gone: Counted,
}

impl Switches {
    fn sum(&mut self, tasks: &[Task]) -> Figure<Counted> {
        let mut alive = BTreeMap::new();
        let mut refused = None;
        for task in tasks {
            match Counted::of(task) {
                Ok(counted) => drop(alive.insert(task.id, counted)),
                Err(reason) => refused = Some(reason),
            }
        }
        // One that ended while it was asked is no reason to know nothing; if all did, it is.
        if let (true, Some(reason)) = (alive.is_empty(), refused) {
            return Err(reason);
        }
        Ok(self.merge(alive))
    }

    fn merge(&mut self, alive: BTreeMap<u32, Counted>) -> Counted {
        for (id, last) in std::mem::take(&mut self.seen) {
            // An id that counts less than before belongs to another thread by now.
            let same = alive.get(&id).is_some_and(|now| {
                now.voluntary >= last.voluntary
                    && now.involuntary >= last.involuntary
                    && now.waited_ns >= last.waited_ns
            });
            if !same {
                self.gone = self.gone.plus(last);
            }
        }
        self.seen = alive;
        self.seen.values().copied().fold(self.gone, Counted::plus)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn what_ended_threads_had_counted_stays_counted() {
        let counted = |n| Counted {
            voluntary: n,
            involuntary: 0,
            waited_ns: n,
        };
        let mut switches = Switches::default();
        let first = switches.merge([(1, counted(5)), (2, counted(7))].into());
        assert_eq!(first.voluntary, 12);
        // Thread 2 has ended; another was given the id 1 later.
        assert_eq!(switches.merge([(1, counted(6))].into()).voluntary, 13);
        assert_eq!(switches.merge([(1, counted(2))].into()).voluntary, 15);
    }
}
