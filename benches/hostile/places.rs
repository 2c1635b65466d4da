//! Who runs where: the plant's loops have the first processors, the good session one of its own where there
//! are enough, and those who mean no good the rest, with the plant's helper threads.

use std::ops::Range;
use std::process::Command;

/// Processors there are.
fn all() -> usize {
    std::thread::available_parallelism().map_or(1, |all| all.get())
}

/// Those of the plant's loops; none where they would take all.
pub fn loops(threads: usize) -> Vec<usize> {
    match threads < all() {
        true => (0..threads).collect(),
        false => Vec::new(),
    }
}

/// That of the good session: with the first loop where there are too few.
pub fn good(threads: usize) -> usize {
    match threads + 1 < all() {
        true => threads,
        false => 0,
    }
}

/// Those of the attackers, and of whoever looks on.
pub fn attackers(threads: usize) -> Range<usize> {
    let all = all();
    let first = (good(threads) + 1).max(threads);
    if first < all { first..all } else { 0..all }
}

/// Those of the loops and the good session.
pub fn measured(threads: usize) -> Range<usize> {
    match attackers(threads).start {
        0 => 0..all(),
        first => 0..first,
    }
}

/// This program in a process that has only these processors, and only when nobody else wants them.
pub fn behind_all(places: &Range<usize>) -> std::io::Result<Command> {
    let each: Vec<String> = places.clone().map(|place| place.to_string()).collect();
    let mut command = Command::new("taskset");
    command.args(["--cpu-list", &each.join(","), "chrt", "--idle", "0"]);
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
