//! A monitored item: what it watches, how often, and what it saw.

use std::sync::Arc;
use std::time::Duration;

use wire::template::walk::{BuiltInType, RawVariant};
use wire::time::Now;
use wire::types::{MonitoringMode, NumericRange, StatusCode};

use super::filter::Filter;
use super::queue::{Entry, OVERFLOW, Queue, Seen};
use crate::fault::Mark;
use crate::ledger::{ItemKind, Tally, Values};
use crate::space::attribute::{self, Timestamps, id};
use crate::space::{Body, NodeIndex, Signal, Source, Space, Variable};
use crate::users::Rights;

/// What a client may change about an item.
#[derive(Debug, Clone)]
pub struct Parameters {
    /// The client's name for it.
    pub client_handle: u32,
    /// Time between samples, revised.
    pub sampling: Duration,
    /// Values kept at most, revised.
    pub queue_size: u32,
    /// Which of them go first.
    pub discard_oldest: bool,
    /// Which of them are told.
    pub filter: Filter,
    /// The times that go with them.
    pub stamps: Timestamps,
}

/// Items that an item triggers: most trigger none, and that takes a word.
#[derive(Debug, Default)]
#[allow(
    clippy::box_collection,
    reason = "a word instead of three in each of a million items"
)]
pub struct Links(Option<Box<Vec<u32>>>);

impl Links {
    /// Adds one that is not among them.
    pub fn add(&mut self, id: u32) {
        let links = self.0.get_or_insert_default();
        if !links.contains(&id) {
            links.push(id);
        }
    }

    /// Keeps only some. True if any went.
    pub fn retain(&mut self, keep: impl Fn(u32) -> bool) -> bool {
        let Some(links) = &mut self.0 else {
            return false;
        };
        let before = links.len();
        links.retain(|id| keep(*id));
        let went = links.len() < before;
        if links.is_empty() {
            self.0 = None;
        }
        went
    }

    /// All of them.
    pub fn ids(&self) -> &[u32] {
        self.0.as_ref().map_or(&[], |links| links.as_slice())
    }
}

/// A monitored item.
#[derive(Debug)]
pub struct Item {
    /// Its number in the subscription.
    pub id: u32,
    /// The node it watches.
    pub node: NodeIndex,
    attribute: u32,
    /// The part of the value that is watched; most watch all of it.
    range: Option<Box<NumericRange>>,
    /// Whether and how it reports.
    pub mode: MonitoringMode,
    /// What the client may change.
    pub parameters: Parameters,
    queue: Queue,
    /// The last value that passed the filter.
    last: Option<Entry>,
    /// When it samples next, in nanoseconds of monotonic time.
    next: u64,
    /// Where its values come from, for the ledger.
    kind: ItemKind,
    /// The update that its last sample saw.
    update: u64,
    /// Items that report when this one sees something (Part 4, 5.13.1.6).
    pub links: Links,
    /// Another item has seen something: what is in the queue may go.
    pub triggered: bool,
}

impl Item {
    /// An item that has seen nothing yet.
    pub fn new(
        id: u32,
        node: NodeIndex,
        attribute: u32,
        range: NumericRange,
        mode: MonitoringMode,
        parameters: Parameters,
    ) -> Self {
        Self {
            id,
            node,
            attribute,
            range: range.has_range().then(|| Box::new(range)),
            mode,
            parameters,
            queue: Queue::default(),
            last: None,
            next: 0,
            kind: ItemKind::Stored,
            update: 0,
            links: Links::default(),
            triggered: false,
        }
    }

    /// The variable whose value it watches; none if it watches another attribute.
    pub fn variable<'a>(&self, space: &'a Space) -> Option<&'a Variable> {
        let variable = space.node(self.node)?.variable();
        variable.filter(|_| self.attribute == id::VALUE)
    }

    /// Whether its values follow from the time alone, so that it can look back.
    fn signal<'a>(&self, space: &'a Space) -> Option<&'a Signal> {
        if self.range.is_some() {
            return None;
        }
        match &self.variable(space)?.source {
            Source::Signal(signal) => Some(signal),
            _ => None,
        }
    }

    /// How often it must be asked; none if it can look back.
    pub fn polled(&self, space: &Space) -> Option<Duration> {
        let watches = self.mode != MonitoringMode::Disabled && self.signal(space).is_none();
        watches.then_some(self.parameters.sampling)
    }

    /// Begins to watch: the value now is the first it sees.
    pub fn begin(&mut self, space: &Space, now: Now, tally: &mut Tally) {
        self.last = None;
        if self.mode == MonitoringMode::Disabled {
            return;
        }
        self.update = match self.signal(space) {
            Some(signal) => {
                self.kind = ItemKind::Computed;
                signal.updates(now.mono.as_nanos())
            }
            None => {
                self.kind = ItemKind::Stored;
                u64::from(self.version(space))
            }
        };
        let values = tally.of(self.kind);
        let entry = self.sample(space, now);
        values.samples += 1;
        self.offer(entry, values);
        self.next = now.mono.as_nanos() + self.interval();
    }

    /// How often what it watches was written.
    fn version(&self, space: &Space) -> u32 {
        let variable = self.variable(space);
        variable.map_or(0, |variable| variable.source.version())
    }

    fn interval(&self) -> u64 {
        u64::try_from(self.parameters.sampling.as_nanos())
            .unwrap_or(u64::MAX)
            .max(1)
    }

    /// Takes the samples that are due. True if one of them was queued.
    pub fn catch_up(&mut self, space: &Space, now: Now, tally: &mut Tally) -> bool {
        let until = now.mono.as_nanos();
        if self.mode == MonitoringMode::Disabled || self.next > until {
            return false;
        }
        let values = tally.of(self.kind);
        let before = values.queued;
        match self.signal(space) {
            Some(signal) => self.look_back(signal, space.anchor(), until, values),
            None => {
                // Before the value: a write in between shows in the next sample as well, where
                // the filter finds nothing new.
                let version = self.version(space);
                // A count of writes wraps below 31 bits.
                let updates = u64::from(version.wrapping_sub(self.update as u32) & (u32::MAX >> 1));
                self.update = u64::from(version);
                values.updates += updates;
                values.unsampled += updates.saturating_sub(1);
                values.samples += 1;
                let entry = self.sample(space, now);
                self.offer(entry, values);
                // Samples that were missed are gone.
                let late = (until - self.next) / self.interval();
                self.next += (late + 1) * self.interval();
            }
        }
        values.queued > before
    }

    /// All samples up to `until`, each of them with the value there was.
    fn look_back(&mut self, signal: &Signal, anchor: i64, until: u64, values: &mut Values) {
        let interval = self.interval();
        while self.next <= until {
            let n = signal.updates(self.next);
            let entry = Entry {
                seen: Seen::Bits(signal.kind, signal.bits(n)),
                status: 0,
                source: anchor + (signal.updated_at(n) / 100) as i64,
                server: anchor + (self.next / 100) as i64,
            };
            self.offer(entry, values);
            let updates = n.saturating_sub(self.update);
            self.update = n;
            values.updates += updates;
            values.unsampled += updates.saturating_sub(1);
            // On to the first sample that sees another update; those before it see nothing new.
            let update = signal.updated_at(n + 1).min(until);
            let steps = update.saturating_sub(self.next).div_ceil(interval).max(1);
            values.samples += steps;
            values.filtered += steps - 1;
            self.next += steps * interval;
        }
    }

    fn offer(&mut self, entry: Entry, values: &mut Values) {
        if !self.parameters.filter.passes(self.last.as_ref(), &entry) {
            values.filtered += 1;
            return;
        }
        self.last = Some(entry.clone());
        let size = self.parameters.queue_size as usize;
        values.queued += 1;
        if !self.queue.push(entry, size, self.parameters.discard_oldest) {
            *dropped(values, size) += 1;
        }
    }

    fn sample(&self, space: &Space, now: Now) -> Entry {
        // A Boolean or a number is not encoded to be looked at.
        if let (Some(variable), None) = (self.variable(space), &self.range)
            && let Some((kind, bits, stamp)) = variable.source.bits(now, space.anchor())
        {
            return Entry {
                seen: Seen::Bits(kind, bits),
                status: stamp.status.bits(),
                source: stamp.source,
                server: now.utc,
            };
        }
        let mut encoded = Vec::new();
        let read = self.read(space, now, &mut encoded);
        let (seen, status, source) = match read {
            Ok((status, source)) => (seen(&encoded), status, source),
            Err(status) => (Seen::Nothing, status.bits(), 0),
        };
        Entry {
            seen,
            status,
            source,
            server: now.utc,
        }
    }

    fn read(&self, space: &Space, now: Now, out: &mut Vec<u8>) -> Result<(u32, i64), StatusCode> {
        let node = space.node(self.node).ok_or(StatusCode::BadNodeIdUnknown)?;
        match &node.body {
            Body::Variable(variable) if self.attribute == id::VALUE => {
                let stamp = variable.source.write(now, space.anchor(), out);
                if let Some(range) = &self.range {
                    attribute::cut(out, 0, range)?;
                }
                Ok((stamp.status.bits(), stamp.source))
            }
            _ => attribute::other(node, self.attribute, Rights::ALL, out).map(|()| (0, 0)),
        }
    }

    /// How many values it has to report now.
    pub fn ready(&self) -> usize {
        let reports = match self.mode {
            MonitoringMode::Reporting => true,
            MonitoringMode::Sampling => self.triggered,
            MonitoringMode::Disabled => false,
        };
        if reports { self.queue.len() } else { 0 }
    }

    /// Appends its oldest value as a MonitoredItemNotification. False if there is none.
    pub fn report(&mut self, mark: Mark, out: &mut Vec<u8>) -> bool {
        match self.queue.pop() {
            Some(mut entry) => {
                if mark.overflow {
                    entry.status |= OVERFLOW;
                }
                if let Some(status) = mark.bad {
                    entry.status = status.bits();
                    entry.seen = Seen::Nothing;
                }
                out.extend_from_slice(&self.parameters.client_handle.to_le_bytes());
                entry.encode(self.parameters.stamps, out);
                true
            }
            None => false,
        }
    }

    /// Loses its oldest value, as a fault will have it.
    pub fn lose(&mut self, tally: &mut Tally) {
        if self.queue.pop().is_some() {
            tally.of(self.kind).lost += 1;
        }
    }

    /// Changes how it reports (Part 4, 5.13.4).
    pub fn set_mode(&mut self, mode: MonitoringMode, space: &Space, now: Now, tally: &mut Tally) {
        let before = std::mem::replace(&mut self.mode, mode);
        match (before, mode) {
            (_, MonitoringMode::Disabled) => self.clear(tally),
            (MonitoringMode::Disabled, _) => self.begin(space, now, tally),
            _ => {}
        }
    }

    /// Throws away what waits.
    pub fn clear(&mut self, tally: &mut Tally) {
        tally.of(self.kind).discarded += self.queue.len() as u64;
        self.queue.clear();
        self.last = None;
    }

    /// Where its values come from.
    pub fn kind(&self) -> ItemKind {
        self.kind
    }

    /// Changes what the client may change. What was seen so far stays.
    pub fn set(&mut self, parameters: Parameters, tally: &mut Tally) {
        let (size, oldest) = (parameters.queue_size, parameters.discard_oldest);
        let resized = self.parameters.queue_size != size;
        self.parameters = parameters;
        if resized {
            let gone = self.queue.resize(size as usize, oldest);
            *dropped(tally.of(self.kind), size as usize) += gone as u64;
        }
    }

    /// Reports its last value again, unless one waits already (Part 5, 9.2).
    pub fn resend(&mut self, tally: &mut Tally) {
        if self.mode != MonitoringMode::Reporting || self.queue.len() > 0 {
            return;
        }
        let Some(last) = self.last.clone() else {
            return;
        };
        let values = tally.of(self.kind);
        values.resent += 1;
        values.queued += 1;
        self.queue.push(last, 1, true);
    }

    /// How many values wait, whether they may go or not.
    #[cfg(test)]
    pub fn waiting(&self) -> usize {
        self.queue.len()
    }
}

/// What a value that had to make room counts as: in a queue of one it is replaced, in a longer
/// one it overflows (Part 4, 5.13.1.5).
fn dropped(values: &mut Values, size: usize) -> &mut u64 {
    match size {
        0 | 1 => &mut values.overwritten,
        _ => &mut values.overflowed,
    }
}

/// A value by its encoded Variant.
fn seen(encoded: &[u8]) -> Seen {
    let scalar = encoded.split_first().and_then(|(kind, payload)| {
        let value = RawVariant::parse(encoded).ok()?;
        let small = (1..=8).contains(&payload.len());
        let plain = *kind <= BuiltInType::Double as u8 && value.array_len().is_none();
        if !small || !plain {
            return None;
        }
        let mut bits = [0; 8];
        bits.iter_mut()
            .zip(payload)
            .for_each(|(to, from)| *to = *from);
        Some(Seen::Bits(value.kind(), u64::from_le_bytes(bits)))
    });
    scalar.unwrap_or_else(|| Seen::Encoded(Arc::from(encoded)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With its node's place in the heap of sampled values, a monitored item of a number takes
    /// no memory beside this.
    #[test]
    fn an_item_takes_less_than_250_bytes() {
        let bytes = size_of::<Item>();
        assert!(bytes < 250, "{bytes}");
    }
}
