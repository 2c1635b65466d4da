//! Plant files: TOML in, a [`Plant`] out, or a complaint that names line and field.
//!
//! In two steps: `document` is the file as it is typed, with the place of each value; `read` and
//! the modules beside it make a plant of it and say what does not make sense. `docs/plant.md`
//! is the reference for people.

mod common;
mod document;
mod error;
mod event;
mod group;
mod ids;
mod limits;
mod origin;
mod pattern;
mod read;
mod replay;
mod security_group;
#[cfg(test)]
mod tests;
mod types;
mod users;

pub use error::{Complaint, FileError, Read, Wrong};
pub use limits::{LEAST_MEMORY, json_request};
pub use origin::is_origin;

use std::path::Path;

use crate::describe::Plant;
use document::Document;

impl Plant {
    /// Reads a plant file.
    pub fn read(path: &Path) -> Result<Self, FileError> {
        let text = std::fs::read_to_string(path).map_err(|source| FileError::Read {
            path: path.to_owned(),
            source,
        })?;
        let folder = path.parent().unwrap_or(Path::new(""));
        Ok(Self::parse(&text, &path.display().to_string(), folder)?)
    }

    /// A plant from the text of a file; `file` is what complaints call it. What it refers to is
    /// looked for in `folder`.
    pub fn parse(text: &str, file: &str, folder: &Path) -> Result<Self, Wrong> {
        let document: Result<Document, _> = toml::from_str(text);
        document
            .map_err(Complaint::from)
            .and_then(|document| read::plant(document, folder))
            .map_err(|complaint| complaint.in_text(file, text))
    }
}
