//! A NetworkMessage as a value, and its text.

use std::fmt::Write as _;

use wire::types::{DataValue, StatusCode, Variant};

use super::write_value::{
    Style, write_bare, write_data_value, write_status, write_text, write_time, write_variant,
};
use crate::encode::EncodeError;
use crate::view::Frame;

/// DataSetMessages on their way. What is `None` is not in the text.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct JsonNetworkMessage {
    /// Whether there is a header. Without one the text is the DataSetMessages alone.
    pub header: bool,
    /// Names this message.
    pub message_id: Option<String>,
    /// Who publishes.
    pub publisher_id: Option<String>,
    /// The writer group.
    pub writer_group: Option<String>,
    /// The class of the DataSet: a Guid.
    pub class_id: Option<String>,
    /// Whether a DataSetMessage that is alone stands there without the brackets of an array.
    pub single: bool,
    /// What is published.
    pub messages: Vec<JsonDataSetMessage>,
}

/// The values of one DataSet.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct JsonDataSetMessage {
    /// Whether there is a header. Without one the text is the fields alone.
    pub header: bool,
    /// Its DataSetWriter.
    pub writer_id: Option<u16>,
    /// The name of that.
    pub writer_name: Option<String>,
    /// Who publishes, where the NetworkMessage does not say it.
    pub publisher_id: Option<String>,
    /// The writer group, where the NetworkMessage does not say it.
    pub writer_group: Option<String>,
    /// Counts the DataSetMessages of the writer.
    pub sequence: Option<u32>,
    /// Version of the metadata: what fields there are.
    pub major_version: Option<u32>,
    /// Version of the metadata: smaller changes.
    pub minor_version: Option<u32>,
    /// When the values were taken, in 100 ns since 1601.
    pub timestamp: Option<i64>,
    /// A status code for all values.
    pub status: Option<u32>,
    /// What the message says, if it says so.
    pub frame: Option<Frame>,
    /// The fields by their names; a keep-alive message has none.
    pub payload: Option<Vec<(String, JsonField)>>,
}

/// A field of a DataSet.
#[derive(Debug, Clone, PartialEq)]
pub enum JsonField {
    /// A value with its type.
    Variant(Variant),
    /// A value with its type, status and times.
    DataValue(DataValue),
    /// JSON whose type is not said: a value in RawData or in the verbose style.
    Raw(String),
}

impl JsonField {
    /// A value without its type.
    ///
    /// # Errors
    /// It has no form in JSON.
    pub fn raw(value: &Variant, style: Style) -> Result<Self, EncodeError> {
        let mut text = String::new();
        write_bare(&mut text, value, style)?;
        Ok(Self::Raw(text))
    }
}

impl JsonDataSetMessage {
    /// With these fields and nothing else.
    pub fn new(writer_id: u16, payload: Vec<(String, JsonField)>) -> Self {
        Self {
            header: true,
            writer_id: Some(writer_id),
            payload: Some(payload),
            ..Self::default()
        }
    }
}

/// As messages call it.
pub(super) const fn frame_name(frame: Frame) -> &'static str {
    match frame {
        Frame::Key => "ua-keyframe",
        Frame::Delta => "ua-deltaframe",
        Frame::Event => "ua-event",
        Frame::KeepAlive => "ua-keepalive",
    }
}

impl JsonNetworkMessage {
    /// Appends the message to `out`, or nothing if there is an error.
    ///
    /// # Errors
    /// A value has no form in JSON.
    pub fn encode(&self, style: Style, out: &mut String) -> Result<(), EncodeError> {
        let start = out.len();
        let mut pen = MemberWriter::new(out, style);
        let written = pen.network(self);
        written.inspect_err(|_| out.truncate(start))
    }
}

/// What changes from one message to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Slot {
    MessageId,
    /// The time of the message.
    Time,
    Sequence(usize),
    Value(usize, usize),
}

/// Writes members of objects, and remembers the places of what changes if it is asked to.
pub(super) struct MemberWriter<'a> {
    pub out: &'a mut String,
    style: Style,
    /// Places are remembered, and nothing is written there.
    pub slots: Option<Vec<(usize, Slot)>>,
    first: bool,
}

impl<'a> MemberWriter<'a> {
    pub fn new(out: &'a mut String, style: Style) -> Self {
        Self {
            out,
            style,
            slots: None,
            first: true,
        }
    }

    pub fn open(&mut self) {
        self.out.push('{');
        self.first = true;
    }

    pub fn close(&mut self) {
        self.out.push('}');
        self.first = false;
    }

    pub fn name(&mut self, name: &str) {
        if !self.first {
            self.out.push(',');
        }
        self.first = false;
        write_text(self.out, name);
        self.out.push(':');
    }

    pub fn text(&mut self, name: &str, text: Option<&str>) {
        if let Some(text) = text {
            self.name(name);
            write_text(self.out, text);
        }
    }

    pub fn number(&mut self, name: &str, number: Option<impl std::fmt::Display>) {
        if let Some(number) = number {
            self.name(name);
            // Writing into a String does not fail.
            let _ = write!(self.out, "{number}");
        }
    }

    /// Whether a place is remembered instead of being written to.
    fn slot(&mut self, slot: Slot) -> bool {
        let at = self.out.len();
        self.slots.as_mut().map(|it| it.push((at, slot))).is_some()
    }

    pub fn network(&mut self, it: &JsonNetworkMessage) -> Result<(), EncodeError> {
        if it.header {
            self.open();
            if let Some(id) = &it.message_id {
                self.name("MessageId");
                if !self.slot(Slot::MessageId) {
                    write_text(self.out, id);
                }
            }
            self.text("MessageType", Some("ua-data"));
            self.text("PublisherId", it.publisher_id.as_deref());
            self.text("WriterGroupName", it.writer_group.as_deref());
            self.text("DataSetClassId", it.class_id.as_deref());
            self.name("Messages");
        }
        let alone = it.single && it.messages.len() == 1;
        if !alone {
            self.out.push('[');
        }
        for (n, set) in it.messages.iter().enumerate() {
            if n > 0 {
                self.out.push(',');
            }
            self.set(n, set)?;
        }
        if !alone {
            self.out.push(']');
        }
        if it.header {
            self.close();
        }
        Ok(())
    }

    fn set(&mut self, n: usize, it: &JsonDataSetMessage) -> Result<(), EncodeError> {
        if !it.header {
            return self.payload(n, it.payload.as_deref().unwrap_or_default());
        }
        self.open();
        self.number("DataSetWriterId", it.writer_id);
        self.text("DataSetWriterName", it.writer_name.as_deref());
        self.text("PublisherId", it.publisher_id.as_deref());
        self.text("WriterGroupName", it.writer_group.as_deref());
        if let Some(sequence) = it.sequence {
            self.name("SequenceNumber");
            if !self.slot(Slot::Sequence(n)) {
                let _ = write!(self.out, "{sequence}");
            }
        }
        match it.major_version {
            Some(major) => {
                self.name("MetaDataVersion");
                self.open();
                self.number("MajorVersion", Some(major));
                self.number("MinorVersion", Some(it.minor_version.unwrap_or_default()));
                self.close();
            }
            None => self.number("MinorVersion", it.minor_version),
        }
        if let Some(ticks) = it.timestamp {
            self.name("Timestamp");
            if !self.slot(Slot::Time) {
                write_time(self.out, ticks);
            }
        }
        if let Some(status) = it.status {
            self.name("Status");
            write_status(self.out, StatusCode::from(status), self.style);
        }
        self.text("MessageType", it.frame.map(frame_name));
        if let Some(payload) = &it.payload {
            self.name("Payload");
            self.payload(n, payload)?;
        }
        self.close();
        Ok(())
    }

    fn payload(&mut self, set: usize, fields: &[(String, JsonField)]) -> Result<(), EncodeError> {
        self.open();
        for (n, (name, field)) in fields.iter().enumerate() {
            self.name(name);
            if self.slots.is_some() {
                self.changing(set, n, field)?;
            } else {
                self.field(field)?;
            }
        }
        self.close();
        Ok(())
    }

    fn field(&mut self, field: &JsonField) -> Result<(), EncodeError> {
        let style = self.style;
        match (field, style) {
            (JsonField::Raw(text), _) => self.out.push_str(text),
            (JsonField::Variant(it), Style::Verbose) => write_bare(self.out, it, style)?,
            (JsonField::Variant(it), _) => write_variant(self.out, it, style)?,
            (JsonField::DataValue(it), _) => {
                write_data_value(self.out, it, style, style != Style::Verbose)?;
            }
        }
        Ok(())
    }

    /// A field whose value changes, and whose time, if it has one.
    fn changing(&mut self, set: usize, n: usize, field: &JsonField) -> Result<(), EncodeError> {
        let kind = |it: &Variant| super::write_value::type_id(it);
        let (open, time) = match (field, self.style) {
            (JsonField::Raw(_), _) | (JsonField::Variant(_), Style::Verbose) => {
                (String::new(), false)
            }
            (JsonField::Variant(it), Style::Compact) => {
                (format!("{{\"UaType\":{},\"Value\":", kind(it)), false)
            }
            (JsonField::Variant(it), Style::Reversible) => {
                (format!("{{\"Type\":{},\"Body\":", kind(it)), false)
            }
            (JsonField::DataValue(it), style) => {
                let kind = it.value.as_ref().map_or(0, kind);
                let open = match style {
                    Style::Compact => format!("{{\"UaType\":{kind},\"Value\":"),
                    Style::Verbose => "{\"Value\":".to_owned(),
                    Style::Reversible => format!("{{\"Value\":{{\"Type\":{kind},\"Body\":"),
                };
                (open, it.source_timestamp.is_some())
            }
        };
        self.out.push_str(&open);
        self.slot(Slot::Value(set, n));
        let nested = open.matches('{').count();
        if nested > 1 {
            self.out.push('}');
        }
        if time {
            self.out.push_str(",\"SourceTimestamp\":");
            self.slot(Slot::Time);
        }
        if nested > 0 {
            self.out.push('}');
        }
        Ok(())
    }
}
