use std::sync::LazyLock;

use super::*;
use crate::certificate::{Certificate, CertificateError};

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
    certificate: &'static [u8],
}

fn pair(bits: usize, key: &[u8], certificate: &'static [u8]) -> Pair {
    Pair {
        bits,
        ours: PrivateKey::from_der(key).unwrap(),
        certificate,
    }
}

macro_rules! test_key {
    ($name:literal) => {
        include_bytes!(concat!("../../tests/keys/", $name, ".der"))
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
fn combinations() -> impl Iterator<Item = (Policy, &'static Pair)> {
    SECURED.into_iter().flat_map(|policy| {
        PAIRS
            .iter()
            .filter(move |pair| policy.key_bits().contains(&pair.bits))
            .map(move |pair| (policy, pair))
    })
}

fn bytes(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i * 31 + i / 251) as u8).collect()
}

#[test]
fn a_policy_is_found_by_its_name_in_any_case_and_by_its_uri() {
    for policy in Policy::ALL {
        assert_eq!(policy.name().to_uppercase().parse(), Ok(policy));
        assert_eq!(policy.name().replace('_', "").parse(), Ok(policy));
        assert_eq!(policy.uri().parse(), Ok(policy));
        assert_eq!(Policy::from_uri(policy.uri()), Some(policy));
    }
    for mode in Mode::ALL {
        assert_eq!(mode.name().to_lowercase().parse(), Ok(mode));
        assert_eq!(Mode::try_from(MessageSecurityMode::from(mode)), Ok(mode));
    }
    let error = "Basic257".parse::<Policy>().unwrap_err().to_string();
    assert!(error.contains("Basic257") && error.contains("Aes256_Sha256_RsaPss"));
    assert!(Mode::try_from(MessageSecurityMode::Invalid).is_err());
}

#[test]
fn policies_are_ordered_weakest_first() {
    assert!(Policy::ALL.is_sorted());
    assert!(Mode::ALL.is_sorted());
}

#[test]
fn keys_in_the_open_are_those_that_messages_are_encrypted_with() {
    use aes::cipher::{BlockModeDecrypt, KeyIvInit, block_padding::NoPadding};
    for policy in SECURED {
        let (secret, seed) = (bytes(policy.nonce_len()), vec![7; policy.nonce_len()]);
        let keys = Keys::derive(policy, &secret, &seed);
        let open = DirectionKeys::derive(policy, &secret, &seed).unwrap();
        assert_eq!(open.signature_len, keys.signature_len(), "{policy}");
        let data = bytes(160);
        let mut cipher = data.clone();
        keys.encrypt(&mut cipher).unwrap();
        let (key, iv) = (open.key.as_slice(), open.iv.as_slice());
        let plain = match key.len() {
            16 => cbc::Decryptor::<aes::Aes128>::new_from_slices(key, iv)
                .unwrap()
                .decrypt_padded::<NoPadding>(&mut cipher),
            _ => cbc::Decryptor::<aes::Aes256>::new_from_slices(key, iv)
                .unwrap()
                .decrypt_padded::<NoPadding>(&mut cipher),
        };
        assert_eq!(plain.unwrap(), data, "{policy}");
        assert_eq!(format!("{open:?}"), "DirectionKeys");
    }
    assert!(DirectionKeys::derive(Policy::None, b"secret", b"seed").is_none());
}

#[test]
fn a_changed_or_shortened_signature_is_refused() {
    for policy in SECURED {
        let keys = Keys::derive(policy, b"secret", b"seed");
        let mut signature = vec![0; keys.signature_len()];
        keys.sign(b"data", &mut signature);
        assert!(!keys.verify(b"dato", &signature));
        assert!(!keys.verify(b"data", &signature[1..]));
        assert!(!keys.verify(b"data", &[]));
        for bit in 0..signature.len() * 8 {
            signature[bit / 8] ^= 1 << (bit % 8);
            assert!(!keys.verify(b"data", &signature));
            signature[bit / 8] ^= 1 << (bit % 8);
        }
    }
}

#[test]
fn a_part_of_a_cipher_block_is_an_error() {
    for policy in SECURED {
        let keys = Keys::derive(policy, b"secret", b"seed");
        for len in [1, 15, 17, 1023] {
            let mut data = bytes(len);
            let error = CipherError::PartialBlock { len };
            assert_eq!(keys.decrypt(&mut data), Err(error));
            assert_eq!(keys.encrypt(&mut data), Err(error));
            assert_eq!(data, bytes(len));
        }
        assert_eq!(keys.decrypt(&mut []), Ok(()));
    }
}

#[test]
fn policy_none_leaves_bytes_alone() {
    let keys = Keys::derive(Policy::None, &[], &[]);
    assert_eq!((keys.signature_len(), keys.block_len()), (0, 1));
    let mut data = bytes(7);
    keys.encrypt(&mut data).unwrap();
    keys.decrypt(&mut data).unwrap();
    keys.sign(&data, &mut []);
    assert_eq!(data, bytes(7));
    assert!(keys.verify(&data, &[]));
    assert!(!keys.verify(&data, &[0]));
}

#[test]
fn half_a_block_and_nothing_are_errors() {
    for (policy, pair) in combinations() {
        let block = pair.bits / 8;
        let cipher = pair.ours.public_key().encrypt(policy, b"secret").unwrap();
        for len in [0, 1, block / 2, block - 1] {
            assert_eq!(
                pair.ours.decrypt(policy, &cipher[..len]).unwrap_err(),
                KeyUseError::PartialBlock { len, block }
            );
        }
        let longer = [&cipher[..], &cipher[..block / 2]].concat();
        let len = longer.len();
        assert_eq!(
            pair.ours.decrypt(policy, &longer).unwrap_err(),
            KeyUseError::PartialBlock { len, block }
        );
    }
}

#[test]
fn oaep_says_of_a_changed_block_only_that_it_cannot_be_decrypted() {
    for (policy, pair) in combinations().filter(|c| c.0 != Policy::Basic128Rsa15) {
        let mut cipher = pair.ours.public_key().encrypt(policy, b"secret").unwrap();
        cipher[pair.bits / 8 - 1] ^= 1;
        assert_eq!(
            pair.ours.decrypt(policy, &cipher).unwrap_err(),
            KeyUseError::Decrypt
        );
        // A number above the modulus fails as one below does.
        let above = vec![0xff; pair.bits / 8];
        assert_eq!(
            pair.ours.decrypt(policy, &above).unwrap_err(),
            KeyUseError::Decrypt
        );
    }
}

#[test]
fn wrong_pkcs1_padding_decrypts_to_the_same_nonsense_each_time() {
    let policy = Policy::Basic128Rsa15;
    for pair in PAIRS.iter().take(2) {
        let cipher = pair.ours.public_key().encrypt(policy, b"secret").unwrap();
        let mut lengths = std::collections::BTreeSet::new();
        for change in 1..=20 {
            let mut cipher = cipher.clone();
            cipher[pair.bits / 8 - 1] ^= change;
            let first = pair.ours.decrypt(policy, &cipher).unwrap();
            assert_eq!(pair.ours.decrypt(policy, &cipher).unwrap(), first);
            assert_ne!(*first, b"secret");
            lengths.insert(first.len());
        }
        assert!(lengths.len() > 10, "lengths drawn: {lengths:?}");
        assert!(lengths.last() <= Some(&(pair.bits / 8 - 11)));
        let above = vec![0xff; pair.bits / 8];
        assert!(pair.ours.decrypt(policy, &above).is_ok());
    }
}

#[test]
fn a_key_too_short_or_too_long_for_the_policy_is_refused() {
    for policy in SECURED {
        for pair in PAIRS
            .iter()
            .filter(|p| !policy.key_bits().contains(&p.bits))
        {
            let bits = pair.bits;
            let error = KeyUseError::KeySize { policy, bits };
            let public = pair.ours.public_key();
            assert_eq!(pair.ours.sign(policy, b"").unwrap_err(), error);
            assert_eq!(
                pair.ours.decrypt(policy, &vec![1; bits / 8]).unwrap_err(),
                error
            );
            assert_eq!(public.encrypt(policy, b"x").unwrap_err(), error);
            assert!(!public.verify(policy, b"", &vec![1; bits / 8]));
        }
    }
    let policy = Policy::None;
    let error = KeyUseError::NoKeys { policy };
    assert_eq!(PAIRS[1].ours.sign(policy, b"").unwrap_err(), error);
    assert_eq!(PAIRS[1].ours.decrypt(policy, b"").unwrap_err(), error);
    assert!(!PAIRS[1].ours.public_key().verify(policy, b"", b""));
}

#[test]
fn private_keys_are_read_from_pkcs8_and_pkcs1_and_nothing_else() {
    let pkcs1 = PrivateKey::from_der(test_key!("rsa2048-pkcs1")).unwrap();
    assert_eq!(pkcs1.public_key(), PAIRS[1].ours.public_key());
    let signature = pkcs1.sign(Policy::Basic256, b"data").unwrap();
    assert!(
        pkcs1
            .public_key()
            .verify(Policy::Basic256, b"data", &signature)
    );
    for der in [test_key!("rsa1024").as_slice(), test_key!("rsa2048")] {
        for len in (0..der.len()).step_by(7) {
            assert!(PrivateKey::from_der(&der[..len]).is_err());
        }
    }
    assert!(PrivateKey::from_der(test_key!("cert2048")).is_err());
}

#[test]
fn secrets_do_not_show_in_debug_output() {
    assert_eq!(
        format!("{:?}", PAIRS[0].ours),
        "PrivateKey { bits: 1024, .. }"
    );
    let keys = Keys::derive(Policy::Basic256Sha256, b"secret", b"seed");
    assert_eq!(
        format!("{keys:?}"),
        "Keys { signature_len: 32, block_len: 16, .. }"
    );
}

#[test]
fn a_certificate_shows_its_key_and_uri() {
    for pair in PAIRS.iter() {
        let certificate = Certificate::from_der(pair.certificate).unwrap();
        assert_eq!(certificate.public_key(), pair.ours.public_key());
        assert_eq!(certificate.public_key().bits(), pair.bits);
        let uri = format!("urn:uaperf:test:{}", pair.bits);
        assert_eq!(certificate.application_uri(), Some(&*uri));
        assert_eq!(certificate.leaf(), pair.certificate);
    }
}

#[test]
fn a_chain_is_taken_apart_leaf_first() {
    let parts = [
        PAIRS[1].certificate,
        PAIRS[2].certificate,
        PAIRS[3].certificate,
    ];
    let chain = Certificate::from_der(&parts.concat()).unwrap();
    assert!(chain.chain().eq(parts));
    assert_eq!(chain.as_bytes(), parts.concat());
    assert_eq!(chain, Certificate::from_der(parts[0]).unwrap());
    assert_ne!(chain, Certificate::from_der(parts[1]).unwrap());
    let endless = parts[0].repeat(17);
    assert_eq!(
        Certificate::from_der(&endless).unwrap_err(),
        CertificateError::TooLong
    );
}

#[test]
fn a_damaged_certificate_is_an_error() {
    let sound = PAIRS[1].certificate;
    assert_eq!(
        Certificate::from_der(&[]).unwrap_err(),
        CertificateError::Empty
    );
    for len in 1..sound.len() {
        assert_eq!(
            Certificate::from_der(&sound[..len]).unwrap_err(),
            CertificateError::Malformed { index: 0, at: 0 }
        );
    }
    let trailing = [sound, &[0]].concat();
    let at = sound.len();
    assert_eq!(
        Certificate::from_der(&trailing).unwrap_err(),
        CertificateError::Malformed { index: 1, at }
    );
    assert_eq!(
        Certificate::from_der(test_key!("cert521")).unwrap_err(),
        CertificateError::Key(KeyError::Kind)
    );
    for at in 0..sound.len() {
        for value in [0x00, 0x7f, 0x80, 0x84, 0xff, sound[at] ^ 1] {
            let mut damaged = sound.to_vec();
            damaged[at] = value;
            // Whatever it says, it says it without a panic.
            let _ = Certificate::from_der(&damaged);
        }
    }
}

proptest::proptest! {
    #[test]
    fn random_bytes_are_never_a_key_or_certificate(der: Vec<u8>) {
        proptest::prop_assert!(Certificate::from_der(&der).is_err());
        proptest::prop_assert!(PrivateKey::from_der(&der).is_err());
        proptest::prop_assert!(PublicKey::from_spki(&der).is_err());
    }
}
