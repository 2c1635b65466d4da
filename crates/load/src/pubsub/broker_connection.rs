//! Messages to a broker: what it takes, what it does not, and how long it takes to say so.

use std::collections::BTreeMap;
use std::time::Instant;

use mio::{Registry, Token};
use plan::unit::duration::nanos;
use pubsub::mqtt::packet::{reason, write_pubrel};
use pubsub::mqtt::{Packet, Publish, Will};
use record::Histogram;
use serde::{Deserialize, Serialize};

use super::Spread;
use super::broker::{AGAIN, BrokerError, Link, Mqtt};
use super::spread::Times;

/// So many bytes wait for the socket before messages are not taken any more.
const WAITING: usize = 1 << 20;

/// What a broker did with messages.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Delivered {
    /// Of MQTT.
    pub version: String,
    /// What TLS agreed on, if the broker was spoken to inside TLS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<String>,
    /// 0, 1 or 2.
    pub qos: u8,
    /// Connections that there were.
    pub connections: u64,
    /// Why they ended before their time, and why there was none again: the first sixteen.
    pub lost_connections: Vec<String>,
    /// Messages that were not sent because there was no connection.
    pub not_connected: u64,
    /// Messages that were not sent because `window` were without acknowledgement.
    pub window_full: u64,
    /// Messages that were not sent because the socket took no more: the broker does not read.
    pub socket_full: u64,
    /// So many messages may be without acknowledgement.
    pub window: u16,
    /// Messages that the broker has, as it says; QoS 0 has no such word.
    pub acknowledged: u64,
    /// Messages that it says it does not take, the first reason.
    pub refused: u64,
    /// Why not.
    pub refused_because: Option<String>,
    /// Messages that it said nothing of.
    pub unacknowledged: u64,
    /// From sending a message to its acknowledgement (PUBACK, PUBCOMP).
    pub acknowledgement: Option<Spread>,
    /// The same, all of it.
    #[serde(default, skip_serializing_if = "Histogram::is_empty")]
    pub acknowledgement_histogram: Histogram,
}

/// What is sent beside the messages.
#[derive(Debug, Clone, Default)]
pub(super) struct Retained {
    /// Topics and messages that are sent with each connection, and taken back at the end.
    pub messages: Vec<(String, Vec<u8>)>,
    /// What the broker says when the connection ends without a word.
    pub will: Option<(String, Vec<u8>)>,
}

/// A publisher's connection to a broker, and the one after it.
#[derive(Debug)]
pub(super) struct BrokerConnection {
    mqtt: Mqtt,
    client_id: String,
    retained: Retained,
    /// Where the messages of each group go.
    topics: Vec<String>,
    content: &'static str,
    registry: Registry,
    token: Token,
    link: Option<Link>,
    try_at: Instant,
    next_id: u16,
    /// Messages without acknowledgement, and when they were sent; `true` if the broker has them, of QoS 2.
    in_flight: BTreeMap<u16, (Instant, bool)>,
    times: Times,
    done: Delivered,
}

impl BrokerConnection {
    /// Connects. Without a first connection there is nothing to measure.
    pub fn new(
        mqtt: Mqtt,
        client_id: String,
        retained: Retained,
        topics: Vec<String>,
        json: bool,
        registry: Registry,
        token: Token,
    ) -> Result<Self, BrokerError> {
        let done = Delivered {
            version: mqtt.version.name().to_owned(),
            tls: None,
            qos: mqtt.qos,
            connections: 0,
            lost_connections: Vec::new(),
            not_connected: 0,
            window_full: 0,
            socket_full: 0,
            window: mqtt.in_flight,
            acknowledged: 0,
            refused: 0,
            refused_because: None,
            unacknowledged: 0,
            acknowledgement: None,
            acknowledgement_histogram: Histogram::default(),
        };
        let now = Instant::now();
        let mut courier = Self {
            mqtt,
            client_id,
            retained,
            topics,
            content: match json {
                true => "application/json",
                false => "application/opcua+uadp",
            },
            registry,
            token,
            link: None,
            try_at: now,
            next_id: 0,
            in_flight: BTreeMap::new(),
            times: Times::new(),
            done,
        };
        courier.connect()?;
        Ok(courier)
    }

    fn connect(&mut self) -> Result<(), BrokerError> {
        let will = self
            .retained
            .will
            .as_ref()
            .map(|(topic, payload)| Will { topic, payload });
        let mut link = Link::open(
            &self.mqtt,
            &self.client_id,
            will,
            &self.registry,
            self.token,
        )?;
        self.done.connections += 1;
        self.done.window = link.window;
        self.done.tls.clone_from(&link.tls);
        for (topic, payload) in &self.retained.messages {
            let message = Publish {
                dup: false,
                qos: 0,
                retain: true,
                topic,
                id: 0,
                payload,
            };
            message.write(link.version, Some(self.content), &mut link.outbox);
        }
        link.flush()?;
        self.link = Some(link);
        Ok(())
    }

    fn lose(&mut self, error: &BrokerError) {
        self.link = None;
        self.try_at = Instant::now() + AGAIN;
        // They are not sent again: a cycle later there are newer values.
        self.done.unacknowledged += self.in_flight.len() as u64;
        self.in_flight.clear();
        error.note(&mut self.done.lost_connections);
    }

    /// Whether a message of each group would be taken now, or as many of them as there can be at a time.
    pub fn has_room(&self) -> bool {
        let window = usize::from(self.done.window);
        let cycle = self.topics.len().min(window);
        let full = self.mqtt.qos > 0 && self.in_flight.len() + cycle > window;
        self.link
            .as_ref()
            .is_some_and(|it| !full && it.waiting() < WAITING)
    }

    /// Sends a message of a group, or counts why not.
    pub fn send(&mut self, group: usize, payload: &[u8]) -> bool {
        let (Some(link), Some(topic)) = (&mut self.link, self.topics.get(group)) else {
            self.done.not_connected += 1;
            return false;
        };
        if self.mqtt.qos > 0 && self.in_flight.len() >= usize::from(self.done.window) {
            self.done.window_full += 1;
            return false;
        }
        if link.waiting() >= WAITING {
            self.done.socket_full += 1;
            return false;
        }
        if self.mqtt.qos > 0 {
            // There are more names than messages in the window.
            loop {
                self.next_id = self.next_id.checked_add(1).unwrap_or(1);
                if !self.in_flight.contains_key(&self.next_id) {
                    break;
                }
            }
        }
        let message = Publish {
            dup: false,
            qos: self.mqtt.qos,
            retain: false,
            topic,
            id: self.next_id,
            payload,
        };
        message.write(link.version, Some(self.content), &mut link.outbox);
        let now = Instant::now();
        if self.mqtt.qos > 0 {
            self.in_flight.insert(self.next_id, (now, false));
        }
        if let Err(error) = link.flush() {
            self.lose(&error);
        }
        true
    }

    /// Takes what the broker said, sends what waits, and connects again if it is time to.
    pub fn turn(&mut self) {
        let now = Instant::now();
        if self.link.is_none() && now >= self.try_at {
            if let Err(error) = self.connect() {
                self.lose(&error);
            }
            return;
        }
        if let Err(error) = self.hear(now) {
            self.lose(&error);
        }
    }

    fn hear(&mut self, now: Instant) -> Result<(), BrokerError> {
        let Some(link) = &mut self.link else {
            return Ok(());
        };
        link.fill()?;
        let version = link.version;
        while let Some(packet) = link.next()? {
            match packet {
                Packet::PubRec(id, code) if code < 0x80 => {
                    if let Some((_, there)) = self.in_flight.get_mut(&id) {
                        *there = true;
                    }
                    write_pubrel(id, &mut link.outbox);
                }
                Packet::PubAck(id, code) | Packet::PubRec(id, code) => {
                    let sent = self.in_flight.remove(&id);
                    if code >= 0x80 {
                        self.done.refused += 1;
                        let why = || reason(version, code).to_owned();
                        self.done.refused_because.get_or_insert_with(why);
                    } else if let Some((sent, _)) = sent {
                        self.done.acknowledged += 1;
                        self.times.note(nanos(now.duration_since(sent)));
                    }
                }
                Packet::PubComp(id) => {
                    if let Some((sent, true)) = self.in_flight.remove(&id) {
                        self.done.acknowledged += 1;
                        self.times.note(nanos(now.duration_since(sent)));
                    }
                }
                Packet::Disconnect(code) => return Err(BrokerError::Ended(reason(version, code))),
                _ => {}
            }
        }
        link.keep_alive(now);
        link.flush()
    }

    /// Whether anything is still on its way.
    pub fn is_waiting(&self) -> bool {
        let sending = self.link.as_ref().is_some_and(|it| it.waiting() > 0);
        self.link.is_some() && (sending || !self.in_flight.is_empty())
    }

    /// Takes back what was retained, says farewell, and tells what became of all messages.
    pub fn finish(mut self) -> Delivered {
        if let Some(mut link) = self.link {
            for (topic, _) in &self.retained.messages {
                let nothing = Publish {
                    dup: false,
                    qos: 0,
                    retain: true,
                    topic,
                    id: 0,
                    payload: &[],
                };
                nothing.write(link.version, None, &mut link.outbox);
            }
            link.end();
        }
        self.done.unacknowledged += self.in_flight.len() as u64;
        self.done.acknowledgement = self.times.spread();
        self.done.acknowledgement_histogram = self.times.histogram();
        self.done
    }
}
