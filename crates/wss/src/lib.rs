//! `opc.wss` for both roles (Part 6, 7.5): TLS, the upgrade of HTTP/1.1, and WebSocket frames around the chunks of UACP;
//! and `opc.https` (Part 6, 7.4): TLS, and messages in requests and answers of HTTP/1.1.
//!
//! A [`Tunnel`] has neither socket nor clock. It is told which bytes of a socket came, and says which ones are to be
//! written; what goes in and comes out on the other side is what `opc.tcp` carries. [`Tunnel::read`] and
//! [`Tunnel::write`] are this for whoever has a socket, with the results that a socket itself would have. A tunnel may be
//! [bare](Tunnel::bare): TLS alone, for what is not OPC UA, such as MQTT. [`connect`] is what comes before all of it where a
//! proxy lies between.

pub mod connect;
mod frame;
mod http;
mod mask;
mod merge;
mod texts;
mod tls;
mod tunnel;
mod upgrade;
mod waiting;

pub use frame::{Control, Deframer, FrameStep, Framer, Violation};
pub use http::{CHANNEL_ID, Exchange, Http, HttpError, Media, Sink, TOKEN_ID};
pub use merge::Merge;
pub use tls::{ClientCertificate, Judge, Rejected, Secured, TlsClient, TlsError, TlsServer};
pub use tunnel::{Tunnel, TunnelError};
pub use upgrade::{Refused, UpgradeError};

/// The port registered for OPC UA over TLS.
pub const DEFAULT_PORT: u16 = 4843;

/// Whose end of a connection it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// What it sends is masked (RFC 6455, 5.3).
    Client,
    /// What it receives has to be.
    Server,
}
