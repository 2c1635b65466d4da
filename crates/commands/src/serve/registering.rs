//! A server that tells discovery servers that it is there, from time to time, and at the end that it is gone.

use std::net::SocketAddr;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

use load::access::{Access, AccessError};
use load::register::{RegisterError, Registration, register};
use plan::unit::duration;
use plant::{Config, Server};
use wire::types::{ApplicationType, LocalizedText, RegisteredServer};

use super::live::Notes;
use crate::{advice, place};

/// How long each step may take.
pub const TIMEOUT: Duration = Duration::from_secs(5);
/// How long the end waits for a discovery server to take note of it.
const PATIENCE: Duration = Duration::from_secs(3);
/// Who cannot be reached is tried again so soon, or sooner when registrations are more frequent.
const AGAIN: Duration = Duration::from_secs(30);

/// At a discovery server each, until the end.
pub struct Registering(Vec<Registrar>);

struct Registrar {
    end: Sender<()>,
    done: Receiver<()>,
}

impl Registering {
    /// Begins, with a thread for each discovery server.
    pub fn start(
        at: Vec<Access>,
        registration: &Registration,
        every: Duration,
        notes: &Notes,
    ) -> Self {
        let one = |access: Access| {
            let (end, ended) = mpsc::channel();
            let (ready, done) = mpsc::channel();
            let (registration, notes) = (registration.clone(), notes.clone());
            std::thread::spawn(move || {
                stay(&access, &registration, every, &notes, &ended);
                // Nobody may wait any more.
                let _ = ready.send(());
            });
            Registrar { end, done }
        };
        Self(at.into_iter().map(one).collect())
    }

    /// Has all discovery servers told that it ends, and does not wait for it.
    pub fn end(&self) {
        for clerk in &self.0 {
            // One that has ended has nothing more to tell.
            let _ = clerk.end.send(());
        }
    }

    /// Waits until they are told, but not for those that do not listen.
    pub fn finish(self) {
        for clerk in self.0 {
            let _ = clerk.done.recv_timeout(PATIENCE);
        }
    }
}

/// Registers again and again; what is told is told once, until something else is true.
fn stay(
    access: &Access,
    registration: &Registration,
    every: Duration,
    notes: &Notes,
    ended: &Receiver<()>,
) {
    let mut told = String::new();
    let mut is_known = false;
    loop {
        let outcome = register(access, registration, true);
        is_known |= outcome.is_ok();
        let (note, wait) = match &outcome {
            Ok(done) => {
                let (by, security) = (done.by.name(), &done.security);
                (
                    format!("registered at {}: {by}, {security}", access.url),
                    every,
                )
            }
            Err(error) => {
                let wait = every.min(AGAIN);
                (warning(error, access, wait), wait)
            }
        };
        if note != told {
            match outcome {
                Ok(_) => notes.tell(note.clone()),
                Err(_) => notes.warn(note.clone()),
            }
            told = note;
        }
        match ended.recv_timeout(wait) {
            Err(RecvTimeoutError::Timeout) => {}
            Ok(()) | Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    if is_known && let Err(error) = register(access, registration, false) {
        let url = &access.url;
        notes.warn(format!("warning: {url} was not told that it ends: {error}"));
    }
}

fn warning(error: &RegisterError, access: &Access, again: Duration) -> String {
    let (url, again) = (&access.url, duration::show(again));
    let text = format!("warning: not registered at {url}: {error}; tried again each {again}");
    let hint = match error {
        // What it offers and this plant does not is no option of `uaperf serve`.
        RegisterError::Access(AccessError::NotOffered(_)) => None,
        RegisterError::Access(error) => advice::hint(error, access),
        RegisterError::Call { .. } => None,
    };
    match hint {
        Some(hint) => format!("{text}\n  try: {hint}"),
        None => text,
    }
}

/// What a discovery server is told of servers that share a certificate, and so an application URI: it takes
/// them for one application with several endpoints.
pub fn registration(servers: &[Server], capabilities: Vec<String>) -> Registration {
    let config = servers.first().map(Server::config);
    let uri = config.map_or("", |config| &config.application_uri);
    let name = config.map_or("", |config| &config.name);
    let urls = servers
        .iter()
        .map(|server| reachable(server.config(), server.address(), server.url()));
    Registration {
        server: RegisteredServer {
            server_uri: uri.into(),
            product_uri: "urn:uaperf".into(),
            server_names: Some(vec![LocalizedText::new("", name)]),
            server_type: ApplicationType::Server,
            discovery_urls: Some(urls.map(Into::into).collect()),
            is_online: true,
            ..Default::default()
        },
        capabilities,
    }
}

/// A server that listens on every address is reached by the name of its machine.
fn reachable(config: &Config, address: SocketAddr, url: &str) -> String {
    let fixed = config.advertise.is_some() || config.host.is_some();
    match address.ip().is_unspecified() && !fixed {
        true => format!("opc.tcp://{}:{}", place::host_name(), address.port()),
        false => url.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_sent_to_an_address_that_stands_for_all() {
        let told = |config: &Config, address: &str| {
            reachable(config, address.parse().unwrap(), "opc.tcp://as-told:4841")
        };
        let config = Config::default();
        assert_eq!(told(&config, "127.0.0.1:4841"), "opc.tcp://as-told:4841");
        let own = format!("opc.tcp://{}:4841", place::host_name());
        let named = Config {
            host: Some("line4".into()),
            ..Config::default()
        };
        for all in ["0.0.0.0:4841", "[::]:4841"] {
            assert_eq!(told(&config, all), own);
            assert_eq!(told(&named, all), "opc.tcp://as-told:4841");
        }
    }
}
