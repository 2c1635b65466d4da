//! Values that people type as words, and that are kept in files as they are typed.

use std::fmt::Display;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serializer, de};

/// Enums whose variants are words: how they are read, what is said of any other word, how they are shown.
macro_rules! words {
    ($($name:ident $is_no:literal $want:literal { $($variant:ident $word:literal)* })*) => {$(
        impl std::str::FromStr for $name {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, String> {
                match text {
                    $($word => Ok(Self::$variant),)*
                    _ => Err(format!(concat!("{:?} ", $is_no, " (want ", $want, ")"), text)),
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(match self {
                    $(Self::$variant => $word,)*
                })
            }
        }
    )*};
}

pub(crate) use words;

/// For `#[serde(with = "text")]`.
pub fn serialize<T: Display, S: Serializer>(value: &T, out: S) -> Result<S::Ok, S::Error> {
    out.collect_str(value)
}

/// For `#[serde(with = "text")]`.
pub fn deserialize<'de, T, D>(input: D) -> Result<T, D::Error>
where
    T: FromStr<Err: Display>,
    D: Deserializer<'de>,
{
    String::deserialize(input)?
        .parse()
        .map_err(de::Error::custom)
}

/// The same for what may be missing.
pub mod option {
    use super::*;

    /// For `#[serde(with = "text::option")]`.
    pub fn serialize<T: Display, S: Serializer>(
        value: &Option<T>,
        out: S,
    ) -> Result<S::Ok, S::Error> {
        match value {
            Some(value) => out.collect_str(value),
            None => out.serialize_none(),
        }
    }

    /// For `#[serde(with = "text::option")]`.
    pub fn deserialize<'de, T, D>(input: D) -> Result<Option<T>, D::Error>
    where
        T: FromStr<Err: Display>,
        D: Deserializer<'de>,
    {
        let text = Option::<String>::deserialize(input)?;
        text.map(|text| text.parse().map_err(de::Error::custom))
            .transpose()
    }
}

/// The same for several.
pub mod list {
    use super::*;

    /// For `#[serde(with = "text::list")]`.
    pub fn serialize<T: Display, S: Serializer>(values: &[T], out: S) -> Result<S::Ok, S::Error> {
        out.collect_seq(values.iter().map(T::to_string))
    }

    /// For `#[serde(with = "text::list")]`.
    pub fn deserialize<'de, T, D>(input: D) -> Result<Vec<T>, D::Error>
    where
        T: FromStr<Err: Display>,
        D: Deserializer<'de>,
    {
        let texts = Vec::<String>::deserialize(input)?;
        let values = texts
            .iter()
            .map(|text| text.parse().map_err(de::Error::custom));
        values.collect()
    }
}

/// Durations as integer nanoseconds; the name of such a field ends in `_ns`.
pub mod nanos {
    use std::time::Duration;

    use super::*;
    use crate::unit::duration::nanos;

    /// For `#[serde(with = "nanos")]`.
    pub fn serialize<S: Serializer>(value: &Duration, out: S) -> Result<S::Ok, S::Error> {
        out.serialize_u64(nanos(*value))
    }

    /// For `#[serde(with = "nanos")]`.
    pub fn deserialize<'de, D: Deserializer<'de>>(input: D) -> Result<Duration, D::Error> {
        u64::deserialize(input).map(Duration::from_nanos)
    }

    /// For `#[serde(with = "nanos::option")]`: what may be missing.
    pub mod option {
        use super::*;

        /// For `#[serde(with = "nanos::option")]`.
        pub fn serialize<S: Serializer>(
            value: &Option<Duration>,
            out: S,
        ) -> Result<S::Ok, S::Error> {
            match value {
                Some(value) => out.serialize_some(&nanos(*value)),
                None => out.serialize_none(),
            }
        }

        /// For `#[serde(with = "nanos::option")]`.
        pub fn deserialize<'de, D: Deserializer<'de>>(
            input: D,
        ) -> Result<Option<Duration>, D::Error> {
            Ok(Option::<u64>::deserialize(input)?.map(Duration::from_nanos))
        }
    }
}
