//! Instructions of the hot paths, counted by callgrind: the same on a busy machine and an idle
//! one, so a ceiling can be close to what was measured.
//!
//! The program that is counted is `examples/ledger.rs`, built for release.

#[path = "../../wire/tests/callgrind/mod.rs"]
mod callgrind;

use callgrind::{example, has_valgrind, instructions_a_round};

/// Two bins and more, so that closing them is counted too.
const ROUNDS: u32 = 250_000;

#[test]
fn an_entry_costs_what_it_costs() {
    if !has_valgrind() {
        return;
    }
    let program = example("ledger");
    // The example makes up its times before it writes them down.
    let nothing = instructions_a_round(&program, "nothing", ROUNDS);
    for &(path, ceiling) in CEILINGS {
        let measured = instructions_a_round(&program, path, ROUNDS) - nothing;
        println!("{path}: {measured:.1} instructions, at most {ceiling}");
        assert!(measured > 20.0, "{path} is not written down at all");
        assert!(measured <= ceiling, "{path}: {measured:.1}, not {ceiling}");
    }
}

/// Path, and the most instructions that an entry may cost, closing its bin among them. Measured
/// with rustc 1.95 on x86-64; some room is left for other compilers. Together they take 26 ns.
const CEILINGS: &[(&str, f64)] = &[
    // Two histograms, six counters, and the moment of a success, which outages are found by: 112.
    ("done", 130.0),
    // Four histograms: 86.
    ("late", 105.0),
];
