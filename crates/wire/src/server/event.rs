//! What a server's connection has to tell.

use std::time::Duration;

use super::RequestId;
use crate::certificate::Certificate;
use crate::channel::{ChannelError, Protection};
use crate::frame::ErrorMessage;
use crate::policy::Policy;

/// What happened.
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event<'a> {
    /// A client said hello and was answered.
    Hello {
        /// The endpoint it wants.
        endpoint_url: String,
    },
    /// A client wants to open a secured channel, or new keys for it. Nothing goes on until the caller has said with
    /// [`Connection::decide`](super::Connection::decide) whether it trusts the certificate.
    Certificate {
        /// The client's.
        certificate: Certificate,
        /// The policy that it is to be judged with.
        policy: Policy,
        /// Whether the channel is open and to be renewed: who was trusted then may not be any more.
        renews: bool,
    },
    /// The channel is open, or has new keys.
    Opened {
        /// What the client chose.
        protection: Protection,
        /// The lifetime granted.
        lifetime: Duration,
        /// Whether this was a renewal.
        renewed: bool,
    },
    /// A request; its body is encoded, type first, and lies in the receive buffer.
    Request {
        /// To respond to it.
        id: RequestId,
        /// The body.
        body: &'a [u8],
    },
    /// The client gave up sending a request.
    Aborted {
        /// Why.
        error: ErrorMessage,
    },
    /// The connection has ended; what is pending may still be written.
    Closed(ChannelError),
}
