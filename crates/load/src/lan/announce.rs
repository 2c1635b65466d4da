//! Servers of ours on this network: announced, found when somebody asks, and taken back when they end.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use mdns::{Kind, MOST, Name, NameError, Offer, Packet, Responder, Text};
use wire::url::{Transport, Url};

use super::LanError;
use super::card::Card;
use super::line::Line;

/// How much later than others this host speaks at most (RFC 6762, 8.1).
const JITTER: u64 = 250;
/// What the poll says when the end has come.
const END: mio::Token = mio::Token(usize::MAX);

/// A server that is to be announced.
#[derive(Debug, Clone)]
pub struct Announced {
    /// What it calls itself.
    pub name: String,
    /// Where it listens.
    pub listens: IpAddr,
    /// Its URLs.
    pub urls: Vec<Url>,
    /// What it can do (Part 12, Annex D).
    pub capabilities: Vec<String>,
}

/// Servers that can be announced: the sockets are there.
#[derive(Debug)]
pub struct Announcement {
    poll: mio::Poll,
    end: Arc<AtomicBool>,
    waker: mio::Waker,
    speakers: Vec<Speaker>,
}

/// An interface with what is announced there.
#[derive(Debug)]
struct Speaker {
    name: String,
    responder: Responder,
    lines: Vec<Line>,
}

impl Announcement {
    /// Prepares to announce servers of a machine with this name, over each interface by which they can be reached.
    pub fn open(servers: &[Announced], machine: &str) -> Result<Self, LanError> {
        let poll = mio::Poll::new().map_err(LanError::Wait)?;
        let waker = mio::Waker::new(poll.registry(), END).map_err(LanError::Wait)?;
        let cards = Card::chosen(None)?;
        // A machine without a network has clients of its own.
        let is_alone = cards.iter().all(|it| it.is_loopback);
        let (mut speakers, mut silent, mut tokens) = (Vec::new(), None, 0);
        for card in &cards {
            let is_here = |it: &&Announced| {
                card.leads_to(it.listens) || is_alone && it.listens.is_unspecified()
            };
            let here: Vec<_> = servers.iter().filter(is_here).collect();
            if here.is_empty() {
                continue;
            }
            let mut lines = match Line::of(card) {
                Ok(lines) => lines,
                Err(error) => {
                    silent = Some(error);
                    continue;
                }
            };
            for line in &mut lines {
                line.watch(&poll, tokens).map_err(LanError::Wait)?;
                tokens += 1;
            }
            speakers.push(Speaker {
                name: card.name.clone(),
                responder: responder(&here, card, machine)?,
                lines,
            });
        }
        if speakers.is_empty() {
            let listens = servers
                .first()
                .map_or(String::new(), |it| it.listens.to_string());
            return Err(silent.unwrap_or(LanError::NoInterface(listens)));
        }
        Ok(Self {
            poll,
            end: Arc::default(),
            waker,
            speakers,
        })
    }

    /// The interfaces.
    pub fn interfaces(&self) -> Vec<&str> {
        self.speakers.iter().map(|it| it.name.as_str()).collect()
    }

    /// Announces them from now on, in a thread of its own. Names that others had are told to `tell`.
    pub fn begin(self, tell: impl Fn(String) + Send + 'static) -> Announcer {
        let (end, waker) = (Arc::clone(&self.end), self.waker);
        let (poll, speakers, ended) = (self.poll, self.speakers, self.end);
        let thread = std::thread::spawn(move || speak(poll, speakers, &ended, &tell));
        Announcer { end, waker, thread }
    }
}

/// Servers that are announced.
#[derive(Debug)]
pub struct Announcer {
    end: Arc<AtomicBool>,
    waker: mio::Waker,
    thread: JoinHandle<()>,
}

impl Announcer {
    /// Says that they are gone.
    pub fn end(self) {
        self.end.store(true, Ordering::Release);
        // A thread that cannot be woken wakes up by itself, but nobody knows when.
        if self.waker.wake().is_ok() {
            let _ = self.thread.join();
        }
    }
}

/// Who answers on an interface.
fn responder(servers: &[&Announced], card: &Card, machine: &str) -> Result<Responder, LanError> {
    let mut hosts: BTreeMap<Name, Vec<IpAddr>> = BTreeMap::new();
    let mut offers = Vec::new();
    for server in servers {
        for url in &server.urls {
            let unnamed = |error: NameError| LanError::Name {
                name: url.to_string(),
                error,
            };
            let host = host(url.host(), machine).map_err(unnamed)?;
            // Who is asked for a name of the Internet has no answer here.
            if is_local(&host) {
                let addresses = hosts.entry(host.clone()).or_default();
                addresses.extend(reached(server.listens, card));
                addresses.sort_unstable();
                addresses.dedup();
            }
            let text = Text {
                path: url.path().trim_end_matches('/').to_owned(),
                capabilities: server.capabilities.clone(),
            };
            let offer = |kind: &Kind| Offer {
                name: server.name.clone(),
                kind: *kind,
                host: host.clone(),
                port: url.port(),
                text: text.clone(),
            };
            offers.extend(kinds(url.transport()).iter().map(offer));
        }
    }
    let names = servers.first().map_or(String::new(), |it| it.name.clone());
    let unnamed = |error| LanError::Name { name: names, error };
    Responder::new(offers, hosts, jitter()).map_err(unnamed)
}

/// The services of a transport.
fn kinds(transport: Transport) -> &'static [Kind] {
    match transport {
        Transport::Tcp => &[Kind::Tcp],
        Transport::Wss => &[Kind::Tls, Kind::Wss],
        Transport::Https => &[Kind::Https],
    }
}

/// The host of a URL as multicast DNS names it: an address is of this machine (Part 12, C.3), and a name without dots is known
/// on this network.
fn host(host: &str, machine: &str) -> Result<Name, NameError> {
    let is_own = host.parse::<IpAddr>().is_ok() || host == "localhost";
    let machine = machine.split('.').next().unwrap_or_default();
    match host {
        _ if is_own => Name::dotted(&format!("{machine}.local")),
        host if host.contains('.') => Name::dotted(host),
        host => Name::dotted(&format!("{host}.local")),
    }
}

fn is_local(host: &Name) -> bool {
    host.labels()
        .last()
        .is_some_and(|it| it.eq_ignore_ascii_case(b"local"))
}

/// The addresses at which a server is reached over an interface.
fn reached(listens: IpAddr, card: &Card) -> Vec<IpAddr> {
    match listens.is_unspecified() {
        false => vec![listens],
        // Both families come to a socket for all of IPv6.
        true if listens.is_ipv6() => card.addresses.clone(),
        true => card.of_family(true).collect(),
    }
}

/// A time that is another one on each host, and each time.
fn jitter() -> Duration {
    let mut random = [0; 8];
    // Without it this host speaks at once.
    let _ = aws_lc_rs::rand::fill(&mut random);
    Duration::from_millis(u64::from_ne_bytes(random) % JITTER)
}

fn speak(
    mut poll: mio::Poll,
    mut speakers: Vec<Speaker>,
    ended: &AtomicBool,
    tell: &dyn Fn(String),
) {
    let start = Instant::now();
    let mut events = mio::Events::with_capacity(64);
    let mut buffer = vec![0; MOST + 1];
    while !ended.load(Ordering::Acquire) {
        let mut is_more = false;
        for speaker in &mut speakers {
            is_more |= speaker.turn(&mut buffer, start, tell);
        }
        let now = start.elapsed();
        let due = speakers.iter().filter_map(|it| it.responder.due()).min();
        let wait = match is_more {
            true => Some(Duration::ZERO),
            false => due.map(|it| it.saturating_sub(now)),
        };
        // Whatever it says, it is looked at again.
        if poll.poll(&mut events, wait).is_err() {
            std::thread::sleep(Duration::from_millis(10));
        }
    }
    for speaker in &mut speakers {
        for packet in speaker.responder.end() {
            speaker.to_all(&packet);
        }
    }
}

impl Speaker {
    /// Hears what came and says what is due; whether there may be more to hear.
    fn turn(&mut self, buffer: &mut [u8], start: Instant, tell: &dyn Fn(String)) -> bool {
        let (responder, mut is_more) = (&mut self.responder, false);
        for line in &self.lines {
            let mut replies: Vec<(Packet, SocketAddr)> = Vec::new();
            is_more |= line.receive(buffer, |bytes, from| {
                // What nobody can read says nothing.
                if let Ok(packet) = Packet::read(bytes) {
                    let is_legacy = from.port() != mdns::PORT;
                    let reply = responder.hear(&packet, is_legacy, start.elapsed());
                    replies.extend(reply.map(|it| (it, from)));
                }
            });
            for (reply, to) in replies {
                // Who asked may be gone.
                let _ = line.to(&reply.write(), to);
            }
        }
        for packet in self.responder.poll(start.elapsed()) {
            self.to_all(&packet);
        }
        for (before, now) in self.responder.renamed() {
            let on = &self.name;
            tell(format!(
                "warning: somebody on {on} is called {before:?} already; announced as {now:?} there"
            ));
        }
        is_more
    }

    /// A line that is down for now takes nothing; it will take what is asked for when it is up.
    fn to_all(&self, packet: &Packet) {
        let bytes = packet.write();
        for line in &self.lines {
            let _ = line.to_all(&bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_of_a_url_is_one_that_can_be_asked_for() {
        let named = |it: &str| host(it, "plc-9.example").unwrap().to_string();
        assert_eq!(named("192.0.2.7"), "plc-9.local");
        assert_eq!(named("::1"), "plc-9.local");
        assert_eq!(named("localhost"), "plc-9.local");
        assert_eq!(named("line4"), "line4.local");
        assert_eq!(named("line4.example"), "line4.example");
        assert!(is_local(&host("line4", "x").unwrap()) && !is_local(&host("a.b", "x").unwrap()));
    }

    #[test]
    fn addresses_are_those_at_which_the_server_listens() {
        let card = Card {
            name: "eth0".into(),
            index: 2,
            addresses: ["192.0.2.7", "2001:db8::7"]
                .map(|it| it.parse().unwrap())
                .into(),
            is_loopback: false,
        };
        let at = |it: &str| reached(it.parse().unwrap(), &card);
        assert_eq!(at("192.0.2.7"), ["192.0.2.7".parse::<IpAddr>().unwrap()]);
        assert_eq!(at("0.0.0.0"), ["192.0.2.7".parse::<IpAddr>().unwrap()]);
        assert_eq!(at("::"), card.addresses);
    }
}
