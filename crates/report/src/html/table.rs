//! Tables that can be copied.

use maud::{Markup, html};

use crate::markdown::escaped;
use crate::unit::{Kind, raw};

/// A table: a head, and rows of cells.
pub(crate) struct Table {
    pub(crate) caption: String,
    pub(crate) head: Vec<String>,
    pub(crate) rows: Vec<Vec<Cell>>,
}

/// What stands in a cell, and what goes into a spreadsheet.
pub(crate) struct Cell {
    text: String,
    raw: Option<String>,
    unit: &'static str,
    class: &'static str,
}

impl Cell {
    /// Words.
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            raw: None,
            unit: "",
            class: "",
        }
    }

    /// Words with a meaning: `good`, `warning`, `bad`.
    pub(crate) fn inked(text: impl Into<String>, class: &'static str) -> Self {
        Self {
            class,
            ..Self::text(text)
        }
    }

    /// A figure.
    pub(crate) fn number(value: Option<f64>, kind: Kind) -> Self {
        match value {
            Some(value) => Self::shown(kind.show(value), value, kind),
            None => Self {
                text: "n/a".into(),
                raw: Some(String::new()),
                unit: kind.name(),
                class: "n none",
            },
        }
    }

    /// A figure as somebody else wrote it, in the unit that the head of its column names.
    pub(crate) fn plain(text: impl Into<String>, value: f64) -> Self {
        Self {
            text: text.into(),
            raw: Some(raw(value)),
            unit: "",
            class: "n",
        }
    }

    /// A figure in words of its own.
    pub(crate) fn shown(text: impl Into<String>, value: f64, kind: Kind) -> Self {
        Self {
            text: text.into(),
            raw: Some(raw(value)),
            unit: kind.name(),
            class: "n",
        }
    }
}

impl Table {
    /// The same in Markdown, below its caption.
    pub(crate) fn markdown(&self) -> String {
        let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        let mut text = format!("{}:\n\n", escaped(&self.caption));
        text += &line(self.head.iter().map(|it| escaped(it)).collect());
        let is_number = |column: usize| {
            let mut cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.any(|cell| cell.class.starts_with('n'))
        };
        let rule = |column| if is_number(column) { "--:" } else { "---" };
        text += &line((0..self.head.len()).map(|it| rule(it).to_owned()).collect());
        for row in &self.rows {
            text += &line(row.iter().map(|it| escaped(&it.text)).collect());
        }
        text
    }

    pub(crate) fn markup(&self) -> Markup {
        let number = |column: usize| {
            let mut cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.any(|cell| cell.class.starts_with('n'))
        };
        // A spreadsheet gets raw figures, so it has to be told what they are.
        let named = |column: usize, head: &str| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            let unit = cells.map(|cell| cell.unit).find(|unit| !unit.is_empty())?;
            Some(format!("{head} ({unit})"))
        };
        html! {
            div.table {
                // It stays where it is while a wide table is moved to and fro below it.
                p.caption aria-hidden="true" { (self.caption) }
                div.scroll { table aria-label=(self.caption) {
                    thead { tr {
                        @for (i, head) in self.head.iter().enumerate() {
                            th scope="col" class=[number(i).then_some("n")] data-v=[named(i, head)] { (head) }
                        }
                    } }
                    tbody {
                        @for row in &self.rows { tr {
                            @for (i, cell) in row.iter().enumerate() {
                                @let class = Some(cell.class).filter(|it| !it.is_empty());
                                @if i == 0 {
                                    th scope="row" class=[class] data-v=[cell.raw.as_ref()] { (cell.text) }
                                } @else {
                                    td class=[class] data-v=[cell.raw.as_ref()] { (cell.text) }
                                }
                            }
                        } }
                    }
                } }
                button.copy type="button" { "Copy as CSV" }
            }
        }
    }
}
