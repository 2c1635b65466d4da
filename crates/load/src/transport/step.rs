//! Steps of getting to a server and leaving it.

use std::time::Duration;

/// A step of getting to a server and leaving it, each of which takes its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TransportStep {
    /// The name becomes addresses.
    Lookup,
    /// TCP connects.
    Connect,
    /// A proxy makes a tunnel to the server (CONNECT of HTTP).
    Proxy,
    /// TLS shakes hands, and the server's TLS certificate is judged.
    Tls,
    /// HTTP becomes a WebSocket.
    Upgrade,
    /// HEL is answered by ACK.
    Hello,
    /// The server's certificate is judged by what is known here.
    CheckCertificate,
    /// An OCSP responder is asked whether it was revoked.
    AskStatus,
    /// A revocation list is fetched.
    AskList,
    /// The certificate manager is asked.
    AskManager,
    /// The SecureChannel is opened.
    OpenChannel,
    /// GetEndpoints, on a channel of its own.
    Discover,
    /// CreateSession.
    CreateSession,
    /// ActivateSession.
    ActivateSession,
    /// The first Read.
    FirstRead,
    /// Session, channel and socket are closed.
    Close,
}

impl TransportStep {
    /// All of them, in order.
    pub const ALL: [Self; 16] = [
        Self::Lookup,
        Self::Connect,
        Self::Proxy,
        Self::Tls,
        Self::Upgrade,
        Self::Hello,
        Self::CheckCertificate,
        Self::AskStatus,
        Self::AskList,
        Self::AskManager,
        Self::OpenChannel,
        Self::Discover,
        Self::CreateSession,
        Self::ActivateSession,
        Self::FirstRead,
        Self::Close,
    ];

    /// What is done in it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Lookup => "name lookup",
            Self::Connect => "TCP connect",
            Self::Proxy => "proxy tunnel",
            Self::Tls => "TLS handshake",
            Self::Upgrade => "WebSocket upgrade",
            Self::Hello => "hello",
            Self::CheckCertificate => "certificate check",
            Self::AskStatus => "OCSP answer",
            Self::AskList => "revocation list",
            Self::AskManager => "certificate manager",
            Self::OpenChannel => "open channel",
            Self::Discover => "get endpoints",
            Self::CreateSession => "create session",
            Self::ActivateSession => "activate session",
            Self::FirstRead => "first read",
            Self::Close => "close",
        }
    }
}

/// Steps and how long each took.
pub type Steps = Vec<(TransportStep, Duration)>;
