//! What a server says in its PublishSubscribe object (Part 14, 9): what it publishes, where to, and how that goes.

use pubsub::PublisherId;
use pubsub::discovery::{
    Announced, Announcement, Endpoint, MetaData, WriterConfig, WriterGroupConfig,
};
use serde::{Deserialize, Serialize};
use tracing::warn;
use wire::types::type_loader::ByteStringBody;
use wire::types::{
    AttributeId, BrowseDirection, NodeId, ObjectId, ObjectTypeId, ReferenceDescription,
    ReferenceTypeId, Variant,
};

use crate::access::Session;
use crate::work::{WorkError, find};

/// A PubSubConnection.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PubSubConnection {
    /// Its name.
    pub name: String,
    /// The URI of its transport profile; empty where the server does not tell.
    pub profile: String,
    /// Where messages go; empty where the server does not tell, which is no address.
    pub url: String,
    /// The interface that they go by, as the server names it.
    pub interface: Option<String>,
    /// The PublisherId, if it is one that messages may have.
    pub publisher_id: Option<String>,
    /// Disabled, Paused, Operational, Error or PreOperational.
    pub state: Option<String>,
    /// Its writer groups.
    pub groups: Vec<PubSubGroup>,
    #[serde(skip)]
    id: Option<PublisherId<'static>>,
}

/// A WriterGroup.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PubSubGroup {
    /// Its name.
    pub name: String,
    /// The WriterGroupId.
    pub id: u16,
    /// `none`, `sign`, `sign-and-encrypt`, where the server tells.
    pub security: Option<String>,
    /// The SecurityGroupId of its keys.
    pub security_group: Option<String>,
    /// The distance of NetworkMessages in milliseconds, where the server tells.
    pub interval_ms: Option<f64>,
    /// NetworkMessages that it has sent, where the server counts them.
    pub sent: Option<u64>,
    /// Those that it could not send.
    pub failed: Option<u64>,
    /// Its writers.
    pub writers: Vec<PubSubWriter>,
    #[serde(skip)]
    layout_uri: String,
    #[serde(skip)]
    mode: Option<u32>,
}

/// A DataSetWriter with its DataSet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PubSubWriter {
    /// Its name.
    pub name: String,
    /// The DataSetWriterId.
    pub id: u16,
    /// What its fields are encoded as: `Variant`, `RawData`, `DataValue`, where the server tells.
    pub encoding: Option<String>,
    /// The name of its DataSet.
    pub data_set: Option<String>,
    /// Fields of it, if its metadata could be read.
    pub fields: Option<usize>,
    #[serde(skip)]
    mask: Option<u32>,
    #[serde(skip)]
    metadata: Option<MetaData>,
}

/// The binary encoding of DataSetMetaDataType.
const ENCODING: ObjectId = ObjectId::DataSetMetaDataType_Encoding_DefaultBinary;
/// More references than that no server has that anybody listens to; what is read of one is bounded by it.
const MOST: usize = 65_536;

/// Reads all of it.
///
/// # Errors
/// A request failed, or the server has no PublishSubscribe object.
pub fn pubsub_connections(session: &mut Session) -> Result<Vec<PubSubConnection>, WorkError> {
    let reader = &mut Reader {
        session,
        left: MOST,
    };
    let root = Place::of(ObjectId::PublishSubscribe.into(), reader)?;
    let mut connections = Vec::new();
    for (node, name) in root.of_type(&[ObjectTypeId::PubSubConnectionType]) {
        connections.push(connection(node, name, reader)?);
    }
    if reader.left == 0 {
        warn!("the server says more than is read: {MOST} references");
    }
    Ok(connections)
}

/// Reads the object, and no more of it than is good.
struct Reader<'a> {
    session: &'a mut Session,
    /// So many references are still taken.
    left: usize,
}

/// A node with what is below it.
struct Place {
    below: Vec<ReferenceDescription>,
}

impl Place {
    fn of(node: NodeId, reader: &mut Reader<'_>) -> Result<Self, WorkError> {
        let mut below = Vec::new();
        if reader.left > 0 {
            let (by, forward) = (ReferenceTypeId::Aggregates, BrowseDirection::Forward);
            below = find::references(&node, forward, by, reader.left, reader.session)?;
            reader.left -= below.len().clamp(1, reader.left);
        }
        Ok(Self { below })
    }

    /// Nodes of one of these types, with their names.
    fn of_type(&self, types: &[ObjectTypeId]) -> Vec<(NodeId, String)> {
        let wanted = |it: &&ReferenceDescription| {
            let of = &it.type_definition.node_id;
            types.iter().any(|kind| *of == *kind)
        };
        let named = |it: &ReferenceDescription| {
            let name = it.browse_name.name.as_ref().to_owned();
            (it.node_id.node_id.clone(), name)
        };
        self.below.iter().filter(wanted).map(named).collect()
    }

    fn named(&self, name: &str) -> Option<NodeId> {
        let mut all = self.below.iter();
        let found = all.find(|it| it.browse_name.name.as_ref() == name)?;
        Some(found.node_id.node_id.clone())
    }

    /// The values of its variables with these names; none where there is none.
    fn values<const N: usize>(
        &self,
        names: [&str; N],
        reader: &mut Reader<'_>,
    ) -> Result<[Option<Variant>; N], WorkError> {
        let there: Vec<(usize, NodeId)> = names
            .iter()
            .enumerate()
            .filter_map(|(n, name)| Some((n, self.named(name)?)))
            .collect();
        let nodes: Vec<NodeId> = there.iter().map(|(_, node)| node.clone()).collect();
        let mut values = [const { None }; N];
        if nodes.is_empty() {
            return Ok(values);
        }
        let read = find::attributes(&nodes, AttributeId::Value, reader.session)?;
        for ((n, _), it) in there.into_iter().zip(read) {
            if let Some(place) = values.get_mut(n) {
                *place = it.value.filter(|it| !matches!(it, Variant::Empty));
            }
        }
        Ok(values)
    }

    /// The same of an object below it.
    fn values_of<const N: usize>(
        &self,
        object: &str,
        names: [&str; N],
        reader: &mut Reader<'_>,
    ) -> Result<[Option<Variant>; N], WorkError> {
        match self.named(object) {
            Some(node) => Self::of(node, reader)?.values(names, reader),
            None => Ok([const { None }; N]),
        }
    }
}

fn connection(
    node: NodeId,
    name: String,
    reader: &mut Reader<'_>,
) -> Result<PubSubConnection, WorkError> {
    let place = Place::of(node, reader)?;
    let [publisher, profile] = place.values(["PublisherId", "TransportProfileUri"], reader)?;
    let [url, interface] = place.values_of("Address", ["Url", "NetworkInterface"], reader)?;
    let [state] = place.values_of("Status", ["State"], reader)?;
    let mut groups = Vec::new();
    for (node, name) in place.of_type(&[ObjectTypeId::WriterGroupType]) {
        groups.push(group(node, name, reader)?);
    }
    let id = publisher.as_ref().and_then(publisher_id);
    Ok(PubSubConnection {
        name,
        profile: text(profile).unwrap_or_default(),
        url: text(url).unwrap_or_default(),
        interface: text(interface),
        publisher_id: id.as_ref().map(ToString::to_string),
        state: state.as_ref().and_then(number).map(state_name),
        groups,
        id,
    })
}

fn group(node: NodeId, name: String, reader: &mut Reader<'_>) -> Result<PubSubGroup, WorkError> {
    let place = Place::of(node, reader)?;
    let names = [
        "WriterGroupId",
        "PublishingInterval",
        "SecurityMode",
        "SecurityGroupId",
        "HeaderLayoutUri",
    ];
    let [id, interval, mode, security_group, layout] = place.values(names, reader)?;
    let counters = match place.named("Diagnostics") {
        Some(node) => Place::of(node, reader)?.values_of(
            "Counters",
            ["SentNetworkMessages", "FailedTransmissions"],
            reader,
        )?,
        None => [None, None],
    };
    let [sent, failed] = counters;
    let mut writers = Vec::new();
    for (node, name) in place.of_type(&[ObjectTypeId::DataSetWriterType]) {
        writers.push(writer(node, name, reader)?);
    }
    let mode = mode.as_ref().and_then(number);
    let count = |it: Option<Variant>| it.as_ref().and_then(number).map(u64::from);
    Ok(PubSubGroup {
        name,
        id: small(id),
        // MessageSecurityMode (Part 4, 7.20). One that is none is none that anybody can rely on.
        security: mode.and_then(|mode| match mode {
            1 => Some("none".to_owned()),
            2 => Some("sign".to_owned()),
            3 => Some("sign-and-encrypt".to_owned()),
            _ => None,
        }),
        security_group: text(security_group),
        interval_ms: match interval {
            Some(Variant::Double(it)) => Some(it),
            _ => None,
        },
        sent: count(sent),
        failed: count(failed),
        writers,
        layout_uri: text(layout).unwrap_or_default(),
        mode,
    })
}

fn writer(node: NodeId, name: String, reader: &mut Reader<'_>) -> Result<PubSubWriter, WorkError> {
    let place = Place::of(node.clone(), reader)?;
    let names = ["DataSetWriterId", "DataSetFieldContentMask"];
    let [id, mask] = place.values(names, reader)?;
    let by = ReferenceTypeId::DataSetToWriter;
    let sets = match reader.left {
        0 => Vec::new(),
        _ => find::references(&node, BrowseDirection::Inverse, by, 1, reader.session)?,
    };
    let (mut data_set, mut metadata) = (None, None);
    if let Some(set) = sets.into_iter().next() {
        data_set = Some(set.browse_name.name.as_ref().to_owned());
        let place = Place::of(set.node_id.node_id, reader)?;
        let [described] = place.values(["DataSetMetaData"], reader)?;
        metadata = described.and_then(described_by);
    }
    let mask = mask.as_ref().and_then(number);
    Ok(PubSubWriter {
        name,
        id: small(id),
        // DataSetFieldContentMask: bit 5 is RawData, the ones before are parts of DataValues.
        encoding: mask.map(|mask| {
            let encoding = match (mask & 0x20, mask & 0x1f) {
                (0, 0) => "Variant",
                (0, _) => "DataValue",
                _ => "RawData",
            };
            encoding.to_owned()
        }),
        data_set,
        fields: metadata.as_ref().map(|it| it.fields.len()),
        mask,
        metadata,
    })
}

/// Structures that services do not need come as they are, and are read with the bounds that announcements have.
fn described_by(value: Variant) -> Option<MetaData> {
    let Variant::ExtensionObject(object) = value else {
        return None;
    };
    let body = object.into_inner_as::<ByteStringBody>()?;
    let is_one = *body.encoding_id() == ENCODING;
    let bytes = body.raw_body().value.as_deref().filter(|_| is_one)?;
    MetaData::decode(bytes).ok()
}

fn publisher_id(it: &Variant) -> Option<PublisherId<'static>> {
    Some(match it {
        Variant::Byte(it) => PublisherId::Byte(*it),
        Variant::UInt16(it) => PublisherId::UInt16(*it),
        Variant::UInt32(it) => PublisherId::UInt32(*it),
        Variant::UInt64(it) => PublisherId::UInt64(*it),
        Variant::String(it) => PublisherId::String(it.as_ref().to_owned().into()),
        _ => return None,
    })
}

/// PubSubState (Part 14, 6.2.1).
fn state_name(state: u32) -> String {
    let names = [
        "Disabled",
        "Paused",
        "Operational",
        "Error",
        "PreOperational",
    ];
    let name = usize::try_from(state).ok().and_then(|n| names.get(n));
    name.map_or_else(|| state.to_string(), |it| (*it).to_owned())
}

fn number(it: &Variant) -> Option<u32> {
    match it {
        Variant::Byte(it) => Some((*it).into()),
        Variant::UInt16(it) => Some((*it).into()),
        Variant::UInt32(it) => Some(*it),
        Variant::Int32(it) => u32::try_from(*it).ok(),
        _ => None,
    }
}

fn small(it: Option<Variant>) -> u16 {
    // Part 14, 6.2.7.1: 0 is the id that nobody has.
    let it = it.as_ref().and_then(number).unwrap_or_default();
    u16::try_from(it).unwrap_or_default()
}

/// A text that is not empty.
fn text(it: Option<Variant>) -> Option<String> {
    match it? {
        Variant::String(it) => Some(it.as_ref().to_owned()).filter(|it| !it.is_empty()),
        _ => None,
    }
}

impl PubSubConnection {
    /// The same as announcements, for a listener: of whom, and what.
    pub(super) fn told(&self, server: &str) -> Vec<(PublisherId<'static>, Announcement)> {
        let Some(id) = &self.id else {
            return Vec::new();
        };
        let mut told = vec![Announced::Endpoints {
            endpoints: vec![Endpoint {
                url: server.to_owned(),
                ..Endpoint::default()
            }],
            status: 0,
        }];
        for group in &self.groups {
            // An announcement has no place for what is not known: 0 stands for it, which is no mode (Part 4, 7.20).
            let writers = group.writers.iter().map(|it| WriterConfig {
                name: it.name.clone(),
                id: it.id,
                enabled: true,
                field_mask: it.mask.unwrap_or_default(),
                key_frame_count: 1,
                data_set: it.data_set.clone().unwrap_or_default(),
            });
            let writers: Vec<WriterConfig> = writers.collect();
            told.push(Announced::Writers {
                writer_ids: writers.iter().map(|it| it.id).collect(),
                statuses: vec![0; writers.len()],
                group: Box::new(WriterGroupConfig {
                    name: group.name.clone(),
                    id: group.id,
                    enabled: true,
                    security_mode: group.mode.unwrap_or_default(),
                    security_group: group.security_group.clone().unwrap_or_default(),
                    interval_ms: group.interval_ms.unwrap_or_default(),
                    layout_uri: group.layout_uri.clone(),
                    writers,
                    ..WriterGroupConfig::default()
                }),
            });
            for it in &group.writers {
                if let Some(metadata) = &it.metadata {
                    told.push(Announced::MetaData {
                        writer_id: it.id,
                        metadata: metadata.clone(),
                        status: 0,
                    });
                }
            }
        }
        let announced = |told| (id.clone(), Announcement { sequence: 0, told });
        told.into_iter().map(announced).collect()
    }
}
