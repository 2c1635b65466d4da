//! The work of a phase: requests, subscriptions, or rounds of several steps.

use serde::{Deserialize, Serialize};

use crate::connect::Connect;
use crate::error::PlanError;
use crate::history::History;
use crate::items_and_nodes::{Items, NewNodes};
use crate::nodes::Nodes;
use crate::pubsub::{Listen, Publish};
use crate::request::{Browse, Call, Read, Register, Translate, Write, some};
use crate::sequence::{Request, Sequences};
use crate::subscribe::Subscribe;

/// What the requests of a phase do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "service", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Work {
    /// Read attributes.
    Read(Read),
    /// Write values.
    Write(Write),
    /// Browse references.
    Browse(Browse),
    /// Translate browse paths to node ids.
    Translate(Translate),
    /// Call a method.
    Call(Call),
    /// Read registered nodes.
    Register(Register),
    /// Read histories.
    History(History),
    /// Subscribe to values.
    Subscribe(Box<Subscribe>),
    /// Open and close channels and sessions.
    Connect(Connect),
    /// Create, modify and delete monitored items.
    Items(Items),
    /// Add and delete nodes.
    Nodes(NewNodes),
    /// What simulated users do, one thing after the other.
    Sequence(Box<Sequences>),
    /// Publish signals, and listen to them.
    Publish(Box<Publish>),
    /// Listen to a publisher.
    Listen(Box<Listen>),
}

impl From<Request> for Work {
    fn from(request: Request) -> Self {
        match request {
            Request::Read(read) => Self::Read(read),
            Request::Write(write) => Self::Write(write),
            Request::Browse(browse) => Self::Browse(browse),
            Request::Call(call) => Self::Call(call),
        }
    }
}

impl Work {
    /// The command and the service's name in files.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Read(_) => "read",
            Self::Write(_) => "write",
            Self::Browse(_) => "browse",
            Self::Translate(_) => "translate",
            Self::Call(_) => "call",
            Self::Register(_) => "register",
            Self::History(_) => "history",
            Self::Subscribe(_) => "subscribe",
            Self::Connect(_) => "connect",
            Self::Items(_) => "items",
            Self::Nodes(_) => "nodes",
            Self::Sequence(_) => "sequence",
            Self::Publish(_) => "publish",
            Self::Listen(_) => "listen",
        }
    }

    /// Nodes, paths or calls in a request; of a subscription, items in a request that creates some, zero for
    /// as many as the server takes.
    pub fn batch(&self) -> u32 {
        match self {
            Self::Subscribe(subscribe) => subscribe.items_per_call.unwrap_or(0),
            Self::Items(items) => items.items_per_call.unwrap_or(0),
            Self::Nodes(new) => new.nodes_per_call.unwrap_or(0),
            Self::Connect(_) | Self::Sequence(_) | Self::Publish(_) | Self::Listen(_) => 1,
            Self::Read(Read { batch, .. })
            | Self::Register(Register {
                read: Read { batch, .. },
                ..
            })
            | Self::Write(Write { batch, .. })
            | Self::Browse(Browse { batch, .. })
            | Self::Translate(Translate { batch, .. })
            | Self::Call(Call { batch, .. })
            | Self::History(History { batch, .. }) => *batch,
        }
    }

    /// What requests name, in turn; a translation or a call names none of its own.
    pub fn nodes(&self) -> Option<&Nodes> {
        match self {
            Self::Subscribe(subscribe) => Some(&subscribe.nodes),
            Self::Read(Read { nodes, .. })
            | Self::Register(Register {
                read: Read { nodes, .. },
                ..
            })
            | Self::Write(Write { nodes, .. })
            | Self::Browse(Browse { nodes, .. })
            | Self::History(History { nodes, .. }) => Some(nodes),
            Self::Items(Items { nodes, .. }) => Some(nodes),
            Self::Translate(_)
            | Self::Call(_)
            | Self::Connect(_)
            | Self::Nodes(_)
            | Self::Sequence(_)
            | Self::Publish(_)
            | Self::Listen(_) => None,
        }
    }

    /// The steps of what is done in rounds of them, each of which has its own times; none of what is a
    /// request and its answer.
    pub fn steps(&self) -> &'static [&'static str] {
        match self {
            Self::Connect(connect) => connect.steps(),
            Self::Items(_) => Items::STEPS,
            Self::Nodes(_) => NewNodes::STEPS,
            Self::Sequence(sequences) => sequences.names(),
            _ => &[],
        }
    }

    /// Whether it is PubSub: there is no server that would be asked, and so no target.
    pub const fn is_pubsub(&self) -> bool {
        matches!(self, Self::Publish(_) | Self::Listen(_))
    }

    /// Whether it is a publisher that nobody here listens to.
    pub fn only_publishes(&self) -> bool {
        matches!(self, Self::Publish(plan) if plan.listeners == 0)
    }

    /// Whether it makes sense; what does not is named.
    pub fn check(&self) -> Result<(), PlanError> {
        if let Self::Subscribe(subscribe) = self {
            return subscribe.check();
        }
        match self {
            Self::Connect(connect) => return connect.check(),
            Self::Items(items) => return items.check(),
            Self::Nodes(new) => return new.check(),
            Self::Sequence(sequences) => return sequences.check(),
            Self::Publish(publish) => return publish.check(),
            Self::Listen(listen) => return listen.check(),
            _ => {}
        }
        some(self.batch(), self.nodes())?;
        if let Self::History(history) = self {
            history.check()?;
        }
        if let Self::Translate(Translate { paths, .. }) = self {
            if paths.is_empty() {
                return Err(PlanError::new(
                    "path",
                    "none",
                    "one or more, such as /Objects/2:Folder",
                ));
            }
            if let Some(path) = paths.iter().find(|path| path.has_wildcard()) {
                return Err(PlanError::new("path", path, "names without a star"));
            }
        }
        Ok(())
    }
}
