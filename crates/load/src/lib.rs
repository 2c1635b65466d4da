//! The generator: what carries load to a server.
//!
//! - [`transport`] is where sockets live;
//! - [`access`] is the way to a session: endpoint, trust, user;
//! - [`certificate_manager`] is another server that checks certificates for us;
//! - [`attack`] does to a server of one's own what misbehaving clients do;
//! - [`calibrate`] finds what this host can do before any server is asked;
//! - [`diagnostics`] is what a server counts itself;
//! - [`discover`] asks what a server knows of servers and endpoints;
//! - [`lan`] is who is on this network, by multicast DNS, and how servers of ours are found there;
//! - `packet_link` is a slow or bad link between two network namespaces, on Linux;
//! - [`path_test`] finds what the way to a server carries before a load;
//! - [`probe`] looks at a server before anything is measured;
//! - [`pubsub`] publishes and listens over UDP and to brokers;
//! - [`relay`] is a slow or bad link between two sockets;
//! - [`survey`] finds what a server has, and how its values move;
//! - [`register`] makes a server of ours known to a discovery server.

pub mod access;
pub mod attack;
pub mod calibrate;
pub mod certificate_manager;
pub mod diagnostics;
pub mod discover;
pub mod engine;
pub mod lan;
#[cfg(target_os = "linux")]
pub mod packet_link;
pub mod path_test;
pub mod probe;
pub mod pubsub;
pub mod register;
pub mod relay;
pub mod security;
pub mod survey;
pub mod transport;
pub mod work;
