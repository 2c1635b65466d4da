//! What plants say of their own work, in sentences: on the screen of a run, and at the end of a server.

use plan::unit::{duration, share};
use record::run::{Diagnostics, Figure, Internals, LoopUse, Queue, ServiceUse, UpdateUse, Waiting};

use crate::page::{Page, clean, grouped};

/// More services are only counted on the screen of a run.
const MOST: usize = 4;
/// Loops that are named one by one.
const LOOPS: usize = 6;
/// Update loops of which the run span is told.
const UPDATES: usize = 3;

/// Of each target of a phase what it says, if it is a plant.
pub(crate) fn of(told: &Diagnostics) -> impl Iterator<Item = (usize, &Internals)> {
    let each = told.targets.iter().enumerate();
    each.filter_map(|(n, target)| match target {
        Figure::Known(it) => Some((n, it.internals.as_ref()?)),
        Figure::Missing { .. } => None,
    })
}

/// The rows of a phase: the first plant's.
pub(crate) fn rows(page: &mut Page, told: &Diagnostics) {
    let Some((n, first)) = of(told).next() else {
        return;
    };
    let label = match told.targets.len() {
        1 => "plant".to_owned(),
        _ => format!("plant {n}"),
    };
    for (n, line) in lines(first, MOST).iter().enumerate() {
        page.row(if n == 0 { &label } else { "" }, line);
    }
}

/// What a plant says: its loops, so many of the services that took most time, and what waited.
pub fn lines(told: &Internals, most: usize) -> Vec<String> {
    let mut lines = Vec::from_iter(loops(told));
    lines.extend(services(told, most));
    lines.extend(queues(told));
    lines.extend(updates(told));
    lines
}

fn loops(told: &Internals) -> Option<String> {
    let mut all: Vec<&LoopUse> = told.loops.iter().filter(|it| it.turns > 0).collect();
    all.sort_by_key(|it| std::cmp::Reverse(it.busy_ns));
    let shown = all.iter().take(LOOPS).map(|it| {
        let longest = it.longest_turn_ns.map_or_else(String::new, |ns| {
            format!(", the longest {}", duration::show_ns(ns))
        });
        let turns = match it.turns {
            1 => "1 turn".to_owned(),
            n => format!("{} turns", grouped(n)),
        };
        format!(
            "{} busy {} of the time ({turns}{longest})",
            clean(&it.name),
            share::show(it.share(told.elapsed_ns))
        )
    });
    let mut text = shown.collect::<Vec<_>>().join(", ");
    if all.len() > LOOPS {
        text.push_str(&format!(", {} less busy loops", all.len() - LOOPS));
    }
    (!all.is_empty()).then_some(text)
}

fn services(told: &Internals, most: usize) -> Option<String> {
    let all = by_time(told);
    let shown = all.iter().take(most).map(|it| {
        let mean = it.mean_ns().map_or_else(String::new, |mean| {
            let longest = it.longest_ns.map_or_else(String::new, |ns| {
                format!(", the longest {}", duration::show_ns(ns))
            });
            format!(" (mean {}{longest})", duration::show_nanos(mean))
        });
        format!("{} {}{mean}", clean(&it.service), grouped(it.count))
    });
    let shown: Vec<String> = shown.collect();
    let more = match all.len().saturating_sub(most) {
        0 => String::new(),
        n => format!(", {n} more"),
    };
    (!shown.is_empty()).then(|| format!("time in service: {}{more}", shown.join(", ")))
}

/// What took most time comes first.
pub(crate) fn by_time(told: &Internals) -> Vec<&ServiceUse> {
    let mut all: Vec<&ServiceUse> = told.services.iter().collect();
    let time = |it: &ServiceUse| it.all_ns().unwrap_or(0.0);
    all.sort_by(|a, b| time(b).total_cmp(&time(a)));
    all
}

fn queues(told: &Internals) -> Option<String> {
    let all = told.queues.iter().filter_map(|it| {
        let largest = it
            .largest
            .map_or_else(String::new, |n| format!(", at most {}", grouped(n)));
        Some(format!("{} {:.1}{largest}", waiting(it)?, it.mean()?))
    });
    let all: Vec<String> = all.collect();
    (!all.is_empty()).then(|| format!("waiting on average: {}", all.join("; ")))
}

/// Run spans of the loops with most signals.
fn updates(told: &Internals) -> impl Iterator<Item = String> + '_ {
    let mut all: Vec<&UpdateUse> = told.updates.iter().collect();
    all.retain(|it| !it.spans.is_empty());
    all.sort_by_key(|it| std::cmp::Reverse(it.signals));
    all.into_iter().take(UPDATES).map(|it| {
        let at = |q| duration::show_ns(it.spans.quantile(q).unwrap_or(0));
        let missed = match it.missed {
            0 => String::new(),
            n => format!(", {} missed", grouped(n)),
        };
        format!(
            "{}: {} passes{missed}, run span p50 {}, p99 {}, the longest {}",
            updating(it),
            grouped(it.spans.count()),
            at(0.5),
            at(0.99),
            at(1.0)
        )
    })
}

/// `100 signals new every 500 ms by 2 threads`.
pub(crate) fn updating(it: &UpdateUse) -> String {
    let plural = |n: u64, one: &str| match n {
        1 => format!("1 {one}"),
        n => format!("{} {one}s", grouped(n)),
    };
    format!(
        "{} new every {} by {}",
        plural(it.signals, "signal"),
        duration::show_ns(it.interval_ns),
        plural(it.threads, "thread")
    )
}

/// What waited, and where; nothing of what a later version has.
pub(crate) fn waiting(queue: &Queue) -> Option<&'static str> {
    match queue.what {
        Waiting::Requests => Some("requests at a turn"),
        Waiting::Notifications => Some("notifications of a subscription"),
        Waiting::PublishRequests => Some("Publish requests of a session"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plant_says_who_was_busy_with_what_and_what_waited() {
        let service = |name: &str, count, timed, timed_ns| ServiceUse {
            service: name.to_owned(),
            count,
            timed,
            timed_ns,
            longest_ns: None,
        };
        let told = Internals {
            elapsed_ns: 10_000_000_000,
            loops: vec![
                LoopUse {
                    name: "plant-0".to_owned(),
                    turns: 20_412,
                    busy_ns: 9_540_000_000,
                    longest_turn_ns: Some(1_200_000),
                },
                LoopUse {
                    name: "plant-acceptor".to_owned(),
                    turns: 1,
                    busy_ns: 10_000,
                    longest_turn_ns: None,
                },
            ],
            services: vec![
                service("Read", 1000, 10, 20_000),
                service("publishing", 3000, 3000, 9_000_000),
                service("Call", 1, 1, 5000),
            ],
            queues: vec![Queue {
                what: Waiting::Requests,
                looks: 10,
                sum: 35,
                largest: Some(16),
                now: None,
            }],
            updates: vec![UpdateUse {
                interval_ns: 500_000_000,
                signals: 100,
                threads: 1,
                missed: 2,
                spans: (1..=100).map(|it| 1000 * it).collect(),
            }],
            ..Internals::default()
        };
        assert_eq!(
            lines(&told, 2),
            [
                "plant-0 busy 95.4 % of the time (20,412 turns, the longest 1.20 ms), plant-acceptor busy less \
                 than 0.1 % of the time (1 turn)",
                "time in service: publishing 3,000 (mean 3 µs), Read 1,000 (mean 2 µs), 1 more",
                "waiting on average: requests at a turn 3.5, at most 16",
                "100 signals new every 500 ms by 1 thread: 100 passes, 2 missed, run span p50 50.0 µs, p99 99.0 µs, \
                 the longest 100 µs",
            ]
        );
    }
}
