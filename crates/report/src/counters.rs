//! What the kernel and the processor counted of a process, on a screen.

use std::collections::BTreeMap;

use plan::unit::duration;
use record::run::{CounterUsage, Figure};

use crate::page::clean;

/// One or two lines: what was counted, and what could not be counted with the reason.
pub fn counted(it: &CounterUsage) -> Vec<String> {
    let mut parts = Vec::new();
    let mut missing: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (name, figure) in it.all() {
        match figure {
            Figure::Known(counted) => parts.push(match name {
                "time on a core" => {
                    format!("{} on a core", duration::show_ns(counted.count))
                }
                name => format!("{} {name}", large(counted.count as f64)),
            }),
            Figure::Missing { not_available } => {
                missing.entry(not_available).or_default().push(name)
            }
        }
        // Behind what it is made of.
        if let ("instructions", Figure::Known(each)) = (name, &it.instructions_per_cycle) {
            let mut text = format!("{each:.2} a cycle");
            if let Some(Figure::Known(each)) = &it.instructions_per_operation {
                text.push_str(&format!(", {} a request", large(*each)));
            }
            if let Some(last) = parts.last_mut() {
                last.push_str(&format!(" ({text})"));
            }
        }
    }
    let mut lines = Vec::new();
    if !parts.is_empty() {
        let mut line = parts.join(", ");
        if it.user_only {
            line.push_str("; of the processor's counts those in user space only");
        }
        let share = it.least_share();
        if share < 0.999 {
            line.push_str(&format!(
                "; counters took turns: counted for {:.0} % of the time at least, and scaled",
                share * 100.0
            ));
        }
        lines.push(line);
    }
    let missing = missing.into_iter();
    lines.extend(missing.map(|(why, what)| format!("{} n/a: {}", what.join(", "), clean(why))));
    lines
}

/// With three digits, and a letter for thousands.
pub(crate) fn large(value: f64) -> String {
    let (value, unit) = match value {
        it if it >= 1e12 => (it / 1e12, " T"),
        it if it >= 1e9 => (it / 1e9, " G"),
        it if it >= 1e6 => (it / 1e6, " M"),
        it if it >= 1e4 => (it / 1e3, " k"),
        it => return format!("{it:.0}"),
    };
    let digits = match value {
        it if it >= 100.0 => 0,
        it if it >= 10.0 => 1,
        _ => 2,
    };
    format!("{value:.digits$}{unit}")
}

#[cfg(test)]
mod tests {
    use record::run::EventCount;

    use super::*;

    fn known(count: u64, counted_share: f64) -> Figure<EventCount> {
        Figure::Known(EventCount {
            count,
            counted_share,
        })
    }

    #[test]
    fn what_was_counted_stands_with_its_turns_and_what_was_not_with_its_reason_once() {
        let no = || Figure::missing("no PMU");
        let usage = CounterUsage {
            cycles: known(2_000_000_000, 0.625),
            instructions: known(3_200_000_000, 0.625),
            instructions_per_cycle: Figure::Known(1.6),
            instructions_per_operation: Some(Figure::Known(52_100.0)),
            cache_references: no(),
            cache_misses: no(),
            branch_misses: no(),
            context_switches: known(1301, 1.0),
            migrations: known(3, 1.0),
            page_faults: known(52, 1.0),
            task_clock_ns: known(1_500_000_000, 1.0),
            user_only: true,
            ..CounterUsage::default()
        };
        assert_eq!(
            counted(&usage),
            [
                "2.00 G cycles, 3.20 G instructions (1.60 a cycle, 52.1 k a request), 1301 context switches, \
                 3 migrations, 52 page faults, 1.50 s on a core; of the processor's counts those in user space only; \
                 counters took turns: counted for 62 % of the time at least, and scaled",
                "cache references, cache misses, branch misses n/a: no PMU",
            ]
        );
    }
}
