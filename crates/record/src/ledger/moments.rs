//! At which moments of an interval something succeeded: what tells for how long nothing did.

use serde::{Deserialize, Serialize};

use super::TICK_NS;

/// How many moments are told apart in an interval.
pub(super) const MOMENTS: u64 = 128;

/// Of a tick.
const EACH: u64 = TICK_NS / MOMENTS;

/// The moments of an interval at which something succeeded, one bit each. Of several cores they are
/// put together exactly, and an interval of twice the length has moments of twice the length.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Moments(u128);

impl Moments {
    /// Something succeeded, in a tick. Costs a multiplication and a shift.
    #[inline]
    pub(super) fn note(&mut self, at: u64) {
        self.0 |= 1 << (at % TICK_NS / EACH);
    }

    /// What another core saw in the same interval.
    pub(super) fn merge(&mut self, other: Self) {
        self.0 |= other.0;
    }

    /// As a part of an interval that is so many times as long, the first being part 0.
    pub(super) fn within(self, part: u64, of: u64) -> Self {
        let mut wide = 0;
        let mut rest = self.0;
        while rest != 0 {
            let moment = u64::from(rest.trailing_zeros());
            wide |= 1 << ((part * MOMENTS + moment) / of);
            rest &= rest - 1;
        }
        Self(wide)
    }

    /// Which they are, rising.
    pub(super) fn iter(self) -> impl Iterator<Item = u64> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            let moment = (rest != 0).then(|| u64::from(rest.trailing_zeros()))?;
            rest &= rest - 1;
            Some(moment)
        })
    }
}
