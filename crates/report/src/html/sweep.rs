//! Several runs: curves over what was varied, repetitions, latencies over each other.

use judge::compare::Metric;
use maud::{Markup, html};
use plan::{Measure, Stat};
use record::Histogram;
use record::run::Phase;

use super::chart::{Chart, Drawn, Series};
use super::latency::{Dense, all, by_percentile, densities};
use super::measured::{compared, interval, looked_at, values};
use super::published::{Published, same_experiment};
use super::scale::{Scale, Spread};
use super::table::{Cell, Table};
use super::{bars, cpu};
use crate::points::{Named, Point, Points};
use crate::summary::SIMULATED;
use crate::unit::Kind;

/// Whether a phase is one of PubSub.
fn is_pubsub(points: &Points, phase: &str) -> bool {
    let runs = points.points.iter().flat_map(|it| &it.runs);
    let mut phases = runs.flat_map(|it| &it.run.phases);
    phases.any(|it| it.name == phase && it.pubsub.is_some())
}

/// The time between two messages with values: of subscriptions as the server made them, of PubSub as they came.
const fn cycle_of(pubsub: bool) -> Measure {
    match pubsub {
        true => Measure::Arrival,
        false => Measure::Cycle,
    }
}

/// What a phase found of points, over one of the things that were varied.
struct Over<'a> {
    points: &'a Points<'a>,
    phase: &'a str,
    id: &'a str,
    /// What is looked at: response times, or delays.
    measure: Measure,
    axis: usize,
    name: String,
    /// What else was varied makes curves of its own.
    others: Vec<(String, Vec<&'a Point<'a>>)>,
    /// What studies printed of the same.
    published: Vec<&'static Published>,
}

impl<'a> Over<'a> {
    /// None if nothing that was varied is a number.
    fn new(points: &'a Points<'a>, phase: &'a str, id: &'a str) -> Option<Self> {
        let axis = points.curve()?;
        let varied = points.axes.get(axis).map_or("", String::as_str);
        let mut others: Vec<(String, Vec<&Point>)> = Vec::new();
        for point in &points.points {
            let other = other_axes(points, point, axis);
            match others.iter_mut().find(|(it, _)| *it == other) {
                Some((_, group)) => group.push(point),
                None => others.push((other, vec![point])),
            }
        }
        let first = points.points.first().and_then(|it| it.runs.first());
        Some(Self {
            points,
            phase,
            id,
            measure: looked_at(points, phase),
            axis,
            name: match points.x {
                Some(metric) => metric.to_string(),
                None => varied.to_owned(),
            },
            others,
            published: match (first, points.x) {
                (Some(it), None) => same_experiment(varied, &it.run),
                _ => Vec::new(),
            },
        })
    }

    /// Where a point lies.
    fn at(&self, point: &Point) -> Option<f64> {
        match self.points.x {
            Some(metric) => Some(interval(&values(point, self.phase, metric)).0),
            None => point.number(self.axis),
        }
    }

    fn is_notified(&self) -> bool {
        self.measure == Measure::Delay
    }

    fn of(&self, stat: Stat) -> Metric {
        Metric::Figure(self.measure, stat)
    }

    /// The curves of these metrics, each with the name of its layer and its colour.
    fn family(&self, metrics: &[(Metric, &'static str, usize)]) -> Vec<Series> {
        let several = self.others.len() > 1;
        let mut series = Vec::new();
        for (i, (other, group)) in self.others.iter().enumerate() {
            for (metric, layer, colour) in metrics {
                let colour = if several { i } else { *colour };
                let mut curve = self.curve(*metric, layer, colour, group);
                if several {
                    curve.barred = !curve.band.is_empty();
                    // A layer has all of what else was varied: its lines say at their ends which they are.
                    curve.name = format!("{layer}, {other}");
                    curve.layer.clone_from(other);
                    curve.end = (metrics.len() > 1).then_some(*layer);
                }
                series.push(curve);
            }
        }
        series.retain(|it| it.points.iter().any(|point| point.1.is_finite()));
        series
    }

    fn curve(&self, metric: Metric, what: &str, colour: usize, group: &[&Point]) -> Series {
        let place = |point: &&Point| {
            let (middle, low, high) = interval(&values(point, self.phase, metric));
            let x = self.at(point).unwrap_or(f64::NAN);
            ((x, middle), (low, high))
        };
        let mut places: Vec<_> = group.iter().map(place).collect();
        // What was varied rises by itself.
        places.sort_by(|(a, _), (b, _)| a.0.total_cmp(&b.0));
        let (line, band): (Vec<_>, Vec<_>) = places.into_iter().unzip();
        let mut series = Series::new(what, what, colour, line).drawn(Drawn::Curve);
        if band.iter().any(|(low, _): &(f64, f64)| low.is_finite()) {
            series.band = band;
        }
        series
    }

    fn x(&self, series: &[Series]) -> Scale {
        let places: Vec<f64> = all(series).map(|it| it.0).collect();
        let kind = match self.points.x {
            Some(metric) => Kind::from(metric.unit()),
            None if self.name == "rate" => Kind::PerSecond,
            None => Kind::Count,
        };
        let spread = spread(places.iter().copied(), 10.0);
        Scale::around(spread, kind, places.into_iter())
    }

    fn chart(
        &self,
        what: &str,
        (title, y_of): (&str, &str),
        y: Scale,
        series: Vec<Series>,
    ) -> Chart {
        Chart {
            id: format!("{}-{what}", self.id),
            title: format!("{title} over {}", self.name),
            told: format!(
                "{} points; the table below has their figures.",
                self.points.points.len()
            ),
            x: self.x(&series),
            y,
            x_of: self.name.clone(),
            y_of: y_of.to_owned(),
            series,
            zones: Vec::new(),
            height: 330.0,
        }
    }

    /// Response times or delays, and what was printed of the same.
    fn times(&self) -> Chart {
        let measure = compared(self.points, self.phase, &self.published);
        let of = |stat| Metric::Figure(measure, stat);
        let mut metrics = vec![
            (of(Stat::P50), "p50", 0),
            (of(Stat::P90), "p90", 1),
            (of(Stat::P99), "p99", 3),
        ];
        // Three curves for each of several are a tangle; the table has all.
        if self.others.len() > TANGLE {
            metrics.truncate(1);
        }
        let mut times = self.family(&metrics);
        for (place, it) in self.published.iter().enumerate() {
            for (column, of) in it.times() {
                let label = format!("{}: {of}", it.source);
                times.push(
                    Series::new(&label, it.source, ring(place), it.points(column, 1e6))
                        .drawn(Drawn::Rings),
                );
            }
        }
        let title = match measure {
            Measure::PublishDelay => "Delays of messages, from publishing",
            Measure::Delay => "Delays of values",
            _ => "Response times",
        };
        let title = match metrics.as_slice() {
            [_] => format!("{title} (p50)"),
            _ => title.to_owned(),
        };
        let scale = seen(Spread::Log, Kind::Nanos, &times);
        self.chart("times", (&title, "time"), scale, times)
    }

    fn rates(&self) -> Chart {
        let mut rates = self.family(&[(self.of(Stat::Values), "values", 0)]);
        for (place, it) in self.published.iter().enumerate() {
            let values = it.values_per_second();
            rates.push(Series::new(it.source, it.source, ring(place), values).drawn(Drawn::Rings));
        }
        let spread = spread(all(&rates).map(|it| it.1), 100.0);
        let scale = seen(spread, Kind::PerSecond, &rates);
        self.chart("rates", ("Values per second", "per second"), scale, rates)
    }

    /// How long a request took for each value that it brought, where requests of several sizes were compared. None where it
    /// does not differ from the response time.
    fn each_value(&self) -> Option<Chart> {
        let of = |stat| Metric::Figure(self.measure, stat);
        let of_point = |point: &Point| {
            let mean = |stat| interval(&values(point, self.phase, of(stat))).0;
            (mean(Stat::Mean), mean(Stat::Values) / mean(Stat::Rate))
        };
        let sizes = self.points.points.iter().map(|it| of_point(it).1);
        let (least, most) = sizes.fold((f64::INFINITY, 0.0), |(low, high): (f64, f64), it| {
            (low.min(it), high.max(it))
        });
        if self.is_notified() || most < 2.0 * least || !most.is_finite() {
            return None;
        }
        let mut each = self.family(&[(of(Stat::Mean), "mean", 0)]);
        for curve in &mut each {
            let mut groups = self.others.iter();
            let own = |(other, _): &&(String, _)| self.others.len() == 1 || *other == curve.layer;
            let Some((_, group)) = groups.find(own) else {
                continue;
            };
            let mut sizes: Vec<(f64, f64)> = group
                .iter()
                .map(|point| (self.at(point).unwrap_or(f64::NAN), of_point(point).1))
                .collect();
            sizes.sort_by(|a, b| a.0.total_cmp(&b.0));
            for (point, (_, size)) in curve.points.iter_mut().zip(&sizes) {
                point.1 /= size;
            }
            for (band, (_, size)) in curve.band.iter_mut().zip(&sizes) {
                *band = (band.0 / size, band.1 / size);
            }
        }
        let scale = seen(Spread::Log, Kind::Nanos, &each);
        Some(self.chart(
            "each-value",
            ("Response time for each value", "time"),
            scale,
            each,
        ))
    }

    /// How busy the server was, or who published.
    fn busy(&self) -> Chart {
        let busy = self.family(&[(Metric::Figure(Measure::Cpu, Stat::Mean), "server CPU", 5)]);
        let title = match is_pubsub(self.points, self.phase) {
            true => "CPU of the publisher",
            false => "Server CPU",
        };
        let scale = seen(Spread::Linear, Kind::Share, &busy);
        self.chart("busy", (title, "share of a core"), scale, busy)
    }
}

/// Two repetitions say little, and their band is as wide: it must not press the curve flat.
fn seen(spread: Spread, kind: Kind, series: &[Series]) -> Scale {
    let values = all(series).map(|it| it.1);
    let bands = series.iter().flat_map(|it| &it.band);
    Scale::around_seen(spread, kind, values, bands.flat_map(|it| [it.0, it.1]))
}

/// What points found, as pictures that stand alone: their times, and beside them CPU of who sends by itself, or times for each value of requests
/// of several sizes. None where nothing that was varied is a number.
pub(super) fn alone(points: &Points, phase: &str) -> Vec<String> {
    let Some(over) = Over::new(points, phase, "picture") else {
        return Vec::new();
    };
    let beside = match over.is_notified() {
        true => Some(over.busy()),
        false => over.each_value(),
    };
    let drawn = [Some(over.times()), beside].into_iter().flatten();
    let drawn = drawn.filter(|it| !it.series.is_empty());
    drawn.map(|it| it.alone()).collect()
}

/// Curves for one phase of all points.
pub(super) fn curves(points: &Points, phase: &str, id: &str) -> Markup {
    let Some(over) = Over::new(points, phase, id) else {
        return bars::beside(points, phase);
    };
    let pubsub = is_pubsub(points, phase);
    let cpu = over.family(&[(Metric::CpuPerRequest, "server CPU a request", 5)]);
    let cycle = |stat| Metric::Figure(cycle_of(pubsub), stat);
    let cycles = match over.is_notified() {
        true => over.family(&[(cycle(Stat::Mean), "mean", 0), (cycle(Stat::P99), "p99", 3)]),
        false => Vec::new(),
    };
    let each = match pubsub {
        true => over.family(&[
            (Metric::CpuPerValue, "publisher", 5),
            (Metric::ReceiverCpuPerValue, "listener", 2),
        ]),
        false => Vec::new(),
    };
    let sizes = match pubsub {
        true => over.family(&[(Metric::BytesPerValue, "bytes a value", 4)]),
        false => Vec::new(),
    };
    let memory = over.family(&[(Metric::Figure(Measure::Rss, Stat::Mean), "server memory", 6)]);
    let network = over.family(&[(Metric::Network, "messages", 2)]);
    let link = over.family(&[(Metric::Link, "fullest link", 2)]);
    let carried = seen(Spread::Linear, Kind::BitsPerSecond, &network);
    let share = seen(Spread::Linear, Kind::Share, &link);
    let spent = seen(Spread::Linear, Kind::Nanos, &cpu);
    let of_value = seen(spread(all(&each).map(|it| it.1), 10.0), Kind::Nanos, &each);
    let size = seen(Spread::Linear, Kind::Bytes, &sizes);
    let between = seen(Spread::Log, Kind::Nanos, &cycles);
    let bytes = seen(Spread::Linear, Kind::Bytes, &memory);
    let busy = over.busy();
    let repeated = points.points.iter().any(|it| it.runs.len() > 1);
    let bands = repeated.then_some("Bands and bars: 95 % interval of the repetitions (t on logarithms); what lies far beyond the points is cut off.");
    html! {
        (over.times().figure(bands))
        @for it in &over.published { p.note { "Rings: " (it.source) ". " (it.setting) "." } }
        @if let Some(each) = over.each_value() { (each.figure(None)) }
        (over.rates().figure(None))
        @if !cycles.is_empty() {
            @let title = if pubsub { "Time between arrivals" } else { "Time between notifications of a subscription" };
            (over.chart("cycles", (title, "time"), between, cycles).figure(None))
        }
        @if !cpu.is_empty() {
            (over.chart("cpu", ("Server CPU a request", "CPU time"), spent, cpu).figure(None))
        }
        @if !each.is_empty() {
            (over.chart("each", ("CPU a value at both ends", "CPU time"), of_value, each).figure(None))
        }
        @if !sizes.is_empty() {
            (over.chart("sizes", ("Bytes a value", "bytes"), size, sizes).figure(None))
        }
        @if !busy.series.is_empty() { (busy.figure(None)) }
        (cpu::over(points, phase, (&|point| over.at(point), &over.name), id, &|series| over.x(series)))
        @if !memory.is_empty() {
            @let title = if pubsub { "Memory of the publisher" } else { "Server memory" };
            (over.chart("memory", (title, "resident"), bytes, memory).figure(None))
        }
        @if !network.is_empty() {
            (over.chart("network", ("Network load", "of messages"), carried, network).figure(None))
        }
        @if !link.is_empty() {
            (over.chart("link", ("Share of the fullest link", "share"), share, link).figure(None))
        }
        @if over.others.len() > 1 { (bars::grouped(points, phase)) }
    }
}

/// Where the largest value is so many times the least, small ones would lie flat on a linear axis.
pub(super) fn spread(values: impl Iterator<Item = f64>, times: f64) -> Spread {
    let (low, high) = values
        .filter(|it| it.is_finite())
        .fold((f64::INFINITY, 0.0), |(low, high), it| {
            (it.min(low), it.max(high))
        });
    match low > 0.0 && high / low >= times {
        true => Spread::Log,
        false => Spread::Linear,
    }
}

fn other_axes(points: &Points, point: &Point, axis: usize) -> String {
    let both = points.axes.iter().zip(&point.values).enumerate();
    let others = both.filter(|(i, _)| *i != axis);
    let words: Vec<String> = others
        .map(|(_, (name, value))| format!("{name} {value}"))
        .collect();
    words.join(", ")
}

/// The colour of a study's rings, by its place among them.
const fn ring(place: usize) -> usize {
    2 + 2 * place
}

/// Of more than so many, one percentile is drawn.
const TANGLE: usize = 3;

/// More curves over each other are a tangle.
pub(super) const CURVES: usize = 8;

/// What is found in a phase of each point (or of each run, if there is but one point), with its name.
pub(super) fn histograms(
    points: &Points,
    phase: &str,
    found: impl Fn(&Phase) -> Histogram,
) -> Vec<(String, Histogram)> {
    let merged = |runs: &[&Named]| -> Histogram {
        let phases = runs.iter().flat_map(|it| &it.run.phases);
        let mut all = Histogram::default();
        phases
            .filter(|it| it.name == phase)
            .for_each(|it| all.merge(&found(it)));
        all
    };
    let mut curves: Vec<(String, Histogram)> = match points.points.as_slice() {
        [one] => one
            .runs
            .iter()
            .map(|it| (crate::several::short(&it.name), merged(&[it])))
            .collect(),
        all => all
            .iter()
            .map(|it| (it.label(&points.axes), merged(&it.runs)))
            .collect(),
    };
    curves.retain(|(_, histogram)| !histogram.is_empty());
    curves
}

/// Latencies of points (or of runs, if there is but one point) over each other.
pub(super) fn overlay(points: &Points, phase: &str, id: &str) -> Markup {
    let measure = looked_at(points, phase);
    let curves = histograms(points, phase, |it| {
        it.total.histogram(measure.name()).clone()
    });
    if curves.len() < 2 {
        return html! {};
    }
    let every = curves.len().div_ceil(CURVES);
    let shown = || curves.iter().step_by(every).enumerate();
    let series: Vec<Series> = shown()
        .map(|(i, (name, histogram))| Series::new(name, name, i, by_percentile(histogram)))
        .collect();
    let dense = shown().map(|(i, (name, histogram))| Dense {
        name: name.clone(),
        colour: i,
        histogram,
        hidden: false,
    });
    let dense: Vec<Dense> = dense.collect();
    let of = match measure {
        Measure::Delay => "delays",
        _ => "response times",
    };
    let densities = densities(
        &format!("{id}-densities"),
        &format!("Density of {of}, over each other"),
        of,
        &dense,
    );
    let note = (every > 1).then(|| format!("Every {every}th of them."));
    let percentiles = Chart {
        id: format!("{id}-overlay"),
        title: match measure {
            Measure::Delay => "Delay by percentile, over each other".into(),
            _ => "Response by percentile, over each other".into(),
        },
        told: "A curve for each; the table has their figures.".into(),
        x: Scale::around(Spread::Nines, Kind::Percentile, all(&series).map(|it| it.0)),
        y: Scale::around(Spread::Log, Kind::Nanos, all(&series).map(|it| it.1)),
        x_of: "percentile".into(),
        y_of: "time".into(),
        series,
        zones: Vec::new(),
        height: 330.0,
    };
    html! { (percentiles.figure(note.as_deref())) (densities) }
}

/// The columns of a table of points or runs.
fn columns(measure: Measure, pubsub: bool) -> Vec<(&'static str, Metric, Kind)> {
    let of = |stat| Metric::Figure(measure, stat);
    let mut columns = vec![
        ("values", of(Stat::Values), Kind::PerSecond),
        ("mean", of(Stat::Mean), Kind::Nanos),
        ("p50", of(Stat::P50), Kind::Nanos),
        ("p99", of(Stat::P99), Kind::Nanos),
        ("max", of(Stat::Max), Kind::Nanos),
    ];
    let busy = Metric::Figure(Measure::Cpu, Stat::Mean);
    let memory = Metric::Figure(Measure::Rss, Stat::Mean);
    if measure == Measure::Delay {
        let cycle = Metric::Figure(cycle_of(pubsub), Stat::Mean);
        columns.push(("cycle", cycle, Kind::Nanos));
        if !pubsub {
            let published = Metric::Figure(Measure::PublishDelay, Stat::Mean);
            columns.push(("mean from publishing", published, Kind::Nanos));
        }
        if pubsub {
            let jitter = Metric::Figure(Measure::Jitter, Stat::P99);
            columns.push(("p99 jitter", jitter, Kind::Nanos));
            columns.push(("bytes a value", Metric::BytesPerValue, Kind::Bytes));
            columns.push(("CPU a value", Metric::CpuPerValue, Kind::Nanos));
            columns.push(("at a listener", Metric::ReceiverCpuPerValue, Kind::Nanos));
        }
        columns.push(("lost", of(Stat::Loss), Kind::Count));
    } else {
        columns.insert(0, ("rate", of(Stat::Rate), Kind::PerSecond));
        columns.push(("CPU a request", Metric::CpuPerRequest, Kind::Nanos));
        columns.push(("errors", of(Stat::Errors), Kind::Count));
    }
    let (cpu, rss) = match pubsub {
        true => ("publisher CPU", "publisher memory"),
        false => ("server CPU", "server memory"),
    };
    columns.push((cpu, busy, Kind::Share));
    columns.push((rss, memory, Kind::Bytes));
    columns
}

/// A row for each point: means over its repetitions with their intervals.
pub(super) fn table(points: &Points, phase: &str) -> Table {
    let metrics = columns(looked_at(points, phase), is_pubsub(points, phase));
    // One run has no interval.
    let repeated = points.points.iter().any(|it| it.runs.len() > 1);
    let mut head: Vec<String> = points.axes.clone();
    if head.is_empty() {
        head.push("point".into());
    }
    head.extend(["runs", "verdicts"].map(str::to_owned));
    for (name, ..) in &metrics {
        head.push((*name).to_owned());
        if *name == "p99" && repeated {
            head.extend(["p99 low", "p99 high"].map(str::to_owned));
        }
    }
    let row = |point: &Point| {
        let mut row: Vec<Cell> = match point.values.as_slice() {
            [] => vec![Cell::text("all runs")],
            values => values.iter().map(Cell::text).collect(),
        };
        row.push(Cell::number(Some(point.runs.len() as f64), Kind::Count));
        row.push(verdicts(point));
        for (name, metric, kind) in &metrics {
            let (mean, low, high) = interval(&values(point, phase, *metric));
            let cell = |it: f64| Cell::number(it.is_finite().then_some(it), *kind);
            row.push(cell(mean));
            if *name == "p99" && repeated {
                row.push(cell(low));
                row.push(cell(high));
            }
        }
        row
    };
    Table {
        caption: match repeated {
            true => "Points: geometric means of their runs, p99 with its 95 % interval".into(),
            false => "Points".into(),
        },
        head,
        rows: points.points.iter().map(row).collect(),
    }
}

fn verdicts(point: &Point) -> Cell {
    // A point has a run at least.
    let worst = point
        .runs
        .iter()
        .map(|it| it.run.verdict.kind)
        .max()
        .unwrap_or_default();
    let same = point
        .runs
        .iter()
        .filter(|it| it.run.verdict.kind == worst)
        .count();
    let text = match same == point.runs.len() {
        true => worst.name().to_owned(),
        false => format!("{same} × {worst}"),
    };
    Cell::inked(text, super::explained::ink(worst))
}

/// A row for each run.
pub(super) fn runs(points: &Points, phase: &str) -> Markup {
    let metrics = columns(looked_at(points, phase), is_pubsub(points, phase));
    let row = |named: &&Named| {
        let it = named.run.phases.iter().find(|it| it.name == phase)?;
        let verdict = match named.run.is_simulated() {
            true => format!("{SIMULATED} {}", it.verdict.kind),
            false => it.verdict.kind.name().to_owned(),
        };
        let mut row = vec![
            Cell::text(crate::several::short(&named.name)),
            Cell::text(crate::unit::when(named.run.started)),
            Cell::inked(verdict, super::explained::ink(it.verdict.kind)),
        ];
        let figures = metrics.iter();
        row.extend(figures.map(|(_, metric, kind)| Cell::number(metric.of(it), *kind)));
        Some(row)
    };
    let all = points.points.iter().flat_map(|it| &it.runs);
    let mut head = ["run", "started", "verdict"].map(str::to_owned).to_vec();
    head.extend(metrics.iter().map(|(name, ..)| (*name).to_owned()));
    Table {
        caption: "Runs".into(),
        head,
        rows: all.filter_map(row).collect(),
    }
    .markup()
}
