//! Other OPC UA stacks as judges and targets: what each is, how it is installed, started,
//! watched and stopped.
//!
//! A [`Stack`] is one vendor's implementation at one pinned version, with a small server and a
//! small client of ours built on it. Their sources are embedded in this crate, so a program
//! that was installed without its repository can still install a peer. What every server and
//! client does alike is written in `stacks/README.md`.
//!
//! ```no_run
//! let stack = peers::Stack::named("asyncua").ok_or("no such stack")?;
//! stack.install(&mut |event| eprintln!("{event}"))?;
//! let server = peers::Server::start(stack, &peers::StartOptions::default())?;
//! let report = peers::Client::run(stack, server.url(), &peers::ClientOptions::default())?;
//! assert!(report.error.is_none());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod background;
pub mod bench;
mod client;
mod install;
mod loader;
mod place;
mod process;
mod pubsub;
mod security;
mod server;
mod stack;
pub mod stacks;
pub mod testing;

pub use client::{
    Browse, Call, Client, ClientError, ClientOptions, ClientReport, Connect, Outcome, Read, STEPS,
    Steps, Subscribe,
};
pub use install::{InstallError, InstallEvent};
pub use loader::{Done, Loader, LoaderError, LoaderOptions, Reads, WatchLoad};
pub use place::home;
pub use process::started;
pub use pubsub::{PubSub, PubSubError, PubSubTurn};
pub use security::{Mode, Policy, Security, Token};
pub use server::{NoTaskset, Server, StartError, StartOptions};
pub use stack::{InstallStep, Quirk, Source, Stack, StackState, Tool};
