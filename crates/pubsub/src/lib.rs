//! PubSub of OPC UA (Part 14): NetworkMessages in UADP and JSON, read, written and secured.
//!
//! The crate is pure, as `wire` is: no sockets, no threads, no clock. Bytes and the time come in as
//! arguments; bytes, values and counts come out.
//!
//! | module | what it knows |
//! |---|---|
//! | [`message`] | a NetworkMessage as a value, and its bytes |
//! | [`header`] | what stands before the payload |
//! | [`view`] | a NetworkMessage where it lies: visited, not built |
//! | [`reader`] | the messages of one writer, read by what the one before looked like |
//! | [`raw`] | fields without types of their own, which metadata describes |
//! | [`chunk`] | messages larger than a datagram, in parts and together again |
//! | [`discovery`] | probes and announcements: metadata, writers, endpoints |
//! | [`layout`] | the header layouts of Annex A, by name |
//! | [`template`] | a message encoded once, and the places of what changes in each cycle |
//! | [`security`] | keys, signatures, encryption, replay, several tokens at a time |
//! | [`json`] | the JSON mapping, of all of these what it has |
//! | [`mqtt`] | packets and topics of MQTT, over which brokers carry either mapping |
//! | [`sequence`] | loss, repetition and order, from sequence numbers |

mod cursor;
mod encode;
mod error;

pub mod chunk;
pub mod discovery;
pub mod header;
pub mod json;
pub mod layout;
pub mod message;
pub mod mqtt;
pub mod raw;
pub mod reader;
pub mod security;
pub mod sequence;
pub mod template;
pub mod view;

pub use encode::{EncodeError, Offsets, SetOffsets};
pub use error::{Cause, DecodeError};
pub use header::{GroupHeader, Header, PublisherId, SecurityHeader, Tolerance};
pub use message::{Changes, Content, DataSetMessage, Fields, NetworkMessage};
pub use view::View;
