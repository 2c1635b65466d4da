//! The subscriptions of a loop: those that live, and those that ended and have items left to be forgotten.

use std::collections::VecDeque;
use std::ops::{Deref, DerefMut};

use rustc_hash::FxHashMap;

use super::Subscription;

/// Items and values that wait in them that are forgotten in a turn: some hundred microseconds.
const FORGOTTEN_IN_A_TURN: usize = 4_000;

/// Values in a queue that go as fast as an item.
const VALUES: usize = 8;

/// Subscriptions by their numbers.
///
/// One that ends is gone at once for everybody, but a hundred thousand items are not forgotten in one go: others have
/// their turn meanwhile.
#[derive(Debug)]
pub struct Subscriptions {
    alive: FxHashMap<u32, Subscription>,
    ended: VecDeque<Subscription>,
    /// How much is forgotten before others have their turn.
    left: usize,
}

impl Default for Subscriptions {
    fn default() -> Self {
        Self {
            alive: FxHashMap::default(),
            ended: VecDeque::new(),
            left: FORGOTTEN_IN_A_TURN,
        }
    }
}

impl Deref for Subscriptions {
    type Target = FxHashMap<u32, Subscription>;

    fn deref(&self) -> &Self::Target {
        &self.alive
    }
}

impl DerefMut for Subscriptions {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.alive
    }
}

impl Subscriptions {
    /// Ends one; returns how many items it had, or none if it is not there.
    pub fn end(&mut self, id: u32) -> Option<usize> {
        let subscription = self.alive.remove(&id)?;
        let items = subscription.len();
        self.ended.push_back(subscription);
        self.forget();
        Some(items)
    }

    /// Whether items of some that ended are left.
    pub fn are_ending(&self) -> bool {
        !self.ended.is_empty()
    }

    /// Goes on to forget those that ended, as much as in a turn.
    pub fn go_on_to_end(&mut self) {
        self.left = FORGOTTEN_IN_A_TURN;
        self.forget();
    }

    fn forget(&mut self) {
        while self.left > 0
            && let Some(subscription) = self.ended.front_mut()
        {
            let done = subscription.forget_items(self.left);
            self.left = self.left.saturating_sub(done + 1);
            if subscription.items.is_empty() {
                self.ended.pop_front();
            }
        }
    }
}

impl Subscription {
    /// Forgets items of one that ended, from the last on: so much of it at most, or one item. Returns how much it was.
    fn forget_items(&mut self, most: usize) -> usize {
        let mut done = 0;
        while done < most
            && let Some(mut item) = self.items.pop()
        {
            done += 1 + item.waiting() / VALUES;
            item.clear(&self.memory, &mut self.account.tally);
        }
        self.account.settle();
        done
    }
}
