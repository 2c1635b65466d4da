//! When an item sampled a value that follows from the time alone: all that has to be kept of it.

use std::num::NonZeroU64;

use super::queue::Waits;

/// Says that there is a moment, so that none needs no more room than one.
const THERE: NonZeroU64 = NonZeroU64::MIN.saturating_mul(match NonZeroU64::new(1 << 63) {
    Some(bit) => bit,
    None => NonZeroU64::MIN,
});
/// Says that the value tells of an overflow.
const OVERFLOW: u64 = 1 << 62;

/// A sample by its time, which lasts for 146 years of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment(NonZeroU64);

impl Moment {
    /// In nanoseconds of monotonic time.
    #[inline]
    pub fn new(nanos: u64) -> Self {
        Self(THERE | (nanos & (OVERFLOW - 1)))
    }

    /// In nanoseconds of monotonic time.
    #[inline]
    pub fn nanos(self) -> u64 {
        self.0.get() & (OVERFLOW - 1)
    }

    /// Whether its value tells of an overflow.
    #[inline]
    pub fn is_overflow(self) -> bool {
        self.0.get() & OVERFLOW != 0
    }
}

impl Waits for Moment {
    fn overflowed(&mut self) {
        self.0 |= OVERFLOW;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_keeps_its_time_whatever_is_said_of_it() {
        for nanos in [0, 1, 86_400_000_000_000_000] {
            let mut moment = Moment::new(nanos);
            assert_eq!((moment.nanos(), moment.is_overflow()), (nanos, false));
            moment.overflowed();
            assert_eq!((moment.nanos(), moment.is_overflow()), (nanos, true));
        }
        assert_eq!(size_of::<Option<Moment>>(), 8);
    }
}
