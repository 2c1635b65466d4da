//! Who runs where: the plant's loops have the first processors, the good session one of its own where there
//! are enough, and those who mean no good the rest, with the plant's helper threads.

use std::ops::Range;
use std::process::Command;

/// Processors there are.
pub fn all() -> Range<usize> {
    0..std::thread::available_parallelism().map_or(1, |all| all.get())
}

/// Those of the plant's loops; none where they would take all.
pub fn loops(threads: usize) -> Vec<usize> {
    match threads < all().end {
        true => (0..threads).collect(),
        false => Vec::new(),
    }
}

/// That of the good session: with the first loop where there are too few.
pub fn good(threads: usize) -> usize {
    match threads + 1 < all().end {
        true => threads,
        false => 0,
    }
}

/// Those of the attackers, and of whoever looks on.
pub fn attackers(threads: usize) -> Range<usize> {
    let first = (good(threads) + 1).max(threads);
    match first < all().end {
        true => first..all().end,
        false => all(),
    }
}

/// Those of the loops and the good session.
pub fn measured(threads: usize) -> Range<usize> {
    match attackers(threads).start {
        0 => all(),
        first => 0..first,
    }
}

/// This program in a process that has only these processors, and whatever nobody else wants of them.
pub fn behind_all(places: &Range<usize>) -> std::io::Result<Command> {
    kept_to(places, &["chrt", "--idle", "0"])
}

/// The same, but before those who come behind all.
pub fn behind_others(places: &Range<usize>) -> std::io::Result<Command> {
    kept_to(places, &["chrt", "--other", "0", "nice", "-n", "19"])
}

fn kept_to(places: &Range<usize>, how: &[&str]) -> std::io::Result<Command> {
    let each: Vec<String> = places.clone().map(|place| place.to_string()).collect();
    let mut command = Command::new("taskset");
    command.args(["--cpu-list", &each.join(",")]).args(how);
    command.arg(std::env::current_exe()?);
    Ok(command)
}

/// Has this process come before all others on its processor: the good session would be on a machine of its own,
/// and what it waits for there is the server alone. False where that is not allowed.
pub fn come_first() -> bool {
    schedule(["--fifo", "1"])
}

/// Has this process be like any other again, whoever started it.
pub fn come_as_any() {
    // As any other it began, unless it was started by one that comes first.
    schedule(["--other", "0"]);
}

fn schedule([policy, priority]: [&str; 2]) -> bool {
    Command::new("chrt")
        .args([policy, "--pid", priority, &std::process::id().to_string()])
        .status()
        .is_ok_and(|status| status.success())
}

/// Keeps this thread to them.
#[cfg(target_os = "linux")]
pub fn keep_to(places: &Range<usize>) {
    let mut set = nix::sched::CpuSet::new();
    for place in places.clone() {
        let _ = set.set(place);
    }
    // Elsewhere it disturbs, and is no less right.
    let _ = nix::sched::sched_setaffinity(nix::unistd::Pid::from_raw(0), &set);
}

#[cfg(not(target_os = "linux"))]
pub fn keep_to(_: &Range<usize>) {}
