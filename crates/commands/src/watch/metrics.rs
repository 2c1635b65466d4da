//! What programs read that look again and again: totals since each process began.

use std::time::{SystemTime, UNIX_EPOCH};

use observe::counters::{Count, Event};
use observe::{Figure, Task};
use report::family::Family;

use super::watched::Watched;

type Labels = Vec<(&'static str, String)>;

/// A figure of a process, with what tells it from others of the same name.
type Sample = (Labels, Option<f64>);

/// All that is watched. A figure that is not there is left out: its readers know no reasons.
pub fn families(all: &[Watched]) -> Vec<Family> {
    let alive: Vec<&Watched> = all.iter().filter(|it| !it.has_ended()).collect();
    let of = |family, figures: &dyn Fn(&Watched) -> Vec<Sample>| filled(family, &alive, figures);
    let up = Family::gauge(
        "uaperf_process_up",
        "Whether the process that is watched lives.",
    );
    let each: Vec<&Watched> = all.iter().collect();
    let up = filled(up, &each, &|it| {
        one(Some(f64::from(u8::from(!it.has_ended()))))
    });
    // A clock before 1970 is wrong: no time is better than that one.
    let now = SystemTime::now().duration_since(UNIX_EPOCH).ok();
    let mut looked = Family::gauge(
        "uaperf_looked_timestamp_seconds",
        "When these figures were found, since 1970.",
    );
    if let Some(now) = now {
        looked.add(Vec::new(), now.as_secs_f64());
    }
    vec![
        up,
        looked,
        of(
            Family::counter(
                "uaperf_process_cpu_seconds_total",
                "CPU time of all threads, of those that have ended too.",
            ),
            &|it| one(seconds(&it.last.cpu_ns)),
        ),
        of(
            Family::counter(
                "uaperf_process_cpu_mode_seconds_total",
                "CPU time by mode, as the kernel divides it by ticks.",
            ),
            &|it| {
                vec![
                    labelled("mode", "user", seconds(&it.last.user_ns)),
                    labelled("mode", "kernel", seconds(&it.last.system_ns)),
                ]
            },
        ),
        of(
            Family::counter(
                "uaperf_process_run_queue_seconds_total",
                "Time that threads were ready to run and no core was free.",
            ),
            &|it| one(seconds(&it.close.seen.sample.waited_ns)),
        ),
        of(
            Family::counter(
                "uaperf_process_context_switches_total",
                "Context switches of all threads.",
            ),
            &|it| {
                let sample = &it.close.seen.sample;
                vec![
                    labelled("kind", "voluntary", plain(&sample.voluntary_switches)),
                    labelled("kind", "involuntary", plain(&sample.involuntary_switches)),
                ]
            },
        ),
        of(
            Family::counter(
                "uaperf_process_page_faults_total",
                "Page faults; major ones needed a disk.",
            ),
            &|it| {
                vec![
                    labelled("kind", "minor", plain(&it.last.minor_faults)),
                    labelled("kind", "major", plain(&it.last.major_faults)),
                ]
            },
        ),
        of(
            Family::gauge("uaperf_process_resident_memory_bytes", "Memory in RAM."),
            &|it| one(plain(&it.last.rss_bytes)),
        ),
        of(Family::gauge("uaperf_process_threads", "Threads."), &|it| {
            one(plain(&it.last.threads))
        }),
        of(
            Family::gauge("uaperf_process_open_descriptors", "Open descriptors."),
            &|it| one(plain(&it.close.seen.sample.descriptors)),
        ),
        of(
            Family::counter(
                "uaperf_process_disk_bytes_total",
                "Bytes read from disks and written to them.",
            ),
            &disk,
        ),
        of(
            Family::counter(
                "uaperf_process_counted_total",
                "What perf_event_open counted since it is watched.",
            ),
            &counted,
        ),
        of(
            Family::counter(
                "uaperf_thread_cpu_seconds_total",
                "CPU time of each thread that lives.",
            ),
            &|it| it.close.seen.tasks.iter().flatten().map(thread).collect(),
        ),
    ]
}

/// With what is known of each process.
fn filled(
    mut family: Family,
    of: &[&Watched],
    figures: &dyn Fn(&Watched) -> Vec<Sample>,
) -> Family {
    for it in of {
        for (labels, figure) in figures(it) {
            if let Some(figure) = figure {
                let mut own = vec![("process", it.name.clone()), ("pid", it.pid.to_string())];
                own.extend(labels);
                family.add(own, figure);
            }
        }
    }
    family
}

fn one(figure: Option<f64>) -> Vec<Sample> {
    vec![(Vec::new(), figure)]
}

fn labelled(label: &'static str, text: &str, figure: Option<f64>) -> Sample {
    (vec![(label, text.to_owned())], figure)
}

fn disk(it: &Watched) -> Vec<Sample> {
    let Ok(footing) = &it.close.seen.footing else {
        return Vec::new();
    };
    vec![
        labelled("way", "read", plain(&footing.disk_read_bytes)),
        labelled("way", "written", plain(&footing.disk_written_bytes)),
    ]
}

/// Since it is watched, and scaled where counters took turns.
fn counted(it: &Watched) -> Vec<Sample> {
    let Some(Ok(counted)) = &it.close.counted else {
        return Vec::new();
    };
    let told = |event: Event| {
        let count = counted.count(event).and_then(Count::scaled);
        labelled("event", event.name(), plain(&count))
    };
    Event::ALL.into_iter().map(told).collect()
}

fn thread(task: &Task) -> Sample {
    let labels = vec![("thread", task.name.clone()), ("tid", task.id.to_string())];
    (labels, seconds(&task.cpu_ns))
}

fn seconds(ns: &Figure<u64>) -> Option<f64> {
    ns.as_ref().ok().map(|ns| *ns as f64 / 1e9)
}

fn plain(figure: &Figure<u64>) -> Option<f64> {
    figure.as_ref().ok().map(|it| *it as f64)
}
