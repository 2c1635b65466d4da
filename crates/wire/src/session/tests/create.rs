//! CreateSession: what either side finds wrong with the other.

use super::*;

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
fn a_nonce_as_short_as_the_channels_of_an_old_policy_is_tolerated() {
    let old = Protection {
        policy: Policy::Basic128Rsa15,
        mode: Mode::Sign,
    };
    let mut pair = Pair::new(old, all_tokens(None));
    let request = pair.request(at(0));
    let sound = pair.respond(&request, at(0)).unwrap();
    let with_nonce = |len| CreateSessionResponse {
        server_nonce: ByteString::from(&vec![1; len]),
        ..sound.clone()
    };
    let error = pair.client.created(with_nonce(15)).unwrap_err();
    assert_eq!(error, SessionError::Nonce { len: 15 });
    let verified = pair.client.created(with_nonce(16)).unwrap().run();
    assert_eq!(pair.client.verified(verified), Ok(()));
}

#[test]
fn a_server_may_send_its_chain_or_its_leaf() {
    let mut pair = Pair::new(BEST, all_tokens(None));
    let chain = [SERVER.certificate.as_bytes(), USER.certificate.as_bytes()].concat();
    pair.config = Arc::new(server::Config {
        identities: Some(Identity {
            certificate: Certificate::from_der(&chain).unwrap(),
            key: SERVER.key.clone(),
        })
        .into(),
        ..(*pair.config).clone()
    });
    pair.create(at(0));
    let user = pair.activate(&name("operator", "secret"), at(1)).unwrap();
    assert_eq!(user, expected(&name("operator", "secret")));
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
