//! An address space in the making: nodes and references by id, in any order.

use wire::types::{
    LocalizedText, NodeId, ObjectTypeId, QualifiedName, ReferenceTypeId, VariableTypeId,
};

use super::ids::Index;
use super::node::{Body, FullNames, Names, Node, NodeIndex, Shape, Variable};
use super::value::Source;
use super::{Link, Space, encode};
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

/// Collects nodes and references.
#[derive(Debug)]
pub struct Builder {
    namespaces: Vec<String>,
    nodes: Vec<Node>,
    ids: Index,
    edges: Vec<Edge>,
    anchor: i64,
}

impl Builder {
    /// Empty but for the standard namespace and the server's own, its application URI
    /// (Part 3, 8.2.2). `anchor` is real time at the origin of monotonic time, in ticks.
    pub fn new(application_uri: &str, anchor: i64) -> Self {
        Self {
            namespaces: vec![STANDARD.to_owned(), application_uri.to_owned()],
            nodes: Vec::new(),
            ids: Index::default(),
            edges: Vec::new(),
            anchor,
        }
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
        if let Some(at) = self.ids.find_id(&node.id) {
            if let Some(there) = self.nodes.get_mut(at.get()) {
                *there = node;
            }
            return at;
        }
        let at = NodeIndex(u32::try_from(self.nodes.len()).unwrap_or(u32::MAX));
        self.ids.insert(&node.id, at);
        self.nodes.push(node);
        at
    }

    /// Adds a reference.
    pub fn link(&mut self, source: &NodeId, kind: impl Into<NodeId>, target: &NodeId) {
        self.edges.push(Edge {
            source: source.clone(),
            kind: kind.into(),
            target: target.clone(),
        });
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
        let at = self.ids.find_id(id)?;
        match &mut self.nodes.get_mut(at.get())?.body {
            Body::Variable(variable) => Some(variable),
            _ => None,
        }
    }

    /// A node that is there already.
    pub fn node_mut(&mut self, id: &NodeId) -> Option<&mut Node> {
        let at = self.ids.find_id(id)?;
        self.nodes.get_mut(at.get())
    }

    /// Joins references with their nodes. Those without a node at one of their ends are left
    /// out.
    pub fn finish(mut self) -> Space {
        self.ids.settle();
        let mut links = Vec::with_capacity(self.edges.len() * 2);
        for edge in &self.edges {
            let find = |id| self.ids.find_id(id);
            let (Some(source), Some(kind), Some(target)) =
                (find(&edge.source), find(&edge.kind), find(&edge.target))
            else {
                continue;
            };
            let seen = |forward, target| Link {
                forward,
                kind,
                target,
            };
            links.push((source, seen(true, target)));
            links.push((target, seen(false, source)));
        }
        // Node sets tell a reference at both of its ends.
        links.sort_unstable();
        links.dedup();
        let mut first_link = vec![0; self.nodes.len() + 1];
        for (at, _) in &links {
            if let Some(count) = first_link.get_mut(at.get() + 1) {
                *count += 1;
            }
        }
        let mut sum = 0;
        for count in &mut first_link {
            sum += *count;
            *count = sum;
        }
        let has_subtype = self.ids.find_id(&ReferenceTypeId::HasSubtype.into());
        Space {
            namespaces: self.namespaces,
            nodes: self.nodes,
            ids: self.ids,
            links: links.into_iter().map(|(_, link)| link).collect(),
            first_link,
            has_subtype,
            anchor: self.anchor,
        }
    }
}
