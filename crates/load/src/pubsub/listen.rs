//! A listener: what comes until the time is over.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use pubsub::Tolerance;
use pubsub::security::KeyRing;

use super::arrivals::{Arrivals, now};
use super::choice::Choice;
use super::datagram::{Receiver, received};
use super::key_times::KeyFeed;
use super::prober::Prober;
use super::progress_reports::Telling;
use super::received::{Ending, Received, SoFar};
use super::{Address, Interface, ListenerReport, Place, PubSubConnection, ethernet};

/// What to listen to.
#[derive(Debug)]
pub struct Listen {
    /// Where datagrams come to.
    pub from: Place,
    /// The interface that a group is joined on, or that frames come to.
    pub interface: Option<Interface>,
    /// The room to ask the kernel for.
    pub buffer: usize,
    /// For how long.
    pub duration: Duration,
    /// How many datagrams at most.
    pub datagrams: Option<u64>,
    /// Keys.
    pub keys: KeyRing,
    /// More of them, from a key service.
    pub feed: Option<KeyFeed>,
    /// What is taken that the specification does not have.
    pub tolerance: Tolerance,
    /// Whose messages are taken.
    pub choice: Choice,
    /// Where publishers are asked what they send.
    pub discovery: Option<Address>,
    /// A server that has said what it publishes, and that.
    pub server: Option<(String, Vec<PubSubConnection>)>,
}

/// Why nothing was listened to.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen at {at}: {error}")]
pub struct ListenError {
    /// Where.
    pub at: String,
    /// What the system says.
    pub error: io::Error,
}

/// Listens until the time is over, all datagrams came, or `stop` is set. `ready` is called when the socket is open.
///
/// # Errors
/// The socket cannot be opened, or failed.
pub fn listen(
    plan: Listen,
    stop: &AtomicBool,
    ready: impl FnOnce(),
) -> Result<ListenerReport, ListenError> {
    listen_and_tell(plan, stop, ready, None)
}

/// The same, and what it has heard so far is told a few times a second.
///
/// # Errors
/// The socket cannot be opened, or failed.
pub fn listen_and_tell(
    mut plan: Listen,
    stop: &AtomicBool,
    ready: impl FnOnce(),
    told: Option<&mut dyn FnMut(SoFar)>,
) -> Result<ListenerReport, ListenError> {
    let from = plan.from.to_string();
    let failed = |error| ListenError {
        at: from.clone(),
        error,
    };
    let interface = plan.interface.as_ref();
    let socket = open(&plan.from, interface, plan.buffer).map_err(failed)?;
    let mut prober = match plan.discovery {
        None => None,
        Some(at) => {
            let towards = Interface::towards(interface, at);
            let prober = towards.and_then(|interface| Prober::open(at, interface));
            let prober = prober.map_err(|error| ListenError {
                at: at.to_string(),
                error,
            })?;
            Some(prober.begin())
        }
    };
    let origin = now();
    let mut received = match &told {
        Some(_) => Received::watched(origin),
        None => Received::default(),
    }
    .choosing(plan.choice);
    let mut telling = told.map(|told| Telling::new(origin, told));
    if let Some((url, connections)) = &plan.server {
        received.know(url, connections);
    }
    ready();
    let start = Instant::now();
    let mut interrupted = false;
    let over = |received: &mut Received, keys: &mut KeyRing, idle| {
        if let Some(telling) = &mut telling {
            telling.turn(received, idle);
        }
        if let Some(feed) = &mut plan.feed {
            received.feed(feed, keys);
        }
        if let Some(prober) = &mut prober {
            prober.turn(received, keys, plan.tolerance);
        }
        if start.elapsed() >= plan.duration {
            return true;
        }
        interrupted = stop.load(Ordering::Relaxed);
        interrupted
    };
    let takes = Takes {
        received: &mut received,
        keys: &mut plan.keys,
        tolerance: plan.tolerance,
        most: plan.datagrams,
    };
    take_all(&socket, takes, over).map_err(failed)?;
    if let Some(telling) = &mut telling {
        telling.end(&mut received);
    }
    received.fed(plan.feed.as_ref());
    let mut heard = received.close(Ending {
        from: from.clone(),
        elapsed: start.elapsed(),
        drops: socket.drops(),
        buffer: socket.buffer,
        interrupted,
        capture: None,
    });
    heard.server = plan.server.map(|(_, connections)| connections);
    Ok(heard)
}

/// Opens a socket for what comes there.
pub(super) fn open(
    from: &Place,
    interface: Option<&Interface>,
    buffer: usize,
) -> io::Result<Receiver> {
    match from {
        Place::Udp(at) => received(*at, Interface::towards(interface, *at)?, buffer),
        Place::Ethernet(at) => ethernet::received(at, interface, buffer),
    }
}

/// Who takes datagrams, and how many at most.
pub(super) struct Takes<'a> {
    pub received: &'a mut Received,
    pub keys: &'a mut KeyRing,
    pub tolerance: Tolerance,
    pub most: Option<u64>,
}

impl Takes<'_> {
    fn has_all(&self) -> bool {
        self.most
            .is_some_and(|most| self.received.datagrams >= most)
    }
}

/// Takes what comes until `over` says so, which is told whether nothing came for a while, or all came.
pub(super) fn take_all(
    socket: &Receiver,
    takes: Takes<'_>,
    mut over: impl FnMut(&mut Received, &mut KeyRing, bool) -> bool,
) -> io::Result<()> {
    let mut arrivals = Arrivals::new();
    let mut idle = false;
    while !takes.has_all() && !over(takes.received, takes.keys, idle) {
        socket.receive(&mut arrivals)?;
        idle = arrivals.is_empty();
        for (came, bytes) in arrivals.each() {
            let at = Some(came.stamp.unwrap_or_else(now));
            takes
                .received
                .take(bytes, came, at, takes.keys, takes.tolerance);
            if takes.has_all() {
                break;
            }
        }
    }
    Ok(())
}
