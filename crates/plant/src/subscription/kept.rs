//! Notification messages that were sent and not acknowledged: what Republish gives again.

use std::collections::VecDeque;

use crate::ledger::Load;

/// Messages by their sequence numbers.
#[derive(Debug, Default)]
pub struct Kept {
    messages: VecDeque<(u32, Vec<u8>, Load)>,
    /// Memory of a message that is gone, for the next one.
    spare: Option<Vec<u8>>,
}

impl Kept {
    /// Keeps a message; of more than `limit` the oldest go, and are given to `forget`.
    pub fn keep(
        &mut self,
        sequence: u32,
        message: &[u8],
        load: Load,
        limit: usize,
        mut forget: impl FnMut(Load),
    ) {
        let mut bytes = self.spare.take().unwrap_or_default();
        bytes.clear();
        bytes.extend_from_slice(message);
        self.messages.push_back((sequence, bytes, load));
        while self.messages.len() > limit.max(1) {
            if let Some((_, bytes, load)) = self.messages.pop_front() {
                forget(load);
                self.save(bytes);
            }
        }
    }

    /// Lets a message go. None if it is not here.
    pub fn acknowledge(&mut self, sequence: u32) -> Option<Load> {
        let at = self.messages.iter().position(|(n, ..)| *n == sequence);
        let (_, bytes, load) = at.and_then(|at| self.messages.remove(at))?;
        self.save(bytes);
        Some(load)
    }

    /// What the messages hold.
    pub fn loads(&self) -> impl Iterator<Item = Load> {
        self.messages.iter().map(|(_, _, load)| *load)
    }

    fn save(&mut self, bytes: Vec<u8>) {
        self.spare = Some(bytes);
    }

    /// A message and what it holds.
    pub fn get(&self, sequence: u32) -> Option<(&[u8], Load)> {
        let mut messages = self.messages.iter();
        let found = messages.find(|(n, ..)| *n == sequence);
        found.map(|(_, bytes, load)| (bytes.as_slice(), *load))
    }

    /// The numbers of all, oldest first.
    pub fn sequences(&self) -> impl ExactSizeIterator<Item = u32> {
        self.messages.iter().map(|(n, ..)| *n)
    }
}
