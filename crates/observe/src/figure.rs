//! A figure, or the reason why there is none.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

/// A figure, or the reason why there is none.
pub type Figure<T> = Result<T, NotAvailable>;

/// Why a machine does not say something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("not available: {reason}")]
pub struct NotAvailable {
    reason: Cow<'static, str>,
}

impl NotAvailable {
    /// For this reason.
    pub fn because(reason: impl Into<Cow<'static, str>>) -> Self {
        Self {
            reason: reason.into(),
        }
    }

    /// Nobody has written yet how this operating system is asked.
    pub(crate) fn here() -> Self {
        Self::because(format!("{} is not asked for it yet", std::env::consts::OS))
    }

    /// The reason.
    pub fn reason(&self) -> &str {
        &self.reason
    }
}
