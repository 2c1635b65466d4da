//! A NetworkMessage where it lies: its fields are visited, not built.

use wire::service::Limits;
use wire::types::{DataValue, Variant, VariantScalarTypeId as Type};

use super::message::{JsonDataSetMessage, JsonField, JsonNetworkMessage, frame_name};
use super::read_value::{
    Typed, named_type, not_that, read_bare, read_data_value, read_stamps, read_status, read_time,
};
use super::scan::{Items, Kind, Members, Text, Value};
use crate::error::DecodeError;
use crate::view::{Encoding, Frame, charge};

/// What a NetworkMessage is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageType<'a> {
    /// DataSetMessages.
    Data,
    /// A description of a DataSet.
    MetaData,
    /// How a publisher is.
    Status,
    /// Another one of Part 14, by its name.
    Other(Text<'a>),
}

/// A NetworkMessage in JSON where it lies.
#[derive(Debug, Clone, Copy)]
pub struct JsonView<'a> {
    /// What it is for.
    pub message_type: MessageType<'a>,
    /// Names this message.
    pub message_id: Option<Text<'a>>,
    /// Who publishes.
    pub publisher_id: Option<Text<'a>>,
    /// The writer group.
    pub writer_group: Option<Text<'a>>,
    /// The class of the DataSet.
    pub class_id: Option<Text<'a>>,
    /// All of it.
    pub whole: Value<'a>,
    sets: Option<Value<'a>>,
    bare: bool,
}

impl<'a> JsonView<'a> {
    /// Reads a text. Fields without any header are taken only if `bare` says that they may come: any object looks
    /// like them.
    ///
    /// # Errors
    /// It is no JSON, or none of Part 14.
    pub fn parse(bytes: &'a [u8], bare: bool) -> Result<Self, DecodeError> {
        let whole = Value::parse(bytes).map_err(DecodeError::not_json)?;
        let mut view = Self {
            message_type: MessageType::Data,
            message_id: None,
            publisher_id: None,
            writer_group: None,
            class_id: None,
            whole,
            sets: Some(whole),
            bare,
        };
        match whole.kind() {
            Kind::Array => return Ok(view),
            Kind::Object => {}
            _ => return Err(not_that(whole, NEITHER)),
        }
        let kind = whole.get("MessageType").and_then(Value::text);
        let messages = whole.get("Messages");
        view.message_type = match kind {
            Some(it) if it.is("ua-data") => MessageType::Data,
            None if messages.is_some() => MessageType::Data,
            Some(it) if frame_of(it).is_some() => return Ok(view),
            Some(it) if it.is("ua-metadata") => MessageType::MetaData,
            Some(it) if it.is("ua-status") => MessageType::Status,
            Some(it) if it.read().starts_with("ua-") => MessageType::Other(it),
            // A DataSetMessage alone, or the fields alone.
            _ if SetView::has_header(whole) || bare => return Ok(view),
            _ => return Err(not_that(whole, NEITHER)),
        };
        view.sets = match view.message_type {
            MessageType::Data => messages,
            _ => None,
        };
        for (name, it) in whole.members() {
            let place = if name.is("MessageId") {
                &mut view.message_id
            } else if name.is("PublisherId") {
                &mut view.publisher_id
            } else if name.is("WriterGroupName") {
                &mut view.writer_group
            } else if name.is("DataSetClassId") {
                &mut view.class_id
            } else {
                continue;
            };
            *place = place.or(it.plain());
        }
        Ok(view)
    }

    /// The DataSetMessages, one after another. None of other types of messages.
    pub fn sets(&self) -> SetViews<'a> {
        let (items, alone) = match self.sets {
            Some(it) if it.kind() == Kind::Array => (Some(it.items()), None),
            other => (None, other),
        };
        SetViews {
            items,
            alone,
            bare: self.bare,
        }
    }

    /// As a value.
    ///
    /// # Errors
    /// What is wrong, and where; also that it would take more memory than `limits` allow.
    pub fn to_message(&self, limits: &Limits) -> Result<JsonNetworkMessage, DecodeError> {
        let mut limits = *limits;
        let owned = |it: Option<Text<'_>>| it.map(|it| it.read().into_owned());
        let mut messages = Vec::new();
        charge(&mut limits, self.whole.as_written().len(), 0)?;
        for set in self.sets() {
            messages.push(set?.to_message(&mut limits)?);
        }
        Ok(JsonNetworkMessage {
            header: self.sets.is_none_or(|it| it != self.whole),
            message_id: owned(self.message_id),
            publisher_id: owned(self.publisher_id),
            writer_group: owned(self.writer_group),
            class_id: owned(self.class_id),
            single: self.sets.is_some_and(|it| it.kind() != Kind::Array),
            messages,
        })
    }
}

const NEITHER: &str = "neither a NetworkMessage nor a DataSetMessage";

fn frame_of(name: Text<'_>) -> Option<Frame> {
    let all = [Frame::Key, Frame::Delta, Frame::Event, Frame::KeepAlive];
    all.into_iter().find(|it| name.is(frame_name(*it)))
}

/// DataSetMessages one after another.
#[derive(Debug, Clone)]
pub struct SetViews<'a> {
    items: Option<Items<'a>>,
    alone: Option<Value<'a>>,
    bare: bool,
}

impl<'a> Iterator for SetViews<'a> {
    type Item = Result<SetView<'a>, DecodeError>;

    fn next(&mut self) -> Option<Self::Item> {
        let value = match &mut self.items {
            Some(items) => items.next(),
            None => self.alone.take(),
        };
        Some(SetView::read(value?, self.bare))
    }
}

/// A DataSetMessage where it lies.
#[derive(Debug, Clone, Copy)]
pub struct SetView<'a> {
    /// Whether it has a header.
    pub header: bool,
    /// Its DataSetWriter.
    pub writer_id: Option<u16>,
    /// The name of that.
    pub writer_name: Option<Text<'a>>,
    /// Who publishes.
    pub publisher_id: Option<Text<'a>>,
    /// The writer group.
    pub writer_group: Option<Text<'a>>,
    /// Counts the messages of the writer.
    pub sequence: Option<u32>,
    /// Version of the metadata: what fields there are.
    pub major_version: Option<u32>,
    /// Version of the metadata: smaller changes.
    pub minor_version: Option<u32>,
    /// When the values were taken, in 100 ns since 1601.
    pub timestamp: Option<i64>,
    /// A status code for all values.
    pub status: Option<u32>,
    /// What the message says. Without its own word that is told by whether there are fields.
    pub frame: Frame,
    said: bool,
    payload: Option<Value<'a>>,
}

impl<'a> SetView<'a> {
    /// Whether an object looks like a DataSetMessage with a header, not like fields.
    fn has_header(value: Value<'_>) -> bool {
        let fields = value.get("Payload").map(Value::kind);
        fields == Some(Kind::Object)
            || (fields.is_none()
                && value
                    .get("DataSetWriterId")
                    .is_some_and(|it| it.plain().is_some()))
    }

    fn read(value: Value<'a>, bare: bool) -> Result<Self, DecodeError> {
        let mut view = Self {
            header: true,
            writer_id: None,
            writer_name: None,
            publisher_id: None,
            writer_group: None,
            sequence: None,
            major_version: None,
            minor_version: None,
            timestamp: None,
            status: None,
            frame: Frame::Key,
            said: false,
            payload: None,
        };
        let kind = value.get("MessageType").and_then(Value::text);
        let frame = kind.and_then(frame_of);
        if value.kind() != Kind::Object {
            return Err(not_that(value, "no DataSetMessage"));
        }
        if frame.is_none() && !Self::has_header(value) {
            if !bare {
                return Err(not_that(
                    value,
                    "no DataSetMessage: without Payload and DataSetWriterId",
                ));
            }
            view.header = false;
            view.payload = Some(value);
            return Ok(view);
        }
        for (name, it) in value.members() {
            view.member(name, it)?;
        }
        view.said = frame.is_some();
        view.frame = frame.unwrap_or(match view.payload {
            Some(_) => Frame::Key,
            None => Frame::KeepAlive,
        });
        Ok(view)
    }

    fn member(&mut self, name: Text<'a>, it: Value<'a>) -> Result<(), DecodeError> {
        // A null says nothing.
        if it.kind() == Kind::Null {
            return Ok(());
        }
        if name.is("DataSetWriterId") {
            self.writer_id = Some(count(it, "DataSetWriterId")?);
        } else if name.is("DataSetWriterName") {
            self.writer_name = it.plain();
        } else if name.is("PublisherId") {
            self.publisher_id = it.plain();
        } else if name.is("WriterGroupName") {
            self.writer_group = it.plain();
        } else if name.is("SequenceNumber") {
            self.sequence = Some(count(it, "SequenceNumber")?);
        } else if name.is("MetaDataVersion") {
            for (name, it) in it.members() {
                if name.is("MajorVersion") {
                    self.major_version = Some(count(it, "MajorVersion")?);
                } else if name.is("MinorVersion") {
                    self.minor_version = Some(count(it, "MinorVersion")?);
                }
            }
        } else if name.is("MinorVersion") {
            self.minor_version = Some(count(it, "MinorVersion")?);
        } else if name.is("Timestamp") {
            self.timestamp = Some(read_time(it)?);
        } else if name.is("Status") {
            self.status = Some(read_status(it)?);
        } else if name.is("Payload") {
            self.payload = (it.kind() == Kind::Object).then_some(it);
        }
        Ok(())
    }

    /// The fields, one after another.
    pub fn fields(&self) -> FieldViews<'a> {
        FieldViews(self.payload.map(Value::members))
    }

    fn to_message(self, limits: &mut Limits) -> Result<JsonDataSetMessage, DecodeError> {
        let owned = |it: Option<Text<'_>>| it.map(|it| it.read().into_owned());
        let payload = match self.payload {
            None => None,
            Some(payload) => {
                let mut all = Vec::new();
                for field in self.fields() {
                    charge(limits, 128 + field.value.as_written().len(), payload.at())?;
                    all.push((field.name.read().into_owned(), field.read(limits)?));
                }
                Some(all)
            }
        };
        Ok(JsonDataSetMessage {
            header: self.header,
            writer_id: self.writer_id,
            writer_name: owned(self.writer_name),
            publisher_id: owned(self.publisher_id),
            writer_group: owned(self.writer_group),
            sequence: self.sequence,
            major_version: self.major_version,
            minor_version: self.minor_version,
            timestamp: self.timestamp,
            status: self.status,
            frame: self.said.then_some(self.frame),
            payload,
        })
    }
}

/// A number, or a string with one, as 1.04 had the DataSetWriterId.
fn count<T: std::str::FromStr>(value: Value<'_>, what: &'static str) -> Result<T, DecodeError> {
    let number = value.plain().and_then(|it| it.read().parse().ok());
    number.ok_or_else(|| not_that(value, what))
}

/// Fields one after another.
#[derive(Debug, Clone)]
pub struct FieldViews<'a>(Option<Members<'a>>);

impl<'a> Iterator for FieldViews<'a> {
    type Item = FieldView<'a>;

    fn next(&mut self) -> Option<FieldView<'a>> {
        let (name, value) = self.0.as_mut()?.next()?;
        Some(FieldView {
            name,
            value,
            encoding: encoding_of(value),
        })
    }
}

/// A field where it lies.
#[derive(Debug, Clone, Copy)]
pub struct FieldView<'a> {
    /// Its name.
    pub name: Text<'a>,
    /// All that stands there.
    pub value: Value<'a>,
    /// How it looks: with a type, with times as well, or bare.
    pub encoding: Encoding,
}

/// Whether an object is a Variant or a DataValue. Structures may look like either only if their fields have exactly
/// those names.
fn encoding_of(value: Value<'_>) -> Encoding {
    if value.kind() != Kind::Object {
        return Encoding::Raw;
    }
    let (mut new, mut old, mut body, mut inner, mut times, mut others) =
        (false, false, false, false, false, false);
    for (name, it) in value.members() {
        if name.is("UaType") {
            new |= named_type(it).is_some();
        } else if name.is("Type") {
            old |= named_type(it).is_some();
        } else if name.is("Body") {
            body = true;
        } else if name.is("Value") {
            inner = true;
        } else if TIMES.iter().any(|time| name.is(time)) {
            times = true;
        } else if !name.is("Dimensions") {
            others = true;
        }
    }
    match (others, new, old && body) {
        (true, ..) => Encoding::Raw,
        (_, true, _) if times => Encoding::DataValue,
        (_, true, _) => Encoding::Variant,
        (_, _, true) if !inner && !times => Encoding::Variant,
        _ if (inner || times) && !old && !body => Encoding::DataValue,
        _ => Encoding::Raw,
    }
}

const TIMES: [&str; 8] = [
    "Status",
    "StatusCode",
    "SourceTimestamp",
    "ServerTimestamp",
    "SourcePicoseconds",
    "ServerPicoseconds",
    "SourcePicoSeconds",
    "ServerPicoSeconds",
];

impl<'a> FieldView<'a> {
    /// Its value with the type that it says itself; as it is written if it says none.
    ///
    /// # Errors
    /// It is no value of its type, or takes too much memory.
    pub fn read(&self, limits: &mut Limits) -> Result<JsonField, DecodeError> {
        let raw = || JsonField::Raw(self.value.as_written().to_owned());
        match self.encoding {
            Encoding::Raw => Ok(raw()),
            Encoding::Variant => match Typed::of(self.value) {
                Some(typed) => Ok(JsonField::Variant(typed.read(limits)?)),
                None => Ok(raw()),
            },
            Encoding::DataValue if self.is_typed() => {
                Ok(JsonField::DataValue(read_data_value(self.value, limits)?))
            }
            Encoding::DataValue => Ok(raw()),
        }
    }

    /// Whether it says its type.
    fn is_typed(&self) -> bool {
        let inner = self.value.get("Value");
        Typed::of(self.value).is_some() || inner.is_none_or(|it| Typed::of(it).is_some())
    }

    /// Its value by a type that metadata says.
    ///
    /// # Errors
    /// It is no value of this type, or takes too much memory.
    pub fn read_as(&self, kind: Type, limits: &mut Limits) -> Result<DataValue, DecodeError> {
        let plain = |value: Variant| DataValue {
            value: Some(value),
            ..DataValue::default()
        };
        match self.encoding {
            Encoding::DataValue if !self.is_typed() => {
                let mut read = read_stamps(self.value)?;
                if let Some(value) = self.value.get("Value") {
                    read.value = Some(read_bare(kind, None, value, limits)?);
                }
                Ok(read)
            }
            Encoding::DataValue => read_data_value(self.value, limits),
            Encoding::Variant => match Typed::of(self.value) {
                Some(typed) => Ok(plain(typed.read(limits)?)),
                None => Ok(plain(read_bare(kind, None, self.value, limits)?)),
            },
            Encoding::Raw => Ok(plain(read_bare(kind, None, self.value, limits)?)),
        }
    }
}
