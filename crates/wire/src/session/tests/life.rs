//! Sessions from activation to their end.

use super::*;

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
            pair.client
                .trust(server_identity(protection.policy).certificate);
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
fn a_session_survives_the_loss_of_its_channel() {
    for protection in all_protections() {
        let own = (protection.policy == Policy::None).then_some(Policy::Basic256Sha256);
        let mut pair = Pair::new(protection, all_tokens(own));
        pair.client
            .trust(server_identity(protection.policy).certificate);
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
                .map(|_| server_identity(protection.policy).certificate),
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
fn a_client_that_signs_the_whole_chain_is_understood() {
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
    let mut request = pair.ask(&Credentials::Anonymous, at(1));
    // The second nonce given out is the server's first.
    let data = [&chain[..], &[2; 32]].concat();
    let signature = CLIENT.key.sign(BEST.policy, &data).unwrap();
    request.client_signature.signature = signature.into();
    assert!(pair.prove(&request, at(1)).is_ok());
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
fn a_session_that_was_granted_no_time_at_all_does_not_end() {
    let mut pair = Pair::new(BEST, all_tokens(None));
    let request = pair.request(at(0));
    let response = CreateSessionResponse {
        revised_session_timeout: 0.0,
        ..pair.respond(&request, at(0)).unwrap()
    };
    let verified = pair.client.created(response).unwrap().run();
    pair.client.verified(verified).unwrap();
    assert_eq!(pair.client.deadline(), None);
    assert!(!pair.client.has_expired(at(1_000_000)));
}
