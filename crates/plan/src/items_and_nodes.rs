//! What is made in a server and taken away again, in rounds: monitored items, nodes.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::error::PlanError;
use crate::nodes::{NodeSpec, Nodes};
use crate::subscribe::Sampling;
use crate::text::{self, nanos};

/// Subscriptions and monitored items that are created, modified and deleted (Part 4, 5.13 and 5.14).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Items {
    /// What is watched, in turn.
    pub nodes: Nodes,
    /// Subscriptions of a round.
    pub subscriptions: u32,
    /// Items in each of them; none: one for each node.
    pub items: Option<u32>,
    /// Items in a request; none: as many as the server takes, a thousand at most.
    pub items_per_call: Option<u32>,
    /// Publishing interval to ask for.
    #[serde(rename = "publishing_ns", with = "nanos")]
    pub publishing: Duration,
    /// Sampling interval to ask for.
    #[serde(with = "text")]
    pub sampling: Sampling,
    /// Values that the server keeps for an item.
    pub queue: u32,
}

/// Nodes and references that are added and deleted (Part 4, 5.8).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NewNodes {
    /// The node below which they are added.
    #[serde(with = "text")]
    pub below: NodeSpec,
    /// Variables of a round.
    pub count: u32,
    /// Nodes or references in a request; none: as many as the server takes, a thousand at most.
    pub nodes_per_call: Option<u32>,
    /// Also add and delete a reference from each of them to the next.
    pub references: bool,
}

impl Items {
    /// What one round is made of, in order.
    pub const STEPS: &'static [&'static str] = &[
        "create subscriptions",
        "create items",
        "modify items",
        "delete items",
        "delete subscriptions",
    ];

    /// An item for each of these nodes, in one subscription.
    pub fn new(nodes: Nodes) -> Self {
        Self {
            nodes,
            subscriptions: 1,
            items: None,
            items_per_call: None,
            publishing: Duration::from_millis(500),
            sampling: Sampling::default(),
            queue: 1,
        }
    }

    pub(crate) fn check(&self) -> Result<(), PlanError> {
        if self.nodes.is_empty() {
            let want = "one or more, such as ns=2;s=MyLevel";
            return Err(PlanError::new("node", "none", want));
        }
        some("subscriptions", Some(self.subscriptions))?;
        some("items", self.items)?;
        some("items-per-call", self.items_per_call)
    }
}

impl NewNodes {
    /// What one round is made of, in order.
    pub const STEPS: &'static [&'static str] = &[
        "add nodes",
        "add references",
        "delete references",
        "delete nodes",
    ];

    /// So many variables below this node.
    pub const fn new(below: NodeSpec, count: u32) -> Self {
        Self {
            below,
            count,
            nodes_per_call: None,
            references: true,
        }
    }

    pub(crate) fn check(&self) -> Result<(), PlanError> {
        some("count", Some(self.count))?;
        some("nodes-per-call", self.nodes_per_call)
    }
}

fn some(field: &'static str, value: Option<u32>) -> Result<(), PlanError> {
    match value {
        Some(0) => Err(PlanError::new(field, 0, "1 or more")),
        _ => Ok(()),
    }
}
