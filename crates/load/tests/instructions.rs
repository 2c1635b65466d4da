//! Instructions of the generator's loop, from the ring of a socket to the write of what follows: counted
//! by callgrind, the same on a busy machine and an idle one.
//!
//! The program that is counted is `examples/answers.rs`, built for release.

#[path = "../../wire/tests/callgrind/mod.rs"]
mod callgrind;

use callgrind::{example, has_valgrind, instructions_a_round};

const ROUNDS: u32 = 400;

/// Requests of a round.
const AT_ONCE: f64 = 16.0;

#[test]
fn a_request_and_its_answer_cost_what_they_cost() {
    if !has_valgrind() {
        return;
    }
    let program = example("answers");
    let mut above = Vec::new();
    for &(nodes, ceiling) in CEILINGS {
        let counted = |path: &str| instructions_a_round(&program, path, ROUNDS) / AT_ONCE;
        let measured = counted(nodes) - counted(&format!("nothing-{nodes}"));
        println!("{nodes} nodes: {measured:.1} instructions, at most {ceiling}");
        assert!(measured > 100.0, "nothing was sent");
        if measured > ceiling {
            above.push(format!("{nodes} nodes: {measured:.1}, at most {ceiling}"));
        }
    }
    assert!(
        above.is_empty(),
        "too many instructions:\n{}",
        above.join("\n")
    );
}

/// Nodes of each Read, and the most that a request with its answer may cost. Measured with rustc 1.95
/// on x86-64; some room is left for other compilers and memcpys.
const CEILINGS: &[(&str, f64)] = &[
    // 1535.
    ("1", 1650.0),
    // 2108, of them 1.9 KB copied and 100 values looked at.
    ("100", 2275.0),
];
