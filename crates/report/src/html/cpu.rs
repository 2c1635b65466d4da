//! CPU in its parts: by threads, by user space and kernel, over time and over what was varied; how dense its shares lie.

use maud::{Markup, html};
use record::average::mean;
use record::run::{CpuCourse, Phase, UsageSeries};

use super::chart::{Chart, Drawn, Series, stacked};
use super::latency::all;
use super::scale::{Scale, Spread};
use crate::points::{Point, Points};
use crate::resources::label;
use crate::unit::Kind;

/// A phase and when it began, in seconds of the run.
type Placed<'a> = (f64, &'a Phase);

/// What of a stack has a colour of its own.
const MOST: usize = 6;

/// Stacks over time for one process: its series, and what stands above them.
pub(super) struct Stack {
    pub(super) what: String,
    pub(super) title: String,
    pub(super) note: &'static str,
    pub(super) scale: Scale,
    pub(super) series: Vec<Series>,
}

const PARTS: &str =
    "The kernel tells the two in ticks of 10 ms: each point has twenty of them at least.";
const CORES: &str = "Others are cores that had less to do.";
const THREADS: &str = "Others are threads that ended meanwhile, and those that had less to do.";

/// Of server, of what was observed and of the machine: by threads or cores, and by user space and kernel.
pub(super) fn stacks(group: &[Placed]) -> Vec<Stack> {
    let mut names: Vec<&str> = Vec::new();
    let usages = group.iter().flat_map(|(_, phase)| &phase.resources);
    for usage in usages.filter(|it| it.cpu_course.is_some() && it.who != "generator") {
        if !names.contains(&label(usage)) {
            names.push(label(usage));
        }
    }
    let mut all = Vec::new();
    for (n, name) in names.into_iter().enumerate() {
        let of: Vec<(f64, &CpuCourse)> = group
            .iter()
            .filter_map(|(begin, phase)| {
                let usage = phase.resources.iter().find(|it| label(it) == name)?;
                Some((*begin, usage.cpu_course.as_ref()?))
            })
            .collect();
        let mut add = |what: &str, by: &str, note, series: Vec<Series>| {
            if series
                .iter()
                .any(|it| it.points.iter().any(|at| at.1 > 0.0))
            {
                let series = stacked(series);
                all.push(Stack {
                    what: format!("{what}{n}"),
                    title: format!("CPU of {name} {by}"),
                    note,
                    scale: top(&series),
                    series,
                });
            }
        };
        add("threads", "by threads", THREADS, by_name(&of, threads));
        add("cores", "by cores", CORES, by_name(&of, cores));
        add(
            "parts",
            "in user space and in the kernel",
            PARTS,
            by_part(&of),
        );
    }
    all
}

/// From nothing to the highest place of a stack.
fn top(series: &[Series]) -> Scale {
    let ends = series.iter().flat_map(|it| &it.band).map(|band| band.1);
    Scale::around(Spread::Linear, Kind::Cores, ends)
}

fn seconds(begin: f64, at_ns: u64) -> f64 {
    begin + at_ns as f64 / 1e9
}

/// A row of the course of one of several phases.
#[derive(Clone, Copy)]
struct Row<'a> {
    phase: usize,
    course: &'a CpuCourse,
    row: usize,
}

/// One row after another, and a gap between phases.
fn rows(
    of: &[(f64, &CpuCourse)],
    value: impl Fn(Row<'_>) -> Option<f64>,
    has: impl Fn(Row<'_>) -> bool,
) -> Vec<(f64, f64)> {
    let mut points = Vec::new();
    for (phase, (begin, course)) in of.iter().enumerate() {
        if !points.is_empty() {
            points.push((*begin, f64::NAN));
        }
        for (row, at) in course.at_ns.iter().enumerate() {
            let row = Row { phase, course, row };
            if has(row) {
                let value = value(row).unwrap_or(f64::NAN);
                points.push((seconds(*begin, *at), value));
            }
        }
    }
    points
}

fn by_part(of: &[(f64, &CpuCourse)]) -> Vec<Series> {
    let known = |it: Row| {
        it.course
            .user_cores
            .get(it.row)
            .is_some_and(Option::is_some)
    };
    let series = |name: &str, colour, value: fn(&CpuCourse) -> &Vec<Option<f64>>| {
        let value = move |it: Row| *value(it.course).get(it.row)?;
        Series::new(name, name, colour, rows(of, value, known))
    };
    vec![
        series("user", 0, |it| &it.user_cores),
        series("kernel", 3, |it| &it.system_cores),
    ]
}

/// A part of a process or a machine, by its name, and the cores that it kept busy.
type Named<'a> = (String, &'a [Option<f64>]);

fn threads(course: &CpuCourse) -> Vec<Named<'_>> {
    let all = course.threads.iter();
    all.map(|it| (it.name.clone(), it.cpu_cores.as_slice()))
        .collect()
}

fn cores(course: &CpuCourse) -> Vec<Named<'_>> {
    let all = course.cores.iter();
    all.map(|it| (format!("core {}", it.core), it.busy.as_slice()))
        .collect()
}

/// Parts above each other, the busiest first, and what is left.
fn by_name(of: &[(f64, &CpuCourse)], parts: fn(&CpuCourse) -> Vec<Named<'_>>) -> Vec<Series> {
    let parts: Vec<Vec<Named>> = of.iter().map(|(_, it)| parts(it)).collect();
    // Of several phases the names of all, those that come first first.
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in parts.iter().flatten() {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    names.truncate(MOST);
    if names.is_empty() {
        return Vec::new();
    }
    // A part that there was not at a time took nothing then.
    let cores = |it: Row, name: &str| -> f64 {
        let parts = parts.get(it.phase).into_iter().flatten();
        let mut known = parts.filter(|part| part.0 == name);
        let known = known.next().and_then(|part| *part.1.get(it.row)?);
        known.unwrap_or(0.0)
    };
    let whole = |it: Row| *it.course.cpu_cores.get(it.row)?;
    let mut series: Vec<Series> = names
        .iter()
        .enumerate()
        .map(|(n, name)| {
            let value = |it: Row| whole(it).map(|_| cores(it, name));
            Series::new(name, name, n, rows(of, value, |_| true))
        })
        .collect();
    let others = |it: Row| {
        let known: f64 = names.iter().map(|name| cores(it, name)).sum();
        Some((whole(it)? - known).max(0.0))
    };
    series.push(Series::new(
        "others",
        "others",
        7,
        rows(of, others, |_| true),
    ));
    series
}

/// Threads with less are not seen in a picture.
const LEAST_CORES: f64 = 1e-3;

/// Looks of fewer make no density.
const LEAST: usize = 20;

/// The CPU of each interval between two looks of the window.
fn intervals<'a>(phase: &'a Phase, usage: &'a UsageSeries) -> impl Iterator<Item = f64> + 'a {
    let rows = usage.at_ns.iter().zip(&usage.cpu_cores);
    let inside = move |at: u64| at > phase.from_ns && at <= phase.to_ns;
    // What was spent before the window is none of it.
    let inside = rows.filter(move |(at, _)| inside(**at)).skip(1);
    inside.filter_map(|(_, cores)| *cores)
}

/// How often CPU lay where, of each process that was looked at: what a mean does not show.
pub(super) fn density(phase: &Phase, id: &str) -> Markup {
    let of = |usage: &UsageSeries| (label(usage).to_owned(), intervals(phase, usage).collect());
    let processes = phase.resources.iter().filter(|it| it.who != "host");
    let every = phase
        .resources
        .iter()
        .find_map(|it| match it.at_ns.as_slice() {
            [.., first, second, _] => Some(second.saturating_sub(*first)),
            _ => None,
        });
    let every = every.map_or(String::new(), |ns| {
        format!(" of about {}", Kind::Nanos.show(ns as f64))
    });
    let note = format!("CPU in each interval{every} between two looks, in the measured window.");
    drawn(id, "Density of CPU", &note, processes.map(of).collect())
}

/// The same of the server, over each other.
pub(super) fn overlay(points: &Points, phase: &str, id: &str) -> Markup {
    let of = |point: &Point| -> Vec<f64> {
        let phases = point.runs.iter().flat_map(|it| &it.run.phases);
        let phases = phases.filter(|it| it.name == phase);
        let servers = phases.flat_map(|phase| {
            let all = phase.resources.iter().filter(|it| it.who == "server");
            all.flat_map(move |it| intervals(phase, it))
        });
        servers.collect()
    };
    let each: Vec<(String, Vec<f64>)> = match points.points.as_slice() {
        [_] => return html! {},
        all => all
            .iter()
            .map(|it| (it.label(&points.axes), of(it)))
            .collect(),
    };
    let every = each.len().div_ceil(8).max(1);
    let note = match every {
        1 => "CPU in each interval between two looks, in the measured windows.".to_owned(),
        n => format!("CPU in each interval between two looks; every {n}th of them."),
    };
    let each = each.into_iter().step_by(every).collect();
    drawn(
        id,
        "Density of the server's CPU, over each other",
        &note,
        each,
    )
}

fn drawn(id: &str, title: &str, note: &str, mut each: Vec<(String, Vec<f64>)>) -> Markup {
    each.retain(|(_, values)| values.len() >= LEAST);
    let values = each.iter().flat_map(|it| &it.1);
    let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), it| {
        (low.min(*it), high.max(*it))
    });
    // What never changes has none.
    if each.is_empty() || high - low < 1e-6 {
        return html! {};
    }
    let most = each.iter().map(|it| it.1.len()).max().unwrap_or(LEAST);
    let bins = ((most as f64).sqrt() as usize).clamp(8, 60);
    let width = (high - low) / bins as f64;
    let series: Vec<Series> = each
        .iter()
        .enumerate()
        .map(|(n, (name, values))| {
            let mut counts = vec![0_u64; bins];
            for value in values {
                let at = ((value - low) / width) as usize;
                if let Some(count) = counts.get_mut(at.min(bins - 1)) {
                    *count += 1;
                }
            }
            let share = |count: u64| count as f64 / values.len() as f64;
            let place = |bin: usize| low + (bin as f64 + 0.5) * width;
            // It begins and ends at nothing.
            let mut points = vec![((low - width / 2.0).max(0.0), 0.0)];
            let dense = counts.iter().enumerate();
            points.extend(dense.map(|(bin, &count)| (place(bin), share(count))));
            points.push((high + width / 2.0, 0.0));
            let colour = match name.as_str() {
                "server" => 5,
                _ => n,
            };
            Series::new(name, name, colour, points).drawn(Drawn::Area)
        })
        .collect();
    Chart {
        id: format!("{id}-cpu-density"),
        title: title.to_owned(),
        told: format!(
            "Shares of intervals in {bins} classes from {} to {} of a core.",
            Kind::Share.show(low),
            Kind::Share.show(high)
        ),
        x: Scale::exactly(Kind::Share, (low - width).max(0.0), high + width),
        y: Scale::around(Spread::Linear, Kind::Share, all(&series).map(|it| it.1)),
        x_of: "share of a core".into(),
        y_of: "share of the intervals".into(),
        series,
        zones: Vec::new(),
        height: 250.0,
    }
    .figure(Some(note))
}

/// Where a point lies on the x axis.
type At<'a> = &'a dyn Fn(&Point) -> Option<f64>;

/// The server's CPU over what was varied, in its parts; means of the repetitions. `x` makes the axis.
pub(super) fn over(
    points: &Points,
    phase: &str,
    (at, name): (At<'_>, &str),
    id: &str,
    x: &dyn Fn(&[Series]) -> Scale,
) -> Markup {
    // Stacks cannot lie over each other: where more than one thing was varied there are none.
    if points.axes.len() > 1 {
        return html! {};
    }
    let servers = |point: &Point| -> Vec<UsageSeries> {
        let phases = point.runs.iter().flat_map(|it| &it.run.phases);
        let phases = phases.filter(|it| it.name == phase);
        let all = phases.flat_map(|it| &it.resources);
        all.filter(|it| it.who == "server").cloned().collect()
    };
    let places = points.points.iter();
    let mut each: Vec<(f64, Vec<UsageSeries>)> = places
        .filter_map(|it| Some((at(it)?, servers(it))))
        .collect();
    each.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    let series = |name: &str, colour, of: &dyn Fn(&UsageSeries) -> Option<f64>| {
        let points = each
            .iter()
            .map(|(x, all)| (*x, mean(all.iter().filter_map(of)).unwrap_or(f64::NAN)));
        Series::new(name, name, colour, points.collect())
    };
    let part = |it: &UsageSeries, kernel: bool| {
        let (user, system) = (*it.window.user_ns.known()?, *it.window.system_ns.known()?);
        let share = system as f64 / ((user + system) as f64).max(1.0);
        let share = if kernel { share } else { 1.0 - share };
        Some(it.window.cpu_cores.known()? * share)
    };
    let parts = vec![
        series("user", 0, &|it| part(it, false)),
        series("kernel", 3, &|it| part(it, true)),
    ];
    let mut names: Vec<&str> = Vec::new();
    for thread in each
        .iter()
        .rev()
        .flat_map(|it| &it.1)
        .flat_map(|it| &it.threads)
    {
        let works = thread.cpu_cores.known().is_some_and(|it| *it > LEAST_CORES);
        if works && !names.contains(&thread.name.as_str()) && names.len() < MOST {
            names.push(&thread.name);
        }
    }
    // A thread that there was not at a point took nothing there.
    let cores = |it: &UsageSeries, name: &str| -> f64 {
        let thread = it.threads.iter().find(|it| it.name == name);
        thread
            .and_then(|it| it.cpu_cores.known().copied())
            .unwrap_or(0.0)
    };
    let others = |it: &UsageSeries| {
        let known: f64 = names.iter().map(|name| cores(it, name)).sum();
        Some((it.window.cpu_cores.known()? - known).max(0.0))
    };
    let mut threads: Vec<Series> = names
        .iter()
        .enumerate()
        .map(|(n, name)| series(name, n, &|it| Some(cores(it, name))))
        .collect();
    if !threads.is_empty() {
        threads.push(series("others", 7, &others));
    }
    let chart = |what: &str, by: &str, series: Vec<Series>| {
        let finite = |it: &(f64, f64)| it.1.is_finite() && it.1 > 0.0;
        if series.is_empty() || !series.iter().any(|it| it.points.iter().any(finite)) {
            return html! {};
        }
        let series = stacked(series);
        Chart {
            id: format!("{id}-{what}"),
            title: format!("Server CPU {by} over {name}"),
            told: format!("{} points, means of their runs.", each.len()),
            x: x(&series),
            y: top(&series),
            x_of: name.to_owned(),
            y_of: "cores".into(),
            series,
            zones: Vec::new(),
            height: 290.0,
        }
        .figure(None)
    };
    html! {
        (chart("cpu-parts", "in user space and in the kernel", parts))
        (chart("cpu-threads", "by threads", threads))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use record::run::ThreadCourse;

    use super::*;

    fn course() -> CpuCourse {
        let known = |all: &[f64]| all.iter().map(|it| Some(*it)).collect();
        CpuCourse {
            at_ns: vec![100_000_000, 200_000_000, 300_000_000],
            cpu_cores: known(&[0.5, 1.0, 0.8]),
            user_cores: vec![None, Some(0.6), None],
            system_cores: vec![None, Some(0.2), None],
            threads: vec![
                ThreadCourse {
                    name: "loop".into(),
                    cpu_cores: known(&[0.3, 0.7, 0.5]),
                },
                ThreadCourse {
                    name: "helper".into(),
                    cpu_cores: known(&[0.1, 0.2, 0.1]),
                },
            ],
            cores: Vec::new(),
        }
    }

    #[test]
    fn a_stack_of_threads_is_as_high_as_the_process_and_has_a_gap_between_phases() {
        let (one, two) = (course(), course());
        let series = stacked(by_name(&[(0.0, &one), (2.0, &two)], threads));
        let names: Vec<&str> = series.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names, ["loop", "helper", "others"]);
        let top: Vec<f64> = series[2].band.iter().map(|it| it.1).collect();
        for (found, wanted) in top.iter().zip([0.5, 1.0, 0.8, f64::NAN, 0.5, 1.0, 0.8]) {
            assert_eq!(found.is_finite(), wanted.is_finite());
            assert!(
                !wanted.is_finite() || (found - wanted).abs() < 1e-9,
                "{top:?}"
            );
        }
        // Of its own, not where it lies.
        assert!((series[1].points[1].1 - 0.2).abs() < 1e-9);
    }

    #[test]
    fn user_space_and_kernel_have_a_point_where_enough_ticks_came_together() {
        let it = course();
        let series = stacked(by_part(&[(1.0, &it)]));
        assert_eq!(series[0].points, [(1.2, 0.6)]);
        let (low, high) = series[1].band[0];
        assert!((low - 0.6).abs() < 1e-9 && (high - 0.8).abs() < 1e-9);
    }

    #[test]
    fn shares_of_a_density_are_one_together_and_a_constant_has_none() {
        let values: Vec<f64> = (0..100).map(|n| 0.1 + 0.001 * f64::from(n % 10)).collect();
        let page = drawn("d", "D", "n", vec![("server".into(), values)]).into_string();
        let ys = page.split_once("\"y\":[").unwrap().1;
        let ys = ys.split_once("\"y\":[").unwrap_or(("", ys)).1;
        let ys = ys.split_once(']').unwrap().0;
        let sum: f64 = ys.split(',').map(|it| it.parse::<f64>().unwrap()).sum();
        assert!((sum - 1.0).abs() < 1e-3, "{ys}");
        let same = vec![("server".to_owned(), vec![0.3; 100])];
        assert_eq!(drawn("d", "D", "n", same).into_string(), "");
        let few = vec![("server".to_owned(), vec![0.3, 0.4])];
        assert_eq!(drawn("d", "D", "n", few).into_string(), "");
    }
}
