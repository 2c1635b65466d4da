//! Where clients come in over `opc.wss` and `opc.https`: a thread of its own for each, with its own sockets, that accepts them,
//! shakes hands, and upgrades or reads the head of the first request. A connection goes on to the acceptor once chunks of UACP
//! can be sent over it, so that nobody who talks to TLS or HTTP holds up anybody who talks to a server.

use std::collections::VecDeque;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Token, Waker};
use tracing::{debug, info};
use wire::budget::{Budget, Held};
use wire::url::Transport;
use wss::{TlsServer, Tunnel, TunnelError};

use crate::counters::Counters;
use crate::event_loop::{Mail, Post, Secured, link_of, token};
use crate::slots::{SlotId, Slots};

const LISTENER: Token = Token(usize::MAX);
const WAKER: Token = Token(usize::MAX - 1);

/// How long a client may take from its connection to the WebSocket, or to the end of the first head of a request.
const PATIENCE: Duration = Duration::from_secs(10);
/// Connections at a time that are on their way; the oldest makes room.
const ON_THEIR_WAY: usize = 1024;
/// Bytes that TLS keeps for a connection until it is open, beside those that are counted one by one.
const FOR_TLS: usize = 16 * 1024;
/// Reads of one connection before others have their turn.
const READS_IN_A_ROW: usize = 8;
/// After this time those are asked in again for whom there were no descriptors.
const ACCEPT_AGAIN: Duration = Duration::from_millis(50);

/// The thread, which ends with this.
pub struct TlsAcceptor {
    address: SocketAddr,
    transport: Transport,
    over: Arc<AtomicBool>,
    waker: Arc<Waker>,
    thread: Option<JoinHandle<()>>,
}

/// A connection that is on its way.
struct Arrival {
    socket: TcpStream,
    tunnel: Tunnel,
    since: Instant,
    held: Held,
}

/// What is inside TLS.
#[derive(Debug, Clone)]
pub enum Inside {
    /// A WebSocket; with messages in JSON of at most so many bytes, if any are taken.
    Wss(Option<usize>),
    /// Requests of HTTP, with bodies of at most so many bytes, and so many in JSON, of pages of this origin, too.
    Https((usize, usize), Option<String>),
}

impl Inside {
    fn accept(&self, tls: &TlsServer) -> Result<Tunnel, TunnelError> {
        match self {
            Self::Wss(longest) => Tunnel::accept(tls, *longest),
            Self::Https(longest, origin) => Tunnel::accept_posts(tls, *longest, origin.as_deref()),
        }
    }

    /// What it carries messages as.
    pub fn transport(&self) -> Transport {
        match self {
            Self::Wss(_) => Transport::Wss,
            Self::Https(..) => Transport::Https,
        }
    }
}

/// What belongs to the thread.
struct Loop {
    poll: Poll,
    listener: TcpListener,
    tls: TlsServer,
    inside: Inside,
    arrivals: Slots<Arrival>,
    /// In the order of their coming; some have gone on or are gone.
    order: VecDeque<(Instant, SlotId)>,
    count: usize,
    /// Connections that may have more to read.
    again: Vec<SlotId>,
    /// When those are asked in again for whom there were no descriptors.
    accept_at: Option<Instant>,
    memory: Budget,
    counters: Arc<Counters>,
    acceptor: Post,
}

impl TlsAcceptor {
    /// Accepts from now on; `begin` is what the thread does first.
    ///
    /// # Errors
    /// There are no more threads or descriptors.
    pub fn start(
        (mut listener, tls, inside): (TcpListener, TlsServer, Inside),
        memory: Budget,
        counters: Arc<Counters>,
        acceptor: Post,
        begin: impl FnOnce() + Send + 'static,
    ) -> io::Result<Self> {
        let poll = Poll::new()?;
        let waker = Arc::new(Waker::new(poll.registry(), WAKER)?);
        let address = listener.local_addr()?;
        poll.registry()
            .register(&mut listener, LISTENER, Interest::READABLE)?;
        let over = Arc::new(AtomicBool::new(false));
        let is_over = Arc::clone(&over);
        let (thread, transport) = (name(&inside), inside.transport());
        let accepting = Loop {
            poll,
            listener,
            tls,
            inside,
            arrivals: Slots::default(),
            order: VecDeque::new(),
            count: 0,
            again: Vec::new(),
            accept_at: None,
            memory,
            counters,
            acceptor,
        };
        let thread = std::thread::Builder::new()
            .name(format!("plant-{thread}"))
            .spawn(move || {
                begin();
                accepting.run(&is_over);
            })?;
        Ok(Self {
            address,
            transport,
            over,
            waker,
            thread: Some(thread),
        })
    }

    /// What it accepts connections of.
    pub fn transport(&self) -> Transport {
        self.transport
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for TlsAcceptor {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        // One that cannot be woken has ended.
        let _ = self.waker.wake();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn name(inside: &Inside) -> &'static str {
    match inside {
        Inside::Wss(_) => "wss",
        Inside::Https(..) => "https",
    }
}

impl Loop {
    fn run(mut self, is_over: &AtomicBool) {
        let mut events = Events::with_capacity(256);
        while !is_over.load(Ordering::Relaxed) {
            match self.poll.poll(&mut events, self.sleep()) {
                Err(error) if error.kind() != ErrorKind::Interrupted => return,
                _ => {}
            }
            let mut rung = std::mem::take(&mut self.again);
            for event in &events {
                match event.token() {
                    LISTENER => self.accept_at = Some(Instant::now()),
                    WAKER => {}
                    token => rung.push(link_of(token)),
                }
            }
            for id in rung {
                self.receive(id);
            }
            self.accept();
            self.end_the_slow();
        }
    }

    fn sleep(&self) -> Option<Duration> {
        if !self.again.is_empty() {
            return Some(Duration::ZERO);
        }
        let slow = self.order.front().map(|(since, _)| *since + PATIENCE);
        let next = slow.into_iter().chain(self.accept_at).min()?;
        let left = next.saturating_duration_since(Instant::now());
        match left.is_zero() {
            true => Some(left),
            // Not a moment too early, which would be to look in vain.
            false => Some(left + Duration::from_millis(1)),
        }
    }

    /// Lets in who waits, one after the other with those who are there already.
    fn accept(&mut self) {
        let now = Instant::now();
        if self.accept_at.is_none_or(|at| at > now) {
            return;
        }
        match self.listener.accept() {
            Ok((socket, address)) => {
                self.take_in(socket, address, now);
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => self.accept_at = None,
            Err(error) => match error.kind() {
                ErrorKind::Interrupted
                | ErrorKind::ConnectionAborted
                | ErrorKind::ConnectionReset => {}
                // There are no descriptors, or no memory.
                _ => self.accept_at = Some(now + ACCEPT_AGAIN),
            },
        }
    }

    fn take_in(&mut self, socket: TcpStream, address: SocketAddr, now: Instant) {
        let mut held = self.memory.hold();
        let tunnel = self.inside.accept(&self.tls);
        let (Ok(tunnel), Ok(())) = (tunnel, held.set(FOR_TLS)) else {
            debug!(%address, "no memory for another TLS connection");
            return self.counters.refused_connections.add(1);
        };
        if self.count >= ON_THEIR_WAY
            && let Some((_, oldest)) = self.order.pop_front()
        {
            self.give_up(oldest, "there are too many on their way");
        }
        // Answers are written whole; a socket that cannot do without waiting works all the same.
        let _ = socket.set_nodelay(true);
        let mut registered = false;
        let registry = self.poll.registry();
        let id = self.arrivals.insert_with(|id| {
            let mut arrival = Arrival {
                socket,
                tunnel,
                since: now,
                held,
            };
            let interest = Interest::READABLE | Interest::WRITABLE;
            registered = registry
                .register(&mut arrival.socket, token(id), interest)
                .is_ok();
            arrival
        });
        self.count += 1;
        self.order.push_back((now, id));
        if !registered {
            self.give_up(id, "no poll takes it");
        }
    }

    /// Reads what came, answers it, and sends the connection on once it is open.
    fn receive(&mut self, id: SlotId) {
        let Some(arrival) = self.arrivals.get_mut(id) else {
            return;
        };
        let Arrival {
            socket,
            tunnel,
            held,
            ..
        } = arrival;
        let mut reads = 0;
        let failed = loop {
            if tunnel.is_open() {
                return self.send_on(id);
            }
            if reads == READS_IN_A_ROW {
                return self.again.push(id);
            }
            reads += 1;
            let read = tunnel.read(socket, &mut []);
            if held.set(FOR_TLS + tunnel.held()).is_err() {
                break "there is no memory for it".to_owned();
            }
            match read {
                Ok(0) if !tunnel.is_open() => break "its client left".to_owned(),
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) => break error.to_string(),
            }
        };
        self.give_up(id, &failed);
    }

    fn send_on(&mut self, id: SlotId) {
        if let Some(mut arrival) = self.remove(id) {
            let Arrival { socket, tunnel, .. } = &mut arrival;
            // The rest of the answer goes with what is written next.
            let _ = tunnel.flush(socket);
            let took = arrival.since.elapsed();
            let over = name(&self.inside);
            info!(address = ?arrival.socket.peer_addr().ok(), ?took, over, "connection opened");
            self.acceptor.send(Mail::Secured(Box::new(Secured {
                socket: arrival.socket,
                tunnel: arrival.tunnel,
            })));
        }
    }

    fn remove(&mut self, id: SlotId) -> Option<Arrival> {
        let mut arrival = self.arrivals.remove(id)?;
        self.count -= 1;
        // One that was never registered is none that rings.
        let _ = self.poll.registry().deregister(&mut arrival.socket);
        // Those that went on in the order in which they came leave nothing behind.
        while let Some((_, first)) = self.order.front()
            && self.arrivals.get(*first).is_none()
        {
            self.order.pop_front();
        }
        Some(arrival)
    }

    fn give_up(&mut self, id: SlotId, reason: &str) {
        if let Some(mut arrival) = self.remove(id) {
            self.counters.refused_connections.add(1);
            info!(address = ?arrival.socket.peer_addr().ok(), reason, over = name(&self.inside), "no connection");
            arrival.tunnel.close();
            // As much of it as the socket takes now.
            let _ = arrival.tunnel.flush(&mut arrival.socket);
            let _ = arrival.socket.shutdown(std::net::Shutdown::Write);
        }
    }

    fn end_the_slow(&mut self) {
        let now = Instant::now();
        while let Some((since, id)) = self.order.front().copied()
            && now.saturating_duration_since(since) >= PATIENCE
        {
            self.order.pop_front();
            self.give_up(id, "its client is too slow");
        }
    }
}
