//! The items of a subscription: how they come, are asked, change and go.

use std::time::Duration;

use wire::time::Now;
use wire::types::{MonitoringMode, StatusCode};

use super::computed::Pace;
use super::memory::Memory;
use super::{
    EventItem, EventItems, EventParameters, Item, LEAST_INTERVAL, Links, Parameters, Subscription,
};
use crate::ledger::Tally;
use crate::space::Space;

/// Links of all items of a subscription: whenever items are deleted they are gone through.
const MOST_LINKS: usize = 100_000;

impl Subscription {
    /// Changes an item; none if it is not there.
    pub(super) fn change<R>(
        &mut self,
        id: u32,
        what: impl FnOnce(&mut Item, &Memory, &mut Tally) -> R,
    ) -> Option<R> {
        let item = find_mut(&mut self.items, id)?;
        let before = item.ready();
        let result = what(item, &self.memory, &mut self.account.tally);
        self.ready += item.ready();
        self.ready -= before;
        Some(result)
    }

    /// Adds an item, which sees the value now. None if there is no memory for it.
    pub fn add(&mut self, make: impl FnOnce(u32) -> Item, space: &Space, now: Now) -> Option<u32> {
        let number = self.last_item.wrapping_add(1);
        let mut item = make(number);
        let weight = item.weight();
        if !self.memory.take(weight) {
            return None;
        }
        self.weight += weight;
        self.last_item = number;
        item.begin(space, now, &self.memory, &mut self.account.tally);
        self.ready += item.ready();
        self.disabled += usize::from(item.is_disabled());
        let fastest = [self.fastest, item.polled()];
        self.fastest = fastest.into_iter().flatten().min();
        self.quickest = self.quickest.min(item.sampling());
        debug_assert!(self.items.last().is_none_or(|last| last.id < number));
        self.items.push(item);
        Some(number)
    }

    /// Sees to it that items are asked often enough. To be called after items have changed.
    pub fn settle(&mut self, now: Now) {
        if std::mem::take(&mut self.stale) {
            self.fastest = self.items.iter().filter_map(Item::polled).min();
            let quickest = self.items.iter().map(Item::sampling).min();
            self.quickest = quickest.unwrap_or(Duration::MAX);
            self.disabled = self.items.iter().filter(|item| item.is_disabled()).count();
            self.turn = 0;
            let items = self.items.iter().map(Item::weight).sum::<usize>();
            let weight = items + self.events.weight();
            let before = std::mem::replace(&mut self.weight, weight);
            self.memory.correct(before, weight);
        }
        let before = self.poll;
        self.poll = self
            .fastest
            .filter(|interval| *interval < self.terms.interval)
            .map(|interval| interval.max(LEAST_INTERVAL))
            .map(|interval| match before {
                Some((same, at)) if same == interval => (interval, at),
                _ => (interval, now.mono + interval),
            });
        let silent = |item: &&EventItem| item.mode == MonitoringMode::Disabled;
        let silent = self.events.items().iter().filter(silent).count();
        self.record.items.set(self.len() as u32);
        self.record
            .disabled_items
            .set((self.disabled + silent) as u32);
        self.account.settle();
    }

    /// Removes items; tells of each whether it was there.
    pub fn remove(&mut self, ids: &[u32]) -> Vec<bool> {
        let there = ids.iter().map(|id| self.has(*id)).collect();
        let mut gone = ids.to_vec();
        gone.sort_unstable();
        let is_gone = |id: &u32| gone.binary_search(id).is_ok();
        let (tally, ready) = (&mut self.account.tally, &mut self.ready);
        let memory = &self.memory;
        self.items.retain_mut(|item| {
            let gone = is_gone(&item.id);
            if gone {
                *ready -= item.ready();
                item.clear(memory, tally);
            }
            !gone
        });
        self.events.remove(|id| is_gone(&id), memory, tally);
        self.account.settle();
        for item in &mut self.items {
            item.unlink(|id| is_gone(&id));
        }
        self.stale = true;
        there
    }

    /// An item.
    pub fn item(&self, id: u32) -> Option<&Item> {
        let at = self.items.binary_search_by_key(&id, |item| item.id).ok()?;
        self.items.get(at)
    }

    /// How many items it has, of values and of events.
    pub fn len(&self) -> usize {
        self.items.len() + self.events.items().len()
    }

    /// Whether there is an item of this number.
    pub fn has(&self, id: u32) -> bool {
        self.item(id).is_some() || self.events.get(id).is_some()
    }

    /// Whether there is memory for so many more links of an item, and all links are gone through in a moment.
    pub fn has_room_for_links(&self, links: usize) -> bool {
        let events = self.events.items().iter().map(|item| item.links.ids());
        let all = self.items.iter().map(Item::links).chain(events);
        if all.map(<[u32]>::len).sum::<usize>() + links > MOST_LINKS {
            return false;
        }
        // A list that grows is twice as long for a moment.
        let bytes = links * 4 * 2;
        let has = self.memory.take(bytes);
        if has {
            self.memory.give_back(bytes);
        }
        has
    }

    /// What items an item triggers. [`settle`](Self::settle) is to be called afterwards.
    pub fn links_mut(&mut self, id: u32) -> Option<&mut Links> {
        self.stale = true;
        match find_mut(&mut self.items, id) {
            Some(item) => Some(item.links_mut()),
            None => self.events.get_mut(id).map(|item| &mut item.links),
        }
    }

    /// Items that watch events.
    pub fn events(&self) -> &EventItems {
        &self.events
    }

    /// Adds an item that hears of what happens from now on.
    /// None if there is no memory for it.
    pub fn add_events(&mut self, make: impl FnOnce(u32) -> EventItem) -> Option<u32> {
        let number = self.last_item.wrapping_add(1);
        let item = make(number);
        let weight = item.weight();
        if !self.memory.take(weight) {
            return None;
        }
        self.weight += weight;
        self.last_item = number;
        self.events.add(item);
        Some(number)
    }

    /// Changes an item that watches events.
    pub fn set_events(&mut self, id: u32, with: EventParameters, space: &Space, now: Now) {
        let tally = &mut self.account.tally;
        let space = (self.owner.audits, space);
        self.events.set(id, with, space, now, &self.memory, tally);
        self.stale = true;
        self.account.settle();
    }

    /// Part 9, 5.5.7.
    pub fn refresh(
        &mut self,
        only: Option<u32>,
        space: &Space,
        now: Now,
    ) -> Result<(), StatusCode> {
        self.touch(now);
        let space = (self.owner.audits, space);
        let refreshed =
            self.events
                .refresh(only, space, now, &self.memory, &mut self.account.tally);
        self.account.settle();
        refreshed
    }

    /// All items that watch values.
    pub fn items(&self) -> &[Item] {
        &self.items
    }

    /// Changes how an item reports. What it saw up to now counts as before. [`settle`](Self::settle)
    /// is to be called afterwards.
    pub fn set_mode(&mut self, id: u32, mode: MonitoringMode, space: &Space, now: Now) -> bool {
        if self.events.set_mode(
            id,
            mode,
            (self.owner.audits, space),
            now,
            &self.memory,
            &mut self.account.tally,
        ) {
            return true;
        }
        let changed = self.change(id, |item, memory, tally| {
            item.catch_up(space, now, &mut Pace::default(), memory, tally);
            item.set_mode(mode, space, now, memory, tally);
        });
        self.stale = true;
        changed.is_some()
    }

    /// Changes an item. What it saw up to now counts as before. [`settle`](Self::settle) is to be
    /// called afterwards.
    pub fn set_item(&mut self, id: u32, parameters: &Parameters, space: &Space, now: Now) {
        self.change(id, |item, memory, tally| {
            item.catch_up(space, now, &mut Pace::default(), memory, tally);
            item.set(parameters, space, now, memory, tally);
        });
        self.stale = true;
    }

    /// Reports the last value of every item again (Part 5, 9.2).
    pub fn resend(&mut self) {
        for item in &mut self.items {
            let before = item.ready();
            item.resend(&self.memory, &mut self.account.tally);
            self.ready += item.ready();
            self.ready -= before;
        }
        self.account.settle();
    }
}

fn find_mut(items: &mut [Item], id: u32) -> Option<&mut Item> {
    let at = items.binary_search_by_key(&id, |item| item.id).ok()?;
    items.get_mut(at)
}
