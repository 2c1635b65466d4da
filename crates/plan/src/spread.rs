//! Which nodes a session uses, and which of them a request names.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::text::words;

/// How the nodes are spread over the sessions of a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Spread {
    /// Every session uses all of them.
    #[default]
    All,
    /// Every session uses its share of them.
    Split,
}

impl Spread {
    /// The nodes, by their place in the list, of session `index` of `of`. Shares differ by one node at
    /// most; with fewer nodes than sessions, sessions share a node each.
    pub fn part(self, nodes: usize, index: u32, of: u32) -> Range<usize> {
        let (index, of) = (index as usize, of.max(1) as usize);
        match self {
            Self::All => 0..nodes,
            Self::Split if nodes == 0 => 0..0,
            Self::Split if nodes < of => {
                let node = index % nodes;
                node..node + 1
            }
            Self::Split => {
                let index = index % of;
                share(nodes, index, of)..share(nodes, index + 1, of)
            }
        }
    }
}

/// `nodes · index / of` without overflow.
fn share(nodes: usize, index: usize, of: usize) -> usize {
    nodes / of * index + nodes % of * index / of
}

words! {
    Spread "is no way to spread nodes" "all or split" { All "all" Split "split" }
}

/// The different requests of a session: `batch` nodes each, around the list as often as it takes until
/// every node was named equally often. After the last group the first follows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Groups {
    nodes: usize,
    batch: usize,
}

impl Groups {
    /// Groups of `batch` out of so many nodes.
    pub fn new(nodes: usize, batch: u32) -> Self {
        Self {
            nodes,
            batch: (batch as usize).max(1),
        }
    }

    /// How many different requests there are.
    pub fn len(&self) -> usize {
        let (mut a, mut b) = (self.nodes, self.batch);
        while b != 0 {
            (a, b) = (b, a % b);
        }
        self.nodes.checked_div(a).unwrap_or(0)
    }

    /// Whether there are none, for want of nodes.
    pub fn is_empty(&self) -> bool {
        self.nodes == 0
    }

    /// The places in the list of the nodes of group `index`.
    pub fn group(&self, index: usize) -> impl Iterator<Item = usize> + use<> {
        let (nodes, batch) = (self.nodes, self.batch);
        let first = match nodes {
            0 => 0,
            nodes => (index % self.len() * (batch % nodes)) % nodes,
        };
        let batch = if nodes == 0 { 0 } else { batch };
        (0..batch).map(move |i| (first + i) % nodes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn groups_go_around_until_every_node_was_named_equally_often() {
        let groups = |nodes, batch| {
            let groups = Groups::new(nodes, batch);
            let all = (0..groups.len()).map(|i| groups.group(i).collect());
            all.collect::<Vec<Vec<usize>>>()
        };
        assert_eq!(groups(4, 2), [[0, 1], [2, 3]]);
        assert_eq!(groups(3, 2), [[0, 1], [2, 0], [1, 2]]);
        // The same node, repeated.
        assert_eq!(groups(1, 3), [[0, 0, 0]]);
        assert_eq!(groups(0, 3), Vec::<Vec<usize>>::new());
    }

    proptest! {
        #[test]
        fn shares_are_even_and_complete(nodes in 1usize..500, of in 1u32..50) {
            let parts: Vec<_> = (0..of).map(|i| Spread::Split.part(nodes, i, of)).collect();
            let sizes = parts.iter().map(ExactSizeIterator::len);
            if nodes >= of as usize {
                let all: Vec<usize> = parts.iter().cloned().flatten().collect();
                prop_assert_eq!(all, (0..nodes).collect::<Vec<_>>());
                prop_assert!(sizes.clone().max().unwrap() - sizes.min().unwrap() <= 1);
            } else {
                prop_assert!(sizes.max() == Some(1));
                let mut used: Vec<usize> = parts.into_iter().flatten().collect();
                used.sort_unstable();
                used.dedup();
                prop_assert_eq!(used.len(), nodes);
            }
        }

        #[test]
        fn every_node_is_named_equally_often(nodes in 1usize..60, batch in 1u32..100) {
            let groups = Groups::new(nodes, batch);
            let mut times = vec![0usize; nodes];
            for group in 0..groups.len() {
                prop_assert_eq!(groups.group(group).count(), batch as usize);
                groups.group(group).for_each(|node| times[node] += 1);
            }
            prop_assert!(times.iter().all(|&n| n == times[0] && n > 0));
        }
    }
}
