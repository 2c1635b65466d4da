//! TLS between TCP and messages, as it is: the client's and the server's end of `wss`.

use std::sync::Arc;

use wss::{
    CHANNEL_ID, Judge, Media, Rejected, TlsClient, TlsError, TlsServer, Tunnel, TunnelError,
};

use super::course::Side;

/// What is inside TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inside {
    /// A WebSocket, and chunks in its frames.
    WebSocket,
    /// Requests of HTTP with a message in each, of at most so many bytes.
    Http(usize),
}

/// How both ends secure a connection, and what for.
#[derive(Debug, Clone)]
pub struct Tls {
    client: TlsClient,
    server: TlsServer,
    inside: Inside,
    host: (String, u16),
}

/// Whether a certificate is trusted is decided nowhere: what that costs is in the costs of the scene.
#[derive(Debug)]
struct Anybody;

impl Judge for Anybody {
    fn judge(&self, _: &[u8]) -> Result<(), Rejected> {
        Ok(())
    }
}

impl Tls {
    /// A server at this host with a certificate and its key in PKCS #8. It lets clients resume their sessions, as plants do, and
    /// they do not.
    ///
    /// # Errors
    /// Certificate and key are of no use to TLS.
    pub fn new(
        inside: Inside,
        host: (String, u16),
        certificate: &[u8],
        pkcs8: &[u8],
    ) -> Result<Self, TlsError> {
        Ok(Self {
            client: TlsClient::new(Arc::new(Anybody), false)?,
            server: TlsServer::new(vec![certificate.to_vec()], pkcs8, true)?,
            inside,
            host,
        })
    }

    /// One end of a connection.
    pub(super) fn end(&self, side: Side) -> Result<Tunnel, TunnelError> {
        let host = (self.host.0.as_str(), self.host.1);
        match (side, self.inside) {
            (Side::Client, Inside::WebSocket) => {
                // Nobody guesses in virtual time: masks may be all alike.
                Tunnel::connect(&self.client, host, "/", |bytes| bytes.fill(7))
            }
            (Side::Client, Inside::Http(longest)) => {
                Tunnel::post(&self.client, host, "/", (longest, Media::Binary))
            }
            (Side::Server, Inside::WebSocket) => Tunnel::accept(&self.server, None),
            (Side::Server, Inside::Http(longest)) => {
                Tunnel::accept_posts(&self.server, (longest, longest), None)
            }
        }
    }

    /// The channel that is there without a word, if that is so.
    pub(super) fn shared_channel(&self) -> Option<u32> {
        match self.inside {
            Inside::Http(_) => Some(CHANNEL_ID),
            Inside::WebSocket => None,
        }
    }
}

/// How far one end has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// TLS shakes hands.
    Shaking,
    /// HTTP is to become a WebSocket.
    Upgrading,
    /// Messages go.
    Open,
}

impl Progress {
    /// That of an end.
    pub fn of(tunnel: &Tunnel) -> Self {
        match (tunnel.is_open(), tunnel.is_upgrading()) {
            (true, _) => Self::Open,
            (_, true) => Self::Upgrading,
            _ => Self::Shaking,
        }
    }
}

/// Takes what came from the other end, and gives the chunks in it.
pub fn receive(tunnel: &mut Tunnel, mut came: Vec<u8>) -> Result<Vec<u8>, TunnelError> {
    let mut chunks = vec![0; came.len() + 4096];
    let count = tunnel.receive(&mut came, &mut chunks)?;
    chunks.truncate(count);
    while tunnel.has_waiting() {
        let mut more = [0; 4096];
        let count = tunnel.waiting(&mut more);
        chunks.extend_from_slice(more.get(..count).unwrap_or_default());
    }
    Ok(chunks)
}

/// What an end has to send.
pub fn taken(tunnel: &mut Tunnel) -> Vec<u8> {
    let bytes = tunnel.pending().to_vec();
    tunnel.wrote(bytes.len());
    bytes
}
