//! What stands before the payload (Part 14, 7.2.4.4.2).

use std::borrow::Cow;
use std::fmt;

use wire::template::walk::RawVariant;

use crate::cursor::Cursor;
use crate::error::{Cause, DecodeError};

pub(crate) mod flags {
    pub const VERSION: u8 = 1;
    pub const PUBLISHER_ID: u8 = 1 << 4;
    pub const GROUP_HEADER: u8 = 1 << 5;
    pub const PAYLOAD_HEADER: u8 = 1 << 6;
    pub const EXTENDED_1: u8 = 1 << 7;

    pub const CLASS_ID: u8 = 1 << 3;
    pub const SECURITY: u8 = 1 << 4;
    pub const TIMESTAMP: u8 = 1 << 5;
    pub const PICOSECONDS: u8 = 1 << 6;
    pub const EXTENDED_2: u8 = 1 << 7;

    pub const CHUNK: u8 = 1;
    pub const PROMOTED: u8 = 1 << 1;
    pub const ACTION: u8 = 1 << 5;

    pub const GROUP_ID: u8 = 1;
    pub const GROUP_VERSION: u8 = 1 << 1;
    pub const NUMBER: u8 = 1 << 2;
    pub const SEQUENCE: u8 = 1 << 3;

    pub const SIGNED: u8 = 1;
    pub const ENCRYPTED: u8 = 1 << 1;
    pub const FOOTER: u8 = 1 << 2;
    pub const KEY_RESET: u8 = 1 << 3;
}

/// Who published.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs, reason = "the specification's own types")]
pub enum PublisherId<'a> {
    Byte(u8),
    UInt16(u16),
    UInt32(u32),
    UInt64(u64),
    String(Cow<'a, str>),
}

impl PublisherId<'_> {
    /// The same, borrowing nothing.
    pub fn into_owned(self) -> PublisherId<'static> {
        match self {
            Self::Byte(id) => PublisherId::Byte(id),
            Self::UInt16(id) => PublisherId::UInt16(id),
            Self::UInt32(id) => PublisherId::UInt32(id),
            Self::UInt64(id) => PublisherId::UInt64(id),
            Self::String(id) => PublisherId::String(Cow::Owned(id.into_owned())),
        }
    }

    /// The type, as the specification calls it.
    pub const fn type_name(&self) -> &'static str {
        match self {
            Self::Byte(_) => "Byte",
            Self::UInt16(_) => "UInt16",
            Self::UInt32(_) => "UInt32",
            Self::UInt64(_) => "UInt64",
            Self::String(_) => "String",
        }
    }
}

impl fmt::Display for PublisherId<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Byte(id) => id.fmt(f),
            Self::UInt16(id) => id.fmt(f),
            Self::UInt32(id) => id.fmt(f),
            Self::UInt64(id) => id.fmt(f),
            Self::String(id) => id.fmt(f),
        }
    }
}

/// The header of the writer group.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct GroupHeader {
    /// The group.
    pub writer_group_id: Option<u16>,
    /// When its configuration last changed, in seconds since 2000.
    pub version: Option<u32>,
    /// Which of several NetworkMessages of one publishing interval, from 1.
    pub number: Option<u16>,
    /// Counts the NetworkMessages of the group.
    pub sequence: Option<u16>,
}

/// The header of message security.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SecurityHeader {
    /// A signature ends the message.
    pub signed: bool,
    /// The payload is encrypted.
    pub encrypted: bool,
    /// All keys are void from now on.
    pub force_key_reset: bool,
    /// Which of the group's keys.
    pub token_id: u32,
    /// What makes the keystream of this message another than that of all others.
    pub nonce: Nonce,
    /// Bytes of the footer, if there is one.
    pub footer_len: Option<u16>,
}

/// A MessageNonce: eight bytes by the specification, up to 32 are read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Nonce {
    bytes: [u8; 32],
    len: u8,
}

impl Nonce {
    /// Of these bytes, of which the first 32 count.
    pub fn new(bytes: &[u8]) -> Self {
        debug_assert!(
            bytes.len() <= 32,
            "longer ones are refused where they are read"
        );
        let len = bytes.len().min(32);
        let mut all = [0; 32];
        all[..len].copy_from_slice(&bytes[..len]);
        // Lossless: at most 32.
        Self {
            bytes: all,
            len: len as u8,
        }
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.len)).unwrap_or_default()
    }
}

/// What kind of payload follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// DataSetMessages.
    DataSet,
    /// A question for what there is.
    Probe,
    /// An answer: metadata, writers, endpoints.
    Announcement,
}

/// What other stacks write that the specification does not have, and a reader may take all the same.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tolerance {
    /// A PublisherId of type 6 is a UInt64: so asyncua 2.1.0 writes it.
    pub publisher_id_type_6: bool,
    /// The size of promoted fields counts fields, not bytes: so asyncua 2.1.0 writes it.
    pub promoted_count: bool,
    /// Nulls of index 0 in a delta frame stand for fields that did not change: so open62541 up to
    /// 1.5.10 writes them.
    pub null_deltas: bool,
    /// The sequence in the nonce of secured messages does not move: so open62541 up to 1.5.7 sends
    /// them. A message that is sent again cannot be told from a new one then.
    pub constant_nonce: bool,
}

impl Tolerance {
    /// None of it: the specification as it stands.
    pub const NONE: Self = Self {
        publisher_id_type_6: false,
        promoted_count: false,
        null_deltas: false,
        constant_nonce: false,
    };
    /// All that costs no security.
    pub const HARMLESS: Self = Self {
        publisher_id_type_6: true,
        promoted_count: false,
        null_deltas: true,
        constant_nonce: false,
    };
}

/// All that stands before the payload, where it lies.
#[derive(Debug, Clone, PartialEq)]
pub struct Header<'a> {
    /// Who published.
    pub publisher_id: Option<PublisherId<'a>>,
    /// The class of the DataSet: a Guid as it is on the wire.
    pub class_id: Option<[u8; 16]>,
    /// The writer group.
    pub group: Option<GroupHeader>,
    /// The writers, one for each DataSetMessage.
    pub writers: Option<Writers<'a>>,
    /// When the message was made, in 100 ns since 1601.
    pub timestamp: Option<i64>,
    /// Units of 10 ps to add to that.
    pub picoseconds: Option<u16>,
    /// Promoted fields: Variants one after another.
    pub promoted: Option<&'a [u8]>,
    /// Message security.
    pub security: Option<SecurityHeader>,
    /// What follows.
    pub kind: Kind,
    /// Whether it is a part of a larger message.
    pub chunk: bool,
}

/// The DataSetWriterIds of the payload header, where they lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Writers<'a>(&'a [u8]);

impl Writers<'_> {
    /// How many.
    pub fn len(&self) -> usize {
        self.0.len() / 2
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// One of them.
    #[inline]
    pub fn get(&self, index: usize) -> Option<u16> {
        let bytes = self.0.get(index.checked_mul(2)?..)?.first_chunk()?;
        Some(u16::from_le_bytes(*bytes))
    }
}

impl<'a> Header<'a> {
    /// Reads the headers; the payload begins at the offset that comes with them.
    ///
    /// # Errors
    /// What is wrong, and where.
    pub fn parse(bytes: &'a [u8], tolerance: Tolerance) -> Result<(Self, usize), DecodeError> {
        let mut c = Cursor::new(bytes);
        let header = Self::read(&mut c, tolerance)?;
        Ok((header, c.offset()))
    }

    pub(crate) fn read(c: &mut Cursor<'a>, tolerance: Tolerance) -> Result<Self, DecodeError> {
        let start = *c;
        let first = c.u8("UADPFlags")?;
        if first & 0x0f != flags::VERSION {
            return Err(start.fail(Cause::Version(first & 0x0f)));
        }
        let one = match first & flags::EXTENDED_1 {
            0 => 0,
            _ => c.u8("ExtendedFlags1")?,
        };
        let two_at = *c;
        let two = match one & flags::EXTENDED_2 {
            0 => 0,
            _ => c.u8("ExtendedFlags2")?,
        };
        if two & flags::ACTION != 0 {
            return Err(two_at.fail(Cause::Action));
        }
        let kind = match two >> 2 & 7 {
            0 => Kind::DataSet,
            1 => Kind::Probe,
            2 => Kind::Announcement,
            other => return Err(two_at.fail(Cause::MessageType(other))),
        };
        let chunk = two & flags::CHUNK != 0;
        let publisher_id = match first & flags::PUBLISHER_ID {
            0 => None,
            _ => Some(publisher_id(c, one & 7, tolerance)?),
        };
        let class_id = match one & flags::CLASS_ID {
            0 => None,
            _ => Some(c.array("DataSetClassId")?),
        };
        let group = match first & flags::GROUP_HEADER {
            0 => None,
            _ => Some(group(c)?),
        };
        let writers = match (first & flags::PAYLOAD_HEADER, kind, chunk) {
            (0, ..) => None,
            // Discovery messages have no payload header.
            (_, Kind::Probe | Kind::Announcement, _) => None,
            (_, _, true) => Some(Writers(c.take(2, "DataSetWriterId")?)),
            (_, _, false) => {
                let count = usize::from(c.u8("Count of DataSetMessages")?);
                Some(Writers(c.take(count * 2, "DataSetWriterIds")?))
            }
        };
        let timestamp = match one & flags::TIMESTAMP {
            0 => None,
            _ => Some(c.i64("Timestamp")?),
        };
        let picoseconds = match one & flags::PICOSECONDS {
            0 => None,
            _ => Some(c.u16("PicoSeconds")?),
        };
        let promoted = match two & flags::PROMOTED {
            0 => None,
            _ => Some(promoted(c, tolerance)?),
        };
        let security = match one & flags::SECURITY {
            0 => None,
            _ => Some(security(c)?),
        };
        Ok(Self {
            publisher_id,
            class_id,
            group,
            writers,
            timestamp,
            picoseconds,
            promoted,
            security,
            kind,
            chunk,
        })
    }

    /// Whether the payload is signed or encrypted.
    pub fn is_secured(&self) -> bool {
        self.security.is_some_and(|it| it.signed || it.encrypted)
    }

    /// The writer group, if it is named.
    pub fn writer_group_id(&self) -> Option<u16> {
        self.group.and_then(|it| it.writer_group_id)
    }

    /// Promoted fields, one after another.
    pub fn promoted_fields(&self) -> impl Iterator<Item = RawVariant<'a>> {
        let mut rest = self.promoted.unwrap_or_default();
        // All of it was walked when the header was read.
        std::iter::from_fn(move || {
            let (value, after) = (!rest.is_empty()).then(|| RawVariant::read(rest).ok())??;
            rest = after;
            Some(value)
        })
    }
}

fn publisher_id<'a>(
    c: &mut Cursor<'a>,
    kind: u8,
    tolerance: Tolerance,
) -> Result<PublisherId<'a>, DecodeError> {
    const WHAT: &str = "PublisherId";
    let start = *c;
    Ok(match kind {
        0 => PublisherId::Byte(c.u8(WHAT)?),
        1 => PublisherId::UInt16(c.u16(WHAT)?),
        2 => PublisherId::UInt32(c.u32(WHAT)?),
        3 => PublisherId::UInt64(c.array(WHAT).map(u64::from_le_bytes)?),
        4 => {
            let length = c.array(WHAT).map(i32::from_le_bytes)?;
            let Ok(len) = usize::try_from(length) else {
                return Err(start.fail(Cause::Length { what: WHAT, length }));
            };
            let text = std::str::from_utf8(c.take(len, WHAT)?);
            PublisherId::String(Cow::Borrowed(
                text.map_err(|_| start.fail(Cause::Utf8(WHAT)))?,
            ))
        }
        6 if tolerance.publisher_id_type_6 => {
            PublisherId::UInt64(c.array(WHAT).map(u64::from_le_bytes)?)
        }
        other => return Err(start.fail(Cause::PublisherIdType(other))),
    })
}

fn group(c: &mut Cursor<'_>) -> Result<GroupHeader, DecodeError> {
    let flags = c.u8("GroupFlags")?;
    let mut group = GroupHeader::default();
    if flags & flags::GROUP_ID != 0 {
        group.writer_group_id = Some(c.u16("WriterGroupId")?);
    }
    if flags & flags::GROUP_VERSION != 0 {
        group.version = Some(c.u32("GroupVersion")?);
    }
    if flags & flags::NUMBER != 0 {
        group.number = Some(c.u16("NetworkMessageNumber")?);
    }
    if flags & flags::SEQUENCE != 0 {
        group.sequence = Some(c.u16("SequenceNumber")?);
    }
    Ok(group)
}

/// Their size is in bytes (Part 14, 7.2.4.4.2).
fn promoted<'a>(c: &mut Cursor<'a>, tolerance: Tolerance) -> Result<&'a [u8], DecodeError> {
    let size = usize::from(c.u16("size of promoted fields")?);
    let at = c.offset();
    if tolerance.promoted_count {
        let all = c.rest();
        let mut rest = all;
        for _ in 0..size {
            let begins = at + all.len() - rest.len();
            let (_, after) =
                RawVariant::read(rest).map_err(|error| DecodeError::walked(begins, error))?;
            rest = after;
        }
        c.skip_to(rest);
        return Ok(all.get(..all.len() - rest.len()).unwrap_or_default());
    }
    let all = c.take(size, "promoted fields")?;
    let mut rest = all;
    while !rest.is_empty() {
        let begins = at + all.len() - rest.len();
        let (_, after) =
            RawVariant::read(rest).map_err(|error| DecodeError::walked(begins, error))?;
        rest = after;
    }
    Ok(all)
}

fn security(c: &mut Cursor<'_>) -> Result<SecurityHeader, DecodeError> {
    let flags = c.u8("SecurityFlags")?;
    let token_id = c.u32("SecurityTokenId")?;
    let before = *c;
    let len = c.u8("NonceLength")?;
    if len > 32 {
        return Err(before.fail(Cause::Nonce(len)));
    }
    let nonce = Nonce::new(c.take(usize::from(len), "MessageNonce")?);
    let footer_len = match flags & flags::FOOTER {
        0 => None,
        _ => Some(c.u16("SecurityFooterSize")?),
    };
    Ok(SecurityHeader {
        signed: flags & flags::SIGNED != 0,
        encrypted: flags & flags::ENCRYPTED != 0,
        force_key_reset: flags & flags::KEY_RESET != 0,
        token_id,
        nonce,
        footer_len,
    })
}
