//! Messages that come in several chunks, put together with one copy.

use super::ChannelError;
use crate::frame::Limits;

/// One message being put together.
#[derive(Debug)]
struct Partial {
    request_id: u32,
    chunks: u32,
    body: Vec<u8>,
}

/// The unfinished messages of one direction. Together they never hold more than one message
/// of the agreed size: chunks of several messages may be mixed, but a peer gains nothing by it.
#[derive(Debug, Default)]
pub struct Assembly {
    partials: Vec<Partial>,
    whole: Vec<u8>,
}

/// More messages in pieces at once than any client has reason to send.
const MAX_PARTIALS: usize = 64;

/// Unlimited by agreement still means limited in memory.
const HARD_LIMIT: usize = 1 << 30;

impl Assembly {
    /// Adds an intermediate chunk.
    pub fn add(
        &mut self,
        request_id: u32,
        body: &[u8],
        limits: &Limits,
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
        match at.and_then(|at| self.partials.get_mut(at)) {
            Some(partial) => {
                partial.chunks = chunks;
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
                });
            }
        }
        Ok(())
    }

    /// Adds the last chunk. True if the message is now [`whole`](Self::whole), false if this
    /// chunk is all of it.
    pub fn finish(
        &mut self,
        request_id: u32,
        body: &[u8],
        limits: &Limits,
    ) -> Result<bool, ChannelError> {
        if self.position(request_id).is_none() {
            let (bytes, chunks) = (body.len(), 1);
            return if limits.admits(bytes, chunks) {
                Ok(false)
            } else {
                Err(ChannelError::TooLarge { bytes, chunks })
            };
        }
        self.add(request_id, body, limits)?;
        if let Some(at) = self.position(request_id) {
            self.whole = self.partials.swap_remove(at).body;
        }
        Ok(true)
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
        }
        at.is_some()
    }

    /// Gives the memory of the latest long message back.
    pub fn shrink(&mut self) {
        if self.whole.capacity() > 0 {
            self.whole = Vec::new();
        }
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
            assembly.add(number, b"a", &limits).unwrap();
            for _ in 0..3 {
                assembly.add(1000, &part, &limits).unwrap();
            }
            assert_eq!(assembly.finish(1000, &part[100..], &limits), Ok(true));
        }
        let partials = assembly.partials.iter();
        let held: usize = partials.map(|partial| partial.body.capacity()).sum();
        let held = held + assembly.whole.capacity();
        assert!(held <= 4 * LONG, "{held} bytes for messages of {LONG}");
    }
}
