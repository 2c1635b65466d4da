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
use super::{Channel, UA_TCP, client, server};
use crate::certificate::Certificate;
use crate::channel::{Identity, Protection, all_protections};
use crate::policy::{Mode, Policy, PrivateKey};
use crate::service::{Limits, Request};
use crate::time::{Instant, Now};

macro_rules! identity {
    ($bits:literal) => {
        Identity {
            certificate: Certificate::from_der(include_bytes!(concat!(
                "../../tests/keys/cert",
                $bits,
                ".der"
            )))
            .unwrap(),
            key: PrivateKey::from_der(include_bytes!(concat!(
                "../../tests/keys/rsa",
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

fn client_identity(policy: Policy) -> Identity {
    match policy.key_bits().contains(&3072) {
        true => CLIENT.clone(),
        false => OLD_CLIENT.clone(),
    }
}

fn user_identity(policy: Policy) -> Identity {
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
        transport_profile_uri: UA_TCP.into(),
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
            peer: secured.then(|| SERVER.certificate.clone()),
        };
        Self {
            client: client::Session::new(config, to_server),
            server: None,
            config: Arc::new(server::Config::new(
                Some(SERVER.clone()),
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

#[test]
fn every_kind_of_user_comes_in_through_every_kind_of_channel() {
    for protection in all_protections() {
        // Protected as the channel is; under None by a policy of the token's own.
        let token = match protection.policy {
            Policy::None => Policy::Aes256Sha256RsaPss,
            policy => policy,
        };
        let own = (protection.policy == Policy::None).then_some(token);
        for credentials in credentials(token) {
            let mut pair = Pair::new(protection, all_tokens(own));
            pair.client.trust(SERVER.certificate.clone());
            pair.create(at(0));
            let user = pair.activate(&credentials, at(1)).unwrap();
            assert_eq!(user, expected(&credentials), "{protection}");
            assert!(pair.client.is_active() && pair.server().is_active());
            pair.serve(at(2)).unwrap();
            let close = pair.client.close_request(true, at(3));
            pair.server().close(&close, 1, at(3)).unwrap();
            assert_eq!(pair.serve(at(3)), Err(Refusal::Closed));
        }
    }
}

#[test]
fn both_sides_know_the_session_by_the_same_names_and_times() {
    let mut pair = Pair::with(BEST, all_tokens(None), |config| {
        config.name = "line 4".to_owned();
        config.timeout = Duration::from_secs(90);
        config.locales = vec!["de".to_owned(), "en".to_owned()];
    });
    pair.create(at(0));
    pair.activate(&Credentials::Anonymous, at(1)).unwrap();
    let Pair { client, server, .. } = pair;
    let server = server.unwrap();
    assert_eq!(client.session_id(), *server.session_id());
    assert_eq!(
        client.authentication_token(),
        *server.authentication_token()
    );
    assert_eq!(client.timeout(), Some(Duration::from_secs(90)));
    assert_eq!(server.timeout(), Duration::from_secs(90));
    assert_eq!(server.name(), "line 4");
    assert_eq!(server.locales(), ["de", "en"]);
}

#[test]
fn the_timeout_asked_for_is_revised_to_what_the_server_allows() {
    for (asked, granted) in [
        (0.0, 3600),
        (1.0, 10),
        (60e3, 60),
        (1e12, 3600),
        (f64::NAN, 3600),
    ] {
        let mut pair = Pair::new(BEST, all_tokens(None));
        let mut request = pair.request(at(0));
        request.requested_session_timeout = asked;
        let response = pair.respond(&request, at(0)).unwrap();
        assert_eq!(response.revised_session_timeout, f64::from(granted) * 1e3);
    }
}

#[test]
fn a_session_lives_from_request_to_request_and_no_longer() {
    let mut pair = Pair::with(BEST, all_tokens(None), |config| {
        config.timeout = Duration::from_secs(30);
    });
    pair.create(at(0));
    pair.activate(&Credentials::Anonymous, at(10)).unwrap();
    for seconds in (20..300).step_by(29) {
        pair.serve(at(seconds)).unwrap();
        assert_eq!(pair.client.deadline(), Some(at(seconds + 30).mono));
        assert_eq!(pair.server().deadline(), Some(at(seconds + 30).mono));
    }
    assert!(!pair.client.has_expired(at(310)));
    assert!(pair.client.has_expired(at(311)));
    assert_eq!(pair.serve(at(400)), Err(Refusal::TimedOut));
    assert_eq!(Refusal::TimedOut.status(), StatusCode::BadSessionIdInvalid);
}

#[test]
fn a_session_that_is_never_activated_times_out() {
    let mut pair = Pair::new(BEST, all_tokens(None));
    pair.create(at(0));
    let request = pair.ask(&Credentials::Anonymous, at(1));
    assert_eq!(pair.prove(&request, at(60)).unwrap_err(), Refusal::TimedOut);
}

#[test]
fn a_request_before_the_activation_ends_the_session() {
    let mut pair = Pair::new(BEST, all_tokens(None));
    pair.create(at(0));
    let refusal = pair.serve(at(1)).unwrap_err();
    assert_eq!(refusal.status(), StatusCode::BadSessionNotActivated);
    let request = pair.ask(&Credentials::Anonymous, at(1));
    let refusal = pair.prove(&request, at(1)).unwrap_err();
    assert_eq!(refusal.status(), StatusCode::BadSessionClosed);
}

#[test]
fn a_server_without_the_key_of_its_certificate_is_found_out() {
    for protection in all_protections().filter(|p| p.policy != Policy::None) {
        let mut pair = Pair::new(protection, all_tokens(None));
        let request = pair.request(at(0));
        let mut response = pair.respond(&request, at(0)).unwrap();
        let mut signature = response.server_signature.signature.as_ref().to_vec();
        signature[17] ^= 1;
        response.server_signature.signature = signature.into();
        let verified = pair.client.created(response).unwrap().run();
        assert_eq!(pair.client.verified(verified), Err(SessionError::Signature));
        let again = pair.client.activate(&Credentials::Anonymous, None, at(1));
        assert!(matches!(again.unwrap_err(), SessionError::State(_)));
    }
}

#[test]
fn a_signature_over_another_nonce_or_none_is_found_out() {
    let mut pair = Pair::new(BEST, all_tokens(None));
    let request = pair.request(at(0));
    let response = pair.respond(&request, at(0)).unwrap();
    // The client has asked again meanwhile, with another nonce.
    let _ = pair.request(at(0));
    let verified = pair.client.created(response).unwrap().run();
    assert_eq!(pair.client.verified(verified), Err(SessionError::Signature));

    let mut pair = Pair::new(BEST, all_tokens(None));
    let request = pair.request(at(0));
    let response = CreateSessionResponse {
        server_signature: Default::default(),
        ..pair.respond(&request, at(0)).unwrap()
    };
    let verified = pair.client.created(response).unwrap().run();
    assert_eq!(pair.client.verified(verified), Err(SessionError::Signature));
}

#[test]
fn a_server_with_another_certificate_or_a_short_nonce_is_refused() {
    let mut pair = Pair::new(BEST, all_tokens(None));
    let request = pair.request(at(0));
    let response = pair.respond(&request, at(0)).unwrap();
    let other = CreateSessionResponse {
        server_certificate: USER.certificate.as_bytes().into(),
        ..response.clone()
    };
    assert_eq!(
        pair.client.created(other).unwrap_err(),
        SessionError::AnotherServer
    );
    let none = CreateSessionResponse {
        server_certificate: ByteString::null(),
        ..response.clone()
    };
    assert_eq!(
        pair.client.created(none).unwrap_err(),
        SessionError::AnotherServer
    );
    let garbage = CreateSessionResponse {
        server_certificate: ByteString::from(&[0x30; 100]),
        ..response.clone()
    };
    assert!(matches!(
        pair.client.created(garbage).unwrap_err(),
        SessionError::Certificate(_)
    ));
    let short = CreateSessionResponse {
        server_nonce: ByteString::from(&[1; 31]),
        ..response.clone()
    };
    assert_eq!(
        pair.client.created(short).unwrap_err(),
        SessionError::Nonce { len: 31 }
    );
    let refused = CreateSessionResponse {
        response_header: ResponseHeader {
            service_result: StatusCode::BadTooManySessions,
            ..ResponseHeader::null()
        },
        ..response
    };
    let error = pair.client.created(refused).unwrap_err();
    assert_eq!(error.status(), StatusCode::BadTooManySessions);
}

#[test]
fn a_server_may_send_its_chain_or_its_leaf() {
    let mut pair = Pair::new(BEST, all_tokens(None));
    let chain = [SERVER.certificate.as_bytes(), USER.certificate.as_bytes()].concat();
    pair.config = Arc::new(server::Config {
        identity: Some(Identity {
            certificate: Certificate::from_der(&chain).unwrap(),
            key: SERVER.key.clone(),
        }),
        ..(*pair.config).clone()
    });
    pair.create(at(0));
    let user = pair.activate(&name("operator", "secret"), at(1)).unwrap();
    assert_eq!(user, expected(&name("operator", "secret")));
}

#[test]
fn a_client_that_signs_the_whole_chain_is_understood() {
    let mut pair = Pair::new(BEST, all_tokens(None));
    let chain = [SERVER.certificate.as_bytes(), USER.certificate.as_bytes()].concat();
    pair.config = Arc::new(server::Config {
        identity: Some(Identity {
            certificate: Certificate::from_der(&chain).unwrap(),
            key: SERVER.key.clone(),
        }),
        ..(*pair.config).clone()
    });
    pair.create(at(0));
    let mut request = pair.ask(&Credentials::Anonymous, at(1));
    // The second nonce given out is the server's first.
    let data = [&chain[..], &[2; 32]].concat();
    let signature = CLIENT.key.sign(BEST.policy, &data).unwrap();
    request.client_signature.signature = signature.into();
    assert!(pair.prove(&request, at(1)).is_ok());
}

#[test]
fn endpoints_that_discovery_hid_or_invented_are_noticed() {
    let known = endpoint(BEST, all_tokens(None));
    let weak = Protection {
        mode: Mode::Sign,
        ..BEST
    };
    let extra = endpoint(weak, all_tokens(None));
    let mut fewer_tokens = known.clone();
    fewer_tokens.user_identity_tokens = Some(vec![]);
    for (discovered, complaint) in [
        (vec![known.clone()], None),
        (vec![], Some("was not discovered")),
        (vec![fewer_tokens], Some("was not discovered")),
        (
            vec![known.clone(), extra],
            Some("Basic256Sha256:Sign is not known"),
        ),
        // Other transports are nobody's business here.
        (
            vec![
                known.clone(),
                EndpointDescription {
                    transport_profile_uri: "https".into(),
                    ..known
                },
            ],
            None,
        ),
    ] {
        let mut pair = Pair::with(BEST, all_tokens(None), |config| {
            config.discovered = Some(discovered);
        });
        let request = pair.request(at(0));
        let response = pair.respond(&request, at(0)).unwrap();
        match (pair.client.created(response), complaint) {
            (Ok(_), None) => {}
            (Err(error), Some(complaint)) => {
                assert!(error.to_string().contains(complaint), "{error}");
                assert_eq!(error.status(), StatusCode::BadSecurityChecksFailed);
            }
            (outcome, _) => panic!("{outcome:?} with {complaint:?}"),
        }
    }
}

#[test]
fn a_client_that_is_not_the_one_on_the_channel_is_refused() {
    let mut pair = Pair::new(BEST, all_tokens(None));
    let request = pair.request(at(0));
    let status = |pair: &mut Pair, request: &CreateSessionRequest| {
        pair.respond(request, at(0)).unwrap_err().status()
    };
    for certificate in [USER.certificate.as_bytes(), &[], &[0x30, 0x82]] {
        let request = CreateSessionRequest {
            client_certificate: certificate.into(),
            ..request.clone()
        };
        assert_eq!(
            status(&mut pair, &request),
            StatusCode::BadSecurityChecksFailed
        );
    }
    let short = CreateSessionRequest {
        client_nonce: ByteString::from(&[1; 31]),
        ..request.clone()
    };
    assert_eq!(status(&mut pair, &short), StatusCode::BadNonceInvalid);
    let mut other = request.clone();
    other.client_description.application_uri = "urn:somebody:else".into();
    assert_eq!(
        status(&mut pair, &other),
        StatusCode::BadCertificateUriInvalid
    );
    pair.config = Arc::new(server::Config {
        check_application_uri: false,
        ..(*pair.config).clone()
    });
    assert!(pair.respond(&other, at(0)).is_ok());
}

#[test]
fn an_activation_needs_the_signature_of_the_client_that_created_the_session() {
    for protection in all_protections().filter(|p| p.policy != Policy::None) {
        let mut pair = Pair::new(protection, all_tokens(None));
        pair.create(at(0));
        let sound = pair.ask(&Credentials::Anonymous, at(1));
        let mut changed = sound.clone();
        let mut signature = sound.client_signature.signature.as_ref().to_vec();
        signature[0] ^= 0x80;
        changed.client_signature.signature = signature.into();
        let mut missing = sound.clone();
        missing.client_signature = Default::default();
        let mut half = sound.clone();
        let whole = sound.client_signature.signature.as_ref();
        half.client_signature.signature = whole[..whole.len() / 2].into();
        for request in [changed, missing, half] {
            let refusal = pair.prove(&request, at(1)).unwrap_err();
            assert_eq!(
                refusal.status(),
                StatusCode::BadApplicationSignatureInvalid,
                "{protection}"
            );
        }
        // None of this has used up the nonce.
        let activation = pair.prove(&sound, at(1)).unwrap();
        pair.welcome(activation, at(1));
    }
}

#[test]
fn an_activation_cannot_be_repeated() {
    let mut pair = Pair::new(BEST, all_tokens(None));
    pair.create(at(0));
    let request = pair.ask(&Credentials::Anonymous, at(1));
    let first = pair.prove(&request, at(1)).unwrap();
    let second = pair.prove(&request, at(1)).unwrap();
    pair.welcome(first, at(1));
    let refusal = pair
        .server()
        .activated(second, [99; 32], at(1))
        .unwrap_err();
    assert_eq!(refusal.status(), StatusCode::BadNonceInvalid);
    let refusal = pair.prove(&request, at(2)).unwrap_err();
    assert_eq!(refusal, Refusal::ClientSignature);
}

#[test]
fn a_user_certificate_needs_the_signature_of_its_key() {
    for protection in all_protections().filter(|p| p.policy != Policy::None) {
        let mut pair = Pair::new(protection, all_tokens(None));
        pair.create(at(0));
        let [_, _, x509, _] = credentials(protection.policy);
        let sound = pair.ask(&x509, at(1));
        let mut missing = sound.clone();
        missing.user_token_signature = Default::default();
        // The client's own signature is over the same bytes, but not by the user's key.
        let mut stolen = sound.clone();
        stolen.user_token_signature = sound.client_signature.clone();
        let mut requests = vec![missing];
        if protection.policy.key_bits().contains(&4096) {
            requests.push(stolen);
        }
        for request in requests {
            let refusal = pair.prove(&request, at(1)).unwrap_err();
            assert_eq!(refusal.status(), StatusCode::BadUserSignatureInvalid);
        }
        assert!(pair.prove(&sound, at(1)).is_ok());
    }
}

#[test]
fn a_user_certificate_under_policy_none_proves_nothing() {
    let mut pair = Pair::new(BEST, all_tokens(Some(Policy::None)));
    pair.create(at(0));
    let [_, _, x509, _] = credentials(BEST.policy);
    let refusal = pair.activate(&x509, at(1)).unwrap_err();
    assert_eq!(refusal.status(), StatusCode::BadUserSignatureInvalid);
}

/// A request whose name token was changed on its way.
fn with_name_token(
    request: &ActivateSessionRequest,
    change: impl FnOnce(&mut UserNameIdentityToken),
) -> ActivateSessionRequest {
    let token = request.user_identity_token.inner_as();
    let mut token: UserNameIdentityToken = Clone::clone(token.unwrap());
    change(&mut token);
    ActivateSessionRequest {
        user_identity_token: ExtensionObject::from_message(token),
        ..request.clone()
    }
}

#[test]
fn a_changed_secret_is_refused_whatever_is_wrong_with_it() {
    for protection in all_protections().filter(|p| p.policy != Policy::None) {
        let policy = protection.policy;
        let mut pair = Pair::new(protection, all_tokens(None));
        pair.create(at(0));
        let sound = pair.ask(&name("operator", "secret"), at(1));
        let encrypt = |plain: &[u8]| {
            let key = SERVER.certificate.public_key();
            key.encrypt(policy, plain).unwrap()
        };
        let whole = with_name_token(&sound, |_| ());
        let whole = whole
            .user_identity_token
            .inner_as::<UserNameIdentityToken>();
        let whole = whole.unwrap().password.as_ref().to_vec();
        let nonce = [2; 32];
        let wrong: [(&str, Vec<u8>); 10] = [
            ("nothing", vec![]),
            ("half a block", whole[..128].to_vec()),
            ("a block and a half", [&whole[..], &whole[..128]].concat()),
            ("a changed block", {
                let mut changed = whole.clone();
                changed[200] ^= 1;
                changed
            }),
            (
                "another nonce",
                encrypt(&[&[38, 0, 0, 0], &b"secret"[..], &[7; 32]].concat()),
            ),
            (
                "no nonce",
                encrypt(&[&[6, 0, 0, 0], &b"secret"[..]].concat()),
            ),
            (
                "shorter than a nonce",
                encrypt(&[&[4, 0, 0, 0], &b"pass"[..]].concat()),
            ),
            (
                "a length beyond the end",
                encrypt(&[&[255; 4], &b"secret"[..], &nonce].concat()),
            ),
            (
                "a length too short",
                encrypt(&[&[37, 0, 0, 0], &b"secret"[..], &nonce].concat()),
            ),
            (
                "padding",
                encrypt(&[&[38, 0, 0, 0], &b"secret"[..], &nonce, b"!"].concat()),
            ),
        ];
        for (what, password) in wrong {
            let request = with_name_token(&sound, |token| token.password = password.into());
            let refusal = pair.prove(&request, at(1)).unwrap_err();
            assert!(
                matches!(refusal, Refusal::Token(TokenError::Secret(_))),
                "{protection}, {what}: {refusal}"
            );
            assert_eq!(refusal.status(), StatusCode::BadIdentityTokenInvalid);
        }
        let padded = encrypt(&[&[38, 0, 0, 0], &b"secret"[..], &nonce, &[0; 20]].concat());
        let request = with_name_token(&sound, |token| token.password = padded.into());
        let activation = pair.prove(&request, at(1)).unwrap();
        assert_eq!(*activation.user(), expected(&name("operator", "secret")));
    }
}

#[test]
fn an_empty_password_and_one_longer_than_a_block_pass() {
    for policy in [Policy::Basic128Rsa15, Policy::Aes256Sha256RsaPss] {
        for len in [0, 1, 31, 32, 64, 190, 1000] {
            let secret = vec![b'p'; len];
            let key = SERVER.certificate.public_key();
            let cipher = encrypt_secret(policy, key, &secret, &[5; 32]).unwrap();
            let plain = decrypt_secret(policy, &SERVER.key, &cipher, &[5; 32]).unwrap();
            assert_eq!(*plain, secret);
        }
    }
}

#[test]
fn a_token_that_is_not_offered_or_not_encrypted_as_it_should_be_is_refused() {
    let only_names = vec![token_policy("name", UserTokenType::UserName, None)];
    let mut pair = Pair::new(BEST, only_names);
    pair.create(at(0));
    let sound = pair.ask(&name("operator", "secret"), at(1));
    let anonymous = ActivateSessionRequest {
        user_identity_token: ExtensionObject::null(),
        ..sound.clone()
    };
    let refusal = pair.prove(&anonymous, at(1)).unwrap_err();
    assert_eq!(refusal.status(), StatusCode::BadIdentityTokenRejected);
    let not_a_token = ActivateSessionRequest {
        user_identity_token: ExtensionObject::from_message(ApplicationDescription::default()),
        ..sound.clone()
    };
    let unknown = with_name_token(&sound, |token| token.policy_id = "other".into());
    let plain = with_name_token(&sound, |token| {
        token.encryption_algorithm = UAString::null();
        token.password = ByteString::from(b"secret");
    });
    let other = with_name_token(&sound, |token| {
        token.encryption_algorithm = "http://www.w3.org/2001/04/xmlenc#rsa-1_5".into();
    });
    for request in [not_a_token, unknown, plain, other] {
        let refusal = pair.prove(&request, at(1)).unwrap_err();
        assert_eq!(refusal.status(), StatusCode::BadIdentityTokenInvalid);
    }
    let nameless = with_name_token(&sound, |token| token.policy_id = UAString::null());
    assert!(pair.prove(&nameless, at(1)).is_ok());
}

#[test]
fn the_client_says_which_tokens_an_endpoint_takes() {
    let only_names = vec![token_policy("name", UserTokenType::UserName, None)];
    let mut pair = Pair::new(BEST, only_names);
    pair.create(at(0));
    let error = pair
        .client
        .activate(&Credentials::Anonymous, None, at(1))
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "the endpoint takes no Anonymous tokens (it takes UserName)"
    );
    let error = pair
        .client
        .activate(&name("operator", "secret"), Some("other"), at(1));
    assert!(matches!(error.unwrap_err(), SessionError::NotOffered(..)));
}

#[test]
fn a_password_travels_in_the_open_only_when_that_is_allowed() {
    let sign_only = Protection {
        mode: Mode::Sign,
        ..BEST
    };
    for protection in [Protection::NONE, sign_only] {
        let mut pair = Pair::new(protection, all_tokens(Some(Policy::None)));
        pair.create(at(0));
        let error = pair
            .client
            .activate(&name("operator", "secret"), None, at(1));
        assert_eq!(error.unwrap_err(), SessionError::PlainSecret);

        let mut pair = Pair::with(protection, all_tokens(Some(Policy::None)), |config| {
            config.allow_plain_secrets = true;
        });
        pair.create(at(0));
        let request = pair.ask(&name("operator", "secret"), at(1));
        let token = request
            .user_identity_token
            .inner_as::<UserNameIdentityToken>();
        assert_eq!(token.unwrap().password.as_ref(), b"secret");
        let activation = pair.prove(&request, at(1)).unwrap();
        assert_eq!(*activation.user(), expected(&name("operator", "secret")));
    }
    // The channel itself encrypts.
    let mut pair = Pair::new(BEST, all_tokens(Some(Policy::None)));
    pair.create(at(0));
    pair.activate(&name("operator", "secret"), at(1)).unwrap();
}

#[test]
fn a_secret_is_encrypted_only_for_a_server_that_somebody_trusts() {
    let tokens = all_tokens(Some(Policy::Basic256Sha256));
    let mut pair = Pair::new(Protection::NONE, tokens);
    pair.create(at(0));
    let secret = name("operator", "secret");
    let error = pair.client.activate(&secret, None, at(1)).unwrap_err();
    assert_eq!(error, SessionError::NotTrusted);
    pair.client.trust(USER.certificate.clone());
    let error = pair.client.activate(&secret, None, at(1)).unwrap_err();
    assert_eq!(error, SessionError::AnotherServer);
    let shown = pair.client.server_certificate().cloned().unwrap();
    pair.client.trust(shown);
    assert_eq!(pair.activate(&secret, at(1)).unwrap(), expected(&secret));
}

#[test]
fn a_session_survives_the_loss_of_its_channel() {
    for protection in all_protections() {
        let own = (protection.policy == Policy::None).then_some(Policy::Basic256Sha256);
        let mut pair = Pair::new(protection, all_tokens(own));
        pair.client.trust(SERVER.certificate.clone());
        pair.create(at(0));
        let user = name("operator", "secret");
        pair.activate(&user, at(1)).unwrap();

        let to_server = Channel {
            id: 2,
            protection,
            peer: pair
                .channel
                .peer
                .as_ref()
                .map(|_| SERVER.certificate.clone()),
        };
        pair.client.move_to(to_server).unwrap();
        assert!(!pair.client.is_active());
        pair.channel.id = 2;
        let refusal = pair.serve(at(2)).unwrap_err();
        assert_eq!(refusal, Refusal::AnotherChannel { want: 1, got: 2 });
        assert_eq!(refusal.status(), StatusCode::BadSecureChannelIdInvalid);
        assert_eq!(pair.activate(&user, at(3)).unwrap(), expected(&user));
        pair.serve(at(4)).unwrap();
        assert_eq!(pair.server().channel_id(), 2);
        // The old channel is of no use any more.
        let refusal = pair.server().request(1, at(4)).unwrap_err();
        assert_eq!(refusal, Refusal::AnotherChannel { want: 2, got: 1 });
    }
}

#[test]
fn a_session_moves_with_its_client_and_its_user_only() {
    let mut pair = Pair::new(BEST, all_tokens(None));
    pair.create(at(0));
    pair.activate(&name("operator", "secret"), at(1)).unwrap();
    let sound = pair.ask(&name("operator", "secret"), at(2));
    let other_user = pair.ask(&name("visitor", "secret"), at(2));

    pair.channel.id = 2;
    let refusal = pair.prove(&other_user, at(2)).unwrap_err();
    assert_eq!(refusal.status(), StatusCode::BadIdentityChangeNotSupported);
    let owner = pair.channel.peer.replace(USER.certificate.clone());
    let refusal = pair.prove(&sound, at(2)).unwrap_err();
    assert_eq!(refusal.status(), StatusCode::BadSecurityChecksFailed);
    pair.channel.peer = None;
    pair.channel.protection = Protection::NONE;
    let refusal = pair.prove(&sound, at(2)).unwrap_err();
    assert_eq!(refusal.status(), StatusCode::BadSecurityChecksFailed);

    // On its own channel the user may change.
    pair.channel = Channel {
        id: 1,
        protection: BEST,
        peer: owner,
    };
    let visitor = name("visitor", "secret");
    assert_eq!(pair.activate(&visitor, at(3)).unwrap(), expected(&visitor));
    assert_eq!(
        pair.client.move_to(Channel {
            id: 3,
            protection: BEST,
            peer: Some(USER.certificate.clone()),
        }),
        Err(SessionError::AnotherServer)
    );
}

#[test]
fn the_first_activation_comes_through_the_channel_that_created_the_session() {
    let mut pair = Pair::new(BEST, all_tokens(None));
    pair.create(at(0));
    let request = pair.ask(&Credentials::Anonymous, at(1));
    pair.channel.id = 2;
    let refusal = pair.prove(&request, at(1)).unwrap_err();
    assert_eq!(refusal.status(), StatusCode::BadSecureChannelIdInvalid);
    let close = pair.client.close_request(true, at(1));
    let refusal = pair.server().close(&close, 2, at(1)).unwrap_err();
    assert_eq!(refusal.status(), StatusCode::BadSecureChannelIdInvalid);
    assert!(pair.server().close(&close, 1, at(1)).is_ok());
}

#[test]
fn secrets_do_not_show_in_debug_output() {
    for credentials in credentials(BEST.policy) {
        let shown = format!("{credentials:?} {:?}", expected(&credentials));
        assert!(
            !shown.contains("secret") && !shown.contains("jjj"),
            "{shown}"
        );
        let bytes = format!("{:?}", b"secret");
        assert!(!shown.contains(bytes.trim_matches(['[', ']'])), "{shown}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_secret_is_decrypted_with_its_nonce_and_no_other(secret: Vec<u8>, nonce: [u8; 32], other: [u8; 32]) {
        let policy = Policy::Basic256Sha256;
        let key = SERVER.certificate.public_key();
        let cipher = encrypt_secret(policy, key, &secret, &nonce).unwrap();
        let plain = decrypt_secret(policy, &SERVER.key, &cipher, &nonce).unwrap();
        prop_assert_eq!(&*plain, &secret);
        if nonce != other {
            prop_assert!(decrypt_secret(policy, &SERVER.key, &cipher, &other).is_err());
        }
    }

    #[test]
    fn any_plain_text_is_a_secret_or_an_error(plain: Vec<u8>, nonce: Vec<u8>) {
        let policy = Policy::Basic256Sha256;
        let cipher = SERVER.certificate.public_key().encrypt(policy, &plain).unwrap();
        let _ = decrypt_secret(policy, &SERVER.key, &cipher, &nonce);
    }
}
