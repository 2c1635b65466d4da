//! The server's side of a session.
//!
//! ```text
//! CreateSession ─► Session::create ─► job ─► CreateSessionResponse
//! ActivateSession ─► activate ─► job ─► Activation ─► is this user welcome? ─► activated
//! any other request ─► request                                              └► a fault
//! CloseSession ─► close
//! ```

mod refusal;

pub use refusal::Refusal;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use opcua_types::{
    ActivateSessionRequest, ActivateSessionResponse, ByteString, CloseSessionRequest,
    CloseSessionResponse, CreateSessionRequest, CreateSessionResponse, EndpointDescription,
    ExtensionObject, NodeId, ResponseHeader, UserTokenPolicy,
};

use super::ephemeral::{self, KeyRequest};
use super::token::{Keys, Server, TokenError, UserIdentity, recognise};
use super::{
    Channel, NONCE_LEN, Nonce, certificate_bytes, endpoint_for, is_signed, policy_for, sign, text,
    tokens,
};
use crate::certificate::Certificate;
use crate::channel::Identities;
use crate::job::Job;
use crate::policy::{Ephemeral, Policy};
use crate::service::response_header;
use crate::time::{Instant, Now};
use crate::url::Transport;

/// What a server says of itself to every session.
#[derive(Debug, Clone)]
pub struct Config {
    /// Certificates and keys; for any policy but None, and for secrets and user certificates.
    pub identities: Identities,
    /// All endpoints, with the user tokens that each takes.
    pub endpoints: Vec<EndpointDescription>,
    /// The shortest timeout a session gets.
    pub min_timeout: Duration,
    /// The longest.
    pub max_timeout: Duration,
    /// The longest request taken; 0 for any.
    pub max_request_message_size: u32,
    /// Whether the ApplicationUri a client claims must be that of its certificate
    /// (Part 4, 5.7.2.2).
    pub check_application_uri: bool,
}

impl Config {
    /// A server with these endpoints and the usual limits.
    pub fn new(identities: impl Into<Identities>, endpoints: Vec<EndpointDescription>) -> Self {
        Self {
            identities: identities.into(),
            endpoints,
            min_timeout: Duration::from_secs(10),
            max_timeout: Duration::from_secs(3600),
            max_request_message_size: 0,
            check_application_uri: true,
        }
    }
}

/// What a new session is given, from a random source.
#[derive(Debug, Clone)]
pub struct Grant {
    /// Its place in the address space.
    pub session_id: NodeId,
    /// The secret each of its requests carries; not to be guessed.
    pub authentication_token: NodeId,
    /// The first nonce.
    pub nonce: Nonce,
}

/// A session as its server knows it.
#[derive(Debug)]
pub struct Session {
    config: Arc<Config>,
    session_id: NodeId,
    authentication_token: NodeId,
    name: String,
    channel: Channel,
    state: SessionState,
    nonce: Nonce,
    timeout: Duration,
    last_request: Instant,
    locales: Vec<String>,
    /// The user it was activated for: its fingerprint.
    user: [u8; 32],
    /// What its client asked for when it was created, and gets with each activation.
    asked: KeyRequest,
    /// The ephemeral key that the next secret is to be hidden with, once the job that makes it has run.
    ephemeral: Arc<OnceLock<Ephemeral>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SessionState {
    Created,
    Active,
    Closed,
}

/// The job that makes the response to CreateSession.
pub type Signing = Job<Result<CreateSessionResponse, Refusal>>;

/// A user who has proven to be whoever they say: let in with [`Session::activated`], or turned
/// away with a fault such as BadUserAccessDenied or BadIdentityTokenRejected.
#[derive(Debug)]
#[must_use = "hand it to Session::activated, or refuse the user"]
pub struct Activation {
    user: UserIdentity,
    channel: Channel,
    nonce: Nonce,
    locales: Vec<String>,
    handle: u32,
    /// The next ephemeral key, and the header that has its public half.
    next: (Arc<OnceLock<Ephemeral>>, ExtensionObject),
}

impl Activation {
    /// Who wants in.
    pub fn user(&self) -> &UserIdentity {
        &self.user
    }
}

impl Session {
    /// Creates a session. The job signs and gives the response.
    ///
    /// Whether there is room for another session, and whether the client's certificate is
    /// trusted, has been decided before.
    pub fn create(
        config: &Arc<Config>,
        request: &CreateSessionRequest,
        channel: Channel,
        grant: Grant,
        now: Now,
    ) -> Result<(Self, Signing), Refusal> {
        let policy = channel.protection.policy;
        let client = match policy {
            // Part 4, 5.7.2.2: under policy None certificate and nonce are not looked at.
            Policy::None => None,
            _ => Some(check_client(config, request, &channel)?),
        };
        let asked = Duration::try_from_secs_f64(request.requested_session_timeout / 1e3);
        // Part 4, 5.7.2.2: the server revises what it is asked for; nothing asked is its choice, as is what is no time.
        let timeout = match asked.unwrap_or_default() {
            Duration::ZERO => config.max_timeout,
            asked => asked.min(config.max_timeout).max(config.min_timeout),
        };
        let response = CreateSessionResponse {
            response_header: response_header(&request.request_header, now.utc),
            session_id: grant.session_id.clone(),
            authentication_token: grant.authentication_token.clone(),
            revised_session_timeout: timeout.as_secs_f64() * 1e3,
            server_nonce: ByteString::from(&grant.nonce),
            server_certificate: certificate_bytes(config.certificate(policy)),
            server_endpoints: Some(config.endpoints.clone()),
            max_request_message_size: config.max_request_message_size,
            ..Default::default()
        };
        let identities = config.identities.clone();
        let nonce = request.client_nonce.clone();
        let asked = ephemeral::asked(&request.request_header.additional_header);
        let promised = Arc::<OnceLock<Ephemeral>>::default();
        let ephemeral = Arc::clone(&promised);
        let job = Job::new(move || {
            let mut response = response;
            response.response_header.additional_header = answer(asked, &identities, &promised)?;
            let Some(client) = client else {
                return Ok(response);
            };
            let cannot = Refusal::CannotSign(policy);
            let identity = identities.of(policy).ok_or_else(|| cannot.clone())?;
            let signature = sign(&identity.key, policy, &client, nonce.as_ref());
            Ok(CreateSessionResponse {
                server_signature: signature.map_err(|_| cannot)?,
                ..response
            })
        });
        let session = Self {
            config: config.clone(),
            session_id: grant.session_id,
            authentication_token: grant.authentication_token,
            name: request.session_name.as_ref().to_owned(),
            channel,
            state: SessionState::Created,
            nonce: grant.nonce,
            timeout,
            last_request: now.mono,
            locales: Vec::new(),
            user: [0; 32],
            asked,
            ephemeral,
        };
        Ok((session, job))
    }

    /// Takes a request to activate. The job verifies the client's signature and proves the user.
    ///
    /// The first activation comes through the channel that created the session, later ones may
    /// come through another that was opened with the same certificate (Part 4, 5.7.3.1).
    pub fn activate(
        &self,
        request: &ActivateSessionRequest,
        channel: Channel,
        now: Now,
    ) -> Result<Job<Result<Activation, Refusal>>, Refusal> {
        self.check_alive(now)?;
        if channel.id != self.channel.id {
            if self.state == SessionState::Created {
                self.check_channel(channel.id)?;
            }
            if channel.peer != self.channel.peer {
                return Err(Refusal::AnotherCertificate);
            }
        }
        // Tokens are the same over each transport; those without a channel may be the only endpoints without a policy.
        let of = |profile| endpoint_for(&self.config.endpoints, channel.protection, profile);
        let over = |transport: Transport| of(transport.profile());
        let endpoint = over(Transport::Tcp).or_else(|| over(Transport::Https));
        let endpoint = endpoint.or_else(|| Transport::Wss.json_profile().and_then(of));
        let offered: &[UserTokenPolicy] = endpoint.map(tokens).unwrap_or_default();
        let (token_policy, token) = recognise(&request.user_identity_token, offered)?;
        let token_policy =
            policy_for(token_policy, channel.protection).ok_or(TokenError::NotOffered)?;

        let config = self.config.clone();
        let nonce = self.nonce;
        let client_signature = request.client_signature.clone();
        let user_signature = request.user_token_signature.clone();
        let locales = request.locale_ids.iter().flatten();
        let locales = locales.map(|locale| locale.as_ref().to_owned()).collect();
        let handle = request.request_header.request_handle;
        let moved_user = (channel.id != self.channel.id).then_some(self.user);
        let own_key = Arc::clone(&self.ephemeral);
        // Part 6, 6.8.2: each activation brings the next key.
        let asked = match ephemeral::asked(&request.request_header.additional_header) {
            KeyRequest::Nothing => self.asked,
            asked => asked,
        };
        Ok(Job::new(move || {
            let policy = channel.protection.policy;
            if let Some(client) = &channel.peer {
                let key = client.public_key();
                let own = config.certificate(policy);
                let own = own.ok_or(Refusal::CannotSign(policy))?;
                if !is_signed(&client_signature, key, policy, own, &nonce) {
                    return Err(Refusal::ClientSignature);
                }
            }
            let server = Server {
                certificate: config.certificate(token_policy),
                nonce: &nonce,
                ephemeral: None,
            };
            let keys = Keys {
                own: config.identities.of(token_policy).map(|own| &own.key),
                ephemeral: own_key.get(),
                sender: channel.peer.as_ref(),
            };
            let user = token.prove(&user_signature, token_policy, &server, &keys)?;
            if moved_user.is_some_and(|before| before != user.fingerprint()) {
                return Err(Refusal::AnotherUser);
            }
            let promised = Arc::default();
            let header = answer(asked, &config.identities, &promised)?;
            Ok(Activation {
                user,
                channel,
                nonce,
                locales,
                handle,
                next: (promised, header),
            })
        }))
    }

    /// Lets the user in, once the caller has decided so. From here on the session is bound to
    /// the channel of the activation, and `nonce` is the one to sign next.
    pub fn activated(
        &mut self,
        activation: Activation,
        nonce: Nonce,
        now: Now,
    ) -> Result<ActivateSessionResponse, Refusal> {
        self.check_alive(now)?;
        // Part 4, 5.7.3.1: a nonce is used once, also by two activations under way together.
        if activation.nonce != self.nonce {
            return Err(Refusal::NonceUsed);
        }
        self.user = activation.user.fingerprint();
        self.nonce = nonce;
        // Part 6, 6.8.2: a key is not taken again after an activation that succeeded.
        let (ephemeral, additional_header) = activation.next;
        self.ephemeral = ephemeral;
        self.channel = activation.channel;
        self.state = SessionState::Active;
        self.last_request = now.mono;
        // Part 4, 5.7.3.2: an empty list keeps what there is.
        if !activation.locales.is_empty() {
            self.locales = activation.locales;
        }
        Ok(ActivateSessionResponse {
            response_header: ResponseHeader {
                additional_header,
                ..response_header(activation.handle, now.utc)
            },
            server_nonce: ByteString::from(&nonce),
            ..Default::default()
        })
    }

    /// Takes note of any other request, which keeps the session alive, or says why it cannot be
    /// served.
    #[inline]
    pub fn request(&mut self, channel_id: u32, now: Now) -> Result<(), Refusal> {
        self.check_alive(now)?;
        self.check_channel(channel_id)?;
        if self.state == SessionState::Created {
            // Part 4, 5.7.3.1: nothing but CloseSession may come before the activation.
            self.state = SessionState::Closed;
            return Err(Refusal::NotActivated);
        }
        self.last_request = now.mono;
        Ok(())
    }

    /// Closes the session. Whether its subscriptions go with it, the request says.
    pub fn close(
        &mut self,
        request: &CloseSessionRequest,
        channel_id: u32,
        now: Now,
    ) -> Result<CloseSessionResponse, Refusal> {
        self.check_alive(now)?;
        self.check_channel(channel_id)?;
        self.state = SessionState::Closed;
        Ok(CloseSessionResponse {
            response_header: response_header(&request.request_header, now.utc),
        })
    }

    /// When the session times out unless a request comes before; never once it is closed.
    pub fn deadline(&self) -> Option<Instant> {
        (self.state != SessionState::Closed).then(|| self.last_request + self.timeout)
    }

    /// Whether no request has come for longer than the timeout.
    pub fn has_expired(&self, now: Now) -> bool {
        self.deadline().is_some_and(|deadline| now.mono >= deadline)
    }

    /// Whether requests are served.
    pub fn is_active(&self) -> bool {
        self.state == SessionState::Active
    }

    /// The channel it is bound to.
    pub fn channel_id(&self) -> u32 {
        self.channel.id
    }

    /// Its place in the address space.
    pub fn session_id(&self) -> &NodeId {
        &self.session_id
    }

    /// What each of its requests carries.
    pub fn authentication_token(&self) -> &NodeId {
        &self.authentication_token
    }

    /// The name its client gave it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The timeout it was granted.
    pub fn timeout(&self) -> Duration {
        self.timeout
    }

    /// Languages its user reads, best first.
    pub fn locales(&self) -> &[String] {
        &self.locales
    }

    fn check_channel(&self, got: u32) -> Result<(), Refusal> {
        let want = self.channel.id;
        match got == want {
            true => Ok(()),
            false => Err(Refusal::AnotherChannel { want, got }),
        }
    }

    fn check_alive(&self, now: Now) -> Result<(), Refusal> {
        if self.state == SessionState::Closed {
            return Err(Refusal::Closed);
        }
        match self.has_expired(now) {
            true => Err(Refusal::TimedOut),
            false => Ok(()),
        }
    }
}

impl Config {
    fn certificate(&self, policy: Policy) -> Option<&Certificate> {
        self.identities.of(policy).map(|own| &own.certificate)
    }
}

/// Makes the ephemeral key that a client asked for, and the header that it gets.
fn answer(
    asked: KeyRequest,
    identities: &Identities,
    promised: &OnceLock<Ephemeral>,
) -> Result<ExtensionObject, Refusal> {
    let policy = match asked {
        KeyRequest::Nothing => return Ok(ExtensionObject::null()),
        KeyRequest::Key(policy) => policy,
        KeyRequest::Unknown => return Ok(ephemeral::refuse()),
    };
    let (Some(curve), Some(own)) = (policy.curve(), identities.of(policy)) else {
        return Ok(ephemeral::refuse());
    };
    let cannot = Refusal::CannotSign(policy);
    let key = Ephemeral::make(curve).map_err(|_| cannot.clone())?;
    let header = ephemeral::give(&key, policy, &own.key).map_err(|_| cannot)?;
    // Nobody else fills it: it is of this job alone.
    let _ = promised.set(key);
    Ok(header)
}

/// Whether the client that asks is the one the channel was opened by. Gives its certificate as
/// the request has it, which is what the server signs.
fn check_client(
    config: &Config,
    request: &CreateSessionRequest,
    channel: &Channel,
) -> Result<Certificate, Refusal> {
    let certificate = Certificate::from_der(request.client_certificate.as_ref()).ok();
    let certificate = certificate
        .filter(|certificate| Some(certificate) == channel.peer.as_ref())
        .ok_or(Refusal::AnotherCertificate)?;
    let claimed = text(&request.client_description.application_uri);
    if config.check_application_uri && claimed != certificate.application_uri() {
        return Err(Refusal::ApplicationUri {
            claimed: claimed.unwrap_or_default().to_owned(),
            certified: certificate.application_uri().map(str::to_owned),
        });
    }
    let len = request.client_nonce.as_ref().len();
    match len < NONCE_LEN {
        true => Err(Refusal::Nonce { len }),
        false => Ok(certificate),
    }
}
