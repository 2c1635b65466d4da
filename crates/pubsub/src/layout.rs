//! The header layouts of Annex A, by name.

use std::fmt;
use std::str::FromStr;

use crate::header::{GroupHeader, PublisherId};
use crate::message::{Content, DataSetMessage, NetworkMessage};

/// A header layout of Annex A.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// A.2.1: what is published is known beforehand and lies always at the same place. A group header with
    /// everything, no payload header; DataSetMessages with sequence number and status.
    PeriodicFixed,
    /// A.2.2: DataSets of any size at any time. A payload header, no group header; DataSetMessages with
    /// sequence number, timestamp, status and minor version.
    Dynamic,
}

impl Layout {
    /// Both of them.
    pub const ALL: [Self; 2] = [Self::PeriodicFixed, Self::Dynamic];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::PeriodicFixed => "periodic-fixed",
            Self::Dynamic => "dynamic",
        }
    }

    /// A message of this layout: counters and times are there, and zero.
    pub fn message(
        self,
        publisher_id: PublisherId<'static>,
        writer_group_id: u16,
        group_version: u32,
        sets: impl IntoIterator<Item = (u16, Content)>,
    ) -> NetworkMessage {
        let messages = sets
            .into_iter()
            .map(|(writer_id, content)| DataSetMessage {
                sequence: Some(0),
                status: Some(0),
                timestamp: (self == Self::Dynamic).then_some(0),
                minor_version: (self == Self::Dynamic).then_some(group_version),
                ..DataSetMessage::new(writer_id, content)
            })
            .collect();
        NetworkMessage {
            publisher_id: Some(publisher_id),
            group: (self == Self::PeriodicFixed).then_some(GroupHeader {
                writer_group_id: Some(writer_group_id),
                version: Some(group_version),
                number: Some(1),
                sequence: Some(0),
            }),
            payload_header: self == Self::Dynamic,
            messages,
            ..NetworkMessage::default()
        }
    }
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Layout {
    type Err = UnknownLayout;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|it| it.name() == text)
            .ok_or_else(|| UnknownLayout(text.to_owned()))
    }
}

/// No layout is called so.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no header layout {0:?}; want periodic-fixed or dynamic")]
pub struct UnknownLayout(String);
