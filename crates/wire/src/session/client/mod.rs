//! The client's side of a session.
//!
//! ```text
//! create_request ─► CreateSession ─► created ─► job ─► verified
//! activate ─► job ─► ActivateSession ─► activated        (again for another user, or on
//! close_request ─► CloseSession ─► closed                 another channel after move_to)
//! ```

mod endpoints;
mod error;

pub use error::SessionError;

use std::time::Duration;

use opcua_types::{
    ActivateSessionRequest, ActivateSessionResponse, ApplicationDescription, ByteString,
    CloseSessionRequest, CreateSessionRequest, CreateSessionResponse, DateTime,
    EndpointDescription, NodeId, RequestHeader, ResponseHeader, UAString, UserTokenPolicy,
    UserTokenType,
};

use super::ephemeral::{self, Given};
use super::token::{Credentials, Sender, Server, present};
use super::{
    Channel, NONCE_LEN, Nonce, certificate_bytes, endpoint_for, is_signed, policy_for, sign, tokens,
};
use crate::certificate::Certificate;
use crate::channel::Identity;
use crate::job::Job;
use crate::policy::Policy;
use crate::time::{Instant, Now};
use crate::url::{Transport, Url};

/// What a client wants of a session.
#[derive(Debug, Clone)]
pub struct Config {
    /// Who the client is.
    pub application: ApplicationDescription,
    /// The endpoint, as typed.
    pub endpoint_url: String,
    /// What carries it and how, as a TransportProfileUri: of its endpoints those of this one count.
    pub profile: &'static str,
    /// The name the session gets in the server's diagnostics.
    pub name: String,
    /// How long the session may go without a request.
    pub timeout: Duration,
    /// Languages the user reads, best first.
    pub locales: Vec<String>,
    /// The longest response this side takes; 0 for any.
    pub max_response_message_size: u32,
    /// Certificate and key, for any policy but None.
    pub identity: Option<Identity>,
    /// What GetEndpoints gave before, to be compared with what the session says.
    pub discovered: Option<Vec<EndpointDescription>>,
    /// Send secrets where anybody can read them: policy None for the token on a channel that
    /// does not encrypt.
    pub allow_plain_secrets: bool,
}

impl Config {
    /// The usual: a session of a minute.
    pub fn new(application: ApplicationDescription, endpoint_url: impl Into<String>) -> Self {
        let endpoint_url = endpoint_url.into();
        let url = endpoint_url.parse::<Url>();
        Self {
            application,
            profile: url
                .map_or_else(|_| Transport::default(), |url| url.transport())
                .profile(),
            endpoint_url,
            name: String::new(),
            timeout: Duration::from_secs(60),
            locales: Vec::new(),
            max_response_message_size: 0,
            identity: None,
            discovered: None,
            allow_plain_secrets: false,
        }
    }
}

/// A session as its client knows it.
#[derive(Debug)]
pub struct Session {
    config: Config,
    channel: Channel,
    state: SessionState,
    client_nonce: Nonce,
    /// The server's certificate, once somebody vouched for it: the channel or the caller.
    trusted: Option<Certificate>,
    created: Option<Created>,
    last_request: Instant,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SessionState {
    New,
    Unverified,
    Created,
    Active,
    Closed,
}

/// What the server gave when the session was created.
#[derive(Debug)]
struct Created {
    session_id: NodeId,
    authentication_token: NodeId,
    timeout: Duration,
    nonce: ByteString,
    /// What the next secret is hidden with, where that takes one.
    ephemeral: Option<Given>,
    certificate: Option<Certificate>,
    endpoints: Vec<EndpointDescription>,
    max_request_message_size: u32,
}

/// That the server's signature was checked; for [`Session::verified`].
#[derive(Debug)]
#[must_use = "hand it to Session::verified"]
pub struct Verified(bool);

impl Session {
    /// A session still to be created through `channel`.
    pub fn new(config: Config, channel: Channel) -> Self {
        Self {
            trusted: channel.peer.clone(),
            config,
            channel,
            state: SessionState::New,
            client_nonce: [0; NONCE_LEN],
            created: None,
            last_request: Instant::default(),
        }
    }

    /// Vouches for the server's certificate, checked by the caller: needed to send a secret
    /// encrypted through a channel of policy None.
    pub fn trust(&mut self, certificate: Certificate) {
        self.trusted = Some(certificate);
    }

    /// The request that creates the session. Handle and timestamp are for the sender to set.
    pub fn create_request(&mut self, nonce: Nonce, now: Now) -> CreateSessionRequest {
        self.client_nonce = nonce;
        self.last_request = now.mono;
        let identity = self.config.identity.as_ref();
        CreateSessionRequest {
            request_header: RequestHeader {
                additional_header: ephemeral::ask(self.secret_policy()),
                ..header(NodeId::null(), now)
            },
            client_description: self.config.application.clone(),
            server_uri: UAString::null(),
            endpoint_url: self.config.endpoint_url.as_str().into(),
            session_name: self.config.name.as_str().into(),
            client_nonce: ByteString::from(&nonce),
            client_certificate: certificate_bytes(identity.map(|own| &own.certificate)),
            requested_session_timeout: self.config.timeout.as_secs_f64() * 1e3,
            max_response_message_size: self.config.max_response_message_size,
        }
    }

    /// Takes the response. The job verifies the server's signature; its result goes to
    /// [`Session::verified`].
    pub fn created(
        &mut self,
        response: CreateSessionResponse,
    ) -> Result<Job<Verified>, SessionError> {
        self.expect(SessionState::New, "created already")?;
        is_good("CreateSession", &response.response_header)?;
        let policy = self.channel.protection.policy;
        let certificate = match response.server_certificate.as_ref() {
            [] => None,
            der => match Certificate::from_der(der) {
                Ok(certificate) => Some(certificate),
                // Under policy None nobody asked for it.
                Err(_) if policy == Policy::None => None,
                Err(error) => return Err(error.into()),
            },
        };
        let endpoints = response.server_endpoints.unwrap_or_default();
        if policy != Policy::None {
            if certificate != self.channel.peer {
                return Err(SessionError::AnotherServer);
            }
            check_nonce(policy, &response.server_nonce)?;
            if let Some(discovered) = &self.config.discovered {
                endpoints::compare(discovered, &endpoints, self.config.profile)?;
            }
        }
        let ephemeral = Given::read(&response.response_header.additional_header);
        let verify = match (&certificate, &self.config.identity) {
            _ if policy == Policy::None => Job::new(|| Verified(true)),
            (Some(server), Some(own)) => {
                let (key, own) = (server.public_key().clone(), own.certificate.clone());
                let (nonce, signature) = (self.client_nonce, response.server_signature);
                let (server, given) = (server.clone(), ephemeral.clone());
                let secret_policy = self.secret_policy();
                Job::new(move || {
                    let is_given = |given: Given| given.is_signed(secret_policy, &server);
                    Verified(
                        is_signed(&signature, &key, policy, &own, &nonce)
                            && given.is_none_or(is_given),
                    )
                })
            }
            _ => return Err(SessionError::NoIdentity(policy)),
        };
        self.created = Some(Created {
            session_id: response.session_id,
            authentication_token: response.authentication_token,
            timeout: milliseconds(response.revised_session_timeout),
            nonce: response.server_nonce,
            ephemeral,
            certificate,
            endpoints,
            max_request_message_size: response.max_request_message_size,
        });
        self.state = SessionState::Unverified;
        Ok(verify)
    }

    /// Takes the outcome of the job that [`Session::created`] gave.
    pub fn verified(&mut self, Verified(is_signed): Verified) -> Result<(), SessionError> {
        self.expect(
            SessionState::Unverified,
            "not waiting for a signature check",
        )?;
        if !is_signed {
            self.state = SessionState::Closed;
            return Err(SessionError::Signature);
        }
        self.state = SessionState::Created;
        Ok(())
    }

    /// The request that activates the session for a user, made by the job. The same again on an
    /// active session changes the user, or moves the session to the channel that
    /// [`Session::move_to`] named.
    ///
    /// `policy_id` picks one of the endpoint's token policies; without it the first that fits.
    pub fn activate(
        &mut self,
        credentials: &Credentials,
        policy_id: Option<&str>,
        now: Now,
    ) -> Result<Job<Result<ActivateSessionRequest, SessionError>>, SessionError> {
        let created = match (&self.created, self.state) {
            (Some(created), SessionState::Created | SessionState::Active) => created,
            _ => return Err(SessionError::State("not created")),
        };
        let protection = self.channel.protection;
        let token = self.token_policy(created, credentials, policy_id)?;
        let policy = policy_for(&token, protection).ok_or_else(|| {
            SessionError::TokenPolicy(token.security_policy_uri.as_ref().to_owned())
        })?;
        if credentials.is_secret() {
            self.check_secret(created, policy)?;
        }
        let own = match (&self.config.identity, protection.policy) {
            (_, Policy::None) => None,
            (Some(own), _) => Some(own.clone()),
            (None, policy) => return Err(SessionError::NoIdentity(policy)),
        };
        let request = ActivateSessionRequest {
            request_header: RequestHeader {
                additional_header: ephemeral::ask(self.secret_policy()),
                ..header(created.authentication_token.clone(), now)
            },
            locale_ids: Some(self.config.locales.iter().map(UAString::from).collect()),
            ..Default::default()
        };
        let (nonce, certificate) = (created.nonce.clone(), created.certificate.clone());
        let certificate = certificate
            .or_else(|| self.trusted.clone())
            .or_else(|| self.named_certificate(created));
        let credentials = credentials.clone();
        let ephemeral = created.ephemeral.clone();
        self.last_request = now.mono;
        Ok(Job::new(move || {
            let server = Server {
                certificate: certificate.as_ref(),
                nonce: nonce.as_ref(),
                ephemeral: ephemeral.as_ref().map(Given::public),
            };
            let sender = Sender {
                identity: own.as_ref(),
                utc: now.utc,
            };
            let (token, token_signature) =
                present(&credentials, &token.policy_id, policy, &server, &sender)?;
            let client_signature = match (&own, &certificate) {
                (Some(own), Some(server)) => {
                    sign(&own.key, protection.policy, server, nonce.as_ref())?
                }
                _ => Default::default(),
            };
            Ok(ActivateSessionRequest {
                client_signature,
                user_identity_token: token,
                user_token_signature: token_signature,
                ..request
            })
        }))
    }

    /// Takes the response to the activation.
    pub fn activated(&mut self, response: ActivateSessionResponse) -> Result<(), SessionError> {
        is_good("ActivateSession", &response.response_header)?;
        let given = Given::read(&response.response_header.additional_header);
        let secret_policy = self.secret_policy();
        let created = match (&mut self.created, self.state) {
            (Some(created), SessionState::Created | SessionState::Active) => created,
            _ => return Err(SessionError::State("not created")),
        };
        let policy = self.channel.protection.policy;
        if policy != Policy::None {
            check_nonce(policy, &response.server_nonce)?;
        }
        // Part 4, 7.15: the server signs each.
        if let (Some(given), Some(server)) = (&given, &created.certificate)
            && !given.is_signed(secret_policy, server)
        {
            return Err(SessionError::Signature);
        }
        created.ephemeral = given;
        created.nonce = response.server_nonce;
        self.state = SessionState::Active;
        Ok(())
    }

    /// Names the channel to go on with, opened to the same server after the old one was lost.
    /// The session must then be activated again.
    pub fn move_to(&mut self, channel: Channel) -> Result<(), SessionError> {
        if self.channel.peer != channel.peer {
            return Err(SessionError::AnotherServer);
        }
        self.channel = channel;
        if self.state == SessionState::Active {
            self.state = SessionState::Created;
        }
        Ok(())
    }

    /// The request that closes the session; no other can follow.
    pub fn close_request(&mut self, delete_subscriptions: bool, now: Now) -> CloseSessionRequest {
        let request = CloseSessionRequest {
            request_header: self.header(now),
            delete_subscriptions,
        };
        self.state = SessionState::Closed;
        request
    }

    /// A header for any request of the session. Tells the session that one is sent, too.
    pub fn header(&mut self, now: Now) -> RequestHeader {
        self.last_request = now.mono;
        header(self.authentication_token(), now)
    }

    /// Tells the session that requests were sent, which keeps it alive: once for many is enough.
    pub fn requested(&mut self, now: Now) {
        self.last_request = now.mono;
    }

    /// When the server will have given the session up unless a request arrives before; never
    /// while there is none.
    pub fn deadline(&self) -> Option<Instant> {
        let created = self.created.as_ref()?;
        // gopcua grants a timeout of 0 and keeps its sessions for good.
        let ends = self.state != SessionState::Closed && !created.timeout.is_zero();
        ends.then(|| self.last_request + created.timeout)
    }

    /// Whether the server has given the session up by now, for lack of requests.
    pub fn has_expired(&self, now: Now) -> bool {
        self.deadline().is_some_and(|deadline| now.mono >= deadline)
    }

    /// Whether requests can be sent.
    pub fn is_active(&self) -> bool {
        self.state == SessionState::Active
    }

    /// The session's place in the server's address space; null before it is created.
    pub fn session_id(&self) -> NodeId {
        self.created
            .as_ref()
            .map_or_else(NodeId::null, |created| created.session_id.clone())
    }

    /// What each request carries; null before the session is created.
    pub fn authentication_token(&self) -> NodeId {
        self.created
            .as_ref()
            .map_or_else(NodeId::null, |created| created.authentication_token.clone())
    }

    /// The timeout the server granted.
    pub fn timeout(&self) -> Option<Duration> {
        self.created.as_ref().map(|created| created.timeout)
    }

    /// The longest request the server takes; 0 for any.
    pub fn max_request_message_size(&self) -> u32 {
        self.created
            .as_ref()
            .map_or(0, |created| created.max_request_message_size)
    }

    /// The endpoints the server named when the session was created.
    pub fn endpoints(&self) -> &[EndpointDescription] {
        self.created
            .as_ref()
            .map_or(&[], |created| &created.endpoints)
    }

    /// The certificate the server named when the session was created. Under policy None it is
    /// nobody's word but the network's.
    pub fn server_certificate(&self) -> Option<&Certificate> {
        self.created.as_ref()?.certificate.as_ref()
    }

    /// The policy that a user's secret will be hidden with, as far as that is known before there is a session: that of
    /// the first token of the endpoint that hides one, or else the channel's.
    fn secret_policy(&self) -> Policy {
        let protection = self.channel.protection;
        if protection.policy.curve().is_none() {
            return protection.policy;
        }
        let discovered = self.config.discovered.as_deref().unwrap_or_default();
        let endpoint = endpoint_for(discovered, protection, self.config.profile);
        let mut hiding = endpoint
            .map(tokens)
            .unwrap_or_default()
            .iter()
            .filter(|it| {
                let kind = it.token_type;
                kind == UserTokenType::UserName || kind == UserTokenType::IssuedToken
            });
        let policy = hiding.find_map(|token| policy_for(token, protection));
        policy
            .filter(|policy| policy.curve().is_some())
            .unwrap_or(protection.policy)
    }

    fn expect(&self, state: SessionState, otherwise: &'static str) -> Result<(), SessionError> {
        match self.state == state {
            true => Ok(()),
            false => Err(SessionError::State(otherwise)),
        }
    }

    fn token_policy(
        &self,
        created: &Created,
        credentials: &Credentials,
        policy_id: Option<&str>,
    ) -> Result<UserTokenPolicy, SessionError> {
        let protection = self.channel.protection;
        let discovered = self.config.discovered.as_deref().unwrap_or_default();
        let profile = self.config.profile;
        let endpoint = endpoint_for(&created.endpoints, protection, profile)
            .or_else(|| endpoint_for(discovered, protection, profile));
        let offered = endpoint.map(tokens).unwrap_or_default();
        let kind = credentials.kind();
        let fits = |token: &&UserTokenPolicy| {
            token.token_type == kind && policy_id.is_none_or(|id| token.policy_id.as_ref() == id)
        };
        match offered.iter().find(fits) {
            Some(token) => Ok(token.clone()),
            // A server that lists no endpoints still takes an anonymous user.
            None if endpoint.is_none() && kind == UserTokenType::Anonymous => Ok(UserTokenPolicy {
                // Nobody said what it is called.
                policy_id: policy_id.unwrap_or_default().into(),
                ..Default::default()
            }),
            None => {
                let kinds = offered
                    .iter()
                    .map(|token| format!("{:?}", token.token_type));
                let kinds = kinds.collect::<Vec<_>>().join(", ");
                Err(SessionError::NotOffered(kind, kinds))
            }
        }
    }

    /// The certificate that the endpoint was described with. A user's signature is over it when
    /// CreateSession gave none, as open62541 does under policy None; secrets need a trusted one.
    fn named_certificate(&self, created: &Created) -> Option<Certificate> {
        let discovered = self.config.discovered.as_deref().unwrap_or_default();
        [created.endpoints.as_slice(), discovered]
            .iter()
            .filter_map(|list| endpoint_for(list, self.channel.protection, self.config.profile))
            .find_map(|e| Certificate::from_der(e.server_certificate.as_ref()).ok())
    }

    /// Whether a secret may be sent under this token policy.
    fn check_secret(&self, created: &Created, policy: Policy) -> Result<(), SessionError> {
        if policy == Policy::None {
            let is_hidden = self.channel.protection.mode.encrypts();
            return match is_hidden || self.config.allow_plain_secrets {
                true => Ok(()),
                false => Err(SessionError::PlainSecret),
            };
        }
        match (&self.trusted, &created.certificate) {
            (Some(trusted), Some(shown)) if trusted != shown => Err(SessionError::AnotherServer),
            (Some(_), _) => Ok(()),
            (None, _) => Err(SessionError::NotTrusted),
        }
    }
}

fn header(authentication_token: NodeId, now: Now) -> RequestHeader {
    RequestHeader {
        authentication_token,
        timestamp: DateTime::from(now.utc),
        ..Default::default()
    }
}

fn is_good(service: &'static str, header: &ResponseHeader) -> Result<(), SessionError> {
    let status = header.service_result;
    match status.is_bad() {
        true => Err(SessionError::Refused { service, status }),
        false => Ok(()),
    }
}

/// Part 4, 5.7.2.2 wants 32 bytes. async-opcua gives as many as the policy has for its channel
/// nonces, 16 for Basic128Rsa15, which is tolerated: the nonce protects the server, not us.
fn check_nonce(policy: Policy, nonce: &ByteString) -> Result<(), SessionError> {
    let len = nonce.as_ref().len();
    match len < NONCE_LEN.min(policy.nonce_len()) {
        true => Err(SessionError::Nonce { len }),
        false => Ok(()),
    }
}

/// A duration of the wire, as far as it is one.
fn milliseconds(value: f64) -> Duration {
    Duration::try_from_secs_f64(value / 1e3).unwrap_or(match value > 0.0 {
        true => Duration::MAX,
        false => Duration::ZERO,
    })
}
