//! The patterns of signals as they are written: by name, or by name and parameters.

use std::fmt;
use std::path::PathBuf;

use serde::Deserialize;
use serde::de::value::{MapAccessDeserializer, MapDeserializer};
use serde::de::{Deserializer, MapAccess, Visitor};
use toml::{Spanned, Value};

use crate::terms::Span;

/// A pattern. `pattern = "sine"`, or `pattern = { sine = { period = "1m" } }`.
#[derive(Debug)]
pub enum Written {
    /// The value never changes.
    Constant(Option<Value>),
    /// One more with each update.
    Counter(Counter),
    /// Rises, falls at once, and rises again.
    Ramp(Ramp),
    /// Up and down.
    Sine(Sine),
    /// A little up or down.
    RandomWalk(RandomWalk),
    /// Any value.
    Noise(Noise),
    /// One, then the other.
    Toggle(Toggle),
    /// Values from a file.
    Replay(Replay),
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Tagged {
    Constant(Value),
    Counter(Counter),
    Ramp(Ramp),
    Sine(Sine),
    RandomWalk(RandomWalk),
    Noise(Noise),
    Toggle(Toggle),
    Replay(Replay),
}

/// Where a counter begins: at a number, or `"n"`, the number of the variable.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Counter {
    pub start: Option<Spanned<Value>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Ramp {
    pub low: f64,
    pub high: f64,
    pub period: Span,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Sine {
    pub low: f64,
    pub high: f64,
    pub period: Span,
    pub phase: f64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RandomWalk {
    pub low: f64,
    pub high: f64,
    pub step: Option<f64>,
    pub seed: Option<u32>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Noise {
    pub low: f64,
    pub high: f64,
    pub seed: Option<u32>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Toggle {
    pub low: f64,
    pub high: f64,
}

/// A column of a file with comma-separated values, one row for each update.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Replay {
    pub file: Spanned<PathBuf>,
    pub column: Option<Spanned<Value>>,
}

const LOW: f64 = 0.0;
const HIGH: f64 = 100.0;
const PERIOD: Span = Span(std::time::Duration::from_secs(10));

impl Default for Ramp {
    fn default() -> Self {
        Self {
            low: LOW,
            high: HIGH,
            period: PERIOD,
        }
    }
}

impl Default for Sine {
    fn default() -> Self {
        Self {
            low: LOW,
            high: HIGH,
            period: PERIOD,
            phase: 0.0,
        }
    }
}

impl Default for RandomWalk {
    fn default() -> Self {
        Self {
            low: LOW,
            high: HIGH,
            step: None,
            seed: None,
        }
    }
}

impl Default for Noise {
    fn default() -> Self {
        Self {
            low: LOW,
            high: HIGH,
            seed: None,
        }
    }
}

impl Default for Toggle {
    fn default() -> Self {
        Self {
            low: 0.0,
            high: 1.0,
        }
    }
}

impl From<Tagged> for Written {
    fn from(tagged: Tagged) -> Self {
        match tagged {
            Tagged::Constant(value) => Self::Constant(Some(value)),
            Tagged::Counter(of) => Self::Counter(of),
            Tagged::Ramp(of) => Self::Ramp(of),
            Tagged::Sine(of) => Self::Sine(of),
            Tagged::RandomWalk(of) => Self::RandomWalk(of),
            Tagged::Noise(of) => Self::Noise(of),
            Tagged::Toggle(of) => Self::Toggle(of),
            Tagged::Replay(of) => Self::Replay(of),
        }
    }
}

impl<'de> Deserialize<'de> for Written {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = Written;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of a pattern, or a table with its parameters")
            }

            fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<Written, E> {
                if name == "constant" {
                    return Ok(Written::Constant(None));
                }
                // As if it stood there with an empty table.
                let nothing = std::iter::empty::<((), ())>();
                let nothing = MapDeserializer::<_, E>::new(nothing);
                let tagged = MapDeserializer::new(std::iter::once((name, Nothing(nothing))));
                let tagged = MapAccessDeserializer::new(tagged);
                Tagged::deserialize(tagged).map(Into::into)
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Written, A::Error> {
                Tagged::deserialize(MapAccessDeserializer::new(map)).map(Into::into)
            }
        }
        from.deserialize_any(Either)
    }
}

/// Parameters that are not there.
struct Nothing<D>(D);

impl<'de, E, D> serde::de::IntoDeserializer<'de, E> for Nothing<D>
where
    E: serde::de::Error,
    D: Deserializer<'de, Error = E>,
{
    type Deserializer = D;

    fn into_deserializer(self) -> D {
        self.0
    }
}
