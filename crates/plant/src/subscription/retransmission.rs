//! Notification messages that were sent and not acknowledged: what Republish gives again.

use std::collections::VecDeque;

use wire::budget::Held;
use wire::time::Now;

use super::Subscription;
use crate::ledger::Load;

/// A message that was made.
#[derive(Debug)]
struct Sent {
    sequence: u32,
    bytes: Vec<u8>,
    load: Load,
    /// When, in nanoseconds of monotonic time.
    at: u64,
}

/// Messages by their sequence numbers.
#[derive(Debug, Default)]
pub struct RetransmissionQueue {
    messages: VecDeque<Sent>,
    /// Of all messages.
    bytes: usize,
    /// Memory of a message that is gone, for the next one.
    spare: Option<Vec<u8>>,
    /// What their memory is taken from, if that is counted.
    held: Option<Held>,
}

/// The part of a budget that may lie idle in a subscription.
const SPARE: usize = 64;

/// Bytes of messages that a subscription keeps beside the last: who neither reads nor acknowledges costs so much.
const MOST: usize = 4 * 1024 * 1024;

impl RetransmissionQueue {
    /// Takes their memory from this one's budget from now on. If that has less, it stays what the one before has counted.
    pub fn draw_on(&mut self, mut held: Held) {
        if held.set(self.bytes).is_ok() || self.held.is_none() {
            self.held = Some(held);
        }
    }

    /// Whether there is memory for so many bytes as there are.
    fn settle(&mut self) -> bool {
        let bytes = self.bytes;
        let held = self.held.as_mut();
        held.is_none_or(|held| held.set(bytes).is_ok())
    }

    /// Lets the oldest go while there are more than [`MOST`] bytes, and gives them to `forget`: before the numbers of
    /// those that can be republished are told.
    pub fn shed(&mut self, mut forget: impl FnMut(Load)) {
        while self.bytes > MOST && self.messages.len() > 1 {
            if let Some(oldest) = self.messages.pop_front() {
                self.bytes -= oldest.bytes.len();
                forget(oldest.load);
            }
        }
        self.settle();
    }

    /// Keeps a message that was made at `at`; of more than `limit`, or than there is memory for, the oldest go, and are
    /// given to `forget`.
    pub fn keep(
        &mut self,
        (sequence, at): (u32, u64),
        bytes: Vec<u8>,
        load: Load,
        limit: usize,
        mut forget: impl FnMut(Load),
    ) {
        self.bytes += bytes.len();
        // It may be all the memory that there is.
        while !self.settle() {
            self.spare = None;
            let Some(oldest) = self.messages.pop_front() else {
                self.bytes -= bytes.len();
                return forget(load);
            };
            self.bytes -= oldest.bytes.len();
            forget(oldest.load);
        }
        self.messages.push_back(Sent {
            sequence,
            bytes,
            load,
            at,
        });
        while self.messages.len() > limit.max(1) {
            if let Some(oldest) = self.messages.pop_front() {
                self.bytes -= oldest.bytes.len();
                forget(oldest.load);
                self.give_back(oldest.bytes);
            }
        }
    }

    /// Memory for a message, if there is some of one that is gone.
    pub fn take_spare(&mut self) -> Option<Vec<u8>> {
        let mut bytes = self.spare.take()?;
        bytes.clear();
        Some(bytes)
    }

    /// Memory of a message serves again; but not where it is much of what there is.
    pub fn give_back(&mut self, bytes: Vec<u8>) {
        let held = self.held.as_ref();
        let most = held.map_or(usize::MAX, |held| held.limit() / SPARE);
        self.spare = (bytes.capacity() <= most).then_some(bytes);
    }

    /// Lets a message go: what it held, and when it was made. None if it is not here.
    pub fn acknowledge(&mut self, sequence: u32) -> Option<(Load, u64)> {
        let mut messages = self.messages.iter();
        let at = messages.position(|sent| sent.sequence == sequence);
        let sent = at.and_then(|at| self.messages.remove(at))?;
        self.bytes -= sent.bytes.len();
        // Less is never refused.
        let fits = self.settle();
        debug_assert!(fits);
        self.give_back(sent.bytes);
        Some((sent.load, sent.at))
    }

    /// When the oldest was made.
    pub fn oldest(&self) -> Option<u64> {
        self.messages.front().map(|sent| sent.at)
    }

    /// What the messages hold.
    pub fn loads(&self) -> impl Iterator<Item = Load> {
        self.messages.iter().map(|sent| sent.load)
    }

    /// A message and what it holds.
    pub fn get(&self, sequence: u32) -> Option<(&[u8], Load)> {
        let mut messages = self.messages.iter();
        let found = messages.find(|sent| sent.sequence == sequence);
        found.map(|sent| (sent.bytes.as_slice(), sent.load))
    }

    /// The numbers of all, oldest first.
    pub fn sequences(&self) -> impl ExactSizeIterator<Item = u32> {
        self.messages.iter().map(|sent| sent.sequence)
    }
}

impl Subscription {
    /// A message that was sent and not acknowledged.
    pub fn republish(&mut self, sequence: u32) -> Option<&[u8]> {
        let found = self.kept.get(sequence);
        if let Some(took) = self.account.took() {
            took.republish(found.is_some());
        }
        let (message, load) = found?;
        let tally = &mut self.account.tally;
        tally.messages.republished += 1;
        tally.load(load, |values| &mut values.republished);
        self.account.settle();
        Some(message)
    }

    /// Lets a message go. False if there is none of this number.
    pub fn acknowledge(&mut self, sequence: u32, now: Now) -> bool {
        let Some((load, at)) = self.kept.acknowledge(sequence) else {
            return false;
        };
        if let Some(took) = self.account.took() {
            took.acknowledged(now.mono.as_nanos().saturating_sub(at));
        }
        let tally = &mut self.account.tally;
        tally.messages.acknowledged += 1;
        tally.load(load, |values| &mut values.acknowledged);
        self.account.settle();
        self.tell();
        true
    }

    /// Numbers of messages that can be republished.
    pub fn available(&self) -> Vec<u32> {
        self.kept.sequences().collect()
    }
}
