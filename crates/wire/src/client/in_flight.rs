//! Requests that wait for their response: an index and a compare each.

use crate::time::Instant;

/// A request as both sides know it. The low half is its place in the table, the high half how
/// often the place was used, so that an answer that comes too late meets nobody.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RequestId(pub(crate) u32);

impl RequestId {
    /// The number on the wire; also the RequestHandle.
    pub fn number(self) -> u32 {
        self.0
    }

    /// The place in the table: dense from 0, free again once the response is there. Callers may
    /// keep what they know of a request in an array of their own.
    pub fn slot(self) -> usize {
        (self.0 & 0xffff) as usize
    }
}

/// The most requests in flight on one connection.
pub const MAX_IN_FLIGHT: usize = 0x1_0000;

#[derive(Debug, Clone, Copy)]
struct Slot {
    /// 1..=0xffff, so that no request id is 0.
    generation: u16,
    waiting: bool,
    deadline: Instant,
}

/// The table.
#[derive(Debug)]
pub(super) struct InFlight {
    slots: Vec<Slot>,
    free: Vec<u16>,
    /// No deadline is earlier: a bound, made exact when it is reached.
    earliest: Instant,
}

impl Default for InFlight {
    fn default() -> Self {
        Self {
            slots: Vec::new(),
            free: Vec::new(),
            earliest: Instant::from_nanos(u64::MAX),
        }
    }
}

impl InFlight {
    /// Takes a place. Nothing if all are taken.
    pub(super) fn insert(&mut self, deadline: Instant) -> Option<RequestId> {
        self.earliest = self.earliest.min(deadline);
        let index = match self.free.pop() {
            Some(index) => index,
            None => {
                let index = u16::try_from(self.slots.len()).ok()?;
                self.slots.push(Slot {
                    generation: 0,
                    waiting: false,
                    deadline,
                });
                index
            }
        };
        let slot = self.slots.get_mut(usize::from(index))?;
        slot.generation = slot.generation.checked_add(1).unwrap_or(1);
        slot.waiting = true;
        slot.deadline = deadline;
        Some(RequestId(
            u32::from(slot.generation) << 16 | u32::from(index),
        ))
    }

    /// Whether the request still waits.
    pub(super) fn contains(&self, id: RequestId) -> bool {
        self.slots
            .get(id.slot())
            .is_some_and(|slot| slot.waiting && u32::from(slot.generation) == id.0 >> 16)
    }

    /// Frees the place. False if the request does not wait (any more).
    pub(super) fn remove(&mut self, id: RequestId) -> bool {
        if !self.contains(id) {
            return false;
        }
        if let Some(slot) = self.slots.get_mut(id.slot()) {
            slot.waiting = false;
        }
        self.free.push((id.0 & 0xffff) as u16);
        true
    }

    /// How many wait.
    pub(super) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// When to look for expired ones; nothing if none waits.
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        (self.len() > 0).then_some(self.earliest)
    }

    /// One request whose time is over, taken out. Scans the table only when the earliest
    /// deadline has passed, which is once a timeout and not once a request.
    pub(super) fn expire(&mut self, now: Instant) -> Option<RequestId> {
        if now < self.earliest {
            return None;
        }
        let mut expired = None;
        let mut earliest = Instant::from_nanos(u64::MAX);
        for (index, slot) in self.slots.iter().enumerate().filter(|(_, s)| s.waiting) {
            if slot.deadline <= now && expired.is_none() {
                expired = Some(RequestId(u32::from(slot.generation) << 16 | index as u32));
            } else {
                earliest = earliest.min(slot.deadline);
            }
        }
        self.earliest = earliest;
        self.remove(expired?);
        expired
    }

    /// All that wait, taken out one by one.
    pub(super) fn drain(&mut self) -> Option<RequestId> {
        let (index, slot) = self.slots.iter().enumerate().find(|(_, s)| s.waiting)?;
        let id = RequestId(u32::from(slot.generation) << 16 | index as u32);
        self.remove(id);
        Some(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(nanos: u64) -> Instant {
        Instant::from_nanos(nanos)
    }

    #[test]
    fn a_place_is_used_again_but_an_old_id_no_longer_fits() {
        let mut table = InFlight::default();
        let first = table.insert(at(10)).unwrap();
        assert!(table.remove(first));
        let second = table.insert(at(10)).unwrap();
        assert_eq!(first.slot(), second.slot());
        assert_ne!(first, second);
        assert!(!table.remove(first));
        assert!(table.remove(second));
    }

    #[test]
    fn no_request_id_is_zero_even_after_the_generation_wraps() {
        let mut table = InFlight::default();
        for _ in 0..70_000 {
            let id = table.insert(at(1)).unwrap();
            assert_ne!(id.number(), 0);
            table.remove(id);
        }
    }

    #[test]
    fn requests_expire_at_their_deadline_and_not_before() {
        let mut table = InFlight::default();
        let late = table.insert(at(30)).unwrap();
        let early = table.insert(at(10)).unwrap();
        assert_eq!(table.next_deadline(), Some(at(10)));
        assert_eq!(table.expire(at(9)), None);
        assert_eq!(table.expire(at(10)), Some(early));
        assert_eq!(table.expire(at(10)), None);
        assert_eq!(table.next_deadline(), Some(at(30)));
        assert_eq!(table.expire(at(40)), Some(late));
        assert_eq!(table.next_deadline(), None);
    }

    #[test]
    fn the_table_has_an_end() {
        let mut table = InFlight::default();
        for _ in 0..MAX_IN_FLIGHT {
            assert!(table.insert(at(1)).is_some());
        }
        assert_eq!(table.insert(at(1)), None);
        assert_eq!(table.len(), MAX_IN_FLIGHT);
    }
}
