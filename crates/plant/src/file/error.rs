//! What is wrong with a plant file: which field, what is allowed, where.

use std::fmt;
use std::ops::Range;
use std::path::PathBuf;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A plant file that cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// It cannot be read at all.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// Something in it is wrong.
    #[error(transparent)]
    Wrong(#[from] Wrong),
}

/// Something in a plant file that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wrong {
    /// The file, as it was named.
    pub file: String,
    /// The line, from 1 on.
    pub line: usize,
    /// The field, from the top: `namespace[0].signals[2].update`. Empty where TOML itself ends.
    pub field: String,
    /// What is wrong with it and what is allowed.
    pub what: String,
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            file,
            line,
            field,
            what,
        } = self;
        match field.is_empty() {
            true => write!(f, "{what}, {file} line {line}"),
            false => write!(f, "bad {field}: {what}, {file} line {line}"),
        }
    }
}

impl std::error::Error for Wrong {}

/// A complaint about a stretch of the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Complaint {
    /// Where, in bytes.
    pub span: Range<usize>,
    /// What is wrong and what is allowed.
    pub what: String,
}

/// What was read, or what is wrong with it.
pub type Read<T> = Result<T, Complaint>;

impl Complaint {
    /// About something that was read from the text.
    pub fn about<T>(value: &Spanned<T>, what: impl Into<String>) -> Self {
        Self {
            span: value.span(),
            what: what.into(),
        }
    }

    /// The same with its line and the name of its field.
    pub fn in_text(self, file: &str, text: &str) -> Wrong {
        let at = self.span.start.min(text.len());
        let before = text.as_bytes().get(..at).unwrap_or_default();
        Wrong {
            file: file.to_owned(),
            line: 1 + before.iter().filter(|byte| **byte == b'\n').count(),
            field: field(text, at).unwrap_or_default(),
            what: self.what,
        }
    }
}

impl From<toml::de::Error> for Complaint {
    fn from(error: toml::de::Error) -> Self {
        Self {
            span: error.span().unwrap_or(0..0),
            // One line: the rest of a syntax error's message stands in the next ones.
            what: error.message().replace('\n', ", "),
        }
    }
}

/// The innermost field around a place in the text.
fn field(text: &str, at: usize) -> Option<String> {
    let document = DeTable::parse(text).ok()?;
    let mut found = TableSearch {
        at,
        best: None,
        name: String::new(),
    };
    found.table(document.get_ref(), "");
    Some(found.name)
}

struct TableSearch {
    at: usize,
    /// The length of the shortest stretch so far that has the place in it.
    best: Option<usize>,
    name: String,
}

impl TableSearch {
    fn table(&mut self, table: &DeTable<'_>, above: &str) {
        for (key, value) in table {
            let name = match above {
                "" => key.get_ref().to_string(),
                above => format!("{above}.{}", key.get_ref()),
            };
            let (start, end) = (key.span().start, value.span().end.max(key.span().end));
            self.offer(start..end, &name);
            self.value(value, &name);
        }
    }

    fn value(&mut self, value: &Spanned<DeValue<'_>>, name: &str) {
        match value.get_ref() {
            DeValue::Table(table) => {
                self.offer(value.span(), name);
                self.table(table, name);
            }
            DeValue::Array(items) => {
                for (n, item) in items.iter().enumerate() {
                    let name = format!("{name}[{n}]");
                    self.offer(item.span(), &name);
                    self.value(item, &name);
                }
            }
            _ => {}
        }
    }

    fn offer(&mut self, span: Range<usize>, name: &str) {
        let len = span.len();
        if span.contains(&self.at) && self.best.is_none_or(|best| len <= best) {
            self.best = Some(len);
            name.clone_into(&mut self.name);
        }
    }
}
