//! Aggregates of a history, one interval after the other and a part of it at a time (Part 11, 6.5.4).

use std::cell::Cell;

use super::configuration::Configuration;
use super::fold::{Fold, Known, Outcome};
use super::function::Aggregate;
use super::sample::Sample;
use crate::space::history::{Cursor, History, Span};

/// How many values before an interval are looked at for one that is not bad (Part 13, 3.1.8: how far is up to the server).
const BACK: usize = 256;

/// A span of time in intervals, and how far it was read.
#[derive(Debug, Clone)]
pub struct Processed {
    aggregate: Aggregate,
    configuration: Configuration,
    start: i64,
    end: i64,
    /// Ticks of an interval.
    length: i64,
    /// Where the next interval begins, seen in the direction of reading.
    next: i64,
    /// An interval of which not all values were taken.
    within: Option<(Fold, Cursor)>,
}

/// What came of a step.
#[derive(Debug)]
pub struct ProcessedStep {
    /// Values of the interval that were looked at.
    pub looked: usize,
    /// All that were, those before it too: what the step took.
    pub read: usize,
    /// An interval that is complete; none if there is more of it.
    pub outcome: Option<Outcome>,
}

/// An interval: from `low` on and before `high`.
struct Interval {
    low: i64,
    high: i64,
    stamp: i64,
    cut: bool,
}

impl Processed {
    /// From `start` towards `end`, which is not the same; an interval of nothing stands for all of it.
    pub fn new(
        aggregate: Aggregate,
        configuration: Configuration,
        (start, end): (i64, i64),
        length: i64,
    ) -> Self {
        let whole = start.abs_diff(end).min(i64::MAX as u64) as i64;
        Self {
            aggregate,
            configuration,
            start,
            end,
            length: match length {
                ..=0 => whole,
                length => length,
            },
            next: start,
            within: None,
        }
    }

    /// Whether there are more intervals.
    pub fn is_over(&self) -> bool {
        match self.start < self.end {
            true => self.next >= self.end,
            false => self.next <= self.end,
        }
    }

    /// The interval that is next.
    fn interval(&self) -> Interval {
        let one = self.aggregate == Aggregate::Interpolative;
        if self.start < self.end {
            let full = self.next.saturating_add(self.length);
            let high = full.min(self.end);
            return Interval {
                low: self.next,
                // What is at its beginning is all that matters.
                high: if one {
                    self.next.saturating_add(1)
                } else {
                    high
                },
                stamp: self.next,
                cut: full > self.end,
            };
        }
        // Part 11, 6.5.4.2: the later end is where it begins, and belongs to it; the earlier does not.
        let full = self.next.saturating_sub(self.length);
        let low = full.max(self.end);
        Interval {
            low: if one {
                self.next
            } else {
                low.saturating_add(1)
            },
            high: self.next.saturating_add(1),
            stamp: self.next,
            cut: full < self.end,
        }
    }

    /// Looks at most at so many values, of the next interval. `nanos` is now, `anchor` real time at the origin of monotonic
    /// time.
    pub fn step(
        &mut self,
        history: &History,
        most: usize,
        nanos: u64,
        anchor: i64,
    ) -> ProcessedStep {
        let count = Cell::new(0_usize);
        let page = |span: &Span, most: usize| {
            let page = history.page(span, most, nanos, anchor);
            count.set(count.get() + page.values.len());
            page
        };
        let interval = self.interval();
        let (mut fold, after) = match self.within.take() {
            Some((fold, cursor)) => (fold, Some(cursor)),
            None => (self.begin(&interval, &page), None),
        };
        let span = Span {
            start: Some(interval.low),
            end: Some(interval.high),
            count: None,
            bounds: false,
            after,
        };
        let read = page(&span, most);
        for value in &read.values {
            fold.take(Sample::of(value));
        }
        let looked = read.values.len();
        if let Some(after) = read.rest.and_then(|rest| rest.after) {
            self.within = Some((fold, after));
            return ProcessedStep {
                looked,
                read: count.get(),
                outcome: None,
            };
        }
        let full = match self.start < self.end {
            true => self.next.saturating_add(self.length),
            false => self.next.saturating_sub(self.length),
        };
        self.next = full;
        let outcome = fold.finish(known(&page));
        ProcessedStep {
            looked,
            read: count.get(),
            outcome: Some(outcome),
        }
    }

    /// An interval with the values before it.
    fn begin(
        &self,
        interval: &Interval,
        page: &impl Fn(&Span, usize) -> crate::space::history::Page,
    ) -> Fold {
        let mut fold = Fold::new(
            self.aggregate,
            self.configuration,
            interval.low,
            interval.high,
        )
        .cut(interval.cut)
        .stamped(interval.stamp);
        let back = |count| {
            page(
                &Span::back_from(interval.low.saturating_sub(1), count),
                count,
            )
            .values
        };
        let mut before = back(1);
        let treats = self.configuration.treat_uncertain_as_bad;
        let usable = |sample: &Sample| sample.is_usable(treats);
        if before.first().is_some_and(|it| !usable(&Sample::of(it))) {
            before = back(BACK);
        }
        let samples = before.iter().map(Sample::of);
        let samples: Vec<Sample> = samples.collect();
        // From the last one that can be used on.
        let from = samples.iter().position(usable);
        let from = from.map_or(samples.len(), |at| at + 1);
        for sample in samples.iter().take(from).rev() {
            fold.before(*sample);
        }
        fold
    }
}

/// Where a history begins and ends.
fn known(page: &impl Fn(&Span, usize) -> crate::space::history::Page) -> Known {
    let ahead = Span {
        start: Some(0),
        end: None,
        count: Some(BACK),
        bounds: false,
        after: None,
    };
    let first = page(&ahead, 1).values.first().map(Sample::of);
    // What only says that there is no data yet comes first.
    let first = match first {
        Some(first) if first.is_gap() => {
            let samples = page(&ahead, BACK).values;
            samples.iter().map(Sample::of).find(|it| !it.is_gap())
        }
        first => first,
    };
    let last = page(&Span::back_from(i64::MAX, 1), 1).values;
    Known {
        first: first.map(|it| it.time),
        last: last.first().map(|it| Sample::of(it).time),
    }
}
