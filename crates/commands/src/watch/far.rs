//! What is watched on another host: each sample that comes from there is a look.

use std::time::{Duration, Instant, SystemTime};

use observe::{NotAvailable, Totals, tasks_since};
use plan::unit::duration::nanos;
use record::Timestamp;
use record::run::Figure;

use super::close::thread;
use super::line::{Closely, Ended, Gap, Host, Line, Link, Process, Sum};
use crate::failure::Failure;
use crate::remote_watch::{Event, Known, Point, RemoteWatch, SamplePair, Site};

/// Somebody looks at it there.
pub struct RemoteProcess {
    there: RemoteWatch,
    first: Option<Point>,
    last: Option<Point>,
    /// The last one that had threads.
    closely: Option<Point>,
    largest_rss: Option<u64>,
    ended: bool,
    why: Option<String>,
}

impl RemoteProcess {
    /// What was typed, if it is of another host.
    pub fn find(typed: &str, every: Duration) -> Option<anyhow::Result<Self>> {
        let open = |site: Site| {
            Ok(Self {
                there: RemoteWatch::open(&site, every)?,
                first: None,
                last: None,
                closely: None,
                largest_rss: None,
                ended: false,
                why: None,
            })
        };
        let site = Site::read(typed)?;
        Some(
            site.map_err(|why| Failure::usage(why).into())
                .and_then(open),
        )
    }

    /// Whether nothing more comes.
    pub const fn has_ended(&self) -> bool {
        self.ended
    }

    /// What came since it was asked last.
    pub fn look(&mut self) -> Vec<Line> {
        // Asked first: what it tells before it ends is here then.
        let ended = self.there.has_ended();
        let mut lines: Vec<Line> = self
            .there
            .take()
            .into_iter()
            .filter_map(|event| self.line(event))
            .collect();
        if ended && !self.ended {
            self.ended = true;
            let known = &self.there.known;
            lines.push(Line::Ended(Ended {
                at: SystemTime::now().into(),
                process: known.name.clone(),
                pid: known.pid,
                from: Some(known.from.clone()),
                reason: self
                    .why
                    .clone()
                    .unwrap_or_else(|| "nothing more comes".into()),
            }));
        }
        lines
    }

    fn line(&mut self, event: Event) -> Option<Line> {
        let known = &self.there.known;
        let point = match event {
            Event::Point(point) => *point,
            Event::Gap { at, why } => {
                self.why = Some(why.clone());
                return Some(Line::Gap(Gap {
                    at: stamp(at),
                    name: known.name.clone(),
                    from: known.from.clone(),
                    reason: why,
                }));
            }
        };
        self.first.get_or_insert_with(|| point.clone());
        self.largest_rss = self.largest_rss.max(point.totals.rss_bytes.clone().ok());
        let before = self.last.replace(point.clone());
        let before = before?;
        let step = SamplePair {
            from: &before,
            to: &point,
        };
        let line = match known.is_host {
            true => Line::Host(Box::new(host(known, step))),
            false => {
                let close = self.closely.as_ref().filter(|_| point.totals.tasks.is_ok());
                let threads = close.and_then(|then| {
                    let (now, then) = (point.totals.tasks.as_ref(), then.totals.tasks.as_ref());
                    Some(tasks_since(now.ok()?, then.ok()?))
                });
                let mut line = process(known, step);
                if let (Some(closely), Some(threads)) = (&mut line.closely, threads) {
                    closely.by_thread = Figure::Known(threads.into_iter().map(thread).collect());
                }
                Line::Process(Box::new(line))
            }
        };
        if point.totals.tasks.is_ok() {
            self.closely = Some(point);
        }
        Some(line)
    }

    /// From the first sample to the last.
    pub fn sum(&self) -> Sum {
        let known = &self.there.known;
        let both = self.first.as_ref().zip(self.last.as_ref());
        let step = both.map(|(from, to)| SamplePair { from, to });
        let more = |of: fn(&Totals) -> &observe::Figure<u64>| -> observe::Figure<u64> {
            match step {
                Some(step) => step.more(|it| of(it).clone()),
                None => Err(NotAvailable::because("no sample came")),
            }
        };
        let long = step.map_or(0, |it| nanos(it.length()));
        let cpu = more(|it| &it.cpu_ns);
        Sum {
            process: known.name.clone(),
            pid: known.pid,
            from: Some(known.from.clone()),
            watched_ns: long,
            cpu_cores: super::difference::cores(cpu.clone(), long),
            cpu_ns: cpu.into(),
            user_ns: more(|it| &it.user_ns).into(),
            system_ns: more(|it| &it.system_ns).into(),
            largest_rss_bytes: match self.largest_rss {
                Some(bytes) => Figure::Known(bytes),
                None => Figure::missing("no sample had it"),
            },
            ended: self.ended,
        }
    }

    /// Who looks there, and how often.
    pub fn told(&self) -> String {
        let it = &self.there.known;
        format!(
            "{}: from {} by {}, one look each {}",
            it.name,
            it.from,
            it.by,
            plan::unit::duration::show(it.every)
        )
    }
}

fn stamp(at: Instant) -> Timestamp {
    let ago = at.elapsed();
    let now = SystemTime::now();
    now.checked_sub(ago).unwrap_or(now).into()
}

fn cores(step: SamplePair<'_>, of: fn(&Totals) -> &observe::Figure<u64>) -> Figure<f64> {
    step.rate(|it| of(it).clone()).map(|it| it / 1e9).into()
}

fn process(known: &Known, step: SamplePair<'_>) -> Process {
    let now = &step.to.totals;
    let more =
        |of: fn(&Totals) -> &observe::Figure<u64>| Figure::from(step.more(|it| of(it).clone()));
    let not_there = || format!("it does not come from {}", known.from);
    let interval_ns = nanos(step.length());
    Process {
        at: stamp(step.to.at),
        process: known.name.clone(),
        pid: known.pid,
        from: Some(known.from.clone()),
        interval_ns,
        cpu_ns: more(|it| &it.cpu_ns),
        user_ns: more(|it| &it.user_ns),
        system_ns: more(|it| &it.system_ns),
        cpu_cores: cores(step, |it| &it.cpu_ns),
        rss_bytes: now.rss_bytes.clone().into(),
        threads: now.threads.clone().into(),
        minor_faults: more(|it| &it.minor_faults),
        major_faults: more(|it| &it.major_faults),
        closely: Some(Closely {
            interval_ns,
            cpu_cores: cores(step, |it| &it.cpu_ns),
            user_cores: cores(step, |it| &it.user_ns),
            system_cores: cores(step, |it| &it.system_ns),
            waited_ns: more(|it| &it.waited_ns),
            voluntary_switches: more(|it| &it.voluntary_switches),
            involuntary_switches: more(|it| &it.involuntary_switches),
            peak_rss_bytes: now.peak_rss_bytes.clone().into(),
            proportional_bytes: Figure::missing(not_there()),
            swap_bytes: Figure::missing(not_there()),
            descriptors: Figure::missing(not_there()),
            disk_read_bytes: Figure::missing(not_there()),
            disk_written_bytes: Figure::missing(not_there()),
            sockets: Figure::missing(not_there()),
            cgroup: Figure::missing(not_there()),
            by_thread: Figure::missing(not_there()),
            counters: None,
        }),
    }
}

fn host(known: &Known, step: SamplePair<'_>) -> Host {
    let not_there = || format!("it does not come from {}", known.from);
    let (then, now) = (&step.from.totals, &step.to.totals);
    let seconds = step.length().as_secs_f64();
    Host {
        at: stamp(step.to.at),
        name: Some(known.name.clone()),
        from: Some(known.from.clone()),
        interval_ns: nanos(step.length()),
        cores: Figure::missing(not_there()),
        busy_cores: cores(step, |it| &it.cpu_ns),
        user_cores: Some(cores(step, |it| &it.user_ns)),
        system_cores: Some(cores(step, |it| &it.system_ns)),
        stolen_cores: cores(step, |it| &it.stolen_ns),
        used_bytes: now.rss_bytes.clone().into(),
        ram_bytes: now.ram_bytes.clone().into(),
        cpu_pressure_ns: Figure::missing(not_there()),
        memory_pressure_ns: Figure::missing(not_there()),
        io_pressure_ns: Figure::missing(not_there()),
        links: match (&now.links, &then.links) {
            (Ok(now), Ok(then)) => Figure::Known(Link::all(now, then, seconds)),
            (Err(why), _) | (_, Err(why)) => Figure::missing(why.reason()),
        },
        mean_hertz: Figure::missing(not_there()),
        hottest_celsius: Figure::missing(not_there()),
        watts: Figure::missing(not_there()),
    }
}
