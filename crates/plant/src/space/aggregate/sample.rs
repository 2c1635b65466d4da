//! A value of which aggregates are made.

use wire::template::walk::{BuiltInType, RawVariant};
use wire::types::{DataValue, StatusCode};

use crate::space::encode;
use crate::space::signal::number;

/// A Boolean or a number at its time; anything else is as bad as none.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    /// In ticks.
    pub time: i64,
    /// Its type.
    pub kind: BuiltInType,
    /// Its payload.
    pub bits: u64,
    /// How good it is.
    pub status: u32,
}

/// What a status is worth by its severity (Part 4, 7.39.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quality {
    /// It may be used.
    Good,
    /// It may be wrong.
    Uncertain,
    /// It may not be used.
    Bad,
}

impl Sample {
    /// What a history has.
    pub fn of(value: &DataValue) -> Self {
        let time = value.source_timestamp.map_or(0, |at| at.ticks());
        // Part 6, 5.2.2.17: without a status it is Good, without a value null.
        let status = value.status.unwrap_or_default().bits();
        let whole = value.value.clone().map(encode::variant).unwrap_or_default();
        let scalar = RawVariant::parse(&whole).ok().and_then(|it| scalar(&it));
        match scalar {
            Some((kind, bits)) => Self {
                time,
                kind,
                bits,
                status,
            },
            None => Self::none(time, status),
        }
    }

    /// One without a value.
    pub fn none(time: i64, status: u32) -> Self {
        Self {
            time,
            kind: BuiltInType::Null,
            bits: 0,
            status,
        }
    }

    /// Its value.
    pub fn number(&self) -> f64 {
        number(self.kind, self.bits).unwrap_or(f64::NAN)
    }

    /// A value of 64 bits as it is: as a number it would be rounded beyond 2^53.
    pub fn long(&self) -> Option<i128> {
        match self.kind {
            BuiltInType::Int64 => Some((self.bits as i64).into()),
            BuiltInType::UInt64 => Some(self.bits.into()),
            _ => None,
        }
    }

    /// Whether there is a value to count with at all.
    pub fn is_number(&self) -> bool {
        number(self.kind, self.bits).is_some()
    }

    /// What it is worth.
    pub fn quality(&self) -> Quality {
        match self.status >> 30 {
            0 if self.is_number() => Quality::Good,
            1 if self.is_number() => Quality::Uncertain,
            _ => Quality::Bad,
        }
    }

    /// Whether it can be counted with.
    pub fn is_usable(&self, treat_uncertain_as_bad: bool) -> bool {
        match self.quality() {
            Quality::Good => true,
            Quality::Uncertain => !treat_uncertain_as_bad,
            Quality::Bad => false,
        }
    }

    /// Whether it only says that there is no data (Part 11, 4.6: where a history begins or was interrupted).
    pub fn is_gap(&self) -> bool {
        self.status & 0xFFFF_0000 == StatusCode::BadNoData.bits()
    }
}

/// The payload of a scalar that is a Boolean or a number.
fn scalar(value: &RawVariant<'_>) -> Option<(BuiltInType, u64)> {
    if value.array_len().is_some() {
        return None;
    }
    let size = value.kind().size().filter(|size| (1..=8).contains(size))?;
    let payload = value.payload().get(..size)?;
    let mut bits = [0; 8];
    bits.iter_mut()
        .zip(payload)
        .for_each(|(to, from)| *to = *from);
    let bits = u64::from_le_bytes(bits);
    number(value.kind(), bits).map(|_| (value.kind(), bits))
}

/// A whole number as a value of a type of 64 bits. None if it does not fit.
pub fn long_bits_of(kind: BuiltInType, value: i128) -> Option<u64> {
    match kind {
        BuiltInType::Int64 => i64::try_from(value).ok().map(|value| value as u64),
        BuiltInType::UInt64 => u64::try_from(value).ok(),
        _ => None,
    }
}

/// A number as a value of a type. None if it does not fit.
pub fn bits_of(kind: BuiltInType, value: f64) -> Option<u64> {
    use BuiltInType as T;
    // Whole numbers of these types end there; beyond it they would wrap.
    let whole = |low: f64, high: f64| (value >= low && value <= high).then_some(value);
    Some(match kind {
        T::Boolean => u64::from(whole(0.0, 1.0)? != 0.0),
        T::SByte => u64::from(whole(-128.0, 127.0)? as i8 as u8),
        T::Byte => u64::from(whole(0.0, 255.0)? as u8),
        T::Int16 => u64::from(whole(i16::MIN.into(), i16::MAX.into())? as i16 as u16),
        T::UInt16 => u64::from(whole(0.0, u16::MAX.into())? as u16),
        T::Int32 => u64::from(whole(i32::MIN.into(), i32::MAX.into())? as i32 as u32),
        T::UInt32 => u64::from(whole(0.0, u32::MAX.into())? as u32),
        T::Int64 => whole(i64::MIN as f64, i64::MAX as f64)? as i64 as u64,
        T::UInt64 => whole(0.0, u64::MAX as f64)? as u64,
        T::Float => u64::from((value as f32).to_bits()),
        T::Double => value.to_bits(),
        _ => return None,
    })
}
