//! A message that is being read: the hot path. `value` costs 10 to 25 ns; see
//! `benches/notification_ledger.rs`.

use crate::{Ledger, Measure};

use super::counts::{Cause, Event, Events, Firsts, Messages, Places, Values};
use super::notifier::Notifiers;
use super::numbers::Gap;
use super::placed::{OVERFLOW, OVERFLOW_MASK, Placed};
use super::subscription::{ABSENT, FLAGS, Item, Subscription, UNDATED};
use super::terms::{Counter, Group};

/// The status says that the value is not to be used.
const BAD: u32 = 0x8000_0000;

/// The way a message came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// In its turn.
    InOrder,
    /// By itself, behind others that follow it.
    Returned,
    /// By Republish.
    Recovered,
    /// Not for the first time.
    Repeated,
    /// By itself, behind others and behind Republish.
    Overtaken,
    /// By Republish, when it had come by itself.
    Crossed,
}

/// What stands before the values of a message, times included.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Head {
    /// Its sequence number.
    pub sequence: u32,
    /// When it was published, in ticks of 100 ns since 1601.
    pub publish_time: i64,
    /// The timestamp of the response header, in the same; 0 if there is none.
    pub header_time: i64,
    /// When it was received, in nanoseconds on the notification ledger's clock.
    pub at: u64,
    /// The flag moreNotifications.
    pub more: bool,
    /// Bytes of the message on the wire.
    pub bytes: u32,
}

/// Values that follow each other with equal source timestamps and phases.
#[derive(Debug, Default)]
struct Sampled {
    stamp: i64,
    phase: i64,
    delay: u64,
    count: u64,
}

/// Values that follow each other with another timestamp in common.
#[derive(Debug, Default)]
struct Alike {
    stamp: i64,
    count: u64,
}

impl Alike {
    /// Those so far; the next values have this stamp.
    #[inline]
    fn end(&mut self, next: i64) -> Self {
        let next = Self {
            stamp: next,
            count: 0,
        };
        std::mem::replace(self, next)
    }
}

/// What is counted over all subscriptions of a core.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) values: Values,
    pub(super) places: Places,
    pub(super) events: Events,
    pub(super) messages: Messages,
}

/// A notification message that is being read. Tell it each [`value`](Self::value), then
/// [`end`](Self::end) it.
#[derive(Debug)]
pub struct Open<'a> {
    pub(super) items: &'a mut [Item],
    pub(super) groups: &'a [Group],
    pub(super) subscription: &'a mut Subscription,
    pub(super) index: u32,
    pub(super) counts: &'a mut Counts,
    pub(super) firsts: &'a mut Firsts,
    pub(super) notifiers: &'a mut Notifiers,
    /// While measuring, and the time on its clock.
    pub(super) ledger: Option<(&'a mut Ledger, u64)>,
    pub(super) head: Head,
    /// When it was received, in ticks.
    pub(super) utc: i64,
    pub(super) way: Way,
    pub(super) gap: Option<Gap>,
    /// The publishing that it belongs to.
    pub(super) cycle: u32,
    pub(super) late: bool,
    /// The client itself did not run shortly before it came.
    pub(super) stalled: bool,
    /// Values sampled before this waited longer than for one publishing more.
    pub(super) stale: i64,
    pub(super) at_group: u32,
    pub(super) group: Option<&'a Group>,
    source: Sampled,
    server: Alike,
    count: Alike,
    pub(super) first_copies: u64,
    /// What a value is most likely to be like, and how many were, not counted elsewhere yet.
    usual: Option<ExpectedValue<'a>>,
    as_usual: u64,
}

/// A value that has everything in common with the one before it but its item, and counts on from the one
/// before it in its item, as nearly all do: of a server without faults, in its turn, on time, dated, with
/// a good status, while measuring.
#[derive(Debug)]
struct ExpectedValue<'a> {
    /// Its item's group and nothing else.
    group: u32,
    /// From one count to the next.
    step: u32,
    counter: &'a Counter,
    /// How long ago it was, in ticks.
    delay: u64,
}

/// The parts of an [`Open`] that are not its own.
pub(super) struct Parts<'a> {
    pub(super) items: &'a mut [Item],
    pub(super) groups: &'a [Group],
    pub(super) subscription: &'a mut Subscription,
    pub(super) index: u32,
    pub(super) counts: &'a mut Counts,
    pub(super) firsts: &'a mut Firsts,
    pub(super) notifiers: &'a mut Notifiers,
    pub(super) ledger: Option<(&'a mut Ledger, u64)>,
}

impl<'a> Open<'a> {
    pub(super) fn new(parts: Parts<'a>, head: Head, utc: i64, way: Way, cycle: u32) -> Self {
        let publishing = (parts.subscription.row.terms.publishing_ns / 100) as i64;
        let late_after = parts.subscription.late_after();
        let patient = parts.subscription.is_patient(cycle);
        Self {
            items: parts.items,
            groups: parts.groups,
            subscription: parts.subscription,
            index: parts.index,
            counts: parts.counts,
            firsts: parts.firsts,
            notifiers: parts.notifiers,
            ledger: parts.ledger,
            head,
            utc,
            way,
            gap: None,
            cycle,
            late: false,
            stalled: false,
            stale: match head.publish_time {
                0 => i64::MIN,
                _ if patient => i64::MIN,
                publish => publish - publishing - late_after,
            },
            at_group: ABSENT,
            group: None,
            source: Sampled::default(),
            server: Alike::default(),
            count: Alike::default(),
            first_copies: 0,
            usual: None,
            as_usual: 0,
        }
    }

    /// The numbers that are missing before this message, to be asked for by Republish.
    pub fn gap(&self) -> Option<Gap> {
        self.gap
    }

    /// Whether it came before, so that none of its values is new.
    pub fn is_repeated(&self) -> bool {
        matches!(self.way, Way::Repeated | Way::Overtaken | Way::Crossed)
    }

    /// A value: its client handle, status, timestamps in ticks (0 if there is none), and the count
    /// if it is a number (bits of an integer, or the integer that a Float or Double is).
    #[inline]
    pub fn value(
        &mut self,
        handle: u32,
        status: u32,
        source: i64,
        server: i64,
        count: Option<u64>,
    ) {
        if let Some(usual) = &self.usual
            && let Some(count) = count
            && (status, source, server) == (0, self.source.stamp, self.server.stamp)
            && let Some(item) = self.items.get_mut(handle as usize)
            && item.group == usual.group
            && (count as u32).wrapping_sub(item.last) == usual.step
        {
            item.values = item.values.saturating_add(1);
            item.waited += usual.delay;
            item.last = count as u32;
            item.cycle = self.cycle;
            item.source = source;
            item.server = server;
            self.as_usual += 1;
            if item.origin != UNDATED {
                let due = usual.counter.due(item.origin, count);
                self.counted(due);
            }
            return;
        }
        self.unusual_value(handle, status, source, server, count);
    }

    /// Counts those that were as usual.
    fn settle(&mut self) {
        let count = std::mem::take(&mut self.as_usual);
        self.source.count += count;
        self.server.count += count;
        self.first_copies += count;
        self.counts.values.received += count;
        self.counts.values.in_order += count;
        self.counts.places.updates += count;
        self.counts.places.delivered += count;
    }

    /// What the next value is most likely to be like, after this one.
    #[inline]
    fn usual(
        &self,
        group: &'a Group,
        source: i64,
        server: i64,
        delay: u64,
    ) -> Option<ExpectedValue<'a>> {
        let counter = group.counter.as_ref().filter(|it| it.counts_on())?;
        let dated = source != 0 && source <= self.utc && server != 0;
        let late = self.late || server < self.stale;
        if !dated || late || self.ledger.is_none() || self.way != Way::InOrder {
            return None;
        }
        Some(ExpectedValue {
            group: self.at_group,
            step: u32::try_from(counter.step.max(1)).ok()?,
            counter,
            delay,
        })
    }

    #[inline(never)]
    fn unusual_value(
        &mut self,
        handle: u32,
        status: u32,
        source: i64,
        server: i64,
        count: Option<u64>,
    ) {
        self.settle();
        self.usual = None;
        let Some((item, group)) = self.new_for(handle) else {
            return;
        };
        if status != 0 {
            self.not_good(status);
        }
        let delay = if source != 0 {
            self.delayed(source, group.phase)
        } else {
            0
        };
        if server != 0 {
            self.served(server);
        }
        if (self.late || server < self.stale) && server != 0 {
            self.tardy(handle, item.group);
        }
        let placed = match group.counter {
            Some(ref counter) => {
                self.place(handle, item, group, counter, status, source, server, count)
            }
            None => self.unplaced(handle, item, source),
        };
        if self.way != Way::InOrder && placed != Placed::Again {
            self.came_otherwise(handle);
        }
        self.usual = self.usual(group, source, server, delay);
        let Some(item) = self.items.get_mut(handle as usize) else {
            return;
        };
        if self.ledger.is_some() && placed != Placed::Again {
            item.values = item.values.saturating_add(1);
            item.waited += delay;
        }
        match placed {
            Placed::Ahead(last) => {
                item.last = last;
                item.cycle = self.cycle;
                item.source = source;
                item.server = server;
                item.group &= !FLAGS;
                self.first_copies += 1;
                *self.way_count() += 1;
            }
            Placed::Behind => {
                self.first_copies += 1;
                *self.behind_count() += 1;
            }
            Placed::Again => {}
        }
    }

    /// The item that something came for, and its terms. What is a stray or came before is counted as such, and is
    /// for nobody.
    #[inline]
    pub(super) fn new_for(&mut self, handle: u32) -> Option<(Item, &'a Group)> {
        self.counts.values.received += 1;
        let item = self.items.get(handle as usize).copied();
        let Some((item, group)) = item.and_then(|item| Some((item, self.group_of(&item)?))) else {
            self.stray();
            return None;
        };
        if self.is_repeated() {
            self.repeated(handle);
            return None;
        }
        Some((item, group))
    }

    #[inline]
    pub(super) fn way_count(&mut self) -> &mut u64 {
        let values = &mut self.counts.values;
        match self.way {
            Way::InOrder => &mut values.in_order,
            Way::Returned => &mut values.out_of_order,
            Way::Recovered => &mut values.recovered,
            Way::Repeated => &mut values.repeated,
            Way::Overtaken => &mut values.overtaken,
            Way::Crossed => &mut values.crossed,
        }
    }

    /// For a value behind those that follow it.
    fn behind_count(&mut self) -> &mut u64 {
        match self.way {
            // The message came in its turn, the value in it did not.
            Way::InOrder => &mut self.counts.values.out_of_order,
            _ => self.way_count(),
        }
    }

    /// The terms of an item; none if it is not one of this subscription.
    #[inline]
    fn group_of(&mut self, item: &Item) -> Option<&'a Group> {
        let at = item.group & ABSENT;
        // Nearly always those of the value before it.
        if at != self.at_group {
            let group = self.groups.get(at as usize);
            self.group = Some(group.filter(|group| group.subscription == self.index)?);
            self.at_group = at;
        }
        self.group
    }

    /// Counts a delay; tells it in ticks.
    #[inline]
    pub(super) fn delayed(&mut self, source: i64, phase: i64) -> u64 {
        if source != self.source.stamp || phase != self.source.phase {
            self.flush_source();
            let ticks = self.utc.saturating_sub(source);
            self.source.stamp = source;
            self.source.phase = phase;
            // What comes before it was has no delay, and is counted as ahead.
            self.source.delay = u64::try_from(ticks).unwrap_or(0);
        }
        self.source.count += 1;
        if source > self.utc {
            self.counts.values.ahead += 1;
        }
        self.source.delay
    }

    fn flush_source(&mut self) {
        let Sampled {
            stamp,
            phase,
            delay,
            count,
        } = std::mem::take(&mut self.source);
        let (Some((ledger, at)), true) = (&mut self.ledger, count > 0) else {
            return;
        };
        let header = match self.head.header_time {
            0 => self.head.publish_time,
            time => time,
        };
        // Parts of a delay that clocks make negative are none.
        let transport = u64::try_from(self.utc.saturating_sub(header))
            .unwrap_or(0)
            .min(delay);
        // Some servers do not say when they published: then no more is queueing than what cannot be phase.
        let published = match self.head.publish_time {
            0 => header,
            time => time,
        };
        let waited = published.saturating_sub(stamp);
        let phase = u64::try_from(waited.min(phase))
            .unwrap_or(0)
            .min(delay - transport);
        let queueing = delay - transport - phase;
        ledger.note(*at, Measure::Delay, delay * 100, count);
        ledger.note(*at, Measure::Phase, phase * 100, count);
        ledger.note(*at, Measure::Queueing, queueing * 100, count);
        ledger.note(*at, Measure::Transport, transport * 100, count);
    }

    #[inline]
    pub(super) fn served(&mut self, server: i64) {
        if server != self.server.stamp {
            let before = self.server.end(server);
            self.flush(Measure::ServerDelay, before);
        }
        self.server.count += 1;
    }

    /// The delay that the count itself tells, which was due at this time.
    #[inline]
    pub(super) fn counted(&mut self, due: i64) {
        if due != self.count.stamp {
            let before = self.count.end(due);
            self.flush(Measure::CounterDelay, before);
        }
        self.count.count += 1;
    }

    /// Writes down how long ago it was that values had in common.
    fn flush(&mut self, measure: Measure, Alike { stamp, count }: Alike) {
        if let (Some((ledger, at)), true) = (&mut self.ledger, count > 0) {
            let ticks = u64::try_from(self.utc.saturating_sub(stamp)).unwrap_or(0);
            ledger.note(*at, measure, ticks * 100, count);
        }
    }

    #[cold]
    fn not_good(&mut self, status: u32) {
        let values = &mut self.counts.values;
        let overflow = u64::from(status & OVERFLOW_MASK == OVERFLOW);
        values.overflow_bits += overflow;
        if self.stalled && overflow > 0 {
            values.stalled_bits += overflow;
            self.tell(Cause::Stalled, None);
        }
        let values = &mut self.counts.values;
        values.bad += u64::from(status & BAD != 0);
        // The lower half are flags that say nothing about how good it is (Part 4, 7.39.1).
        if let (Some((ledger, at)), true) = (&mut self.ledger, status >= 0x0001_0000) {
            ledger.values_failed(*at, status, 1);
        }
    }

    #[cold]
    pub(super) fn tardy(&mut self, handle: u32, flags: u32) {
        // What came by Republish, or is told for the first time or again, was not due sooner.
        if self.stalled {
            return;
        }
        if self.way != Way::Recovered && flags & FLAGS == 0 {
            self.counts.values.late += 1;
            self.tell(Cause::Late, Some(handle));
        }
    }

    #[cold]
    pub(super) fn came_otherwise(&mut self, handle: u32) {
        match self.way {
            Way::Returned => self.tell(Cause::OutOfOrder, Some(handle)),
            Way::Recovered => self.tell(Cause::Recovered, Some(handle)),
            _ => {}
        }
    }

    #[cold]
    fn repeated(&mut self, handle: u32) {
        *self.way_count() += 1;
        match self.way {
            Way::Repeated => self.tell(Cause::Repeated, Some(handle)),
            Way::Overtaken => self.tell(Cause::OutOfOrder, Some(handle)),
            _ => {}
        }
    }

    #[cold]
    fn stray(&mut self) {
        self.counts.values.stray += 1;
        self.tell(Cause::Stray, None);
    }

    pub(super) fn tell(&mut self, cause: Cause, handle: Option<u32>) {
        // Times do not go back: nothing can come before what is known.
        let known = self.firsts.of(cause);
        if known.is_some_and(|known| known.at_ns < self.head.at) {
            return;
        }
        let event = Event {
            at_ns: self.head.at,
            seat: self.subscription.row.seat,
            item: handle.and_then(|handle| self.subscription.place(handle)),
            sequence: self.head.sequence,
        };
        self.firsts.tell(cause, event);
    }

    /// All values were told. What is missing before this message is to be asked for.
    pub fn end(mut self) -> Option<Gap> {
        self.settle();
        self.flush_source();
        let (server, count) = (self.server.end(0), self.count.end(0));
        self.flush(Measure::ServerDelay, server);
        self.flush(Measure::CounterDelay, count);
        if self.ledger.is_some() {
            self.subscription.row.values += self.first_copies;
        }
        self.gap
    }
}
