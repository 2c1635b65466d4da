//! A listener of a phase: opened before the publisher begins, and written down like any other load.

use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use pubsub::Tolerance;
use pubsub::raw::RawType;
use pubsub::security::KeyRing;
use record::Tally;

use super::datagram::{Receiver, receiver};
use super::ears::{Ears, Ending, PhaseClock};
use super::listen::{now, take_all};
use super::{Address, Heard, ListenError};

/// So long at most it is waited for datagrams that are on their way when the publisher has ended.
const DRAIN: Duration = Duration::from_secs(1);

/// A listener with an open socket.
#[derive(Debug)]
pub struct Post {
    at: Address,
    socket: Receiver,
}

/// When the listeners of a phase end.
#[derive(Debug, Clone, Copy)]
pub struct Until<'a> {
    /// The phase is over.
    pub over: &'a AtomicBool,
    /// Whether what is on its way is taken, too: the publisher has ended then.
    pub drain: bool,
}

/// What a listener knows of messages.
#[derive(Debug)]
pub struct Knowledge {
    /// Keys.
    pub keys: KeyRing,
    /// What is taken that the specification does not have.
    pub tolerance: Tolerance,
    /// Types of the fields of each DataSet, for RawData.
    pub types: Vec<RawType>,
}

impl Post {
    /// Opens the socket. Port 0 is a free one.
    ///
    /// # Errors
    /// The system does not let it listen there.
    pub fn open(
        at: Address,
        interface: Option<IpAddr>,
        buffer: usize,
    ) -> Result<Self, ListenError> {
        let failed = |error| ListenError {
            at: at.to_string(),
            error,
        };
        let socket = receiver(at, interface, buffer).map_err(failed)?;
        let mut real = at;
        real.0.set_port(socket.port().map_err(failed)?);
        Ok(Self { at: real, socket })
    }

    /// Where it listens.
    pub fn at(&self) -> Address {
        self.at
    }

    /// Listens in a phase with this clock; what comes behind its end is drained.
    ///
    /// # Errors
    /// The socket failed.
    pub fn hear(
        mut self,
        mut knowledge: Knowledge,
        clock: PhaseClock,
        until: Until<'_>,
    ) -> Result<(Heard, Tally), ListenError> {
        let start = Instant::now();
        let late = Duration::from_nanos(now().saturating_sub(clock.origin_ns));
        let start = start.checked_sub(late).unwrap_or(start);
        let mut ears = Ears::writing(clock, knowledge.types);
        let mut ended: Option<Instant> = None;
        let over = |_: &Ears, idle: bool| {
            if !until.over.load(Ordering::Relaxed) {
                return false;
            }
            let since = *ended.get_or_insert_with(Instant::now);
            !until.drain || idle || since.elapsed() >= DRAIN
        };
        let (tolerance, keys) = (knowledge.tolerance, &mut knowledge.keys);
        take_all(&mut self.socket, &mut ears, keys, tolerance, over).map_err(|error| {
            ListenError {
                at: self.at.to_string(),
                error,
            }
        })?;
        // Rates are of the time that it had.
        let heard_for = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let tally = ears.take_tally(heard_for).unwrap_or_default();
        let heard = ears.close(Ending {
            from: self.at.to_string(),
            elapsed: start.elapsed(),
            drops: self.socket.drops.map(u64::from),
            buffer: self.socket.buffer,
            interrupted: false,
            capture: None,
        });
        Ok((heard, tally))
    }
}
