//! What one planned time costs, for each kind of arrivals, beside reading the clock.
//!
//! `cargo bench -p benches --bench schedule`

#![allow(
    clippy::expect_used,
    reason = "a bench has nobody to tell but its user"
)]

use std::hint::black_box;
use std::time::{Duration, Instant};

use benches::{Subject, compare, print};
use plan::{Pace, Schedule, Seat, Shape};

/// Times in a piece of work: the bench's own call weighs nothing.
const TIMES: usize = 1000;

fn main() {
    let pace = |shape: &str, rate: Option<&str>| -> Pace {
        let shape: Shape = shape.parse().expect("an arrival");
        let rate = rate.map(|rate| rate.parse().expect("a rate"));
        shape.at(rate).expect("a pace")
    };
    let paces = [
        ("constant", pace("constant", Some("9999/s"))),
        ("poisson", pace("poisson", Some("9999/s"))),
        ("ramp", pace("ramp:10/s..10k/s", None)),
        ("burst", pace("burst:50/10ms", None)),
    ];
    let mut subjects: Vec<Subject<'_>> = paces
        .into_iter()
        .map(|(name, pace)| {
            let seat = Seat {
                target: 0,
                index: 1,
            };
            // Long enough never to end during the bench.
            let years = Duration::from_secs(500_000_000);
            let mut schedule = Schedule::new(&pace, seat, 3, 1, years);
            Subject::new(name, move || {
                for _ in 0..TIMES {
                    black_box(schedule.next());
                }
            })
        })
        .collect();
    subjects.push(Subject::new("reading the clock", || {
        for _ in 0..TIMES {
            black_box(Instant::now());
        }
    }));
    print(
        "1000 planned times (divide by 1000)",
        &compare(400, &mut subjects),
    );
}
