//! What one process spends.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use record::run::{Figure as Recorded, Usage};

use crate::clock::process_cpu;
use crate::figure::{Figure, NotAvailable};
use crate::files;

/// A process that is watched, this one or another.
#[derive(Debug)]
pub struct Process {
    id: Option<u32>,
    folder: String,
    /// With the id, this names a process for good: ids are given again.
    started: Figure<u64>,
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

/// Ticks from which their shares are worth something.
const LEAST_TICKS: u64 = 20;

/// User and kernel time. The kernel sees at each tick of its clock which of the two it is, so that only their
/// shares can be known, of a time that is known exactly; and not those of a few ticks.
fn divided(cpu: &Figure<u64>, user: &Figure<u64>, system: &Figure<u64>) -> [Figure<u64>; 2] {
    let parts = || -> Figure<(u64, u64)> {
        let (cpu, user, system) = (cpu.clone()?, user.clone()?, system.clone()?);
        let ticks = (user + system) / TICK_NS;
        if ticks < LEAST_TICKS {
            return Err(NotAvailable::because(format!(
                "{ticks} ticks of the kernel's clock fell in it, {LEAST_TICKS} say something"
            )));
        }
        let share = system as f64 / (user + system) as f64;
        let system = (cpu as f64 * share) as u64;
        Ok((cpu.saturating_sub(system), system))
    };
    match parts() {
        Ok((user, system)) => [Ok(user), Ok(system)],
        Err(reason) => [Err(reason.clone()), Err(reason)],
    }
}

/// What a thread had spent up to a moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Thread {
    /// Its id.
    pub id: u32,
    /// Its name, cut to 15 bytes by the kernel.
    pub name: String,
    /// CPU, user and system. That of a thread that runs is behind by a tick of the scheduler at
    /// most.
    pub cpu_ns: Figure<u64>,
    /// Time that it was ready to run and no core was free.
    pub waited_ns: Figure<u64>,
}

impl Process {
    /// This process.
    pub fn own() -> Self {
        Self::at(None, "/proc/self".to_owned())
    }

    /// Another process.
    pub fn of(id: u32) -> Figure<Self> {
        let process = Self::at(Some(id), format!("/proc/{id}"));
        match &process.started {
            Ok(_) => Ok(process),
            Err(_) if cfg!(target_os = "linux") => Err(ended(id)),
            Err(reason) => Err(reason.clone()),
        }
    }

    fn at(id: Option<u32>, folder: String) -> Self {
        let started = stat(&folder).and_then(|stat| stat.started);
        Self {
            id,
            folder,
            started,
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
        let at = Instant::now();
        // The clock comes first, close to the moment that the sample is named after.
        let cpu = process_cpu(self.id);
        let stat = self.same(stat(&self.folder));
        let status_path = format!("{}/status", self.folder);
        let status = files::text(&status_path);
        let kibibytes = |key: &str| -> Figure<u64> {
            let status = status.as_ref().map_err(Clone::clone)?;
            Ok(files::keyed(status, key, &status_path)? * 1024)
        };
        let threads = self.tasks();
        let switches = threads.and_then(|ids| self.switches.sum(&self.folder, &ids));
        let of_stat = |part: fn(&Stat) -> &Figure<u64>| -> Figure<u64> {
            part(stat.as_ref().map_err(Clone::clone)?).clone()
        };
        let mut sample = Sample {
            at,
            took: Duration::ZERO,
            cpu_ns: match &stat {
                Err(reason) => Err(reason.clone()),
                Ok(_) => cpu.map(nanos),
            },
            user_ns: of_stat(|stat| &stat.user_ns),
            system_ns: of_stat(|stat| &stat.system_ns),
            waited_ns: switches.as_ref().map(|s| s.waited_ns).map_err(Clone::clone),
            rss_bytes: kibibytes("VmRSS"),
            peak_rss_bytes: kibibytes("VmHWM"),
            threads: of_stat(|stat| &stat.threads),
            voluntary_switches: switches.as_ref().map(|s| s.voluntary).map_err(Clone::clone),
            involuntary_switches: switches
                .as_ref()
                .map(|s| s.involuntary)
                .map_err(Clone::clone),
            minor_faults: of_stat(|stat| &stat.minor_faults),
            major_faults: of_stat(|stat| &stat.major_faults),
            descriptors: files::count(&format!("{}/fd", self.folder)),
        };
        sample.took = at.elapsed();
        sample
    }

    /// CPU that it has used up to now and nothing else: one system call.
    pub fn cpu(&self) -> Figure<Duration> {
        process_cpu(self.id)
    }

    /// Its threads that live.
    pub fn threads(&self) -> Figure<Vec<Thread>> {
        self.same(stat(&self.folder))?;
        let mut threads = Vec::new();
        for id in self.tasks()? {
            let folder = format!("{}/task/{id}", self.folder);
            // Without a name it has ended meanwhile.
            let Ok(name) = files::line(&format!("{folder}/comm")) else {
                continue;
            };
            let times = schedstat(&folder);
            threads.push(Thread {
                id,
                name,
                cpu_ns: times.as_ref().map(|times| times.0).map_err(Clone::clone),
                waited_ns: times.map(|times| times.1),
            });
        }
        Ok(threads)
    }

    fn tasks(&self) -> Figure<Vec<u32>> {
        let names = files::names(&format!("{}/task", self.folder))?;
        let mut ids: Vec<u32> = names.iter().filter_map(|name| name.parse().ok()).collect();
        ids.sort_unstable();
        Ok(ids)
    }

    /// The same process as at first, and not one that was given its id later.
    fn same(&self, stat: Figure<Stat>) -> Figure<Stat> {
        match (stat, self.id) {
            (Ok(stat), _) if stat.started == self.started => Ok(stat),
            (Ok(_), id) => Err(ended(id.unwrap_or_default())),
            (Err(_), Some(id)) if cfg!(target_os = "linux") => Err(ended(id)),
            (Err(reason), _) => Err(reason),
        }
    }
}

fn ended(id: u32) -> NotAvailable {
    NotAvailable::because(format!("process {id} has ended"))
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// From `stat` of a process.
#[derive(Debug, Clone, PartialEq)]
struct Stat {
    minor_faults: Figure<u64>,
    major_faults: Figure<u64>,
    user_ns: Figure<u64>,
    system_ns: Figure<u64>,
    threads: Figure<u64>,
    started: Figure<u64>,
}

/// The kernel counts user and system time for `/proc` in hundredths of a second on every
/// architecture (USER_HZ).
const TICK_NS: u64 = 10_000_000;

fn stat(folder: &str) -> Figure<Stat> {
    let path = format!("{folder}/stat");
    parse_stat(&files::text(&path)?, &path)
}

fn parse_stat(text: &str, path: &str) -> Figure<Stat> {
    // proc(5): the name stands in parentheses and may contain any character, so fields are counted
    // from behind it; what follows is the third, the state.
    let rest = text.rfind(')').and_then(|end| text.get(end + 1..));
    let words: Vec<&str> = rest.unwrap_or_default().split_whitespace().collect();
    if words.first() == Some(&"Z") {
        return Err(NotAvailable::because("the process has ended"));
    }
    let field = |number: usize| files::number(&mut words.iter().skip(number - 3).copied(), path);
    Ok(Stat {
        minor_faults: field(10),
        major_faults: field(12),
        user_ns: field(14).map(|ticks| ticks * TICK_NS),
        system_ns: field(15).map(|ticks| ticks * TICK_NS),
        threads: field(20),
        started: field(22),
    })
}

/// Time on a core and time waiting for one.
fn schedstat(folder: &str) -> Figure<(u64, u64)> {
    let path = format!("{folder}/schedstat");
    let text = files::text(&path)?;
    let mut words = text.split_whitespace();
    let on = files::number(&mut words, &path)?;
    Ok((on, files::number(&mut words, &path)?))
}

/// What only threads count, with that of those that have ended.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Counted {
    voluntary: u64,
    involuntary: u64,
    waited_ns: u64,
}

impl Counted {
    fn of(folder: &str) -> Figure<Self> {
        let path = format!("{folder}/status");
        let status = files::text(&path)?;
        Ok(Self {
            voluntary: files::keyed(&status, "voluntary_ctxt_switches", &path)?,
            involuntary: files::keyed(&status, "nonvoluntary_ctxt_switches", &path)?,
            waited_ns: schedstat(folder)?.1,
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
    fn sum(&mut self, folder: &str, ids: &[u32]) -> Figure<Counted> {
        let mut alive = BTreeMap::new();
        let mut refused = None;
        for &id in ids {
            match Counted::of(&format!("{folder}/task/{id}")) {
                Ok(counted) => drop(alive.insert(id, counted)),
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
    fn a_name_with_parentheses_does_not_shift_the_fields() {
        let line = "7 (a) 1 (b) R 1 2 3 4 5 6 100 0 30 0 250 150 0 0 20 0 9 0 4711 8 9";
        let stat = parse_stat(line, "stat").unwrap();
        assert_eq!(stat.minor_faults, Ok(100));
        assert_eq!(stat.major_faults, Ok(30));
        assert_eq!(stat.user_ns, Ok(2_500_000_000));
        assert_eq!(stat.system_ns, Ok(1_500_000_000));
        assert_eq!((stat.threads, stat.started), (Ok(9), Ok(4711)));
    }

    #[test]
    fn user_and_kernel_are_shares_of_the_whole_and_not_told_of_a_few_ticks() {
        let ms = |ms: u64| Ok(ms * 1_000_000);
        // 24 ticks, 6 of them in the kernel, of 200 ms that were counted exactly.
        let [user, system] = divided(&ms(200), &ms(180), &ms(60));
        assert_eq!((user, system), (ms(150), ms(50)));
        // Seven ticks, all in the kernel by chance, of 68 ms.
        let [user, system] = divided(&ms(68), &ms(0), &ms(70));
        assert!(user.unwrap_err().reason().starts_with("7 ticks"));
        assert!(system.is_err());
    }

    #[test]
    fn a_line_cut_short_has_no_figures_instead_of_zeros() {
        let stat = parse_stat("7 (a) R 1 2", "stat").unwrap();
        assert!(stat.user_ns.unwrap_err().reason().contains("proc(5)"));
    }

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
