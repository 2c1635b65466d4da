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

impl Slot {
    fn id(&self, index: usize) -> RequestId {
        RequestId(u32::from(self.generation) << 16 | index as u32)
    }
}

/// The table.
#[derive(Debug)]
pub(super) struct InFlight {
    slots: Vec<Slot>,
    free: Vec<u16>,
    /// No deadline is earlier: a bound, made exact when it is reached.
    earliest: Instant,
    /// Where the search for expired ones goes on.
    searched: usize,
    /// No deadline of the places searched so far is earlier, nor of any taken meanwhile.
    later: Instant,
}

const NEVER: Instant = Instant::from_nanos(u64::MAX);

impl Default for InFlight {
    fn default() -> Self {
        Self {
            slots: Vec::new(),
            free: Vec::new(),
            earliest: NEVER,
            searched: 0,
            later: NEVER,
        }
    }
}

impl InFlight {
    /// Takes a place. Nothing if all are taken.
    pub(super) fn insert(&mut self, deadline: Instant) -> Option<RequestId> {
        self.earliest = self.earliest.min(deadline);
        self.later = self.later.min(deadline);
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
        let id = slot.id(usize::from(index));
        debug_assert_ne!(id.0, 0, "no request has the id 0");
        Some(id)
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
        debug_assert!(
            self.free.len() <= self.slots.len(),
            "a place was freed twice"
        );
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

    /// One request whose time is over, taken out. Searches the table only when the earliest
    /// deadline has passed, which is once a timeout and not once a request; and once for all
    /// that have the same deadline.
    pub(super) fn expire(&mut self, now: Instant) -> Option<RequestId> {
        while self.len() > 0 && now >= self.earliest {
            while let Some(slot) = self.slots.get(self.searched) {
                let id = slot.id(self.searched);
                self.searched += 1;
                if slot.waiting && slot.deadline <= now {
                    self.remove(id);
                    return Some(id);
                }
                if slot.waiting {
                    self.later = self.later.min(slot.deadline);
                }
            }
            self.earliest = std::mem::replace(&mut self.later, NEVER);
            self.searched = 0;
        }
        None
    }

    /// All that wait, taken out one by one.
    pub(super) fn drain(&mut self) -> Option<RequestId> {
        while self.len() > 0 {
            let Some(slot) = self.slots.get(self.searched) else {
                self.searched = 0;
                continue;
            };
            let id = slot.id(self.searched);
            if self.remove(id) {
                return Some(id);
            }
            self.searched += 1;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

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

    #[test]
    fn a_full_table_expires_and_drains_in_a_few_passes() {
        // One pass for each request would take half a minute in a debug build.
        let begin = std::time::Instant::now();
        let mut table = InFlight::default();
        for _ in 0..MAX_IN_FLIGHT {
            table.insert(at(5)).unwrap();
        }
        let mut expired = 0;
        while table.expire(at(5)).is_some() {
            expired += 1;
            if expired == 10 {
                table.insert(at(3)).unwrap();
                table.insert(at(9)).unwrap();
            }
        }
        assert_eq!(expired, MAX_IN_FLIGHT + 1);
        assert_eq!(table.next_deadline(), Some(at(9)));
        for _ in 1..MAX_IN_FLIGHT {
            table.insert(at(7)).unwrap();
        }
        let mut drained = 0;
        while table.drain().is_some() {
            drained += 1;
        }
        assert_eq!(drained, MAX_IN_FLIGHT);
        assert!(begin.elapsed() < Duration::from_secs(10));
    }

    #[test]
    fn requests_sent_while_others_expire_keep_their_deadlines() {
        let mut table = InFlight::default();
        let first = table.insert(at(10)).unwrap();
        let second = table.insert(at(10)).unwrap();
        assert_eq!(table.expire(at(10)), Some(first));
        let third = table.insert(at(12)).unwrap();
        assert_eq!(third.slot(), first.slot());
        assert_eq!(table.expire(at(11)), Some(second));
        assert_eq!(table.expire(at(11)), None);
        assert_eq!(table.next_deadline(), Some(at(12)));
        assert_eq!(table.expire(at(12)), Some(third));
        assert_eq!(table.expire(at(12)), None);
        assert_eq!(table.expire(NEVER), None);
    }
}
