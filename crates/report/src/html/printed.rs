//! What a study printed of the experiment that a ready scenario repeats: its tables, and what it says in words.

use maud::{Markup, html};
use record::Run;
use serde_json::Value;

use super::published::table as csv;
use super::table::{Cell, Table};

/// An experiment: its name in `reference/`, where it stands, and its table.
type Experiment = (&'static str, &'static str, &'static str);

/// A ready scenario: its name, the study, its experiments.
type Ready = (&'static str, &'static str, &'static [Experiment]);

const THESIS: &str = "Tahvanainen 2016";
const PLATFORM: &str = "González Vázquez 2015";
const BOTTLENECKS: &str = "Burger et al. 2019";
const ASSESSMENT: &str = "Morato et al. 2021";

/// An experiment with a table of its own.
macro_rules! printed {
    ($study:literal, $file:literal, $place:literal) => {
        (
            concat!($study, ".", $file),
            $place,
            csv!($study, "/", $file, ".csv"),
        )
    };
}

const READY: &[Ready] = &[
    (
        "tahvanainen2016.table_10",
        THESIS,
        &[
            printed!("tahvanainen2016", "table_09", "Table 9"),
            printed!("tahvanainen2016", "table_10", "Table 10"),
            ("tahvanainen2016.fig_08", "Figure 8", ""),
            ("tahvanainen2016.fig_09", "Figure 9", ""),
            ("tahvanainen2016.fig_10", "Figure 10", ""),
            ("tahvanainen2016.fig_11", "Figure 11", ""),
        ],
    ),
    (
        "tahvanainen2016.table_11",
        THESIS,
        &[printed!("tahvanainen2016", "table_11", "Table 11")],
    ),
    (
        "tahvanainen2016.table_12",
        THESIS,
        &[printed!("tahvanainen2016", "table_12", "Table 12")],
    ),
    (
        "tahvanainen2016.table_13",
        THESIS,
        &[printed!("tahvanainen2016", "table_13", "Table 13")],
    ),
    (
        "tahvanainen2016.table_14",
        THESIS,
        &[printed!("tahvanainen2016", "table_14", "Table 14")],
    ),
    (
        "tahvanainen2016.table_15",
        THESIS,
        &[printed!("tahvanainen2016", "table_15", "Table 15")],
    ),
    (
        "tahvanainen2016.table_17",
        THESIS,
        &[printed!("tahvanainen2016", "table_17", "Table 17")],
    ),
    (
        "tahvanainen2016.table_19",
        THESIS,
        &[printed!("tahvanainen2016", "table_19", "Table 19")],
    ),
    (
        "tahvanainen2016.table_20",
        THESIS,
        &[printed!("tahvanainen2016", "table_20", "Table 20")],
    ),
    (
        "tahvanainen2016.table_21",
        THESIS,
        &[printed!("tahvanainen2016", "table_21", "Table 21")],
    ),
    (
        "tahvanainen2016.table_22",
        THESIS,
        &[printed!("tahvanainen2016", "table_22", "Table 22")],
    ),
    (
        "tahvanainen2016.table_24",
        THESIS,
        &[printed!("tahvanainen2016", "table_24", "Table 24")],
    ),
    (
        "data_volume",
        PLATFORM,
        &[printed!("gonzalez2015", "fig_2a", "Figure 2a")],
    ),
    (
        "grouped",
        PLATFORM,
        &[printed!("gonzalez2015", "fig_2b", "Figure 2b")],
    ),
    (
        "concurrent",
        PLATFORM,
        &[printed!("gonzalez2015", "fig_2c", "Figure 2c")],
    ),
    (
        "security",
        PLATFORM,
        &[printed!("gonzalez2015", "fig_2d", "Figure 2d")],
    ),
    (
        "burger2019.fig_06",
        BOTTLENECKS,
        &[
            ("burger2019.fig_06", "Figure 6", ""),
            ("burger2019.fig_07", "Figure 7", ""),
            ("burger2019.fig_08", "Figure 8", ""),
            ("burger2019.fig_09", "Figure 9", ""),
        ],
    ),
    (
        "burger2019.fig_10",
        BOTTLENECKS,
        &[("burger2019.fig_10", "Figure 10", "")],
    ),
    (
        "burger2019.fig_11",
        BOTTLENECKS,
        &[
            ("burger2019.fig_11", "Figure 11", ""),
            ("burger2019.fig_12", "Figure 12", ""),
        ],
    ),
    (
        "burger2019.fig_13",
        BOTTLENECKS,
        &[
            ("burger2019.fig_13", "Figure 13", ""),
            ("burger2019.fig_14", "Figure 14", ""),
        ],
    ),
    (
        "morato2021.table_04",
        ASSESSMENT,
        &[
            printed!("morato2021", "table_04", "Table 4"),
            printed!("morato2021", "table_05", "Table 5"),
            printed!("morato2021", "table_06", "Table 6"),
        ],
    ),
    (
        "morato2021.table_04_stacks",
        ASSESSMENT,
        &[printed!("morato2021", "table_04", "Table 4")],
    ),
    (
        "morato2021.table_07",
        ASSESSMENT,
        &[
            printed!("morato2021", "table_07", "Table 7"),
            printed!("morato2021", "table_08", "Table 8"),
        ],
    ),
];

/// What the studies say in words: a row for each value.
const SAID: [&str; 3] = [
    csv!("tahvanainen2016/described_values.csv"),
    csv!("burger2019/described_values.csv"),
    csv!("morato2021/described_values.csv"),
];

/// What was printed of the same experiment, if the run is one of a ready scenario.
pub(super) fn beside(run: &Run) -> Markup {
    let Some((_, study, experiments)) = ready(run) else {
        return html! {};
    };
    html! {
        section aria-label="Published" {
            h2 { "What " (study) " printed" }
            p.note {
                "The same experiment on the hardware and software of the study, as printed there; nothing of it was measured here."
            }
            @for (id, place, text) in *experiments {
                @if !text.is_empty() { (printed(study, place, text).markup()) }
                @if let Some(said) = said(study, place, id) { (said.markup()) }
            }
        }
    }
}

fn ready(run: &Run) -> Option<&'static Ready> {
    let name = run.request.get("scenario").and_then(Value::as_str)?;
    let cycles = || run.phases.iter().any(|it| !it.cycles_ns.is_empty());
    READY
        .iter()
        .find(|it| it.0 == name)
        // The names of the documents are words that others use, too; their cycles are kept one by one.
        .filter(|it| it.1 != PLATFORM || cycles())
}

/// A table as it was printed; columns without a cell are left out.
fn printed(study: &str, place: &str, text: &str) -> Table {
    let mut lines = text.lines().map(cells);
    let head = lines.next().unwrap_or_default();
    let rows: Vec<Vec<String>> = lines.collect();
    let used = |column: &usize| {
        rows.iter()
            .any(|row| row.get(*column).is_some_and(|it| !it.is_empty()))
    };
    let columns: Vec<usize> = (0..head.len()).filter(used).collect();
    let of = |row: &[String]| -> Vec<String> {
        let cell = |column: &usize| row.get(*column).cloned().unwrap_or_default();
        columns.iter().map(cell).collect()
    };
    let cell = |text: String| match text.parse::<f64>() {
        Ok(value) => Cell::plain(text, value),
        Err(_) => Cell::text(text),
    };
    Table {
        caption: format!("{study}, {place}"),
        head: of(&head).iter().map(|it| it.replace('_', " ")).collect(),
        rows: rows
            .iter()
            .map(|row| of(row).into_iter().map(cell).collect())
            .collect(),
    }
}

/// What the text of the study says of an experiment.
fn said(study: &str, place: &str, id: &str) -> Option<Table> {
    let row = |cells: Vec<String>| {
        let [of, what, when, value, most, unit, approx] = <[String; 7]>::try_from(cells).ok()?;
        let range = |least: String| match most.is_empty() {
            true => least,
            false => format!("{least} to {most}"),
        };
        let about = |it: String| match approx.as_str() {
            "true" => format!("about {it}"),
            _ => it,
        };
        let unit = unit.trim_end_matches('1');
        let figure = format!("{} {unit}", about(range(value)));
        (of == id).then(|| {
            let cells = [what, when, figure.trim_end().to_owned()];
            cells.map(Cell::text).into()
        })
    };
    let lines = SAID.iter().flat_map(|text| text.lines()).map(cells);
    let rows: Vec<Vec<Cell>> = lines.filter_map(row).collect();
    (!rows.is_empty()).then(|| Table {
        caption: format!("{study}, said of {place}"),
        head: ["what", "where", "value"].map(str::to_owned).to_vec(),
        rows,
    })
}

/// The cells of a line; one in quotes may have commas.
fn cells(line: &str) -> Vec<String> {
    let mut cells = vec![String::new()];
    let mut quoted = false;
    for c in line.chars() {
        match c {
            '"' => quoted = !quoted,
            ',' if !quoted => cells.push(String::new()),
            _ => cells.last_mut().into_iter().for_each(|cell| cell.push(c)),
        }
    }
    cells
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use record::run::Fingerprint;
    use serde_json::json;

    fn of(scenario: &str) -> String {
        let started = "2026-03-01T09:30:00Z".parse().unwrap();
        let mut run = Run::new("run", started, Fingerprint::default());
        run.request = json!({ "scenario": scenario });
        beside(&run).into_string()
    }

    #[test]
    fn a_ready_scenario_has_the_table_and_the_words_of_its_study_beside_it() {
        let text = of("morato2021.table_04");
        assert!(text.contains("What Morato et al. 2021 printed"), "{text}");
        assert!(
            text.contains("312.83") && text.contains("3901.25"),
            "{text}"
        );
        assert!(text.contains("about 30 %"), "{text}");
        let text = of("burger2019.fig_06");
        assert!(text.contains("about 40000 signals/s"), "{text}");
        assert!(text.contains("client/server, 1 client"), "{text}");
    }

    #[test]
    fn a_scenario_of_ones_own_has_nothing_beside_it() {
        assert_eq!(of("batch size"), "");
        // A word that is also the name of a document.
        assert_eq!(of("security"), "");
    }

    #[test]
    fn all_experiments_that_are_named_have_something_printed() {
        for (scenario, study, experiments) in READY {
            let found = experiments
                .iter()
                .any(|(id, place, text)| !text.is_empty() || said(study, place, id).is_some());
            assert!(found, "{scenario}");
        }
    }
}
