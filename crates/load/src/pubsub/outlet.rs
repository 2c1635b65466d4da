//! The way that messages go: datagrams, or a connection to a broker.

use std::io;
use std::net::UdpSocket;
use std::time::Duration;

use super::courier::{Courier, Delivered};

/// From one look at a broker's connection to the next.
pub const PATIENCE: Duration = Duration::from_millis(20);

/// The way that messages go.
pub enum Outlet {
    Udp(UdpSocket),
    Mqtt(Box<Courier>),
}

impl Outlet {
    /// Whether it was taken.
    pub fn send(&mut self, group: usize, bytes: &[u8]) -> io::Result<bool> {
        match self {
            Self::Udp(socket) => match socket.send(bytes) {
                Ok(_) => Ok(true),
                // Nobody listens there; the error is of an earlier datagram.
                Err(error) if is_refused(&error) => Ok(false),
                Err(error) => Err(error),
            },
            Self::Mqtt(courier) => Ok(courier.send(group, bytes)),
        }
    }

    pub fn turn(&mut self) {
        if let Self::Mqtt(courier) = self {
            courier.turn();
        }
    }

    pub fn has_room(&self) -> bool {
        match self {
            Self::Udp(_) => true,
            Self::Mqtt(courier) => courier.has_room(),
        }
    }

    /// A connection that is lost is looked after between two cycles that are far from each other, too.
    pub fn patience(&self, timeout: Option<Duration>) -> Option<Duration> {
        match self {
            Self::Udp(_) => timeout,
            Self::Mqtt(_) => Some(timeout.map_or(AFTER, |it| it.min(AFTER))),
        }
    }

    pub fn is_waiting(&self) -> bool {
        match self {
            Self::Udp(_) => false,
            Self::Mqtt(courier) => courier.is_waiting(),
        }
    }

    pub fn finish(self) -> Option<Delivered> {
        match self {
            Self::Udp(_) => None,
            Self::Mqtt(courier) => Some(courier.finish()),
        }
    }
}

/// So long a connection is not looked at when nothing comes.
const AFTER: Duration = Duration::from_millis(200);

fn is_refused(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionRefused | io::ErrorKind::WouldBlock
    )
}
