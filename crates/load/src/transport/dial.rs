//! From a server's name to a socket.

use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::time::Duration;

use socket2::{Domain, Socket, Type};
use tracing::debug;
use wire::url::Url;

use super::LinkError;

/// The addresses of a server's name.
pub fn look_up(url: &Url) -> Result<Vec<SocketAddr>, LinkError> {
    let failed = |error| LinkError::Lookup {
        host: url.host().to_owned(),
        error,
    };
    let addresses: Vec<_> = (url.host(), url.port())
        .to_socket_addrs()
        .map_err(failed)?
        .collect();
    if addresses.is_empty() {
        return Err(failed(io::Error::other("it has no address")));
    }
    debug!(host = url.host(), ?addresses, "looked up");
    Ok(addresses)
}

/// Tries one address after the other, IPv6 and IPv4, in the order of the lookup.
pub fn connect(
    addresses: &[SocketAddr],
    source: Option<IpAddr>,
    timeout: Duration,
) -> Result<(TcpStream, SocketAddr), LinkError> {
    let mut last = None;
    for &address in addresses {
        let socket = match source {
            None => TcpStream::connect_timeout(&address, timeout),
            Some(source) => connect_from(source, address, timeout),
        };
        match socket {
            Ok(socket) => {
                socket.set_nodelay(true)?;
                debug!(%address, "connected");
                return Ok((socket, address));
            }
            Err(error) => {
                debug!(%address, %error, "not connected");
                last = Some((address, error));
            }
        }
    }
    Err(match last {
        Some((address, error)) => match error.kind() {
            ErrorKind::ConnectionRefused => LinkError::Refused(address),
            ErrorKind::TimedOut | ErrorKind::WouldBlock => LinkError::Unreachable {
                address,
                after: timeout,
            },
            _ => LinkError::Connect { address, error },
        },
        None => LinkError::Io(io::Error::other("no address to connect to")),
    })
}

fn connect_from(source: IpAddr, to: SocketAddr, timeout: Duration) -> io::Result<TcpStream> {
    let socket = Socket::new(Domain::for_address(to), Type::STREAM, None)?;
    socket.bind(&SocketAddr::new(source, 0).into())?;
    socket.connect_timeout(&to.into(), timeout)?;
    Ok(socket.into())
}
