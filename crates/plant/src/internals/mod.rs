//! What a server says of its own work: how busy its loops are, with what, and what waits for them.
//!
//! A loop counts in numbers of its own, which nobody else writes: a count costs a load and a store. Its clock is read
//! once more in each turn, and for one of [`EVERY`] of the frequent requests.

mod nodes;
mod updates;

pub use nodes::{describe, describe_metrics};
pub use updates::{Passes, Updating};

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use plan::unit::duration::nanos;
use record::run::{Internals, LoopUse, Queue, ServiceUse, Waiting};
use wire::service::Request;
use wire::service::shape::Kind;
use wire::time::Instant;

use crate::clock::process_cpu;
use crate::diagnostics::Register;
use crate::ledger::Ledger;

/// One of so many of the frequent requests has its time taken: a prime, so that no rhythm of clients is met.
pub const EVERY: u32 = 31;

/// A count that one thread writes at a time.
#[derive(Debug, Default)]
struct Own(AtomicU64);

impl Own {
    #[inline]
    fn add(&self, n: u64) {
        self.set(self.get().wrapping_add(n));
    }

    #[inline]
    fn set(&self, n: u64) {
        self.0.store(n, Ordering::Relaxed);
    }

    #[inline]
    fn raise(&self, n: u64) {
        if n > self.get() {
            self.set(n);
        }
    }

    #[inline]
    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// What a loop does: a service, or something else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Task(usize);

impl Task {
    /// Sampling, publishing and lifetimes of subscriptions.
    pub const PUBLISHING: Self = Self(Request::KINDS.len());
    /// What is left of long answers.
    pub const LONG_ANSWERS: Self = Self(Request::KINDS.len() + 1);
    const COUNT: usize = Request::KINDS.len() + 2;

    /// A service, by its request.
    pub const fn of(kind: Kind) -> Self {
        let mut at = 0;
        while at < Request::KINDS.len() {
            if Request::KINDS[at] as u16 == kind as u16 {
                return Self(at);
            }
            at += 1;
        }
        Self::LONG_ANSWERS
    }

    fn name(n: usize) -> String {
        match Request::KINDS.get(n) {
            Some(kind) => {
                let name = format!("{kind:?}");
                name.strip_suffix("Request").unwrap_or(&name).to_owned()
            }
            None if n == Self::PUBLISHING.0 => ServiceUse::PUBLISHING.to_owned(),
            None => ServiceUse::LONG_ANSWERS.to_owned(),
        }
    }
}

#[derive(Debug, Default)]
struct Times {
    count: Own,
    timed: Own,
    timed_ns: Own,
    longest_ns: Own,
}

impl Times {
    fn add_to(&self, sum: &mut ServiceUse) {
        sum.count += self.count.get();
        sum.timed += self.timed.get();
        sum.timed_ns += self.timed_ns.get();
        raise(&mut sum.longest_ns, self.longest_ns.get());
    }
}

/// How much is there, looked at again and again.
#[derive(Debug, Default)]
struct Level {
    looks: Own,
    sum: Own,
    largest: Own,
}

impl Level {
    #[inline]
    fn look(&self, n: u64) {
        self.looks.add(1);
        self.sum.add(n);
        self.largest.raise(n);
    }

    fn add_to(&self, sum: &mut Queue) {
        sum.looks += self.looks.get();
        sum.sum += self.sum.get();
        raise(&mut sum.largest, self.largest.get());
    }
}

fn raise(largest: &mut Option<u64>, n: u64) {
    *largest = Some(largest.map_or(n, |it| it.max(n)));
}

/// What a loop counts of its own work.
#[derive(Debug)]
pub struct LoopWork {
    turns: Own,
    busy_ns: Own,
    longest_turn_ns: Own,
    tasks: [Times; Task::COUNT],
    requests: Level,
    notifications: Level,
    publish_requests: Level,
    recent: Recent,
}

impl Default for LoopWork {
    fn default() -> Self {
        Self {
            turns: Own::default(),
            busy_ns: Own::default(),
            longest_turn_ns: Own::default(),
            tasks: std::array::from_fn(|_| Times::default()),
            requests: Level::default(),
            notifications: Level::default(),
            publish_requests: Level::default(),
            recent: Recent::default(),
        }
    }
}

impl LoopWork {
    /// Something was done once more.
    #[inline]
    pub fn did(&self, task: Task) {
        if let Some(times) = self.tasks.get(task.0) {
            times.count.add(1);
        }
    }

    /// It took so long.
    pub fn took(&self, task: Task, time: Duration) {
        if let Some(times) = self.tasks.get(task.0) {
            let nanos = nanos(time);
            times.timed.add(1);
            times.timed_ns.add(nanos);
            times.longest_ns.raise(nanos);
        }
    }

    /// A turn is over in which so many requests were taken.
    #[inline]
    pub fn turn(&self, time: Duration, requests: u64) {
        let nanos = nanos(time);
        self.turns.add(1);
        self.busy_ns.add(nanos);
        self.longest_turn_ns.raise(nanos);
        if requests > 0 {
            self.requests.look(requests);
        }
    }

    fn used(&self) -> LoopUse {
        LoopUse {
            name: String::new(),
            turns: self.turns.get(),
            busy_ns: self.busy_ns.get(),
            longest_turn_ns: Some(self.longest_turn_ns.get()),
        }
    }

    /// Publishing of a subscription was due: so much waited for it, and so many Publish requests of its session.
    pub fn publishing_due(&self, notifications: u64, publish_requests: u64) {
        self.notifications.look(notifications);
        self.publish_requests.look(publish_requests);
    }
}

/// What all loops of a server count of their work, and where the rest of it is found.
#[derive(Debug)]
pub struct Workings {
    loops: Vec<Arc<LoopWork>>,
    ledger: Arc<Ledger>,
    register: Arc<Register>,
    /// Loops that give variables new values, once they are known.
    updates: OnceLock<Vec<Updating>>,
}

impl Workings {
    /// Of a server with so many loops, the acceptor among them.
    pub fn new(loops: usize, ledger: Arc<Ledger>, register: Arc<Register>) -> Self {
        Self {
            loops: (0..loops).map(|_| Arc::default()).collect(),
            ledger,
            register,
            updates: OnceLock::new(),
        }
    }

    /// Takes the loops that give variables new values, once.
    pub fn knows(&self, updates: impl IntoIterator<Item = Updating>) {
        self.updates.get_or_init(|| updates.into_iter().collect());
    }

    /// Where a loop counts.
    pub fn of(&self, index: u8) -> Arc<LoopWork> {
        let own = self.loops.get(usize::from(index));
        debug_assert!(own.is_some(), "loop {index} counts where nobody looks");
        own.cloned().unwrap_or_default()
    }

    fn names(&self) -> impl Iterator<Item = (String, &LoopWork)> {
        let acceptor = self.loops.len().checked_sub(1).filter(|&last| last > 0);
        let each = self.loops.iter().enumerate();
        each.map(move |(n, it)| match acceptor == Some(n) {
            true => ("plant-acceptor".to_owned(), &**it),
            false => (format!("plant-{n}"), &**it),
        })
    }

    /// What was done up to now.
    pub fn read(&self, now: Instant) -> Internals {
        let loops = self.names().map(|(name, it)| LoopUse { name, ..it.used() });
        let services = (0..Task::COUNT).map(|n| self.spent_on(Task(n)));
        let pending = self.ledger.total().values().pending();
        let parked = self.register.publish_requests();
        Internals {
            elapsed_ns: now.as_nanos(),
            cpu_ns: process_cpu().map(nanos),
            processors: std::thread::available_parallelism().map_or(1, |all| all.get() as u64),
            loops: loops.collect(),
            services: services.filter(|it| it.count > 0).collect(),
            queues: vec![
                self.queue(Waiting::Requests),
                Queue {
                    now: Some(pending),
                    ..self.queue(Waiting::Notifications)
                },
                Queue {
                    now: Some(parked),
                    ..self.queue(Waiting::PublishRequests)
                },
            ],
            updates: self
                .updates
                .get()
                .map_or_else(Vec::new, |all| all.iter().map(Updating::used).collect()),
        }
    }

    fn spent_on(&self, task: Task) -> ServiceUse {
        let mut sum = ServiceUse {
            service: Task::name(task.0),
            ..ServiceUse::default()
        };
        let each = self.loops.iter().filter_map(|it| it.tasks.get(task.0));
        each.for_each(|it| it.add_to(&mut sum));
        sum
    }

    fn queue(&self, what: Waiting) -> Queue {
        let mut sum = Queue {
            what,
            ..Queue::default()
        };
        for it in &self.loops {
            let level = match what {
                Waiting::Notifications => &it.notifications,
                Waiting::PublishRequests => &it.publish_requests,
                _ => &it.requests,
            };
            level.add_to(&mut sum);
        }
        sum
    }

    /// Takes the share of the time for which each loop was busy since this was called last. For one thread alone.
    pub fn look(&self, now: Instant) {
        for it in &self.loops {
            it.recent.look(now.as_nanos(), it.busy_ns.get());
        }
    }
}

/// How busy a loop was between the last two looks at it, by whoever looks again and again.
#[derive(Debug, Default)]
struct Recent {
    at_ns: Own,
    busy_ns: Own,
    percent: Own,
}

impl Recent {
    fn look(&self, at_ns: u64, busy_ns: u64) {
        let passed = at_ns.saturating_sub(self.at_ns.get());
        let busy = busy_ns.saturating_sub(self.busy_ns.get());
        // A turn that began before is of the time in which it ended.
        let percent = (100.0 * busy as f64 / passed.max(1) as f64).min(100.0);
        self.percent.set(percent.to_bits());
        self.at_ns.set(at_ns);
        self.busy_ns.set(busy_ns);
    }

    fn percent(&self) -> f64 {
        f64::from_bits(self.percent.get())
    }
}

/// What a loop does about its counts: whose time is taken next, and what came in this turn.
#[derive(Debug)]
pub struct Measuring {
    /// Where it counts.
    pub work: Arc<LoopWork>,
    /// Requests until one has its time taken.
    until: u32,
    /// Requests that were taken in this turn.
    pub requests: u64,
    /// This turn finds nothing to do: its loop does not sleep.
    pub is_idle: bool,
}

impl Measuring {
    /// Of a loop that counts there.
    pub fn new(work: Arc<LoopWork>) -> Self {
        Self {
            work,
            until: 0,
            requests: 0,
            is_idle: false,
        }
    }

    /// Whether the next one of the frequent requests has its time taken.
    #[inline]
    pub fn is_next(&mut self) -> bool {
        match self.until.checked_sub(1) {
            Some(left) => {
                self.until = left;
                false
            }
            None => {
                self.until = EVERY - 1;
                true
            }
        }
    }

    /// A turn is over.
    #[inline]
    pub fn end_turn(&mut self, time: Duration) {
        if !std::mem::take(&mut self.is_idle) {
            self.work.turn(time, self.requests);
        }
        self.requests = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_service_has_a_place_of_its_own_and_the_name_that_part_4_gives_it() {
        for (n, &kind) in Request::KINDS.iter().enumerate() {
            assert_eq!(Task::of(kind), Task(n));
        }
        assert_eq!(Task::name(Task::of(Kind::PublishRequest).0), "Publish");
        assert_eq!(
            Task::name(Task::of(Kind::TranslateBrowsePathsToNodeIdsRequest).0),
            "TranslateBrowsePathsToNodeIds"
        );
        assert_eq!(Task::name(Task::PUBLISHING.0), "publishing");
    }

    #[test]
    fn one_of_so_many_has_its_time_taken_the_first_one_too() {
        let mut measuring = Measuring::new(Arc::default());
        let taken: Vec<u32> = (0..2 * EVERY).filter(|_| measuring.is_next()).collect();
        assert_eq!(taken, [0, EVERY]);
    }

    #[test]
    fn loops_add_up_by_service_and_the_last_one_is_the_acceptor() {
        let workings = Workings::new(3, Arc::default(), Arc::default());
        for (index, nanos) in [(0, 100), (1, 300)] {
            let work = workings.of(index);
            work.did(Task::of(Kind::ReadRequest));
            work.did(Task::of(Kind::ReadRequest));
            work.took(Task::of(Kind::ReadRequest), Duration::from_nanos(nanos));
            work.turn(Duration::from_nanos(2 * nanos), 5 * u64::from(index));
        }
        let read = workings.read(Instant::from_nanos(1200));
        let names: Vec<_> = read.loops.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names, ["plant-0", "plant-1", "plant-acceptor"]);
        let (busiest, share) = read.busiest().unwrap();
        assert_eq!((busiest.name.as_str(), share), ("plant-1", 0.5));
        let reads = read.service("Read").unwrap();
        assert_eq!((reads.count, reads.timed), (4, 2));
        assert_eq!(
            (reads.mean_ns(), reads.longest_ns),
            (Some(200.0), Some(300))
        );
        assert!(read.service("Write").is_none());
        let requests = read.queue(Waiting::Requests).unwrap();
        // A turn without any is no look.
        assert_eq!((requests.looks, requests.mean()), (1, Some(5.0)));
    }
}
