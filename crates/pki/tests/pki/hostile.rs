//! Bytes from somebody who means no good.

use std::sync::LazyLock;

use pki::{Certificate, Key, RevocationList, Trust};
use proptest::prelude::*;

use crate::plant::{NOW, Plant, expected};

struct Samples {
    trust: Trust,
    sent: Vec<u8>,
    list: Vec<u8>,
    key: Vec<u8>,
}

static SAMPLES: LazyLock<Samples> = LazyLock::new(|| {
    let plant = Plant::new();
    let mut sent = plant.leaf.der().to_vec();
    sent.extend_from_slice(plant.line.certificate().der());
    Samples {
        trust: plant.trust(),
        sent,
        list: plant
            .line
            .revoke(&[&plant.leaf], NOW, 30)
            .unwrap()
            .der()
            .to_vec(),
        key: plant.line.key().pkcs8().to_vec(),
    }
});

fn changed(original: &[u8], changes: &[(prop::sample::Index, u8)], keep: usize) -> Vec<u8> {
    let mut bytes = original.to_vec();
    for (index, value) in changes {
        *index.get_mut(&mut bytes) = *value;
    }
    bytes.truncate(keep);
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2000) })]

    #[test]
    fn a_changed_chain_is_accepted_only_when_the_application_is_the_same(
        changes in prop::collection::vec(any::<(prop::sample::Index, u8)>(), 0..4),
        keep in 0_usize..4000,
    ) {
        let samples = &*SAMPLES;
        let bytes = changed(&samples.sent, &changes, keep);
        if let Ok(accepted) = samples.trust.judge(&bytes, &expected()) {
            let leaf = Certificate::chain_from_der(&samples.sent).unwrap().remove(0);
            prop_assert_eq!(&accepted.chain[0], &leaf);
        }
    }

    #[test]
    fn changed_lists_and_keys_are_read_or_refused(
        changes in prop::collection::vec(any::<(prop::sample::Index, u8)>(), 1..6),
        keep in 0_usize..4000,
    ) {
        let samples = &*SAMPLES;
        if let Ok(list) = RevocationList::from_der(&changed(&samples.list, &changes, keep)) {
            let issuer = &samples.trust.issuers[1];
            prop_assert!(!list.is_of(issuer) || list.der() == samples.list);
        }
        let _ = Key::read(&changed(&samples.key, &changes, keep));
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = SAMPLES.trust.judge(&bytes, &expected());
        let _ = RevocationList::from_der(&bytes);
        let _ = Key::read(&bytes);
        let mut text = b"-----BEGIN CERTIFICATE-----\n".to_vec();
        text.extend_from_slice(&bytes);
        let _ = Certificate::read_file(&text);
        let _ = RevocationList::read_file(&text);
    }
}

#[test]
fn deep_nesting_does_not_exhaust_the_stack() {
    let mut bytes = Vec::new();
    for _ in 0..50_000 {
        let mut outer = vec![0x30, 0x83];
        outer.extend_from_slice(&(bytes.len() as u32).to_be_bytes()[1..]);
        if bytes.len() > 100_000 {
            break;
        }
        outer.extend_from_slice(&bytes);
        bytes = outer;
    }
    assert!(Certificate::from_der(&bytes).is_err());
    assert!(RevocationList::from_der(&bytes).is_err());
    assert!(Key::from_der(&bytes).is_err());
}

#[test]
fn the_signature_of_a_list_has_one_tag_only() {
    let samples = &*SAMPLES;
    let issuer = &samples.trust.issuers[1];
    let mut list = samples.list.clone();
    // An RSA signature of 2048 bits and no unused ones ends the list; its tag stands five bytes before.
    let tag = list.len() - 256 - 1 - 4;
    assert_eq!(list[tag], 3);
    assert!(RevocationList::from_der(&list).unwrap().is_of(issuer));
    list[tag] |= 0xc0;
    assert!(!RevocationList::from_der(&list).is_ok_and(|list| list.is_of(issuer)));
}
