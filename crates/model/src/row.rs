//! What a model is fitted to: a row for each run, as CSV or out of result files.

use sha2::{Digest, Sha256};

use crate::workload::{Security, Workload};

/// The version of the columns. A table may say it in a column `schema`.
pub const SCHEMA: u32 = 1;

/// A run: what was asked for, and what it cost.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Its name.
    pub run: String,
    /// What was asked for.
    pub workload: Workload,
    /// What the server spent, in percent of a core.
    pub cpu_percent: f64,
    /// Values per second that came, where that is known.
    pub values_per_s: Option<f64>,
    /// The server's memory, where that is known.
    pub rss_bytes: Option<f64>,
    /// Bytes per second of its messages to clients, where that is known.
    pub bytes_per_s: Option<f64>,
    /// How long was measured, where that is known.
    pub window_s: Option<f64>,
}

/// So far from the values that were asked for, the server was overloaded or the load was another one.
const OFF: f64 = 0.05;

impl Row {
    /// Whether the load that was asked for happened. What an overloaded server spends says nothing of costs.
    pub fn happened(&self) -> bool {
        let wanted = self.workload.values_per_s();
        match self.values_per_s {
            Some(came) if wanted > 0.0 => {
                // A window has one publishing more or less in it.
                let interval = self.workload.publishing_ms.max(self.workload.change_ms) / 1e3;
                let edge = self.window_s.map_or(0.0, |window| interval / window);
                (came / wanted - 1.0).abs() <= OFF + edge
            }
            _ => true,
        }
    }

    /// The same for runs that asked for the same.
    pub fn configuration(&self) -> String {
        let pubsub = self.workload.pubsub.iter().cloned();
        let cells = cells(&self.workload).into_iter().chain(pubsub);
        cells.collect::<Vec<_>>().join(",")
    }
}

/// Why a table cannot be read.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum RowError {
    /// There is no row.
    #[error("no rows: want a line of column names and a line for each run")]
    Empty,
    /// A column that has to be there is not.
    #[error("no column {0} (want at least sessions and cpu_percent)")]
    NoColumn(&'static str),
    /// A column that means nothing here.
    #[error("column {0:?} is not known (known: {known})", known = COLUMNS.join(", "))]
    Unknown(String),
    /// A line has more or fewer cells than there are columns.
    #[error("line {line}: {found} cells (want {wanted})")]
    Cells {
        /// Which, from 1 on.
        line: usize,
        /// How many there are.
        found: usize,
        /// How many columns there are.
        wanted: usize,
    },
    /// A cell is not what its column wants.
    #[error("line {line}, column {column}: {found:?} (want {want})")]
    Cell {
        /// Which line, from 1 on.
        line: usize,
        /// Which column.
        column: &'static str,
        /// What stands there.
        found: String,
        /// What is wanted.
        want: &'static str,
    },
    /// A later version wrote it.
    #[error("schema {0} is of a newer uaperf (this one reads {SCHEMA}): update uaperf")]
    Newer(u32),
}

/// The columns of the table, in order. The last two are written only where something is in them.
pub const COLUMNS: [&str; 21] = [
    "schema",
    "run",
    "sessions",
    "subscriptions",
    "items",
    "publishing_ms",
    "sampling_ms",
    "change_ms",
    "queue",
    "variables",
    "payload_bytes",
    "reads_per_s",
    "writes_per_s",
    "batch",
    "security",
    "cpu_percent",
    "values_per_s",
    "rss_bytes",
    "window_s",
    "bytes_per_s",
    "pubsub",
];

/// The cells of a workload, in the order of the columns.
fn cells(of: &Workload) -> Vec<String> {
    let numbers = [
        of.sessions,
        of.subscriptions,
        of.items,
        of.publishing_ms,
        of.sampling_ms,
        of.change_ms,
        of.queue,
        of.variables,
        of.payload_bytes,
        of.reads_per_s,
        of.writes_per_s,
        of.batch,
    ];
    let numbers = numbers.iter().map(f64::to_string);
    numbers.chain([of.security.to_string()]).collect()
}

/// A table of rows, as [`read`] takes it.
pub fn write(rows: &[Row]) -> String {
    // Tables that know nothing of bytes or PubSub are as they were, and so is their hash.
    let bytes = rows.iter().any(|row| row.bytes_per_s.is_some());
    let pubsub = rows.iter().any(|row| row.workload.pubsub.is_some());
    let written = COLUMNS.into_iter().filter(|column| match *column {
        "bytes_per_s" => bytes,
        "pubsub" => pubsub,
        _ => true,
    });
    let mut table = written.collect::<Vec<_>>().join(",") + "\n";
    for row in rows {
        let known = |it: Option<f64>| it.map_or_else(String::new, |it| it.to_string());
        // A name with a comma would be two cells.
        let mut line = vec![SCHEMA.to_string(), row.run.replace([',', '\n', '"'], " ")];
        line.extend(cells(&row.workload));
        line.push(row.cpu_percent.to_string());
        line.extend([row.values_per_s, row.rss_bytes, row.window_s].map(known));
        if bytes {
            line.push(known(row.bytes_per_s));
        }
        if pubsub {
            line.push(row.workload.pubsub.clone().unwrap_or_default());
        }
        table += &(line.join(",") + "\n");
    }
    table
}

/// What tells data sets apart: the hash of their rows.
pub fn hash(rows: &[Row]) -> String {
    let digest = Sha256::digest(write(rows).as_bytes());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Reads a table. Empty lines and lines that begin with # are passed over.
pub fn read(text: &str) -> Result<Vec<Row>, RowError> {
    let mut lines = text
        .lines()
        .enumerate()
        .map(|(at, line)| (at + 1, line.trim()))
        .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let (_, head) = lines.next().ok_or(RowError::Empty)?;
    let head: Vec<&str> = head.split(',').map(str::trim).collect();
    if let Some(unknown) = head.iter().find(|it| !COLUMNS.contains(it)) {
        return Err(RowError::Unknown((*unknown).to_owned()));
    }
    for needed in ["sessions", "cpu_percent"] {
        if !head.contains(&needed) {
            return Err(RowError::NoColumn(needed));
        }
    }
    let rows: Vec<Row> = lines
        .map(|(number, line)| {
            let cells: Vec<&str> = line.split(',').map(str::trim).collect();
            if cells.len() != head.len() {
                return Err(RowError::Cells {
                    line: number,
                    found: cells.len(),
                    wanted: head.len(),
                });
            }
            Line {
                number,
                head: &head,
                cells,
            }
            .row()
        })
        .collect::<Result<_, _>>()?;
    match rows.is_empty() {
        true => Err(RowError::Empty),
        false => Ok(rows),
    }
}

/// A line of a table.
struct Line<'a> {
    number: usize,
    head: &'a [&'a str],
    cells: Vec<&'a str>,
}

impl Line<'_> {
    fn text(&self, column: &str) -> Option<&str> {
        let at = self.head.iter().position(|it| *it == column)?;
        Some(self.cells[at]).filter(|it| !it.is_empty())
    }

    fn wrong(&self, column: &'static str, want: &'static str) -> RowError {
        RowError::Cell {
            line: self.number,
            column,
            found: self.text(column).unwrap_or_default().to_owned(),
            want,
        }
    }

    fn number(&self, column: &'static str) -> Result<Option<f64>, RowError> {
        let Some(text) = self.text(column) else {
            return Ok(None);
        };
        match text.parse::<f64>() {
            Ok(number) if number.is_finite() && number >= 0.0 => Ok(Some(number)),
            _ => Err(self.wrong(column, "a number of 0 or more")),
        }
    }

    fn row(&self) -> Result<Row, RowError> {
        if let Some(schema) = self.number("schema")?
            && schema > f64::from(SCHEMA)
        {
            return Err(RowError::Newer(schema as u32));
        }
        let or = |column, otherwise: f64| Ok(self.number(column)?.unwrap_or(otherwise));
        let needed = |column| {
            self.number(column)?
                .ok_or_else(|| self.wrong(column, "a number of 0 or more"))
        };
        let security = match self.text("security") {
            Some(text) => text
                .parse()
                .map_err(|_| self.wrong("security", "none, Sign or SignAndEncrypt"))?,
            None => Security::None,
        };
        let items = or("items", 0.0)?;
        let subscribed = f64::from(u8::from(items > 0.0));
        let publishing_ms = or("publishing_ms", 0.0)?;
        if items > 0.0 && publishing_ms <= 0.0 {
            return Err(self.wrong("publishing_ms", "more than 0 where there are items"));
        }
        let mut workload = Workload {
            sessions: needed("sessions")?,
            subscriptions: or("subscriptions", subscribed)?,
            items,
            publishing_ms,
            sampling_ms: or("sampling_ms", publishing_ms)?,
            change_ms: or("change_ms", publishing_ms)?,
            queue: or("queue", 1.0)?,
            variables: 0.0,
            payload_bytes: or("payload_bytes", 8.0)?,
            reads_per_s: or("reads_per_s", 0.0)?,
            writes_per_s: or("writes_per_s", 0.0)?,
            batch: or("batch", 1.0)?,
            security,
            pubsub: self.text("pubsub").map(str::to_owned),
        };
        let variables = match workload.pubsub {
            None => workload.all_items(),
            Some(_) => 0.0,
        };
        workload.variables = or("variables", variables)?;
        Ok(Row {
            run: self
                .text("run")
                .map_or_else(|| format!("line {}", self.number), str::to_owned),
            workload,
            cpu_percent: needed("cpu_percent")?,
            values_per_s: self.number("values_per_s")?,
            rss_bytes: self.number("rss_bytes")?,
            window_s: self.number("window_s")?,
            bytes_per_s: self.number("bytes_per_s")?,
        })
    }
}
