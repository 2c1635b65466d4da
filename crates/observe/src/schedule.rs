//! How the kernel schedules threads: processors, nice values, real-time priorities; read, and set.

use std::io::{self, ErrorKind};
use std::process::{Command, Stdio};

use platform::{System, thread};

use crate::figure::{Figure, NotAvailable};
use crate::processors::processors_of;
use crate::stat::Stat;
use crate::tasks::tasks;
use crate::tree::Tree;

/// How a process is scheduled: as most of its threads are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scheduling {
    /// `SCHED_OTHER`, `SCHED_FIFO` and so on.
    pub policy: &'static str,
    /// From 1 to 99 under a real-time policy, else 0.
    pub priority: u64,
    /// From -20 (first) to 19 (last).
    pub nice: i64,
    /// Whether some of its threads are scheduled in another way.
    pub mixed: bool,
    /// The processors that its threads may use, all of them together.
    pub processors: Vec<usize>,
}

/// Where the threads of a process are to run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Placing {
    /// On these processors; anywhere where there are none.
    pub processors: Vec<usize>,
    /// Each thread on one of them, in turn, the busiest first: the kernel does not share work out over isolated cores.
    pub one_each: bool,
}

impl Placing {
    /// The processors of the thread that is the so-manieth.
    pub fn of_thread(&self, number: usize) -> &[usize] {
        let place = number % self.processors.len().max(1);
        match self.one_each {
            true => self.processors.get(place..=place).unwrap_or_default(),
            false => &self.processors,
        }
    }
}

/// The policies by their numbers in sched.h.
const POLICIES: [&str; 8] = [
    "SCHED_OTHER",
    "SCHED_FIFO",
    "SCHED_RR",
    "SCHED_BATCH",
    "policy 4",
    "SCHED_IDLE",
    "SCHED_DEADLINE",
    "SCHED_EXT",
];

/// How a process is scheduled.
pub fn scheduling(id: u32) -> Figure<Scheduling> {
    let tree = Tree::here();
    let mut all: Vec<(u64, u64, i64)> = Vec::new();
    for task in tasks(&tree, id)? {
        // One may have ended meanwhile.
        all.extend(of_thread(&tree, id, task.id).ok());
    }
    let count = |one: &(u64, u64, i64)| all.iter().filter(|it| *it == one).count();
    let most = all.iter().max_by_key(|it| count(it)).copied();
    let (policy, priority, nice) =
        most.ok_or_else(|| NotAvailable::because(format!("process {id} has ended")))?;
    let named = usize::try_from(policy).ok().and_then(|it| POLICIES.get(it));
    Ok(Scheduling {
        policy: named.copied().unwrap_or("unknown"),
        priority,
        nice,
        mixed: all.iter().any(|it| *it != (policy, priority, nice)),
        processors: processors_of(id)?,
    })
}

/// Policy, real-time priority and nice value, as proc(5) has them.
fn of_thread(tree: &Tree, process: u32, thread: u32) -> Figure<(u64, u64, i64)> {
    let path = format!("/proc/{process}/task/{thread}/stat");
    let text = tree.text(&path)?;
    let stat = Stat::of(&text, &path)?;
    Ok((stat.field(41)?, stat.field(40)?, stat.signed(19)?))
}

/// What has to be done for a real-time priority to be allowed.
pub const RT_CURE: &str = "run as root, or `sudo setcap cap_sys_nice+ep` the program, or give your user `rtprio 99` in \
                           /etc/security/limits.conf and log in again";
/// What has to be done for a nice value below 0 to be allowed.
pub const NICE_CURE: &str = "run as root, or `sudo setcap cap_sys_nice+ep` the program, or give your user `nice -20` in \
                             /etc/security/limits.conf and log in again";

/// The id of the thread that asks; 0 where none has one.
pub fn this_thread() -> u32 {
    thread::id().unwrap_or(0)
}

/// Gives a thread a nice value.
pub fn nice(thread: u32, value: i32) -> Figure<()> {
    let words = ["-n", &value.to_string(), "-p", &thread.to_string()];
    run("renice", &words).map_err(|said| {
        NotAvailable::because(match is_forbidden(&said) {
            true => format!("a nice value of {value} is not allowed: {NICE_CURE}"),
            false => said,
        })
    })
}

/// Gives a thread a real-time priority under SCHED_FIFO; threads that it starts have it, too.
pub fn fifo(thread: u32, priority: u8) -> Figure<()> {
    chrt(&[
        "--fifo",
        "--pid",
        &priority.to_string(),
        &thread.to_string(),
    ])
}

fn chrt(words: &[&str]) -> Figure<()> {
    run("chrt", words).map_err(|said| {
        NotAvailable::because(match is_forbidden(&said) {
            true => format!("SCHED_FIFO is not allowed: {RT_CURE}"),
            false => said,
        })
    })
}

fn is_forbidden(said: &str) -> bool {
    said.contains("not permitted") || said.contains("ermission denied")
}

/// A program of util-linux, or what it said: the system calls behind them cannot be made without `unsafe`.
fn run(program: &str, words: &[&str]) -> Result<(), String> {
    if !System::IS_LINUX {
        return Err(NotAvailable::here().reason().to_owned());
    }
    let mut command = Command::new(program);
    command.args(words).stdin(Stdio::null()).env("LC_ALL", "C");
    let done = command.output();
    let done = done.map_err(|error| {
        format!("{program} of util-linux cannot be started: {error} (apt-get install util-linux)")
    })?;
    match done.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&done.stderr).trim().to_owned()),
    }
}

/// A process that is scheduled in another way until this is dropped.
#[derive(Debug)]
pub struct Held {
    id: u32,
    affinities: Vec<(u32, Vec<usize>)>,
    policies: Vec<(u32, u64, u64)>,
}

/// Keeps all threads of a process where they are to run, and gives them a real-time priority under SCHED_FIFO, where
/// one is wanted. Threads that it starts meanwhile have both of the thread that starts them.
pub fn hold(id: u32, placing: &Placing, priority: Option<u8>) -> Figure<Held> {
    let mut held = Held {
        id,
        affinities: Vec::new(),
        policies: Vec::new(),
    };
    let tree = Tree::here();
    let mut all = tasks(&tree, id)?;
    all.sort_by_key(|it| std::cmp::Reverse(it.cpu_ns.clone().ok()));
    for (number, task) in all.into_iter().enumerate() {
        let processors = placing.of_thread(number);
        if !processors.is_empty() {
            let before = match thread::processors_of(task.id) {
                // It has ended meanwhile.
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                before => before.map_err(refused)?,
            };
            held.affinities.push((task.id, before));
            match thread::place(task.id, processors) {
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                done => done.map_err(refused)?,
            }
        }
        if let Some(priority) = priority {
            let Ok((policy, before, _)) = of_thread(&tree, id, task.id) else {
                continue;
            };
            match fifo(task.id, priority) {
                Ok(()) => held.policies.push((task.id, policy, before)),
                Err(_) if of_thread(&tree, id, task.id).is_err() => {}
                Err(why) => return Err(why),
            }
        }
    }
    Ok(held)
}

/// Why a thread is not placed.
fn refused(error: io::Error) -> NotAvailable {
    NotAvailable::because(match error.kind() {
        ErrorKind::PermissionDenied => {
            "it is a process of another user: run as root, or as that user".to_owned()
        }
        ErrorKind::InvalidInput => "want processors that there are, and that it may use".to_owned(),
        _ => error.to_string(),
    })
}

impl Drop for Held {
    fn drop(&mut self) {
        // A thread that was started meanwhile has what its starter had; that of the first one is a good guess.
        let now = tasks(&Tree::here(), self.id).unwrap_or_default();
        for task in now {
            let own = self.affinities.iter().find(|it| it.0 == task.id);
            if let Some((_, before)) = own.or(self.affinities.first()) {
                // It may have ended.
                let _ = thread::place(task.id, before);
            }
            let own = self.policies.iter().find(|it| it.0 == task.id);
            if let Some((_, policy, priority)) = own.or(self.policies.first()) {
                let how = match policy {
                    1 => "--fifo",
                    2 => "--rr",
                    3 => "--batch",
                    5 => "--idle",
                    _ => "--other",
                };
                let words = [how, "--pid", &priority.to_string(), &task.id.to_string()];
                let _ = chrt(&words);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_take_turns_over_isolated_cores_and_share_others() {
        let mut placing = Placing {
            processors: vec![2, 3, 5],
            one_each: true,
        };
        let cores: Vec<_> = (0..5).map(|it| placing.of_thread(it).to_vec()).collect();
        assert_eq!(cores, [[2], [3], [5], [2], [3]]);
        placing.one_each = false;
        assert_eq!(placing.of_thread(4), [2, 3, 5]);
        assert!(Placing::default().of_thread(4).is_empty());
    }
}
