//! Ids in a file: with aliases, and with the file's own namespace indices.

use std::collections::HashMap;
use std::str::FromStr;

use wire::types::{NodeId, QualifiedName};

use super::leaf::Wrong;

/// What ids in a file mean.
#[derive(Debug)]
pub struct Ids<'a> {
    /// Names for ids.
    pub aliases: HashMap<&'a str, &'a str>,
    /// The server's index of each namespace of the file.
    pub namespaces: &'a [u16],
}

impl Ids<'_> {
    /// The id that is meant.
    pub fn of(&self, text: &str, line: usize) -> Result<NodeId, Wrong> {
        let text = text.trim();
        let meant = self.aliases.get(text).copied().unwrap_or(text);
        let mut id = NodeId::from_str(meant).map_err(|_| {
            let what =
                format!("{text:?} is no node (want i=85, ns=1;s=Name, or an alias of the file)");
            (line, what)
        })?;
        id.namespace = self.namespace(id.namespace, line)?;
        Ok(id)
    }

    /// The server's index of a namespace.
    pub fn namespace(&self, index: u16, line: usize) -> Result<u16, Wrong> {
        let found = self.namespaces.get(usize::from(index));
        found.copied().ok_or_else(|| {
            let most = self.namespaces.len().saturating_sub(1);
            let what = format!("namespace {index} (want 0 to {most}: those of NamespaceUris)");
            (line, what)
        })
    }

    /// `1:Name`.
    pub fn name(&self, text: &str, line: usize) -> Result<QualifiedName, Wrong> {
        let (index, name) = match text.split_once(':') {
            Some((index, name)) if !index.is_empty() => match index.parse() {
                Ok(index) => (index, name),
                Err(_) => (0, text),
            },
            _ => (0, text),
        };
        Ok(QualifiedName::new(self.namespace(index, line)?, name))
    }
}
