//! What `wire` computes of the RSA policies, held to async-opcua's own cryptography.

#![allow(clippy::unwrap_used)]

use std::sync::LazyLock;

use opcua_crypto as oracle;
use rsa::pkcs8::{DecodePrivateKey, EncodePrivateKey, LineEnding};
use wire::certificate::Certificate;
use wire::policy::{Keys, Policy, PrivateKey};

const SECURED: [Policy; 5] = [
    Policy::Basic128Rsa15,
    Policy::Basic256,
    Policy::Basic256Sha256,
    Policy::Aes128Sha256RsaOaep,
    Policy::Aes256Sha256RsaPss,
];

struct Pair {
    bits: usize,
    ours: PrivateKey,
    theirs: oracle::PrivateKey,
    certificate: &'static [u8],
}

fn pair(bits: usize, key: &[u8], certificate: &'static [u8]) -> Pair {
    let pem = rsa::RsaPrivateKey::from_pkcs8_der(key)
        .unwrap()
        .to_pkcs8_pem(LineEnding::LF)
        .unwrap();
    Pair {
        bits,
        ours: PrivateKey::from_der(key).unwrap(),
        theirs: oracle::PrivateKey::from_pem(pem.as_bytes()).unwrap(),
        certificate,
    }
}

macro_rules! test_key {
    ($name:literal) => {
        include_bytes!(concat!("../../wire/tests/keys/", $name, ".der"))
    };
}

static PAIRS: LazyLock<[Pair; 4]> = LazyLock::new(|| {
    [
        pair(1024, test_key!("rsa1024"), test_key!("cert1024")),
        pair(2048, test_key!("rsa2048"), test_key!("cert2048")),
        pair(3072, test_key!("rsa3072"), test_key!("cert3072")),
        pair(4096, test_key!("rsa4096"), test_key!("cert4096")),
    ]
});

/// Every policy with every key it allows.
fn combinations() -> impl Iterator<Item = (Policy, oracle::SecurityPolicy, &'static Pair)> {
    SECURED.into_iter().flat_map(|policy| {
        PAIRS
            .iter()
            .filter(move |pair| policy.key_bits().contains(&pair.bits))
            .map(move |pair| (policy, their(policy), pair))
    })
}

fn their(policy: Policy) -> oracle::SecurityPolicy {
    oracle::SecurityPolicy::from_uri(policy.uri())
}

fn bytes(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i * 31 + i / 251) as u8).collect()
}

#[test]
fn names_uris_and_lengths_are_those_of_the_oracle() {
    for policy in SECURED {
        let theirs = their(policy);
        assert_eq!(policy.nonce_len(), theirs.secure_channel_nonce_length());
        assert_eq!(
            policy.symmetric_signature_len(),
            theirs.symmetric_signature_size()
        );
        assert_eq!(
            policy.asymmetric_signature_uri(),
            Some(theirs.asymmetric_signature_algorithm())
        );
        assert_eq!(
            policy.asymmetric_encryption_uri(),
            theirs.asymmetric_encryption_algorithm()
        );
        assert_eq!(policy.is_deprecated(), theirs.is_deprecated());
        assert_eq!(
            policy.legacy_sequence_numbers(),
            theirs.legacy_sequence_numbers()
        );
        for bits in [1023, 1024, 2047, 2048, 2049, 4096, 4097] {
            assert_eq!(
                policy.key_bits().contains(&bits),
                theirs.is_valid_keylength(bits),
                "{policy} {bits}"
            );
        }
    }
}

#[test]
fn derived_keys_sign_and_encrypt_as_the_oracle_does() {
    for policy in SECURED {
        let (secret, seed) = (bytes(policy.nonce_len()), vec![7; policy.nonce_len()]);
        let ours = Keys::derive(policy, &secret, &seed);
        let theirs = their(policy).make_secure_channel_keys(&secret, &seed);
        // Around the borders of hash blocks, and larger than a run of parallel cipher blocks.
        for len in (0..200).chain([1024, 8191, 65535]) {
            let data = bytes(len);
            let mut signature = vec![0; ours.signature_len()];
            ours.sign(&data, &mut signature);
            let mut expected = vec![0; ours.signature_len()];
            their(policy)
                .symmetric_sign(&theirs, &data, &mut expected)
                .unwrap();
            assert_eq!(signature, expected, "{policy}, {len} bytes");
            assert!(ours.verify(&data, &signature));

            let data = bytes(len / 16 * 16);
            let mut cipher = data.clone();
            ours.encrypt(&mut cipher).unwrap();
            let mut expected = vec![0; data.len() + 16];
            their(policy)
                .symmetric_encrypt(&theirs, &data, &mut expected)
                .unwrap();
            assert_eq!(cipher, expected[..data.len()], "{policy}, {len} bytes");
            ours.decrypt(&mut cipher).unwrap();
            assert_eq!(cipher, data);
        }
    }
}

#[test]
fn a_long_secret_is_hashed_before_it_keys_the_derivation() {
    for policy in SECURED {
        let (secret, seed) = (bytes(100), bytes(77));
        let mut ours = [0; 32];
        Keys::derive(policy, &secret, &seed).sign(b"data", &mut ours);
        let keys = their(policy).make_secure_channel_keys(&secret, &seed);
        let mut theirs = vec![0; policy.symmetric_signature_len()];
        their(policy)
            .symmetric_sign(&keys, b"data", &mut theirs)
            .unwrap();
        assert_eq!(ours[..theirs.len()], theirs);
    }
}

#[test]
fn signatures_are_verified_both_ways() {
    for (policy, their_policy, pair) in combinations() {
        let what = format!("{policy}, {} bits", pair.bits);
        let data = bytes(1000);
        let public = pair.ours.public_key();
        let ours = pair.ours.sign(policy, &data).unwrap();
        assert_eq!(ours.len(), pair.bits / 8);
        their_policy
            .asymmetric_verify_signature(&pair.theirs.to_public_key(), &data, &ours)
            .expect(&what);
        let mut theirs = vec![0; pair.bits / 8];
        their_policy
            .asymmetric_sign(&pair.theirs, &data, &mut theirs)
            .unwrap();
        assert!(public.verify(policy, &data, &theirs), "{what}");
        theirs[100] ^= 1;
        assert!(!public.verify(policy, &data, &theirs), "{what}");
        assert!(!public.verify(policy, &data[1..], &ours), "{what}");
        assert!(!public.verify(policy, &data, &ours[1..]), "{what}");
        assert!(!public.verify(policy, &data, &[]), "{what}");
    }
}

#[test]
fn cipher_texts_are_decrypted_both_ways() {
    for (policy, their_policy, pair) in combinations() {
        let public = pair.ours.public_key();
        let block = public.plain_block(policy);
        for len in [1, block - 1, block, block + 1, 3 * block] {
            let what = format!("{policy}, {} bits, {len} bytes", pair.bits);
            let plain = bytes(len);
            let cipher = public.encrypt(policy, &plain).unwrap();
            assert_eq!(
                cipher.len(),
                len.div_ceil(block) * public.cipher_block(),
                "{what}"
            );
            let mut decrypted = vec![0; cipher.len()];
            let count = their_policy
                .asymmetric_decrypt(&pair.theirs, &cipher, &mut decrypted)
                .unwrap();
            assert_eq!(decrypted[..count], plain, "{what}");

            let mut cipher = vec![0; cipher.len()];
            their_policy
                .asymmetric_encrypt(&pair.theirs.to_public_key(), &plain, &mut cipher)
                .unwrap();
            assert_eq!(
                *pair.ours.decrypt(policy, &cipher).unwrap(),
                plain,
                "{what}"
            );
        }
    }
}

#[test]
fn a_certificate_has_the_oracles_thumbprint() {
    for pair in PAIRS.iter() {
        let certificate = Certificate::from_der(pair.certificate).unwrap();
        let theirs = oracle::X509::from_der(pair.certificate).unwrap();
        assert_eq!(&certificate.thumbprint()[..], theirs.thumbprint().value());
    }
}
