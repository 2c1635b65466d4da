//! Values to bytes, for what is encoded once or seldom.

use std::sync::LazyLock;

use wire::types::{
    BinaryDecodable, BinaryEncodable, ContextOwned, DecodingOptions, NamespaceMap, Variant,
};

/// Values of any length: what is decoded here was made by us or walked before.
static CONTEXT: LazyLock<ContextOwned> = LazyLock::new(|| {
    let options = DecodingOptions {
        max_string_length: usize::MAX,
        max_byte_string_length: usize::MAX,
        max_array_length: usize::MAX,
        ..DecodingOptions::default()
    };
    ContextOwned::new_default(NamespaceMap::new(), options)
});

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

/// Bytes of a structure.
pub fn len(value: &impl BinaryEncodable) -> usize {
    value.byte_len(&CONTEXT.context())
}
