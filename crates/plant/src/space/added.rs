//! Nodes and references that clients add while the server runs, beside the address space that was
//! made when it started.
//!
//! Nodes are appended to chunks that never move, so that others can look at them without waiting.
//! One that is deleted keeps its place until the server ends, empty but for its memory.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{OnceLock, RwLock, RwLockReadGuard, RwLockWriteGuard};

use rustc_hash::FxHashMap;
use wire::template::walk::RawNodeId;
use wire::types::NodeId;

use super::Link;
use super::node::{Node, NodeIndex};

/// Nodes in the first chunk; each one more has twice as many.
const FIRST: usize = 1024;
/// Together more places than there are indices left.
const CHUNKS: usize = 22;

#[derive(Debug, Default)]
struct Slot {
    node: OnceLock<Node>,
    gone: AtomicBool,
}

#[derive(Debug, Default)]
struct Inner {
    ids: FxHashMap<NodeId, NodeIndex>,
    links: FxHashMap<NodeIndex, Vec<Link>>,
    used: usize,
}

/// What clients added.
#[derive(Debug)]
pub struct Added {
    /// The index of the first.
    from: usize,
    chunks: [OnceLock<Box<[Slot]>>; CHUNKS],
    inner: RwLock<Inner>,
    /// Whether there ever was anything: nobody pays for what is not used.
    any: AtomicBool,
}

impl Added {
    /// Nothing yet, behind so many nodes.
    pub fn new(from: usize) -> Self {
        Self {
            from,
            chunks: [const { OnceLock::new() }; CHUNKS],
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

    /// The chunk of a place and the place in it.
    fn place(n: usize) -> (usize, usize) {
        let chunk = (n / FIRST + 1).ilog2() as usize;
        (chunk, n - FIRST * ((1 << chunk) - 1))
    }

    fn slot(&self, at: NodeIndex) -> Option<&Slot> {
        let (chunk, offset) = Self::place(at.get().checked_sub(self.from)?);
        self.chunks.get(chunk)?.get()?.get(offset)
    }

    /// The node at a place.
    pub fn node(&self, at: NodeIndex) -> Option<&Node> {
        let slot = self.slot(at)?;
        let gone = slot.gone.load(Ordering::Acquire);
        slot.node.get().filter(|_| !gone)
    }

    /// The place of a node.
    pub fn find(&self, id: RawNodeId<'_>) -> Option<NodeIndex> {
        let id = id.to_node_id()?;
        self.read().ids.get(&id).copied()
    }

    /// References of a node that were added.
    pub fn links(&self, at: NodeIndex) -> Option<Vec<Link>> {
        self.read().links.get(&at).cloned()
    }

    /// Adds a node with references to others, unless there are `most` already or one has its id.
    pub fn add(
        &self,
        node: Node,
        links: &[(NodeIndex, Link)],
        most: usize,
    ) -> Result<NodeIndex, Full> {
        let mut inner = self.write();
        if inner.ids.contains_key(&node.id) {
            return Err(Full::Taken);
        }
        if inner.ids.len() >= most {
            return Err(Full::Many);
        }
        let n = inner.used;
        let at = u32::try_from(self.from + n).map_err(|_| Full::Many)?;
        let at = NodeIndex(at);
        let (chunk, offset) = Self::place(n);
        let chunk = self.chunks.get(chunk).ok_or(Full::Many)?.get_or_init(|| {
            let slots = (0..FIRST << chunk).map(|_| Slot::default());
            slots.collect()
        });
        let slot = chunk.get(offset).ok_or(Full::Many)?;
        inner.used += 1;
        inner.ids.insert(node.id.clone(), at);
        // The place is new: nobody else fills it.
        let _ = slot.node.set(node);
        for (other, seen) in links {
            let seen = *seen;
            let back = Link {
                forward: !seen.forward,
                target: at,
                ..seen
            };
            inner.links.entry(at).or_default().push(seen);
            inner.links.entry(*other).or_default().push(back);
        }
        self.any.store(true, Ordering::Release);
        Ok(at)
    }

    /// Deletes a node that was added, and its references; those of others to it, too, if wanted.
    /// False if it was not.
    pub fn remove(&self, at: NodeIndex, from_others: bool) -> bool {
        let mut inner = self.write();
        let Some(slot) = self.slot(at) else {
            return false;
        };
        let Some(node) = slot.node.get() else {
            return false;
        };
        if inner.ids.remove(&node.id).is_none() {
            return false;
        }
        slot.gone.store(true, Ordering::Release);
        for link in inner.links.remove(&at).unwrap_or_default() {
            if from_others && let Some(others) = inner.links.get_mut(&link.target) {
                others.retain(|other| other.target != at);
            }
        }
        true
    }

    /// Adds a reference.
    pub fn link(&self, source: NodeIndex, kind: NodeIndex, target: NodeIndex) {
        let mut inner = self.write();
        for (at, forward, target) in [(source, true, target), (target, false, source)] {
            let link = Link {
                forward,
                kind,
                target,
            };
            inner.links.entry(at).or_default().push(link);
        }
        self.any.store(true, Ordering::Release);
    }

    /// Takes away a reference that was added, as seen from one end or from both. False if there
    /// is none.
    pub fn unlink(&self, at: NodeIndex, link: Link, both: bool) -> bool {
        let mut inner = self.write();
        let mut take = |at: NodeIndex, link: Link| {
            let links = inner.links.get_mut(&at);
            let place = links
                .as_ref()
                .and_then(|links| links.iter().position(|other| *other == link));
            match (links, place) {
                (Some(links), Some(place)) => {
                    links.remove(place);
                    true
                }
                _ => false,
            }
        };
        let taken = take(at, link);
        if taken && both {
            let back = Link {
                forward: !link.forward,
                kind: link.kind,
                target: at,
            };
            take(link.target, back);
        }
        taken
    }
}

/// Why a node cannot be added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Full {
    /// Another one has its id.
    Taken,
    /// There are as many as there may be.
    Many,
}

#[cfg(test)]
mod tests {
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
    fn places_fill_one_chunk_after_the_other() {
        assert_eq!(Added::place(0), (0, 0));
        assert_eq!(Added::place(1023), (0, 1023));
        assert_eq!(Added::place(1024), (1, 0));
        assert_eq!(Added::place(3071), (1, 2047));
        assert_eq!(Added::place(3072), (2, 0));
        let added = Added::new(100);
        for n in 0..5000 {
            let at = added.add(node(n), &[], 10_000).unwrap();
            assert_eq!(added.node(at).unwrap().id, NodeId::new(1, n));
        }
        assert_eq!(added.count(), 5000);
        assert_eq!(added.add(node(7), &[], 10_000), Err(Full::Taken));
        assert_eq!(added.add(node(9000), &[], 5000), Err(Full::Many));
    }

    #[test]
    fn a_node_goes_with_its_references_and_its_id_is_free_again() {
        let added = Added::new(10);
        let (parent, kind) = (NodeIndex(3), NodeIndex(4));
        let up = Link {
            forward: false,
            kind,
            target: parent,
        };
        let at = added.add(node(1), &[(parent, up)], 10).unwrap();
        assert_eq!(added.links(at), Some(vec![up]));
        assert_eq!(added.links(parent).unwrap()[0].target, at);
        assert!(added.remove(at, true));
        assert!(added.node(at).is_none() && !added.remove(at, true));
        assert_eq!(added.links(parent), Some(Vec::new()));
        let again = added.add(node(1), &[], 10).unwrap();
        assert_ne!(again, at);

        added.link(parent, kind, again);
        let seen = Link {
            forward: true,
            kind,
            target: again,
        };
        assert!(added.unlink(parent, seen, true));
        assert!(!added.unlink(parent, seen, true));
        assert_eq!(added.links(again), Some(Vec::new()));
    }
}
