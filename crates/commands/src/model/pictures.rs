//! Pictures of what a model says, for a page.

use model::checking::{Checked, CheckedRow};
use model::plant::{Node, Plant};
use model::size::{Frontier, Sized, frontier, over_points};
use model::{Model, Prediction, Row, Workload};
use report::pictures::{Bars, Chart, Curve, Part, Pictures, Shares};

use super::show::known_share;

/// A quantity of a workload.
type Of = fn(&Workload) -> f64;

fn curve(name: &str, points: Vec<(f64, f64)>) -> Curve {
    Curve {
        name: name.to_owned(),
        points,
        band: Vec::new(),
        joined: true,
    }
}

/// A model against rows: measured over predicted, and what is left by each quantity.
pub fn of_check(checked: &Checked, rows: &[Row], model: &Model) -> Pictures {
    let mut by_prediction: Vec<&CheckedRow> = checked.rows.iter().collect();
    by_prediction.sort_by(|a, b| {
        let of = |it: &CheckedRow| it.prediction.cpu_percent;
        of(a).total_cmp(&of(b))
    });
    let share = |percent: f64| percent / 100.0;
    let each = by_prediction.iter().map(|it| {
        let found = &it.prediction;
        let at = share(found.cpu_percent);
        (
            (at, at),
            (share(found.low), share(found.high)),
            share(it.measured),
        )
    });
    let each: Vec<_> = each.collect();
    let level = by_prediction
        .first()
        .map_or(0.0, |it| it.prediction.level * 100.0);
    let predicted = Curve {
        band: each.iter().map(|it| it.1).collect(),
        ..curve("predicted", each.iter().map(|it| it.0).collect())
    };
    let measured = Curve {
        joined: false,
        ..curve("measured", each.iter().map(|it| (it.0.0, it.2)).collect())
    };
    let quantities: [(&str, Of); 4] = [
        ("sessions", |it| it.sessions),
        ("items", Workload::all_items),
        ("publishing interval, ms", |it| it.publishing_ms),
        ("values a second", Workload::values_per_s),
    ];
    let workloads: Vec<&Row> = rows.iter().filter(|row| row.happened()).collect();
    let over_items = over_items(checked, &workloads);
    let residuals = quantities.into_iter().map(|(name, of)| Chart {
        title: format!("What is left over, by {name}"),
        told: format!("Measured against predicted, less one, over {name}. A slope or a wave says that a term is missing."),
        x_of: name.to_owned(),
        y_of: "left over".to_owned(),
        by_logarithm: false,
        shares: Shares::Y,
        curves: vec![Curve {
            joined: false,
            ..curve(
                "left over",
                std::iter::zip(&workloads, &checked.rows)
                    .map(|(row, it)| {
                        let left = it.measured / it.prediction.cpu_percent.max(1e-6) - 1.0;
                        (of(&row.workload), left)
                    })
                    .collect(),
            )
        }],
    });
    Pictures {
        title: format!("model {}", model.name),
        about: vec![format!(
            "Mean error {} of {} rows; as Burger et al. 2019 {}. {} of intervals held.",
            known_share(checked.mape),
            checked.rows.len(),
            known_share(checked.paper_mape),
            known_share(checked.coverage)
        )],
        parts: [
            Part {
                title: "Measured against predicted".to_owned(),
                charts: vec![Chart {
                    title: "CPU".to_owned(),
                    told: format!(
                        "CPU in percent of a core, measured over predicted; the band is the {level:.0} % interval."
                    ),
                    x_of: "predicted".to_owned(),
                    y_of: "measured".to_owned(),
                    by_logarithm: true,
                    shares: Shares::Both,
                    curves: vec![predicted, measured],
                }],
                ..Part::default()
            },
            Part {
                title: "CPU over items".to_owned(),
                charts: over_items,
                ..Part::default()
            },
            Part {
                title: "What is left over".to_owned(),
                charts: residuals.collect(),
                ..Part::default()
            },
        ]
        .into_iter()
        .filter(|it| !it.charts.is_empty())
        .collect(),
    }
}

/// More groups of loads than these make no picture of their own.
const MOST_GROUPS: usize = 12;

/// Loads that differ in items alone, as figures 13 to 15 of Burger et al. 2019: measured, and what models say.
fn over_items(checked: &Checked, rows: &[&Row]) -> Vec<Chart> {
    let mut groups: Vec<(Workload, Vec<(f64, &CheckedRow)>)> = Vec::new();
    for (row, found) in std::iter::zip(rows, &checked.rows) {
        let same = Workload {
            items: 0.0,
            variables: 0.0,
            ..row.workload.clone()
        };
        let at = (row.workload.all_items(), found);
        match groups.iter_mut().find(|it| it.0 == same) {
            Some((_, each)) => each.push(at),
            None => groups.push((same, vec![at])),
        }
    }
    for (_, each) in &mut groups {
        each.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    groups.retain(|(_, each)| different(each).len() >= 3);
    groups.sort_by(|(a, _), (b, _)| {
        let by = |it: &Workload| (it.sessions, it.publishing_ms);
        by(a)
            .partial_cmp(&by(b))
            .unwrap_or(std::cmp::Ordering::Equal)
    });
    let charts = groups.into_iter().take(MOST_GROUPS);
    charts
        .map(|(of, each)| group_over_items(&of, &each))
        .collect()
}

/// One of each number of items: what is predicted is the same for all of them.
fn different<'a>(each: &[(f64, &'a CheckedRow)]) -> Vec<(f64, &'a CheckedRow)> {
    let mut different = each.to_vec();
    different.dedup_by(|a, b| a.0 == b.0);
    different
}

fn group_over_items(of: &Workload, each: &[(f64, &CheckedRow)]) -> Chart {
    let share = |percent: f64| percent / 100.0;
    let at = different(each);
    let over: Vec<_> = at.iter().map(|(at, it)| (*at, &it.prediction)).collect();
    let measured = each.iter().map(|(at, it)| (*at, share(it.measured)));
    let who = match (&of.pubsub, of.sessions == 1.0) {
        (None, true) => "session",
        (None, false) => "sessions",
        (Some(_), true) => "NetworkMessage",
        (Some(_), false) => "NetworkMessages",
    };
    Chart {
        title: format!("{} {who}, every {} ms", of.sessions, of.publishing_ms),
        told: "CPU in percent of a core over the items of all: measured, this model with its interval, and the model of Burger et al. 2019."
            .to_owned(),
        x_of: "items".to_owned(),
        y_of: "CPU".to_owned(),
        by_logarithm: false,
        shares: Shares::Y,
        curves: said(
            &over,
            1.0,
            Curve {
                joined: false,
                ..curve("measured", measured.collect())
            },
        ),
    }
}

/// A plant: for each kind of node what it spends by its points, what it can serve, and where the time goes.
pub fn of_size(plant: &Plant, sized: &[Sized], model: &Model, name: &str) -> Pictures {
    let about = [plant.about.clone(), format!("Model: {name}")];
    Pictures {
        title: plant.name.clone(),
        about: about.into_iter().filter(|it| !it.is_empty()).collect(),
        parts: sized.iter().map(|it| node(plant, it, model)).collect(),
    }
}

fn node(plant: &Plant, it: &Sized, model: &Model) -> Part {
    let cpu = &it.cpu;
    let limit = plant.cpu_limit * f64::from(it.node.cores) / 100.0;
    let delay = it.delay.map(|delay| {
        format!(
            "Values arrive after {:.1} ms (half of them), {:.1} ms (95 of 100).",
            delay.p50_ms, delay.p95_ms
        )
    });
    let told = format!(
        "{:.1} % of a core ({:.0} % interval {:.1} to {:.1} %) for {} points and {} clients.",
        cpu.cpu_percent,
        cpu.level * 100.0,
        cpu.low,
        cpu.high,
        it.node.points,
        it.node.clients
    );
    let share = cpu.cpu_percent / 100.0;
    let mut changes: Vec<(String, f64, f64)> = it
        .knobs
        .iter()
        .map(|(knob, percent)| (knob.clone(), share, percent / 100.0))
        .collect();
    changes.sort_by(|a, b| (b.1 - b.2).abs().total_cmp(&(a.1 - a.2).abs()));
    let mut from = 0.0;
    let parts = cpu.parts.iter().map(|(term, us)| {
        let to = from + us / 1e6;
        (term.name().to_owned(), std::mem::replace(&mut from, to), to)
    });
    let parts = parts.collect();
    Part {
        title: format!("{} x {}", it.node.count, it.node.name),
        told: std::iter::once(told).chain(delay).collect(),
        charts: vec![
            cpu_over_points(&it.node, model, cpu.level, limit),
            capacity(plant, &it.node, model),
        ],
        bars: vec![
            Bars {
                title: "Where the time goes".to_owned(),
                told: "Each cost on top of those before it, in percent of a core.".to_owned(),
                each: parts,
            },
            Bars {
                title: "What would change it".to_owned(),
                told: "From what is spent now to what would be, the largest change first."
                    .to_owned(),
                each: changes,
            },
        ],
        ..Part::default()
    }
}

/// What is predicted with its interval, something beside it, and what the form of the paper says, for cores of this speed.
fn said(over: &[(f64, &Prediction)], speed: f64, beside: Curve) -> Vec<Curve> {
    let share = |percent: f64| percent / 100.0;
    let found = over.iter().map(|(at, it)| (*at, share(it.cpu_percent)));
    let band = over.iter().map(|(_, it)| (share(it.low), share(it.high)));
    let paper = over
        .iter()
        .filter_map(|(at, it)| Some((*at, share(it.paper_percent? / speed))));
    vec![
        Curve {
            band: band.collect(),
            ..curve("this model", found.collect())
        },
        beside,
        curve("as Burger et al. 2019", paper.collect()),
    ]
}

fn cpu_over_points(node: &Node, model: &Model, level: f64, limit: f64) -> Chart {
    let over = over_points(node, model, level);
    let over: Vec<_> = over.iter().map(|(at, it)| (*at, it)).collect();
    let limit = over.iter().map(|it| (it.0, limit)).collect();
    Chart {
        title: "CPU over points".to_owned(),
        told: format!(
            "CPU in percent of a core over the points of a node, with the {:.0} % interval; the limit, and the model of Burger et al. 2019.",
            level * 100.0
        ),
        x_of: "points".to_owned(),
        y_of: "CPU".to_owned(),
        by_logarithm: false,
        shares: Shares::Y,
        curves: said(&over, node.speed, curve("the limit", limit)),
    }
}

fn capacity(plant: &Plant, node: &Node, model: &Model) -> Chart {
    let all = frontier(plant, node, model);
    let open = match all.iter().any(|it| it.hardly.is_none()) {
        true => {
            " Where the model cannot bound it from above, the band ends at twice what is expected."
        }
        false => "",
    };
    let band = |it: &Frontier| (it.sure, it.hardly.unwrap_or(2.0 * it.expected));
    let expected = all.iter().map(|it| (it.clients, it.expected)).collect();
    Chart {
        title: "Points that fit, by clients".to_owned(),
        told: format!(
            "The most points under {} % of the cores: expected, and the band from 95 to 5 of 100 cases.{open}",
            plant.cpu_limit
        ),
        x_of: "clients".to_owned(),
        y_of: "points".to_owned(),
        by_logarithm: false,
        shares: Shares::None,
        curves: vec![Curve {
            band: all.iter().map(band).collect(),
            ..curve("expected to fit", expected)
        }],
    }
}
