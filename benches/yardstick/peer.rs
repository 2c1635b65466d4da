//! open62541: its server and its client, each a process of its own.

use anyhow::{Context, anyhow};
use peers::{Loader, LoaderOptions, Mode, Policy, Reads, Server, Stack, StartOptions};
use std::time::Duration;

use crate::place::Place;
use crate::slice::{Slice, Work};

/// The stack to be compared with.
pub const NAME: &str = "open62541";
/// Its encoder and its security in a client that writes and reads in groups.
pub const BULK: &str = "bulk";

/// A server, installed if it was not.
pub fn server(place: Place) -> anyhow::Result<Server> {
    server_with(place, None)
}

/// The same with values that change this often.
pub fn server_with(place: Place, update: Option<Duration>) -> anyhow::Result<Server> {
    let stack = Stack::named(NAME).context("no such stack")?;
    install(stack)?;
    Ok(Server::start(
        stack,
        &StartOptions {
            pin: place.server_list(),
            update,
            ..StartOptions::default()
        },
    )?)
}

fn install(stack: &'static Stack) -> anyhow::Result<()> {
    stack.install(&mut |event| eprintln!("{}: {event}", stack.name))?;
    Ok(())
}

/// A client with a session.
#[derive(Debug)]
pub struct Client(Loader);

impl Client {
    pub fn connect(place: Place, name: &str, url: &str, secured: bool) -> anyhow::Result<Self> {
        let stack = Loader::of(name).ok_or_else(|| anyhow!("no load client of {name}"))?;
        install(stack)?;
        let (policy, mode) = match secured {
            true => (Policy::Basic256Sha256, Mode::SignAndEncrypt),
            false => (Policy::None, Mode::None),
        };
        let options = LoaderOptions {
            policy,
            mode,
            pin: place.client_list(),
        };
        Ok(Self(Loader::start(stack, url, &options)?))
    }

    pub fn read(&mut self, work: Work, duration: Duration) -> anyhow::Result<Slice> {
        let done = self.0.run(&Reads {
            in_flight: work.in_flight as u32,
            batch: work.batch as u32,
            duration,
            spin: work.spin,
        })?;
        Ok(Slice {
            calls: done.calls,
            bad: done.bad,
            elapsed: Duration::from_nanos(done.elapsed_ns),
            client_cpu: Some(Duration::from_nanos(done.cpu_ns)),
            p50: done.p50_ns.map(Duration::from_nanos),
            ..Slice::default()
        })
    }
}
