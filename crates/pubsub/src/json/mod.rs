//! The JSON mapping (Part 14, 7.2.5): NetworkMessages as text, with the names of 1.05.04; older spellings are read, too.
//!
//! | module | what it knows |
//! |---|---|
//! | [`write_value`] | values of OPC UA as JSON |
//! | [`read_value`] | and back |
//! | [`message`] | a NetworkMessage as a value, and its text |
//! | [`view`] | a NetworkMessage where it lies: visited, not built |
//! | [`metadata`] | messages that describe DataSets, and those that say how a publisher is |
//! | [`template`] | a message written once, and the places of what changes in each cycle |

pub mod message;
pub mod metadata;
pub mod read_value;
pub mod template;
pub mod view;
pub mod write_value;

/// JSON where it lies, to a bounded depth.
pub use wire::json::scan;

pub use message::{JsonDataSetMessage, JsonField, JsonNetworkMessage};
pub use metadata::{FieldMetaData, MetaData, MetaDataMessage, Status};
pub use template::JsonTemplate;
pub use view::{JsonView, MessageType};
pub use write_value::Style;
