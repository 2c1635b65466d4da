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
        let (sending, receiving) = match role {
            Role::Client => (clients, servers),
            Role::Server => (servers, clients),
        };
        Ok(Self {
            id,
            // Part 4, 5.6.2.1: a client asks for the next token when 75 % of the lifetime are over.
            renews: created + lifetime * 3 / 4,
            expires: created + lifetime,
            // Part 4, 5.6.2.1: a receiver takes messages with an expired token for another 25 % of
            // its lifetime.
            dies: created + lifetime + lifetime / 4,
            sending,
            receiving,
        })
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

/// The tokens of a channel: one in use, and around a renewal a second one.
#[derive(Debug, Default)]
pub struct Tokens {
    /// Newest first.
    held: Vec<Token>,
    /// The place of the one to send with; beyond the end if there is none.
    sending: usize,
}

/// No token is there to send with.
const NOBODYS: usize = usize::MAX;

impl Tokens {
    /// A client sends with a new token at once; a server keeps to the old one until it has seen
    /// the new one used, or the old one has [expired](Self::expire) (Part 4, 5.6.2.1).
    pub fn add(&mut self, token: Token, role: Role) {
        let old = self.sending().is_some();
        self.held.insert(0, token);
        self.sending = match role {
            Role::Server if old => 1,
            _ => 0,
        };
        self.held.truncate(2);
    }

    /// The token to send with.
    pub fn sending(&self) -> Option<&Token> {
        self.held.get(self.sending)
    }

    /// When [`expire`](Self::expire) has something to do.
    pub fn expires_at(&self) -> Option<Instant> {
        self.sending().map(|token| token.expires)
    }

    /// Part 6, 6.7 and Part 4, 5.6.2.1: what is sent is secured with a token until it expires, and no longer. Then
    /// it is the turn of the next one, if there is one.
    pub fn expire(&mut self, now: Instant) {
        if self.expires_at().is_some_and(|at| at <= now) {
            let newest = self.held.first().filter(|newest| now < newest.expires);
            self.sending = newest.map_or(NOBODYS, |_| 0);
        }
    }

    /// The newest one, whose age decides about renewal.
    pub fn newest(&self) -> Option<&Token> {
        self.held.first()
    }

    /// The token named by an arriving chunk, if it is known and alive.
    pub fn receiving(&self, id: u32, now: Instant) -> Option<&Token> {
        self.held
            .iter()
            .find(|token| token.id == id && now < token.dies_at())
    }

    /// A chunk protected with `id` was good: when it is the newest token, a server's older one
    /// has done its duty.
    pub fn used(&mut self, id: u32, role: Role) {
        if role == Role::Server
            && self.held.len() > 1
            && self.held.first().is_some_and(|token| token.id == id)
        {
            self.held.truncate(1);
            self.sending = 0;
        }
    }
}
