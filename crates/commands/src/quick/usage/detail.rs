//! Threads by their names, links, and means: what closer looks tell of a window.

use std::collections::BTreeMap;
use std::time::Instant;

use judge::Average;
use observe::{Carried, Link, NotAvailable, Task, tasks_since};
use plan::unit::duration::nanos;
use record::run::{Figure, LinkCourse, LinkUsage, Mean, ThreadUsage};

/// More names are not kept: pools give each of their threads its own.
const MOST: usize = 64;

/// What threads spent between two looks, by name, the busiest first.
pub fn threads(now: &[Task], then: &[Task], elapsed_ns: u64) -> Vec<ThreadUsage> {
    let spent = tasks_since(now, then);
    let mut order: Vec<&str> = Vec::new();
    let mut named: BTreeMap<&str, Vec<&Task>> = BTreeMap::new();
    for task in &spent {
        named
            .entry(&task.name)
            .or_insert_with(|| {
                order.push(&task.name);
                Vec::new()
            })
            .push(task);
    }
    let mut all: Vec<ThreadUsage> = order
        .iter()
        .filter_map(|name| Some(together(name, named.get(name)?, elapsed_ns)))
        .collect();
    all.sort_by_key(|it| std::cmp::Reverse(it.cpu_ns.known().copied()));
    all.truncate(MOST);
    all
}

fn together(name: &str, tasks: &[&Task], elapsed_ns: u64) -> ThreadUsage {
    let sum = |of: fn(&Task) -> &observe::Figure<u64>| -> observe::Figure<u64> {
        tasks
            .iter()
            .try_fold(0, |sum, task| Ok(sum + of(task).clone()?))
    };
    let whole = Task {
        id: 0,
        name: name.to_owned(),
        cpu_ns: sum(|it| &it.cpu_ns),
        user_ns: sum(|it| &it.user_ns),
        system_ns: sum(|it| &it.system_ns),
        waited_ns: sum(|it| &it.waited_ns),
        voluntary_switches: sum(|it| &it.voluntary_switches),
        involuntary_switches: sum(|it| &it.involuntary_switches),
        migrations: sum(|it| &it.migrations),
        minor_faults: sum(|it| &it.minor_faults),
        major_faults: sum(|it| &it.major_faults),
        core: Err(NotAvailable::because("of each thread only")),
    };
    let [user_ns, system_ns] = whole.divided();
    let cores = whole
        .cpu_ns
        .clone()
        .map(|ns| ns as f64 / (elapsed_ns as f64).max(1.0));
    ThreadUsage {
        name: whole.name,
        count: tasks.len() as u64,
        cpu_cores: cores.into(),
        cpu_ns: whole.cpu_ns.into(),
        user_ns: user_ns.into(),
        system_ns: system_ns.into(),
        waited_ns: whole.waited_ns.into(),
        voluntary_switches: whole.voluntary_switches.into(),
        involuntary_switches: whole.involuntary_switches.into(),
        migrations: whole.migrations.into(),
        busiest: busiest(tasks, elapsed_ns),
    }
}

/// The share of the time that the busiest of them had something to do: on a core, or waiting for one.
fn busiest(tasks: &[&Task], elapsed_ns: u64) -> Option<f64> {
    let shares = tasks.iter().filter_map(|it| {
        let worked = it.cpu_ns.as_ref().ok()? + it.waited_ns.as_ref().unwrap_or(&0);
        Some(worked as f64 / (elapsed_ns as f64).max(1.0))
    });
    shares.reduce(f64::max).map(|share| share.min(1.0))
}

/// What interfaces carried between two looks.
pub fn links(now: &[Link], then: &[Link], seconds: f64) -> Vec<LinkUsage> {
    let one = |link: &Link| {
        let was = then.iter().find(|it| it.name == link.name)?;
        let carried = link.since(was, seconds);
        (!carried.is_nothing()).then(|| LinkUsage {
            name: carried.name,
            received_bytes: carried.received_bytes.into(),
            sent_bytes: carried.sent_bytes.into(),
            dropped: carried.dropped.into(),
            share: carried.share.into(),
            course: None,
        })
    };
    now.iter().filter_map(one).collect()
}

/// More rows are put together.
const ROWS: usize = 600;

/// What interfaces carried in the course of a phase, from looks at all of them.
pub fn over_time(links: &mut [LinkUsage], looks: &[(Instant, &[Link])], began: Instant) {
    let every = looks.len().div_ceil(ROWS).max(1);
    let looks: Vec<_> = looks.iter().step_by(every).copied().collect();
    for usage in links {
        let mut course = LinkCourse::default();
        let named = |all: &'_ [Link]| all.iter().find(|it| it.name == usage.name).cloned();
        for pair in looks.windows(2) {
            let [(then, before), (now, after)] = *pair else {
                continue;
            };
            let Some(at) = now.checked_duration_since(began) else {
                continue;
            };
            let long = now.duration_since(then).as_secs_f64().max(1e-9);
            let carried = named(after)
                .zip(named(before))
                .map(|(now, then)| now.since(&then, long));
            let rate = |of: fn(&Carried) -> &observe::Figure<u64>| {
                let bytes = of(carried.as_ref()?).clone().ok()?;
                Some((bytes as f64 / long).round())
            };
            course.at_ns.push(nanos(at));
            course
                .received_bytes_per_s
                .push(rate(|it| &it.received_bytes));
            course.sent_bytes_per_s.push(rate(|it| &it.sent_bytes));
            let share = carried.and_then(|it| it.share.ok());
            course.share.push(share.map(|it| (it * 1e6).round() / 1e6));
        }
        if course.share.iter().all(Option::is_none) {
            course.share.clear();
        }
        usage.course = (course.at_ns.len() > 1).then_some(course);
    }
}

/// A mean with its interval. The mean itself may be known better than from samples.
pub fn with_interval(samples: &[f64], known: Option<f64>) -> Figure<Mean> {
    match Average::of(samples) {
        Some(Average { mean, error }) => Figure::Known(Mean {
            mean: known.unwrap_or(mean),
            error,
        }),
        None => Figure::missing(format!(
            "{} looks fell into the window, too few for an interval",
            samples.len()
        )),
    }
}
