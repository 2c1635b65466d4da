//! What each protection of a server costs, and whether the server refuses what it has to refuse.
//!
//! All policies and modes are measured in turn, several rounds of it, so that a machine that becomes slower makes
//! none of them look worse. Nothing at the server is changed: values are read, sessions come and go.

mod handshakes;
mod measure;
mod refuse;
mod rights;
mod spent;

use std::fmt;
use std::time::Duration;

use plan::NodeSpec;
use plan::unit::duration::nanos;
use record::run::{Figure, Fingerprint};
use record::security::{Certificate, FORMAT, Rights, Sheet, User, VERSION, Way};
use record::{Closed, Timestamp};
use thiserror::Error;
use wire::channel::Protection;
use wire::policy::{Mode, Policy};
use wire::types::{NodeId, UserTokenPolicy, UserTokenType};

use crate::access::{
    Access, AccessError, Credentials, Endpoint, NAMELESS, Security, ServerFacts, choose, user_kind,
};
use crate::probe::first_read;
use crate::transport::Steps;
use crate::work::{WorkError, find};
use measure::{Bench, Measured};
pub(crate) use refuse::wrong_user;

/// What is measured.
#[derive(Debug)]
pub struct Settings {
    /// How often all is measured, in turn.
    pub rounds: u32,
    /// Connections of each kind of user in a round.
    pub connections: u32,
    /// Clients that connect at the same time while connections a second are counted; none: they are not.
    pub at_once: u32,
    /// How long values of one size are read in a round.
    pub slice: Duration,
    /// How many values a Read asks for.
    pub sizes: Vec<u32>,
    /// The node whose value is read.
    pub node: NodeSpec,
    /// Users to log in beside the anonymous one.
    pub users: Vec<Credentials>,
    /// Whether the server is shown what it has to refuse.
    pub refusals: bool,
}

/// What measures what is spent, and who is told how far it is.
#[allow(missing_debug_implementations)]
pub struct Observers<'a> {
    /// CPU that the server's process has taken so far.
    pub server_cpu: &'a dyn Fn() -> Option<Duration>,
    /// CPU that the thread which asks has taken so far.
    pub own_cpu: &'a (dyn Fn() -> Option<Duration> + Sync),
    /// Whether to end now, with what there is.
    pub stopped: &'a dyn Fn() -> bool,
    /// Told what is measured now.
    pub progress: &'a dyn Fn(&str),
    /// Told what was done over a policy and mode in a round, by what it was.
    pub told: &'a dyn Fn(Protection, Done, Closed),
    /// Says why nobody can log in, and what to do about it.
    pub explain: &'a dyn Fn(&AccessError) -> String,
}

/// What is done over each policy and mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Done {
    /// Clients came and left.
    Connections,
    /// Values were read.
    Reads,
}

impl fmt::Display for Done {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Connections => "connections",
            Self::Reads => "reads",
        })
    }
}

/// What was done in so long, and how long each took of those that succeeded.
fn done(times: Vec<u64>, failed: u64, values: u64, took: Duration) -> Closed {
    let ended = times.len() as u64 + failed;
    let mut closed = Closed {
        width_ns: nanos(took),
        response: times.into_iter().collect(),
        errors: failed,
        ..Closed::default()
    };
    closed.counters.sent = ended;
    closed.counters.completed = ended;
    closed.counters.values = values;
    closed
}

/// What the sheet says of when and on what it was measured.
#[derive(Debug)]
pub struct Frame {
    /// When it began.
    pub started: Timestamp,
    /// What it is measured on.
    pub machine: Fingerprint,
    /// The server's process, where it is known.
    pub process: Figure<u32>,
}

/// Why nothing was measured.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ExamineError {
    /// The server does not say what it is.
    #[error(transparent)]
    Access(#[from] AccessError),
    /// The node that is to be read is not there.
    #[error(transparent)]
    Node(#[from] WorkError),
}

/// Measures a server that offers these endpoints.
pub fn examine(
    access: &Access,
    endpoints: &[Endpoint],
    settings: &Settings,
    observers: &Observers<'_>,
    frame: Frame,
) -> Result<Sheet, ExamineError> {
    let mut sheet = Sheet {
        format: FORMAT.into(),
        version: VERSION,
        started: frame.started,
        url: access.url.to_string(),
        product: NAMELESS.into(),
        process: frame.process,
        machine: frame.machine,
        rounds: settings.rounds,
        node: settings.node.to_string(),
        interrupted: false,
        certificate: certificate(access, endpoints),
        ways: Vec::new(),
        refusals: Vec::new(),
        rights: Figure::missing("no endpoint takes anonymous users"),
        warnings: Vec::new(),
    };
    let mut protections: Vec<_> = endpoints.iter().filter_map(|it| it.protection).collect();
    protections.sort_by_key(|it| (it.policy != Policy::None, it.policy, it.mode));
    protections.dedup();
    let mut seen: Vec<Measured> = Vec::new();
    for protection in protections {
        let access = Access {
            security: Security::Exactly(protection),
            ..access.clone()
        };
        let offered = endpoints
            .iter()
            .find(|it| it.protection == Some(protection));
        let kinds = offered.map_or_else(Vec::new, kinds);
        seen.push(Measured::new(
            access, protection, kinds, settings, observers,
        ));
    }
    if let Some(about) = seen.iter().find_map(|way| look(way, settings)) {
        let (about, node) = about?;
        sheet.product = about.name();
        let most = about.limits.iter().find(|it| it.name == "MaxNodesPerRead");
        let most = most.map_or(0.0, |it| it.value);
        let mut sizes = settings.sizes.clone();
        sizes.retain(|&n| most <= 0.0 || f64::from(n) <= most);
        let bench = Bench {
            settings,
            observers,
            node,
            sizes,
        };
        sheet.interrupted = !bench.rounds(&mut seen);
    }
    sheet.ways = measure::ways(seen);
    if sheet.ways.iter().all(|way| way.failed.is_some()) {
        return Ok(sheet);
    }
    if let Some(way) = anonymous(&sheet.ways).filter(|_| !(observers.stopped)()) {
        (observers.progress)("what anonymous users may do");
        sheet.rights = rights(access, way);
    }
    if settings.refusals && !(observers.stopped)() {
        (observers.progress)("what has to be refused");
        sheet.refusals = refuse::all(access, endpoints);
    }
    sheet.interrupted |= (observers.stopped)();
    Ok(sheet)
}

/// The kinds of users that an endpoint takes, and whether their secrets travel in the clear.
fn kinds(endpoint: &Endpoint) -> Vec<(UserTokenType, bool)> {
    let clear = |it: &UserTokenPolicy| {
        let secret = matches!(
            it.token_type,
            UserTokenType::UserName | UserTokenType::IssuedToken
        );
        let uri = it.security_policy_uri.as_ref();
        // Part 4, 7.41: without a policy of its own that of the endpoint is used.
        let own = match uri.is_empty() {
            true => endpoint.protection.map(|it| it.policy),
            false => Policy::from_uri(uri),
        };
        let open = endpoint
            .protection
            .is_none_or(|it| it.mode != Mode::SignAndEncrypt);
        secret && open && own == Some(Policy::None)
    };
    let mut kinds: Vec<_> = endpoint
        .tokens()
        .iter()
        .map(|it| (it.token_type, clear(it)))
        .collect();
    if kinds.is_empty() {
        // Some servers list no tokens at all and mean Anonymous.
        kinds.push((UserTokenType::Anonymous, false));
    }
    // Of two policies for one kind a client may take the one that is in the clear.
    kinds.sort_by_key(|&(kind, clear)| (kind as i32, !clear));
    kinds.dedup_by_key(|it| it.0);
    kinds
}

/// The certificate of the best endpoint.
fn certificate(access: &Access, endpoints: &[Endpoint]) -> Figure<Certificate> {
    let best = choose(endpoints, Security::Best).ok();
    let der = best.and_then(|it| it.description.server_certificate.value.as_deref());
    let Some(der) = der else {
        return Figure::missing("the server shows none");
    };
    let parsed = pki::Certificate::chain_from_der(der);
    let Some(shown) = parsed.ok().and_then(|it| it.into_iter().next()) else {
        return Figure::missing("the server's certificate cannot be read");
    };
    let today = access.today();
    let host = access.url.host();
    Figure::Known(Certificate {
        subject: shown.subject().to_string(),
        key: shown.public_key().to_string(),
        days_left: shown.not_after().days_since(today),
        unnamed_host: (!shown.names_host(host)).then(|| host.to_owned()),
        problems: shown.problems(today),
    })
}

/// What the server says of itself, over this way; none where no session can be had.
fn look(
    way: &Measured,
    settings: &Settings,
) -> Option<Result<(ServerFacts, NodeId), ExamineError>> {
    let (opening, access) = way.first()?;
    let mut session = access.open(opening, &mut Steps::new()).ok()?;
    let about = ServerFacts::ask(&mut session).map_err(first_read);
    let found = about.map_err(ExamineError::from).and_then(|about| {
        let node = find::node(&settings.node, &about.namespaces, &mut session)?;
        Ok((about, node))
    });
    session.leave();
    Some(found)
}

/// The least protected way that anonymous users came by.
fn anonymous(ways: &[Way]) -> Option<&Way> {
    let name = user_kind(UserTokenType::Anonymous);
    let came = |user: &User| user.kind == name && user.activation.known().is_some();
    ways.iter().find(|way| way.users.iter().any(came))
}

fn rights(access: &Access, way: &Way) -> Figure<Rights> {
    let Ok(security) = way.security.parse() else {
        return Figure::missing("its security cannot be asked for");
    };
    let access = Access {
        security,
        user: Credentials::Anonymous,
        ..access.clone()
    };
    let opened = access
        .discover()
        .and_then(|it| access.open(&it, &mut Steps::new()));
    let mut session = match opened {
        Ok(session) => session,
        Err(error) => return Figure::missing(error.to_string()),
    };
    let rights = rights::of(&mut session);
    session.leave();
    rights.into()
}
