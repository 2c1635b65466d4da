//! Signatures and encryption, beside bytes that Python's `cryptography` made, and what is refused.

use pubsub::discovery::{Announced, Announcement};
use pubsub::security::{GroupKeys, KeyRing, Mode, NonceSequence, OpenError, PubSubPolicy, Sealer};
use pubsub::view::Known;
use pubsub::{
    Content, DataSetMessage, Fields, GroupHeader, NetworkMessage, PublisherId, Tolerance, View,
};
use wire::service::Limits;
use wire::types::Variant;

use crate::bytes;

/// SigningKey 01..20, EncryptingKey 40.., KeyNonce a1..a4.
fn key(policy: PubSubPolicy) -> GroupKeys {
    let mut key: Vec<u8> = (1..=32).collect();
    key.extend(0x40..0x40 + (policy.key_len() - 36) as u8);
    key.extend([0xa1, 0xa2, 0xa3, 0xa4]);
    GroupKeys::new(policy, &key).unwrap()
}

fn message() -> NetworkMessage {
    let values = [1.5f32, -2.25, 1e9].map(Variant::Float).to_vec();
    NetworkMessage {
        publisher_id: Some(PublisherId::UInt16(2234)),
        group: Some(GroupHeader {
            writer_group_id: Some(100),
            version: Some(1),
            ..GroupHeader::default()
        }),
        payload_header: true,
        messages: vec![DataSetMessage {
            sequence: Some(7),
            ..DataSetMessage::new(1000, Content::Key(Fields::Variant(values)))
        }],
        ..NetworkMessage::default()
    }
}

fn sealed(sealer: &mut Sealer) -> Vec<u8> {
    let mut message = message();
    message.security = Some(sealer.header());
    let mut out = Vec::new();
    let at = message.encode(&mut out).unwrap();
    assert!(sealer.seal(&mut out, &at));
    out
}

/// What Python made of the same message by `hmac`, `hashlib` and AES-CTR of `cryptography` 48.
const VECTORS: [(PubSubPolicy, Mode, &str); 3] = [
    (
        PubSubPolicy::Aes128Ctr,
        Mode::Sign,
        "f111ba080364000100000001e803010100000008bbb76d3a0100000009070003000a0000c03f0a000010c0\
         0a286b6e4e494b95b9a58219923dca4eb304eefdcd9722707cdba95f50dbd7afbaed52b9c3",
    ),
    (
        PubSubPolicy::Aes128Ctr,
        Mode::SignAndEncrypt,
        "f111ba080364000100000001e803030100000008bbb76d3a010000003e43f347e634bfb41fe7e4c988f26e\
         453c51a717c43b5779059d01f4fd26aea285f2912a975556ba3d0ffecdb64404d140c4d866",
    ),
    (
        PubSubPolicy::Aes256Ctr,
        Mode::SignAndEncrypt,
        "f111ba080364000100000001e803030100000008bbb76d3a01000000f2d0611ad62439dcf79bf9058d98cc\
         9399d3a5e94e676e0107a9e3dd89c1900571c51deeec990237e04b74547bf4339b94a6a2e3",
    ),
];

#[test]
fn messages_are_secured_as_another_implementation_does() {
    for (policy, mode, hex) in VECTORS {
        let mut sealer = Sealer::new(key(policy), 1, mode, [0xbb, 0xb7, 0x6d, 0x3a]);
        let mut wire = sealed(&mut sealer);
        assert_eq!(wire, bytes(hex), "{policy} {mode:?}");
        let mut ring = KeyRing::new(Some(mode), Tolerance::NONE);
        ring.insert(1, key(policy));
        let view = View::parse(&wire, Tolerance::NONE).unwrap();
        assert!(view.messages(Known::default()).is_err(), "it is closed");
        let opened = ring.open(&mut wire).unwrap();
        let view = View::parse_opened(&wire, opened, Tolerance::NONE).unwrap();
        let read = view
            .to_message(Known::default(), &Limits::default())
            .unwrap();
        assert_eq!(read.messages, message().messages);
        let security = read.security.unwrap();
        assert!(security.signed);
        assert_eq!(security.encrypted, mode == Mode::SignAndEncrypt);
    }
}

#[test]
fn a_byte_that_was_changed_is_noticed_wherever_it_is() {
    let mut sealer = Sealer::new(
        key(PubSubPolicy::Aes256Ctr),
        1,
        Mode::SignAndEncrypt,
        [1; 4],
    );
    let wire = sealed(&mut sealer);
    for at in 0..wire.len() {
        let mut changed = wire.clone();
        changed[at] ^= 0x20;
        let before = changed.clone();
        let mut ring = KeyRing::new(Some(Mode::Sign), Tolerance::NONE);
        ring.insert(1, key(PubSubPolicy::Aes256Ctr));
        assert!(ring.open(&mut changed).is_err(), "byte {at}");
        assert_eq!(changed, before);
    }
}

/// Part 14, 7.2.4.4.3.2: a number is of a SecurityTokenId and a PublisherId, whatever group a message is of.
#[test]
fn what_a_publisher_sends_of_several_groups_is_numbered_through() {
    let policy = PubSubPolicy::Aes256Ctr;
    let numbers = NonceSequence::default();
    let sealer = |random| Sealer::new(key(policy), 1, Mode::SignAndEncrypt, [random; 4]);
    let mut groups = [1, 2].map(|it| sealer(it).numbered(numbers.clone()));
    let mut ring = KeyRing::new(Some(Mode::Sign), Tolerance::NONE);
    ring.insert(1, key(policy));
    for n in 1..=20_u32 {
        let wire = sealed(&mut groups[n as usize % 2]);
        let (header, _) = pubsub::Header::parse(&wire, Tolerance::NONE).unwrap();
        let nonce = header.security.unwrap().nonce;
        assert_eq!(nonce.bytes()[4..], n.to_le_bytes());
        assert_eq!(ring.open(&mut wire.clone()).map(drop), Ok(()), "{n}");
    }
    // With numbers of its own the same sender would seem to repeat itself.
    let mut alone = sealed(&mut sealer(3));
    assert_eq!(ring.open(&mut alone), Err(OpenError::Replayed));
}

/// Announcements have a socket of their own, which is read sooner or later than the one that data comes to.
#[test]
fn what_is_told_makes_no_data_old_and_data_nothing_that_is_told() {
    let policy = PubSubPolicy::Aes256Ctr;
    let numbers = NonceSequence::default();
    let sealer = |random| {
        let sealer = Sealer::new(key(policy), 1, Mode::SignAndEncrypt, [random; 4]);
        sealer.numbered(numbers.clone())
    };
    let (mut of_data, mut announcer) = (sealer(1), sealer(2));
    let mut announced = || {
        let it = Announcement {
            sequence: 1,
            told: Announced::Other(9),
        };
        let (id, header) = (PublisherId::UInt16(2234), announcer.header());
        let mut out = Vec::new();
        let at = it.encode(&id, Some(&header), &mut out).unwrap();
        assert!(announcer.seal(&mut out, &at));
        out
    };
    // Like an announcement it says no group.
    let mut data = || {
        let message = NetworkMessage {
            group: None,
            security: Some(of_data.header()),
            ..message()
        };
        let mut out = Vec::new();
        let at = message.encode(&mut out).unwrap();
        assert!(of_data.seal(&mut out, &at));
        out
    };
    let first = announced();
    let sent: Vec<Vec<u8>> = (0..200).map(|_| data()).collect();
    let last = announced();
    for told in [first, last] {
        for sooner in [false, true] {
            let mut ring = KeyRing::new(Some(Mode::Sign), Tolerance::NONE);
            ring.insert(1, key(policy));
            let mut open = |wire: &[u8]| ring.open(&mut wire.to_vec()).map(drop);
            if sooner {
                assert_eq!(open(&told), Ok(()));
            }
            for wire in &sent {
                assert_eq!(open(wire), Ok(()));
            }
            if !sooner {
                assert_eq!(open(&told), Ok(()));
            }
            assert_eq!(open(&told), Err(OpenError::Replayed));
            assert_eq!(open(&sent[199]), Err(OpenError::Replayed));
        }
    }
}

#[test]
fn what_came_before_is_refused_and_what_is_late_is_not() {
    let policy = PubSubPolicy::Aes128Ctr;
    let mut sealer = Sealer::new(key(policy), 1, Mode::Sign, [1; 4]);
    let sent: Vec<Vec<u8>> = (0..100).map(|_| sealed(&mut sealer)).collect();
    let mut ring = KeyRing::new(Some(Mode::Sign), Tolerance::NONE);
    ring.insert(1, key(policy));
    let mut open = |n: usize| ring.open(&mut sent[n].clone()).map(drop);
    assert_eq!(open(10), Ok(()));
    assert_eq!(open(10), Err(OpenError::Replayed));
    assert_eq!(open(12), Ok(()));
    assert_eq!(open(11), Ok(()));
    assert_eq!(open(11), Err(OpenError::Replayed));
    assert_eq!(open(99), Ok(()));
    // 64 are remembered.
    assert_eq!(open(36), Ok(()));
    assert_eq!(open(35), Err(OpenError::Replayed));
}

/// open62541 up to 1.5.7 sends the same sequence with each message.
#[test]
fn a_sequence_that_stands_still_is_taken_when_it_is_allowed_to() {
    let policy = PubSubPolicy::Aes128Ctr;
    let wire = sealed(&mut Sealer::new(key(policy), 1, Mode::Sign, [1; 4]));
    let mut ring = KeyRing::new(
        None,
        Tolerance {
            constant_nonce: true,
            ..Tolerance::NONE
        },
    );
    ring.insert(1, key(policy));
    for _ in 0..3 {
        ring.open(&mut wire.clone()).unwrap();
    }
}

#[test]
fn keys_roll_over_without_loss() {
    let policy = PubSubPolicy::Aes256Ctr;
    let other = || GroupKeys::new(policy, &[9; 68]).unwrap();
    let mut sealer = Sealer::new(key(policy), 1, Mode::SignAndEncrypt, [1; 4]);
    let mut ring = KeyRing::new(Some(Mode::SignAndEncrypt), Tolerance::NONE);
    ring.insert(1, key(policy));
    ring.insert(2, other());
    let first = sealed(&mut sealer);
    let second = sealed(&mut sealer);
    sealer.roll_over(other(), 2, [2; 4], NonceSequence::default());
    let third = sealed(&mut sealer);
    // One of the old key comes after one of the new.
    for wire in [first, third.clone(), second] {
        ring.open(&mut wire.clone()).unwrap();
    }
    assert_eq!(ring.open(&mut third.clone()), Err(OpenError::Replayed));
    sealer.roll_over(other(), 3, [3; 4], NonceSequence::default());
    let unknown = ring.open(&mut sealed(&mut sealer));
    assert_eq!(unknown, Err(OpenError::NoKey(3)));
}

#[test]
fn what_is_less_secured_than_asked_for_is_refused() {
    let policy = PubSubPolicy::Aes128Ctr;
    let mut ring = KeyRing::new(Some(Mode::SignAndEncrypt), Tolerance::NONE);
    ring.insert(1, key(policy));
    let mut clear = Vec::new();
    message().encode(&mut clear).unwrap();
    assert_eq!(ring.open(&mut clear), Err(OpenError::NotSecured));
    let mut signed = sealed(&mut Sealer::new(key(policy), 1, Mode::Sign, [1; 4]));
    assert_eq!(ring.open(&mut signed), Err(OpenError::NotSecured));
    let mut open = KeyRing::new(None, Tolerance::NONE);
    assert!(open.open(&mut clear).is_ok());
}
