//! Security tokens: the keys of a channel and how long they live (Part 4, 5.6.2).

use std::time::Duration;

use crate::policy::{Keys, Policy};
use crate::time::Instant;

/// One issue of keys.
#[derive(Debug)]
pub struct Token {
    /// The server's number for it.
    pub id: u32,
    /// When a client asks for the next one.
    renews: Instant,
    /// When it is of no use any more.
    dies: Instant,
    /// Protects what this side sends; nothing with policy None.
    pub sending: Option<Keys>,
    /// Opens what this side receives.
    pub receiving: Option<Keys>,
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
    /// Derives the keys of both directions from the two nonces (Part 6, 6.7.5, table 63).
    pub fn derive(
        role: Role,
        policy: Policy,
        (client_nonce, server_nonce): (&[u8], &[u8]),
        id: u32,
        created: Instant,
        lifetime: Duration,
    ) -> Self {
        let keys =
            |secret, seed| (policy != Policy::None).then(|| Keys::derive(policy, secret, seed));
        let clients = keys(server_nonce, client_nonce);
        let servers = keys(client_nonce, server_nonce);
        let (sending, receiving) = match role {
            Role::Client => (clients, servers),
            Role::Server => (servers, clients),
        };
        Self {
            id,
            // Part 4, 5.6.2.1: a client asks for the next token when 75 % of the lifetime are over.
            renews: created + lifetime * 3 / 4,
            // Part 4, 5.6.2.1: a receiver takes messages with an expired token for another 25 % of
            // its lifetime.
            dies: created + lifetime + lifetime / 4,
            sending,
            receiving,
        }
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
    sending: usize,
}

impl Tokens {
    /// A client sends with a new token at once; a server keeps to the old one until it has seen
    /// the new one used (Part 4, 5.6.2.1).
    pub fn add(&mut self, token: Token, role: Role) {
        self.held.insert(0, token);
        self.sending = match role {
            Role::Server if self.held.len() > 1 => 1,
            _ => 0,
        };
        self.held.truncate(2);
    }

    /// The token to send with.
    pub fn sending(&self) -> Option<&Token> {
        self.held.get(self.sending)
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
