//! What to publish, where to, and how.

use std::sync::Arc;
use std::time::{Duration, Instant};

use pubsub::PublisherId;
use pubsub::discovery::Endpoint;
use pubsub::json::Style;
use pubsub::layout::Layout;
use pubsub::security::{GroupKeys, Mode};
use pubsub::view::Encoding;
use record::Progress;

use super::key_times::KeyTimes;
use super::lossy_path::LossModel;
use super::values::Values;
use super::{Address, EthernetUrl, Interface, Mqtt};
use crate::transport::Dscp;

/// Where messages go.
#[derive(Debug, Clone)]
pub enum Target {
    /// A host or a group, in datagrams.
    Udp(Address),
    /// An address, in Ethernet frames.
    Ethernet(EthernetUrl),
    /// A broker.
    Mqtt(Box<Mqtt>),
}

impl std::fmt::Display for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Udp(it) => it.fmt(f),
            Self::Ethernet(it) => it.fmt(f),
            Self::Mqtt(it) => it.url.fmt(f),
        }
    }
}

/// How messages are written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Mapping {
    /// In binary.
    #[default]
    Uadp,
    /// As text, in one of its styles.
    Json(Style),
}

/// What to publish.
#[derive(Debug)]
pub struct Publish {
    /// Where to.
    pub to: Target,
    /// UADP or JSON.
    pub mapping: Mapping,
    /// The interface that a group is reached by, or that frames are sent by.
    pub interface: Option<Interface>,
    /// How many routers multicast datagrams may pass.
    pub ttl: u32,
    /// The class of traffic that datagrams say they are of.
    pub dscp: Option<Dscp>,
    /// Who publishes.
    pub publisher_id: PublisherId<'static>,
    /// NetworkMessages in a cycle, one for each writer group, with ids from 1.
    pub groups: u16,
    /// DataSetMessages in each, with ids from 1 on through all groups; together at most 65,535.
    pub writers: u16,
    /// Their fields.
    pub values: Values,
    /// How they are encoded.
    pub encoding: Encoding,
    /// The headers.
    pub layout: Layout,
    /// Security, and the keys by their tokens.
    pub mode: Option<Mode>,
    /// The first is used; the next after each `roll_over`, and the last to the end.
    pub keys: Vec<(u32, GroupKeys)>,
    /// How long a key is used.
    pub roll_over: Option<Duration>,
    /// Keys of a key service instead.
    pub key_times: Option<KeyTimes>,
    /// The distance of cycles; none: one after another without a pause.
    pub interval: Option<Duration>,
    /// When to end.
    pub duration: Duration,
    /// How many cycles to send at most.
    pub cycles: Option<u64>,
    /// Where probes are answered, over UDP.
    pub discovery: Option<Discovery>,
    /// What goes wrong with datagrams on purpose; none: nothing.
    pub fates: Option<Box<dyn LossModel>>,
    /// Who looks at what it has done so far.
    pub progress: Option<Arc<Progress>>,
    /// The endpoints of the server that it is, too.
    pub endpoints: Vec<Endpoint>,
}

/// Longer than anybody publishes.
const FOR_GOOD: Duration = Duration::from_secs(10 * 365 * 24 * 3600);

impl Publish {
    /// One message a cycle with these values as Variants, in the clear, until it is stopped: `PublisherId` 1, a cycle
    /// behind the other without a pause.
    pub fn new(to: Target, values: Values) -> Self {
        Self {
            to,
            mapping: Mapping::Uadp,
            interface: None,
            ttl: 1,
            dscp: None,
            publisher_id: PublisherId::UInt16(1),
            groups: 1,
            writers: 1,
            values,
            encoding: Encoding::Variant,
            layout: Layout::Dynamic,
            mode: None,
            keys: Vec::new(),
            roll_over: None,
            key_times: None,
            interval: None,
            duration: FOR_GOOD,
            cycles: None,
            discovery: None,
            fates: None,
            progress: None,
            endpoints: Vec::new(),
        }
    }

    /// The keys by their times, those of a list from `start` on.
    pub(super) fn keys_from(&self, start: Instant) -> KeyTimes {
        let listed = || KeyTimes::listed(&self.keys, self.roll_over, start);
        self.key_times.clone().unwrap_or_else(listed)
    }
}

/// Where a publisher can be asked what there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Discovery {
    /// Where probes come to. Of a group answers go to the group, else to who asked.
    pub at: Address,
    /// How often all is told without being asked; without it once, when publishing begins.
    pub each: Option<Duration>,
}
