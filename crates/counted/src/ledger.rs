//! An entry in the ledger. A round is an operation; paths are `done`, `late`, and `nothing`: what making up its times costs.

use std::hint::black_box;

use record::{Lateness, Ledger, Times};

/// A generator of numbers that look random: the slots that are touched should not be guessed.
struct Xorshift(u64);

impl Xorshift {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

/// One operation each microsecond, answered after 20 to 85 us.
fn operation(at: u64, random: &mut Xorshift) -> Times {
    let sent = at * 1000;
    Times {
        planned: sent.saturating_sub(random.next() & 0x3ff),
        sent,
        completed: sent + 20_000 + (random.next() & 0xffff),
    }
}

fn late(ledger: &mut Ledger, times: Times) {
    let lateness = Lateness {
        pacer: times.sent - times.planned,
        slot: 0,
        socket: 0,
    };
    ledger.late(times.sent, lateness, 1);
}

/// Writes so many operations.
pub fn run(path: &str, rounds: u32) {
    let mut random = Xorshift(42);
    let mut ledger = Ledger::new();
    for at in 0..rounds.into() {
        let times = operation(at, &mut random);
        match path {
            "nothing" => drop(black_box(times)),
            "done" => ledger.done(black_box(times), 0, 100, 1),
            "late" => late(&mut ledger, black_box(times)),
            other => panic!("no path is called {other:?}"),
        }
    }
    black_box(ledger.finish());
}
