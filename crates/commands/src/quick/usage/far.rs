//! What was seen of other hosts, as it stands in a result.

use std::time::{Duration, Instant};

use observe::{Figure as Found, Link, NotAvailable, Task, Totals};
use plan::unit::duration::nanos;
use record::run::{Figure, GapOf, LinkUsage, Means, Source, Usage, UsageSeries};

use super::detail;
use crate::remote_watch::{Known, Point, SampleCourse};

/// Over a window of a phase that began at `began`.
pub fn series(
    known: &Known,
    course: &SampleCourse,
    began: Instant,
    window_ns: (u64, u64),
) -> UsageSeries {
    let at = |ns: u64| began + Duration::from_nanos(ns);
    let window = (at(window_ns.0), at(window_ns.1));
    let inside = |it: &&Point| it.at >= window.0 && it.at <= window.1;
    let mut series = UsageSeries {
        who: "observed".into(),
        name: Some(known.name.clone()),
        pid: known.pid,
        window: usage(course, window),
        ram_bytes: course
            .points()
            .iter()
            .rev()
            .find_map(|it| it.totals.ram_bytes.clone().ok()),
        source: Some(source(known, course, began)),
        ..UsageSeries::default()
    };
    rows(&mut series, course, began);
    let seen = |values: &[Option<f64>]| -> Vec<f64> {
        let rows = series.at_ns.iter().zip(values);
        let rows = rows.filter(|(at, _)| **at > window_ns.0 && **at <= window_ns.1);
        rows.filter_map(|(_, value)| *value).collect()
    };
    let rss: Vec<Option<f64>> = series
        .rss_bytes
        .iter()
        .map(|it| it.map(|it| it as f64))
        .collect();
    series.means = Some(Means {
        cpu_cores: detail::with_interval(
            &seen(&series.cpu_cores),
            series.window.cpu_cores.known().copied(),
        ),
        rss_bytes: detail::with_interval(&seen(&rss), None),
    });
    let ends = |has: fn(&Totals) -> bool| {
        let mut all = course
            .points()
            .iter()
            .filter(inside)
            .filter(|it| has(&it.totals));
        let first = all.next()?;
        Some((first, all.next_back()?))
    };
    if let Some((first, last)) = ends(|it| it.tasks.is_ok()) {
        let elapsed = nanos(last.at.duration_since(first.at));
        let [then, now] = [first, last].map(tasks);
        series.threads = detail::threads(now, then, elapsed);
    }
    series.links = links(course, window);
    let looks: Vec<_> = course
        .points()
        .iter()
        .filter_map(|it| Some((it.at, it.totals.links.as_ref().ok()?.as_slice())))
        .collect();
    detail::over_time(&mut series.links, &looks, began);
    series
}

/// What interfaces carried in a window.
fn links(course: &SampleCourse, window: (Instant, Instant)) -> Vec<LinkUsage> {
    let all = course.points().last().map(|it| &it.totals.links);
    let all = all.and_then(|it| it.as_ref().ok()).into_iter().flatten();
    let seconds = window.1.duration_since(window.0).as_secs_f64();
    let used = |link: &Link| {
        let spent = |of: fn(&Link) -> &Found<u64>| {
            course.spent(window, |totals| {
                let all = totals.links.as_ref().map_err(Clone::clone)?;
                let same = all.iter().find(|it| it.name == link.name);
                same.map_or_else(
                    || {
                        Err(NotAvailable::because(
                            "the interface was not there all the time",
                        ))
                    },
                    |it| of(it).clone(),
                )
            })
        };
        let (received, sent) = (spent(|it| &it.received_bytes), spent(|it| &it.sent_bytes));
        let nothing = |it: &Found<u64>| it.as_ref().is_ok_and(|it| *it == 0);
        if nothing(&received) && nothing(&sent) {
            return None;
        }
        let share =
            |bytes: &Found<u64>, packets: Found<u64>| link.share(bytes.clone()?, packets?, seconds);
        let inward = share(&received, spent(|it| &it.received_packets));
        let outward = share(&sent, spent(|it| &it.sent_packets));
        let dropped = spent(|it| &it.received_dropped);
        Some(LinkUsage {
            name: link.name.clone(),
            dropped: Figure::from(
                dropped.and_then(|n| Ok(n.saturating_add(spent(|it| &it.sent_dropped)?))),
            ),
            share: Figure::from(inward.and_then(|inward| Ok(inward.max(outward?)))),
            received_bytes: received.into(),
            sent_bytes: sent.into(),
            course: None,
        })
    };
    all.filter_map(used).collect()
}

fn tasks(point: &Point) -> &[Task] {
    point.totals.tasks.as_ref().map_or(&[], Vec::as_slice)
}

/// Sums over a window.
fn usage(course: &SampleCourse, window: (Instant, Instant)) -> Usage {
    let spent = |of: fn(&Totals) -> &Found<u64>| course.spent(window, |it| of(it).clone());
    let cpu = spent(|it| &it.cpu_ns);
    let [user, system] = [spent(|it| &it.user_ns), spent(|it| &it.system_ns)];
    // Where samples cover a part only, it is that part which is known.
    let mut cores = (0.0, 0.0);
    for step in course.steps().filter(|it| !it.is_restart()) {
        let within = step.within(window);
        if let (Ok(rate), true) = (step.rate(|it| it.cpu_ns.clone()), within > 0.0) {
            cores = (cores.0 + rate * within / 1e9, cores.1 + within);
        }
    }
    let inside = course
        .points()
        .iter()
        .filter(|it| it.at >= window.0 && it.at <= window.1);
    let largest = inside.filter_map(|it| {
        let peak = it.totals.peak_rss_bytes.clone();
        peak.or_else(|_| it.totals.rss_bytes.clone()).ok()
    });
    let largest = largest.max();
    Usage {
        cpu_ns: cpu.into(),
        user_ns: user.into(),
        system_ns: system.into(),
        waited_ns: spent(|it| &it.waited_ns).into(),
        stolen_ns: spent(|it| &it.stolen_ns).into(),
        spun_ns: Figure::missing("only the process itself knows"),
        cpu_cores: match cores.1 > 0.0 {
            true => Figure::Known(cores.0 / cores.1),
            false => Figure::from(Err::<f64, _>(NotAvailable::because(
                "no two samples with CPU lie around the window",
            ))),
        },
        rss_peak_bytes: match largest {
            Some(bytes) => Figure::Known(bytes),
            None => Figure::missing("no sample with memory fell into the window"),
        },
        voluntary_switches: spent(|it| &it.voluntary_switches).into(),
        involuntary_switches: spent(|it| &it.involuntary_switches).into(),
        minor_faults: spent(|it| &it.minor_faults).into(),
        major_faults: spent(|it| &it.major_faults).into(),
    }
}

/// A row for each sample, and for each that failed to come.
fn rows(series: &mut UsageSeries, course: &SampleCourse, began: Instant) {
    let since = |at: Instant| at.checked_duration_since(began).map(nanos);
    let mut rows = Vec::new();
    for step in course.steps() {
        let cores = step.rate(|it| it.cpu_ns.clone()).map(|it| it / 1e9).ok();
        let waited = step.rate(|it| it.waited_ns.clone()).map(|it| it / 1e9).ok();
        let own = step.rate(|it| it.voluntary_switches.clone());
        let forced = step.rate(|it| it.involuntary_switches.clone());
        let switches = own.ok().zip(forced.ok()).map(|(a, b)| a + b);
        let rss = step.to.totals.rss_bytes.clone().ok();
        rows.push((since(step.to.at), cores, rss, waited, switches));
    }
    let failed = course.gaps().iter().flat_map(|it| &it.failed);
    rows.extend(failed.map(|at| (since(*at), None, None, None, None)));
    rows.sort_by_key(|it| it.0);
    for (at, cores, rss, waited, switches) in rows {
        if let Some(at) = at {
            series.at_ns.push(at);
            series.cpu_cores.push(cores);
            series.rss_bytes.push(rss);
            series.waited_cores.push(waited);
            series.switches_per_s.push(switches);
        }
    }
}

fn source(known: &Known, course: &SampleCourse, began: Instant) -> Source {
    let (looks, unchanged) = course.looks();
    let signed = |at: Instant| match at.checked_duration_since(began) {
        Some(after) => nanos(after) as i64,
        None => -(nanos(began.duration_since(at)) as i64),
    };
    let gaps = course.gaps().iter().map(|it| GapOf {
        from_ns: signed(it.from),
        to_ns: signed(it.to),
        reason: it.why.clone(),
    });
    let cost = || {
        let mut costs = course
            .points()
            .iter()
            .filter_map(|it| Some((it.at, it.cost_ns?)));
        let (first, last) = (costs.next()?, costs.next_back()?);
        let seconds = last.0.duration_since(first.0).as_secs_f64();
        (seconds > 0.0).then(|| last.1.saturating_sub(first.1) as f64 / 1e9 / seconds)
    };
    // Without a point nothing has a time that could be wrong.
    let error = course.points().iter().map(|it| it.error).max();
    Source {
        from: known.from.clone(),
        by: known.by.clone(),
        machine: known.machine.clone(),
        interval_ns: nanos(known.every),
        resolution_ns: match course.resolution() {
            Some(it) => Figure::Known(nanos(it)),
            None => Figure::missing("there is one sample only"),
        },
        looks,
        unchanged,
        time_error_ns: nanos(error.unwrap_or_default()),
        cost_cores: match cost() {
            Some(it) => Figure::Known(it),
            None => Figure::missing(format!("{} does not tell", known.by)),
        },
        gaps: gaps.collect(),
    }
}
