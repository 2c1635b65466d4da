//! What exporters for Prometheus tell of a machine and its processes.

mod exporter;
mod links;
mod text;

use std::collections::HashMap;

use self::exporter::PageFigures;
use self::text::Row;
use crate::figure::{Figure, NotAvailable};
use crate::totals::Totals;

/// A page of an exporter.
#[derive(Debug)]
pub struct Page<'a> {
    rows: HashMap<&'a str, Vec<Row<'a>>>,
}

/// What a page tells of the machine, or of one process.
#[derive(Debug, Clone, PartialEq)]
pub struct ExportedFigures {
    /// The exporter, with its version where it tells that.
    pub by: String,
    /// The process, the group of processes or the container; none for the machine.
    pub name: Option<String>,
    /// When its figures were found, on the exporter's clock, in nanoseconds since 1970; where it tells that.
    pub clock_ns: Option<u64>,
    /// The figures.
    pub totals: Totals,
}

/// So many names are given to who asked for another one.
const NAMES: usize = 8;

impl<'a> Page<'a> {
    /// A page in the text format 0.0.4.
    pub fn parse(text: &'a str) -> Figure<Self> {
        let mut rows: HashMap<&str, Vec<Row<'_>>> = HashMap::new();
        for row in text::rows(text)? {
            rows.entry(row.name).or_default().push(row);
        }
        Ok(Self { rows })
    }

    /// What it tells of this process, or of the machine. A page that has one process and no machine tells of that.
    pub fn tell(&self, name: Option<&str>) -> Figure<ExportedFigures> {
        match name {
            Some(name) => self.process(name),
            None => self.host().or_else(|why| self.only_process().ok_or(why)),
        }
    }

    fn host(&self) -> Figure<ExportedFigures> {
        let found = exporter::HOSTS.iter().find_map(|host| host(self));
        let found = found.ok_or_else(|| {
            NotAvailable::because(match self.rows.len() {
                0 => "the page is empty".to_owned(),
                n => format!(
                    "the page is none of node_exporter, windows_exporter, cAdvisor, process-exporter or uaperf \
                     (it has {n} metrics{})",
                    listed(", such as ", self.rows.keys().copied())
                ),
            })
        })?;
        Ok(self.told(found, None))
    }

    fn process(&self, name: &str) -> Figure<ExportedFigures> {
        let found = exporter::PROCESSES.iter().find_map(|of| of(self, name));
        let found = found.ok_or_else(|| {
            let all = self.names();
            NotAvailable::because(match all.is_empty() {
                true => format!(
                    "the page names no processes, and so no {name} (the process collector of the exporter may be off)"
                ),
                false => format!(
                    "the page names no process {name} (it has {}{})",
                    all.len(),
                    listed(": ", all.iter().map(String::as_str))
                ),
            })
        })?;
        Ok(self.told(found, Some(name.to_owned())))
    }

    fn only_process(&self) -> Option<ExportedFigures> {
        match self.names().as_slice() {
            [one] => self.process(one).ok(),
            [] => {
                let found = exporter::itself(self)?;
                Some(self.told(found, Some("the process of the page".to_owned())))
            }
            _ => None,
        }
    }

    fn names(&self) -> Vec<String> {
        let mut all: Vec<String> = exporter::NAMES
            .iter()
            .flat_map(|(metric, label)| self.of(metric).iter().filter_map(|it| it.label(label)))
            .filter(|it| !it.is_empty())
            .map(str::to_owned)
            .collect();
        all.sort();
        all.dedup();
        all
    }

    fn told(&self, found: PageFigures, name: Option<String>) -> ExportedFigures {
        ExportedFigures {
            by: found.by,
            name: name.map(|name| found.name.unwrap_or(name)),
            clock_ns: found.clock_ns,
            totals: found.totals,
        }
    }

    fn of(&self, metric: &str) -> &[Row<'a>] {
        self.rows.get(metric).map_or(&[], Vec::as_slice)
    }
}

fn listed<'n>(before: &str, names: impl Iterator<Item = &'n str>) -> String {
    let mut names: Vec<&str> = names.collect();
    names.sort_unstable();
    let more = if names.len() > NAMES { " …" } else { "" };
    names.truncate(NAMES);
    match names.is_empty() {
        true => String::new(),
        false => format!("{before}{}{more}", names.join(", ")),
    }
}
