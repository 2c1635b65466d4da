//! What was spent meanwhile, on a screen: CPU, memory, threads, links.

use judge::Measured;
use plan::unit::duration::{self, show_ns};
use plan::unit::{Bytes, energy as joules};
use plan::{Figures, Measure, Stat};
use record::run::{
    Energy, Figure, LinkUsage, Mean, Observing, Phase, Source, ThreadUsage, Usage, UsageSeries,
};

use crate::hosts::machine;
use crate::page::{Page, clean};

/// The rows of a phase.
pub(crate) fn rows(page: &mut Page, phase: &Phase) {
    for usage in &phase.resources {
        // What others spend is not for our requests.
        let ours = matches!(usage.who.as_str(), "generator" | "server");
        let done = (ours && phase.pubsub.is_none()).then_some(phase.total.completed);
        let working = Measured(phase).figure(Measure::GeneratorCpu, Stat::Mean);
        let working = working.filter(|_| usage.who == "generator");
        page.row(
            label(usage),
            &spent(&usage.window, ram(phase, usage), done, working),
        );
        if usage.who != "generator" && usage.means.is_some() {
            page.row("", &means(usage));
        }
        for line in usage.counters.iter().flat_map(crate::counters::counted) {
            page.row("", &format!("counted: {line}"));
        }
        let threads = threads(&usage.threads);
        if !threads.is_empty() {
            page.row("", &format!("threads: {threads}"));
        }
        for link in &usage.links {
            page.row("", &carried(link, phase));
        }
        if let Some(source) = &usage.source {
            page.row("", &told(source));
            if let Some(there) = &source.machine {
                page.row("", &format!("there: {}", clean(&machine(there))));
            }
        }
    }
    for it in &phase.energy {
        page.row("energy", &energy(it, phase));
    }
    if let Some(cost) = &phase.observing {
        page.row("observing", &observing(cost));
    }
}

/// What a process is called here: another one than ours by its name.
pub(crate) fn label(usage: &UsageSeries) -> &str {
    match (&usage.name, usage.who.as_str()) {
        (Some(name), "observed") => name,
        (_, who) => who,
    }
}

/// Means with their intervals, and what it was kept from.
fn means(usage: &UsageSeries) -> String {
    let mut parts = Vec::new();
    if let (Some(pid), "observed") = (usage.pid, usage.who.as_str()) {
        parts.push(format!("pid {pid}"));
    }
    if let Some(means) = &usage.means {
        parts.push(match &means.cpu_cores {
            Figure::Known(it) => format!("CPU {:.2} ± {:.2} %", it.mean * 100.0, it.error * 100.0),
            Figure::Missing { not_available } => format!("CPU interval n/a: {not_available}"),
        });
        if let Figure::Known(it) = &means.rss_bytes {
            let (mean, error) = (Bytes::show(it.mean), Bytes::show(it.error));
            parts.push(format!("memory {mean} ± {error}"));
        }
    }
    let window = &usage.window;
    if let (Figure::Known(own), Figure::Known(forced)) =
        (&window.voluntary_switches, &window.involuntary_switches)
    {
        parts.push(format!("switches {own} voluntary, {forced} involuntary"));
    }
    if let (Figure::Known(minor), Figure::Known(major)) =
        (&window.minor_faults, &window.major_faults)
    {
        parts.push(format!("page faults {minor}, {major} from a disk"));
    }
    parts.join(", ")
}

/// More threads are only counted.
const MOST: usize = 4;
/// Of a core; a thread that needs less is only counted.
const LEAST: f64 = 0.001;

/// The busiest threads by their names.
fn threads(all: &[ThreadUsage]) -> String {
    // One whose time is not known is counted with the others.
    let cores = |it: &ThreadUsage| it.cpu_cores.known().copied().unwrap_or(0.0);
    let busy = all.iter().filter(|it| cores(it) >= LEAST);
    let shown: Vec<String> = busy
        .take(MOST)
        .map(|it| {
            let several = match it.count {
                1 => String::new(),
                n => format!(" ({n})"),
            };
            format!("{}{several} {:.1} %", clean(&it.name), cores(it) * 100.0)
        })
        .collect();
    let shown_count = shown.len();
    let mut text = shown.join(", ");
    let others: u64 = all.iter().skip(shown_count).map(|it| it.count).sum();
    if shown_count > 0 && others > 0 {
        text.push_str(&format!(", {others} more"));
    }
    text
}

fn carried(link: &LinkUsage, phase: &Phase) -> String {
    let seconds = phase.to_ns.saturating_sub(phase.from_ns) as f64 / 1e9;
    let rate = |bytes: &Figure<u64>| match bytes {
        Figure::Known(bytes) => format!("{}/s", Bytes::show(*bytes as f64 / seconds.max(1e-9))),
        Figure::Missing { .. } => "n/a".to_owned(),
    };
    let share = match &link.share {
        Figure::Known(share) => format!("{:.1} % of what it can carry", share * 100.0),
        Figure::Missing { not_available } => not_available.clone(),
    };
    format!(
        "link {}: {} in, {} out, {share}",
        clean(&link.name),
        rate(&link.received_bytes),
        rate(&link.sent_bytes)
    )
}

/// What a meter or a domain of the machine counted, and what of it the load took.
pub(crate) fn energy(it: &Energy, phase: &Phase) -> String {
    let by = clean(&it.by);
    let (Figure::Known(joules), Figure::Known(watts)) = (&it.joules, &it.watts) else {
        let why = match &it.joules {
            Figure::Missing { not_available } => not_available.as_str(),
            Figure::Known(_) => "no power",
        };
        return format!("{by}: n/a: {why}");
    };
    let mut text = format!("{by}: {joules:.1} J, {watts:.2} W on average");
    if let Some((course, stddev)) = it
        .course
        .as_ref()
        .zip(it.watts_stddev((phase.from_ns, phase.to_ns)))
    {
        text.push_str(&format!(
            " (stddev {stddev:.2} W of {})",
            show_ns(course.interval_ns)
        ));
    }
    match &it.idle_watts {
        Figure::Known(idle) => {
            text.push_str(&format!(", idle {:.2} ± {:.2} W", idle.mean, idle.error));
        }
        Figure::Missing { not_available } => {
            text.push_str(&format!(", idle n/a: {not_available}"));
        }
    }
    let each = |figure: &Figure<Mean>, of: &str| match figure {
        Figure::Known(it) => format!(
            ", {} ± {} {of}",
            joules::show(it.mean),
            joules::show(it.error)
        ),
        Figure::Missing { .. } => String::new(),
    };
    text.push_str(&each(
        &it.per_operation_joules,
        "above idle for an operation",
    ));
    text.push_str(&each(&it.per_value_joules, "for a value"));
    if let Some(by) = &it.aligned_by_s {
        text.push_str(&format!(
            "; its clock by a step of load: {:.3} ± {:.3} s to be added",
            by.mean, by.error
        ));
    }
    text
}

/// More gaps are only counted.
const GAPS: usize = 3;

/// Who looked on another host, how finely, and when nothing came.
pub(crate) fn told(it: &Source) -> String {
    let mut text = format!(
        "from {} by {}: one look each {}",
        clean(&it.from),
        clean(&it.by),
        show_ns(it.interval_ns)
    );
    match &it.resolution_ns {
        Figure::Known(ns) => text.push_str(&format!(", samples {} apart", show_ns(*ns))),
        Figure::Missing { not_available } => text.push_str(&format!(", {not_available}")),
    }
    text.push_str(&format!(", times ± {}", show_ns(it.time_error_ns)));
    if let Figure::Known(cores) = &it.cost_cores {
        text.push_str(&format!(
            "; looking took {:.2} % of a core there",
            cores * 100.0
        ));
    }
    let seconds = |ns: i64| ns as f64 / 1e9;
    for gap in it.gaps.iter().take(GAPS) {
        text.push_str(&format!(
            "; nothing from {:.1} s to {:.1} s ({})",
            seconds(gap.from_ns),
            seconds(gap.to_ns),
            clean(&gap.reason)
        ));
    }
    if it.gaps.len() > GAPS {
        text.push_str(&format!("; {} gaps more", it.gaps.len() - GAPS));
    }
    text
}

/// How often it was looked, and what that took.
pub(crate) fn observing(cost: &Observing) -> String {
    let every = show_ns(cost.interval_ns);
    let looks = match cost.missed {
        0 => format!("{} looks, one each {every}", cost.looks),
        n => format!("{} looks, one each {every}, {n} left out", cost.looks),
    };
    match &cost.cpu_cores {
        Figure::Known(cores) => format!("{looks}; it took {:.2} % of a core", cores * 100.0),
        Figure::Missing { not_available } => format!("{looks}; its CPU n/a: {not_available}"),
    }
}

/// The RAM of the machine that it is on, where that is known.
fn ram(phase: &Phase, usage: &UsageSeries) -> Option<u64> {
    let host = || phase.resources.iter().find(|it| it.who == "host");
    match usage.source {
        Some(_) => usage.ram_bytes,
        None => usage.ram_bytes.or_else(|| host()?.ram_bytes),
    }
}

/// CPU and memory, of so much RAM; `working` is the CPU without spinning.
fn spent(usage: &Usage, ram: Option<u64>, done: Option<u64>, working: Option<f64>) -> String {
    let mut parts = Vec::new();
    match &usage.cpu_cores {
        Figure::Known(cores) => {
            let mut text = format!("CPU {:.1} % of a core", cores * 100.0);
            if usage.spun_ns.known().is_some_and(|&spun| spun > 0)
                && let Some(working) = working
            {
                text.push_str(&format!(" ({:.1} % without spinning)", working * 100.0));
            }
            parts.push(text);
        }
        Figure::Missing { not_available } => parts.push(format!("CPU n/a: {not_available}")),
    }
    if let (Figure::Known(user), Figure::Known(system)) = (&usage.user_ns, &usage.system_ns)
        && user + system > 0
    {
        let share = 100.0 * *system as f64 / (user + system) as f64;
        parts.push(format!("{share:.0} % of it in the kernel"));
    }
    if let (Some(done), Figure::Known(cpu)) = (done.filter(|&done| done > 0), &usage.cpu_ns) {
        // Only our own loops spin, and they say so.
        let spun = usage.spun_ns.known().copied().unwrap_or(0);
        let each = cpu.saturating_sub(spun) as f64 / done as f64;
        parts.push(format!("{} a request", duration::show_nanos(each)));
    }
    if let Figure::Known(bytes) = &usage.rss_peak_bytes {
        let of = ram.map(|all| {
            let share = *bytes as f64 * 100.0 / (all as f64).max(1.0);
            format!(" of {} ({share:.2} %)", Bytes::show(all as f64))
        });
        parts.push(format!(
            "memory {}{}",
            Bytes::show(*bytes as f64),
            of.unwrap_or_default()
        ));
    }
    if let Figure::Known(waited) = &usage.waited_ns
        && *waited > 0
    {
        parts.push(format!("run-queue wait {}", show_ns(*waited)));
    }
    if let Figure::Known(stolen) = &usage.stolen_ns
        && *stolen > 0
    {
        parts.push(format!("{} stolen by the hypervisor", show_ns(*stolen)));
    }
    parts.join(", ")
}
