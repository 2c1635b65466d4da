//! What is read of histories.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::aggregate::Aggregating;
use crate::error::PlanError;
use crate::nodes::Nodes;
use crate::request::Timestamps;
use crate::text::{self, nanos};

/// Reads of what variables were (Part 4, 5.11.3; Part 11, 6.5.3).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct History {
    /// Whose history.
    pub nodes: Nodes,
    /// Nodes in a request.
    pub batch: u32,
    /// How far back from where it ends.
    #[serde(rename = "last_ns", with = "nanos")]
    pub last: Duration,
    /// Where it ends: so long before the server's time when the phase is prepared.
    #[serde(rename = "ago_ns", with = "nanos")]
    pub ago: Duration,
    /// Values in an answer for each node; zero: as many as the server likes.
    pub values: u32,
    /// From the newest to the oldest.
    pub backwards: bool,
    /// The values at or beyond both ends, too.
    pub bounds: bool,
    /// Which timestamps are asked for.
    #[serde(with = "text")]
    pub timestamps: Timestamps,
    /// What the server is to make of the values of an interval, instead of telling them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aggregate: Option<Aggregating>,
    /// Fetch the rest with continuation points; without it the server is told to forget it.
    pub follow: bool,
}

impl History {
    /// The last hour of these nodes, to its end.
    pub fn new(nodes: Nodes) -> Self {
        Self {
            nodes,
            batch: 1,
            last: Duration::from_secs(3600),
            ago: Duration::ZERO,
            values: 0,
            backwards: false,
            bounds: false,
            timestamps: Timestamps::default(),
            aggregate: None,
            follow: true,
        }
    }

    /// Whether it makes sense; what does not is named.
    pub fn check(&self) -> Result<(), PlanError> {
        if self.last.is_zero() {
            return Err(PlanError::new("last", "0s", "more than nothing"));
        }
        let Some(aggregate) = self.aggregate else {
            return Ok(());
        };
        let only = "none with --aggregate: it is about values as they were";
        if self.values > 0 {
            return Err(PlanError::new("values", self.values, only));
        }
        if self.bounds {
            return Err(PlanError::new("bounds", "true", only));
        }
        // Part 11, 6.5.4.2: a request names an aggregate for each of its nodes, and those with a rest are fewer.
        if self.batch > 1 && self.follow {
            let only = "1 with --aggregate, unless --no-follow leaves out what does not fit";
            return Err(PlanError::new("batch", self.batch, only));
        }
        aggregate.check()
    }
}
