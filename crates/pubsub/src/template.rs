//! A message encoded once, and the places of what changes: a cycle copies values, counters and
//! times, and seals. Nothing is allocated once the buffers have their size.

use crate::encode::{EncodeError, Offsets};
use crate::header::Tolerance;
use crate::message::{Content, Fields, NetworkMessage};
use crate::raw::RawType;
use crate::security::Sealer;
use crate::view::{FieldValue, Known, View};

/// A NetworkMessage, ready to be sent again and again.
#[derive(Debug)]
pub struct Template {
    plain: Vec<u8>,
    at: Offsets,
    sets: Vec<Vec<Place>>,
    /// Of each of them, how its fields lie if all of them lie alike.
    rows: Vec<Option<Row>>,
    sealer: Option<Sealer>,
    sequence: u16,
    set_sequences: Vec<u16>,
    /// Whether any field has a time of its own.
    stamped: bool,
}

/// Where a field's value lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    at: usize,
    len: usize,
    source_timestamp: Option<usize>,
}

/// Fields of one length, each as far from the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Row {
    /// Where the value of the first begins, and that of the last ends.
    start: usize,
    end: usize,
    len: usize,
    /// From one to the next, `len` at least.
    step: usize,
}

impl Row {
    /// None if these are not a row.
    fn of(places: &[Place]) -> Option<Self> {
        let (first, last) = (places.first()?, places.last()?);
        let len = first.len;
        let step = match places.get(1) {
            Some(second) => second.at.checked_sub(first.at)?,
            None => len,
        };
        let follow = |(n, it): (usize, &Place)| it.len == len && it.at == first.at + n * step;
        let is_row = step >= len.max(1) && places.iter().enumerate().all(follow);
        is_row.then_some(Self {
            start: first.at,
            end: last.at + len,
            len,
            step,
        })
    }
}

/// Why a message cannot be a template.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TemplateError {
    /// It has no form on the wire.
    #[error(transparent)]
    Encode(#[from] EncodeError),
    /// Only fields that always lie at the same place can be copied into it.
    #[error("field {field} of DataSetMessage {set} has no fixed size: use NetworkMessage::encode")]
    Varies {
        /// Which DataSetMessage.
        set: usize,
        /// Which field.
        field: usize,
    },
    /// Only key frames have all fields in each message.
    #[error("DataSetMessage {0} is no key frame: use NetworkMessage::encode")]
    NoKeyFrame(usize),
    /// RawData without metadata.
    #[error("DataSetMessage {0} is RawData without the types of its fields")]
    NoTypes(usize),
}

/// A value of another length than its field has, or a field that is not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no field {field} of {len} bytes in DataSetMessage {set}")]
pub struct NoField {
    /// Which DataSetMessage.
    pub set: usize,
    /// Which field.
    pub field: usize,
    /// The bytes of the value.
    pub len: usize,
}

impl Template {
    /// Encodes a message of key frames. `types` are those of DataSetMessages with RawData, by their place.
    ///
    /// # Errors
    /// It has no form on the wire, or fields that do not always lie at the same place.
    pub fn new(
        message: &NetworkMessage,
        types: &[&[RawType]],
        sealer: Option<Sealer>,
    ) -> Result<Self, TemplateError> {
        let mut message = message.clone();
        message.security = None;
        let mut plain = Vec::new();
        // First as it is read, then as it will be sealed.
        let clear = message.encode(&mut plain)?;
        let mut sets = Vec::new();
        for (n, set) in message.messages.iter().enumerate() {
            sets.push(match &set.content {
                Content::Key(Fields::Raw(_)) => {
                    let types = types.get(n).ok_or(TemplateError::NoTypes(n))?;
                    raw_places(types, n)?
                }
                Content::Key(_) => Vec::new(),
                _ => return Err(TemplateError::NoKeyFrame(n)),
            });
        }
        walk_places(&plain, &clear, &mut sets)?;
        if let Some(sealer) = &sealer {
            message.security = Some(sealer.header());
        }
        plain.clear();
        let at = message.encode(&mut plain)?;
        for (places, set) in sets.iter_mut().zip(&at.sets) {
            for place in places {
                place.at += set.fields;
                place.source_timestamp = place.source_timestamp.map(|it| it + set.fields);
            }
        }
        let stamped = sets
            .iter()
            .flatten()
            .any(|it| it.source_timestamp.is_some());
        let sequences = message.messages.iter().map(|it| it.sequence);
        let rows = sets.iter().map(|places| Row::of(places)).collect();
        Ok(Self {
            sequence: message.group.and_then(|it| it.sequence).unwrap_or_default(),
            set_sequences: sequences.map(Option::unwrap_or_default).collect(),
            plain,
            at,
            sets,
            rows,
            sealer,
            stamped,
        })
    }

    /// Bytes of each datagram.
    pub fn len(&self) -> usize {
        let signature = match &self.sealer {
            Some(_) => crate::security::GroupKeys::SIGNATURE_LEN,
            None => 0,
        };
        self.plain.len() + signature
    }

    /// Whether it has no bytes, which no message has.
    pub fn is_empty(&self) -> bool {
        self.plain.is_empty()
    }

    /// How many fields a DataSetMessage has.
    pub fn fields(&self, set: usize) -> usize {
        self.sets.get(set).map_or(0, Vec::len)
    }

    /// Sets a field to the bytes of a value, as they are on the wire.
    ///
    /// # Errors
    /// There is no such field, or it has another length.
    #[inline]
    pub fn set(&mut self, set: usize, field: usize, value: &[u8]) -> Result<(), NoField> {
        let place = self.sets.get(set).and_then(|it| it.get(field));
        let place = place.filter(|it| it.len == value.len());
        match place.and_then(|it| self.plain.get_mut(it.at..it.at + it.len)) {
            Some(place) => {
                place.copy_from_slice(value);
                Ok(())
            }
            None => Err(NoField {
                set,
                field,
                len: value.len(),
            }),
        }
    }

    /// Sets all fields of a DataSetMessage, all of `N` bytes.
    ///
    /// Where they lie alike, as those of one type do, no place is looked up: a message of a hundred Floats of RawData takes
    /// a quarter of the instructions then (`crates/counted`).
    ///
    /// # Errors
    /// A field has another length.
    #[inline]
    pub fn set_all<const N: usize>(
        &mut self,
        set: usize,
        mut value: impl FnMut(usize) -> [u8; N],
    ) -> Result<(), NoField> {
        let row = self.rows.get(set).copied().flatten();
        let row = row.filter(|it| it.len == N);
        if let Some((row, bytes)) =
            row.and_then(|it| Some((it, self.plain.get_mut(it.start..it.end)?)))
        {
            if row.step == N {
                for (field, place) in bytes.as_chunks_mut().0.iter_mut().enumerate() {
                    *place = value(field);
                }
            } else {
                for (field, bytes) in bytes.chunks_mut(row.step).enumerate() {
                    if let Some(place) = bytes.first_chunk_mut() {
                        *place = value(field);
                    }
                }
            }
            return Ok(());
        }
        let places = self.sets.get(set).map_or(&[][..], Vec::as_slice);
        for (field, place) in places.iter().enumerate() {
            let wrong = NoField { set, field, len: N };
            if place.len != N {
                return Err(wrong);
            }
            let bytes = self.plain.get_mut(place.at..).ok_or(wrong)?;
            *bytes.first_chunk_mut().ok_or(wrong)? = value(field);
        }
        Ok(())
    }

    /// Another key from the next message on; false if messages are not secured.
    pub fn sealer(&mut self) -> Option<&mut Sealer> {
        self.sealer.as_mut()
    }

    /// Replaces `out` by the next message: the values as they were set, the next of each counter, the time in 100 ns
    /// since 1601. False if it could not be secured any more: the key has been used up.
    #[inline]
    pub fn write(&mut self, now: i64, out: &mut Vec<u8>) -> bool {
        patch(&mut self.plain, self.at.timestamp, now.to_le_bytes());
        patch(
            &mut self.plain,
            self.at.sequence,
            self.sequence.to_le_bytes(),
        );
        for (n, set) in self.at.sets.iter().enumerate() {
            patch(&mut self.plain, set.timestamp, now.to_le_bytes());
            if let Some(sequence) = self.set_sequences.get_mut(n) {
                patch(&mut self.plain, set.sequence, sequence.to_le_bytes());
                *sequence = sequence.wrapping_add(1);
            }
        }
        if self.stamped {
            for place in self.sets.iter().flatten() {
                patch(&mut self.plain, place.source_timestamp, now.to_le_bytes());
            }
        }
        self.sequence = self.sequence.wrapping_add(1);
        out.clear();
        out.extend_from_slice(&self.plain);
        match &mut self.sealer {
            None => true,
            Some(sealer) => sealer.seal(out, &self.at),
        }
    }
}

#[inline]
fn patch<const N: usize>(bytes: &mut [u8], at: Option<usize>, value: [u8; N]) {
    if let Some(place) = at.and_then(|at| bytes.get_mut(at..)?.first_chunk_mut()) {
        *place = value;
    }
}

/// Places of RawData, from where the fields begin.
fn raw_places(types: &[RawType], set: usize) -> Result<Vec<Place>, TemplateError> {
    let mut at = 0;
    let mut places = Vec::new();
    for (field, of) in types.iter().enumerate() {
        let varies = TemplateError::Varies { set, field };
        let len = of.size().ok_or(varies)?;
        places.push(Place {
            at,
            len,
            source_timestamp: None,
        });
        at += len;
    }
    Ok(places)
}

/// Places of fields with types, from where the fields begin.
fn walk_places(plain: &[u8], at: &Offsets, sets: &mut [Vec<Place>]) -> Result<(), TemplateError> {
    let sizes: Vec<u16> = at
        .sets
        .iter()
        .map(|it| u16::try_from(it.end - it.start).unwrap_or(u16::MAX))
        .collect();
    let Ok(view) = View::parse(plain, Tolerance::NONE) else {
        return Ok(());
    };
    let Ok(views) = view.messages(Known { sizes: &sizes }) else {
        return Ok(());
    };
    for (set, ((view, places), offsets)) in views.zip(sets).zip(&at.sets).enumerate() {
        let Ok(fields) = view.and_then(|it| it.fields()) else {
            continue;
        };
        for (n, field) in fields.enumerate() {
            let varies = TemplateError::Varies { set, field: n };
            let Ok(field) = field else { return Err(varies) };
            let value = field.value.variant().ok_or(varies.clone())?;
            let len = match value.array_len() {
                None => value.kind().size().ok_or(varies)?,
                Some(_) => return Err(varies),
            };
            // A DataValue has its mask before the Variant, and times behind it.
            let (mask, after) = match field.value {
                FieldValue::Variant(_) => (0, None),
                FieldValue::DataValue(it) => (1, it.source_timestamp().map(|_| it.status_len())),
            };
            let start = field.at - offsets.fields;
            let at = start + mask + 1;
            places.push(Place {
                at,
                len,
                source_timestamp: after.map(|status| at + len + status),
            });
        }
    }
    Ok(())
}
