//! A listener at a broker: what comes for a topic filter until the time is over.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use mio::{Events, Poll, Token};
use plan::unit::duration::nanos;
use pubsub::Tolerance;
use pubsub::mqtt::Packet;
use pubsub::mqtt::packet::{
    reason, write_disconnect, write_puback, write_pubcomp, write_pubrec, write_subscribe,
};
use pubsub::security::KeyRing;

use super::broker::{AGAIN, BrokerError, Link, Mqtt};
use super::ears::{Ears, Ending, Letter};
use super::listen::now;
use super::{Heard, Subscribed};

/// All topics but those of the broker itself.
const ALL: &str = "#";
/// So long it is waited for packets before it looks at the time again.
const PATIENCE: Duration = Duration::from_millis(50);
/// The name of the one subscription.
const SUBSCRIPTION: u16 = 1;

/// What to listen to at a broker.
#[derive(Debug)]
pub struct Subscribe {
    /// The broker, with the topic filter.
    pub mqtt: Mqtt,
    /// Names the connection.
    pub client_id: String,
    /// For how long.
    pub duration: Duration,
    /// How many messages at most.
    pub messages: Option<u64>,
    /// Keys.
    pub keys: KeyRing,
    /// What is taken that the specification does not have.
    pub tolerance: Tolerance,
    /// Whether publishers have the clock of this host, which only the user knows.
    pub same_clock: bool,
}

/// Listens until the time is over, all messages came, or `stop` is set. `ready` is called when the broker has
/// subscribed.
///
/// # Errors
/// There is no first connection, or the broker does not subscribe.
pub fn subscribe(
    mut plan: Subscribe,
    stop: &AtomicBool,
    ready: impl FnOnce(),
) -> Result<Heard, BrokerError> {
    let mut poll = Poll::new()?;
    let mut events = Events::with_capacity(4);
    let mut ears = Ears::default();
    let mut told = Subscribed {
        version: plan.mqtt.version.name().to_owned(),
        qos: 0,
        connections: 0,
        lost_connections: Vec::new(),
        away_ns: 0,
        retained: 0,
        maybe_again: 0,
    };
    let mut link = Some(open(&plan, &mut poll, &mut events, &mut told)?);
    ready();
    let start = Instant::now();
    let (mut away, mut try_at) = (None, start);
    let mut interrupted = false;
    loop {
        let time = Instant::now();
        if time.duration_since(start) >= plan.duration {
            break;
        }
        interrupted = stop.load(Ordering::Relaxed);
        if interrupted || plan.messages.is_some_and(|most| ears.datagrams >= most) {
            break;
        }
        let mut failed = None;
        match &mut link {
            None if time >= try_at => match open(&plan, &mut poll, &mut events, &mut told) {
                Ok(it) => {
                    link = Some(it);
                    if let Some(since) = away.take() {
                        told.away_ns += nanos(Instant::now().duration_since(since));
                    }
                }
                Err(error) => failed = Some(error),
            },
            None => std::thread::sleep(PATIENCE.min(try_at.duration_since(time))),
            Some(it) => {
                wait(&mut poll, &mut events)?;
                it.keep_alive(Instant::now());
                if let Err(error) = hear(it, &mut plan, &mut ears, &mut told) {
                    failed = Some(error);
                }
            }
        }
        if let Some(error) = failed {
            link = None;
            away.get_or_insert(time);
            try_at = Instant::now() + AGAIN;
            error.note(&mut told.lost_connections);
        }
    }
    if let Some(since) = away {
        told.away_ns += nanos(since.elapsed());
    }
    if let Some(link) = &mut link {
        write_disconnect(&mut link.outbox);
        // The connection ends either way.
        let _ = link.flush();
    }
    let ending = Ending {
        from: plan.mqtt.url.to_string(),
        elapsed: start.elapsed(),
        drops: None,
        buffer: 0,
        interrupted,
        capture: None,
    };
    let mut heard = ears.close(ending);
    heard.mqtt = Some(told);
    Ok(heard)
}

fn wait(poll: &mut Poll, events: &mut Events) -> io::Result<()> {
    match poll.poll(events, Some(PATIENCE)) {
        Err(error) if error.kind() != io::ErrorKind::Interrupted => Err(error),
        _ => Ok(()),
    }
}

/// Connects and subscribes.
fn open(
    plan: &Subscribe,
    poll: &mut Poll,
    events: &mut Events,
    told: &mut Subscribed,
) -> Result<Link, BrokerError> {
    let mut link = Link::open(&plan.mqtt, &plan.client_id, None, poll.registry(), Token(0))?;
    let filter = plan.mqtt.url.topic.as_deref().unwrap_or(ALL);
    write_subscribe(
        link.version,
        SUBSCRIPTION,
        filter,
        plan.mqtt.qos,
        &mut link.outbox,
    );
    link.flush()?;
    let since = Instant::now();
    loop {
        // What the broker retains may come before its answer: it is looked at later.
        link.fill()?;
        if let Some(Packet::SubAck(_, code)) = link.look_for_suback()? {
            if code >= 0x80 {
                return Err(BrokerError::Refused(reason(link.version, code)));
            }
            told.qos = code;
            told.connections += 1;
            return Ok(link);
        }
        if since.elapsed() > Duration::from_secs(5) {
            return Err(BrokerError::Silent(Duration::from_secs(5)));
        }
        wait(poll, events)?;
    }
}

fn hear(
    link: &mut Link,
    plan: &mut Subscribe,
    ears: &mut Ears,
    told: &mut Subscribed,
) -> Result<(), BrokerError> {
    link.fill()?;
    let version = link.version;
    let mut answers = Vec::new();
    while let Some(packet) = link.next()? {
        match packet {
            Packet::Publish(message) => {
                match message.qos {
                    1 => write_puback(message.id, &mut answers),
                    2 => write_pubrec(message.id, &mut answers),
                    _ => {}
                }
                told.retained += u64::from(message.retain);
                told.maybe_again += u64::from(message.dup);
                let letter = Letter {
                    topic: message.topic,
                    payload: message.payload,
                    retained: message.retain,
                    at: now(),
                    same_clock: plan.same_clock,
                };
                ears.take_letter(letter, &mut plan.keys, plan.tolerance);
            }
            Packet::PubRel(id) => write_pubcomp(id, &mut answers),
            Packet::Disconnect(code) => return Err(BrokerError::Ended(reason(version, code))),
            _ => {}
        }
        if plan.messages.is_some_and(|most| ears.datagrams >= most) {
            break;
        }
    }
    link.outbox.extend(answers);
    link.flush()
}
