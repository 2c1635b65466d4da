//! Distinguished names: how they read, and when two are the same.

use std::fmt;

use x509_parser::asn1_rs::{Any, Tag};
use x509_parser::x509::X509Name;

/// The subject or issuer of a certificate.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Name {
    parts: Vec<Part>,
    /// For comparing: RFC 5280, 7.1 wants case and runs of blanks ignored, and
    /// authorities do change the string type between a certificate and its issuer.
    canonical: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Part {
    kind: String,
    value: String,
}

const COMMON_NAME: &str = "CN";

/// The short names of RFC 4514 and the usual ones beside it.
const SHORT_NAMES: [(&str, &str); 9] = [
    ("2.5.4.3", COMMON_NAME),
    ("2.5.4.6", "C"),
    ("2.5.4.7", "L"),
    ("2.5.4.8", "ST"),
    ("2.5.4.10", "O"),
    ("2.5.4.11", "OU"),
    ("0.9.2342.19200300.100.1.25", "DC"),
    ("0.9.2342.19200300.100.1.1", "UID"),
    ("1.2.840.113549.1.9.1", "E"),
];

impl Name {
    /// Reads a name; `None` when a relative name is empty, which X.501 forbids.
    pub(crate) fn read(name: &X509Name<'_>) -> Option<Self> {
        let mut parts = Vec::new();
        let mut canonical = String::new();
        for relative in name.iter() {
            let mut empty = true;
            for attribute in relative.iter() {
                empty = false;
                let id = attribute.attr_type().to_id_string();
                let value = text(attribute.attr_value());
                canonical.push_str(&id);
                canonical.push('=');
                push_folded(&mut canonical, &value);
                canonical.push('\u{1e}');
                let short = SHORT_NAMES.iter().find(|short| short.0 == id);
                parts.push(Part {
                    kind: short.map_or(id, |short| short.1.to_owned()),
                    value: printable(&value),
                });
            }
            if empty {
                return None;
            }
            canonical.push('\u{1d}');
        }
        Some(Self { parts, canonical })
    }

    /// Whether both name the same subject.
    pub fn matches(&self, other: &Self) -> bool {
        self.canonical == other.canonical
    }

    /// The common name, when there is one.
    pub fn common_name(&self) -> Option<&str> {
        self.get(COMMON_NAME)
    }

    /// Its attributes, by short names or object identifiers, with their values.
    pub fn parts(&self) -> impl Iterator<Item = (&str, &str)> {
        let parts = self.parts.iter();
        parts.map(|part| (part.kind.as_str(), part.value.as_str()))
    }

    /// The first value of an attribute such as `O`, `OU` or `DC`.
    pub fn get(&self, kind: &str) -> Option<&str> {
        let part = self.parts.iter().find(|part| part.kind == kind)?;
        Some(&part.value)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, part) in self.parts.iter().enumerate() {
            if index > 0 {
                f.write_str(", ")?;
            }
            write!(f, "{}={}", part.kind, part.value)?;
        }
        Ok(())
    }
}

fn text(value: &Any<'_>) -> String {
    let bytes = value.data;
    match value.tag() {
        Tag::BmpString => {
            let units = bytes.chunks_exact(2).map(|unit| match unit {
                [high, low] => u16::from_be_bytes([*high, *low]),
                _ => 0,
            });
            char::decode_utf16(units)
                .map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER))
                .collect()
        }
        _ => String::from_utf8_lossy(bytes).into_owned(),
    }
}

fn push_folded(into: &mut String, value: &str) {
    for (index, word) in value.split_whitespace().enumerate() {
        if index > 0 {
            into.push(' ');
        }
        into.extend(word.chars().flat_map(char::to_lowercase));
    }
}

/// A peer's text must not steer the terminal it is shown on.
pub(crate) fn printable(text: &str) -> String {
    let replace = |c: char| {
        if c.is_control() || is_bidirectional(c) {
            char::REPLACEMENT_CHARACTER
        } else {
            c
        }
    };
    text.chars().map(replace).collect()
}

fn is_bidirectional(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}
