//! Values to bytes, for what is encoded once or seldom.

use std::sync::LazyLock;

use wire::types::{BinaryDecodable, BinaryEncodable, ContextOwned, Variant};

static CONTEXT: LazyLock<ContextOwned> = LazyLock::new(ContextOwned::default);

/// Appends a value; nothing if it has no form on the wire.
pub fn encode(value: &impl BinaryEncodable, out: &mut Vec<u8>) {
    let start = out.len();
    if value.encode(out, &CONTEXT.context()).is_err() {
        out.truncate(start);
    }
}

/// The bytes of a value.
pub fn encoded(value: &impl BinaryEncodable) -> Vec<u8> {
    let mut out = Vec::new();
    encode(value, &mut out);
    out
}

/// A Variant from bytes that came from a Variant or were walked before.
pub fn decoded(mut bytes: &[u8]) -> Option<Variant> {
    Variant::decode(&mut bytes, &CONTEXT.context()).ok()
}

/// An encoded Variant.
pub fn variant(value: impl Into<Variant>) -> Box<[u8]> {
    encoded(&value.into()).into()
}
