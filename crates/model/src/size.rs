//! How large a node has to be: a plant's nodes against a model, and the largest load under a limit.

use serde::Serialize;

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
    let fits = |points: f64| {
        let node = Node {
            points,
            ..node.clone()
        };
        node.predict(model, 0.9).high <= limit
    };
    let (mut low, mut high) = (0.0, 1e7);
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
