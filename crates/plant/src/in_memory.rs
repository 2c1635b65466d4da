//! A server without sockets, threads and a clock of its own: whoever has it says when a turn is taken and when time
//! passes, so that what it does is the same each time. For tests and fuzzers.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use wire::time::Now;

use crate::advertise::TlsPorts;
use crate::clock::{Clock, thread_cpu};
use crate::config::Config;
use crate::counters::Counted;
use crate::event_loop::{EventLoop, pair};
use crate::pool::Pool;
use crate::server::{offer, share};
use crate::shared::Shared;
use crate::start_error::StartError;

pub use crate::event_loop::ClientEnd;

/// Real time when it begins, in ticks of 100 ns since 1601: some day in 2026.
const BEGIN: i64 = 134_116_992_000_000_000;

/// Time that the processor gave this thread so far, whoever else it works for; none where nobody can tell.
pub fn processor_time() -> Option<Duration> {
    thread_cpu()
}

/// How much a server has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Has {
    /// Connections.
    pub connections: usize,
    /// Sessions, those that were never activated too.
    pub sessions: usize,
    /// Subscriptions.
    pub subscriptions: usize,
    /// Bytes of the memory budget.
    pub bytes: usize,
}

/// A server in memory. Its values do not change but by their patterns and by those who write them.
pub struct InMemory {
    shared: Arc<Shared>,
    /// Those with sessions; the last one is the acceptor.
    event_loops: Vec<EventLoop>,
    pool: Pool,
}

impl std::fmt::Debug for InMemory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("InMemory").finish_non_exhaustive()
    }
}

impl InMemory {
    /// Makes a server that nobody listens for.
    pub fn new(mut config: Config) -> Result<Self, StartError> {
        let identities = offer(&mut config)?;
        let loops = config.threads.clamp(1, 254);
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 4840));
        let (shared, _) = share(
            config,
            loops + 1,
            identities,
            (address, TlsPorts::default()),
            Clock::by_hand(BEGIN),
        )?;
        let pool = Pool::without_threads();
        let mut event_loops = Vec::new();
        for index in 0..=loops {
            event_loops.push(EventLoop::new(
                index as u8,
                Arc::clone(&shared),
                pool.clone(),
            )?);
        }
        let posts: Vec<_> = event_loops.iter().map(EventLoop::post).collect();
        for core in &mut event_loops {
            core.know(posts.clone());
        }
        if let Some(acceptor) = event_loops.last_mut() {
            acceptor.accept_in_memory();
        }
        Ok(Self {
            shared,
            event_loops,
            pool,
        })
    }

    /// A client comes that takes `room` bytes before it reads them.
    pub fn connect(&mut self, room: usize) -> ClientEnd {
        let (server, client) = pair(room);
        if let Some(acceptor) = self.event_loops.last_mut() {
            acceptor.take_in(server);
        }
        client
    }

    /// Each loop has a turn, and a helper does one thing. Whether there was anything to do.
    pub fn turn(&mut self) -> bool {
        let mut busy = self.pool.do_one();
        for core in &mut self.event_loops {
            busy |= core.turn();
        }
        busy
    }

    /// What time it is for the server.
    pub fn now(&self) -> Now {
        self.shared.clock.now()
    }

    /// Time passes.
    pub fn pass(&self, time: Duration) {
        self.shared.clock.pass(self.now().mono + time);
    }

    /// When there is something to do next although nobody asks.
    pub fn wakes_in(&self) -> Option<Duration> {
        let next = self.event_loops.iter().filter_map(EventLoop::wakes).min()?;
        Some(next.since(self.now().mono))
    }

    /// What it has just now.
    pub fn has(&self) -> Has {
        let mut all = Has {
            bytes: self.shared.config.memory.held(),
            ..Has::default()
        };
        for core in &self.event_loops {
            let (connections, sessions, subscriptions) = core.has();
            all.connections += connections;
            all.sessions += sessions;
            all.subscriptions += subscriptions;
        }
        all
    }

    /// Work that all loops did in pieces so far; a piece is some thousands of it.
    pub fn spent(&self) -> usize {
        self.event_loops.iter().map(EventLoop::spent).sum()
    }

    /// What it counted so far.
    pub fn counted(&self) -> Counted {
        self.shared.counters.read()
    }

    /// How many faults are on: a client asked for them.
    pub fn faults(&self) -> usize {
        self.shared.faults.counts().len()
    }
}
