//! What a person sees: a screen that is drawn again and again, or a line a second where there is none.

mod far;

use std::fmt::Write as _;
use std::io::{self, Write as _};

use plan::unit::{Bytes, Rate, duration};
use record::Timestamp;
use record::run::Figure;

use self::far::{far_machine, far_process, host_line};
use super::Output;
use super::line::{Closely, End, Gap, Host, Line, Process, Thread};

/// The screen.
pub struct Screen {
    live: bool,
    /// What was seen closely last of each process, in the order in which they came.
    processes: Vec<Process>,
    hosts: Vec<Host>,
    ended: Vec<String>,
    /// The last one of each.
    gaps: Vec<Gap>,
}

/// More threads than that are counted only.
const THREADS: usize = 20;

impl Screen {
    /// On a terminal, or as lines.
    pub const fn new(live: bool) -> Self {
        Self {
            live,
            processes: Vec::new(),
            hosts: Vec::new(),
            ended: Vec::new(),
            gaps: Vec::new(),
        }
    }
}

impl Output for Screen {
    fn take(&mut self, lines: Vec<Line>) -> io::Result<()> {
        let mut seen = false;
        let mut out = crate::screen::out();
        for line in lines {
            match line {
                Line::Process(it) if it.closely.is_some() => {
                    seen = true;
                    if !self.live {
                        writeln!(out, "{}", one_line(&it))?;
                    }
                    let same = |other: &&mut Process| {
                        (&other.process, other.pid, &other.from) == (&it.process, it.pid, &it.from)
                    };
                    match self.processes.iter_mut().find(same) {
                        Some(other) => *other = *it,
                        None => self.processes.push(*it),
                    }
                }
                Line::Host(it) => {
                    if it.from.is_some() {
                        seen = true;
                        if !self.live {
                            writeln!(out, "{}", host_line(&it))?;
                        }
                    }
                    let same =
                        |other: &&mut Host| (&other.name, &other.from) == (&it.name, &it.from);
                    match self.hosts.iter_mut().find(same) {
                        Some(other) => *other = *it,
                        None => self.hosts.push(*it),
                    }
                }
                Line::Gap(it) => {
                    seen = true;
                    if !self.live {
                        writeln!(
                            out,
                            "{}  {}: nothing came from {}: {}",
                            clock(&it.at),
                            it.name,
                            it.from,
                            it.reason
                        )?;
                    }
                    self.gaps
                        .retain(|other| (&other.name, &other.from) != (&it.name, &it.from));
                    self.gaps.push(it);
                }
                Line::Ended(it) => {
                    self.processes
                        .retain(|other| (other.pid, &other.from) != (it.pid, &it.from));
                    // A machine of another host ends by what it is called; this one does not.
                    let name = Some(&it.process);
                    self.hosts.retain(|other| {
                        other.from.is_none()
                            || (other.name.as_ref(), &other.from) != (name, &it.from)
                    });
                    let text = format!("{}{}: {}", it.process, pid(it.pid), it.reason);
                    if !self.live {
                        writeln!(out, "{text}")?;
                    }
                    self.ended.push(text);
                    seen = true;
                }
                Line::Process(_) | Line::End(_) => {}
            }
        }
        if seen && self.live {
            let (_, height) = terminal_size::terminal_size().map_or((100, 40), |(w, h)| (w.0, h.0));
            let text = self.text();
            let lines: Vec<&str> = text.lines().take(usize::from(height.max(2)) - 1).collect();
            // From the top left, each line cleared behind its end, and all below the last one.
            write!(out, "\x1b[H{}\x1b[K\n\x1b[J", lines.join("\x1b[K\n"))?;
        }
        out.flush()
    }

    fn end(&mut self, end: &End) -> io::Result<()> {
        let mut text = String::new();
        // Writing into a String does not fail.
        let _ = summary(&mut text, end);
        crate::screen::out().write_all(text.as_bytes())
    }
}

impl Screen {
    fn text(&self) -> String {
        let mut out = String::new();
        for host in &self.hosts {
            let _ = match &host.from {
                None => machine(&mut out, host),
                Some(from) => far_machine(&mut out, host, from),
            };
        }
        for process in &self.processes {
            if let Some(closely) = &process.closely {
                let _ = match &process.from {
                    None => whole(&mut out, process, closely),
                    Some(from) => far_process(&mut out, process, closely, from),
                };
            }
        }
        for it in &self.gaps {
            let (at, from, why) = (clock(&it.at), &it.from, &it.reason);
            let _ = writeln!(
                out,
                "\n{}: nothing came from {from} at {at}: {why}",
                it.name
            );
        }
        for ended in &self.ended {
            let _ = writeln!(out, "\n{ended}");
        }
        out
    }
}

fn known<T>(figure: &Figure<T>, show: impl Fn(&T) -> String) -> String {
    figure.known().map_or_else(|| "n/a".to_owned(), show)
}

fn two(figure: &Figure<f64>) -> String {
    known(figure, |it| format!("{it:.2}"))
}

fn bytes(figure: &Figure<u64>) -> String {
    known(figure, |it| Bytes::show(*it as f64))
}

fn count(figure: &Figure<u64>) -> String {
    known(figure, u64::to_string)
}

/// So many of them a second.
fn rate(figure: &Figure<u64>, over_ns: u64) -> String {
    known(figure, |it| {
        Rate::show(*it as f64 * 1e9 / (over_ns as f64).max(1.0))
    })
}

fn byte_rate(figure: &Figure<u64>, over_ns: u64) -> String {
    known(figure, |it| {
        let per_second = *it as f64 * 1e9 / (over_ns as f64).max(1.0);
        format!("{}/s", Bytes::show(per_second))
    })
}

/// A part of the time, in percent of it.
fn part(figure: &Figure<u64>, over_ns: u64) -> String {
    known(figure, |it| {
        format!("{:.1} %", *it as f64 * 100.0 / (over_ns as f64).max(1.0))
    })
}

fn clock(at: &Timestamp) -> String {
    let text = at.to_string();
    text.get(11..19).unwrap_or(&text).to_owned()
}

fn pid(pid: Option<u32>) -> String {
    pid.map_or_else(String::new, |it| format!(" {it}"))
}

fn one_line(it: &Process) -> String {
    let at = clock(&it.at);
    let Some(closely) = &it.closely else {
        return String::new();
    };
    format!(
        "{}  {}{}  {} cores (user {}, kernel {})  {}  {} threads  {} switches",
        at,
        it.process,
        pid(it.pid),
        two(&closely.cpu_cores),
        two(&closely.user_cores),
        two(&closely.system_cores),
        bytes(&it.rss_bytes),
        count(&it.threads),
        rate(&closely.voluntary_switches, closely.interval_ns),
    )
}

fn machine(out: &mut String, it: &Host) -> std::fmt::Result {
    writeln!(
        out,
        "host        {} of {} cores busy, {} stolen; threads wanted for a core {} of the time; {} of {} in use",
        two(&it.busy_cores),
        count(&it.cores),
        two(&it.stolen_cores),
        part(&it.cpu_pressure_ns, it.interval_ns),
        bytes(&it.used_bytes),
        bytes(&it.ram_bytes),
    )?;
    links(out, it)?;
    sensors(out, it)
}

fn links(out: &mut String, it: &Host) -> std::fmt::Result {
    for link in it.links.known().into_iter().flatten() {
        writeln!(
            out,
            "  {:<10}{} in, {} out, {} dropped; {}",
            link.name,
            byte_rate(&link.received_bytes, it.interval_ns),
            byte_rate(&link.sent_bytes, it.interval_ns),
            count(&link.dropped),
            match &link.share {
                Figure::Known(share) => format!("{:.1} % of the link", share * 100.0),
                Figure::Missing { not_available } => not_available.clone(),
            }
        )?;
    }
    Ok(())
}

fn sensors(out: &mut String, it: &Host) -> std::fmt::Result {
    let missing = |name: &str, reason: Option<&str>| reason.map(|it| format!("  {name:<10}{it}\n"));
    out.extend(match &it.mean_hertz {
        Figure::Known(hertz) => Some(format!(
            "  clock     {:.2} GHz, mean of the cores\n",
            hertz / 1e9
        )),
        Figure::Missing { not_available } => missing("clock", Some(not_available)),
    });
    out.extend(match &it.hottest_celsius {
        Figure::Known(celsius) => Some(format!(
            "  heat      {celsius:.0} °C at the hottest place\n"
        )),
        Figure::Missing { not_available } => missing("heat", Some(not_available)),
    });
    match &it.watts {
        Figure::Known(domains) => {
            for domain in domains {
                let watts = known(&domain.watts, |it| format!("{it:.1} W"));
                writeln!(out, "  {:<20}{watts}", domain.domain)?;
            }
        }
        Figure::Missing { not_available } => out.extend(missing("energy", Some(not_available))),
    }
    Ok(())
}

fn whole(out: &mut String, it: &Process, closely: &Closely) -> std::fmt::Result {
    let over = closely.interval_ns;
    writeln!(
        out,
        "\n{:<12}pid{}: {} cores (user {}, kernel {}); ready and not run {} of the time",
        it.process,
        pid(it.pid),
        two(&closely.cpu_cores),
        two(&closely.user_cores),
        two(&closely.system_cores),
        part(&closely.waited_ns, over),
    )?;
    writeln!(
        out,
        "  memory    {} resident, {} at most, {} proportional, {} in the swap",
        bytes(&it.rss_bytes),
        bytes(&closely.peak_rss_bytes),
        bytes(&closely.proportional_bytes),
        bytes(&closely.swap_bytes),
    )?;
    writeln!(
        out,
        "  switches  {} voluntary, {} involuntary; {} threads, {} descriptors",
        rate(&closely.voluntary_switches, over),
        rate(&closely.involuntary_switches, over),
        count(&it.threads),
        count(&closely.descriptors),
    )?;
    writeln!(
        out,
        "  disk      {} read, {} written",
        byte_rate(&closely.disk_read_bytes, over),
        byte_rate(&closely.disk_written_bytes, over),
    )?;
    match &closely.sockets {
        Figure::Known(sockets) => {
            writeln!(
                out,
                "  sockets   {} connections: {} in, {} out, round trip {}, {} segments sent again",
                sockets.connections,
                byte_rate(&sockets.received_bytes, over),
                byte_rate(&sockets.sent_bytes, over),
                known(&sockets.median_rtt_ns, |it| duration::show_nanos(
                    *it as f64
                )),
                count(&sockets.retransmissions),
            )?;
            writeln!(
                out,
                "  queues    {} to read, {} to send, {} connections to accept",
                Bytes::show(sockets.to_read_bytes as f64),
                Bytes::show(sockets.to_send_bytes as f64),
                sockets.to_accept,
            )?;
        }
        Figure::Missing { not_available } => writeln!(out, "  sockets   {not_available}")?,
    }
    if let Figure::Known(group) = &closely.cgroup
        && let Figure::Known(Some(cores)) = &group.cpu_limit_cores
    {
        writeln!(
            out,
            "  limit     {cores:.2} cores; held back in {} periods, {} of the time",
            count(&group.throttled_periods),
            part(&group.throttled_ns, over),
        )?;
    }
    for line in closely.counters.iter().flat_map(report::counted) {
        writeln!(out, "  counted   {line}")?;
    }
    match &closely.by_thread {
        Figure::Known(all) => threads(out, all, over),
        Figure::Missing { not_available } => writeln!(out, "  threads   {not_available}"),
    }
}

fn threads(out: &mut String, all: &[Thread], over: u64) -> std::fmt::Result {
    writeln!(
        out,
        "  {:<16}{:>9}{:>8}{:>8}{:>9}{:>13}{:>13}{:>11}{:>6}",
        "thread",
        "CPU",
        "user",
        "kernel",
        "waited",
        "voluntary",
        "involuntary",
        "migrations",
        "core"
    )?;
    for it in all.iter().take(THREADS) {
        writeln!(
            out,
            "  {:<16}{:>9}{:>8}{:>8}{:>9}{:>13}{:>13}{:>11}{:>6}",
            it.name,
            part(&it.cpu_ns, over),
            part(&it.user_ns, over),
            part(&it.system_ns, over),
            part(&it.waited_ns, over),
            rate(&it.voluntary_switches, over),
            rate(&it.involuntary_switches, over),
            count(&it.migrations),
            count(&it.core),
        )?;
    }
    match all.len().checked_sub(THREADS) {
        Some(more @ 1..) => writeln!(out, "  and {more} threads that did less"),
        _ => Ok(()),
    }
}

fn summary(out: &mut String, end: &End) -> std::fmt::Result {
    writeln!(out)?;
    for it in &end.processes {
        writeln!(
            out,
            "{}{}: {} cores over {} (CPU {}, user {}, kernel {}), {} at most{}",
            it.process,
            pid(it.pid),
            two(&it.cpu_cores),
            duration::show_ns(it.watched_ns),
            time(&it.cpu_ns),
            time(&it.user_ns),
            time(&it.system_ns),
            bytes(&it.largest_rss_bytes),
            if it.ended { "; it has ended" } else { "" },
        )?;
    }
    let cost = &end.cost;
    let share = known(&cost.cores, |it| format!("{:.2} %", it * 100.0));
    write!(out, "watching cost {share} of a core: {} looks", cost.looks)?;
    match end.missed {
        0 => writeln!(out),
        missed => writeln!(
            out,
            ", {missed} more were left out because this machine was late"
        ),
    }
}

fn time(figure: &Figure<u64>) -> String {
    known(figure, |it| duration::show_ns(*it))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_the_time_is_a_percentage_and_a_missing_one_is_not_zero() {
        assert_eq!(part(&Figure::Known(370_000_000), 1_000_000_000), "37.0 %");
        assert_eq!(part(&Figure::missing("no"), 1_000_000_000), "n/a");
        assert_eq!(byte_rate(&Figure::Known(2048), 2_000_000_000), "1 KiB/s");
    }
}
