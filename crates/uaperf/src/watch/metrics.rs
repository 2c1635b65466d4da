//! What Prometheus reads: totals since each process began, in its text format 0.0.4.

use std::fmt::Write;
use std::time::{SystemTime, UNIX_EPOCH};

use observe::counters::{Count, Event};
use observe::{Figure, Task};

use super::watched::Watched;

/// The text about all that is watched. A figure that is not there is left out: Prometheus knows no reasons.
pub fn text(all: &[Watched]) -> String {
    let mut out = Text::default();
    let alive: Vec<&Watched> = all.iter().filter(|it| !it.has_ended()).collect();
    out.metric(
        "uaperf_process_up",
        "gauge",
        "Whether the process that is watched lives.",
    );
    for it in all {
        out.value(
            "uaperf_process_up",
            it,
            &[],
            Some(f64::from(u8::from(!it.has_ended()))),
        );
    }
    let name = "uaperf_looked_timestamp_seconds";
    out.metric(name, "gauge", "When these figures were found, since 1970.");
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let _ = writeln!(out.0, "{name} {:.6}", now.unwrap_or_default().as_secs_f64());
    let name = "uaperf_process_cpu_seconds_total";
    out.metric(
        name,
        "counter",
        "CPU time of all threads, of those that have ended too.",
    );
    for it in &alive {
        out.value(name, it, &[], seconds(&it.last.cpu_ns));
    }
    let name = "uaperf_process_cpu_mode_seconds_total";
    out.metric(
        name,
        "counter",
        "CPU time by mode, as the kernel divides it by ticks.",
    );
    for it in &alive {
        out.value(name, it, &[("mode", "user")], seconds(&it.last.user_ns));
        out.value(name, it, &[("mode", "kernel")], seconds(&it.last.system_ns));
    }
    let name = "uaperf_process_run_queue_seconds_total";
    out.metric(
        name,
        "counter",
        "Time that threads were ready to run and no core was free.",
    );
    for it in &alive {
        out.value(name, it, &[], seconds(&it.close.seen.sample.waited_ns));
    }
    let name = "uaperf_process_context_switches_total";
    out.metric(name, "counter", "Context switches of all threads.");
    for it in &alive {
        let sample = &it.close.seen.sample;
        out.value(
            name,
            it,
            &[("kind", "voluntary")],
            plain(&sample.voluntary_switches),
        );
        out.value(
            name,
            it,
            &[("kind", "involuntary")],
            plain(&sample.involuntary_switches),
        );
    }
    let name = "uaperf_process_page_faults_total";
    out.metric(name, "counter", "Page faults; major ones needed a disk.");
    for it in &alive {
        out.value(name, it, &[("kind", "minor")], plain(&it.last.minor_faults));
        out.value(name, it, &[("kind", "major")], plain(&it.last.major_faults));
    }
    let name = "uaperf_process_resident_memory_bytes";
    out.metric(name, "gauge", "Memory in RAM.");
    for it in &alive {
        out.value(name, it, &[], plain(&it.last.rss_bytes));
    }
    let name = "uaperf_process_threads";
    out.metric(name, "gauge", "Threads.");
    for it in &alive {
        out.value(name, it, &[], plain(&it.last.threads));
    }
    let name = "uaperf_process_open_descriptors";
    out.metric(name, "gauge", "Open descriptors.");
    for it in &alive {
        out.value(name, it, &[], plain(&it.close.seen.sample.descriptors));
    }
    let name = "uaperf_process_disk_bytes_total";
    out.metric(
        name,
        "counter",
        "Bytes read from disks and written to them.",
    );
    for it in &alive {
        let Ok(footing) = &it.close.seen.footing else {
            continue;
        };
        out.value(
            name,
            it,
            &[("way", "read")],
            plain(&footing.disk_read_bytes),
        );
        out.value(
            name,
            it,
            &[("way", "written")],
            plain(&footing.disk_written_bytes),
        );
    }
    counters(&mut out, &alive);
    let name = "uaperf_thread_cpu_seconds_total";
    out.metric(name, "counter", "CPU time of each thread that lives.");
    for it in &alive {
        for task in it.close.seen.tasks.iter().flatten() {
            out.value(
                name,
                it,
                &thread(task, &task.id.to_string()),
                seconds(&task.cpu_ns),
            );
        }
    }
    out.0
}

/// Since it is watched, and scaled where counters took turns.
fn counters(out: &mut Text, alive: &[&Watched]) {
    let name = "uaperf_process_counted_total";
    let counted = |it: &&Watched| Some(it.close.counted.as_ref()?.as_ref().ok()?.clone());
    if alive.iter().any(|it| counted(it).is_some()) {
        out.metric(
            name,
            "counter",
            "What perf_event_open counted since it is watched.",
        );
    }
    for it in alive {
        let Some(counted) = counted(it) else {
            continue;
        };
        for event in Event::ALL {
            let count = counted.count(event).and_then(Count::scaled);
            out.value(name, it, &[("event", event.name())], plain(&count));
        }
    }
}

fn thread<'a>(task: &'a Task, id: &'a str) -> [(&'static str, &'a str); 2] {
    [("thread", &task.name), ("tid", id)]
}

fn seconds(ns: &Figure<u64>) -> Option<f64> {
    ns.as_ref().ok().map(|ns| *ns as f64 / 1e9)
}

fn plain(figure: &Figure<u64>) -> Option<f64> {
    figure.as_ref().ok().map(|it| *it as f64)
}

#[derive(Default)]
struct Text(String);

impl Text {
    fn metric(&mut self, name: &str, kind: &str, help: &str) {
        // Writing into a String does not fail.
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    fn value(&mut self, name: &str, of: &Watched, labels: &[(&str, &str)], value: Option<f64>) {
        let Some(value) = value else { return };
        let _ = write!(
            self.0,
            "{name}{{process=\"{}\",pid=\"{}\"",
            escaped(&of.name),
            of.pid
        );
        for (label, text) in labels {
            let _ = write!(self.0, ",{label}=\"{}\"", escaped(text));
        }
        let _ = writeln!(self.0, "}} {value}");
    }
}

/// Names of threads may hold anything.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_end_its_label() {
        assert_eq!(escaped("a\"b\\c\nd"), "a\\\"b\\\\c\\nd");
    }
}
