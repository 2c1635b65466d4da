//! CPU of a process in the course of a phase, in its parts.

use serde::{Deserialize, Serialize};

/// CPU of a process by threads, or of the machine by cores, and by user space and kernel. Each row speaks of the time since the row before.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CpuCourse {
    /// Times since the phase began, rising: those of closer looks, 600 at most.
    pub at_ns: Vec<u64>,
    /// Cores kept busy by all of it.
    pub cpu_cores: Vec<Option<f64>>,
    /// Of it, by its own code. The kernel tells these two in ticks of 10 ms: a row has them once twenty ticks have come
    /// together, and then for the time since the row that had them last.
    pub user_cores: Vec<Option<f64>>,
    /// Of it, in the kernel, likewise.
    pub system_cores: Vec<Option<f64>>,
    /// Threads by name, the busiest first; not of the generator. What is missing to all of it, others did.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub threads: Vec<ThreadCourse>,
    /// Cores of the machine, the busiest first, sixteen at most; of the host alone. What is missing to all of it, others did.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cores: Vec<CoreCourse>,
}

impl CpuCourse {
    /// Leaves out what is behind a time.
    pub fn keep_until(&mut self, end_ns: u64) {
        let rows = self.at_ns.iter().take_while(|at| **at <= end_ns).count();
        self.at_ns.truncate(rows);
        self.cpu_cores.truncate(rows);
        self.user_cores.truncate(rows);
        self.system_cores.truncate(rows);
        let threads = self.threads.iter_mut().map(|it| &mut it.cpu_cores);
        let cores = self.cores.iter_mut().map(|it| &mut it.busy);
        threads.chain(cores).for_each(|it| it.truncate(rows));
    }
}

/// Threads of one name.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ThreadCourse {
    /// Their name.
    pub name: String,
    /// Cores that they kept busy, together.
    pub cpu_cores: Vec<Option<f64>>,
}

/// A core of the machine.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CoreCourse {
    /// Its number.
    pub core: u32,
    /// The share of the time that it was busy with anything.
    pub busy: Vec<Option<f64>>,
}
