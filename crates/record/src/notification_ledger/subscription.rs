//! What is known of one subscription, and of one monitored item.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::average::mean_of_sum;

use super::numbers::{Gap, Numbers};
use super::{Seat, SubscriptionTerms};

/// The item has not reported yet.
pub(super) const SILENT: u32 = 1 << 31;
/// It was changed: nothing is promised between its last value and the next.
pub(super) const UNJUDGED: u32 = 1 << 30;
/// Its subscription was made again.
pub(super) const OUTAGE: u32 = 1 << 29;
/// Its last value may be told again.
pub(super) const RESENT: u32 = 1 << 28;
/// Between its last value and the next it only sampled, and kept what it saw.
pub(super) const KEPT: u32 = 1 << 27;
pub(super) const FLAGS: u32 = SILENT | UNJUDGED | OUTAGE | RESENT | KEPT;
/// It does not report: nothing is due before it does again.
pub(super) const HELD: u32 = 1 << 26;
/// It does not even sample.
pub(super) const OFF: u32 = 1 << 25;
/// The mode, which values that come do not change.
pub(super) const MODE: u32 = HELD | OFF;
/// The group of an item that was not created.
pub(super) const ABSENT: u32 = !(FLAGS | MODE);

/// What an item kept comes with the next publishing, or with the one after it if that was on its way.
pub(super) const PATIENT: u32 = 2;

/// An item: 48 bytes, of which there may be millions.
#[derive(Debug, Clone, Copy)]
pub(super) struct Item {
    /// The lower half of its last count.
    pub(super) last: u32,
    /// The publishing that brought it.
    pub(super) cycle: u32,
    /// Its group, below the flags.
    pub(super) group: u32,
    /// First copies of values that came while measuring.
    pub(super) values: u32,
    /// Timestamps of its last value.
    pub(super) source: i64,
    pub(super) server: i64,
    /// The delays of these values added up, in ticks.
    pub(super) waited: u64,
    /// When its counter was 0, in ticks; [`UNDATED`] if that is not known. Counters that differ in this
    /// alone are watched on the same terms.
    pub(super) origin: i64,
}

/// Nobody knows when the counter was 0.
pub(super) const UNDATED: i64 = i64::MIN;

impl Item {
    /// Not created yet: in the place of its last publishing is its subscription.
    pub(super) fn reserved(subscription: u32) -> Self {
        Self {
            last: 0,
            cycle: subscription,
            group: SILENT | ABSENT,
            values: 0,
            source: 0,
            server: 0,
            waited: 0,
            origin: UNDATED,
        }
    }

    pub(super) fn group(&self) -> Option<u32> {
        let group = self.group & ABSENT;
        (group != ABSENT).then_some(group)
    }
}

/// Intervals, added up: all integers, so that no order of adding matters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spread {
    /// How many.
    pub count: u64,
    /// Their sum.
    pub sum: i128,
    /// The sum of their squares.
    pub squares: u128,
    /// The smallest.
    pub min: i64,
    /// The largest.
    pub max: i64,
}

impl Spread {
    pub(super) fn add(&mut self, nanoseconds: i64) {
        if self.count == 0 {
            (self.min, self.max) = (nanoseconds, nanoseconds);
        }
        self.count += 1;
        self.sum += i128::from(nanoseconds);
        self.squares += u128::from(nanoseconds.unsigned_abs()).pow(2);
        self.min = self.min.min(nanoseconds);
        self.max = self.max.max(nanoseconds);
    }

    /// The mean; none without any.
    pub fn mean(&self) -> Option<f64> {
        mean_of_sum(self.sum as f64, self.count)
    }

    /// The standard deviation; none without any.
    pub fn deviation(&self) -> Option<f64> {
        let mean = self.mean()?;
        Some(
            (self.squares as f64 / self.count as f64 - mean * mean)
                .max(0.0)
                .sqrt(),
        )
    }
}

/// What one subscription brought while it was measured.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// Which one.
    pub seat: Seat,
    /// Its revised terms.
    pub terms: SubscriptionTerms,
    /// Items that were created.
    pub items: u32,
    /// There is something to tell at each publishing, as far as the client was told how its nodes change.
    pub news: bool,
    /// Notification messages, first copies.
    pub messages: u64,
    /// Keep-alives.
    pub keep_alives: u64,
    /// Values in messages, first copies.
    pub values: u64,
    /// Between the arrivals of two publishings, in nanoseconds.
    pub arrivals: Spread,
    /// By how much the publish times of two publishings were further apart than the publishing
    /// interval, or a multiple of it; less than zero when they were nearer.
    pub jitter: Spread,
    /// How it ended, if the client did not delete it.
    pub ended: Option<u32>,
    /// The longest time in which nothing came, not even a keep-alive.
    pub silence: Option<Silence>,
    /// After so long without anything to tell the server owes a keep-alive: the longest of its terms.
    pub keep_alive_ns: u64,
    /// Something to tell is due so often, where it is known how its nodes change.
    pub due_ns: Option<u64>,
}

/// A time in which nothing came, since the measurement began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Silence {
    /// From.
    pub from_ns: u64,
    /// To.
    pub to_ns: u64,
    /// It went on to the end.
    pub lasts: bool,
}

impl Silence {
    /// How long it was.
    pub fn length_ns(&self) -> u64 {
        self.to_ns.saturating_sub(self.from_ns)
    }
}

#[derive(Debug, Clone)]
pub(super) struct Subscription {
    pub(super) row: Row,
    pub(super) handles: Vec<Range<u32>>,
    /// The group of the item that was created last.
    pub(super) group: u32,
    pub(super) numbers: Numbers,
    /// Publishings up to now, those of missing messages among them.
    pub(super) cycle: u32,
    /// The last publishing that came sooner than items may be expected to have news.
    pub(super) short: u32,
    /// The last publishing that may bring what items kept while they only sampled.
    pub(super) patient: Option<u32>,
    /// When items of it were last told to report again.
    pub(super) released: u64,
    /// The last message said that more are ready.
    pub(super) more: bool,
    /// Of the last message in its turn that began a publishing; 0 before.
    pub(super) publish: i64,
    pub(super) received: u64,
    /// Of the last message in its turn, whatever it was; 0 before.
    pub(super) published: i64,
    /// The shortest way from publishing to arrival, in ticks, as far as clocks agree.
    pub(super) shortest: i64,
    /// When anything of it came last.
    pub(super) heard: u64,
    /// When its connection was lost.
    pub(super) cut: Option<u64>,
    /// It ended, or was never there.
    pub(super) over: bool,
}

impl Subscription {
    pub(super) fn new(seat: Seat, terms: SubscriptionTerms) -> Self {
        Self {
            row: Row {
                seat,
                terms,
                keep_alive_ns: terms.keep_alive_ns(),
                ..Row::default()
            },
            handles: Vec::new(),
            group: ABSENT,
            numbers: Numbers::default(),
            cycle: 0,
            short: 0,
            patient: None,
            released: 0,
            more: false,
            publish: 0,
            received: 0,
            published: 0,
            shortest: i64::MAX,
            heard: 0,
            cut: None,
            over: false,
        }
    }

    /// Something of it came, or (`lasts`) the measurement that began at `from` is over.
    pub(super) fn hear(&mut self, from: u64, at: u64, lasts: bool) {
        let since = std::mem::replace(&mut self.heard, at).max(from);
        let silence = Silence {
            from_ns: since - from,
            to_ns: at.saturating_sub(from),
            lasts,
        };
        let longest = self.row.silence.map_or(0, |it| it.length_ns());
        if silence.length_ns() > longest {
            self.row.silence = Some(silence);
        }
    }

    /// Its place in the subscription that an item has, by its handle.
    pub(super) fn place(&self, handle: u32) -> Option<u32> {
        let mut before = 0;
        for range in &self.handles {
            if range.contains(&handle) {
                return Some(before + handle - range.start);
            }
            before += range.end - range.start;
        }
        None
    }

    /// Later than this behind the fastest, a message is late: another publishing could have been.
    pub(super) fn late_after(&self) -> i64 {
        const LEAST: u64 = 500_000;
        (self.row.terms.publishing_ns / 100).max(LEAST) as i64
    }

    /// Whether a publishing may bring values from before an item reported again.
    pub(super) fn is_patient(&self, cycle: u32) -> bool {
        let left = self.patient.map(|last| last.wrapping_sub(cycle));
        left.is_some_and(|left| left <= PATIENT)
    }

    /// Numbers are missing before `expected`. Each takes the place of a publishing.
    pub(super) fn miss(&mut self, gap: Gap, at: u64) {
        self.numbers.open(gap, self.cycle.wrapping_add(1), at);
        self.cycle = self.cycle.wrapping_add(gap.count);
        // What announced more is followed by one of those that are missing.
        self.more = false;
        self.publish = 0;
    }
}
