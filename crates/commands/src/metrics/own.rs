//! What this process says of itself, by the names that client libraries of Prometheus have for it.

use std::sync::{Mutex, PoisonError};

use observe::{Figure, Process};
use report::family::Family;

/// This process.
pub struct Own(Mutex<Process>);

impl Own {
    /// This one.
    pub fn new() -> Self {
        Self(Mutex::new(Process::own()))
    }

    /// What it spends. What the system does not tell is left out.
    pub fn families(&self) -> Vec<Family> {
        let sample = self
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .sample();
        let version = vec![("version", env!("CARGO_PKG_VERSION").to_owned())];
        let info = Family::gauge("uaperf_build_info", "1, with the version of this program.");
        let mut all = vec![info.with(version, 1.0)];
        let mut add = |family: Family, figure: Option<f64>| {
            all.extend(figure.map(|it| family.with(Vec::new(), it)));
        };
        add(
            Family::counter(
                "process_cpu_seconds_total",
                "CPU time of all threads of this program.",
            ),
            number(&sample.cpu_ns).map(|ns| ns / 1e9),
        );
        add(
            Family::gauge(
                "process_resident_memory_bytes",
                "Memory of this program in RAM.",
            ),
            number(&sample.rss_bytes),
        );
        add(
            Family::gauge("process_threads", "Threads of this program."),
            number(&sample.threads),
        );
        add(
            Family::gauge("process_open_fds", "Open descriptors of this program."),
            number(&sample.descriptors),
        );
        all
    }
}

fn number(figure: &Figure<u64>) -> Option<f64> {
    figure.as_ref().ok().map(|it| *it as f64)
}
