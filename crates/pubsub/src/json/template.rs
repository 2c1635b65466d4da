//! A message written once, and the places of what changes: a cycle writes values, counters and times between the rest.

use std::fmt::Write as _;

use wire::template::walk::BuiltInType;

use super::message::{JsonNetworkMessage, MemberWriter, Slot};
use super::write_value::{Style, write_float, write_time};
use crate::encode::EncodeError;
use crate::template::NoField;

/// A NetworkMessage in JSON, ready to be sent again and again. Its values are Booleans and numbers.
#[derive(Debug)]
pub struct JsonTemplate {
    /// All that does not change.
    plain: String,
    /// What changes, and before which byte of `plain` it stands.
    slots: Vec<(usize, Slot)>,
    kinds: Vec<BuiltInType>,
    /// Of each DataSetMessage the number that comes next, and its values as little-endian bytes.
    sets: Vec<(u32, Vec<u64>)>,
    /// What names all messages of this template, and how many there were.
    name: u64,
    count: u64,
}

impl JsonTemplate {
    /// Of a message whose fields have these types in each DataSetMessage. `name` distinguishes its MessageIds.
    ///
    /// # Errors
    /// A value has no form in JSON.
    pub fn new(
        message: &JsonNetworkMessage,
        style: Style,
        kinds: &[BuiltInType],
        name: u64,
    ) -> Result<Self, EncodeError> {
        let mut plain = String::new();
        let mut pen = MemberWriter::new(&mut plain, style);
        pen.slots = Some(Vec::new());
        pen.network(message)?;
        let slots = pen.slots.take().unwrap_or_default();
        let sets = message.messages.iter();
        Ok(Self {
            sets: sets
                .map(|it| (it.sequence.unwrap_or_default(), vec![0; kinds.len()]))
                .collect(),
            plain,
            slots,
            kinds: kinds.to_vec(),
            name,
            count: 0,
        })
    }

    /// Sets a value by its little-endian bytes, the rest of them zero.
    ///
    /// # Errors
    /// There is no such field.
    pub fn set(&mut self, set: usize, field: usize, bits: u64) -> Result<(), NoField> {
        let value = self
            .sets
            .get_mut(set)
            .and_then(|(_, all)| all.get_mut(field));
        let value = value.ok_or(NoField { set, field, len: 8 })?;
        *value = bits;
        Ok(())
    }

    /// Writes the next message, of this time in 100 ns since 1601.
    pub fn write(&mut self, ticks: i64, out: &mut String) {
        out.clear();
        let mut from = 0;
        for &(at, slot) in &self.slots {
            out.push_str(self.plain.get(from..at).unwrap_or_default());
            from = at;
            // Writing into a String does not fail.
            match slot {
                Slot::MessageId => {
                    let [a, b, c, d, e, f, g, h] = self.name.to_be_bytes();
                    let count = self.count;
                    let _ = write!(
                        out,
                        "\"{a:02x}{b:02x}{c:02x}{d:02x}-{e:02x}{f:02x}-4{:x}{g:02x}-8{:x}{h:02x}-{:012x}\"",
                        count >> 52 & 15,
                        count >> 48 & 15,
                        count & 0xffff_ffff_ffff,
                    );
                }
                Slot::Time => write_time(out, ticks),
                Slot::Sequence(set) => {
                    let number = self.sets.get(set).map_or(0, |(number, _)| *number);
                    let _ = write!(out, "{number}");
                }
                Slot::Value(set, field) => {
                    let kind = self.kinds.get(field).copied();
                    let bits = self
                        .sets
                        .get(set)
                        .and_then(|(_, all)| all.get(field).copied());
                    write_value(
                        out,
                        kind.unwrap_or(BuiltInType::Null),
                        bits.unwrap_or_default(),
                    );
                }
            }
        }
        out.push_str(self.plain.get(from..).unwrap_or_default());
        self.count += 1;
        for (number, _) in &mut self.sets {
            *number = number.wrapping_add(1);
        }
    }
}

/// Lossless: the other bytes are zero.
fn write_value(out: &mut String, kind: BuiltInType, bits: u64) {
    use BuiltInType as T;
    let _ = match kind {
        T::Boolean => write!(out, "{}", bits & 1 != 0),
        T::SByte => write!(out, "{}", bits as i8),
        T::Int16 => write!(out, "{}", bits as i16),
        T::Int32 => write!(out, "{}", bits as i32),
        T::Byte | T::UInt16 | T::UInt32 => write!(out, "{bits}"),
        T::Int64 => write!(out, "\"{}\"", bits as i64),
        T::UInt64 => write!(out, "\"{bits}\""),
        T::Float => {
            let value = f32::from_bits(bits as u32);
            write_float(out, value.into(), value);
            Ok(())
        }
        T::Double => {
            let value = f64::from_bits(bits);
            write_float(out, value, value);
            Ok(())
        }
        _ => write!(out, "null"),
    };
}
