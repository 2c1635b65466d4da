//! Nodes and references that clients add while the server runs, beside the address space that was
//! made when it started.
//!
//! Whoever looks at a node shares it, so that one that is deleted goes as soon as nobody looks any more, and
//! what is left of it is nothing. Its place is not given to another one before all places were used: who
//! remembers the place finds nothing there.

use std::collections::BTreeSet;
use std::collections::hash_map::Entry;
use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, RwLock, RwLockReadGuard, RwLockWriteGuard};

use rustc_hash::{FxHashMap, FxHasher};
use wire::budget::{Budget, Held};
use wire::template::walk::RawNodeId;
use wire::types::{Identifier, LocalizedText, NodeId, QualifiedName};

use super::Link;
use super::node::{Body, Names, Node, NodeIndex};
use super::value::Source;

#[derive(Debug, Default)]
struct Inner {
    ids: FxHashMap<NodeId, NodeIndex>,
    nodes: FxHashMap<NodeIndex, Arc<Node>>,
    links: BTreeSet<(NodeIndex, Link)>,
    /// How many references of a kind lead from a node to added ones of a name, by a hash of all that: whoever
    /// looks for a name need not look at all nodes there.
    names: FxHashMap<u64, u32>,
    /// How many places were used.
    used: u32,
    /// Bytes of all nodes.
    bytes: usize,
    /// Memory for them and for references.
    held: Option<Held>,
}

/// Bytes of a node beside its texts and its value, and of a reference as it is seen from one end.
const NODE: usize = 450;
const LINK: usize = 64;

/// Bytes of a node.
fn weight(node: &Node) -> usize {
    let id = match &node.id.identifier {
        Identifier::String(text) => text.as_ref().len(),
        Identifier::ByteString(bytes) => bytes.as_ref().len(),
        _ => 0,
    };
    let names = match &node.names {
        Names::Plain(name) => name.len(),
        Names::Full(names) => {
            let text = |text: &LocalizedText| text.locale.as_ref().len() + text.text.as_ref().len();
            let description = names.description.as_ref().map_or(0, text);
            names.browse_name.name.as_ref().len() + text(&names.display_name) + description
        }
    };
    let value = match &node.body {
        Body::Variable(variable) => {
            let dimensions = variable.array_dimensions.as_ref();
            let dimensions = dimensions.map_or(0, |list| list.len() * 4);
            match &variable.source {
                Source::Blob(blob) => blob.get().0.len() + dimensions,
                _ => dimensions,
            }
        }
        _ => 0,
    };
    // The id is in a table, too.
    NODE + 2 * id + names + value
}

/// What clients added.
#[derive(Debug)]
pub struct Added {
    /// The index of the first, and the one behind the last.
    from: u32,
    until: u32,
    inner: RwLock<Inner>,
    /// Whether there ever was anything: nobody pays for what is not used.
    any: AtomicBool,
}

impl Added {
    /// Nothing yet, behind so many nodes, and before a place.
    pub fn new(from: usize, until: u32) -> Self {
        Self {
            from: u32::try_from(from).unwrap_or(until),
            until,
            inner: RwLock::default(),
            any: AtomicBool::new(false),
        }
    }

    fn read(&self) -> RwLockReadGuard<'_, Inner> {
        // Whoever panicked has left lists that are whole.
        self.inner
            .read()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Inner> {
        self.inner
            .write()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Whether there ever was anything.
    #[inline]
    pub fn any(&self) -> bool {
        self.any.load(Ordering::Acquire)
    }

    /// How many nodes there are.
    pub fn count(&self) -> usize {
        self.read().ids.len()
    }

    /// The node at a place.
    pub fn node(&self, at: NodeIndex) -> Option<Arc<Node>> {
        self.read().nodes.get(&at).cloned()
    }

    /// The place of a node.
    pub fn find(&self, id: RawNodeId<'_>) -> Option<NodeIndex> {
        let id = id.to_node_id()?;
        self.read().ids.get(&id).copied()
    }

    /// References of a node that were added.
    pub fn links(&self, at: NodeIndex) -> Vec<Link> {
        self.read().links_of(at)
    }

    /// Whether a reference that was added leads from a node to one that is called so. `called` tells the name of
    /// one that was there from the start.
    pub fn has_below(
        &self,
        at: NodeIndex,
        kind: NodeIndex,
        name: &QualifiedName,
        called: impl Fn(NodeIndex) -> bool,
    ) -> bool {
        let inner = self.read();
        let to = |target: u32| {
            let target = NodeIndex(target);
            let forward = true;
            (
                at,
                Link {
                    forward,
                    kind,
                    target,
                },
            )
        };
        let mut lasting = inner.links.range(to(0)..to(self.from));
        if lasting.any(|(_, link)| called(link.target)) {
            return true;
        }
        // Another name may have the same hash.
        inner.names.contains_key(&key(at, kind, name))
            && inner
                .links
                .range(to(self.from)..=to(u32::MAX))
                .any(|(_, link)| {
                    let target = inner.nodes.get(&link.target);
                    target.is_some_and(|node| node.is_called(name))
                })
    }

    /// Adds a node with references to others, unless there are `most` already or one has its id.
    pub fn add(
        &self,
        node: Node,
        links: &[(NodeIndex, Link)],
        most: usize,
        memory: &Budget,
    ) -> Result<NodeIndex, Full> {
        let mut inner = self.write();
        if inner.ids.contains_key(&node.id) {
            return Err(Full::Taken);
        }
        if inner.ids.len() >= most {
            return Err(Full::Many);
        }
        let bytes = weight(&node);
        inner.reserve(bytes, 2 * links.len(), memory)?;
        let at = self.free(&mut inner).ok_or(Full::Many)?;
        inner.bytes += bytes;
        inner.ids.insert(node.id.clone(), at);
        inner.nodes.insert(at, Arc::new(node));
        for (other, seen) in links {
            inner.insert(at, *seen);
            inner.insert(*other, seen.from_there(at));
        }
        inner.settle();
        self.any.store(true, Ordering::Release);
        Ok(at)
    }

    /// The next place that is free.
    fn free(&self, inner: &mut Inner) -> Option<NodeIndex> {
        let places = self.until.checked_sub(self.from).filter(|n| *n > 0)?;
        // One more than there are nodes has to find a free one.
        for _ in 0..=inner.nodes.len() {
            let at = NodeIndex(self.from + inner.used % places);
            inner.used = (inner.used + 1) % places;
            if !inner.nodes.contains_key(&at) {
                return Some(at);
            }
        }
        None
    }

    /// Deletes a node that was added, and its references; those of others to it, too, since they would lead
    /// nowhere. False if it was not added.
    pub fn remove(&self, at: NodeIndex) -> bool {
        let mut inner = self.write();
        if !inner.nodes.contains_key(&at) {
            return false;
        }
        for link in inner.links_of(at) {
            inner.take(at, link);
            inner.take(link.target, link.from_there(at));
        }
        let inner = &mut *inner;
        if let Some(node) = inner.nodes.remove(&at) {
            inner.ids.remove(&node.id);
            inner.bytes = inner.bytes.saturating_sub(weight(&node));
        }
        inner.settle();
        shrink(&mut inner.ids);
        shrink(&mut inner.nodes);
        shrink(&mut inner.names);
        true
    }

    /// Adds a reference.
    pub fn link(
        &self,
        source: NodeIndex,
        kind: NodeIndex,
        target: NodeIndex,
        memory: &Budget,
    ) -> Result<(), Full> {
        let link = Link {
            forward: true,
            kind,
            target,
        };
        let mut inner = self.write();
        inner.reserve(0, 2, memory)?;
        inner.insert(source, link);
        inner.insert(target, link.from_there(source));
        self.any.store(true, Ordering::Release);
        Ok(())
    }

    /// Takes away a reference that was added, as seen from one end or from both. False if there
    /// is none.
    pub fn unlink(&self, at: NodeIndex, link: Link, both: bool) -> bool {
        let mut inner = self.write();
        let taken = inner.take(at, link);
        if taken && both {
            inner.take(link.target, link.from_there(at));
        }
        inner.settle();
        taken
    }
}

impl Inner {
    /// Memory for a node of so many bytes and so many references seen from one end.
    fn reserve(&mut self, bytes: usize, links: usize, memory: &Budget) -> Result<(), Full> {
        let all = self.bytes + bytes + (self.links.len() + links) * LINK;
        let held = self.held.get_or_insert_with(|| memory.hold());
        held.set(all).map_err(|_| Full::Memory)
    }

    /// What was there is counted, and no more.
    fn settle(&mut self) {
        let all = self.bytes + self.links.len() * LINK;
        if let Some(held) = &mut self.held {
            // It is never more than was held before.
            let less = held.set(all);
            debug_assert!(less.is_ok());
        }
    }

    fn insert(&mut self, at: NodeIndex, link: Link) {
        if self.links.insert((at, link))
            && let Some(key) = self.key_of(at, link)
        {
            *self.names.entry(key).or_default() += 1;
        }
    }

    /// False if there is none. The node at its other end has to be there still.
    fn take(&mut self, at: NodeIndex, link: Link) -> bool {
        let taken = self.links.remove(&(at, link));
        if taken
            && let Some(key) = self.key_of(at, link)
            && let Entry::Occupied(mut count) = self.names.entry(key)
        {
            match *count.get() {
                0 | 1 => drop(count.remove()),
                n => *count.get_mut() = n - 1,
            }
        }
        taken
    }

    fn key_of(&self, at: NodeIndex, link: Link) -> Option<u64> {
        let target = self.nodes.get(&link.target).filter(|_| link.forward)?;
        Some(key(at, link.kind, &target.browse_name()))
    }

    fn links_of(&self, at: NodeIndex) -> Vec<Link> {
        let of = self.links.range((at, Link::FIRST)..=(at, Link::LAST));
        of.map(|(_, link)| *link).collect()
    }
}

fn key(at: NodeIndex, kind: NodeIndex, name: &QualifiedName) -> u64 {
    let mut hasher = FxHasher::default();
    (at, kind, name.namespace_index, name.name.as_ref()).hash(&mut hasher);
    hasher.finish()
}

/// A table that was much larger gives back what it does not need; half of it stays for those to come.
fn shrink<K: Eq + Hash, V>(table: &mut FxHashMap<K, V>) {
    if table.capacity() / 4 > table.len().max(16) {
        table.shrink_to(table.len() * 2);
    }
}

/// Why a node cannot be added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Full {
    /// Another one has its id.
    Taken,
    /// There are as many as there may be.
    Many,
    /// There is no memory for it.
    Memory,
}

#[cfg(test)]
mod tests {
    use wire::budget::STEP;

    use super::*;
    use crate::space::{Body, Names};

    fn node(n: u32) -> Node {
        Node {
            id: NodeId::new(1, n),
            names: Names::Plain("x".into()),
            body: Body::Object { event_notifier: 0 },
        }
    }

    #[test]
    fn each_node_has_a_place_of_its_own_until_there_are_no_more() {
        let (added, memory) = (Added::new(100, 5_100), Budget::default());
        for n in 0..5000 {
            let at = added.add(node(n), &[], 10_000, &memory).unwrap();
            assert_eq!(added.node(at).unwrap().id, NodeId::new(1, n));
        }
        assert_eq!(added.count(), 5000);
        assert_eq!(added.add(node(7), &[], 10_000, &memory), Err(Full::Taken));
        assert_eq!(added.add(node(9000), &[], 5000, &memory), Err(Full::Many));
        // All places are used, and the one that becomes free is found.
        assert_eq!(added.add(node(9000), &[], 10_000, &memory), Err(Full::Many));
        assert!(added.remove(NodeIndex(2_000)));
        let again = added.add(node(9000), &[], 10_000, &memory);
        assert_eq!(again, Ok(NodeIndex(2_000)));
    }

    #[test]
    fn a_node_goes_with_its_references_and_its_id_is_free_again() {
        let (added, memory) = (Added::new(10, 1_000), Budget::of(usize::MAX));
        let (parent, kind) = (NodeIndex(3), NodeIndex(4));
        let up = Link {
            forward: false,
            kind,
            target: parent,
        };
        let at = added.add(node(1), &[(parent, up)], 10, &memory).unwrap();
        assert_eq!(added.links(at), vec![up]);
        assert_eq!(added.links(parent)[0].target, at);
        let looked_at = added.node(at).unwrap();
        assert!(added.remove(at));
        assert!(added.node(at).is_none() && !added.remove(at));
        assert_eq!(added.links(parent), Vec::new());
        // Who looks at it still sees it whole, and is the last one who does.
        assert_eq!(looked_at.id, NodeId::new(1, 1u32));
        assert_eq!(Arc::strong_count(&looked_at), 1);
        let again = added.add(node(1), &[], 10, &memory).unwrap();
        assert_ne!(again, at);

        added.link(parent, kind, again, &memory).unwrap();
        let seen = Link {
            forward: true,
            kind,
            target: again,
        };
        assert!(added.unlink(parent, seen, true));
        assert!(!added.unlink(parent, seen, true));
        assert_eq!(added.links(again), Vec::new());
    }
    #[test]
    fn nodes_and_references_are_counted_and_given_back() {
        let memory = Budget::of(10 * STEP);
        let added = Added::new(10, 1_000_000);
        let (parent, kind) = (NodeIndex(3), NodeIndex(4));
        let up = Link {
            forward: false,
            kind,
            target: parent,
        };
        let mut there = Vec::new();
        let full = loop {
            match added.add(node(there.len() as u32), &[(parent, up)], 10_000, &memory) {
                Ok(at) => there.push(at),
                Err(full) => break full,
            }
        };
        assert_eq!(full, Full::Memory);
        assert!((60..90).contains(&there.len()), "{}", there.len());
        // References take memory, too.
        assert!(added.remove(there.pop().unwrap()));
        let linked = (0..1_000).find(|n| {
            let kind = NodeIndex(100 + n);
            added.link(parent, kind, there[0], &memory) == Err(Full::Memory)
        });
        assert!(linked.is_some_and(|n| n < 100), "{linked:?}");
        for at in there {
            assert!(added.remove(at));
        }
        assert_eq!((added.count(), memory.held()), (0, 0));
    }
}
