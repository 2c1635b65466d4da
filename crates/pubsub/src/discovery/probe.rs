//! What a publisher is asked (Part 14, 7.2.4.6.12).

use super::walk::{array, put_count};
use super::write_message;
use crate::cursor::Cursor;
use crate::encode::{EncodeError, Offsets};
use crate::error::DecodeError;
use crate::header::{Kind, PublisherId, SecurityHeader};

/// A question to a publisher, which the header names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Probe {
    /// What is asked for.
    pub asks: Asks,
}

/// What is asked for. A question for no writer in particular is one for all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Asks {
    /// The endpoints of the server that the publisher is, too.
    Endpoints,
    /// The metadata of these writers.
    MetaData(Vec<u16>),
    /// How these writers and their group are configured.
    Writers(Vec<u16>),
    /// Something else, by the numbers of its probe and information: it is not read.
    Other(u8, u8),
}

const OF_PUBLISHER: u8 = 1;
const ENDPOINTS: u8 = 1;
const META_DATA: u8 = 2;
const WRITERS: u8 = 3;

impl Probe {
    pub(crate) fn read(c: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let of = c.u8("ProbeType")?;
        if of != OF_PUBLISHER {
            return Ok(Self {
                asks: Asks::Other(of, 0),
            });
        }
        let writers =
            |c: &mut Cursor<'_>| array(c, 2, "DataSetWriterIds", |c| c.u16("DataSetWriterId"));
        Ok(Self {
            asks: match c.u8("InformationType")? {
                ENDPOINTS => Asks::Endpoints,
                META_DATA => Asks::MetaData(writers(c)?),
                WRITERS => Asks::Writers(writers(c)?),
                other => Asks::Other(of, other),
            },
        })
    }

    /// Appends it as a NetworkMessage to this publisher, or nothing if there is an error. `security` is the header of a
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
        write_message(Kind::Probe, publisher, security, out, |out| self.write(out))
    }

    fn write(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let (information, writers) = match &self.asks {
            Asks::Endpoints => (ENDPOINTS, None),
            Asks::MetaData(writers) => (META_DATA, Some(writers)),
            Asks::Writers(writers) => (WRITERS, Some(writers)),
            Asks::Other(of, information) => {
                out.extend([*of, *information]);
                return Ok(());
            }
        };
        out.extend([OF_PUBLISHER, information]);
        if let Some(writers) = writers {
            put_count(writers.len(), "DataSetWriterIds", out)?;
            out.extend(writers.iter().flat_map(|it| it.to_le_bytes()));
        }
        Ok(())
    }
}
