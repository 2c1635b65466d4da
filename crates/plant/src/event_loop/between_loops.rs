//! What loops send each other: connections, sessions, subscriptions, and the wish to have them.

use std::net::SocketAddr;
use std::sync::Arc;

use mio::net::TcpStream;
use wire::server::RequestId;
use wire::service::{DecodeError, Request};
use wire::session::Channel;
use wire::types::{ActivateSessionRequest, ActivateSessionResponse, CallRequest, StatusCode};
use wss::Tunnel;

use super::link::Link;
use super::{PendingRequest, SlotId};
use crate::service::call::Outcome;
use crate::service::session::Session;
use crate::service::steps::Making;
use crate::session::Owner;
use crate::subscription::Subscription;

/// A connection on its way to the acceptor, with what is around the chunks of UACP on it.
pub struct Secured {
    pub socket: TcpStream,
    pub tunnel: Tunnel,
}

/// A request that a helper has decoded.
pub struct Decoded {
    pub id: RequestId,
    pub body: Vec<u8>,
    /// None for one of those that are walked: its body is in the usual spelling now.
    pub result: Option<Result<Request, DecodeError>>,
}

/// A request whose certificates were judged.
pub struct Checked {
    pub id: RequestId,
    pub request: CallRequest,
    /// What came of each operation, where that was found out.
    pub outcomes: Vec<Option<Outcome>>,
    /// Bytes that it came in.
    pub bytes: usize,
    /// Of the session's memory, meanwhile.
    pub held: Making,
}

/// A connection on its way to a loop.
pub struct MovedConnection {
    pub link: Link,
    pub id: RequestId,
    pub body: Vec<u8>,
}

/// Who activates a session: a connection of this loop or of another.
#[derive(Debug, Clone, Copy)]
pub struct Caller {
    /// The loop of the connection.
    pub core: u8,
    pub asked: PendingRequest,
    pub address: Option<SocketAddr>,
    /// A session was activated over this connection before.
    pub known: bool,
    /// Messages of its channel are signed.
    pub signed: bool,
    /// Nobody else reads them.
    pub encrypted: bool,
}

/// An ActivateSession request for a session that lives in another loop.
pub struct ForeignActivation {
    pub caller: Caller,
    pub channel: Channel,
    pub request: ActivateSessionRequest,
}

/// What an activation comes to.
pub struct Welcome {
    pub response: ActivateSessionResponse,
    /// The user's name for people, and how it was proven.
    pub user: String,
    pub mechanism: &'static str,
}

/// A session on its way to the loop of its new connection.
pub struct Moved {
    pub asked: PendingRequest,
    pub session: Session,
    pub subscriptions: Vec<Subscription>,
    pub welcome: Welcome,
}

/// Asks a loop for subscriptions that live there.
pub struct Wanted {
    /// Who asks.
    pub core: u8,
    pub transfer: SlotId,
    pub owner: Arc<Owner>,
    /// Their numbers, and the places of their results.
    pub ids: Vec<(usize, u32)>,
    /// How often it was sent on.
    pub hops: u8,
}

/// The answer to it.
pub struct ForeignAnswer {
    pub transfer: SlotId,
    pub results: Vec<(usize, Result<Box<Subscription>, StatusCode>)>,
}
