//! Users, their secrets and signatures.

use super::*;

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

/// A server that keeps its certificate to itself in CreateSession still verifies with it.
#[test]
fn a_user_signs_for_the_certificate_of_the_endpoint_when_the_session_names_none() {
    let tokens = all_tokens(Some(Policy::Basic256Sha256));
    let described = EndpointDescription {
        server_certificate: SERVER.certificate.as_bytes().into(),
        ..endpoint(Protection::NONE, tokens.clone())
    };
    let mut pair = Pair::with(Protection::NONE, tokens, |config| {
        config.discovered = Some(vec![described]);
    });
    let request = pair.request(at(0));
    let response = CreateSessionResponse {
        server_certificate: ByteString::null(),
        ..pair.respond(&request, at(0)).unwrap()
    };
    let verified = pair.client.created(response).unwrap().run();
    pair.client.verified(verified).unwrap();
    let [_, _, x509, _] = credentials(Policy::Basic256Sha256);
    assert_eq!(pair.activate(&x509, at(1)).unwrap(), expected(&x509));
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
    for protection in all_protections().filter(|p| p.policy.encrypts_asymmetrically()) {
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

#[test]
fn a_secret_hidden_with_ephemeral_keys_is_of_its_session_alone() {
    for protection in all_protections().filter(|p| p.policy.curve().is_some()) {
        let mut pair = Pair::new(protection, all_tokens(None));
        pair.create(at(0));
        let user = name("operator", "secret");
        let sound = pair.ask(&user, at(1));
        let token: &UserNameIdentityToken = sound.user_identity_token.inner_as().unwrap();
        let whole = token.password.as_ref().to_vec();
        assert!(token.encryption_algorithm.is_null());
        let hidden = b"secret".as_slice();
        assert!(!whole.windows(hidden.len()).any(|it| it == hidden));
        let mut another = Pair::new(protection, all_tokens(None));
        another.create(at(0));
        let other = another.ask(&user, at(1));
        let other: &UserNameIdentityToken = other.user_identity_token.inner_as().unwrap();
        let mut wrong = vec![vec![], other.password.as_ref().to_vec()];
        wrong.extend((0..whole.len()).step_by(7).map(|len| whole[..len].to_vec()));
        wrong.extend((0..whole.len()).step_by(5).map(|at| {
            let mut changed = whole.clone();
            changed[at] ^= 1;
            changed
        }));
        for password in wrong {
            let request = with_name_token(&sound, |token| token.password = password.into());
            let refusal = pair.prove(&request, at(1)).unwrap_err();
            assert!(
                matches!(refusal, Refusal::Token(TokenError::Secret(_))),
                "{protection}: {refusal}"
            );
        }
        let activation = pair.prove(&sound, at(1)).unwrap();
        assert_eq!(*activation.user(), expected(&user));
        pair.welcome(activation, at(1));
        // The key was for one activation, and so was the nonce.
        assert!(pair.prove(&sound, at(2)).is_err());
        assert_eq!(pair.activate(&user, at(3)).unwrap(), expected(&user));
    }
}

#[test]
fn a_secret_waits_for_a_key_that_the_server_signed() {
    let protection = Protection {
        policy: Policy::EccNistP256,
        mode: Mode::SignAndEncrypt,
    };
    let user = name("operator", "secret");
    let mut pair = Pair::new(protection, all_tokens(None));
    let request = pair.request(at(0));
    let mut response = pair.respond(&request, at(0)).unwrap();
    response.response_header.additional_header = ExtensionObject::null();
    let verified = pair.client.created(response).unwrap().run();
    pair.client.verified(verified).unwrap();
    let job = pair.client.activate(&user, None, at(1)).unwrap();
    let refused = job.run().unwrap_err();
    assert!(refused.to_string().contains("ephemeral"), "{refused}");

    // One from another server is signed as well, by that one.
    let mut pair = Pair::new(protection, all_tokens(None));
    let request = pair.request(at(0));
    let mut response = pair.respond(&request, at(0)).unwrap();
    let header = &mut response.response_header.additional_header;
    let mut given: opcua_types::AdditionalParametersType = Clone::clone(header.inner_as().unwrap());
    for pair in given.parameters.iter_mut().flatten() {
        let opcua_types::Variant::ExtensionObject(key) = &pair.value else {
            panic!("{pair:?}")
        };
        let mut key: opcua_types::EphemeralKeyType = Clone::clone(key.inner_as().unwrap());
        let mut signature = key.signature.as_ref().to_vec();
        signature[9] ^= 1;
        key.signature = signature.into();
        pair.value = ExtensionObject::from_message(key).into();
    }
    *header = ExtensionObject::from_message(given);
    let verified = pair.client.created(response).unwrap().run();
    assert_eq!(pair.client.verified(verified), Err(SessionError::Signature));
}
