//! Items that wait for events: who raised what, what of it came again, and what is missing where
//! EventIds tell (the ids of a plant: source, number, and when the server started).

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::hash::{BuildHasher, RandomState};

use super::counts::Cause;
use super::open::{Open, Way};
use super::subscription::{FLAGS, OUTAGE, SILENT, UNJUDGED};
use super::terms::{Ids, Watch};
use crate::Histogram;
use crate::histogram::dense::Dense;

/// EventIds that an item remembers to know those that come again.
const REMEMBERED: usize = 4096;
/// Stretches of missing numbers that are remembered for a source.
const STRETCHES: usize = 1024;
/// Kinds of events that are told one by one.
const KINDS: usize = 256;
/// Sources from here on are no sources: what the server itself and clients brought about is
/// numbered for all of them together.
const NO_SOURCE: u32 = u32::MAX - 1;

/// A type of events with a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventKind {
    /// Its namespace.
    pub namespace: u16,
    /// Its number there.
    pub id: u32,
}

impl EventKind {
    const fn standard(id: u32) -> Self {
        Self { namespace: 0, id }
    }

    /// Tells before the states of conditions (Part 9, 5.11.2).
    pub const REFRESH_START: Self = Self::standard(2787);
    /// Tells behind them (Part 9, 5.11.3).
    pub const REFRESH_END: Self = Self::standard(2788);
    /// Asks for them (Part 9, 5.11.4).
    pub const REFRESH_REQUIRED: Self = Self::standard(2789);
    /// Tells that a queue was full (Part 5, 6.4.33).
    pub const OVERFLOW: Self = Self::standard(3035);
}

/// What came of an event.
#[derive(Debug, Clone, Copy, Default)]
pub struct Told<'a> {
    /// Its EventId.
    pub id: Option<&'a [u8]>,
    /// Its type, where that has a number.
    pub kind: Option<EventKind>,
    /// When it happened, in ticks; 0 if it is not told.
    pub time: i64,
    /// When the server knew of it; 0 if it is not told.
    pub received: i64,
}

/// What all items heard that wait for events.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Heard {
    /// Items that heard any.
    pub notifiers: u64,
    /// Sources that they told apart; one that two items heard counts twice.
    pub sources: u64,
    /// How many of which type.
    pub kinds: BTreeMap<EventKind, u64>,
    /// From the beginning of a refresh to its end.
    pub refreshes: Histogram,
    /// Refreshes whose end did not come.
    pub unfinished: u64,
}

impl Heard {
    pub(super) fn merge(&mut self, other: &Self) {
        let Self {
            notifiers,
            sources,
            kinds,
            refreshes,
            unfinished,
        } = other;
        self.notifiers += notifiers;
        self.sources += sources;
        for (kind, count) in kinds {
            *self.kinds.entry(*kind).or_default() += count;
        }
        self.refreshes.merge(refreshes);
        self.unfinished += unfinished;
    }
}

/// All items of a core that wait for events, by their handles.
#[derive(Debug)]
pub(super) struct Notifiers {
    items: HashMap<u32, Notifier>,
    kinds: HashMap<EventKind, u64>,
    refreshes: Dense,
    hash: RandomState,
}

impl Default for Notifiers {
    fn default() -> Self {
        Self {
            items: HashMap::new(),
            kinds: HashMap::new(),
            refreshes: Dense::new(),
            hash: RandomState::new(),
        }
    }
}

#[derive(Debug, Default)]
struct Notifier {
    sources: HashMap<(u32, u32), Source>,
    recent: Recent,
    /// What happened to the item that explains missing numbers.
    lapses: Lapses,
    /// A refresh is being told: when it began, on our clock and on the server's.
    refreshing: Option<(u64, i64)>,
}

/// How often something happened to an item behind which numbers may be missing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Lapses {
    overflows: u32,
    outages: u32,
    changes: u32,
}

#[derive(Debug)]
struct Source {
    /// The number to come.
    next: u64,
    /// The publishing that brought the one before it, and what had happened by then.
    cycle: u32,
    lapses: Lapses,
    /// Numbers that did not come: the first, and the one behind the last.
    missing: Vec<(u64, u64)>,
}

/// The last ids of an item.
#[derive(Debug, Default)]
struct Recent {
    order: VecDeque<u64>,
    known: HashSet<u64>,
}

impl Recent {
    /// Whether it is new.
    fn add(&mut self, id: u64) -> bool {
        if !self.known.insert(id) {
            return false;
        }
        if self.order.len() == REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
        }
        self.order.push_back(id);
        true
    }
}

impl Source {
    /// Whether a number was missing; it is no more.
    fn fill(&mut self, n: u64) -> bool {
        let at = self.missing.iter().position(|it| (it.0..it.1).contains(&n));
        let Some((from, to)) = at.map(|at| self.missing.swap_remove(at)) else {
            return false;
        };
        let parts = [(from, n), (n + 1, to)];
        let rest = parts.into_iter().filter(|(from, to)| from < to);
        self.missing.extend(rest);
        true
    }

    fn miss(&mut self, from: u64, to: u64) {
        if self.missing.len() < STRETCHES {
            self.missing.push((from, to));
        }
    }
}

/// Where the number of an event stands.
enum Number {
    /// It is the next, or the first; with so many left out before it.
    Ahead(u64, Lapses, u32),
    /// It came behind those that follow it.
    Behind,
    /// It came before.
    Again,
}

impl Notifier {
    fn number(&mut self, source: (u32, u32), n: u64, cycle: u32) -> Number {
        let lapses = self.lapses;
        let Some(known) = self.sources.get_mut(&source) else {
            let new = Source {
                next: n.saturating_add(1),
                cycle,
                lapses,
                missing: Vec::new(),
            };
            self.sources.insert(source, new);
            return Number::Ahead(0, lapses, cycle);
        };
        if n < known.next {
            return match known.fill(n) {
                true => Number::Behind,
                false => Number::Again,
            };
        }
        let left_out = n - known.next;
        if left_out > 0 {
            known.miss(known.next, n);
        }
        known.next = n.saturating_add(1);
        let lapses = std::mem::replace(&mut known.lapses, lapses);
        Number::Ahead(left_out, lapses, std::mem::replace(&mut known.cycle, cycle))
    }
}

/// Source and run, and number, of an id that tells them: sixteen bytes, big-endian.
fn numbered(id: &[u8]) -> Option<((u32, u32), u64)> {
    let (source, rest) = id.split_first_chunk::<4>()?;
    let (n, run) = rest.split_first_chunk::<8>()?;
    let run: [u8; 4] = run.try_into().ok()?;
    let source = u32::from_be_bytes(*source);
    (source < NO_SOURCE).then(|| ((source, u32::from_be_bytes(run)), u64::from_be_bytes(*n)))
}

impl Notifiers {
    fn count(&mut self, kind: EventKind) {
        if self.kinds.len() < KINDS || self.kinds.contains_key(&kind) {
            *self.kinds.entry(kind).or_default() += 1;
        }
    }

    /// All is over.
    pub(super) fn told(mut self) -> Heard {
        let each = self.items.values();
        Heard {
            notifiers: self.items.len() as u64,
            sources: each.clone().map(|it| it.sources.len() as u64).sum(),
            unfinished: each.filter(|it| it.refreshing.is_some()).count() as u64,
            kinds: self.kinds.into_iter().collect(),
            refreshes: self.refreshes.take(),
        }
    }
}

impl Open<'_> {
    /// An event: the client handle of the item that waited for it, and what came of it.
    pub fn event(&mut self, handle: u32, told: Told<'_>) {
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
            Watch::Events(ids) => ids,
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
    fn noticed(&mut self, handle: u32, told: &Told<'_>) -> bool {
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
    fn is_refreshed(&self, handle: u32, ids: Ids, told: &Told<'_>) -> bool {
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
