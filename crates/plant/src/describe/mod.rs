//! What a plant is made of, as a file or a profile says it, checked and ready to be built.

mod build;
mod data_type;
mod event;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use toml::Value;
use wire::channel::Protection;
use wire::policy::Mode;
use wire::url::Url;

pub use build::{IndexTaken, Stored};
pub use event::EventSources;

use crate::fault::Fault;
use crate::limits::{Limits, Transfer};
use crate::security_group::SecurityGroup;
pub use crate::space::motion::{Enumeration, Field, How, Kind, Motion, Structure};
use crate::space::{Pattern, Rights};
use crate::terms::{Id, Ids, Template};
use crate::users::{PasswordHash, TokenHash};

/// A plant: its address space and how it is served.
#[derive(Debug, Clone)]
pub struct Plant {
    /// Its name, for people and in its application URI.
    pub name: String,
    /// Where it listens, if it says so.
    pub listen: Option<SocketAddr>,
    /// The port for WebSockets inside TLS, if it has one.
    pub wss: Option<u16>,
    /// The port for HTTPS, if it has one.
    pub https: Option<u16>,
    /// Whose pages browsers may let ask over HTTPS, if any.
    pub cors: Option<String>,
    /// The host in its endpoint URLs, if it is to be another.
    pub host: Option<String>,
    /// The whole URL that clients are told, if it is to be another.
    pub advertise: Option<Url>,
    /// Policies and modes on offer; all of them if it does not say.
    pub protections: Option<Vec<Protection>>,
    /// Whether users without a name are let in.
    pub anonymous: bool,
    /// What users without a name may do.
    pub anonymous_rights: Rights,
    /// Users with passwords.
    pub users: Vec<User>,
    /// Where the certificates of users are, if they are let in with them.
    pub user_certificates: Option<PathBuf>,
    /// Folders whose nodes have rights of their own.
    pub zones: Vec<String>,
    /// Who may take subscriptions over, if it says so.
    pub transfer: Option<Transfer>,
    /// Whether other servers may register at it.
    pub discovery: bool,
    /// Whether audit events tell what clients do.
    pub audit: bool,
    /// The clients that it dials.
    pub reverse: Vec<Url>,
    /// The discovery servers that it is to be known to. Whoever runs it sees to that.
    pub register: Vec<Url>,
    /// How often it tells them that it is there, if it says so.
    pub register_every: Option<Duration>,
    /// Where its signals are published, over PubSub. Whoever runs it sees to that.
    pub publish: Vec<Publishing>,
    /// Who gets keys of PubSub from it.
    pub security_groups: Vec<SecurityGroup>,
    /// Bytes of memory for all clients, if it says so.
    pub memory: Option<usize>,
    /// What is granted at most.
    pub limits: Limits,
    /// Loops that serve connections, if it says how many.
    pub threads: Option<usize>,
    /// Threads of each update loop.
    pub update_threads: usize,
    /// Whether it has nodes that say what the server itself spends.
    pub metrics: bool,
    /// Faults that are there from the start.
    pub faults: Vec<Fault>,
    /// What it adds to the address space.
    pub namespaces: Vec<Namespace>,
}

/// Where signals are published, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Publishing {
    /// `opc.udp://HOST:PORT`, of a host or a multicast group; `opc.eth://MAC[:VID[.PCP]]`, in frames without IP; or of a
    /// broker `mqtt://HOST:PORT/PREFIX`, or `mqtts://`.
    pub to: String,
    /// How a broker is spoken to.
    pub broker: Brokered,
    /// Where probes are answered: `opc.udp://HOST:PORT`.
    pub discovery: Option<String>,
    /// The interface that a group is reached by, or that frames are sent by: its address or its name.
    pub interface: Option<String>,
    /// How many routers multicast datagrams may pass.
    pub ttl: u8,
    /// The class of traffic that datagrams say they are of: 0 to 63, or a name. Whoever runs it sees to that.
    pub dscp: Option<String>,
    /// The distance of two messages.
    pub interval: Duration,
    /// Whether values are RawData, and not Variants.
    pub raw: bool,
    /// The first so many signals; without it all.
    pub signals: Option<usize>,
    /// The PublisherId; of several servers that of the first.
    pub publisher: u16,
    /// How messages are secured, and with whose keys.
    pub security: Option<Secured>,
}

/// How messages are secured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Secured {
    /// Signed, or encrypted as well.
    pub mode: Mode,
    /// The SecurityGroupId of a group of the same plant.
    pub group: String,
}

/// How a broker is spoken to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Brokered {
    /// How messages are written: `uadp`, `json`, `json-verbose`, `json-reversible`.
    pub mapping: String,
    /// Of MQTT: `3.1.1` or `5`.
    pub mqtt: String,
    /// 0, 1 or 2.
    pub qos: u8,
    /// Who logs in.
    pub user: Option<String>,
    /// The file with the password of who logs in.
    pub password_file: Option<PathBuf>,
    /// The file with the certificate that is shown to a broker that asks for one, and those above it.
    pub client_cert: Option<PathBuf>,
    /// The file with its private key.
    pub client_key: Option<PathBuf>,
}

impl Default for Brokered {
    fn default() -> Self {
        Self {
            mapping: "uadp".to_owned(),
            mqtt: "3.1.1".to_owned(),
            qos: 0,
            user: None,
            password_file: None,
            client_cert: None,
            client_key: None,
        }
    }
}

impl Publishing {
    /// All signals as Variants each 100 ms, from publisher 1.
    pub fn new(to: impl Into<String>) -> Self {
        Self {
            to: to.into(),
            broker: Brokered::default(),
            discovery: None,
            interface: None,
            ttl: 1,
            dscp: None,
            interval: Duration::from_millis(100),
            raw: false,
            signals: None,
            publisher: 1,
            security: None,
        }
    }
}

/// A user with a password, a certificate, or both.
#[derive(Debug, Clone)]
pub struct User {
    /// The name.
    pub name: String,
    /// The password, hashed.
    pub hash: Option<PasswordHash>,
    /// The token that an authorization service issued, hashed.
    pub token: Option<TokenHash>,
    /// Whether a certificate whose subject has this common name is theirs.
    pub certificate: bool,
    /// What the user may do; everything if the file does not say.
    pub rights: Rights,
}

/// Something that a user may do with the nodes of a plant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Right {
    /// Read values and monitor them.
    Read,
    /// Write values.
    Write,
    /// Call methods.
    Call,
}

/// A namespace and the nodes in it.
#[derive(Debug, Clone)]
pub struct Namespace {
    /// Its URI; none for the server's own.
    pub uri: Option<String>,
    /// The index it must have, if it says so.
    pub index: Option<u16>,
    /// Ids of folders that have another than their path.
    pub folders: Vec<Folder>,
    /// Structures, in an order in which each needs only those before it.
    pub structures: Vec<Arc<Structure>>,
    /// Enumerations.
    pub enumerations: Vec<Arc<Enumeration>>,
    /// Variables.
    pub groups: Vec<Group>,
    /// Methods.
    pub methods: Vec<MethodNode>,
    /// Sources of events.
    pub events: Vec<EventSources>,
}

/// A folder with an id of its own.
#[derive(Debug, Clone)]
pub struct Folder {
    /// Its path from the Objects folder.
    pub path: String,
    /// Its id.
    pub id: Id,
}

/// Variables that are alike.
#[derive(Debug, Clone)]
pub struct Group {
    /// The path of their folder; empty for the Objects folder.
    pub folder: String,
    /// At most so many in a folder: there are numbered ones below then.
    pub per_folder: Option<u64>,
    /// How many there are.
    pub count: u64,
    /// The number of the first, for names and values.
    pub first: u64,
    /// Their ids.
    pub ids: Ids,
    /// Their names.
    pub name: Template,
    /// What they are for.
    pub description: Option<String>,
    /// The type of their values.
    pub kind: Kind,
    /// None for scalars.
    pub dimensions: Arc<[u32]>,
    /// How their values come about.
    pub values: Values,
    /// How often these change.
    pub update: Option<Duration>,
    /// Whether an update loop writes them, rather than that they are computed when asked for.
    pub stored: bool,
    /// How many of their last values can be read, if any.
    pub history: Option<u64>,
    /// Bits of the AccessLevel attribute.
    pub access: u8,
    /// EURange: makes AnalogItems of them.
    pub range: Option<(f64, f64)>,
    /// The engineering unit of AnalogItems.
    pub unit: Option<String>,
}

/// How values come about.
#[derive(Debug, Clone)]
pub enum Values {
    /// As written in the file.
    Written(Value),
    /// A scalar is its own number; the elements of an array count from 0.
    Numbered,
    /// One more with each update, from here on or from the variable's own number.
    Counter(Start),
    /// By a pattern for numbers, the same for all of the group.
    Pattern(Shaped),
}

/// Where a counter begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// Here.
    At(i64),
    /// At the number of the variable.
    Number,
}

/// A pattern in time rather than in updates.
#[derive(Debug, Clone)]
pub enum Shaped {
    /// See [`Pattern::Ramp`].
    Ramp {
        /// The lowest value.
        low: f64,
        /// The highest.
        high: f64,
        /// From one fall to the next.
        period: Duration,
    },
    /// See [`Pattern::Sine`].
    Sine {
        /// The lowest value.
        low: f64,
        /// The highest.
        high: f64,
        /// There and back.
        period: Duration,
        /// Where it begins, 0 to 1.
        phase: f64,
    },
    /// See [`Pattern::Toggle`].
    Toggle {
        /// First.
        even: f64,
        /// Then.
        odd: f64,
    },
    /// See [`Pattern::Noise`].
    Noise {
        /// The lowest value.
        low: f64,
        /// The highest.
        high: f64,
        /// Tells groups apart; members of one are told apart by their number.
        seed: u64,
    },
    /// See [`Pattern::Walk`].
    Walk {
        /// The lowest value.
        low: f64,
        /// The highest.
        high: f64,
        /// The standard deviation of a step.
        step: f64,
        /// Tells groups apart; members of one are told apart by their number.
        seed: u64,
    },
    /// See [`Pattern::Replay`].
    Replay(Arc<[f64]>),
}

/// A method and the object it belongs to.
#[derive(Debug, Clone)]
pub struct MethodNode {
    /// Its name.
    pub name: String,
    /// Its id.
    pub id: Id,
    /// The path of its object.
    pub object: String,
    /// The object's id.
    pub object_id: Id,
    /// What it does.
    pub does: Does,
    /// What it is given.
    pub arguments: Vec<Field>,
}

/// What a method does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Does {
    /// Gives its arguments back.
    Echo,
    /// Gives the sum of its arguments, which are Doubles.
    Sum,
    /// Gives nothing.
    Nothing,
}

impl Shaped {
    /// In updates of this length, for the variable that comes after `k` others.
    fn pattern(&self, update: Duration, k: u64) -> Pattern {
        let updates = |period: Duration| {
            let updates = period.as_nanos() / update.as_nanos().max(1);
            u64::try_from(updates).unwrap_or(u64::MAX).max(1)
        };
        match *self {
            Self::Ramp { low, high, period } => Pattern::Ramp {
                low,
                high,
                updates: updates(period),
            },
            Self::Sine {
                low,
                high,
                period,
                phase,
            } => Pattern::Sine {
                low,
                high,
                updates: updates(period),
                phase,
            },
            Self::Toggle { even, odd } => Pattern::Toggle { even, odd },
            Self::Noise { low, high, seed } => Pattern::Noise {
                low,
                high,
                seed: seed.wrapping_add(k),
            },
            Self::Walk {
                low,
                high,
                step,
                seed,
            } => Pattern::Walk {
                low,
                high,
                step,
                seed: seed.wrapping_add(k),
            },
            Self::Replay(ref values) => Pattern::Replay(Arc::clone(values)),
        }
    }
}

impl Plant {
    /// How many sources of events it has, and how many events a second these raise.
    pub fn events(&self) -> (u64, f64) {
        let groups = self.namespaces.iter().flat_map(|space| &space.events);
        groups.fold((0, 0.0), |(count, rate), group| {
            (count + group.count, rate + group.beat.per_second())
        })
    }

    /// What it can do, for a discovery server (Part 12, annex D).
    pub fn capabilities(&self) -> Vec<String> {
        let mut groups = self.namespaces.iter().flat_map(|space| &space.groups);
        let mut events = self.namespaces.iter().flat_map(|space| &space.events);
        let all = [
            ("DA", true),
            ("HD", groups.any(|group| group.history.is_some())),
            ("AC", events.any(|sources| sources.kind.is_condition())),
        ];
        let there = all.into_iter().filter(|(_, is)| *is);
        there.map(|(name, _)| name.to_owned()).collect()
    }

    /// How many variables it has.
    pub fn variables(&self) -> u64 {
        let groups = self.namespaces.iter().flat_map(|space| &space.groups);
        groups.map(|group| group.count).sum()
    }

    /// Has signals updated this often: those that have a pattern and no interval of their own, or
    /// all that have one if there are no others.
    pub fn update_each(&mut self, update: Duration) {
        let groups = self.namespaces.iter().flat_map(|space| &space.groups);
        let open = |group: &Group| group.moves() && group.update.is_none();
        let any_open = groups.into_iter().any(open);
        let groups = self
            .namespaces
            .iter_mut()
            .flat_map(|space| &mut space.groups);
        for group in groups.filter(|group| group.moves()) {
            if group.update.is_none() || !any_open {
                group.update = Some(update);
            }
        }
    }

    /// Makes so many signals of the first group that has a pattern. False if there is none that
    /// may have them.
    pub fn resize(&mut self, count: u64) -> bool {
        let mut groups = self
            .namespaces
            .iter_mut()
            .flat_map(|space| &mut space.groups);
        let Some(group) = groups.find(|group| group.moves()) else {
            return false;
        };
        let open = match &group.ids {
            Ids::Numbers { first, last: None } => count <= u64::from(u32::MAX - first),
            Ids::Texts(name) => name.has_number() || count == 1,
            _ => false,
        };
        if open {
            group.count = count;
        }
        open
    }
}

impl Group {
    /// Whether its values change once it has an update interval.
    pub fn moves(&self) -> bool {
        matches!(self.values, Values::Counter(_) | Values::Pattern(_))
    }

    /// The number of the variable that comes after `k` others.
    pub fn number(&self, k: u64) -> u64 {
        self.first.saturating_add(k)
    }

    /// How the variable that comes after `k` others moves; none if it stays as it is.
    pub fn motion(&self, k: u64) -> Option<Motion> {
        let update = self.update?;
        let how = match &self.values {
            Values::Written(_) | Values::Numbered => return None,
            Values::Counter(start) => How::Counter(self.start(*start, k)),
            Values::Pattern(shaped) => How::Pattern(shaped.pattern(update, k)),
        };
        Some(Motion::new(&self.kind, &self.dimensions, how, update))
    }

    fn start(&self, start: Start, k: u64) -> i64 {
        match start {
            Start::At(start) => start,
            Start::Number => self.number(k) as i64,
        }
    }
}
