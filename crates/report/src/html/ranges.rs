//! Large figures of several runs: how far what one looks for first lies apart among them.

use judge::compare::Metric;
use plan::{Measure, Stat};
use record::run::Phase;

use super::head::Large;
use crate::metric::kind;
use crate::page::{counted, grouped};
use crate::points::Named;
use crate::several::short;

/// Of phases that ask for something: the rate of others is no small one.
const REQUESTS: Metric = Metric::Figure(Measure::Response, Stat::Rate);

/// What is looked for first, and how its largest value is called.
const FIRST: [(Metric, &str); 4] = [
    (REQUESTS, "requests, most"),
    (
        Metric::Figure(Measure::Response, Stat::P99),
        "p99 response, highest",
    ),
    (
        Metric::Figure(Measure::Delay, Stat::P99),
        "p99 delay, highest",
    ),
    (Metric::CpuPerRequest, "CPU a request, highest"),
];

/// The highest of each with its run, and the lowest; errors of all.
pub(super) fn figures(runs: &[Named]) -> Vec<Large<&'static str>> {
    let phases: Vec<(&Named, &Phase)> = runs
        .iter()
        .flat_map(|it| it.run.phases.iter().map(move |phase| (it, phase)))
        .collect();
    let mut all: Vec<Large<&str>> = Vec::new();
    for (metric, what) in FIRST {
        let values = phases
            .iter()
            .filter(|(_, phase)| metric != REQUESTS || phase.total.planned > 0)
            .filter_map(|(named, phase)| Some((metric.of(phase)?, *named)))
            .filter(|(value, _)| value.is_finite());
        let mut values: Vec<(f64, &Named)> = values.collect();
        values.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (Some((low, _)), Some((high, of))) = (values.first(), values.last()) else {
            continue;
        };
        let show = |it: f64| kind(metric).show(it);
        let more = match values.len() {
            1 => short(&of.name).to_string(),
            _ => format!("{}; lowest {}", short(&of.name), show(*low)),
        };
        all.push((show(*high), what, Some(more)));
    }
    let asked = phases.iter().any(|(_, phase)| phase.total.planned > 0);
    let errors: u64 = phases.iter().map(|(_, phase)| phase.total.errors).sum();
    if asked || errors > 0 {
        let of = counted(runs.len() as u64, "run", "runs");
        all.push((grouped(errors), "errors", Some(format!("over {of}"))));
    }
    all
}
