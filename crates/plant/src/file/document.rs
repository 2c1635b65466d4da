//! A plant file as it is typed. What it means, and whether it makes sense, is seen to in `read`.

use std::path::PathBuf;

use serde::Deserialize;
use toml::{Spanned, Value};

use super::event::EventsTable;
use super::pattern;
use super::security_group::SecurityGroupTable;
use super::users::{GroupTable, UserTable};
use crate::describe::{Does, Right};
use crate::fault::Fault;
use crate::limits::Transfer;
use crate::terms::{ByteCount, Id, Ids, Size, Span, Template};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Document {
    pub name: Option<Spanned<String>>,
    pub endpoint: Option<Spanned<String>>,
    pub host: Option<String>,
    pub advertise: Option<Spanned<String>>,
    pub security: Option<Spanned<Vec<Spanned<String>>>>,
    pub anonymous: Option<bool>,
    pub anonymous_may: Option<Spanned<Vec<Right>>>,
    pub anonymous_group: Option<Spanned<String>>,
    pub user_certificates: Option<PathBuf>,
    pub threads: Option<Spanned<u16>>,
    pub update_threads: Option<Spanned<u16>>,
    pub metrics: Option<bool>,
    pub transfer: Option<Transfer>,
    pub discovery: Option<bool>,
    pub audit: Option<bool>,
    pub wss: Option<u16>,
    pub https: Option<u16>,
    pub cors: Option<Spanned<String>>,
    pub reverse: Option<Vec<Spanned<String>>>,
    pub register: Option<Vec<Spanned<String>>>,
    pub register_every: Option<Spanned<Span>>,
    pub limits: Option<LimitsTable>,
    #[serde(default)]
    pub publish: Vec<PublishTable>,
    #[serde(default)]
    pub security_group: Vec<SecurityGroupTable>,
    #[serde(default)]
    pub user: Vec<UserTable>,
    #[serde(default)]
    pub group: Vec<GroupTable>,
    #[serde(default)]
    pub namespace: Vec<Spanned<NamespaceTable>>,
    #[serde(default)]
    pub fault: Vec<Fault>,
}

/// A class of traffic: a name, or its number.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub enum Dscp {
    Name(String),
    Number(u8),
}

/// Where signals are published; see [`Publishing`](crate::Publishing).
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublishTable {
    pub to: Spanned<String>,
    pub mapping: Option<Spanned<String>>,
    pub mqtt: Option<Spanned<String>>,
    pub qos: Option<Spanned<u8>>,
    pub user: Option<String>,
    pub password_file: Option<Spanned<PathBuf>>,
    pub client_cert: Option<Spanned<PathBuf>>,
    pub client_key: Option<Spanned<PathBuf>>,
    pub discovery: Option<Spanned<String>>,
    pub interface: Option<String>,
    pub ttl: Option<u8>,
    pub dscp: Option<Dscp>,
    pub interval: Option<Spanned<Span>>,
    pub encoding: Option<Spanned<String>>,
    pub signals: Option<Spanned<usize>>,
    pub publisher: Option<u16>,
    pub security: Option<Spanned<String>>,
    pub security_group: Option<Spanned<String>>,
}

/// The limits of a server; see [`Limits`](crate::Limits).
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LimitsTable {
    pub receive_buffer: Option<Spanned<Size>>,
    pub send_buffer: Option<Spanned<Size>>,
    pub receive_message: Option<Spanned<Size>>,
    pub receive_chunks: Option<u32>,
    pub json_request: Option<Spanned<ByteCount>>,
    pub memory: Option<Spanned<ByteCount>>,
    pub connection_memory: Option<Spanned<ByteCount>>,
    pub session_memory: Option<Spanned<ByteCount>>,
    pub message_timeout: Option<Spanned<Span>>,
    pub connections: Option<Spanned<usize>>,
    pub sessions: Option<Spanned<usize>>,
    pub session_timeout_min: Option<Spanned<Span>>,
    pub session_timeout_max: Option<Spanned<Span>>,
    pub nodes_per_read: Option<Spanned<usize>>,
    pub nodes_per_write: Option<Spanned<usize>>,
    pub methods_per_call: Option<Spanned<usize>>,
    pub nodes_per_browse: Option<Spanned<usize>>,
    pub nodes_per_register: Option<Spanned<usize>>,
    pub paths_per_translate: Option<Spanned<usize>>,
    pub references_per_node: Option<Spanned<usize>>,
    pub continuation_points: Option<Spanned<usize>>,
    pub added_nodes: Option<Spanned<usize>>,
    pub history_values: Option<Spanned<usize>>,
    pub items_per_call: Option<Spanned<usize>>,
    pub subscriptions_per_session: Option<Spanned<usize>>,
    pub items_per_subscription: Option<Spanned<usize>>,
    pub queue_size: Option<Spanned<u32>>,
    pub publish_requests: Option<Spanned<usize>>,
    pub sampling_interval: Option<Spanned<Span>>,
    pub publishing_interval_min: Option<Spanned<Span>>,
    pub publishing_interval_max: Option<Spanned<Span>>,
    pub subscription_lifetime_max: Option<Spanned<Span>>,
    pub kept_messages: Option<Spanned<usize>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NamespaceTable {
    pub uri: Option<Spanned<String>>,
    pub index: Option<Spanned<u16>>,
    #[serde(default)]
    pub folder: Vec<FolderTable>,
    #[serde(default)]
    pub structure: Vec<StructureTable>,
    #[serde(default)]
    pub enumeration: Vec<EnumerationTable>,
    #[serde(default)]
    pub signals: Vec<Spanned<SignalsTable>>,
    #[serde(default)]
    pub method: Vec<Spanned<MethodTable>>,
    #[serde(default)]
    pub events: Vec<Spanned<EventsTable>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FolderTable {
    pub path: Spanned<String>,
    pub id: Spanned<Id>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StructureTable {
    pub name: Spanned<String>,
    pub id: Option<Spanned<Id>>,
    pub encoding: Option<Spanned<Id>>,
    pub fields: Vec<FieldTable>,
}

/// A field of a structure, or an argument of a method.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FieldTable {
    pub name: Spanned<String>,
    #[serde(rename = "type")]
    pub kind: Spanned<String>,
    pub length: Option<Spanned<u32>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EnumerationTable {
    pub name: Spanned<String>,
    pub id: Option<Spanned<Id>>,
    pub values: Spanned<EnumValues>,
}

/// Names that are counted from 0, or a table of names and numbers.
#[derive(Debug)]
pub struct EnumValues(pub Vec<(String, i32)>);

impl<'de> Deserialize<'de> for EnumValues {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> serde::de::Visitor<'de> for Either {
            type Value = EnumValues;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an array of names, or a table of names and numbers")
            }

            fn visit_seq<A: serde::de::SeqAccess<'de>>(
                self,
                mut from: A,
            ) -> Result<EnumValues, A::Error> {
                let mut values = Vec::new();
                while let Some(name) = from.next_element::<String>()? {
                    values.push((name, values.len() as i32));
                }
                Ok(EnumValues(values))
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(
                self,
                mut from: A,
            ) -> Result<EnumValues, A::Error> {
                let mut values = Vec::new();
                while let Some(value) = from.next_entry::<String, i32>()? {
                    values.push(value);
                }
                values.sort_by_key(|(_, value)| *value);
                Ok(EnumValues(values))
            }
        }
        from.deserialize_any(Either)
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignalsTable {
    pub folder: Option<Spanned<String>>,
    pub per_folder: Option<Spanned<u64>>,
    pub count: Option<Spanned<u64>>,
    pub first: Option<Spanned<u64>>,
    pub name: Option<Spanned<Template>>,
    pub ids: Option<Spanned<Ids>>,
    pub description: Option<String>,
    #[serde(rename = "type")]
    pub kind: Spanned<String>,
    pub dimensions: Option<Spanned<Vec<u32>>>,
    pub value: Option<Spanned<Value>>,
    pub pattern: Option<Spanned<pattern::Written>>,
    pub update: Option<Spanned<Span>>,
    pub stored: Option<Spanned<bool>>,
    pub history: Option<Spanned<Depth>>,
    pub access: Option<Spanned<Access>>,
    pub range: Option<Spanned<[f64; 2]>>,
    pub unit: Option<Spanned<String>>,
}

/// Whether what a variable was can be read, or how many of its last values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Depth {
    /// All of it where nothing has to be kept.
    Any(bool),
    /// The last so many values.
    Last(u64),
}

/// What clients may do with a variable's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Access {
    None,
    Read,
    Write,
    ReadWrite,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MethodTable {
    pub name: Spanned<String>,
    pub id: Option<Spanned<Id>>,
    pub object: Option<Spanned<String>>,
    pub object_id: Option<Spanned<Id>>,
    pub does: Option<Spanned<Does>>,
    #[serde(default)]
    pub arguments: Vec<FieldTable>,
}
