//! `@file`: one a line.

use std::fmt::Display;
use std::io;
use std::str::FromStr;

use thiserror::Error;

/// What is wrong with a file of targets or nodes.
#[derive(Debug, Error)]
pub enum ListError {
    /// The file cannot be read.
    #[error("cannot read {file}: {error}")]
    Unreadable {
        /// As typed behind the `@`.
        file: String,
        /// What the system says.
        error: io::Error,
    },
    /// A line is not what it should be.
    #[error("{file} line {line}: {reason}")]
    Line {
        /// As typed behind the `@`.
        file: String,
        /// Counted from one.
        line: usize,
        /// Why.
        reason: String,
    },
    /// Nothing but comments and blank lines.
    #[error("{file} lists nothing (want one a line)")]
    Empty {
        /// As typed behind the `@`.
        file: String,
    },
}

/// The entries of a file's text: one a line, blank lines and lines that begin with `#` left out.
pub fn entries<T>(file: &str, text: io::Result<String>) -> Result<Vec<T>, ListError>
where
    T: FromStr<Err: Display>,
{
    let text = text.map_err(|error| ListError::Unreadable {
        file: file.to_owned(),
        error,
    })?;
    let mut entries = Vec::new();
    for (i, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let wrong = |reason: String| ListError::Line {
            file: file.to_owned(),
            line: i + 1,
            reason,
        };
        if line.starts_with('@') {
            return Err(wrong(format!("{line:?} is a file within a file")));
        }
        entries.push(
            line.parse()
                .map_err(|error: T::Err| wrong(error.to_string()))?,
        );
    }
    if entries.is_empty() {
        return Err(ListError::Empty {
            file: file.to_owned(),
        });
    }
    Ok(entries)
}
