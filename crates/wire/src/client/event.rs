//! What a client's connection has to tell.

use std::time::Duration;

use super::RequestId;
use crate::channel::ChannelError;
use crate::frame::{Acknowledge, ErrorMessage};

/// What happened. Every request has exactly one outcome: a response, an abort, a timeout, or
/// that it was left unanswered when the connection ended.
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event<'a> {
    /// A server that dialled in says who it is; the hello is on its way.
    Reversed {
        /// The ApplicationUri it claims.
        server_uri: String,
        /// The endpoint it wants to be asked for.
        endpoint_url: String,
    },
    /// The server answered the hello.
    Acknowledged(Acknowledge),
    /// The channel is open, or has new keys.
    Opened {
        /// The server's number for the channel.
        channel_id: u32,
        /// The lifetime it granted.
        lifetime: Duration,
        /// Whether this was a renewal.
        renewed: bool,
    },
    /// A response; its body is encoded, type first, and lies in the receive buffer.
    Response {
        /// The request it answers.
        id: RequestId,
        /// The body.
        body: &'a [u8],
    },
    /// The server gave up sending a response, most often because it is too large.
    Aborted {
        /// The request.
        id: RequestId,
        /// Why.
        error: ErrorMessage,
    },
    /// The deadline of a request has passed. Its response, should it still come, is `Late`.
    TimedOut(RequestId),
    /// A response to a request that does not wait (any more).
    Late {
        /// The request id it names.
        number: u32,
    },
    /// The connection has ended without an answer to this request.
    Unanswered(RequestId),
    /// The connection has ended; nothing more will come.
    Closed(ChannelError),
}
