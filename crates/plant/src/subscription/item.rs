//! A monitored item: what it watches, how often, and what it saw.

use std::time::Duration;

use plan::unit::duration;
use wire::time::Now;
use wire::types::{MonitoringMode, NumericRange};

use super::computed::{Computed, Notice, Pace, SamplingParameters};
use super::computed_item::{Held, Question};
use super::filter::Filter;
use super::folded::{self, Folded, Folding};
use super::links::Links;
use super::memory::Memory;
use super::queue::{Entry, ItemValue, OVERFLOW, dropped};
use crate::fault::Mark;
use crate::ledger::{ItemKind, Tally, Values};
use crate::space::aggregate::Outcome;
use crate::space::attribute::{Timestamps, id};
use crate::space::{NodeIndex, NodeRef, Signal, Source, Space};

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
    /// What is told of them instead.
    pub folding: Option<Folding>,
    /// The times that go with them.
    pub stamps: Timestamps,
}

/// Samples that an item looks back at in one go, where each has to be folded.
const FOLDED_AT_ONCE: u32 = 16;

/// A monitored item. There may be a million of them: what few have stands behind a pointer.
#[derive(Debug)]
pub struct Item {
    /// Its number in the subscription.
    pub id: u32,
    /// The node it watches.
    pub node: NodeIndex,
    client_handle: u32,
    queue_size: u32,
    /// Nanoseconds between samples, never 0.
    sampling: u64,
    /// When it samples next, in nanoseconds of monotonic time.
    next: u64,
    watched: Watched,
    rare: Option<Box<Rare>>,
    mode: MonitoringMode,
    discard_oldest: bool,
    stamps: Timestamps,
    /// Another item has seen something: what is in the queue may go.
    triggered: bool,
}

/// Where its values come from, and those that wait.
#[derive(Debug)]
enum Watched {
    /// They follow from the time alone, so that it can look back.
    Computed(Computed),
    /// They have to be asked for.
    Held(Box<Held>),
}

/// What most items do without.
#[derive(Debug)]
struct Rare {
    /// The attribute it watches: most watch the value.
    attribute: u32,
    /// The part of the value that is watched: most watch all of it.
    range: Option<Box<NumericRange>>,
    /// Which values are told: most tell each that differs from the one before.
    filter: Filter,
    /// Items that report when this one sees something (Part 4, 5.13.1.6).
    links: Links,
    /// What samples are folded into: most are told as they are.
    folded: Option<Box<Folded>>,
}

impl Default for Rare {
    fn default() -> Self {
        Self {
            attribute: id::VALUE,
            range: None,
            filter: Filter::default(),
            links: Links::default(),
            folded: None,
        }
    }
}

/// What a client wants to watch.
#[derive(Debug)]
pub struct WatchedAttribute {
    /// The node.
    pub node: NodeIndex,
    /// Its attribute.
    pub attribute: u32,
    /// The part of the value, if not all of it.
    pub range: NumericRange,
    /// Whether and how it reports.
    pub mode: MonitoringMode,
}

impl Item {
    /// An item that has seen nothing yet.
    pub fn new(id: u32, watch: WatchedAttribute, parameters: &Parameters, space: &Space) -> Self {
        let ranged = watch.range.has_range();
        let signal = match watch.attribute == id::VALUE && !ranged {
            true => signal(space, watch.node),
            false => None,
        };
        let folded = parameters.folding.is_some();
        let filtered = folded || !parameters.filter.is_default();
        let usual = watch.attribute == id::VALUE && !ranged && !filtered;
        let rare = (!usual).then(|| {
            Box::new(Rare {
                attribute: watch.attribute,
                range: ranged.then(|| Box::new(watch.range)),
                filter: parameters.filter,
                links: Links::default(),
                folded: fold(parameters.folding, signal),
            })
        });
        Self {
            id,
            node: watch.node,
            client_handle: parameters.client_handle,
            queue_size: parameters.queue_size,
            sampling: sampling_ns(parameters.sampling),
            next: 0,
            watched: watched(signal, parameters.folding),
            rare,
            mode: watch.mode,
            discard_oldest: parameters.discard_oldest,
            stamps: parameters.stamps,
            triggered: false,
        }
    }

    /// The client's name for it.
    pub fn client_handle(&self) -> u32 {
        self.client_handle
    }

    /// Bytes that it takes, but for the values that it has seen.
    pub fn weight(&self) -> usize {
        let rare = self.rare.as_ref().map_or(0, |rare| {
            let range = rare.range.as_ref().map_or(0, |_| size_of::<NumericRange>());
            let folded = rare.folded.as_ref().map_or(0, |_| size_of::<Folded>());
            size_of::<Rare>() + range + folded + rare.links.weight()
        });
        let held = match self.watched {
            Watched::Computed(_) => 0,
            Watched::Held(_) => size_of::<Held>(),
        };
        size_of::<Self>() + rare + held
    }

    /// Whether it watches nothing for now.
    pub fn is_disabled(&self) -> bool {
        self.mode == MonitoringMode::Disabled
    }

    /// The node whose value it watches; none if it watches another attribute.
    pub fn valued<'a>(&self, space: &'a Space) -> Option<NodeRef<'a>> {
        let node = space.node(self.node)?;
        (self.attribute() == id::VALUE).then_some(node)
    }

    fn attribute(&self) -> u32 {
        self.rare.as_ref().map_or(id::VALUE, |rare| rare.attribute)
    }

    /// Whether it watches a part of a value.
    pub fn is_ranged(&self) -> bool {
        self.question().range.is_some()
    }

    fn question(&self) -> Question<'_> {
        Question {
            node: self.node,
            attribute: self.attribute(),
            range: self.rare.as_ref().and_then(|rare| rare.range.as_deref()),
        }
    }

    /// How often it must be looked at; none if it can look back in one step.
    pub fn polled(&self) -> Option<Duration> {
        match self.kind() {
            _ if self.is_disabled() => None,
            ItemKind::Stored => Some(self.sampling()),
            // It folds update by update: those of a long publishing interval would hold up the loop at its end.
            _ => self
                .looks_back()
                .then(|| self.sampling().saturating_mul(FOLDED_AT_ONCE)),
        }
    }

    /// The time between its samples.
    pub fn sampling(&self) -> Duration {
        Duration::from_nanos(self.sampling)
    }

    /// Items that report when this one sees something.
    pub fn links(&self) -> &[u32] {
        self.rare.as_ref().map_or(&[], |rare| rare.links.ids())
    }

    /// The same, to change it.
    pub fn links_mut(&mut self) -> &mut Links {
        &mut self.rare.get_or_insert_default().links
    }

    /// Forgets links to items that are gone.
    pub fn unlink(&mut self, is_gone: impl Fn(u32) -> bool) {
        if let Some(rare) = &mut self.rare {
            rare.links.retain(|id| !is_gone(id));
        }
    }

    /// Begins to watch: the value now is the first it sees.
    pub fn begin(&mut self, space: &Space, now: Now, memory: &Memory, tally: &mut Tally) {
        if self.is_disabled() {
            return;
        }
        let values = tally.of(self.kind());
        self.next = now.mono.as_nanos().saturating_add(self.sampling);
        let asked = asked(
            self.sampling,
            self.queue_size,
            self.discard_oldest,
            &self.rare,
            memory,
        );
        match &mut self.watched {
            Watched::Computed(computed) => computed.begin(now.mono.as_nanos(), asked, values),
            Watched::Held(_) => {
                let version = self.question().version(space);
                if let Watched::Held(held) = &mut self.watched {
                    held.last = None;
                    held.version = version;
                }
                if let Some(folded) = folded(&mut self.rare) {
                    folded.begin(now.utc);
                    if let (true, Some(signal)) = (folded.looks_back(), signal(space, self.node)) {
                        let nanos = now.mono.as_nanos();
                        return folded.start_at(nanos, space.anchor(), signal, values);
                    }
                }
                self.ask(space, now, memory, values);
            }
        }
    }

    /// Takes the samples that are due. True if one of them was queued.
    #[inline]
    pub fn catch_up(
        &mut self,
        space: &Space,
        now: Now,
        pace: &mut Pace,
        memory: &Memory,
        tally: &mut Tally,
    ) -> bool {
        let until = now.mono.as_nanos();
        if self.is_disabled() || self.next > until {
            return false;
        }
        let looks_back = self.looks_back();
        let values = tally.of(self.kind());
        let before = values.queued;
        let asked = asked(
            self.sampling,
            self.queue_size,
            self.discard_oldest,
            &self.rare,
            memory,
        );
        match &mut self.watched {
            Watched::Computed(computed) => {
                let node = self.node;
                let signal = || signal(space, node);
                computed.look_back(&mut self.next, until, asked, pace, signal, values);
            }
            Watched::Held(held) if looks_back => {
                let span = (until, self.sampling, space.anchor());
                let size = (self.queue_size as usize).max(1);
                let oldest = self.discard_oldest;
                let told = |outcome: Outcome, values: &mut Values| {
                    let entry = folded::entry(&outcome, now.utc);
                    held.take(entry, (size, oldest), memory, values);
                };
                if let (Some(folded), Some(signal)) =
                    (folded(&mut self.rare), signal(space, self.node))
                {
                    folded.look_back(&mut self.next, span, size, signal, values, told);
                }
            }
            Watched::Held(_) => {
                // Before the value: a write in between shows in the next sample as well, where
                // the filter finds nothing new.
                let version = self.question().version(space);
                if let Watched::Held(held) = &mut self.watched {
                    // A count of writes wraps below 31 bits.
                    let updates = version.wrapping_sub(held.version) & (u32::MAX >> 1);
                    held.version = version;
                    values.updates += u64::from(updates);
                    values.unsampled += u64::from(updates.saturating_sub(1));
                }
                self.ask(space, now, memory, values);
                // Samples that were missed are gone.
                let late = (until - self.next) / self.sampling;
                self.next += (late + 1) * self.sampling;
            }
        }
        values.queued > before
    }

    /// Takes a sample of a value that has to be asked for.
    fn ask(&mut self, space: &Space, now: Now, memory: &Memory, values: &mut Values) {
        let entry = self.question().ask(space, now, memory);
        let Watched::Held(held) = &mut self.watched else {
            return;
        };
        if let Some(folded) = folded(&mut self.rare) {
            let size = (self.queue_size as usize).max(1);
            let mut told = Vec::new();
            let sample = Folded::sample(&entry);
            let gone = folded.see(sample, now.utc, size, |it| told.push(it));
            folded::tally(values, told.len() as u64, gone);
            for outcome in told {
                let entry = folded::entry(&outcome, now.utc);
                held.take(entry, (size, self.discard_oldest), memory, values);
            }
            return;
        }
        values.samples += 1;
        let filter = self.rare.as_ref().map(|rare| rare.filter);
        let filter = filter.unwrap_or_default();
        if !filter.passes(held.last.as_ref(), &entry) {
            values.filtered += 1;
            return;
        }
        let size = self.queue_size as usize;
        held.take(entry, (size, self.discard_oldest), memory, values);
    }

    /// How many values wait, whether they may go or not.
    #[inline]
    pub fn waiting(&self) -> usize {
        match &self.watched {
            Watched::Computed(computed) => computed.len(),
            Watched::Held(held) => held.queue.len(),
        }
    }

    /// How many values it has to report now.
    #[inline]
    pub fn ready(&self) -> usize {
        let reports = match self.mode {
            MonitoringMode::Reporting => true,
            MonitoringMode::Sampling => self.triggered,
            MonitoringMode::Disabled => false,
        };
        if reports { self.waiting() } else { 0 }
    }

    /// Another item has seen something: what waits may go. Or it has gone.
    pub fn set_triggered(&mut self, triggered: bool) {
        self.triggered = triggered && self.waiting() > 0;
    }

    /// Appends its oldest value as a MonitoredItemNotification. False if there is none.
    #[inline]
    pub fn report(
        &mut self,
        mark: Mark,
        space: &Space,
        pace: &mut Pace,
        memory: &Memory,
        out: &mut Vec<u8>,
    ) -> bool {
        match &mut self.watched {
            Watched::Computed(computed) => {
                let notice = Notice {
                    handle: self.client_handle,
                    stamps: self.stamps,
                    mark,
                    anchor: space.anchor(),
                    memory,
                };
                let node = self.node;
                computed.report(notice, pace, || signal(space, node), out)
            }
            Watched::Held(held) => {
                let Some(entry) = held.queue.pop(memory) else {
                    return false;
                };
                let entry = marked(entry, mark);
                out.extend_from_slice(&self.client_handle.to_le_bytes());
                entry.encode(self.stamps, out);
                true
            }
        }
    }

    /// Bytes that its oldest value takes, or a few less.
    pub fn next_len(&self) -> usize {
        match &self.watched {
            Watched::Computed(_) => NUMBER,
            Watched::Held(held) => match held.queue.first().map(|entry| &entry.seen) {
                Some(ItemValue::Encoded(encoded)) => NUMBER + encoded.bytes.len(),
                _ => NUMBER,
            },
        }
    }

    /// Its oldest value cannot be sent to this client: a status takes its place (Part 4, table 177).
    pub fn withhold(&mut self) {
        if let Watched::Held(held) = &mut self.watched
            && let Some(entry) = held.queue.first_mut()
        {
            entry.seen = ItemValue::Nothing;
            entry.status = wire::types::StatusCode::BadEncodingLimitsExceeded.bits();
        }
    }

    /// Loses its oldest value, as a fault will have it.
    pub fn lose(&mut self, memory: &Memory, tally: &mut Tally) {
        let lost = match &mut self.watched {
            Watched::Computed(computed) => computed.lose(memory),
            Watched::Held(held) => held.queue.pop(memory).is_some(),
        };
        tally.of(self.kind()).lost += u64::from(lost);
    }

    /// Changes how it reports (Part 4, 5.13.4).
    pub fn set_mode(
        &mut self,
        mode: MonitoringMode,
        space: &Space,
        now: Now,
        memory: &Memory,
        tally: &mut Tally,
    ) {
        let before = std::mem::replace(&mut self.mode, mode);
        match (before, mode) {
            (_, MonitoringMode::Disabled) => self.clear(memory, tally),
            (MonitoringMode::Disabled, _) => self.begin(space, now, memory, tally),
            _ => {}
        }
    }

    /// Throws away what waits.
    pub fn clear(&mut self, memory: &Memory, tally: &mut Tally) {
        tally.of(self.kind()).discarded += self.waiting() as u64;
        match &mut self.watched {
            Watched::Computed(computed) => computed.clear(memory),
            Watched::Held(held) => {
                held.queue.clear(memory);
                held.last = None;
            }
        }
    }

    /// Where its values come from.
    #[inline]
    pub fn kind(&self) -> ItemKind {
        match &self.watched {
            Watched::Computed(_) => ItemKind::Computed,
            Watched::Held(_) if self.looks_back() => ItemKind::Computed,
            Watched::Held(_) => ItemKind::Stored,
        }
    }

    /// Whether it folds values that follow from the time alone.
    #[inline]
    fn looks_back(&self) -> bool {
        let folded = self.rare.as_ref().and_then(|rare| rare.folded.as_ref());
        folded.is_some_and(|folded| folded.looks_back())
    }

    /// What its samples are folded into, if they are.
    fn folding(&self) -> Option<Folding> {
        let folded = self.rare.as_ref().and_then(|rare| rare.folded.as_ref());
        folded.map(|folded| *folded.folding())
    }

    /// Changes what the client may change. What was seen so far stays, unless samples are to be folded in another way: then it
    /// begins anew.
    pub fn set(
        &mut self,
        parameters: &Parameters,
        space: &Space,
        now: Now,
        memory: &Memory,
        tally: &mut Tally,
    ) {
        if self.folding() != parameters.folding {
            self.clear(memory, tally);
            let usual = self.attribute() == id::VALUE && self.question().range.is_none();
            let signal = signal(space, self.node).filter(|_| usual);
            self.watched = watched(signal, parameters.folding);
            self.rare.get_or_insert_default().folded = fold(parameters.folding, signal);
            self.take(parameters);
            return self.begin(space, now, memory, tally);
        }
        let resized = self.queue_size != parameters.queue_size;
        self.take(parameters);
        if resized {
            let (size, oldest) = (self.queue_size as usize, self.discard_oldest);
            let gone = match &mut self.watched {
                Watched::Computed(computed) => computed.resize(size, oldest, memory),
                Watched::Held(held) => held.queue.resize(size, oldest, memory),
            };
            *dropped(tally.of(self.kind()), size) += gone as u64;
        }
    }

    fn take(&mut self, parameters: &Parameters) {
        self.client_handle = parameters.client_handle;
        self.queue_size = parameters.queue_size;
        self.sampling = sampling_ns(parameters.sampling);
        self.discard_oldest = parameters.discard_oldest;
        self.stamps = parameters.stamps;
        // One that had a filter may have held back its last sample, and keeps one.
        if self.rare.is_some() || !parameters.filter.is_default() {
            self.rare.get_or_insert_default().filter = parameters.filter;
        }
    }

    /// Reports its last value again, unless one waits already (Part 5, 9.2).
    pub fn resend(&mut self, memory: &Memory, tally: &mut Tally) {
        if self.mode != MonitoringMode::Reporting || self.waiting() > 0 {
            return;
        }
        let sent = match &mut self.watched {
            Watched::Computed(computed) => computed.resend(memory),
            Watched::Held(held) => match held.last.clone() {
                Some(last) => held.queue.push(last, 1, true, memory),
                None => false,
            },
        };
        let values = tally.of(self.kind());
        values.resent += u64::from(sent);
        values.queued += u64::from(sent);
    }
}

/// The signal that a node has, if its value follows from the time alone.
fn signal(space: &Space, node: NodeIndex) -> Option<&Signal> {
    match &space.lasting(node)?.variable()?.source {
        Source::Signal(signal) => Some(signal),
        _ => None,
    }
}

/// What an item keeps of what it watches.
fn watched(signal: Option<&Signal>, folding: Option<Folding>) -> Watched {
    match (signal, folding) {
        (Some(signal), None) => Watched::Computed(Computed::new(signal)),
        _ => Watched::Held(Box::default()),
    }
}

/// What its samples are folded into.
fn fold(folding: Option<Folding>, signal: Option<&Signal>) -> Option<Box<Folded>> {
    folding.map(|folding| Box::new(Folded::new(folding, signal)))
}

fn folded(rare: &mut Option<Box<Rare>>) -> Option<&mut Folded> {
    rare.as_mut()?.folded.as_deref_mut()
}

fn asked<'a>(
    sampling: u64,
    queue_size: u32,
    discard_oldest: bool,
    rare: &'a Option<Box<Rare>>,
    memory: &'a Memory,
) -> SamplingParameters<'a> {
    SamplingParameters {
        sampling,
        size: queue_size as usize,
        discard_oldest,
        filter: rare.as_ref().map(|rare| &rare.filter),
        memory,
    }
}

fn sampling_ns(time: Duration) -> u64 {
    // Longer than any server runs is long enough, and can be added to any time.
    duration::nanos(time).clamp(1, 1 << 61)
}

/// A value as a fault makes it.
/// Bytes of a number with its handle, status and times, at most.
const NUMBER: usize = 40;

fn marked(mut entry: Entry, mark: Mark) -> Entry {
    if mark.overflow {
        entry.status |= OVERFLOW;
    }
    if let Some(status) = mark.bad {
        entry.status = status.bits();
        entry.seen = ItemValue::Nothing;
    }
    entry
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What an item takes in all, with what it points to: half of what it may.
    #[test]
    fn an_item_is_small() {
        let computed = size_of::<Item>();
        let held = computed + size_of::<Held>();
        assert!(computed <= 104, "{computed}");
        assert!(held <= 200, "{held}");
    }
}
