//! What a plant of ours says of its own work: who was busy, with what, and what waited.

use serde::{Deserialize, Serialize};

use crate::Histogram;
use crate::average::mean_of_sum;

/// What a plant says of its own work: since it started, or between two looks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Internals {
    /// The time that it speaks of, on the plant's clock.
    pub elapsed_ns: u64,
    /// CPU of its process in that time; none where the operating system does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_ns: Option<u64>,
    /// Processors that its process may use.
    pub processors: u64,
    /// Its loops: those with sessions, and the acceptor as the last one.
    pub loops: Vec<LoopUse>,
    /// What loops did, by service and by what else they do. Only what was done at all.
    pub services: Vec<ServiceUse>,
    /// What waited.
    pub queues: Vec<Queue>,
    /// Loops that give its variables new values, where there are such.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub updates: Vec<UpdateUse>,
}

/// A loop of a plant: one thread, its sockets, sessions and timers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoopUse {
    /// Its name, which is that of its thread where it has one of its own.
    pub name: String,
    /// Turns: it was woken, did what there was, and waited again.
    pub turns: u64,
    /// How long it did not wait for something to happen, all turns together.
    pub busy_ns: u64,
    /// The longest turn; none where one before was as long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub longest_turn_ns: Option<u64>,
}

/// A loop of a plant that gives variables new values: once in each interval, in one pass.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UpdateUse {
    /// The time between two passes.
    pub interval_ns: u64,
    /// Variables that are written in a pass.
    pub signals: u64,
    /// Threads that share it.
    pub threads: u64,
    /// Passes that could not begin before the next one was due.
    pub missed: u64,
    /// Run spans: of each pass the time from its first write to its last.
    pub spans: Histogram,
}

/// What loops spent on a service, or on something else that they do.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServiceUse {
    /// The service, as in Part 4: `Read`. Or [`PUBLISHING`](Self::PUBLISHING), [`LONG_ANSWERS`](Self::LONG_ANSWERS).
    pub service: String,
    /// How often.
    pub count: u64,
    /// How often its time was taken: of the frequent ones, not each time.
    pub timed: u64,
    /// How long those took, all together.
    pub timed_ns: u64,
    /// The longest of them; none where one before was as long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub longest_ns: Option<u64>,
}

/// How much waited, looked at again and again.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Queue {
    /// What waited.
    pub what: Waiting,
    /// How often was looked.
    pub looks: u64,
    /// What was there, all looks together.
    pub sum: u64,
    /// The most that was there; none where as many were there before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub largest: Option<u64>,
    /// What is there now, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub now: Option<u64>,
}

/// What can wait in a plant.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Waiting {
    /// Requests that a loop took in one turn: they were there before it came to them, or came while it was at them.
    Requests,
    /// Notifications of a subscription when its publishing was due.
    Notifications,
    /// Publish requests of a session when publishing of one of its subscriptions was due.
    PublishRequests,
    /// Something that this version does not know.
    #[default]
    #[serde(other)]
    Other,
}

impl Internals {
    /// As it is told.
    pub fn to_json(&self) -> String {
        // Numbers and names have a form in JSON.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// As a plant tells it; nothing of what another one tells.
    pub fn from_json(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    /// What was added since another look at the same plant; none if it is another one, or began anew.
    pub fn since(&self, before: &Self) -> Option<Self> {
        let elapsed_ns = self.elapsed_ns.checked_sub(before.elapsed_ns)?;
        let same = |(now, then): (&LoopUse, &LoopUse)| now.name == then.name;
        if self.loops.len() != before.loops.len() || !self.loops.iter().zip(&before.loops).all(same)
        {
            return None;
        }
        let loops = self.loops.iter().zip(&before.loops);
        let loops = loops.map(|(now, then)| now.since(then));
        let services = self.services.iter().map(|now| {
            let then = before.service(&now.service);
            then.map_or_else(|| Some(now.clone()), |then| now.since(then))
        });
        let services: Vec<ServiceUse> = services.collect::<Option<_>>()?;
        let queues = self.queues.iter().map(|now| {
            let then = before.queue(now.what);
            then.map_or_else(|| Some(now.clone()), |then| now.since(then))
        });
        let same = |(now, then): (&UpdateUse, &UpdateUse)| now.is_same(then);
        if self.updates.len() != before.updates.len()
            || !self.updates.iter().zip(&before.updates).all(same)
        {
            return None;
        }
        let updates = self.updates.iter().zip(&before.updates);
        let updates = updates.map(|(now, then)| now.since(then));
        Some(Self {
            elapsed_ns,
            cpu_ns: self
                .cpu_ns
                .zip(before.cpu_ns)
                .and_then(|(now, then)| now.checked_sub(then)),
            processors: self.processors,
            loops: loops.collect::<Option<_>>()?,
            services: services.into_iter().filter(|it| it.count > 0).collect(),
            queues: queues.collect::<Option<_>>()?,
            updates: updates.collect::<Option<_>>()?,
        })
    }

    /// What was spent on a service.
    pub fn service(&self, name: &str) -> Option<&ServiceUse> {
        self.services.iter().find(|it| it.service == name)
    }

    /// How much of something waited.
    pub fn queue(&self, what: Waiting) -> Option<&Queue> {
        self.queues.iter().find(|it| it.what == what)
    }

    /// The loop that was busy most, and the share of the time for which it was.
    pub fn busiest(&self) -> Option<(&LoopUse, f64)> {
        let busiest = self.loops.iter().max_by_key(|it| it.busy_ns)?;
        (self.elapsed_ns > 0).then(|| (busiest, busiest.share(self.elapsed_ns)))
    }

    /// Cores that its process kept busy.
    pub fn cores(&self) -> Option<f64> {
        let cpu = self.cpu_ns?;
        (self.elapsed_ns > 0).then(|| cpu as f64 / self.elapsed_ns as f64)
    }
}

impl LoopUse {
    fn since(&self, before: &Self) -> Option<Self> {
        Some(Self {
            name: self.name.clone(),
            turns: self.turns.checked_sub(before.turns)?,
            busy_ns: self.busy_ns.checked_sub(before.busy_ns)?,
            longest_turn_ns: larger(self.longest_turn_ns, before.longest_turn_ns),
        })
    }

    /// The share of a time for which it was busy. A turn that reaches over the time's end is of that in which it ends.
    pub fn share(&self, elapsed_ns: u64) -> f64 {
        (self.busy_ns as f64 / elapsed_ns.max(1) as f64).min(1.0)
    }
}

impl UpdateUse {
    fn is_same(&self, other: &Self) -> bool {
        let of = |it: &Self| (it.interval_ns, it.signals, it.threads);
        of(self) == of(other)
    }

    fn since(&self, before: &Self) -> Option<Self> {
        Some(Self {
            interval_ns: self.interval_ns,
            signals: self.signals,
            threads: self.threads,
            missed: self.missed.checked_sub(before.missed)?,
            spans: self.spans.since(&before.spans)?,
        })
    }
}

impl ServiceUse {
    /// Sampling, publishing and lifetimes of subscriptions, when it was time for that.
    pub const PUBLISHING: &str = "publishing";
    /// What is left of answers that are made in parts, whatever was asked.
    pub const LONG_ANSWERS: &str = "long answers";

    fn since(&self, before: &Self) -> Option<Self> {
        Some(Self {
            service: self.service.clone(),
            count: self.count.checked_sub(before.count)?,
            timed: self.timed.checked_sub(before.timed)?,
            timed_ns: self.timed_ns.checked_sub(before.timed_ns)?,
            longest_ns: larger(self.longest_ns, before.longest_ns),
        })
    }

    /// How long one took on average.
    pub fn mean_ns(&self) -> Option<f64> {
        mean_of_sum(self.timed_ns as f64, self.timed)
    }

    /// How long all of them took, as far as those tell whose time was taken.
    pub fn all_ns(&self) -> Option<f64> {
        self.mean_ns().map(|mean| mean * self.count as f64)
    }
}

impl Queue {
    fn since(&self, before: &Self) -> Option<Self> {
        Some(Self {
            what: self.what,
            looks: self.looks.checked_sub(before.looks)?,
            sum: self.sum.checked_sub(before.sum)?,
            largest: larger(self.largest, before.largest),
            now: self.now,
        })
    }

    /// How much was there on average.
    pub fn mean(&self) -> Option<f64> {
        mean_of_sum(self.sum as f64, self.looks)
    }
}

/// The largest since the look before, where it is the largest of all.
fn larger(now: Option<u64>, before: Option<u64>) -> Option<u64> {
    now.filter(|now| before.is_none_or(|before| *now > before))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(n: u64) -> Internals {
        Internals {
            elapsed_ns: 1000 * n,
            cpu_ns: Some(700 * n),
            processors: 4,
            loops: vec![LoopUse {
                name: "plant-0".to_owned(),
                turns: 10 * n,
                busy_ns: 500 * n,
                longest_turn_ns: Some(90),
            }],
            services: vec![ServiceUse {
                service: "Read".to_owned(),
                count: 310 * n,
                timed: 10 * n,
                timed_ns: 20 * n,
                longest_ns: Some(7 * n),
            }],
            queues: vec![Queue {
                what: Waiting::Requests,
                looks: 10 * n,
                sum: 310 * n,
                largest: Some(16),
                now: None,
            }],
            updates: vec![UpdateUse {
                interval_ns: 500_000_000,
                signals: 100,
                threads: 2,
                missed: n,
                spans: (1..=100 * n).map(|it| 1000 * it).collect(),
            }],
        }
    }

    #[test]
    fn what_was_added_between_two_looks_has_the_largest_only_where_it_is_of_that_time() {
        let between = look(3).since(&look(1)).unwrap();
        assert_eq!(between.elapsed_ns, 2000);
        assert_eq!(between.cores(), Some(0.7));
        assert_eq!(between.loops[0].busy_ns, 1000);
        assert_eq!(between.busiest().unwrap().1, 0.5);
        assert_eq!(between.loops[0].longest_turn_ns, None);
        let read = between.service("Read").unwrap();
        assert_eq!((read.count, read.mean_ns()), (620, Some(2.0)));
        assert_eq!(read.all_ns(), Some(1240.0));
        assert_eq!(read.longest_ns, Some(21));
        let requests = between.queue(Waiting::Requests).unwrap();
        assert_eq!((requests.mean(), requests.largest), (Some(31.0), None));
        let update = &between.updates[0];
        assert_eq!((update.missed, update.spans.count()), (2, 200));
        // 101 to 300 µs, to a slot.
        assert_eq!(update.spans.mean(), Some(200_500.0));
        let median = update.spans.quantile(0.5).unwrap() as f64;
        assert!((median / 200_000.0 - 1.0).abs() < 1e-3, "{median}");
        assert_eq!(update.spans.max(), Some(300_000));
    }

    #[test]
    fn a_plant_that_began_anew_has_nothing_in_between() {
        assert_eq!(look(1).since(&look(3)), None);
        let mut other = look(3);
        other.loops[0].name = "plant-1".to_owned();
        assert_eq!(other.since(&look(1)), None);
        let mut other = look(3);
        other.updates[0].threads = 3;
        assert_eq!(other.since(&look(1)), None);
    }

    #[test]
    fn what_a_later_version_has_waiting_can_be_read() {
        let text = r#"{"what":"something-new","looks":1,"sum":2}"#;
        let queue: Queue = serde_json::from_str(text).unwrap();
        assert_eq!(queue.what, Waiting::Other);
    }
}
