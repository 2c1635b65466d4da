//! What is counted for a session.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, MutexGuard};

use wire::channel::Protection;
use wire::types::{ApplicationDescription, NodeId, SessionDiagnosticsDataType, StatusCode};

use super::{Service, Tally, lock};

/// The node of a session, by its number.
pub fn session_node(number: u32) -> NodeId {
    NodeId::new(1, number)
}

/// Calls of a service, and how many of them ended in a ServiceFault.
#[derive(Debug, Default)]
pub struct Calls {
    /// All of them.
    pub total: Tally,
    /// Those that failed as a whole.
    pub errors: Tally,
}

/// What an activation says.
#[derive(Debug, Clone)]
pub struct Activated {
    /// The user's name for people; empty for nobody's.
    pub user: String,
    /// All users there were, in order.
    pub history: Vec<String>,
    /// Anonymous, UserName or Certificate.
    pub mechanism: &'static str,
    /// Languages its user reads.
    pub locales: Vec<String>,
    /// How its channel is protected.
    pub protection: Protection,
    /// The client's certificate, if it needed one.
    pub certificate: Vec<u8>,
}

/// A session for those who look at it from outside.
#[derive(Debug)]
pub struct SessionRecord {
    /// The number in its NodeId.
    pub number: u32,
    /// The name its client gave it.
    pub name: String,
    /// Who the client says it is.
    pub client: ApplicationDescription,
    /// The server that the client asked for.
    pub server_uri: String,
    /// The endpoint that it asked for.
    pub endpoint_url: String,
    /// The timeout granted, in milliseconds.
    pub timeout: f64,
    /// The longest response that the client takes; 0 for any.
    pub max_response: u32,
    /// When it was created, in ticks.
    pub connected: i64,
    last_contact: AtomicI64,
    activated: Mutex<Activated>,
    /// All its requests.
    pub all: Calls,
    /// Requests that it was not allowed to make.
    pub unauthorized: Tally,
    /// Publish requests that wait.
    pub publishing: Tally,
    services: [Calls; Service::COUNT],
    before: Mutex<Option<Box<SessionDiagnosticsDataType>>>,
}

impl SessionRecord {
    /// A session that was just created, over a channel protected like this.
    #[allow(
        clippy::too_many_arguments,
        reason = "each is a field of the structure"
    )]
    pub fn new(
        number: u32,
        name: String,
        client: ApplicationDescription,
        (server_uri, endpoint_url): (String, String),
        timeout: f64,
        max_response: u32,
        connected: i64,
        protection: Protection,
    ) -> Self {
        Self {
            number,
            name,
            client,
            server_uri,
            endpoint_url,
            timeout,
            max_response,
            connected,
            last_contact: AtomicI64::new(connected),
            activated: Mutex::new(Activated {
                user: String::new(),
                history: Vec::new(),
                mechanism: "",
                locales: Vec::new(),
                protection,
                certificate: Vec::new(),
            }),
            all: Calls::default(),
            unauthorized: Tally::default(),
            publishing: Tally::default(),
            services: std::array::from_fn(|_| Calls::default()),
            before: Mutex::default(),
        }
    }

    /// A request has come.
    #[inline]
    pub fn asked(&self, service: Option<Service>, utc: i64) {
        self.last_contact.store(utc, Ordering::Relaxed);
        self.all.total.bump();
        if let Some(calls) = service.and_then(|service| self.services.get(service as usize)) {
            calls.total.bump();
        }
    }

    /// It was answered with a ServiceFault.
    pub fn failed(&self, service: Option<Service>, status: StatusCode) {
        self.all.errors.bump();
        if let Some(calls) = service.and_then(|service| self.services.get(service as usize)) {
            calls.errors.bump();
        }
        if matches!(
            status,
            StatusCode::BadUserAccessDenied
                | StatusCode::BadSecureChannelIdInvalid
                | StatusCode::BadSessionNotActivated
        ) {
            self.unauthorized.bump();
        }
    }

    /// Calls of a service.
    pub fn calls(&self, service: Service) -> (u32, u32) {
        let calls = self.services.get(service as usize);
        calls.map_or((0, 0), |calls| (calls.total.get(), calls.errors.get()))
    }

    /// When its last request came, in ticks.
    pub fn last_contact(&self) -> i64 {
        self.last_contact.load(Ordering::Relaxed)
    }

    /// What it was when counting began anew.
    pub fn before(&self) -> MutexGuard<'_, Option<Box<SessionDiagnosticsDataType>>> {
        lock(&self.before)
    }

    /// What the last activation said.
    pub fn activated(&self) -> MutexGuard<'_, Activated> {
        lock(&self.activated)
    }
}
