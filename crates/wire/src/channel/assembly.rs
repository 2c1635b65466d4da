//! Messages that come in several chunks, put together with one copy.

use super::ChannelError;
use crate::budget::{Held, Spent};
use crate::frame::Limits;
use crate::time::Instant;

/// One message being put together.
#[derive(Debug)]
struct Partial {
    request_id: u32,
    chunks: u32,
    body: Vec<u8>,
    /// When its first chunk came.
    since: Instant,
}

/// The unfinished messages of one direction. Together they never hold more than one message
/// of the agreed size: chunks of several messages may be mixed, but a peer gains nothing by it.
#[derive(Debug, Default)]
pub struct Assembly {
    partials: Vec<Partial>,
    whole: Vec<u8>,
    /// What its memory is taken from, if that is counted.
    held: Option<Held>,
}

/// More messages in pieces at once than any client has reason to send.
const MAX_PARTIALS: usize = 64;

/// Unlimited by agreement still means limited in memory.
const HARD_LIMIT: usize = 1 << 30;

impl Assembly {
    /// Counts its memory from now on.
    pub fn count(&mut self, held: Held) {
        self.held = Some(held);
    }

    /// When the first chunk came of the message that is the longest unfinished.
    pub fn since(&self) -> Option<Instant> {
        self.partials.iter().map(|partial| partial.since).min()
    }

    /// Nobody read what came: unfinished messages begin anew to be so.
    pub fn begin_anew(&mut self, now: Instant) {
        for partial in &mut self.partials {
            partial.since = now;
        }
    }

    /// Adds an intermediate chunk.
    pub fn add(
        &mut self,
        request_id: u32,
        body: &[u8],
        limits: &Limits,
        now: Instant,
    ) -> Result<(), ChannelError> {
        let held: usize = self.partials.iter().map(|partial| partial.body.len()).sum();
        let at = self.position(request_id);
        let chunks = 1 + at
            .and_then(|at| self.partials.get(at))
            .map_or(0, |p| p.chunks);
        let bytes = held + body.len();
        let too_many = at.is_none() && self.partials.len() >= MAX_PARTIALS;
        if too_many || bytes > HARD_LIMIT || !limits.admits(bytes, chunks) {
            self.partials.clear();
            return Err(ChannelError::TooLarge { bytes, chunks });
        }
        // Doubling, as a Vec grows, but told before it is done.
        let grown = at.and_then(|at| self.partials.get(at)).and_then(|partial| {
            let (needs, has) = (partial.body.len() + body.len(), partial.body.capacity());
            (needs > has).then(|| needs.max(2 * has) - has)
        });
        let grown = grown.unwrap_or(match at {
            Some(_) => 0,
            None => body.len(),
        });
        self.settle(grown)?;
        match at.and_then(|at| self.partials.get_mut(at)) {
            Some(partial) => {
                partial.chunks = chunks;
                if grown > 0 {
                    let more = partial.body.capacity() + grown - partial.body.len();
                    partial.body.reserve_exact(more);
                }
                partial.body.extend_from_slice(body);
            }
            None => {
                // The memory of the message before this one serves again; but not while others
                // are unfinished, each of which could come to hold that of a long message.
                let mut memory = match self.partials.as_slice() {
                    [] => std::mem::take(&mut self.whole),
                    _ => Vec::new(),
                };
                memory.clear();
                memory.extend_from_slice(body);
                self.partials.push(Partial {
                    request_id,
                    chunks,
                    body: memory,
                    since: now,
                });
            }
        }
        // What was admitted is what is there.
        let all = || self.partials.iter().map(|it| it.body.len()).sum::<usize>();
        debug_assert!(self.partials.len() <= MAX_PARTIALS && all() == bytes);
        Ok(())
    }

    /// Adds the last chunk. True if the message is now [`whole`](Self::whole), false if this
    /// chunk is all of it.
    #[inline]
    pub fn finish(
        &mut self,
        request_id: u32,
        body: &[u8],
        limits: &Limits,
        now: Instant,
    ) -> Result<bool, ChannelError> {
        if self.position(request_id).is_none() {
            let (bytes, chunks) = (body.len(), 1);
            return if limits.admits(bytes, chunks) {
                Ok(false)
            } else {
                Err(ChannelError::TooLarge { bytes, chunks })
            };
        }
        self.join(request_id, body, limits, now)?;
        Ok(true)
    }

    /// Adds the last of several chunks.
    fn join(
        &mut self,
        request_id: u32,
        body: &[u8],
        limits: &Limits,
        now: Instant,
    ) -> Result<(), ChannelError> {
        self.add(request_id, body, limits, now)?;
        if let Some(at) = self.position(request_id) {
            self.whole = self.partials.swap_remove(at).body;
            // Less is never refused.
            let _ = self.settle(0);
        }
        Ok(())
    }

    /// The message that was finished last.
    pub fn whole(&self) -> &[u8] {
        &self.whole
    }

    /// Forgets a message whose sender gave up. False if there was nothing to forget.
    pub fn abort(&mut self, request_id: u32) -> bool {
        let at = self.position(request_id);
        if let Some(at) = at {
            self.partials.swap_remove(at);
            let _ = self.settle(0);
        }
        at.is_some()
    }

    /// Gives the memory of the latest long message back, if it is more than `keep` bytes.
    pub fn shrink(&mut self, keep: usize) {
        if self.whole.capacity() > keep {
            self.whole = Vec::new();
            // Less is never refused.
            let _ = self.settle(0);
        }
    }

    /// Holds as much of the budget as there is memory here, and so much more.
    fn settle(&mut self, more: usize) -> Result<(), Spent> {
        let Some(held) = &mut self.held else {
            return Ok(());
        };
        let partials = self.partials.iter();
        let bytes: usize = partials.map(|partial| partial.body.capacity()).sum();
        held.set(bytes + self.whole.capacity() + more)
    }

    fn position(&self, request_id: u32) -> Option<usize> {
        self.partials
            .iter()
            .position(|partial| partial.request_id == request_id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::Budget;

    const NOW: Instant = Instant::from_nanos(0);

    #[test]
    fn memory_is_counted_as_it_is_there_and_refused_before_it_is_taken() {
        let limits = Limits::default();
        let budget = Budget::of(1 << 20);
        let mut assembly = Assembly::default();
        assembly.count(budget.hold());
        let part = vec![0; 60_000];
        let refused = loop {
            match assembly.add(1, &part, &limits, NOW) {
                Ok(()) => {
                    let partials = assembly.partials.iter();
                    let there: usize = partials.map(|partial| partial.body.capacity()).sum();
                    assert!(budget.held() + crate::budget::STEP > there && there <= 1 << 20);
                }
                Err(error) => break error,
            }
        };
        assert_eq!(
            refused.status(),
            opcua_types::StatusCode::BadTcpNotEnoughResources
        );
        assert!(assembly.abort(1));
        assert_eq!(budget.held(), 0);
    }

    #[test]
    fn small_pieces_do_not_keep_the_memory_of_long_messages() {
        const LONG: usize = 1 << 20;
        let limits = Limits {
            receive_message: LONG as u32,
            ..Limits::default()
        };
        let mut assembly = Assembly::default();
        let part = vec![0; LONG / 4];
        for number in 0..60 {
            assembly.add(number, b"a", &limits, NOW).unwrap();
            for _ in 0..3 {
                assembly.add(1000, &part, &limits, NOW).unwrap();
            }
            let finished = assembly.finish(1000, &part[100..], &limits, NOW);
            assert_eq!(finished, Ok(true));
        }
        let partials = assembly.partials.iter();
        let held: usize = partials.map(|partial| partial.body.capacity()).sum();
        let held = held + assembly.whole.capacity();
        assert!(held <= 4 * LONG, "{held} bytes for messages of {LONG}");
    }
}
