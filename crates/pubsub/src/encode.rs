//! A NetworkMessage to bytes, and where in them is what changes from one to the next.

use wire::service::{encode_data_value, encode_variant};
use wire::types::Variant;

use crate::header::{PublisherId, SecurityHeader, flags};
use crate::message::{Changes, Content, DataSetMessage, Fields, NetworkMessage};

/// A message that has no form on the wire.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// More than a length on the wire can say.
    #[error("{count} {what}; at most {most} have a place in one message")]
    TooMany {
        /// What there is too much of.
        what: &'static str,
        /// How many.
        count: usize,
        /// The most.
        most: usize,
    },
    /// Promoted fields belong to one DataSet.
    #[error("promoted fields with {0} DataSetMessages; they need exactly one")]
    Promoted(usize),
    /// A value that cannot be encoded.
    #[error(transparent)]
    Value(#[from] wire::service::EncodeError),
    /// A type that JSON is not written of.
    #[error("a {0}: it is not written in JSON")]
    NotInJson(&'static str),
    /// A value that does not fit its metadata.
    #[error("field {index}: {what}")]
    Raw {
        /// The field.
        index: usize,
        /// What does not fit.
        what: &'static str,
    },
}

/// Where things lie in an encoded message.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Offsets {
    /// The sequence number of the group.
    pub sequence: Option<usize>,
    /// The payload header.
    pub writers: Option<usize>,
    /// The timestamp of the message.
    pub timestamp: Option<usize>,
    /// The SecurityTokenId; the nonce begins five bytes later.
    pub token: Option<usize>,
    /// The payload: sizes, DataSetMessages, footer.
    pub payload: usize,
    /// Each DataSetMessage.
    pub sets: Vec<SetOffsets>,
}

/// Where things lie in a DataSetMessage.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SetOffsets {
    /// Its first byte.
    pub start: usize,
    /// Its sequence number.
    pub sequence: Option<usize>,
    /// Its timestamp.
    pub timestamp: Option<usize>,
    /// Its fields: of key frames after their count.
    pub fields: usize,
    /// The byte after the last.
    pub end: usize,
}

impl NetworkMessage {
    /// Appends the message to `out`, or nothing if there is an error. Offsets count from where it begins.
    ///
    /// # Errors
    /// It has no form on the wire.
    pub fn encode(&self, out: &mut Vec<u8>) -> Result<Offsets, EncodeError> {
        let start = out.len();
        self.write(out, start).inspect_err(|_| out.truncate(start))
    }

    fn write(&self, out: &mut Vec<u8>, start: usize) -> Result<Offsets, EncodeError> {
        let mut at = Offsets::default();
        let messages = self.messages.len();
        let Ok(count) = u8::try_from(messages) else {
            return Err(too_many("DataSetMessages", messages, 255));
        };
        self.write_flags(out);
        if let Some(id) = &self.publisher_id {
            write_publisher_id(id, out)?;
        }
        if let Some(id) = self.class_id {
            out.extend(id);
        }
        if let Some(group) = self.group {
            out.push(
                bit(group.writer_group_id, flags::GROUP_ID)
                    | bit(group.version, flags::GROUP_VERSION)
                    | bit(group.number, flags::NUMBER)
                    | bit(group.sequence, flags::SEQUENCE),
            );
            out.extend(group.writer_group_id.map(u16::to_le_bytes).iter().flatten());
            out.extend(group.version.map(u32::to_le_bytes).iter().flatten());
            out.extend(group.number.map(u16::to_le_bytes).iter().flatten());
            at.sequence = group.sequence.map(|_| out.len() - start);
            out.extend(group.sequence.map(u16::to_le_bytes).iter().flatten());
        }
        if self.payload_header {
            at.writers = Some(out.len() - start);
            out.push(count);
            for message in &self.messages {
                out.extend(message.writer_id.to_le_bytes());
            }
        }
        at.timestamp = self.timestamp.map(|_| out.len() - start);
        out.extend(self.timestamp.map(i64::to_le_bytes).iter().flatten());
        out.extend(self.picoseconds.map(u16::to_le_bytes).iter().flatten());
        if let Some(promoted) = &self.promoted {
            if messages != 1 {
                return Err(EncodeError::Promoted(messages));
            }
            write_promoted(promoted, out)?;
        }
        if let Some(security) = &self.security {
            at.token = Some(out.len() - start + 1);
            write_security(security, out);
        }
        at.payload = out.len() - start;
        // Sizes are there where there is a payload header with several messages.
        let sizes = out.len();
        if self.payload_header && messages != 1 {
            out.resize(sizes + 2 * messages, 0);
        }
        for (n, message) in self.messages.iter().enumerate() {
            let set = message.write(out, start)?;
            let len = set.end - set.start;
            at.sets.push(set);
            let Ok(size) = u16::try_from(len) else {
                if messages == 1 {
                    continue;
                }
                return Err(too_many("bytes of a DataSetMessage", len, 65_535));
            };
            let place = sizes + 2 * n;
            if self.payload_header
                && messages != 1
                && let Some(place) = out.get_mut(place..place + 2)
            {
                place.copy_from_slice(&size.to_le_bytes());
            }
        }
        if let Some(len) = self.security.and_then(|it| it.footer_len) {
            out.resize(out.len() + usize::from(len), 0);
        }
        Ok(at)
    }

    fn write_flags(&self, out: &mut Vec<u8>) {
        let two = match &self.promoted {
            Some(_) => flags::PROMOTED,
            None => 0,
        };
        let kind = match &self.publisher_id {
            None | Some(PublisherId::Byte(_)) => 0,
            Some(PublisherId::UInt16(_)) => 1,
            Some(PublisherId::UInt32(_)) => 2,
            Some(PublisherId::UInt64(_)) => 3,
            Some(PublisherId::String(_)) => 4,
        };
        let one = kind
            | bit(self.class_id, flags::CLASS_ID)
            | bit(self.security, flags::SECURITY)
            | bit(self.timestamp, flags::TIMESTAMP)
            | bit(self.picoseconds, flags::PICOSECONDS)
            | bit((two != 0).then_some(()), flags::EXTENDED_2);
        out.push(
            flags::VERSION
                | bit(self.publisher_id.as_ref(), flags::PUBLISHER_ID)
                | bit(self.group, flags::GROUP_HEADER)
                | bit(self.payload_header.then_some(()), flags::PAYLOAD_HEADER)
                | bit((one != 0).then_some(()), flags::EXTENDED_1),
        );
        // Flags of zero shall be left out (Part 14, 7.2.4.4.2).
        out.extend((one != 0).then_some(one));
        out.extend((two != 0).then_some(two));
    }
}

fn bit<T>(there: Option<T>, flag: u8) -> u8 {
    match there {
        Some(_) => flag,
        None => 0,
    }
}

fn too_many(what: &'static str, count: usize, most: usize) -> EncodeError {
    EncodeError::TooMany { what, count, most }
}

pub(crate) fn write_publisher_id(
    id: &PublisherId<'_>,
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    match id {
        PublisherId::Byte(id) => out.push(*id),
        PublisherId::UInt16(id) => out.extend(id.to_le_bytes()),
        PublisherId::UInt32(id) => out.extend(id.to_le_bytes()),
        PublisherId::UInt64(id) => out.extend(id.to_le_bytes()),
        PublisherId::String(id) => {
            let len = i32::try_from(id.len())
                .map_err(|_| too_many("bytes of a PublisherId", id.len(), 65_535))?;
            out.extend(len.to_le_bytes());
            out.extend(id.as_bytes());
        }
    }
    Ok(())
}

fn write_promoted(promoted: &[Variant], out: &mut Vec<u8>) -> Result<(), EncodeError> {
    let size_at = out.len();
    out.extend([0; 2]);
    for value in promoted {
        encode_variant(value, out)?;
    }
    let len = out.len() - size_at - 2;
    let size = u16::try_from(len).map_err(|_| too_many("bytes of promoted fields", len, 65_535))?;
    if let Some(place) = out.get_mut(size_at..size_at + 2) {
        place.copy_from_slice(&size.to_le_bytes());
    }
    Ok(())
}

pub(crate) fn write_security(security: &SecurityHeader, out: &mut Vec<u8>) {
    out.push(
        bit(security.signed.then_some(()), flags::SIGNED)
            | bit(security.encrypted.then_some(()), flags::ENCRYPTED)
            | bit(security.footer_len, flags::FOOTER)
            | bit(security.force_key_reset.then_some(()), flags::KEY_RESET),
    );
    out.extend(security.token_id.to_le_bytes());
    let nonce = security.nonce.bytes();
    // Lossless: at most 32.
    debug_assert!(nonce.len() <= 32);
    out.push(nonce.len() as u8);
    out.extend(nonce);
    out.extend(security.footer_len.map(u16::to_le_bytes).iter().flatten());
}

impl DataSetMessage {
    fn write(&self, out: &mut Vec<u8>, base: usize) -> Result<SetOffsets, EncodeError> {
        let mut at = SetOffsets {
            start: out.len() - base,
            ..SetOffsets::default()
        };
        let (kind, encoding) = match &self.content {
            Content::Key(fields) => (0, fields.encoding()),
            Content::Delta(Changes::Variant(_)) => (1, 0),
            Content::Delta(Changes::DataValue(_)) => (1, 2),
            Content::Event(_) => (2, 0),
            Content::KeepAlive => (3, 0),
            Content::Invalid => {
                out.push(0);
                at.fields = out.len() - base;
                at.end = at.fields;
                return Ok(at);
            }
        };
        let two = kind | bit(self.timestamp, 1 << 4) | bit(self.picoseconds, 1 << 5);
        out.push(
            1 | encoding << 1
                | bit(self.sequence, 1 << 3)
                | bit(self.status, 1 << 4)
                | bit(self.major_version, 1 << 5)
                | bit(self.minor_version, 1 << 6)
                | bit((two != 0).then_some(()), 1 << 7),
        );
        out.extend((two != 0).then_some(two));
        at.sequence = self.sequence.map(|_| out.len() - base);
        out.extend(self.sequence.map(u16::to_le_bytes).iter().flatten());
        at.timestamp = self.timestamp.map(|_| out.len() - base);
        out.extend(self.timestamp.map(i64::to_le_bytes).iter().flatten());
        out.extend(self.picoseconds.map(u16::to_le_bytes).iter().flatten());
        out.extend(self.status.map(u16::to_le_bytes).iter().flatten());
        out.extend(self.major_version.map(u32::to_le_bytes).iter().flatten());
        out.extend(self.minor_version.map(u32::to_le_bytes).iter().flatten());
        at.fields = write_content(&self.content, out)? - base;
        at.end = out.len() - base;
        Ok(at)
    }
}

impl Fields {
    fn encoding(&self) -> u8 {
        match self {
            Self::Variant(_) => 0,
            Self::Raw(_) => 1,
            Self::DataValue(_) => 2,
        }
    }
}

/// Tells where the fields begin.
fn write_content(content: &Content, out: &mut Vec<u8>) -> Result<usize, EncodeError> {
    let counted = |out: &mut Vec<u8>, count: usize| {
        let n = u16::try_from(count).map_err(|_| too_many("fields", count, 65_535))?;
        out.extend(n.to_le_bytes());
        Ok::<_, EncodeError>(out.len())
    };
    Ok(match content {
        Content::Key(Fields::Raw(bytes)) => {
            let at = out.len();
            out.extend(bytes);
            at
        }
        Content::Key(Fields::Variant(values)) | Content::Event(values) => {
            let at = counted(out, values.len())?;
            for value in values {
                encode_variant(value, out)?;
            }
            at
        }
        Content::Key(Fields::DataValue(values)) => {
            let at = counted(out, values.len())?;
            for value in values {
                encode_data_value(value, out)?;
            }
            at
        }
        Content::Delta(Changes::Variant(values)) => {
            let at = counted(out, values.len())?;
            for (index, value) in values {
                out.extend(index.to_le_bytes());
                encode_variant(value, out)?;
            }
            at
        }
        Content::Delta(Changes::DataValue(values)) => {
            let at = counted(out, values.len())?;
            for (index, value) in values {
                out.extend(index.to_le_bytes());
                encode_data_value(value, out)?;
            }
            at
        }
        Content::KeepAlive | Content::Invalid => out.len(),
    })
}
