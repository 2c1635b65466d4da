//! What a publisher tells (Part 14, 7.2.4.6.3 to 7.2.4.6.9).

use super::endpoint::{Endpoint, endpoints};
use super::metadata::MetaData;
use super::walk::{array, put_count};
use super::write_message;
use super::writers::WriterGroupConfig;
use crate::cursor::Cursor;
use crate::encode::{EncodeError, Offsets};
use crate::error::DecodeError;
use crate::header::{Kind, PublisherId, SecurityHeader};

/// An answer, or something told without being asked. Who tells it is in the header.
#[derive(Debug, Clone, PartialEq)]
pub struct Announcement {
    /// Counts what the publisher tells.
    pub sequence: u16,
    /// What it tells.
    pub told: Announced,
}

/// What a publisher tells.
#[derive(Debug, Clone, PartialEq)]
pub enum Announced {
    /// The endpoints of the server that it is, too.
    Endpoints {
        /// All of them.
        endpoints: Vec<Endpoint>,
        /// Whether it can tell.
        status: u32,
    },
    /// What the DataSet of a writer is.
    MetaData {
        /// The writer.
        writer_id: u16,
        /// The description.
        metadata: MetaData,
        /// Whether it can tell.
        status: u32,
    },
    /// How a group and its writers are configured.
    Writers {
        /// Which of them.
        writer_ids: Vec<u16>,
        /// The group, with them.
        group: Box<WriterGroupConfig>,
        /// Whether it can tell, for each of them.
        statuses: Vec<u32>,
    },
    /// Something else, by its number: it is not read.
    Other(u8),
}

const ENDPOINTS: u8 = 1;
const META_DATA: u8 = 2;
const WRITERS: u8 = 3;

impl Announcement {
    pub(crate) fn read(c: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let kind = c.u8("AnnouncementType")?;
        let sequence = c.u16("SequenceNumber")?;
        let told = match kind {
            ENDPOINTS => Announced::Endpoints {
                endpoints: endpoints(c)?,
                status: c.u32("StatusCode")?,
            },
            META_DATA => Announced::MetaData {
                writer_id: c.u16("DataSetWriterId")?,
                metadata: MetaData::read(c)?,
                status: c.u32("StatusCode")?,
            },
            WRITERS => Announced::Writers {
                writer_ids: array(c, 2, "DataSetWriterIds", |c| c.u16("DataSetWriterId"))?,
                group: Box::new(WriterGroupConfig::read(c)?),
                statuses: array(c, 4, "StatusCodes", |c| c.u32("StatusCode"))?,
            },
            other => Announced::Other(other),
        };
        Ok(Self { sequence, told })
    }

    /// Appends it as a NetworkMessage of this publisher, or nothing if there is an error. `security` is the header of a
    /// [`Sealer`](crate::security::Sealer) that seals it then.
    ///
    /// # Errors
    /// It has no form on the wire.
    pub fn encode(
        &self,
        publisher: &PublisherId<'_>,
        security: Option<&SecurityHeader>,
        out: &mut Vec<u8>,
    ) -> Result<Offsets, EncodeError> {
        write_message(Kind::Announcement, publisher, security, out, |out| {
            self.write(out)
        })
    }

    fn write(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        out.push(match &self.told {
            Announced::Endpoints { .. } => ENDPOINTS,
            Announced::MetaData { .. } => META_DATA,
            Announced::Writers { .. } => WRITERS,
            Announced::Other(kind) => *kind,
        });
        out.extend(self.sequence.to_le_bytes());
        match &self.told {
            Announced::Endpoints { endpoints, status } => {
                put_count(endpoints.len(), "endpoints", out)?;
                endpoints.iter().try_for_each(|it| it.write(out))?;
                out.extend(status.to_le_bytes());
            }
            Announced::MetaData {
                writer_id,
                metadata,
                status,
            } => {
                out.extend(writer_id.to_le_bytes());
                metadata.write(out)?;
                out.extend(status.to_le_bytes());
            }
            Announced::Writers {
                writer_ids,
                group,
                statuses,
            } => {
                put_count(writer_ids.len(), "DataSetWriterIds", out)?;
                out.extend(writer_ids.iter().flat_map(|it| it.to_le_bytes()));
                group.write(out)?;
                put_count(statuses.len(), "StatusCodes", out)?;
                out.extend(statuses.iter().flat_map(|it| it.to_le_bytes()));
            }
            Announced::Other(_) => {}
        }
        Ok(())
    }
}
