//! A pretended server and generator in virtual time, of which the truth is known.

#![allow(clippy::unwrap_used)]
#![allow(dead_code, reason = "each test uses its part")]

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use judge::{Allowed, CoreUse, Evidence, Load, PhaseCourse, Settling};
use record::run::Verdict;
use record::{Lateness, Ledger, Tally, Times};

pub const US: u64 = 1_000;
pub const MS: u64 = 1_000_000;
pub const S: u64 = 1_000_000_000;

/// Numbers that look random, from a seed.
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        // Mixed first: else one seed would be another's numbers, moved on by some.
        Self(mix(seed ^ 0x5DEE_CE66_D015_A1F0))
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mix(self.0)
    }

    /// 0 to 1, neither of them.
    pub fn share(&mut self) -> f64 {
        ((self.next() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * self.share().ln()
    }
}

/// The last step of splitmix64.
fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// So many nanoseconds, at a time.
pub type Cost = Box<dyn Fn(u64, &mut Dice) -> u64>;

/// What is pretended.
pub struct Bench {
    pub length: u64,
    /// Planned operations per second; none: a closed loop.
    pub rate: Option<f64>,
    pub poisson: bool,
    /// Requests in flight: all of a closed loop, the slots of an open one.
    pub in_flight: usize,
    /// Requests that the server works on at a time.
    pub workers: usize,
    /// How long it works on one, beginning at a time.
    pub work: Cost,
    /// It does nothing from the first to the second time.
    pub stall: Option<(u64, u64)>,
    /// How late the pacer is at a time.
    pub pacer: Cost,
    pub timeout: u64,
    pub seed: u64,
    pub core: CoreUse,
    /// What may be left out at the beginning.
    pub allowed: Allowed,
    /// Requests answered from the first to the second time are answered with an error, one of so many.
    pub errors: Option<(u64, u64, u64)>,
}

impl Bench {
    pub fn new(seed: u64) -> Self {
        Self {
            length: 10 * S,
            rate: Some(1000.0),
            poisson: false,
            in_flight: 4096,
            workers: 4,
            work: Box::new(|_, dice| 50 * US + dice.exponential(50e3) as u64),
            stall: None,
            pacer: Box::new(|_, dice| 20 * US + dice.exponential(10e3) as u64),
            timeout: 60 * S,
            seed,
            core: CoreUse {
                ran_ns: 10 * S,
                idle_ns: 9 * S,
                starved_ns: Some(S / 100),
            },
            allowed: Allowed::default(),
            errors: None,
        }
    }

    /// A moment at which the server works.
    fn awake(&self, at: u64) -> u64 {
        match self.stall {
            Some((from, to)) if at >= from && at < to => to,
            _ => at,
        }
    }

    /// What the generator writes down.
    pub fn run(&self) -> Tally {
        let mut dice = Dice::new(self.seed);
        let mut ledger = Ledger::with_end(self.length);
        // When each worker is free, and when each slot is.
        let mut workers: BinaryHeap<Reverse<u64>> = (0..self.workers).map(|_| Reverse(0)).collect();
        let mut slots: BinaryHeap<Reverse<u64>> = (0..self.in_flight).map(|_| Reverse(0)).collect();
        let mut entries: Vec<(u64, Entry)> = Vec::new();
        let mut due = 0.0;
        loop {
            let Reverse(free) = slots.pop().unwrap();
            let planned = match self.rate {
                None => free,
                Some(rate) => {
                    let gap = 1e9 / rate;
                    due += if self.poisson {
                        dice.exponential(gap)
                    } else {
                        gap
                    };
                    due as u64
                }
            };
            if planned >= self.length {
                break;
            }
            let pacer = match self.rate {
                None => 0,
                Some(_) => (self.pacer)(planned, &mut dice),
            };
            let ready = planned + pacer;
            let sent = ready.max(free);
            if sent >= self.length {
                entries.push((self.length, Entry::Unsent(planned)));
                slots.push(Reverse(free));
                continue;
            }
            let lateness = Lateness {
                pacer,
                slot: sent - ready,
                socket: 0,
            };
            entries.push((sent, Entry::Sent(lateness)));
            let Reverse(worker) = workers.pop().unwrap();
            let begin = self.awake(sent.max(worker));
            let mut end = begin + (self.work)(begin, &mut dice);
            if let Some((from, to)) = self.stall
                && begin < from
                && end > from
            {
                end += to - from;
            }
            workers.push(Reverse(end));
            let completed = (end + 10 * US).min(sent + self.timeout);
            let times = Times {
                planned,
                sent,
                completed,
            };
            let entry = match end + 10 * US > completed {
                true => Entry::TimedOut(times),
                false => Entry::Done(times),
            };
            entries.push((completed, entry));
            slots.push(Reverse(completed));
        }
        entries.sort_by_key(|(at, _)| *at);
        for (at, entry) in entries {
            match entry {
                Entry::Sent(lateness) => ledger.late(at, lateness, 1),
                Entry::Done(times) if self.fails(times.completed) => {
                    ledger.failed(times, 0x8002_0000, 1);
                }
                Entry::Done(times) => ledger.done(times, 0, 1, 1),
                Entry::TimedOut(times) => ledger.timed_out(times, 1),
                Entry::Unsent(planned) => ledger.unsent(planned, at, 1),
            }
        }
        ledger.finish()
    }

    fn fails(&self, at: u64) -> bool {
        self.errors
            .is_some_and(|(from, to, of)| at >= from && at < to && (at / US).is_multiple_of(of))
    }

    /// What can be said about it.
    pub fn evidence(&self) -> Evidence {
        let tally = self.run();
        let load = match self.rate {
            Some(_) => Load::Open,
            None => Load::Closed,
        };
        let course = PhaseCourse::of(&tally, load.is_open(), false);
        let settling = Settling::within(&course, self.allowed);
        let window = tally.window(settling.cut_ns, u64::MAX);
        let mut evidence = Evidence::of(&tally, &window, load, &|code| format!("{code:08X}"));
        evidence.settling = settling;
        evidence.cores = vec![self.core];
        evidence
    }

    pub fn verdict(&self) -> Verdict {
        self.evidence().verdict()
    }
}

enum Entry {
    Sent(Lateness),
    Done(Times),
    TimedOut(Times),
    Unsent(u64),
}
