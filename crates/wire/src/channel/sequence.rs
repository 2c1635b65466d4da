//! Sequence numbers of a SecureChannel (Part 6, 6.7.2.4).

/// A number above this may be followed by one that starts again (UInt32.MaxValue - 1024).
const LEGACY_WRAP_AFTER: u32 = 4_294_966_271;
/// The first number after starting again is below this.
const LEGACY_WRAP_BELOW: u32 = 1024;

/// Which of the two rules a policy follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SequenceRule {
    /// LegacySequenceNumbers TRUE, all RSA policies: start anywhere, wrap early and loosely.
    Legacy,
    /// LegacySequenceNumbers FALSE, the ECC policies: start at 0, wrap exactly.
    Strict,
}

/// Gives numbers to chunks in the order in which they take their place in the stream.
#[derive(Debug)]
pub struct Outgoing {
    rule: SequenceRule,
    next: u32,
}

impl Outgoing {
    /// Starts where the rule says.
    pub fn new(rule: SequenceRule) -> Self {
        let next = match rule {
            SequenceRule::Legacy => 1,
            SequenceRule::Strict => 0,
        };
        Self { rule, next }
    }

    /// Starts at a number of the caller's choice, for tests of the wrap.
    pub fn starting_at(rule: SequenceRule, next: u32) -> Self {
        Self { rule, next }
    }

    /// The number of the next chunk.
    pub fn take(&mut self) -> u32 {
        let number = self.next;
        self.next = match self.rule {
            // Wraps as early as allowed: some stacks refuse the numbers in between.
            SequenceRule::Legacy if number > LEGACY_WRAP_AFTER => 1,
            _ => number.wrapping_add(1),
        };
        number
    }
}

/// Checks the numbers of arriving chunks.
#[derive(Debug)]
pub struct Incoming {
    rule: SequenceRule,
    last: Option<u32>,
}

impl Incoming {
    /// Nothing has arrived yet.
    pub fn new(rule: SequenceRule) -> Self {
        Self { rule, last: None }
    }

    /// The latest good number.
    #[inline]
    pub fn last(&self) -> Option<u32> {
        self.last
    }

    /// Whether `number` may follow. If so it is the latest from now on.
    pub fn accept(&mut self, number: u32) -> Result<(), OutOfSequence> {
        let good = match (self.last, self.rule) {
            (None, SequenceRule::Legacy) => true,
            (None, SequenceRule::Strict) => number == 0,
            (Some(last), SequenceRule::Strict) => number == last.wrapping_add(1),
            (Some(last), SequenceRule::Legacy) => {
                last.checked_add(1) == Some(number)
                    || (last > LEGACY_WRAP_AFTER && number < LEGACY_WRAP_BELOW)
            }
        };
        if !good {
            let after = self.last;
            return Err(OutOfSequence { after, number });
        }
        self.last = Some(number);
        Ok(())
    }
}

/// A chunk is missing, repeated, or not where it belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("sequence number {number} cannot follow {}", match .after { Some(n) => n.to_string(), None => "nothing".into() })]
pub struct OutOfSequence {
    /// The latest good number.
    pub after: Option<u32>,
    /// The number that came.
    pub number: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repeated_or_skipped_number_is_refused() {
        let mut incoming = Incoming::new(SequenceRule::Legacy);
        assert_eq!(incoming.accept(51), Ok(()));
        assert_eq!(incoming.accept(52), Ok(()));
        assert!(incoming.accept(52).is_err());
        assert!(incoming.accept(54).is_err());
        assert_eq!(incoming.accept(53), Ok(()));
    }

    #[test]
    fn legacy_numbers_wrap_only_in_the_last_1024_and_to_below_1024() {
        for (last, next, good) in [
            (LEGACY_WRAP_AFTER, 0, false),
            (LEGACY_WRAP_AFTER + 1, 0, true),
            (LEGACY_WRAP_AFTER + 1, 1023, true),
            (LEGACY_WRAP_AFTER + 1, 1024, false),
            (LEGACY_WRAP_AFTER + 1, LEGACY_WRAP_AFTER + 2, true),
            (u32::MAX, 0, true),
            (u32::MAX, 1, true),
        ] {
            let mut incoming = Incoming::new(SequenceRule::Legacy);
            incoming.accept(last).unwrap();
            assert_eq!(incoming.accept(next).is_ok(), good, "{last} then {next}");
        }
    }

    #[test]
    fn strict_numbers_start_at_zero_and_wrap_exactly() {
        let mut incoming = Incoming::new(SequenceRule::Strict);
        assert!(incoming.accept(1).is_err());
        assert_eq!(incoming.accept(0), Ok(()));
        incoming.last = Some(u32::MAX - 1);
        assert!(incoming.accept(0).is_err());
        assert_eq!(incoming.accept(u32::MAX), Ok(()));
        assert!(incoming.accept(1).is_err());
        assert_eq!(incoming.accept(0), Ok(()));
    }

    #[test]
    fn what_goes_out_is_accepted_at_the_other_end_around_the_wrap() {
        for rule in [SequenceRule::Legacy, SequenceRule::Strict] {
            let mut outgoing = Outgoing::starting_at(rule, u32::MAX - 3000);
            let mut incoming = Incoming::new(rule);
            incoming.last = Some(u32::MAX - 3001);
            for _ in 0..6000 {
                incoming.accept(outgoing.take()).unwrap();
            }
        }
    }
}
