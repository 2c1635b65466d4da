//! How large a node has to be: a plant's nodes against a model, and the largest load under a limit.

use link::Spec;
use serde::Serialize;

use crate::delay::{self, Delay};
use crate::fitted::{Model, Prediction};
use crate::plant::{Node, Plant};
use crate::workload::Security;

/// What became of a node.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Sized {
    /// The node.
    pub node: Node,
    /// What it spends, in percent of a core.
    pub cpu: Prediction,
    /// Whether it fits.
    pub fit: Fit,
    /// The most points that fit with 95 % probability, the rest as it is.
    pub most_points: Option<f64>,
    /// What changes most, and what it spends then, in percent of a core.
    pub knobs: Vec<(String, f64)>,
    /// How long values are on their way; none where nothing is published, or one core cannot do it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<Delay>,
    /// How long the last of its clients waits when all publish at the same moment.
    pub burst_ms: f64,
}

/// Whether a node fits under the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fit {
    /// The whole interval lies below the limit.
    Fits,
    /// The limit lies in the interval.
    CannotTell,
    /// The whole interval lies above it.
    TooSmall,
}

/// Sizes each kind of node.
pub fn size(plant: &Plant, model: &Model, level: f64) -> Vec<Sized> {
    let each = plant.nodes.iter();
    each.map(|node| {
        let limit = plant.cpu_limit * f64::from(node.cores);
        let cpu = node.predict(model, level);
        let fit = match () {
            () if cpu.high <= limit => Fit::Fits,
            () if cpu.low > limit => Fit::TooSmall,
            () => Fit::CannotTell,
        };
        Sized {
            most_points: most_points(node, model, limit),
            knobs: knobs(node, model),
            delay: delay_of(plant, node, model, &cpu),
            burst_ms: burst_ms(node, &cpu),
            node: node.clone(),
            cpu,
            fit,
        }
    })
    .collect()
}

/// The most points with which CPU stays below a limit with 95 % probability: half of what an interval of 90 % leaves
/// out lies below it.
fn most_points(node: &Node, model: &Model, limit: f64) -> Option<f64> {
    most(node, model, &|found| found.high <= limit)
}

/// More points than any node has.
const MOST_POINTS: f64 = 1e7;

/// The most points of which this holds.
fn most(node: &Node, model: &Model, holds: &dyn Fn(&Prediction) -> bool) -> Option<f64> {
    let fits = |points: f64| {
        let node = Node {
            points,
            ..node.clone()
        };
        holds(&node.predict(model, 0.9))
    };
    let (mut low, mut high) = (0.0, MOST_POINTS);
    if !fits(1.0) {
        return None;
    }
    while high - low > 1.0 {
        let middle = f64::midpoint(low, high);
        match fits(middle) {
            true => low = middle,
            false => high = middle,
        }
    }
    Some(low.floor())
}

/// What a node can serve to so many clients.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Frontier {
    /// Clients.
    pub clients: f64,
    /// Points that fit in 95 of 100 cases.
    pub sure: f64,
    /// Points that are expected to fit.
    pub expected: f64,
    /// Points that fit in 5 of 100 cases; none where the interval has no upper bound on them.
    pub hardly: Option<f64>,
}

/// The most points that fit under a node's limit, by its clients.
pub fn frontier(plant: &Plant, node: &Node, model: &Model) -> Vec<Frontier> {
    let limit = plant.cpu_limit * f64::from(node.cores);
    let steps = [0.25, 0.5, 1.0, 1.5, 2.0, 3.0].map(|it| (node.clients * it).round().max(1.0));
    let mut clients = steps.to_vec();
    clients.dedup();
    let each = clients.into_iter().map(|clients| {
        let node = Node {
            clients,
            ..node.clone()
        };
        let most = |holds: &dyn Fn(&Prediction) -> bool| most(&node, model, holds).unwrap_or(0.0);
        Frontier {
            clients,
            sure: most(&|it| it.high <= limit),
            expected: most(&|it| it.cpu_percent <= limit),
            hardly: Some(most(&|it| it.low <= limit)).filter(|it| *it < MOST_POINTS - 1.0),
        }
    });
    each.collect()
}

/// What a node spends with more and fewer points, from none to twice as many: points, and the prediction.
pub fn over_points(node: &Node, model: &Model, level: f64) -> Vec<(f64, Prediction)> {
    let with = |points: f64| Node {
        points,
        ..node.clone()
    };
    (1..=40)
        .map(|step| node.points * f64::from(step) / 20.0)
        .map(|points| (points, with(points).predict(model, level)))
        .collect()
}

/// What can be changed, and what is spent then; the largest change first.
fn knobs(node: &Node, model: &Model) -> Vec<(String, f64)> {
    let slower = Node {
        publishing_ms: node.publishing_ms * 2.0,
        sampling_ms: node.sampling_ms * 2.0,
        ..node.clone()
    };
    let mut changed = vec![
        ("publish and sample half as often".to_owned(), slower),
        (
            "half the points".to_owned(),
            Node {
                points: node.points / 2.0,
                ..node.clone()
            },
        ),
    ];
    if node.clients > 1.0 {
        let half = Node {
            clients: node.clients / 2.0,
            ..node.clone()
        };
        changed.push((
            "half the clients (by an aggregating server)".to_owned(),
            half,
        ));
    }
    if node.security != Security::None {
        let plain = Node {
            security: Security::None,
            ..node.clone()
        };
        changed.push(("no security".to_owned(), plain));
    }
    let mut changed: Vec<(String, f64)> = changed
        .into_iter()
        .map(|(name, node)| (name, node.predict(model, 0.95).cpu_percent))
        .collect();
    changed.sort_by(|a, b| a.1.total_cmp(&b.1));
    changed
}

/// How long values are on their way, over the node's own link.
fn delay_of(plant: &Plant, node: &Node, model: &Model, cpu: &Prediction) -> Option<Delay> {
    let named = |name: &String| plant.links.iter().find(|it| it.name == *name);
    let link = node.link.as_ref().and_then(named);
    let link = link.and_then(|it| it.link.parse::<Spec>().ok());
    delay::predicted(model, &node.workload(), cpu, node.phases, link.as_ref())
}

/// What a publishing of all clients takes: all but what is spent when nobody is there.
fn burst_ms(node: &Node, cpu: &Prediction) -> f64 {
    let base = cpu
        .parts
        .iter()
        .filter(|(term, _)| *term == crate::Term::Base);
    let idle: f64 = base.map(|it| it.1).sum();
    let all: f64 = cpu.parts.iter().map(|it| it.1).sum();
    (all - idle) / 1e6 * node.publishing_ms
}
