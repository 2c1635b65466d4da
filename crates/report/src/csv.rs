//! A row for each phase and metric, for spreadsheets and scripts.

use std::collections::BTreeMap;
use std::fmt::Write;

use judge::compare::Metric;
use judge::{Measured, figure_of};
use plan::{Figures, Measure, Stat, Unit};
use record::run::{
    Delivered, Figure, Footprint, Host, LeftOut, Listener, Phase, PubSub, Run, Subscriptions, Sum,
    Usage,
};

use crate::hosts::{busiest, mean, of_phase, rate, verdict};
use crate::points::{Named, Points, families};
use crate::table::looked_at;

/// The first row.
pub const HEAD: &str = "started,command,phase,target,service,metric,value,unit,point\n";

/// All rows of a run, the first one with the names of the columns. A metric that was not measured has an
/// empty value. Names of metrics are those of thresholds: `response.p99`.
pub fn csv(run: &Run) -> String {
    let mut out = HEAD.to_owned();
    rows(&mut out, run);
    out
}

/// All rows of several runs. The last column says which point of a sweep they belong to.
pub fn of(runs: &[Named]) -> String {
    let mut out = HEAD.to_owned();
    for family in families(runs) {
        let points = Points::of(family.runs);
        for point in &points.points {
            let label = quoted(&point.label(&points.axes));
            for named in &point.runs {
                let mut own = String::new();
                rows(&mut own, &named.run);
                for row in own.lines() {
                    // Each row ends with the empty point of a run that stands alone.
                    out.push_str(row);
                    out.push_str(&label);
                    out.push('\n');
                }
            }
        }
    }
    out
}

/// The rows of a run without the first one.
fn rows(out: &mut String, run: &Run) {
    for (place, phase) in run.phases.iter().enumerate() {
        let started = phase.started.to_string();
        let row = |target: &str, service: &str| {
            let fields = [&started, &run.command, &phase.name, target, service].map(quoted);
            fields.join(",")
        };
        // A scenario has phases of several services; without a plan the command says which.
        let planned = run.plan["phases"][place]["work"]["service"].as_str();
        let total = row("all", planned.unwrap_or(&run.command));
        let verdict = phase.verdict.kind.name();
        let _ = writeln!(out, "{total},verdict,{verdict},,");
        sum(out, &total, &phase.total, phase.values_per_s());
        times(out, &total, phase);
        for left in &phase.left_out {
            left_out(out, &total, left);
        }
        if let Some(told) = &phase.subscriptions {
            let values = phase.values_in_window().map(|n| n as f64);
            put(out, &total, "window.values", values, Unit::Count);
            let messages = phase.messages_in_window().map(|n| n as f64);
            put(out, &total, "window.messages", messages, Unit::Count);
            subscriptions(out, &total, told);
        }
        if let Some(told) = &phase.pubsub {
            pubsub(out, &total, phase, told);
        }
        resources(out, &total, phase);
        for host in of_phase(run, place) {
            agent(out, &total, phase, host);
        }
        if let Some(left) = &phase.footprint {
            footprint(out, &total, left);
        }
        for part in &phase.parts {
            let url = run
                .targets
                .get(part.target)
                .map_or("?", |target| target.url.as_str());
            let row = row(url, &part.service);
            let values = phase.part_values_per_s(part);
            sum(out, &row, &part.sum, values);
            times_of_part(out, &row, &part.sum);
        }
    }
}

/// What lies outside of the window: `left-out.warm-up.errors`.
fn left_out(out: &mut String, row: &str, left: &LeftOut) {
    let of = format!("left-out.{}", left.part.name());
    let length = left.to_ns.saturating_sub(left.from_ns);
    put(out, row, &of, Some(length as f64), Unit::Nanos);
    let counts = &left.counts;
    for (metric, count) in [
        ("planned", counts.planned),
        ("completed", counts.completed),
        ("errors", counts.errors),
        ("timeouts", counts.timeouts),
        ("skipped", counts.skipped),
        ("unsent", counts.unsent),
        ("unfinished", counts.unfinished),
    ] {
        let metric = format!("{of}.{metric}");
        put(out, row, &metric, Some(count as f64), Unit::Count);
    }
    for (name, &max) in &left.max_ns {
        let metric = format!("{of}.{name}.max");
        put(out, row, &metric, Some(max as f64), Unit::Nanos);
    }
}

/// As RFC 4180 wants it.
fn quoted(field: &str) -> String {
    match field.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", field.replace('"', "\"\"")),
        false => field.to_owned(),
    }
}

fn put(out: &mut String, row: &str, metric: &str, value: Option<f64>, unit: Unit) {
    let unit = match unit {
        Unit::Nanos => "ns",
        Unit::PerSecond => "1/s",
        Unit::Count => "count",
        Unit::Share => "share",
        Unit::Bytes => "bytes",
        Unit::Joules => "J",
        Unit::BitsPerSecond => "bit/s",
    };
    let value = value.map_or_else(String::new, |value| value.to_string());
    // Writing into a String does not fail.
    let _ = writeln!(out, "{row},{metric},{value},{unit},");
}

/// Measures that only subscriptions have.
const NOTIFIED: [Measure; 10] = [
    Measure::Delay,
    Measure::Phase,
    Measure::Queueing,
    Measure::Transport,
    Measure::ServerDelay,
    Measure::PublishDelay,
    Measure::CounterDelay,
    Measure::Arrival,
    Measure::Cycle,
    Measure::Jitter,
];

const MEASURES: [Measure; 7] = [
    Measure::Response,
    Measure::Service,
    Measure::Lateness,
    Measure::Pacer,
    Measure::Slot,
    Measure::Socket,
    Measure::Lag,
];

const STATS: [Stat; 8] = [
    Stat::Mean,
    Stat::Deviation,
    Stat::Min,
    Stat::P50,
    Stat::P90,
    Stat::P99,
    Stat::P99_9,
    Stat::Max,
];

fn sum(out: &mut String, row: &str, sum: &Sum, values_per_s: Option<f64>) {
    for (metric, count) in [
        ("planned", sum.planned),
        ("sent", sum.sent),
        ("completed", sum.completed),
        ("drained", sum.drained),
        ("errors", sum.errors),
        ("timeouts", sum.timeouts),
        ("skipped", sum.skipped),
        ("unsent", sum.unsent),
        ("unfinished", sum.unfinished),
        ("carried", sum.values),
        ("reconnects", sum.reconnects),
    ] {
        put(out, row, metric, Some(count as f64), Unit::Count);
    }
    put(out, row, "outage", Some(sum.outage_ns as f64), Unit::Nanos);
    put(out, row, "rate", sum.rate_per_s, Unit::PerSecond);
    for (metric, rate) in [
        ("attempted-rate", sum.attempted_per_s),
        ("failed-rate", sum.failed_per_s),
        ("timed-out-rate", sum.timed_out_per_s),
    ] {
        put(out, row, metric, rate, Unit::PerSecond);
    }
    put(out, row, "values", values_per_s, Unit::PerSecond);
    for status in &sum.statuses {
        let metric = quoted(&format!("status.{}", status.name));
        put(out, row, &metric, Some(status.count as f64), Unit::Count);
    }
    for status in &sum.value_statuses {
        let metric = quoted(&format!("value-status.{}", status.name));
        put(out, row, &metric, Some(status.count as f64), Unit::Count);
    }
    for (side, messages) in [("request", &sum.requests), ("response", &sum.responses)] {
        for (stat, value) in [
            ("total", Some(messages.total_bytes as f64)),
            ("mean", messages.mean_bytes),
            ("min", messages.min_bytes.map(|bytes| bytes as f64)),
            ("max", messages.max_bytes.map(|bytes| bytes as f64)),
        ] {
            put(
                out,
                row,
                &format!("{side}-bytes.{stat}"),
                value,
                Unit::Bytes,
            );
        }
    }
    for (name, level) in [("in-flight", &sum.in_flight), ("waiting", &sum.waiting)] {
        put(out, row, &format!("{name}.mean"), level.mean, Unit::Count);
        let max = level.max.map(|max| max as f64);
        put(out, row, &format!("{name}.max"), max, Unit::Count);
    }
}

/// The times of a phase, as thresholds name and find them.
fn times(out: &mut String, row: &str, phase: &Phase) {
    let cycles = phase.cycles_ns.len() as u64;
    for measure in MEASURES.into_iter().chain(NOTIFIED) {
        let count = match measure {
            Measure::Cycle if cycles > 0 => cycles,
            measure if !is_there(&phase.total, measure) => continue,
            measure => phase.total.histogram(measure.name()).count(),
        };
        stats(out, row, measure, count, |stat| {
            Measured(phase).figure(measure, stat)
        });
    }
    if let Some(clock) = phase.clock() {
        let error = clock.error_ns.known().map(|&ns| ns as f64);
        put(out, row, "clocks.error", error, Unit::Nanos);
    }
}

/// The times of a target or service.
fn times_of_part(out: &mut String, row: &str, sum: &Sum) {
    let measures = MEASURES.into_iter().chain(NOTIFIED);
    for measure in measures.filter(|it| is_there(sum, *it)) {
        let histogram = sum.histogram(measure.name());
        stats(out, row, measure, histogram.count(), |stat| {
            figure_of(histogram, stat)
        });
    }
}

/// Measures of subscriptions have rows where there are subscriptions.
fn is_there(sum: &Sum, measure: Measure) -> bool {
    !NOTIFIED.contains(&measure) || sum.histograms.contains_key(measure.name())
}

fn stats(
    out: &mut String,
    row: &str,
    measure: Measure,
    count: u64,
    figure: impl Fn(Stat) -> Option<f64>,
) {
    let name = measure.name();
    let count = Some(count as f64);
    put(out, row, &format!("{name}.count"), count, Unit::Count);
    for stat in STATS {
        put(
            out,
            row,
            &format!("{name}.{stat}"),
            figure(stat),
            Unit::Nanos,
        );
    }
}

fn counted(out: &mut String, row: &str, of: &str, counts: &BTreeMap<String, u64>) {
    for (name, count) in counts {
        let metric = format!("{of}.{}", name.replace('_', "-"));
        put(out, row, &metric, Some(*count as f64), Unit::Count);
    }
}

fn subscriptions(out: &mut String, row: &str, told: &Subscriptions) {
    let _ = writeln!(out, "{row},accounting,{},,", told.outcome.name());
    put(out, row, "loss", Some(told.lost as f64), Unit::Count);
    put(out, row, "loss.share", told.loss_share(), Unit::Share);
    for (of, counts) in [
        ("values", &told.values),
        ("updates", &told.places),
        ("messages", &told.messages),
    ] {
        counted(out, row, of, counts);
    }
    if let Some(events) = &told.events {
        counted(out, row, "events", &events.counts);
    }
    for (metric, count) in [
        ("subscriptions", told.subscriptions),
        ("items", told.items),
        ("items.silent", told.silent),
        ("updates.under-way", told.under_way),
        ("updates.overdue", told.overdue),
    ] {
        put(out, row, metric, Some(count as f64), Unit::Count);
    }
    put(out, row, "fairness.jain", told.fairness.jain, Unit::Share);
    let bytes = told.bytes_per_value;
    put(out, row, "value-bytes.mean", bytes, Unit::Bytes);
    for step in &told.steps {
        let metric = format!("set-up.{}", step.step.replace('_', "-"));
        put(out, row, &metric, Some(step.span_ns as f64), Unit::Nanos);
    }
}

/// Of PubSub: what all listeners heard together, and what a value costs.
fn pubsub(out: &mut String, row: &str, phase: &Phase, told: &PubSub) {
    let lost = told.lost().map(|lost| lost as f64);
    put(out, row, "loss", lost, Unit::Count);
    put(out, row, "loss.share", told.loss_share(), Unit::Share);
    for (metric, count) in [
        ("listeners", told.listeners.len() as u64),
        ("datagrams", told.sum(|it| it.datagrams)),
        ("datagrams.unreadable", told.sum(Listener::unreadable)),
        ("messages", told.sum(|it| it.messages)),
        ("messages.repeated", told.sum(|it| it.repeated)),
        ("messages.late", told.sum(|it| it.late)),
        ("messages.gaps", told.sum(|it| it.gaps)),
    ] {
        put(out, row, metric, Some(count as f64), Unit::Count);
    }
    let drops = told.socket_drops().map(|drops| drops as f64);
    put(out, row, "socket.drops", drops, Unit::Count);
    let each = phase.values_per_s();
    put(out, row, "values.of-a-listener", each, Unit::PerSecond);
    if let Some(sent) = &told.published {
        for (metric, count) in [
            ("published.cycles", Some(sent.cycles)),
            ("published.cycles.planned", sent.planned_cycles),
            ("published.datagrams", Some(sent.datagrams)),
            ("published.values", Some(sent.values)),
            ("published.refused", Some(sent.refused)),
        ] {
            put(out, row, metric, count.map(|it| it as f64), Unit::Count);
        }
        let size = Some(sent.datagram_bytes as f64);
        put(out, row, "datagram-bytes", size, Unit::Bytes);
        if let Some(broker) = &sent.broker {
            delivered(out, row, broker);
        }
    }
    for metric in [
        Metric::CpuPerValue,
        Metric::ReceiverCpuPerValue,
        Metric::BytesPerValue,
    ] {
        put(
            out,
            row,
            &metric.to_string(),
            metric.of(phase),
            metric.unit(),
        );
    }
}

/// What a broker did with what was sent.
fn delivered(out: &mut String, row: &str, it: &Delivered) {
    for (metric, count) in [
        ("broker.connections", it.connections),
        ("broker.acknowledged", it.acknowledged),
        ("broker.unacknowledged", it.unacknowledged),
        ("broker.refused", it.refused),
        ("broker.not-connected", it.not_connected),
        ("broker.window-full", it.window_full),
        ("broker.socket-full", it.socket_full),
    ] {
        put(out, row, metric, Some(count as f64), Unit::Count);
    }
    for (metric, at) in [("broker.ack.p50", 0.5), ("broker.ack.p99", 0.99)] {
        let time = it.acknowledgement.quantile(at).map(|ns| ns as f64);
        put(out, row, metric, time, Unit::Nanos);
    }
}

fn footprint(out: &mut String, row: &str, left: &Footprint) {
    let per = &left.per;
    if let Some(held) = &left.held {
        put(out, row, "held", Some(held.sessions as f64), Unit::Count);
        let cores = held.cpu_cores.known().copied();
        put(out, row, "held.server.cpu", cores, Unit::Share);
    }
    for (what, figure, unit) in [
        ("memory", &left.memory_bytes, Unit::Bytes),
        ("descriptors", &left.descriptors, Unit::Count),
    ] {
        let each = figure.known().map(|rise| rise.each);
        let error = figure.known().map(|rise| rise.error);
        put(out, row, &format!("{what}.{per}"), each, unit);
        put(out, row, &format!("{what}.{per}.error"), error, unit);
    }
}

/// Of an agent: `agent.local:1.share`.
fn agent(out: &mut String, row: &str, phase: &Phase, host: &Host) {
    let name = |metric: &str| quoted(&format!("agent.{}.{metric}", host.name));
    let _ = writeln!(out, "{row},{},{},,", name("verdict"), verdict(host));
    let clock = &host.clock;
    let ns = |figure: &Figure<u64>| figure.known().map(|&ns| ns as f64);
    let ahead = clock.ahead_ns.known().map(|&ns| ns as f64);
    let total = host.total.as_ref();
    let share = total.filter(|_| host.role.is_none());
    let share = share.map(|_| host.offered_share);
    let times = format!("{}.mean", looked_at(phase).0);
    for (metric, value, unit) in [
        ("sessions", Some(host.sessions as f64), Unit::Count),
        ("share", share, Unit::Share),
        ("busiest-core", busiest(host), Unit::Share),
        ("rate", rate(host, phase), Unit::PerSecond),
        (
            "completed",
            total.map(|it| it.completed as f64),
            Unit::Count,
        ),
        ("errors", total.map(|it| it.errors as f64), Unit::Count),
        ("carried", total.map(|it| it.values as f64), Unit::Count),
        (&times, mean(host, phase), Unit::Nanos),
        ("clock.ahead", ahead, Unit::Nanos),
        ("clock.error", ns(&clock.error_ns), Unit::Nanos),
        ("clock.begin-error", ns(&clock.begin_error_ns), Unit::Nanos),
    ] {
        put(out, row, &name(metric), value, unit);
    }
}

fn resources(out: &mut String, row: &str, phase: &Phase) {
    for usage in &phase.resources {
        let who = quoted(crate::resources::label(usage));
        let Usage {
            cpu_ns,
            rss_peak_bytes,
            ..
        } = &usage.window;
        let cpu = cpu_ns.known().map(|&ns| ns as f64);
        put(out, row, &format!("{who}.cpu"), cpu, Unit::Nanos);
        let cores = usage.window.cpu_cores.known().copied();
        put(out, row, &format!("{who}.cpu.mean"), cores, Unit::Share);
        if usage.who == "generator" {
            let metric = format!("{who}.cpu.working");
            put(
                out,
                row,
                &metric,
                Measured(phase).figure(Measure::GeneratorCpu, Stat::Mean),
                Unit::Share,
            );
        }
        for (of, part) in [
            ("user", &usage.window.user_ns),
            ("kernel", &usage.window.system_ns),
        ] {
            if let Some(&ns) = part.known() {
                put(
                    out,
                    row,
                    &format!("{who}.cpu.{of}"),
                    Some(ns as f64),
                    Unit::Nanos,
                );
            }
        }
        for thread in &usage.threads {
            let who = crate::resources::label(usage);
            let metric = format!("{who}.thread.{}.cpu.mean", thread.name);
            let cores = thread.cpu_cores.known().copied();
            put(out, row, &quoted(&metric), cores, Unit::Share);
        }
        let rss = rss_peak_bytes.known().map(|&bytes| bytes as f64);
        put(out, row, &format!("{who}.rss.max"), rss, Unit::Bytes);
    }
    if phase.resources.iter().any(|usage| usage.who == "server") {
        let max = Measured(phase).figure(Measure::Cpu, Stat::Max);
        put(out, row, "server.cpu.max", max, Unit::Share);
    }
}
