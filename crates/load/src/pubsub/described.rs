//! What a publisher tells of itself: names, metadata, how its groups and writers are configured.

use pubsub::discovery::{
    Announced, Announcement, Endpoint, FieldMetaData, MetaData, WriterConfig, WriterGroupConfig,
};
use pubsub::json::{self, Status};
use pubsub::layout::Layout;
use pubsub::mqtt::topic::Tree;
use pubsub::security::{Mode, Sealer};
use pubsub::view::Encoding;
use pubsub::{EncodeError, PublisherId};
use wire::template::walk::BuiltInType;

use super::broker_connection::Retained;
use super::publication::{Mapping, Publish};

/// The name of a group.
pub(super) fn group_name(group: u16) -> String {
    format!("WriterGroup{group}")
}

/// The name of a writer.
pub(super) fn writer_name(writer: u16) -> String {
    format!("Writer{writer}")
}

/// The ids of a group's writers. An id is that of one writer of the publisher, whatever its group.
pub(super) fn writer_ids(plan: &Publish, group: u16) -> impl Iterator<Item = u16> {
    let first = (group - 1).saturating_mul(plan.writers);
    (1..=plan.writers).map(move |writer| first.saturating_add(writer))
}

/// The name of a field: its own, if it has one.
pub(super) fn field_name(names: &[String], n: usize) -> String {
    let own = names.get(n).cloned();
    own.unwrap_or_else(|| format!("Signal{}", n + 1))
}

/// What a broker keeps of a publisher.
pub(super) fn retained(
    plan: &Publish,
    kinds: &[BuiltInType],
    tree: &Tree,
    now: i64,
    sealer: Option<Sealer>,
) -> Result<Retained, EncodeError> {
    match plan.mapping {
        Mapping::Json(_) => Ok(retained_texts(plan, kinds, tree, now)),
        Mapping::Uadp => retained_metadata(plan, kinds, tree, sealer),
    }
}

/// Metadata of all writers, as announcements.
fn retained_metadata(
    plan: &Publish,
    kinds: &[BuiltInType],
    tree: &Tree,
    sealer: Option<Sealer>,
) -> Result<Retained, EncodeError> {
    let described = Described::of(plan, kinds);
    let mut announcements = Announcer::new(plan.publisher_id.clone(), sealer);
    let mut retained = Retained::default();
    for group in 1..=plan.groups {
        for id in writer_ids(plan, group) {
            let topic = tree.metadata(&group_name(group), &writer_name(id));
            let message = announcements.encode(described.metadata(id))?;
            retained.messages.push((topic, message));
        }
    }
    Ok(retained)
}

/// What a broker keeps of a publisher: how it is, and what its DataSets are.
fn retained_texts(plan: &Publish, kinds: &[BuiltInType], tree: &Tree, now: i64) -> Retained {
    let names = plan.values.names();
    let publisher = plan.publisher_id.to_string();
    let status = |it: Status| it.message(&format!("{publisher}-{}", it.name()), &publisher);
    let mut messages = vec![(tree.status(), status(Status::OPERATIONAL).into_bytes())];
    for group in 1..=plan.groups {
        for id in writer_ids(plan, group) {
            let (group, writer) = (group_name(group), writer_name(id));
            let topic = tree.metadata(&group, &writer);
            let fields = kinds
                .iter()
                .enumerate()
                .map(|(n, kind)| json::FieldMetaData {
                    name: field_name(&names, n),
                    built_in_type: *kind as u8,
                    value_rank: -1,
                });
            let message = json::MetaDataMessage {
                message_id: format!("{publisher}-metadata-{id}"),
                publisher_id: publisher.clone(),
                writer_id: Some(id),
                writer_group: Some(group),
                writer_name: Some(writer),
                timestamp: Some(now),
                metadata: json::MetaData {
                    name: data_set_name(id),
                    fields: fields.collect(),
                    major_version: 1,
                    minor_version: 1,
                },
            };
            messages.push((topic, message.encode().into_bytes()));
        }
    }
    Retained {
        will: Some((tree.status(), status(Status::ERROR).into_bytes())),
        messages,
    }
}

/// Whoever makes announcements: it numbers them, and secures them if that is wanted.
#[derive(Debug)]
pub(super) struct Announcer {
    publisher: PublisherId<'static>,
    sealer: Option<Sealer>,
    sequence: u16,
}

impl Announcer {
    pub fn new(publisher: PublisherId<'static>, sealer: Option<Sealer>) -> Self {
        Self {
            publisher,
            sealer,
            sequence: 0,
        }
    }

    pub fn publisher(&self) -> &PublisherId<'static> {
        &self.publisher
    }

    pub fn sealer(&mut self) -> Option<&mut Sealer> {
        self.sealer.as_mut()
    }

    /// As it is sent.
    pub fn encode(&mut self, told: Announced) -> Result<Vec<u8>, EncodeError> {
        let mut out = Vec::new();
        let header = self.sealer.as_ref().map(Sealer::header);
        let message = Announcement {
            sequence: self.sequence,
            told,
        };
        let at = message.encode(&self.publisher, header.as_ref(), &mut out)?;
        self.sequence = self.sequence.wrapping_add(1);
        if let Some(sealer) = &mut self.sealer
            && !sealer.seal(&mut out, &at)
        {
            // The key is used up: nothing is told with it any more.
            out.clear();
        }
        Ok(out)
    }
}

/// All that a publisher can tell.
#[derive(Debug, Clone)]
pub(super) struct Described {
    fields: Vec<FieldMetaData>,
    groups: Vec<WriterGroupConfig>,
    endpoints: Vec<Endpoint>,
}

/// Bad_NotFound, Bad_NotSupported.
const NOT_FOUND: u32 = 0x803E_0000;
const NOT_SUPPORTED: u32 = 0x803D_0000;

impl Described {
    pub fn of(plan: &Publish, kinds: &[BuiltInType]) -> Self {
        let names = plan.values.names();
        let fields = kinds.iter().enumerate();
        let fields = fields.map(|(n, kind)| FieldMetaData::scalar(field_name(&names, n), *kind));
        let group = |group| WriterGroupConfig {
            name: group_name(group),
            id: group,
            enabled: true,
            security_mode: match plan.mode {
                None => 1,
                Some(Mode::Sign) => 2,
                Some(Mode::SignAndEncrypt) => 3,
            },
            interval_ms: plan.interval.map_or(0.0, |it| it.as_secs_f64() * 1e3),
            layout_uri: match plan.layout {
                Layout::Dynamic => DYNAMIC,
                Layout::PeriodicFixed => PERIODIC_FIXED,
            }
            .to_owned(),
            // UadpNetworkMessageContentMask: PublisherId and PayloadHeader, or PublisherId and all of the group header.
            content_mask: match plan.layout {
                Layout::Dynamic => 0x41,
                Layout::PeriodicFixed => 0x3f,
            },
            writers: writer_ids(plan, group)
                .map(|id| WriterConfig {
                    name: writer_name(id),
                    id,
                    enabled: true,
                    // DataSetFieldContentMask: RawData, SourceTimestamp.
                    field_mask: match plan.encoding {
                        Encoding::Variant => 0,
                        Encoding::Raw => 0x20,
                        Encoding::DataValue => 2,
                    },
                    key_frame_count: 1,
                    data_set: data_set_name(id),
                })
                .collect(),
            ..WriterGroupConfig::default()
        };
        Self {
            fields: fields.collect(),
            groups: (1..=plan.groups).map(group).collect(),
            endpoints: plan.endpoints.clone(),
        }
    }

    /// All writers.
    pub fn writers(&self) -> impl Iterator<Item = u16> + '_ {
        self.groups
            .iter()
            .flat_map(|it| &it.writers)
            .map(|it| it.id)
    }

    /// Whether there is such a writer.
    pub fn has(&self, writer: u16) -> bool {
        self.writers().any(|it| it == writer)
    }

    /// The groups of these writers.
    pub fn groups_of(&self, writers: &[u16]) -> impl Iterator<Item = u16> {
        let asked = |it: &&WriterConfig| writers.contains(&it.id);
        self.groups
            .iter()
            .filter(move |it| it.writers.iter().any(|it| asked(&it)))
            .map(|it| it.id)
    }

    /// What the DataSet of a writer is.
    pub fn metadata(&self, writer_id: u16) -> Announced {
        let known = self.has(writer_id);
        Announced::MetaData {
            writer_id,
            metadata: match known {
                true => MetaData {
                    name: data_set_name(writer_id),
                    fields: self.fields.clone(),
                    major_version: 1,
                    minor_version: 1,
                    ..MetaData::default()
                },
                false => MetaData::default(),
            },
            status: if known { 0 } else { NOT_FOUND },
        }
    }

    /// How a group is configured, with these of its writers.
    pub fn group(&self, id: u16, writers: &[u16]) -> Option<Announced> {
        let mut group = self.groups.iter().find(|it| it.id == id)?.clone();
        group.writers.retain(|it| writers.contains(&it.id));
        Some(Announced::Writers {
            writer_ids: group.writers.iter().map(|it| it.id).collect(),
            statuses: vec![0; group.writers.len()],
            group: Box::new(group),
        })
    }

    /// Where it can be asked as a server.
    pub fn endpoints(&self) -> Announced {
        Announced::Endpoints {
            endpoints: self.endpoints.clone(),
            status: match self.endpoints.is_empty() {
                true => NOT_SUPPORTED,
                false => 0,
            },
        }
    }
}

/// Header layouts by their URIs (Annex A.2).
const DYNAMIC: &str = "http://opcfoundation.org/UA/PubSub-Layouts/UADP-Dynamic";
const PERIODIC_FIXED: &str = "http://opcfoundation.org/UA/PubSub-Layouts/UADP-Periodic-Fixed";

fn data_set_name(writer: u16) -> String {
    format!("DataSet{writer}")
}
