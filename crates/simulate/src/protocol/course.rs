//! What came of a session.

/// One of the two ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// The client.
    Client,
    /// The server.
    Server,
}

impl Side {
    /// The other one.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::Client => Self::Server,
            Self::Server => Self::Client,
        }
    }

    pub(super) const fn index(self) -> usize {
        match self {
            Self::Client => 0,
            Self::Server => 1,
        }
    }
}

/// A step of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ProtocolStep {
    /// GetEndpoints on a connection of its own, from its first segment to its end.
    Discover,
    /// TCP connects.
    Connect,
    /// TLS shakes hands, and the client judges the server's certificate.
    TlsHandshake,
    /// HTTP becomes a WebSocket.
    Upgrade,
    /// HEL is answered by ACK.
    Hello,
    /// The client judges the server's certificate.
    CheckCertificate,
    /// The rest of opening the SecureChannel.
    OpenChannel,
    /// CreateSession.
    CreateSession,
    /// ActivateSession.
    ActivateSession,
    /// A Read.
    Read,
    /// CloseSession.
    CloseSession,
    /// The channel's end is written.
    CloseChannel,
}

impl ProtocolStep {
    /// All of them, in order.
    pub const ALL: [Self; 12] = [
        Self::Discover,
        Self::Connect,
        Self::TlsHandshake,
        Self::Upgrade,
        Self::Hello,
        Self::CheckCertificate,
        Self::OpenChannel,
        Self::CreateSession,
        Self::ActivateSession,
        Self::Read,
        Self::CloseSession,
        Self::CloseChannel,
    ];

    /// As results of `uaperf connect` call it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Discover => "get endpoints",
            Self::Connect => "TCP connect",
            Self::TlsHandshake => "TLS handshake",
            Self::Upgrade => "WebSocket upgrade",
            Self::Hello => "hello",
            Self::CheckCertificate => "certificate check",
            Self::OpenChannel => "open channel",
            Self::CreateSession => "create session",
            Self::ActivateSession => "activate session",
            Self::Read => "read",
            Self::CloseSession => "close session",
            Self::CloseChannel => "close channel",
        }
    }
}

/// A chunk that was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message {
    /// When it was.
    pub at: u64,
    /// By whom.
    pub from: Side,
    /// Its kind as on the wire: HEL, ACK, OPN, MSG, CLO.
    pub kind: [u8; 3],
    /// Its bytes.
    pub bytes: usize,
    /// Which step it belongs to.
    pub step: ProtocolStep,
}

/// What came of a session. Times are since it began.
#[derive(Debug, Clone, Default)]
pub struct SessionCourse {
    /// When it began, where several share a link.
    pub began: u64,
    /// Each step: what, when it began, and how long it took.
    pub steps: Vec<(ProtocolStep, u64, u64)>,
    /// Each chunk, in the order in which they were written.
    pub messages: Vec<Message>,
    /// When it was over.
    pub ended: u64,
    /// Why it failed, if it did.
    pub failed: Option<String>,
    /// Bytes that TCP was given, up and down: those of TLS and HTTP among them.
    pub given: [u64; 2],
    /// Segments that TCP sent again.
    pub sent_again: u64,
    /// Bytes on the line with all headers, up and down; of what was lost, too. None where others share the link.
    pub on_line: Option<[u64; 2]>,
    /// Events that were dealt with for it.
    pub events: u64,
}

impl SessionCourse {
    /// From the first segment to the activated session, if it came to that. Discovery goes before.
    pub fn activation(&self) -> Option<u64> {
        let begins = self
            .steps
            .iter()
            .find(|it| it.0 == ProtocolStep::Connect)?
            .1;
        let last = self
            .steps
            .iter()
            .find(|it| it.0 == ProtocolStep::ActivateSession)?;
        Some(last.1 + last.2 - begins)
    }
}
