//! Datagrams that IP cut up, put together again (RFC 791, RFC 8200), within bounds: a capture may have anything.

use std::net::IpAddr;

/// So many datagrams may wait for the rest of them; each has 65,535 bytes at most.
const WAITING: usize = 256;
/// No datagram is longer.
const LONGEST: usize = 65_535;
/// A datagram that was not whole after so long is none, as on Linux.
const PATIENCE_NS: u64 = 30_000_000_000;

/// A part of a datagram of UDP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part<'a> {
    /// Whose it is.
    pub of: Name,
    /// Where it begins.
    pub at: usize,
    /// Whether others follow.
    pub more: bool,
    /// All of it.
    pub bytes: &'a [u8],
}

/// What all parts of a datagram have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Name {
    /// Who sent it.
    pub from: IpAddr,
    /// Where to.
    pub to: IpAddr,
    /// The number that the sender gave it.
    pub number: u32,
}

/// A datagram of which parts came.
#[derive(Debug)]
struct Waiting {
    of: Name,
    /// When the first part came, if the capture says it.
    since: Option<u64>,
    bytes: Vec<u8>,
    /// What came of it: beginnings and ends, in order, none of which touch.
    ranges: Vec<(usize, usize)>,
    end: Option<usize>,
    parts: u64,
    /// Parts contradict each other: it never becomes whole (RFC 5722).
    broken: bool,
}

/// Datagrams that are not whole yet.
#[derive(Debug, Default)]
pub struct Fragments {
    /// The oldest first.
    waiting: Vec<Waiting>,
    /// Parts that came.
    parts: u64,
    /// Parts of datagrams that became whole.
    used: u64,
    /// Datagrams that became whole.
    pub whole: u64,
}

impl Fragments {
    /// Takes a part that came at this time; the datagram if it is the last that was missing, with the header of UDP.
    pub fn take(&mut self, part: Part<'_>, at: Option<u64>) -> Option<Vec<u8>> {
        self.parts += 1;
        let is_late = |it: &Waiting| {
            let waited = at
                .zip(it.since)
                .map(|(now, since)| now.saturating_sub(since));
            waited.is_some_and(|it| it > PATIENCE_NS)
        };
        self.waiting.retain(|it| !is_late(it));
        let place = match self.waiting.iter().position(|it| it.of == part.of) {
            Some(place) => place,
            None => {
                if self.waiting.len() >= WAITING {
                    self.waiting.remove(0);
                }
                self.waiting.push(Waiting::new(part.of, at));
                self.waiting.len() - 1
            }
        };
        let waiting = self.waiting.get_mut(place)?;
        waiting.add(part);
        if !waiting.is_whole() {
            return None;
        }
        let whole = self.waiting.remove(place);
        self.used += whole.parts;
        self.whole += 1;
        Some(whole.bytes)
    }

    /// Parts of datagrams that did not become whole.
    pub fn unused(&self) -> u64 {
        self.parts - self.used
    }
}

impl Waiting {
    fn new(of: Name, since: Option<u64>) -> Self {
        Self {
            of,
            since,
            bytes: Vec::new(),
            ranges: Vec::new(),
            end: None,
            parts: 0,
            broken: false,
        }
    }

    fn add(&mut self, part: Part<'_>) {
        self.parts += 1;
        let (begin, end) = (part.at, part.at + part.bytes.len());
        // Again what was there, as it was.
        if self.bytes.get(begin..end) == Some(part.bytes) && self.has(begin, end) {
            return;
        }
        // All but the last end where another one may begin.
        let odd = part.more && !part.bytes.len().is_multiple_of(8);
        let overlaps = self.ranges.iter().any(|(a, b)| begin < *b && *a < end);
        let beyond = self
            .end
            .is_some_and(|it| end > it || !part.more && end != it);
        let before = !part.more && self.ranges.iter().any(|(_, b)| *b > end);
        if part.bytes.is_empty() || end > LONGEST || odd || overlaps || beyond || before {
            self.broken = true;
            return;
        }
        if self.bytes.len() < end {
            self.bytes.resize(end, 0);
        }
        if let Some(place) = self.bytes.get_mut(begin..end) {
            place.copy_from_slice(part.bytes);
        }
        if !part.more {
            self.end = Some(end);
        }
        self.ranges.push((begin, end));
        self.ranges.sort_unstable();
        self.ranges.dedup_by(|next, before| {
            let touch = before.1 == next.0;
            if touch {
                before.1 = next.1;
            }
            touch
        });
    }

    fn has(&self, begin: usize, end: usize) -> bool {
        self.ranges.iter().any(|(a, b)| *a <= begin && end <= *b)
    }

    fn is_whole(&self) -> bool {
        !self.broken && self.end.is_some_and(|end| self.ranges == [(0, end)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(number: u32) -> Name {
        Name {
            from: [192, 168, 1, 10].into(),
            to: [224, 0, 2, 14].into(),
            number,
        }
    }

    fn part(number: u32, at: usize, more: bool, bytes: &[u8]) -> Part<'_> {
        Part {
            of: of(number),
            at,
            more,
            bytes,
        }
    }

    #[test]
    fn parts_in_any_order_and_again_make_the_datagram() {
        let bytes: Vec<u8> = (0..40).collect();
        let parts = [
            part(1, 0, true, &bytes[..16]),
            part(1, 16, true, &bytes[16..32]),
            part(1, 32, false, &bytes[32..]),
        ];
        for order in [
            [0, 1, 2],
            [0, 2, 1],
            [1, 0, 2],
            [1, 2, 0],
            [2, 0, 1],
            [2, 1, 0],
        ] {
            let mut fragments = Fragments::default();
            let [a, b, c] = order;
            assert_eq!(fragments.take(parts[a], None), None);
            assert_eq!(fragments.take(parts[a], None), None, "again");
            assert_eq!(fragments.take(parts[b], None), None);
            // Another one of the same hosts meanwhile.
            assert_eq!(fragments.take(part(2, 0, true, &[0; 8]), None), None);
            let whole = fragments.take(parts[c], None);
            assert_eq!(whole.as_ref(), Some(&bytes), "{order:?}");
            assert_eq!((fragments.whole, fragments.unused()), (1, 1));
        }
    }

    #[test]
    fn parts_that_contradict_each_other_make_nothing() {
        let bad: [&[(usize, bool, &[u8])]; 5] = [
            // Overlaps, with other bytes.
            &[
                (0, true, &[1; 16]),
                (8, true, &[2; 16]),
                (24, false, &[3; 8]),
            ],
            // Two ends.
            &[
                (8, false, &[1; 8]),
                (16, false, &[1; 8]),
                (0, true, &[1; 8]),
            ],
            // Something behind the end, before and after that was known.
            &[(16, true, &[1; 8]), (8, false, &[1; 8]), (0, true, &[1; 8])],
            // A length that nothing can follow.
            &[(0, true, &[1; 9]), (9, false, &[1; 8])],
            &[(0, true, &[]), (0, false, &[])],
        ];
        for parts in bad {
            let mut fragments = Fragments::default();
            for (at, more, bytes) in parts {
                assert_eq!(fragments.take(part(1, *at, *more, bytes), None), None);
            }
            assert_eq!(fragments.unused(), parts.len() as u64, "{parts:?}");
        }
        let mut fragments = Fragments::default();
        assert_eq!(fragments.take(part(1, 65_528, false, &[1; 8]), None), None);
        assert!(fragments.waiting[0].broken, "longer than any datagram");
    }

    #[test]
    fn what_waits_is_bounded_in_number_and_in_time() {
        let mut fragments = Fragments::default();
        for number in 0..10_000 {
            assert_eq!(fragments.take(part(number, 0, true, &[1; 8]), None), None);
        }
        assert_eq!(fragments.waiting.len(), WAITING);
        // The last of them are there, the first are not.
        assert!(fragments.take(part(9_999, 8, false, &[1]), None).is_some());
        assert!(fragments.take(part(0, 8, false, &[1]), None).is_none());
        let mut fragments = Fragments::default();
        let second = 1_000_000_000;
        fragments.take(part(1, 0, true, &[1; 8]), Some(second));
        fragments.take(part(2, 0, true, &[1; 8]), Some(12 * second));
        let late = Some(32 * second);
        assert!(fragments.take(part(1, 8, false, &[1]), late).is_none());
        assert!(fragments.take(part(2, 8, false, &[1]), late).is_some());
    }
}
