//! A listener at a broker: what comes for a topic filter until the time is over.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use mio::{Events, Poll, Token};
use plan::unit::duration::nanos;
use pubsub::Tolerance;
use pubsub::mqtt::Packet;
use pubsub::mqtt::packet::{reason, write_puback, write_pubcomp, write_pubrec, write_subscribe};
use pubsub::security::KeyRing;

use super::arrivals::now;
use super::broker::{AGAIN, BrokerError, Link, Mqtt};
use super::choice::Choice;
use super::key_times::KeyFeed;
use super::progress_reports::Telling;
use super::received::{BrokerMessage, Ending, Received, SoFar};
use super::{ListenerReport, Subscribed};

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
    /// More of them, from a key service.
    pub feed: Option<KeyFeed>,
    /// What is taken that the specification does not have.
    pub tolerance: Tolerance,
    /// Whose messages are taken.
    pub choice: Choice,
    /// Whether publishers have the clock of this host, which only the user knows.
    pub same_clock: bool,
}

/// A subscription at a broker, and the connection after the one that was lost.
#[derive(Debug)]
pub(super) struct Subscription {
    mqtt: Mqtt,
    client_id: String,
    same_clock: bool,
    poll: Poll,
    events: Events,
    link: Option<Link>,
    /// Since when there is no connection, and when the next one is tried.
    away: Option<Instant>,
    try_at: Instant,
    told: Subscribed,
}

impl Subscription {
    /// Connects and subscribes. Without a first connection there is nothing to hear.
    pub fn open(mqtt: Mqtt, client_id: String, same_clock: bool) -> Result<Self, BrokerError> {
        let told = Subscribed {
            version: mqtt.version.name().to_owned(),
            tls: None,
            qos: 0,
            connections: 0,
            lost_connections: Vec::new(),
            away_ns: 0,
            retained: 0,
            maybe_again: 0,
        };
        let mut subscription = Self {
            mqtt,
            client_id,
            same_clock,
            poll: Poll::new()?,
            events: Events::with_capacity(4),
            link: None,
            away: None,
            try_at: Instant::now(),
            told,
        };
        subscription.link = Some(subscription.connect()?);
        Ok(subscription)
    }

    /// Where it is, with the topic filter.
    pub fn url(&self) -> String {
        self.mqtt.url.to_string()
    }

    /// Takes what came, or waits a while for it; connects again if it is time to. Ends at so many messages.
    pub fn turn(
        &mut self,
        received: &mut Received,
        keys: &mut KeyRing,
        tolerance: Tolerance,
        most: Option<u64>,
    ) -> io::Result<()> {
        let time = Instant::now();
        let mut failed = None;
        match &mut self.link {
            None if time >= self.try_at => match self.connect() {
                Ok(it) => {
                    self.link = Some(it);
                    if let Some(since) = self.away.take() {
                        self.told.away_ns += nanos(since.elapsed());
                    }
                }
                Err(error) => failed = Some(error),
            },
            None => std::thread::sleep(PATIENCE.min(self.try_at.duration_since(time))),
            Some(link) => {
                wait(&mut self.poll, &mut self.events)?;
                link.keep_alive(Instant::now());
                let takes = Takes {
                    received,
                    keys,
                    tolerance,
                    same_clock: self.same_clock,
                    most,
                };
                failed = hear(link, takes, &mut self.told).err();
            }
        }
        if let Some(error) = failed {
            self.link = None;
            self.away.get_or_insert(time);
            self.try_at = Instant::now() + AGAIN;
            error.note(&mut self.told.lost_connections);
        }
        Ok(())
    }

    /// Says farewell, and tells what the broker had to do with it.
    pub fn end(mut self) -> Subscribed {
        if let Some(since) = self.away {
            self.told.away_ns += nanos(since.elapsed());
        }
        if let Some(link) = self.link {
            link.end();
        }
        self.told
    }

    fn connect(&mut self) -> Result<Link, BrokerError> {
        let registry = self.poll.registry();
        let mut link = Link::open(&self.mqtt, &self.client_id, None, registry, Token(0))?;
        let filter = self.mqtt.url.topic.as_deref().unwrap_or(ALL);
        write_subscribe(
            link.version,
            SUBSCRIPTION,
            filter,
            self.mqtt.qos,
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
                self.told.qos = code;
                self.told.connections += 1;
                self.told.tls.clone_from(&link.tls);
                return Ok(link);
            }
            if since.elapsed() > Duration::from_secs(5) {
                return Err(BrokerError::Silent(Duration::from_secs(5)));
            }
            wait(&mut self.poll, &mut self.events)?;
        }
    }
}

/// Listens until the time is over, all messages came, or `stop` is set. `ready` is called when the broker has
/// subscribed.
///
/// # Errors
/// There is no first connection, or the broker does not subscribe.
pub fn subscribe(
    plan: Subscribe,
    stop: &AtomicBool,
    ready: impl FnOnce(),
) -> Result<ListenerReport, BrokerError> {
    subscribe_and_tell(plan, stop, ready, None)
}

/// The same, and what it has heard so far is told a few times a second.
///
/// # Errors
/// There is no first connection, or the broker does not subscribe.
pub fn subscribe_and_tell(
    mut plan: Subscribe,
    stop: &AtomicBool,
    ready: impl FnOnce(),
    told: Option<&mut dyn FnMut(SoFar)>,
) -> Result<ListenerReport, BrokerError> {
    let mut subscription = Subscription::open(plan.mqtt, plan.client_id, plan.same_clock)?;
    ready();
    let origin = now();
    let mut received = match &told {
        Some(_) => Received::watched(origin),
        None => Received::default(),
    }
    .choosing(plan.choice);
    let mut telling = told.map(|told| Telling::new(origin, told));
    let start = Instant::now();
    let mut interrupted = false;
    while start.elapsed() < plan.duration {
        interrupted = stop.load(Ordering::Relaxed);
        if interrupted || plan.messages.is_some_and(|most| received.datagrams >= most) {
            break;
        }
        if let Some(feed) = &mut plan.feed {
            received.feed(feed, &mut plan.keys);
        }
        let before = received.datagrams;
        subscription.turn(&mut received, &mut plan.keys, plan.tolerance, plan.messages)?;
        if let Some(telling) = &mut telling {
            let idle = received.datagrams == before;
            telling.turn(&mut received, idle);
        }
    }
    if let Some(telling) = &mut telling {
        telling.end(&mut received);
    }
    received.fed(plan.feed.as_ref());
    let ending = Ending {
        from: subscription.url(),
        elapsed: start.elapsed(),
        drops: None,
        buffer: 0,
        interrupted,
        capture: None,
    };
    let mut heard = received.close(ending);
    heard.mqtt = Some(subscription.end());
    Ok(heard)
}

fn wait(poll: &mut Poll, events: &mut Events) -> io::Result<()> {
    match poll.poll(events, Some(PATIENCE)) {
        Err(error) if error.kind() != io::ErrorKind::Interrupted => Err(error),
        _ => Ok(()),
    }
}

/// Who takes messages.
struct Takes<'a> {
    received: &'a mut Received,
    keys: &'a mut KeyRing,
    tolerance: Tolerance,
    same_clock: bool,
    most: Option<u64>,
}

impl Takes<'_> {
    fn take(&mut self, message: BrokerMessage<'_>) {
        self.received
            .take_carried(message, self.keys, self.tolerance);
    }

    fn has_all(&self) -> bool {
        self.most
            .is_some_and(|most| self.received.datagrams >= most)
    }
}

fn hear(link: &mut Link, mut takes: Takes<'_>, told: &mut Subscribed) -> Result<(), BrokerError> {
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
                let message = BrokerMessage {
                    topic: message.topic,
                    payload: message.payload,
                    retained: message.retain,
                    at: now(),
                    same_clock: takes.same_clock,
                };
                takes.take(message);
            }
            Packet::PubRel(id) => write_pubcomp(id, &mut answers),
            Packet::Disconnect(code) => return Err(BrokerError::Ended(reason(version, code))),
            _ => {}
        }
        if takes.has_all() {
            break;
        }
    }
    link.outbox.extend(answers);
    link.flush()
}
