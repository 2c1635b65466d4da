//! The way that messages go: datagrams or frames, or a connection to a broker.

use std::io;
use std::time::Duration;

use super::batch::{Batch, Sent};
use super::broker_connection::{BrokerConnection, Delivered};

/// From one look at a broker's connection to the next.
pub const PATIENCE: Duration = Duration::from_millis(20);

/// The way that messages go.
pub enum MessagePath {
    Datagrams(Box<Batch>),
    Mqtt(Box<BrokerConnection>),
}

impl MessagePath {
    /// Where the next datagram is written, if it is one.
    pub fn slot(&mut self) -> Option<&mut Vec<u8>> {
        match self {
            Self::Datagrams(batch) => batch.slot(),
            Self::Mqtt(_) => None,
        }
    }

    /// The datagram is written; it may wait for others.
    pub fn push(&mut self) -> io::Result<Sent> {
        match self {
            Self::Datagrams(batch) => batch.push(),
            Self::Mqtt(_) => Ok(Sent::default()),
        }
    }

    /// Nothing waits for others any more.
    pub fn flush(&mut self) -> io::Result<Sent> {
        match self {
            Self::Datagrams(batch) => batch.flush(),
            Self::Mqtt(_) => Ok(Sent::default()),
        }
    }

    /// Sends a message of a group that is written somewhere else. A datagram may wait for others.
    pub fn send(&mut self, group: usize, bytes: &[u8]) -> io::Result<Sent> {
        let batch = match self {
            Self::Datagrams(batch) => batch,
            Self::Mqtt(courier) => return Ok(Sent::one(courier.send(group, bytes), bytes.len())),
        };
        if let Some(slot) = batch.slot() {
            slot.clear();
            slot.extend_from_slice(bytes);
        }
        batch.push()
    }

    pub fn turn(&mut self) {
        if let Self::Mqtt(courier) = self {
            courier.turn();
        }
    }

    pub fn has_room(&self) -> bool {
        match self {
            Self::Datagrams(_) => true,
            Self::Mqtt(courier) => courier.has_room(),
        }
    }

    /// A connection that is lost is looked after between two cycles that are far from each other, too.
    pub fn patience(&self, timeout: Option<Duration>) -> Option<Duration> {
        match self {
            Self::Datagrams(_) => timeout,
            Self::Mqtt(_) => Some(timeout.map_or(AFTER, |it| it.min(AFTER))),
        }
    }

    pub fn is_waiting(&self) -> bool {
        match self {
            Self::Datagrams(_) => false,
            Self::Mqtt(courier) => courier.is_waiting(),
        }
    }

    pub fn finish(self) -> Option<Delivered> {
        match self {
            Self::Datagrams(_) => None,
            Self::Mqtt(courier) => Some(courier.finish()),
        }
    }
}

/// So long a connection is not looked at when nothing comes.
const AFTER: Duration = Duration::from_millis(200);
