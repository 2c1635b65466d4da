//! A SecureChannel and where it is in its life (Part 4, 5.6; Part 6, 6.7.1).

use std::ops::Range;
use std::time::Duration;

use super::asymmetric::Opened;
use super::established::{Established, Numbers};
use super::stream::{Arrival, Stream};
use super::symmetric::names;
use super::tokens::{Role, Token, Tokens};
use super::{ChannelError, Protection};
use crate::certificate::Certificate;
use crate::frame::Header;
use crate::policy::Policy;
use crate::time::Instant;

/// A SecureChannel. Each state owns what it needs, and nothing of another's.
///
/// `O` is what a role knows while the channel is being opened, `R` what it knows of OPN messages that go while the
/// channel is open.
#[derive(Debug)]
pub enum SecureChannel<O, R> {
    /// There are no keys yet: nothing but OPN messages goes.
    Opening(Numbers, O),
    /// Messages go both ways.
    Open(Box<Established>),
    /// Messages go both ways, and OPN messages among them: for new keys, or, at a server, the response that opened the
    /// channel is still being signed.
    Renewing(Box<Established>, R),
    /// The channel is its transport's, which protects messages and keeps them apart: nobody opens or renews it.
    Shared(Box<Established>),
    /// Nothing goes any more but what is written already.
    Closing(Closed),
}

/// What is left of a channel that has ended, or that never came.
#[derive(Debug)]
pub struct Closed {
    /// Why, until it was told.
    pub reason: Option<ChannelError>,
    /// The number of the channel, 0 if it never opened.
    pub id: u32,
    /// How it was protected.
    pub protection: Protection,
    /// The peer's certificate, if it was trusted.
    pub peer: Option<Certificate>,
}

impl<O, R> Default for SecureChannel<O, R> {
    /// A channel that has ended, of which there is nothing to tell.
    fn default() -> Self {
        Self::Closing(Closed {
            reason: None,
            id: 0,
            protection: Protection::NONE,
            peer: None,
        })
    }
}

impl<O, R> SecureChannel<O, R> {
    /// A channel that was not asked for: its transport protects messages and keeps them apart.
    pub fn shared(role: Role, id: u32, now: Instant) -> Self {
        // Its token does not get old while anybody lives.
        const FOR_EVER: Duration = Duration::from_secs(100 * 365 * 24 * 3600);
        let token = Token::unprotected(1, now, FOR_EVER);
        let numbers = Numbers::of(Protection::NONE);
        Self::Shared(Box::new(Established::new(
            id,
            numbers,
            None,
            Tokens::new(token, role),
        )))
    }

    /// The channel as messages need it, in the states in which they go.
    #[inline]
    pub fn established(&self) -> Option<&Established> {
        match self {
            Self::Open(channel) | Self::Renewing(channel, _) | Self::Shared(channel) => {
                Some(channel)
            }
            Self::Opening(..) | Self::Closing(_) => None,
        }
    }

    /// The same, to send and to receive.
    #[inline]
    pub fn established_mut(&mut self) -> Option<&mut Established> {
        match self {
            Self::Open(channel) | Self::Renewing(channel, _) | Self::Shared(channel) => {
                Some(channel)
            }
            Self::Opening(..) | Self::Closing(_) => None,
        }
    }

    /// The number of the channel, 0 until it is open.
    #[inline]
    pub fn id(&self) -> u32 {
        match self {
            Self::Opening(..) => 0,
            Self::Open(channel) | Self::Renewing(channel, _) | Self::Shared(channel) => channel.id,
            Self::Closing(closed) => closed.id,
        }
    }

    /// What the channel is protected with.
    pub fn protection(&self) -> Protection {
        match self {
            Self::Opening(numbers, _) => numbers.protection,
            Self::Open(channel) | Self::Renewing(channel, _) | Self::Shared(channel) => {
                channel.numbers.protection
            }
            Self::Closing(closed) => closed.protection,
        }
    }

    /// Checks the number of an OPN chunk that was opened.
    pub fn accept(&mut self, opened: &Opened) -> Result<(), ChannelError> {
        match self {
            Self::Opening(numbers, _) => numbers.accept(opened.sequence),
            Self::Open(channel) | Self::Renewing(channel, _) | Self::Shared(channel) => {
                channel.numbers.accept(opened.sequence)
            }
            Self::Closing(_) => Ok(()),
        }
    }

    /// Part 4, 5.6.2.2: a nonce is as long as the policy wants it, and not used twice. Those before the last are not kept.
    pub fn check_nonce(&self, policy: Policy, nonce: &[u8]) -> Result<(), ChannelError> {
        if nonce.len() < policy.nonce_len() {
            let (want, got) = (policy.nonce_len(), nonce.len());
            return Err(ChannelError::Nonce { want, got });
        }
        let known = self.established().map(|channel| &channel.peer_nonce);
        if policy != Policy::None && known.is_some_and(|known| known == nonce) {
            return Err(ChannelError::NonceUsedTwice);
        }
        Ok(())
    }

    /// OPN messages go from now on.
    pub fn begin(&mut self, exchange: R) {
        debug_assert!(matches!(self, Self::Open(_) | Self::Renewing(..)));
        *self = match std::mem::take(self) {
            Self::Open(channel) | Self::Renewing(channel, _) => Self::Renewing(channel, exchange),
            other => other,
        };
    }

    /// OPN messages go no more. Gives what was known of them.
    pub fn settle(&mut self) -> Option<R> {
        let (next, exchange) = match std::mem::take(self) {
            Self::Renewing(channel, exchange) => (Self::Open(channel), Some(exchange)),
            other => (other, None),
        };
        *self = next;
        exchange
    }

    /// Opens a MSG or CLO chunk.
    #[inline]
    pub fn receive(
        &mut self,
        stream: &mut Stream,
        header: Header,
        range: Range<usize>,
        now: Instant,
    ) -> Result<Arrival, ChannelError> {
        match self.established_mut() {
            Some(channel) => stream.receive(channel, header, range, now),
            None => Err(match names(stream.inbox.chunk(range))? {
                (0, token) => ChannelError::Token(token),
                (got, _) => ChannelError::ChannelId { want: 0, got },
            }),
        }
    }
}
