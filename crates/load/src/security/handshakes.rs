//! How many connections a second a server makes, when several clients come at the same time.

use std::thread;
use std::time::{Duration, Instant};

use plan::unit::duration::nanos;
use record::Closed;
use record::run::Figure;
use record::security::{Handshakes, Range};

use super::spent::{Spent, since};
use super::{Observers, Settings, done};
use crate::access::{Access, Opening};
use crate::transport::Steps;

/// What was seen of a policy and mode, over all rounds.
#[derive(Default)]
pub(super) struct SeenHandshakes {
    at_once: u32,
    made: u64,
    failed: u64,
    why: Option<String>,
    rates: Vec<f64>,
    cpu: Spent,
}

/// A round of it.
pub(super) struct Round {
    at_once: u32,
    /// How long each connection took that was made.
    times: Vec<u64>,
    failed: u64,
    why: Option<String>,
    took: Duration,
    server: Option<Duration>,
    client: Option<Duration>,
}

impl Round {
    /// The same for whoever looks on.
    pub(super) fn done(&self) -> Closed {
        done(self.times.clone(), self.failed, 0, self.took)
    }
}

/// One client of a round.
#[derive(Default)]
struct Client {
    times: Vec<u64>,
    failed: Option<String>,
    cpu: Option<Duration>,
}

impl SeenHandshakes {
    pub(super) fn add(&mut self, round: Round) {
        self.at_once = round.at_once;
        let made = round.times.len() as u64;
        self.made += made;
        self.failed += round.failed;
        self.why = self.why.take().or(round.why);
        self.rates
            .push(made as f64 / round.took.as_secs_f64().max(1e-9));
        self.cpu.add(made, round.server, round.client);
    }

    pub(super) fn finished(self) -> Figure<Handshakes> {
        let Some(per_second) = Range::of(&self.rates) else {
            return Figure::missing("nobody tried");
        };
        let each = |figure: Figure<f64>| match self.failed {
            0 => figure,
            _ => Figure::missing("clients that were not let in have their part of it"),
        };
        let (server_cpu_ns, client_cpu_ns) = (each(self.cpu.server()), each(self.cpu.client()));
        Figure::Known(Handshakes {
            at_once: self.at_once,
            made: self.made,
            failed: self.failed,
            why: self.why,
            per_second,
            server_cpu_ns,
            client_cpu_ns,
        })
    }
}

/// Clients that come and leave for a slice of time, each at least once. One that is not let in does not try again.
pub(super) fn round(
    opening: &Opening,
    access: &Access,
    settings: &Settings,
    observers: &Observers<'_>,
) -> Option<Round> {
    let at_once = settings.at_once;
    if at_once == 0 || (observers.stopped)() {
        return None;
    }
    let (slice, own_cpu) = (settings.slice, observers.own_cpu);
    let server = (observers.server_cpu)();
    let began = Instant::now();
    let client = move || {
        let mut client = Client::default();
        let cpu = own_cpu();
        loop {
            let came = Instant::now();
            match access.open(opening, &mut Steps::new()) {
                Ok(session) => {
                    client.times.push(nanos(came.elapsed()));
                    let _ = session.close(&mut Steps::new());
                }
                Err(error) => {
                    client.failed = Some(error.to_string());
                    break;
                }
            }
            if began.elapsed() >= slice {
                break;
            }
        }
        client.cpu = since(own_cpu(), cpu);
        client
    };
    let clients: Vec<Client> = thread::scope(|scope| {
        let spawn = |_| thread::Builder::new().spawn_scoped(scope, client);
        let threads: Vec<_> = (0..at_once).map(spawn).collect();
        let joined = threads.into_iter().map(|it| match it {
            Ok(thread) => thread
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            // A client without a thread did not come.
            Err(error) => Client {
                failed: Some(format!("there is no thread for it: {error}")),
                ..Client::default()
            },
        });
        joined.collect()
    });
    let took = began.elapsed();
    let server = since((observers.server_cpu)(), server);
    let mut client = Some(Duration::ZERO);
    for one in &clients {
        client = client.and_then(|all| Some(all + one.cpu?));
    }
    Some(Round {
        at_once,
        times: clients.iter().flat_map(|it| &it.times).copied().collect(),
        failed: clients.iter().filter(|it| it.failed.is_some()).count() as u64,
        why: clients.into_iter().find_map(|it| it.failed),
        took,
        server,
        client,
    })
}
