//! Who asks what is on this network: its questions, when they are due, and what was heard.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::time::Duration;

use crate::kind::{Kind, Text};
use crate::name::{Name, NameError};
use crate::packet::{Data, Packet, Question, Record};

/// Instances that are kept at most, and addresses of a host: nobody fills a memory by talking.
const MOST_INSTANCES: usize = 1000;
const MOST_ADDRESSES: usize = 64;
/// How long what follows from an answer may still come by itself before it is asked for.
const PATIENCE: Duration = Duration::from_millis(150);
/// The second question comes so much later, each one after it twice as late (RFC 6762, 5.2).
const FIRST_GAP: Duration = Duration::from_secs(1);
/// Questions of one packet, and known answers: it has to fit into one of Ethernet.
const TOGETHER: usize = 12;

/// Asks for servers and keeps what it hears, by whichever interface.
#[derive(Debug)]
pub struct Browser {
    services: Vec<(Name, Kind)>,
    /// Questions that are not answered, or never for good, by name and type.
    open: BTreeMap<(Name, u16), Open>,
    instances: BTreeMap<Name, Instance>,
    hosts: BTreeMap<Name, BTreeSet<(IpAddr, u32)>>,
}

#[derive(Debug)]
struct Open {
    question: Question,
    due: Duration,
    gap: Duration,
}

#[derive(Debug)]
struct Instance {
    kind: Kind,
    /// The name of the instance, as it was written.
    label: String,
    first: Duration,
    until: Duration,
    ttl: u32,
    place: Option<(Name, u16)>,
    text: Option<Text>,
}

/// A server that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundServer {
    /// What it calls itself.
    pub name: String,
    /// The service that it announces.
    pub kind: Kind,
    /// When it was first heard of.
    pub first: Duration,
    /// Its host and port, if it told them.
    pub place: Option<(String, u16)>,
    /// Path and capabilities, if it told them.
    pub text: Option<Text>,
    /// Addresses of its host, each with the number of the interface that it means something on, or 0.
    pub addresses: Vec<(IpAddr, u32)>,
}

impl Browser {
    /// Asks for all services of OPC UA.
    pub fn new() -> Result<Self, NameError> {
        let services = Kind::ALL.into_iter().map(|kind| Ok((kind.name()?, kind)));
        let services: Vec<_> = services.collect::<Result<_, NameError>>()?;
        let mut browser = Self {
            services: Vec::new(),
            open: BTreeMap::new(),
            instances: BTreeMap::new(),
            hosts: BTreeMap::new(),
        };
        for (service, _) in &services {
            browser.ask(Question::instances(service.clone()), Duration::ZERO);
        }
        browser.services = services;
        Ok(browser)
    }

    /// When the next question is due.
    pub fn due(&self) -> Option<Duration> {
        self.open.values().map(|it| it.due).min()
    }

    /// The questions that are due, for each interface.
    pub fn poll(&mut self, now: Duration) -> Vec<Packet> {
        let mut asked = Vec::new();
        for open in self.open.values_mut() {
            if open.due <= now {
                asked.push(open.question.clone());
                open.due = now.saturating_add(open.gap);
                open.gap = open.gap.saturating_mul(2);
            }
        }
        let packet = |questions: &[Question]| Packet {
            answers: self.known(questions, now),
            questions: questions.to_vec(),
            ..Packet::default()
        };
        asked.chunks(TOGETHER).map(packet).collect()
    }

    /// What need not be answered once more (RFC 6762, 7.1).
    fn known(&self, questions: &[Question], now: Duration) -> Vec<Record> {
        let mut known = Vec::new();
        for (name, it) in &self.instances {
            let left = it.until.saturating_sub(now).as_secs();
            let left = u32::try_from(left).unwrap_or(u32::MAX);
            let service = self.services.iter().find(|(_, kind)| *kind == it.kind);
            let Some((service, _)) = service.filter(|_| left > it.ttl / 2) else {
                continue;
            };
            let data = Data::Pointer(name.clone());
            if questions
                .iter()
                .any(|it| it.name == *service && it.asks_for(&data))
            {
                known.push(Record {
                    name: service.clone(),
                    ttl: left,
                    is_all: false,
                    data,
                });
            }
        }
        known.truncate(TOGETHER);
        known
    }

    /// What a packet tells, that came by an interface with this number.
    pub fn hear(&mut self, packet: &Packet, interface: u32, now: Duration) {
        if !packet.is_answer {
            return;
        }
        for record in packet.said() {
            if let Data::Pointer(instance) = &record.data {
                self.pointer(record, instance, now);
            }
        }
        for record in packet.said() {
            let Some(instance) = self
                .instances
                .get_mut(&record.name)
                .filter(|_| record.ttl > 0)
            else {
                continue;
            };
            match &record.data {
                Data::Service { port, host } => instance.place = Some((host.clone(), *port)),
                Data::Text(strings) => instance.text = Some(Text::read(strings)),
                _ => {}
            }
        }
        for record in packet.said() {
            if let Data::Address(address) = record.data
                && record.ttl > 0
                && self.is_wanted(&record.name)
            {
                let addresses = self.hosts.entry(record.name.clone()).or_default();
                if addresses.len() < MOST_ADDRESSES {
                    addresses.insert((address, scope(address, interface)));
                }
            }
        }
        self.follow(now);
    }

    /// An instance of a service, or its end.
    fn pointer(&mut self, record: &Record, instance: &Name, now: Duration) {
        let service = self.services.iter().find(|(name, _)| *name == record.name);
        let Some((service, kind)) = service else {
            return;
        };
        // What is not below the service is no instance of it.
        let Some(label) = instance.before(service) else {
            return;
        };
        if record.ttl == 0 {
            self.instances.remove(instance);
            return;
        }
        if self.instances.len() >= MOST_INSTANCES && !self.instances.contains_key(instance) {
            return;
        }
        let found = self
            .instances
            .entry(instance.clone())
            .or_insert_with(|| Instance {
                kind: *kind,
                label,
                first: now,
                until: now,
                ttl: record.ttl,
                place: None,
                text: None,
            });
        found.ttl = record.ttl;
        found.until = now.saturating_add(Duration::from_secs(record.ttl.into()));
    }

    /// Asks for what is missing of what was heard, and no more for what is there.
    fn follow(&mut self, now: Duration) {
        let services = self.services.iter().map(|(name, _)| name.clone());
        let mut wanted: Vec<Question> = services.map(Question::instances).collect();
        for (name, instance) in &self.instances {
            match &instance.place {
                None => wanted.push(Question::place(name.clone())),
                Some((host, _)) if !self.hosts.contains_key(host) => {
                    wanted.extend(Question::addresses(host))
                }
                Some(_) => {}
            }
            if instance.text.is_none() {
                wanted.push(Question::text(name.clone()));
            }
        }
        let keys: BTreeSet<_> = wanted.iter().map(key).collect();
        self.open.retain(|it, _| keys.contains(it));
        for question in wanted {
            self.ask(question, now.saturating_add(PATIENCE));
        }
    }

    /// Asks, unless it does.
    fn ask(&mut self, question: Question, due: Duration) {
        self.open.entry(key(&question)).or_insert(Open {
            question,
            due,
            gap: FIRST_GAP,
        });
    }

    fn is_wanted(&self, host: &Name) -> bool {
        let mut places = self.instances.values().filter_map(|it| it.place.as_ref());
        places.any(|(it, _)| it == host)
    }

    /// All that is there by now, in the order of their names.
    pub fn found(&self, now: Duration) -> Vec<FoundServer> {
        let found = |it: &Instance| {
            let addresses = it.place.as_ref().and_then(|(host, _)| self.hosts.get(host));
            FoundServer {
                name: it.label.clone(),
                kind: it.kind,
                first: it.first,
                place: it
                    .place
                    .as_ref()
                    .map(|(host, port)| (host.to_string(), *port)),
                text: it.text.clone(),
                addresses: addresses.into_iter().flatten().copied().collect(),
            }
        };
        let there = self.instances.values().filter(|it| it.until > now);
        there.map(found).collect()
    }
}

fn key(question: &Question) -> (Name, u16) {
    (question.name.clone(), question.asked)
}

/// An address that is of its link only means nothing without the interface.
fn scope(address: IpAddr, interface: u32) -> u32 {
    match address {
        IpAddr::V6(it) if it.is_unicast_link_local() => interface,
        _ => 0,
    }
}
