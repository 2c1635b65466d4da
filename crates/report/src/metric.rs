//! Metrics and their changes as they are shown.

use judge::compare::Metric;
use plan::Unit;

use crate::html::Kind;

/// How its values are shown.
pub(crate) fn kind(metric: Metric) -> Kind {
    match (metric, metric.unit()) {
        (Metric::Success | Metric::Complete | Metric::Link, _) => Kind::Share,
        (_, Unit::Share) => Kind::Cores,
        (_, unit) => Kind::from(unit),
    }
}

/// In percent, with its sign.
pub(crate) fn percent(ratio: f64) -> String {
    format!("{:+.1} %", (ratio - 1.0) * 100.0)
}

/// A p-value.
pub(crate) fn probability(p: f64) -> String {
    match p {
        p if p < 0.001 => "<0.001".to_owned(),
        p => format!("{p:.3}"),
    }
}
