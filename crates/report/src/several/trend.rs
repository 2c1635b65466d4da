//! A line for each run.

use plan::Measure;
use plan::unit::Rate;
use record::run::Run;

use super::{cpu, differences, none, phase, phases, ratio, response, started};
use crate::page::{Page, WIDTH, clean, cut, grouped};
use crate::style::{Ink, Style};
use crate::summary::ink;
use crate::table;

/// A line for each run and phase.
pub(super) fn screen(runs: &[(String, Run)], style: Style) -> String {
    let mut page = Page::new(style);
    for name in phases(runs) {
        page.gap();
        if phases(runs).len() > 1 {
            page.line(&style.ink(Ink::Bold, cut(&clean(name), WIDTH)));
        }
        page.line(&format!(
            "{:20} {:17}{:>10}{:>8}{:>10}{:>10}{:>8}{:>9}{:>7}",
            "started", "verdict", "rate", "", "p50", "p99", "", "errors", "CPU"
        ));
        let mut first = None;
        for (_, run) in runs {
            let Some(phase) = phase(run, name) else {
                continue;
            };
            let (rate, p50, p99) = (
                phase.total.rate_per_s,
                response(phase, 0.5),
                response(phase, 0.99),
            );
            let (first_rate, first_p99) = *first.get_or_insert((rate, p99));
            let verdict = format!("{:17}", phase.verdict.kind);
            let verdict = style.ink(ink(phase.verdict.kind), verdict);
            let mut line = format!("{:20} {verdict}", started(run));
            let cpu = cpu(phase, Measure::Cpu).map(|share| format!("{:.0} %", share * 100.0));
            for (cell, width) in [
                (rate.map(Rate::show).unwrap_or_else(none), 10),
                (ratio(first_rate, rate).unwrap_or_default(), 8),
                (table::time(p50), 10),
                (table::time(p99), 10),
                (ratio(first_p99, p99).unwrap_or_default(), 8),
                (grouped(phase.total.errors), 9),
                (cpu.unwrap_or_else(none), 7),
            ] {
                line.push_str(&format!("{:>width$}", cut(&cell, width)));
            }
            page.line(&line);
        }
    }
    page.gap();
    page.sentence(0, "× is the ratio to the first; CPU is the server's.");
    differences(&mut page, runs);
    page.finish()
}
