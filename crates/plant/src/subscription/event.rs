//! Items that watch events (Part 4, 5.13.1.5 and 7.22.3), apart from those that watch values.

use std::collections::VecDeque;
use std::sync::Arc;

use wire::time::Now;
use wire::types::{MonitoringMode, ObjectId, StatusCode};

use super::links::Links;
use super::memory::Memory;
use crate::ledger::{ItemKind, Load, Tally};
use crate::space::event::{Event, EventFilter, EventKind, Scope};
use crate::space::{NodeIndex, Space};

/// What a client may change about an item of events, revised.
#[derive(Debug, Clone)]
pub struct EventParameters {
    /// The client's name for it.
    pub client_handle: u32,
    /// Events kept at most, revised.
    pub queue_size: u32,
    /// Which of them go first.
    pub discard_oldest: bool,
    /// Which events, and which of their fields.
    pub filter: Arc<EventFilter>,
    /// Bytes of the filter as it was sent.
    pub filter_len: usize,
}

/// An item that watches events.
#[derive(Debug)]
pub struct EventItem {
    /// Its number in the subscription.
    pub id: u32,
    /// The node it listens at.
    pub node: NodeIndex,
    /// Whether and how it reports.
    pub mode: MonitoringMode,
    /// What the client may change.
    pub parameters: EventParameters,
    scope: Scope,
    /// What happened up to here was looked at, in nanoseconds.
    seen: u64,
    /// So were the entries of the journal up to this one.
    entry: u64,
    /// Where audit events are told of, up to which entry they were looked at.
    audit: Option<u64>,
    /// Audit events may be among those that wait.
    audited: bool,
    /// Encoded fields.
    queue: VecDeque<Box<[u8]>>,
    /// Says that some were dropped; it is not among those that the queue may hold.
    overflow: Option<Box<[u8]>>,
    /// Items that report when this one hears something.
    pub links: Links,
    triggered: bool,
}

impl EventItem {
    /// One that hears of what happens from now on.
    pub fn new(
        id: u32,
        node: NodeIndex,
        scope: Scope,
        mode: MonitoringMode,
        parameters: EventParameters,
        space: &Space,
        now: Now,
    ) -> Self {
        Self {
            id,
            node,
            mode,
            parameters,
            scope,
            seen: now.mono.as_nanos(),
            entry: space.events().last_entry(),
            // Part 5, 8.3.2: the Server object tells of everything.
            audit: (Some(node) == server(space)).then(|| space.events().audits.last()),
            audited: false,
            queue: VecDeque::new(),
            overflow: None,
            links: Links::default(),
            triggered: false,
        }
    }

    /// Bytes that it takes, but for the events that wait; of a filter about as many.
    pub fn weight(&self) -> usize {
        size_of::<Self>() + self.links.weight() + 4 * self.parameters.filter_len
    }

    /// Looks at what happened since the last time. True if something was queued.
    /// What clients did is for those who may know (`audits`).
    fn catch_up(
        &mut self,
        audits: bool,
        space: &Space,
        now: Now,
        memory: &Memory,
        tally: &mut Tally,
    ) -> bool {
        let until = now.mono.as_nanos();
        if self.mode == MonitoringMode::Disabled || until <= self.seen {
            return false;
        }
        let before = tally.event.queued;
        let (scope, times, entry) = (self.scope.clone(), (self.seen, until), self.entry);
        let events = space.events();
        let (missed, last) = events.between(&scope, times, entry, |event| {
            self.offer(event, space, now, memory, tally, true);
        });
        self.seen = until;
        self.entry = last;
        tally.event.updates += missed;
        tally.event.unsampled += missed;
        if let Some(audit) = self.audit {
            let (missed, last) = match audits {
                true => events.audited(audit, |event| {
                    self.offer(event, space, now, memory, tally, true);
                }),
                false => (0, events.audits.last()),
            };
            self.audit = Some(last);
            self.audited |= audits && last > audit;
            tally.event.updates += missed;
            tally.event.unsampled += missed;
        }
        tally.event.queued > before
    }

    fn offer(
        &mut self,
        event: &Event<'_>,
        space: &Space,
        now: Now,
        memory: &Memory,
        tally: &mut Tally,
        filtered: bool,
    ) {
        tally.event.updates += 1;
        tally.event.samples += 1;
        if filtered && !self.parameters.filter.passes(event) {
            tally.event.filtered += 1;
            return;
        }
        tally.event.queued += 1;
        let fields = self.fields(event);
        let weight = weight(&fields);
        let full = self.queue.len() >= self.parameters.queue_size as usize;
        if !full && memory.take(weight) {
            return self.queue.push_back(fields);
        }
        tally.event.overflowed += 1;
        let gone = match self.parameters.discard_oldest {
            true => self.queue.pop_front(),
            // The newest of those that were there makes room for what came.
            false => self.queue.pop_back(),
        };
        if let Some(gone) = gone {
            memory.give_back(self::weight(&gone));
            match memory.take(weight) {
                true => self.queue.push_back(fields),
                // There is no memory for this one either.
                false => tally.event.overflowed += 1,
            }
        }
        if self.overflow.is_none() {
            // Part 4, 5.13.1.5: one event that tells of it, whatever the filter says.
            let own = space
                .events()
                .own(EventKind::EventQueueOverflowEventType, now.utc);
            self.overflow = Some(self.fields(&own));
            tally.event.updates += 1;
            tally.event.samples += 1;
            tally.event.queued += 1;
        }
    }

    fn fields(&self, event: &Event<'_>) -> Box<[u8]> {
        let mut fields = Vec::new();
        self.parameters.filter.encode(event, &mut fields);
        fields.into()
    }

    /// How many events it has to report now.
    fn ready(&self) -> usize {
        let reports = match self.mode {
            MonitoringMode::Reporting => true,
            MonitoringMode::Sampling => self.triggered,
            MonitoringMode::Disabled => false,
        };
        match reports {
            true => self.queue.len() + usize::from(self.overflow.is_some()),
            false => 0,
        }
    }

    /// Part 4, 5.13.1.5: what tells of an overflow stands where the gap is.
    fn next(&mut self, memory: &Memory) -> Option<Box<[u8]>> {
        let gap_first = self.parameters.discard_oldest || self.queue.is_empty();
        match self.overflow.take_if(|_| gap_first) {
            None => self
                .queue
                .pop_front()
                .inspect(|it| memory.give_back(weight(it))),
            overflow => overflow,
        }
    }

    /// Bytes of what [`next`](Self::next) gives.
    fn next_len(&self) -> usize {
        let gap_first = self.parameters.discard_oldest || self.queue.is_empty();
        let overflow = self.overflow.as_ref().filter(|_| gap_first);
        let next = overflow.or_else(|| self.queue.front());
        4 + next.map_or(0, |fields| fields.len())
    }

    fn clear(&mut self, memory: &Memory, tally: &mut Tally) {
        let waiting = self.queue.len() + usize::from(self.overflow.is_some());
        tally.event.discarded += waiting as u64;
        let bytes = self.queue.iter().map(|it| weight(it)).sum();
        memory.give_back(bytes);
        self.queue = VecDeque::new();
        self.overflow = None;
        self.audited = false;
    }
}

/// The Server object.
fn server(space: &Space) -> Option<NodeIndex> {
    space.find_id(&ObjectId::Server.into())
}

/// Bytes of an event that waits.
fn weight(fields: &[u8]) -> usize {
    size_of::<Box<[u8]>>() + fields.len()
}

/// The items of a subscription that watch events, by rising number.
#[derive(Debug, Default)]
pub struct EventItems(Vec<EventItem>);

impl EventItems {
    /// Adds one, with a higher number than the others.
    pub fn add(&mut self, item: EventItem) {
        debug_assert!(self.0.last().is_none_or(|last| last.id < item.id));
        self.0.push(item);
    }

    /// Bytes that they take, but for events that wait.
    pub fn weight(&self) -> usize {
        self.0.iter().map(EventItem::weight).sum()
    }

    /// All of them.
    pub fn items(&self) -> &[EventItem] {
        &self.0
    }

    /// One by its number.
    pub fn get(&self, id: u32) -> Option<&EventItem> {
        let at = self.0.binary_search_by_key(&id, |item| item.id).ok()?;
        self.0.get(at)
    }

    /// The same, to change it.
    pub fn get_mut(&mut self, id: u32) -> Option<&mut EventItem> {
        let at = self.0.binary_search_by_key(&id, |item| item.id).ok()?;
        self.0.get_mut(at)
    }

    /// Looks at what happened since the last time; tells which items are triggered by it.
    pub fn catch_up(
        &mut self,
        audits: bool,
        space: &Space,
        now: Now,
        memory: &Memory,
        tally: &mut Tally,
    ) -> Vec<u32> {
        let mut triggered = Vec::new();
        for item in &mut self.0 {
            if item.catch_up(audits, space, now, memory, tally) {
                triggered.extend_from_slice(item.links.ids());
            }
        }
        triggered
    }

    /// Who gets them from now on may not know what clients did: of items that heard of it nothing goes that waits.
    pub fn withhold(&mut self, memory: &Memory, tally: &mut Tally) {
        for item in self.0.iter_mut().filter(|item| item.audited) {
            item.clear(memory, tally);
        }
    }

    /// Another item has seen something: what is in the queue may go.
    pub fn trigger(&mut self, id: u32) {
        if let Some(item) = self.get_mut(id) {
            item.triggered = true;
        }
    }

    /// Whether there is something to report.
    pub fn ready(&self) -> bool {
        self.0.iter().any(|item| item.ready() > 0)
    }

    /// Bytes of the event that is reported next.
    pub fn next_len(&self) -> Option<usize> {
        let item = self.0.iter().find(|item| item.ready() > 0);
        item.map(EventItem::next_len)
    }

    /// Appends EventFieldLists, at most so many and as far as they end before `end`; tells how many. `lose` says of each whether a
    /// fault takes it.
    pub fn report(
        &mut self,
        (most, end): (usize, usize),
        mut lose: impl FnMut(NodeIndex) -> bool,
        load: &mut Load,
        memory: &Memory,
        tally: &mut Tally,
        out: &mut Vec<u8>,
    ) -> usize {
        let mut count = 0;
        for item in &mut self.0 {
            while count < most && item.ready() > 0 {
                // One that is larger than any message is sent alone, and refused.
                if count > 0 && out.len() + item.next_len() > end {
                    return count;
                }
                let Some(fields) = item.next(memory) else {
                    break;
                };
                if lose(item.node) {
                    tally.event.lost += 1;
                    continue;
                }
                out.extend_from_slice(&item.parameters.client_handle.to_le_bytes());
                out.extend_from_slice(&fields);
                load.count(ItemKind::Event);
                count += 1;
            }
            if item.ready() > 0 {
                return count;
            }
            item.triggered = false;
        }
        count
    }

    /// Changes how an item reports. False if there is none of this number.
    pub fn set_mode(
        &mut self,
        id: u32,
        mode: MonitoringMode,
        (audits, space): (bool, &Space),
        now: Now,
        memory: &Memory,
        tally: &mut Tally,
    ) -> bool {
        let Some(item) = self.get_mut(id) else {
            return false;
        };
        item.catch_up(audits, space, now, memory, tally);
        let before = std::mem::replace(&mut item.mode, mode);
        match (before, mode) {
            (_, MonitoringMode::Disabled) => item.clear(memory, tally),
            (MonitoringMode::Disabled, _) => {
                item.seen = now.mono.as_nanos();
                item.entry = space.events().last_entry();
                item.audit = item.audit.map(|_| space.events().audits.last());
            }
            _ => {}
        }
        true
    }

    /// Changes what the client may change. What happened up to now counts as before.
    pub fn set(
        &mut self,
        id: u32,
        parameters: EventParameters,
        (audits, space): (bool, &Space),
        now: Now,
        memory: &Memory,
        tally: &mut Tally,
    ) {
        let Some(item) = self.get_mut(id) else {
            return;
        };
        item.catch_up(audits, space, now, memory, tally);
        item.parameters = parameters;
        let size = item.parameters.queue_size as usize;
        while item.queue.len() > size {
            tally.event.overflowed += 1;
            let gone = match item.parameters.discard_oldest {
                true => item.queue.pop_front(),
                false => item.queue.pop_back(),
            };
            memory.give_back(gone.map_or(0, |it| weight(&it)));
        }
    }

    /// Removes those that are gone.
    pub fn remove(&mut self, gone: impl Fn(u32) -> bool, memory: &Memory, tally: &mut Tally) {
        self.0.retain_mut(|item| {
            let goes = gone(item.id);
            if goes {
                item.clear(memory, tally);
            }
            !goes
        });
        for item in &mut self.0 {
            item.links.retain(|id| !gone(id));
        }
    }

    /// Throws away what waits.
    pub fn clear(&mut self, memory: &Memory, tally: &mut Tally) {
        for item in &mut self.0 {
            item.clear(memory, tally);
        }
    }

    /// Reports the states of all conditions that are of interest, between two events that say so
    /// (Part 9, 5.5.7); to one item or to all.
    pub fn refresh(
        &mut self,
        only: Option<u32>,
        (audits, space): (bool, &Space),
        now: Now,
        memory: &Memory,
        tally: &mut Tally,
    ) -> Result<(), StatusCode> {
        if only.is_some_and(|id| self.get(id).is_none()) {
            return Err(StatusCode::BadMonitoredItemIdInvalid);
        }
        let among = |item: &EventItem| only.is_none_or(|id| id == item.id);
        for item in self.0.iter_mut().filter(|item| among(item)) {
            // What happened before is told before.
            item.catch_up(audits, space, now, memory, tally);
            if item.mode == MonitoringMode::Disabled {
                continue;
            }
            let events = space.events();
            let start = events.own(EventKind::RefreshStartEventType, now.utc);
            item.offer(&start, space, now, memory, tally, false);
            let scope = item.scope.clone();
            events.retained(&scope, now.mono.as_nanos(), |event| {
                item.offer(event, space, now, memory, tally, true);
            });
            let end = events.own(EventKind::RefreshEndEventType, now.utc);
            item.offer(&end, space, now, memory, tally, false);
        }
        Ok(())
    }
}
