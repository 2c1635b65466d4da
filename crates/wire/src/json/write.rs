//! Structures to JSON (Part 6, 5.4.4 to 5.4.9): a walk over bytes by the table of shapes.

use std::fmt::Write as _;

use super::{JsonError, Style};
use crate::service::Kind;
use crate::service::shape::{Field, Form, Limits};

pub(super) type Result<T, E = JsonError> = std::result::Result<T, E>;

/// What a value that was written is worth: whether its field may be left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FieldValue {
    /// The null of its type.
    Null,
    /// What a missing field stands for.
    Default,
    /// Anything else.
    Value,
}

impl FieldValue {
    pub(super) fn unless(is_default: bool) -> Self {
        match is_default {
            true => FieldValue::Default,
            false => FieldValue::Value,
        }
    }
}

/// So much may be written of fields that are left out when it shows what they are worth.
const TAKEN_BACK: usize = 4096;

/// Goes through bytes and writes JSON.
#[derive(Debug)]
pub(super) struct Writer<'a> {
    bytes: &'a [u8],
    at: usize,
    pub(super) out: String,
    pub(super) style: Style,
    longest: usize,
    depth: usize,
}

impl<'a> Writer<'a> {
    pub(super) fn new(bytes: &'a [u8], at: usize, style: Style, longest: usize) -> Self {
        Self {
            bytes,
            at,
            out: String::new(),
            style,
            longest,
            depth: 0,
        }
    }

    pub(super) fn finish(self) -> Result<String> {
        match self.out.len() > self.longest {
            true => Err(JsonError::TooLong(self.longest)),
            false => Ok(self.out),
        }
    }

    fn within(&self) -> Result<()> {
        match self.out.len() > self.longest.saturating_add(TAKEN_BACK) {
            true => Err(JsonError::TooLong(self.longest)),
            false => Ok(()),
        }
    }

    pub(super) fn wrong(&self) -> JsonError {
        JsonError::Bytes { at: self.at }
    }

    pub(super) fn take(&mut self, len: usize) -> Result<&'a [u8]> {
        let end = self.at.checked_add(len);
        let bytes = end.and_then(|end| self.bytes.get(self.at..end));
        let bytes = bytes.ok_or_else(|| self.wrong())?;
        self.at += len;
        Ok(bytes)
    }

    /// Goes back over bytes that were taken.
    pub(super) fn back(&mut self, len: usize) {
        self.at = self.at.saturating_sub(len);
    }

    pub(super) fn number<const N: usize>(&mut self) -> Result<[u8; N]> {
        let bytes = self.take(N)?;
        bytes.try_into().map_err(|_| self.wrong())
    }

    pub(super) fn byte(&mut self) -> Result<u8> {
        Ok(u8::from_le_bytes(self.number()?))
    }

    /// A length and as many bytes; None for null.
    pub(super) fn string(&mut self) -> Result<Option<&'a [u8]>> {
        let length = i32::from_le_bytes(self.number()?);
        match usize::try_from(length) {
            Ok(length) => self.take(length).map(Some),
            Err(_) => Ok(None),
        }
    }

    /// Does something one level deeper.
    pub(super) fn deeper<T>(&mut self, inside: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth >= Limits::DEPTH {
            return Err(JsonError::Depth);
        }
        self.depth += 1;
        let done = inside(self);
        self.depth -= 1;
        done
    }

    /// Writes a value of this kind, as an element of an array has it.
    pub(super) fn value(&mut self, kind: Kind) -> Result<FieldValue> {
        self.within()?;
        match kind.shape().form {
            Form::Enumeration(..) => self.enumeration(kind),
            Form::Structure(_) => self.structure(kind, None),
            Form::BuiltIn => self.built_in(kind),
        }
    }

    /// Part 6, 5.4.4.
    fn enumeration(&mut self, kind: Kind) -> Result<FieldValue> {
        let value = i32::from_le_bytes(self.number()?);
        let name = match self.style {
            Style::Compact => None,
            Style::Verbose => kind.value_name(value),
        };
        // Writing into a String does not fail, here and below.
        let _ = match name {
            Some(name) => write!(self.out, "\"{name}_{value}\""),
            None => write!(self.out, "{value}"),
        };
        Ok(FieldValue::unless(value == 0))
    }

    /// Part 6, 5.4.6, with the DataType where an ExtensionObject or a message has it.
    pub(super) fn structure(&mut self, kind: Kind, data_type: Option<u32>) -> Result<FieldValue> {
        let (Form::Structure(fields), Some(names)) = (kind.shape().form, kind.names()) else {
            return Err(JsonError::Type);
        };
        self.out.push('{');
        let begin = self.out.len();
        if let Some(id) = data_type {
            let _ = write!(self.out, "\"UaTypeId\":\"i={id}\"");
        }
        for (field, name) in fields.iter().zip(names.fields) {
            let before = self.out.len();
            self.name(begin, name);
            let worth = match *field {
                Field::One(kind) => self.value(kind)?,
                Field::Many(kind) => self.array(kind)?,
            };
            if self.style == Style::Compact && worth != FieldValue::Value {
                self.out.truncate(before);
            }
        }
        let is_empty = self.out.len() == begin;
        self.out.push('}');
        Ok(FieldValue::unless(is_empty))
    }

    /// The name of a member, with a comma before it unless it is the first of an object that began there.
    pub(super) fn name(&mut self, begin: usize, name: &str) {
        if self.out.len() > begin {
            self.out.push(',');
        }
        self.out.push('"');
        self.out.push_str(name);
        self.out.push_str("\":");
    }

    /// Part 6, 5.4.5.
    pub(super) fn array(&mut self, kind: Kind) -> Result<FieldValue> {
        let count = i32::from_le_bytes(self.number()?);
        let Ok(count) = usize::try_from(count) else {
            self.out.push_str("null");
            return Ok(FieldValue::Null);
        };
        self.elements(kind, count)?;
        Ok(FieldValue::Value)
    }

    pub(super) fn elements(&mut self, kind: Kind, count: usize) -> Result<()> {
        let left = self.bytes.len().saturating_sub(self.at);
        if count.saturating_mul(kind.min_len()) > left {
            return Err(self.wrong());
        }
        self.out.push('[');
        for n in 0..count {
            if n > 0 {
                self.out.push(',');
            }
            self.value(kind)?;
        }
        self.out.push(']');
        Ok(())
    }

    /// A structure that is all of the next so many bytes; false, with nothing written, if they are another.
    pub(super) fn body(&mut self, kind: Kind, data_type: u32, len: usize) -> Result<bool> {
        let (at, begin, depth) = (self.at, self.out.len(), self.depth);
        let end = at.saturating_add(len);
        let whole = self.bytes;
        // Bytes behind the body are none of its business, whatever lengths in it say.
        self.bytes = whole.get(..end).ok_or_else(|| self.wrong())?;
        let written = self.structure(kind, Some(data_type));
        self.bytes = whole;
        match written {
            Err(error @ (JsonError::TooLong(_) | JsonError::Depth)) => Err(error),
            Ok(_) if self.at == end => Ok(true),
            _ => {
                self.out.truncate(begin);
                (self.at, self.depth) = (at, depth);
                Ok(false)
            }
        }
    }
}
