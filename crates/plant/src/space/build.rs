//! An address space in the making: nodes and references by id, in any order.

use std::collections::hash_map::Entry;
use std::sync::{Arc, OnceLock};

use rustc_hash::FxHashMap;
use wire::types::{
    LocalizedText, NodeId, ObjectTypeId, QualifiedName, ReferenceTypeId, VariableTypeId,
};

use super::added::Added;
use super::ids::Index;
use super::links::{Joined, Links, join_grown};
use super::node::{Body, FullNames, Names, Node, NodeIndex, Shape, Variable};
use super::value::Source;
use super::{FIRST_OF_SESSIONS, Rhythm, Space, encode};
use crate::space::event::Events;
use crate::space::history::Histories;
use wire::types::Variant;

/// The namespace of OPC UA itself.
const STANDARD: &str = "http://opcfoundation.org/UA/";

/// A reference by the ids of its ends.
#[derive(Debug)]
struct Edge {
    source: NodeId,
    kind: NodeId,
    target: NodeId,
}

/// Nodes and references that many servers of a process have in common.
#[derive(Debug, Default)]
pub struct Base {
    pub(super) nodes: Vec<Node>,
    pub(super) ids: Index,
    pub(super) links: Links,
    joined: Vec<Joined>,
}

/// Collects nodes and references.
#[derive(Debug)]
pub struct Builder {
    namespaces: Vec<String>,
    base: Arc<Base>,
    /// Nodes of the base that are others here, by their places.
    changed: FxHashMap<NodeIndex, Node>,
    /// Those that come after the base.
    nodes: Vec<Node>,
    ids: Index,
    joined: Vec<Joined>,
    /// References that were told before the nodes at their ends.
    edges: Vec<Edge>,
    rhythms: FxHashMap<NodeIndex, Rhythm>,
    anchor: i64,
    /// Who raises events.
    pub(crate) events: Events,
    to_be: EventsToBe,
    pub(crate) histories: Histories,
}

/// The sources of events, once all of them are there.
pub(crate) type EventsToBe = Arc<OnceLock<Arc<Events>>>;

impl Builder {
    /// Empty but for the standard namespace and the server's own, its application URI
    /// (Part 3, 8.2.2). `anchor` is real time at the origin of monotonic time, in ticks.
    pub fn new(application_uri: &str, anchor: i64) -> Self {
        Self {
            namespaces: vec![STANDARD.to_owned(), application_uri.to_owned()],
            base: Arc::default(),
            changed: FxHashMap::default(),
            nodes: Vec::new(),
            ids: Index::default(),
            joined: Vec::new(),
            edges: Vec::new(),
            rhythms: FxHashMap::default(),
            anchor,
            events: Events::new(anchor),
            to_be: EventsToBe::default(),
            histories: Histories::default(),
        }
    }

    /// Begins with nodes that others have, too. False if there are nodes already.
    pub fn stand_on(&mut self, base: &Arc<Base>) -> bool {
        let empty = self.count() == 0;
        if empty {
            self.base = Arc::clone(base);
        }
        empty
    }

    /// What is there so far, for others to stand on.
    pub fn into_base(mut self) -> Base {
        self.join();
        self.ids.settle();
        Base {
            links: Links::new(0, self.nodes.len(), &self.joined),
            nodes: self.nodes,
            ids: self.ids,
            joined: self.joined,
        }
    }

    /// The place of a node, of the base or after it.
    fn find_id(&self, id: &NodeId) -> Option<NodeIndex> {
        self.base.ids.find_id(id).or_else(|| self.ids.find_id(id))
    }

    fn count(&self) -> usize {
        self.base.nodes.len() + self.nodes.len()
    }

    /// The index of a namespace, which is added if it is new.
    pub fn namespace(&mut self, uri: &str) -> u16 {
        let at = match self.namespaces.iter().position(|known| known == uri) {
            Some(at) => at,
            None => {
                self.namespaces.push(uri.to_owned());
                self.namespaces.len() - 1
            }
        };
        u16::try_from(at).unwrap_or(u16::MAX)
    }

    /// Gives a namespace an index of its choice; those before it that are not there yet get names
    /// that say so. Fails with the one that is there already.
    pub fn namespace_at(&mut self, index: u16, uri: &str) -> Result<u16, String> {
        while self.namespaces.len() < usize::from(index) {
            let unused = format!("urn:uaperf:unused:{}", self.namespaces.len());
            self.namespaces.push(unused);
        }
        match self.namespace(uri) {
            found if found == index => Ok(index),
            _ => {
                let there = self.namespaces.get(usize::from(index));
                Err(there.cloned().unwrap_or_default())
            }
        }
    }

    /// Makes room for so many more nodes.
    pub fn reserve(&mut self, nodes: usize) {
        self.nodes.reserve(nodes);
    }

    /// The namespaces so far.
    pub fn namespaces(&self) -> &[String] {
        &self.namespaces
    }

    /// Real time at the origin of monotonic time, in ticks.
    pub fn anchor(&self) -> i64 {
        self.anchor
    }

    /// Adds a node; one with the same id is replaced.
    pub fn insert(&mut self, node: Node) -> NodeIndex {
        if let Some(at) = self.find_id(&node.id) {
            match at.get().checked_sub(self.base.nodes.len()) {
                Some(own) => {
                    if let Some(there) = self.nodes.get_mut(own) {
                        *there = node;
                    }
                }
                None => drop(self.changed.insert(at, node)),
            }
            return at;
        }
        let at = NodeIndex(u32::try_from(self.count()).unwrap_or(u32::MAX));
        self.ids.insert(&node.id, at);
        self.nodes.push(node);
        at
    }

    /// Says how a variable changes whose source does not tell: one that is written.
    pub fn tell_rhythm(&mut self, at: NodeIndex, rhythm: Rhythm) {
        self.rhythms.insert(at, rhythm);
    }

    /// The sources of events, for values that tell of them when they are asked for.
    pub(crate) fn events_to_be(&self) -> EventsToBe {
        Arc::clone(&self.to_be)
    }

    /// Adds a reference.
    pub fn link(&mut self, source: &NodeId, kind: impl Into<NodeId>, target: &NodeId) {
        let kind = kind.into();
        match self.joined(source, &kind, target) {
            Some(joined) => self.joined.push(joined),
            None => self.edges.push(Edge {
                source: source.clone(),
                kind,
                target: target.clone(),
            }),
        }
    }

    fn joined(&self, source: &NodeId, kind: &NodeId, target: &NodeId) -> Option<Joined> {
        Some(Joined {
            source: self.find_id(source)?,
            kind: self.find_id(kind)?,
            target: self.find_id(target)?,
        })
    }

    /// The ends of all references of a type.
    pub fn references(&self, kind: &NodeId) -> impl Iterator<Item = (&NodeId, &NodeId)> {
        let at = self.find_id(kind);
        let joined = self.base.joined.iter().chain(&self.joined);
        let joined = joined.filter(move |it| Some(it.kind) == at);
        let joined = joined
            .filter_map(move |it| Some((&self.node(it.source)?.id, &self.node(it.target)?.id)));
        let waiting = self.edges.iter().filter(move |it| it.kind == *kind);
        joined.chain(waiting.map(|it| (&it.source, &it.target)))
    }

    /// All data types: whether they are abstract, and their definition as an encoded Variant.
    pub fn data_types(&self) -> impl Iterator<Item = (&NodeId, bool, Option<&[u8]>)> {
        let nodes = self.base.nodes.iter().chain(&self.nodes);
        nodes.filter_map(|node| match &node.body {
            Body::DataType {
                is_abstract,
                definition,
            } => Some((&node.id, *is_abstract, definition.as_deref())),
            _ => None,
        })
    }

    fn node(&self, at: NodeIndex) -> Option<&Node> {
        match at.get().checked_sub(self.base.nodes.len()) {
            Some(own) => self.nodes.get(own),
            None => self.base.nodes.get(at.get()),
        }
    }

    /// Joins references with their nodes. Those without a node at one of their ends are left
    /// out.
    fn join(&mut self) {
        for edge in std::mem::take(&mut self.edges) {
            let joined = self.joined(&edge.source, &edge.kind, &edge.target);
            self.joined.extend(joined);
        }
    }

    /// Adds a folder below a node.
    pub fn folder(&mut self, parent: &NodeId, id: NodeId, name: &str) -> NodeId {
        self.object(parent, id, name, ObjectTypeId::FolderType)
    }

    /// Adds an object below a node.
    pub fn object(&mut self, parent: &NodeId, id: NodeId, name: &str, of: ObjectTypeId) -> NodeId {
        self.named(&id, name, Body::Object { event_notifier: 0 });
        self.link(parent, ReferenceTypeId::Organizes, &id);
        self.link(&id, ReferenceTypeId::HasTypeDefinition, &of.into());
        id
    }

    /// Adds a variable below a node.
    pub fn variable(
        &mut self,
        parent: &NodeId,
        id: NodeId,
        name: &str,
        variable: Variable,
    ) -> NodeId {
        self.named(&id, name, Body::Variable(Box::new(variable)));
        self.link(parent, ReferenceTypeId::Organizes, &id);
        let of = VariableTypeId::BaseDataVariableType;
        self.link(&id, ReferenceTypeId::HasTypeDefinition, &of.into());
        id
    }

    /// Adds a property that never changes.
    pub fn property(
        &mut self,
        parent: &NodeId,
        id: NodeId,
        name: &str,
        data_type: impl Into<NodeId>,
        value: Variant,
    ) {
        let is_array = matches!(value, Variant::Array(_));
        let source = Source::Constant {
            encoded: encode::variant(value),
            since: self.anchor,
        };
        let shape = Shape {
            value_rank: if is_array { 1 } else { -1 },
            ..Shape::scalar(data_type)
        };
        // Names that the specification gives are in its own namespace (Part 3, 5.6.2).
        self.insert(Node {
            names: Names::Full(Box::new(FullNames {
                browse_name: QualifiedName::new(0, name),
                display_name: LocalizedText::new("", name),
                description: None,
            })),
            body: Body::Variable(Box::new(Variable::new(source, shape))),
            id: id.clone(),
        });
        self.link(parent, ReferenceTypeId::HasProperty, &id);
        let of = VariableTypeId::PropertyType;
        self.link(&id, ReferenceTypeId::HasTypeDefinition, &of.into());
    }

    /// Adds a node that is called the same by programs and people.
    pub fn named(&mut self, id: &NodeId, name: &str, body: Body) {
        self.insert(Node {
            names: Names::Plain(name.into()),
            body,
            id: id.clone(),
        });
    }

    /// A variable that is there already.
    pub fn variable_mut(&mut self, id: &NodeId) -> Option<&mut Variable> {
        match &mut self.node_mut(id)?.body {
            Body::Variable(variable) => Some(variable),
            _ => None,
        }
    }

    /// Whether there is a node with this id.
    pub fn has(&self, id: &NodeId) -> bool {
        self.find_id(id).is_some()
    }

    /// A node that is there already. One of the base becomes the builder's own.
    pub fn node_mut(&mut self, id: &NodeId) -> Option<&mut Node> {
        let at = self.find_id(id)?;
        let Some(own) = at.get().checked_sub(self.base.nodes.len()) else {
            return match self.changed.entry(at) {
                Entry::Occupied(there) => Some(there.into_mut()),
                Entry::Vacant(place) => {
                    Some(place.insert(self.base.nodes.get(at.get())?.another()?))
                }
            };
        };
        self.nodes.get_mut(own)
    }

    /// The address space.
    pub fn finish(mut self) -> Space {
        self.join();
        self.ids.settle();
        let own_from = self.base.nodes.len();
        let links = Links::new(own_from, self.nodes.len(), &self.joined);
        let grown = join_grown(&self.base.links, own_from, &self.joined);
        let nodes = self.count();
        let has_subtype = self.find_id(&ReferenceTypeId::HasSubtype.into());
        let events = Arc::new(self.events);
        // Nobody else sets it.
        let _ = self.to_be.set(Arc::clone(&events));
        Space {
            namespaces: self.namespaces,
            own_from,
            base: self.base,
            changed: self.changed,
            nodes: self.nodes,
            ids: self.ids,
            links,
            grown,
            has_subtype,
            rhythms: self.rhythms,
            anchor: self.anchor,
            events,
            histories: self.histories,
            added: Added::new(nodes, FIRST_OF_SESSIONS),
            sessions: None,
        }
    }
}
