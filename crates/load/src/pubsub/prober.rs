//! A listener that asks publishers what they send (Part 14, 7.2.4.6.12).

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use pubsub::discovery::{Asks, Probe};
use pubsub::security::KeyRing;
use pubsub::{PublisherId, Tolerance};

use super::Address;
use super::arrivals::Arrivals;
use super::datagram::{Receiver, received, sender};
use super::received::Received;
use crate::transport::random;

/// Room for what is told.
const BUFFER: usize = 1 << 20;
/// So often it is looked whether there is something to ask, or an answer.
const LOOK: Duration = Duration::from_millis(20);
/// How long an answer is waited for, and at most after it was doubled again and again.
const WAIT: Duration = Duration::from_millis(500);
const LONGEST: Duration = Duration::from_secs(8);

/// When a publisher is asked next, and how long an answer is waited for then.
#[derive(Debug, Clone, Copy)]
struct Next {
    at: Instant,
    wait: Duration,
}

/// Who will ask, on whichever thread.
#[derive(Debug)]
pub(super) struct Prober {
    socket: Receiver,
    out: UdpSocket,
    /// Where to, if the socket is not connected.
    to: Option<SocketAddr>,
    publishers: BTreeMap<PublisherId<'static>, Next>,
    looked: Instant,
}

/// Asks, and takes what is told. Room for what comes belongs to a thread.
#[derive(Debug)]
pub(super) struct Asking {
    prober: Prober,
    arrivals: Arrivals,
}

impl Prober {
    /// Asks at this group or host.
    pub fn open(at: Address, interface: Option<IpAddr>) -> io::Result<Self> {
        let (socket, out, to) = match at.is_multicast() {
            true => {
                let socket = received(at, interface, BUFFER)?;
                (socket, sender(at, interface, (1, None))?, None)
            }
            // The answer comes to whoever asked.
            false => {
                let any: IpAddr = match at.0.ip() {
                    IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
                    IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
                };
                let socket = received(Address(SocketAddr::new(any, 0)), None, BUFFER)?;
                let out = socket.same()?;
                (socket, out, Some(at.0))
            }
        };
        out.set_nonblocking(true)?;
        socket.same()?.set_nonblocking(true)?;
        Ok(Self {
            socket,
            out,
            to,
            publishers: BTreeMap::new(),
            looked: Instant::now(),
        })
    }

    /// On this thread.
    pub fn begin(self) -> Asking {
        Asking {
            prober: self,
            arrivals: Arrivals::new(),
        }
    }

    fn ask(&self, publisher: &PublisherId<'static>, writers: Vec<u16>, first: bool) {
        let mut asks = vec![Asks::MetaData(writers.clone()), Asks::Writers(writers)];
        if first {
            asks.push(Asks::Endpoints);
        }
        for asks in asks {
            let mut message = Vec::new();
            // What cannot be sent now is asked again later.
            if (Probe { asks })
                .encode(publisher, None, &mut message)
                .is_ok()
            {
                let _ = match self.to {
                    Some(to) => self.out.send_to(&message, to),
                    None => self.out.send(&message),
                };
            }
        }
    }
}

impl Asking {
    /// Looks from time to time: takes answers, and asks what is not known.
    pub fn turn(&mut self, received: &mut Received, keys: &mut KeyRing, tolerance: Tolerance) {
        let (now, asker) = (Instant::now(), &mut self.prober);
        if now.duration_since(asker.looked) < LOOK {
            return;
        }
        asker.looked = now;
        // Who is not there refuses what was sent before; the next time it may be there.
        if asker.socket.receive(&mut self.arrivals).is_ok() {
            for (_, bytes) in self.arrivals.each() {
                received.told(bytes, keys, tolerance);
            }
        }
        for (publisher, writers) in received.undescribed() {
            let next = *asker
                .publishers
                .entry(publisher.clone())
                .or_insert_with(|| {
                    let mut byte = [0; 2];
                    random()(&mut byte);
                    // 100 to 500 ms, so that not all listeners ask at once.
                    let some = u64::from(u16::from_le_bytes(byte)) % 400;
                    Next {
                        at: now + Duration::from_millis(100 + some),
                        wait: WAIT,
                    }
                });
            if next.at > now {
                continue;
            }
            asker.ask(&publisher, writers, next.wait == WAIT);
            let later = Next {
                at: now + next.wait,
                wait: (next.wait * 2).min(LONGEST),
            };
            asker.publishers.insert(publisher, later);
        }
    }
}
