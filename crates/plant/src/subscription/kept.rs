//! Notification messages that were sent and not acknowledged: what Republish gives again.

use std::collections::VecDeque;

/// Messages by their sequence numbers.
#[derive(Debug, Default)]
pub struct Kept {
    messages: VecDeque<(u32, Vec<u8>)>,
    /// Memory of messages that are gone, for the next ones.
    spare: Vec<Vec<u8>>,
}

/// Buffers kept for use again.
const SPARE: usize = 4;

impl Kept {
    /// Keeps a message; of more than `limit` the oldest go.
    pub fn keep(&mut self, sequence: u32, message: &[u8], limit: usize) {
        let mut bytes = self.spare.pop().unwrap_or_default();
        bytes.clear();
        bytes.extend_from_slice(message);
        self.messages.push_back((sequence, bytes));
        while self.messages.len() > limit.max(1) {
            if let Some((_, bytes)) = self.messages.pop_front() {
                self.save(bytes);
            }
        }
    }

    /// Lets a message go. False if it is not here.
    pub fn acknowledge(&mut self, sequence: u32) -> bool {
        let at = self.messages.iter().position(|(n, _)| *n == sequence);
        match at.and_then(|at| self.messages.remove(at)) {
            Some((_, bytes)) => {
                self.save(bytes);
                true
            }
            None => false,
        }
    }

    fn save(&mut self, bytes: Vec<u8>) {
        if self.spare.len() < SPARE {
            self.spare.push(bytes);
        }
    }

    /// A message.
    pub fn get(&self, sequence: u32) -> Option<&[u8]> {
        let mut messages = self.messages.iter();
        let found = messages.find(|(n, _)| *n == sequence);
        found.map(|(_, bytes)| bytes.as_slice())
    }

    /// The numbers of all, oldest first.
    pub fn sequences(&self) -> impl ExactSizeIterator<Item = u32> {
        self.messages.iter().map(|(n, _)| *n)
    }
}
