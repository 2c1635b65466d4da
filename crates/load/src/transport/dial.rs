//! From a server's name to a socket.

use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::rc::Rc;
use std::time::{Duration, Instant};

use mio::{Events, Interest, Poll, Token};
use socket2::{Domain, Socket, Type};
use tracing::debug;
use wire::url::Url;

use super::dscp::Dscp;
use super::tasks::{Reactor, aside, blocking, reactor};
use super::{Clock, LinkError};

/// The addresses of a server's name.
pub fn look_up(url: &Url) -> Result<Vec<SocketAddr>, LinkError> {
    look_up_host(url.host(), url.port())
}

pub fn look_up_host(host: &str, port: u16) -> Result<Vec<SocketAddr>, LinkError> {
    let failed = |error| LinkError::Lookup {
        host: host.to_owned(),
        error,
    };
    let addresses: Vec<_> = (host, port).to_socket_addrs().map_err(failed)?.collect();
    if addresses.is_empty() {
        return Err(failed(io::Error::other("it has no address")));
    }
    debug!(host, ?addresses, "looked up");
    Ok(addresses)
}

/// The same of a host and a port, with turns for others while a name is looked up.
pub async fn look_up_in_turn(host: &str, port: u16) -> Result<Vec<SocketAddr>, LinkError> {
    if host.parse::<IpAddr>().is_ok() {
        return look_up_host(host, port);
    }
    let host = host.to_owned();
    aside(move || look_up_host(&host, port)).await
}

/// A second address is tried when the first one has not answered by then (RFC 8305, 5: Connection Attempt Delay).
const HEAD_START: Duration = Duration::from_millis(250);

/// What a socket has before it connects.
#[derive(Debug, Clone, Copy, Default)]
pub struct Own {
    /// The own address; none: the system's choice.
    pub source: Option<IpAddr>,
    /// The class of traffic that its packets say they are of.
    pub dscp: Option<Dscp>,
}

impl Own {
    fn socket(self, to: SocketAddr) -> io::Result<Socket> {
        let socket = Socket::new(Domain::for_address(to), Type::STREAM, None)?;
        if let Some(source) = self.source {
            socket.bind(&SocketAddr::new(source, 0).into())?;
        }
        if let Some(dscp) = self.dscp {
            dscp.mark(&socket, to)?;
        }
        Ok(socket)
    }
}

/// Connects to the first of these addresses that answers. They are tried in turn, those of both families alternating: the
/// next one when the one before has failed, or has not answered for a while. Each has the whole timeout.
pub fn connect(
    addresses: &[SocketAddr],
    own: Own,
    timeout: Duration,
) -> Result<(TcpStream, SocketAddr), LinkError> {
    blocking(connect_in_turn(addresses, own, timeout))
}

/// The same, with turns for others while it waits.
pub async fn connect_in_turn(
    addresses: &[SocketAddr],
    own: Own,
    timeout: Duration,
) -> Result<(TcpStream, SocketAddr), LinkError> {
    let reactor = reactor();
    if let ([address], None) = (addresses, &reactor) {
        let tried = attempt(*address, own, timeout);
        return finish(*address, tried, timeout);
    }
    let mut race = Race::begin(addresses, own, timeout, reactor)?;
    loop {
        if let Some((address, tried)) = race.turn().await? {
            return finish(address, tried, timeout);
        }
    }
}

/// Several addresses that are tried beside each other, on one thread.
struct Race {
    waits: Waits,
    own: Own,
    timeout: Duration,
    left: std::vec::IntoIter<SocketAddr>,
    /// When the next one has its turn.
    next_at: Instant,
    /// Those that were begun, by their token; none where one has failed.
    begun: Vec<Option<Begun>>,
    last: Option<(SocketAddr, io::Error)>,
}

/// What is waited by until one of them answers.
enum Waits {
    /// The thread, in a poll of its own.
    Alone(Poll),
    /// A task among others.
    InTurn(Rc<Reactor>),
}

struct Begun {
    address: SocketAddr,
    socket: mio::net::TcpStream,
    until: Instant,
}

impl Race {
    fn begin(
        addresses: &[SocketAddr],
        own: Own,
        timeout: Duration,
        reactor: Option<Rc<Reactor>>,
    ) -> io::Result<Self> {
        Ok(Self {
            waits: match reactor {
                None => Waits::Alone(Poll::new()?),
                Some(reactor) => Waits::InTurn(reactor),
            },
            own,
            timeout,
            left: alternating(addresses).into_iter(),
            next_at: Instant::now(),
            begun: Vec::new(),
            last: None,
        })
    }

    /// Begins another one if it is time, and waits for what comes of them. The first that is connected ends it, or the
    /// last one's failure.
    async fn turn(&mut self) -> io::Result<Option<(SocketAddr, io::Result<TcpStream>)>> {
        let now = Instant::now();
        for n in 0..self.begun.len() {
            let late = self.begun.get(n).and_then(Option::as_ref);
            if late.is_some_and(|it| it.until <= now) {
                self.fail(n, ErrorKind::TimedOut.into());
            }
        }
        let is_idle = self.begun.iter().all(Option::is_none);
        if (is_idle || self.next_at <= now)
            && let Some(address) = self.left.next()
        {
            self.next_at = now + HEAD_START;
            match self.dial(address, now) {
                Ok(begun) => self.begun.push(Some(begun)),
                Err(error) => self.lose(address, error),
            }
            return Ok(None);
        }
        if is_idle {
            let (address, error) = self
                .last
                .take()
                .ok_or_else(|| io::Error::other("no address to connect to"))?;
            return Ok(Some((address, Err(error))));
        }
        let deadlines = self.begun.iter().flatten().map(|it| it.until);
        let next = (self.left.len() > 0).then_some(self.next_at);
        let wake = deadlines.chain(next).min().unwrap_or(now);
        let left = wake.saturating_duration_since(now);
        match &mut self.waits {
            Waits::Alone(poll) => {
                let mut events = Events::with_capacity(8);
                match poll.poll(&mut events, Some(left)) {
                    Err(error) if error.kind() != ErrorKind::Interrupted => return Err(error),
                    _ => {}
                }
            }
            Waits::InTurn(reactor) => reactor.wait(Clock::new().mono() + left).await,
        }
        for n in 0..self.begun.len() {
            if let Some(done) = self.look(n)? {
                return Ok(Some(done));
            }
        }
        Ok(None)
    }

    /// Something may have happened on one of them.
    fn look(&mut self, n: usize) -> io::Result<Option<(SocketAddr, io::Result<TcpStream>)>> {
        let Some(begun) = self.begun.get_mut(n).and_then(Option::as_mut) else {
            return Ok(None);
        };
        if let Some(error) = begun.socket.take_error()? {
            self.fail(n, error);
            return Ok(None);
        }
        if begun.socket.peer_addr().is_err() {
            // Woken for another one, or for nothing.
            return Ok(None);
        }
        let won = self.begun.get_mut(n).and_then(Option::take);
        let Some(Begun {
            address,
            mut socket,
            ..
        }) = won
        else {
            return Ok(None);
        };
        if let Waits::Alone(poll) = &self.waits {
            poll.registry().deregister(&mut socket)?;
        }
        let socket = TcpStream::from(socket);
        let ready = socket
            .set_nonblocking(false)
            .and_then(|()| socket.set_nodelay(true));
        Ok(Some((address, ready.map(|()| socket))))
    }

    fn dial(&self, address: SocketAddr, now: Instant) -> io::Result<Begun> {
        let socket = self.own.socket(address)?;
        socket.set_nonblocking(true)?;
        let mut socket = match socket.connect(&address.into()) {
            Err(error) if !is_under_way(&error) => return Err(error),
            _ => mio::net::TcpStream::from_std(socket.into()),
        };
        match &self.waits {
            Waits::Alone(poll) => {
                let token = Token(self.begun.len());
                let registry = poll.registry();
                registry.register(&mut socket, token, Interest::WRITABLE)?;
            }
            Waits::InTurn(reactor) => reactor.watch(&socket)?,
        }
        let until = now + self.timeout;
        Ok(Begun {
            address,
            socket,
            until,
        })
    }

    fn fail(&mut self, n: usize, error: io::Error) {
        if let Some(failed) = self.begun.get_mut(n).and_then(Option::take) {
            self.lose(failed.address, error);
        }
    }

    /// The next one need not wait for an address that has failed.
    fn lose(&mut self, address: SocketAddr, error: io::Error) {
        debug!(%address, %error, "not connected");
        self.next_at = Instant::now();
        self.last = Some((address, error));
    }
}

/// A connection that does not block is not there at once.
fn is_under_way(error: &io::Error) -> bool {
    platform::error::is_connecting(error)
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

fn attempt(address: SocketAddr, own: Own, timeout: Duration) -> io::Result<TcpStream> {
    let connected = || -> io::Result<TcpStream> {
        let socket = own.socket(address)?;
        socket.connect_timeout(&address.into(), timeout)?;
        Ok(TcpStream::from(socket))
    };
    let socket = connected().inspect_err(|error| debug!(%address, %error, "not connected"))?;
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
            let (_, address) = connect(&addresses, Own::default(), second).unwrap();
            assert_eq!(address, good);
        }
        let none = connect(&[closed(), closed()], Own::default(), second);
        assert!(matches!(none, Err(LinkError::Refused(_))), "{none:?}");
        assert!(connect(&[], Own::default(), second).is_err());
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
        let (_, address) =
            connect(&[silent, good], Own::default(), Duration::from_secs(3600)).unwrap();
        assert_eq!(address, good);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn packets_are_marked_in_either_version_of_ip() {
        use socket2::SockRef;

        let own = Own {
            dscp: Some("ef".parse().unwrap()),
            ..Own::default()
        };
        let second = Duration::from_secs(10);
        let (_one, four) = listening();
        // Several addresses are tried in another way than one.
        for addresses in [vec![four], vec![closed(), four]] {
            let (socket, _) = connect(&addresses, own, second).unwrap();
            assert_eq!(SockRef::from(&socket).tos_v4().unwrap(), 46 << 2);
        }
        let (socket, _) = connect(&[four], Own::default(), second).unwrap();
        assert_eq!(SockRef::from(&socket).tos_v4().unwrap(), 0);
        // A machine may have no IPv6.
        if let Ok(listener) = TcpListener::bind((Ipv6Addr::LOCALHOST, 0)) {
            let six = [listener.local_addr().unwrap()];
            let (socket, _) = connect(&six, own, second).unwrap();
            assert_eq!(SockRef::from(&socket).tclass_v6().unwrap(), 46 << 2);
        }
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
