//! An event of a message that is being read: for which item, whether it came before, and what is missing.

use std::hash::BuildHasher as _;

use super::counts::Cause;
use super::notifier::{EventInfo, EventKind, Lapses, Number, numbered};
use super::open::{Open, Way};
use super::subscription::{FLAGS, OUTAGE, SILENT, UNJUDGED};
use super::terms::{Ids, WatchedValue};

impl Open<'_> {
    /// An event: the client handle of the item that waited for it, and what came of it.
    pub fn event(&mut self, handle: u32, told: EventInfo<'_>) {
        let Some((item, group)) = self.new_for(handle) else {
            return;
        };
        if let Some(kind) = told.kind {
            self.notifiers.count(kind);
        }
        let notifier = self.notifiers.items.entry(handle).or_default();
        if item.group & SILENT == 0 {
            notifier.lapses.outages += u32::from(item.group & OUTAGE != 0);
            notifier.lapses.changes += u32::from(item.group & UNJUDGED != 0);
        }
        if let Some(item) = self.items.get_mut(handle as usize) {
            item.group &= !FLAGS;
        }
        if self.noticed(handle, &told) {
            return;
        }
        let ids = match group.terms.watch {
            WatchedValue::Events(ids) => ids,
            _ => Ids::Opaque,
        };
        if self.is_refreshed(handle, ids, &told) {
            self.counts.values.resent += 1;
            self.counts.events.refreshed += 1;
            return;
        }
        let first = match (told.id.and_then(numbered), ids) {
            (Some((source, n)), Ids::All | Ids::Some) => self.numbered(handle, ids, source, n),
            _ => self.unnumbered(handle, told.id),
        };
        if !first {
            return;
        }
        self.counts.events.raised += 1;
        let delay = match told.time {
            0 => 0,
            time => self.delayed(time, group.phase),
        };
        if told.received != 0 {
            self.served(told.received);
            if self.late || told.received < self.stale {
                self.tardy(handle, item.group);
            }
        }
        if self.way != Way::InOrder {
            self.came_otherwise(handle);
        }
        self.first_copies += 1;
        if let Some(item) = self.items.get_mut(handle as usize) {
            item.cycle = self.cycle;
            item.source = told.time;
            item.server = told.received;
            if self.ledger.is_some() {
                item.values = item.values.saturating_add(1);
                item.waited += delay;
            }
        }
    }

    /// Whether it tells of the subscription itself.
    fn noticed(&mut self, handle: u32, told: &EventInfo<'_>) -> bool {
        let events = &mut self.counts.events;
        let Some(notifier) = self.notifiers.items.get_mut(&handle) else {
            return false;
        };
        match told.kind {
            Some(EventKind::OVERFLOW) => {
                events.overflow_events += 1;
                notifier.lapses.overflows += 1;
                self.tell(Cause::Overflowed, Some(handle));
            }
            Some(EventKind::REFRESH_START) => {
                events.refresh_starts += 1;
                notifier.refreshing = Some((self.head.at, told.time));
            }
            Some(EventKind::REFRESH_END) => {
                events.refresh_ends += 1;
                if let Some((began, _)) = notifier.refreshing.take() {
                    let took = self.head.at.saturating_sub(began);
                    self.notifiers.refreshes.record(took, 1);
                }
            }
            Some(EventKind::REFRESH_REQUIRED) => events.refresh_required += 1,
            _ => return false,
        }
        self.counts.values.notices += 1;
        true
    }

    /// Whether it is the state of a condition, told because of a refresh. Such an event has the id
    /// that it had (Part 9, 5.5.7); new ones may come in between.
    fn is_refreshed(&self, handle: u32, ids: Ids, told: &EventInfo<'_>) -> bool {
        let Some(notifier) = self.notifiers.items.get(&handle) else {
            return false;
        };
        let Some((_, began)) = notifier.refreshing else {
            return false;
        };
        if told.time <= began {
            return true;
        }
        match (told.id.and_then(numbered), ids) {
            (Some((source, n)), Ids::All | Ids::Some) => {
                let known = notifier.sources.get(&source);
                known.is_some_and(|known| n < known.next)
            }
            _ => told.id.is_some_and(|id| {
                let id = self.notifiers.hash.hash_one(id);
                notifier.recent.known.contains(&id)
            }),
        }
    }

    /// An event whose id says which of its source it is. Tells whether it came for the first time.
    fn numbered(&mut self, handle: u32, ids: Ids, source: (u32, u32), n: u64) -> bool {
        let Some(notifier) = self.notifiers.items.get_mut(&handle) else {
            return false;
        };
        let now = notifier.lapses;
        match notifier.number(source, n, self.cycle) {
            Number::Ahead(left_out, then, cycle) => {
                self.counts.events.counted += 1;
                *self.way_count() += 1;
                match ids {
                    Ids::All => {
                        self.counts.places.updates += left_out + 1;
                        self.counts.places.delivered += 1;
                        if left_out > 0 {
                            self.miss_numbers(handle, left_out, (then, now), cycle);
                        }
                    }
                    _ => self.counts.events.passed_over += left_out,
                }
                true
            }
            Number::Behind => {
                self.counts.events.counted += 1;
                if ids == Ids::All {
                    self.counts.places.delivered += 1;
                    self.counts.places.refill();
                }
                match self.way {
                    Way::InOrder => {
                        // The message came in its turn, the event in it did not.
                        self.counts.values.out_of_order += 1;
                        self.tell(Cause::OutOfOrder, Some(handle));
                    }
                    _ => *self.way_count() += 1,
                }
                true
            }
            Number::Again => {
                self.counts.values.repeated += 1;
                self.tell(Cause::Repeated, Some(handle));
                false
            }
        }
    }

    /// What explains numbers that were left out.
    fn miss_numbers(&mut self, handle: u32, count: u64, lapses: (Lapses, Lapses), cycle: u32) {
        let (then, now) = lapses;
        let holes = self.subscription.numbers.missing_between(cycle, self.cycle);
        let places = &mut self.counts.places;
        let (place, cause) = if then.outages != now.outages {
            (&mut places.outage, Cause::Outage)
        } else if then.changes != now.changes {
            places.unjudged += count;
            return;
        } else if then.overflows != now.overflows {
            (&mut places.overflowed, Cause::Overflowed)
        } else if holes > 0 {
            (&mut places.in_lost_messages, Cause::LostMessage)
        } else {
            (&mut places.missing, Cause::Missing)
        };
        *place += count;
        self.tell(cause, Some(handle));
    }

    /// An event whose id says nothing but who it is. Tells whether it came for the first time.
    fn unnumbered(&mut self, handle: u32, id: Option<&[u8]>) -> bool {
        let Some(id) = id else {
            self.counts.events.unidentified += 1;
            *self.way_count() += 1;
            return true;
        };
        let id = self.notifiers.hash.hash_one(id);
        let notifier = self.notifiers.items.get_mut(&handle);
        if notifier.is_some_and(|notifier| !notifier.recent.add(id)) {
            self.counts.values.repeated += 1;
            self.tell(Cause::Repeated, Some(handle));
            return false;
        }
        *self.way_count() += 1;
        true
    }
}
