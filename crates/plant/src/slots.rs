//! Things kept by number, where a number is not taken for another thing too soon.

use wire::server::RequestId;

/// A place and how often it was used before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SlotId {
    pub slot: u32,
    pub generation: u32,
}

/// A request that is answered later.
#[derive(Debug, Clone, Copy)]
pub struct PendingRequest {
    pub link: SlotId,
    pub id: RequestId,
    pub handle: u32,
}

#[derive(Debug)]
struct Slot<T> {
    generation: u32,
    thing: Option<T>,
}

/// Things by [`SlotId`].
#[derive(Debug)]
pub struct Slots<T> {
    slots: Vec<Slot<T>>,
    free: Vec<u32>,
}

impl<T> Default for Slots<T> {
    fn default() -> Self {
        Self {
            slots: Vec::new(),
            free: Vec::new(),
        }
    }
}

impl<T> Slots<T> {
    /// Keeps a thing, made knowing its number.
    pub fn insert_with(&mut self, make: impl FnOnce(SlotId) -> T) -> SlotId {
        let id = self.vacant();
        if let Some(place) = self.slots.get_mut(id.slot as usize) {
            place.thing = Some(make(id));
        }
        id
    }

    /// The same for a thing that may not come to be.
    pub fn try_insert_with(&mut self, make: impl FnOnce(SlotId) -> Option<T>) -> Option<SlotId> {
        let id = self.vacant();
        let place = self.slots.get_mut(id.slot as usize)?;
        place.thing = make(id);
        if place.thing.is_none() {
            self.free.push(id.slot);
            return None;
        }
        Some(id)
    }

    /// A number that is free.
    fn vacant(&mut self) -> SlotId {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot {
                generation: 0,
                thing: None,
            });
            (self.slots.len() - 1) as u32
        });
        let mut generation = 0;
        if let Some(place) = self.slots.get_mut(slot as usize) {
            place.generation = place.generation.wrapping_add(1);
            generation = place.generation;
        }
        SlotId { slot, generation }
    }

    /// Gives a thing out of keeping.
    pub fn remove(&mut self, id: SlotId) -> Option<T> {
        let place = self.slots.get_mut(id.slot as usize)?;
        if place.generation != id.generation {
            return None;
        }
        let thing = place.thing.take();
        if thing.is_some() {
            self.free.push(id.slot);
        }
        thing
    }

    /// Puts a thing back in the place that it was taken from.
    pub fn put_back(&mut self, id: SlotId, thing: T) {
        if let Some(place) = self.slots.get_mut(id.slot as usize)
            && place.generation == id.generation
            && place.thing.is_none()
        {
            place.thing = Some(thing);
            self.free.retain(|slot| *slot != id.slot);
        }
    }

    /// The thing of this number.
    #[inline]
    pub fn get(&self, id: SlotId) -> Option<&T> {
        let place = self.slots.get(id.slot as usize)?;
        place
            .thing
            .as_ref()
            .filter(|_| place.generation == id.generation)
    }

    /// The same, to change it.
    #[inline]
    pub fn get_mut(&mut self, id: SlotId) -> Option<&mut T> {
        let place = self.slots.get_mut(id.slot as usize)?;
        place
            .thing
            .as_mut()
            .filter(|_| place.generation == id.generation)
    }

    /// What is kept in a slot now, and its number.
    #[inline]
    pub fn current(&self, slot: u32) -> Option<(SlotId, &T)> {
        let place = self.slots.get(slot as usize)?;
        let generation = place.generation;
        let thing = place.thing.as_ref()?;
        Some((SlotId { slot, generation }, thing))
    }

    /// As many as there ever were at once.
    pub fn places(&self) -> usize {
        self.slots.len()
    }

    /// All that are kept.
    pub fn ids(&self) -> Vec<SlotId> {
        (0..self.slots.len() as u32)
            .filter_map(|slot| self.current(slot).map(|(id, _)| id))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_number_does_not_reach_a_new_thing() {
        let mut slots = Slots::default();
        let a = slots.insert_with(|_| 'a');
        assert_eq!(slots.remove(a), Some('a'));
        let b = slots.insert_with(|_| 'b');
        assert_eq!(a.slot, b.slot);
        assert_eq!(slots.get(a), None);
        assert_eq!(slots.remove(a), None);
        assert_eq!(slots.get(b), Some(&'b'));
        assert_eq!(slots.ids(), [b]);
    }
}
