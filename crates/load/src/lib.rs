//! The generator: what carries load to a server.
//!
//! So far it is [`transport`], where sockets live.

pub mod transport;
