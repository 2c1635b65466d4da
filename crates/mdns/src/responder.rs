//! Who is asked: servers that are announced on one interface, found when somebody asks, and taken back at the end.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use crate::kind::{Kind, Text};
use crate::name::{Name, NameError};
use crate::packet::{Data, Packet, Question, Record};

/// How long records with a host in them hold, and others (RFC 6762, 10).
const HOST_TTL: u32 = 120;
const OTHER_TTL: u32 = 4500;
/// How long for whoever is no multicast DNS (RFC 6762, 6.7).
const LEGACY_TTL: u32 = 10;
/// A name is asked for so often before it is taken, with such a gap (RFC 6762, 8.1).
const PROBES: u32 = 3;
const PROBE_GAP: Duration = Duration::from_millis(250);
/// It is announced so often then (RFC 6762, 8.3).
const ANNOUNCEMENTS: u32 = 2;
/// Nothing is said to all more often (RFC 6762, 6).
const GAP: Duration = Duration::from_secs(1);
/// What several may answer waits this long at least, so that they do not all speak at once.
const ANSWER_AFTER: Duration = Duration::from_millis(20);
/// Servers whose records go into one packet: about 250 bytes each.
const TOGETHER: usize = 4;

/// A server to be announced.
#[derive(Debug, Clone)]
pub struct Offer {
    /// What it calls itself.
    pub name: String,
    /// The service.
    pub kind: Kind,
    /// The host of its URL.
    pub host: Name,
    /// The port.
    pub port: u16,
    /// Path and capabilities.
    pub text: Text,
}

/// Announces servers on one interface, and answers there for them.
#[derive(Debug)]
pub struct Responder {
    entries: Vec<Entry>,
    /// Hosts whose addresses on this interface are known.
    hosts: BTreeMap<Name, Vec<IpAddr>>,
    /// The name under which services are listed (RFC 6763, 9).
    all_services: Name,
    /// How much later than others this host speaks, up to 250 ms.
    jitter: Duration,
    /// What is to be told, and when.
    pending: BTreeMap<Topic, Duration>,
    /// When it was told last.
    told: BTreeMap<Topic, Duration>,
    renamed: Vec<(String, String)>,
}

/// What is told together.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Topic {
    /// A server: that it is there, where, what it says of itself, and the addresses of its host.
    Server(usize),
    /// The addresses of a host.
    Host(Name),
    /// Which services there are.
    Services,
}

#[derive(Debug)]
struct Entry {
    offer: Offer,
    service: Name,
    name: Name,
    /// Behind the name, if others had it: 2 and more.
    number: u32,
    state: ResponderState,
}

#[derive(Debug, Clone, Copy)]
enum ResponderState {
    /// It asks whether somebody has the name.
    Probing { sent: u32, due: Duration },
    /// It says that it has it now.
    Announcing { sent: u32, due: Duration },
    /// It answers.
    Known,
}

impl Entry {
    fn new(offer: Offer, start: Duration) -> Result<Self, NameError> {
        let service = offer.kind.name()?;
        let mut entry = Self {
            name: Name::default(),
            service,
            offer,
            number: 1,
            state: ResponderState::Probing {
                sent: 0,
                due: start,
            },
        };
        entry.name = entry.numbered()?;
        Ok(entry)
    }

    /// Its name, cut where it is too long for a label, with its number if others had it before.
    fn numbered(&self) -> Result<Name, NameError> {
        let behind = match self.number {
            1 => String::new(),
            n => format!(" ({n})"),
        };
        let room = 63 - behind.len();
        let mut end = self.offer.name.len().min(room);
        while !self.offer.name.is_char_boundary(end) {
            end -= 1;
        }
        let name = self.offer.name.get(..end).unwrap_or_default();
        Name::below(&format!("{name}{behind}"), &self.service)
    }

    fn place(&self) -> Record {
        Record {
            name: self.name.clone(),
            ttl: HOST_TTL,
            is_all: true,
            data: Data::Service {
                port: self.offer.port,
                host: self.offer.host.clone(),
            },
        }
    }

    fn records(&self) -> [Record; 3] {
        let pointer = Record {
            name: self.service.clone(),
            ttl: OTHER_TTL,
            is_all: false,
            data: Data::Pointer(self.name.clone()),
        };
        let text = Record {
            name: self.name.clone(),
            ttl: OTHER_TTL,
            is_all: true,
            data: Data::Text(self.offer.text.write()),
        };
        [pointer, self.place(), text]
    }

    /// Whether its name is its own.
    fn is_taken(&self) -> bool {
        !matches!(self.state, ResponderState::Probing { .. })
    }

    /// Whether a record says that somebody else has its name.
    fn is_disputed_by(&self, record: &Record) -> bool {
        let is_other =
            matches!(record.data, Data::Service { .. }) && record.data != self.place().data;
        record.name == self.name && record.ttl > 0 && is_other
    }
}

impl Responder {
    /// Begins to announce. The addresses of hosts are those on this interface; `jitter` is a random time of up to 250 ms.
    pub fn new(
        offers: Vec<Offer>,
        hosts: BTreeMap<Name, Vec<IpAddr>>,
        jitter: Duration,
    ) -> Result<Self, NameError> {
        let entries = offers.into_iter().map(|it| Entry::new(it, jitter));
        Ok(Self {
            entries: entries.collect::<Result<_, _>>()?,
            hosts,
            all_services: Name::dotted("_services._dns-sd._udp.local")?,
            jitter,
            pending: BTreeMap::new(),
            told: BTreeMap::new(),
            renamed: Vec::new(),
        })
    }

    /// When there is something to do.
    pub fn due(&self) -> Option<Duration> {
        let states = self.entries.iter().filter_map(|it| match it.state {
            ResponderState::Probing { due, .. } | ResponderState::Announcing { due, .. } => {
                Some(due)
            }
            ResponderState::Known => None,
        });
        states.chain(self.pending.values().copied()).min()
    }

    /// Names that others had, and what became of them.
    pub fn renamed(&mut self) -> Vec<(String, String)> {
        std::mem::take(&mut self.renamed)
    }

    /// What is to be told to all now.
    pub fn poll(&mut self, now: Duration) -> Vec<Packet> {
        let mut probed = Vec::new();
        for (at, entry) in self.entries.iter_mut().enumerate() {
            match entry.state {
                ResponderState::Probing { sent, due } if due <= now && sent < PROBES => {
                    probed.push(at);
                    entry.state = ResponderState::Probing {
                        sent: sent + 1,
                        due: now.saturating_add(PROBE_GAP),
                    };
                }
                ResponderState::Probing { due, .. } if due <= now => {
                    entry.state = ResponderState::Announcing { sent: 0, due: now };
                }
                _ => {}
            }
            match entry.state {
                ResponderState::Announcing { sent, due } if due <= now => {
                    self.pending.insert(Topic::Server(at), now);
                    entry.state = match sent + 1 {
                        ANNOUNCEMENTS => ResponderState::Known,
                        sent => ResponderState::Announcing {
                            sent,
                            due: now.saturating_add(GAP),
                        },
                    };
                }
                _ => {}
            }
        }
        let mut packets: Vec<_> = probed.chunks(TOGETHER).map(|it| self.probe(it)).collect();
        let due = self.pending.iter().filter(|(_, due)| **due <= now);
        let topics: Vec<_> = due.map(|(topic, _)| topic.clone()).collect();
        for topic in &topics {
            self.pending.remove(topic);
            self.told.insert(topic.clone(), now);
        }
        packets.extend(topics.chunks(TOGETHER).map(|it| self.answer(it)));
        packets
    }

    fn probe(&self, of: &[usize]) -> Packet {
        let mut packet = Packet::default();
        for entry in of.iter().filter_map(|at| self.entries.get(*at)) {
            // To all: what comes to this host's port alone may go to another program that has it, too (RFC 6762, 15.1).
            packet.questions.push(Question::all(entry.name.clone()));
            packet.proposed.push(Record {
                is_all: false,
                ..entry.place()
            });
        }
        packet
    }

    fn answer(&self, topics: &[Topic]) -> Packet {
        let mut packet = Packet {
            is_answer: true,
            ..Packet::default()
        };
        let mut hosts = Vec::new();
        for topic in topics {
            match topic {
                Topic::Server(at) => {
                    if let Some(entry) = self.entries.get(*at).filter(|it| it.is_taken()) {
                        packet.answers.extend(entry.records());
                        hosts.push(&entry.offer.host);
                    }
                }
                Topic::Host(host) => packet.answers.extend(self.addresses(host)),
                Topic::Services => packet.answers.extend(self.services()),
            }
        }
        hosts.sort_unstable();
        hosts.dedup();
        for host in hosts {
            packet.additional.extend(self.addresses(host));
        }
        packet
    }

    /// Not all of this name: the host's own responder may know more.
    fn addresses(&self, host: &Name) -> impl Iterator<Item = Record> {
        let addresses = self.hosts.get(host).into_iter().flatten();
        let name = host.clone();
        addresses.map(move |address| Record {
            name: name.clone(),
            ttl: HOST_TTL,
            is_all: false,
            data: Data::Address(*address),
        })
    }

    fn services(&self) -> Vec<Record> {
        let mut services: Vec<_> = self
            .entries
            .iter()
            .filter(|it| it.is_taken())
            .map(|it| &it.service)
            .collect();
        services.sort_unstable();
        services.dedup();
        let record = |service: &Name| Record {
            name: self.all_services.clone(),
            ttl: OTHER_TTL,
            is_all: false,
            data: Data::Pointer(service.clone()),
        };
        services.into_iter().map(record).collect()
    }

    /// What a packet asks or says; the answer to the one who sent it alone, if that is how it is answered. Who does not send
    /// from [`crate::PORT`] is no multicast DNS (`is_legacy`).
    pub fn hear(&mut self, packet: &Packet, is_legacy: bool, now: Duration) -> Option<Packet> {
        if packet.is_answer {
            // An answer that does not come from there is none (RFC 6762, 6).
            if !is_legacy {
                self.heard_answers(packet, now);
            }
            return None;
        }
        self.heard_probes(packet, now);
        let mut topics = BTreeMap::new();
        for question in &packet.questions {
            for (topic, is_own) in self.asked(question, &packet.answers) {
                *topics.entry(topic).or_insert(true) &= is_own;
            }
        }
        if topics.is_empty() {
            return None;
        }
        let is_probe = !packet.proposed.is_empty();
        if is_legacy || !is_probe && packet.questions.iter().all(|it| it.to_me) {
            let topics: Vec<_> = topics.into_keys().take(TOGETHER).collect();
            let answer = self.answer(&topics);
            return Some(match is_legacy {
                true => legacy(answer, packet),
                false => answer,
            });
        }
        for (topic, is_own) in topics {
            let after = match is_own {
                true => Duration::ZERO,
                false => ANSWER_AFTER + self.jitter * 2 / 5,
            };
            // A name is defended before it is taken.
            let gap = if is_probe { PROBE_GAP } else { GAP };
            let again = self
                .told
                .get(&topic)
                .map_or(Duration::ZERO, |it| it.saturating_add(gap));
            let due = now.saturating_add(after).max(again);
            let waits = self.pending.entry(topic).or_insert(due);
            *waits = due.min(*waits);
        }
        None
    }

    /// What answers a question, and whether nobody else could.
    fn asked(&self, question: &Question, known: &[Record]) -> Vec<(Topic, bool)> {
        let mut topics = Vec::new();
        for (at, entry) in self
            .entries
            .iter()
            .enumerate()
            .filter(|(_, it)| it.is_taken())
        {
            let [pointer, place, text] = entry.records();
            let is_known = |it: &Record| {
                it.name == pointer.name && it.data == pointer.data && it.ttl >= OTHER_TTL / 2
            };
            if question.name == pointer.name
                && question.asks_for(&pointer.data)
                && !known.iter().any(is_known)
            {
                topics.push((Topic::Server(at), false));
            }
            let asks = question.asks_for(&place.data) || question.asks_for(&text.data);
            if question.name == entry.name && asks {
                topics.push((Topic::Server(at), true));
            }
        }
        if let Some((host, addresses)) = self.hosts.get_key_value(&question.name)
            && addresses
                .iter()
                .any(|it| question.asks_for(&Data::Address(*it)))
        {
            topics.push((Topic::Host(host.clone()), false));
        }
        let services = Data::Pointer(Name::default());
        if question.name == self.all_services && question.asks_for(&services) {
            topics.push((Topic::Services, false));
        }
        topics
    }

    /// Somebody has a name that is wanted here, or that was taken here.
    fn heard_answers(&mut self, packet: &Packet, now: Duration) {
        for at in 0..self.entries.len() {
            let disputed = |it: &Entry| packet.said().any(|record| it.is_disputed_by(record));
            let Some(entry) = self.entries.get_mut(at).filter(|it| disputed(it)) else {
                continue;
            };
            match entry.state {
                // A name that nobody asked for yet is not disputed: so there is one new name a second at most.
                ResponderState::Probing { sent: 0, .. } => {}
                ResponderState::Probing { .. } => self.rename(at, now),
                // Both ask anew, and one of them finds the other there (RFC 6762, 9).
                ResponderState::Announcing { .. } | ResponderState::Known => {
                    entry.state = ResponderState::Probing {
                        sent: 0,
                        due: now.saturating_add(self.jitter),
                    };
                }
            }
        }
    }

    /// Two ask for a name at the same time: the one who wants more of it has it (RFC 6762, 8.2).
    fn heard_probes(&mut self, packet: &Packet, now: Duration) {
        for at in 0..self.entries.len() {
            let asks = |it: &&Entry| matches!(it.state, ResponderState::Probing { sent: 1.., .. });
            let Some(entry) = self.entries.get(at).filter(asks) else {
                continue;
            };
            let own = rank(&entry.place().data);
            let mut proposed = packet.proposed.iter().filter(|it| entry.is_disputed_by(it));
            if proposed.any(|it| rank(&it.data) > own) {
                self.rename(at, now);
            }
        }
    }

    fn rename(&mut self, at: usize, now: Duration) {
        let due = now.saturating_add(GAP);
        if let Some(entry) = self.entries.get_mut(at) {
            let before = entry.name.label();
            entry.number = entry.number.saturating_add(1);
            // A name that was one is one with a number, too.
            if let Ok(name) = entry.numbered() {
                entry.name = name;
            }
            entry.state = ResponderState::Probing { sent: 0, due };
            self.renamed.push((before, entry.name.label()));
        }
    }

    /// That all of them are gone.
    pub fn end(&mut self) -> Vec<Packet> {
        let taken: Vec<_> = self.entries.iter().filter(|it| it.is_taken()).collect();
        let packet = |some: &[&Entry]| {
            let records = some.iter().flat_map(|it| it.records());
            Packet {
                is_answer: true,
                answers: records.map(|it| Record { ttl: 0, ..it }).collect(),
                ..Packet::default()
            }
        };
        taken.chunks(TOGETHER).map(packet).collect()
    }
}

/// By which two who want a name are told apart: the bytes of the record.
fn rank(data: &Data) -> Option<(u16, Vec<u8>)> {
    match data {
        Data::Service { port, host } => {
            // A label has 63 bytes at most.
            let labels = host.labels().flat_map(|label| {
                [&[u8::try_from(label.len()).unwrap_or_default()], label].concat()
            });
            Some((*port, labels.collect()))
        }
        _ => None,
    }
}

/// As a resolver wants it that knows nothing of multicast (RFC 6762, 6.7).
fn legacy(answer: Packet, asked: &Packet) -> Packet {
    let short = |records: Vec<Record>| {
        let one = |it: Record| Record {
            ttl: it.ttl.min(LEGACY_TTL),
            is_all: false,
            ..it
        };
        records.into_iter().map(one).collect()
    };
    Packet {
        id: asked.id,
        questions: asked.questions.clone(),
        answers: short(answer.answers),
        additional: short(answer.additional),
        ..answer
    }
}
