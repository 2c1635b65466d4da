//! CPU by threads or cores, and by user space and kernel, in the course of a phase.

use std::time::{Duration, Instant};

use observe::{Core, Sample, Task, Times, tasks_since};
use record::run::{CoreCourse, CpuCourse, ThreadCourse, ThreadUsage};

/// A closer look at one process: when, what it had spent, and its threads.
pub(super) type Row<'a> = (Instant, &'a Sample, &'a [Task]);

/// More rows are put together.
const MOST: usize = 600;
/// More names are others.
const NAMES: usize = 6;
/// Twenty ticks of the kernel's clock: shares of fewer say nothing.
const LEAST_NS: u64 = 200_000_000;

/// From closer looks; each with the time since the phase began. The first one is what all is counted from. `known` are
/// the threads of the window, the busiest first.
pub(super) fn course(
    looks: &[Row<'_>],
    began: Instant,
    known: &[ThreadUsage],
) -> Option<CpuCourse> {
    let looks = spread(looks);
    let busy = known
        .iter()
        .filter(|it| it.cpu_cores.known().is_some_and(|it| *it > 0.0));
    let mut course = CpuCourse {
        threads: busy
            .take(NAMES)
            .map(|it| ThreadCourse {
                name: it.name.clone(),
                cpu_cores: Vec::new(),
            })
            .collect(),
        ..CpuCourse::default()
    };
    // User space and kernel are told since this one.
    let mut told = looks.first()?.1;
    for pair in looks.windows(2) {
        let [(then, before, earlier), (now, after, later)] = pair else {
            continue;
        };
        let parts = divided(after, told);
        if parts.is_some() {
            told = after;
        }
        let Some(at) = now.checked_duration_since(began) else {
            continue;
        };
        course.at_ns.push(plan::unit::duration::nanos(at));
        let all = after.since(before).cores().ok();
        course.cpu_cores.push(all.map(rounded));
        course.user_cores.push(parts.map(|it| rounded(it.0)));
        course.system_cores.push(parts.map(|it| rounded(it.1)));
        let spent = tasks_since(later, earlier);
        let long = now.duration_since(*then);
        for thread in &mut course.threads {
            let named = spent.iter().filter(|it| it.name == thread.name);
            thread.cpu_cores.push(cores(named, long).map(rounded));
        }
    }
    (course.at_ns.len() > 1).then_some(course)
}

/// A closer look at the machine: when, and what all cores and each of them had spent.
pub(super) type OfHost<'a> = (Instant, &'a Times, &'a [Core]);

/// More cores are others.
const CORES: usize = 16;

/// The same of the machine, by its cores.
pub(super) fn of_host(looks: &[OfHost<'_>], began: Instant) -> Option<CpuCourse> {
    let looks = far_apart(looks);
    let (first, last) = (looks.first()?.2, looks.last()?.2);
    let mut busiest: Vec<(u64, u32)> = last
        .iter()
        .filter_map(|it| Some((spent(it.number, first, last)?.busy_ns(), it.number)))
        .collect();
    busiest.sort_by_key(|(busy, number)| (std::cmp::Reverse(*busy), *number));
    busiest.truncate(CORES);
    let mut course = CpuCourse {
        cores: busiest
            .iter()
            .map(|(_, core)| CoreCourse {
                core: *core,
                busy: Vec::new(),
            })
            .collect(),
        ..CpuCourse::default()
    };
    for pair in looks.windows(2) {
        let [(then, before, earlier), (now, after, later)] = pair else {
            continue;
        };
        let Some(at) = now.checked_duration_since(began) else {
            continue;
        };
        course.at_ns.push(plan::unit::duration::nanos(at));
        let long = (now.duration_since(*then).as_nanos() as f64).max(1.0);
        let all = after.since(before);
        let share = |ns: u64| Some(rounded(ns as f64 / long));
        course.cpu_cores.push(share(all.busy_ns()));
        course.user_cores.push(share(all.user_ns));
        course.system_cores.push(share(all.busy_ns() - all.user_ns));
        for core in &mut course.cores {
            // Of its own ticks: those of two cores are not counted at the same moment.
            let busy = spent(core.core, earlier, later).and_then(|it| it.busy().ok());
            core.busy.push(busy.map(rounded));
        }
    }
    (course.at_ns.len() > 1).then_some(course)
}

/// What a core spent between two looks.
fn spent(number: u32, then: &[Core], now: &[Core]) -> Option<Times> {
    let of = |all: &[Core]| Some(all.iter().find(|it| it.number == number)?.times);
    Some(of(now)?.since(&of(then)?))
}

/// Looks between which there are twenty ticks of each core, as many as are kept.
fn far_apart<'a>(looks: &[OfHost<'a>]) -> Vec<OfHost<'a>> {
    let whole = looks.last().zip(looks.first());
    let whole = whole.map_or(Duration::ZERO, |(last, first)| last.0 - first.0);
    let least = Duration::from_nanos(LEAST_NS).max(whole / MOST as u32);
    let mut kept: Vec<OfHost<'a>> = Vec::new();
    for look in looks {
        if kept.last().is_none_or(|last| look.0 - last.0 >= least) {
            kept.push(*look);
        }
    }
    kept
}

/// As many as are kept. The last look comes when it has to, maybe right behind the one before: those two are one.
fn spread<'a>(looks: &[Row<'a>]) -> Vec<Row<'a>> {
    let every = looks.len().div_ceil(MOST).max(1);
    let last = looks.len().saturating_sub(1);
    let mut kept: Vec<Row<'a>> = looks
        .iter()
        .enumerate()
        .filter(|(n, _)| n % every == 0 || *n == last)
        .map(|(_, look)| *look)
        .collect();
    if let [.., first, second, end] = kept.as_slice()
        && 2 * (end.0 - second.0) < second.0 - first.0
    {
        kept.remove(kept.len() - 2);
    }
    kept
}

/// Cores in user space and in the kernel since an earlier look, if enough ticks fell between the two.
fn divided(now: &Sample, then: &Sample) -> Option<(f64, f64)> {
    let spent = now.since(then);
    let (user, system) = (spent.user_ns.clone().ok()?, spent.system_ns.clone().ok()?);
    if user + system < LEAST_NS {
        return None;
    }
    let share = system as f64 / (user + system) as f64;
    let all = spent.cores().ok()?;
    Some((all * (1.0 - share), all * share))
}

fn cores<'a>(mut tasks: impl Iterator<Item = &'a Task>, long: Duration) -> Option<f64> {
    let sum = tasks.try_fold(0, |sum, it| Some(sum + it.cpu_ns.clone().ok()?))?;
    Some(sum as f64 / (long.as_nanos() as f64).max(1.0))
}

/// To a hundredth of a percent of a core: more digits are only noise.
fn rounded(cores: f64) -> f64 {
    (cores * 1e4).round() / 1e4
}
