//! What a session asks, over and over: prepared once, sent by copying.
//!
//! [`Operations`] are what a service is asked for, each encoded once and shared by all sessions:
//! nodes to read, values to write, methods to call. An [`Asker`] is one session's way through
//! them: the head of its requests, and which operations come next. [`Service::judge`] says what a
//! response amounts to without building it.
//!
//! One file each says how the operations of a service are made.

mod aggregates;
mod answer;
mod browse;
mod call;
pub(crate) mod events;
pub(crate) mod find;
mod history;
mod operations;
mod prepare;
mod read;
mod register;
pub(crate) mod subscribe;
mod translate;
mod value;
pub(crate) mod watch;
mod write;

pub use answer::{Answer, Point};
pub use browse::next;
pub use events::{Filter, Places};
pub use find::{LeftOut, nodes as resolve};
pub use operations::{Asker, Operations, Selection};
pub use prepare::Prepared;
pub use subscribe::{Requests, Terms};
pub use write::Original;

use plan::NodeError;
use thiserror::Error;
use wire::service::EncodeError;
use wire::template::TemplateError;
use wire::types::{NodeId, StatusCode};

use crate::transport::CallError;

/// A service that can be asked over and over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Service {
    /// Read (Part 4, 5.11.2).
    Read,
    /// Write (Part 4, 5.11.4).
    Write,
    /// Browse, and BrowseNext until all is there (Part 4, 5.9.2).
    Browse,
    /// TranslateBrowsePathsToNodeIds (Part 4, 5.9.4).
    Translate,
    /// Call (Part 4, 5.12.2).
    Call,
    /// RegisterNodes (Part 4, 5.9.5).
    Register,
    /// HistoryRead of raw values, until all is there (Part 4, 5.11.3).
    History,
}

impl Service {
    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "Read",
            Self::Write => "Write",
            Self::Browse => "Browse",
            Self::Translate => "TranslateBrowsePathsToNodeIds",
            Self::Call => "Call",
            Self::Register => "RegisterNodes",
            Self::History => "HistoryRead",
        }
    }

    /// The server's limit on the operations of a request, as it stands under OperationLimits.
    pub fn limit(self) -> &'static str {
        match self {
            Self::Read => "MaxNodesPerRead",
            Self::Write => "MaxNodesPerWrite",
            Self::Browse => "MaxNodesPerBrowse",
            Self::Translate => "MaxNodesPerTranslateBrowsePathsToNodeIds",
            Self::Call => "MaxNodesPerMethodCall",
            Self::Register => "MaxNodesPerRegisterNodes",
            Self::History => "MaxNodesPerHistoryReadData",
        }
    }
}

/// So many names are told where none is near.
const TOLD: usize = 8;

/// What may have been meant instead of a name that is not there.
fn instead(name: &str, there: &[String]) -> String {
    match plan::scenario::nearest(name, there.iter().map(String::as_str)) {
        Some(near) => format!(" (did you mean {near}?)"),
        None if there.is_empty() => String::new(),
        None => {
            let more = if there.len() > TOLD { ", …" } else { "" };
            let told: Vec<&str> = there.iter().take(TOLD).map(String::as_str).collect();
            format!(" (there are {}{more})", told.join(", "))
        }
    }
}

/// Why the operations of a run could not be prepared.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum WorkError {
    /// There is no such node.
    #[error(transparent)]
    Spec(NodeError),
    /// Nothing is where a path leads to.
    #[error("{path}: there is no {step}{}", instead(.step, .there))]
    NoSuchPath {
        /// The path.
        path: String,
        /// The name that is not there.
        step: String,
        /// The names that are.
        there: Vec<String>,
    },
    /// Of what a path with a wildcard leads to, nothing is of use.
    #[error("{0}; name other nodes")]
    NoneHas(LeftOut),
    /// One node is wanted.
    #[error("{spec} leads to {found} nodes (want one)")]
    NotOne {
        /// As typed.
        spec: String,
        /// How many there are.
        found: usize,
    },
    /// More than the server takes.
    #[error(
        "batch {batch} is more than the server takes in one {service}: {limit} says {allowed} (want that or \
         less, or --ignore-limits --allow overload)"
    )]
    Limit {
        /// The service.
        service: &'static str,
        /// The limit.
        limit: &'static str,
        /// Its value.
        allowed: u32,
        /// What was asked for.
        batch: u32,
    },
    /// A later version of the plan knows it.
    #[error("this generator has no {0}")]
    Unknown(&'static str),
    /// A method takes other arguments.
    #[error("method {method} takes {wanted}; {got} were given")]
    Arguments {
        /// The method.
        method: NodeId,
        /// What it takes.
        wanted: String,
        /// How many there are.
        got: usize,
    },
    /// The server was asked for something on the way and refused.
    #[error(transparent)]
    Call(#[from] CallError),
    /// A request cannot be made of it.
    #[error("the request cannot be made: {0}")]
    Template(#[from] TemplateError),
    /// An operation cannot be encoded.
    #[error("the request cannot be encoded: {0}")]
    Encode(#[from] EncodeError),
    /// The same, for a part of a request.
    #[error("the request cannot be encoded: {0}")]
    Part(#[from] wire::types::Error),
    /// A node is not what is needed.
    #[error("{node}: {what}: {status}")]
    Node {
        /// The node.
        node: NodeId,
        /// What was wanted of it.
        what: &'static str,
        /// What the server said.
        status: StatusCode,
    },
    /// A value that was typed does not fit a node.
    #[error("{node} takes a {wanted}, not {text:?}")]
    Value {
        /// The node.
        node: NodeId,
        /// Its type.
        wanted: String,
        /// What was typed.
        text: String,
    },
}

impl WorkError {
    /// Whether what was typed is at fault, and not the server.
    pub fn is_usage(&self) -> bool {
        matches!(
            self,
            Self::Spec(_)
                | Self::NotOne { .. }
                | Self::Limit { .. }
                | Self::Arguments { .. }
                | Self::Value { .. }
        )
    }
}
