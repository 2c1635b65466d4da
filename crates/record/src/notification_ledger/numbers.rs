//! Sequence numbers of a subscription (Part 4, 5.14.1.1): what came, what is missing.

/// Missing numbers that are remembered; those before count as lost for good.
const REMEMBERED: usize = 4096;

/// A distance beyond which the numbering must have begun anew.
const BEYOND: i64 = 1 << 20;

/// A number that did not come in its turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Hole {
    pub(super) sequence: u32,
    /// The publishing that it takes the place of.
    pub(super) cycle: u32,
    pub(super) noticed: u64,
    pub(super) state: NumberState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NumberState {
    Missing,
    Asked,
    /// Republish brought it; its own copy may still come.
    Recovered,
    /// It came by itself.
    Returned,
    /// Republish does not have it; it may still come by itself.
    Refused,
}

impl NumberState {
    /// The message is not here.
    pub(super) fn is_open(self) -> bool {
        matches!(self, Self::Missing | Self::Asked | Self::Refused)
    }
}

/// Numbers that are missing: `count` of them from `first` on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gap {
    /// The first.
    pub first: u32,
    /// How many.
    pub count: u32,
}

impl Gap {
    /// All of them.
    pub fn numbers(self) -> impl Iterator<Item = u32> {
        std::iter::successors(Some(self.first), |number| Some(after(*number)))
            .take(self.count as usize)
    }
}

/// What a number says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Arrival {
    /// It is the next.
    Next,
    /// Others should have come before.
    Ahead(Gap),
    /// It should have come before.
    Fills(usize),
    /// It came before.
    Repeated,
    /// It has nothing to do with those before.
    Renumbered,
}

#[derive(Debug, Clone)]
pub(super) struct Numbers {
    /// The next.
    pub(super) expected: u32,
    /// By rising time at which they were noticed.
    pub(super) holes: Vec<Hole>,
    /// The number of a StatusChange that told of a transfer; 0 if there was none. Some servers give it a
    /// number of its own, others that of the message that follows.
    pub(super) passed: u32,
}

impl Default for Numbers {
    fn default() -> Self {
        Self {
            expected: 1,
            holes: Vec::new(),
            passed: 0,
        }
    }
}

/// The number behind; after the largest comes 1.
pub(super) fn after(sequence: u32) -> u32 {
    sequence.checked_add(1).unwrap_or(1)
}

/// From one number to another, the shorter way round.
fn distance(from: u32, to: u32) -> i64 {
    // There are 2^32 - 1 numbers: 0 is none.
    const ALL: i64 = u32::MAX as i64;
    let way = i64::from(to) - i64::from(from);
    if way > ALL / 2 {
        way - ALL
    } else if way < -(ALL / 2) {
        way + ALL
    } else {
        way
    }
}

impl Numbers {
    /// What a notification message's number says; changes nothing.
    #[inline]
    pub(super) fn look(&self, sequence: u32) -> Arrival {
        if sequence == self.expected {
            return Arrival::Next;
        }
        self.astray(sequence)
    }

    #[cold]
    fn astray(&self, sequence: u32) -> Arrival {
        let expected = match self.passed == self.expected {
            true => after(self.expected),
            false => self.expected,
        };
        if sequence == expected {
            return Arrival::Next;
        }
        let way = distance(expected, sequence);
        if sequence == 0 || way.abs() > BEYOND {
            return Arrival::Renumbered;
        }
        if way > 0 {
            return Arrival::Ahead(Gap {
                first: expected,
                count: way as u32,
            });
        }
        match self.hole(sequence) {
            Some(at) if self.holes[at].state.is_open() => Arrival::Fills(at),
            _ => Arrival::Repeated,
        }
    }

    pub(super) fn hole(&self, sequence: u32) -> Option<usize> {
        self.holes
            .iter()
            .rposition(|hole| hole.sequence == sequence)
    }

    /// Notes numbers as missing; the publishing of the first is `cycle`.
    pub(super) fn open(&mut self, gap: Gap, cycle: u32, noticed: u64) {
        for (at, sequence) in gap.numbers().enumerate() {
            self.holes.push(Hole {
                sequence,
                cycle: cycle.wrapping_add(at as u32),
                noticed,
                state: NumberState::Missing,
            });
        }
        if self.holes.len() > 2 * REMEMBERED {
            self.holes.drain(..self.holes.len() - REMEMBERED);
        }
    }

    /// How many messages are missing of the publishings between two.
    #[inline]
    pub(super) fn missing_between(&self, before: u32, now: u32) -> u32 {
        if self.holes.is_empty() {
            return 0;
        }
        let behind = |hole: &&Hole| hole.cycle.wrapping_sub(before) as i32 > 0;
        let is_missing =
            |hole: &&Hole| hole.state.is_open() && (now.wrapping_sub(hole.cycle) as i32) > 0;
        let holes = self.holes.iter().rev().take_while(behind);
        holes.filter(is_missing).count() as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_a_status_change_may_be_its_own_or_that_of_the_next_message() {
        let numbers = Numbers {
            expected: 7,
            passed: 7,
            ..Numbers::default()
        };
        assert_eq!(numbers.look(7), Arrival::Next);
        assert_eq!(numbers.look(8), Arrival::Next);
        let gap = Gap { first: 8, count: 2 };
        assert_eq!(numbers.look(10), Arrival::Ahead(gap));
        assert_eq!(numbers.look(6), Arrival::Repeated);
    }

    #[test]
    fn after_the_largest_number_comes_one() {
        let numbers = Numbers {
            expected: u32::MAX,
            holes: Vec::new(),
            passed: 0,
        };
        assert_eq!(numbers.look(u32::MAX), Arrival::Next);
        let gap = Gap {
            first: u32::MAX,
            count: 2,
        };
        assert_eq!(numbers.look(2), Arrival::Ahead(gap));
        assert_eq!(gap.numbers().collect::<Vec<_>>(), [u32::MAX, 1]);
        let numbers = Numbers {
            expected: 2,
            holes: Vec::new(),
            passed: 0,
        };
        assert_eq!(numbers.look(u32::MAX - 1), Arrival::Repeated);
    }

    #[test]
    fn a_number_far_from_the_others_is_of_another_numbering() {
        let numbers = Numbers {
            expected: 5_000_000,
            holes: Vec::new(),
            passed: 0,
        };
        assert_eq!(numbers.look(1), Arrival::Renumbered);
        assert_eq!(numbers.look(0), Arrival::Renumbered);
    }
}
