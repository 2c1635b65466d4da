//! What a client was promised: the revised terms of subscriptions and items, and what may lie
//! between two values without anything being lost.

use serde::{Deserialize, Serialize};

use crate::time::nanos_between;

/// Which subscription of a run: its place in the plan, the same for any number of cores.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Seat {
    /// The server, as an index into the run's targets.
    pub target: u32,
    /// The session, counted over the target.
    pub session: u32,
    /// The subscription, counted over the session.
    pub subscription: u32,
}

/// Revised terms of a subscription (Part 4, 5.14.2).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubscriptionTerms {
    /// Time between publishings.
    pub publishing_ns: u64,
    /// Publishings without notifications until the server says that it lives.
    pub keep_alive: u32,
    /// Publishings without a Publish request until it dies.
    pub lifetime: u32,
}

impl SubscriptionTerms {
    /// After so long without a notification a keep-alive is due (Part 4, 5.14.1.1).
    pub(super) fn keep_alive_ns(&self) -> u64 {
        self.publishing_ns
            .saturating_mul(self.keep_alive.max(1).into())
    }
}

/// What an item watches, as far as the client knows.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub enum WatchedValue {
    /// Nothing is known of it.
    #[default]
    Unknown,
    /// It changes so often, in changes per 1000 seconds.
    Changes(u64),
    /// It counts.
    Counter(Counter),
    /// It raises events.
    Events(Ids),
}

/// What EventIds tell.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Ids {
    /// Nothing but who an event is: one that comes again is known by it.
    #[default]
    Opaque,
    /// Source and number, as those of a plant do; a filter holds some of them back.
    Some,
    /// Source and number, and all of them are to come.
    All,
}

/// A value that counts its own updates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counter {
    /// Time between updates.
    pub update_ns: u64,
    /// What an update adds; at least 1.
    pub step: u64,
    /// It begins again at 0 when it would reach this; 0 if it never does. 2^32 for a UInt32 and an
    /// Int32, given as its bits.
    pub modulus: u64,
    /// Updates and samples come exactly when they are due, as those of a plant's computed signals
    /// do. Otherwise both may be early or late by half an interval.
    pub exact: bool,
    /// When it was 0, in ticks of 100 ns since 1601, if that is known.
    pub origin: Option<i64>,
}

impl Default for Counter {
    fn default() -> Self {
        Self {
            update_ns: 0,
            step: 1,
            modulus: 0,
            exact: false,
            origin: None,
        }
    }
}

/// Whether an item samples and reports (Part 4, 7.23).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Monitoring {
    /// It does both.
    Reporting,
    /// It samples, and keeps what it sees in its queue.
    Sampling,
    /// It does neither, and its queue is empty.
    Disabled,
}

/// Revised terms of a monitored item (Part 4, 5.13.2).
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ItemTerms {
    /// Time between samples; 0 for each change.
    pub sampling_ns: u64,
    /// Values kept at most; 0 and 1 mean one.
    pub queue_size: u32,
    /// What a full queue drops.
    pub discard_oldest: bool,
    /// By how much a value has to differ from the last one to be told, in updates of a counter:
    /// so many updates may be held back between two values.
    pub held_back: u32,
    /// What it watches.
    pub watch: WatchedValue,
}

/// Items with the same terms in the same subscription.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Group {
    pub(super) subscription: u32,
    pub(super) terms: ItemTerms,
    pub(super) counter: Option<Counter>,
    /// The longest delay that sampling and publishing explain, in ticks.
    pub(super) phase: i64,
}

impl Group {
    /// How often its items have something to tell, where that is known.
    pub(super) fn news_ns(&self, publishing_ns: u64) -> Option<u64> {
        let known = self.changes_ns().is_some() && self.terms.held_back == 0;
        known.then(|| self.pace_ns().max(publishing_ns))
    }

    /// How often what they watch changes, where that is known.
    fn changes_ns(&self) -> Option<u64> {
        match self.terms.watch {
            WatchedValue::Counter(counter) if counter.update_ns > 0 => Some(counter.update_ns),
            WatchedValue::Changes(rate) if rate > 0 => Some(1_000_000_000_000 / rate),
            _ => None,
        }
    }

    /// How many values an item is to bring in some time, where it is known how often what it watches changes.
    /// What falls between two samples was promised to nobody, nor what another value takes the place of in a
    /// queue of one.
    pub(super) fn due(&self, publishing_ns: u64, time_ns: u64) -> Option<u64> {
        let WatchedValue::Changes(rate) = self.terms.watch else {
            return None;
        };
        let told_ns = match self.terms.queue_size {
            0 | 1 => publishing_ns,
            _ => 0,
        };
        let told = time_ns / self.terms.sampling_ns.max(told_ns).max(1);
        // Counted, not by the time between two changes: that is no whole number of nanoseconds.
        let changes = u128::from(rate) * u128::from(time_ns) / 1_000_000_000_000;
        Some(u64::try_from(changes).map_or(told, |changes| changes.min(told)))
    }
}

impl Group {
    /// Of so many values that are due, those that may fail to come though nobody is late. Where the next stage takes values about as
    /// often as they are there, it meets two of them at one time and none at another, and keeps one.
    pub(super) fn by_phase(&self, publishing_ns: u64, due: u64) -> u64 {
        let sampling_ns = self.terms.sampling_ns;
        let alike = |a: u64, b: u64| a.min(b) > 0 && a.abs_diff(b) <= a.min(b) / 5;
        let changes_ns = self.changes_ns().unwrap_or(0);
        let one = self.terms.queue_size <= 1;
        let slowest = sampling_ns.max(if one { publishing_ns } else { 0 });
        // Of what changes less often nothing can be taken over.
        if changes_ns > slowest && !alike(changes_ns, slowest) {
            return 0;
        }
        let stages = alike(changes_ns, sampling_ns)
            || one && (alike(changes_ns, publishing_ns) || alike(sampling_ns, publishing_ns));
        if stages { due / 2 } else { 0 }
    }
}

/// Where the updates between two values of a counter are that did not come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Between {
    /// Sampled and reported to nobody.
    pub(super) lost: u32,
    /// Seen by no sample.
    pub(super) sampled_away: u32,
    /// Held back by the filter.
    pub(super) filtered: u32,
}

impl Group {
    pub(super) fn new(subscription: u32, terms: ItemTerms, publishing_ns: u64) -> Self {
        Self {
            subscription,
            terms,
            counter: match terms.watch {
                WatchedValue::Counter(counter) => Some(counter),
                _ => None,
            },
            phase: ((terms.sampling_ns.saturating_add(publishing_ns)) / 100) as i64,
        }
    }

    /// How many values it has for a publishing, about.
    pub(super) fn in_a_publishing(&self, publishing_ns: u64) -> u32 {
        let pace = self.pace_ns().max(1);
        u32::try_from((publishing_ns + pace / 2) / pace).map_or(u32::MAX, |values| values.max(1))
    }

    /// The longest of the intervals at which it can have something new.
    pub(super) fn pace_ns(&self) -> u64 {
        self.changes_ns().unwrap_or(0).max(self.terms.sampling_ns)
    }
}

impl Counter {
    /// Whether the lower halves of two counts tell how many updates lie between them.
    #[inline]
    pub(super) fn counts_on(&self) -> bool {
        self.modulus == 0 || self.modulus > u64::from(u32::MAX)
    }

    /// When a count is due that was 0 at `origin`, both in ticks.
    #[inline]
    pub(super) fn due(&self, origin: i64, count: u64) -> i64 {
        // A division is what the rest of it costs.
        let updates = if self.step <= 1 {
            count
        } else {
            count / self.step
        };
        origin.saturating_add_unsigned(updates.saturating_mul(self.update_ns) / 100)
    }

    /// How many updates lie between two counts, negative backwards. `passed` is the time between
    /// them in ticks, where it is known: a count of 8 bits cannot tell 3 updates from 259.
    #[inline]
    pub(super) fn updates(&self, from: u32, to: u64, passed: Option<i64>) -> i64 {
        let step = self.step.max(1);
        if self.counts_on() {
            // The lower halves tell of 2^31 updates either way.
            let way = i64::from((to as u32).wrapping_sub(from) as i32);
            return if step == 1 { way } else { way / step as i64 };
        }
        self.turns(from, to % self.modulus, passed)
    }

    /// The same for a count that begins again before 2^32.
    fn turns(&self, from: u32, to: u64, passed: Option<i64>) -> i64 {
        let step = self.step.max(1);
        let from = u64::from(from);
        let forward = match to >= from {
            true => to - from,
            false => to + self.modulus - from,
        };
        let whole = (self.modulus / step).max(1) as i64;
        let forward = (forward / step) as i64;
        let near = match forward > whole / 2 {
            true => forward - whole,
            false => forward,
        };
        match passed {
            Some(ticks) if self.update_ns > 0 => {
                let expected = ticks.saturating_mul(100) / self.update_ns as i64;
                let off = expected - near;
                near + (off + off.signum() * whole / 2) / whole * whole
            }
            _ => near,
        }
    }

    /// What became of the updates between two values, `delta` (at least 1) apart. `sampled` are
    /// the server's timestamps of both, where there are any.
    pub(super) fn between(
        &self,
        delta: u32,
        terms: &ItemTerms,
        sampled: Option<(i64, i64)>,
    ) -> Between {
        debug_assert!(delta >= 1, "a value again is no update");
        let passed = delta.saturating_sub(1);
        let (update, sampling) = (self.update_ns, terms.sampling_ns);
        let mut between = Between::default();
        if sampling <= update || update == 0 {
            // Each update meets a sample; unless both come when they like and nearly as often.
            let slips = !self.exact && sampling.saturating_mul(2) > update;
            between.sampled_away = u32::from(slips).min(passed);
            between.lost = passed - between.sampled_away;
        } else {
            let told = match sampled {
                // Samples of a plant are exact multiples of the interval apart.
                Some((before, now)) if self.exact => nanos_between(before, now),
                // The fewest samples that explain the count.
                _ => u64::from(passed).saturating_mul(update),
            };
            let samples = told.saturating_add(sampling / 2) / sampling;
            let missed = u32::try_from(samples.max(1) - 1).unwrap_or(u32::MAX);
            between.lost = missed.min(passed);
            between.sampled_away = passed - between.lost;
        }
        if terms.held_back > 0 {
            let held = match sampling > update && sampling > 0 {
                true => u64::from(terms.held_back).saturating_mul(update) / sampling + 1,
                false => terms.held_back.into(),
            };
            between.filtered = between.lost.min(u32::try_from(held).unwrap_or(u32::MAX));
            between.lost -= between.filtered;
        }
        between
    }
}
