//! Certificates, chains and revocation lists as a peer sends them or a folder holds them.

use std::sync::LazyLock;

use pki::ocsp::{OcspRequest, OcspResponse};
use pki::{Certificate, Checks, Expected, KeyRule, Moment, RevocationList, Role, Trust};
use wire::policy::Policy;

use crate::script::Script;

/// When the certificates of the plant are valid.
const NOW: Moment = Moment::from_unix(1_800_000_000);

/// A root, two authorities below it and an application, made once by `examples/seeds.rs`.
pub const PLANT: [&[u8]; 4] = [
    include_bytes!("../plant/application.der"),
    include_bytes!("../plant/line.der"),
    include_bytes!("../plant/division.der"),
    include_bytes!("../plant/root.der"),
];

/// What the three authorities took back: nothing, but for the last.
pub const LISTS: [&[u8]; 3] = [
    include_bytes!("../plant/line.crl"),
    include_bytes!("../plant/division.crl"),
    include_bytes!("../plant/root.crl"),
];

/// The root is trusted, the others are known.
static TRUST: LazyLock<Trust> = LazyLock::new(|| {
    let [_, line, division, root] = PLANT.map(|der| Certificate::from_der(der).unwrap());
    Trust {
        trusted: vec![root],
        issuers: vec![line, division],
        distrusted: Vec::new(),
        revocations: LISTS
            .map(|der| RevocationList::from_der(der).unwrap())
            .to_vec(),
    }
});

/// The first byte decides what the others are.
pub fn run(data: &[u8]) {
    let mut script = Script::new(data);
    match script.below(3) {
        0 => sent(&mut script),
        1 => list(script.rest()),
        _ => folder(&mut script),
    }
}

fn expected<'a>(script: &mut Script<'_>) -> Expected<'a> {
    let flags = script.byte();
    let role = [Role::Server, Role::Client, Role::User][usize::from(flags & 3) % 3];
    let checks = if flags & 4 == 0 {
        Checks::ALL
    } else {
        Checks::NONE
    };
    Expected {
        host: (flags & 8 == 0).then_some("plc1"),
        application_uri: (flags & 16 == 0).then_some("urn:plc1:drives"),
        keys: (flags & 32 == 0).then_some(KeyRule::RSA),
        checks,
        ..Expected::of(role, NOW)
    }
}

/// A chain from a peer: nobody is taken for an application that no authority made.
fn sent(script: &mut Script<'_>) {
    let expected = expected(script);
    let bytes = script.rest();
    let for_wire = wire::certificate::Certificate::from_der(bytes);
    let for_pki = Certificate::chain_from_der(bytes);
    if let Ok(certificate) = &for_wire {
        let links: Vec<&[u8]> = certificate.chain().collect();
        assert_eq!(links.concat(), bytes);
        assert_eq!(links[0], certificate.leaf());
        key(certificate.public_key());
    }
    if let Ok(chain) = &for_pki {
        for certificate in chain {
            read(certificate);
        }
    }
    // Two readers, one certificate: what is judged is what is talked to.
    if let (Ok(ours), Ok(judged)) = (&for_wire, &for_pki) {
        let leaf = &judged[0];
        assert_eq!(ours.leaf(), leaf.der());
        assert_eq!(&ours.thumbprint(), leaf.thumbprint());
        if let pki::PublicKey::Rsa { bits, .. } = leaf.public_key() {
            assert_eq!(ours.public_key().bits(), *bits);
        }
        if let Some(uri) = ours.application_uri().filter(|uri| plain(uri)) {
            assert_eq!(leaf.application_uri(), Some(uri));
        }
    }
    if let Ok(accepted) = TRUST.judge(bytes, &expected) {
        let leaf = &accepted.chain[0];
        let known = PLANT.map(|der| Certificate::from_der(der).unwrap());
        let same = |other: &Certificate| {
            other.public_key() == leaf.public_key()
                && other.subject() == leaf.subject()
                && other.application_uri() == leaf.application_uri()
        };
        assert!(known.iter().any(same), "{leaf:?}");
    }
}

fn plain(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_graphic())
}

/// Everything that is asked of a certificate once it is read.
fn read(certificate: &Certificate) {
    let again = Certificate::from_der(certificate.der()).unwrap();
    assert_eq!(&again, certificate);
    let _ = certificate.problems(NOW);
    let _ = certificate.names_host("plc1");
    let _ = certificate.is_self_signed();
    let _ = certificate.pem();
    let _ = format!(
        "{certificate:?} {} {} {} {} {:?}",
        certificate.subject(),
        certificate.issuer(),
        certificate.public_key(),
        certificate.not_before(),
        certificate.usage().map(|usage| usage.to_string()),
    );
}

/// An unknown key: it may verify nothing that it did not sign, and encrypting for it ends.
fn key(key: &wire::policy::PublicKey) {
    for policy in Policy::ALL {
        assert!(!key.verify(policy, b"nonce", &vec![0; key.signature_len()]));
        if let Ok(secret) = key.encrypt(policy, b"a nonce of some length") {
            assert_eq!(secret.len() % key.cipher_block(), 0);
        }
    }
}

/// What a responder of OCSP, or a client of one, may have sent.
fn answered(bytes: &[u8]) {
    if let Ok(response) = OcspResponse::from_der(bytes) {
        let authorities = TRUST.issuers.iter().chain(&TRUST.trusted);
        for authority in authorities {
            // None of them has signed an answer.
            let good = response.standing(authority, authority, NOW);
            assert!(good.is_err(), "{good:?}");
        }
    }
    if let Ok(request) = OcspRequest::from_der(bytes) {
        assert_eq!(OcspRequest::from_der(&request.der()), Ok(request));
    }
}

fn list(bytes: &[u8]) {
    answered(bytes);
    let Ok(list) = RevocationList::from_der(bytes) else {
        return;
    };
    let _ = format!("{list:?} {} {:?}", list.issuer(), list.next_update());
    let _ = list.pem();
    for authority in TRUST.issuers.iter().chain(&TRUST.trusted) {
        if list.is_of(authority) {
            let known = TRUST
                .revocations
                .iter()
                .find(|known| known.is_of(authority));
            assert_eq!(known.map(RevocationList::len), Some(list.len()));
        }
    }
}

/// Trust lists out of files that anybody wrote: certificates with their lengths before them.
fn folder(script: &mut Script<'_>) {
    let expected = expected(script);
    let mut trust = Trust::default();
    let mut judged = Vec::new();
    for _ in 0..24 {
        let kind = script.byte();
        let bytes = match kind & 0x30 {
            0x10 => PLANT[usize::from(kind >> 6)],
            0x20 => LISTS[usize::from(kind >> 6) % 3],
            _ => script.bytes(),
        };
        match kind & 3 {
            0 => trust.trusted.extend(Certificate::from_der(bytes)),
            1 => trust.issuers.extend(Certificate::from_der(bytes)),
            2 => trust.revocations.extend(RevocationList::from_der(bytes)),
            _ => judged.extend_from_slice(bytes),
        }
    }
    let _ = trust.judge(&judged, &expected);
}
