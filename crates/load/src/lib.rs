//! The generator: what carries load to a server.
//!
//! - [`transport`] is where sockets live;
//! - [`access`] is the way to a session: endpoint, trust, user;
//! - [`probe`] looks at a server before anything is measured.

pub mod access;
pub mod engine;
pub mod probe;
pub mod transport;
pub mod work;
