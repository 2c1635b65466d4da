//! Client/server beside PubSub: what the same signals cost in either model.

use judge::Measured;
use judge::compare::Metric;
use maud::{Markup, html};
use plan::{Figures, Measure, Stat};
use record::run::Phase;

use super::chart::{Chart, Drawn, Series};
use super::latency::all;
use super::printed::{Words, over_signals};
use super::scale::{Scale, Spread};
use super::sweep::spread;
use super::table::{Cell, Table};
use crate::metric::geometric_if_positive;
use crate::points::{Family, Point, Points};
use crate::unit::Kind;

/// A model at several loads: its name, and each load as values per second.
struct Model<'a> {
    name: String,
    /// What was varied besides the load, as its name has it.
    varied: String,
    phase: &'a str,
    pubsub: bool,
    /// By their load.
    points: Vec<(f64, Point<'a>)>,
}

/// A figure of a phase.
type Of = fn(&Phase) -> Option<f64>;

/// The columns, each with what it is called in a chart; none has no chart.
const FIGURES: [(&str, Of, Kind, Option<&str>); 10] = [
    (
        "CPU",
        |phase| figure(phase, Measure::Cpu, Stat::Mean),
        Kind::Share,
        Some(CPU),
    ),
    (
        "CPU a value",
        |phase| Metric::CpuPerValue.of(phase),
        Kind::Nanos,
        Some("CPU a value at server or publisher"),
    ),
    (
        "at a receiver",
        |phase| Metric::ReceiverCpuPerValue.of(phase),
        Kind::Nanos,
        Some("CPU a value at client or listener"),
    ),
    (
        "memory",
        |phase| figure(phase, Measure::Rss, Stat::Max),
        Kind::Bytes,
        Some(MEMORY),
    ),
    (
        "cycle",
        |phase| match phase.pubsub {
            Some(_) => figure(phase, Measure::Arrival, Stat::Mean),
            None => figure(phase, Measure::Cycle, Stat::Mean),
        },
        Kind::Nanos,
        Some(CYCLE),
    ),
    (
        "bytes a value",
        Phase::bytes_per_value,
        Kind::Bytes,
        Some("Bytes a value"),
    ),
    (
        "bytes a second",
        |phase| Some(phase.bytes_per_value()? * phase.values_per_s()?),
        Kind::Bytes,
        Some(SENT),
    ),
    (
        "p50 delay",
        |phase| figure(phase, Measure::Delay, Stat::P50),
        Kind::Nanos,
        Some("Median delay"),
    ),
    (
        "p99 delay",
        |phase| figure(phase, Measure::Delay, Stat::P99),
        Kind::Nanos,
        None,
    ),
    (
        "lost",
        |phase| figure(phase, Measure::Response, Stat::Loss),
        Kind::Count,
        None,
    ),
];

const CPU: &str = "CPU of server or publisher";
const MEMORY: &str = "Memory of server or publisher";
const CYCLE: &str = "Mean time between two updates";
const SENT: &str = "Bytes a second that server or publisher send";

/// The charts that studies have as well, and what they call it.
const STUDIED: [(&str, &[&str]); 4] = [
    (CPU, &["server CPU"]),
    (
        CYCLE,
        &[
            "mean cycle time",
            "target cycle time",
            "largest mean cycle time",
        ],
    ),
    (MEMORY, &["server memory"]),
    (SENT, &["network load"]),
];

/// What studies say of a chart.
fn studied(families: &[Family], title: &str) -> Vec<Words> {
    let named = STUDIED.iter().find(|(chart, _)| *chart == title);
    let Some((_, quantities)) = named else {
        return Vec::new();
    };
    let firsts = families.iter().filter_map(|it| it.runs.first());
    firsts
        .filter_map(|it| over_signals(&it.run, quantities))
        .collect()
}

fn figure(phase: &Phase, measure: Measure, stat: Stat) -> Option<f64> {
    Measured(phase).figure(measure, stat)
}

/// The mean over the repetitions of a point, as intervals have it; not a number where nothing was measured.
fn over_repetitions(point: &Point, phase: &str, of: Of) -> f64 {
    let phases = point.runs.iter().flat_map(|it| &it.run.phases);
    let found: Vec<f64> = phases
        .filter(|it| it.name == phase)
        .filter_map(of)
        .collect();
    geometric_if_positive(&found).unwrap_or(f64::NAN)
}

/// Both models over the signals per second, where both were measured.
pub(super) struct ModelComparison {
    /// Whether one of them was measured at several loads: then there are curves, else a table only.
    pub(super) has_curves: bool,
    pub(super) body: Markup,
}

/// Both models, where both were measured.
pub(super) fn beside(families: &[Family]) -> Option<ModelComparison> {
    let mut models: Vec<Model> = families.iter().flat_map(of_family).collect();
    let some = |pubsub: bool| models.iter().any(|it| it.pubsub == pubsub);
    if !some(true) || !some(false) {
        return None;
    }
    let has_curves = models.iter().any(|it| it.points.len() > 1);
    models.sort_by_key(|it| it.pubsub);
    let studies = studied(families, CPU);
    let body = html! {
        section aria-label="Client/server beside PubSub" {
            h2 { "Client/server beside PubSub" }
            p.note {
                "Over values a second: of a subscription those that its clients got together, of PubSub those that each "
                "listener got. A published value is made in its cycle, and its delay is the way only; one that is subscribed to "
                "waits for sampling and publishing. CPU of a receiver is that of the whole process of clients, and that of the listeners' "
                "threads. Bytes are those of messages, without TCP, UDP and IP. PubSub is drawn in dashes."
            }
            @for it in &studies {
                p.note {
                    "Rings and thin lines: what " (it.study) " says in words of its CPU, cycle time, memory and network load, on another "
                    "device; the tables below name each."
                }
            }
            @for (n, (_, of, kind, title)) in FIGURES.iter().enumerate() {
                @if let Some(title) = title.filter(|_| has_curves) { (chart(&models, n, title, *of, *kind, &studied(families, title))) }
            }
            (table(&models).markup())
        }
    };
    Some(ModelComparison { has_curves, body })
}

/// The colour of what was printed, which no curve has unless there are many.
const GREY: usize = 7;

fn of_family<'a>(family: &Family<'a>) -> Vec<Model<'a>> {
    let points = Points::of(family.runs.iter().copied());
    let names = crate::several::phases(family.runs.iter().copied());
    let several = names.len() > 1;
    // What makes more or fewer signals is the way along a curve; what else was varied makes curves of its own.
    let along = points.curve();
    let mut models: Vec<Model> = Vec::new();
    for phase in names {
        for point in &points.points {
            let found = || point.runs.iter().flat_map(|it| &it.run.phases);
            let of_it = |it: &&Phase| it.name == phase && it.is_notified();
            let Some(first) = found().find(of_it) else {
                continue;
            };
            let load = over_repetitions(point, phase, Phase::values_per_s);
            if !load.is_finite() {
                continue;
            }
            let named = match several {
                true => phase.to_owned(),
                false => family.name.clone(),
            };
            let others = points.axes.iter().zip(&point.values).enumerate();
            let others = others.filter(|(axis, _)| Some(*axis) != along);
            let others = others.map(|(_, (axis, value))| format!(", {axis} {value}"));
            let varied = others.collect::<String>();
            let name = format!("{named}{varied}");
            let place = (
                load,
                Point {
                    values: point.values.clone(),
                    runs: point.runs.clone(),
                },
            );
            match models.iter_mut().find(|it| it.name == name) {
                Some(model) => model.points.push(place),
                None => models.push(Model {
                    name,
                    varied,
                    phase,
                    pubsub: first.pubsub.is_some(),
                    points: vec![place],
                }),
            }
        }
    }
    for model in &mut models {
        model.points.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    models
}

/// A colour for each way in which models were varied, so that both models of one have the same.
fn colours(models: &[Model]) -> Vec<usize> {
    let mut ways: Vec<&str> = Vec::new();
    for model in models {
        if !ways.contains(&model.varied.as_str()) {
            ways.push(&model.varied);
        }
    }
    let of = |model: &Model| ways.iter().position(|it| *it == model.varied);
    models.iter().filter_map(of).collect()
}

fn chart(models: &[Model], n: usize, title: &str, of: Of, kind: Kind, studies: &[Words]) -> Markup {
    let colours = colours(models);
    let curve = |(colour, model): (usize, &Model)| {
        let at = |(load, point): &(f64, Point)| (*load, over_repetitions(point, model.phase, of));
        let points: Vec<(f64, f64)> = model.points.iter().map(at).collect();
        let points = points.into_iter().filter(|it| it.1.is_finite());
        let curve = Series::new(&model.name, &model.name, colour, points.collect());
        curve.drawn(Drawn::Curve).dashed(model.pubsub)
    };
    let mut series: Vec<Series> = colours.into_iter().zip(models).map(curve).collect();
    series.retain(|it| !it.points.is_empty());
    if series.is_empty() {
        return html! {};
    }
    let loads: Vec<f64> = all(&series).map(|it| it.0).collect();
    let least = loads.iter().copied().fold(f64::INFINITY, f64::min);
    let most = loads.iter().copied().fold(0.0, f64::max);
    for it in studies {
        if !it.points.is_empty() {
            series
                .push(Series::new(it.study, it.study, GREY, it.points.clone()).drawn(Drawn::Rings));
        }
        for (what, value) in &it.levels {
            let name = format!("{}, {what}", it.study);
            let line = vec![(least, *value), (most, *value)];
            series.push(Series::new(&name, it.study, GREY, line).drawn(Drawn::Thin));
        }
    }
    let along = spread(all(&series).map(|it| it.0), 10.0);
    let over = match kind {
        Kind::Share => spread(all(&series).map(|it| it.1), 10.0),
        _ => Spread::Log,
    };
    Chart {
        id: format!("models-{n}"),
        title: title.to_owned(),
        told: "A curve for each model; the table has their figures.".into(),
        x: Scale::around(along, Kind::PerSecond, all(&series).map(|it| it.0)),
        y: Scale::around(over, kind, all(&series).map(|it| it.1)),
        x_of: "values per second".into(),
        y_of: match kind {
            Kind::Share => "share of a core",
            Kind::Bytes => "bytes",
            _ => "time",
        }
        .to_owned(),
        series,
        zones: Vec::new(),
        height: 300.0,
    }
    .figure(None)
}

fn table(models: &[Model]) -> Table {
    let mut head = ["model", "values"].map(str::to_owned).to_vec();
    head.extend(FIGURES.iter().map(|(name, ..)| (*name).to_owned()));
    let rows = models.iter().flat_map(|model| {
        model.points.iter().map(move |(load, point)| {
            let mut row = vec![
                Cell::text(&model.name),
                Cell::number(Some(*load), Kind::PerSecond),
            ];
            for (_, of, kind, _) in FIGURES {
                let mean = over_repetitions(point, model.phase, of);
                row.push(Cell::number(mean.is_finite().then_some(mean), kind));
            }
            row
        })
    });
    Table {
        caption: "Both models: geometric means of the runs of a point".into(),
        head,
        rows: rows.collect(),
    }
}
