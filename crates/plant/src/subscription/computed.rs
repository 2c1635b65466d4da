//! An item whose values follow from the time alone. It keeps when it sampled, not what it saw.

use wire::template::walk::BuiltInType;

use super::filter::Filter;
use super::memory::Memory;
use super::moment::Moment;
use super::queue::{OVERFLOW, Queue, Waits, dropped};
use crate::fault::Mark;
use crate::ledger::Values;
use crate::space::attribute::{Timestamps, mask};
use crate::space::signal::{Pattern, Signal, count};

/// The update that there was at a moment, remembered: items that were made together sample
/// together, and a division is what costs most in looking at one of them.
#[derive(Debug, Default)]
pub struct Pace {
    at: u64,
    interval: u64,
    update: u64,
}

impl Pace {
    #[inline]
    fn update(&mut self, at: u64, interval: u64) -> u64 {
        if self.at != at || self.interval != interval {
            *self = Self {
                at,
                interval,
                update: at / interval,
            };
        }
        self.update
    }
}

/// What an item is asked for, as far as it matters here.
#[derive(Debug, Clone, Copy)]
pub struct SamplingParameters<'a> {
    /// Nanoseconds between samples.
    pub sampling: u64,
    /// Values kept at most.
    pub size: usize,
    /// Which of them go first.
    pub discard_oldest: bool,
    /// Which of them are told; none for all that differ from the one before.
    pub filter: Option<&'a Filter>,
    /// Where memory for them comes from.
    pub memory: &'a Memory,
}

/// How a value is to be told.
#[derive(Debug, Clone, Copy)]
pub struct Notice<'a> {
    /// The client's name for the item.
    pub handle: u32,
    /// The times that go with it.
    pub stamps: Timestamps,
    /// What a fault makes of it.
    pub mark: Mark,
    /// Real time at the origin of monotonic time, in ticks.
    pub anchor: i64,
    /// Where the memory of its place goes.
    pub memory: &'a Memory,
}

/// What an item keeps of a signal that it watches.
#[derive(Debug)]
pub struct Computed {
    /// Nanoseconds between updates.
    interval: u64,
    /// Where a counter begins: most signals that are watched in great numbers count, and those
    /// are not looked up again.
    start: f64,
    counts: bool,
    /// Fewer updates than two to this lead a counter to another value.
    lap: u8,
    kind: BuiltInType,
    /// The update that its last sample saw.
    update: u64,
    /// The last value that passed the filter.
    last: Option<Moment>,
    queue: Queue<Moment>,
}

impl Computed {
    /// Has seen nothing yet.
    pub fn new(signal: &Signal) -> Self {
        Self {
            interval: signal.interval_ns(),
            start: match signal.pattern {
                Pattern::Counter { start } => start,
                _ => 0.0,
            },
            counts: matches!(signal.pattern, Pattern::Counter { .. }),
            lap: signal.modulus().map_or(63, |modulus| modulus.ilog2() as u8),
            kind: signal.kind,
            update: 0,
            last: None,
            queue: Queue::default(),
        }
    }

    /// How many values wait.
    #[inline]
    pub fn len(&self) -> usize {
        self.queue.len()
    }

    /// The value of an update. `signal` looks up the one it watches.
    #[inline]
    fn bits<'a>(&self, n: u64, signal: impl FnOnce() -> Option<&'a Signal>) -> u64 {
        match self.counts {
            true => count(self.kind, self.start, n),
            false => signal().map_or(0, |signal| signal.bits(n)),
        }
    }

    /// Begins to watch: the value at this moment is the first it sees.
    pub fn begin(&mut self, now: u64, asked: SamplingParameters<'_>, values: &mut Values) {
        self.update = now / self.interval;
        self.last = None;
        values.samples += 1;
        self.queue(Moment::new(now), asked, values);
    }

    #[inline]
    fn queue(&mut self, moment: Moment, asked: SamplingParameters<'_>, values: &mut Values) {
        self.last = Some(moment);
        values.queued += 1;
        let SamplingParameters {
            size,
            discard_oldest,
            memory,
            ..
        } = asked;
        if !self.queue.push(moment, size, discard_oldest, memory) {
            *dropped(values, asked.size) += 1;
        }
    }

    /// Takes all samples up to `until`, each of them with the value there was. `next` is when the
    /// first of them is due, then the first one after. Most often one is due.
    #[inline]
    pub fn look_back<'a>(
        &mut self,
        next: &mut u64,
        until: u64,
        asked: SamplingParameters<'_>,
        pace: &mut Pace,
        signal: impl Fn() -> Option<&'a Signal>,
        values: &mut Values,
    ) {
        self.look(next, asked, pace, &signal, values);
        if *next <= until {
            self.look_further(next, until, asked, pace, &signal, values);
        }
    }

    /// Takes the next sample.
    #[inline]
    fn look<'a>(
        &mut self,
        next: &mut u64,
        asked: SamplingParameters<'_>,
        pace: &mut Pace,
        signal: &impl Fn() -> Option<&'a Signal>,
        values: &mut Values,
    ) {
        let n = pace.update(*next, self.interval);
        if self.passes(n, asked, signal) {
            self.queue(Moment::new(*next), asked, values);
        } else {
            values.filtered += 1;
        }
        let updates = n.saturating_sub(self.update);
        self.update = n;
        values.updates += updates;
        values.unsampled += updates.saturating_sub(1);
        values.samples += 1;
        *next += asked.sampling;
    }

    #[inline(never)]
    fn look_further<'a>(
        &mut self,
        next: &mut u64,
        until: u64,
        asked: SamplingParameters<'_>,
        pace: &mut Pace,
        signal: &impl Fn() -> Option<&'a Signal>,
        values: &mut Values,
    ) {
        while *next <= until {
            self.pass_over(next, until, asked, values);
            self.skip(next, until, asked, values);
            if *next <= until {
                self.look(next, asked, pace, signal, values);
            }
        }
    }

    /// On to the first sample that sees another update; those before it see nothing new.
    fn pass_over(
        &self,
        next: &mut u64,
        until: u64,
        asked: SamplingParameters<'_>,
        values: &mut Values,
    ) {
        let update = (self.update + 1).saturating_mul(self.interval);
        let update = update.min(until + 1);
        let steps = update.saturating_sub(*next).div_ceil(asked.sampling);
        values.samples += steps;
        values.filtered += steps;
        *next += steps * asked.sampling;
    }

    /// Leaves out what would not stay in the queue, where that follows from arithmetic: each
    /// update differs from the one before, and the oldest values are those that go. The next
    /// sample is one that sees a new update.
    fn skip(
        &mut self,
        next: &mut u64,
        until: u64,
        asked: SamplingParameters<'_>,
        values: &mut Values,
    ) {
        let size = asked.size.max(1) as u64;
        let at_once = asked.sampling / self.interval + 1;
        let differ = self.counts && asked.filter.is_none() && at_once >> self.lap == 0;
        if !differ || !(asked.discard_oldest || size == 1) || *next > until {
            return;
        }
        let samples = (until - *next) / asked.sampling + 1;
        if samples <= size {
            return;
        }
        let last = *next + (samples - 1) * asked.sampling;
        // Fast samples see each update, slow ones another update each.
        let seen = samples.min(last / self.interval - self.update);
        let Some(gone) = seen.checked_sub(size).filter(|gone| *gone > 0) else {
            return;
        };
        let (from, before) = (*next, self.update);
        *next = match seen == samples {
            true => from + gone * asked.sampling,
            false => {
                let update = (self.update + gone + 1) * self.interval;
                from + (update - from).div_ceil(asked.sampling) * asked.sampling
            }
        };
        let samples = (*next - from) / asked.sampling;
        self.update = (*next - asked.sampling) / self.interval;
        let updates = self.update - before;
        values.samples += samples;
        values.filtered += samples - gone;
        values.updates += updates;
        values.unsampled += updates - gone;
        values.queued += gone;
        *dropped(values, asked.size) += gone + self.queue.len() as u64;
        self.queue.clear(asked.memory);
        // The first of those that follow is the one that tells.
        let mut first = Moment::new(*next);
        if size > 1 {
            first.overflowed();
        }
        self.queue_first(first, next, asked, values);
    }

    /// Puts the value of the next sample into an empty queue.
    fn queue_first(
        &mut self,
        first: Moment,
        next: &mut u64,
        asked: SamplingParameters<'_>,
        values: &mut Values,
    ) {
        let n = *next / self.interval;
        let updates = n - self.update;
        self.update = n;
        values.updates += updates;
        values.unsampled += updates.saturating_sub(1);
        values.samples += 1;
        self.queue(first, asked, values);
        *next += asked.sampling;
    }

    /// Whether update `n` is worth telling.
    #[inline]
    fn passes<'a>(
        &self,
        n: u64,
        asked: SamplingParameters<'_>,
        signal: &impl Fn() -> Option<&'a Signal>,
    ) -> bool {
        let Some(last) = self.last else {
            return true;
        };
        match asked.filter {
            // The last value that passed is the same as the last that was seen.
            None => match n.wrapping_sub(self.update) {
                0 => false,
                steps if self.counts && steps >> self.lap == 0 => true,
                _ => self.bits(n, signal) != self.bits(self.update, signal),
            },
            Some(filter) => {
                let told = last.nanos() / self.interval;
                let (old, new) = (self.bits(told, signal), self.bits(n, signal));
                filter.passes_number(self.kind, (old, told), (new, n))
            }
        }
    }

    /// Appends its oldest value as a MonitoredItemNotification. False if there is none.
    #[inline]
    pub fn report<'a>(
        &mut self,
        notice: Notice<'_>,
        pace: &mut Pace,
        signal: impl FnOnce() -> Option<&'a Signal>,
        out: &mut Vec<u8>,
    ) -> bool {
        let Notice {
            handle,
            stamps,
            mark,
            anchor,
            memory,
        } = notice;
        let Some(moment) = self.queue.pop(memory) else {
            return false;
        };
        let n = pace.update(moment.nanos(), self.interval);
        let source = anchor + (n * self.interval / 100) as i64;
        let server = anchor + (moment.nanos() / 100) as i64;
        let status = match mark.bad {
            Some(bad) => bad.bits(),
            None if mark.overflow || moment.is_overflow() => OVERFLOW,
            None => 0,
        };
        // A value that has no source has no time of it.
        let sourced = stamps.source && source != 0;
        let bit = |is: bool, bit: u8| if is { bit } else { 0 };
        let bits = bit(mark.bad.is_none(), mask::VALUE)
            | bit(status != 0, mask::STATUS)
            | bit(sourced, mask::SOURCE)
            | bit(stamps.server, mask::SERVER);
        // In pieces of eight bytes, of which the next one overwrites what is too much: what is put
        // together elsewhere first is read back in larger pieces than it was written in, and a
        // processor waits for that.
        let mut put = |piece: u64, len: usize| {
            out.extend_from_slice(&piece.to_le_bytes());
            out.truncate(out.len() + len - 8);
        };
        let head = u64::from(handle) | u64::from(bits) << 32 | (self.kind as u64) << 40;
        if mark.bad.is_none() {
            put(head, 6);
            put(self.bits(n, signal), self.kind.size().unwrap_or(0).min(8));
        } else {
            put(head, 5);
        }
        if status != 0 {
            put(status.into(), 4);
        }
        if sourced {
            put(source as u64, 8);
        }
        if stamps.server {
            put(server as u64, 8);
        }
        true
    }

    /// Loses its oldest value. False if there is none.
    pub fn lose(&mut self, memory: &Memory) -> bool {
        self.queue.pop(memory).is_some()
    }

    /// Forgets all.
    pub fn clear(&mut self, memory: &Memory) {
        self.queue.clear(memory);
        self.last = None;
    }

    /// Makes the queue fit a new size; tells how many values had to go.
    pub fn resize(&mut self, size: usize, discard_oldest: bool, memory: &Memory) -> usize {
        self.queue.resize(size, discard_oldest, memory)
    }

    /// Puts the last value into the queue again. False if there is none.
    pub fn resend(&mut self, memory: &Memory) -> bool {
        let Some(last) = self.last else {
            return false;
        };
        // It tells of no overflow but its own.
        self.queue.push(Moment::new(last.nanos()), 1, true, memory)
    }
}
