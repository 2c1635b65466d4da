//! Where a value is counted: the slots of an HdrHistogram with three significant digits.
//!
//! Up to 2,047 each value has a slot; above, each octave is divided into 1,024, so that the values of
//! a slot differ by less than a thousandth. The arrangement is that of the `hdrhistogram` crate
//! (lowest value 1, three digits), and a test holds it to that. It covers all of `u64`: nothing is
//! clamped.

/// Slots for all of `u64`.
pub(crate) const SLOTS: usize = 2048 + 53 * 1024;

/// The slot that counts a value.
#[inline]
pub(crate) const fn slot(value: u64) -> usize {
    let octave = 53 - (value | 2047).leading_zeros();
    (octave as usize) * 1024 + (value >> octave) as usize
}

/// The smallest value of a slot.
pub(crate) const fn lowest(slot: usize) -> u64 {
    if slot < 2048 {
        slot as u64
    } else {
        ((slot % 1024 + 1024) as u64) << (slot / 1024 - 1)
    }
}

/// The largest value of a slot.
pub(crate) const fn highest(slot: usize) -> u64 {
    if slot < 2048 {
        slot as u64
    } else {
        lowest(slot) + ((1 << (slot / 1024 - 1)) - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::Histogram;
    use proptest::prelude::*;

    #[test]
    fn the_largest_value_has_the_last_slot() {
        assert_eq!(slot(u64::MAX), SLOTS - 1);
        assert_eq!(highest(SLOTS - 1), u64::MAX);
    }

    proptest! {
        #[test]
        fn slots_are_those_of_the_hdrhistogram_crate(value in any::<u64>(), shift in 0u32..64) {
            let value = value >> shift;
            let hdr = Histogram::<u64>::new_with_bounds(1, u64::MAX / 2, 3).unwrap();
            let here = slot(value);
            prop_assert!(lowest(here) <= value && value <= highest(here));
            prop_assert_eq!(slot(lowest(here)), here);
            prop_assert_eq!(slot(highest(here)), here);
            prop_assert_eq!(lowest(here), hdr.lowest_equivalent(value));
            if value < 1 << 62 {
                prop_assert_eq!(highest(here), hdr.highest_equivalent(value));
            }
        }
    }
}
