//! Security tokens: the keys of a channel and how long they live (Part 4, 5.6.2).

use std::time::Duration;

use super::symmetric::Guard;
use super::{ChannelError, Protection};
use crate::policy::{Exchanged, Sender};
use crate::time::Instant;

/// One issue of keys.
#[derive(Debug)]
pub struct Token {
    /// The server's number for it.
    pub id: u32,
    /// When a client asks for the next one.
    renews: Instant,
    /// When its lifetime is over: nothing is sent with it any more.
    expires: Instant,
    /// When it is of no use any more.
    dies: Instant,
    /// Protects what this side sends.
    pub sending: Guard,
    /// Opens what this side receives.
    pub receiving: Guard,
}

/// Which side of the channel derives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Sends requests.
    Client,
    /// Sends responses.
    Server,
}

impl Token {
    /// Derives the keys of both directions from what was exchanged (Part 6, 6.7.5, table 63, and 6.8.1).
    pub fn derive(
        role: Role,
        protection: Protection,
        exchanged: &Exchanged<'_>,
        id: u32,
        created: Instant,
        lifetime: Duration,
    ) -> Result<Self, ChannelError> {
        let clients = Guard::of(protection, exchanged, Sender::Client)?;
        let servers = Guard::of(protection, exchanged, Sender::Server)?;
        let guards = match role {
            Role::Client => (clients, servers),
            Role::Server => (servers, clients),
        };
        Ok(Self::of(guards, id, created, lifetime))
    }

    /// A token without keys, for a channel without a policy.
    pub fn unprotected(id: u32, created: Instant, lifetime: Duration) -> Self {
        Self::of((Guard::Open, Guard::Open), id, created, lifetime)
    }

    fn of(
        (sending, receiving): (Guard, Guard),
        id: u32,
        created: Instant,
        lifetime: Duration,
    ) -> Self {
        let token = Self {
            id,
            // Part 4, 5.6.2.1: a client asks for the next token when 75 % of the lifetime are over.
            renews: created + lifetime * 3 / 4,
            expires: created + lifetime,
            // Part 4, 5.6.2.1: a receiver takes messages with an expired token for another 25 % of
            // its lifetime.
            dies: created + lifetime + lifetime / 4,
            sending,
            receiving,
        };
        debug_assert!(token.renews <= token.expires && token.expires <= token.dies);
        token
    }

    /// When it is of no use any more: a quarter of its lifetime after the end of that.
    pub fn dies_at(&self) -> Instant {
        self.dies
    }

    /// When a client asks for the next one.
    pub fn renew_at(&self) -> Instant {
        self.renews
    }
}

/// The tokens of a channel: one in use, and around a renewal the one before it.
#[derive(Debug)]
pub struct Tokens {
    role: Role,
    newest: Token,
    before: Before,
}

/// What becomes of the token before the newest one, and of sending.
#[derive(Debug)]
enum Before {
    /// It is gone. The newest one sends.
    Gone,
    /// It opens what is still under way. The newest one sends.
    Receives(Token),
    /// It sends, until the peer has used the newest one.
    Sends(Token),
    /// All have expired: none sends. One may still open what is under way.
    Expired(Option<Token>),
}

impl Tokens {
    /// The first one of a channel.
    pub fn new(token: Token, role: Role) -> Self {
        Self {
            role,
            newest: token,
            before: Before::Gone,
        }
    }

    /// A client sends with a new token at once; a server keeps to the old one until it has seen
    /// the new one used, or the old one has [expired](Self::expire) (Part 4, 5.6.2.1).
    pub fn add(&mut self, token: Token) {
        let keeps = self.role == Role::Server && self.sending().is_some();
        let old = std::mem::replace(&mut self.newest, token);
        self.before = match keeps {
            true => Before::Sends(old),
            false => Before::Receives(old),
        };
    }

    /// The token to send with; none if all have expired.
    #[inline]
    pub fn sending(&self) -> Option<&Token> {
        match &self.before {
            Before::Gone | Before::Receives(_) => Some(&self.newest),
            Before::Sends(old) => Some(old),
            Before::Expired(_) => None,
        }
    }

    /// When there is something to be done: [`expire`](Self::expire), or to give the channel up.
    pub fn ends_at(&self) -> Instant {
        let dies = self.newest.dies_at();
        self.sending().map_or(dies, |token| token.expires.min(dies))
    }

    /// Part 6, 6.7 and Part 4, 5.6.2.1: what is sent is secured with a token until it expires, and no longer. Then
    /// it is the turn of the next one, if there is one.
    pub fn expire(&mut self, now: Instant) {
        if self.sending().is_none_or(|token| now < token.expires) {
            return;
        }
        let old = match std::mem::replace(&mut self.before, Before::Gone) {
            Before::Gone => None,
            Before::Receives(old) | Before::Sends(old) => Some(old),
            Before::Expired(old) => old,
        };
        self.before = match old {
            old if self.newest.expires <= now => Before::Expired(old),
            Some(old) => Before::Receives(old),
            None => Before::Gone,
        };
    }

    /// The newest one, whose age decides about renewal.
    pub fn newest(&self) -> &Token {
        &self.newest
    }

    /// The token named by an arriving chunk, if it is known and alive.
    pub fn receiving(&self, id: u32, now: Instant) -> Option<&Token> {
        let before = match &self.before {
            Before::Gone | Before::Expired(None) => None,
            Before::Receives(old) | Before::Sends(old) | Before::Expired(Some(old)) => Some(old),
        };
        let lives = |token: &&Token| token.id == id && now < token.dies_at();
        Some(&self.newest)
            .filter(lives)
            .or_else(|| before.filter(lives))
    }

    /// A chunk protected with `id` was good: when it is the newest token, a server's older one
    /// has done its duty.
    #[inline]
    pub fn used(&mut self, id: u32) {
        if self.role == Role::Server && id == self.newest.id {
            match &mut self.before {
                Before::Gone => {}
                Before::Receives(_) | Before::Sends(_) => self.before = Before::Gone,
                Before::Expired(old) => *old = None,
            }
        }
    }
}
