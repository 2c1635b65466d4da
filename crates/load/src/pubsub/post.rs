//! A listener of a phase: opened before the publisher begins, and written down like any other load.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use plan::unit::duration::nanos;
use pubsub::Tolerance;
use pubsub::raw::RawType;
use pubsub::security::KeyRing;
use record::Tally;

use super::arrivals::now;
use super::choice::Choice;
use super::datagram::Receiver;
use super::key_times::KeyFeed;
use super::listen::{Takes, open, take_all};
use super::prober::{Asking, Prober};
use super::progress_reports::Telling;
use super::received::{Ending, PhaseClock, Received, SoFar};
use super::subscriber::Subscription;
use super::{Address, BrokerError, Interface, ListenError, ListenerReport, Mqtt, Place};
use crate::transport::random;

/// So long at most it is waited for datagrams that are on their way when the publisher has ended.
const DRAIN: Duration = Duration::from_secs(1);
/// When nothing came from a broker for so long, nothing is on its way.
const QUIET: Duration = Duration::from_millis(200);

/// A listener whose socket is open, or that has subscribed at a broker.
#[derive(Debug)]
pub struct Post {
    way: Way,
    prober: Option<Prober>,
}

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
    /// More of them, from a key service.
    pub feed: Option<KeyFeed>,
    /// What is taken that the specification does not have.
    pub tolerance: Tolerance,
    /// Types of the fields of each DataSet, for RawData.
    pub types: Vec<RawType>,
    /// Whose messages are taken.
    pub choice: Choice,
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
        Ok(Self {
            way: Way::Socket(real, socket),
            prober: None,
        })
    }

    /// Publishers are asked what they send, at this group or host.
    ///
    /// # Errors
    /// The system does not let it ask there.
    pub fn asking(self, at: Address, interface: Option<&Interface>) -> Result<Self, ListenError> {
        let towards = Interface::towards(interface, at);
        let prober = towards.and_then(|interface| Prober::open(at, interface));
        Ok(Self {
            prober: Some(prober.map_err(failed_at(&at.to_string()))?),
            ..self
        })
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
        Ok(Self {
            way: Way::Broker(Box::new(subscription)),
            prober: None,
        })
    }

    /// Where it listens, if not at a broker.
    pub fn place(&self) -> Option<Place> {
        match &self.way {
            Way::Socket(at, _) => Some(at.clone()),
            Way::Broker(_) => None,
        }
    }

    /// Listens in a phase with this clock; what comes behind its end is drained. What it has heard so far is told a few
    /// times a second.
    ///
    /// # Errors
    /// The socket failed.
    pub fn hear(
        self,
        mut knowledge: Knowledge,
        clock: PhaseClock,
        until: Until<'_>,
        told: &mut dyn FnMut(SoFar),
    ) -> Result<(ListenerReport, Tally), ListenError> {
        let start = Instant::now();
        let late = Duration::from_nanos(now().saturating_sub(clock.origin_ns));
        let start = start.checked_sub(late).unwrap_or(start);
        let types = std::mem::take(&mut knowledge.types);
        let choice = std::mem::take(&mut knowledge.choice);
        let mut received = Received::writing(clock, types).choosing(choice);
        let mut ending = Ending {
            from: String::new(),
            elapsed: Duration::ZERO,
            drops: None,
            buffer: 0,
            interrupted: false,
            capture: None,
        };
        let mut mqtt = None;
        let mut telling = Telling::new(clock.origin_ns, told);
        match self.way {
            Way::Socket(at, socket) => {
                ending.from = at.to_string();
                let turn = Turn {
                    prober: self.prober.map(Prober::begin),
                    telling: &mut telling,
                    until,
                };
                take_datagrams(&socket, &mut received, &mut knowledge, turn)
                    .map_err(failed_at(&ending.from))?;
                ending.drops = socket.drops();
                ending.buffer = socket.buffer;
            }
            Way::Broker(mut subscription) => {
                ending.from = subscription.url();
                let turn = Turn {
                    prober: None,
                    telling: &mut telling,
                    until,
                };
                take_messages(&mut subscription, &mut received, &mut knowledge, turn)
                    .map_err(failed_at(&ending.from))?;
                mqtt = Some(subscription.end());
            }
        }
        // Rates are of the time that it had.
        ending.elapsed = start.elapsed();
        let heard_for = nanos(ending.elapsed);
        received.fed(knowledge.feed.as_ref());
        telling.tell(&mut received, heard_for, true);
        // It writes from the beginning, so that there is one.
        let tally = received.take_tally(heard_for);
        debug_assert!(tally.is_some());
        let tally = tally.unwrap_or_default();
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

/// What is looked at beside what comes.
struct Turn<'a, 'b> {
    prober: Option<Asking>,
    telling: &'b mut Telling<'a>,
    until: Until<'a>,
}

fn take_datagrams(
    socket: &Receiver,
    received: &mut Received,
    knowledge: &mut Knowledge,
    mut turn: Turn<'_, '_>,
) -> io::Result<()> {
    let mut ended: Option<Instant> = None;
    let (tolerance, feed) = (knowledge.tolerance, &mut knowledge.feed);
    let over = |received: &mut Received, keys: &mut KeyRing, idle: bool| {
        turn.telling.turn(received, idle);
        if let Some(feed) = feed {
            received.feed(feed, keys);
        }
        if let Some(prober) = &mut turn.prober {
            prober.turn(received, keys, tolerance);
        }
        if !turn.until.over.load(Ordering::Relaxed) {
            return false;
        }
        // What came behind the last look may wait: nothing is on its way once a look behind the end has found nothing.
        let looked = ended.is_some();
        let since = *ended.get_or_insert_with(Instant::now);
        !turn.until.drain || looked && idle || since.elapsed() >= DRAIN
    };
    let takes = Takes {
        received,
        keys: &mut knowledge.keys,
        tolerance,
        most: None,
    };
    take_all(socket, takes, over)
}

fn take_messages(
    subscription: &mut Subscription,
    received: &mut Received,
    knowledge: &mut Knowledge,
    turn: Turn<'_, '_>,
) -> io::Result<()> {
    let (mut ended, mut came_at): (Option<Instant>, _) = (None, Instant::now());
    loop {
        let before = received.datagrams;
        if let Some(feed) = &mut knowledge.feed {
            received.feed(feed, &mut knowledge.keys);
        }
        subscription.turn(received, &mut knowledge.keys, knowledge.tolerance, None)?;
        turn.telling.turn(received, received.datagrams == before);
        if received.datagrams > before {
            came_at = Instant::now();
        }
        if !turn.until.over.load(Ordering::Relaxed) {
            continue;
        }
        let since = *ended.get_or_insert_with(Instant::now);
        // A broker may still have some.
        let quiet = since.elapsed() >= QUIET && came_at.elapsed() >= QUIET;
        if !turn.until.drain || quiet || since.elapsed() >= DRAIN {
            return Ok(());
        }
    }
}
