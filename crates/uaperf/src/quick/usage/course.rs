//! CPU by threads, and by user space and kernel, in the course of a phase.

use std::time::{Duration, Instant};

use observe::{Sample, Task, tasks_since};
use record::run::{CpuCourse, ThreadCourse, ThreadUsage};

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
