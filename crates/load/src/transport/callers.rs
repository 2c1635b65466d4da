//! Servers that dial (reverse connect, Part 6, 7.1.2.6): a port at which they are awaited, until somebody needs a
//! connection to one of them.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tracing::{debug, warn};
use wire::frame::{HEADER_LEN, Header, MessageType, ReverseHello};
use wire::url::Url;

use super::tasks::{reactor, sleep_until};
use super::{Clock, LinkError};

/// A task looks for a server that has dialled this often.
const LOOK_UP: Duration = Duration::from_millis(1);
/// How long a server may take to say who it is.
const TO_SAY_WHO: Duration = Duration::from_secs(5);
/// So many may be about to say so.
const AT_THE_SAME_TIME: usize = 256;
/// So many connections wait for somebody who needs one; the oldest make room.
const KEPT: usize = 4096;
/// So many servers are remembered that nobody asked for.
const UNKNOWN: usize = 16;
/// A ReverseHello with the longest texts (Part 6, 7.1.2.6).
const LONGEST: usize = HEADER_LEN + 2 * (4 + 4096);

/// A port at which servers are awaited. They are for whoever asks for them by their URL.
#[derive(Debug)]
pub struct Callers {
    shared: Arc<Shared>,
    address: SocketAddr,
}

#[derive(Debug, Default)]
struct Shared {
    waiting: Mutex<Waiting>,
    came: Condvar,
    over: AtomicBool,
    asking: AtomicUsize,
}

#[derive(Debug, Default)]
struct Waiting {
    calls: VecDeque<Call>,
    /// The URLs of those that came, whoever wants them.
    heard: Vec<String>,
}

/// A server that has dialled and said who it is.
#[derive(Debug)]
pub struct Call {
    /// Its connection.
    pub socket: TcpStream,
    /// Where from.
    pub address: SocketAddr,
    /// What it said, as it was read.
    pub hello: Vec<u8>,
    url: Option<Url>,
}

impl Shared {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Callers {
    /// Awaits servers at this address.
    ///
    /// # Errors
    /// Nothing can listen there.
    pub fn listen(address: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared::default());
        let theirs = Arc::clone(&shared);
        std::thread::Builder::new()
            .name("callers".into())
            .spawn(move || accept(&listener, &theirs))?;
        Ok(Self { shared, address })
    }

    /// Where they are awaited.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The next connection to this server, which has so long to dial.
    ///
    /// # Errors
    /// It did not.
    pub fn next(&self, server: &Url, timeout: Duration) -> Result<Call, LinkError> {
        let until = Instant::now() + timeout;
        let mut waiting = self.shared.waiting();
        loop {
            if let Some(call) = waiting.take(server) {
                return Ok(call);
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(self.not_called(&waiting, timeout));
            }
            let woken = self.shared.came.wait_timeout(waiting, left);
            waiting = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// The same, with turns for others while it waits.
    ///
    /// # Errors
    /// It did not.
    pub async fn next_in_turn(&self, server: &Url, timeout: Duration) -> Result<Call, LinkError> {
        if reactor().is_none() {
            return self.next(server, timeout);
        }
        let until = Instant::now() + timeout;
        loop {
            if let Some(call) = self.shared.waiting().take(server) {
                return Ok(call);
            }
            if Instant::now() >= until {
                return Err(self.not_called(&self.shared.waiting(), timeout));
            }
            sleep_until(Clock::new().mono() + LOOK_UP).await;
        }
    }

    fn not_called(&self, waiting: &Waiting, after: Duration) -> LinkError {
        let others = waiting.heard.iter();
        LinkError::NotCalled {
            at: self.address,
            after,
            others: others.cloned().collect(),
        }
    }
}

impl Drop for Callers {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::Relaxed);
        // Whoever listens on all addresses is reached on the loopback.
        let host = match self.address {
            SocketAddr::V4(it) if it.ip().is_unspecified() => Ipv4Addr::LOCALHOST.into(),
            SocketAddr::V6(it) if it.ip().is_unspecified() => Ipv6Addr::LOCALHOST.into(),
            it => it.ip(),
        };
        // Only to wake the thread that accepts.
        let _ = TcpStream::connect_timeout(
            &SocketAddr::new(host, self.address.port()),
            Duration::from_millis(100),
        );
    }
}

impl Waiting {
    /// A connection to this server that is still there.
    fn take(&mut self, server: &Url) -> Option<Call> {
        let is_wanted = |call: &Call| call.url.as_ref().is_some_and(|url| is_same(url, server));
        while let Some(at) = self.calls.iter().position(is_wanted) {
            let call = self.calls.remove(at)?;
            if call.is_there() {
                return Some(call);
            }
        }
        None
    }
}

/// Servers are known by host and port: their URL may have a path that nobody types.
fn is_same(one: &Url, other: &Url) -> bool {
    one.port() == other.port() && one.host().eq_ignore_ascii_case(other.host())
}

impl Call {
    /// Servers end connections that nobody needs for a while.
    fn is_there(&self) -> bool {
        let peeked = self
            .socket
            .set_nonblocking(true)
            .and_then(|()| self.socket.peek(&mut [0]));
        let silent = matches!(peeked, Err(error) if error.kind() == ErrorKind::WouldBlock);
        silent && self.socket.set_nonblocking(false).is_ok()
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    while !shared.over.load(Ordering::Relaxed) {
        let (socket, address) = match listener.accept() {
            Ok(accepted) => accepted,
            // There are no descriptors, or who came is gone.
            Err(_) => {
                std::thread::sleep(Duration::from_millis(20));
                continue;
            }
        };
        if shared.asking.fetch_add(1, Ordering::Relaxed) >= AT_THE_SAME_TIME {
            shared.asking.fetch_sub(1, Ordering::Relaxed);
            continue;
        }
        let theirs = Arc::clone(shared);
        let asked = std::thread::Builder::new()
            .name("caller".into())
            .spawn(move || {
                match ask(socket, address) {
                    Ok((call, said)) => theirs.put(call, said),
                    Err(error) => debug!(%address, %error, "not a server that dials"),
                }
                theirs.asking.fetch_sub(1, Ordering::Relaxed);
            });
        if asked.is_err() {
            shared.asking.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// Has a server say who it is, and its URL as it says it.
fn ask(mut socket: TcpStream, address: SocketAddr) -> io::Result<(Call, String)> {
    let strange = |what: &str| io::Error::new(ErrorKind::InvalidData, what.to_owned());
    socket.set_nodelay(true)?;
    let until = Instant::now() + TO_SAY_WHO;
    let mut hello = vec![0; HEADER_LEN];
    fill(&mut socket, &mut hello, until)?;
    // So many bytes were read.
    let head = hello.first_chunk().copied().unwrap_or_default();
    let header = Header::parse(head).map_err(|error| strange(&error.to_string()))?;
    let length = header.size as usize;
    if header.message != MessageType::ReverseHello || !(HEADER_LEN..=LONGEST).contains(&length) {
        return Err(strange("it began with another message than a ReverseHello"));
    }
    hello.resize(length, 0);
    let rest = hello.get_mut(HEADER_LEN..).unwrap_or_default();
    fill(&mut socket, rest, until)?;
    let said = ReverseHello::parse(rest).map_err(|error| strange(&error.to_string()))?;
    let (server, url) = (said.server_uri, said.endpoint_url.to_owned());
    debug!(%address, server, url, "a server dialled");
    socket.set_read_timeout(None)?;
    let call = Call {
        url: url.parse().ok(),
        socket,
        address,
        hello,
    };
    Ok((call, url))
}

/// Reads as many bytes as there is room for, until then.
fn fill(socket: &mut TcpStream, mut room: &mut [u8], until: Instant) -> io::Result<()> {
    while !room.is_empty() {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        socket.set_read_timeout(Some(left))?;
        match socket.read(room) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(n) => room = room.get_mut(n..).unwrap_or_default(),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

impl Shared {
    fn put(&self, call: Call, said: String) {
        let mut waiting = self.waiting();
        // One that says what is no URL is told of by that.
        let url = call.url.as_ref().map_or(said, Url::to_string);
        if waiting.heard.len() < UNKNOWN && !waiting.heard.contains(&url) {
            waiting.heard.push(url);
        }
        if waiting.calls.len() == KEPT {
            warn!("more servers dialled than anybody needs: the oldest connection is closed");
            waiting.calls.pop_front();
        }
        waiting.calls.push_back(call);
        drop(waiting);
        self.came.notify_all();
    }
}
