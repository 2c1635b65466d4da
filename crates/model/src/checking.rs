//! A model against rows that it has not seen.

use serde::Serialize;

use crate::cost::{LEAST, PERCENT};
use crate::crossing;
use crate::fitted::{Model, Prediction};
use crate::reach::Noise;
use crate::row::{self, Row};

/// What became of a model on rows.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Checked {
    /// Whether these are the very rows that it was fitted to.
    pub seen: bool,
    /// Row by row.
    pub rows: Vec<CheckedRow>,
    /// Rows that were left out because the load did not happen.
    pub overloaded: usize,
    /// Rows that lie beyond what the model was fitted to.
    pub beyond: usize,
    /// Mean of absolute relative errors.
    pub mape: Option<f64>,
    /// That of the paper's form.
    pub paper_mape: Option<f64>,
    /// The share of rows inside of their intervals.
    pub coverage: Option<f64>,
}

/// A row, measured and predicted.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CheckedRow {
    /// Its name.
    pub run: String,
    /// CPU in percent of a core.
    pub measured: f64,
    /// What the model says.
    pub prediction: Prediction,
    /// Whether the interval held.
    pub held: bool,
}

/// Predicts rows, and holds them against what was measured. Errors are relative to what was measured, or to half a
/// percent of a core where that is more.
pub fn check(model: &Model, rows: &[Row], level: f64) -> Checked {
    let good: Vec<&Row> = rows.iter().filter(|row| row.happened()).collect();
    let checked: Vec<CheckedRow> = good
        .iter()
        .map(|row| {
            let prediction = model.predict(&row.workload, level);
            CheckedRow {
                run: row.run.clone(),
                measured: row.cpu_percent,
                held: (prediction.low..=prediction.high).contains(&row.cpu_percent),
                prediction,
            }
        })
        .collect();
    let n = checked.len() as f64;
    let off = |predicted: f64, measured: f64| {
        (predicted - measured).abs() / measured.max(LEAST / PERCENT)
    };
    let mean = |sum: f64| (n > 0.0).then_some(sum / n);
    let each = checked.iter();
    let error: f64 = each
        .clone()
        .map(|it| off(it.prediction.cpu_percent, it.measured))
        .sum();
    let paper: Option<f64> = each
        .clone()
        .map(|it| Some(off(it.prediction.paper_percent?, it.measured)))
        .sum();
    let held = each.clone().filter(|it| it.held).count();
    Checked {
        seen: row::hash(rows) == model.data.sha256,
        overloaded: rows.len() - good.len(),
        beyond: each.filter(|it| !it.prediction.is_inside()).count(),
        mape: mean(error),
        paper_mape: paper.and_then(mean),
        coverage: mean(held as f64),
        rows: checked,
    }
}

/// By how much runs of the same differ. None where no configuration was measured twice.
pub fn noise(rows: &[Row]) -> Option<Noise> {
    let good = rows.iter().filter(|row| row.happened());
    let measured: Vec<(&Row, f64)> = good.map(|row| (row, row.cpu_percent * PERCENT)).collect();
    crossing::noise(&crossing::configurations(&measured))
}
