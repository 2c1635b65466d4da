//! Where `/proc` and `/sys` are read: of this machine, or a folder in their place.

use std::path::Path;

use crate::figure::{Figure, NotAvailable};
use crate::files;

/// The root of the files by which Linux describes itself.
///
/// Such a folder holds a part of `/proc` and `/sys` of some machine. So what is read from
/// hardware that is not here can be tested.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tree {
    root: String,
}

impl Default for Tree {
    fn default() -> Self {
        Self::here()
    }
}

impl Tree {
    /// This machine.
    pub const fn here() -> Self {
        Self {
            root: String::new(),
        }
    }

    /// What lies in this folder.
    pub fn at(folder: &Path) -> Self {
        Self {
            root: folder.display().to_string(),
        }
    }

    /// Where a file of it is. Paths begin with a slash.
    pub(crate) fn path(&self, path: &str) -> String {
        format!("{}{path}", self.root)
    }

    pub(crate) fn text(&self, path: &str) -> Figure<String> {
        files::text(&self.path(path))
    }

    pub(crate) fn line(&self, path: &str) -> Figure<String> {
        files::line(&self.path(path))
    }

    /// The names in a folder, sorted.
    pub(crate) fn names(&self, path: &str) -> Figure<Vec<String>> {
        let mut names = files::names(&self.path(path))?;
        names.sort();
        Ok(names)
    }

    /// The number that a file consists of.
    pub(crate) fn number<T: std::str::FromStr>(&self, path: &str) -> Figure<T> {
        let line = self.line(path)?;
        let number = line.parse();
        number.map_err(|_| NotAvailable::because(format!("{path} says {line:?}, no number")))
    }
}
