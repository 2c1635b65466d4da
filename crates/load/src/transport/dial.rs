//! From a server's name to a socket.

use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::mpsc::channel;
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

/// A second address is tried when the first one has not answered by then (RFC 8305, 5: Connection Attempt Delay).
const HEAD_START: Duration = Duration::from_millis(250);

/// Connects to the first of these addresses that answers. They are tried in turn, those of both families alternating: the
/// next one when the one before has failed, or has not answered for a while. Each has the whole timeout.
pub fn connect(
    addresses: &[SocketAddr],
    source: Option<IpAddr>,
    timeout: Duration,
) -> Result<(TcpStream, SocketAddr), LinkError> {
    if let [address] = *addresses {
        let tried = attempt(address, source, timeout);
        return finish(address, tried, timeout);
    }
    let (tell, told) = channel();
    let mut left = alternating(addresses).into_iter();
    let (mut under_way, mut last) = (0, None);
    loop {
        if let Some(address) = left.next() {
            let tell = tell.clone();
            // Whoever comes too late is closed when nobody listens any more.
            std::thread::Builder::new()
                .name("dial".into())
                .spawn(move || drop(tell.send((address, attempt(address, source, timeout)))))?;
            under_way += 1;
        }
        if under_way == 0 {
            break;
        }
        let wait = match left.len() {
            0 => timeout + HEAD_START,
            _ => HEAD_START,
        };
        match told.recv_timeout(wait) {
            Ok((address, Ok(socket))) => return finish(address, Ok(socket), timeout),
            Ok((address, Err(error))) => {
                under_way -= 1;
                last = Some((address, error));
            }
            // The next one has its turn as well.
            Err(_) => {}
        }
    }
    match last {
        Some((address, error)) => finish(address, Err(error), timeout),
        None => Err(LinkError::Io(io::Error::other("no address to connect to"))),
    }
}

/// The addresses in the order of the lookup, one of each family in turn.
fn alternating(addresses: &[SocketAddr]) -> Vec<SocketAddr> {
    let first = addresses.first().is_some_and(SocketAddr::is_ipv6);
    let of = |family: bool| addresses.iter().filter(move |it| it.is_ipv6() == family);
    let (mut ours, mut theirs) = (of(first), of(!first));
    let mut ordered = Vec::new();
    while ordered.len() < addresses.len() {
        ordered.extend(ours.next().into_iter().chain(theirs.next()));
    }
    ordered
}

fn attempt(
    address: SocketAddr,
    source: Option<IpAddr>,
    timeout: Duration,
) -> io::Result<TcpStream> {
    let socket = match source {
        None => TcpStream::connect_timeout(&address, timeout),
        Some(source) => connect_from(source, address, timeout),
    }
    .inspect_err(|error| debug!(%address, %error, "not connected"))?;
    socket.set_nodelay(true)?;
    Ok(socket)
}

/// What became of an address.
fn finish(
    address: SocketAddr,
    tried: io::Result<TcpStream>,
    timeout: Duration,
) -> Result<(TcpStream, SocketAddr), LinkError> {
    let error = match tried {
        Ok(socket) => {
            debug!(%address, "connected");
            return Ok((socket, address));
        }
        Err(error) => error,
    };
    Err(match error.kind() {
        ErrorKind::ConnectionRefused => LinkError::Refused(address),
        ErrorKind::TimedOut | ErrorKind::WouldBlock => LinkError::Unreachable {
            address,
            after: timeout,
        },
        _ => LinkError::Connect { address, error },
    })
}

fn connect_from(source: IpAddr, to: SocketAddr, timeout: Duration) -> io::Result<TcpStream> {
    let socket = Socket::new(Domain::for_address(to), Type::STREAM, None)?;
    socket.bind(&SocketAddr::new(source, 0).into())?;
    socket.connect_timeout(&to.into(), timeout)?;
    Ok(socket.into())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr, TcpListener};

    use super::*;

    fn listening() -> (TcpListener, SocketAddr) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        (listener, address)
    }

    /// An address at which nobody listens.
    fn closed() -> SocketAddr {
        listening().1
    }

    #[test]
    fn the_first_that_answers_is_taken() {
        let (_listener, good) = listening();
        let second = Duration::from_secs(10);
        for addresses in [
            vec![good],
            vec![closed(), good],
            vec![closed(), closed(), good, closed()],
        ] {
            let (_, address) = connect(&addresses, None, second).unwrap();
            assert_eq!(address, good);
        }
        let none = connect(&[closed(), closed()], None, second);
        assert!(matches!(none, Err(LinkError::Refused(_))), "{none:?}");
        assert!(connect(&[], None, second).is_err());
    }

    #[test]
    fn one_that_says_nothing_holds_up_nobody() {
        // One connection may wait to be accepted; the next one is not answered.
        let full = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        full.bind(&SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into())
            .unwrap();
        full.listen(0).unwrap();
        let silent = full.local_addr().unwrap().as_socket().unwrap();
        let mut waiting = Vec::new();
        while let Ok(socket) = TcpStream::connect_timeout(&silent, Duration::from_millis(100)) {
            waiting.push(socket);
        }
        let (_listener, good) = listening();
        // Were it waited for, this would take an hour.
        let (_, address) = connect(&[silent, good], None, Duration::from_secs(3600)).unwrap();
        assert_eq!(address, good);
    }

    #[test]
    fn families_take_turns() {
        let four = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let six = |port| SocketAddr::from((Ipv6Addr::LOCALHOST, port));
        let looked_up = [six(1), six(2), six(3), four(4), four(5)];
        let order: Vec<u16> = alternating(&looked_up)
            .iter()
            .map(SocketAddr::port)
            .collect();
        assert_eq!(order, [1, 4, 2, 5, 3]);
        assert_eq!(alternating(&[four(1)]), [four(1)]);
        assert!(alternating(&[]).is_empty());
    }
}
