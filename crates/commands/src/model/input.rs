//! What models are made of and kept in: rows from tables and results, model files.

use std::path::{Path, PathBuf};

use model::{FitMethod, Model, Row, fit, published, row, runs};

use crate::failure::Failure;
use crate::results;
use crate::screen::tell;

/// The model of published figures that comes with the program.
const BURGER2019: &str = "burger2019";

/// What `uaperf calibrate` found of the machine that three of them were measured on.
const MACHINE: f64 = 10_240_400.0;

/// A server that was measured: its model comes with the program, too.
struct Measured {
    name: &'static str,
    /// What it is.
    what: &'static str,
    /// What `uaperf calibrate` found of its machine, if it was asked.
    machine: Option<f64>,
    rows: &'static str,
}

macro_rules! measured {
    ($($name:literal $what:literal $machine:expr;)*) => {
        [$(Measured {
            name: $name,
            what: $what,
            machine: $machine,
            rows: include_str!(concat!("../../../../docs/model/campaigns/", $name, ".csv")),
        }),*]
    };
}

const MEASURED: [Measured; 4] = measured! {
    "plant" "the built-in server" Some(MACHINE);
    "open62541" "open62541 1.5.10" Some(MACHINE);
    "pyopcua" "python-opcua 0.98.13" Some(MACHINE);
    "node-opcua" "node-opcua 2.182.2" None;
};

/// Rows of tables (`.csv`), result files and folders of them. Phases that are no rows are named on standard error.
pub fn rows(paths: &[PathBuf]) -> Result<Vec<Row>, Failure> {
    let mut all = Vec::new();
    for path in paths {
        match path.extension().is_some_and(|ending| ending == "csv") {
            true => all.extend(table(path)?),
            false => {
                for named in results::read(std::slice::from_ref(path))? {
                    for found in runs::rows(&named.name, &named.run) {
                        match found {
                            Ok(row) => all.push(row),
                            Err(why) => tell!("left out: {why}"),
                        }
                    }
                }
            }
        }
    }
    match all.is_empty() {
        true => Err(Failure::new("no row: nothing to learn from").hint(
            "results of `uaperf subscribe`, `read` or `write` whose server runs on this machine, or of `publish` phases",
        )),
        false => Ok(all),
    }
}

fn table(path: &Path) -> Result<Vec<Row>, Failure> {
    row::read(&text(path)?).map_err(|error| Failure::new(format!("{}: {error}", path.display())))
}

/// Those of so many sessions: all of them where no number is given. Of publishers, sessions are NetworkMessages.
pub fn with_sessions(rows: Vec<Row>, sessions: &[u32]) -> Result<Vec<Row>, Failure> {
    let is_one = |row: &Row| {
        sessions
            .iter()
            .any(|it| f64::from(*it) == row.workload.sessions)
    };
    let kept: Vec<Row> = match sessions {
        [] => rows,
        _ => rows.into_iter().filter(is_one).collect(),
    };
    match kept.is_empty() {
        true => Err(Failure::new("no row has so many sessions")
            .hint("`uaperf model fit … --csv -` without --sessions shows all rows")),
        false => Ok(kept),
    }
}

/// The text of a file.
pub fn text(path: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(path)
        .map_err(|error| Failure::new(format!("cannot read {}: {error}", path.display())))
}

/// A model: of a file, or one that comes with the program.
pub fn model(path: &Path) -> Result<Model, Failure> {
    if path == Path::new(BURGER2019) {
        return published::burger2019().map_err(|error| Failure::new(error.to_string()));
    }
    if let Some(found) = MEASURED.iter().find(|it| path == Path::new(it.name)) {
        return measured(found);
    }
    let read = |error: std::io::Error| {
        Failure::new(format!("cannot read {}: {error}", path.display())).hint(format!(
            "`uaperf model fit` makes one; {BURGER2019}, {} come with the program",
            MEASURED.map(|it| it.name).join(", ")
        ))
    };
    let text = std::fs::read_to_string(path).map_err(read)?;
    Model::from_json(&text).map_err(|error| Failure::new(format!("{}: {error}", path.display())))
}

fn measured(it: &Measured) -> Result<Model, Failure> {
    let rows = row::read(it.rows).map_err(|error| Failure::new(error.to_string()))?;
    let model = fit(&rows, FitMethod::Cost).map_err(|error| Failure::new(error.to_string()))?;
    Ok(Model {
        calibrated: it.machine,
        name: format!(
            "{}, measured on a virtual machine with two shared cores",
            it.what
        ),
        ..model
    })
}

/// A model of a server: one of a publisher knows no clients.
pub fn server_model(path: &Path) -> Result<Model, Failure> {
    let model = model(path)?;
    match &model.data.pubsub {
        None => Ok(model),
        Some(_) => Err(Failure::usage(format!(
            "{}: a model of a publisher, which has no clients",
            path.display()
        ))
        .hint("`uaperf model predict` says what it spends on so many signals")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_models_that_come_with_the_program_are_there() {
        assert_eq!(model(Path::new(BURGER2019)).unwrap().data.rows, 4);
        for it in MEASURED {
            let model = model(Path::new(it.name)).unwrap();
            assert!(model.name.starts_with(it.what) && model.data.rows >= 32);
        }
    }
}
