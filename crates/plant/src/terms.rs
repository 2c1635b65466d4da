//! The small words of a plant file: durations, sizes, ids, names with numbers in them.

use std::fmt::Write;
use std::time::Duration;

use plan::unit::{Bytes, UnitError, duration};
use serde::Deserialize;
use wire::types::{ByteString, Guid, Identifier, NodeId, UAString};

/// A number and a unit: `250us`, `100ms`, `10s`, `5m`, `2h`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Span(pub Duration);

impl TryFrom<String> for Span {
    type Error = UnitError;

    fn try_from(text: String) -> Result<Self, UnitError> {
        duration::parse(&text).map(Self)
    }
}

/// Bytes, more than fit in four bytes too: a number, or text such as "2GiB".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ByteCount(pub usize);

impl<'de> Deserialize<'de> for ByteCount {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl serde::de::Visitor<'_> for Visitor {
            type Value = ByteCount;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("bytes: a number, or text such as \"512MiB\" or \"2GiB\"")
            }

            fn visit_i64<E: serde::de::Error>(self, n: i64) -> Result<ByteCount, E> {
                let unexpected = serde::de::Unexpected::Signed(n);
                usize::try_from(n)
                    .map(ByteCount)
                    .map_err(|_| E::invalid_value(unexpected, &self))
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<ByteCount, E> {
                let unexpected = serde::de::Unexpected::Str(text);
                let bytes = text.parse::<Bytes>().ok();
                bytes
                    .and_then(|bytes| usize::try_from(bytes.0).ok())
                    .map(ByteCount)
                    .ok_or_else(|| E::invalid_value(unexpected, &self))
            }
        }
        from.deserialize_any(Visitor)
    }
}

/// Bytes: a number, or a number with `KiB` or `MiB`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size(pub u32);

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl serde::de::Visitor<'_> for Visitor {
            type Value = Size;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("bytes below 4 GiB: a number, or text such as \"64KiB\" or \"16MiB\"")
            }

            fn visit_i64<E: serde::de::Error>(self, n: i64) -> Result<Size, E> {
                let unexpected = serde::de::Unexpected::Signed(n);
                u32::try_from(n)
                    .map(Size)
                    .map_err(|_| E::invalid_value(unexpected, &self))
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Size, E> {
                let unexpected = serde::de::Unexpected::Str(text);
                let bytes = text.parse::<Bytes>().ok();
                bytes
                    .and_then(|bytes| u32::try_from(bytes.0).ok())
                    .map(Size)
                    .ok_or_else(|| E::invalid_value(unexpected, &self))
            }
        }
        from.deserialize_any(Visitor)
    }
}

/// A text with places for a number: `Speed{n}`, `Speed{n:03}`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Template(Vec<Part>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(String),
    Number { width: usize },
}

impl TryFrom<String> for Template {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let wrong =
            || format!("{text:?} is no name (want text, with {{n}} or {{n:03}} for the number)");
        if text.is_empty() {
            return Err(wrong());
        }
        let mut parts = Vec::new();
        let mut rest = text.as_str();
        while let Some((before, place)) = rest.split_once('{') {
            if !before.is_empty() {
                parts.push(Part::Text(before.to_owned()));
            }
            let (place, after) = place.split_once('}').ok_or_else(wrong)?;
            let width = match place.strip_prefix('n').ok_or_else(wrong)? {
                "" => 0,
                // Wider than any number is a slip of the hand.
                width => match width.strip_prefix(":0").map(str::parse) {
                    Some(Ok(width @ 1..=20)) => width,
                    _ => return Err(wrong()),
                },
            };
            parts.push(Part::Number { width });
            rest = after;
        }
        if rest.contains('}') {
            return Err(wrong());
        }
        if !rest.is_empty() {
            parts.push(Part::Text(rest.to_owned()));
        }
        Ok(Self(parts))
    }
}

impl Template {
    /// Just a text.
    pub fn text(text: impl Into<String>) -> Self {
        Self(vec![Part::Text(text.into())])
    }

    /// A text and a number behind it.
    pub fn numbered(text: impl Into<String>) -> Self {
        Self(vec![Part::Text(text.into()), Part::Number { width: 0 }])
    }

    /// Whether there is a place for a number.
    pub fn has_number(&self) -> bool {
        self.0
            .iter()
            .any(|part| matches!(part, Part::Number { .. }))
    }

    /// The text with a number in its places.
    pub fn with(&self, n: u64) -> String {
        let mut text = String::new();
        for part in &self.0 {
            match part {
                Part::Text(part) => text.push_str(part),
                Part::Number { width } => {
                    // Writing to a String does not fail.
                    let _ = write!(text, "{n:0width$}");
                }
            }
        }
        text
    }
}

/// Ids for one node or many.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum Ids {
    /// `i=1000`, `i=1000..` or `i=1000..1499`: numbers, the last one included.
    Numbers {
        /// The first.
        first: u32,
        /// The last, if it is told.
        last: Option<u32>,
    },
    /// `s=Speed{n:03}`.
    Texts(Template),
    /// `g=…` or `b=…`: just one.
    One(Identifier),
}

impl TryFrom<String> for Ids {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let wrong = || {
            format!(
                "{text:?} is no id (want \"i=1000\", \"i=1000..\", \"i=1000..1499\", \"s=Name{{n:03}}\", \"g=GUID\" or \"b=BASE64\"; the namespace is that of the table)"
            )
        };
        let (kind, rest) = text.split_once('=').ok_or_else(wrong)?;
        match kind {
            "i" => {
                let number = |text: &str| text.parse::<u32>().map_err(|_| wrong());
                let (first, last) = match rest.split_once("..") {
                    None => (number(rest)?, Some(number(rest)?)),
                    Some((first, "")) => (number(first)?, None),
                    Some((first, last)) => (number(first)?, Some(number(last)?)),
                };
                match last {
                    Some(last) if last < first => Err(wrong()),
                    last => Ok(Self::Numbers { first, last }),
                }
            }
            "s" => Template::try_from(rest.to_owned()).map(Self::Texts),
            "g" => {
                let guid: Guid = rest.parse().map_err(|_| wrong())?;
                Ok(Self::One(Identifier::Guid(guid)))
            }
            "b" => {
                let bytes = ByteString::from_base64(rest).ok_or_else(wrong)?;
                Ok(Self::One(Identifier::ByteString(bytes)))
            }
            _ => Err(wrong()),
        }
    }
}

impl Ids {
    /// The id of the node that comes after `k` others.
    pub fn id(&self, namespace: u16, k: u64, n: u64) -> NodeId {
        let identifier = match self {
            Self::Numbers { first, .. } => {
                Identifier::Numeric(first.saturating_add(u32::try_from(k).unwrap_or(u32::MAX)))
            }
            Self::Texts(template) => Identifier::String(UAString::from(template.with(n))),
            Self::One(identifier) => identifier.clone(),
        };
        NodeId {
            namespace,
            identifier,
        }
    }
}

/// The id of one node: `i=4000`, `s=Name`, `g=…`, `b=…`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Id(Ids);

impl TryFrom<String> for Id {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        match Ids::try_from(text.clone())? {
            Ids::Numbers { first, last } if last != Some(first) => {
                Err(format!("{text:?} are many ids (want one, as \"i=1000\")"))
            }
            Ids::Texts(template) if template.has_number() => {
                Err(format!("{text:?} are many ids (want one, as \"s=Name\")"))
            }
            ids => Ok(Self(ids)),
        }
    }
}

impl Id {
    /// A text.
    pub fn text(text: impl Into<String>) -> Self {
        Self(Ids::Texts(Template::text(text)))
    }

    /// With its namespace.
    pub fn in_namespace(&self, namespace: u16) -> NodeId {
        self.0.id(namespace, 0, 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_wants_a_number_and_a_unit() {
        let parsed = |text: &str| Span::try_from(text.to_owned()).map(|span| span.0);
        assert_eq!(parsed("250us"), Ok(Duration::from_micros(250)));
        assert_eq!(parsed("1.5s"), Ok(Duration::from_millis(1500)));
        for wrong in ["", "5", "s", "-1s", "1 s", "1d", "1.2.3s"] {
            assert!(parsed(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_name_has_a_number_in_it_as_wide_as_it_says() {
        let named = |text: &str| Template::try_from(text.to_owned());
        assert_eq!(named("Speed{n:03}").unwrap().with(7), "Speed007");
        assert_eq!(named("{n}/x{n}").unwrap().with(12), "12/x12");
        assert_eq!(named("Speed").unwrap().with(7), "Speed");
        for wrong in ["", "{", "{n", "{m}", "{n:3}", "{n:0}", "}", "{n:099}"] {
            assert!(named(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn ids_are_numbers_with_both_ends_or_texts() {
        let ids = |text: &str| Ids::try_from(text.to_owned());
        let numbers = |first, last| Ok(Ids::Numbers { first, last });
        assert_eq!(ids("i=1001..1100"), numbers(1001, Some(1100)));
        assert_eq!(ids("i=5.."), numbers(5, None));
        assert_eq!(ids("i=5"), numbers(5, Some(5)));
        let id = ids("s=MAIN.REAL").unwrap().id(4, 0, 0);
        assert_eq!(id.to_string(), "ns=4;s=MAIN.REAL");
        for wrong in [
            "",
            "1000",
            "i=",
            "i=x",
            "i=9..3",
            "i=4294967296",
            "g=1",
            "x=3",
            "i=1..2..3",
        ] {
            assert!(ids(wrong).is_err(), "{wrong}");
        }
        assert!(Id::try_from("i=1..2".to_owned()).is_err());
        assert!(Id::try_from("s=a{n}".to_owned()).is_err());
    }
}
