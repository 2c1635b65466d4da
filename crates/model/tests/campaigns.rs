//! Campaigns against real servers, kept in `docs/model/campaigns`: how far off models are on loads that they have not seen. The
//! numbers are those of the acceptance table in `docs/model.md`.

#![allow(clippy::unwrap_used)]

use std::path::Path;

use model::checking::{Checked, check};
use model::{FitMethod, Model, Row, fit, row};

/// A campaign, and what its machine's noise allowed to reach.
struct Campaign {
    name: &'static str,
    /// The mean error on loads that were held out, at most.
    mape: f64,
    /// The same as a share of that of the paper's form.
    of_paper: f64,
    /// The same on loads with more sessions than any that was fitted to.
    beyond: f64,
    /// The largest number of sessions that those were fitted to.
    sessions: f64,
}

const CAMPAIGNS: [Campaign; 4] = [
    Campaign {
        name: "plant",
        mape: 0.10,
        of_paper: 0.5,
        beyond: 0.35,
        sessions: 10.0,
    },
    Campaign {
        name: "open62541",
        mape: 0.12,
        of_paper: 0.5,
        beyond: 0.65,
        sessions: 10.0,
    },
    Campaign {
        name: "pyopcua",
        mape: 0.10,
        of_paper: 0.5,
        beyond: 0.25,
        sessions: 3.0,
    },
    Campaign {
        name: "node-opcua",
        mape: 0.10,
        of_paper: 0.6,
        beyond: 0.25,
        sessions: 3.0,
    },
];

fn rows(name: &str) -> Vec<Row> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/model/campaigns");
    let file = folder.join(format!("{name}.csv"));
    row::read(&std::fs::read_to_string(file).unwrap()).unwrap()
}

fn fitted(rows: &[Row]) -> Model {
    fit(rows, FitMethod::Cost).unwrap()
}

/// Runs of every fifth load, and those of the others.
fn split(rows: &[Row], fifth: usize) -> (Vec<Row>, Vec<Row>) {
    let mut loads: Vec<String> = rows.iter().map(Row::configuration).collect();
    loads.sort();
    loads.dedup();
    let is_out = |row: &&Row| {
        let load = row.configuration();
        loads.iter().position(|it| *it == load).unwrap() % 5 == fifth
    };
    let (out, kept): (Vec<&Row>, Vec<&Row>) = rows.iter().partition(is_out);
    let owned = |it: Vec<&Row>| it.into_iter().cloned().collect();
    (owned(kept), owned(out))
}

#[test]
fn loads_that_were_held_out_are_predicted_and_better_than_by_the_form_of_the_paper() {
    for it in &CAMPAIGNS {
        let model = fitted(&rows(it.name));
        let found = &model.metrics;
        assert!(found.mape <= it.mape, "{}: {found:?}", it.name);
        assert!(found.r2.unwrap() >= 0.95, "{}: {found:?}", it.name);
        let paper = model.paper_metrics.as_ref().unwrap();
        assert!(
            found.mape <= paper.mape * it.of_paper,
            "{}: {paper:?}",
            it.name
        );
        let memory = model.memory.as_ref().unwrap().metrics.mape;
        assert!(memory <= 0.10, "{}: memory {memory}", it.name);
        let bytes = model.bytes.as_ref().unwrap().metrics.mape;
        assert!(bytes <= 0.03, "{}: bytes {bytes}", it.name);
    }
}

#[test]
fn intervals_hold_as_often_as_they_say() {
    let (mut held, mut all, mut widths) = (0.0, 0.0, Vec::new());
    for it in &CAMPAIGNS {
        let rows = rows(it.name);
        for fifth in 0..5 {
            let (kept, out) = split(&rows, fifth);
            let checked = check(&fitted(&kept), &out, 0.95);
            held += checked.coverage.unwrap() * checked.rows.len() as f64;
            all += checked.rows.len() as f64;
            let width = |it: &model::checking::CheckedRow| it.prediction.high / it.prediction.low;
            widths.extend(checked.rows.iter().map(width));
        }
    }
    widths.sort_by(f64::total_cmp);
    let width = widths[widths.len() / 2];
    assert!(all >= 100.0, "{all}");
    assert!((0.90..=1.0).contains(&(held / all)), "{held} of {all}");
    assert!(width <= 2.8, "{width}");
}

#[test]
fn more_sessions_than_were_fitted_to_are_told_of_and_not_far_off() {
    for it in &CAMPAIGNS {
        let few = |row: &&Row| row.workload.sessions <= it.sessions;
        let rows = rows(it.name);
        let (few, many): (Vec<&Row>, Vec<&Row>) = rows.iter().partition(few);
        let owned = |it: Vec<&Row>| -> Vec<Row> { it.into_iter().cloned().collect() };
        let checked: Checked = check(&fitted(&owned(few)), &owned(many), 0.95);
        let error = checked.mape.unwrap();
        assert!(error <= it.beyond, "{}: {error}", it.name);
        assert_eq!(checked.beyond, checked.rows.len(), "{}", it.name);
    }
}
