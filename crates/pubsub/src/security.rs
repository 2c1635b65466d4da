//! Keys, signatures, encryption, replay, and several tokens at a time (Part 14, 7.2.4.4.3).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

pub use wire::policy::pubsub::{
    GroupKeys, KeyLength, PubSubPolicy, RawKey, SecurityKeys, UnknownPolicy, token_after,
};

use crate::encode::Offsets;
use crate::error::DecodeError;
use crate::header::{Header, Kind, Nonce, PublisherId, SecurityHeader, Tolerance};
use crate::sequence::is_newer_32;

/// What is done to messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    /// They are signed.
    Sign,
    /// They are signed, and their payload is encrypted.
    SignAndEncrypt,
}

const NONCE_LEN: usize = 8;

/// Numbers the messages that a publisher secures with one key; a copy goes on with the same numbers. One of each key is
/// for all that is sent with the same PublisherId, data of any writer group and announcements (Part 14, 7.2.4.4.3.2).
#[derive(Debug, Clone, Default)]
pub struct NonceSequence(Arc<AtomicU32>);

impl NonceSequence {
    /// The next number, from 1 on; none after the last one.
    fn next(&self) -> Option<u32> {
        let next = |last: u32| last.checked_add(1);
        let last = self
            .0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
        last.ok().and_then(next)
    }
}

/// Secures what one writer group publishes.
#[derive(Debug)]
pub struct Sealer {
    keys: GroupKeys,
    token_id: u32,
    mode: Mode,
    random: [u8; 4],
    sequence: NonceSequence,
}

impl Sealer {
    /// With a key and its token; `random` are four bytes of a random source.
    pub fn new(keys: GroupKeys, token_id: u32, mode: Mode, random: [u8; 4]) -> Self {
        Self {
            keys,
            token_id,
            mode,
            random,
            sequence: NonceSequence::default(),
        }
    }

    /// The same, with the numbers that others of the same PublisherId have for this key, too.
    #[must_use]
    pub fn numbered(self, sequence: NonceSequence) -> Self {
        Self { sequence, ..self }
    }

    /// Another key from the next message on, with the sequence of that key, which begins anew (Part 14, 7.2.4.4.3.2).
    pub fn roll_over(
        &mut self,
        keys: GroupKeys,
        token_id: u32,
        random: [u8; 4],
        sequence: NonceSequence,
    ) {
        *self = Self::new(keys, token_id, self.mode, random).numbered(sequence);
    }

    /// The header that a message needs before it can be sealed.
    pub fn header(&self) -> SecurityHeader {
        SecurityHeader {
            signed: true,
            encrypted: self.mode == Mode::SignAndEncrypt,
            force_key_reset: false,
            token_id: self.token_id,
            nonce: Nonce::new(&[0; NONCE_LEN]),
            footer_len: None,
        }
    }

    /// Writes token and nonce, encrypts the payload and appends the signature. `message` holds nothing but a
    /// message that was encoded with [`Sealer::header`]. False if it was not.
    ///
    /// The sequence of the nonce ends after 2^32 messages; then it is false too, and another key is needed.
    #[must_use]
    pub fn seal(&mut self, message: &mut Vec<u8>, at: &Offsets) -> bool {
        let token = at.token;
        let room = token.and_then(|token| message.get(token..token + 5 + NONCE_LEN));
        if room.is_none() || message.get(at.payload..).is_none() {
            return false;
        }
        let Some(sequence) = self.sequence.next() else {
            return false;
        };
        let mut nonce = [0; NONCE_LEN];
        nonce[..4].copy_from_slice(&self.random);
        nonce[4..].copy_from_slice(&sequence.to_le_bytes());
        let Some(token) = at.token else { return false };
        let Some(place) = message.get_mut(token..token + 5 + NONCE_LEN) else {
            return false;
        };
        place[..4].copy_from_slice(&self.token_id.to_le_bytes());
        place[5..].copy_from_slice(&nonce);
        if self.mode == Mode::SignAndEncrypt {
            let Some(payload) = message.get_mut(at.payload..) else {
                return false;
            };
            self.keys.apply(nonce, payload);
        }
        let signature = self.keys.sign(message);
        message.extend_from_slice(&signature);
        true
    }
}

/// That the payload of a datagram may be read: it was verified, and decrypted where it lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Opened {
    payload_end: usize,
    security: Option<SecurityHeader>,
}

impl Opened {
    pub(crate) fn payload_end(self) -> usize {
        self.payload_end
    }

    /// The SecurityTokenId of its key, if it is secured.
    pub fn token_id(self) -> Option<u32> {
        let secured = self.security.filter(|it| it.signed || it.encrypted);
        secured.map(|it| it.token_id)
    }

    pub(crate) fn signed(self) -> bool {
        self.security.is_some_and(|it| it.signed)
    }

    pub(crate) fn encrypted(self) -> bool {
        self.security.is_some_and(|it| it.encrypted)
    }
}

/// Why a datagram was not opened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// It could not be read so far.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// It is less secured than is asked for.
    #[error("a message that is not secured as this reader asks for")]
    NotSecured,
    /// It is encrypted and not signed, which no security mode is.
    #[error("a message that is encrypted and not signed")]
    NotSigned,
    /// No key of this token is known.
    #[error("no key of SecurityTokenId {0}")]
    NoKey(u32),
    /// A nonce of another length than eight bytes.
    #[error("a MessageNonce of {0} bytes; the specification says 8")]
    Nonce(usize),
    /// The signature is wrong: another key, or another message.
    #[error("the signature is wrong: another key, or bytes that were changed")]
    Signature,
    /// A message that was there already, or is too old to say.
    #[error("a message whose nonce was used before")]
    Replayed,
    /// More senders than can be remembered.
    #[error("more than {0} senders")]
    TooManySenders(usize),
}

/// The keys of a group by token, and which messages were seen under them.
#[derive(Debug)]
pub struct KeyRing {
    keys: BTreeMap<u32, GroupKeys>,
    order: Vec<u32>,
    required: Option<Mode>,
    tolerance: Tolerance,
    seen: Vec<(Sender, Window)>,
}

/// What is told has numbers of the same sequence as data, and comes by another socket: data that waits in the other one is
/// not old because of it, nor is what is told because of data.
type Sender = (u32, Option<PublisherId<'static>>, Option<u16>, Kind);

/// So many tokens are kept: the current one, those to come, and one that has ended.
const TOKENS: usize = 8;
/// So many senders are remembered.
const SENDERS: usize = 4096;

impl KeyRing {
    /// With no keys. `required` refuses messages that are secured less.
    pub fn new(required: Option<Mode>, tolerance: Tolerance) -> Self {
        Self {
            keys: BTreeMap::new(),
            order: Vec::new(),
            required,
            tolerance,
            seen: Vec::new(),
        }
    }

    /// Adds the key of a token. The one that was added first is dropped when there are more than eight.
    pub fn insert(&mut self, token_id: u32, keys: GroupKeys) {
        self.forget(token_id);
        while self.order.len() >= TOKENS {
            let oldest = self.order[0];
            self.forget(oldest);
        }
        self.order.push(token_id);
        self.keys.insert(token_id, keys);
    }

    fn forget(&mut self, token_id: u32) {
        self.order.retain(|it| *it != token_id);
        self.keys.remove(&token_id);
        self.seen.retain(|((token, ..), _)| *token != token_id);
    }

    /// Verifies a datagram and decrypts its payload where it lies. One that is not secured is left as it is.
    ///
    /// # Errors
    /// It is not to be trusted; bytes are as they were.
    pub fn open(&mut self, bytes: &mut [u8]) -> Result<Opened, OpenError> {
        let (header, payload_at) = Header::parse(bytes, self.tolerance)?;
        let Some(security) = header.security.filter(|it| it.signed || it.encrypted) else {
            return match self.required {
                None => Ok(Opened {
                    payload_end: bytes.len(),
                    security: None,
                }),
                Some(_) => Err(OpenError::NotSecured),
            };
        };
        if !security.signed {
            return Err(OpenError::NotSigned);
        }
        if self.required == Some(Mode::SignAndEncrypt) && !security.encrypted {
            return Err(OpenError::NotSecured);
        }
        let keys = self.keys.get(&security.token_id);
        let keys = keys.ok_or(OpenError::NoKey(security.token_id))?;
        let nonce: [u8; NONCE_LEN] = security
            .nonce
            .bytes()
            .try_into()
            .map_err(|_| OpenError::Nonce(security.nonce.bytes().len()))?;
        let end = bytes.len().checked_sub(GroupKeys::SIGNATURE_LEN);
        let end = end.filter(|end| *end >= payload_at);
        let end = end.ok_or(OpenError::Signature)?;
        let (signed, signature) = bytes.split_at(end);
        if !keys.verify(signed, signature) {
            return Err(OpenError::Signature);
        }
        let publisher = header.publisher_id.as_ref();
        let group = header.writer_group_id();
        let sender = (security.token_id, publisher, group, header.kind);
        let [.., a, b, c, d] = nonce;
        let sequence = u32::from_le_bytes([a, b, c, d]);
        if !self.tolerance.constant_nonce {
            note(&mut self.seen, sender, sequence)?;
        }
        if security.encrypted
            && let Some(payload) = bytes.get_mut(payload_at..end)
        {
            keys.apply(nonce, payload);
        }
        Ok(Opened {
            payload_end: end,
            security: Some(security),
        })
    }
}

/// Remembers a message of a sender; only of those whose signature was right.
fn note(
    seen: &mut Vec<(Sender, Window)>,
    (token, publisher, group, kind): (u32, Option<&PublisherId<'_>>, Option<u16>, Kind),
    sequence: u32,
) -> Result<(), OpenError> {
    // Found without a copy of the id, which may be a string.
    let known = seen.iter_mut().find(|((t, p, g, k), _)| {
        *t == token && *g == group && *k == kind && p.as_ref() == publisher
    });
    if let Some((_, window)) = known {
        return match window.note(sequence) {
            true => Ok(()),
            false => Err(OpenError::Replayed),
        };
    }
    if seen.len() >= SENDERS {
        return Err(OpenError::TooManySenders(SENDERS));
    }
    let publisher = publisher.map(|it| it.clone().into_owned());
    seen.push(((token, publisher, group, kind), Window::new(sequence)));
    Ok(())
}

/// Which of the last 64 messages of a sender were there.
#[derive(Debug, Clone, Copy)]
struct Window {
    newest: u32,
    seen: u64,
}

impl Window {
    fn new(sequence: u32) -> Self {
        Self {
            newest: sequence,
            seen: 1,
        }
    }

    /// False for one that was there, and for one too old to say.
    fn note(&mut self, sequence: u32) -> bool {
        match is_newer_32(sequence, self.newest) {
            Some(true) => {
                let on = sequence.wrapping_sub(self.newest);
                self.seen = match on {
                    64.. => 1,
                    _ => self.seen << on | 1,
                };
                self.newest = sequence;
                true
            }
            Some(false) => {
                let back = self.newest.wrapping_sub(sequence);
                let fresh = back < 64 && self.seen & 1 << back == 0;
                if fresh {
                    self.seen |= 1 << back;
                }
                fresh
            }
            None => false,
        }
    }
}
