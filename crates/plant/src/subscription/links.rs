//! What an item triggers (Part 4, 5.13.1.6).

use rustc_hash::FxHashSet;

/// Items that an item triggers: most trigger none, and that takes a word.
#[derive(Debug, Default)]
#[allow(
    clippy::box_collection,
    reason = "a word instead of three where there may be many"
)]
pub struct Links(Option<Box<Vec<u32>>>);

impl Links {
    /// Adds those that are not among them. However many there are, they are gone through once.
    pub fn add(&mut self, ids: impl IntoIterator<Item = u32>) {
        let mut ids = ids.into_iter().peekable();
        if ids.peek().is_some() {
            let links = self.0.get_or_insert_default();
            links.extend(ids);
            links.sort();
            links.dedup();
        }
    }

    /// Removes some; returns of each whether it was among them.
    pub fn remove(&mut self, ids: &[u32]) -> Vec<bool> {
        let (mut gone, mut found) = (ids.to_vec(), ids.to_vec());
        gone.sort_unstable();
        found.clear();
        self.retain(|id| {
            let goes = gone.binary_search(&id).is_ok();
            if goes {
                found.push(id);
            }
            !goes
        });
        // Who is named twice is there once.
        let mut left: FxHashSet<u32> = found.into_iter().collect();
        ids.iter().map(|id| left.remove(id)).collect()
    }

    /// Keeps only some.
    pub fn retain(&mut self, mut keep: impl FnMut(u32) -> bool) {
        let Some(links) = &mut self.0 else {
            return;
        };
        links.retain(|id| keep(*id));
        if links.is_empty() {
            self.0 = None;
        }
    }

    /// Bytes that they take.
    pub fn weight(&self) -> usize {
        self.0.as_ref().map_or(0, |links| links.capacity() * 4)
    }

    /// All of them.
    pub fn ids(&self) -> &[u32] {
        self.0.as_ref().map_or(&[], |links| links.as_slice())
    }
}
