//! The workload server: an OPC UA server that is made to be a load, and to be believed.
//!
//! ```no_run
//! use plant::{Config, Profile, Server};
//!
//! let server = Server::start(Config {
//!     profiles: vec![Profile::Bench { update: None }],
//!     ..Config::default()
//! })?;
//! println!("{}", server.url());
//! server.stop();
//! # Ok::<(), plant::StartError>(())
//! ```
//!
//! A server is a few loops, each with a thread, its own sockets, sessions and timers (`event_loop`).
//! They share an address space that never changes but for its values ([`space`]). What a service
//! does is in `service`, one file for each set of them; what takes milliseconds, such as RSA, is
//! done by helper threads (`pool`).

mod advertise;
mod clock;
mod config;
mod counters;
pub mod describe;
mod diagnostics;
mod dialler;
mod directory;
mod endpoints;
mod event_loop;
mod fault;
pub mod file;
pub mod in_memory;
mod internals;
mod ledger;
mod limits;
mod line;
mod listening;
pub mod nodeset;
mod pool;
mod profile;
mod refused;
mod security_group;
mod server;
mod server_nodes;
mod service;
mod session;
mod shared;
mod signals;
mod site;
mod slots;
pub mod space;
mod start_error;
mod status;
mod subscription;
mod terms;
mod timers;
mod tls_acceptor;
mod trust;
mod update;
mod users;
mod watch;

pub use clock::Clock;
pub use config::Config;
pub use counters::Counted;
pub use describe::{Brokered, Plant, Publishing, Secured};
pub use directory::REGISTER_EVERY;
pub use endpoints::endpoints_at;
pub use fault::{Effect, Fault, FaultCount, FaultError, NoSuchNode, Pick, Rule, Target};
pub use file::{LEAST_MEMORY, is_origin, json_request};
pub use ledger::{Messages, Subscriptions, Taking, TakingNow, Tally, Values};
pub use limits::{Limits, Transfer};
pub use nodeset::{LeftOut, Loaded, NodeSet, NodeSetError};
pub use profile::Profile;
pub use refused::Refused;
pub use security_group::{GroupCount, SecurityGroup};
pub use server::Server;
pub use service::truth::{GroundTruth, Updates};
pub use signals::{DatagramFaults, Signals};
pub use site::Site;
pub use space::event;
pub use space::rights::{Rights, ZONES, Zones};
pub use start_error::StartError;
pub use trust::TrustPolicy;
pub use users::{NotAHash, PasswordHash, TokenHash, Users};
pub use watch::ServerWatch;
