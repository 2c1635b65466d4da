//! Through a proxy: it is asked for a tunnel to the server, and whatever goes over the socket then is the server's.

use std::fmt;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use tracing::debug;
use wire::url::Url;
use wss::connect;
use zeroize::Zeroizing;

use super::dial::look_up_in_turn;
use super::tasks::reactor;
use super::{Clock, LinkError, ProxyError};

/// A proxy of HTTP, which makes tunnels (CONNECT) to whatever host and port it lets its clients reach.
#[derive(Clone)]
pub struct Proxy {
    host: String,
    port: u16,
    login: Option<(String, Zeroizing<String>)>,
}

impl Proxy {
    /// The one at this port of this host, who logs in with a name and a password if it is to be told those.
    pub fn new(
        host: impl Into<String>,
        port: u16,
        login: Option<(String, Zeroizing<String>)>,
    ) -> Self {
        Self {
            host: host.into(),
            port,
            login,
        }
    }

    /// Whether it is told who asks.
    pub fn has_login(&self) -> bool {
        self.login.is_some()
    }

    /// Its host and port.
    pub(crate) fn place(&self) -> (&str, u16) {
        (&self.host, self.port)
    }

    /// Its addresses.
    pub(super) async fn look_up(&self) -> Result<Vec<SocketAddr>, LinkError> {
        let found = look_up_in_turn(&self.host, self.port).await;
        found.map_err(|error| self.unreachable(error))
    }

    /// It was not reached, and so the server was not.
    pub(super) fn unreachable(&self, error: LinkError) -> LinkError {
        self.failed(ProxyError::Unreachable(Box::new(error)))
    }

    fn failed(&self, error: ProxyError) -> LinkError {
        LinkError::Proxy {
            proxy: self.to_string(),
            error,
        }
    }

    /// Has a tunnel made to the server of this URL, for no longer than `timeout`.
    pub(super) async fn open(
        &self,
        socket: &mut TcpStream,
        url: &Url,
        timeout: Duration,
    ) -> Result<(), LinkError> {
        let login = self.login.as_ref();
        let login = login.map(|(user, password)| (user.as_str(), password.as_str()));
        let request = connect::ask(url.host(), url.port(), login);
        let opened = exchange(socket, request.as_bytes(), timeout).await;
        match &opened {
            Ok(()) => debug!(proxy = %self, host = url.host(), port = url.port(), "tunnel"),
            Err(error) => debug!(proxy = %self, %error, "no tunnel"),
        }
        opened.map_err(|error| self.failed(error))
    }
}

impl fmt::Display for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "http://[{}]:{}", self.host, self.port),
            false => write!(f, "http://{}:{}", self.host, self.port),
        }
    }
}

impl fmt::Debug for Proxy {
    /// Without the password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Proxy({self})")
    }
}

async fn exchange(
    socket: &mut TcpStream,
    mut request: &[u8],
    timeout: Duration,
) -> Result<(), ProxyError> {
    let until = Instant::now() + timeout;
    let reactor = reactor();
    if let Some(reactor) = &reactor {
        socket.set_nonblocking(true).map_err(ProxyError::Io)?;
        reactor.watch(socket).map_err(ProxyError::Io)?;
    }
    let (mut answer, mut piece) = (Vec::new(), [0; 1024]);
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ProxyError::Silent(timeout));
        }
        if reactor.is_none() {
            let waits = socket.set_read_timeout(Some(left));
            waits
                .and_then(|()| socket.set_write_timeout(Some(left)))
                .map_err(ProxyError::Io)?;
        }
        let done = match request.is_empty() {
            false => socket.write(request).map(|n| {
                request = request.get(n..).unwrap_or_default();
                false
            }),
            true => socket.read(&mut piece).map(|n| {
                answer.extend_from_slice(piece.get(..n).unwrap_or_default());
                n == 0
            }),
        };
        match done {
            Ok(true) => return Err(ProxyError::Closed),
            Ok(false) if connect::read_answer(&answer)? => return Ok(()),
            Ok(false) => {}
            Err(error) => match (error.kind(), &reactor) {
                (ErrorKind::Interrupted, _) => {}
                (ErrorKind::WouldBlock, Some(reactor)) => {
                    reactor.wait(Clock::new().mono() + left).await;
                }
                (ErrorKind::WouldBlock | ErrorKind::TimedOut, _) => {
                    return Err(ProxyError::Silent(timeout));
                }
                (
                    ErrorKind::ConnectionReset
                    | ErrorKind::BrokenPipe
                    | ErrorKind::ConnectionAborted,
                    _,
                ) => return Err(ProxyError::Closed),
                _ => return Err(ProxyError::Io(error)),
            },
        }
    }
}
