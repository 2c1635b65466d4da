//! Looking at a server: what it offers, what it says of itself, and how long each step of
//! getting there takes.

mod services;

use std::time::Instant;

pub use services::{Presence, Tried, services};

use plan::unit::duration::nanos;
use record::average::median_ns;
use serde::Serialize;
use wire::types::{ReadRequest, ReadResponse};

use crate::access::{Access, AccessError, Endpoint, Opening, Reads, ServerFacts, Session};
use crate::transport::{CallError, Steps, TransportStep};

/// Everything a probe found out.
#[derive(Debug, Clone, Serialize)]
pub struct Probe {
    /// The target as typed.
    pub url: String,
    /// The address that answered.
    pub address: String,
    /// The proxy between, whose address that is then.
    pub proxy: Option<String>,
    /// What TLS agreed on, where the transport has it.
    pub tls: Option<Tls>,
    /// What the server offers over the transport of the URL.
    pub endpoints: Vec<Offer>,
    /// The server's certificate.
    pub certificate: Option<CertificateFacts>,
    /// The policy and mode the session used.
    pub security: String,
    /// The user it was activated for.
    pub user: String,
    /// What the server says of itself.
    pub about: ServerFacts,
    /// What connection and session agreed on.
    pub agreed: Agreed,
    /// How long the steps took.
    pub steps: Vec<StepTimes>,
    /// How long the first check of the server's certificate took, before anything was opened: when nothing was known yet of
    /// whether it was revoked.
    pub first_check_ns: Option<u64>,
    /// Which services it has, where that was tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub services: Option<Vec<Tried>>,
    /// What is worth knowing before measuring.
    pub notes: Vec<String>,
}

/// What TLS agreed on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Tls {
    /// TLS 1.3 or TLS 1.2.
    pub version: &'static str,
    /// The cipher suite, by its name in the registry of IANA.
    pub cipher: String,
    /// It went on with keys of an earlier connection.
    pub resumed: bool,
}

/// An endpoint, for a reader.
#[derive(Debug, Clone, Serialize)]
pub struct Offer {
    /// Policy and mode, or the URI of a policy that is not known here.
    pub security: String,
    /// The URL the server gives.
    pub url: String,
    /// Anonymous, user name, certificate, issued.
    pub users: Vec<&'static str>,
    /// The server's own weighing.
    pub level: u8,
    /// Whether the session used it.
    pub used: bool,
}

/// The server's certificate, for a reader.
#[derive(Debug, Clone, Serialize)]
pub struct CertificateFacts {
    /// Its subject.
    pub subject: String,
    /// The application URI in it.
    pub application_uri: Option<String>,
    /// SHA-1 of it, in hex.
    pub thumbprint: String,
    /// Kind and length of its key.
    pub key: String,
    /// Its last day.
    pub valid_until: String,
    /// Days until then.
    pub days_left: i64,
    /// What our own checks say: nothing if they pass.
    pub refusal: Option<String>,
}

/// What was negotiated.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Agreed {
    /// The largest chunk the server sends us; 0 where there are no chunks.
    pub receive_chunk_bytes: u32,
    /// The largest chunk we may send; 0 where there are none.
    pub send_chunk_bytes: u32,
    /// The largest request the server takes; 0 is no limit.
    pub request_bytes: u32,
    /// The most chunks of a request; 0 is no limit.
    pub request_chunks: u32,
    /// How long the session outlives a lost connection.
    pub session_timeout_ns: u64,
    /// How long a security token lives; 0 where there is no channel.
    pub channel_lifetime_ns: u64,
}

/// The times of one step over all repetitions.
#[derive(Debug, Clone, Serialize)]
pub struct StepTimes {
    /// Its name.
    pub step: &'static str,
    /// How often it was done.
    pub count: usize,
    /// The median.
    pub median_ns: u64,
    /// The quickest.
    pub min_ns: u64,
    /// The slowest.
    pub max_ns: u64,
}

impl Reads for Session {
    fn read(&mut self, request: ReadRequest) -> Result<ReadResponse, CallError> {
        self.call(request)
    }

    fn utc(&self) -> i64 {
        self.link().clock().now().utc
    }
}

/// Looks at the server: once in full, and the steps `repeat` times.
pub fn probe(access: &Access, repeat: usize) -> Result<Probe, AccessError> {
    let mut runs = Vec::with_capacity(repeat);
    let mut steps = Steps::new();
    let opening = access.discover()?;
    let mut session = open(access, &opening, &mut steps)?;
    let about = ServerFacts::ask(&mut session).map_err(first_read)?;
    let mut probe = describe(access, &opening, &session, about);
    session.close(&mut steps)?;
    runs.push(steps);
    while runs.len() < repeat.max(1) {
        let mut steps = Steps::new();
        open(access, &opening, &mut steps)?.close(&mut steps)?;
        runs.push(steps);
    }
    probe.steps = times(&runs);
    Ok(probe)
}

/// A session, and what is read first.
fn open(access: &Access, opening: &Opening, steps: &mut Steps) -> Result<Session, AccessError> {
    let mut session = access.open(opening, steps)?;
    let start = Instant::now();
    session.read_state().map_err(first_read)?;
    steps.push((TransportStep::FirstRead, start.elapsed()));
    Ok(session)
}

pub(crate) fn first_read(error: CallError) -> AccessError {
    let step = TransportStep::FirstRead;
    AccessError::Call { step, error }
}

fn describe(access: &Access, opening: &Opening, session: &Session, about: ServerFacts) -> Probe {
    let limits = session.link().connection().limits();
    let shared = session.link().connection().is_shared();
    let chunks = |bytes| if shared { 0 } else { bytes };
    let chosen = opening.endpoint();
    Probe {
        url: access.url.to_string(),
        address: session.link().address().to_string(),
        proxy: access.proxy.as_ref().map(|proxy| proxy.to_string()),
        tls: session.link().secured().map(|it| Tls {
            version: it.version,
            cipher: it.cipher,
            resumed: it.resumed,
        }),
        endpoints: opening
            .endpoints()
            .iter()
            .map(|endpoint| offer(endpoint, chosen))
            .collect(),
        certificate: opening.certificate().map(|certificate| CertificateFacts {
            subject: certificate.subject().to_string(),
            application_uri: certificate.application_uri().map(str::to_owned),
            thumbprint: certificate.thumbprint_hex(),
            key: certificate.public_key().to_string(),
            valid_until: certificate.not_after().to_string(),
            days_left: certificate.not_after().days_since(access.today()),
            refusal: access
                .judge(opening)
                .err()
                .map(|refusal| refusal.to_string()),
        }),
        security: session.link().connection().protection().to_string(),
        user: access.user_name().to_owned(),
        about,
        agreed: Agreed {
            receive_chunk_bytes: chunks(limits.receive_buffer),
            send_chunk_bytes: chunks(limits.send_buffer),
            request_bytes: limits.send_message,
            request_chunks: limits.send_chunks,
            session_timeout_ns: nanos(session.timeout()),
            channel_lifetime_ns: match shared {
                true => 0,
                false => nanos(session.link().lifetime()),
            },
        },
        steps: Vec::new(),
        first_check_ns: opening.first_check().map(nanos),
        services: None,
        notes: opening.notes().to_vec(),
    }
}

fn offer(endpoint: &Endpoint, chosen: &Endpoint) -> Offer {
    Offer {
        security: endpoint.name(),
        url: endpoint.url().to_owned(),
        users: endpoint.users().collect(),
        level: endpoint.description.security_level,
        used: std::ptr::eq(endpoint, chosen),
    }
}

fn times(runs: &[Steps]) -> Vec<StepTimes> {
    let of = |step| {
        let times: Vec<_> = runs
            .iter()
            .flatten()
            .filter(|(which, _)| *which == step)
            .map(|(_, time)| nanos(*time))
            .collect();
        let each = || times.iter().copied();
        Some(StepTimes {
            step: TransportStep::name(step),
            count: times.len(),
            median_ns: median_ns(each())?,
            min_ns: each().min()?,
            max_ns: each().max()?,
        })
    };
    TransportStep::ALL.into_iter().filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn each_step_has_its_own_times_over_all_runs() {
        let run = |nanos| vec![(TransportStep::Hello, Duration::from_nanos(nanos))];
        let times = times(&[run(30), run(10), run(20)]);
        let [hello] = times.as_slice() else {
            panic!("{times:?}")
        };
        assert_eq!(hello.step, "hello");
        assert_eq!((hello.min_ns, hello.median_ns, hello.max_ns), (10, 20, 30));
    }
}
