//! The table of a session's subscriptions: each has a place, and one that is there has a number of the server.

use std::time::Duration;

use record::notification_ledger::Monitoring;

use super::notes::Notes;

/// A subscription.
#[derive(Debug, Default)]
pub(super) struct Subscription {
    /// The server's number for it; none if it is not there.
    pub id: Option<u32>,
    /// Its number in the notification ledger, once it was there.
    pub number: Option<u32>,
    /// The client handle of its first item.
    pub first_handle: u32,
    /// Revised.
    pub publishing: Duration,
    /// Revised: intervals without news.
    pub keep_alive: u32,
    /// The next message's number.
    pub expected: u32,
    /// Messages sent before a reconnect are being fetched.
    pub catching_up: bool,
    /// Its session is back, and whether it is still there has to show.
    pub doubtful: bool,
    /// The server's numbers of its items, where they are needed.
    pub items: Vec<u32>,
    /// Items that were changed, and messages that may still bring values from before.
    pub changed: Option<(Changed, u8)>,
}

/// How the first `count` items of a subscription were changed.
#[derive(Debug, Clone, Copy)]
pub(super) enum Changed {
    /// They have these terms, in milliseconds and values.
    Terms {
        count: u32,
        sampling: f64,
        queue: u32,
    },
    /// They have this mode.
    Mode {
        count: u32,
        mode: Monitoring,
        at: u64,
    },
}

/// All of a session's.
#[derive(Debug)]
pub(super) struct Subscriptions {
    /// By place.
    all: Vec<Subscription>,
    /// Of those that are there: the server's numbers, ascending, and their places.
    by_id: Vec<(u32, u32)>,
}

/// The number behind; after the largest comes 1 (Part 4, 7.25).
pub(super) fn after(sequence: u32) -> u32 {
    sequence.checked_add(1).unwrap_or(1)
}

impl Subscriptions {
    /// So many places; none of them is there yet.
    pub fn new(count: u32) -> Self {
        Self {
            all: (0..count).map(|_| Subscription::default()).collect(),
            by_id: Vec::new(),
        }
    }

    pub fn get(&self, place: u32) -> Option<&Subscription> {
        self.all.get(place as usize)
    }

    pub fn get_mut(&mut self, place: u32) -> Option<&mut Subscription> {
        self.all.get_mut(place as usize)
    }

    /// All of them, whether they are there or not.
    pub fn all(&self) -> &[Subscription] {
        &self.all
    }

    /// The place of a subscription by the server's number.
    #[inline]
    pub fn place(&self, id: u32) -> Option<u32> {
        if let [(only, place)] = self.by_id.as_slice() {
            return (*only == id).then_some(*place);
        }
        let at = self.by_id.binary_search_by_key(&id, |(id, _)| *id).ok()?;
        self.by_id.get(at).map(|(_, place)| *place)
    }

    /// The number of a subscription in the notification ledger.
    pub fn number(&self, place: u32) -> Option<u32> {
        self.get(place)?.number
    }

    /// The server's number of a subscription.
    pub fn id(&self, place: u32) -> Option<u32> {
        self.get(place)?.id
    }

    /// How many are there.
    pub fn len(&self) -> usize {
        self.by_id.len()
    }

    /// Whether none is there.
    pub fn is_empty(&self) -> bool {
        self.by_id.is_empty()
    }

    /// The places of those that are there, in the order of the server's numbers.
    pub fn there(&self) -> Vec<u32> {
        self.by_id.iter().map(|(_, place)| *place).collect()
    }

    /// The server's numbers of those that are there.
    pub fn ids(&self) -> Vec<u32> {
        self.by_id.iter().map(|(id, _)| *id).collect()
    }

    /// One is there, with this number of the server.
    pub fn know(&mut self, id: u32, place: u32) {
        let at = self.by_id.partition_point(|(known, _)| *known < id);
        self.by_id.insert(at, (id, place));
        debug_assert!(self.by_id.is_sorted());
    }

    /// One is not there any more.
    pub fn forget(&mut self, place: u32) {
        if let Some(subscription) = self.get_mut(place) {
            subscription.id = None;
            subscription.catching_up = false;
            subscription.doubtful = false;
        }
        self.by_id.retain(|(_, known)| *known != place);
    }

    /// Takes one out, with the server's number for it. Its place is free.
    pub fn remove(&mut self, place: u32) -> Option<(u32, Subscription)> {
        let subscription = self.get_mut(place)?;
        let id = subscription.id?;
        let subscription = std::mem::take(subscription);
        self.by_id.retain(|(known, _)| *known != id);
        Some((id, subscription))
    }

    /// Puts one in that was taken out of another table, at a place that is free.
    pub fn insert(&mut self, id: u32, subscription: Subscription) -> u32 {
        let free = self.all.iter().position(|it| it.number.is_none());
        let place = free.unwrap_or(self.all.len());
        match self.all.get_mut(place) {
            Some(slot) => *slot = subscription,
            None => self.all.push(subscription),
        }
        self.know(id, place as u32);
        place as u32
    }

    /// A message with this number has come; a keep-alive has the number of the next one.
    #[inline]
    pub fn expect(&mut self, place: u32, sequence: u32, is_keep_alive: bool) {
        if let Some(subscription) = self.get_mut(place) {
            let next = match is_keep_alive {
                true => sequence,
                false => after(sequence),
            };
            // What came behind others does not turn the count back, unless it began anew.
            let ahead = next.wrapping_sub(subscription.expected);
            if ahead < u32::MAX / 2 || next <= 2 {
                subscription.expected = next;
            }
        }
    }

    /// Their session is back: what they sent before comes first, and shows which of them are still there.
    pub fn doubt_all(&mut self) {
        for place in self.there() {
            if let Some(subscription) = self.get_mut(place) {
                subscription.catching_up = true;
                subscription.doubtful = true;
            }
        }
    }

    /// One is there, if that was not known.
    pub fn seen(&mut self, place: u32, notes: &mut Notes<'_>) {
        let doubtful = self.get_mut(place).map(|it| &mut it.doubtful);
        if doubtful.is_some_and(std::mem::take) {
            self.resumed(place, notes);
        }
    }

    /// One goes on after its session was away.
    pub fn resumed(&mut self, place: u32, notes: &mut Notes<'_>) {
        let at = notes.at();
        if let Some(subscription) = self.get_mut(place) {
            if let Some(number) = subscription.number {
                notes.notification_ledger.resumed(number, at, false);
            }
            subscription.catching_up = true;
        }
    }

    /// The server has no more messages of one from before.
    pub fn caught_up(&mut self, place: u32) {
        if let Some(subscription) = self.get_mut(place) {
            subscription.catching_up = false;
        }
    }

    /// Whether messages from before are being fetched of any.
    pub fn catches_up(&self) -> bool {
        self.all.iter().any(|it| it.catching_up)
    }

    /// How many publishings there are in a second.
    pub fn publishings_per_s(&self) -> f64 {
        let there = self.all.iter().filter(|it| it.id.is_some());
        there
            .map(|it| 1.0 / it.publishing.as_secs_f64().max(1e-3))
            .sum()
    }

    /// The longest that one of them may say nothing.
    pub fn longest_silence(&self) -> Duration {
        let silence = |it: &Subscription| it.publishing.saturating_mul(it.keep_alive.max(1));
        self.all.iter().map(silence).max().unwrap_or_default()
    }
}
