//! Who is on this network: a question to all, and what they answer.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use mdns::{Browser, FoundServer, MOST, Packet};
use plan::unit::duration::nanos;
use serde::Serialize;

use super::LanError;
use super::card::Card;
use super::line::Line;

/// What was heard.
#[derive(Debug, Clone, Serialize)]
pub struct LanReport {
    /// The interfaces that were asked over.
    pub interfaces: Vec<Spoken>,
    /// How long answers were waited for.
    pub wait_ns: u64,
    /// The servers, by name.
    pub servers: Vec<Server>,
    /// Packets that were sent, each with questions.
    pub questions: u64,
    /// Packets that came, of whatever service, our own among them.
    pub packets: u64,
    /// Those of them that nobody can read.
    pub unreadable: u64,
}

/// An interface, and what was spoken there.
#[derive(Debug, Clone, Serialize)]
pub struct Spoken {
    /// Its name.
    pub name: String,
    /// Whether questions went out over IPv4.
    pub ipv4: bool,
    /// And over IPv6.
    pub ipv6: bool,
}

/// A server that says it is there.
#[derive(Debug, Clone, Serialize)]
pub struct Server {
    /// What it calls itself.
    pub name: String,
    /// The services that it is announced as, such as `_opcua-tcp`.
    pub services: Vec<String>,
    /// Its URL; none if it did not say where it is.
    pub url: Option<String>,
    /// Its host.
    pub host: Option<String>,
    /// Addresses of its host.
    pub addresses: Vec<String>,
    /// URLs by these addresses, for who cannot look the host's name up.
    pub by_address: Vec<String>,
    /// What it says that it can do (Part 12, Annex D).
    pub capabilities: Vec<String>,
    /// When it was first heard of, from the first question on.
    pub first_heard_ns: u64,
}

/// Asks over these interfaces who is there, and listens for so long. Nothing else is sent, and nobody connected to.
pub fn browse(cards: &[Card], wait: Duration) -> Result<LanReport, LanError> {
    let mut poll = mio::Poll::new().map_err(LanError::Wait)?;
    let (mut lines, mut silent) = (Vec::new(), None);
    for card in cards {
        match Line::of(card) {
            Ok(more) => lines.extend(more),
            Err(error) => silent = Some(error),
        }
    }
    for (at, line) in lines.iter_mut().enumerate() {
        line.watch(&poll, at).map_err(LanError::Wait)?;
    }
    let unnamed = |error| LanError::Name {
        name: "a service of OPC UA".to_owned(),
        error,
    };
    let mut browser = Browser::new().map_err(unnamed)?;
    let (mut questions, mut packets, mut unreadable) = (0, 0, 0);
    let mut events = mio::Events::with_capacity(lines.len().max(1));
    let mut buffer = vec![0; MOST + 1];
    let mut spoken: BTreeSet<(u32, bool)> = BTreeSet::new();
    let start = Instant::now();
    loop {
        let now = start.elapsed();
        if now >= wait {
            break;
        }
        for packet in browser.poll(now) {
            let bytes = packet.write();
            // One that does not go out now may do so later: a line that comes up.
            for line in &lines {
                match line.to_all(&bytes) {
                    Ok(()) => {
                        questions += 1;
                        spoken.insert((line.index, line.is_v4()));
                    }
                    Err(error) => {
                        let card = cards.iter().find(|it| it.index == line.index);
                        let name = card.map_or(String::new(), |it| it.name.clone());
                        silent = Some(LanError::Silent { name, error });
                    }
                }
            }
        }
        if spoken.is_empty() {
            return Err(silent.unwrap_or(LanError::Nowhere));
        }
        let mut is_more = false;
        for line in &lines {
            is_more |= line.receive(&mut buffer, |bytes, from| {
                packets += 1;
                match Packet::read(bytes) {
                    // Others do not speak for multicast DNS (RFC 6762, 6).
                    Ok(packet) if from.port() == mdns::PORT => {
                        browser.hear(&packet, line.index, start.elapsed())
                    }
                    Ok(_) => {}
                    Err(_) => unreadable += 1,
                }
            });
        }
        let until = match is_more {
            true => now,
            false => browser.due().map_or(wait, |it| it.min(wait)),
        };
        match poll.poll(&mut events, Some(until.saturating_sub(start.elapsed()))) {
            Err(error) if error.kind() != std::io::ErrorKind::Interrupted => {
                return Err(LanError::Wait(error));
            }
            _ => {}
        }
    }
    let way = |card: &Card| Spoken {
        name: card.name.clone(),
        ipv4: spoken.contains(&(card.index, true)),
        ipv6: spoken.contains(&(card.index, false)),
    };
    Ok(LanReport {
        interfaces: cards.iter().map(way).collect(),
        wait_ns: nanos(wait),
        servers: servers(browser.found(start.elapsed()), cards),
        questions,
        packets,
        unreadable,
    })
}

/// The servers, each once for each of its URLs.
fn servers(found: Vec<FoundServer>, cards: &[Card]) -> Vec<Server> {
    let mut servers: Vec<Server> = Vec::new();
    for it in found {
        let more = server(&it, cards);
        let same = |known: &&mut Server| known.name == more.name && known.url == more.url;
        match servers.iter_mut().find(same) {
            Some(known) => {
                known.services.extend(more.services);
                known.first_heard_ns = known.first_heard_ns.min(more.first_heard_ns);
            }
            None => servers.push(more),
        }
    }
    servers.sort_by(|a, b| (&a.name, &a.url).cmp(&(&b.name, &b.url)));
    servers
}

fn server(found: &FoundServer, cards: &[Card]) -> Server {
    let text = found.text.clone().unwrap_or_default();
    let url =
        |host: &str, port: u16| format!("{}://{host}:{port}{}", found.kind.scheme(), text.path);
    let place = found.place.as_ref();
    let addresses = found.addresses.iter().map(|(address, index)| match index {
        0 => address.to_string(),
        index => {
            let card = cards.iter().find(|it| it.index == *index);
            format!(
                "{address}%{}",
                card.map_or(String::new(), |it| it.name.clone())
            )
        }
    });
    // An address that needs an interface beside it has no place in a URL.
    let reached = found.addresses.iter().filter(|(_, index)| *index == 0);
    let by_address = reached.filter_map(|(address, _)| {
        let host = match address {
            IpAddr::V4(it) => it.to_string(),
            IpAddr::V6(it) => format!("[{it}]"),
        };
        place.map(|(_, port)| url(&host, *port))
    });
    Server {
        name: found.name.clone(),
        services: vec![found.kind.label().to_owned()],
        url: place.map(|(host, port)| url(host, *port)),
        host: place.map(|(host, _)| host.clone()),
        addresses: addresses.collect(),
        by_address: by_address.collect(),
        capabilities: text.capabilities,
        first_heard_ns: nanos(found.first),
    }
}
