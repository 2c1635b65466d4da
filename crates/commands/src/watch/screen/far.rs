//! Machines and processes of other hosts.

use std::fmt::Write as _;

use record::run::Figure;

use super::{bytes, clock, count, links, rate, threads, two};
use crate::watch::line::{Closely, Host, Process};

/// A line where there is no terminal.
pub fn host_line(it: &Host) -> String {
    format!(
        "{}  {}  {} cores busy  {} of {}",
        clock(&it.at),
        it.name.as_deref().unwrap_or("host"),
        two(&it.busy_cores),
        bytes(&it.used_bytes),
        bytes(&it.ram_bytes),
    )
}

/// A machine.
pub fn far_machine(out: &mut String, it: &Host, from: &str) -> std::fmt::Result {
    writeln!(
        out,
        "{:<12}{} cores busy, {} stolen; {} of {} in use; from {from}",
        it.name.as_deref().unwrap_or("host"),
        two(&it.busy_cores),
        two(&it.stolen_cores),
        bytes(&it.used_bytes),
        bytes(&it.ram_bytes),
    )?;
    links(out, it)
}

/// A process.
pub fn far_process(
    out: &mut String,
    it: &Process,
    closely: &Closely,
    from: &str,
) -> std::fmt::Result {
    let over = closely.interval_ns;
    let missing = |figure: &Figure<f64>| match figure {
        Figure::Missing { not_available } => format!(" ({not_available})"),
        Figure::Known(_) => String::new(),
    };
    writeln!(
        out,
        "\n{:<12}{} cores (user {}, kernel {}){}; from {from}",
        it.process,
        two(&closely.cpu_cores),
        two(&closely.user_cores),
        two(&closely.system_cores),
        missing(&closely.cpu_cores),
    )?;
    writeln!(out, "  memory    {} resident", bytes(&it.rss_bytes))?;
    writeln!(
        out,
        "  switches  {} voluntary, {} involuntary; {} threads",
        rate(&closely.voluntary_switches, over),
        rate(&closely.involuntary_switches, over),
        count(&it.threads),
    )?;
    match &closely.by_thread {
        Figure::Known(all) => threads(out, all, over),
        Figure::Missing { .. } => Ok(()),
    }
}
