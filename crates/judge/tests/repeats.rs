//! How often runs of one and the same thing are called different: 240 real ones, one after the other, on a machine
//! that did other things too (`data/repeats.csv`, made by `cargo run -p uaperf --example repeats -- 240`).

#![allow(clippy::unwrap_used, clippy::panic)]

use judge::compare::{
    Estimate, LEAST_MARGIN, Metric, Outcome, Row, compare_estimates, compare_figure, correct,
};

/// A run, as a comparison sees it.
struct Repeat {
    valid: bool,
    /// For each metric its figure, and what the run itself knows of its error.
    figures: Vec<(f64, Option<Estimate>)>,
}

/// The metrics, and the runs in the order in which they were made.
fn repeats() -> (Vec<Metric>, Vec<Repeat>) {
    let mut lines = include_str!("data/repeats.csv")
        .lines()
        .filter(|line| !line.starts_with('#'));
    let header = lines.next().unwrap().split(',').skip(3).step_by(3);
    let metrics = header.map(|name| name.parse().unwrap()).collect();
    let repeat = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        let figure = |cells: &[&str]| {
            let value = cells[0].parse().unwrap();
            let estimate = cells[1].parse().ok().map(|error| Estimate {
                value,
                error,
                degrees: cells[2].parse().unwrap(),
            });
            (value, estimate)
        };
        Repeat {
            valid: cells[1] == "VALID",
            figures: cells[3..].chunks(3).map(figure).collect(),
        }
    };
    (metrics, lines.map(repeat).collect())
}

/// Of these comparisons, in how many something is called better or worse.
fn alarms(comparisons: impl Iterator<Item = Vec<Row>>) -> usize {
    let alarmed = comparisons.filter(|rows| {
        let mut rows = rows.clone();
        correct(&mut rows);
        let mut outcomes = rows.iter().map(|row| row.comparison.outcome);
        outcomes.any(|it| matches!(it, Outcome::Better | Outcome::Worse))
    });
    alarmed.count()
}

/// One run against the next, as `--single-run` has it.
fn singles(metrics: &[Metric], runs: &[&Repeat]) -> (usize, usize) {
    let pairs = runs.windows(2);
    let count = pairs.len();
    let compared = pairs.map(|pair| {
        let rows = metrics.iter().enumerate();
        let rows = rows.map(|(at, &metric)| {
            let (base, new) = (pair[0].figures[at], pair[1].figures[at]);
            let comparison = match (base.1, new.1) {
                (Some(base), Some(new)) => {
                    compare_estimates(base, new, metric.better(), LEAST_MARGIN)
                }
                _ => compare_figure(metric, &[base.0], &[new.0], LEAST_MARGIN),
            };
            Row { metric, comparison }
        });
        rows.collect()
    });
    (alarms(compared), count)
}

/// So many runs against as many: those right behind them, or every other one of both.
fn sides(metrics: &[Metric], runs: &[&Repeat], each: usize, in_turn: bool) -> (usize, usize) {
    let windows = runs.windows(2 * each);
    let count = windows.len();
    let compared = windows.map(|window| {
        let rows = metrics.iter().enumerate();
        let rows = rows.map(|(at, &metric)| {
            let (mut base, mut new) = (Vec::new(), Vec::new());
            for (n, run) in window.iter().enumerate() {
                let second = if in_turn { n % 2 == 1 } else { n >= each };
                let side = if second { &mut new } else { &mut base };
                side.push(run.figures[at].0);
            }
            let comparison = compare_figure(metric, &base, &new, LEAST_MARGIN);
            Row { metric, comparison }
        });
        rows.collect()
    });
    (alarms(compared), count)
}

/// Alarms, and comparisons, as `docs/measuring.md` has them.
fn documented(words: &str, (alarms, of): (usize, usize)) {
    let page = include_str!("../../../docs/measuring.md");
    let row = page
        .lines()
        .find(|line| line.starts_with(&format!("| {words} |")));
    let row = row.unwrap_or_else(|| panic!("no row {words:?}"));
    let found = format!("| {alarms} of {of} |");
    assert!(row.ends_with(&found), "{row}\nfound {found}");
}

#[test]
fn one_run_against_the_next_raises_as_many_false_alarms_as_the_documentation_says() {
    let (metrics, runs) = repeats();
    let all: Vec<&Repeat> = runs.iter().collect();
    let valid: Vec<&Repeat> = runs.iter().filter(|it| it.valid).collect();
    documented(
        "one against the next (`--single-run`)",
        singles(&metrics, &all),
    );
    documented(
        "the same, of the VALID ones only",
        singles(&metrics, &valid),
    );
}

#[test]
fn five_runs_raise_as_many_false_alarms_as_the_documentation_says() {
    let (metrics, runs) = repeats();
    let all: Vec<&Repeat> = runs.iter().collect();
    documented("five, then five", sides(&metrics, &all, 5, false));
    let in_turn = sides(&metrics, &all, 5, true);
    assert!(in_turn.0 * 20 <= in_turn.1, "{in_turn:?}");
    documented("five and five in turn", in_turn);
}

#[test]
fn ten_runs_in_turn_raise_as_many_false_alarms_as_the_documentation_says() {
    let (metrics, runs) = repeats();
    let all: Vec<&Repeat> = runs.iter().collect();
    let in_turn = sides(&metrics, &all, 10, true);
    assert!(in_turn.0 * 20 <= in_turn.1, "{in_turn:?}");
    documented("ten and ten in turn", in_turn);
}

#[test]
fn ten_runs_and_the_next_ten_raise_as_many_false_alarms_as_the_documentation_says() {
    let (metrics, runs) = repeats();
    let all: Vec<&Repeat> = runs.iter().collect();
    documented("ten, then ten", sides(&metrics, &all, 10, false));
}
