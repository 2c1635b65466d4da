//! A client and a server in memory, with pretend time.

mod create;
mod life;
mod users;

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use opcua_types::{
    ActivateSessionRequest, ApplicationDescription, ByteString, CreateSessionRequest,
    CreateSessionResponse, EndpointDescription, ExtensionObject, NodeId, ResponseHeader,
    StatusCode, UAString, UserNameIdentityToken, UserTokenPolicy, UserTokenType,
};
use proptest::prelude::{ProptestConfig, prop_assert, prop_assert_eq, proptest};
use zeroize::Zeroizing;

use super::client::SessionError;
use super::server::{Activation, Grant, Refusal};
use super::token::{Credentials, TokenError, UserIdentity, decrypt_secret, encrypt_secret};
use super::{Channel, client, server};
use crate::certificate::Certificate;
use crate::channel::{Identity, Protection, all_protections};
use crate::policy::{Mode, Policy, PrivateKey};
use crate::service::{Limits, Request};
use crate::time::{Instant, Now};
use crate::url::Transport;

macro_rules! identity {
    ($bits:literal) => {
        identity!($bits, "rsa")
    };
    ($bits:literal, $kind:literal) => {
        Identity {
            certificate: Certificate::from_der(include_bytes!(concat!(
                "../../../tests/keys/cert",
                $bits,
                ".der"
            )))
            .unwrap(),
            key: PrivateKey::from_der(include_bytes!(concat!(
                "../../../tests/keys/",
                $kind,
                $bits,
                ".der"
            )))
            .unwrap(),
        }
    };
}

/// The server, the client and a user; 1024 bits only where a policy allows it.
static SERVER: LazyLock<Identity> = LazyLock::new(|| identity!("2048"));
static CLIENT: LazyLock<Identity> = LazyLock::new(|| identity!("3072"));
static OLD_CLIENT: LazyLock<Identity> = LazyLock::new(|| identity!("1024"));
static USER: LazyLock<Identity> = LazyLock::new(|| identity!("4096"));

/// The same for all three of them.
static ON_CURVES: LazyLock<[Identity; 3]> = LazyLock::new(|| {
    [
        identity!("256", "ecc"),
        identity!("25519", "ecc"),
        identity!("384", "ecc"),
    ]
});

fn on_curve(policy: Policy) -> Option<Identity> {
    let curve = policy.curve()?;
    let on_it = |it: &&Identity| it.key.curve() == Some(curve);
    ON_CURVES.iter().find(on_it).cloned()
}

fn server_identity(policy: Policy) -> Identity {
    on_curve(policy).unwrap_or_else(|| SERVER.clone())
}

fn client_identity(policy: Policy) -> Identity {
    if let Some(identity) = on_curve(policy) {
        return identity;
    }
    match policy.key_bits().contains(&3072) {
        true => CLIENT.clone(),
        false => OLD_CLIENT.clone(),
    }
}

fn user_identity(policy: Policy) -> Identity {
    if let Some(identity) = on_curve(policy) {
        return identity;
    }
    match policy.key_bits().contains(&4096) {
        true => USER.clone(),
        false => OLD_CLIENT.clone(),
    }
}

fn at(seconds: u64) -> Now {
    Now {
        mono: Instant::from_nanos(seconds * 1_000_000_000),
        utc: 132_000_000_000_000_000,
    }
}

fn token_policy(id: &str, token_type: UserTokenType, policy: Option<Policy>) -> UserTokenPolicy {
    UserTokenPolicy {
        policy_id: id.into(),
        token_type,
        security_policy_uri: policy.map(|policy| policy.uri().to_owned()).into(),
        ..Default::default()
    }
}

/// All kinds of tokens, protected as `policy` says or else as the channel is.
fn all_tokens(policy: Option<Policy>) -> Vec<UserTokenPolicy> {
    vec![
        token_policy("anonymous", UserTokenType::Anonymous, None),
        token_policy("name", UserTokenType::UserName, policy),
        token_policy("certificate", UserTokenType::Certificate, policy),
        token_policy("issued", UserTokenType::IssuedToken, policy),
    ]
}

fn endpoint(protection: Protection, tokens: Vec<UserTokenPolicy>) -> EndpointDescription {
    EndpointDescription {
        endpoint_url: "opc.tcp://localhost:4840".into(),
        security_mode: protection.mode.into(),
        security_policy_uri: protection.policy.uri().into(),
        transport_profile_uri: Transport::Tcp.profile().into(),
        user_identity_tokens: Some(tokens),
        ..Default::default()
    }
}

fn credentials(policy: Policy) -> [Credentials; 4] {
    let user = user_identity(policy);
    [
        Credentials::Anonymous,
        name("operator", "secret"),
        Credentials::X509 {
            certificate: user.certificate,
            key: user.key,
        },
        Credentials::Issued {
            data: Zeroizing::new(vec![b'j'; 700]),
        },
    ]
}

fn name(name: &str, password: &str) -> Credentials {
    Credentials::UserName {
        name: name.to_owned(),
        password: Zeroizing::new(password.to_owned()),
    }
}

/// Whom the server should see.
fn expected(credentials: &Credentials) -> UserIdentity {
    match credentials.clone() {
        Credentials::Anonymous => UserIdentity::Anonymous,
        Credentials::UserName { name, password } => UserIdentity::UserName {
            name,
            password: Zeroizing::new(password.as_bytes().to_vec()),
        },
        Credentials::X509 { certificate, .. } => UserIdentity::X509 { certificate },
        Credentials::Issued { data } => UserIdentity::Issued { data },
    }
}

/// A client and a server with a channel between them.
struct Pair {
    client: client::Session,
    server: Option<server::Session>,
    config: Arc<server::Config>,
    channel: Channel,
    nonces: u8,
}

impl Pair {
    fn new(protection: Protection, tokens: Vec<UserTokenPolicy>) -> Self {
        Self::with(protection, tokens, |_| ())
    }

    fn with(
        protection: Protection,
        tokens: Vec<UserTokenPolicy>,
        adjust: impl FnOnce(&mut client::Config),
    ) -> Self {
        let identity = client_identity(protection.policy);
        let application = ApplicationDescription {
            application_uri: identity.certificate.application_uri().into_uri(),
            ..Default::default()
        };
        let mut config = client::Config::new(application, "opc.tcp://localhost:4840");
        config.identity = Some(identity.clone());
        adjust(&mut config);
        let secured = protection.policy != Policy::None;
        let to_server = Channel {
            id: 1,
            protection,
            peer: secured.then(|| server_identity(protection.policy).certificate),
        };
        Self {
            client: client::Session::new(config, to_server),
            server: None,
            config: Arc::new(server::Config::new(
                Some(server_identity(protection.policy)),
                vec![endpoint(protection, tokens)],
            )),
            channel: Channel {
                id: 1,
                protection,
                peer: secured.then(|| identity.certificate.clone()),
            },
            nonces: 0,
        }
    }

    fn nonce(&mut self) -> super::Nonce {
        self.nonces += 1;
        [self.nonces; 32]
    }

    fn request(&mut self, now: Now) -> CreateSessionRequest {
        let nonce = self.nonce();
        self.client.create_request(nonce, now)
    }

    fn respond(
        &mut self,
        request: &CreateSessionRequest,
        now: Now,
    ) -> Result<CreateSessionResponse, Refusal> {
        let grant = Grant {
            session_id: NodeId::new(1, 17),
            authentication_token: NodeId::new(0, ByteString::from(&[9; 32])),
            nonce: self.nonce(),
        };
        let channel = self.channel.clone();
        let (session, job) = server::Session::create(&self.config, request, channel, grant, now)?;
        self.server = Some(session);
        job.run()
    }

    fn create(&mut self, now: Now) {
        let request = self.request(now);
        let response = self.respond(&request, now).unwrap();
        let verified = self.client.created(response).unwrap().run();
        self.client.verified(verified).unwrap();
    }

    fn server(&mut self) -> &mut server::Session {
        self.server.as_mut().unwrap()
    }

    /// As the server will see it, after encoding and decoding.
    fn ask(&mut self, credentials: &Credentials, now: Now) -> ActivateSessionRequest {
        let job = self.client.activate(credentials, None, now).unwrap();
        let mut bytes = Vec::new();
        Request::from(job.run().unwrap())
            .encode(&mut bytes)
            .unwrap();
        match Request::decode(&bytes, &Limits::for_message_size(65536)) {
            Ok(Request::ActivateSession(request)) => request,
            other => panic!("{other:?}"),
        }
    }

    fn prove(&mut self, request: &ActivateSessionRequest, now: Now) -> Result<Activation, Refusal> {
        let channel = self.channel.clone();
        self.server().activate(request, channel, now)?.run()
    }

    fn welcome(&mut self, activation: Activation, now: Now) {
        let nonce = self.nonce();
        let response = self.server().activated(activation, nonce, now).unwrap();
        self.client.activated(response).unwrap();
    }

    fn activate(&mut self, credentials: &Credentials, now: Now) -> Result<UserIdentity, Refusal> {
        let request = self.ask(credentials, now);
        let activation = self.prove(&request, now)?;
        let user = activation.user().clone();
        self.welcome(activation, now);
        Ok(user)
    }

    fn serve(&mut self, now: Now) -> Result<(), Refusal> {
        let id = self.channel.id;
        self.client.requested(now);
        self.server().request(id, now)
    }
}

trait IntoUri {
    fn into_uri(self) -> UAString;
}

impl IntoUri for Option<&str> {
    fn into_uri(self) -> UAString {
        self.map(str::to_owned).into()
    }
}

const BEST: Protection = Protection {
    policy: Policy::Basic256Sha256,
    mode: Mode::SignAndEncrypt,
};
