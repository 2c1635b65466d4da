//! Getting to a server: which endpoint, whom to trust, as which user; and the session that
//! comes of it.
//!
//! [`Access`] is what the user asked for. [`Access::discover`] asks the server what it offers
//! and decides, [`Access::open`] opens a session as decided, as often as is wanted.

mod client_identities;
mod endpoint;
mod leaving;
mod server_facts;
mod session;
mod tls;
mod trust;

pub use client_identities::{Client, ClientIdentities};
pub use endpoint::{Endpoint, NotOffered, Security, UnknownSecurity, choose, user as user_kind};
pub use leaving::Leaving;
pub use server_facts::{ClockOffset, Limit, NAMELESS, Reads, ServerFacts};
pub use session::{DetachedSession, Session};
pub(crate) use tls::with_anybody;
pub use tls::{Tls, TlsTrust};
pub use wire::session::token::Credentials;

use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use capture::Recorder;
use pki::{Checks, KeyKind, Moment, Refusal, Revocation, Store, StoreError};
use revocation::Asker;
use thiserror::Error;
use wire::certificate::Certificate;
use wire::channel::{Identity, Protection};
use wire::policy::{Curve, Policy};
use wire::types::{StatusCode, UserTokenType};
use wire::url::Url;
use wss::{TlsError, TunnelError};

use client_identities::Own;

use crate::relay::Background;
use crate::transport::tasks::blocking;
use crate::transport::{
    CallError, Callers, Dscp, Link, LinkError, Options, Proxy, ServerCheck, Steps, TransportStep,
    Way, look_up_host,
};

/// Whether the server's certificate has to be a trusted one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TrustRule {
    /// It has to be in the trust list, or an authority above it.
    #[default]
    Listed,
    /// Any will do, this once.
    Everyone,
}

/// How to get to a server.
#[derive(Debug, Clone)]
pub struct Access {
    /// Where it is, as typed.
    pub url: Url,
    /// The protection asked for.
    pub security: Security,
    /// Own certificate, trusted ones, issuers, rejected ones.
    pub store: Store,
    /// What the own certificate says if it has to be made first.
    pub own: pki::make::Request,
    /// Whom to trust.
    pub trust: TrustRule,
    /// The checks to make on the server's certificate.
    pub checks: Checks,
    /// Where it is looked up whether that was revoked.
    pub revocation: Revocation,
    /// Asks for it.
    pub asker: Arc<Asker>,
    /// The user.
    pub user: Credentials,
    /// Sessions that are not all of one application and user.
    pub each: Option<Arc<ClientIdentities>>,
    /// Whether a password may travel in the clear.
    pub plain_password: bool,
    /// From how many addresses of 127.0.0.0/8 clients connect, in turn; zero: from whichever the system
    /// takes.
    pub sources: u32,
    /// A link that lies between us and the server, and is kept for as long as this.
    pub link: Option<Arc<Background>>,
    /// The proxy that makes a tunnel to the server, if there is one between.
    pub proxy: Option<Arc<Proxy>>,
    /// Where the server is awaited, if it is the one that dials.
    pub callers: Option<Arc<Callers>>,
    /// Records what goes over all connections, and the keys of their channels.
    pub recorder: Option<Recorder>,
    /// How TLS is begun, once it was.
    pub tls: Tls,
    /// Whether connections of TLS go on with keys of earlier ones, where the server lets them.
    pub tls_resume: bool,
    /// Whether messages are JSON: over HTTPS and WebSockets only.
    pub json: bool,
    /// Connections of each session beside the first one, over which Publish requests go: over HTTPS only.
    pub posts: u32,
    /// The class of traffic that packets to the server say they are of.
    pub dscp: Option<Dscp>,
    /// How long a session may go without a request, as the server is asked for it.
    pub session_timeout: Duration,
    /// How long each step and call may take.
    pub timeout: Duration,
}

/// Why there is no session.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum AccessError {
    /// The connection could not be made, or ended.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// A service call on the way failed.
    #[error("{} failed: {error}", .step.name())]
    Call {
        /// At which step.
        step: TransportStep,
        /// Why.
        error: CallError,
    },
    /// What was asked for is not there.
    #[error(transparent)]
    NotOffered(#[from] NotOffered),
    /// The endpoint wants another kind of user.
    #[error("the endpoint {security} takes no {asked}; it takes {offered}")]
    User {
        /// The endpoint.
        security: String,
        /// The kind of user asked for.
        asked: &'static str,
        /// What it takes.
        offered: String,
    },
    /// The server's certificate was refused, here.
    #[error("the server's certificate is not accepted: {refusal}")]
    Untrusted {
        /// Why.
        refusal: Refusal,
        /// SHA-1 of the certificate in hex, by which the folder knows it.
        thumbprint: String,
        /// Where it was put for a closer look.
        file: Option<PathBuf>,
    },
    /// A secured endpoint without a usable certificate.
    #[error("the endpoint {0} comes without a certificate that can be read")]
    NoCertificate(String),
    /// The own certificate, or the folder of them, is unusable.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The own certificate or key is of a kind the protocol has no use for.
    #[error("our own certificate is unusable: {0}")]
    Own(String),
    /// Making or checking the session failed.
    #[error(transparent)]
    Session(#[from] wire::session::client::SessionError),
}

impl AccessError {
    /// The code that says it shortest.
    pub fn status(&self) -> StatusCode {
        match self {
            Self::Link(LinkError::Channel(error)) => error.status(),
            Self::Link(LinkError::Tunnel(TunnelError::Tls(TlsError::Rejected(it)))) => {
                StatusCode::from(it.status)
            }
            Self::Link(_) => StatusCode::BadConnectionRejected,
            Self::Call { error, .. } => error.status(),
            Self::Session(error) => error.status(),
            Self::Untrusted { refusal, .. } => StatusCode::from(refusal.status()),
            Self::NoCertificate(_) => StatusCode::BadCertificateUntrusted,
            _ => StatusCode::BadConfigurationError,
        }
    }
}

/// What a server offers and what was decided.
#[derive(Debug)]
pub struct Opening {
    endpoints: Vec<Endpoint>,
    chosen: usize,
    certificate: Option<pki::Certificate>,
    own: Own,
    /// By client, where they differ.
    each: Arc<[Own]>,
    /// The certificate was judged and may be used to hide secrets.
    vouched: bool,
    /// Judges it again whenever a channel is opened or renewed.
    check: Option<ServerCheck>,
    first_check: Option<Duration>,
    notes: Vec<String>,
}

impl Opening {
    /// All that is offered over the transport of the URL.
    pub fn endpoints(&self) -> &[Endpoint] {
        &self.endpoints
    }

    /// The one to use.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoints[self.chosen]
    }

    /// The server's certificate, if the endpoint has one.
    pub fn certificate(&self) -> Option<&pki::Certificate> {
        self.certificate.as_ref()
    }

    /// What is worth telling.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// How long it took to judge the server's certificate before anything was opened, if it was.
    pub fn first_check(&self) -> Option<Duration> {
        self.first_check
    }

    /// Whether the server's certificate is judged each time that a channel is opened.
    pub(crate) fn is_checked(&self) -> bool {
        self.check.is_some() && self.is_secured()
    }

    fn protection(&self) -> Protection {
        self.endpoint().protection.unwrap_or(Protection::NONE)
    }

    fn is_secured(&self) -> bool {
        self.protection().policy != Policy::None
    }

    /// The same, by an application of this URI, and with another certificate if there is one.
    pub(crate) fn posing(mut self, application_uri: &str, identity: Option<Identity>) -> Self {
        application_uri.clone_into(&mut self.own.application_uri);
        self.own.identity = identity.or(self.own.identity);
        self
    }

    /// The application of a client.
    fn own(&self, client: usize) -> &Own {
        self.each.get(client).unwrap_or(&self.own)
    }

    fn vouched(&self) -> Option<Certificate> {
        self.endpoint().certificate().filter(|_| self.vouched)
    }
}

impl Access {
    /// The way of anybody to a server whose certificate is in the trust list.
    pub fn new(url: Url, store: Store, own: pki::make::Request) -> Self {
        Self {
            url,
            security: Security::default(),
            store,
            own,
            trust: TrustRule::default(),
            checks: Checks::default(),
            revocation: Revocation::default(),
            asker: Arc::default(),
            user: Credentials::Anonymous,
            each: None,
            plain_password: false,
            sources: 0,
            link: None,
            proxy: None,
            callers: None,
            recorder: None,
            tls: Tls::default(),
            tls_resume: false,
            json: false,
            posts: 0,
            dscp: None,
            session_timeout: Duration::from_secs(60),
            timeout: Duration::from_secs(10),
        }
    }

    /// Today, for the validity of certificates.
    pub fn today(&self) -> Moment {
        SystemTime::now().into()
    }

    /// The user, for a reader.
    pub fn user_name(&self) -> &str {
        match &self.user {
            Credentials::UserName { name, .. } => name,
            other => endpoint::user(other.kind()),
        }
    }

    /// Asks what the server offers over the transport of the URL.
    pub fn offers(&self) -> Result<Vec<Endpoint>, AccessError> {
        let mut link = Link::open(&self.url, &self.reaching(), &mut Steps::new())?;
        let endpoints =
            endpoint::endpoints(&mut link, (&self.url, self.json)).map_err(|error| {
                AccessError::Call {
                    step: TransportStep::Discover,
                    error,
                }
            })?;
        // Whether the server minds being left is of no interest.
        let _ = link.close();
        Ok(endpoints)
    }

    /// Asks what the server offers, takes what was asked for, and judges the certificate.
    pub fn discover(&self) -> Result<Opening, AccessError> {
        let endpoints = self.offers()?;
        let chosen = choose(&endpoints, self.security)?;
        self.takes_user(chosen)?;
        let mut opening = Opening {
            // It is one of them.
            chosen: endpoints
                .iter()
                .position(|e| std::ptr::eq(e, chosen))
                .unwrap_or(0),
            certificate: chosen
                .description
                .server_certificate
                .value
                .as_deref()
                .and_then(|der| {
                    pki::Certificate::chain_from_der(der)
                        .ok()?
                        .into_iter()
                        .next()
                }),
            own: Own {
                name: "uaperf".into(),
                // A request for an application is made with one.
                application_uri: self.own.application_uri().unwrap_or_default().to_owned(),
                identity: None,
            },
            each: Arc::default(),
            vouched: false,
            check: None,
            first_check: None,
            notes: self.notes(chosen),
            endpoints,
        };
        if opening.is_secured() || self.hides_secret(opening.endpoint()) {
            let start = Instant::now();
            opening.check = self.accept(&opening)?;
            opening.first_check = opening.check.is_some().then(|| start.elapsed());
            opening.vouched = true;
        }
        match &self.each {
            Some(each) if opening.is_secured() => {
                let kind = key_kind(opening.protection().policy);
                opening.each = each.certified(&self.store, kind, self.today())?;
            }
            Some(each) => opening.each = each.bare(),
            None if opening.is_secured() => {
                let kind = key_kind(opening.protection().policy);
                let own = self.store.own(&self.own, kind, self.today())?;
                if let Some(uri) = own.application_uri() {
                    uri.clone_into(&mut opening.own.application_uri);
                }
                opening.own.identity =
                    Some(identity(&own).map_err(|error| AccessError::Own(error.to_string()))?);
            }
            None => {}
        }
        Ok(opening)
    }

    /// A password on an open channel is encrypted for the server's certificate, which then has
    /// to be the right one (Part 4, 7.41.2.1).
    fn hides_secret(&self, endpoint: &Endpoint) -> bool {
        let policy = endpoint.token(self.user.kind());
        let hidden = policy.is_some_and(|policy| {
            let uri = policy.security_policy_uri.as_ref();
            !uri.is_empty() && uri != Policy::None.uri()
        });
        self.user.is_secret() && hidden
    }

    fn takes_user(&self, endpoint: &Endpoint) -> Result<(), AccessError> {
        let asked = self.user.kind();
        // Some servers list no tokens at all and mean Anonymous.
        let silent = endpoint.tokens().is_empty() && asked == UserTokenType::Anonymous;
        if silent || endpoint.token(asked).is_some() {
            return Ok(());
        }
        let offered: Vec<_> = endpoint.users().collect();
        Err(AccessError::User {
            security: endpoint.name(),
            asked: endpoint::user(asked),
            offered: offered.join(", "),
        })
    }

    fn notes(&self, endpoint: &Endpoint) -> Vec<String> {
        let mut notes = Vec::new();
        if let Ok(advertised) = endpoint.url().parse::<Url>()
            && (advertised.host(), advertised.port()) != (self.url.host(), self.url.port())
        {
            notes.push(format!(
                "the server calls itself {}; {}:{} is used as typed",
                endpoint.url(),
                self.url.host(),
                self.url.port()
            ));
        }
        if endpoint
            .protection
            .is_some_and(|p| p.policy.is_deprecated())
        {
            notes.push("the security policy is deprecated since 1.04 for its SHA-1".into());
        }
        notes
    }

    /// Opens a channel as decided, for services that need no session.
    pub fn connect(&self, opening: &Opening, steps: &mut Steps) -> Result<Link, AccessError> {
        Ok(Link::open(&self.url, &self.options(0, opening), steps)?)
    }

    /// Opens a session as decided. `steps` has what each step took, also up to a failure.
    pub fn open(&self, opening: &Opening, steps: &mut Steps) -> Result<Session, AccessError> {
        self.open_as(0, opening, steps)
    }

    /// The same as this one of the clients, where each has an identity of its own.
    pub fn open_as(
        &self,
        client: usize,
        opening: &Opening,
        steps: &mut Steps,
    ) -> Result<Session, AccessError> {
        blocking(self.open_as_in_turn(client, opening, steps))
    }

    /// The same for a task.
    pub async fn open_as_in_turn(
        &self,
        client: usize,
        opening: &Opening,
        steps: &mut Steps,
    ) -> Result<Session, AccessError> {
        let options = self.options(client, opening);
        let link = Link::open_in_turn(&self.url, &options, steps).await?;
        Session::open(link, self, client, opening, steps).await
    }

    /// Activates a client's session that lost its connection over a new channel (Part 4, 5.7.3). Gives it
    /// back where the server cannot be reached; none where the server does not take it back.
    pub fn resume(
        &self,
        client: usize,
        opening: &Opening,
        detached: DetachedSession,
    ) -> Result<Session, Option<Box<DetachedSession>>> {
        blocking(self.resume_in_turn(client, opening, detached, &mut Steps::new()))
            .map_err(|(_, detached)| detached)
    }

    /// The same for a task, with what each step took, also up to a failure, and with the reason why not.
    pub async fn resume_in_turn(
        &self,
        client: usize,
        opening: &Opening,
        detached: DetachedSession,
        steps: &mut Steps,
    ) -> Result<Session, (AccessError, Option<Box<DetachedSession>>)> {
        let options = self.options(client, opening);
        match Link::open_in_turn(&self.url, &options, steps).await {
            Ok(link) => detached
                .resume(link, self, client, opening, steps)
                .await
                .map_err(|error| (error, None)),
            Err(error) => Err((error.into(), Some(Box::new(detached)))),
        }
    }

    fn options(&self, client: usize, opening: &Opening) -> Options {
        Options {
            protection: opening.protection(),
            identity: opening.own(client).identity.clone(),
            server: opening.endpoint().certificate(),
            check: opening.check.clone().filter(|_| opening.is_secured()),
            source: source(client, self.sources),
            connections: self.posts,
            ..self.reaching()
        }
    }

    /// What a link is opened with, whatever becomes of it.
    pub(crate) fn reaching(&self) -> Options {
        Options {
            tls: self.tls(),
            json: self.json,
            dscp: self.dscp,
            timeout: self.timeout,
            way: self.way(),
            recorder: self.recorder.clone(),
            ..Options::default()
        }
    }

    /// How the server is reached.
    pub(crate) fn way(&self) -> Way {
        match (&self.callers, &self.link, &self.proxy) {
            (Some(callers), _, _) => Way::Called(Arc::clone(callers)),
            (None, Some(link), _) => Way::Through(link.address()),
            (None, None, Some(proxy)) => Way::Proxied(Arc::clone(proxy)),
            (None, None, None) => Way::Dial,
        }
    }

    /// The interface of this machine by which connections leave; none where a relay of ours stands between, where the
    /// server dials, and where the system does not say.
    pub fn interface(&self) -> Option<String> {
        let towards = |(host, port): (&str, u16)| {
            let addresses = look_up_host(host, port).ok()?;
            let mut names = addresses.into_iter().map(platform::interface::towards);
            names.find_map(Result::ok)
        };
        match self.way() {
            Way::Dial => towards((self.url.host(), self.url.port())),
            Way::Proxied(proxy) => towards(proxy.place()),
            Way::Through(_) | Way::Called(_) => None,
        }
    }

    /// The user that a client logs in.
    fn user_of(&self, client: usize) -> &Credentials {
        let each = self.each.as_ref().and_then(|each| each.user(client));
        each.unwrap_or(&self.user)
    }
}

/// The address that a client connects from, of so many behind 127.0.0.1.
fn source(client: usize, sources: u32) -> Option<IpAddr> {
    let place = u32::try_from(client).ok()?.checked_rem(sources)?;
    let first = u32::from(Ipv4Addr::LOCALHOST);
    Some(Ipv4Addr::from(first.checked_add(place)?).into())
}

/// The keys that are made at first use for a policy: RSA of a length that every current one takes, or on its curve.
pub fn key_kind(policy: Policy) -> KeyKind {
    match policy.curve() {
        None => KeyKind::Rsa(2048),
        Some(Curve::NistP256) => KeyKind::On(pki::Curve::P256),
        Some(Curve::Curve25519) => KeyKind::On(pki::Curve::Ed25519),
        Some(Curve::NistP384) => KeyKind::On(pki::Curve::P384),
    }
}

/// A certificate and key from the folder, in the form the wire takes.
pub fn identity(own: &pki::Identity) -> Result<Identity, Box<dyn std::error::Error>> {
    Ok(Identity {
        certificate: Certificate::from_der(&own.sent())?,
        key: wire::policy::PrivateKey::from_der(own.key.pkcs8())?,
    })
}
