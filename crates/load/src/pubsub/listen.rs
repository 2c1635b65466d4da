//! A listener: what comes until the time is over.

use std::io;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use pubsub::Tolerance;
use pubsub::security::KeyRing;

use super::datagram::{Receiver, received};
use super::key_times::KeyFeed;
use super::prober::Prober;
use super::received::{Ending, Received};
use super::{Address, Heard, PubSubConnection};

/// What to listen to.
#[derive(Debug)]
pub struct Listen {
    /// Where datagrams come to.
    pub from: Address,
    /// The address of the interface that a group is joined on.
    pub interface: Option<IpAddr>,
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
    mut plan: Listen,
    stop: &AtomicBool,
    ready: impl FnOnce(),
) -> Result<Heard, ListenError> {
    let failed = |error| ListenError {
        at: plan.from.to_string(),
        error,
    };
    let mut socket = received(plan.from, plan.interface, plan.buffer).map_err(failed)?;
    let mut prober = match plan.discovery {
        None => None,
        Some(at) => {
            let prober = Prober::open(at, plan.interface);
            Some(prober.map_err(|error| ListenError {
                at: at.to_string(),
                error,
            })?)
        }
    };
    let mut received = Received::default();
    if let Some((url, connections)) = &plan.server {
        received.know(url, connections);
    }
    ready();
    let start = Instant::now();
    let mut interrupted = false;
    let over = |received: &mut Received, keys: &mut KeyRing, _| {
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
            || plan
                .datagrams
                .is_some_and(|most| received.datagrams >= most)
    };
    take_all(
        &mut socket,
        &mut received,
        &mut plan.keys,
        plan.tolerance,
        over,
    )
    .map_err(failed)?;
    received.fed(plan.feed.as_ref());
    let mut heard = received.close(Ending {
        from: plan.from.to_string(),
        elapsed: start.elapsed(),
        drops: socket.drops.map(u64::from),
        buffer: socket.buffer,
        interrupted,
        capture: None,
    });
    heard.server = plan.server.map(|(_, connections)| connections);
    Ok(heard)
}

/// Takes what comes until `over` says so, which is told whether nothing came for a while.
pub(super) fn take_all(
    socket: &mut Receiver,
    received: &mut Received,
    keys: &mut KeyRing,
    tolerance: Tolerance,
    mut over: impl FnMut(&mut Received, &mut KeyRing, bool) -> bool,
) -> io::Result<()> {
    let mut buffer = vec![0; 65_536];
    let mut idle = false;
    while !over(received, keys, idle) {
        let came = socket.receive(&mut buffer)?;
        idle = came.is_none();
        if let Some(came) = came {
            let at = Some(came.stamp.unwrap_or_else(now));
            received.take(&mut buffer, came, at, keys, tolerance);
        }
    }
    Ok(())
}

/// In nanoseconds since 1970.
pub(super) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |it| u64::try_from(it.as_nanos()).unwrap_or(u64::MAX))
}
