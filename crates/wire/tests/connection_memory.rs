//! What a hostile peer makes a connection hold is bounded by what was negotiated.

#![allow(clippy::unwrap_used, clippy::panic)]
// The reason for the exception: a global allocator can only be implemented with unsafe code. It
// counts and passes everything on to the system's.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use pair::{Heard, Pair, configs};
use wire::channel::{ChannelError, Protection};

#[allow(dead_code, reason = "the other tests of connections use the rest")]
#[path = "connection/pair.rs"]
mod pair;

struct Counting;

static HELD: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call goes to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let held = HELD.fetch_add(layout.size(), Relaxed) + layout.size();
        PEAK.fetch_max(held, Relaxed);
        // SAFETY: the caller's promises are the system allocator's conditions.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Relaxed);
        // SAFETY: as above.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// What both ends agree on here: messages of a megabyte.
const MESSAGE: usize = 1 << 20;

/// A chunk of an unfinished message, as anybody can write it on an unprotected channel.
fn intermediate(sequence: u32, request_id: u32, body: usize) -> Vec<u8> {
    let mut chunk = b"MSGC".to_vec();
    chunk.extend_from_slice(&(24 + body as u32).to_le_bytes());
    for field in [77, 1, sequence, request_id] {
        chunk.extend_from_slice(&u32::to_le_bytes(field));
    }
    chunk.resize(24 + body, 0);
    chunk
}

/// Messages begun and never finished, by `requests` request ids in turn, until the server ends it.
fn flood(requests: u32) -> (usize, ChannelError) {
    let (client, mut server) = configs(Protection::NONE, 2048);
    server.limits.receive_message = MESSAGE as u32;
    server.limits.receive_chunks = 0;
    let mut pair = Pair::with(client, server);
    pair.run();
    assert!(pair.client.is_open());
    let before = HELD.load(Relaxed);
    PEAK.store(before, Relaxed);
    for i in 0.. {
        // The channel has sent its OPN as number 1.
        let chunk = intermediate(2 + i, 1 + i % requests, 60_000);
        pair.server.receive(&chunk);
        drop(chunk);
        pair.run();
        if let Some(Heard::Closed(error)) = pair.heard.last() {
            return (PEAK.load(Relaxed) - before, error.clone());
        }
        assert!(i < 1000, "nothing ends the flood");
    }
    unreachable!()
}

#[test]
fn unfinished_messages_hold_no_more_than_one_message_of_the_agreed_size() {
    for requests in [1, 7, 64, 1000] {
        let (peak, error) = flood(requests);
        assert!(matches!(error, ChannelError::TooLarge { .. }), "{error}");
        // A growing buffer may be twice its content, and for a moment stands beside the next one.
        assert!(peak < 3 * MESSAGE, "{requests} requests: {peak} bytes");
    }

    // A size of four gigabytes is refused from its eight bytes.
    let mut pair = Pair::open(Protection::NONE, 2048);
    let before = HELD.load(Relaxed);
    PEAK.store(before, Relaxed);
    pair.server.receive(b"MSGF\xff\xff\xff\xff");
    pair.run();
    assert!(pair.server.is_closed());
    assert!(PEAK.load(Relaxed) - before < 65_536);
}
