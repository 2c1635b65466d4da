//! Every refusal of Part 4, 6.1.3, and what must not be refused.

use opcua_types::StatusCode;
use pki::make::{Authority, Request};
use pki::{
    Certificate, Checks, Curve, Expected, ExtendedUsage, KeyKind, KeyRule, Moment, Reason, Refusal,
    Role, Trust, Usage,
};

use crate::plant::{NOW, Plant, expected, key, request, root};

fn refused(trust: &Trust, certificate: &Certificate, expected: &Expected<'_>) -> Refusal {
    trust
        .judge(certificate.der(), expected)
        .expect_err("it should have been refused")
}

fn reason(trust: &Trust, certificate: &Certificate) -> Reason {
    refused(trust, certificate, &expected()).reason
}

fn self_signed(request: &Request) -> (Certificate, Trust) {
    let certificate = request.self_signed(&key(3), NOW).unwrap();
    let trust = Trust {
        trusted: vec![certificate.clone()],
        ..Trust::default()
    };
    (certificate, trust)
}

#[test]
fn every_reason_has_the_status_code_of_its_name() {
    for reason in Reason::ALL {
        let code = StatusCode::from(reason.status());
        assert_eq!(code.to_string(), reason.status_name(), "{reason:?}");
    }
}

#[test]
fn a_trusted_certificate_that_signed_itself_is_accepted() {
    let (certificate, trust) = self_signed(&request());
    let accepted = trust.judge(certificate.der(), &expected()).unwrap();
    assert_eq!(accepted.chain, [certificate]);
    assert_eq!(accepted.overlooked, []);
}

#[test]
fn a_chain_with_two_authorities_in_between_is_accepted() {
    let plant = Plant::new();
    let accepted = plant
        .trust()
        .judge(plant.leaf.der(), &expected())
        .expect("the root is trusted, the others are known");
    let names: Vec<_> = accepted
        .chain
        .iter()
        .map(|certificate| certificate.subject().common_name().unwrap().to_owned())
        .collect();
    assert_eq!(names, ["drives", "Line", "Division", "Root"]);
}

#[test]
fn authorities_that_the_peer_sends_along_complete_the_chain() {
    let plant = Plant::new();
    let mut trust = plant.trust();
    trust.issuers.clear();
    let mut sent = plant.leaf.der().to_vec();
    // In the wrong order, and with one that has nothing to do with it.
    sent.extend_from_slice(plant.division.certificate().der());
    let other = request().self_signed(&key(0), NOW).unwrap();
    sent.extend_from_slice(other.der());
    sent.extend_from_slice(plant.line.certificate().der());
    trust.judge(&sent, &expected()).unwrap();
}

#[test]
fn trust_in_the_application_or_in_any_authority_above_it_is_enough() {
    let plant = Plant::new();
    let all = [
        plant.root.certificate(),
        plant.division.certificate(),
        plant.line.certificate(),
        &plant.leaf,
    ];
    for trusted in all {
        let mut trust = plant.trust();
        trust.issuers = all.map(Clone::clone).to_vec();
        trust.trusted = vec![trusted.clone()];
        trust.judge(plant.leaf.der(), &expected()).unwrap();
    }
}

#[test]
fn bytes_that_are_no_certificate_are_refused_by_structure() {
    for bytes in [&b""[..], b"\x30\x82", b"hello", &[0x30; 4000]] {
        let refusal = Trust::default().judge(bytes, &expected()).unwrap_err();
        assert_eq!(refusal.reason, Reason::Structure);
    }
}

#[test]
fn more_certificates_than_anybody_needs_are_refused_by_structure() {
    let (certificate, trust) = self_signed(&request());
    let sent = certificate.der().repeat(pki::MAX_SENT + 1);
    assert_eq!(
        trust.judge(&sent, &expected()).unwrap_err().reason,
        Reason::Structure
    );
}

#[test]
fn a_missing_authority_leaves_the_chain_incomplete_and_is_named() {
    let plant = Plant::new();
    let mut trust = plant.trust();
    trust.issuers.remove(0);
    let refusal = refused(&trust, &plant.leaf, &expected());
    assert_eq!(refusal.reason, Reason::ChainIncomplete);
    assert!(refusal.to_string().contains("CN=Division"), "{refusal}");

    // Trusting the application itself does not replace the authorities.
    trust.trusted.push(plant.leaf.clone());
    assert_eq!(reason(&trust, &plant.leaf), Reason::ChainIncomplete);
}

#[test]
fn authorities_that_sign_each_other_are_no_chain() {
    let (one, other) = (root(), key(1));
    let below = one
        .authority(Request::authority("Below"), other, NOW)
        .unwrap();
    // A second "Root" with the same key, signed by the one below it.
    let turned = below
        .sign(&Request::authority("Root"), &key(0), NOW)
        .unwrap();
    let leaf = below.sign(&request(), &key(3), NOW).unwrap();
    let trust = Trust {
        trusted: vec![below.certificate().clone(), turned],
        ..Trust::default()
    };
    assert_eq!(reason(&trust, &leaf), Reason::ChainIncomplete);
}

#[test]
fn a_chain_without_end_is_not_followed() {
    let mut authority = root();
    let mut trust = Trust {
        trusted: vec![authority.certificate().clone()],
        ..Trust::default()
    };
    for level in 0..9 {
        let name = Request::authority(format!("Level {level}"));
        authority = authority.authority(name, key(1), NOW).unwrap();
        trust.issuers.push(authority.certificate().clone());
    }
    let leaf = authority.sign(&request(), &key(3), NOW).unwrap();
    assert_eq!(reason(&trust, &leaf), Reason::ChainIncomplete);
}

#[test]
fn a_signature_of_somebody_else_with_the_same_name_is_invalid() {
    let plant = Plant::new();
    let forger = Authority::root(Request::authority("Line"), key(1), NOW).unwrap();
    let forged = forger.sign(&request(), &key(3), NOW).unwrap();
    assert_eq!(reason(&plant.trust(), &forged), Reason::Signature);
}

#[test]
fn a_flipped_bit_makes_the_signature_invalid() {
    let (certificate, trust) = self_signed(&request());
    let mut bytes = certificate.der().to_vec();
    *bytes.last_mut().unwrap() ^= 1;
    let refusal = trust.judge(&bytes, &expected()).unwrap_err();
    assert_eq!(refusal.reason, Reason::Signature);
}

#[test]
fn an_authority_with_a_new_key_and_the_old_name_is_told_apart_by_its_signature() {
    let plant = Plant::new();
    let mut trust = plant.trust();
    let renewed = Authority::root(Request::authority("Line"), key(3), NOW).unwrap();
    trust.issuers.insert(0, renewed.certificate().clone());
    trust.judge(plant.leaf.der(), &expected()).unwrap();
}

#[test]
fn short_keys_and_sha_1_are_for_the_deprecated_policies_only() {
    let legacy = pki::testing::legacy().unwrap();
    assert!(legacy.key.belongs_to(&legacy.certificate));
    let trust = Trust {
        trusted: vec![legacy.certificate.clone()],
        ..Trust::default()
    };
    let mut expected = Expected::of(Role::Client, NOW);
    expected.keys = KeyRule::of_policy("http://opcfoundation.org/UA/SecurityPolicy#Basic256Sha256");
    let refusal = refused(&trust, &legacy.certificate, &expected);
    assert_eq!(refusal.reason, Reason::Policy);
    expected.keys = KeyRule::of_policy("Basic128Rsa15");
    trust.judge(legacy.certificate.der(), &expected).unwrap();
    expected.keys = KeyRule::of_policy("None");
    trust.judge(legacy.certificate.der(), &expected).unwrap();
}

#[test]
fn a_key_that_is_too_long_for_the_policy_is_refused() {
    let key = pki::Key::generate(3072).unwrap();
    let certificate = request().self_signed(&key, NOW).unwrap();
    let trust = Trust {
        trusted: vec![certificate.clone()],
        ..Trust::default()
    };
    trust.judge(certificate.der(), &expected()).unwrap();
    let expected = Expected {
        keys: Some(KeyRule::DEPRECATED),
        ..expected()
    };
    let refusal = refused(&trust, &certificate, &expected);
    assert_eq!(refusal.reason, Reason::Policy);
    assert!(refusal.detail.contains("3072 bits"), "{refusal}");
}

#[test]
fn who_is_known_but_not_trusted_is_untrusted() {
    let plant = Plant::new();
    let mut trust = plant.trust();
    trust.issuers.append(&mut trust.trusted);
    assert_eq!(reason(&trust, &plant.leaf), Reason::Untrusted);

    let (certificate, _) = self_signed(&request());
    assert_eq!(reason(&Trust::default(), &certificate), Reason::Untrusted);
}

#[test]
fn trust_does_not_spread_to_another_certificate_of_the_same_key_and_name() {
    let (_, trust) = self_signed(&request());
    let (other, _) = self_signed(&request().days(10_000));
    assert_eq!(reason(&trust, &other), Reason::Untrusted);
}

#[test]
fn expired_and_future_certificates_are_refused_by_time() {
    for from in [NOW.plus_days(-100), NOW.plus_days(1)] {
        let (certificate, trust) = self_signed(&request().from(from).days(30));
        assert_eq!(reason(&trust, &certificate), Reason::Time);
    }
    let (certificate, trust) = self_signed(&request().days(30));
    for seconds in [0, 30 * 86_400] {
        let now = Moment::from_unix(NOW.unix() + seconds);
        let expected = Expected { now, ..expected() };
        trust.judge(certificate.der(), &expected).unwrap();
    }
}

#[test]
fn an_expired_authority_is_refused_by_the_issuers_time() {
    let expired = Request::authority("Division")
        .from(NOW.plus_days(-100))
        .days(30);
    let plant = Plant::with(expired, Request::authority("Line"), request());
    assert_eq!(reason(&plant.trust(), &plant.leaf), Reason::IssuerTime);
}

#[test]
fn a_server_has_to_name_the_host_that_was_connected_to() {
    let (certificate, trust) = self_signed(&request().ip("fd00::7".parse().unwrap()));
    let at = |host| Expected {
        host: Some(host),
        ..expected()
    };
    for host in [
        "plc1",
        "PLC1",
        "plc1.",
        "192.0.2.7",
        "fd00::7",
        "[FD00:0::7]",
    ] {
        trust.judge(certificate.der(), &at(host)).unwrap();
    }
    for host in [
        "plc2",
        "plc1.local",
        "192.0.2.8",
        "fd00::8",
        "localhost",
        "",
    ] {
        let refusal = refused(&trust, &certificate, &at(host));
        assert_eq!(refusal.reason, Reason::Host, "{host}");
    }
    let client = Expected {
        role: Role::Client,
        ..at("plc2")
    };
    trust.judge(certificate.der(), &client).unwrap();
}

#[test]
fn the_application_uri_has_to_be_that_of_the_description() {
    for request in [
        Request::application("urn:plc1:other").dns("plc1"),
        request().without_uri(),
    ] {
        let (certificate, trust) = self_signed(&request);
        assert_eq!(reason(&trust, &certificate), Reason::Uri);
        let user = Expected {
            role: Role::User,
            ..expected()
        };
        trust.judge(certificate.der(), &user).unwrap();
    }
}

#[test]
fn a_key_that_may_not_sign_or_encrypt_is_refused_by_use() {
    for usage in [
        Usage::CERT_SIGN,
        Usage::DIGITAL_SIGNATURE,
        Usage::DATA_ENCIPHERMENT | Usage::KEY_ENCIPHERMENT,
    ] {
        let (certificate, trust) = self_signed(&request().usage(usage));
        assert_eq!(reason(&trust, &certificate), Reason::Use, "{usage}");
    }
}

#[test]
fn a_clients_certificate_is_not_a_servers() {
    let client_only = ExtendedUsage {
        client: true,
        ..ExtendedUsage::default()
    };
    let (certificate, trust) = self_signed(&request().extended_usage(client_only));
    assert_eq!(reason(&trust, &certificate), Reason::Use);
    let client = Expected {
        role: Role::Client,
        ..expected()
    };
    trust.judge(certificate.der(), &client).unwrap();
}

#[test]
fn a_trusted_application_cannot_issue_certificates_for_others() {
    let (application, trust) = self_signed(&request());
    // It signs anyway, with a tool that does not mind.
    let line = Authority::root(
        Request::authority("drives").organization("Plant"),
        key(3),
        NOW,
    );
    let forged = line
        .unwrap()
        .sign(
            &Request::application("urn:plc1:drives").dns("plc1"),
            &key(0),
            NOW,
        )
        .unwrap();
    assert!(forged.issuer().matches(application.subject()));
    assert!(forged.is_signed_by(&application));
    assert_eq!(reason(&trust, &forged), Reason::IssuerUse);

    let lax = Expected {
        checks: Checks::NONE,
        ..expected()
    };
    assert_eq!(refused(&trust, &forged, &lax).reason, Reason::IssuerUse);
}

#[test]
fn an_authority_whose_key_may_not_sign_certificates_is_refused() {
    let odd = Request::authority("Line").usage(Usage::DIGITAL_SIGNATURE | Usage::CRL_SIGN);
    let plant = Plant::with(Request::authority("Division"), odd, request());
    assert_eq!(reason(&plant.trust(), &plant.leaf), Reason::IssuerUse);
}

#[test]
fn the_path_length_counts_the_authorities_in_between() {
    for (length, good) in [(0, false), (1, true), (2, true)] {
        let division = Request::authority("Division").path_length(length);
        let plant = Plant::with(division, Request::authority("Line"), request());
        let judged = plant.trust().judge(plant.leaf.der(), &expected());
        assert_eq!(judged.is_ok(), good, "path length {length}");
        if let Err(refusal) = judged {
            assert_eq!(refusal.reason, Reason::IssuerUse);
        }
    }
    let line = Request::authority("Line").path_length(0);
    let plant = Plant::with(Request::authority("Division"), line, request());
    plant.trust().judge(plant.leaf.der(), &expected()).unwrap();
}

#[test]
fn without_a_current_revocation_list_nothing_is_known() {
    let plant = Plant::new();
    for (missing, reason) in [
        (0, Reason::IssuerRevocationUnknown),
        (1, Reason::IssuerRevocationUnknown),
        (2, Reason::RevocationUnknown),
    ] {
        let mut trust = plant.trust();
        trust.revocations.remove(missing);
        assert_eq!(self::reason(&trust, &plant.leaf), reason);
    }
    // Outdated, of the future, and of another authority with the same name.
    let forger = Authority::root(Request::authority("Line"), key(0), NOW).unwrap();
    for list in [
        plant.line.revoke(&[], NOW.plus_days(-40), 30).unwrap(),
        plant.line.revoke(&[], NOW.plus_days(1), 30).unwrap(),
        forger.revoke(&[], NOW, 30).unwrap(),
    ] {
        let mut trust = plant.trust();
        trust.revocations[2] = list;
        assert_eq!(reason(&trust, &plant.leaf), Reason::RevocationUnknown);
    }
}

#[test]
fn what_was_taken_back_stays_refused_whatever_is_switched_off() {
    let plant = Plant::new();
    let lax = Expected {
        checks: Checks::NONE,
        ..expected()
    };
    let (leaf, line) = (&plant.leaf, plant.line.certificate());
    for age in [0, -400] {
        let mut trust = plant.trust();
        trust.revocations[2] = plant.line.revoke(&[leaf], NOW.plus_days(age), 30).unwrap();
        assert_eq!(reason(&trust, leaf), Reason::Revoked);
        assert_eq!(refused(&trust, leaf, &lax).reason, Reason::Revoked);

        let mut trust = plant.trust();
        trust.revocations[1] = plant
            .division
            .revoke(&[line], NOW.plus_days(age), 30)
            .unwrap();
        assert_eq!(reason(&trust, leaf), Reason::IssuerRevoked);
        assert_eq!(refused(&trust, leaf, &lax).reason, Reason::IssuerRevoked);
    }
}

#[test]
fn whom_a_person_distrusts_is_refused_whoever_vouches_and_whatever_is_switched_off() {
    let plant = Plant::new();
    let lax = Expected {
        checks: Checks::NONE,
        ..expected()
    };
    let (leaf, line) = (&plant.leaf, plant.line.certificate());
    for distrusted in [leaf, line, plant.root.certificate()] {
        let mut trust = plant.trust();
        // Trusted by name as well, as where two tools share a folder.
        trust.trusted.push(leaf.clone());
        trust.distrusted.push(distrusted.clone());
        for expected in [&expected(), &lax] {
            let refusal = refused(&trust, leaf, expected);
            assert_eq!(refusal.reason, Reason::Distrusted);
            assert_eq!(refusal.subject, distrusted.subject().to_string());
        }
    }
    // No chain is left when the authorities went, too: it is said all the same.
    let trust = Trust {
        distrusted: vec![leaf.clone()],
        ..Trust::default()
    };
    assert_eq!(reason(&trust, leaf), Reason::Distrusted);
    // Another certificate of the same authority is none of it.
    let other = plant.line.sign(&request(), &key(3), NOW).unwrap();
    let mut trust = plant.trust();
    trust.distrusted.push(leaf.clone());
    trust.judge(other.der(), &expected()).unwrap();
}

#[test]
fn a_revocation_list_of_an_authority_with_another_key_takes_nothing_back() {
    let plant = Plant::new();
    let forger = Authority::root(Request::authority("Line"), key(0), NOW).unwrap();
    let mut trust = plant.trust();
    trust
        .revocations
        .push(forger.revoke(&[&plant.leaf], NOW, 30).unwrap());
    trust.judge(plant.leaf.der(), &expected()).unwrap();
}

#[test]
fn each_check_is_switched_off_by_its_name_and_says_what_it_overlooked() {
    let legacy = pki::testing::legacy().unwrap().certificate;
    let expired = request().from(NOW.plus_days(-100)).days(1);
    let cases = [
        ("policy", legacy, Reason::Policy),
        ("time", self_signed(&expired).0, Reason::Time),
        (
            "host",
            self_signed(&Request::application("urn:plc1:drives")).0,
            Reason::Host,
        ),
        ("uri", self_signed(&request().without_uri()).0, Reason::Uri),
        (
            "usage",
            self_signed(&request().usage(Usage::CERT_SIGN)).0,
            Reason::Use,
        ),
    ];
    for (name, certificate, reason) in cases {
        let trust = Trust {
            trusted: vec![certificate.clone()],
            ..Trust::default()
        };
        let mut expected = expected();
        if name == "policy" {
            expected.host = None;
            expected.application_uri = None;
        }
        assert_eq!(refused(&trust, &certificate, &expected).reason, reason);
        expected.checks = Checks::ALL.without(name.parse().unwrap());
        let accepted = trust.judge(certificate.der(), &expected).unwrap();
        let overlooked: Vec<_> = accepted.overlooked.iter().map(|one| one.reason).collect();
        assert_eq!(overlooked, [reason], "{name}");
    }

    let plant = Plant::new();
    let mut trust = plant.trust();
    trust.revocations.clear();
    let expected = Expected {
        checks: Checks::ALL.without(Checks::REVOCATION),
        ..expected()
    };
    let accepted = trust.judge(plant.leaf.der(), &expected).unwrap();
    assert_eq!(accepted.overlooked.len(), 3);
}

#[test]
fn with_everything_switched_off_strangers_are_still_refused() {
    let (certificate, _) = self_signed(&request());
    let lax = Expected {
        checks: Checks::NONE,
        ..expected()
    };
    let refusal = refused(&Trust::default(), &certificate, &lax);
    assert_eq!(refusal.reason, Reason::Untrusted);
}

#[test]
fn each_policy_takes_keys_of_its_own_kind_only() {
    let kinds = [
        (KeyKind::Rsa(2048), "Basic256Sha256"),
        (KeyKind::On(Curve::P256), "ECC_nistP256"),
        (KeyKind::On(Curve::Ed25519), "ECC_curve25519"),
        (KeyKind::On(Curve::P384), "ECC_nistP384"),
    ];
    for (kind, own) in kinds {
        let key = pki::Key::make(kind).unwrap();
        let certificate = request().self_signed(&key, NOW).unwrap();
        assert_eq!(certificate.problems(NOW), [""; 0], "{own}");
        let trust = Trust {
            trusted: vec![certificate.clone()],
            ..Trust::default()
        };
        for (_, policy) in kinds {
            let expected = Expected {
                keys: KeyRule::of_policy(policy),
                ..expected()
            };
            let judged = trust.judge(certificate.der(), &expected);
            match judged {
                Ok(_) => assert_eq!(policy, own),
                Err(refusal) => {
                    assert_ne!(policy, own, "{refusal}");
                    assert_eq!(refusal.reason, Reason::Policy, "{refusal}");
                    assert!(refusal.detail.contains("wants"), "{refusal}");
                }
            }
        }
    }
}
