//! Certificates on elliptic curves, beside those of RSA.

use std::num::NonZeroU32;

use pki::{Curve, KeyKind};
use plant::{Config, PasswordHash, Server, TrustPolicy, Users};
use wire::channel::{ChannelError, Protection};
use wire::policy::{Mode, Policy, PrivateKey};
use wire::session::token::Credentials;
use wire::types::{GetEndpointsRequest, StatusCode, Variant};

use crate::client::{Client, for_wire, identity_with};
use crate::{bench, start};

const ECC: [(Policy, KeyKind); 3] = [
    (Policy::EccNistP256, KeyKind::On(Curve::P256)),
    (Policy::EccCurve25519, KeyKind::On(Curve::Ed25519)),
    (Policy::EccNistP384, KeyKind::On(Curve::P384)),
];
const RSA: Protection = Protection {
    policy: Policy::Basic256Sha256,
    mode: Mode::SignAndEncrypt,
};

fn name(password: &str) -> Credentials {
    Credentials::UserName {
        name: "bench".into(),
        password: password.to_owned().into(),
    }
}

/// With certificates of all kinds, RSA's first.
fn server() -> (Server, Vec<pki::Identity>) {
    let kinds = std::iter::once(KeyKind::Rsa(2048)).chain(ECC.map(|it| it.1));
    let own: Vec<_> = kinds
        .map(|kind| identity_with("urn:test:server", kind))
        .collect();
    let hash = PasswordHash::new(b"bench", [3; 16], NonZeroU32::MIN);
    let server = start(Config {
        identity: Some(own[0].clone()),
        beside: own[1..].to_vec(),
        users: Users {
            anonymous: true,
            passwords: vec![("bench".into(), hash)],
            certificates: Some(TrustPolicy::All),
            ..Users::default()
        },
        ..Config::default()
    });
    (server, own)
}

#[test]
fn every_curve_lets_every_kind_of_user_in_beside_rsa() {
    let (server, own) = server();
    for (place, (policy, kind)) in ECC.into_iter().enumerate() {
        let mine = identity_with("urn:test:client", kind);
        let user = identity_with("urn:test:user", kind);
        let credentials = [
            Credentials::Anonymous,
            name("bench"),
            Credentials::X509 {
                certificate: for_wire(&user).certificate,
                key: PrivateKey::from_der(user.key.pkcs8()).unwrap(),
            },
        ];
        for mode in [Mode::Sign, Mode::SignAndEncrypt] {
            let protection = Protection { policy, mode };
            let server_own = Some(&own[place + 1]);
            let mut client =
                Client::connect(server.url(), protection, Some(&mine), server_own).unwrap();
            for user in &credentials {
                client
                    .log_in(user)
                    .unwrap_or_else(|status| panic!("{protection} {user:?}: {status}"));
                let value = client.read(&[bench(1234)]).remove(0).value;
                assert_eq!(value, Some(Variant::Double(1234.0)), "{protection}");
            }
            let refused = client.log_in(&name("guess")).unwrap_err();
            assert_eq!(refused, StatusCode::BadUserAccessDenied, "{protection}");
            client.log_in(&name("bench")).unwrap();
            for _ in 0..3 {
                client.renew();
                let value = client.read(&[bench(1234)]).remove(0).value;
                assert_eq!(value, Some(Variant::Double(1234.0)), "{protection}");
            }
        }
    }
    let mine = identity_with("urn:test:client", KeyKind::Rsa(2048));
    let mut client = Client::connect(server.url(), RSA, Some(&mine), Some(&own[0])).unwrap();
    client.log_in(&name("bench")).unwrap();
}

#[test]
fn each_endpoint_shows_the_certificate_of_its_policy() {
    let (server, own) = server();
    let mut client = Client::plain(server.url());
    let asked = client.call(GetEndpointsRequest {
        endpoint_url: server.url().into(),
        ..Default::default()
    });
    let endpoints = asked.unwrap().endpoints.unwrap();
    let mut on_curves = 0;
    for endpoint in endpoints {
        let policy = Policy::from_uri(endpoint.security_policy_uri.as_ref()).unwrap();
        let place = ECC
            .iter()
            .position(|it| it.0 == policy)
            .map_or(0, |n| n + 1);
        on_curves += usize::from(place > 0);
        let shown = endpoint.server_certificate;
        assert_eq!(shown.as_ref(), own[place].certificate.der(), "{policy}");
        for token in endpoint.user_identity_tokens.unwrap() {
            // Part 6, 6.8.2: no secret goes from a channel of one kind under a policy of the other.
            let uri = token.security_policy_uri.as_ref();
            let other = Policy::from_uri(uri).unwrap_or(policy);
            assert_eq!(other.curve(), policy.curve(), "{policy} {uri}");
        }
    }
    assert_eq!(on_curves, 2 * ECC.len());
}

#[test]
fn a_certificate_of_another_kind_than_the_policy_wants_is_turned_away() {
    let (server, own) = server();
    let kinds = std::iter::once(KeyKind::Rsa(2048)).chain(ECC.map(|it| it.1));
    let mine: Vec<_> = kinds
        .map(|kind| (kind, identity_with("urn:test:client", kind)))
        .collect();
    for (place, (policy, wanted)) in ECC.into_iter().enumerate() {
        let protection = Protection {
            policy,
            mode: Mode::Sign,
        };
        for (_, mine) in mine.iter().filter(|it| it.0 != wanted) {
            let theirs = Some(&own[place + 1]);
            let refused = Client::connect(server.url(), protection, Some(mine), theirs);
            // Its own key cannot sign so; the library says it before the server could.
            assert!(matches!(refused, Err(ChannelError::Security(_))));
        }
    }
}
