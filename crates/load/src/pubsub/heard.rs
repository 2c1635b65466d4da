//! What a listener heard.

use std::collections::BTreeMap;

use pubsub::sequence::Counts;
use serde::{Deserialize, Serialize};

use super::{KeyUse, PubSubConnection, Spread};

/// What came.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ListenerReport {
    /// Where to.
    pub from: String,
    /// How long.
    pub elapsed_ns: u64,
    /// CPU of the thread that listened, if somebody asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_ns: Option<u64>,
    /// Datagrams.
    pub datagrams: u64,
    /// Their bytes, without those of UDP and IP.
    pub bytes: u64,
    /// Values that were visited; those of RawData are not told apart without metadata.
    pub values: u64,
    /// Datagrams that the kernel dropped because the listener's buffer was full, if it says so.
    pub socket_drops: Option<u64>,
    /// Packets that the interfaces of this host dropped meanwhile, whatever they carried, if somebody asked. Those that
    /// dropped nothing are left out.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub interface_drops: BTreeMap<String, u64>,
    /// The room that the kernel gave.
    pub buffer_bytes: u64,
    /// Whether times of arrival are the kernel's.
    pub kernel_stamps: bool,
    /// Datagrams that could not be read, by the reason, the first sixteen reasons.
    pub unread: Vec<Unread>,
    /// Datagrams of more publishers and groups than are followed.
    pub not_followed: u64,
    /// Datagrams of others than those who were chosen; they are not among the datagrams.
    #[serde(default)]
    pub not_chosen: u64,
    /// Probes and announcements, which are not among the datagrams.
    #[serde(default)]
    pub discovery: u64,
    /// Which keys what was read was secured with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keys: Option<KeyUse>,
    /// What each publisher and group sent.
    pub streams: Vec<Stream>,
    /// What a broker had to do with it, if they came by one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mqtt: Option<Subscribed>,
    /// What the server says that it publishes, which was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<Vec<PubSubConnection>>,
    /// What listeners beside this one heard of the same, each with a socket and a thread.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<ListenerReport>,
    /// Ended before its time.
    pub interrupted: bool,
    /// What else the capture says that was read instead of a socket.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capture: Option<Captured>,
}

/// What a broker had to do with what was heard.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Subscribed {
    /// Of MQTT.
    pub version: String,
    /// What TLS agreed on, if the broker was spoken to inside TLS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<String>,
    /// The QoS that the broker granted.
    pub qos: u8,
    /// Connections that there were.
    pub connections: u64,
    /// Why they ended before their time, and why there was none again: the first sixteen.
    pub lost_connections: Vec<String>,
    /// How long there was none: what came then is not known, and lost with QoS 0.
    pub away_ns: u64,
    /// Messages that the broker had kept from before, which are no messages of this time.
    pub retained: u64,
    /// Messages that say that they may have been sent before.
    pub maybe_again: u64,
}

/// What a capture is beside what was heard in it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Captured {
    /// `pcap` or `pcapng`.
    pub format: String,
    /// All packets.
    pub packets: u64,
    /// Packets to somewhere else, or of other protocols.
    pub others: u64,
    /// Parts of datagrams that IP had cut up, of which the capture has not all.
    pub fragments: u64,
    /// Datagrams that IP had cut up, put together again.
    #[serde(default)]
    pub reassembled: u64,
    /// Datagrams of which the capture has the beginning only.
    pub cut: u64,
    /// Packets of links that are not known, by the number of their type.
    pub unknown_links: BTreeMap<u32, u64>,
    /// The file ends in the middle of a packet.
    pub torn: bool,
}

/// Datagrams that could not be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unread {
    /// Why the first of them could not.
    pub reason: String,
    /// How many.
    pub datagrams: u64,
}

/// What came of one publisher and writer group.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Stream {
    /// The PublisherId, if it says one.
    pub publisher_id: Option<String>,
    /// Its type.
    pub publisher_id_type: Option<String>,
    /// The WriterGroupId, if it says one.
    pub writer_group_id: Option<u16>,
    /// The name of the writer group, which messages in JSON have instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub writer_group_name: Option<String>,
    /// The topic at a broker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topic: Option<String>,
    /// `UADP` or `JSON`.
    #[serde(default = "uadp")]
    pub mapping: String,
    /// How the publisher says that it is, or its broker for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// From where.
    pub source: Option<String>,
    /// The VLAN of its frames, if they were in one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vlan: Option<u16>,
    /// Their priority there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<u8>,
    /// `none`, `sign`, `sign-and-encrypt`.
    pub security: String,
    /// Datagrams.
    pub datagrams: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Parts of larger messages.
    pub chunks: u64,
    /// The distance of messages in milliseconds, as the publisher says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval_ms: Option<f64>,
    /// Where the publisher can be asked as a server, as it says.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub endpoints: Vec<String>,
    /// What the sequence numbers of the group say; none if it has none.
    pub sequence: Option<Counted>,
    /// Between two datagrams.
    pub arrival: Option<Spread>,
    /// How far that is from its median.
    pub jitter: Option<Spread>,
    /// From the timestamp in the message to its arrival.
    pub delay: Delay,
    /// Messages that arrived before they were sent, as their clocks have it: their delay counts as 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub before: u64,
    /// Each DataSetWriter.
    pub writers: Vec<Writer>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde wants it so")]
fn is_zero(n: &u64) -> bool {
    *n == 0
}

fn uadp() -> String {
    "UADP".to_owned()
}

/// From the timestamp in a message to its arrival.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Delay {
    /// Sender and listener have the same clock: both are on this host.
    SameClock(Spread),
    /// Both clocks were compared, and the difference is taken out.
    Compared(Spread),
    /// The sender is another host, and nothing is known of its clock.
    UnknownClock,
    /// Messages say no time.
    NoTimestamp,
}

/// What came of one DataSetWriter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Writer {
    /// Its id; none if messages do not say it.
    pub writer_id: Option<u16>,
    /// Its name, which messages in JSON may say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its place in the message, where they do not.
    pub place: u16,
    /// Its DataSet, as the publisher describes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_set: Option<DataSet>,
    /// Messages.
    pub messages: u64,
    /// `Variant`, `RawData`, `DataValue`: of the last.
    pub encoding: String,
    /// Fields of the last key frame; of RawData, its bytes.
    pub fields: u64,
    /// Whether `fields` counts bytes.
    pub fields_are_bytes: bool,
    /// Values.
    pub values: u64,
    /// Key frames.
    pub key_frames: u64,
    /// Delta frames.
    pub delta_frames: u64,
    /// Events.
    pub events: u64,
    /// Keep-alive messages.
    pub keep_alives: u64,
    /// Messages that say that they are not valid.
    pub invalid: u64,
    /// What the sequence numbers of the writer say; none if it has none.
    pub sequence: Option<Counted>,
}

/// A DataSet, as its metadata says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataSet {
    /// Its name.
    pub name: String,
    /// Its fields.
    pub fields: u64,
    /// Version: what fields there are.
    pub major_version: u32,
    /// Version: smaller changes.
    pub minor_version: u32,
}

/// What sequence numbers say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counted {
    /// Never came.
    pub lost: u64,
    /// Came again.
    pub duplicates: u64,
    /// Came after a later one.
    pub late: u64,
    /// Came too late to say what they are.
    pub too_old: u64,
    /// How often some were missing.
    pub gaps: u64,
    /// The most that were missing at once.
    pub longest_gap: u64,
    /// How often numbers began anew.
    pub restarts: u64,
}

impl From<Counts> for Counted {
    fn from(it: Counts) -> Self {
        Self {
            lost: it.lost,
            duplicates: it.duplicates,
            late: it.late,
            too_old: it.too_old,
            gaps: it.gaps,
            longest_gap: it.longest_gap.into(),
            restarts: it.restarts,
        }
    }
}

impl ListenerReport {
    /// Messages that never came: of writers with sequence numbers, else of their groups.
    pub fn lost(&self) -> u64 {
        self.streams.iter().map(Stream::lost).sum()
    }

    /// Whether anything says what was lost.
    pub fn knows_loss(&self) -> bool {
        self.streams.iter().any(|it| {
            it.sequence.is_some() || it.writers.iter().any(|writer| writer.sequence.is_some())
        })
    }

    /// Datagrams that could not be read.
    pub fn unreadable(&self) -> u64 {
        self.unread.iter().map(|it| it.datagrams).sum()
    }
}

impl Stream {
    /// What sequence numbers say: those of its writers, or its own where writers have none.
    pub fn numbered(&self) -> Vec<Counted> {
        let of_writers: Vec<Counted> = self.writers.iter().filter_map(|it| it.sequence).collect();
        match of_writers.is_empty() {
            true => Vec::from_iter(self.sequence),
            false => of_writers,
        }
    }

    /// Messages of it that never came.
    pub fn lost(&self) -> u64 {
        let lost = |it: &Option<Counted>| it.map_or(0, |it| it.lost);
        let writers: u64 = self.writers.iter().map(|it| lost(&it.sequence)).sum();
        writers.max(lost(&self.sequence))
    }
}
