//! Which of the values that an item sees are worth a notification (Part 4, 7.22.2).

use wire::template::walk::{BuiltInType, RawVariant};
use wire::types::{DataChangeFilter, DataChangeTrigger, StatusCode};

use super::queue::{Entry, ItemValue};
use crate::space::{Variable, signal};

/// Kinds of deadband as they are on the wire (Part 4, table 136).
const NONE: u32 = 0;
const ABSOLUTE: u32 = 1;
const PERCENT: u32 = 2;

/// A data change filter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Filter {
    trigger: DataChangeTrigger,
    /// Numbers have to change by more than this.
    deadband: Option<f64>,
}

impl Default for Filter {
    /// Changes of value and status: what an item has that asks for none.
    fn default() -> Self {
        Self {
            trigger: DataChangeTrigger::StatusValue,
            deadband: None,
        }
    }
}

impl Filter {
    /// The filter asked for, if the variable can have it.
    pub fn new(asked: &DataChangeFilter, variable: &Variable) -> Result<Self, StatusCode> {
        let deadband = match asked.deadband_type {
            NONE => None,
            ABSOLUTE => Some(asked.deadband_value),
            // Part 8, 7.2: a percentage of the range of an AnalogItem.
            PERCENT => {
                if !(0.0..=100.0).contains(&asked.deadband_value) {
                    return Err(StatusCode::BadDeadbandFilterInvalid);
                }
                let (low, high) = variable
                    .range
                    .ok_or(StatusCode::BadMonitoredItemFilterUnsupported)?;
                Some((high - low).abs() * asked.deadband_value / 100.0)
            }
            _ => return Err(StatusCode::BadDeadbandFilterInvalid),
        };
        if let Some(value) = deadband {
            if value.is_nan() || value < 0.0 || value.is_infinite() {
                return Err(StatusCode::BadDeadbandFilterInvalid);
            }
            if !is_numeric(variable) {
                return Err(StatusCode::BadFilterNotAllowed);
            }
        }
        Ok(Self {
            trigger: asked.trigger,
            deadband,
        })
    }

    /// Whether it is what items have that ask for none.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Whether `new` is worth telling when `last` was told before.
    pub fn passes(&self, last: Option<&Entry>, new: &Entry) -> bool {
        let Some(last) = last else {
            return true;
        };
        if last.status != new.status {
            return true;
        }
        let value = || match self.deadband {
            None => last.seen != new.seen,
            Some(deadband) => exceeds(&last.seen, &new.seen, deadband),
        };
        self.triggers(last.source != new.source, value)
    }

    /// The same for numbers of one signal, each with its update.
    pub fn passes_number(&self, kind: BuiltInType, last: (u64, u64), new: (u64, u64)) -> bool {
        let value = || match self.deadband {
            None => last.0 != new.0,
            Some(deadband) => apart_bits(kind, last.0, new.0, deadband),
        };
        self.triggers(last.1 != new.1, value)
    }

    fn triggers(&self, time: bool, value: impl FnOnce() -> bool) -> bool {
        match self.trigger {
            DataChangeTrigger::Status => false,
            DataChangeTrigger::StatusValue => value(),
            // Part 4, 7.22.2: with this trigger a deadband does not hold time back.
            DataChangeTrigger::StatusValueTimestamp => time || value(),
        }
    }
}

/// Whether its data type is one of numbers; those of namespace 0 that are have these ids.
fn is_numeric(variable: &Variable) -> bool {
    let id = variable.data_type.as_u32().unwrap_or(0);
    variable.data_type.namespace == 0 && matches!(id, 2..=11 | 26..=28 | 290)
}

fn exceeds(last: &ItemValue, new: &ItemValue, deadband: f64) -> bool {
    match (last, new) {
        (ItemValue::Bits(kind, a), ItemValue::Bits(other, b)) if kind == other => {
            apart_bits(*kind, *a, *b, deadband)
        }
        (ItemValue::Encoded(a), ItemValue::Encoded(b)) => {
            match (numbers(&a.bytes), numbers(&b.bytes)) {
                // Part 4, 7.22.2: of an array, any element.
                (Some(x), Some(y)) if x.len() == y.len() => {
                    x.iter().zip(&y).any(|(x, y)| apart(*x, *y, deadband))
                }
                _ => a != b,
            }
        }
        _ => last != new,
    }
}

fn apart_bits(kind: BuiltInType, a: u64, b: u64, deadband: f64) -> bool {
    match (signal::number(kind, a), signal::number(kind, b)) {
        (Some(x), Some(y)) => apart(x, y, deadband),
        _ => a != b,
    }
}

fn apart(x: f64, y: f64, deadband: f64) -> bool {
    match (x - y).abs() {
        difference if difference.is_nan() => x.to_bits() != y.to_bits(),
        difference => difference > deadband,
    }
}

/// The elements of an encoded array of numbers.
fn numbers(encoded: &[u8]) -> Option<Vec<f64>> {
    let value = RawVariant::parse(encoded).ok()?;
    let size = value.kind().size().filter(|size| (1..=8).contains(size))?;
    let elements = value.payload().chunks_exact(size).map(|element| {
        let mut bits = [0; 8];
        bits.iter_mut()
            .zip(element)
            .for_each(|(to, from)| *to = *from);
        signal::number(value.kind(), u64::from_le_bytes(bits))
    });
    elements.collect()
}
