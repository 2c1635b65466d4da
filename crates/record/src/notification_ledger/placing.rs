//! Where a counter's value stands among those of its item, and what lies between two that came.

use super::counts::Cause;
use super::open::{Open, Way};
use super::placed::{OVERFLOW, OVERFLOW_MASK, Placed};
use super::subscription::{FLAGS, Item, KEPT, OUTAGE, RESENT, SILENT, UNDATED, UNJUDGED};
use super::terms::{Between, Counter, Group};

/// A counter that goes back further than this began anew.
const BACK: i64 = 4096;

impl Open<'_> {
    /// Where a counter's value stands.
    #[inline]
    #[allow(clippy::too_many_arguments, reason = "what came with one value")]
    pub(super) fn place(
        &mut self,
        handle: u32,
        item: Item,
        group: &Group,
        counter: &Counter,
        status: u32,
        source: i64,
        server: i64,
        count: Option<u64>,
    ) -> Placed {
        let passed = (source != 0 && item.source != 0).then(|| source.wrapping_sub(item.source));
        let (count, delta) = match count {
            Some(count) => (count, counter.updates(item.last, count, passed)),
            None => self.blank(item, counter, passed),
        };
        if item.origin != UNDATED && self.ledger.is_some() {
            self.counted(counter.due(item.origin, count));
        }
        if delta == 1 && item.group & FLAGS == 0 {
            self.counts.places.updates += 1;
            self.counts.places.delivered += 1;
            if status & OVERFLOW_MASK == OVERFLOW {
                self.tell(Cause::OverflowAlone, Some(handle));
                self.counts.values.overflow_alone += 1;
            }
            return Placed::Ahead(count as u32);
        }
        let sampled = (server != 0 && item.server != 0).then_some((item.server, server));
        let overflow = status & OVERFLOW_MASK == OVERFLOW;
        self.jump(
            handle,
            item,
            group,
            counter,
            delta,
            sampled,
            overflow,
            count as u32,
        )
    }

    /// Anything but the next count.
    #[cold]
    #[inline(never)]
    #[allow(clippy::too_many_arguments, reason = "what came with one value")]
    fn jump(
        &mut self,
        handle: u32,
        item: Item,
        group: &Group,
        counter: &Counter,
        delta: i64,
        sampled: Option<(i64, i64)>,
        overflow: bool,
        last: u32,
    ) -> Placed {
        if item.group & SILENT != 0 {
            return Placed::Ahead(last);
        }
        if item.group & OUTAGE != 0 {
            // The server may have begun to count anew: time tells what passed.
            return self.after_outage(handle, item, counter, delta, sampled, last);
        }
        if delta <= 0 {
            return self.behind(handle, item, delta, last);
        }
        let delta = u32::try_from(delta).unwrap_or(u32::MAX);
        let places = &mut self.counts.places;
        places.updates += u64::from(delta);
        places.delivered += 1;
        if item.group & UNJUDGED != 0 {
            places.unjudged += u64::from(delta - 1);
            return Placed::Ahead(last);
        }
        let between = counter.between(delta, &group.terms, sampled);
        places.sampled_away += u64::from(between.sampled_away);
        places.filtered += u64::from(between.filtered);
        if between.sampled_away > 0 {
            self.tell(Cause::SampledAway, Some(handle));
        }
        match between.lost {
            0 if overflow => {
                self.counts.values.overflow_alone += 1;
                self.tell(Cause::OverflowAlone, Some(handle));
            }
            0 => {}
            _ => self.lose(handle, item, group, between, overflow),
        }
        Placed::Ahead(last)
    }

    /// Which causes explain values that were sampled and did not come.
    fn lose(&mut self, handle: u32, item: Item, group: &Group, between: Between, overflow: bool) {
        let lost = between.lost;
        let numbers = &self.subscription.numbers;
        let holes = numbers.missing_between(item.cycle, self.cycle);
        let queue = group.terms.queue_size.max(1);
        // A message holds what a queue does; one before an overflow may well have held less.
        let in_each = match overflow {
            true => queue.min(group.in_a_publishing(self.subscription.row.terms.publishing_ns)),
            false => queue,
        };
        let with_messages = lost.min(holes.saturating_mul(in_each));
        let left = lost - with_messages;
        let (mut overwritten, mut overflowed, mut missing) = (0, 0, 0);
        let mut stalled = 0;
        if queue == 1 {
            missing = left.min(self.passed_over(item, group, holes));
            overwritten = left - missing;
        } else if overflow || holes > 0 {
            // With messages missing, one of them had the bit.
            match self.stalled {
                true => stalled = left,
                false => overflowed = left,
            }
        } else {
            missing = left;
        }
        let places = &mut self.counts.places;
        places.in_lost_messages += u64::from(with_messages);
        places.overwritten += u64::from(overwritten);
        places.overflowed += u64::from(overflowed);
        places.stalled += u64::from(stalled);
        places.missing += u64::from(missing);
        for (cause, count) in [
            (Cause::LostMessage, with_messages),
            (Cause::Overwritten, overwritten),
            (Cause::Overflowed, overflowed),
            (Cause::Stalled, stalled),
            (Cause::Missing, missing),
        ] {
            if count > 0 {
                self.tell(cause, Some(handle));
            }
        }
    }

    /// How many messages came without an item that must have had something new for each of them.
    fn passed_over(&self, item: Item, group: &Group, holes: u32) -> u32 {
        let publishings = self.cycle.wrapping_sub(item.cycle);
        let had_news =
            group.pace_ns().saturating_mul(2) <= self.subscription.row.terms.publishing_ns;
        // After a stall, one publishing may follow the other at once.
        let short = self.subscription.short.wrapping_sub(item.cycle);
        let regular = short == 0 || short > publishings;
        // While it only sampled, publishings passed without it.
        let reported = item.group & KEPT == 0;
        match had_news && regular && reported {
            true => publishings.saturating_sub(1 + holes),
            false => 0,
        }
    }

    /// A count that came before, or behind those that follow it.
    fn behind(&mut self, handle: u32, item: Item, delta: i64, last: u32) -> Placed {
        let asked = item.group & (RESENT | UNJUDGED) != 0;
        if delta == 0 && self.way == Way::InOrder {
            match asked {
                true => self.counts.values.resent += 1,
                false => {
                    self.counts.values.repeated += 1;
                    self.tell(Cause::Repeated, Some(handle));
                }
            }
            if let Some(item) = self.items.get_mut(handle as usize) {
                item.group &= !RESENT;
            }
            return Placed::Again;
        }
        if delta == 0 {
            self.counts.values.repeated += 1;
            return Placed::Again;
        }
        if self.way == Way::InOrder && (asked || delta < -BACK) {
            return Placed::Ahead(last);
        }
        self.counts.places.delivered += 1;
        self.counts.places.refill();
        if self.way == Way::InOrder {
            self.tell(Cause::OutOfOrder, Some(handle));
        }
        Placed::Behind
    }

    fn after_outage(
        &mut self,
        handle: u32,
        item: Item,
        counter: &Counter,
        delta: i64,
        sampled: Option<(i64, i64)>,
        last: u32,
    ) -> Placed {
        let by_time = sampled
            .filter(|_| counter.update_ns > 0)
            .map(|(before, now)| {
                let ticks = now.saturating_sub(before);
                ticks.saturating_mul(100) / counter.update_ns as i64
            });
        let plausible = |time: i64| delta > 0 && (delta - time).abs() <= 2 + time / 100;
        let passed = match by_time {
            Some(time) if !plausible(time) => time,
            _ => delta,
        };
        if passed > 0 {
            let places = &mut self.counts.places;
            places.updates += passed as u64;
            places.delivered += 1;
            places.outage += passed as u64 - 1;
            if passed > 1 {
                self.tell(Cause::Outage, Some(handle));
            }
            return Placed::Ahead(last);
        }
        if delta == 0 {
            self.counts.values.resent += 1;
            if let Some(there) = self.items.get_mut(handle as usize) {
                there.group = item.group & !FLAGS;
            }
            return Placed::Again;
        }
        Placed::Ahead(last)
    }

    /// A status came without a value: time tells the count, or it is the next.
    #[cold]
    fn blank(&mut self, item: Item, counter: &Counter, passed: Option<i64>) -> (u64, i64) {
        if item.group & SILENT == 0 {
            self.counts.places.blank += 1;
        }
        let update = counter.update_ns as i64;
        let delta = match passed {
            Some(ticks) if update > 0 => (ticks.saturating_mul(100) + update / 2) / update,
            _ => 1,
        };
        let count =
            u64::from(item.last).wrapping_add_signed(delta.wrapping_mul(counter.step as i64));
        let count = match counter.modulus {
            0 => count,
            modulus => count % modulus,
        };
        (count, delta)
    }

    /// Of items that do not count, times alone tell the order.
    #[inline]
    pub(super) fn unplaced(&mut self, handle: u32, item: Item, source: i64) -> Placed {
        if self.way != Way::InOrder && source <= item.source {
            return Placed::Behind;
        }
        if source < item.source && source != 0 && item.group & FLAGS == 0 {
            self.tell(Cause::OutOfOrder, Some(handle));
            return Placed::Behind;
        }
        Placed::Ahead(0)
    }
}
