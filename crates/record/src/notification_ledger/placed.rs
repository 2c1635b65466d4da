//! What can be found out about a counter's value.

/// InfoType DataValue and the Overflow bit of a status code (Part 4, 7.39.1).
pub(super) const OVERFLOW: u32 = 0x0480;
pub(super) const OVERFLOW_MASK: u32 = 0x0C80;

/// What was found out about a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Placed {
    /// The newest of its item, with the lower half of its count.
    Ahead(u32),
    /// First copy of an older one.
    Behind,
    /// It came before.
    Again,
}
