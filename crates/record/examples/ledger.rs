//! What an entry in the ledger costs, and that memory stays where it is.
//!
//! `cargo run --release -p record --example ledger -- 100000000` writes so many operations, each
//! sent and completed on its own, and prints nanoseconds for each and the resident memory.
//! `ledger PATH ROUNDS` runs one path in silence, for `tests/instructions.rs` to count.

use std::hint::black_box;
use std::time::Instant;

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

fn main() {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().unwrap_or_else(|| "10000000".to_owned());
    if let Ok(operations) = path.parse() {
        return measure(operations);
    }
    let rounds: u64 = arguments.next().unwrap_or_default().parse().unwrap_or(0);
    let mut random = Xorshift(42);
    let mut ledger = Ledger::new();
    for at in 0..rounds {
        let times = operation(at, &mut random);
        match path.as_str() {
            // What the example itself costs.
            "nothing" => drop(black_box(times)),
            "done" => ledger.done(black_box(times), 0, 100, 1),
            "late" => late(&mut ledger, black_box(times)),
            _ => {}
        }
    }
    black_box(ledger.finish());
}

fn measure(operations: u64) {
    let mut random = Xorshift(42);
    let started = Instant::now();
    for at in 0..operations {
        black_box(operation(at, &mut random));
    }
    let nothing = started.elapsed();

    let mut ledger = Ledger::new();
    let step = (operations / 10).max(1);
    let started = Instant::now();
    for at in 0..operations {
        let times = operation(at, &mut random);
        late(&mut ledger, times);
        ledger.done(times, 0, 100, 1);
        if at % step == step - 1 {
            println!("{:>12} operations, resident memory {}", at + 1, resident());
        }
    }
    let took = started.elapsed().saturating_sub(nothing);
    let tally = ledger.finish();
    println!(
        "{:.1} ns an operation, {} KiB in {} bins",
        took.as_nanos() as f64 / operations as f64,
        tally.heap_bytes() / 1024,
        tally.bins().len()
    );
}

fn resident() -> String {
    std::fs::read_to_string("/proc/self/status")
        .ok()
        .and_then(|text| {
            let line = text.lines().find(|line| line.starts_with("VmRSS:"))?;
            Some(line.trim_start_matches("VmRSS:").trim().to_owned())
        })
        .unwrap_or_else(|| "not available: no /proc".to_owned())
}
