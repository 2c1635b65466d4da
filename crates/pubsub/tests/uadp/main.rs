//! NetworkMessages: bytes of other stacks, round trips of everything there can be, hostile bytes.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on has failed"
)]

mod chunks;
mod discovery;
mod golden;
mod hostile;
mod raw;
mod reader;
mod round_trip;
mod secured;
mod template;

#[allow(dead_code, reason = "other tests use the rest")]
#[path = "../../../wire/tests/walk/any.rs"]
mod any;

#[path = "../../../wire/tests/messages/mod.rs"]
mod messages;

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.bytes().filter(u8::is_ascii_hexdigit).collect();
    let pairs = digits.chunks(2);
    pairs
        .map(|it| u8::from_str_radix(std::str::from_utf8(it).unwrap(), 16).unwrap())
        .collect()
}
