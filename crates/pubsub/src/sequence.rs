//! Loss, repetition and order, from sequence numbers (Part 14, 7.2.3).

/// Which of two sequence numbers of 16 bits is the newer one.
///
/// `None` says that the distance is invalid: too far for either.
pub const fn is_newer(received: u16, last: u16) -> Option<bool> {
    match received.wrapping_sub(1).wrapping_sub(last) {
        0..0x4000 => Some(true),
        0xc001.. => Some(false),
        _ => None,
    }
}

/// The same for sequence numbers of 32 bits.
pub const fn is_newer_32(received: u32, last: u32) -> Option<bool> {
    match received.wrapping_sub(1).wrapping_sub(last) {
        0..0x4000_0000 => Some(true),
        0xc000_0001.. => Some(false),
        _ => None,
    }
}

/// What a message is, by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrival {
    /// The first of all.
    First,
    /// The one after the last.
    Next,
    /// One further on: so many before it are missing.
    Gap(u16),
    /// One that was missing.
    Late,
    /// One that was there already.
    Duplicate,
    /// So old that it cannot be said what it is.
    TooOld,
    /// The sender has begun anew.
    Restart,
}

/// What came of a stream of messages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// All that came.
    pub received: u64,
    /// Those that never came, or have not come yet.
    pub lost: u64,
    /// Those that came again.
    pub duplicates: u64,
    /// Those that came after a later one.
    pub late: u64,
    /// Those that came so late that it cannot be said what they are.
    pub too_old: u64,
    /// How often numbers were missing.
    pub gaps: u64,
    /// The most that were missing at once.
    pub longest_gap: u16,
    /// How often the numbers began anew.
    pub restarts: u64,
}

/// How far back it is known which numbers came.
const WINDOW: u16 = 1024;
/// So many old numbers in a row, one after another, are a sender that has begun anew.
const ANEW: u8 = 8;

/// Follows the sequence numbers of one sender. Takes 160 bytes and never allocates.
#[derive(Debug, Clone)]
pub struct Tracker {
    last: Option<u16>,
    seen: [u64; WINDOW as usize / 64],
    counts: Counts,
    /// The last old number, how many have come in a row, and how they were counted.
    old: (u16, u8),
}

impl Default for Tracker {
    fn default() -> Self {
        Self {
            last: None,
            seen: [0; WINDOW as usize / 64],
            counts: Counts::default(),
            old: (0, 0),
        }
    }
}

impl Tracker {
    /// What came so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// A message of this number came.
    #[inline]
    pub fn note(&mut self, sequence: u16) -> Arrival {
        self.counts.received += 1;
        let Some(last) = self.last else {
            self.begin(sequence);
            return Arrival::First;
        };
        // Nearly always the next one.
        if sequence == last.wrapping_add(1) {
            self.last = Some(sequence);
            self.mark(sequence);
            self.old.1 = 0;
            return Arrival::Next;
        }
        match is_newer(sequence, last) {
            Some(true) => self.further(sequence, last),
            Some(false) => self.older(sequence, last),
            None => self.restart(sequence),
        }
    }

    fn further(&mut self, sequence: u16, last: u16) -> Arrival {
        let missing = sequence.wrapping_sub(last) - 1;
        for back in 1..=missing.min(WINDOW) {
            self.clear(sequence.wrapping_sub(back));
        }
        self.last = Some(sequence);
        self.mark(sequence);
        self.old.1 = 0;
        self.counts.lost += u64::from(missing);
        self.counts.gaps += 1;
        self.counts.longest_gap = self.counts.longest_gap.max(missing);
        Arrival::Gap(missing)
    }

    fn older(&mut self, sequence: u16, last: u16) -> Arrival {
        let back = last.wrapping_sub(sequence);
        if back < WINDOW && !self.is_marked(sequence) {
            self.mark(sequence);
            self.counts.late += 1;
            self.counts.lost = self.counts.lost.saturating_sub(1);
            self.old.1 = 0;
            return Arrival::Late;
        }
        let follows = self.old.1 > 0 && sequence == self.old.0.wrapping_add(1);
        self.old = (sequence, if follows { self.old.1 + 1 } else { 1 });
        if self.old.1 >= ANEW {
            // The seven before it were of the new run too, and were counted as old ones.
            let before = u64::from(ANEW - 1);
            let again = self.counts.duplicates.min(before);
            self.counts.duplicates -= again;
            self.counts.too_old = self.counts.too_old.saturating_sub(before - again);
            return self.restart(sequence);
        }
        match back < WINDOW {
            true => {
                self.counts.duplicates += 1;
                Arrival::Duplicate
            }
            false => {
                self.counts.too_old += 1;
                Arrival::TooOld
            }
        }
    }

    fn restart(&mut self, sequence: u16) -> Arrival {
        self.counts.restarts += 1;
        self.begin(sequence);
        Arrival::Restart
    }

    /// What came before the first is not missing.
    fn begin(&mut self, sequence: u16) {
        self.seen = [u64::MAX; WINDOW as usize / 64];
        self.last = Some(sequence);
        self.old.1 = 0;
    }

    fn place(sequence: u16) -> (usize, u64) {
        let n = sequence % WINDOW;
        (usize::from(n / 64), 1 << (n % 64))
    }

    fn mark(&mut self, sequence: u16) {
        let (word, bit) = Self::place(sequence);
        if let Some(word) = self.seen.get_mut(word) {
            *word |= bit;
        }
    }

    fn clear(&mut self, sequence: u16) {
        let (word, bit) = Self::place(sequence);
        if let Some(word) = self.seen.get_mut(word) {
            *word &= !bit;
        }
    }

    fn is_marked(&self, sequence: u16) -> bool {
        let (word, bit) = Self::place(sequence);
        self.seen.get(word).is_none_or(|it| it & bit != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(numbers: impl IntoIterator<Item = u16>) -> Counts {
        let mut tracker = Tracker::default();
        for n in numbers {
            tracker.note(n);
        }
        tracker.counts()
    }

    #[test]
    fn the_bounds_are_those_of_table_135() {
        assert_eq!(is_newer(1, 0), Some(true));
        assert_eq!(is_newer(0, u16::MAX), Some(true));
        assert_eq!(is_newer(0x4000, 0), Some(true));
        assert_eq!(is_newer(0x4001, 0), None);
        assert_eq!(is_newer(0, 0), Some(false));
        // (0 - 1 - 16382) modulo 2^16 is 49153, one above the upper bound.
        assert_eq!(is_newer(0, 0x3ffe), Some(false));
        assert_eq!(is_newer(0, 0x3fff), None);
        assert_eq!(is_newer_32(0x4000_0000, 0), Some(true));
        assert_eq!(is_newer_32(0x4000_0001, 0), None);
        assert_eq!(is_newer_32(5, 5), Some(false));
    }

    #[test]
    fn a_round_of_all_numbers_loses_none() {
        let all = (0..200_000u32).map(|n| n as u16);
        assert_eq!(
            counts(all),
            Counts {
                received: 200_000,
                ..Counts::default()
            }
        );
    }

    #[test]
    fn each_fate_is_counted_as_what_it_is() {
        // 2, 3 lost, of which 3 comes late; 5 twice; 6 and 7 swapped
        let got = counts([0, 1, 4, 3, 5, 5, 7, 6]);
        let want = Counts {
            received: 8,
            lost: 1,
            duplicates: 1,
            late: 2,
            gaps: 2,
            longest_gap: 2,
            ..Counts::default()
        };
        assert_eq!(got, want);
    }

    #[test]
    fn the_cells_of_a_long_gap_are_not_taken_for_duplicates() {
        let got = counts((0..2000).chain([3500, 3499, 2600]));
        assert_eq!((got.lost, got.late, got.duplicates), (1498, 2, 0));
    }

    #[test]
    fn a_sender_that_begins_anew_is_seen_and_has_lost_nothing() {
        let got = counts((0..3000).chain(0..3000));
        assert_eq!((got.lost, got.restarts), (0, 1));
        assert_eq!((got.duplicates, got.too_old), (0, 0));
        let got = counts([0, 1, 30_000, 30_001]);
        assert_eq!((got.lost, got.restarts), (0, 1));
    }
}
