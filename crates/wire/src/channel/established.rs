//! A channel with keys, as messages need it: whatever else it is doing.

use super::asymmetric::Parties;
use super::sequence::{Incoming, Outgoing, SequenceRule};
use super::tokens::Tokens;
use super::{ChannelError, Protection};
use crate::frame::{Gap, Outbox};
use crate::policy::Policy;

/// The places of chunks in both directions, by the rule of what protects them.
#[derive(Debug)]
pub struct Numbers {
    pub(super) protection: Protection,
    outgoing: Outgoing,
    incoming: Incoming,
}

impl Numbers {
    /// Nothing sent and nothing received yet.
    pub fn of(protection: Protection) -> Self {
        let rule = match protection.policy.legacy_sequence_numbers() {
            true => SequenceRule::Legacy,
            false => SequenceRule::Strict,
        };
        Self {
            protection,
            outgoing: Outgoing::new(rule),
            incoming: Incoming::new(rule),
        }
    }

    /// The place of an OPN chunk in the stream: its number is given and its bytes kept free.
    pub fn reserve(&mut self, outbox: &mut Outbox, sealed_len: impl FnOnce(u32) -> usize) -> Gap {
        let sequence = self.outgoing.take();
        outbox.reserve(sealed_len(sequence))
    }

    /// The number of the latest chunk that arrived.
    #[inline]
    pub fn last(&self) -> Option<u32> {
        self.incoming.last()
    }

    /// Whether a chunk of this number may follow; it is the latest then.
    pub fn accept(&mut self, sequence: u32) -> Result<(), ChannelError> {
        Ok(self.incoming.accept(sequence)?)
    }
}

/// A channel with keys.
#[derive(Debug)]
pub struct Established {
    /// The server's number for it.
    pub(super) id: u32,
    /// The places of chunks.
    pub(super) numbers: Numbers,
    /// The keys.
    pub tokens: Tokens,
    /// Who protects OPN messages; none with policy None.
    parties: Option<Parties>,
    /// What the peer brought for the newest keys; nothing with policy None.
    pub(super) peer_nonce: Vec<u8>,
}

impl Established {
    /// The first keys are there.
    pub fn new(id: u32, numbers: Numbers, parties: Option<Parties>, tokens: Tokens) -> Self {
        debug_assert_eq!(
            parties.is_some(),
            numbers.protection.policy != Policy::None,
            "whoever has a policy has a key, and nobody else"
        );
        Self {
            id,
            numbers,
            tokens,
            parties,
            peer_nonce: Vec::new(),
        }
    }

    /// Notes what the peer brought for the newest keys.
    pub fn note_nonce(&mut self, nonce: Vec<u8>) {
        if self.parties.is_some() {
            self.peer_nonce = nonce;
        }
    }

    /// Who protects OPN messages; none with policy None.
    pub fn parties(&self) -> Option<&Parties> {
        self.parties.as_ref()
    }

    /// What an OPN message of this channel needs: its number, its place, and who protects it.
    pub(crate) fn opn(&mut self) -> (u32, &mut Numbers, Option<&Parties>) {
        (self.id, &mut self.numbers, self.parties.as_ref())
    }

    /// What a message needs: the number of the channel, the keys to send with and the places of chunks.
    #[inline]
    pub(super) fn sending(&mut self) -> (u32, &Tokens, &mut Outgoing) {
        (self.id, &self.tokens, &mut self.numbers.outgoing)
    }
}
