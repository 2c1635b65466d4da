//! A NetworkMessage as a value.

use wire::types::{DataValue, Variant};

use crate::header::{GroupHeader, PublisherId, SecurityHeader};

/// DataSetMessages on their way, with all that stands before them.
///
/// What is `None` is not on the wire.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NetworkMessage {
    /// Who publishes.
    pub publisher_id: Option<PublisherId<'static>>,
    /// The class of the DataSet: a Guid as it is on the wire.
    pub class_id: Option<[u8; 16]>,
    /// The writer group.
    pub group: Option<GroupHeader>,
    /// Whether the writers are named. If not, a reader has to know them.
    pub payload_header: bool,
    /// When the message was made, in 100 ns since 1601.
    pub timestamp: Option<i64>,
    /// Units of 10 ps to add to that.
    pub picoseconds: Option<u16>,
    /// Promoted fields, for messages of one DataSetMessage.
    pub promoted: Option<Vec<Variant>>,
    /// Message security. What it says is done by [`security`](crate::security), not by the encoder.
    pub security: Option<SecurityHeader>,
    /// What is published.
    pub messages: Vec<DataSetMessage>,
}

/// The values of one DataSet.
#[derive(Debug, Clone, PartialEq)]
pub struct DataSetMessage {
    /// Its DataSetWriter, which is on the wire in the payload header.
    pub writer_id: u16,
    /// Counts the DataSetMessages of the writer.
    pub sequence: Option<u16>,
    /// When the values were taken, in 100 ns since 1601.
    pub timestamp: Option<i64>,
    /// Units of 10 ps to add to that.
    pub picoseconds: Option<u16>,
    /// The upper half of the status code.
    pub status: Option<u16>,
    /// Version of the metadata: what fields there are.
    pub major_version: Option<u32>,
    /// Version of the metadata: smaller changes.
    pub minor_version: Option<u32>,
    /// The values.
    pub content: Content,
}

/// What a DataSetMessage says.
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    /// All fields.
    Key(Fields),
    /// Fields that changed, with their indices.
    Delta(Changes),
    /// The fields of an event.
    Event(Vec<Variant>),
    /// That there is nothing new.
    KeepAlive,
    /// That it is not valid: the writer is disabled. Nothing else is on the wire.
    Invalid,
}

/// All fields of a DataSet.
#[derive(Debug, Clone, PartialEq)]
pub enum Fields {
    /// Each with its type.
    Variant(Vec<Variant>),
    /// Each with type, status and times.
    DataValue(Vec<DataValue>),
    /// Bytes that [`raw`](crate::raw) has made, for those who know the metadata.
    Raw(Vec<u8>),
}

/// Some fields of a DataSet.
#[derive(Debug, Clone, PartialEq)]
pub enum Changes {
    /// Each with its type.
    Variant(Vec<(u16, Variant)>),
    /// Each with type, status and times.
    DataValue(Vec<(u16, DataValue)>),
}

impl DataSetMessage {
    /// With these values and nothing else.
    pub fn new(writer_id: u16, content: Content) -> Self {
        Self {
            writer_id,
            sequence: None,
            timestamp: None,
            picoseconds: None,
            status: None,
            major_version: None,
            minor_version: None,
            content,
        }
    }
}
