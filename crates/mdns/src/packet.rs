//! Packets of DNS (RFC 1035, 4), with what multicast DNS makes of them (RFC 6762, 18).

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::name::{Name, NameError};

/// Bytes of a packet at most (RFC 6762, 17).
pub const MOST: usize = 9000;

/// Types of records.
const A: u16 = 1;
const PTR: u16 = 12;
/// The type of a record with text about a service.
pub const TEXT: u16 = 16;
const AAAA: u16 = 28;
const SRV: u16 = 33;
/// Asks for records of all types.
pub const ANY: u16 = 255;

/// The class of all that there is: the Internet.
const IN: u16 = 1;
const ANY_CLASS: u16 = 255;
/// The bit of a class that says: answer me alone; or: forget others of this name (RFC 6762, 18.12 and 18.13).
const TOP: u16 = 0x8000;

const RESPONSE: u16 = 0x8000;
const OPCODE: u16 = 0x7800;
const AUTHORITATIVE: u16 = 0x0400;
const RCODE: u16 = 0x000f;

/// A packet.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Packet {
    /// Zero but in questions of those who are no multicast DNS, and the answers to them.
    pub id: u16,
    /// Whether it answers.
    pub is_answer: bool,
    /// What is asked.
    pub questions: Vec<Question>,
    /// What is answered; in a packet with questions what is known already (RFC 6762, 7.1).
    pub answers: Vec<Record>,
    /// What whoever asks wants to be its own (RFC 6762, 8.2).
    pub proposed: Vec<Record>,
    /// What follows from the answers.
    pub additional: Vec<Record>,
}

/// What is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// Of whom.
    pub name: Name,
    /// The type of records.
    pub asked: u16,
    /// Whether the answer may come to the one who asks alone.
    pub to_me: bool,
}

/// A record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Of whom.
    pub name: Name,
    /// For how many seconds it holds; 0 takes it back.
    pub ttl: u32,
    /// Whether others of this name and type are to be forgotten.
    pub is_all: bool,
    /// What it says.
    pub data: Data,
}

/// What a record says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Data {
    /// An address of a host.
    Address(IpAddr),
    /// An instance of a service.
    Pointer(Name),
    /// Where an instance is.
    Service {
        /// The port.
        port: u16,
        /// The host.
        host: Name,
    },
    /// Text about an instance, usually `key=value`.
    Text(Vec<Vec<u8>>),
    /// Nothing that is of use here: another type or class, or one of these that is spoilt.
    Other(u16),
}

impl Data {
    /// The type of its record.
    pub fn of(&self) -> u16 {
        match self {
            Self::Address(IpAddr::V4(_)) => A,
            Self::Address(IpAddr::V6(_)) => AAAA,
            Self::Pointer(_) => PTR,
            Self::Service { .. } => SRV,
            Self::Text(_) => TEXT,
            Self::Other(of) => *of,
        }
    }
}

impl Question {
    /// For the instances of a service.
    pub fn instances(service: Name) -> Self {
        Self::new(service, PTR)
    }

    /// For where an instance is.
    pub fn place(instance: Name) -> Self {
        Self::new(instance, SRV)
    }

    /// For what is told of an instance.
    pub fn text(instance: Name) -> Self {
        Self::new(instance, TEXT)
    }

    /// For addresses of IPv4 of a host, and of IPv6.
    pub fn addresses(host: &Name) -> [Self; 2] {
        [A, AAAA].map(|of| Self::new(host.clone(), of))
    }

    /// For all there is.
    pub fn all(name: Name) -> Self {
        Self::new(name, ANY)
    }

    fn new(name: Name, asked: u16) -> Self {
        Self {
            name,
            asked,
            to_me: false,
        }
    }

    /// Whether records of this type answer it.
    pub fn asks_for(&self, data: &Data) -> bool {
        self.asked == ANY || self.asked == data.of()
    }
}

/// Why bytes are no packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PacketError {
    /// It ends before it is complete.
    #[error("it ends too early, behind {0} bytes")]
    Short(usize),
    /// It is too long.
    #[error("it has {0} bytes (want {MOST} or fewer)")]
    Long(usize),
    /// It is no question and no answer, or one that failed (RFC 6762, 18.3 and 18.11).
    #[error("its flags are {0:#06x}")]
    Flags(u16),
    /// A pointer in a name does not lead back.
    #[error("a name points forward, from byte {0}")]
    Pointer(usize),
    /// A name has a label of a kind that there is not.
    #[error("a label begins with {0:#04x}")]
    Label(u8),
    /// A name is too long.
    #[error("{0}")]
    Name(#[from] NameError),
}

impl Packet {
    /// Reads one.
    pub fn read(bytes: &[u8]) -> Result<Self, PacketError> {
        if bytes.len() > MOST {
            return Err(PacketError::Long(bytes.len()));
        }
        let mut reader = Reader { bytes, at: 0 };
        let (id, flags) = (reader.number()?, reader.number()?);
        if flags & (OPCODE | RCODE) != 0 {
            return Err(PacketError::Flags(flags));
        }
        let mut counts = [0; 4];
        for count in &mut counts {
            *count = reader.number()?;
        }
        let [asked, answers, proposed, additional] = counts;
        let mut packet = Self {
            id,
            is_answer: flags & RESPONSE != 0,
            ..Self::default()
        };
        // Counts are not believed: a list grows with what there is.
        for _ in 0..asked {
            packet.questions.extend(reader.question()?);
        }
        let lists = [
            (answers, &mut packet.answers),
            (proposed, &mut packet.proposed),
            (additional, &mut packet.additional),
        ];
        for (count, list) in lists {
            for _ in 0..count {
                list.push(reader.record()?);
            }
        }
        Ok(packet)
    }

    /// Its bytes.
    pub fn write(&self) -> Vec<u8> {
        let mut writer = Writer::default();
        let flags = if self.is_answer {
            RESPONSE | AUTHORITATIVE
        } else {
            0
        };
        writer.number(self.id);
        writer.number(flags);
        let lists = [&self.answers, &self.proposed, &self.additional];
        writer.number(count(self.questions.len()));
        for list in lists {
            writer.number(count(list.len()));
        }
        for question in &self.questions {
            writer.question(question);
        }
        for record in lists.into_iter().flatten() {
            writer.record(record);
        }
        writer.bytes
    }

    /// All that it says, whichever list it is in.
    pub fn said(&self) -> impl Iterator<Item = &Record> {
        self.answers.iter().chain(&self.additional)
    }
}

/// There is no room for more than that in a packet.
fn count(len: usize) -> u16 {
    u16::try_from(len).unwrap_or(u16::MAX)
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn take(&mut self, len: usize) -> Result<&'a [u8], PacketError> {
        let end = self.at.saturating_add(len);
        let taken = self.bytes.get(self.at..end);
        let taken = taken.ok_or(PacketError::Short(self.bytes.len()))?;
        self.at = end;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], PacketError> {
        let taken = self.take(N)?;
        taken
            .try_into()
            .map_err(|_| PacketError::Short(self.bytes.len()))
    }

    fn number(&mut self) -> Result<u16, PacketError> {
        Ok(u16::from_be_bytes(self.array()?))
    }

    /// A name, whose end may stand elsewhere: each pointer leads further back than where it was come from, so that there is an
    /// end.
    fn name(&mut self) -> Result<Name, PacketError> {
        let (mut name, mut behind, mut before) = (Name::default(), None, self.at);
        loop {
            let [len] = self.array()?;
            match len >> 6 {
                0 if len == 0 => break,
                0 => name.push(self.take(len.into())?)?,
                3 => {
                    let [low] = self.array()?;
                    let to = usize::from(u16::from_be_bytes([len & 0x3f, low]));
                    if to >= before {
                        return Err(PacketError::Pointer(before));
                    }
                    behind.get_or_insert(self.at);
                    (self.at, before) = (to, to);
                }
                _ => return Err(PacketError::Label(len)),
            }
        }
        self.at = behind.unwrap_or(self.at);
        Ok(name)
    }

    /// None of another class.
    fn question(&mut self) -> Result<Option<Question>, PacketError> {
        let name = self.name()?;
        let (asked, class) = (self.number()?, self.number()?);
        let question = Question {
            name,
            asked,
            to_me: class & TOP != 0,
        };
        Ok(matches!(class & !TOP, IN | ANY_CLASS).then_some(question))
    }

    fn record(&mut self) -> Result<Record, PacketError> {
        let name = self.name()?;
        let (of, class) = (self.number()?, self.number()?);
        let ttl = u32::from_be_bytes(self.array()?);
        let len = self.number()?;
        let start = self.at;
        self.take(len.into())?;
        let end = self.at;
        // What is spoilt here spoils nothing behind it.
        let mut inner = Reader {
            bytes: self.bytes.get(..end).unwrap_or_default(),
            at: start,
        };
        let data = match class & !TOP {
            IN => inner.data(of).ok().filter(|_| inner.at == end),
            _ => None,
        };
        Ok(Record {
            name,
            ttl,
            is_all: class & TOP != 0,
            data: data.unwrap_or(Data::Other(of)),
        })
    }

    fn data(&mut self, of: u16) -> Result<Data, PacketError> {
        Ok(match of {
            A => Data::Address(Ipv4Addr::from(self.array::<4>()?).into()),
            AAAA => Data::Address(Ipv6Addr::from(self.array::<16>()?).into()),
            PTR => Data::Pointer(self.name()?),
            SRV => {
                // Priority and weight mean nothing to OPC UA (Part 12, C.1).
                self.take(4)?;
                let port = self.number()?;
                Data::Service {
                    port,
                    host: self.name()?,
                }
            }
            TEXT => {
                // There is one at least (RFC 6763, 6.1).
                let mut strings = Vec::new();
                while self.at < self.bytes.len() || strings.is_empty() {
                    let [len] = self.array()?;
                    strings.push(self.take(len.into())?.to_vec());
                }
                Data::Text(strings)
            }
            of => {
                self.at = self.bytes.len();
                Data::Other(of)
            }
        })
    }
}

/// Bytes that become a packet.
#[derive(Default)]
struct Writer {
    bytes: Vec<u8>,
    /// Where names stand that others may point to.
    names: HashMap<Name, u16>,
}

impl Writer {
    fn number(&mut self, number: u16) {
        self.bytes.extend(number.to_be_bytes());
    }

    /// A name; its end is a pointer if it was there before.
    fn name(&mut self, name: &Name) {
        let mut rest = name.clone();
        while let Some((label, outer)) = rest.split() {
            if let Some(at) = self.names.get(&rest) {
                return self.number(0xc000 | at);
            }
            let label = label.to_vec();
            if let Some(at) = u16::try_from(self.bytes.len())
                .ok()
                .filter(|it| *it < 0x4000)
            {
                self.names.insert(rest, at);
            }
            self.label(&label);
            rest = outer;
        }
        self.bytes.push(0);
    }

    /// Bytes behind their number, which is 255 at most: labels and strings are made no longer.
    fn label(&mut self, label: &[u8]) {
        self.bytes
            .push(u8::try_from(label.len()).unwrap_or_default());
        self.bytes.extend_from_slice(label);
    }

    fn question(&mut self, question: &Question) {
        self.name(&question.name);
        self.number(question.asked);
        self.number(if question.to_me { IN | TOP } else { IN });
    }

    fn record(&mut self, record: &Record) {
        self.name(&record.name);
        self.number(record.data.of());
        self.number(if record.is_all { IN | TOP } else { IN });
        self.bytes.extend(record.ttl.to_be_bytes());
        let start = self.bytes.len();
        self.number(0);
        self.data(&record.data);
        let len = count(self.bytes.len() - start - 2).to_be_bytes();
        if let Some(place) = self.bytes.get_mut(start..start + 2) {
            place.copy_from_slice(&len);
        }
    }

    fn data(&mut self, data: &Data) {
        match data {
            Data::Address(IpAddr::V4(address)) => self.bytes.extend(address.octets()),
            Data::Address(IpAddr::V6(address)) => self.bytes.extend(address.octets()),
            Data::Pointer(name) => self.name(name),
            Data::Service { port, host } => {
                // Part 12, C.3: priority 0, weight 5.
                for number in [0, 5, *port] {
                    self.number(number);
                }
                // Whoever is no multicast DNS may not follow a pointer here (RFC 6762, 18.14).
                for label in host.labels() {
                    self.label(label);
                }
                self.bytes.push(0);
            }
            Data::Text(strings) if strings.is_empty() => self.bytes.push(0),
            Data::Text(strings) => {
                for string in strings {
                    self.label(string.get(..255).unwrap_or(string));
                }
            }
            Data::Other(_) => {}
        }
    }
}
