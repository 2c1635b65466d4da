//! What a study printed of the experiment that a ready scenario repeats: its tables, and what it says in words.

use maud::{Markup, html};
use record::Run;
use serde_json::Value;

use super::published::table as csv;
use super::table::{Cell, Table};

/// A ready scenario, and what its study printed of it.
struct Ready {
    /// What a scenario says in its key `study`.
    experiment: &'static str,
    /// In `reference/`.
    folder: &'static str,
    study: &'static str,
    /// Tables and figures, with their numbers where those are printed.
    experiments: &'static [(&'static str, &'static str)],
}

const THESIS: &str = "Tahvanainen 2016";
const PLATFORM: &str = "González Vázquez 2015";
const BOTTLENECKS: &str = "Burger et al. 2019";
const ASSESSMENT: &str = "Morato et al. 2021";

/// Scenarios by study: the files in `reference/` with their numbers, and what is only told in words.
macro_rules! ready {
    ($($folder:literal $study:ident { $($scenario:literal: $($file:literal)* $(| $($said:literal)*)?;)* })*) => {
        &[$($(Ready {
            experiment: $scenario,
            folder: $folder,
            study: $study,
            experiments: &[
                $(($file, csv!($folder, "/", $file, ".csv")),)*
                $($(($said, ""),)*)?
            ],
        },)*)*]
    };
}

const READY: &[Ready] = ready! {
    "tahvanainen2016" THESIS {
        "tahvanainen2016.table_10": "table_09" "table_10" | "fig_08" "fig_09" "fig_10" "fig_11";
        "tahvanainen2016.table_11": "table_11";
        "tahvanainen2016.table_12": "table_12";
        "tahvanainen2016.table_13": "table_13";
        "tahvanainen2016.table_14": "table_14";
        "tahvanainen2016.table_15": "table_15";
        "tahvanainen2016.table_17": "table_17";
        "tahvanainen2016.table_19": "table_19";
        "tahvanainen2016.table_20": "table_20";
        "tahvanainen2016.table_21": "table_21";
        "tahvanainen2016.table_22": "table_22";
        "tahvanainen2016.table_24": "table_24";
    }
    "gonzalez2015" PLATFORM {
        "gonzalez2015.data_volume": "fig_2a";
        "gonzalez2015.grouped": "fig_2b";
        "gonzalez2015.concurrent": "fig_2c";
        "gonzalez2015.security": "fig_2d";
    }
    "burger2019" BOTTLENECKS {
        "burger2019.fig_06": | "fig_06" "fig_07" "fig_08" "fig_09";
        "burger2019.fig_10": | "fig_10";
        "burger2019.fig_11": | "fig_11" "fig_12";
        "burger2019.fig_13": | "fig_13" "fig_14";
    }
    "morato2021" ASSESSMENT {
        "morato2021.table_04": "table_04" "table_05" "table_06";
        "morato2021.table_04_stacks": "table_04";
        "morato2021.table_07": "table_07" "table_08";
        "morato2021.table_09": "table_09" | "fig_11";
    }
};

/// Where it stands in the study: `Table 9`, `Figure 2a`.
fn place(file: &str) -> String {
    let (kind, number) = file.split_once('_').unwrap_or((file, ""));
    let kind = if kind == "fig" { "Figure" } else { "Table" };
    format!("{kind} {}", number.trim_start_matches('0'))
}

/// What the studies say in words: a row for each value.
const SAID: [&str; 3] = [
    csv!("tahvanainen2016/described_values.csv"),
    csv!("burger2019/described_values.csv"),
    csv!("morato2021/described_values.csv"),
];

/// What was printed of the same experiment, if the run is one of a ready scenario.
pub(super) fn beside(run: &Run) -> Markup {
    let Some(ready) = ready(run) else {
        return html! {};
    };
    html! {
        section aria-label="Published" {
            h2 { "What " (ready.study) " printed" }
            p.note {
                "The same experiment on the hardware and software of the study, as printed there; nothing of it was measured here."
            }
            @for table in ready.tables() { (table.markup()) }
        }
    }
}

/// The tables that a study printed of a run's experiment, and what it said of it; none of a scenario of one's own.
pub(super) fn tables(run: &Run) -> Vec<Table> {
    ready(run).map_or_else(Vec::new, Ready::tables)
}

impl Ready {
    fn tables(&self) -> Vec<Table> {
        let of = |(file, text): &(&str, &str)| {
            let table = (!text.is_empty()).then(|| printed(self.study, &place(file), text));
            table.into_iter().chain(said(self, file))
        };
        self.experiments.iter().flat_map(of).collect()
    }
}

fn ready(run: &Run) -> Option<&'static Ready> {
    // Not the name: anybody may call a scenario as a study's experiment is called.
    let study = run.request.get("study").and_then(Value::as_str)?;
    READY.iter().find(|it| it.experiment == study)
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

/// What a study says in words of a figure over signals a second.
#[derive(Debug, PartialEq)]
pub(super) struct Words {
    pub(super) study: &'static str,
    /// Signals a second, and the figure there.
    pub(super) points: Vec<(f64, f64)>,
    /// What it says of all loads, or of none in particular: what that is, and the figure.
    pub(super) levels: Vec<(String, f64)>,
}

/// What a study says of one of these quantities, if the run is one of its scenarios: shares, nanoseconds, bytes, bytes a second.
pub(super) fn over_signals(run: &Run, quantities: &[&str]) -> Option<Words> {
    let ready = ready(run)?;
    let mut words = Words {
        study: ready.study,
        points: Vec::new(),
        levels: Vec::new(),
    };
    for cells in SAID.iter().flat_map(|text| text.lines()).map(cells) {
        let Ok([of, what, when, least, most, unit, _]) = <[String; 7]>::try_from(cells) else {
            continue;
        };
        let is_its = |(file, _): &(&str, &str)| of == format!("{}.{file}", ready.folder);
        let (times, by) = match unit.as_str() {
            "%" => (1.0, 100.0),
            "ms" | "MB" => (1e6, 1.0),
            "Mbit/s" => (1e6, 8.0),
            _ => continue,
        };
        if !ready.experiments.iter().any(is_its) || !quantities.contains(&what.as_str()) {
            continue;
        }
        let signals = when.split_once(" signals/s").and_then(|(before, _)| {
            let number = before.rsplit(' ').next()?;
            number.parse::<f64>().ok()
        });
        for value in [least, most].iter().filter_map(|it| it.parse::<f64>().ok()) {
            match signals {
                Some(signals) => words.points.push((signals, value * times / by)),
                None => (words.levels).push((
                    format!("{what}, {when}: {value} {unit}"),
                    value * times / by,
                )),
            }
        }
    }
    words.points.sort_by(|a, b| a.0.total_cmp(&b.0));
    (!words.points.is_empty() || !words.levels.is_empty()).then_some(words)
}

/// What the text of the study says of an experiment.
fn said(ready: &Ready, file: &str) -> Option<Table> {
    let id = format!("{}.{file}", ready.folder);
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
        caption: format!("{}, said of {}", ready.study, place(file)),
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
        run.request = json!({ "scenario": "mine", "study": scenario });
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
    fn a_study_s_words_about_a_figure_are_points_over_signals_or_levels() {
        let started = "2026-03-01T09:30:00Z".parse().unwrap();
        let mut run = Run::new("run", started, Fingerprint::default());
        assert_eq!(over_signals(&run, &["server CPU"]), None);
        run.request = json!({ "study": "burger2019.fig_06" });
        let cpu = over_signals(&run, &["server CPU"]).unwrap();
        assert_eq!(cpu.study, "Burger et al. 2019");
        let wanted = [(5e3, 0.2), (1e4, 0.8), (1e4, 0.35), (1e4, 0.5)];
        assert_eq!((cpu.points.as_slice(), cpu.levels.len()), (&wanted[..], 0));
        // Figures 7 to 9.
        let cycle = over_signals(&run, &["mean cycle time", "target cycle time"]).unwrap();
        assert_eq!(cycle.points, [(25e3, 160e6)]);
        let level = ("target cycle time, all: 100 ms".to_owned(), 100e6);
        assert_eq!(cycle.levels, [level]);
        let values = |what| {
            let levels = over_signals(&run, &[what]).unwrap().levels;
            levels.into_iter().map(|it| it.1).collect::<Vec<f64>>()
        };
        assert_eq!(values("server memory"), [11e6, 15e6]);
        assert_eq!(values("network load"), [750e3]);
    }

    #[test]
    fn the_delivery_times_of_pubsub_stand_beside_ours() {
        let text = of("morato2021.table_09");
        for figure in ["384.77", "43.93", "376.28", "43.69"] {
            assert!(text.contains(figure), "{figure}: {text}");
        }
    }

    #[test]
    fn a_scenario_of_ones_own_has_nothing_beside_it() {
        assert_eq!(of("batch size"), "");
        let mut run = Run::new(
            "run",
            "2026-03-01T09:30:00Z".parse().unwrap(),
            Fingerprint::default(),
        );
        for named in [
            "tahvanainen2016.table_11",
            "morato2021.table_04",
            "data_volume",
        ] {
            run.request = json!({ "scenario": named });
            assert_eq!(beside(&run).into_string(), "", "{named}");
        }
    }

    #[test]
    fn all_experiments_that_are_named_have_something_printed() {
        for ready in READY {
            let mut experiments = ready.experiments.iter();
            let found =
                experiments.any(|(file, text)| !text.is_empty() || said(ready, file).is_some());
            assert!(found, "{}", ready.experiment);
        }
    }
}
