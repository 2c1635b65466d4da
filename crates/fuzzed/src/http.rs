//! What a peer of `opc.https` says inside TLS: heads and bodies of HTTP, towards either role.

use wss::{CHANNEL_ID, Exchange, Http, HttpError, Media, Role, TOKEN_ID};

use crate::script::Script;

/// So many bytes a body may have here.
const MOST: usize = 100_000;
/// What is kept of a head or a line at most, and for each request that waits.
const KEPT: usize = 8 * 1024;

/// The first byte decides whose end it is and how many requests wait, the second how it is cut; the rest came.
pub fn run(data: &[u8]) {
    let mut script = Script::new(data);
    let (first, second) = (script.byte(), script.byte());
    let (role, waiting) = match first & 1 {
        0 => (Role::Server, 0),
        _ => (Role::Client, u32::from(first >> 1 & 7)),
    };
    let rest = script.rest();
    let (whole, all) = feed(role, waiting, rest, rest.len());
    let (cut, pieces) = feed(role, waiting, rest, usize::from(second) + 1);
    // The same comes of it, however it comes.
    assert_eq!(whole, cut);
    assert_eq!(all.is_ok(), pieces.is_ok());
    check(&whole, role, waiting);
}

/// The chunks that came of these bytes, and whether they were taken.
fn feed(role: Role, waiting: u32, bytes: &[u8], piece: usize) -> (Vec<u8>, Result<(), HttpError>) {
    let about = Http {
        host: "plc:443".into(),
        path: String::new(),
        longest: MOST,
        longest_text: MOST,
        media: Media::Binary,
        origin: (waiting & 1 == 0).then(|| "*".to_owned()),
    };
    let mut exchange = Exchange::new(role, about);
    let mut sent = Vec::new();
    for id in 1..=waiting {
        let mut chunk = b"MSGF".to_vec();
        let numbers = [25, CHANNEL_ID, TOKEN_ID, id, id];
        chunk.extend(numbers.into_iter().flat_map(u32::to_le_bytes));
        chunk.push(0);
        exchange.send(&chunk, &mut sent).unwrap();
    }
    let mut chunks = Vec::new();
    for piece in bytes.chunks(piece.max(1)) {
        let taken = exchange.take(piece, &mut chunks);
        // Requests that wait are eight bytes each, and a body in JSON is kept until all of it is there.
        assert!(
            exchange.held() <= KEPT + MOST + 8 * 4096,
            "{}",
            exchange.held()
        );
        if taken.is_err() {
            return (chunks, taken);
        }
    }
    (chunks, Ok(()))
}

/// Chunks are whole but for the last, in order, and no message is longer than it may be.
fn check(mut chunks: &[u8], role: Role, waiting: u32) {
    let number = |head: &[u8], at: usize| {
        let bytes = head.get(at..at + 4).unwrap();
        u32::from_le_bytes(bytes.try_into().unwrap())
    };
    let (mut sequence, mut request, mut message) = (0, 1, 0);
    while let Some(head) = chunks.get(..24) {
        let size = number(head, 4) as usize;
        assert!((24..=65_536).contains(&size), "{size}");
        assert_eq!((number(head, 8), number(head, 12)), (CHANNEL_ID, TOKEN_ID));
        assert_eq!(number(head, 16), sequence + 1);
        assert_eq!(number(head, 20), request);
        sequence += 1;
        message += size - 24;
        assert!(message <= MOST, "{message}");
        match head.get(..4).unwrap() {
            b"MSGF" => (request, message) = (request + 1, 0),
            letters => assert_eq!(letters, b"MSGC"),
        }
        chunks = chunks.get(size..).unwrap_or_default();
    }
    if role == Role::Client {
        assert!(request <= waiting + 1, "answers to what nobody asked");
    }
}
