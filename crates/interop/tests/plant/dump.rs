//! An address space as a client saw it: one entry for each reference and each attribute.

use std::collections::BTreeMap;

use wire::types::{
    AttributeId, BinaryDecodable, ContextOwned, DecodingOptions, NamespaceMap, NodeId,
    ReferenceDescription, StatusCode, Variant,
};

/// What was seen, by what it belongs to. Both are in a form that people can read and that is the
/// same for all clients: bytes that a client wrote are decoded by us.
pub type Dump = BTreeMap<String, String>;

/// Reads what a client of `crates/peers/stacks` wrote.
pub fn parse(text: &str) -> Dump {
    let limits = DecodingOptions {
        max_array_length: 1 << 20,
        max_string_length: 1 << 20,
        max_byte_string_length: 1 << 20,
        ..DecodingOptions::default()
    };
    let context = ContextOwned::new_default(NamespaceMap::new(), limits);
    text.lines().map(|line| entry(line, &context)).collect()
}

fn entry(line: &str, context: &ContextOwned) -> (String, String) {
    let words: Vec<&str> = line.split('\t').collect();
    match words.as_slice() {
        ["R", node, reference] => {
            reference_entry(&decode(node, context), decode(reference, context))
        }
        ["A", node, attribute, status, value] => {
            let status = u32::from_str_radix(status, 16).unwrap();
            let value = match value.is_empty() {
                true => None,
                false => Some(decode(value, context)),
            };
            attribute_entry(
                &decode(node, context),
                attribute.parse().unwrap(),
                StatusCode::from(status),
                value,
            )
        }
        ["U", node, attribute, why] => {
            let attribute = AttributeId::from_u32(attribute.parse().unwrap()).unwrap();
            let node: NodeId = decode(node, context);
            (
                format!("{node} {attribute:?}"),
                format!("undecodable: {why}"),
            )
        }
        other => panic!("not a line of a dump: {other:?}"),
    }
}

/// A reference: its end is what it belongs to, the rest is what is said of it.
pub fn reference_entry(node: &NodeId, r: ReferenceDescription) -> (String, String) {
    let way = match r.is_forward {
        true => "->",
        false => "<-",
    };
    let key = format!("{node} {way} {} {}", r.reference_type_id, r.node_id);
    let name = &r.browse_name;
    let said = format!(
        "{:?} {} {}:{} {:?}:{:?}",
        r.node_class,
        r.type_definition,
        name.namespace_index,
        name.name,
        r.display_name.locale.as_ref(),
        r.display_name.text.as_ref(),
    );
    (key, said)
}

/// An attribute; a status and a value.
pub fn attribute_entry(
    node: &NodeId,
    attribute: u32,
    status: StatusCode,
    value: Option<Variant>,
) -> (String, String) {
    let name = AttributeId::from_u32(attribute).unwrap();
    let value = match value {
        None | Some(Variant::Empty) => "nothing".to_owned(),
        Some(value) => format!("{value:?}"),
    };
    (format!("{node} {name:?}"), format!("{status} {value}"))
}

fn decode<T: BinaryDecodable>(hex: &str, context: &ContextOwned) -> T {
    let digit = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
    let bytes: Vec<u8> = (0..hex.len()).step_by(2).map(digit).collect();
    let mut rest = bytes.as_slice();
    let value =
        T::decode(&mut rest, &context.context()).unwrap_or_else(|error| panic!("{error}: {hex}"));
    // What async-opcua encodes of an empty array has no dimensions, but their number: 0.
    let nothing_left = rest.is_empty() || rest == [0; 4];
    assert!(nothing_left, "{} bytes too many in {hex}", rest.len());
    value
}
