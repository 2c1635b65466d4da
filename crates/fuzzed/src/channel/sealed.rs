//! One chunk, by one who has the keys and by one who has not.

use wire::channel::symmetric::{BODY_AT, ChunkHead, Guard, names};
use wire::channel::{Protection, all_protections};
use wire::frame::{ChunkKind, Limits, MessageType};
use wire::policy::{AuthenticatedKeys, Exchanged, Keys, Mode, Place, Sender};

use crate::keys::agreed;
use crate::script::Script;

/// Where the encrypted part begins.
const SECURED_AT: usize = BODY_AT - 8;

pub fn run(script: &mut Script<'_>) {
    let protections: Vec<Protection> = all_protections().collect();
    let protection = protections[script.below(protections.len())];
    let shared = agreed(protection.policy);
    let exchanged = Exchanged {
        client_nonce: &[2; 32],
        server_nonce: &[1; 32],
        shared: shared.as_ref(),
    };
    let Protection { policy, mode } = protection;
    let keys = Keys::of(policy, mode, &exchanged, Sender::Client);
    let at_once = AuthenticatedKeys::of(policy, mode, &exchanged, Sender::Client);
    assert_ne!(keys.is_some(), at_once.is_some());
    let guard = Guard::of(protection, &exchanged, Sender::Client).unwrap();
    match script.below(3) {
        0 => there_and_back(&guard, protection, script),
        1 => {
            let mut chunk = script.rest().to_vec();
            let _ = names(&chunk);
            let opened = guard.open(&mut chunk, None);
            // Nobody guesses a signature.
            assert!(mode == Mode::None || opened.is_err());
        }
        _ => match (&keys, &at_once) {
            (Some(keys), _) if mode != Mode::None => by_a_peer(&guard, keys, mode, script),
            (_, Some(keys)) => at_once_by_a_peer(&guard, keys, mode, script),
            _ => {}
        },
    }
}

fn there_and_back(guard: &Guard, protection: Protection, script: &mut Script<'_>) {
    let head = ChunkHead {
        message: MessageType::Message,
        chunk: ChunkKind::Final,
        channel_id: script.u32(),
        token_id: script.u32(),
        sequence: script.u32(),
        request_id: script.u32(),
    };
    let (at, change) = (usize::from(script.u16()), script.byte());
    let most = guard.max_body(&Limits::default());
    let mut body = script.rest().to_vec();
    body.truncate(most);
    let mut chunk = b"before".to_vec();
    let start = Guard::begin(&mut chunk);
    chunk.extend_from_slice(&body);
    guard.finish(&mut chunk, start, head);
    let mut chunk = chunk.split_off(start);
    assert!(chunk.len() <= Limits::default().send_buffer as usize);
    assert_eq!(names(&chunk), Ok((head.channel_id, head.token_id)));
    let at = at % chunk.len();
    chunk[at] ^= change;
    match guard.open(&mut chunk, Some(head.sequence.wrapping_sub(1))) {
        Ok((sequence, request_id, range)) if change == 0 => {
            assert_eq!((sequence, request_id), (head.sequence, head.request_id));
            assert_eq!(chunk[range], body);
        }
        Ok(_) => assert_eq!(protection.mode, Mode::None),
        Err(error) => assert!(change != 0, "{error}"),
    }
}

/// Whoever has the keys may still write nonsense: signed, encrypted, and with a wrong padding.
fn by_a_peer(guard: &Guard, keys: &Keys, mode: Mode, script: &mut Script<'_>) {
    let mut chunk = vec![0; SECURED_AT];
    chunk.extend_from_slice(script.rest());
    if mode == Mode::SignAndEncrypt {
        let len = chunk.len() - SECURED_AT + keys.signature_len();
        // Whole blocks, by leaving bytes out: what stands last is the padding.
        let excess = len % keys.block_len();
        chunk.truncate((chunk.len().saturating_sub(excess)).max(SECURED_AT));
    }
    let signed = chunk.clone();
    chunk.resize(signed.len() + keys.signature_len(), 0);
    keys.sign(&signed, &mut chunk[signed.len()..]);
    if mode == Mode::SignAndEncrypt && keys.encrypt(&mut chunk[SECURED_AT..]).is_err() {
        return;
    }
    if let Ok((_, _, body)) = guard.open(&mut chunk, None) {
        assert!(BODY_AT <= body.start && body.start <= body.end && body.end <= signed.len());
        if mode == Mode::SignAndEncrypt {
            let padding = &signed[body.end..];
            let count = usize::from(padding[0]);
            assert_eq!(padding, vec![padding[0]; count + 1]);
        }
    }
}

/// Where one algorithm encrypts and signs there is no padding to be wrong: what is long enough is a chunk.
fn at_once_by_a_peer(guard: &Guard, keys: &AuthenticatedKeys, mode: Mode, script: &mut Script<'_>) {
    let place = Place {
        token_id: script.u32(),
        last_sequence: script.u32(),
    };
    let mut chunk = vec![0; SECURED_AT];
    chunk[SECURED_AT - 4..].copy_from_slice(&place.token_id.to_le_bytes());
    chunk.extend_from_slice(script.rest());
    let plain = chunk.clone();
    let clear = match mode {
        Mode::SignAndEncrypt => SECURED_AT,
        _ => chunk.len(),
    };
    let (clear, secret) = chunk.split_at_mut(clear);
    let tag = keys.seal(place, clear, secret).unwrap();
    chunk.extend_from_slice(&tag);
    let last = place.last_sequence;
    match guard.open(&mut chunk.clone(), Some(last)) {
        Ok((_, _, body)) => assert_eq!(body, BODY_AT..plain.len()),
        Err(error) => assert!(plain.len() < BODY_AT, "{error}"),
    }
    assert!(
        guard.open(&mut chunk, Some(last ^ 1)).is_err(),
        "another IV"
    );
}
