//! The result rows of a test description document, beside the results: `NAME.results.csv`.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

use plan::description::Description;
use record::Run;
use report::cycles;

use crate::failure::Failure;

/// Where rows go, and what they are about.
pub struct Rows {
    document: Description,
    file: PathBuf,
}

impl Rows {
    /// The rows of a document: in the folder that was named for results, or where the program was started. Whoever
    /// goes on in a folder goes on with the rows that are there.
    pub fn of(
        document: Description,
        file: &Path,
        named: Option<&Path>,
        resumed: Option<&Path>,
    ) -> Self {
        let stem = file.file_stem().unwrap_or_default().to_string_lossy();
        let name = PathBuf::from(format!("{stem}.results.csv"));
        let resumed = resumed.map(|folder| folder.join(&name));
        let file = match (named, resumed.filter(|file| file.exists())) {
            (Some(folder), _) => folder.join(&name),
            (None, Some(file)) => file,
            (None, None) => name,
        };
        Self { document, file }
    }

    /// The file.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Appends what one `measure` found.
    pub fn append(&self, point: usize, run: &Run) -> anyhow::Result<()> {
        let (Some(measure), Some(phase)) = (self.document.measures.get(point), run.phases.first())
        else {
            return Ok(());
        };
        let row = cycles::Row {
            test: measure.test.clone(),
            name: measure.name.clone(),
            time: phase.started.to_string(),
            concurrency: measure.concurrency,
            count: measure.count,
            resource: measure.resource.to_string(),
            security: measure.security,
            writes: measure.writes,
            errors: phase.total.errors,
            verdict: phase.verdict.kind.name().to_owned(),
        };
        let Some(row) = cycles::row(&row, &phase.cycles_ns) else {
            return Ok(());
        };
        let text = match self.file.exists() {
            true => row,
            false => format!("{}{row}", cycles::HEAD),
        };
        let appended = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&self.file)
            .and_then(|mut file| file.write_all(text.as_bytes()));
        appended.map_err(|error| {
            Failure::new(format!("cannot write {}: {error}", self.file.display())).into()
        })
    }
}
