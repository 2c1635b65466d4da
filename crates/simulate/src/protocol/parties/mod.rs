//! Who talks: a client and a server, each driven by what arrives.

mod client;
mod server;

pub(super) use client::{Caller, Opened, Task};
pub(super) use server::{Answer, Answering};

use std::sync::Arc;
use std::time::Duration;

use plan::Random;
use wire::channel::{Identity, Protection};
use wire::session::server::Config;
use wire::session::token::Credentials;
use wire::time::{Instant, Now};
use wire::types::{ApplicationDescription, DataValue, NodeId, TimestampsToReturn};

/// Virtual time begins with the year 2000, in ticks of 100 ns since 1601.
const BEGIN: i64 = 125_911_584_000_000_000;

/// What both clocks show after so many nanoseconds.
pub(super) fn now(ns: u64) -> Now {
    Now {
        mono: Instant::from_nanos(ns),
        utc: BEGIN + (ns / 100) as i64,
    }
}

/// Fills bytes by chance.
fn fill(random: &mut Random, bytes: &mut [u8]) {
    for part in bytes.chunks_mut(8) {
        let next = random.next_u64().to_le_bytes();
        part.copy_from_slice(next.get(..part.len()).unwrap_or_default());
    }
}

/// What a client wants.
#[derive(Debug, Clone)]
pub struct Client {
    /// The endpoint, as typed.
    pub url: String,
    /// What it says of itself.
    pub application: ApplicationDescription,
    /// The name of its session.
    pub session_name: String,
    /// Policy and mode.
    pub protection: Protection,
    /// Certificate and key, for any policy but None.
    pub identity: Option<Identity>,
    /// The user.
    pub user: Credentials,
    /// Asks for the endpoints first, on a connection of its own.
    pub discovers: bool,
    /// What it reads.
    pub reads: Reads,
    /// How long a step may take.
    pub timeout: Duration,
}

/// Read requests, one after the other.
#[derive(Debug, Clone)]
pub struct Reads {
    /// How many.
    pub count: u32,
    /// The nodes of each.
    pub nodes: Vec<NodeId>,
    /// Which times come back beside the values.
    pub timestamps: TimestampsToReturn,
    /// What each node has: the server's answer for it.
    pub value: DataValue,
}

/// What a server offers.
#[derive(Debug, Clone)]
pub struct Server {
    /// What it says to every session: identity, endpoints, limits.
    pub session: Arc<Config>,
    /// The policies and modes on offer.
    pub protections: Vec<Protection>,
    /// Cores that steps of all sessions share.
    pub cores: usize,
}
