//! All sources of a server, what they raised, and what clients did to conditions.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustc_hash::FxHashMap;
use wire::time::Now;
use wire::types::{NodeId, ObjectId, StatusCode};

use super::condition::{Comment, ConditionAction, ConditionCall, ConditionState};
use super::source::LIMITS;
use super::{Audit, Audits, EventKind, Group, Source};

/// What tells an event from all others of the server: its source's number, its number, and when
/// the server started. A client that knows the numbers knows what it has missed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EventId {
    /// The number of the source; `JOURNAL` (`FFFFFFFF`), `OWN` (`FFFFFFFE`) and `AUDIT` (`FFFFFFFD`) stand for none.
    pub source: u32,
    /// The how many-th of the source it is, from 1 on.
    pub n: u64,
    /// Seconds since 1970 when the server started.
    pub run: u32,
}

/// In place of a source: what came of a client's call.
pub const JOURNAL: u32 = u32::MAX;
/// In place of a source: the server's own, about queues and refreshes.
pub const OWN: u32 = u32::MAX - 1;
/// In place of a source: what clients did.
pub const AUDIT: u32 = u32::MAX - 2;

impl EventId {
    /// Bytes on the wire, big-endian so that they can be read.
    pub fn to_bytes(self) -> [u8; 16] {
        let mut bytes = [0; 16];
        let (source, rest) = bytes.split_at_mut(4);
        let (n, run) = rest.split_at_mut(8);
        source.copy_from_slice(&self.source.to_be_bytes());
        n.copy_from_slice(&self.n.to_be_bytes());
        run.copy_from_slice(&self.run.to_be_bytes());
        bytes
    }

    /// The other way round.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (source, rest) = bytes.split_first_chunk()?;
        let (n, rest) = rest.split_first_chunk()?;
        let run = rest.as_array()?;
        Some(Self {
            source: u32::from_be_bytes(*source),
            n: u64::from_be_bytes(*n),
            run: u32::from_be_bytes(*run),
        })
    }
}

/// An event.
#[derive(Debug, Clone)]
pub struct Event<'a> {
    /// What tells it from others.
    pub id: EventId,
    /// Its type.
    pub kind: EventKind,
    /// The group and the source that raised it; none for the server itself.
    pub from: Option<(&'a Group, &'a Source)>,
    /// When it happened, in ticks.
    pub time: i64,
    /// How severe it is.
    pub severity: u16,
    /// What it says.
    pub message: String,
    /// The state of the condition that it tells.
    pub state: Option<ConditionState>,
    /// What a client did.
    pub audit: Option<Arc<Audit>>,
}

/// What came of a client's call.
#[derive(Debug)]
pub struct Notice {
    sequence: u64,
    nanos: u64,
    group: usize,
    source: usize,
    action: ConditionAction,
    state: ConditionState,
}

/// Entries of the journal that are kept for those who look back.
const KEPT: usize = 65_536;

#[derive(Debug, Default)]
struct Journal {
    entries: VecDeque<Arc<Notice>>,
    last: u64,
}

/// Of which sources somebody hears.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scope(Vec<(usize, Option<usize>)>);

/// All sources of events of a server.
#[derive(Debug, Default)]
pub struct Events {
    groups: Vec<Group>,
    conditions: FxHashMap<NodeId, (usize, usize)>,
    sources: u32,
    /// Real time at the origin of monotonic time, in ticks.
    anchor: i64,
    run: u32,
    journal: Mutex<Journal>,
    own: AtomicU64,
    /// What clients did.
    pub audits: Audits,
}

impl Events {
    /// None yet, on a server that started then.
    pub fn new(anchor: i64) -> Self {
        let seconds = crate::clock::unix_ns(anchor) / 1_000_000_000;
        Self {
            anchor,
            run: seconds as u32,
            ..Self::default()
        }
    }

    /// The number of the next source.
    pub fn next_source(&self) -> u32 {
        self.sources
    }

    /// How many groups there are.
    pub fn groups(&self) -> usize {
        self.groups.len()
    }

    /// Adds a group.
    pub fn add(&mut self, group: Group) {
        let at = self.groups.len();
        for (k, source) in group.sources.iter().enumerate() {
            if let Some(condition) = &source.condition {
                self.conditions.insert(condition.id.clone(), (at, k));
            }
        }
        let sources = u32::try_from(group.sources.len()).unwrap_or(u32::MAX);
        self.sources = self.sources.saturating_add(sources);
        self.groups.push(group);
    }

    /// Whether there are any sources.
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// How many events there were so far.
    pub fn raised(&self, nanos: u64) -> u64 {
        let groups = self.groups.iter().map(|group| group.beat.count(nanos));
        groups.fold(self.lock().last, u64::saturating_add)
    }

    fn lock(&self) -> MutexGuard<'_, Journal> {
        // An entry is there or it is not, whoever panicked.
        self.journal.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The last entry of the journal.
    pub fn last_entry(&self) -> u64 {
        self.lock().last
    }

    /// What somebody hears of who listens at a node: all of it at the Server object.
    pub fn scope(&self, node: &NodeId) -> Scope {
        let all = *node == ObjectId::Server;
        let mut scope = Vec::new();
        for (at, group) in self.groups.iter().enumerate() {
            if all || group.areas.contains(node) {
                scope.push((at, None));
                continue;
            }
            let own = group.sources.iter().enumerate();
            let own = own.filter(|(_, source)| {
                let condition = source.condition.as_ref();
                source.id == *node || condition.is_some_and(|condition| condition.id == *node)
            });
            scope.extend(own.map(|(k, _)| (at, Some(k))));
        }
        Scope(scope)
    }

    /// What clients did after an entry, for those who may know. Tells how many entries nobody has kept, and the last one.
    pub fn audited(&self, entry: u64, mut tell: impl FnMut(&Event<'_>)) -> (u64, u64) {
        let (missed, last, entries) = self.audits.after(entry);
        for (n, audit) in entries {
            tell(&Event {
                id: EventId {
                    source: AUDIT,
                    n,
                    run: self.run,
                },
                kind: audit.kind,
                from: None,
                time: audit.at,
                severity: match audit.status.is_bad() {
                    true => 500,
                    false => 100,
                },
                message: audit.message(),
                state: None,
                audit: Some(audit),
            });
        }
        (missed, last)
    }

    /// A number for an event of the server's own.
    pub fn own(&self, kind: EventKind, now: i64) -> Event<'_> {
        let (severity, message) = match kind {
            EventKind::EventQueueOverflowEventType => {
                (500, "events were dropped because the queue is full")
            }
            EventKind::RefreshStartEventType => (100, "what follows are the states of conditions"),
            _ => (100, "these were the states of conditions"),
        };
        Event {
            id: EventId {
                source: OWN,
                n: self.own.fetch_add(1, Ordering::Relaxed) + 1,
                run: self.run,
            },
            kind,
            from: None,
            time: now,
            severity,
            message: message.to_owned(),
            state: None,
            audit: None,
        }
    }

    fn ticks(&self, nanos: u64) -> i64 {
        self.anchor + (nanos / 100) as i64
    }

    /// Event `m` of a group.
    fn event<'a>(&self, group: &'a Group, m: u64) -> Option<Event<'a>> {
        let (k, n) = group.turn(m);
        let source = group.sources.get(k)?;
        let nanos = group.beat.at(m);
        let state = source.condition.as_ref();
        let state = state.map(|condition| self.fill(group, k, condition.state(n, nanos)));
        if state.as_ref().is_some_and(|state| !state.enabled) {
            return None;
        }
        let message = match (&group.message, &state) {
            (Some(message), _) => message.with(n),
            (None, Some(state)) => told(source, state),
            (None, None) => format!("event {n} of {}", source.name),
        };
        Some(Event {
            id: EventId {
                source: source.number,
                n,
                run: self.run,
            },
            kind: group.kind,
            from: Some((group, source)),
            time: self.ticks(nanos),
            severity: group.severity(m),
            message,
            state,
            audit: None,
        })
    }

    /// What follows from the number of the event.
    fn fill(&self, group: &Group, k: usize, mut state: ConditionState) -> ConditionState {
        state.level = match state.n {
            0 => None,
            n => group.level((n - 1) / 2),
        };
        state.changed = match state.n {
            0 => self.anchor,
            n => self.ticks(group.beat.at(group.number(k, n))),
        };
        state
    }

    /// What the condition of a source is now; none if it has none.
    pub fn state(&self, group: usize, source: usize, nanos: u64) -> Option<ConditionState> {
        let group = self.groups.get(group)?;
        let condition = group.sources.get(source)?.condition.as_ref()?;
        let state = condition.state(group.raised(source, nanos), nanos);
        Some(self.fill(group, source, state))
    }

    /// The event that tells the state of a condition as it is now.
    pub fn current(&self, group: usize, source: usize, nanos: u64) -> Option<Event<'_>> {
        let of = self.groups.get(group)?;
        let own = of.sources.get(source)?;
        let state = self.state(group, source, nanos)?;
        let n = state.n;
        let m = of.number(source, n.max(1));
        let id = match own.condition.as_ref()?.told(n) {
            Some(sequence) => EventId {
                source: JOURNAL,
                n: sequence,
                run: self.run,
            },
            None => EventId {
                source: own.number,
                n,
                run: self.run,
            },
        };
        Some(Event {
            id,
            kind: of.kind,
            from: Some((of, own)),
            time: state.changed,
            severity: of.severity(m),
            message: told(own, &state),
            state: Some(state),
            audit: None,
        })
    }

    /// All conditions of a scope that are of interest now.
    pub fn retained(&self, scope: &Scope, nanos: u64, mut tell: impl FnMut(&Event<'_>)) {
        for (at, only) in &scope.0 {
            let count = self.groups.get(*at).map_or(0, |group| group.sources.len());
            let sources = match only {
                Some(k) => *k..*k + 1,
                None => 0..count,
            };
            for k in sources {
                let event = self.current(*at, k, nanos);
                let event =
                    event.filter(|event| event.state.as_ref().is_some_and(ConditionState::retain));
                if let Some(event) = event {
                    tell(&event);
                }
            }
        }
    }

    /// What happened in a scope after `from` up to `until`, in order of time, and the entries of
    /// the journal after `entry`. Tells how many entries nobody has kept, and the last one.
    pub fn between(
        &self,
        scope: &Scope,
        (from, until): (u64, u64),
        entry: u64,
        mut tell: impl FnMut(&Event<'_>),
    ) -> (u64, u64) {
        let (missed, last, mut notices) = self.entries(scope, entry);
        let mut streams: Vec<Stream<'_>> = scope
            .0
            .iter()
            .filter_map(|(at, only)| {
                let group = self.groups.get(*at)?;
                Stream::new(group, *only, from, until)
            })
            .collect();
        loop {
            let next = streams
                .iter()
                .enumerate()
                .min_by_key(|(_, stream)| stream.at);
            let Some((first, at)) = next.map(|(first, stream)| (first, stream.at)) else {
                break;
            };
            while notices.front().is_some_and(|notice| notice.nanos <= at) {
                let notice = notices.pop_front();
                if let Some(event) = notice.and_then(|notice| self.noticed(&notice)) {
                    tell(&event);
                }
            }
            let Some(stream) = streams.get_mut(first) else {
                break;
            };
            if let Some(event) = self.event(stream.group, stream.m) {
                tell(&event);
            }
            if !stream.advance() {
                streams.swap_remove(first);
            }
        }
        for notice in notices {
            if let Some(event) = self.noticed(&notice) {
                tell(&event);
            }
        }
        (missed, last)
    }

    fn entries(&self, scope: &Scope, entry: u64) -> (u64, u64, VecDeque<Arc<Notice>>) {
        let journal = self.lock();
        let first = journal
            .entries
            .front()
            .map_or(journal.last + 1, |first| first.sequence);
        let missed = first.saturating_sub(entry + 1);
        let skip = (entry + 1).saturating_sub(first) as usize;
        let entries = journal.entries.iter().skip(skip);
        let among = entries.filter(|notice| {
            let of = scope.0.iter();
            let mut of = of.filter(|(group, _)| *group == notice.group);
            of.any(|(_, only)| only.is_none_or(|k| k == notice.source))
        });
        (missed, journal.last, among.cloned().collect())
    }

    fn noticed(&self, notice: &Notice) -> Option<Event<'_>> {
        let group = self.groups.get(notice.group)?;
        let source = group.sources.get(notice.source)?;
        let state = self.fill(group, notice.source, notice.state.clone());
        let what = match notice.action {
            ConditionAction::Acknowledge => "acknowledged",
            ConditionAction::Confirm => "confirmed",
            ConditionAction::Comment => "commented on",
            ConditionAction::Enable => "enabled",
            ConditionAction::Disable => "disabled",
        };
        Some(Event {
            id: EventId {
                source: JOURNAL,
                n: notice.sequence,
                run: self.run,
            },
            kind: group.kind,
            from: Some((group, source)),
            time: self.ticks(notice.nanos),
            severity: group.severity(group.number(notice.source, state.n.max(1))),
            message: format!("{} was {what}", source.name),
            state: Some(state),
            audit: None,
        })
    }

    /// Whether a node is a condition.
    pub fn is_condition(&self, id: &NodeId) -> bool {
        self.conditions.contains_key(id)
    }

    /// A client does something to a condition.
    pub fn act(
        &self,
        condition: &NodeId,
        action: ConditionAction,
        event: Option<&[u8]>,
        comment: Comment,
        now: Now,
    ) -> Result<(), StatusCode> {
        let unknown = StatusCode::BadNodeIdInvalid;
        let (at, k) = *self.conditions.get(condition).ok_or(unknown)?;
        let group = self.groups.get(at).ok_or(unknown)?;
        let source = group.sources.get(k).ok_or(unknown)?;
        let condition = source.condition.as_ref().ok_or(unknown)?;
        let nanos = now.mono.as_nanos();
        let id = event.and_then(EventId::from_bytes);
        let about = id
            .filter(|id| id.run == self.run)
            .and_then(|id| match id.source {
                JOURNAL => Some(ConditionCall::Journal(id.n)),
                number if number == source.number => Some(ConditionCall::Own(id.n)),
                _ => None,
            });
        condition.act(
            action,
            about,
            comment,
            group.raised(k, nanos),
            nanos,
            |state| {
                let mut journal = self.lock();
                journal.last += 1;
                let notice = Notice {
                    sequence: journal.last,
                    nanos,
                    group: at,
                    source: k,
                    action,
                    state,
                };
                journal.entries.push_back(Arc::new(notice));
                if journal.entries.len() > KEPT {
                    journal.entries.pop_front();
                }
                journal.last
            },
        )
    }
}

/// The state of a condition in words.
fn told(source: &Source, state: &ConditionState) -> String {
    let level = state.level.and_then(|at| LIMITS.get(at));
    match (state.active, level) {
        _ if !state.enabled => format!("{} is disabled", source.name),
        (true, Some(level)) => format!("{} is beyond {level}", source.name),
        (true, None) => format!("{} is active", source.name),
        (false, _) => format!("{} is normal again", source.name),
    }
}

/// The events of a group that somebody still has to be told of.
struct Stream<'a> {
    group: &'a Group,
    m: u64,
    last: u64,
    step: u64,
    at: u64,
}

impl<'a> Stream<'a> {
    fn new(group: &'a Group, only: Option<usize>, from: u64, until: u64) -> Option<Self> {
        let (m, step) = match only {
            None => (group.beat.count(from) + 1, 1),
            Some(k) => (
                group.number(k, group.raised(k, from) + 1),
                group.sources.len() as u64,
            ),
        };
        let last = group.beat.count(until);
        (m <= last).then(|| Self {
            group,
            m,
            last,
            step: step.max(1),
            at: group.beat.at(m),
        })
    }

    fn advance(&mut self) -> bool {
        self.m += self.step;
        self.at = self.group.beat.at(self.m);
        self.m <= self.last
    }
}
