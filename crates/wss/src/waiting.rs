//! Bytes that came and had no room with who reads them.

/// Such bytes, in their order.
#[derive(Debug, Default)]
pub struct Waiting {
    /// All of them, those too that were taken.
    pub bytes: Vec<u8>,
    taken: usize,
}

impl Waiting {
    /// Takes as many as there is room for.
    pub fn take(&mut self, into: &mut [u8]) -> usize {
        let rest = self.bytes.get(self.taken..).unwrap_or_default();
        let count = rest.len().min(into.len());
        if let (Some(place), Some(rest)) = (into.get_mut(..count), rest.get(..count)) {
            place.copy_from_slice(rest);
        }
        self.taken += count;
        if self.taken == self.bytes.len() {
            *self = Self::default();
        }
        count
    }

    /// Whether all were taken.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }
}
