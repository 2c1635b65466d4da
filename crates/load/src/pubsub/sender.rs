//! Who sends what a listener hears, as it tells while it listens.

/// A publisher and writer group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sender {
    /// What they are called.
    pub name: String,
    /// Mapping, encoding and security of what they send.
    pub how: String,
    /// NetworkMessages.
    pub messages: u64,
    /// Messages that never came, by their sequence numbers.
    pub lost: u64,
}

/// So many are told of; a result has all that are followed.
pub(super) const MOST: usize = 64;
