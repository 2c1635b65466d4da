//! A plan that makes no sense.

use thiserror::Error;

/// One field of a plan, its value, and what is allowed. The program puts `--` before the field, a
/// scenario its line.
#[derive(Debug, Clone, Error, PartialEq, Eq)]
#[error("bad {field}: {value} (want {want})")]
pub struct PlanError {
    /// The field, as the option is called.
    pub field: &'static str,
    /// What was given.
    pub value: String,
    /// What is allowed.
    pub want: &'static str,
}

impl PlanError {
    /// Field, value, and what is allowed.
    pub fn new(field: &'static str, value: impl ToString, want: &'static str) -> Self {
        Self {
            field,
            value: value.to_string(),
            want,
        }
    }
}
