//! How a figure went over the occasions on which it was measured, and where it changed.

use judge::change::{Change, Changes};
use judge::compare::{Direction, Metric, unbelievable};
use record::Run;
use record::run::Phase;
use serde::Serialize;

use crate::metric::{changed_by, geometric_if_positive, kind, probability};
use crate::page::{Page, clean};
use crate::points::Named;
use crate::style::TextStyle;

/// A metric over the occasions on which it was measured.
#[derive(Debug)]
pub struct Trend {
    /// Of which point and phase.
    pub label: String,
    /// Of what.
    pub metric: Metric,
    /// In their order.
    pub occasions: Vec<Occasion>,
    /// Where the level changed.
    pub changes: Vec<Change>,
}

/// A metric on an occasion.
#[derive(Debug, Clone, Serialize)]
pub struct Occasion {
    /// The name of its file or folder.
    #[serde(rename = "when")]
    pub name: String,
    /// The geometric mean over its runs.
    pub mean: f64,
    /// How many.
    pub runs: usize,
}

impl Trend {
    /// Finds where the level changed by more than the margin.
    pub(crate) fn new(
        label: &str,
        metric: Metric,
        occasions: Vec<Occasion>,
        changes: &Changes,
        margin: f64,
    ) -> Self {
        let means: Vec<f64> = occasions.iter().map(|it| it.mean).collect();
        Self {
            label: label.to_owned(),
            metric,
            changes: changes.of(&means, margin),
            occasions,
        }
    }

    /// Of what it is.
    pub(crate) fn title(&self) -> String {
        match self.label.is_empty() {
            true => self.metric.to_string(),
            false => format!("{}, {}", self.metric, clean(&self.label)),
        }
    }

    /// The occasion with which the new level begins.
    pub(crate) fn since(&self, change: &Change) -> &str {
        self.occasions.get(change.at).map_or("", |it| &it.name)
    }

    pub(crate) fn is_worse(&self, change: &Change) -> bool {
        match self.metric.better() {
            Direction::Higher => change.after < change.before,
            Direction::Lower => change.after > change.before,
        }
    }

    /// A change in a sentence.
    pub(crate) fn told(&self, change: &Change) -> String {
        let show = |value: f64| kind(self.metric).show(value);
        format!(
            "{} since {}: {} to {}, {}, p {}",
            if self.is_worse(change) {
                "worse"
            } else {
                "better"
            },
            clean(self.since(change)),
            show(change.before),
            show(change.after),
            changed_by(change.ratio()),
            probability(change.p)
        )
    }
}

/// The means of a metric in the runs of an occasion; none if it was not measured.
pub(crate) fn occasion(name: &str, metric: Metric, phases: &[&Phase]) -> Option<Occasion> {
    let found: Vec<f64> = phases.iter().filter_map(|it| metric.of(it)).collect();
    Some(Occasion {
        name: name.to_owned(),
        mean: geometric_if_positive(&found)?,
        runs: found.len(),
    })
}

/// Whether most of these runs say nothing about the server: their generator was the limit, or they were not steady, failed or
/// did not come to their end.
pub(crate) fn says_nothing(runs: &[&Named]) -> bool {
    use record::run::Kind::{Failed, Incomplete};
    let all: Vec<&Run> = runs.iter().map(|it| &it.run).collect();
    let broke = |run: &&&Run| matches!(run.verdict.kind, Failed | Incomplete);
    unbelievable(&all) || 2 * all.iter().filter(broke).count() > all.len()
}

/// Eight heights of a bar.
pub(crate) fn spark(values: &[f64]) -> String {
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let bars = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let bar = |value: &f64| {
        // Noise is not blown up to the full height.
        let span = (high - low).max(0.02 * high.abs());
        let at = if span > 0.0 {
            (value - low) / span * 7.0
        } else {
            0.0
        };
        bars.get(at.round() as usize).copied().unwrap_or('█')
    };
    values.iter().map(bar).collect()
}

/// Occasions that a line has room for.
const DRAWN: usize = 32;

impl Trend {
    /// Its course on a line, the latest occasions of it.
    pub(crate) fn line(&self) -> String {
        let values: Vec<f64> = self.occasions.iter().map(|it| it.mean).collect();
        let latest = values.get(values.len().saturating_sub(DRAWN)..);
        let show =
            |value: Option<&f64>| value.map_or_else(String::new, |it| kind(self.metric).show(*it));
        format!(
            "{}  {} to {}",
            spark(latest.unwrap_or_default()),
            show(values.first()),
            show(values.last())
        )
    }

    /// Its changes below it on a screen.
    pub(crate) fn put_changes(&self, page: &mut Page) {
        for change in &self.changes {
            let ink = match self.is_worse(change) {
                true => TextStyle::Bad,
                false => TextStyle::Good,
            };
            page.inked_row("  change", ink, &self.told(change));
        }
    }
}

/// A trend for machines.
#[derive(Debug, Serialize)]
pub(crate) struct TrendOutput<'a> {
    point: &'a str,
    metric: String,
    better_is: &'static str,
    occasions: &'a [Occasion],
    changes: Vec<LevelChange<'a>>,
}

#[derive(Debug, Serialize)]
struct LevelChange<'a> {
    /// The first occasion of the new level.
    since: &'a str,
    before: f64,
    after: f64,
    ratio: f64,
    p: f64,
    worse: bool,
}

impl<'a> TrendOutput<'a> {
    pub(crate) fn of(trend: &'a Trend) -> Self {
        Self {
            point: &trend.label,
            metric: trend.metric.to_string(),
            better_is: match trend.metric.better() {
                Direction::Higher => "higher",
                Direction::Lower => "lower",
            },
            occasions: &trend.occasions,
            changes: trend
                .changes
                .iter()
                .map(|it| LevelChange {
                    since: trend.since(it),
                    before: it.before,
                    after: it.after,
                    ratio: it.ratio(),
                    p: it.p,
                    worse: trend.is_worse(it),
                })
                .collect(),
        }
    }
}
