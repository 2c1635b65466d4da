//! References in a row, each seen from both of its ends.

use std::borrow::Cow;

use rustc_hash::FxHashMap;

use super::Link;
use super::node::NodeIndex;

/// A reference by the places of its ends.
#[derive(Debug, Clone, Copy)]
pub struct Joined {
    pub source: NodeIndex,
    pub kind: NodeIndex,
    pub target: NodeIndex,
}

impl Joined {
    /// What each of its ends sees.
    fn ends(self) -> [(NodeIndex, Link); 2] {
        let seen = |forward, target| Link {
            forward,
            kind: self.kind,
            target,
        };
        [
            (self.source, seen(true, self.target)),
            (self.target, seen(false, self.source)),
        ]
    }
}

/// The references of nodes that follow each other.
#[derive(Debug, Default)]
pub struct Links {
    all: Vec<Link>,
    /// For each node where its links begin, and where those of the last end.
    first: Vec<u32>,
}

impl Links {
    /// Those of so many nodes from a place on; references of others are left out.
    pub fn new(from: usize, nodes: usize, joined: &[Joined]) -> Self {
        let ends = || {
            let ends = joined.iter().flat_map(|it| it.ends());
            ends.filter_map(|(at, link)| Some((at.get().checked_sub(from)?, link)))
        };
        // How many links each node has, then where those of each begin, then the links.
        let mut first = vec![0u32; nodes + 1];
        for (at, _) in ends() {
            if let Some(count) = first.get_mut(at + 1) {
                *count += 1;
            }
        }
        let mut sum = 0;
        for count in &mut first {
            sum += *count;
            *count = sum;
        }
        let mut all = vec![Link::FIRST; sum as usize];
        let mut next = first.clone();
        for (at, link) in ends() {
            if let Some(next) = next.get_mut(at) {
                if let Some(place) = all.get_mut(*next as usize) {
                    *place = link;
                }
                *next += 1;
            }
        }
        drop(next);
        settle(&mut first, &mut all);
        Self { all, first }
    }

    /// Those of one of them, forward ones last.
    #[inline]
    pub fn of(&self, at: usize) -> &[Link] {
        let bound = |i: usize| self.first.get(i).map_or(0, |n| *n as usize);
        let links = self.all.get(bound(at)..bound(at + 1));
        links.unwrap_or_default()
    }
}

/// The references of a node of the base that has more here than others have.
#[derive(Debug)]
pub enum Grown {
    /// All of them.
    Whole(Box<[Link]>),
    /// Those that are more, of a node that others have so many of that a copy for each server is too much.
    More(Box<[Link]>),
}

/// Types have thousands of instances in the standard alone, and are hardly ever asked for them.
const MANY: usize = 64;

impl Grown {
    /// All of them, in their order.
    pub fn with<'a>(&'a self, base: &'a [Link]) -> Cow<'a, [Link]> {
        match self {
            Self::Whole(all) => Cow::Borrowed(all),
            Self::More(more) => Cow::Owned(joint(base, more)),
        }
    }
}

fn joint(base: &[Link], more: &[Link]) -> Vec<Link> {
    let mut all = [base, more].concat();
    all.sort_unstable();
    all.dedup();
    all
}

/// Those nodes before `own_from` that have other references than `base` knows.
pub fn join_grown(base: &Links, own_from: usize, joined: &[Joined]) -> FxHashMap<NodeIndex, Grown> {
    let mut more: FxHashMap<NodeIndex, Vec<Link>> = FxHashMap::default();
    for (at, link) in joined.iter().flat_map(|it| it.ends()) {
        if at.get() < own_from {
            more.entry(at).or_default().push(link);
        }
    }
    let grown = more.into_iter().map(|(at, links)| {
        let there = base.of(at.get());
        // Of a plant with more instances than the standard has, a copy of those hardly counts, and to put both in order
        // each time that somebody asks would.
        let grown = match there.len() > MANY.max(links.len()) {
            true => Grown::More(links.into_boxed_slice()),
            false => Grown::Whole(joint(there, &links).into_boxed_slice()),
        };
        (at, grown)
    });
    grown.collect()
}

/// Puts the links of each node in order, each once: node sets tell a reference at both ends.
fn settle(first: &mut [u32], links: &mut Vec<Link>) {
    let mut end = 0;
    let mut begin = 0;
    for bound in first.iter_mut().skip(1) {
        let range = begin..*bound as usize;
        begin = *bound as usize;
        if let Some(own) = links.get_mut(range.clone()) {
            own.sort_unstable();
        }
        let kept_from = end;
        for at in range {
            let Some(&link) = links.get(at) else { break };
            let last = links.get(kept_from..end).and_then(<[Link]>::last);
            if last != Some(&link) {
                if let Some(place) = links.get_mut(end) {
                    *place = link;
                }
                end += 1;
            }
        }
        *bound = end as u32;
    }
    links.truncate(end);
    links.shrink_to_fit();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(source: u32, target: u32) -> Joined {
        Joined {
            source: NodeIndex(source),
            kind: NodeIndex(0),
            target: NodeIndex(target),
        }
    }

    #[test]
    fn a_base_and_what_stands_on_it_have_the_links_of_one_table() {
        // Node 2 has so many that they are not copied.
        let many = (0..100).map(|n| joined(2, 3 + n));
        let below: Vec<_> = [joined(0, 1), joined(1, 2), joined(0, 1)]
            .into_iter()
            .chain(many)
            .collect();
        // A node after the base, and a reference between two of the base.
        let own = [joined(1, 103), joined(103, 104), joined(2, 0), joined(1, 2)];
        let whole = Links::new(0, 105, &[&below[..], &own[..]].concat());
        let base = Links::new(0, 103, &below);
        let after = Links::new(103, 2, &own);
        let grown = join_grown(&base, 103, &own);
        assert!(matches!(grown[&NodeIndex(2)], Grown::More(_)));
        assert!(matches!(grown[&NodeIndex(1)], Grown::Whole(_)));
        for at in 0..105_usize {
            let there = base.of(at);
            let parts = match (at.checked_sub(103), grown.get(&NodeIndex(at as u32))) {
                (Some(own), _) => Cow::Borrowed(after.of(own)),
                (None, Some(grown)) => grown.with(there),
                (None, None) => Cow::Borrowed(there),
            };
            assert_eq!(parts, whole.of(at), "{at}");
        }
        assert_eq!(whole.of(105), []);
    }
}
