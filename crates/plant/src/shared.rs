//! What all threads of a server share, none of it changing but for counts and values.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use wire::channel::Identities;
use wire::session;
use wire::types::EndpointDescription;

use crate::advertise::Advertised;
use crate::clock::Clock;
use crate::config::Config;
use crate::counters::Counters;
use crate::diagnostics::{Register, session_node};
use crate::directory::Directory;
use crate::fault::Faults;
use crate::internals::Workings;
use crate::ledger::Ledger;
use crate::refused::RefusalLog;
use crate::security_group::SecurityGroups;
use crate::server_nodes::publish_subscribe::Publisher;
use crate::server_nodes::server_object::Own;
use crate::session::MovedSessions;
use crate::space::Space;
use crate::space::event::Audit;
use crate::status::Status;

/// What all threads of a server share.
pub struct Shared {
    pub config: Config,
    pub advertised: Advertised,
    pub clock: Clock,
    pub counters: Arc<Counters>,
    pub ledger: Arc<Ledger>,
    /// What its loops do, and what waits for them.
    pub workings: Arc<Workings>,
    /// All sessions and subscriptions, and where subscriptions live.
    pub register: Arc<Register>,
    /// The servers that registered here.
    pub directory: Directory,
    /// Where sessions live that moved.
    pub homes: MovedSessions,
    pub faults: Faults,
    /// What is published.
    pub publishers: Vec<Arc<Publisher>>,
    /// Who shares keys of PubSub.
    pub security_groups: SecurityGroups,
    /// Who was not let in.
    pub refused: RefusalLog,
    pub status: Arc<Status>,
    pub space: Space,
    pub identities: Identities,
    pub session_config: Arc<session::server::Config>,
    /// How much memory a decoded request may take.
    pub decoding: wire::service::Limits,
    next_channel: AtomicU32,
    next_session: AtomicU32,
    next_subscription: AtomicU32,
    next_node: AtomicU32,
}

/// What a request may take once it is decoded: what fits into a message, and no more than a connection has.
fn decoding(message: usize, memory: usize) -> wire::service::Limits {
    let limits = wire::service::Limits::for_message_size(message);
    wire::service::Limits {
        memory: limits.memory.min(memory),
        ..limits
    }
}

impl Shared {
    /// Tells those who may know what a client did, if anybody is to be told.
    #[inline]
    pub fn audit(&self, make: impl FnOnce() -> Audit) {
        if self.config.audit {
            self.space.events().audits.note(make());
        }
    }

    pub fn new(
        config: Config,
        advertised: Advertised,
        clock: Clock,
        own: Own,
        space: Space,
        identities: Identities,
    ) -> Self {
        let endpoints = crate::endpoints::endpoints(&config, &advertised.urls, &identities);
        let limits = &config.limits;
        let mut session_config = session::server::Config::new(identities.clone(), endpoints);
        session_config.min_timeout = *limits.session_timeout.start();
        session_config.max_timeout = *limits.session_timeout.end();
        session_config.max_request_message_size = limits.sizes.receive_message;
        let message = limits.sizes.receive_message;
        Self {
            decoding: decoding(message as usize, limits.connection_memory),
            session_config: Arc::new(session_config),
            advertised,
            clock,
            counters: own.counters,
            ledger: own.ledger,
            workings: own.workings,
            register: own.register,
            directory: Directory::default(),
            homes: MovedSessions::default(),
            faults: Faults::default(),
            publishers: own.publishers,
            security_groups: SecurityGroups::new(&config.security_groups, random),
            refused: RefusalLog::default(),
            status: own.status,
            space,
            identities,
            config,
            // The first one is that of all who come over HTTPS (Part 6, 7.4.1).
            next_channel: AtomicU32::new(wss::CHANNEL_ID + 1),
            next_session: AtomicU32::new(1),
            next_subscription: AtomicU32::new(1),
            next_node: AtomicU32::new(1),
        }
    }

    pub fn endpoints(&self) -> &[EndpointDescription] {
        &self.session_config.endpoints
    }

    /// A number for a channel, never 0.
    pub fn channel_id(&self) -> u32 {
        match self.next_channel.fetch_add(1, Ordering::Relaxed) {
            0 | wss::CHANNEL_ID => self.channel_id(),
            id => id,
        }
    }

    /// A number for a subscription, never 0.
    pub fn subscription_id(&self) -> u32 {
        match self.next_subscription.fetch_add(1, Ordering::Relaxed) {
            0 => self.subscription_id(),
            id => id,
        }
    }

    /// A number for a node that a client adds without an id.
    pub fn node_number(&self) -> u32 {
        self.next_node.fetch_add(1, Ordering::Relaxed)
    }

    /// A number for a session, never 0, under which no node is found.
    pub fn session_number(&self) -> u32 {
        loop {
            let number = self.next_session.fetch_add(1, Ordering::Relaxed);
            if number != 0 && self.space.find_id(&session_node(number)).is_none() {
                return number;
            }
        }
    }
}

/// Fills bytes that must not be guessed.
pub fn random(bytes: &mut [u8]) {
    if aws_lc_rs::rand::fill(bytes).is_err() {
        // A server without randomness would hand out nonces and tokens that can be guessed.
        std::process::abort();
    }
}
