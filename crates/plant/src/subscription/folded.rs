//! An item with an aggregate filter (Part 4, 7.22.4): its samples are folded, and what an interval amounts to is queued.

use wire::types::StatusCode;

use super::queue::{Entry, ItemValue};
use crate::ledger::Values;
use crate::space::aggregate::{Aggregate, Configuration, Fold, Known, Outcome, Sample};
use crate::space::signal::Signal;

/// Nanoseconds of a tick.
const NANOS: u64 = 100;

/// What is asked for, revised.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Folding {
    /// What is told.
    pub aggregate: Aggregate,
    /// How good data has to be.
    pub configuration: Configuration,
    /// When the first interval begins, in ticks.
    pub start: i64,
    /// Ticks of an interval.
    pub length: i64,
}

/// What such an item keeps beside its queue.
#[derive(Debug)]
pub struct Folded {
    folding: Folding,
    fold: Fold,
    /// The value that was seen last: one that is seen again is no other.
    seen: Option<Sample>,
    /// When it began to watch.
    began: i64,
    /// Its values follow from the time alone, so that it can look back; nanoseconds between them, and the update that was
    /// seen last.
    computed: Option<(u64, u64)>,
}

impl Folded {
    /// Has seen nothing yet.
    pub fn new(folding: Folding, signal: Option<&Signal>) -> Self {
        Self {
            folding,
            fold: first(&folding),
            seen: None,
            began: folding.start,
            computed: signal.map(|signal| (signal.interval_ns(), 0)),
        }
    }

    /// Whether it can look back.
    pub fn looks_back(&self) -> bool {
        self.computed.is_some()
    }

    /// What it was asked for.
    pub fn folding(&self) -> &Folding {
        &self.folding
    }

    /// Begins to watch. An item that was disabled goes on at the next boundary (Part 4, 7.22.4: boundaries stay).
    pub fn begin(&mut self, now: i64) {
        let Folding { start, length, .. } = self.folding;
        let late = now.saturating_sub(start).max(0);
        // No value of it was missed if it begins with its interval.
        let intervals = late / length + i64::from(late % length != 0);
        self.folding.start = start.saturating_add(intervals.saturating_mul(length));
        self.fold = first(&self.folding);
        (self.seen, self.began) = (None, now);
    }

    /// A sample, seen at a moment. What intervals that ended by then amount to goes to `told`, the last `most` of them;
    /// how many others there were.
    pub fn see(
        &mut self,
        sample: Sample,
        at: i64,
        most: usize,
        mut told: impl FnMut(Outcome),
    ) -> u64 {
        // Clients write times of their own: what comes late counts where it comes. What the first interval begins with may
        // be seen after it has begun.
        let floor = match self.fold.is_first(self.folding.start) {
            true => i64::MIN,
            false => self.fold.low().min(at),
        };
        let time = sample.time.clamp(floor, at);
        let is_new = self.seen.is_none_or(|seen| seen != sample);
        self.seen = Some(sample);
        let sample = Sample { time, ..sample };
        let mut gone = 0;
        if is_new && sample.time < self.fold.high() {
            self.fold(sample);
        } else if is_new {
            gone += self.close(sample.time, most, &mut told);
            self.fold(sample);
        }
        gone + self.close(at, most, &mut told)
    }

    fn fold(&mut self, sample: Sample) {
        match sample.time < self.folding.start {
            true => self.fold.before(sample),
            false => self.fold.take(sample),
        }
    }

    /// Ends intervals that are over.
    fn close(&mut self, at: i64, most: usize, told: &mut impl FnMut(Outcome)) -> u64 {
        let length = self.folding.length;
        let mut gone = 0;
        while self.fold.high() <= at {
            let over = (at - self.fold.high()) / length + 1;
            let high = self.fold.high();
            // Whatever happened to the clock, no more are made than a queue takes.
            let skipped = over - i64::try_from(most).unwrap_or(i64::MAX).min(over);
            if skipped > 0 {
                gone += skipped as u64;
                let to = high.saturating_add((skipped - 1).saturating_mul(length));
                self.fold = self.fold.next(to).next(to.saturating_add(length));
                continue;
            }
            told(self.fold.finish(Known {
                first: Some(self.began),
                last: None,
            }));
            self.fold = self.fold.next(high.saturating_add(length));
        }
        gone
    }

    /// Takes all samples up to `until` of a value that follows from the time alone; `next` is when the first is due, then
    /// the first one after. `anchor` is real time at the origin of monotonic time.
    pub fn look_back(
        &mut self,
        next: &mut u64,
        (until, sampling, anchor): (u64, u64, i64),
        most: usize,
        signal: &Signal,
        values: &mut Values,
        mut told: impl FnMut(Outcome, &mut Values),
    ) {
        while *next <= until {
            let Some((interval, update)) = self.computed else {
                return;
            };
            // On to the first sample that sees another update, or the end of an interval.
            let update_at = (update + 1).saturating_mul(interval);
            let end = u64::try_from(self.fold.high().saturating_sub(anchor)).unwrap_or(0);
            let wake = update_at.min(end.saturating_mul(NANOS)).min(until + 1);
            let steps = match self.seen {
                Some(_) => wake.saturating_sub(*next).div_ceil(sampling),
                None => 0,
            };
            values.samples += steps;
            values.filtered += steps;
            *next += steps * sampling;
            if *next > until {
                return;
            }
            let n = *next / interval;
            let updates = n.saturating_sub(update);
            values.updates += updates;
            values.unsampled += updates.saturating_sub(1);
            self.computed = Some((interval, n));
            let ticks = |nanos: u64| anchor + (nanos / NANOS) as i64;
            let sample = Sample {
                time: ticks(signal.updated_at(n)),
                kind: signal.kind,
                bits: signal.bits(n),
                status: 0,
            };
            let mut count = 0;
            let gone = self.see(sample, ticks(*next), most, |outcome| {
                count += 1;
                told(outcome, values);
            });
            tally(values, count, gone);
            *next += sampling;
        }
    }

    /// The first sample of a value that follows from the time alone.
    pub fn start_at(&mut self, now: u64, anchor: i64, signal: &Signal, values: &mut Values) {
        let n = signal.updates(now);
        self.computed = Some((signal.interval_ns(), n));
        let sample = Sample {
            time: anchor + (signal.updated_at(n) / NANOS) as i64,
            kind: signal.kind,
            bits: signal.bits(n),
            status: 0,
        };
        let at = anchor + (now / NANOS) as i64;
        self.see(sample, at, 1, |_| {});
        values.samples += 1;
        values.filtered += 1;
    }

    /// What an item sees, if it is a number; anything else is as bad as none.
    pub fn sample(entry: &Entry) -> Sample {
        match entry.seen {
            ItemValue::Bits(kind, bits) => Sample {
                time: entry.source,
                kind,
                bits,
                status: entry.status,
            },
            _ => {
                let bad = entry.status >> 30 > 1;
                let status = StatusCode::BadTypeMismatch.bits();
                Sample::none(entry.source, if bad { entry.status } else { status })
            }
        }
    }
}

/// A sample was folded, and so many results came of it beside those that had no place: one of them is the sample's, and those of
/// intervals without a sample count as one each.
pub fn tally(values: &mut Values, told: u64, gone: u64) {
    let all = told + gone;
    values.samples += all.max(1);
    values.filtered += u64::from(all == 0);
    // Those that had no place in any queue.
    values.queued += gone;
    values.overflowed += gone;
}

/// A result as it waits.
pub fn entry(outcome: &Outcome, now: i64) -> Entry {
    Entry {
        seen: match outcome.value {
            Some((kind, bits)) => ItemValue::Bits(kind, bits),
            None => ItemValue::Nothing,
        },
        status: outcome.status,
        source: outcome.time,
        server: now,
    }
}

fn first(folding: &Folding) -> Fold {
    let Folding { start, length, .. } = *folding;
    let high = start.saturating_add(length);
    Fold::new(folding.aggregate, folding.configuration, start, high)
}
