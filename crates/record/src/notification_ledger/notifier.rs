//! Items that wait for events: who raised what, what of it came again, and what is missing where
//! EventIds tell (the ids of a plant: source, number, and when the server started).

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::hash::RandomState;

use serde::{Deserialize, Serialize};

use crate::Histogram;
use crate::histogram::dense::Dense;
use crate::histogram::exact;

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
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
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
pub struct EventInfo<'a> {
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
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventsReceived {
    /// Items that heard any.
    pub notifiers: u64,
    /// Sources that they told apart; one that two items heard counts twice.
    pub sources: u64,
    /// How many of which type.
    pub kinds: BTreeMap<EventKind, u64>,
    /// From the beginning of a refresh to its end.
    #[serde(with = "exact")]
    pub refreshes: Histogram,
    /// Refreshes whose end did not come.
    pub unfinished: u64,
}

impl EventsReceived {
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
    pub items: HashMap<u32, Notifier>,
    kinds: HashMap<EventKind, u64>,
    pub refreshes: Dense,
    pub hash: RandomState,
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
pub(super) struct Notifier {
    pub sources: HashMap<(u32, u32), Source>,
    pub recent: Recent,
    /// What happened to the item that explains missing numbers.
    pub lapses: Lapses,
    /// A refresh is being told: when it began, on our clock and on the server's.
    pub refreshing: Option<(u64, i64)>,
}

/// How often something happened to an item behind which numbers may be missing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Lapses {
    pub overflows: u32,
    pub outages: u32,
    pub changes: u32,
}

#[derive(Debug)]
pub(super) struct Source {
    /// The number to come.
    pub next: u64,
    /// The publishing that brought the one before it, and what had happened by then.
    cycle: u32,
    lapses: Lapses,
    /// Numbers that did not come: the first, and the one behind the last.
    missing: Vec<(u64, u64)>,
}

/// The last ids of an item.
#[derive(Debug, Default)]
pub(super) struct Recent {
    order: VecDeque<u64>,
    pub known: HashSet<u64>,
}

impl Recent {
    /// Whether it is new.
    pub fn add(&mut self, id: u64) -> bool {
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
pub(super) enum Number {
    /// It is the next, or the first; with so many left out before it.
    Ahead(u64, Lapses, u32),
    /// It came behind those that follow it.
    Behind,
    /// It came before.
    Again,
}

impl Notifier {
    pub fn number(&mut self, source: (u32, u32), n: u64, cycle: u32) -> Number {
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
pub(super) fn numbered(id: &[u8]) -> Option<((u32, u32), u64)> {
    let (source, rest) = id.split_first_chunk::<4>()?;
    let (n, run) = rest.split_first_chunk::<8>()?;
    let run: [u8; 4] = run.try_into().ok()?;
    let source = u32::from_be_bytes(*source);
    (source < NO_SOURCE).then(|| ((source, u32::from_be_bytes(run)), u64::from_be_bytes(*n)))
}

impl Notifiers {
    pub fn count(&mut self, kind: EventKind) {
        if self.kinds.len() < KINDS || self.kinds.contains_key(&kind) {
            *self.kinds.entry(kind).or_default() += 1;
        }
    }

    /// All is over.
    pub(super) fn told(mut self) -> EventsReceived {
        let each = self.items.values();
        EventsReceived {
            notifiers: self.items.len() as u64,
            sources: each.clone().map(|it| it.sources.len() as u64).sum(),
            unfinished: each.filter(|it| it.refreshing.is_some()).count() as u64,
            kinds: self.kinds.into_iter().collect(),
            refreshes: self.refreshes.take(),
        }
    }
}
