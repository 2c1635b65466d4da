//! OPN: the head that anybody may write, the part under RSA, and the bodies.

use std::sync::LazyLock;
use std::time::Duration;

use wire::channel::asymmetric::{OpenHead, Parties, Unsealed, open};
use wire::channel::exchange::{OpenRequest, OpenResponse};
use wire::frame::HEADER_LEN;
use wire::policy::{Mode, Policy};
use wire::types::DateTime;

use crate::keys::{identity, unknown_identity};
use crate::script::{Script, is_chosen};

pub fn run(script: &mut Script<'_>) {
    let rsa = is_chosen(script.clone().rest());
    match script.byte() {
        0xf8.. if rsa => changed(script),
        0xf0..=0xf7 if rsa => by_a_peer(script),
        step if step % 3 == 0 => head(script.rest()),
        step if step % 3 == 1 => request(script.rest()),
        _ => response(script.rest()),
    }
}

fn head(bytes: &[u8]) {
    let Ok(head) = OpenHead::parse(bytes) else {
        return;
    };
    assert!(HEADER_LEN < head.secured_at && head.secured_at <= bytes.len());
    assert_eq!(head.secured_by.is_some(), head.policy() != Policy::None);
    let opened = open(&head, bytes, None);
    assert!(head.policy() == Policy::None || opened.is_err());
}

/// What was read is what is written and read again; times out of range are clipped.
fn request(body: &[u8]) {
    if let Ok(mut request) = OpenRequest::decode(body) {
        let again = OpenRequest::decode(&request.encode()).unwrap();
        if !in_range(request.sent) {
            request.sent = again.sent;
        }
        assert_eq!(again, request);
    }
}

fn response(body: &[u8]) {
    if let Ok(mut response) = OpenResponse::decode(body) {
        let again = OpenResponse::decode(&response.encode()).unwrap();
        if !in_range(response.sent) {
            response.sent = again.sent;
        }
        assert_eq!(again, response);
    }
}

fn in_range(ticks: i64) -> bool {
    (0..DateTime::endtimes_ticks()).contains(&ticks)
}

fn unsealed(policy: Policy) -> Unsealed {
    let request = OpenRequest {
        handle: 1,
        sent: 0,
        renew: false,
        mode: Mode::SignAndEncrypt,
        nonce: vec![5; policy.nonce_len()],
        lifetime: Duration::from_secs(60),
    };
    Unsealed {
        channel_id: 0,
        sequence: 1,
        request_id: 1,
        body: request.encode(),
        parties: Parties::of(policy, Some(&identity()), Some(&identity().certificate)).unwrap(),
    }
}

fn secured() -> impl Iterator<Item = Policy> {
    Policy::OF_RSA.into_iter().filter(|p| *p != Policy::None)
}

/// A good request with some bytes changed is no request.
fn changed(script: &mut Script<'_>) {
    static GOOD: LazyLock<Vec<Vec<u8>>> =
        LazyLock::new(|| secured().map(|p| unsealed(p).seal().unwrap()).collect());
    let good = &GOOD[script.below(GOOD.len())];
    let mut chunk = good.clone();
    let mut receiver = identity();
    match script.below(8) {
        0 => receiver = unknown_identity(),
        1 => chunk.truncate(usize::from(script.u16()) % chunk.len()),
        2 => chunk.extend_from_slice(script.bytes()),
        n => {
            for _ in 3..n {
                let at = usize::from(script.u16()) % chunk.len();
                chunk[at] ^= script.byte();
            }
        }
    }
    let Ok(head) = OpenHead::parse(&chunk) else {
        return;
    };
    let sender = identity().certificate;
    let parties = Parties::of(head.policy(), Some(&receiver), Some(&sender)).unwrap();
    let opened = open(&head, &chunk, parties.as_ref());
    if head.policy() != Policy::None {
        let untouched = chunk == *good && receiver.certificate == sender;
        assert_eq!(opened.is_ok(), untouched);
    }
}

/// Signed and encrypted as it should be, but with any bytes for a plain text.
fn by_a_peer(script: &mut Script<'_>) {
    let policies: Vec<Policy> = secured().collect();
    let policy = policies[script.below(policies.len())];
    let (own, peer) = (identity(), identity().certificate);
    let mut chunk = vec![0; HEADER_LEN + 4];
    for field in [
        policy.uri().as_bytes(),
        identity().certificate.as_bytes(),
        &identity().certificate.thumbprint(),
    ] {
        chunk.extend_from_slice(&(field.len() as u32).to_le_bytes());
        chunk.extend_from_slice(field);
    }
    let secured_at = chunk.len();
    chunk.extend_from_slice(script.take(400));
    let signature = own.key.sign(policy, &chunk).unwrap();
    chunk.extend_from_slice(&signature);
    let plain = chunk.split_off(secured_at);
    let secret = peer.public_key().encrypt(policy, &plain).unwrap();
    chunk.extend_from_slice(&secret);
    let head = OpenHead::parse(&chunk).unwrap();
    assert_eq!(head.secured_at, secured_at);
    let parties = Parties::of(policy, Some(&own), Some(&peer)).unwrap();
    if let Ok(opened) = open(&head, &chunk, parties.as_ref()) {
        let signed = plain.len() - signature.len();
        assert!(8 + opened.body.len() < signed);
        assert_eq!(opened.body, plain[8..8 + opened.body.len()]);
        let padding = &plain[8 + opened.body.len()..signed];
        assert!(padding.iter().all(|byte| *byte == padding[0]));
        assert_eq!(padding.len(), usize::from(padding[0]) + 1);
    }
}
