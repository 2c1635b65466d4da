//! A column for each run, a row for each figure.

use plan::Measure;
use plan::unit::{Bytes, Rate, duration};
use record::run::{Phase, Run};

use super::{cpu, differences, phase, phases, ratio, response, short, started};
use crate::page::{Page, WIDTH, clean, cut, grouped};
use crate::style::{Ink, Style};
use crate::summary::{ink, product};

/// As many columns as fit.
pub(super) const MOST: usize = 4;
const LABEL: usize = 16;
const COLUMN: usize = (WIDTH - LABEL) / MOST;

/// How a figure becomes text; none where it was not measured.
type Cell = fn(f64) -> String;

/// What is compared: its name, where it is in a phase, how it is shown.
struct Row {
    name: &'static str,
    of: fn(&Phase) -> Option<f64>,
    show: Cell,
}

const ROWS: &[Row] = &[
    Row {
        name: "rate",
        of: |phase| phase.total.rate_per_s,
        show: Rate::show,
    },
    Row {
        name: "values",
        of: |phase| phase.total.values_per_s,
        show: Rate::show,
    },
    Row {
        name: "errors",
        of: |phase| Some(phase.total.errors as f64),
        show: |count| grouped(count as u64),
    },
    Row {
        name: "response mean",
        of: |phase| phase.total.histogram("response").mean(),
        show: duration::show_nanos,
    },
    Row {
        name: "  deviation",
        of: |phase| phase.total.histogram("response").deviation(),
        show: duration::show_nanos,
    },
    Row {
        name: "  p50",
        of: |phase| response(phase, 0.5),
        show: duration::show_nanos,
    },
    Row {
        name: "  p90",
        of: |phase| response(phase, 0.9),
        show: duration::show_nanos,
    },
    Row {
        name: "  p99",
        of: |phase| response(phase, 0.99),
        show: duration::show_nanos,
    },
    Row {
        name: "  p99.9",
        of: |phase| response(phase, 0.999),
        show: duration::show_nanos,
    },
    Row {
        name: "  max",
        of: |phase| {
            phase
                .total
                .histogram("response")
                .max()
                .map(|max| max as f64)
        },
        show: duration::show_nanos,
    },
    Row {
        name: "service mean",
        of: |phase| phase.total.histogram("service").mean(),
        show: duration::show_nanos,
    },
    Row {
        name: "lateness mean",
        of: |phase| phase.total.histogram("lateness").mean(),
        show: duration::show_nanos,
    },
    Row {
        name: "request size",
        of: |phase| phase.total.requests.mean_bytes,
        show: Bytes::show,
    },
    Row {
        name: "response size",
        of: |phase| phase.total.responses.mean_bytes,
        show: Bytes::show,
    },
    Row {
        name: "generator CPU",
        of: |phase| cpu(phase, Measure::GeneratorCpu),
        show: percent,
    },
    Row {
        name: "server CPU",
        of: |phase| cpu(phase, Measure::Cpu),
        show: percent,
    },
];

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

fn cells(page: &mut Page, label: &str, cells: impl Iterator<Item = String>) {
    let mut line = format!("{label:LABEL$}");
    for cell in cells {
        line.push_str(&format!("{:>COLUMN$}", cut(&clean(&cell), COLUMN - 1)));
    }
    page.line(&line);
}

pub(super) fn screen(runs: &[(String, Run)], style: Style) -> String {
    let mut page = Page::new(style);
    cells(&mut page, "", runs.iter().map(|(name, _)| short(name)));
    cells(
        &mut page,
        "started",
        runs.iter().map(|(_, run)| started(run)),
    );
    // Padded first: colours take no room.
    let verdicts = runs.iter().map(|(_, run)| {
        let padded = format!("{:>COLUMN$}", run.verdict.kind);
        style.ink(ink(run.verdict.kind), padded)
    });
    page.line(&format!(
        "{:LABEL$}{}",
        "verdict",
        verdicts.collect::<String>()
    ));
    cells(
        &mut page,
        "command",
        runs.iter().map(|(_, run)| run.command.clone()),
    );
    let product = |run: &Run| {
        run.targets
            .first()
            .and_then(product)
            .unwrap_or_else(|| "n/a".to_owned())
    };
    cells(
        &mut page,
        "product",
        runs.iter().map(|(_, run)| product(run)),
    );
    let security = |run: &Run| match run.targets.first() {
        Some(target) => target.security.clone(),
        None => String::new(),
    };
    cells(
        &mut page,
        "security",
        runs.iter().map(|(_, run)| security(run)),
    );
    for name in phases(runs) {
        page.gap();
        if phases(runs).len() > 1 {
            page.line(&style.ink(Ink::Bold, cut(&clean(name), WIDTH)));
        }
        for row in ROWS {
            let figures: Vec<Option<f64>> = runs
                .iter()
                .map(|(_, run)| phase(run, name).and_then(row.of))
                .collect();
            if figures.iter().all(Option::is_none) {
                continue;
            }
            let first = figures.first().copied().flatten();
            cells(
                &mut page,
                row.name,
                figures.iter().enumerate().map(|(i, figure)| {
                    let text = figure.map_or_else(|| "n/a".to_owned(), row.show);
                    match ratio(first, *figure).filter(|_| i > 0) {
                        Some(ratio) => format!("{ratio}  {text:>8}"),
                        None => text,
                    }
                }),
            );
        }
    }
    differences(&mut page, runs);
    page.finish()
}
