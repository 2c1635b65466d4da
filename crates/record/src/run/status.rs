//! Operations by how they ended.

use serde::{Deserialize, Serialize};

/// How often a status came.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// The code, without flags.
    pub code: u32,
    /// The specification's name: `BadNodeIdUnknown`.
    pub name: String,
    /// How often.
    pub count: u64,
}
