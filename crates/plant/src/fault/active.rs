//! Faults at work: what is to become of each event.
//!
//! All loops ask the same list, under a lock: a share is one of the whole server, whatever its
//! number of threads. Who has no faults pays one load of a word that never changes.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use plan::DatagramFate;
use rustc_hash::FxHashSet;
use serde::Serialize;
use wire::service::Kind;
use wire::time::Instant;
use wire::types::StatusCode;

use super::chance::Chance;
use super::{Effect, Fault, Pick, Rule, Target};
use crate::space::{NodeIndex, Space};

/// Kinds of events that somebody may want to hear of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// A request has come.
    Request = 1,
    /// A notification message is to be sent.
    Message = 2,
    /// A value is to be put into a notification message.
    Report = 4,
    /// A value is read.
    Read = 8,
    /// Somebody connects.
    Connection = 16,
    /// A loop has done what it could without waiting, requests among it.
    Turn = 32,
    /// A NetworkMessage is to be published.
    Datagram = 64,
}

/// Requests of a few turns of a loop, of each type how many.
#[derive(Debug, Default)]
pub struct Turn {
    of_type: Vec<(u32, u32)>,
}

impl Turn {
    /// One more.
    pub fn add(&mut self, type_id: u32) {
        match self.of_type.iter_mut().find(|(known, _)| *known == type_id) {
            Some((_, count)) => *count += 1,
            None => self.of_type.push((type_id, 1)),
        }
    }

    /// Whether there was none.
    pub fn is_empty(&self) -> bool {
        self.of_type.is_empty()
    }

    /// Forgets them.
    pub fn clear(&mut self) {
        self.of_type.clear();
    }
}

/// What is to become of a request.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct RequestFate {
    /// It is looked at only then.
    pub until: Option<Instant>,
    /// Its response is sent so much later.
    pub delay: Duration,
    /// Its response is not sent.
    pub lost: bool,
    /// Its response is sent so many times more.
    pub more: u32,
    /// Its response is sent behind so many others.
    pub behind: u32,
    /// It is refused.
    pub bad: Option<StatusCode>,
    /// The server stands still for so long first.
    pub stall: Option<Duration>,
    /// Its connection is cut.
    pub disconnect: bool,
    /// The server goes away for so long.
    pub restart: Option<Duration>,
}

/// What is to become of a notification message.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MessageFate {
    /// It is sent so much later.
    pub delay: Duration,
    /// It is not sent.
    pub lost: bool,
    /// It is sent so many times more, each with a Publish request of its own.
    pub more: u32,
    /// It is sent behind so many others of its subscription.
    pub behind: u32,
    /// Its connection is cut before it is sent.
    pub disconnect: bool,
}

/// What is to become of a value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Mark {
    /// It is left out.
    pub lost: bool,
    /// Its overflow bit is set.
    pub overflow: bool,
    /// It has this status and no value.
    pub bad: Option<StatusCode>,
}

/// What happens to the server as a whole, now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tick {
    /// It stands still.
    Stall(Duration),
    /// It begins anew.
    Restart(Duration),
    /// Connections are cut: those that [`Faults::cuts`] names for this number.
    Cut(u32),
}

/// A fault and how often it struck.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FaultCount {
    /// Its number.
    pub id: u32,
    /// What it is, as it can be typed again.
    pub fault: String,
    /// Events that could have been hit: those of its target, in its window.
    pub events: u64,
    /// Those that were.
    pub hits: u64,
    /// Whether it was cleared.
    pub cleared: bool,
}

/// A fault for a node that is not there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NoSuchNode {
    /// Its namespace is not one of this server's.
    #[error(transparent)]
    Namespace(#[from] plan::NodeError),
    /// The node is not in the address space.
    #[error("no node {0} in the address space of this server")]
    Node(String),
}

#[derive(Debug)]
struct Active {
    id: u32,
    fault: Fault,
    /// Empty for all.
    nodes: FxHashSet<NodeIndex>,
    chance: Chance,
    /// For what happens by the clock to connections, of which `chance` picks some.
    clock: Option<Chance>,
    /// When the single server of a service time is done with what it has.
    free: Instant,
}

#[derive(Debug, Default)]
struct Inner {
    last: u32,
    list: Vec<Active>,
    cleared: VecDeque<FaultCount>,
}

/// How many cleared faults are remembered with their counts.
const REMEMBERED: usize = 1000;

/// All faults of a server.
#[derive(Debug, Default)]
pub struct Faults {
    /// The classes of events that some fault is about.
    classes: AtomicU32,
    /// Goes up with each change.
    generation: AtomicU32,
    inner: Mutex<Inner>,
}

impl Active {
    fn new(id: u32, fault: Fault, nodes: FxHashSet<NodeIndex>, now: Instant) -> Self {
        let rule = fault.rule;
        let cuts = fault.effect == Effect::Disconnect && fault.on == Target::Connection;
        let (chance, clock) = match cuts {
            true => (
                Rule {
                    period: None,
                    after: Duration::ZERO,
                    lasts: None,
                    ..rule
                },
                Some(Rule {
                    pick: Pick::All,
                    times: None,
                    ..rule
                }),
            ),
            false => (rule, None),
        };
        Self {
            id,
            fault,
            nodes,
            chance: Chance::new(chance, now),
            clock: clock.map(|rule| Chance::new(rule, now)),
            free: now,
        }
    }

    /// The classes of events that it is about.
    fn classes(&self) -> u32 {
        let class = |classes: &[Class]| classes.iter().fold(0, |sum, class| sum | *class as u32);
        match self.fault.on {
            _ if self.slows().is_some() => class(&[Class::Turn]),
            Target::Request | Target::Service(_) | Target::Session => class(&[Class::Request]),
            Target::Notification => class(&[Class::Message]),
            Target::Datagram => class(&[Class::Datagram]),
            Target::Value => match self.fault.effect {
                Effect::Bad(_) => class(&[Class::Report, Class::Read]),
                _ => class(&[Class::Report]),
            },
            Target::Connection if self.clock.is_none() => class(&[Class::Connection]),
            Target::Connection | Target::Server => 0,
        }
    }

    fn is_about(&self, type_id: u32) -> bool {
        match self.fault.on {
            Target::Request => true,
            Target::Service(kind) => kind.encoding_id() == type_id,
            Target::Session => Kind::CreateSessionRequest.encoding_id() == type_id,
            _ => false,
        }
    }

    /// By which part of its time a request takes longer.
    fn slows(&self) -> Option<f64> {
        match self.fault.effect {
            Effect::Slower(part) => Some(part),
            _ => None,
        }
    }

    /// When it acts by itself.
    fn due(&self, now: Instant) -> Option<Instant> {
        match (&self.clock, self.fault.on) {
            (Some(clock), _) => clock.due(now),
            (None, Target::Server) => self.chance.due(now),
            _ => None,
        }
    }

    fn count(&self, cleared: bool) -> FaultCount {
        FaultCount {
            id: self.id,
            fault: self.fault.to_string(),
            events: self.chance.seen(),
            hits: self.chance.hits(),
            cleared,
        }
    }
}

impl Faults {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        // One that panicked has at worst not counted an event.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether events of this class are to be told.
    #[inline]
    pub fn want(&self, class: Class) -> bool {
        self.classes.load(Ordering::Relaxed) & class as u32 != 0
    }

    /// Whether anything is wrong with messages of subscriptions.
    #[inline]
    pub fn want_messages(&self) -> bool {
        const BOTH: u32 = Class::Message as u32 | Class::Report as u32;
        self.classes.load(Ordering::Relaxed) & BOTH != 0
    }

    /// Goes up with each change.
    pub fn generation(&self) -> u32 {
        self.generation.load(Ordering::Relaxed)
    }

    fn changed(&self, inner: &Inner) {
        let classes = inner.list.iter().fold(0, |sum, one| sum | one.classes());
        self.classes.store(classes, Ordering::Relaxed);
        self.generation.fetch_add(1, Ordering::Relaxed);
    }

    /// Sets a fault to work; tells its number.
    pub fn add(&self, fault: Fault, space: &Space, now: Instant) -> Result<u32, NoSuchNode> {
        let mut nodes = FxHashSet::default();
        for spec in &fault.nodes {
            for id in spec.resolve(space.namespaces())? {
                let at = space.find_id(&id);
                nodes.insert(at.ok_or_else(|| NoSuchNode::Node(id.to_string()))?);
            }
        }
        let mut inner = self.lock();
        inner.last += 1;
        let id = inner.last;
        inner.list.push(Active::new(id, fault, nodes, now));
        self.changed(&inner);
        Ok(id)
    }

    /// Ends one fault, or all; tells how many.
    pub fn clear(&self, id: Option<u32>) -> usize {
        let mut inner = self.lock();
        let before = inner.list.len();
        let (gone, left) = std::mem::take(&mut inner.list)
            .into_iter()
            .partition(|one| id.is_none_or(|id| id == one.id));
        inner.list = left;
        let gone: Vec<Active> = gone;
        for one in gone {
            inner.cleared.push_back(one.count(true));
        }
        while inner.cleared.len() > REMEMBERED {
            inner.cleared.pop_front();
        }
        self.changed(&inner);
        before - inner.list.len()
    }

    /// All faults, those that were cleared too, with their counts.
    pub fn counts(&self) -> Vec<FaultCount> {
        let inner = self.lock();
        let mut counts: Vec<_> = inner.cleared.iter().cloned().collect();
        counts.extend(inner.list.iter().map(|one| one.count(false)));
        counts.sort_by_key(|count| count.id);
        counts
    }

    /// A request has come.
    pub fn request(&self, type_id: u32, now: Instant) -> RequestFate {
        let mut fate = RequestFate::default();
        for one in &mut self.lock().list {
            if one.slows().is_some() || !one.is_about(type_id) || !one.chance.event(now) {
                continue;
            }
            match one.fault.effect {
                Effect::Delay(time) => fate.delay += time,
                Effect::ServiceTime(time) => {
                    // A single server: it begins when it is done with what came before.
                    one.free = one.free.max(now) + time;
                    fate.until = Some(fate.until.unwrap_or(one.free).max(one.free));
                }
                Effect::Stall(time) => fate.stall = Some(time),
                Effect::Drop => fate.lost = true,
                Effect::Repeat(more) => fate.more += more,
                Effect::Reorder(behind) => fate.behind = behind,
                Effect::Bad(status) => fate.bad = Some(status),
                Effect::Refuse => fate.bad = Some(StatusCode::BadTooManySessions),
                Effect::Disconnect => fate.disconnect = true,
                Effect::Restart(time) => fate.restart = Some(time),
                Effect::Overflow | Effect::Slower(_) | Effect::Corrupt | Effect::WrongKey => {}
            }
        }
        fate
    }

    /// These were answered: by which part the loop is to work longer than it did for them. Asked once for all of them: a
    /// question for each costs a tenth of what a small one takes, and a server slower by 5 % were one by 15 %.
    pub fn slower(&self, turn: &Turn, now: Instant) -> f64 {
        let (mut parts, mut requests) = (0.0, 0);
        let mut inner = self.lock();
        for &(type_id, count) in &turn.of_type {
            requests += count;
            for one in &mut inner.list {
                if let Some(part) = one.slows().filter(|_| one.is_about(type_id)) {
                    let hits = (0..count).filter(|_| one.chance.event(now)).count();
                    parts += part * hits as f64;
                }
            }
        }
        parts / f64::from(requests.max(1))
    }

    /// Something came that faults of this target may strike: the effects of those that do.
    fn strike(&self, on: Target, now: Instant, mut with: impl FnMut(Effect)) {
        for one in &mut self.lock().list {
            if one.fault.on == on && one.chance.event(now) {
                with(one.fault.effect);
            }
        }
    }

    /// A notification message is to be sent.
    pub fn message(&self, now: Instant) -> MessageFate {
        let mut fate = MessageFate::default();
        self.strike(Target::Notification, now, |effect| match effect {
            Effect::Delay(time) => fate.delay += time,
            Effect::Drop => fate.lost = true,
            Effect::Repeat(more) => fate.more += more,
            Effect::Reorder(behind) => fate.behind = behind,
            Effect::Disconnect => fate.disconnect = true,
            _ => {}
        });
        fate
    }

    /// A NetworkMessage is to be published.
    pub fn datagram(&self, now: Instant) -> DatagramFate {
        let mut fate = DatagramFate::default();
        self.strike(Target::Datagram, now, |effect| match effect {
            Effect::Delay(time) => fate.delay += time,
            Effect::Drop => fate.lost = true,
            Effect::Repeat(more) => fate.more += more,
            Effect::Reorder(behind) => fate.behind = behind,
            Effect::Corrupt => fate.corrupt = true,
            Effect::WrongKey => fate.wrong_key = true,
            _ => {}
        });
        fate
    }

    fn value(&self, node: NodeIndex, now: Instant, class: Class) -> Mark {
        let mut mark = Mark::default();
        for one in &mut self.lock().list {
            let about = one.fault.on == Target::Value && one.classes() & class as u32 != 0;
            let named = one.nodes.is_empty() || one.nodes.contains(&node);
            if !about || !named || !one.chance.event(now) {
                continue;
            }
            match one.fault.effect {
                Effect::Drop => mark.lost = true,
                Effect::Overflow => mark.overflow = true,
                Effect::Bad(status) => mark.bad = Some(status),
                _ => {}
            }
        }
        mark
    }

    /// A value of a node is to be put into a notification message.
    pub fn report(&self, node: NodeIndex, now: Instant) -> Mark {
        self.value(node, now, Class::Report)
    }

    /// A value of a node is read.
    pub fn read(&self, node: NodeIndex, now: Instant) -> Option<StatusCode> {
        self.value(node, now, Class::Read).bad
    }

    /// Somebody connects: is he turned away?
    pub fn refuses(&self, now: Instant) -> bool {
        let mut refused = false;
        for one in &mut self.lock().list {
            let about = one.fault.on == Target::Connection && one.clock.is_none();
            refused |= about && one.chance.event(now);
        }
        refused
    }

    /// When something happens by the clock next.
    pub fn due(&self, now: Instant) -> Option<Instant> {
        let inner = self.lock();
        inner.list.iter().filter_map(|one| one.due(now)).min()
    }

    /// What happens by the clock now.
    pub fn tick(&self, now: Instant) -> Vec<Tick> {
        let mut ticks = Vec::new();
        for one in &mut self.lock().list {
            if one.due(now).is_none_or(|due| due > now) {
                continue;
            }
            let clock = one.clock.as_mut().unwrap_or(&mut one.chance);
            if !clock.event(now) {
                continue;
            }
            match one.fault.effect {
                Effect::Stall(time) => ticks.push(Tick::Stall(time)),
                Effect::Restart(time) => ticks.push(Tick::Restart(time)),
                Effect::Disconnect => ticks.push(Tick::Cut(one.id)),
                _ => {}
            }
        }
        ticks
    }

    /// Whether a connection is among those that are cut.
    pub fn cuts(&self, id: u32, now: Instant) -> bool {
        let mut inner = self.lock();
        let found = inner.list.iter_mut().find(|one| one.id == id);
        found.is_some_and(|one| one.chance.event(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::space::Builder;
    use wire::types::{NodeId, ObjectId};

    fn at(micros: u64) -> Instant {
        Instant::from_nanos(micros * 1000)
    }

    fn faults(texts: &[&str]) -> Faults {
        let faults = Faults::default();
        let space = Builder::new("urn:test", 0).finish();
        for text in texts {
            faults.add(text.parse().unwrap(), &space, at(0)).unwrap();
        }
        faults
    }

    const READ: u32 = 631;
    const WRITE: u32 = 673;

    #[test]
    fn nobody_is_asked_when_there_are_no_faults() {
        let faults = faults(&[]);
        assert!(!faults.want(Class::Request) && !faults.want_messages());
        assert_eq!(faults.due(at(0)), None);
    }

    #[test]
    fn a_service_time_is_a_single_server() {
        let faults = faults(&["service_time=100us,on=read"]);
        let done = |micros| faults.request(READ, at(micros)).until;
        // Three at once, one while the third is served, one after a pause.
        assert_eq!(done(10), Some(at(110)));
        assert_eq!(done(10), Some(at(210)));
        assert_eq!(done(10), Some(at(310)));
        assert_eq!(done(250), Some(at(410)));
        assert_eq!(done(1000), Some(at(1100)));
        assert_eq!(faults.request(WRITE, at(1000)), RequestFate::default());
        assert_eq!(faults.counts()[0].events, 5);
    }

    #[test]
    fn faults_of_one_request_add_up() {
        let faults = faults(&[
            "delay=1ms,on=read",
            "delay=2ms,on=request",
            "bad=BadOutOfService,on=write",
            "repeat=3,on=read,every=2",
        ]);
        let fate = faults.request(READ, at(0));
        assert_eq!((fate.delay, fate.more), (Duration::from_millis(3), 0));
        assert_eq!(faults.request(READ, at(0)).more, 3);
        let fate = faults.request(WRITE, at(0));
        assert_eq!(fate.bad, Some(StatusCode::BadOutOfService));
        let counts: Vec<_> = faults.counts().iter().map(|c| (c.events, c.hits)).collect();
        assert_eq!(counts, [(2, 2), (3, 3), (1, 1), (2, 1)]);
    }

    #[test]
    fn what_makes_single_requests_slower_adds_up_over_a_turn() {
        let faults = faults(&[
            "service_time=50%,on=read,every=2",
            "service_time=10%,on=request,times=3",
            "service_time=200%,on=write",
            "service_time=100%,on=request,after=1ms",
            "delay=1ms,on=write",
        ]);
        let mut turn = Turn::default();
        for type_id in [READ, READ, WRITE, READ, READ] {
            turn.add(type_id);
        }
        let part = faults.slower(&turn, at(0));
        // Of five requests, two reads by a half, the first three by a tenth, and the write three times as long.
        assert!((part - (2.0 * 0.5 + 3.0 * 0.1 + 2.0) / 5.0).abs() < 1e-9);
        let counts: Vec<_> = faults.counts().iter().map(|c| (c.events, c.hits)).collect();
        assert_eq!(counts, [(4, 2), (3, 3), (1, 1), (0, 0), (0, 0)]);
        assert_eq!(faults.request(READ, at(0)), RequestFate::default());
        assert_eq!(faults.counts()[0].events, 4);
    }

    #[test]
    fn a_fault_that_is_cleared_keeps_its_counts() {
        let faults = faults(&["drop,every=2", "overflow"]);
        for _ in 0..5 {
            faults.message(at(0));
        }
        assert_eq!(faults.clear(Some(1)), 1);
        assert!(!faults.want(Class::Message) && faults.want(Class::Report));
        faults.message(at(0));
        let counts = faults.counts();
        assert_eq!((counts[0].events, counts[0].hits), (5, 2));
        assert!(counts[0].cleared && !counts[1].cleared);
        assert_eq!(faults.clear(None), 1);
        assert!(!faults.want_messages());
    }

    #[test]
    fn only_the_nodes_that_are_named_are_hit() {
        let mut builder = Builder::new("urn:test", 0);
        let objects: NodeId = ObjectId::ObjectsFolder.into();
        for n in 1..=3u32 {
            builder.folder(&objects, NodeId::new(1, n), "x");
        }
        let space = builder.finish();
        let faults = Faults::default();
        let add = |text: &str| faults.add(text.parse().unwrap(), &space, at(0));
        add("bad=BadOutOfService,node=nsu=urn:test;i=2..3").unwrap();
        let node = |n: u32| space.find_id(&NodeId::new(1, n)).unwrap();
        assert_eq!(faults.read(node(1), at(0)), None);
        assert_eq!(
            faults.read(node(3), at(0)),
            Some(StatusCode::BadOutOfService)
        );
        assert_eq!(faults.counts()[0].events, 1);
        let error = add("bad=Bad,node=ns=1;i=9").unwrap_err().to_string();
        assert_eq!(
            error,
            "no node ns=1;i=9 in the address space of this server"
        );
        assert!(add("bad=Bad,node=nsu=urn:other;i=1").is_err());
    }

    #[test]
    fn what_goes_by_the_clock_is_due_and_done() {
        let faults = faults(&[
            "restart=1s,after=5ms",
            "disconnect,period=3ms,share=50%",
            "stall=10ms,period=4ms,times=1",
        ]);
        assert_eq!(faults.due(at(0)), Some(at(3000)));
        assert_eq!(faults.tick(at(3000)), [Tick::Cut(2)]);
        let cut = (0..10).filter(|_| faults.cuts(2, at(3000))).count();
        assert_eq!(cut, 5);
        assert_eq!(
            faults.tick(at(4000)),
            [Tick::Stall(Duration::from_millis(10))]
        );
        assert_eq!(
            faults.tick(at(5500)),
            [Tick::Restart(Duration::from_secs(1))]
        );
        assert_eq!(faults.tick(at(6000)), [Tick::Cut(2)]);
        assert_eq!(faults.due(at(6000)), Some(at(9000)));
    }
}
