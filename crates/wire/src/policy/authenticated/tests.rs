//! Against the vectors of the RFCs.

use super::*;
use crate::policy::{Curve, Ephemeral, Keys, PrivateKey};

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex
        .bytes()
        .filter(|byte| !byte.is_ascii_whitespace())
        .collect();
    let pairs = digits.as_chunks::<2>().0.iter();
    pairs
        .map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}

/// RFC 8439, 2.8.2.
struct Vector {
    material: Vec<u8>,
    clear: Vec<u8>,
    plain: &'static [u8],
    sealed: Vec<u8>,
    tag: Vec<u8>,
}

fn vector() -> Vector {
    Vector {
        material: bytes(
            "808182838485868788898a8b8c8d8e8f 909192939495969798999a9b9c9d9e9f
             07000000 4041424344454647",
        ),
        clear: bytes("50515253c0c1c2c3c4c5c6c7"),
        plain: b"Ladies and Gentlemen of the class of '99: If I could offer you only one tip for \
                 the future, sunscreen would be it.",
        sealed: bytes(
            "d31a8d34648e60db7b86afbc53ef7ec2 a4aded51296e08fea9e2b5a736ee62d6
             3dbea45e8ca9671282fafb69da92728b 1a71de0a9e060b2905d6a5b67ecd3b36
             92ddbd7f2d778b8c9803aee328091b58 fab324e4fad675945585808b4831d7bc
             3ff4def08e4b7a9de576d26586cec64b 6116",
        ),
        tag: bytes("1ae10b594f09e26a7e902ecbd0600691"),
    }
}

#[test]
fn it_is_the_algorithm_of_the_rfc() {
    let vector = vector();
    let keys = AuthenticatedKeys::cut(&vector.material).unwrap();
    let mut secret = vector.plain.to_vec();
    let tag = keys.seal(Place::ALONE, &vector.clear, &mut secret).unwrap();
    assert_eq!((&secret, &tag[..]), (&vector.sealed, &vector.tag[..]));
    secret.extend_from_slice(&tag);
    let len = keys.open(Place::ALONE, &vector.clear, &mut secret);
    assert_eq!(&secret[..len.unwrap()], vector.plain);
    assert!(AuthenticatedKeys::cut(&vector.material[1..]).is_none());
    assert_eq!(format!("{keys:?}"), "AuthenticatedKeys");
}

#[test]
fn token_and_sequence_number_go_into_the_first_eight_bytes_of_the_iv() {
    let vector = vector();
    let place = Place {
        token_id: 0x0403_0201,
        last_sequence: 0x8070_6050,
    };
    // The other way round: with an IV that becomes that of the RFC.
    let mut material = vector.material;
    for (byte, mask) in material[KEY_LEN..]
        .iter_mut()
        .zip(bytes("0102030450607080"))
    {
        *byte ^= mask;
    }
    let keys = AuthenticatedKeys::cut(&material).unwrap();
    let mut secret = vector.plain.to_vec();
    let tag = keys.seal(place, &vector.clear, &mut secret).unwrap();
    assert_eq!((&secret, &tag[..]), (&vector.sealed, &vector.tag[..]));
    secret.extend_from_slice(&tag);
    for other in [
        Place {
            token_id: 0x0403_0200,
            ..place
        },
        Place {
            last_sequence: 0x8070_6051,
            ..place
        },
        Place::ALONE,
    ] {
        let opened = keys.open(other, &vector.clear, &mut secret.clone());
        assert_eq!(opened, Err(CipherError::Signature), "{other:?}");
    }
}

#[test]
fn what_was_agreed_on_gives_an_encrypting_key_and_an_iv_and_no_key_that_signs() {
    let policy = Policy::EccCurve25519;
    let [client, server] = [(); 2].map(|()| Ephemeral::make(Curve::Curve25519).unwrap());
    let shared = client.agree(server.public()).unwrap();
    let exchanged = Exchanged {
        client_nonce: client.public(),
        server_nonce: server.public(),
        shared: Some(&shared),
    };
    for (sender, label, nonces) in [
        (
            Sender::Client,
            "opcua-client",
            [client.public(), server.public()],
        ),
        (
            Sender::Server,
            "opcua-server",
            [server.public(), client.public()],
        ),
    ] {
        // Part 6, 6.8.1: the salt begins with how much is needed, 44 bytes, and is the info, too. RFC 5869 with
        // HMAC alone, that it is not the same library function twice.
        let salt = [&[44, 0], label.as_bytes(), nonces[0], nonces[1]].concat();
        let code = |key: &[u8], data: &[u8]| {
            crate::policy::hmac::HmacSha256::new(key)
                .code(data)
                .to_vec()
        };
        let extracted = code(&salt, shared.bytes());
        let first = code(&extracted, &[&salt[..], &[1]].concat());
        let second = code(&extracted, &[&first[..], &salt, &[2]].concat());
        let expected = [first, second].concat();
        let expected = AuthenticatedKeys::cut(&expected).unwrap();
        for mode in [Mode::Sign, Mode::SignAndEncrypt] {
            let keys = AuthenticatedKeys::of(policy, mode, &exchanged, sender).unwrap();
            let seal =
                |keys: &AuthenticatedKeys| keys.seal(Place::ALONE, b"clear", &mut []).unwrap();
            assert_eq!(seal(&keys), seal(&expected), "{mode} {sender:?}");
            assert!(Keys::of(policy, mode, &exchanged, sender).is_none());
        }
    }
    let nothing = Exchanged {
        shared: None,
        ..exchanged
    };
    let none = |policy, exchanged| {
        AuthenticatedKeys::of(policy, Mode::Sign, exchanged, Sender::Client).is_none()
    };
    assert!(none(policy, &nothing));
    assert!(none(Policy::Basic256Sha256, &exchanged));
}

#[test]
fn both_sides_agree_as_in_the_rfc() {
    // RFC 7748, 6.1.
    let [alice, bob] = [
        "77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a",
        "5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb",
    ]
    .map(|secret| Ephemeral::known(Curve::Curve25519, &bytes(secret)));
    let public = bytes("8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a");
    assert_eq!(alice.public(), public);
    let public = bytes("de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f");
    assert_eq!(bob.public(), public);
    let shared = bytes("4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742");
    assert_eq!(alice.agree(bob.public()).unwrap().bytes(), shared);
    assert_eq!(bob.agree(alice.public()).unwrap().bytes(), shared);
}

#[test]
fn keys_that_everybody_agrees_on_zeros_with_are_none() {
    let own = Ephemeral::make(Curve::Curve25519).unwrap();
    for point in [
        "00000000000000000000000000000000 00000000000000000000000000000000",
        "01000000000000000000000000000000 00000000000000000000000000000000",
        "e0eb7a7c3b41b8ae1656e3faf19fc46a da098deb9c32b1fd866205165f49b800",
        "5f9c95bca3508c24b1d0b1559c83ef5b 04445cc4581c8e86d8224eddd09f1157",
        "ecffffffffffffffffffffffffffffff ffffffffffffffffffffffffffffff7f",
        "edffffffffffffffffffffffffffffff ffffffffffffffffffffffffffffff7f",
        "eeffffffffffffffffffffffffffffff ffffffffffffffffffffffffffffff7f",
    ] {
        let refused = own.agree(&bytes(point)).unwrap_err();
        assert!(refused.to_string().contains("curve25519"), "{point}");
    }
    for len in [0, 31, 33, 64] {
        assert!(own.agree(&vec![9; len]).is_err(), "{len}");
    }
}

#[test]
fn it_signs_as_in_the_rfc() {
    // RFC 8032, 7.1, tests 2 and 3, in the PKCS #8 of RFC 8410, 7.
    for (secret, public, message, signature) in [
        (
            "4ccd089b28ff96da9db6c346ec114e0f 5b8a319f35aba624da8cf6ed4fb8a6fb",
            "3d4017c3e843895a92b70aa74d1b7ebc 9c982ccf2ec4968cc0cd55f12af4660c",
            "72",
            "92a009a9f0d4cab8720e820b5f642540 a2b27b5416503f8fb3762223ebdb69da
             085ac1e43e15996e458f3613d0f11d8c 387b2eaeb4302aeeb00d291612bb0c00",
        ),
        (
            "c5aa8df43f9f837bedb7442f31dcb7b1 66d38535076f094b85ce3a2e0b4458f7",
            "fc51cd8e6218a1a38da47ed00230f058 0816ed13ba3303ac5deb911548908025",
            "af82",
            "6291d657deec24024827e69c3abe01a3 0ce548a284743a445e3680d7db5ac3ac
             18ff9b538d16f290ae67f760984dc659 4a7c15e9716ed28dc027beceea1ec40a",
        ),
    ] {
        let der = [bytes("302e020100300506032b657004220420"), bytes(secret)].concat();
        let key = PrivateKey::from_der(&der).unwrap();
        let policy = Policy::EccCurve25519;
        let (message, mut signature) = (bytes(message), bytes(signature));
        assert_eq!(key.sign(policy, &message).unwrap(), signature);
        assert_eq!(key.signature_len(), signature.len());
        let spki = [bytes("302a300506032b6570032100"), bytes(public)].concat();
        let public = crate::policy::PublicKey::from_spki(&spki).unwrap();
        assert_eq!(&public, key.public_key());
        assert!(public.verify(policy, &message, &signature));
        assert!(!public.verify(Policy::EccNistP256, &message, &signature));
        signature[63] ^= 1;
        assert!(!public.verify(policy, &message, &signature));
    }
}
