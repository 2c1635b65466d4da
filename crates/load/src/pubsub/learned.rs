//! What publishers told of themselves: by announcements, or retained at a broker.

use std::collections::BTreeMap;

use pubsub::PublisherId;
use pubsub::discovery::{Announced, Announcement, MetaData, WriterGroupConfig};
use pubsub::raw::RawType;

/// So many DataSets, groups and publishers are remembered, and so many fields of all of them: announcements may come from
/// anybody.
const SETS: usize = 4096;
const FIELDS: usize = 1 << 20;

/// A DataSet.
#[derive(Debug, Clone)]
pub(super) struct Set {
    pub name: String,
    pub fields: u64,
    pub version: (u32, u32),
    /// What its RawData looks like; none if a field is of a type that RawData cannot have.
    pub types: Option<Vec<RawType>>,
}

/// A writer group.
#[derive(Debug, Clone)]
pub(super) struct Group {
    pub name: String,
    pub interval_ms: f64,
    /// Writers in the order in which messages have them, with their names.
    pub writers: Vec<(u16, String)>,
}

/// All of it.
#[derive(Debug, Default)]
pub(super) struct Learned {
    sets: BTreeMap<(PublisherId<'static>, u16), Set>,
    groups: BTreeMap<(PublisherId<'static>, u16), Group>,
    endpoints: BTreeMap<PublisherId<'static>, Vec<String>>,
    fields: usize,
}

impl Learned {
    /// Takes what a publisher told; whether that is something new.
    pub fn take(&mut self, publisher: &PublisherId<'_>, it: Announcement) -> bool {
        let publisher = publisher.clone().into_owned();
        match it.told {
            Announced::MetaData {
                writer_id,
                metadata,
                status: 0,
            } => self.set((publisher, writer_id), metadata),
            Announced::Writers { group, .. } => self.group(publisher, *group),
            Announced::Endpoints {
                endpoints,
                status: 0,
            } => {
                let room = self.endpoints.len() < SETS || self.endpoints.contains_key(&publisher);
                if room {
                    let mut urls: Vec<String> = endpoints.into_iter().map(|it| it.url).collect();
                    urls.dedup();
                    self.endpoints.insert(publisher, urls);
                }
                room
            }
            _ => false,
        }
    }

    fn set(&mut self, key: (PublisherId<'static>, u16), metadata: MetaData) -> bool {
        let version = (metadata.major_version, metadata.minor_version);
        let before = self.sets.get(&key);
        if before.is_some_and(|it| it.version == version) {
            return false;
        }
        // They were counted by a length of this machine.
        let freed = before.map_or(0, |it| usize::try_from(it.fields).unwrap_or(0));
        let fields = self.fields - freed + metadata.fields.len();
        if fields > FIELDS || before.is_none() && self.sets.len() >= SETS {
            return false;
        }
        self.fields = fields;
        let set = Set {
            types: metadata.raw_types(),
            fields: metadata.fields.len() as u64,
            name: metadata.name,
            version,
        };
        self.sets.insert(key, set);
        true
    }

    fn group(&mut self, publisher: PublisherId<'static>, group: WriterGroupConfig) -> bool {
        let key = (publisher, group.id);
        let room = self.groups.len() < SETS || self.groups.contains_key(&key);
        if room {
            let writers = group.writers.into_iter().map(|it| (it.id, it.name));
            let group = Group {
                name: group.name,
                interval_ms: group.interval_ms,
                writers: writers.collect(),
            };
            self.groups.insert(key, group);
        }
        room
    }

    /// A group, by its id, or as the only one that has this writer.
    pub fn group_of(
        &self,
        publisher: &PublisherId<'static>,
        group: Option<u16>,
        writer: Option<u16>,
    ) -> Option<&Group> {
        if let Some(id) = group {
            return self.groups.get(&(publisher.clone(), id));
        }
        let of = (publisher.clone(), 0)..=(publisher.clone(), u16::MAX);
        let mut all = self.groups.range(of).map(|(_, group)| group);
        all.find(|it| it.writers.iter().any(|(id, _)| Some(*id) == writer))
    }

    /// The DataSet of a writer: by its id, or its place in the messages of its group.
    pub fn set_of(
        &self,
        publisher: &PublisherId<'static>,
        group: Option<u16>,
        writer: Option<u16>,
        place: u16,
    ) -> Option<&Set> {
        let by_place = || {
            let group = self.group_of(publisher, group, None)?;
            group.writers.get(usize::from(place)).map(|(id, _)| *id)
        };
        let writer = writer.or_else(by_place)?;
        self.sets.get(&(publisher.clone(), writer))
    }

    /// Where a publisher can be asked as a server.
    pub fn endpoints(&self, publisher: &PublisherId<'static>) -> Vec<String> {
        self.endpoints.get(publisher).cloned().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use pubsub::discovery::{FieldMetaData, WriterConfig};
    use wire::template::walk::BuiltInType;

    use super::*;

    fn told(writer_id: u16, fields: usize, version: u32) -> Announcement {
        let field = FieldMetaData::scalar("a".into(), BuiltInType::Float);
        Announcement {
            sequence: 0,
            told: Announced::MetaData {
                writer_id,
                metadata: MetaData {
                    fields: vec![field; fields],
                    major_version: version,
                    ..MetaData::default()
                },
                status: 0,
            },
        }
    }

    #[test]
    fn a_set_is_found_by_its_writer_or_by_the_place_that_its_group_gives_it() {
        let mut learned = Learned::default();
        let me = PublisherId::UInt16(7);
        assert!(learned.take(&me, told(5, 3, 1)));
        assert!(!learned.take(&me, told(5, 3, 1)), "nothing new");
        let fields = |learned: &Learned, writer, place| {
            let set = learned.set_of(&me, Some(2), writer, place);
            set.map(|it| it.fields)
        };
        assert_eq!(fields(&learned, Some(5), 0), Some(3));
        assert_eq!(fields(&learned, None, 1), None);
        let writer = |id| WriterConfig {
            id,
            ..WriterConfig::default()
        };
        let group = WriterGroupConfig {
            id: 2,
            writers: vec![writer(4), writer(5)],
            ..WriterGroupConfig::default()
        };
        let told_group = Announced::Writers {
            writer_ids: vec![4, 5],
            group: Box::new(group),
            statuses: vec![0, 0],
        };
        let it = Announcement {
            sequence: 1,
            told: told_group,
        };
        assert!(learned.take(&me, it));
        assert_eq!(fields(&learned, None, 1), Some(3));
        assert_eq!(fields(&learned, None, 0), None);
        assert!(learned.take(&me, told(5, 4, 2)), "another version");
        assert_eq!(fields(&learned, None, 1), Some(4));
        // Nobody else's.
        let other = PublisherId::UInt16(8);
        assert!(learned.set_of(&other, None, Some(5), 0).is_none());
    }

    #[test]
    fn what_anybody_may_send_is_remembered_within_bounds() {
        let mut learned = Learned::default();
        for n in 0..10_000u32 {
            learned.take(&PublisherId::UInt32(n), told(1, 1, 1));
        }
        assert_eq!(learned.sets.len(), SETS);
        let mut learned = Learned::default();
        for n in 0..40 {
            learned.take(&PublisherId::UInt32(n), told(1, FIELDS / 32, 1));
        }
        assert_eq!((learned.sets.len(), learned.fields), (32, FIELDS));
        // A new version gives back the room of the old one.
        assert!(learned.take(&PublisherId::UInt32(3), told(1, 1, 2)));
        assert_eq!(learned.fields, FIELDS - FIELDS / 32 + 1);
    }
}
