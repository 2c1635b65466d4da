//! A listener of a phase: opened before the publisher begins, and written down like any other load.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use pubsub::Tolerance;
use pubsub::raw::RawType;
use pubsub::security::KeyRing;
use record::Tally;

use super::datagram::Receiver;
use super::listen::{Takes, now, open, take_all};
use super::received::{Ending, PhaseClock, Received};
use super::subscriber::Subscription;
use super::{BrokerError, Heard, Interface, ListenError, Mqtt, Place};
use crate::transport::random;

/// So long at most it is waited for datagrams that are on their way when the publisher has ended.
const DRAIN: Duration = Duration::from_secs(1);
/// When nothing came from a broker for so long, nothing is on its way.
const QUIET: Duration = Duration::from_millis(200);

/// A listener whose socket is open, or that has subscribed at a broker.
#[derive(Debug)]
pub struct Post(Way);

#[derive(Debug)]
enum Way {
    Socket(Place, Receiver),
    Broker(Box<Subscription>),
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
        at: &Place,
        interface: Option<&Interface>,
        buffer: usize,
    ) -> Result<Self, ListenError> {
        let failed = |error| ListenError {
            at: at.to_string(),
            error,
        };
        let socket = open(at, interface, buffer).map_err(failed)?;
        let mut real = at.clone();
        if let Place::Udp(at) = &mut real {
            at.0.set_port(socket.port().map_err(failed)?);
        }
        Ok(Self(Way::Socket(real, socket)))
    }

    /// Subscribes at a broker. `same_clock`: publishers have the clock of this host.
    ///
    /// # Errors
    /// There is no connection, or the broker does not subscribe.
    pub fn subscribe(mqtt: Mqtt, same_clock: bool) -> Result<Self, BrokerError> {
        let mut name = [0; 8];
        random()(&mut name);
        let client_id = format!("uaperf-{:016x}", u64::from_le_bytes(name));
        let subscription = Subscription::open(mqtt, client_id, same_clock)?;
        Ok(Self(Way::Broker(Box::new(subscription))))
    }

    /// Where it listens, if not at a broker.
    pub fn place(&self) -> Option<Place> {
        match &self.0 {
            Way::Socket(at, _) => Some(at.clone()),
            Way::Broker(_) => None,
        }
    }

    /// Listens in a phase with this clock; what comes behind its end is drained.
    ///
    /// # Errors
    /// The socket failed.
    pub fn hear(
        self,
        mut knowledge: Knowledge,
        clock: PhaseClock,
        until: Until<'_>,
    ) -> Result<(Heard, Tally), ListenError> {
        let start = Instant::now();
        let late = Duration::from_nanos(now().saturating_sub(clock.origin_ns));
        let start = start.checked_sub(late).unwrap_or(start);
        let types = std::mem::take(&mut knowledge.types);
        let mut received = Received::writing(clock, types);
        let mut ending = Ending {
            from: String::new(),
            elapsed: Duration::ZERO,
            drops: None,
            buffer: 0,
            interrupted: false,
            capture: None,
        };
        let mut mqtt = None;
        match self.0 {
            Way::Socket(at, socket) => {
                ending.from = at.to_string();
                take_datagrams(&socket, &mut received, &mut knowledge, until)
                    .map_err(failed_at(&ending.from))?;
                ending.drops = socket.drops();
                ending.buffer = socket.buffer;
            }
            Way::Broker(mut subscription) => {
                ending.from = subscription.url();
                take_messages(&mut subscription, &mut received, &mut knowledge, until)
                    .map_err(failed_at(&ending.from))?;
                mqtt = Some(subscription.end());
            }
        }
        // Rates are of the time that it had.
        ending.elapsed = start.elapsed();
        let heard_for = u64::try_from(ending.elapsed.as_nanos()).unwrap_or(u64::MAX);
        let tally = received.take_tally(heard_for).unwrap_or_default();
        let mut heard = received.close(ending);
        heard.mqtt = mqtt;
        Ok((heard, tally))
    }
}

fn failed_at(at: &str) -> impl Fn(io::Error) -> ListenError + '_ {
    move |error| ListenError {
        at: at.to_owned(),
        error,
    }
}

fn take_datagrams(
    socket: &Receiver,
    received: &mut Received,
    knowledge: &mut Knowledge,
    until: Until<'_>,
) -> io::Result<()> {
    let mut ended: Option<Instant> = None;
    let over = |_: &mut Received, _: &mut KeyRing, idle: bool| {
        if !until.over.load(Ordering::Relaxed) {
            return false;
        }
        let since = *ended.get_or_insert_with(Instant::now);
        !until.drain || idle || since.elapsed() >= DRAIN
    };
    let takes = Takes {
        received,
        keys: &mut knowledge.keys,
        tolerance: knowledge.tolerance,
        most: None,
    };
    take_all(socket, takes, over)
}

fn take_messages(
    subscription: &mut Subscription,
    received: &mut Received,
    knowledge: &mut Knowledge,
    until: Until<'_>,
) -> io::Result<()> {
    let (mut ended, mut came_at): (Option<Instant>, _) = (None, Instant::now());
    loop {
        let before = received.datagrams;
        subscription.turn(received, &mut knowledge.keys, knowledge.tolerance, None)?;
        if received.datagrams > before {
            came_at = Instant::now();
        }
        if !until.over.load(Ordering::Relaxed) {
            continue;
        }
        let since = *ended.get_or_insert_with(Instant::now);
        // A broker may still have some.
        let quiet = since.elapsed() >= QUIET && came_at.elapsed() >= QUIET;
        if !until.drain || quiet || since.elapsed() >= DRAIN {
            return Ok(());
        }
    }
}
