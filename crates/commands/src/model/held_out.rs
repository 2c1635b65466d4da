//! A model of some runs of a folder, held against the others.

use std::path::{Path, PathBuf};

use model::checking::check;
use model::{FitMethod, Row, fit};

use super::show::known_share;
use super::{input, pictures};
use crate::failure::Failure;
use crate::written;

/// How often intervals shall hold.
const LEVEL: f64 = 0.95;

/// What came of it.
#[derive(Debug)]
pub struct HeldOut {
    /// How far off it is, in a sentence.
    pub told: String,
    /// What was measured and predicted, drawn.
    pub page: PathBuf,
}

/// Fits a model to the runs with so many sessions, and puts it and its page beside them.
pub fn held_out(folder: &Path, sessions: u32) -> Result<HeldOut, Failure> {
    let rows = input::rows(&[folder.to_owned()])?;
    let is_seen = |row: &&Row| row.workload.sessions == f64::from(sessions);
    let (seen, others): (Vec<&Row>, Vec<&Row>) = rows.iter().partition(is_seen);
    let [seen, others] = [seen, others].map(|it| it.into_iter().cloned().collect::<Vec<Row>>());
    let mut model = fit(&seen, FitMethod::Cost)
        .map_err(|error| Failure::new(format!("no model of {sessions} sessions: {error}")))?;
    model.name = format!("{sessions} sessions");
    let checked = check(&model, &others, LEVEL);
    let told = format!(
        "a model of the runs with {sessions} sessions is {} off on the other {}; the form of Burger et al. 2019 {}",
        known_share(checked.mape),
        checked.rows.len(),
        known_share(checked.paper_mape)
    );
    let mut drawn = pictures::of_check(&check(&model, &rows, LEVEL), &rows, &model);
    drawn.about.insert(0, told.clone());
    let page = folder.join("model.html");
    let file = folder.join("model.json");
    written::put("--out", &file, model.to_json().as_bytes());
    written::put("--out", &page, report::pictures_html(&drawn).as_bytes());
    Ok(HeldOut { told, page })
}
