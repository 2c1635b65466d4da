//! Energy between two moments, from counters that were read now and then, and what of it is beyond idling.

use std::collections::{BTreeMap, BTreeSet};

use crate::energy::Domain;
use crate::figure::{Figure, NotAvailable};
use crate::meter::Taken;

/// What the domains of a machine counted, read again and again.
#[derive(Debug, Default)]
pub struct Account {
    /// Joules since the first reading, each at its time in seconds.
    courses: BTreeMap<String, Vec<(f64, f64)>>,
    last: Vec<Domain>,
    /// Of domains that are there and tell nothing.
    silent: BTreeMap<String, NotAvailable>,
}

/// More readings are thinned out.
const MOST: usize = 20_000;

impl Account {
    /// A reading at this time, in seconds. Readings have to be closer than a counter takes to begin again twice.
    pub fn push(&mut self, at_s: f64, now: Vec<Domain>) {
        for domain in &now {
            if let Err(why) = &domain.microjoules {
                let why = NotAvailable::because(format!(
                    "{} (its counter is for root only on most systems)",
                    why.reason()
                ));
                self.silent.insert(domain.name.clone(), why);
                continue;
            }
            let course = self.courses.entry(domain.name.clone()).or_default();
            let before = self.last.iter().find(|it| it.name == domain.name);
            let so_far = course.last().map_or(0.0, |it| it.1);
            let more = before.map(|it| domain.joules_since(it));
            match more {
                None => course.push((at_s, so_far)),
                Some(Ok(more)) => course.push((at_s, so_far + more)),
                // What was taken meanwhile is not known, and no sum with it is.
                Some(Err(why)) => {
                    self.silent.insert(domain.name.clone(), why);
                }
            }
            if course.len() >= MOST {
                // The last one stays: what is taken next is added to it.
                let last = course.len();
                let mut n = 0;
                course.retain(|_| {
                    n += 1;
                    n % 2 == 1 || n == last
                });
            }
        }
        self.last = now;
    }

    /// The domains that were seen.
    pub fn names(&self) -> Vec<String> {
        // One that fell silent later has a course, too.
        let all: BTreeSet<&String> = self.courses.keys().chain(self.silent.keys()).collect();
        all.into_iter().cloned().collect()
    }

    /// What a domain took between two moments. Between readings power is taken to be even.
    pub fn between(&self, name: &str, from_s: f64, to_s: f64) -> Figure<Taken> {
        if let Some(why) = self.silent.get(name) {
            return Err(why.clone());
        }
        let course = self.courses.get(name).map_or(&[][..], Vec::as_slice);
        let (Some(first), Some(last)) = (course.first(), course.last()) else {
            return Err(NotAvailable::because("it was never read"));
        };
        if from_s < first.0 || to_s > last.0 || from_s >= to_s {
            return Err(NotAvailable::because(format!(
                "it was read from {:.3} s to {:.3} s, not from {from_s:.3} s to {to_s:.3} s",
                first.0, last.0
            )));
        }
        let (mut joules, mut widest) = (0.0, 0.0_f64);
        for pair in course.windows(2) {
            let &[(a, before), (b, after)] = pair else {
                continue;
            };
            let within = b.min(to_s) - a.max(from_s);
            if within > 0.0 {
                joules += (after - before) * within / (b - a);
                widest = widest.max(b - a);
            }
        }
        Ok(Taken {
            joules,
            watts: joules / (to_s - from_s),
            widest_gap_s: widest,
        })
    }
}

/// A figure and by how much it may be off.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Within {
    /// The figure.
    pub value: f64,
    /// So much more or less.
    pub error: f64,
}

/// Power without load: the mean of before and after, and half of what the two differ.
pub fn idle(before: &Figure<Taken>, after: &Figure<Taken>) -> Figure<Within> {
    let (before, after) = (before.clone()?, after.clone()?);
    Ok(Within {
        value: before.watts.midpoint(after.watts),
        error: (before.watts - after.watts).abs() / 2.0,
    })
}

/// What was taken beyond idling. Idling may have changed meanwhile, and the ends of the time may be off by what lies
/// between two readings, and by what is not known of the meter's clock.
pub fn above_idle(taken: &Taken, idle: &Within, clock_error_s: f64) -> Within {
    let seconds = taken.joules / taken.watts;
    let seconds = if seconds.is_finite() { seconds } else { 0.0 };
    let edges = (taken.widest_gap_s + clock_error_s) * (taken.watts - idle.value).abs();
    Within {
        value: taken.joules - idle.value * seconds,
        error: (idle.error * seconds).hypot(edges),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn domain(microjoules: Figure<u64>) -> Vec<Domain> {
        vec![Domain {
            name: "package-0".into(),
            microjoules,
            range_microjoules: Ok(9_999_999),
        }]
    }

    #[test]
    fn a_counter_that_begins_again_goes_on() {
        let mut account = Account::default();
        // 10 W; the counter has room for 10 J and begins again with the third reading.
        for (at, joules) in [
            (100.0, 4),
            (100.5, 9),
            (101.0, 14),
            (101.5, 19),
            (102.0, 24),
        ] {
            account.push(at, domain(Ok(joules * 1_000_000 % 10_000_000)));
        }
        let all = account.between("package-0", 100.0, 102.0).unwrap();
        assert!((all.joules - 20.0).abs() < 1e-9, "{all:?}");
        let part = account.between("package-0", 100.25, 100.75).unwrap();
        assert!((part.joules - 5.0).abs() < 1e-3, "{part:?}");
        assert!((part.widest_gap_s - 0.5).abs() < 1e-9);
        assert!(account.between("package-0", 99.0, 101.0).is_err());
        assert!(account.between("dram", 100.0, 101.0).is_err());
    }

    #[test]
    fn a_long_run_is_thinned_out_and_nothing_is_lost() {
        let mut account = Account::default();
        // A joule each second, for twice as long as all readings are kept.
        let readings = 2 * MOST as u64;
        for n in 0..readings {
            account.push(n as f64, domain(Ok(n * 1_000_000 % 10_000_000)));
        }
        let end = (readings - 1) as f64;
        let all = account.between("package-0", 0.0, end).unwrap();
        assert!((all.joules - end).abs() < 1e-3, "{all:?}");
        assert!(all.widest_gap_s <= 8.0, "{all:?}");
    }

    #[test]
    fn a_counter_that_begins_again_at_a_value_that_is_not_known_is_not_available() {
        let mut account = Account::default();
        for microjoules in [5, 9, 2, 3] {
            let mut all = domain(Ok(microjoules));
            for it in &mut all {
                it.range_microjoules = Err(NotAvailable::because("no range"));
            }
            account.push(microjoules as f64, all);
        }
        let why = account.between("package-0", 5.0, 9.0).unwrap_err();
        assert_eq!(why.reason(), "no range");
        assert_eq!(account.names(), ["package-0"]);
    }

    #[test]
    fn a_counter_that_may_not_be_read_has_its_reason() {
        let mut account = Account::default();
        let refused = || Err(NotAvailable::because("permission denied"));
        account.push(1.0, domain(refused()));
        account.push(2.0, domain(refused()));
        assert_eq!(account.names(), ["package-0"]);
        let why = account.between("package-0", 1.0, 2.0).unwrap_err();
        assert!(why.reason().contains("for root only"), "{why}");
    }

    #[test]
    fn what_is_beyond_idling_is_as_uncertain_as_idling_and_the_ends() {
        let taken = |watts: f64, seconds: f64, gap: f64| Taken {
            joules: watts * seconds,
            watts,
            widest_gap_s: gap,
        };
        let idle = idle(&Ok(taken(7.5, 5.0, 0.1)), &Ok(taken(8.5, 5.0, 0.1))).unwrap();
        assert_eq!((idle.value, idle.error), (8.0, 0.5));
        let above = above_idle(&taken(12.0, 10.0, 0.75), &idle, 0.25);
        assert!((above.value - 40.0).abs() < 1e-9, "{above:?}");
        // 0.5 W for 10 s, and one second of 4 W.
        assert!((above.error - 5.0_f64.hypot(4.0)).abs() < 1e-9, "{above:?}");
        assert!(super::idle(&Err(NotAvailable::because("no")), &Ok(taken(1.0, 1.0, 0.1))).is_err());
    }
}
