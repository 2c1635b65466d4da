//! The address space: nodes and references, made once and then only read; values apart.

mod added;
pub mod attribute;
mod build;
pub mod encode;
mod ids;
pub mod node;
pub mod plant_object;
mod rhythm;
pub mod server_object;
pub mod signal;
pub mod standard;
pub mod value;

pub use added::{Added, Full};
pub use build::{Base, Builder};
pub use node::{
    Body, FullNames, Method, Names, Node, NodeIndex, Shape, Signature, Variable, access,
};
pub use rhythm::{Moves, Rhythm};
pub use signal::{Pattern, Signal};
pub use value::{Live, Source, Stamp};

use std::borrow::Cow;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use wire::template::walk::RawNodeId;
use wire::types::{NodeId, ReferenceTypeId};

use crate::event::Events;
use crate::history::{Histories, History};
use ids::Index;
pub use ids::raw;

/// A reference as seen from one of its ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Link {
    /// Whether this end is its source.
    pub forward: bool,
    /// Its type.
    pub kind: NodeIndex,
    /// The other end.
    pub target: NodeIndex,
}

/// All nodes of a server.
#[derive(Debug)]
pub struct Space {
    namespaces: Vec<String>,
    /// Nodes that other servers of the process have, too.
    base: Arc<Base>,
    /// Those of them that are others here.
    changed: FxHashMap<NodeIndex, Node>,
    /// The nodes after them, and the place of the first.
    nodes: Vec<Node>,
    own_from: usize,
    ids: Index,
    links: Vec<Link>,
    /// For each node where its links begin, and where those of the last end.
    first_link: Vec<u32>,
    /// For each node that is a reference type the one it is a subtype of.
    has_subtype: Option<NodeIndex>,
    /// How variables change whose source does not tell.
    rhythms: FxHashMap<NodeIndex, Rhythm>,
    /// Real time at the origin of monotonic time, in ticks.
    anchor: i64,
    events: Arc<Events>,
    histories: Histories,
    /// What clients added.
    added: Added,
}

impl Space {
    /// The namespace table.
    pub fn namespaces(&self) -> &[String] {
        &self.namespaces
    }

    /// The number of nodes that were there from the start.
    pub fn len(&self) -> usize {
        self.own_from + self.nodes.len()
    }

    /// Whether there is no node.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Real time at the origin of monotonic time, in ticks.
    pub fn anchor(&self) -> i64 {
        self.anchor
    }

    /// What a variable was.
    pub(crate) fn history(&self, at: NodeIndex) -> Option<&History> {
        self.histories.get(&at)
    }

    /// Who raises events.
    pub fn events(&self) -> &Events {
        &self.events
    }

    /// The place of a node whose id lies in a message.
    #[inline]
    pub fn find(&self, id: RawNodeId<'_>) -> Option<NodeIndex> {
        match self.ids.find(id) {
            None => self.find_other(id),
            found => found,
        }
    }

    #[cold]
    fn find_other(&self, id: RawNodeId<'_>) -> Option<NodeIndex> {
        match self.aliased(id) {
            None if self.added.any() => self.added.find(id),
            found => found,
        }
    }

    /// What clients add while the server runs.
    pub fn added(&self) -> &Added {
        &self.added
    }

    /// The place of a node.
    pub fn find_id(&self, id: &NodeId) -> Option<NodeIndex> {
        self.find(raw(id))
    }

    /// The node at a place.
    #[inline]
    pub fn node(&self, at: NodeIndex) -> Option<&Node> {
        match at.get().checked_sub(self.own_from) {
            Some(own) => match self.nodes.get(own) {
                None => self.added.node(at),
                there => there,
            },
            None => match self.changed.get(&at) {
                None => self.base.nodes.get(at.get()),
                changed => changed,
            },
        }
    }

    /// All nodes that were there from the start.
    pub fn nodes(&self) -> impl Iterator<Item = &Node> {
        let all = 0..u32::try_from(self.len()).unwrap_or(u32::MAX);
        all.filter_map(|at| self.node(NodeIndex(at)))
    }

    /// The references of a node, forward ones last; behind them those that clients added.
    pub fn links(&self, at: NodeIndex) -> Cow<'_, [Link]> {
        let bound = |i: usize| self.first_link.get(i).map_or(0, |n| *n as usize);
        let links = self.links.get(bound(at.get())..bound(at.get() + 1));
        let links = links.unwrap_or_default();
        if self.added.any()
            && let Some(added) = self.added.links(at)
        {
            return Cow::Owned([links, &added].concat());
        }
        Cow::Borrowed(links)
    }

    /// The place of a standard reference type.
    pub fn reference_type(&self, id: ReferenceTypeId) -> Option<NodeIndex> {
        self.find_id(&id.into())
    }

    /// Whether `kind` is `of` or a subtype of it.
    pub fn is_subtype(&self, kind: NodeIndex, of: NodeIndex) -> bool {
        let mut at = kind;
        // Deeper than any hierarchy of types: ends a circle.
        for _ in 0..64 {
            if at == of {
                return true;
            }
            let parent = |link: &&Link| !link.forward && Some(link.kind) == self.has_subtype;
            match self.links(at).iter().find(parent) {
                Some(link) => at = link.target,
                None => return false,
            }
        }
        false
    }

    /// The type definition of an object or variable.
    pub fn type_definition(&self, at: NodeIndex) -> Option<&Node> {
        let kind = self.reference_type(ReferenceTypeId::HasTypeDefinition)?;
        let links = self.links(at);
        let mut links = links.iter();
        let of = links.find(|link| link.forward && link.kind == kind)?;
        self.node(of.target)
    }
}

/// Numbers from here on in the server's own namespace are aliases of nodes.
const ALIASES: u32 = 0x8000_0000;
const ALIAS_NAMESPACE: u16 = 1;

impl Space {
    /// A numeric id under which a node can be found, too.
    pub fn alias(&self, at: NodeIndex) -> NodeId {
        NodeId::new(ALIAS_NAMESPACE, ALIASES | at.0)
    }

    fn aliased(&self, id: RawNodeId<'_>) -> Option<NodeIndex> {
        match id {
            RawNodeId::Numeric {
                namespace: ALIAS_NAMESPACE,
                id,
            } if id >= ALIASES => {
                let at = NodeIndex(id - ALIASES);
                self.node(at).map(|_| at)
            }
            _ => None,
        }
    }
}
