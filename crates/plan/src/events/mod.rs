//! Events to be subscribed to: which fields of them, and which of them at all (Part 4, 7.22.3).

mod field;
mod filter;
mod standard;
#[cfg(test)]
mod tests;
mod token;

use serde::{Deserialize, Serialize};

pub use field::{EventType, Field};
pub use filter::{Comparison, Expression, Literal, Operand, Where, WhereError};
pub use standard::{Holds, Known};

use crate::text;

/// What is asked of events.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Events {
    /// Their fields, in the order of the select clauses.
    #[serde(with = "text::list")]
    pub select: Vec<Field>,
    /// Which of them; none: all.
    #[serde(default, rename = "where", with = "text::option")]
    pub filter: Option<Where>,
    /// The states of all conditions are asked for once the items are there (Part 9, 5.5.7).
    #[serde(default)]
    pub refresh: bool,
}

impl Events {
    /// What is selected when nothing is said: what all events have.
    pub const USUAL: [&str; 8] = [
        "EventId",
        "EventType",
        "SourceNode",
        "SourceName",
        "Time",
        "ReceiveTime",
        "Message",
        "Severity",
    ];

    /// What accounting needs: who an event is, what, and when.
    pub const NEEDED: [&str; 4] = ["EventId", "EventType", "Time", "ReceiveTime"];

    /// Fields to ask for: those that are wanted, the usual ones if none is, and behind them those that
    /// accounting needs.
    pub fn fields(&self) -> Vec<Field> {
        let usual = || Self::USUAL.iter().map(|path| Field::standard(path));
        let mut fields: Vec<Field> = match self.select.is_empty() {
            true => usual().collect(),
            false => self.select.clone(),
        };
        for path in Self::NEEDED {
            let needed = Field::standard(path);
            if !fields.contains(&needed) {
                fields.push(needed);
            }
        }
        fields
    }
}
