//! The address space: nodes and references, made once and then only read; values apart.

mod added;
pub mod aggregate;
pub mod attribute;
mod build;
pub mod encode;
pub mod event;
pub mod history;
mod ids;
mod links;
pub mod motion;
pub mod node;
pub mod plant_object;
pub mod range;
mod rhythm;
pub mod rights;
mod sessions;
pub mod signal;
pub mod standard;
pub mod standing;
pub mod structures;
pub mod value;

pub use added::{Added, Full};
pub use build::{Base, Builder};
pub use node::{
    Body, FullNames, Method, Names, Node, NodeIndex, Shape, Signature, Variable, access,
};
pub use rhythm::{Moves, Rhythm};
pub use rights::Rights;
pub use signal::{Pattern, Signal};
pub use value::{Live, Source, Stamp};

use std::borrow::Cow;
use std::ops::Deref;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use wire::template::walk::RawNodeId;
use wire::types::{NodeId, QualifiedName, ReferenceTypeId};

use crate::diagnostics::Register;
use event::Events;
use history::{Histories, History};
use ids::Index;
pub use ids::{below, raw};
use links::{Grown, Links};
use sessions::Sessions;

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
    /// Without those of the base.
    ids: Index,
    /// The references of the nodes after the base.
    links: Links,
    /// Those of nodes of the base that have more here than others have.
    grown: FxHashMap<NodeIndex, Grown>,
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
    /// The nodes of sessions, if they are shown.
    sessions: Option<Sessions>,
}

/// From here on places are those of nodes that come and go with sessions.
const FIRST_OF_SESSIONS: u32 = 1 << 30;

impl Link {
    /// The least there can be, and the greatest.
    const FIRST: Self = Self {
        forward: false,
        kind: NodeIndex(0),
        target: NodeIndex(0),
    };
    const LAST: Self = Self {
        forward: true,
        kind: NodeIndex(u32::MAX),
        target: NodeIndex(u32::MAX),
    };

    /// The same reference from its other end; this one is at `here`.
    #[must_use]
    pub fn from_there(self, here: NodeIndex) -> Self {
        Self {
            forward: !self.forward,
            target: here,
            ..self
        }
    }
}

/// A node, while somebody looks at it.
#[derive(Debug)]
pub enum NodeRef<'a> {
    /// It is there as long as the server.
    Lasting(&'a Node),
    /// It may be gone the next time.
    Passing(Arc<Node>),
}

impl Deref for NodeRef<'_> {
    type Target = Node;

    #[inline]
    fn deref(&self) -> &Node {
        match self {
            Self::Lasting(node) => node,
            Self::Passing(node) => node,
        }
    }
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

    /// The place of a node whose id lies in a message. For each value of a Read: a call would cost as much as what it does.
    #[inline(always)]
    pub fn find(&self, id: RawNodeId<'_>) -> Option<NodeIndex> {
        // The base has its own namespace only, so that others are not looked for twice.
        match self.base.ids.find(id).or_else(|| self.ids.find(id)) {
            None => self.find_other(id),
            found => found,
        }
    }

    #[cold]
    fn find_other(&self, id: RawNodeId<'_>) -> Option<NodeIndex> {
        if let Some(at) = self.aliased(id) {
            return Some(at);
        }
        if self.added.any()
            && let Some(at) = self.added.find(id)
        {
            return Some(at);
        }
        self.sessions.as_ref()?.find(id)
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
    pub fn node(&self, at: NodeIndex) -> Option<NodeRef<'_>> {
        match self.lasting(at) {
            Some(node) => Some(NodeRef::Lasting(node)),
            None => self.passing(at).map(NodeRef::Passing),
        }
    }

    #[cold]
    fn passing(&self, at: NodeIndex) -> Option<Arc<Node>> {
        match at.0 {
            FIRST_OF_SESSIONS.. => {
                let node = self.sessions.as_ref()?.node(at)?;
                Some(Arc::new(node))
            }
            _ => self.added.node(at),
        }
    }

    /// The node at a place, if it was there from the start.
    #[inline]
    pub fn lasting(&self, at: NodeIndex) -> Option<&Node> {
        match at.get().checked_sub(self.own_from) {
            Some(own) => self.nodes.get(own),
            None => match self.changed.get(&at) {
                None => self.base.nodes.get(at.get()),
                changed => changed,
            },
        }
    }

    /// Whether a place is that of a node which comes and goes with a session.
    pub fn is_of_session(&self, at: NodeIndex) -> bool {
        at.0 >= FIRST_OF_SESSIONS
    }

    /// Shows the sessions of a register, below the node that the specification has for them.
    pub(crate) fn show_sessions(&mut self, register: &Arc<Register>) {
        self.sessions = Sessions::new(self, register);
    }

    /// All nodes that were there from the start.
    pub fn nodes(&self) -> impl Iterator<Item = &Node> {
        self.places().filter_map(|at| self.lasting(at))
    }

    /// Their places.
    pub(crate) fn places(&self) -> impl Iterator<Item = NodeIndex> + use<> {
        (0..u32::try_from(self.len()).unwrap_or(u32::MAX)).map(NodeIndex)
    }

    /// The references of a node, forward ones last; behind them those that came later.
    pub fn links(&self, at: NodeIndex) -> Cow<'_, [Link]> {
        let links = self.lasting_links(at);
        let mut more = match self.added.any() {
            true => self.added.links(at),
            false => Vec::new(),
        };
        if let Some(sessions) = &self.sessions {
            sessions.links(at, &mut more);
        }
        match more.is_empty() {
            true => links,
            false => Cow::Owned([&links[..], &more].concat()),
        }
    }

    /// How many references a node has that were not added by clients.
    pub fn fixed_links(&self, at: NodeIndex) -> usize {
        self.lasting_links(at).len()
    }

    fn lasting_links(&self, at: NodeIndex) -> Cow<'_, [Link]> {
        match at.get().checked_sub(self.own_from) {
            Some(own) => Cow::Borrowed(self.links.of(own)),
            None => {
                let base = self.base.links.of(at.get());
                match self.grown.get(&at) {
                    Some(grown) => grown.with(base),
                    None => Cow::Borrowed(base),
                }
            }
        }
    }

    /// Whether a reference of exactly this type leads from a node to one that is called so.
    pub fn has_below(&self, at: NodeIndex, kind: NodeIndex, name: &QualifiedName) -> bool {
        let called = |at| self.lasting(at).is_some_and(|node| node.is_called(name));
        let links = self.lasting_links(at);
        let mut links = links.iter();
        links.any(|link| link.forward && link.kind == kind && called(link.target))
            || self.added.any() && self.added.has_below(at, kind, name, called)
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
    pub fn type_definition(&self, at: NodeIndex) -> Option<NodeRef<'_>> {
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
