//! What a process or a machine had spent up to a moment, whoever looked: for what is looked at from another host.

use serde::{Deserialize, Serialize};

use crate::figure::{Figure, NotAvailable};
use crate::host::{Host, Times};
use crate::link::{Link, links};
use crate::process::Sample;
use crate::tasks::Task;
use crate::tree::Tree;

/// Counters since a process or a machine began, and levels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Totals {
    /// CPU of all threads, or of all cores that were busy.
    pub cpu_ns: Figure<u64>,
    /// The part of it in user space.
    pub user_ns: Figure<u64>,
    /// The part of it in the kernel, without interrupts of a machine.
    pub system_ns: Figure<u64>,
    /// Taken by the hypervisor; of a machine.
    pub stolen_ns: Figure<u64>,
    /// Time that threads were ready to run and no core was free.
    pub waited_ns: Figure<u64>,
    /// Memory in RAM: of a process what is its own there, of a machine what is in use.
    pub rss_bytes: Figure<u64>,
    /// The most that it ever was; of a process.
    pub peak_rss_bytes: Figure<u64>,
    /// All RAM; of a machine.
    pub ram_bytes: Figure<u64>,
    /// Context switches because a thread waited for something.
    pub voluntary_switches: Figure<u64>,
    /// Context switches because another was to run.
    pub involuntary_switches: Figure<u64>,
    /// Page faults that needed no disk.
    pub minor_faults: Figure<u64>,
    /// Page faults that did.
    pub major_faults: Figure<u64>,
    /// How many threads there are.
    pub threads: Figure<u64>,
    /// Threads one by one; of a process.
    pub tasks: Figure<Vec<Task>>,
    /// Network interfaces.
    pub links: Figure<Vec<Link>>,
}

impl Totals {
    /// Nothing is known, for this reason.
    pub fn unknown(reason: &NotAvailable) -> Self {
        let no = || Err(reason.clone());
        Self {
            cpu_ns: no(),
            user_ns: no(),
            system_ns: no(),
            stolen_ns: no(),
            waited_ns: no(),
            rss_bytes: no(),
            peak_rss_bytes: no(),
            ram_bytes: no(),
            voluntary_switches: no(),
            involuntary_switches: no(),
            minor_faults: no(),
            major_faults: no(),
            threads: no(),
            tasks: Err(reason.clone()),
            links: Err(reason.clone()),
        }
    }

    /// This machine, now.
    pub fn of_host() -> Self {
        let tree = Tree::here();
        let host = Host::sample();
        let times = |of: fn(&Times) -> u64| host.cpu.as_ref().map(of).map_err(Clone::clone);
        let memory = host.memory;
        Self {
            cpu_ns: times(Times::busy_ns),
            user_ns: times(|it| it.user_ns),
            system_ns: times(|it| it.system_ns),
            stolen_ns: times(|it| it.steal_ns),
            rss_bytes: memory
                .as_ref()
                .map(|it| it.used_bytes())
                .map_err(Clone::clone),
            ram_bytes: memory.map(|it| it.total_bytes),
            links: links(&tree),
            ..Self::unknown(&NotAvailable::because("counted for processes only"))
        }
    }

    /// A process as it was looked at.
    pub fn of_process(sample: &Sample, tasks: Figure<Vec<Task>>) -> Self {
        Self {
            cpu_ns: sample.cpu_ns.clone(),
            user_ns: sample.user_ns.clone(),
            system_ns: sample.system_ns.clone(),
            waited_ns: sample.waited_ns.clone(),
            rss_bytes: sample.rss_bytes.clone(),
            peak_rss_bytes: sample.peak_rss_bytes.clone(),
            voluntary_switches: sample.voluntary_switches.clone(),
            involuntary_switches: sample.involuntary_switches.clone(),
            minor_faults: sample.minor_faults.clone(),
            major_faults: sample.major_faults.clone(),
            threads: sample.threads.clone(),
            tasks,
            ..Self::unknown(&NotAvailable::because("counted for the host only"))
        }
    }
}
