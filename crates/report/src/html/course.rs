//! What changed while a run went on, its phases marked.

use maud::{Markup, html};
use record::run::{HistogramCourse, Phase, Run, UsageSeries};

use super::chart::{Chart, Drawn, Series, Zone};
use super::latency::{all, seen_first};
use super::scale::{Scale, Spread};
use crate::unit::Kind;

/// A phase and when it began, in seconds of the run.
type Placed<'a> = (f64, &'a Phase);

/// Charts over time: of the whole run where its phases follow each other, else one set for each phase.
pub(super) fn courses(run: &Run, id: &str) -> Markup {
    let first = run
        .phases
        .iter()
        .map(|it| it.started.unix_ns())
        .min()
        .unwrap_or(0);
    let begin = |phase: &Phase| (phase.started.unix_ns() - first) as f64 / 1e9;
    let placed: Vec<Placed> = run.phases.iter().map(|it| (begin(it), it)).collect();
    let follow = placed.windows(2).all(|two| match two {
        [(begin, phase), (next, _)] => *next >= begin + phase.end_ns as f64 / 1e9 - 0.05,
        _ => true,
    });
    let groups: Vec<Vec<Placed>> = match follow {
        true => vec![placed],
        false => placed
            .into_iter()
            .map(|(_, phase)| vec![(0.0, phase)])
            .collect(),
    };
    html! {
        @for (i, group) in groups.iter().enumerate() {
            @if group.iter().any(|(_, phase)| phase.series.completed.len() > 1) {
                (charts(group, &format!("{id}-{i}"), groups.len() > 1))
            }
        }
    }
}

fn charts(group: &[Placed], id: &str, named: bool) -> Markup {
    let of = match group {
        [(_, phase)] if named => format!(", {}", phase.name),
        _ => String::new(),
    };
    let end = group
        .iter()
        .map(|(begin, phase)| begin + length(phase))
        .fold(0.0, f64::max);
    let chart = |what: &str, title: &str, y_of: &str, y: Scale, series: Vec<Series>| Chart {
        id: format!("{id}-{what}"),
        title: format!("{title}{of}"),
        told: format!(
            "Over {} seconds of the run; phases and warm-up are marked.",
            end.round()
        ),
        x: Scale::exactly(Kind::Seconds, 0.0, end),
        y,
        x_of: "time of the run".into(),
        y_of: y_of.into(),
        series,
        zones: zones(group),
        height: 250.0,
    };
    let rates = rates(group);
    let rate = Scale::around(Spread::Linear, Kind::PerSecond, all(&rates).map(|it| it.1));
    let times = times(group);
    let time = seen_first(Spread::Log, Kind::Nanos, &times);
    let cpu = spent(group, |it| it.cpu_cores.clone());
    let cores = Scale::around(Spread::Linear, Kind::Cores, all(&cpu).map(|it| it.1));
    let memory = spent(group, |it| {
        let bytes = it.rss_bytes.iter();
        bytes.map(|it| it.map(|bytes| bytes as f64)).collect()
    });
    let bytes = Scale::around(Spread::Linear, Kind::Bytes, all(&memory).map(|it| it.1));
    let burned = burned(group);
    let flight = vec![Series::new(
        "in flight",
        "in flight",
        4,
        column(group, |phase, row| phase.series.in_flight.get(row).copied()),
    )];
    let requests = Scale::around(Spread::Linear, Kind::Count, all(&flight).map(|it| it.1));
    let linear =
        |kind, series: &[Series]| Scale::around(Spread::Linear, kind, all(series).map(|it| it.1));
    let burn = linear(Kind::Count, &burned);
    let sizes = messages(group);
    let weight = linear(Kind::Bytes, &sizes);
    let links = super::flow::links(group);
    let carried = linear(Kind::Bytes, &links);
    let shares = super::flow::shares(group);
    let share = linear(Kind::Share, &shares);
    let power = super::flow::power(group);
    let watts = linear(Kind::Count, &power);
    html! {
        @if all(&rates).any(|it| it.1 > 0.0) {
            (chart("rate", "Rate over time", "per second", rate, rates).figure(None))
        }
        @if !times.is_empty() {
            (chart("times", "Times over time", "time", time, times).figure(None))
        }
        @if !burned.is_empty() {
            (chart("burn", "Error budget over time", "burn rate", burn, burned).figure(Some(
                "The share of an interval that missed its threshold over the share that may: at 1 the budget is used up at the end of the time.",
            )))
        }
        @if all(&flight).any(|it| it.1 > 0.0) {
            (chart("flight", "Requests in flight", "mean", requests, flight).figure(None))
        }
        @if !cpu.is_empty() {
            (chart("cpu", "CPU over time", "cores", cores, cpu).figure(None))
        }
        @for it in super::cpu::stacks(group) {
            (chart(&it.what, &it.title, "cores", it.scale, it.series).figure(Some(it.note)))
        }
        @if !memory.is_empty() {
            (chart("memory", "Memory over time", "resident", bytes, memory).figure(None))
        }
        @if all(&sizes).any(|it| it.1 > 0.0) {
            (chart("messages", "Messages over time", "bytes per second", weight, sizes)
                .figure(Some("Bodies of messages, without the headers of chunks, TCP and IP.")))
        }
        @if !links.is_empty() {
            (chart("links", "Network interfaces over time", "bytes per second", carried, links)
                .figure(None))
        }
        @if !shares.is_empty() {
            (chart("share", "Share of links over time", "of what a link can carry", share, shares)
                .figure(None))
        }
        @if !power.is_empty() {
            (chart("power", "Power over time", "watts", watts, power).figure(None))
        }
    }
}

fn length(phase: &Phase) -> f64 {
    let rows = phase.series.completed.len() as f64 * phase.series.interval_ns as f64 / 1e9;
    rows.max(phase.end_ns as f64 / 1e9)
}

/// Warm-up, window and cool-down of each phase.
fn zones(group: &[Placed]) -> Vec<Zone> {
    let mut zones = Vec::new();
    let several = group.len() > 1;
    for (begin, phase) in group {
        let at = |ns: u64| begin + ns as f64 / 1e9;
        let mut zone = |from: u64, to: u64, name: &str, left_out| {
            if to > from {
                zones.push(Zone {
                    from: at(from),
                    to: at(to),
                    name: name.to_owned(),
                    left_out,
                });
            }
        };
        zone(0, phase.from_ns, if several { "" } else { "warm-up" }, true);
        zone(
            phase.from_ns,
            phase.to_ns,
            if several { &phase.name } else { "measured" },
            false,
        );
        zone(phase.to_ns, phase.end_ns, "", true);
    }
    zones
}

/// A column of the series of all phases; between phases the line breaks.
fn column(group: &[Placed], of: impl Fn(&Phase, usize) -> Option<f64>) -> Vec<(f64, f64)> {
    let mut points = Vec::new();
    for (begin, phase) in group {
        let interval = phase.series.interval_ns as f64 / 1e9;
        for row in 0..phase.series.completed.len() {
            let middle = begin + (row as f64 + 0.5) * interval;
            points.push((middle, of(phase, row).unwrap_or(f64::NAN)));
        }
        points.push((begin + length(phase), f64::NAN));
    }
    points.pop();
    points
}

/// Bytes of messages in a second, each way.
fn messages(group: &[Placed]) -> Vec<Series> {
    let per_second = |of: fn(&Phase) -> &Vec<u64>| {
        column(group, move |phase, row| {
            let interval = phase.series.interval_ns;
            let start = row as u64 * interval;
            // The last interval may be cut short.
            let width = interval.min(phase.end_ns.saturating_sub(start));
            let whole = width >= interval / 2 && width > 0;
            let bytes = *of(phase).get(row)?;
            whole.then(|| bytes as f64 * 1e9 / width as f64)
        })
    };
    vec![
        Series::new(
            "requests",
            "requests",
            2,
            per_second(|it| &it.series.sent_bytes),
        ),
        Series::new(
            "responses",
            "responses",
            3,
            per_second(|it| &it.series.received_bytes),
        ),
    ]
}

fn rates(group: &[Placed]) -> Vec<Series> {
    let per_second = |of: fn(&Phase) -> &Vec<u64>| {
        column(group, move |phase, row| {
            // The last interval may be cut short.
            let interval = phase.series.interval_ns;
            let start = row as u64 * interval;
            let width = interval.min(phase.end_ns.saturating_sub(start));
            let count = *of(phase).get(row)?;
            match width >= interval / 2 && width > 0 {
                true => Some(count as f64 * 1e9 / width as f64),
                false => None,
            }
        })
    };
    let any = |of: fn(&Phase) -> &Vec<u64>| {
        group
            .iter()
            .any(|(_, phase)| of(phase).iter().any(|&n| n > 0))
    };
    let mut series = vec![
        Series::new(
            "completed",
            "completed",
            0,
            per_second(|it| &it.series.completed),
        ),
        Series::new("sent", "sent", 7, per_second(|it| &it.series.sent))
            .drawn(Drawn::Thin)
            .hidden(true),
    ];
    if any(|it| &it.series.errors) {
        series.push(Series::new(
            "errors",
            "errors",
            6,
            per_second(|it| &it.series.errors),
        ));
    }
    series
}

/// The burn rate of each error budget in the measured window, and the line at which it lasts.
fn burned(group: &[Placed]) -> Vec<Series> {
    let mut names: Vec<&str> = Vec::new();
    for it in group.iter().flat_map(|(_, phase)| &phase.series.budgets) {
        if !names.contains(&it.expected.as_str()) {
            names.push(&it.expected);
        }
    }
    let rate = |name: &str, phase: &Phase, row: usize| {
        let budget = phase.series.budgets.iter().find(|it| it.expected == name)?;
        budget.burn_rate(*budget.bad.get(row)?, *budget.of.get(row)?)
    };
    let mut series: Vec<Series> = names
        .iter()
        .enumerate()
        .map(|(n, name)| {
            Series::new(
                name,
                name,
                n,
                column(group, |phase, row| rate(name, phase, row)),
            )
        })
        .collect();
    if let (Some(first), Some((last, phase))) = (group.first(), group.last())
        && !series.is_empty()
    {
        let line = vec![(first.0, 1.0), (last + length(phase), 1.0)];
        series.push(Series::new("burn rate 1", "burn rate 1", 7, line).drawn(Drawn::Thin));
    }
    series
}

/// Figures that come now and then are joined over the intervals without any.
fn joined(mut points: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    let known = points.iter().filter(|it| it.1.is_finite()).count();
    if 3 * known < 2 * points.len() {
        points.retain(|it| it.1.is_finite());
    }
    points
}

/// Its name, colour, whether it is off at first, and where it is.
type Layer = (
    &'static str,
    usize,
    bool,
    fn(&Phase) -> Option<&HistogramCourse>,
);

fn times(group: &[Placed]) -> Vec<Series> {
    let mut series = Vec::new();
    let layers: [Layer; 4] = [
        ("response", 0, false, |it| Some(&it.series.response)),
        ("service", 1, true, |it| Some(&it.series.service)),
        ("lateness", 2, true, |it| Some(&it.series.lateness)),
        ("delay", 3, false, |it| it.series.delay.as_ref()),
    ];
    for (layer, colour, hidden, course) in layers {
        let rows = |of: fn(&HistogramCourse) -> &Vec<Option<u64>>| {
            joined(column(group, move |phase, row| {
                Some((*of(course(phase)?).get(row)?)? as f64)
            }))
        };
        for (end, points, drawn) in [
            ("p50", rows(|it| &it.p50_ns), Drawn::Line),
            ("p99", rows(|it| &it.p99_ns), Drawn::Line),
            ("max", rows(|it| &it.max_ns), Drawn::Thin),
        ] {
            if points.iter().any(|it| it.1 > 0.0) {
                let name = format!("{layer} {end}");
                series.push(
                    Series::new(&name, layer, colour, points)
                        .ended(end)
                        .drawn(drawn)
                        .hidden(hidden),
                );
            }
        }
    }
    series
}

/// What server, generator and others spent at each look.
fn spent(group: &[Placed], of: fn(&UsageSeries) -> Vec<Option<f64>>) -> Vec<Series> {
    let mut series = Vec::new();
    // Others that were observed follow, each by its name.
    let mut shown = vec![("server", 5), ("generator", 0)];
    let all = group.iter().flat_map(|(_, phase)| &phase.resources);
    for usage in all.filter(|it| it.who == "observed") {
        let name = crate::resources::label(usage);
        if shown.iter().all(|it| it.0 != name) {
            shown.push((name, 1 + shown.len() % 4));
        }
    }
    for (who, colour) in shown {
        let mut points = Vec::new();
        for (begin, phase) in group {
            let named = |it: &&UsageSeries| crate::resources::label(it) == who;
            for usage in phase.resources.iter().filter(named) {
                let figures = of(usage);
                let mut looks = usage.at_ns.len().min(figures.len());
                // The last look comes right after the one before: a moment, and no figure.
                if let [.., first, second, last] = usage.at_ns.as_slice()
                    && 2 * (last - second) < second - first
                {
                    looks -= 1;
                }
                for (at, figure) in usage.at_ns.iter().zip(&figures).take(looks) {
                    points.push((begin + *at as f64 / 1e9, figure.unwrap_or(f64::NAN)));
                }
            }
        }
        if points.iter().any(|it| it.1.is_finite()) {
            series.push(Series::new(who, who, colour, points));
        }
    }
    series
}
