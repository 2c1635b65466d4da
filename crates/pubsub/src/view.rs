//! A NetworkMessage where it lies: its values are visited, not built, and nothing is allocated.

use wire::service::{Limits, decode_data_value, decode_variant};
use wire::template::walk::{RawDataValue, RawVariant};

use crate::chunk::Chunk;
use crate::cursor::Cursor;
use crate::discovery::{Announcement, Probe};
use crate::error::{Cause, DecodeError};
use crate::header::{Header, Kind, Tolerance};
use crate::message::{Changes, Content, DataSetMessage, Fields, NetworkMessage};
use crate::security::Opened;

/// A NetworkMessage where it lies.
#[derive(Debug, Clone, PartialEq)]
pub struct View<'a> {
    /// What stands before the payload.
    pub header: Header<'a>,
    payload: Option<&'a [u8]>,
    at: usize,
    tolerance: Tolerance,
}

/// What a reader knows of messages that do not say it themselves: those without a payload header.
#[derive(Debug, Clone, Copy, Default)]
pub struct Known<'a> {
    /// The size of each DataSetMessage, in their order.
    pub sizes: &'a [u16],
}

impl<'a> View<'a> {
    /// Reads the headers of a datagram. The payload of a secured one stays closed.
    ///
    /// # Errors
    /// What is wrong, and where.
    pub fn parse(bytes: &'a [u8], tolerance: Tolerance) -> Result<Self, DecodeError> {
        let (header, at) = Header::parse(bytes, tolerance)?;
        let payload = bytes.get(at..).unwrap_or_default();
        Self::of(header, payload, at, tolerance)
    }

    /// Reads the headers of a datagram whose payload was decrypted where it lies.
    ///
    /// # Errors
    /// What is wrong, and where.
    pub fn parse_opened(
        bytes: &'a [u8],
        opened: Opened,
        tolerance: Tolerance,
    ) -> Result<Self, DecodeError> {
        let (mut header, at) = Header::parse(bytes, tolerance)?;
        let payload = bytes.get(at..opened.payload_end()).unwrap_or_default();
        if let Some(security) = &mut header.security {
            security.signed = false;
            security.encrypted = false;
        }
        let mut view = Self::of(header, payload, at, tolerance)?;
        if let Some(security) = &mut view.header.security {
            security.signed = opened.signed();
            security.encrypted = opened.encrypted();
        }
        Ok(view)
    }

    fn of(
        header: Header<'a>,
        payload: &'a [u8],
        at: usize,
        tolerance: Tolerance,
    ) -> Result<Self, DecodeError> {
        let payload = match (header.is_secured(), header.security) {
            (true, _) => None,
            (false, Some(security)) => {
                let footer = security.footer_len.map_or(0, usize::from);
                let Some(len) = payload.len().checked_sub(footer) else {
                    let cause = Cause::Short {
                        what: "SecurityFooter",
                        wanted: footer,
                        left: payload.len(),
                    };
                    return Err(DecodeError::new(at, cause));
                };
                payload.get(..len)
            }
            (false, None) => Some(payload),
        };
        Ok(Self {
            header,
            payload,
            at,
            tolerance,
        })
    }

    /// Where the payload begins.
    pub fn payload_at(&self) -> usize {
        self.at
    }

    /// The bytes of the payload.
    ///
    /// # Errors
    /// It is secured and was not opened.
    pub fn payload(&self) -> Result<&'a [u8], DecodeError> {
        self.payload
            .ok_or_else(|| DecodeError::new(self.at, Cause::Sealed))
    }

    /// The part of a larger message that this is.
    ///
    /// # Errors
    /// It is secured and was not opened, or is no part.
    pub fn chunk(&self) -> Result<Chunk<'a>, DecodeError> {
        Chunk::read(&mut Cursor::within(self.payload()?, self.at))
    }

    /// The question that a probe asks; none if it is another message.
    ///
    /// # Errors
    /// It is secured and was not opened, or what is wrong, and where.
    pub fn probe(&self) -> Result<Option<Probe>, DecodeError> {
        match self.header.kind {
            Kind::Probe => Probe::read(&mut Cursor::within(self.payload()?, self.at)).map(Some),
            _ => Ok(None),
        }
    }

    /// What a publisher tells of itself; none if it is another message, or a part of one.
    ///
    /// # Errors
    /// It is secured and was not opened, or what is wrong, and where.
    pub fn announcement(&self) -> Result<Option<Announcement>, DecodeError> {
        match (self.header.kind, self.header.chunk) {
            (Kind::Announcement, false) => {
                Announcement::read(&mut Cursor::within(self.payload()?, self.at)).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// The DataSetMessages, one after another. None of a discovery message or a chunk.
    ///
    /// # Errors
    /// The payload is secured and was not opened, or the sizes are not there.
    pub fn messages(&self, known: Known<'a>) -> Result<SetViews<'a>, DecodeError> {
        let mut cursor = Cursor::within(self.payload()?, self.at);
        let none = self.header.chunk || self.header.kind != Kind::DataSet;
        let writers = self.header.writers;
        let count = writers.map(|it| it.len());
        let sizes = match count {
            Some(count) if count != 1 && !none => cursor.take(count * 2, "sizes")?,
            _ => &[],
        };
        Ok(SetViews {
            cursor,
            left: match (none, count) {
                (true, _) => Some(0),
                (false, count) => count,
            },
            sizes,
            header: self.header.clone(),
            known,
            index: 0,
            tolerance: self.tolerance,
        })
    }

    /// All of it as a value. What it takes is bounded by `limits`, all fields together.
    ///
    /// # Errors
    /// What is wrong, and where.
    pub fn to_message(
        &self,
        known: Known<'a>,
        limits: &Limits,
    ) -> Result<NetworkMessage, DecodeError> {
        let mut limits = *limits;
        let mut messages = Vec::new();
        for set in self.messages(known)? {
            messages.push(set?.to_message(&mut limits)?);
        }
        let promoted = match self.header.promoted {
            None => None,
            Some(_) => {
                let mut values = Vec::new();
                for value in self.header.promoted_fields() {
                    values.push(variant(value, 0, &mut limits)?);
                }
                Some(values)
            }
        };
        let header = self.header.clone();
        Ok(NetworkMessage {
            publisher_id: header.publisher_id.map(|it| it.into_owned()),
            class_id: header.class_id,
            group: header.group,
            payload_header: header.writers.is_some(),
            timestamp: header.timestamp,
            picoseconds: header.picoseconds,
            promoted,
            security: header.security,
            messages,
        })
    }
}

/// DataSetMessages one after another. Ends after the first error.
#[derive(Debug, Clone)]
pub struct SetViews<'a> {
    cursor: Cursor<'a>,
    /// How many there are, if that is known.
    left: Option<usize>,
    sizes: &'a [u8],
    header: Header<'a>,
    known: Known<'a>,
    index: usize,
    tolerance: Tolerance,
}

impl<'a> SetViews<'a> {
    /// The size of the next, where something says it.
    fn size(&self) -> Option<usize> {
        if self.header.writers.is_none() {
            return self.known.sizes.get(self.index).map(|&n| usize::from(n));
        }
        let bytes = self.sizes.get(self.index * 2..)?.first_chunk()?;
        Some(usize::from(u16::from_le_bytes(*bytes)))
    }

    fn read(&mut self) -> Result<SetView<'a>, DecodeError> {
        let writer_id = self.header.writers.and_then(|it| it.get(self.index));
        let at = self.cursor.offset();
        let alone = self.header.writers.is_some();
        match self.size() {
            Some(size) => {
                let bytes = self.cursor.take(size, "DataSetMessage")?;
                SetView::read(bytes, at, writer_id, self.tolerance)
            }
            None => {
                let bytes = self.cursor.rest();
                let view = SetView::read(bytes, at, writer_id, self.tolerance)?;
                // Without sizes it ends where its last field does; alone, or raw, it takes all.
                let used = match (alone, view.header.encoding) {
                    (true, _) | (_, Encoding::Raw) => bytes.len(),
                    (false, _) => view.len()?,
                };
                self.cursor.skip_to(bytes.get(used..).unwrap_or_default());
                Ok(view)
            }
        }
    }
}

impl<'a> Iterator for SetViews<'a> {
    type Item = Result<SetView<'a>, DecodeError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        match &mut self.left {
            Some(left) => *left = left.checked_sub(1)?,
            // A fixed layout may end with zeros.
            None if self.cursor.rest().iter().all(|&byte| byte == 0) => return None,
            None => {}
        }
        let view = self.read();
        self.index += 1;
        if view.is_err() {
            self.left = Some(0);
        }
        Some(view)
    }
}

/// How fields are encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// Each with its type.
    Variant,
    /// Bytes alone.
    Raw,
    /// Each with type, status and times.
    DataValue,
}

impl Encoding {
    /// As the specification calls it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Variant => "Variant",
            Self::Raw => "RawData",
            Self::DataValue => "DataValue",
        }
    }
}

/// What a DataSetMessage says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Frame {
    /// All fields.
    Key,
    /// Fields that changed.
    Delta,
    /// An event.
    Event,
    /// That there is nothing new.
    KeepAlive,
}

/// The header of a DataSetMessage (Part 14, 7.2.4.5.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SetHeader {
    /// Whether the rest means anything.
    pub valid: bool,
    /// How fields are encoded.
    pub encoding: Encoding,
    /// What the message says.
    pub frame: Frame,
    /// Counts the messages of the writer.
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
}

/// A DataSetMessage where it lies.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SetView<'a> {
    /// Its writer, where the payload header says it.
    pub writer_id: Option<u16>,
    /// What stands before the fields.
    pub header: SetHeader,
    body: &'a [u8],
    at: usize,
    start: usize,
    tolerance: Tolerance,
}

impl<'a> SetView<'a> {
    /// Reads the DataSetMessage that is all there is in `bytes`, at `at` of its message.
    ///
    /// # Errors
    /// What is wrong, and where.
    pub fn read(
        bytes: &'a [u8],
        at: usize,
        writer_id: Option<u16>,
        tolerance: Tolerance,
    ) -> Result<Self, DecodeError> {
        let mut c = Cursor::within(bytes, at);
        let header = SetHeader::read(&mut c)?;
        Ok(Self {
            writer_id,
            header,
            at: c.offset(),
            body: c.rest(),
            start: at,
            tolerance,
        })
    }

    /// The bytes of the fields. With RawData these are the fields, as metadata says.
    pub fn body(&self) -> &'a [u8] {
        self.body
    }

    /// Where in the message they begin.
    pub fn body_at(&self) -> usize {
        self.at
    }

    /// The fields, one after another; none of RawData, which needs metadata.
    ///
    /// # Errors
    /// The count is not there, or claims more than the bytes can hold.
    #[inline]
    pub fn fields(&self) -> Result<FieldViews<'a>, DecodeError> {
        let mut cursor = Cursor::within(self.body, self.at);
        let indexed = self.header.frame == Frame::Delta;
        let none = !self.header.valid
            || self.header.frame == Frame::KeepAlive
            || self.header.encoding == Encoding::Raw;
        let count = match none {
            true => 0,
            false => {
                let before = cursor;
                let count = usize::from(cursor.u16("FieldCount")?);
                let least = if indexed { 3 } else { 1 };
                let left = cursor.rest().len();
                if count > left / least {
                    return Err(before.fail(Cause::Count { count, left }));
                }
                count
            }
        };
        Ok(FieldViews {
            cursor,
            left: count,
            index: 0,
            indexed,
            data_values: self.header.encoding == Encoding::DataValue,
            skip_nulls: self.tolerance.null_deltas && indexed,
        })
    }

    /// Bytes from the first of the header to the last of the fields.
    fn len(&self) -> Result<usize, DecodeError> {
        let mut fields = self.fields()?;
        for field in &mut fields {
            field?;
        }
        Ok(fields.cursor.offset() - self.start)
    }

    /// As a value.
    fn to_message(self, limits: &mut Limits) -> Result<DataSetMessage, DecodeError> {
        let SetHeader {
            valid,
            encoding,
            frame,
            sequence,
            timestamp,
            picoseconds,
            status,
            major_version,
            minor_version,
        } = self.header;
        let content = match (valid, frame, encoding) {
            (false, ..) => Content::Invalid,
            (_, Frame::KeepAlive, _) => Content::KeepAlive,
            (_, Frame::Key, Encoding::Raw) => {
                charge(limits, self.body.len(), self.at)?;
                Content::Key(Fields::Raw(self.body.to_vec()))
            }
            (_, Frame::Key, Encoding::Variant) => {
                Content::Key(Fields::Variant(self.variants(limits)?))
            }
            (_, Frame::Event, _) => Content::Event(self.variants(limits)?),
            (_, Frame::Key, Encoding::DataValue) => {
                let mut all = Vec::new();
                for field in self.fields()? {
                    all.extend(data_value(field?, limits)?);
                }
                Content::Key(Fields::DataValue(all))
            }
            (_, Frame::Delta, Encoding::DataValue) => {
                let mut all = Vec::new();
                for field in self.fields()? {
                    let field = field?;
                    all.extend(data_value(field, limits)?.map(|it| (field.index, it)));
                }
                Content::Delta(Changes::DataValue(all))
            }
            (_, Frame::Delta, _) => {
                let mut all = Vec::new();
                for field in self.fields()? {
                    let field = field?;
                    if let FieldValue::Variant(value) = field.value {
                        all.push((field.index, variant(value, field.at, limits)?));
                    }
                }
                Content::Delta(Changes::Variant(all))
            }
        };
        Ok(DataSetMessage {
            writer_id: self.writer_id.unwrap_or_default(),
            sequence,
            timestamp,
            picoseconds,
            status,
            major_version,
            minor_version,
            content,
        })
    }

    fn variants(&self, limits: &mut Limits) -> Result<Vec<wire::types::Variant>, DecodeError> {
        let mut all = Vec::new();
        for field in self.fields()? {
            let field = field?;
            if let FieldValue::Variant(value) = field.value {
                all.push(variant(value, field.at, limits)?);
            }
        }
        Ok(all)
    }
}

impl SetHeader {
    fn read(c: &mut Cursor<'_>) -> Result<Self, DecodeError> {
        let start = *c;
        let one = c.u8("DataSetFlags1")?;
        let mut header = Self {
            valid: one & 1 != 0,
            encoding: Encoding::Variant,
            frame: Frame::Key,
            sequence: None,
            timestamp: None,
            picoseconds: None,
            status: None,
            major_version: None,
            minor_version: None,
        };
        if !header.valid {
            // The rest is not to be looked at (Part 14, 7.2.4.5.4).
            return Ok(header);
        }
        header.encoding = match one >> 1 & 3 {
            0 => Encoding::Variant,
            1 => Encoding::Raw,
            2 => Encoding::DataValue,
            _ => return Err(start.fail(Cause::Encoding)),
        };
        let second = *c;
        let two = match one & 1 << 7 {
            0 => 0,
            _ => c.u8("DataSetFlags2")?,
        };
        header.frame = match two & 0x0f {
            0 => Frame::Key,
            1 => Frame::Delta,
            2 => Frame::Event,
            3 => Frame::KeepAlive,
            other => return Err(second.fail(Cause::DataSetType(other))),
        };
        if header.encoding == Encoding::Raw && matches!(header.frame, Frame::Delta | Frame::Event) {
            return Err(start.fail(Cause::RawFrame));
        }
        if one & 1 << 3 != 0 {
            header.sequence = Some(c.u16("SequenceNumber")?);
        }
        if two & 1 << 4 != 0 {
            header.timestamp = Some(c.i64("Timestamp")?);
        }
        if two & 1 << 5 != 0 {
            header.picoseconds = Some(c.u16("PicoSeconds")?);
        }
        if one & 1 << 4 != 0 {
            header.status = Some(c.u16("Status")?);
        }
        if one & 1 << 5 != 0 {
            header.major_version = Some(c.u32("MajorVersion")?);
        }
        if one & 1 << 6 != 0 {
            header.minor_version = Some(c.u32("MinorVersion")?);
        }
        Ok(header)
    }
}

/// A field where it lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FieldView<'a> {
    /// Which field of the DataSet.
    pub index: u16,
    /// Where in the message its value begins.
    pub at: usize,
    /// The value as it is on the wire.
    pub encoded: &'a [u8],
    /// The value.
    pub value: FieldValue<'a>,
}

/// The value of a field where it lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldValue<'a> {
    /// With its type.
    Variant(RawVariant<'a>),
    /// With type, status and times.
    DataValue(RawDataValue<'a>),
}

impl<'a> FieldValue<'a> {
    /// The value without status and times, if there is one.
    #[inline]
    pub fn variant(&self) -> Option<RawVariant<'a>> {
        match self {
            Self::Variant(value) => Some(*value),
            Self::DataValue(value) => value.value,
        }
    }
}

/// Fields one after another. Ends after the first error.
#[derive(Debug, Clone)]
pub struct FieldViews<'a> {
    cursor: Cursor<'a>,
    left: usize,
    index: u16,
    indexed: bool,
    data_values: bool,
    skip_nulls: bool,
}

impl<'a> FieldViews<'a> {
    /// How many there are still.
    #[inline]
    pub(crate) fn left(&self) -> usize {
        self.left
    }

    /// Bytes that come next, if there are so many.
    #[inline]
    pub(crate) fn ahead(&self, len: usize) -> Option<&'a [u8]> {
        self.cursor.rest().get(..len)
    }

    /// Goes past fields without an index, which take so many bytes; tells which the first of them is.
    #[inline]
    pub(crate) fn skip_fields(&mut self, count: usize, len: usize) -> u16 {
        let first = self.index;
        self.left = self.left.saturating_sub(count);
        // Lossless: counts are UInt16.
        debug_assert!(count <= usize::from(u16::MAX));
        self.index = first.wrapping_add(count as u16);
        let rest = self.cursor.rest().get(len..).unwrap_or_default();
        self.cursor.skip_to(rest);
        first
    }

    #[inline]
    fn read(&mut self) -> Result<FieldView<'a>, DecodeError> {
        let index = match self.indexed {
            true => self.cursor.u16("FieldIndex")?,
            false => self.index,
        };
        self.index = self.index.wrapping_add(1);
        let bytes = self.cursor.rest();
        let at = self.cursor.offset();
        let (value, rest) = match self.data_values {
            false => RawVariant::read(bytes).map(|(it, rest)| (FieldValue::Variant(it), rest)),
            true => RawDataValue::read(bytes).map(|(it, rest)| (FieldValue::DataValue(it), rest)),
        }
        .map_err(|error| DecodeError::walked(at, error))?;
        self.cursor.skip_to(rest);
        let encoded = bytes.get(..bytes.len() - rest.len()).unwrap_or_default();
        Ok(FieldView {
            index,
            at,
            encoded,
            value,
        })
    }
}

impl<'a> Iterator for FieldViews<'a> {
    type Item = Result<FieldView<'a>, DecodeError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            self.left = self.left.checked_sub(1)?;
            let field = self.read();
            match &field {
                Err(_) => self.left = 0,
                Ok(it) if self.skip_nulls && it.index == 0 && is_null(&it.value) => continue,
                Ok(_) => {}
            }
            return Some(field);
        }
    }
}

fn is_null(value: &FieldValue<'_>) -> bool {
    value.variant().is_none_or(|it| it.encoded() == [0])
}

/// Takes what a value may need from what is left.
pub(crate) fn charge(limits: &mut Limits, bytes: usize, at: usize) -> Result<(), DecodeError> {
    match limits.memory.checked_sub(bytes) {
        Some(left) => {
            limits.memory = left;
            Ok(())
        }
        None => {
            let what =
                format!("the message would take more than {bytes} bytes of memory over its limit");
            Err(DecodeError::new(at, Cause::Decode(what)))
        }
    }
}

fn variant(
    value: RawVariant<'_>,
    at: usize,
    limits: &mut Limits,
) -> Result<wire::types::Variant, DecodeError> {
    // A Variant on the stack takes 32 bytes; what hangs on it is measured before it is built, at
    // most so many bytes for each on the wire.
    charge(limits, 32 + value.encoded().len(), at)?;
    decode_variant(value.encoded(), limits).map_err(|error| {
        DecodeError::new(at + error.offset, Cause::Decode(error.cause.to_string()))
    })
}

fn data_value(
    field: FieldView<'_>,
    limits: &mut Limits,
) -> Result<Option<wire::types::DataValue>, DecodeError> {
    let FieldValue::DataValue(_) = field.value else {
        return Ok(None);
    };
    let encoded = field.encoded;
    charge(limits, 96 + encoded.len(), field.at)?;
    let decoded = decode_data_value(encoded, limits).map_err(|error| {
        DecodeError::new(
            field.at + error.offset,
            Cause::Decode(error.cause.to_string()),
        )
    })?;
    Ok(Some(decoded))
}
