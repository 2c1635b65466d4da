//! Who talks over what, and at which cost.

use std::sync::Arc;

use link::Spec;

use super::costs::Costs;
use super::parties::{Client, Server};
use super::secured::Tls;

/// Bytes around each message, of a transport that is not UA TCP.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Envelope {
    /// Around each message.
    pub message: usize,
    /// Around one that opens a channel, instead.
    pub opening: usize,
}

/// A client, a server, a link between them, and what steps cost.
#[derive(Debug, Clone)]
pub struct Scene {
    /// The link.
    pub link: Spec,
    /// Where chance comes from.
    pub seed: u64,
    /// What clients want.
    pub client: Arc<Client>,
    /// What the server offers.
    pub server: Arc<Server>,
    /// What steps cost a client.
    pub client_costs: Costs,
    /// What they cost the server.
    pub server_costs: Costs,
    /// What is around messages.
    pub envelope: Envelope,
    /// What TLS is around them, where they do not go over TCP as they are.
    pub tls: Option<Tls>,
}
