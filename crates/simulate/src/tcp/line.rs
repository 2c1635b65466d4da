//! The link that all connections share.

use link::{LinkDirection, Outcome, Spec, Way};

use super::Segment;

/// Both directions of a link, for segments of any number of connections.
#[derive(Debug)]
pub struct Line {
    passages: [LinkDirection; 2],
    carried: [Carried; 2],
}

/// What a direction carried.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Carried {
    /// Segments that were put on it.
    pub segments: u64,
    /// Their bytes, headers among them.
    pub bytes: u64,
    /// Segments that did not arrive.
    pub lost: u64,
}

impl Line {
    /// A link; `which` tells those of one seed apart.
    pub fn new(spec: Spec, seed: u64, which: u64) -> Self {
        let passage = |direction, way| LinkDirection::new(direction, seed, 2 * which + way);
        Self {
            passages: [passage(spec.up, 0), passage(spec.down, 1)],
            carried: [Carried::default(); 2],
        }
    }

    /// A segment is put on the line: when it arrives, once, or not at all, or twice. Times must not go back.
    pub fn carry(
        &mut self,
        now: u64,
        way: Way,
        segment: &Segment,
    ) -> impl Iterator<Item = u64> + use<> {
        let [up, down] = &mut self.passages;
        let [all_up, all_down] = &mut self.carried;
        let (passage, carried) = match way {
            Way::Up => (up, all_up),
            Way::Down => (down, all_down),
        };
        let bytes = segment.size();
        carried.segments += 1;
        carried.bytes += bytes;
        let (at, copies) = match passage.pass(now, bytes) {
            (Outcome::Sent { arrives, .. }, twice) => (arrives, 1 + usize::from(twice)),
            _ => (now, 0),
        };
        carried.lost += u64::from(copies == 0);
        std::iter::repeat_n(at, copies)
    }

    /// What a direction carried so far.
    pub fn carried(&self, way: Way) -> Carried {
        let [up, down] = self.carried;
        match way {
            Way::Up => up,
            Way::Down => down,
        }
    }
}
