//! What else publishers say in JSON: the metadata of a DataSet (Part 14, 7.2.5.5.2) and their status (7.2.5.5.5).

use std::fmt::Write as _;
use std::str::FromStr;

use wire::service::Limits;

use super::message::MemberWriter;
use super::read_value::{integer, not_that};
use super::scan::{Kind, Text, Value};
use super::view::JsonView;
use super::write_value::{Style, write_time};
use crate::error::DecodeError;
use crate::view::charge;

/// Describes the DataSets of a writer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MetaDataMessage {
    /// Names this message.
    pub message_id: String,
    /// Who publishes.
    pub publisher_id: String,
    /// The writer.
    pub writer_id: Option<u16>,
    /// The name of its group.
    pub writer_group: Option<String>,
    /// Its name.
    pub writer_name: Option<String>,
    /// When it was sent, in 100 ns since 1601.
    pub timestamp: Option<i64>,
    /// The description.
    pub metadata: MetaData,
}

/// Describes a DataSet.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MetaData {
    /// Its name.
    pub name: String,
    /// Its fields, in their order.
    pub fields: Vec<FieldMetaData>,
    /// Version: what fields there are.
    pub major_version: u32,
    /// Version: smaller changes.
    pub minor_version: u32,
}

/// Describes a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldMetaData {
    /// Its name.
    pub name: String,
    /// The number of its built-in type.
    pub built_in_type: u8,
    /// Scalar, array, and how many dimensions.
    pub value_rank: i32,
}

/// How a publisher is (PubSubState), as messages number it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Status(pub u32);

impl Status {
    /// It is configured and does not run.
    pub const DISABLED: Self = Self(0);
    /// It runs.
    pub const OPERATIONAL: Self = Self(2);
    /// It does not run, and should.
    pub const ERROR: Self = Self(3);

    /// As Part 14, 6.2.1 calls it.
    pub const fn name(self) -> &'static str {
        match self.0 {
            0 => "Disabled",
            1 => "Paused",
            2 => "Operational",
            3 => "Error",
            4 => "PreOperational",
            _ => "unknown",
        }
    }

    /// The message of a publisher whose going the broker tells: it is sent when that changes only.
    pub fn message(self, message_id: &str, publisher_id: &str) -> String {
        let mut out = String::new();
        let mut pen = MemberWriter::new(&mut out, Style::Compact);
        pen.open();
        pen.text("MessageId", Some(message_id));
        pen.text("MessageType", Some("ua-status"));
        pen.text("PublisherId", Some(publisher_id));
        pen.name("IsCyclic");
        pen.out.push_str("false");
        pen.number("Status", Some(self.0));
        pen.close();
        out
    }
}

impl MetaDataMessage {
    /// Its text.
    pub fn encode(&self) -> String {
        let mut out = String::new();
        let mut pen = MemberWriter::new(&mut out, Style::Compact);
        pen.open();
        pen.text("MessageId", Some(&self.message_id));
        pen.text("MessageType", Some("ua-metadata"));
        pen.text("PublisherId", Some(&self.publisher_id));
        pen.number("DataSetWriterId", self.writer_id);
        pen.text("WriterGroupName", self.writer_group.as_deref());
        pen.text("DataSetWriterName", self.writer_name.as_deref());
        if let Some(ticks) = self.timestamp {
            pen.name("Timestamp");
            write_time(pen.out, ticks);
        }
        pen.name("MetaData");
        pen.open();
        pen.text("Name", Some(&self.metadata.name));
        pen.name("Fields");
        pen.out.push('[');
        for (n, field) in self.metadata.fields.iter().enumerate() {
            if n > 0 {
                pen.out.push(',');
            }
            pen.open();
            pen.text("Name", Some(&field.name));
            pen.number("BuiltInType", Some(field.built_in_type));
            // The NodeIds of the built-in DataTypes are their numbers (Part 5, 12.2).
            pen.name("DataType");
            // Writing into a String does not fail.
            let _ = write!(pen.out, "\"i={}\"", field.built_in_type);
            pen.number("ValueRank", Some(field.value_rank));
            pen.close();
        }
        pen.out.push(']');
        pen.name("ConfigurationVersion");
        pen.open();
        pen.number("MajorVersion", Some(self.metadata.major_version));
        pen.number("MinorVersion", Some(self.metadata.minor_version));
        pen.close();
        pen.close();
        pen.close();
        out
    }
}

/// A member that is a number. One that is left out has its default (Part 6, 5.4.1); one that is something else has none.
fn number_of<T: FromStr>(of: Value<'_>, name: &'static str, default: T) -> Result<T, DecodeError> {
    match of.get(name).filter(|it| it.kind() != Kind::Null) {
        Some(it) => integer(it, name),
        None => Ok(default),
    }
}

impl JsonView<'_> {
    /// What a message of metadata says.
    ///
    /// # Errors
    /// It describes nothing, or takes too much memory.
    pub fn metadata(&self, limits: &Limits) -> Result<MetaDataMessage, DecodeError> {
        let mut limits = *limits;
        charge(&mut limits, 2 * self.whole.as_written().len(), 0)?;
        let owned = |it: Option<Text<'_>>| it.map(|it| it.read().into_owned());
        let plain = |of: Value<'_>, name: &str| owned(of.get(name).and_then(Value::plain));
        let data = self.whole.get("MetaData");
        let data = data.filter(|it| it.kind() == Kind::Object);
        let data = data.ok_or_else(|| not_that(self.whole, "no MetaData"))?;
        let version = data.get("ConfigurationVersion");
        let number = |name| version.map_or(Ok(0), |it| number_of(it, name, 0));
        let mut fields = Vec::new();
        for it in data.get("Fields").into_iter().flat_map(Value::items) {
            charge(&mut limits, 64, it.at())?;
            fields.push(FieldMetaData {
                name: plain(it, "Name").unwrap_or_default(),
                built_in_type: number_of(it, "BuiltInType", 0)?,
                value_rank: number_of(it, "ValueRank", -1)?,
            });
        }
        let writer = self.whole.get("DataSetWriterId").and_then(Value::plain);
        Ok(MetaDataMessage {
            message_id: owned(self.message_id).unwrap_or_default(),
            publisher_id: owned(self.publisher_id).unwrap_or_default(),
            writer_id: writer.and_then(|it| it.read().parse().ok()),
            writer_group: owned(self.writer_group),
            writer_name: plain(self.whole, "DataSetWriterName"),
            timestamp: match self.whole.get("Timestamp") {
                Some(it) => Some(super::read_value::read_time(it)?),
                None => None,
            },
            metadata: MetaData {
                name: plain(data, "Name").unwrap_or_default(),
                fields,
                major_version: number("MajorVersion")?,
                minor_version: number("MinorVersion")?,
            },
        })
    }

    /// How the publisher is, by a message of its status: a number, or a name with one (`Operational_2`).
    pub fn status(&self) -> Option<Status> {
        let status = self.whole.get("Status")?.plain()?;
        let text = status.read();
        let number = text.rsplit('_').next().unwrap_or_default();
        number.parse().ok().map(Status)
    }
}
