//! A listener: what comes until the time is over.

use std::io;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use pubsub::Tolerance;
use pubsub::security::KeyRing;

use super::datagram::receiver;
use super::ears::{Ears, Ending};
use super::{Address, Heard};

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
    /// What is taken that the specification does not have.
    pub tolerance: Tolerance,
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
    let mut socket = receiver(plan.from, plan.interface, plan.buffer).map_err(failed)?;
    let mut buffer = vec![0; 65_536];
    let mut ears = Ears::default();
    ready();
    let start = Instant::now();
    let mut interrupted = false;
    while start.elapsed() < plan.duration {
        if stop.load(Ordering::Relaxed) {
            interrupted = true;
            break;
        }
        if plan.datagrams.is_some_and(|most| ears.datagrams >= most) {
            break;
        }
        let Some(came) = socket.receive(&mut buffer).map_err(failed)? else {
            continue;
        };
        let at = Some(came.stamp.unwrap_or_else(now));
        ears.take(&mut buffer, came, at, &mut plan.keys, plan.tolerance);
    }
    Ok(ears.close(Ending {
        from: plan.from.to_string(),
        elapsed: start.elapsed(),
        drops: socket.drops.map(u64::from),
        buffer: socket.buffer,
        interrupted,
        capture: None,
    }))
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |it| u64::try_from(it.as_nanos()).unwrap_or(u64::MAX))
}
