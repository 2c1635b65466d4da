//! Keys of a channel for somebody who looks at what went over the wire.

use std::fmt;
use std::sync::Arc;

use super::Protection;
use crate::policy::{DirectionKeys, Exchanged, Mode, Sender};

/// The keys that a token stands for.
#[derive(Debug, Clone)]
pub struct TokenKeys {
    /// The channel.
    pub channel_id: u32,
    /// The token.
    pub token_id: u32,
    /// What the client sends is encrypted with these.
    pub client: DirectionKeys,
    /// What the server sends is encrypted with these.
    pub server: DirectionKeys,
}

/// Takes the keys of each token as soon as they are derived, before anything is sent with them. Only of channels that
/// encrypt: what is signed alone can be read by anybody.
#[derive(Clone)]
pub struct KeyLog(Arc<Take>);

type Take = dyn Fn(TokenKeys) + Send + Sync;

impl KeyLog {
    /// Keys go here. It is called from within the connection, and must not wait.
    pub fn new(take: impl Fn(TokenKeys) + Send + Sync + 'static) -> Self {
        Self(Arc::new(take))
    }

    /// Takes keys.
    pub fn note(&self, keys: TokenKeys) {
        (self.0)(keys);
    }

    /// Takes the keys that come of what was exchanged (Part 6, 6.7.5, table 63, and 6.8.1).
    pub(crate) fn derived(
        &self,
        protection: Protection,
        exchanged: &Exchanged<'_>,
        (channel_id, token_id): (u32, u32),
    ) {
        let Protection { policy, mode } = protection;
        let client = DirectionKeys::of(policy, exchanged, Sender::Client);
        let server = DirectionKeys::of(policy, exchanged, Sender::Server);
        if let (Mode::SignAndEncrypt, Some(client), Some(server)) = (mode, client, server) {
            self.note(TokenKeys {
                channel_id,
                token_id,
                client,
                server,
            });
        }
    }
}

impl fmt::Debug for KeyLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeyLog")
    }
}
