//! Metrics and their changes as they are shown.

use judge::compare::Metric;
use plan::Unit;
use record::average::mean;

use crate::unit::Kind;

/// How its values are shown.
pub(crate) fn kind(metric: Metric) -> Kind {
    match (metric, metric.unit()) {
        (Metric::Success | Metric::Complete | Metric::Link, _) => Kind::Share,
        (_, Unit::Share) => Kind::Cores,
        (_, unit) => Kind::from(unit),
    }
}

/// By how much something changed, in percent and with its sign.
pub(crate) fn changed_by(ratio: f64) -> String {
    format!("{:+.1} %", (ratio - 1.0) * 100.0)
}

/// The mean of a metric's values: the geometric one, as comparisons have it; where one is not positive, which has no
/// logarithm, the arithmetic one. None of no values.
pub(crate) fn geometric_if_positive(values: &[f64]) -> Option<f64> {
    match values.iter().all(|it| *it > 0.0) {
        true => mean(values.iter().map(|it| it.ln())).map(f64::exp),
        false => mean(values),
    }
}

/// A p-value.
pub(crate) fn probability(p: f64) -> String {
    match p {
        p if p < 0.001 => "<0.001".to_owned(),
        p => format!("{p:.3}"),
    }
}
