//! A figure, or why there is none.

use std::fmt::Display;

use serde::{Deserialize, Serialize};

/// A figure, or the reason why it is not available. Never zero for unknown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Figure<T> {
    /// No figure.
    Missing {
        /// Why.
        not_available: String,
    },
    /// The figure.
    Known(T),
}

impl<T> Figure<T> {
    /// No figure, for this reason.
    pub fn missing(reason: impl Into<String>) -> Self {
        Self::Missing {
            not_available: reason.into(),
        }
    }

    /// The figure, if there is one.
    pub fn known(&self) -> Option<&T> {
        match self {
            Self::Known(figure) => Some(figure),
            Self::Missing { .. } => None,
        }
    }
}

impl<T> Default for Figure<T> {
    fn default() -> Self {
        Self::missing("nobody asked")
    }
}

impl<T, E: Display> From<Result<T, E>> for Figure<T> {
    fn from(result: Result<T, E>) -> Self {
        result.map_or_else(
            |error| {
                let reason = error.to_string();
                let reason = reason.strip_prefix("not available: ").unwrap_or(&reason);
                Self::missing(reason)
            },
            Self::Known,
        )
    }
}
