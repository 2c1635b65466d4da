//! How much a loop works: for the connection that is looked at in this turn, and in all.

use super::link::Link;

/// Work of a loop.
#[derive(Debug)]
pub struct Effort {
    /// How many turns there were, this one too.
    turns: u64,
    /// Work that was done in this turn for the connection that is looked at.
    worked: usize,
    /// Work that was done in pieces, all of it.
    spent: usize,
}

impl Default for Effort {
    fn default() -> Self {
        Self {
            turns: 1,
            worked: 0,
            spent: 0,
        }
    }
}

impl Effort {
    /// A turn is over.
    pub fn end_turn(&mut self) {
        self.turns += 1;
    }

    /// This connection is looked at: what was done for it in this turn before counts. Tells how much that was.
    #[inline]
    pub fn look_at(&mut self, link: &Link) -> usize {
        self.worked = link.worked(self.turns);
        self.worked
    }

    /// What was done for this connection counts when it is looked at once more.
    #[inline]
    pub fn leave(&self, link: &mut Link) {
        link.has_worked(self.turns, self.worked);
    }

    /// So much was done.
    #[inline]
    pub fn add(&mut self, work: usize) {
        self.worked += work;
        self.spent += work;
    }

    /// Work that was done in this turn for the connection that is looked at.
    #[inline]
    pub fn worked(&self) -> usize {
        self.worked
    }

    /// All work so far.
    pub fn spent(&self) -> usize {
        self.spent
    }
}
