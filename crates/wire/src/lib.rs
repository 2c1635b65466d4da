//! OPC UA on the wire, for both roles: bytes in, messages out, and back.
//!
//! The crate is pure: no sockets, no threads, no clock. Bytes and the time come in as
//! arguments; bytes, events and timeouts come out.

pub use opcua_types as types;

pub mod budget;
pub mod certificate;
pub mod channel;
pub mod client;
pub mod frame;
pub mod job;
pub mod json;
mod log;
pub mod policy;
pub mod server;
pub mod service;
pub mod session;
pub mod template;
pub mod time;
pub mod url;
