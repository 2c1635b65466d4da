//! Exporters that are known: which of their metrics is which figure.

use super::Page;
use super::links::{self, CONTAINER_LINKS, NODE_LINKS, Names, WINDOWS_LINKS};
use super::text::Row;
use crate::figure::{Figure, NotAvailable};
use crate::link::Link;
use crate::totals::Totals;

/// What was found on a page.
pub struct PageFigures {
    pub by: String,
    /// A process that was asked for by its id, where its name is known.
    pub name: Option<String>,
    pub clock_ns: Option<u64>,
    pub totals: Totals,
}

/// Machines, the exporter that says most of them first.
pub const HOSTS: &[fn(&Page<'_>) -> Option<PageFigures>] = &[node, windows, cadvisor_machine];

/// Processes by name, the exporter that says most of them first.
pub const PROCESSES: &[fn(&Page<'_>, &str) -> Option<PageFigures>] = &[
    uaperf,
    process_exporter,
    windows_process,
    cadvisor_container,
];

/// Where processes have their names.
pub const NAMES: &[(&str, &str)] = &[
    ("uaperf_process_up", "process"),
    ("namedprocess_namegroup_num_procs", "groupname"),
    ("windows_process_cpu_time_total", "process"),
    ("container_cpu_usage_seconds_total", "name"),
    ("container_cpu_usage_seconds_total", "container"),
];

/// A row is meant by its labels.
type Meant<'m> = &'m dyn Fn(&Row<'_>) -> bool;

/// What is asked of one exporter.
struct ExporterQuery<'p> {
    page: &'p Page<'p>,
    by: &'static str,
    mine: Meant<'p>,
}

impl ExporterQuery<'_> {
    fn rows<'s>(&'s self, metric: &str) -> impl Iterator<Item = &'s Row<'s>> {
        self.page.of(metric).iter().filter(|row| (self.mine)(row))
    }

    /// The sum of what is meant, or that the exporter does not have it.
    fn sum(&self, metric: &str, meant: Meant<'_>) -> Figure<f64> {
        let rows = self
            .rows(metric)
            .filter(|row| meant(row) && row.value.is_finite());
        rows.map(|row| row.value)
            .reduce(|a, b| a + b)
            .ok_or_else(|| NotAvailable::because(format!("{} does not give {metric}", self.by)))
    }

    fn count(&self, metric: &str) -> Figure<u64> {
        Ok(self.sum(metric, &|_| true)?.max(0.0) as u64)
    }

    fn counted(&self, metric: &str, label: &str, is: &str) -> Figure<u64> {
        Ok(self
            .sum(metric, &|row| row.label(label) == Some(is))?
            .max(0.0) as u64)
    }

    /// Seconds of these modes, as nanoseconds. A mode that a system does not know has none.
    fn ns(&self, metric: &str, modes: &[&str]) -> Figure<u64> {
        let mode = |row: &Row<'_>| row.label("mode").is_some_and(|it| modes.contains(&it));
        self.sum(metric, &mode).map(seconds_as_ns)
    }

    fn all_ns(&self, metric: &str) -> Figure<u64> {
        self.sum(metric, &|_| true).map(seconds_as_ns)
    }

    /// When the figures were found: of rows with a time the latest, else what the exporter's clock shows.
    fn clock_ns(&self, metric: &str, clock: &str) -> Option<u64> {
        let stamped = self.rows(metric).filter_map(|row| row.at_ms).max();
        let stamped = stamped.and_then(|ms| u64::try_from(ms).ok());
        let shown = || {
            self.page
                .of(clock)
                .first()
                .map(|row| seconds_as_ns(row.value))
        };
        stamped
            .map(|ms| ms.saturating_mul(1_000_000))
            .or_else(shown)
    }

    /// With the version that a metric of the exporter has as a label.
    fn version(&self, metric: &str, label: &str) -> String {
        let version = self.page.of(metric).first().and_then(|it| it.label(label));
        match version {
            Some(version) if !version.is_empty() => format!("{} {version}", self.by),
            _ => self.by.to_owned(),
        }
    }

    /// What a label says of what is meant.
    fn named(&self, metric: &str, label: &str) -> Option<String> {
        let row = self.rows(metric).next()?;
        Some(row.label(label)?.to_owned())
    }

    /// Network interfaces, by the label that names them.
    fn links(&self, names: &Names) -> Figure<Vec<Link>> {
        links::links(names, self.by, &|metric| self.rows(metric).collect())
    }

    fn unknown(&self) -> Totals {
        Totals::unknown(&NotAvailable::because(format!(
            "{} does not give it",
            self.by
        )))
    }
}

fn seconds_as_ns(seconds: f64) -> u64 {
    // A cast of what is negative or no number gives 0, and of too much the most.
    (seconds * 1e9).round() as u64
}

fn node(page: &Page<'_>) -> Option<PageFigures> {
    const CPU: &str = "node_cpu_seconds_total";
    let it = ExporterQuery {
        page,
        by: "node_exporter",
        mine: &|_| true,
    };
    it.rows(CPU).next()?;
    // Guests are in user and nice already.
    let busy = ["user", "nice", "system", "irq", "softirq"];
    let ram = it.count("node_memory_MemTotal_bytes");
    let free = it.count("node_memory_MemAvailable_bytes");
    Some(PageFigures {
        name: None,
        by: it.version("node_exporter_build_info", "version"),
        clock_ns: it.clock_ns(CPU, "node_time_seconds"),
        totals: Totals {
            cpu_ns: it.ns(CPU, &busy),
            user_ns: it.ns(CPU, &["user", "nice"]),
            system_ns: it.ns(CPU, &["system"]),
            stolen_ns: it.ns(CPU, &["steal"]),
            rss_bytes: ram.clone().and_then(|ram| Ok(ram.saturating_sub(free?))),
            ram_bytes: ram,
            links: it.links(&NODE_LINKS),
            ..it.unknown()
        },
    })
}

fn windows(page: &Page<'_>) -> Option<PageFigures> {
    const CPU: &str = "windows_cpu_time_total";
    let it = ExporterQuery {
        page,
        by: "windows_exporter",
        mine: &|_| true,
    };
    it.rows(CPU).next()?;
    // Older versions have the size of the memory in another collector.
    let ram = it
        .count("windows_memory_physical_total_bytes")
        .or_else(|why| {
            it.count("windows_cs_physical_memory_bytes")
                .map_err(|_| why)
        });
    let free = it.count("windows_memory_available_bytes").or_else(|why| {
        it.count("windows_memory_physical_free_bytes")
            .map_err(|_| why)
    });
    Some(PageFigures {
        name: None,
        by: it.version("windows_exporter_build_info", "version"),
        clock_ns: windows_clock(&it, CPU),
        totals: Totals {
            // Privileged time has that of interrupts and DPCs in it.
            cpu_ns: it.ns(CPU, &["user", "privileged"]),
            user_ns: it.ns(CPU, &["user"]),
            system_ns: it.ns(CPU, &["privileged"]),
            rss_bytes: ram.clone().and_then(|ram| Ok(ram.saturating_sub(free?))),
            ram_bytes: ram,
            links: it.links(&WINDOWS_LINKS),
            ..it.unknown()
        },
    })
}

fn windows_clock(it: &ExporterQuery<'_>, cpu: &str) -> Option<u64> {
    // The collector of times is off unless it is asked for; the older clock counts whole seconds.
    it.clock_ns(cpu, "windows_time_current_timestamp_seconds")
}

fn windows_process(page: &Page<'_>, name: &str) -> Option<PageFigures> {
    const CPU: &str = "windows_process_cpu_time_total";
    let mine = |row: &Row<'_>| {
        ["process", "process_id"]
            .iter()
            .any(|it| row.label(it) == Some(name))
    };
    let it = ExporterQuery {
        page,
        by: "windows_exporter",
        mine: &mine,
    };
    it.rows(CPU).next()?;
    Some(PageFigures {
        name: it.named(CPU, "process"),
        by: it.version("windows_exporter_build_info", "version"),
        clock_ns: windows_clock(&it, CPU),
        totals: Totals {
            cpu_ns: it.ns(CPU, &["user", "privileged"]),
            user_ns: it.ns(CPU, &["user"]),
            system_ns: it.ns(CPU, &["privileged"]),
            rss_bytes: it.count("windows_process_working_set_bytes"),
            peak_rss_bytes: it.count("windows_process_working_set_peak_bytes"),
            threads: it.count("windows_process_threads"),
            ..it.unknown()
        },
    })
}

fn process_exporter(page: &Page<'_>, name: &str) -> Option<PageFigures> {
    const CPU: &str = "namedprocess_namegroup_cpu_seconds_total";
    const SWITCHES: &str = "namedprocess_namegroup_context_switches_total";
    let it = ExporterQuery {
        page,
        by: "process-exporter",
        mine: &|row| row.label("groupname") == Some(name),
    };
    it.rows(CPU).next()?;
    Some(PageFigures {
        name: None,
        by: it.version("namedprocess_exporter_build_info", "version"),
        clock_ns: it.clock_ns(CPU, ""),
        totals: Totals {
            cpu_ns: it.ns(CPU, &["user", "system"]),
            user_ns: it.ns(CPU, &["user"]),
            system_ns: it.ns(CPU, &["system"]),
            rss_bytes: it.counted("namedprocess_namegroup_memory_bytes", "memtype", "resident"),
            voluntary_switches: it.counted(SWITCHES, "ctxswitchtype", "voluntary"),
            involuntary_switches: it.counted(SWITCHES, "ctxswitchtype", "nonvoluntary"),
            minor_faults: it.count("namedprocess_namegroup_minor_page_faults_total"),
            major_faults: it.count("namedprocess_namegroup_major_page_faults_total"),
            threads: it.count("namedprocess_namegroup_num_threads"),
            ..it.unknown()
        },
    })
}

fn cadvisor_machine(page: &Page<'_>) -> Option<PageFigures> {
    let mut found = cadvisor(page, &|row| row.label("id") == Some("/"))?;
    let it = ExporterQuery {
        page,
        by: "cAdvisor",
        mine: &|_| true,
    };
    found.totals.ram_bytes = it.count("machine_memory_bytes");
    let mine = |row: &Row<'_>| row.label("id") == Some("/");
    let used = ExporterQuery { mine: &mine, ..it };
    found.totals.rss_bytes = used.count("container_memory_working_set_bytes");
    Some(found)
}

fn cadvisor_container(page: &Page<'_>, name: &str) -> Option<PageFigures> {
    let labels = ["name", "container", "id"];
    let container = |row: &Row<'_>| labels.iter().any(|it| row.label(it) == Some(name));
    let pod = |row: &Row<'_>| row.label("pod") == Some(name);
    // A pod has rows of its own beside those of its containers, whose figures are in them already.
    let whole = |row: &Row<'_>| pod(row) && row.label("container").unwrap_or_default().is_empty();
    cadvisor(page, &container)
        .or_else(|| cadvisor(page, &whole))
        .or_else(|| cadvisor(page, &pod))
}

fn cadvisor<'p>(page: &'p Page<'p>, mine: Meant<'p>) -> Option<PageFigures> {
    const CPU: &str = "container_cpu_usage_seconds_total";
    let it = ExporterQuery {
        page,
        by: "cAdvisor",
        mine,
    };
    it.rows(CPU).next()?;
    let faults = |kind| {
        it.sum("container_memory_failures_total", &|row| {
            row.label("type") == Some(kind) && row.label("scope") == Some("container")
        })
        .map(|it| it.max(0.0) as u64)
    };
    Some(PageFigures {
        name: None,
        by: it.version("cadvisor_version_info", "cadvisorVersion"),
        clock_ns: it.clock_ns(CPU, ""),
        totals: Totals {
            // One row for each CPU, or one for all of them.
            cpu_ns: it.all_ns(CPU),
            user_ns: it.all_ns("container_cpu_user_seconds_total"),
            system_ns: it.all_ns("container_cpu_system_seconds_total"),
            rss_bytes: it.count("container_memory_rss"),
            // Its minor faults are all of them.
            minor_faults: faults("pgfault")
                .and_then(|all| Ok(all.saturating_sub(faults("pgmajfault")?))),
            major_faults: faults("pgmajfault"),
            threads: it.count("container_threads"),
            links: it.links(&CONTAINER_LINKS),
            ..it.unknown()
        },
    })
}

fn uaperf(page: &Page<'_>, name: &str) -> Option<PageFigures> {
    const CPU: &str = "uaperf_process_cpu_seconds_total";
    const MODES: &str = "uaperf_process_cpu_mode_seconds_total";
    const SWITCHES: &str = "uaperf_process_context_switches_total";
    const FAULTS: &str = "uaperf_process_page_faults_total";
    let mine = |row: &Row<'_>| {
        let labels = ["process", "pid"];
        labels.iter().any(|it| row.label(it) == Some(name))
    };
    let it = ExporterQuery {
        page,
        by: "uaperf",
        mine: &mine,
    };
    it.rows(CPU).next()?;
    Some(PageFigures {
        name: it.named(CPU, "process"),
        by: it.by.to_owned(),
        clock_ns: it.clock_ns(CPU, "uaperf_looked_timestamp_seconds"),
        totals: Totals {
            cpu_ns: it.all_ns(CPU),
            user_ns: it.ns(MODES, &["user"]),
            system_ns: it.ns(MODES, &["kernel"]),
            waited_ns: it.all_ns("uaperf_process_run_queue_seconds_total"),
            rss_bytes: it.count("uaperf_process_resident_memory_bytes"),
            voluntary_switches: it.counted(SWITCHES, "kind", "voluntary"),
            involuntary_switches: it.counted(SWITCHES, "kind", "involuntary"),
            minor_faults: it.counted(FAULTS, "kind", "minor"),
            major_faults: it.counted(FAULTS, "kind", "major"),
            threads: it.count("uaperf_process_threads"),
            ..it.unknown()
        },
    })
}

/// The process that answers, as the client libraries of Prometheus tell of it.
pub fn itself(page: &Page<'_>) -> Option<PageFigures> {
    const CPU: &str = "process_cpu_seconds_total";
    let it = ExporterQuery {
        page,
        by: "a client library of Prometheus",
        mine: &|_| true,
    };
    it.rows(CPU).next()?;
    Some(PageFigures {
        name: None,
        by: it.by.to_owned(),
        clock_ns: it.clock_ns(CPU, ""),
        totals: Totals {
            cpu_ns: it.all_ns(CPU),
            rss_bytes: it.count("process_resident_memory_bytes"),
            threads: it.count("process_threads"),
            ..it.unknown()
        },
    })
}
