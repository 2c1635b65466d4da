//! Tables that were kept: files of `--out`, drawn again by `uaperf report`.

use std::path::{Path, PathBuf};

use super::picture;
use super::table::{FORMAT, Table, VERSION};
use crate::failure::Failure;
use crate::results::ResultFile;

/// The page of tables in files and folders; none if the first of them is no table, or a folder without any.
pub fn page(paths: &[PathBuf]) -> Option<Result<String, Failure>> {
    let mut tables = Vec::new();
    for path in paths {
        match found(path) {
            FoundTables::None if tables.is_empty() => return None,
            FoundTables::None => {
                let shown = path.display();
                let what = format!("{shown}: is no table of `uaperf cost`, as others are");
                return Some(Err(Failure::usage(what).hint("write it to a separate page")));
            }
            FoundTables::Tables(more) => tables.extend(more),
            FoundTables::Failed(failure) => return Some(Err(failure)),
        }
    }
    let several = tables.len() > 1;
    let name = |(name, it): &(String, Table)| match &it.process {
        Some(process) if !several => process.clone(),
        _ => name.clone(),
    };
    let names: Vec<String> = tables.iter().map(name).collect();
    let named: Vec<(&str, &Table)> = std::iter::zip(&names, &tables)
        .map(|(name, (_, table))| (name.as_str(), table))
        .collect();
    Some(Ok(picture::page(&named)))
}

/// What lies at a path.
enum FoundTables {
    /// No table.
    None,
    /// Some, by the names of their files.
    Tables(Vec<(String, Table)>),
    /// One that cannot be read.
    Failed(Failure),
}

fn found(path: &Path) -> FoundTables {
    if !path.is_dir() {
        return match one(path) {
            None => FoundTables::None,
            Some(Ok(table)) => FoundTables::Tables(vec![table]),
            Some(Err(failure)) => FoundTables::Failed(failure),
        };
    }
    let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries.map(|it| it.path()).collect();
    files.retain(|it| it.extension().is_some_and(|ending| ending == "json"));
    files.sort();
    // A folder has tables or runs, and runs are large.
    if files.first().is_none_or(|it| one(it).is_none()) {
        return FoundTables::None;
    }
    let tables: Result<Vec<_>, Failure> = files.iter().filter_map(|it| one(it)).collect();
    match tables {
        Err(failure) => FoundTables::Failed(failure),
        Ok(tables) => FoundTables::Tables(tables),
    }
}

/// The table of a file, with the file's name.
fn one(file: &Path) -> Option<Result<(String, Table), Failure>> {
    let table: Result<Table, Failure> = ResultFile::open(file)?.read(FORMAT, VERSION)?;
    let name = file.file_stem().unwrap_or_default().to_string_lossy();
    Some(table.map(|table| (name.into_owned(), table)))
}
