//! From a node's id to its place: an array for numbers, hash tables for the rest.

use rustc_hash::FxHashMap;
use wire::template::walk::RawNodeId;
use wire::types::{Identifier, NodeId};

use super::node::NodeIndex;

/// Numbers this far apart still go into one array: at most so many empty places for each node.
const SPARSE: u32 = 16;

/// No node.
const NONE: u32 = u32::MAX;

/// The ids of one namespace.
#[derive(Debug, Default, Clone)]
struct Ids {
    first: u32,
    dense: Vec<u32>,
    sparse: FxHashMap<u32, u32>,
    strings: FxHashMap<Box<[u8]>, u32>,
    guids: FxHashMap<[u8; 16], u32>,
    opaque: FxHashMap<Box<[u8]>, u32>,
}

/// The ids of all namespaces.
#[derive(Debug, Default, Clone)]
pub struct Index(Vec<Ids>);

impl Index {
    /// Adds an id. The array is made when all are there, with [`settle`](Self::settle).
    pub fn insert(&mut self, id: &NodeId, at: NodeIndex) {
        let namespace = usize::from(id.namespace);
        if self.0.len() <= namespace {
            self.0.resize_with(namespace + 1, Ids::default);
        }
        let Some(ids) = self.0.get_mut(namespace) else {
            return;
        };
        match &id.identifier {
            Identifier::Numeric(number) => drop(ids.sparse.insert(*number, at.0)),
            Identifier::String(text) => {
                let bytes = text.as_ref().as_bytes().into();
                ids.strings.insert(bytes, at.0);
            }
            Identifier::Guid(guid) => drop(ids.guids.insert(guid.to_bytes(), at.0)),
            Identifier::ByteString(bytes) => {
                let bytes = bytes.value.as_deref().unwrap_or_default().into();
                ids.opaque.insert(bytes, at.0);
            }
        }
    }

    /// Puts numbers into arrays where they lie close together.
    pub fn settle(&mut self) {
        for ids in &mut self.0 {
            let (Some(&first), Some(&last)) = (ids.sparse.keys().min(), ids.sparse.keys().max())
            else {
                continue;
            };
            let nodes = u32::try_from(ids.sparse.len()).unwrap_or(u32::MAX);
            let Some(len) = (last - first).checked_add(1) else {
                continue;
            };
            if len / SPARSE > nodes {
                continue;
            }
            ids.first = first;
            ids.dense = vec![NONE; len as usize];
            for (number, at) in ids.sparse.drain() {
                if let Some(place) = ids.dense.get_mut((number - first) as usize) {
                    *place = at;
                }
            }
        }
    }

    /// The place of a node whose id lies in a message.
    #[inline]
    pub fn find(&self, id: RawNodeId<'_>) -> Option<NodeIndex> {
        match id {
            RawNodeId::Numeric { namespace, id } => {
                let ids = self.of(namespace)?;
                let offset = id.wrapping_sub(ids.first) as usize;
                match ids.dense.get(offset) {
                    Some(&NONE) => None,
                    Some(&at) => Some(NodeIndex(at)),
                    None => ids.sparse.get(&id).copied().map(NodeIndex),
                }
            }
            _ => self.find_named(id),
        }
    }

    /// The same of an id that is no number. Apart, so that the way of most requests is short.
    #[inline(never)]
    fn find_named(&self, id: RawNodeId<'_>) -> Option<NodeIndex> {
        let at = match id {
            RawNodeId::Numeric { .. } => return None,
            RawNodeId::String { namespace, id } => self.of(namespace)?.strings.get(id),
            RawNodeId::Guid { namespace, id } => self.of(namespace)?.guids.get(&id),
            RawNodeId::Opaque { namespace, id } => self.of(namespace)?.opaque.get(id),
        };
        at.copied().map(NodeIndex)
    }

    #[inline]
    fn of(&self, namespace: u16) -> Option<&Ids> {
        self.0.get(usize::from(namespace))
    }

    /// The place of a node.
    pub fn find_id(&self, id: &NodeId) -> Option<NodeIndex> {
        self.find(raw(id))
    }
}

/// A NodeId as if it lay in a message.
pub fn raw(id: &NodeId) -> RawNodeId<'_> {
    let namespace = id.namespace;
    match &id.identifier {
        Identifier::Numeric(id) => RawNodeId::Numeric { namespace, id: *id },
        Identifier::String(text) => RawNodeId::String {
            namespace,
            id: text.as_ref().as_bytes(),
        },
        Identifier::Guid(guid) => RawNodeId::Guid {
            namespace,
            id: guid.to_bytes(),
        },
        Identifier::ByteString(bytes) => RawNodeId::Opaque {
            namespace,
            id: bytes.as_ref(),
        },
    }
}

/// An id for something that belongs to a node: the text of its id and a name.
pub fn below(id: &NodeId, name: &str) -> NodeId {
    let text = match &id.identifier {
        Identifier::Numeric(number) => number.to_string(),
        Identifier::String(text) => text.to_string(),
        other => other.to_string(),
    };
    NodeId::new(id.namespace, format!("{text}.{name}"))
}
