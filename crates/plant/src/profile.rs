//! Address spaces that are ready to be used.

mod bench;
mod demo;

use std::time::Duration;

use crate::space::Builder;

/// What a server has beside the standard address space.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Profile {
    /// What every peer's server has too: docs/interface.md, "The bench address space".
    Bench {
        /// All scalars get a new value this often; never when not given.
        update: Option<Duration>,
    },
    /// Ten values to look at.
    Demo,
}

impl Profile {
    /// Adds its nodes.
    pub fn build(&self, builder: &mut Builder) {
        match self {
            Self::Bench { update } => bench::build(builder, *update),
            Self::Demo => demo::build(builder),
        }
    }
}
