//! What a server's connection is made from.

use std::ops::RangeInclusive;
use std::time::Duration;

use crate::budget::Budget;
use crate::channel::{Identities, KeyLog, Protection, Random};
use crate::frame::Limits;

/// What a server offers on a connection.
pub struct Config {
    /// What this side takes and will send at most.
    pub limits: Limits,
    /// The policies and modes on offer. None is always taken, because discovery needs it: what
    /// a client may do with it is for the services to say.
    pub protections: Vec<Protection>,
    /// Certificates and keys, for any policy but None: of RSA, of curves, or of both.
    pub identities: Identities,
    /// The number of the channel, unique within the server.
    pub channel_id: u32,
    /// The lifetimes that are granted.
    pub lifetime: RangeInclusive<Duration>,
    /// How long a client may take until its channel is open.
    pub timeout: Duration,
    /// How long a message, or a chunk of it, may take to come whole.
    pub message_timeout: Duration,
    /// What the memory of messages of several chunks is taken from.
    pub budget: Option<Budget>,
    /// Dial out: ServerUri and EndpointUrl for a ReverseHello.
    pub reverse: Option<(String, String)>,
    /// Who is given the keys of the channel's tokens, for a capture of what is sent.
    pub key_log: Option<KeyLog>,
    /// The transport protects messages and keeps them apart (`opc.https`, Part 6, 7.4.1): there is no hello, and one channel
    /// of the policy None that all connections share. It has the number above, and the token 1.
    pub shared_channel: bool,
    /// Where nonces come from.
    pub random: Random,
}

impl Config {
    /// An unprotected endpoint with the usual sizes and times.
    pub fn new(channel_id: u32, random: Random) -> Self {
        Self {
            limits: Limits::default(),
            protections: vec![Protection::NONE],
            identities: Identities::default(),
            channel_id,
            lifetime: Duration::from_secs(10)..=Duration::from_secs(3600),
            timeout: Duration::from_secs(10),
            message_timeout: Duration::from_secs(60),
            budget: None,
            reverse: None,
            key_log: None,
            shared_channel: false,
            random,
        }
    }
}

impl std::fmt::Debug for Config {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Config")
            .field("channel_id", &self.channel_id)
            .field("protections", &self.protections)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}
