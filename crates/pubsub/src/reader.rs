//! The DataSetMessages of one writer, which look alike from one to the next.
//!
//! A [`Reader`] knows how the fields lie: of RawData from metadata, of fields with types of their own from the
//! message before. It checks that scalars of one type in a row are there and are of that type all at once, and hands
//! them out together. What looks otherwise is read field by field, and the next message is compared with
//! that. Nothing is allocated while messages look alike.
//!
//! A Float in a row of a hundred takes 11 instructions as RawData, 19 as a Variant or DataValue, where field by field
//! it takes 83 to 173 (`crates/counted`).

use wire::template::walk::BuiltInType;

use crate::cursor::Cursor;
use crate::error::DecodeError;
use crate::raw::{self, RawField, RawType};
use crate::view::{Encoding, FieldValue, FieldView, FieldViews, Frame, SetView};

/// So many rows of scalars are remembered of a message; fields after them are read one by one. Messages may
/// come from anybody.
const STEPS: usize = 128;

/// Reads the DataSetMessages of one writer.
#[derive(Debug, Clone, Default)]
pub struct Reader {
    raw: Vec<ReadStep>,
    has_types: bool,
    learnt: Vec<ReadStep>,
    /// What the learnt steps are of.
    shape: Option<(Encoding, usize)>,
}

/// Some of the fields of a message.
#[derive(Debug, Clone, Copy)]
pub enum Part<'a> {
    /// Scalars of one type.
    Run(Run<'a>),
    /// A field with a type of its own.
    Field(FieldView<'a>),
    /// A field of RawData, and which it is.
    Raw(u16, RawField<'a>),
}

/// Scalars of one type, one after another. Of DataValues they have the same parts, too.
#[derive(Debug, Clone, Copy)]
pub struct Run<'a> {
    /// Which field of the DataSet the first is.
    pub first: u16,
    row: Row,
    bytes: &'a [u8],
}

/// How scalars lie one after another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Row {
    kind: BuiltInType,
    /// What each begins with: the mask of a DataValue, the type of a Variant.
    prefix: [u8; 2],
    prefix_len: u8,
    size: u8,
    /// From one to the next. Lossless: a scalar of a fixed size takes 42 bytes at most.
    stride: u8,
}

#[derive(Debug, Clone)]
enum ReadStep {
    Row(Row, usize),
    /// RawData with a length of its own.
    Raw(RawType),
    /// A field with a type, and a length of its own.
    Field,
}

impl Reader {
    /// For a writer whose fields have these types. Only RawData needs them.
    pub fn with_types(types: &[RawType]) -> Self {
        let mut steps = Vec::new();
        for of in types {
            match Row::of_raw(of) {
                Some(row) => push(&mut steps, row),
                None => steps.push(ReadStep::Raw(of.clone())),
            }
        }
        Self {
            raw: steps,
            has_types: true,
            ..Self::default()
        }
    }

    /// Whether RawData can be read.
    pub fn has_types(&self) -> bool {
        self.has_types
    }

    /// Visits all fields of a message, in their order, and tells how many there are. RawData without types has
    /// none.
    ///
    /// # Errors
    /// What is wrong, and where; the fields before have been visited.
    pub fn visit<'a>(
        &mut self,
        set: &SetView<'a>,
        mut visit: impl FnMut(Part<'a>),
    ) -> Result<usize, DecodeError> {
        match (set.header.frame, set.header.encoding) {
            _ if !set.header.valid => Ok(0),
            (Frame::KeepAlive, _) => Ok(0),
            (_, Encoding::Raw) => self.raw(set, visit),
            (Frame::Delta, _) => {
                let mut count = 0;
                for field in set.fields()? {
                    visit(Part::Field(field?));
                    count += 1;
                }
                Ok(count)
            }
            (Frame::Key | Frame::Event, encoding) => {
                let mut fields = set.fields()?;
                let count = fields.left();
                let mut fits = self.shape == Some((encoding, count));
                if fits {
                    fits = self.alike(&mut fields, &mut visit)?;
                }
                for field in fields {
                    visit(Part::Field(field?));
                }
                if !fits {
                    self.learn(set)?;
                }
                Ok(count)
            }
        }
    }

    fn raw<'a>(
        &self,
        set: &SetView<'a>,
        mut visit: impl FnMut(Part<'a>),
    ) -> Result<usize, DecodeError> {
        let mut c = Cursor::within(set.body(), set.body_at());
        let mut index = 0;
        for step in &self.raw {
            // Lossless: a DataSet has no more than 65,535 fields.
            debug_assert!(index <= usize::from(u16::MAX));
            let first = index as u16;
            match step {
                ReadStep::Row(row, count) => {
                    let bytes = c.take(count * usize::from(row.stride), "RawData")?;
                    let row = *row;
                    visit(Part::Run(Run { first, row, bytes }));
                    index += count;
                }
                ReadStep::Raw(of) => {
                    visit(Part::Raw(first, raw::read(&mut c, of)?));
                    index += 1;
                }
                ReadStep::Field => {}
            }
        }
        Ok(index)
    }

    /// Visits fields as long as they look as they did in the message before; tells whether all of those did
    /// that are remembered.
    fn alike<'a>(
        &self,
        fields: &mut FieldViews<'a>,
        visit: &mut impl FnMut(Part<'a>),
    ) -> Result<bool, DecodeError> {
        for step in &self.learnt {
            match step {
                ReadStep::Row(row, count) => {
                    let len = count * usize::from(row.stride);
                    let Some(bytes) = fields.ahead(len).filter(|it| row.begins_all(it)) else {
                        return Ok(false);
                    };
                    let first = fields.skip_fields(*count, len);
                    let row = *row;
                    visit(Part::Run(Run { first, row, bytes }));
                }
                ReadStep::Field | ReadStep::Raw(_) => match fields.next() {
                    Some(field) => visit(Part::Field(field?)),
                    None => return Ok(false),
                },
            }
        }
        Ok(true)
    }

    #[cold]
    fn learn(&mut self, set: &SetView<'_>) -> Result<(), DecodeError> {
        let fields = set.fields()?;
        self.shape = Some((set.header.encoding, fields.left()));
        self.learnt.clear();
        for field in fields {
            match Row::of(&field?) {
                Some(row) => push(&mut self.learnt, row),
                None => self.learnt.push(ReadStep::Field),
            }
            if self.learnt.len() > STEPS {
                self.learnt.pop();
                break;
            }
        }
        Ok(())
    }
}

/// The row before goes on, or another begins.
fn push(steps: &mut Vec<ReadStep>, row: Row) {
    match steps.last_mut() {
        Some(ReadStep::Row(last, count)) if *last == row => *count += 1,
        _ => steps.push(ReadStep::Row(row, 1)),
    }
}

impl Row {
    fn of_raw(of: &RawType) -> Option<Self> {
        let size = u8::try_from(of.kind.size()?).ok()?;
        let scalar = of.is_allowed() && of.dimensions.is_empty();
        scalar.then_some(Self {
            kind: of.kind,
            prefix: [0; 2],
            prefix_len: 0,
            size,
            stride: size,
        })
    }

    fn of(field: &FieldView<'_>) -> Option<Self> {
        let value = field.value.variant()?;
        if value.array_len().is_some() {
            return None;
        }
        let [first, second, ..] = *field.encoded else {
            return None;
        };
        let (prefix, prefix_len) = match field.value {
            FieldValue::Variant(_) => ([first, 0], 1),
            FieldValue::DataValue(_) => ([first, second], 2),
        };
        Some(Self {
            kind: value.kind(),
            prefix,
            prefix_len,
            size: u8::try_from(value.kind().size()?).ok()?,
            stride: u8::try_from(field.encoded.len()).ok()?,
        })
    }

    /// Whether each of the scalars begins as this row's do. The sizes of numbers are known to the compiler: no
    /// branch for each of them then.
    fn begins_all(&self, bytes: &[u8]) -> bool {
        let prefix = self.prefix;
        match (self.prefix_len, self.stride) {
            (1, 2) => begin::<2>(prefix, 0x00ff, bytes),
            (1, 3) => begin::<3>(prefix, 0x00ff, bytes),
            (1, 5) => begin::<5>(prefix, 0x00ff, bytes),
            (1, 9) => begin::<9>(prefix, 0x00ff, bytes),
            (2, 3) => begin::<3>(prefix, 0xffff, bytes),
            (2, 4) => begin::<4>(prefix, 0xffff, bytes),
            (2, 6) => begin::<6>(prefix, 0xffff, bytes),
            (2, 10) => begin::<10>(prefix, 0xffff, bytes),
            // With the source's timestamp.
            (2, 11) => begin::<11>(prefix, 0xffff, bytes),
            (2, 12) => begin::<12>(prefix, 0xffff, bytes),
            (2, 14) => begin::<14>(prefix, 0xffff, bytes),
            (2, 18) => begin::<18>(prefix, 0xffff, bytes),
            (len, stride) => {
                let prefix = prefix.get(..usize::from(len)).unwrap_or_default();
                let mut all = bytes.chunks_exact(usize::from(stride).max(1));
                all.all(|it| it.starts_with(prefix))
            }
        }
    }
}

fn begin<const STRIDE: usize>(prefix: [u8; 2], mask: u16, bytes: &[u8]) -> bool {
    let want = u16::from_le_bytes(prefix);
    let (all, _) = bytes.as_chunks::<STRIDE>();
    let other = all.iter().fold(0, |other, it| match it.as_slice() {
        [a, b, ..] => other | (u16::from_le_bytes([*a, *b]) ^ want),
        _ => other,
    });
    other & mask == 0
}

impl<'a> Run<'a> {
    /// The type of all of them.
    pub fn kind(&self) -> BuiltInType {
        self.row.kind
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.bytes.len() / self.stride()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    fn stride(&self) -> usize {
        usize::from(self.row.stride).max(1)
    }

    /// The bytes of each value, without its type, status and times.
    pub fn values(&self) -> impl ExactSizeIterator<Item = &'a [u8]> + use<'a> {
        let from = usize::from(self.row.prefix_len);
        let place = from..from + usize::from(self.row.size);
        let all = self.bytes.chunks_exact(self.stride());
        all.map(move |it| it.get(place.clone()).unwrap_or_default())
    }

    /// Each as it is on the wire: RawData, a Variant or a DataValue.
    pub fn encoded(&self) -> impl ExactSizeIterator<Item = &'a [u8]> + use<'a> {
        self.bytes.chunks_exact(self.stride())
    }

    /// The bytes of each value, if all are of `N` bytes; else false.
    #[inline]
    pub fn each<const N: usize>(&self, mut visit: impl FnMut([u8; N])) -> bool {
        if usize::from(self.row.size) != N {
            return false;
        }
        if self.stride() == N {
            let (all, _) = self.bytes.as_chunks::<N>();
            all.iter().for_each(|it| visit(*it));
            return true;
        }
        let from = usize::from(self.row.prefix_len);
        for it in self.bytes.chunks_exact(self.stride()) {
            if let Some(value) = it.get(from..).and_then(<[u8]>::first_chunk) {
                visit(*value);
            }
        }
        true
    }
}
