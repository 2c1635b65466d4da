//! Instructions of reading, counted by callgrind: the same on a busy machine and an idle one.
//!
//! The program that is counted is `examples/reading.rs`, built for release.

#[path = "../../wire/tests/callgrind/mod.rs"]
mod callgrind;

use callgrind::{example, has_valgrind, instructions_a_round};

const ROUNDS: u32 = 20_000;
const FIELDS: f64 = 100.0;

#[test]
fn a_float_that_is_read_costs_what_it_costs() {
    if !has_valgrind() {
        return;
    }
    let program = example("reading");
    for &(path, ceiling) in CEILINGS {
        let measured = instructions_a_round(&program, path, ROUNDS) / FIELDS;
        println!("{path}: {measured:.1} instructions for each Float, at most {ceiling}");
        // It is added to a sum at least.
        assert!(measured > 1.0, "{path} is not read at all");
        assert!(measured <= ceiling, "{path}: {measured:.1}, not {ceiling}");
    }
}

/// Path, and the most instructions that a Float may cost, its part of the headers of its message among them. Measured
/// with rustc 1.95 on x86-64: 10.9, 19.4, 19.5; singly 83.5, 92.8, 95.8. Some room is left for other compilers.
const CEILINGS: &[(&str, f64)] = &[
    ("raw", 13.0),
    ("variant", 23.0),
    ("value", 23.0),
    ("raw-singly", 100.0),
    ("variant-singly", 110.0),
    ("value-singly", 115.0),
];
