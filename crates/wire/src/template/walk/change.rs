//! Data changes as numbers: what one that counts values and compares times needs of them.

use super::cursor::{Cursor, WalkError};
use super::data_value::mask;
use super::publish::{DataChange, MonitoredItem};
use super::variant::{Number, RawVariant};

/// What a monitored item reports, in numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Change {
    /// The handle the client gave the item.
    pub client_handle: u32,
    /// The bits of the status.
    pub status: u32,
    /// When the source says the value changed, in 100 ns since 1601; 0 when it does not.
    pub source: i64,
    /// When the server had the value, in the same.
    pub server: i64,
    /// What the value counts to: [`RawVariant::as_count`].
    pub count: Option<u64>,
}

impl From<&MonitoredItem<'_>> for Change {
    #[inline]
    fn from(item: &MonitoredItem<'_>) -> Self {
        let value = &item.value;
        Self {
            client_handle: item.client_handle,
            status: value.status().bits(),
            source: value.source_timestamp().unwrap_or(0),
            server: value.server_timestamp().unwrap_or(0),
            count: value.value.as_ref().and_then(RawVariant::as_count),
        }
    }
}

impl DataChange<'_> {
    /// Tells each change. Servers send one item after another in the same shape, so that each is tried
    /// in the shape of the one before it, which takes a third of the time.
    #[inline]
    pub fn each(mut self, mut tell: impl FnMut(Change)) -> Result<(), WalkError> {
        while let Some(item) = self.next() {
            let item = item?;
            tell(Change::from(&item));
            let Some(shape) = Shape::of(&item) else {
                continue;
            };
            // After the last one there are diagnosticInfos to step over.
            while self.left > 1
                && let Some(change) = shape.read(&mut self.cursor)
            {
                self.left -= 1;
                tell(change);
            }
        }
        Ok(())
    }
}

/// Where the parts of an item lie whose value is one number: the same for all that have the same mask and
/// the same type.
struct Shape {
    /// Mask and type.
    leader: [u8; 2],
    number: Number,
    /// From the start of the item; none where the mask does not announce it.
    status: Option<usize>,
    source: Option<usize>,
    server: Option<usize>,
    size: usize,
}

/// Handle, mask and type come before the value.
const VALUE: usize = 6;

impl Shape {
    #[inline]
    fn of(item: &MonitoredItem<'_>) -> Option<Self> {
        let value = item.value.value.as_ref()?;
        let number = Number::of(value.kind()).filter(|_| value.array_len().is_none())?;
        let (&kind, payload) = value.encoded().split_first()?;
        let trailer = VALUE + payload.len();
        let at = |wanted| Some(trailer + item.value.starts(wanted)?);
        Some(Self {
            leader: [item.value.mask(), kind],
            number,
            status: at(mask::STATUS),
            source: at(mask::SOURCE_TIMESTAMP),
            server: at(mask::SERVER_TIMESTAMP),
            size: trailer + item.value.trailer_len(),
        })
    }

    /// The next item, if it has this shape.
    #[inline]
    fn read(&self, c: &mut Cursor<'_>) -> Option<Change> {
        let (item, rest) = c.rest().split_at_checked(self.size)?;
        let (&[h0, h1, h2, h3, mask, kind], value) = item.split_first_chunk::<VALUE>()?;
        if [mask, kind] != self.leader {
            return None;
        }
        let time = |at: Option<usize>| match at {
            Some(at) => Some(i64::from_le_bytes(*item.get(at..)?.first_chunk()?)),
            None => Some(0),
        };
        let change = Change {
            client_handle: u32::from_le_bytes([h0, h1, h2, h3]),
            status: match self.status {
                Some(at) => u32::from_le_bytes(*item.get(at..)?.first_chunk()?),
                None => 0,
            },
            source: time(self.source)?,
            server: time(self.server)?,
            count: self.number.count(value),
        };
        c.skip_to(rest);
        Some(change)
    }
}
