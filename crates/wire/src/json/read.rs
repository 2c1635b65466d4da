//! JSON to structures (Part 6, 5.4.4 to 5.4.9): members are found by name and put into the order of the table of shapes.

use super::JsonError;
use super::scan::{Kind as Is, Text, Value};
use crate::service::Kind;
use crate::service::shape::{Field, Form, Limits};

pub(super) type Result<T, E = JsonError> = std::result::Result<T, E>;

/// A count or a length of what is being read. Nothing is so long: whoever reads bytes that were broken off finds them cut.
const OPEN: i32 = i32::MAX;

/// Goes through JSON and appends bytes.
#[derive(Debug)]
pub(super) struct Reader<'a> {
    pub(super) out: Vec<u8>,
    longest: usize,
    depth: usize,
    /// The members of the objects under way, each at the place of its field.
    found: Vec<Option<Value<'a>>>,
}

pub(super) fn wrong(kind: Kind, value: Value<'_>) -> JsonError {
    JsonError::Wrong {
        kind,
        at: value.at(),
        found: value.as_written().chars().take(40).collect(),
    }
}

impl<'a> Reader<'a> {
    pub(super) fn new(longest: usize) -> Self {
        Self {
            out: Vec::new(),
            longest,
            depth: 0,
            found: Vec::new(),
        }
    }

    pub(super) fn finish(self) -> Vec<u8> {
        self.out
    }

    fn within(&self) -> Result<()> {
        match self.out.len() > self.longest {
            true => Err(JsonError::TooLong(self.longest)),
            false => Ok(()),
        }
    }

    pub(super) fn put(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
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

    /// A whole message (Part 6, 5.4.9): an ExtensionObject of a service.
    pub(super) fn message(&mut self, value: Value<'a>) -> Result<()> {
        if value.kind() != Is::Object {
            return Err(JsonError::Type);
        }
        let id = self.members(value, &["UaTypeId", "TypeId"], None)?;
        let [id, old] = [id.first().copied().flatten(), id.get(1).copied().flatten()];
        let kind = match id.or(old) {
            Some(id) => self.known(id)?,
            None => None,
        };
        let body = Self::inner(value);
        let message = kind.filter(|kind| kind.encoding_id() != 0);
        let Some(kind) = message else {
            // Every request has a RequestHeader, those that are not known as well.
            self.put(&[0, 0]);
            let header = body.get("RequestHeader");
            return match self.value(Kind::RequestHeader, header) {
                Ok(()) | Err(_) => Err(JsonError::Type),
            };
        };
        // Part 6, 5.2.2.9: a NodeId of four bytes; the ids of all messages fit.
        let [low, high, ..] = kind.encoding_id().to_le_bytes();
        self.put(&[1, 0, low, high]);
        self.value(kind, Some(body))?;
        self.within()
    }

    /// The structure of an ExtensionObject: it itself, or a member of it, as before 1.05.04.
    pub(super) fn inner(value: Value<'a>) -> Value<'a> {
        let is_old = value.get("UaTypeId").is_none();
        let body = value.get(if is_old { "Body" } else { "UaBody" });
        body.filter(|it| it.kind() == Is::Object).unwrap_or(value)
    }

    /// Appends a value of this kind. None stands for its default.
    pub(super) fn value(&mut self, kind: Kind, value: Option<Value<'a>>) -> Result<()> {
        self.within()?;
        let Some(value) = value.filter(|it| it.kind() != Is::Null) else {
            self.default(kind);
            return Ok(());
        };
        match kind.shape().form {
            Form::Enumeration(..) => self.enumeration(kind, value),
            Form::Structure(fields) => self.structure(kind, fields, value),
            Form::BuiltIn => self.built_in(kind, value),
        }
    }

    /// Part 6, 5.4.4: a number, or a name with the number behind it.
    fn enumeration(&mut self, kind: Kind, value: Value<'a>) -> Result<()> {
        let number = match value.text() {
            None => value.number::<i32>(),
            Some(text) => {
                let text = text.read();
                let digits = text.rsplit_once('_').map_or(&*text, |(_, digits)| digits);
                digits.parse().ok()
            }
        };
        let number = number.ok_or_else(|| wrong(kind, value))?;
        self.put(&number.to_le_bytes());
        Ok(())
    }

    fn structure(&mut self, kind: Kind, fields: &[Field], value: Value<'a>) -> Result<()> {
        let names = kind.names().ok_or(JsonError::Type)?;
        if value.kind() != Is::Object {
            return Err(wrong(kind, value));
        }
        let begin = self.found.len();
        self.find(value, names.fields, None)?;
        for (n, field) in fields.iter().enumerate() {
            let value = self.found.get(begin + n).copied().flatten();
            match *field {
                Field::One(kind) => self.value(kind, value)?,
                Field::Many(kind) => self.array(kind, value)?,
            }
        }
        self.found.truncate(begin);
        Ok(())
    }

    /// The members of these names, each once. `or` says which other name a member goes by.
    pub(super) fn members(
        &mut self,
        value: Value<'a>,
        names: &[&str],
        or: Option<fn(Text<'a>) -> Option<usize>>,
    ) -> Result<Vec<Option<Value<'a>>>> {
        let begin = self.found.len();
        self.find(value, names, or)?;
        Ok(self.found.split_off(begin))
    }

    fn find(
        &mut self,
        value: Value<'a>,
        names: &[&str],
        or: Option<fn(Text<'a>) -> Option<usize>>,
    ) -> Result<()> {
        let begin = self.found.len();
        self.found.resize(begin + names.len(), None);
        // Most are in the order of the fields.
        let mut next = 0;
        for (name, member) in value.members() {
            let in_order = names.iter().skip(next).position(|it| name.is(it));
            let place = match in_order {
                Some(steps) => Some(next + steps),
                None => names.iter().position(|it| name.is(it)),
            };
            let place = place.or_else(|| or.and_then(|or| or(name)));
            let Some(place) = place else { continue };
            next = place + 1;
            let slot = self.found.get_mut(begin + place);
            let slot = slot.ok_or(JsonError::Type)?;
            if slot.replace(member).is_some() {
                return Err(JsonError::Twice { at: member.at() });
            }
        }
        Ok(())
    }

    /// Part 6, 5.4.5.
    fn array(&mut self, kind: Kind, value: Option<Value<'a>>) -> Result<()> {
        let Some(value) = value.filter(|it| it.kind() != Is::Null) else {
            self.put(&(-1_i32).to_le_bytes());
            return Ok(());
        };
        self.elements(kind, value).map(|_| ())
    }

    /// The elements of an array with their count before them. How many there are.
    pub(super) fn elements(&mut self, kind: Kind, value: Value<'a>) -> Result<usize> {
        if value.kind() != Is::Array {
            return Err(wrong(kind, value));
        }
        let place = self.open();
        let mut count = 0;
        for it in value.items() {
            self.value(kind, Some(it))?;
            count += 1;
        }
        self.close(place, count)?;
        Ok(count)
    }

    /// Leaves room for a count or a length.
    pub(super) fn open(&mut self) -> usize {
        let place = self.out.len();
        self.put(&OPEN.to_le_bytes());
        place
    }

    /// Says what it came to.
    pub(super) fn close(&mut self, place: usize, count: usize) -> Result<()> {
        let count = i32::try_from(count).map_err(|_| JsonError::TooLong(self.longest))?;
        if let Some(room) = self.out.get_mut(place..place + 4) {
            room.copy_from_slice(&count.to_le_bytes());
        }
        Ok(())
    }

    fn default(&mut self, kind: Kind) {
        match kind.shape().form {
            Form::Enumeration(..) => self.put(&[0; 4]),
            Form::Structure(fields) => {
                for field in fields {
                    match *field {
                        Field::One(kind) => self.default(kind),
                        Field::Many(_) => self.put(&[0xff; 4]),
                    }
                }
            }
            Form::BuiltIn => match kind {
                Kind::QualifiedName => self.put(&[0, 0, 0xff, 0xff, 0xff, 0xff]),
                Kind::String | Kind::ByteString | Kind::XmlElement | Kind::NumericRange => {
                    self.put(&[0xff; 4]);
                }
                // All others are so many zeros.
                _ => {
                    let len = self.out.len() + kind.min_len();
                    self.out.resize(len, 0);
                }
            },
        }
    }
}
