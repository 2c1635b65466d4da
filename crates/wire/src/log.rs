//! What messages are called in a log.

use std::fmt;

use opcua_types::ObjectId;

/// A message by the type that its encoded body begins with: `ReadRequest`, or its NodeId where nobody knows that.
pub struct Named<'a>(pub &'a [u8]);

/// What the names of types have at their end, and a log can do without.
const ENCODING: &str = "_Encoding_DefaultBinary";

impl fmt::Display for Named<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The two-byte and the four-byte form of a NodeId (Part 6, 5.2.2.9): all types of the standard have them.
        let id = match *self.0 {
            [0, id, ..] => u32::from(id),
            [1, 0, low, high, ..] => u32::from(u16::from_le_bytes([low, high])),
            _ => return f.write_str("a message of no standard type"),
        };
        match ObjectId::try_from(id) {
            Ok(known) => {
                let name = format!("{known:?}");
                f.write_str(name.strip_suffix(ENCODING).unwrap_or(&name))
            }
            Err(_) => write!(f, "i={id}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_has_the_name_of_its_type() {
        assert_eq!(Named(&[1, 0, 0x77, 2, 9]).to_string(), "ReadRequest");
        assert_eq!(Named(&[0, 1]).to_string(), "i=1");
        assert_eq!(Named(&[1, 0, 0xff, 0xff]).to_string(), "i=65535");
        assert_eq!(Named(&[]).to_string(), "a message of no standard type");
    }
}
